"""Programs carried out step by step with NumPy: what lowering and fusion mean, without emission.

It looks where machine code does not: each element that is read has been written, lies inside of its
array, and is in memory at that moment; each iteration writes elements of its own; sizes that are
said to be equal are. Outer loops run backwards, since their order must not matter, and what a
kernel keeps to itself is forgotten between their iterations.

Without a plan each array has memory of its own. With one, arrays are where it places them, and an
element of an array is lost when another array is written over it. Each byte knows the array that
wrote it last, so a value that is read from the wrong array is found even if it is the right number.
What cannot be seen in the order of statements, since kernels may compute their iterations in any
order, is found in :mod:`~phintys.backends.native.stepwise.order`.
"""

from __future__ import annotations

from copy import deepcopy
from functools import singledispatch
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import IntegrityError
from phintys.backends.native.expressions import (
    Conversion,
    Expression,
    Index,
    IndexCheck,
    Literal,
    Load,
    Operation,
    Position,
    SizeValue,
    Statement,
)
from phintys.backends.native.limits import NUMBERS_A_STATEMENT
from phintys.backends.native.runtime.callbacks import plain_array
from phintys.backends.native.sizes import Arithmetic, Counter, Element, Extent, Fixed
from phintys.backends.native.steps.kernel import Kernel
from phintys.backends.native.stepwise.calls import Calls
from phintys.backends.native.stepwise.faults import CheckFailed, TooLong, expect
from phintys.backends.native.stepwise.grid import Grid
from phintys.backends.native.stepwise.order import KernelOrder, Orders
from phintys.backends.native.stepwise.storage import Memory, Storage
from phintys.backends.native.values import Array, LoopVariable, Place, Size, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.memory import MemoryPlan
    from phintys.backends.native.program import Program, Step

    Numbers = np.ndarray[Any, Any]

