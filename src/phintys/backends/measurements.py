"""What a backend measures for a profile: times of steps, shapes and memory.

A *step* is a unit of execution of a backend: a node of the graph in the reference backend; in the
native backend a kernel that computes many nodes, a library call or a callback.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Protocol

from phintys._base.records import record

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.variable import Variable

MOST_EVENTS = 10_000
"""Number of events recorded per program; later ones are only counted in the totals."""


@record()
class StepTime:
    """How often a step ran, and how long that took.

    Attributes
    ----------
    kind
        ``"node"``, ``"kernel"``, ``"call"`` (of a library), ``"callback"`` or ``"program"``.
    label
        A readable description.
    nodes
        The nodes that the step computes, each with its share of the time; shares sum to 1. For a
        kernel, the shares are estimated from the cost of the operations.
    calls
        Number of runs.
    seconds
        Total time of all runs.
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
        Identifies the thread.
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
        Total size of the results of all nodes, not counting views.
    peak
        The peak memory in use.
    saved
        Bytes saved by each cause: ``"fusion"`` (values that never were in memory), ``"reuse"``
        (buffers reused for another value), ``"in place"`` (values that overwrote an input).
    unknown
        Types whose values could not be measured because they lack ``get_shape_info`` and
        ``get_size``.
    """

    all_values: int = 0
    peak: int = 0
    saved: dict[str, int] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)


class Measurements(Protocol):
    """The measurements of one program so far."""

    @property
    def calls(self) -> StepTime:
        """The completed calls of the program, in the form of a step."""
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
        """The result of ``Type.get_shape_info`` for the values of the last call."""
        ...

    @property
    def memory(self) -> MemoryUse:
        """The memory of the last call; if calls differ, that of the largest peak."""
        ...


class Profiler(Protocol):
    """The interface that a profile offers to backends."""

    def watch(self, measurements: Measurements) -> None:
        """Register the measurements of a program."""
        ...

    def watch_inner(self, node: Apply, measurements: Measurements) -> None:
        """Register the measurements of a program that runs the inner graph of a node."""
        ...

    def compiled(self, stage: str, seconds: float) -> None:
        """Record how long a stage of compilation took."""
        ...
