"""Calls that compute only what is asked for: graphs with lazy thunks.

A lazy thunk may be called before the inputs of its node are computed; it returns the numbers of
those that it needs, and is called again. All other nodes need all of their inputs.

Nodes that are needed run in the order of execution, which is the order of eager calls: the needed
node with the lowest number is next. What a lazy node asks for has lower numbers than the node
itself, so it is computed before the node is called again.

That order also makes nodes that overwrite a value run after all that read it. But a reader that was
not needed then may be asked for later. So a value is copied before it is overwritten, if a node
that reads it, or a view of it, has been passed over.
"""

from __future__ import annotations

from heapq import heappop, heappush
from time import perf_counter
from typing import TYPE_CHECKING, Any

from phintys.backends.base import copy_value
from phintys.backends.reference.diagnosis import explain_failure
from phintys.backends.reference.measuring import Watch, WatchedCall
from phintys.graph.alias_map import AliasMap, destroyed_inputs
from phintys.graph.variable import Constant, Variable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from phintys.backends.reference.machine import Machine, MachinePlan
    from phintys.graph.apply import Apply


class Demand:
    """What nodes need, for all calls of a program with lazy thunks.

    Parameters
    ----------
    plan
        The plan of the program.
    lazy
        The numbers of the nodes whose thunks are lazy.

    Attributes
    ----------
    needs : list of list of int
        For each node the numbers of the nodes that compute its inputs; none for a lazy node.
    first : list of int
        The numbers of the nodes that compute outputs of the graph.
    producer : dict of Variable -> int
        The number of the node that computes a variable.
    readers : dict of Variable -> list of int
        The numbers of the nodes that read a value which can be freed.
    at_risk : dict of int -> list of (Variable, list of int)
        For each node that overwrites memory, the variables in that memory that other nodes read,
        and the numbers of those nodes.
    """

    def __init__(self, plan: MachinePlan, lazy: Iterable[int]) -> None:
        nodes, inputs = plan.nodes, set(plan.fgraph.inputs)
        self.lazy = frozenset(lazy)
        self.producer = {
            variable: number
            for number, node in enumerate(nodes)
            for variable in node.outputs
            if variable not in inputs
        }
        self.needs = [
            [] if number in self.lazy else self._producers(node.inputs)
            for number, node in enumerate(nodes)
        ]
        self.first = self._producers(plan.fgraph.outputs)
        read_by: dict[Variable, list[int]] = {}
        for number, node in enumerate(nodes):
            for variable in dict.fromkeys(node.inputs):
                read_by.setdefault(variable, []).append(number)
        kept = {*plan.fgraph.inputs, *plan.fgraph.outputs}
        self.readers = {
            variable: read_by.get(variable, [])
            for variable in self.producer
            if variable not in kept
        }
        self.at_risk = _at_risk(nodes, read_by)

    def _producers(self, variables: Iterable[Variable]) -> list[int]:
        found = (self.producer.get(variable) for variable in variables)
        return list(dict.fromkeys(number for number in found if number is not None))


def _at_risk(
    nodes: Sequence[Apply], read_by: dict[Variable, list[int]]
) -> dict[int, list[tuple[Variable, list[int]]]]:
    aliases = AliasMap.of_nodes(nodes)
    in_memory_of: dict[Variable, list[Variable]] = {}
    for variable in read_by:
        for root in aliases.roots(variable):
            in_memory_of.setdefault(root, []).append(variable)
    found: dict[int, list[tuple[Variable, list[int]]]] = {}
    for number, node in enumerate(nodes):
        roots = (aliases.roots(node.inputs[position]) for position in destroyed_inputs(node))
        victims = (v for each in roots for root in each for v in in_memory_of.get(root, ()))
        for variable in dict.fromkeys(victims):
            others = [other for other in read_by[variable] if other < number]
            if others and not isinstance(variable, Constant):
                found.setdefault(number, []).append((variable, others))
    return found


class LazyCall:
    """One call of a machine with lazy thunks.

    Parameters
    ----------
    machine
        The machine.
    demand
        What its nodes need.
    watch
        What is told of each node.
    """

    def __init__(self, machine: Machine, demand: Demand, watch: Watch) -> None:
        self.machine = machine
        self.demand = demand
        self.call = WatchedCall(watch, machine.storage_map)
        self.waiting: list[int] = []
        self.asked = [False] * len(machine.thunks)
        self.begun = [False] * len(machine.thunks)
        self.done = [False] * len(machine.thunks)

    def run(self, inputs: Sequence[Any]) -> list[Any]:
        """Compute the outputs."""
        machine = self.machine
        machine.begin(inputs)
        self.call.start(machine.plan.fgraph.inputs, inputs)
        self._ask_for(self.demand.first)
        while self.waiting:
            number = heappop(self.waiting)
            node = machine.plan.nodes[number]
            try:
                self._run(number, node)
            except Exception as error:
                explain_failure(error, node, machine.storage_map)
                raise
        results = machine.end()
        if machine.plan.allow_gc:  # what was passed over did not free its inputs
            for variable in self.demand.readers:
                machine.storage_map[variable][0] = None
        self.call.finish()
        return results

    def _ask_for(self, numbers: Iterable[int]) -> None:
        """Request nodes, and all nodes that they need."""
        stack = list(numbers)
        while stack:
            number = stack.pop()
            if not self.asked[number]:
                self.asked[number] = True
                heappush(self.waiting, number)
                stack.extend(self.demand.needs[number])

    def _run(self, number: int, node: Apply) -> None:
        cells, states = self.machine.storage_map, self.machine.compute_map
        if not self.begun[number]:
            self.begun[number] = True
            self.call.before(node)
        saved = [
            (cells[variable], copy_value(cells[variable][0]))
            for variable, readers in self.demand.at_risk.get(number, ())
            if states[variable][0] == 1 and not all(self.done[reader] for reader in readers)
        ]
        begin = perf_counter()
        wanted: Any = self.machine.thunks[number]()
        end = perf_counter()
        if wanted:
            producer = self.demand.producer
            self._ask_for(producer[node.inputs[index]] for index in wanted)
            heappush(self.waiting, number)
            return
        self.done[number] = True
        self.call.after(number, node, begin, end)
        for cell, value in saved:
            cell[0] = value
        if self.machine.plan.allow_gc:
            self._free(node)

    def _free(self, node: Apply) -> None:
        """Free the values that only nodes that have run read."""
        ends = [
            variable
            for variable in dict.fromkeys((*node.inputs, *node.outputs))
            if variable in self.demand.readers
            and all(self.done[reader] for reader in self.demand.readers[variable])
        ]
        self.call.freed(ends)
        for variable in ends:
            self.machine.storage_map[variable][0] = None
            self.machine.compute_map[variable][0] = 2
