"""Programs carried out step by step with NumPy: what lowering and fusion mean, without emission.

It looks where machine code does not: each element that is read has been written, lies inside of its
array, and is in memory at that moment; each iteration writes elements of its own; sizes that are
said to be equal are. Outer loops run backwards, since their order must not matter, and what a
kernel keeps to itself is forgotten between their iterations.
"""

from itertools import product

import numpy as np

from phintys.backends.native.expressions import (
    Cast,
    IndexCheck,
    Literal,
    Load,
    Operation,
    Position,
    SizeValue,
)
from phintys.backends.native.sizes import Arithmetic, Counter, Element, Extent, Fixed
from phintys.backends.native.steps.branch import Branch
from phintys.backends.native.steps.call import LibraryCall
from phintys.backends.native.steps.callback import Callback
from phintys.backends.native.steps.check import Check
from phintys.backends.native.steps.claim import Claim
from phintys.backends.native.steps.kernel import Kernel
from phintys.backends.native.steps.loop import Loop
from phintys.backends.native.values import Array, Place

_OPERATIONS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "max": max,
    "min": min,
    "lt": lambda a, b: int(a < b),
    "volume": lambda a, b: min(max(a, 1) * max(b, 1), 2**63 - 1),
    "total": lambda a, b: min(a + b, 2**63 - 1),
}
_REDUCERS = {
    "add": np.add,
    "mul": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "and_": np.bitwise_and,
    "or_": np.bitwise_or,
    "xor": np.bitwise_xor,
}


_ACCUMULATE = {
    "add": np.add,
    "mul": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
}


class CheckFailed(Exception):
    """A check or an index failed; ``failure`` says which."""

    def __init__(self, failure, *numbers):
        super().__init__(f"{failure.node}: {failure.kind} {failure.detail} {numbers}")
        self.failure = failure


class Memory:
    """Elements in a row, and which of them have been written."""

    def __init__(self, count, dtype):
        self.data = np.full(count * dtype.itemsize, 0xA5, np.uint8).view(dtype)
        self.written = np.zeros(count, bool)


def run(program, values):
    """Return the results of a program."""
    return Interpreter(program).run(values)


