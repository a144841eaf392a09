"""Measurements of a native program, in terms of the graph."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

from phintys.backends.measurements import MOST_EVENTS, Event, MemoryUse, StepTime
from phintys.backends.native.emit.access import parts_of
from phintys.backends.native.emit.clock import EVENT_WORDS, FIRST_STEP
from phintys.backends.native.program import (
    Array,
    Branch,
    Call,
    Callback,
    Check,
    Claim,
    Kernel,
    Loop,
    Operation,
    Place,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from phintys.backends.native.emit.clock import StepClock
    from phintys.backends.native.memory import MemoryPlan
    from phintys.backends.native.polynomials import Polynomial
    from phintys.backends.native.program import Program, Statement, Step
    from phintys.backends.native.sizes import Size
    from phintys.graph.apply import Apply
    from phintys.graph.variable import Variable

__all__ = ["NativeMeasurements"]

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
        """The steps; checks and claims are left out."""
        return [self._step(number) for number in self._shown()]

    def _shown(self) -> list[int]:
        steps = self.program.steps
        return [number for number, step in enumerate(steps) if not isinstance(step, Check | Claim)]

    def _step(self, number: int) -> StepTime:
        step = self.program.steps[number]
        calls, nanoseconds = self._times(number)
        kind = "callback" if isinstance(step, Callback) else type(step).__name__.lower()
        nodes = self._nodes(step)
        names = Counter(str(node.op) for node in nodes)
        label = ", ".join(name if n == 1 else f"{name} x{n}" for name, n in names.items())
        return StepTime(kind, label or kind, nodes, calls, nanoseconds * _NANO)

    def _times(self, number: int) -> tuple[int, int]:
        at = FIRST_STEP + 2 * (number + 1)
        return int(self._numbers[at]), int(self._numbers[at + 1])

    def _nodes(self, step: Step) -> Mapping[Apply, float]:
        """Return the nodes that a step computes, with their shares of its time."""
        if isinstance(step, Callback | Call):
            return {step.node: 1.0}
        if isinstance(step, Branch | Loop):
            return {} if step.node is None else {step.node: 1.0}
        if not isinstance(step, Kernel):
            return {}
        weights: dict[Apply, float] = {}
        for statement in [one for nest in step.nests for one in nest.statements]:
            weight = self._weight(statement)
            for node in statement.nodes:
                weights[node] = weights.get(node, 0.0) + weight / len(statement.nodes)
        total = sum(weights.values())
        return {node: weight / total for node, weight in weights.items()} if total else {}

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
        peak += sum(self._value(slot.bytes) for slot in self._memory.slots)
        everything = max(sum(computed.values()), stored)
        saved = {
            "fusion": everything - stored,
            "reuse": max(0, stored - peak - in_place),
            "in place": in_place,
        }
        return MemoryUse(everything, peak, saved)


def _stored_arrays(program: Program) -> list[Array]:
    """Return the memory that steps write."""
    found: dict[Array, None] = {}
    for step in program.steps:
        if isinstance(step, Kernel):
            arrays = [one.target for nest in step.nests for one in nest.statements]
            found.update(dict.fromkeys(a.memory for a in arrays if a.memory not in step.local))
        elif isinstance(step, Call):
            found[step.output.memory] = None
        elif isinstance(step, Callback):
            found.update(dict.fromkeys(v.memory for v in step.outputs if isinstance(v, Array)))
    return [array for array in found if array.place != Place.ARGUMENT]
