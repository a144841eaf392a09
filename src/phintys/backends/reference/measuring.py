"""What is reported of the calls of the virtual machine: times, sizes, and hooks around nodes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

from phintys._base.errors import MethodNotDefinedError
from phintys._base.records import record
from phintys.backends.measurements import MOST_EVENTS, Event, MemoryUse, StepTime
from phintys.graph.alias_map import AliasMap, shared_inputs

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.op import StorageMap
    from phintys.graph.variable import Variable

    BeforeNode = Callable[[Apply, Sequence[Any]], None]
    AfterNode = Callable[[Apply, Sequence[Any], Sequence[Any]], None]


class NodeMeasurements:
    """The measurements of a program; implements
    :class:`~phintys.backends.measurements.Measurements`.

    Counts may be lost when several threads call the program at the same time.
    """

    def __init__(self, nodes: Sequence[Apply]) -> None:
        self.nodes = list(nodes)
        self.aliases = AliasMap.of_nodes(nodes)
        self.steps = [StepTime("node", str(node.op), {node: 1.0}) for node in nodes]
        self.calls = StepTime("program", "", {})
        self.events: list[Event] = []
        self.shapes: dict[Variable, Any] = {}
        self.memory = MemoryUse()

    def node_done(self, number: int, begin: float, end: float) -> None:
        """Record one execution of a node."""
        self._note(self.steps[number], number, begin, end)

    def call_done(self, call: CallMemory, begin: float, end: float) -> None:
        """Record a whole call."""
        call.finish()
        if call.use.peak >= self.memory.peak:
            self.memory = call.use
        self._note(self.calls, -1, begin, end)

    def _note(self, step: StepTime, number: int, begin: float, end: float) -> None:
        step.calls += 1
        step.seconds += end - begin
        if len(self.events) < MOST_EVENTS:
            self.events.append(Event(number, begin, end, threading.get_ident()))


class CallMemory:
    """Tracks the memory of one call.

    Parameters
    ----------
    shapes
        Receives the shapes of values.
    aliases
        The memory of the variables.
    """

    def __init__(self, shapes: dict[Variable, Any], aliases: AliasMap[Variable]) -> None:
        self.use = MemoryUse()
        self._aliases = aliases
        self._shapes = shapes
        self._live = 0
        # Memory belongs to the variable it was allocated for, and lives while any of its views
        # does.
        self._bytes: dict[Variable, int] = {}
        self._held: dict[Variable, int] = {}

    def start(self, inputs: Sequence[Variable], values: Sequence[Any]) -> None:
        """Record the inputs of the graph, whose memory belongs to the caller."""
        for variable, value in zip(inputs, values, strict=True):
            self._size(variable, value)

    def node_done(self, node: Apply, values: Sequence[Any]) -> None:
        """Record the outputs of a node."""
        use = self.use
        for index, (variable, value) in enumerate(zip(node.outputs, values, strict=True)):
            size = self._size(variable, value)
            if node.op.destroy_map.get(index):
                use.saved["in place"] = use.saved.get("in place", 0) + size
                use.all_values += size
            elif not shared_inputs(node.op, index):
                self._bytes[variable] = size
                self._live += size
                use.all_values += size
            for owner in self._owners_of(variable):
                self._held[owner] = self._held.get(owner, 0) + 1
        use.peak = max(use.peak, self._live)

    def freed(self, variables: Sequence[Variable]) -> None:
        """Record that values are no longer needed."""
        for variable in variables:
            for owner in self._owners_of(variable):
                self._held[owner] -= 1
                if not self._held[owner]:
                    self._live -= self._bytes[owner]

    def finish(self) -> None:
        """Compute how much memory freeing has saved."""
        use = self.use
        use.saved["reuse"] = use.all_values - use.saved.get("in place", 0) - use.peak

    def _owners_of(self, variable: Variable) -> list[Variable]:
        return [one for one in self._aliases.memory(variable) if one in self._bytes]

    def _size(self, variable: Variable, value: Any) -> int:
        try:
            shape = self._shapes[variable] = variable.type.get_shape_info(value)
            return int(variable.type.get_size(shape))
        except MethodNotDefinedError:
            self.use.unknown.add(str(variable.type))
            return 0


# ---- what is reported of calls -------------------------------------------------------------------


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
