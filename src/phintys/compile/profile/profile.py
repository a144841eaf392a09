"""Profile: what was measured of a function, by step, node and Op."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phintys.compile.profile.costs import flops_of
from phintys.compile.profile.events import trace_events
from phintys.compile.profile.report import write_report

if TYPE_CHECKING:
    from os import PathLike

    from phintys.backends.measurements import Measurements, MemoryUse, StepTime
    from phintys.graph.apply import Apply

__all__ = ["NodeCost", "OpCost", "Profile"]


@dataclass
class NodeCost:
    """What one node cost.

    Attributes
    ----------
    node : Apply
        The node.
    calls : int
        How often it was computed.
    seconds : float
        Time, all calls together; estimated where a kernel computes several nodes.
    flops : float or None
        Floating-point operations of one call, where the Op has ``flops``.
    size : int or None
        Bytes of its outputs in the last call, ``None`` where they are not known.
    """

    node: Apply
    calls: int = 0
    seconds: float = 0.0
    flops: float | None = None
    size: int | None = None


@dataclass
class OpCost:
    """What all nodes of an Op cost together.

    Attributes
    ----------
    nodes, calls : int
        How many nodes there are, and how often they were computed.
    seconds, flops : float
        Time, and operations as far as they are known, all calls together.
    """

    nodes: int = 0
    calls: int = 0
    seconds: float = 0.0
    flops: float = 0.0


@dataclass
class Profile:
    """Time and memory of a function, added up over all calls.

    Functions may share one. Threads that call a function at the same time may lose a count.

    Attributes
    ----------
    name : str or None
        For the report.
    compile_seconds : float
        Time that compiling took.
    stages : dict of str -> float
        Seconds of each stage of compiling: passes by their names, then those of the backend.
    rules : dict of str -> (int, float)
        How often each rewriting rule was applied, and the seconds that took.
    programs : list of Measurements
        What the backends measure.

    Examples
    --------
    >>> import phintys
    >>> import phintys.tensor as pt
    >>> x = pt.dvector("x")
    >>> f = phintys.function([x], pt.exp(x), profile=True)
    >>> _ = f([1.0, 2.0])
    >>> f.profile.calls
    1
    >>> [cost.size for cost in f.profile.by_node()]
    [16]
    """

    name: str | None = None
    compile_seconds: float = 0.0
    stages: dict[str, float] = field(default_factory=dict)
    rules: dict[str, tuple[int, float]] = field(default_factory=dict)
    programs: list[Measurements] = field(default_factory=list)

    # ---- being told --------------------------------------------------------------------------

    def watch(self, measurements: Measurements) -> None:
        """Take notice of a program that measures itself."""
        self.programs.append(measurements)

    def compiled(self, stage: str, seconds: float) -> None:
        """Note how long a stage of compiling took."""
        self.stages[stage] = self.stages.get(stage, 0.0) + seconds

    def rewritten(self, rule: str, count: int, seconds: float) -> None:
        """Note how often a rule was applied, and how long that took."""
        before = self.rules.get(rule, (0, 0.0))
        self.rules[rule] = (before[0] + count, before[1] + seconds)

    # ---- times -------------------------------------------------------------------------------

    @property
    def calls(self) -> int:
        """Calls that came to an end."""
        return sum(program.calls.calls for program in self.programs)

    @property
    def call_seconds(self) -> float:
        """Time in calls, without the check of arguments and the making of results."""
        return sum(program.calls.seconds for program in self.programs)

    @property
    def steps(self) -> list[StepTime]:
        """What the backends carried out: nodes, kernels, calls of libraries, callbacks."""
        return [step for program in self.programs for step in program.steps]

    @property
    def step_seconds(self) -> float:
        """Time in steps."""
        return sum(step.seconds for step in self.steps)

    @property
    def callbacks(self) -> int:
        """How many times native code called the Python code of an Op."""
        return sum(step.calls for step in self.steps if step.kind == "callback")

    @property
    def node_seconds(self) -> dict[Apply, float]:
        """The seconds that each node took, all calls together."""
        return {cost.node: cost.seconds for cost in self.by_node()}

    def by_node(self) -> list[NodeCost]:
        """Return what each node cost, the slowest first."""
        costs: dict[Apply, NodeCost] = {}
        for program in self.programs:
            shapes = program.shapes
            for step in program.steps:
                for node, share in step.nodes.items():
                    cost = costs.get(node)
                    if cost is None:
                        flops, size = flops_of(node, shapes)
                        cost = costs[node] = NodeCost(node, flops=flops, size=size)
                    cost.calls = max(cost.calls, step.calls)
                    cost.seconds += share * step.seconds
        return sorted(costs.values(), key=lambda cost: -cost.seconds)

    def by_op(self) -> dict[str, OpCost]:
        """Return what each Op cost, the slowest first."""
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
        """The memory of a call, for each program that was measured."""
        return [program.memory for program in self.programs]

    @property
    def peak_memory(self) -> int:
        """The most bytes that intermediate values and results of one call took at a time."""
        return max((use.peak for use in self.memory), default=0)

    # ---- showing -----------------------------------------------------------------------------

    def summary(self, most: int = 20) -> str:
        """Return everything as tables.

        Parameters
        ----------
        most
            Rows of a table at most.
        """
        return write_report(self, most)

    def __str__(self) -> str:
        return self.summary()

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain data, as :func:`json.dumps` takes it."""
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

    def write_trace(self, path: str | PathLike[str]) -> None:
        """Write the first calls as a file for the trace viewer of Chrome, or for Perfetto.

        Parameters
        ----------
        path
            The file, in the Trace Event Format (JSON).
        """
        text = json.dumps({"traceEvents": trace_events(self), "displayTimeUnit": "ns"})
        Path(path).write_text(text, encoding="utf-8")
