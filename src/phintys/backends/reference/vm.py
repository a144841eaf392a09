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
from phintys.backends.reference.lazy import Demand, LazyCall
from phintys.backends.reference.measuring import NodeMeasurements
from phintys.backends.reference.ownership import owning_thunk
from phintys.backends.reference.thunks import is_lazy, make_thunk
from phintys.backends.reference.watching import Watch, WatchedCall
from phintys.graph.alias_map import AliasMap
from phintys.graph.aliasing import execution_order
from phintys.graph.variable import Constant

if TYPE_CHECKING:
    from phintys.backends.base import Program
    from phintys.backends.measurements import Profiler
    from phintys.backends.reference.thunks import Thunk
    from phintys.backends.reference.watching import AfterNode, BeforeNode
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.inner import HasInnerGraph
    from phintys.graph.op import ComputeMap, StorageMap
    from phintys.graph.variable import Variable

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
        self._demand: Demand | None = None

    def demand(self, lazy: Sequence[int]) -> Demand:
        """Return what nodes need, given the numbers of those with lazy thunks."""
        if self._demand is None:
            self._demand = Demand(self, lazy)
        return self._demand


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
    lazy : list of int
        The numbers of the nodes whose thunks are lazy.
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
        self.thunks: list[Thunk] = []
        self.lazy: list[int] = []
        for number, node in enumerate(plan.nodes):
            thunk = make_thunk(
                node,
                self.storage_map,
                self.compute_map,
                [one for one in node.outputs if one in plan.fresh or plan.allow_gc],
                plan.debug,
                plan.programs,
            )
            if is_lazy(thunk):
                self.lazy.append(number)
            self.thunks.append(owning_thunk(thunk, node, self.storage_map))
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

    def begin(self, inputs: Sequence[Any]) -> None:
        """Set the inputs; nothing is computed yet."""
        for cell, value in zip(self.inputs, inputs, strict=True):
            cell[0] = value
        for cell in self.computed:
            cell[0] = 0

    def end(self) -> list[Any]:
        """Return the outputs, and release what belongs to others from now on."""
        results = [cell[0] for cell in self.outputs]
        for cell in self.leaving:
            cell[0] = None
        return results

    def run_watched(self, inputs: Sequence[Any], watch: Watch) -> list[Any]:
        """Compute the outputs, reporting each node; only what is needed, if a thunk is lazy."""
        if self.lazy:
            return LazyCall(self, self.plan.demand(self.lazy), watch).run(inputs)
        call = WatchedCall(watch, self.storage_map)
        self.begin(inputs)
        call.start(self.plan.fgraph.inputs, inputs)
        for number, node in enumerate(self.plan.nodes):
            thunk, frees = self.steps[number]
            try:
                call.before(node)
                begin = perf_counter()
                thunk()
                end = perf_counter()
                call.after(number, node, begin, end)
            except Exception as error:
                explain_failure(error, node, self.storage_map)
                raise
            if frees:
                call.freed(self.plan.last_uses[number])
            for cell, state in frees:
                cell[0] = None
                state[0] = 2
        results = self.end()
        call.finish()
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
    is_lazy : bool
        Whether a thunk is lazy, so that calls compute only what is needed.
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
        measurements: NodeMeasurements | None = None
        if profiler is not None:
            measurements = NodeMeasurements(self.plan.nodes)
            profiler.watch(measurements)
        self._watch = Watch(before_node, after_node, measurements)
        # Created now, so that an Op whose make_thunk fails is reported when the function is
        # compiled.
        self._idle = [Machine(self.plan)]
        self.is_lazy = bool(self._idle[0].lazy)
        self._is_plain = self._watch.is_idle and not self.is_lazy

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
            if self._is_plain:
                results = machine.run(inputs)
            else:
                results = machine.run_watched(inputs, self._watch)
        if len(self._idle) < _MOST_IDLE:
            self._idle.append(machine)
        return results

    def free(self) -> None:
        """Release the results that were kept for the next call."""
        self._idle = []
        self.plan.programs.free()
