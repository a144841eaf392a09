"""What a backend measures for a profile: times of steps, shapes, memory.

A *step* is what a backend carries out in one go: a node of the graph in the reference backend; a
kernel that computes many nodes, a call of a library or a callback in the native one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Protocol

from phintys._base.records import record

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.variable import Variable

__all__ = ["MOST_EVENTS", "Event", "Measurements", "MemoryUse", "Profiler", "StepTime"]

MOST_EVENTS = 10_000
"""Events that are kept for each program; later ones count in the sums only."""


@record()
class StepTime:
    """How often a step was carried out, and how long that took.

    Attributes
    ----------
    kind
        ``"node"``, ``"kernel"``, ``"call"`` (of a library), ``"callback"`` or ``"program"``.
    label
        For people.
    nodes
        What the step computes, each node with its share of the time; shares sum to 1. Of a kernel
        they are estimated from the cost of the operations.
    calls
        Times that it ran.
    seconds
        Time that it took, all runs together.
    """

    kind: str
    label: str
    nodes: Mapping[Apply, float]
    calls: int = 0
    seconds: float = 0.0


@record(frozen=True)
class Event:
    """One run of a step.

    Attributes
    ----------
    step
        The step's number; -1 for the whole program.
    begin, end
        In seconds, on the clock of :func:`time.perf_counter`.
    thread
        Tells threads apart.
    """

    step: int
    begin: float
    end: float
    thread: int


@record()
class MemoryUse:
    """Memory of intermediate values and results in one call, in bytes.

    Attributes
    ----------
    all_values
        What the results of all nodes take together, views not counted.
    peak
        What was in use at most.
    saved
        Why the peak is below that: ``"fusion"`` (values that never were in memory), ``"reuse"``
        (memory that one value took over from another), ``"in place"`` (values that overwrote an
        input).
    unknown
        Types whose values could not be measured, for want of ``get_shape_info`` and ``get_size``.
    """

    all_values: int = 0
    peak: int = 0
    saved: dict[str, int] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)


class Measurements(Protocol):
    """What was measured of one program up to now."""

    @property
    def calls(self) -> StepTime:
        """The calls of the program that came to an end, as if they were a step."""
        ...

    @property
    def steps(self) -> Sequence[StepTime]:
        """The steps, in the order of execution."""
        ...

    @property
    def events(self) -> Sequence[Event]:
        """The first :data:`MOST_EVENTS` runs of steps, and of the whole program (step -1)."""
        ...

    @property
    def shapes(self) -> Mapping[Variable, Any]:
        """What ``Type.get_shape_info`` says of the values of the last call."""
        ...

    @property
    def memory(self) -> MemoryUse:
        """The memory of the last call; of the largest peak, where calls differ."""
        ...


class Profiler(Protocol):
    """What a profile does for a backend."""

    def watch(self, measurements: Measurements) -> None:
        """Take notice of a program that measures itself."""
        ...

    def compiled(self, stage: str, seconds: float) -> None:
        """Note how long a stage of compiling took."""
        ...
