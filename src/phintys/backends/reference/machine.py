"""The state of one call: storage cells, thunks in order, and freeing of unneeded values."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any

from phintys.backends.reference.diagnosis import explain_failure
from phintys.backends.reference.measuring import Watch, WatchedCall
from phintys.backends.reference.ownership import owning_thunk
from phintys.backends.reference.thunks import is_lazy, make_thunk
from phintys.graph.alias_map import AliasMap
from phintys.graph.aliasing import execution_order
from phintys.graph.variable import Constant, Variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.inner import InnerPrograms
    from phintys.backends.reference.thunks import Thunk
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.op import ComputeMap, StorageMap


class MachinePlan:
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
    lazy : list of int
        The numbers of the nodes whose thunks are lazy.
    """

    def __init__(self, plan: MachinePlan) -> None:
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
        """Return the outputs, and empty the cells of all values that the caller can access."""
        results = [cell[0] for cell in self.outputs]
        for cell in self.leaving:
            cell[0] = None
        return results

    def run_watched(self, inputs: Sequence[Any], watch: Watch) -> list[Any]:
        """Compute the outputs, reporting each node."""
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
