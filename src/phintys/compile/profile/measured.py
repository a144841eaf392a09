"""The measurements of a function, by step, node and Op, as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from phintys._base.errors import MethodNotDefinedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from phintys.backends.measurements import Measurements, MemoryUse, StepTime
    from phintys.graph.apply import Apply
    from phintys.graph.variable import Variable


@dataclass
class NodeCost:
    """The cost of one node.

    Attributes
    ----------
    node : Apply
        The node.
    calls : int
        How many times it was computed.
    seconds : float
        Total time over all calls; estimated if a kernel computes several nodes.
    flops : float or None
        Floating-point operations of one call, if the Op defines ``flops``.
    size : int or None
        Size in bytes of its outputs in the last call; ``None`` if unknown.
    """

    node: Apply
    calls: int = 0
    seconds: float = 0.0
    flops: float | None = None
    size: int | None = None


@dataclass
class OpCost:
    """The total cost of all nodes of an Op.

    Attributes
    ----------
    nodes, calls : int
        The number of nodes, and how many times they were computed.
    seconds, flops : float
        Total time, and operations as far as known, over all calls.
    """

    nodes: int = 0
    calls: int = 0
    seconds: float = 0.0
    flops: float = 0.0


@dataclass
class Measured:
    """What :class:`~phintys.compile.profile.profile.Profile` shows; see there."""

    name: str | None = None
    compile_seconds: float = 0.0
    stages: dict[str, float] = field(default_factory=dict)
    rules: dict[str, tuple[int, float]] = field(default_factory=dict)
    programs: list[Measurements] = field(default_factory=list)
    inner: list[tuple[Apply, Measurements]] = field(default_factory=list)

    # ---- recording ---------------------------------------------------------------------------

    def watch(self, measurements: Measurements) -> None:
        """Add the measurements of a program."""
        self.programs.append(measurements)

    def watch_inner(self, node: Apply, measurements: Measurements) -> None:
        """Add the measurements of a program that runs the inner graph of a node."""
        self.inner.append((node, measurements))

    def compiled(self, stage: str, seconds: float) -> None:
        """Add the time of a stage of compilation."""
        self.stages[stage] = self.stages.get(stage, 0.0) + seconds

    def rewritten(self, rule: str, count: int, seconds: float) -> None:
        """Add applications of a rule, and their time."""
        before = self.rules.get(rule, (0, 0.0))
        self.rules[rule] = (before[0] + count, before[1] + seconds)

    # ---- times -------------------------------------------------------------------------------

    @property
    def calls(self) -> int:
        """The number of completed calls."""
        return sum(program.calls.calls for program in self.programs)

    @property
    def call_seconds(self) -> float:
        """Time in calls, excluding the checks of arguments and the construction of results."""
        return sum(program.calls.seconds for program in self.programs)

    @property
    def steps(self) -> list[StepTime]:
        """The steps that the backends ran: nodes, kernels, library calls, callbacks."""
        return [step for program in self.programs for step in program.steps]

    @property
    def step_seconds(self) -> float:
        """Time in steps."""
        return sum(step.seconds for step in self.steps)

    @property
    def callbacks(self) -> int:
        """The number of calls from native code to the Python code of an Op."""
        return sum(step.calls for step in self.steps if step.kind == "callback")

    @property
    def node_seconds(self) -> dict[Apply, float]:
        """The total seconds of each node over all calls."""
        return {cost.node: cost.seconds for cost in self.by_node()}

    def by_node(self) -> list[NodeCost]:
        """Return the cost of each node, slowest first.

        The time of a node with an inner graph is that of the node alone: those of the inner nodes
        are listed as well, if the backend runs them one by one.
        """
        costs: dict[Apply, NodeCost] = {}
        for program in [*self.programs, *(inner for _, inner in self.inner)]:
            shapes = program.shapes
            for step in program.steps:
                for node, share in step.nodes.items():
                    cost = costs.get(node)
                    if cost is None:
                        flops, size = flops_of(node, shapes)
                        cost = costs[node] = NodeCost(node, flops=flops, size=size)
                    cost.calls = max(cost.calls, step.calls)
                    cost.seconds += share * step.seconds
        for node, inner in self.inner:
            costs[node].seconds -= inner.calls.seconds
        return sorted(costs.values(), key=lambda cost: -cost.seconds)

    def by_op(self) -> dict[str, OpCost]:
        """Return the cost of each Op, slowest first."""
        totals: dict[str, OpCost] = {}
        for cost in self.by_node():
            total = totals.setdefault(str(cost.node.op), OpCost())
            total.nodes += 1
            total.calls += cost.calls
            total.seconds += cost.seconds
            total.flops += cost.calls * (cost.flops or 0.0)
        return dict(sorted(totals.items(), key=lambda entry: -entry[1].seconds))

    # ---- memory ------------------------------------------------------------------------------

    @property
    def memory(self) -> list[MemoryUse]:
        """The memory used by a call, for each measured program."""
        return [program.memory for program in self.programs]

    @property
    def peak_memory(self) -> int:
        """The peak size in bytes of the intermediate values and results of one call."""
        return max((use.peak for use in self.memory), default=0)

    def as_dict(self) -> dict[str, Any]:
        """Return the profile as plain data that :func:`json.dumps` accepts."""
        return {
            "name": self.name,
            "calls": self.calls,
            "call_seconds": self.call_seconds,
            "compile_seconds": self.compile_seconds,
            "stages": dict(self.stages),
            "rules": {rule: list(entry) for rule, entry in self.rules.items()},
            "steps": [
                {
                    "kind": step.kind,
                    "label": step.label,
                    "calls": step.calls,
                    "seconds": step.seconds,
                    "nodes": {str(node): share for node, share in step.nodes.items()},
                }
                for step in self.steps
            ],
            "nodes": [
                {
                    "node": str(cost.node),
                    "op": str(cost.node.op),
                    "calls": cost.calls,
                    "seconds": cost.seconds,
                    "flops": cost.flops,
                    "bytes": cost.size,
                    "origin": str(cost.node.origin) if cost.node.origin else None,
                }
                for cost in self.by_node()
            ],
            "memory": [
                {
                    "all_values": use.all_values,
                    "peak": use.peak,
                    "saved": dict(use.saved),
                    "unknown": sorted(use.unknown),
                }
                for use in self.memory
            ],
        }


def flops_of(node: Apply, shapes: Mapping[Variable, Any]) -> tuple[float | None, int | None]:
    """Return the floating-point operations of a node and the bytes of its outputs.

    Parameters
    ----------
    node
        The node.
    shapes
        Results of ``Type.get_shape_info`` for values.

    Returns
    -------
    flops : float or None
        ``None`` if the Op has no method ``flops``, or a shape is missing.
    size : int or None
        ``None`` if a shape is missing, or a Type has no ``get_size``.
    """
    outputs = [_shape(variable, shapes) for variable in node.outputs]
    if any(shape is None for shape in outputs):
        return None, None
    try:
        size = sum(
            variable.type.get_size(shape)
            for variable, shape in zip(node.outputs, outputs, strict=True)
        )
    except MethodNotDefinedError:
        size = None
    inputs = [_shape(variable, shapes) for variable in node.inputs]
    count = getattr(node.op, "flops", None)
    if count is None or any(shape is None for shape in inputs):
        return None, size
    return float(count(inputs, outputs)), size


def _shape(variable: Variable, shapes: Mapping[Variable, Any]) -> Any:
    found = shapes.get(variable)
    if found is not None or not hasattr(variable, "data"):
        return found
    try:
        return variable.type.get_shape_info(variable.data)  # pyright: ignore[reportAttributeAccessIssue]
    except MethodNotDefinedError:
        return None