class Interpreter:
    def __init__(self, program):
        self.program = program
        self.sizes = program.sizes
        self.memories = {}
        self.shapes = {}
        self.objects = {}
        self.hidden = set()
        self.counters = {}

    def run(self, values):
        for argument, value in zip(self.program.arguments, values, strict=True):
            self.give(argument, value)
        for step in self.program.steps:
            self.step(step)
        return [self.value(result) for result in self.program.results]

    def give(self, value, data):
        if not isinstance(value, Array):
            self.objects[value] = data
            return
        data = np.ascontiguousarray(data).reshape(np.shape(data))
        assert data.dtype == value.dtype
        memory = Memory(data.size, data.dtype)
        memory.data[:] = data.reshape(-1)
        memory.written[:] = True
        self.memories[value] = memory
        self.shapes[value] = data.shape

    def value(self, value):
        if not isinstance(value, Array):
            return value.data if value.place == Place.CONSTANT else self.objects[value]
        memory = self.memory(value)
        shape = self.shape(value)
        assert memory.written.all(), f"{value!r} is not complete"
        return memory.data.reshape(shape).copy()

    # ---- sizes

    def size(self, size):
        given = self._size(size)
        canonical = self.sizes.canonical(size)
        assert given == self._size(canonical), f"{size} is not {canonical}"
        return given

    def _size(self, size):
        if isinstance(size, Fixed):
            return size.known
        if isinstance(size, Extent):
            return self.shapes[size.array][size.axis]
        if isinstance(size, Element):
            memory = self.memory(size.array)
            assert memory.written[size.index]
            return int(memory.data[size.index])
        if isinstance(size, Counter):
            return self.counters[size.loop]
        assert isinstance(size, Arithmetic)
        result = _OPERATIONS[size.operation](*[self._size(part) for part in size.arguments])
        return (result + 2**63) % 2**64 - 2**63

    # ---- memory

    def shape(self, array):
        if array in self.shapes:
            return self.shapes[array]
        return tuple(self.size(size) for size in array.sizes)

    def memory(self, array):
        root = array.memory
        assert root not in self.hidden, f"{array!r} is used outside of its kernel"
        memory = self.memories.get(root)
        if memory is None:
            memory = self.memories[root] = Memory(int(np.prod(self.shape(root))), root.dtype)
            if root.place == Place.CONSTANT:
                memory.data[:] = root.data.reshape(-1)
                memory.written[:] = True
        return memory

    def places(self, array, indices, grid):
        """Return the elements that indices name, in the shape of the grid."""
        flat = np.zeros((), np.int64)
        shape = self.shape(array)
        assert len(shape) == len(indices)
        for index, length in zip(indices, shape, strict=True):
            at = self.index(index, grid)
            flat = flat * length + at
            if grid.count:
                assert (at >= 0).all(), f"{array!r} is indexed with {at}"
                assert (at < length).all(), f"{array!r} is indexed with {at}"
        return np.broadcast_to(flat, grid.shape)

    def index(self, index, grid):
        at = np.asarray(0 if index.offset is None else self.size(index.offset))
        for loop, step in index.terms:
            counter = self.counters.get(loop)
            at = at + (grid.counters[loop] if counter is None else counter) * self.size(step)
        if index.dynamic is not None:
            at = at + self.expression(index.dynamic, grid)
        return at

    # ---- expressions

    def expression(self, expression, grid):
        if isinstance(expression, Literal):
            return np.asarray(expression.value, expression.dtype)
        if isinstance(expression, SizeValue):
            return np.asarray(self.size(expression.size))
        if isinstance(expression, Position):
            return self.index(expression.index, grid)
        if isinstance(expression, Load):
            memory = self.memory(expression.array)
            places = self.places(expression.array, expression.indices, grid)
            assert memory.written[places].all(), f"{expression.array!r} is read unwritten"
            return memory.data[places]
        if isinstance(expression, Cast):
            with np.errstate(all="ignore"):
                return self.expression(expression.argument, grid).astype(expression.dtype)
        if isinstance(expression, IndexCheck):
            at, size = self.expression(expression.argument, grid), self.size(expression.size)
            wrong = (at < -size) | (at >= size)
            if grid.count and wrong.any():
                raise CheckFailed(expression.failure, size)
            return np.where(at < 0, at + size, at)
        assert isinstance(expression, Operation)
        arguments = [self.expression(argument, grid) for argument in expression.arguments]
        kernel = expression.op.kernel([argument.dtype for argument in arguments])
        with np.errstate(all="ignore"):
            result = np.asarray(kernel(*arguments))
        assert result.dtype == expression.dtype
        return result

    # ---- steps

    def step(self, step):
        if isinstance(step, Check):
            left, right = self._size(step.left), self._size(step.right)
            if left != right:
                raise CheckFailed(step.failure, left, right)
        elif isinstance(step, Kernel):
            self.kernel(step)
        elif isinstance(step, LibraryCall):
            getattr(self, step.routine.name)(step)
        elif isinstance(step, Branch):
            for inner in step.then if self.value(step.condition) else step.otherwise:
                self.inner(inner)
        elif isinstance(step, Loop):
            self.loop(step)
        elif isinstance(step, Claim):
            self.give(step.target, self.value(step.source))
        else:
            assert isinstance(step, Callback)
            cells = [[None] for _ in step.outputs]
            step.node.op.perform(step.node, [self.value(value) for value in step.inputs], cells)
            for value, (made,) in zip(step.outputs, cells, strict=True):
                self.give(value, made)

    def loop(self, loop):
        for number in range(self.size(loop.count)):
            self.counters[loop.counter] = number
            for inner in loop.body:
                self.inner(inner)
            if loop.until is not None and self.value(loop.until):
                break
        self.counters.pop(loop.counter, None)

    def inner(self, step):
        """Carry out a step of a loop or branch, whose kernels keep nothing from the time before."""
        if isinstance(step, Kernel):
            self.hidden -= step.local
            for array in step.local:
                self.memories.pop(array, None)
        self.step(step)

    def kernel(self, kernel):
        extents = [range(self.size(loop.extent)) for loop in kernel.outer]
        iterations = list(product(*extents))
        statements = [statement for nest in kernel.nests for statement in nest.statements]
        if not any(
            any(index.dynamic for index in statement.indices)
            or any(loop in kernel.outer for loop in statement.sequential)
            for statement in statements
        ):
            iterations.reverse()
        for iteration in iterations:
            for array in kernel.local:
                self.memories.pop(array, None)
            for nest in kernel.nests:
                grid = Grid(kernel.outer, iteration, nest.loops, self)
                for statement in nest.statements:
                    self.statement(statement, grid)
        self.hidden |= kernel.local

    def statement(self, statement, grid):
        for part in grid.in_order(statement.sequential):
            self.part(statement, part)

    def part(self, statement, grid):
        target = statement.target
        memory = self.memory(target)
        value = np.broadcast_to(self.expression(statement.value, grid), grid.shape)
        kept = grid
        if statement.reduction:
            axes = [grid.loops.index(loop) for loop in statement.reduction]
            kept = grid.without(axes)
            value = self.reduced(statement, value, axes)
        else:
            assert value.dtype == target.dtype
        places = self.places(target, statement.indices, kept).reshape(-1)
        value = np.broadcast_to(value, kept.shape).reshape(-1)
        if statement.accumulate:
            assert memory.written[places].all()
            _ACCUMULATE[statement.accumulate].at(memory.data, places, value)
            return
        is_dynamic = any(index.dynamic for index in statement.indices)
        assert is_dynamic or len(np.unique(places)) == len(places), "an element is written twice"
        for place, element in zip(places, value, strict=True):
            memory.data[place] = element
        memory.written[places] = True

    def reduced(self, statement, value, axes):
        dtype = statement.target.dtype
        if statement.reducer in {"argmax", "argmin"}:
            count = value.ndim - len(axes)
            moved = np.moveaxis(value, axes, range(count, value.ndim))
            length = int(np.prod(moved.shape[count:]))
            return getattr(np, statement.reducer)(moved.reshape(*moved.shape[:count], length), -1)
        with np.errstate(all="ignore"):
            ufunc = _REDUCERS[statement.reducer]
            if not value.size and ufunc in {np.maximum, np.minimum}:
                return extreme_of_nothing(statement, value, axes)
            return ufunc.reduce(value, tuple(axes), value.dtype).astype(dtype)

    # ---- BLAS

    def option(self, call, name, otherwise=None):
        size = call.options.get(name)
        return otherwise if size is None else self.size(size)

    def operand(self, call, array, letter, shape, strides, moves):
        """Return an operand as an array, for each iteration of the loops around the routine."""
        memory = self.memory(array)
        at = np.asarray(self.option(call, f"{letter}_offset", 0))
        for length, stride in zip(shape, strides, strict=True):
            at = at[..., None] + np.arange(length) * stride
        at = at + moves
        assert at.size == 0 or (at.min() >= 0 and at.max() < memory.data.size)
        return memory, at

    def gemm(self, call):
        m, n, k = (self.option(call, name) for name in "mnk")
        a, b = call.inputs[:2]
        for moves in self.batch(call):
            parts = []
            for letter, array, shape, move in zip(
                "ab", (a, b), ((m, k), (k, n)), moves, strict=False
            ):
                stride = self.option(call, f"{letter}_stride")
                is_transposed = call.options.get(f"{letter}_transposed", False)
                strides = (1, stride) if is_transposed else (stride, 1)
                assert stride >= shape[0 if is_transposed else 1] or 1 in shape or 0 in shape
                parts.append(self.read(self.operand(call, array, letter, shape, strides, move)))
            strides = (self.option(call, "c_stride"), 1)
            out = self.operand(call, call.outputs[0], "c", (m, n), strides, moves[2])
            with np.errstate(all="ignore"):
                self.add(call, out, parts[0] @ parts[1])

    def syrk(self, call):
        self.gemm(call)

    def gemv(self, call):
        m, n = self.option(call, "m"), self.option(call, "n")
        for moves in self.batch(call):
            stride = self.option(call, "a_stride")
            strides = (1, stride) if call.options.get("a_transposed") else (stride, 1)
            a = self.read(self.operand(call, call.inputs[0], "a", (m, n), strides, moves[0]))
            step = self.option(call, "x_step", 1)
            x = self.read(self.operand(call, call.inputs[1], "x", (n,), (step,), moves[1]))
            step = self.option(call, "y_step", 1)
            out = self.operand(call, call.outputs[0], "y", (m,), (step,), moves[2])
            with np.errstate(all="ignore"):
                self.add(call, out, a @ x)

    def add(self, call, out, product):
        alpha = call.options.get("alpha", 1)
        total = (self.value(alpha) if isinstance(alpha, Array) else alpha) * product
        beta = call.options.get("beta")
        self.write(out, total + beta * self.read(out) if beta else total)

    def batch(self, call):
        loops = [[self.size(size) for size in entry] for entry in call.options.get("batch", ())]
        for iteration in product(*[range(count) for count, *_ in loops]):
            yield [
                sum(at * steps[which] for at, (_, *steps) in zip(iteration, loops, strict=True))
                for which in range(3)
            ]

    @staticmethod
    def read(operand):
        memory, at = operand
        assert memory.written[at].all()
        return memory.data[at]

    @staticmethod
    def write(operand, value):
        memory, at = operand
        memory.data[at] = value
        memory.written[at] = True


