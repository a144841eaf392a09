"""The virtual machine: storage cells, thunks in order, and freeing of unneeded values.

All state that a call modifies is in a :class:`Machine`. A call takes an idle machine, or creates
one, so that threads and recursive calls never share cells; without them there is just one machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.backends.inner import InnerPrograms, WithinNode
from phintys.backends.reference.diagnosis import explain_failure
from phintys.backends.reference.measuring import CallMemory, NodeMeasurements
from phintys.backends.reference.ownership import owning_thunk
from phintys.backends.reference.thunks import make_thunk
from phintys.graph.alias_map import AliasMap
from phintys.graph.aliasing import execution_order
from phintys.graph.variable import Constant

if TYPE_CHECKING:
    from phintys.backends.base import Program
    from phintys.backends.measurements import Profiler
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.inner import HasInnerGraph
    from phintys.graph.op import ComputeMap, StorageMap
    from phintys.graph.variable import Variable

    BeforeNode = Callable[[Apply, Sequence[Any]], None]
    AfterNode = Callable[[Apply, Sequence[Any], Sequence[Any]], None]

__all__ = ["VM", "Machine"]

_MOST_IDLE = 16


class Plan:
    """The data shared by all machines of a program.

    Attributes
    ----------
    nodes : list of Apply
        In the order of execution.
    fresh : set of Variable
        Results that need newly allocated memory at each call: results that are returned, results
        that share memory with those, and views or values changed in place (their cells hold memory
        of another value, which must not be written to).
    last_uses : list of list of Variable
        For each node, the variables that can be freed after it.
    programs : InnerPrograms
        The programs of inner graphs.
    """

    def __init__(
        self, fgraph: FunctionGraph, *, allow_gc: bool, debug: bool, programs: InnerPrograms
    ) -> None:
        self.fgraph = fgraph
        self.allow_gc = allow_gc
        self.debug = debug
        self.programs = programs
        self.nodes = execution_order(fgraph)
        self.fresh = _fresh_results(self.nodes, fgraph.outputs)
        self.last_uses = _last_uses(self.nodes, fgraph)


def _fresh_results(nodes: Sequence[Apply], outputs: Sequence[Variable]) -> set[Variable]:
    aliases = AliasMap.of_nodes(nodes)
    fresh = {*outputs, *aliases}
    fresh.update(owner for output in outputs for owner in aliases.memory(output))
    return fresh


def _last_uses(nodes: Sequence[Apply], fgraph: FunctionGraph) -> list[list[Variable]]:
    kept = {*fgraph.inputs, *fgraph.outputs}
    last_uses: list[list[Variable]] = []
    seen: set[Variable] = set()
    for node in reversed(nodes):
        ends = [
            variable
            for variable in dict.fromkeys((*node.inputs, *node.outputs))
            if variable not in seen and variable not in kept and not isinstance(variable, Constant)
        ]
        seen.update(ends)
        last_uses.append([variable for variable in ends if variable.owner is not None])
    last_uses.reverse()
    return last_uses


class Machine:
    """The cells and thunks for one call at a time.

    Attributes
    ----------
    storage_map : dict
        Variable -> the cell with its value.
    compute_map : dict
        Variable -> a cell with 0 (not computed), 1 (valid) or 2 (freed).
    """

    def __init__(self, plan: Plan) -> None:
        fgraph = plan.fgraph
        self.plan = plan
        self.storage_map: StorageMap = {variable: [None] for variable in fgraph.inputs}
        self.compute_map: ComputeMap = {variable: [1] for variable in fgraph.inputs}
        self.computed: list[list[Any]] = []
        for variable in fgraph.outputs:
            self._add_leaf(variable)
        for node in plan.nodes:
            for variable in node.inputs:
                self._add_leaf(variable)
            for variable in node.outputs:
                # An input of the graph may be the output of a node, where the graph was cut.
                if variable not in self.storage_map:
                    self.storage_map[variable] = [None]
                    self.compute_map[variable] = [0]
                    self.computed.append(self.compute_map[variable])
        self.inputs = [self.storage_map[variable] for variable in fgraph.inputs]
        self.outputs = [self.storage_map[variable] for variable in fgraph.outputs]
        recycled = plan.fresh
        self.thunks = [
            owning_thunk(
                make_thunk(
                    node,
                    self.storage_map,
                    self.compute_map,
                    [one for one in node.outputs if one in recycled or plan.allow_gc],
                    plan.debug,
                    plan.programs,
                ),
                node,
                self.storage_map,
            )
            for node in plan.nodes
        ]
        self.frees = [self._cells(ends) if plan.allow_gc else () for ends in plan.last_uses]
        self.steps = list(zip(self.thunks, self.frees, strict=True))
        # Cleared after each call: returned values, values that share their memory, and inputs.
        leaving = [*fgraph.inputs, *(v for v in fgraph.outputs if not isinstance(v, Constant))]
        leaving.extend(v for v in plan.fresh if v.owner is not None)
        self.leaving = [self.storage_map[v] for v in dict.fromkeys(leaving)]

    def _add_leaf(self, variable: Variable) -> None:
        if isinstance(variable, Constant) and variable not in self.storage_map:
            self.storage_map[variable] = [variable.data]
            self.compute_map[variable] = [1]

    def _cells(self, variables: Sequence[Variable]) -> tuple[tuple[list[Any], list[Any]], ...]:
        return tuple((self.storage_map[one], self.compute_map[one]) for one in variables)

    def run(self, inputs: Sequence[Any]) -> list[Any]:
        """Compute the outputs."""
        thunk = None
        for cell, value in zip(self.inputs, inputs):  # noqa: B905 - strict=True costs 100 ns
            cell[0] = value
        for cell in self.computed:
            cell[0] = 0
        try:
            for thunk, frees in self.steps:
                thunk()
                for cell, state in frees:
                    cell[0] = None
                    state[0] = 2
        except Exception as error:
            if thunk is not None:
                node = self.plan.nodes[self.thunks.index(thunk)]
                explain_failure(error, node, self.storage_map)
            raise
        results = [cell[0] for cell in self.outputs]
        for cell in self.leaving:
            cell[0] = None
        return results

    def run_watched(
        self,
        inputs: Sequence[Any],
        before_node: BeforeNode | None,
        after_node: AfterNode | None,
        measurements: NodeMeasurements | None,
    ) -> list[Any]:
        """Compute the outputs, reporting each node."""
        for cell, value in zip(self.inputs, inputs, strict=True):
            cell[0] = value
        for cell in self.computed:
            cell[0] = 0
        cells = self.storage_map
        memory: CallMemory | None = None
        call_begin = perf_counter()
        if measurements is not None:
            memory = CallMemory(measurements.shapes, measurements.aliases)
            memory.start(self.plan.fgraph.inputs, inputs)
        for number, node in enumerate(self.plan.nodes):
            thunk, frees = self.steps[number]
            try:
                if before_node is not None:
                    before_node(node, [cells[variable][0] for variable in node.inputs])
                begin = perf_counter()
                thunk()
                end = perf_counter()
                outputs = [cells[variable][0] for variable in node.outputs]
                if after_node is not None:
                    after_node(node, [cells[variable][0] for variable in node.inputs], outputs)
            except Exception as error:
                explain_failure(error, node, cells)
                raise
            if measurements is not None and memory is not None:
                measurements.node_done(number, begin, end)
                memory.node_done(node, outputs)
                if frees:
                    memory.freed(self.plan.last_uses[number])
            for cell, state in frees:
                cell[0] = None
                state[0] = 2
        results = [cell[0] for cell in self.outputs]
        for cell in self.leaving:
            cell[0] = None
        if measurements is not None and memory is not None:
            measurements.call_done(memory, call_begin, perf_counter())
        return results


class VM:
    """A program of the reference backend.

    Parameters
    ----------
    fgraph
        The graph; must not be modified afterwards.
    allow_gc
        Free intermediate results after their last use.
    debug
        Use ``debug_perform`` of Ops that define it.
    before_node
        Called before each node with the node and its input values.
    after_node
        Called after each node with the node, its input values and its output values.
    profiler
        Receives the measurements of each node.
    link
        Returns a program for an inner graph; by default a machine without the two hooks.

    Attributes
    ----------
    storage_map, compute_map : dict
        Cells of the machine that the next call uses.
    """

    def __init__(
        self,
        fgraph: FunctionGraph,
        *,
        allow_gc: bool = True,
        debug: bool = False,
        before_node: BeforeNode | None = None,
        after_node: AfterNode | None = None,
        profiler: Profiler | None = None,
        link: Callable[..., Program] | None = None,
    ) -> None:
        link = link or partial(VM, allow_gc=allow_gc, debug=debug)

        def link_inner(node: Apply, op: HasInnerGraph) -> Program:
            within = None if profiler is None else WithinNode(profiler, node)
            return link(op.fgraph, profiler=within)

        self.plan = Plan(fgraph, allow_gc=allow_gc, debug=debug, programs=InnerPrograms(link_inner))
        self.before_node = before_node
        self.after_node = after_node
        self._measurements: NodeMeasurements | None = None
        if profiler is not None:
            self._measurements = NodeMeasurements(self.plan.nodes)
            profiler.watch(self._measurements)
        hooks = (before_node, after_node, profiler)
        self._watched = any(hook is not None for hook in hooks)
        # Created now, so that an Op whose make_thunk fails is reported when the function is
        # compiled.
        self._idle = [Machine(self.plan)]

    @property
    def nodes(self) -> list[Apply]:
        """The nodes in the order of execution."""
        return self.plan.nodes

    @property
    def allow_gc(self) -> bool:
        """Whether intermediate results are freed after their last use."""
        return self.plan.allow_gc

    @property
    def storage_map(self) -> StorageMap:
        """Variable -> cell, of the machine that the next call uses."""
        return self._peek().storage_map

    @property
    def compute_map(self) -> ComputeMap:
        """Variable -> state, of the machine that the next call uses."""
        return self._peek().compute_map

    def _peek(self) -> Machine:
        if not self._idle:
            self._idle.append(Machine(self.plan))
        return self._idle[-1]

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        """Return the values of the outputs."""
        # Taking from and adding to a list is atomic, so no lock is needed.
        try:
            machine = self._idle.pop()
        except IndexError:
            machine = Machine(self.plan)
        # A machine whose call failed is dropped, since the state of its cells is unknown.
        # NaN and infinities are ordinary results, as in native code: NumPy need not warn.
        with np.errstate(all="ignore"):
            if self._watched:
                results = machine.run_watched(
                    inputs, self.before_node, self.after_node, self._measurements
                )
            else:
                results = machine.run(inputs)
        if len(self._idle) < _MOST_IDLE:
            self._idle.append(machine)
        return results

    def free(self) -> None:
        """Release the results that were kept for the next call."""
        self._idle = []
        self.plan.programs.free()
