"""Measurements of a native program, in terms of the graph."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

from phintys.backends.measurements import MOST_EVENTS, Event, MemoryUse, StepTime
from phintys.backends.native.expressions import Operation, Statement, parts_of
from phintys.backends.native.steps.claim import Claim
from phintys.backends.native.values import Array, Place
from phintys.backends.native.writer.clock import EVENT_WORDS, FIRST_STEP, StepClock

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from phintys.backends.native.memory import MemoryPlan
    from phintys.backends.native.polynomials import Polynomial
    from phintys.backends.native.program import Program
    from phintys.backends.native.sizes import Size
    from phintys.graph.variable import Variable

_NANO = 1e-9
_STACK_BITS = 23
"""Frames of one thread are within a stack of 8 MiB."""


class NativeMeasurements:
    """Reads the table of a program; implements
    :class:`~phintys.backends.measurements.Measurements`.

    Parameters
    ----------
    program
        The program.
    clock
        The clock that measures it.
    memory
        The placement of its arrays.
    """

    def __init__(self, program: Program, clock: StepClock, memory: MemoryPlan) -> None:
        self.program = program
        self.clock = clock
        self._memory = memory
        self._ring = clock.ring
        numbers = clock.table.data
        assert numbers is not None
        self._numbers = numbers
        self._stored = _stored_arrays(program)
        self._claimed = {step.target for step in program.steps if isinstance(step, Claim)}

    # ---- times -------------------------------------------------------------------------------

    @property
    def calls(self) -> StepTime:
        """The completed calls."""
        calls, nanoseconds = self._times(-1)
        return StepTime("program", "", {}, calls, nanoseconds * _NANO)

    @property
    def steps(self) -> Sequence[StepTime]:
        """The steps, without those that take next to no time."""
        return [self._step(number) for number in self._shown()]

    def _shown(self) -> list[int]:
        return [number for number, step in enumerate(self.program.steps) if step.is_timed]

    def _step(self, number: int) -> StepTime:
        step = self.program.steps[number]
        calls, nanoseconds = self._times(number)
        nodes = step.shares(self._weight)
        names = Counter(str(node.op) for node in nodes)
        label = ", ".join(name if n == 1 else f"{name} x{n}" for name, n in names.items())
        return StepTime(step.noun, label or step.noun, nodes, calls, nanoseconds * _NANO)

    def _times(self, number: int) -> tuple[int, int]:
        at = FIRST_STEP + 2 * (number + 1)
        return int(self._numbers[at]), int(self._numbers[at + 1])

    def _weight(self, statement: Statement) -> float:
        """Return a rough estimate of the time that a statement takes."""
        operations = (part for part in parts_of(statement.value) if isinstance(part, Operation))
        cost = 1.0 + sum(operation.op.cost for operation in operations)
        return cost * max(1, math.prod(self._size(loop.extent) for loop in statement.loops))

    @property
    def events(self) -> Sequence[Event]:
        """The first runs of steps."""
        count = min(int(self._numbers[0]), MOST_EVENTS)
        first = self.clock.first_event
        words = self._numbers[first : first + EVENT_WORDS * count].reshape(count, EVENT_WORDS)
        position = {-1: -1} | {number: at for at, number in enumerate(self._shown())}
        return [
            Event(position[step], begin * _NANO, end * _NANO, frame >> _STACK_BITS)
            for step, begin, end, frame in words.tolist()
            if step in position
        ]

    # ---- sizes -------------------------------------------------------------------------------

    def _size(self, size: Size) -> int:
        return self._value(self._ring.of(size))

    def _value(self, polynomial: Polynomial) -> int:
        atoms, known = self._ring.atoms, self._atom_values()
        return sum(
            factor * math.prod(known.get(atoms[atom], 0) for atom in product)
            for product, factor in polynomial.terms
        )

    def _atom_values(self) -> dict[Any, int]:
        first = self.clock.first_size
        words = self._numbers[first : first + len(self.clock.sizes)].tolist()
        return dict(zip(self.clock.sizes, words, strict=True))

    @property
    def shapes(self) -> Mapping[Variable, Any]:
        """The shapes of all tensors in the last call."""
        if not self._numbers[0]:
            return {}
        return {
            variable: tuple([self._size(size) for size in sizes])
            for variable, sizes in self.program.shapes.items()
        }

    # ---- memory ------------------------------------------------------------------------------

    @property
    def memory(self) -> MemoryUse:
        """The memory of the last call, not counting memory that Ops use in Python.

        Inputs that may be overwritten are counted as if they were, that is, as if not referenced
        elsewhere.
        """
        if not self._numbers[0]:
            return MemoryUse()
        computed = {
            variable: math.prod(shape) * variable.type.numpy_dtype.itemsize  # pyright: ignore[reportAttributeAccessIssue]
            for variable, shape in self.shapes.items()
            if variable.owner is not None and not variable.owner.op.view_map
        }
        stored = sum(self._value(self._ring.bytes(array)) for array in self._stored)
        elsewhere = self._claimed.union(self._memory.places)
        results = [array for array in self._stored if array not in elsewhere]
        peak = sum(self._value(self._ring.bytes(array)) for array in results)
        in_place = sum(self._value(self._ring.bytes(array)) for array in self._claimed)
        peak += sum(
            max(self._value(bytes_) for bytes_, _ in slot.sizes()) for slot in self._memory.slots
        )
        everything = max(sum(computed.values()), stored)
        saved = {
            "fusion": everything - stored,
            "reuse": max(0, stored - peak - in_place),
            "in place": in_place,
        }
        return MemoryUse(everything, peak, saved)


def _stored_arrays(program: Program) -> list[Array]:
    """Return the memory that steps write."""
    steps = [step for step in program.steps if step.is_timed]
    found = {array.memory: None for step in steps for array in step.writes()}
    return [array for array in found if array.place != Place.ARGUMENT]
