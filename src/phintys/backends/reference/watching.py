"""What is reported of the calls of a machine: hooks before and after nodes, times and memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

from phintys._base.records import record
from phintys.backends.reference.measuring import CallMemory, NodeMeasurements

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.op import StorageMap
    from phintys.graph.variable import Variable

    BeforeNode = Callable[[Apply, Sequence[Any]], None]
    AfterNode = Callable[[Apply, Sequence[Any], Sequence[Any]], None]


@record(frozen=True)
class Watch:
    """What is notified of each node.

    Attributes
    ----------
    before_node
        Called before each node with the node and its input values.
    after_node
        Called after each node with the node, its input values and its output values.
    measurements
        Receives times and sizes.
    """

    before_node: BeforeNode | None = None
    after_node: AfterNode | None = None
    measurements: NodeMeasurements | None = None

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to notify."""
        return self.before_node is self.after_node is self.measurements is None


class WatchedCall:
    """One call of a machine.

    Parameters
    ----------
    watch
        What is notified of it.
    cells
        The cells of the machine.
    """

    def __init__(self, watch: Watch, cells: StorageMap) -> None:
        self._watch = watch
        self._cells = cells
        self._memory: CallMemory | None = None
        self._begin = perf_counter()
        if (measurements := watch.measurements) is not None:
            self._memory = CallMemory(measurements.shapes, measurements.aliases)

    def start(self, variables: Sequence[Variable], values: Sequence[Any]) -> None:
        """Record the inputs of the graph."""
        if self._memory is not None:
            self._memory.start(variables, values)

    def before(self, node: Apply) -> None:
        """Report that a node is run next."""
        if self._watch.before_node is not None:
            self._watch.before_node(node, self._values(node.inputs))

    def after(self, number: int, node: Apply, begin: float, end: float) -> None:
        """Report that a node was run."""
        outputs = self._values(node.outputs)
        if self._watch.after_node is not None:
            self._watch.after_node(node, self._values(node.inputs), outputs)
        if self._memory is not None and self._watch.measurements is not None:
            self._watch.measurements.node_done(number, begin, end)
            self._memory.node_done(node, outputs)

    def freed(self, variables: Sequence[Variable]) -> None:
        """Record that values are no longer needed."""
        if self._memory is not None:
            self._memory.freed(variables)

    def finish(self) -> None:
        """Record the whole call."""
        if self._memory is not None and self._watch.measurements is not None:
            self._watch.measurements.call_done(self._memory, self._begin, perf_counter())

    def _values(self, variables: Sequence[Variable]) -> list[Any]:
        return [self._cells[variable][0] for variable in variables]