_OPERATIONS: dict[str, Any] = {
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
_REDUCERS: dict[str, Any] = {
    "add": np.add,
    "mul": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "and_": np.bitwise_and,
    "or_": np.bitwise_or,
    "xor": np.bitwise_xor,
}
_ACCUMULATE: dict[str, Any] = {
    "add": np.add,
    "mul": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
}


class Interpreter:
    """One call of a program.

    Parameters
    ----------
    program
        The program.
    plan
        Where arrays are; without one, each is in memory of its own.
    calls, orders
        What is kept for other calls of the program.
    most_work
        How much work is done before :class:`~phintys.backends.native.stepwise.faults.TooLong` is
        raised, ``None`` for no limit: a unit is a statement for all iterations inside of its
        kernel's outer loops, or a few thousand numbers.
    """

    def __init__(
        self,
        program: Program,
        plan: MemoryPlan | None = None,
        calls: Calls | None = None,
        orders: Orders | None = None,
        most_work: int | None = None,
    ) -> None:
        self.program = program
        self.sizes = program.sizes
        self.plan = plan
        self.calls = calls or Calls(program)
        self.orders = orders or Orders(program)
        self.most_work = most_work
        self.memories: dict[Array, Memory] = {}
        self.slots: dict[int, Storage] = {}
        self.shapes: dict[Array, tuple[int, ...]] = {}
        self.objects: dict[Value, Any] = {}
        self.hidden: set[Array] = set()
        self.counters: dict[LoopVariable, int] = {}
        self.work = 0.0
        self._order: KernelOrder | None = None
        self._with_sizes = program.sizes.arrays()
        self._elements: dict[Array, Memory] = {}

    def run(self, values: Sequence[Any]) -> list[Any]:
        """Return the results for some arguments, which are not changed."""
        for argument, value in zip(self.program.arguments, values, strict=True):
            self.give(argument, value if isinstance(argument, Array) else deepcopy(value))
        with np.errstate(all="ignore"):
            for step in self.program.steps:
                self.step(step)
        return [self.value(result) for result in self.program.results]

    def give(self, value: Value, data: Any) -> None:
        """Set the value of what comes from outside: an argument, or the result of a callback."""
        if not isinstance(value, Array):
            self.objects[value] = data
            return
        data = plain_array(np.asarray(data), value.dtype)
        self.spend(data.size / NUMBERS_A_STATEMENT)
        self.shapes[value] = data.shape
        memory = self._seen(data, value.dtype) if self.plan is not None else None
        if memory is None:
            memory = Memory.alone(value.dtype, data.size)
            memory.put(..., data.reshape(-1))
        self.memories[value] = memory
        self._keep_elements(value)

    def _seen(self, data: Numbers, dtype: np.dtype[Any]) -> Memory | None:
        """Return the memory of what a callback has returned as a view of other memory."""
        address = data.__array_interface__["data"][0]
        for storage in dict.fromkeys(memory.storage for memory in self.memories.values()):
            start = address - storage.bytes.__array_interface__["data"][0]
            if data.nbytes and 0 <= start < storage.bytes.size:
                owners = set(storage.owners[start : start + data.nbytes].tolist())
                return Memory(storage, dtype, data.size, start, sorted(owners - {0}))
        return None

    def value(self, value: Value, *, itself: bool = False) -> Any:
        """Return a value: a copy of an array, or the memory itself."""
        if not isinstance(value, Array):
            return value.data if value.place == Place.CONSTANT else self.objects[value]
        memory = self.memory(value)
        expect(memory.holds().all(), f"{value!r} is read, but a part of it is not there")
        data = memory.data.reshape(self.shape(value))
        return data if itself else data.copy()

    def truth(self, array: Array) -> bool:
        """Return a single bool."""
        return bool(self.value(array))

    # ---- sizes

    def size(self, size: Size) -> int:
        """Return a size, after a look at the one that it is said to be equal to."""
        given = self.size_as_given(size)
        canonical = self.sizes.canonical(size)
        if given != self.size_as_given(canonical):
            raise IntegrityError(f"{size} is {given}, and not {canonical}")
        return given

    def size_as_given(self, size: Size) -> int:
        """Return a size as it was before checks merged it with others."""
        if isinstance(size, Fixed):
            return size.known
        if isinstance(size, Extent):
            return self.shapes[size.array][size.axis]
        if isinstance(size, Element):
            memory = self._elements.get(size.array.memory) or self.memory(size.array)
            expect(memory.holds(size.index).all(), f"the size {size} is not there")
            return int(memory.data[size.index])
        if isinstance(size, Counter):
            return self.counters[size.loop]
        assert isinstance(size, Arithmetic)
        result = _OPERATIONS[size.operation](*[self.size_as_given(part) for part in size.arguments])
        return (result + 2**63) % 2**64 - 2**63

    def _keep_elements(self, array: Array) -> None:
        """Read what sizes are made of where it becomes known, as programs do."""
        root = array.memory
        if root in self._with_sizes:
            memory = self.memory(root)
            kept = self._elements[root] = Memory.alone(root.dtype, memory.data.size)
            there = memory.holds()
            kept.put(there, memory.data[there])

    # ---- memory

    def shape(self, array: Array) -> tuple[int, ...]:
        """Return the shape of an array."""
        if array in self.shapes:
            return self.shapes[array]
        return tuple(self.size(size) for size in array.sizes)

    def memory(self, array: Array) -> Memory:
        """Return the memory of an array."""
        root = array.memory
        if root in self.hidden:
            raise IntegrityError(f"{array!r} is used outside of its kernel")
        memory = self.memories.get(root)
        if memory is None:
            memory = self.memories[root] = self._new_memory(root)
            if root.place == Place.CONSTANT:
                assert root.data is not None
                memory.put(..., root.data.reshape(-1))
        return memory

    def spend(self, work: float) -> None:
        self.work += work
        if self.most_work is not None and self.work > self.most_work:
            raise TooLong

    def _new_memory(self, root: Array) -> Memory:
        length = int(np.prod(self.shape(root), dtype=object))
        self.spend(length / NUMBERS_A_STATEMENT)
        slot = None if self.plan is None else self.plan.places.get(root)
        if slot is None:
            return Memory.alone(root.dtype, length)
        storage = self.slots.get(slot)
        if storage is None:
            storage = self.slots[slot] = Storage(self._room(slot))
        needed = length * root.dtype.itemsize
        room = storage.bytes.size
        expect(needed <= room, f"{root!r} needs {needed} bytes, and its slot has {room}")
        return Memory(storage, root.dtype, length)

    def _room(self, slot: int) -> int:
        """Return the bytes of a slot of the arena.

        Some arrays may be made later, from sizes that only a check before them proves to be equal
        to those that are known now.
        """
        assert self.plan is not None
        sizes = [
            [
                one.dtype.itemsize,
                *(self.size_as_given(self.sizes.canonical(size)) for size in one.sizes),
            ]
            for _, one in self.plan.slots[slot].sizes()
        ]
        return max(int(np.prod(some, dtype=object)) for some in sizes)

    def places(self, array: Array, indices: Sequence[Index], grid: Grid) -> Numbers:
        """Return the elements that indices name, in the shape of the grid."""
        flat: Any = np.zeros((), np.int64)
        shape = self.shape(array)
        if len(shape) != len(indices):
            raise IntegrityError(f"{array!r} is indexed with {len(indices)} indices")
        for index, length in zip(indices, shape, strict=True):
            at = self.index(index, grid)
            flat = flat * length + at
            if grid.count and not ((at >= 0).all() and (at < length).all()):
                raise IntegrityError(f"{array!r} is indexed with {at}, and an axis has {length}")
        return np.broadcast_to(flat, grid.shape)

    def index(self, index: Index, grid: Grid) -> Any:
        """Return the positions along one axis."""
        at: Any = np.asarray(0 if index.offset is None else self.size(index.offset))
        for loop, step in index.terms:
            counter = self.counters.get(loop)
            at = at + (grid.counters[loop] if counter is None else counter) * self.size(step)
        if index.dynamic is not None:
            at = at + self.expression(index.dynamic, grid)
        return at

    # ---- expressions

    def expression(self, expression: Expression, grid: Grid) -> Numbers:
        """Return the value of an expression in all iterations."""
        if isinstance(expression, Literal):
            return np.asarray(expression.value, expression.dtype)
        if isinstance(expression, SizeValue):
            return np.asarray(self.size(expression.size))
        if isinstance(expression, Position):
            return self.index(expression.index, grid)
        if isinstance(expression, Load):
            kept = None if self._order is None else self._order.register(expression, grid)
            if kept is not None:
                return kept
            memory = self.memory(expression.array)
            places = self.places(expression.array, expression.indices, grid)
            if not memory.holds(places).all():
                raise IntegrityError(f"{expression.array!r} is read, but a part of it is not there")
            return memory.data[places]
        if isinstance(expression, Conversion):
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
        result = np.asarray(kernel(*arguments))
        if result.dtype != expression.dtype:
            raise IntegrityError(f"{expression.op} gives {result.dtype}")
        return result

    # ---- steps

    def step(self, step: Step) -> None:
        """Carry out a step."""
        carry_out(step, self)
        for array in step.writes():
            self._keep_elements(array)

    def inner(self, step: Step) -> None:
        """Carry out a step of a loop or branch, whose kernels keep nothing from the time before."""
        if isinstance(step, Kernel):
            self.hidden -= step.local
            for array in step.local:
                self.memories.pop(array, None)
        self.step(step)

    def forget(self, arrays: Sequence[Array]) -> None:
        """Lose what is in the memory of some arrays."""
        for array in arrays:
            memory = self.memories.get(array)
            if memory is not None:
                memory.lose()

    # ---- kernels

    def kernel(self, kernel: Kernel) -> None:
        """Carry out a kernel."""
        extents = [range(self.size(loop.extent)) for loop in kernel.outer]
        iterations = list(enumerate(product(*extents)))
        has_order = any(
            any(index.dynamic for index in statement.indices)
            or any(loop in kernel.outer for loop in statement.sequential)
            for statement in kernel.statements
        )
        if not has_order:
            iterations.reverse()
        if self.plan is not None:
            self._order = KernelOrder.of(kernel, self.orders, self.memory)
        order = self._order
        for number, iteration in iterations:
            for array in kernel.local:
                self.memories.pop(array, None)
            for at, nest in enumerate(kernel.nests):
                if order is not None:
                    order.begin()
                lengths = [self.size(loop.extent) for loop in nest.loops]
                grid = Grid.of(kernel.outer, iteration, nest.loops, lengths)
                for place, statement in enumerate(nest.statements):
                    if order is not None:
                        order.note(number, at, place, lengths, grid, self.places)
                    for part in grid.in_order(statement.sequential):
                        self.part(statement, part)
        if order is not None:
            order.check()
        self._order = None
        self.hidden |= kernel.local

    def part(self, statement: Statement, grid: Grid) -> None:
        """Carry out a statement for some iterations, of which all read before any writes."""
        self.spend(1 + grid.count / NUMBERS_A_STATEMENT)
        target = statement.target
        memory = self.memory(target)
        value = np.broadcast_to(self.expression(statement.value, grid), grid.shape)
        kept = grid
        if statement.reduction:
            axes = [grid.loops.index(loop) for loop in statement.reduction]
            kept = grid.without(axes)
            value = _reduced(statement, value, axes)
        if value.dtype != target.dtype:
            raise IntegrityError(f"{target!r} is given {value.dtype}")
        places = self.places(target, statement.indices, kept).reshape(-1)
        value = np.broadcast_to(value, kept.shape).reshape(-1)
        if statement.accumulate:
            expect(memory.holds(places).all(), f"{target!r} is added to, but is not there")
            _ACCUMULATE[statement.accumulate].at(memory.data, places, value)
            memory.put(places, memory.data[places])
            return
        is_dynamic = any(index.dynamic for index in statement.indices)
        if not is_dynamic and len(np.unique(places)) < len(places):
            raise IntegrityError(f"an element of {target!r} is written twice")
        memory.put(places, value)


def _reduced(statement: Statement, value: Numbers, axes: Sequence[int]) -> Numbers:
    dtype = statement.target.dtype
    if statement.reducer in {"argmax", "argmin"}:
        count = value.ndim - len(axes)
        moved = np.moveaxis(value, axes, range(count, value.ndim))
        length = int(np.prod(moved.shape[count:]))
        flat = moved.reshape(*moved.shape[:count], length)
        return np.asarray(getattr(np, statement.reducer)(flat, -1))
    ufunc = _REDUCERS[statement.reducer or ""]
    if not value.size and ufunc in {np.maximum, np.minimum}:
        return _extreme_of_nothing(statement, value, axes)
    return np.asarray(ufunc.reduce(value, tuple(axes), value.dtype)).astype(dtype)


def _extreme_of_nothing(statement: Statement, value: Numbers, axes: Sequence[int]) -> Numbers:
    """The maximum of nothing is -inf, or the least integer: a check, or another part, is there."""
    shape = tuple(length for axis, length in enumerate(value.shape) if axis not in axes)
    dtype = statement.target.dtype
    least, most = -np.inf, np.inf
    if dtype.kind in "iu":
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    return np.full(shape, most if statement.reducer == "minimum" else least, dtype)


@singledispatch
def carry_out(step: Step, interpreter: Interpreter) -> None:
    """Carry out a step, by the rule of its kind."""
    kind = type(step).__name__
    msg = (
        f"Steps of the kind {kind} are not carried out: add a rule by @carry_out.register({kind})."
    )
    raise IntegrityError(msg)