def extreme_of_nothing(statement, value, axes):
    """The maximum of nothing is -inf, or the least integer: a check, or another part, is there."""
    shape = tuple(length for axis, length in enumerate(value.shape) if axis not in axes)
    dtype = statement.target.dtype
    limits = np.iinfo(dtype) if dtype.kind in "iu" else np.array([-np.inf, np.inf], dtype)
    least, most = (limits.min, limits.max) if dtype.kind in "iu" else limits
    return np.full(shape, most if statement.reducer == "minimum" else least, dtype)


class Grid:
    """All iterations of the loops of a nest, at one iteration of the outer ones."""

    def __init__(self, outer, iteration, loops, interpreter):
        self.loops = (*outer, *loops)
        lengths = [interpreter.size(loop.extent) for loop in loops]
        self.shape = (*[1] * len(outer), *lengths)
        self.count = int(np.prod(lengths))
        self.counters = dict(zip(outer, iteration, strict=True))
        for axis, (loop, length) in enumerate(zip(loops, lengths, strict=True), len(outer)):
            shape = [1] * len(self.loops)
            shape[axis] = length
            self.counters[loop] = np.arange(length).reshape(shape)

    def in_order(self, loops):
        """Return the iterations in parts, one for each of those of some loops, in order."""
        axes = [
            axis for axis, loop in enumerate(self.loops) if loop in loops and self.shape[axis] != 1
        ]
        if not axes:
            return [self]
        parts = []
        for iteration in product(*[range(self.shape[axis]) for axis in axes]):
            grid = object.__new__(Grid)
            grid.loops = self.loops
            shape = list(self.shape)
            grid.counters = dict(self.counters)
            for axis, at in zip(axes, iteration, strict=True):
                shape[axis] = 1
                grid.counters[self.loops[axis]] = at
            grid.shape = tuple(shape)
            grid.count = int(np.prod(shape))
            parts.append(grid)
        return parts

    def without(self, axes):
        """Return the iterations of the loops that are not reduced."""
        kept = [axis for axis in range(len(self.loops)) if axis not in axes]
        grid = object.__new__(Grid)
        grid.loops = tuple(self.loops[axis] for axis in kept)
        grid.shape = tuple(self.shape[axis] for axis in kept)
        grid.count = int(np.prod(grid.shape))
        grid.counters = {}
        for position, axis in enumerate(kept):
            counter = self.counters[self.loops[axis]]
            if np.ndim(counter):
                shape = [1] * len(kept)
                shape[position] = self.shape[axis]
                counter = counter.reshape(shape)
            grid.counters[self.loops[axis]] = counter
        return grid
