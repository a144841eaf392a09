"""Steps that are carried out by what they call: library routines, and Python code of Ops."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from phintys.backends.native.assembler.target import Target
from phintys.backends.native.linking import link
from phintys.backends.native.program import Program, walk_steps
from phintys.backends.native.runtime.callbacks import Callbacks
from phintys.backends.native.runtime.capi import Unsupported
from phintys.backends.native.runtime.function import NativeProgram
from phintys.backends.native.runtime.support import support
from phintys.backends.native.sizes import Sizes
from phintys.backends.native.steps.callback import Callback
from phintys.backends.native.steps.claim import Claim
from phintys.backends.native.stepwise.faults import CheckFailed, expect
from phintys.backends.native.stepwise.storage import RUBBISH, Memory
from phintys.backends.native.values import Array, Place, Size, Value
from phintys.backends.native.writer.programs import emit_program
from phintys.graph.fgraph import FunctionGraph

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from phintys.backends.native.steps.call import LibraryCall

    Numbers = np.ndarray[Any, Any]
    Operand = tuple[Memory, Numbers]


class Running(Protocol):
    """A program that is being carried out."""

    sizes: Sizes

    def size(self, size: Size) -> int:
        """Return a size."""
        ...

    def shape(self, array: Array) -> tuple[int, ...]:
        """Return the shape of an array."""
        ...

    def memory(self, array: Array) -> Memory:
        """Return the memory of an array."""
        ...

    def value(self, value: Value) -> Any:
        """Return a value."""
        ...


class Calls:
    """What the calls of a program need: kept from one run to the next.

    Parameters
    ----------
    program
        The program.
    """

    def __init__(self, program: Program) -> None:
        steps = [step for step in walk_steps(program.steps) if isinstance(step, Callback)]
        self._numbers = {step: number for number, step in enumerate(steps)}
        self._callbacks = Callbacks([step.node for step in steps], link)
        self._alone: dict[LibraryCall[Any], _Alone] = {}

    def perform(self, step: Callback, values: Sequence[Any]) -> Sequence[Any]:
        """Execute an Op."""
        machine = self._callbacks.start()
        made = self._callbacks.run(machine, self._numbers[step], *values)
        self._callbacks.finish(machine)
        return made[-len(step.outputs) :] if step.outputs else ()

    def carry_out(self, call: LibraryCall[Any], running: Running) -> None:
        """Carry out a call: products here, and others as a program that does nothing else."""
        product_of = getattr(_Products(running), call.routine.name, None)
        if product_of is not None:
            product_of(call)
            return
        alone = self._alone.get(call)
        if alone is None:
            alone = self._alone[call] = _Alone(call, running.sizes)
        alone.run(running)


# ---- routines of libraries ---------------------------------------------------------------------


class _Alone:
    """A call as the only step of a program.

    Its arguments are the numbers that sizes have, what is read, and what is written: that may be
    read as well, or be written in part.
    """

    def __init__(self, call: LibraryCall[Any], sizes: Sizes) -> None:
        self.call = call
        self._given = sizes
        self._sizes = Sizes()
        self._unknown: dict[Size, Size] = {}
        self._made: dict[Array, Array] = {}
        every = [*call.reads(), *call.writes(), *_arrays(call.options)]
        self.written = list(dict.fromkeys(array.memory for array in call.outputs))
        scratch = {array.memory for array in call.workspace}
        self.read = [
            array
            for array in dict.fromkeys(one.memory for one in every)
            if array not in self.written and array not in scratch
        ]
        self._numbers = Array(Place.ARGUMENT, np.dtype("int64"), (), "numbers")
        places = dict.fromkeys(self.read, Place.ARGUMENT)
        places |= dict.fromkeys(self.written, Place.RESULT)
        for array in (*self.read, *self.written, *scratch):
            place = places.get(array, Place.BUFFER)
            self._made[array] = replace(
                array, place=place, sizes=self._all(array.sizes), variable=None, data=None
            )
        before = [
            replace(self._made[array], place=Place.ARGUMENT, label=f"old_{array.label}")
            for array in self.written
        ]
        own = replace(
            call,
            inputs=self._all(call.inputs),
            outputs=self._all(call.outputs),
            workspace=self._all(call.workspace),
            options=self._twin(call.options),
        )
        after = [self._made[array] for array in self.written]
        claims = [Claim(old, new, False) for old, new in zip(before, after, strict=True)]
        self._numbers.sizes = (self._sizes.fixed(len(self._unknown)),)
        arguments: list[Value] = [
            self._numbers,
            *(self._made[array] for array in self.read),
            *before,
        ]
        program = Program(arguments, list(after), [*claims, own], self._sizes)
        found = support()
        assert not isinstance(found, Unsupported)
        emitted = emit_program(program, Target.configured())
        fgraph = FunctionGraph([], [])
        self._program = NativeProgram.compiled(fgraph, program, emitted, found, link)

    def _all(self, values: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(self._twin(value) for value in values)

    def _twin(self, value: Any) -> Any:
        """Return the twin of a size or an array, or of each in a collection."""
        if isinstance(value, Size):
            return self._size(value)
        if isinstance(value, Array):
            return self._array(value)
        if isinstance(value, dict):
            return {name: self._twin(one) for name, one in value.items()}
        if type(value) in {tuple, list}:
            return type(value)(self._twin(one) for one in value)
        return value

    def _size(self, size: Size) -> Size:
        size = self._given.canonical(size)
        if size.known is not None:
            return self._sizes.fixed(size.known)
        found = self._unknown.get(size)
        if found is None:
            found = self._sizes.element(self._numbers, len(self._unknown))
            self._unknown[size] = found
        return found

    def _array(self, array: Array) -> Array:
        found = self._made.get(array)
        if found is None:
            alias = self._made[array.memory]
            found = replace(array, place=alias.place, sizes=self._all(array.sizes), alias=alias)
            found.variable = found.data = None
            self._made[array] = found
        return found

    def run(self, running: Running) -> None:
        """Carry it out twice, with different rubbish in elements that are not there.

        What is then the same in both has been computed; what is still the rubbish has not been
        written.
        """
        numbers = np.array([running.size(size) for size in self._unknown], np.int64)
        first, second = (self._results(running, numbers, rubbish) for rubbish in (RUBBISH, 0x5A))
        for array, one, other in zip(self.written, first, second, strict=True):
            memory = running.memory(array)
            one, other = (np.ascontiguousarray(x).reshape(-1) for x in (one, other))
            is_there = memory.holds()
            same = _rows(one) == _rows(other)
            is_rubbish = (_rows(one) == RUBBISH).all(1) & (_rows(other) == 0x5A).all(1)
            is_right = (same.all(1) | (is_rubbish & ~is_there)).all()
            expect(is_right, f"{self.call.title} reads elements that are not there")
            changed = (_rows(one) != _rows(memory.data)).any(1)
            memory.put(np.flatnonzero(same.all(1) & (changed | ~is_there)), 0)
            written = memory.holds()
            memory.data[written] = one[written]

    def _results(self, running: Running, numbers: Numbers, rubbish: int) -> list[Any]:
        values = [numbers]
        for array in (*self.read, *self.written):
            memory = running.memory(array)
            data = memory.data.copy()
            _rows(data)[~memory.holds()] = rubbish
            values.append(data.reshape(running.shape(array)))
        try:
            return self._program(values)
        except Exception as error:
            if self.call.failure is None:
                raise
            raise CheckFailed(self.call.failure) from error


def _rows(data: Numbers) -> Numbers:
    """Return the bytes of elements."""
    return data.view(np.uint8).reshape(data.size, data.dtype.itemsize)


def _arrays(options: Any) -> Iterator[Array]:
    if isinstance(options, Array):
        yield options
    elif isinstance(options, dict):
        for one in options.values():
            yield from _arrays(one)
    elif isinstance(options, tuple | list):
        for one in options:
            yield from _arrays(one)


# ---- products ----------------------------------------------------------------------------------


class _Products:
    """What the options of products mean."""

    def __init__(self, running: Running) -> None:
        self._at = running

    def _option(self, call: LibraryCall[Any], name: str, otherwise: int = 0) -> int:
        size = call.options.get(name)
        return otherwise if size is None else self._at.size(size)

    def _operand(
        self,
        call: LibraryCall[Any],
        array: Array,
        letter: str,
        shape: Sequence[int],
        strides: Sequence[int],
        moves: int,
    ) -> Operand:
        """Return an operand: its memory, and the elements."""
        memory = self._at.memory(array)
        at: Any = np.asarray(self._option(call, f"{letter}_offset") + moves)
        for length, stride in zip(shape, strides, strict=True):
            at = at[..., None] + np.arange(length) * stride
        is_inside = at.size == 0 or (at.min() >= 0 and at.max() < memory.data.size)
        expect(is_inside, f"{call.title} is outside of {array!r}")
        return memory, at

    def gemm(self, call: LibraryCall[Any]) -> None:
        """``c = alpha * a @ b + beta * c``"""
        m, n, k = (self._option(call, name) for name in "mnk")
        a, b = call.inputs[:2]
        for moves in self._batch(call):
            parts: list[Numbers] = []
            for letter, array, shape, move in (
                ("a", a, (m, k), moves[0]),
                ("b", b, (k, n), moves[1]),
            ):
                stride = self._option(call, f"{letter}_stride")
                is_transposed = call.options.get(f"{letter}_transposed", False)
                strides = (1, stride) if is_transposed else (stride, 1)
                is_apart = stride >= shape[0 if is_transposed else 1] or 1 in shape or 0 in shape
                expect(is_apart, f"rows of {array!r} overlap in {call.title}")
                parts.append(_read(self._operand(call, array, letter, shape, strides, move)))
            strides = (self._option(call, "c_stride"), 1)
            out = self._operand(call, call.outputs[0], "c", (m, n), strides, moves[2])
            self._add(call, out, parts[0] @ parts[1])

    def syrk(self, call: LibraryCall[Any]) -> None:
        """A product with its own transpose, whose options are those of a product."""
        self.gemm(call)

    def gemv(self, call: LibraryCall[Any]) -> None:
        """``y = alpha * a @ x + beta * y``"""
        m, n = self._option(call, "m"), self._option(call, "n")
        for moves in self._batch(call):
            stride = self._option(call, "a_stride")
            strides = (1, stride) if call.options.get("a_transposed") else (stride, 1)
            a = _read(self._operand(call, call.inputs[0], "a", (m, n), strides, moves[0]))
            step = self._option(call, "x_step", 1)
            x = _read(self._operand(call, call.inputs[1], "x", (n,), (step,), moves[1]))
            step = self._option(call, "y_step", 1)
            out = self._operand(call, call.outputs[0], "y", (m,), (step,), moves[2])
            self._add(call, out, a @ x)

    def _add(self, call: LibraryCall[Any], out: Operand, product_: Numbers) -> None:
        alpha = call.options.get("alpha", 1)
        total = (self._at.value(alpha) if isinstance(alpha, Array) else alpha) * product_
        beta = call.options.get("beta")
        memory, at = out
        memory.put(at, total + beta * _read(out) if beta else total)

    def _batch(self, call: LibraryCall[Any]) -> Iterator[list[int]]:
        """Yield by how much each operand is moved, for each product of a stack."""
        loops = [[self._at.size(size) for size in entry] for entry in call.options.get("batch", ())]
        for iteration in product(*[range(count) for count, *_ in loops]):
            yield [
                sum(at * steps[which] for at, (_, *steps) in zip(iteration, loops, strict=True))
                for which in range(3)
            ]


def _read(operand: Operand) -> Numbers:
    memory, at = operand
    expect(memory.holds(at).all(), "a product reads elements that are not there")
    return memory.data[at]
