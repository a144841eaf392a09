"""Whether a graph of overwriting Ops can be computed at all, found by trying all orders.

This is the contract, and nothing else: an order is right if no node reads a value after its memory
was overwritten. It knows of no roots and no orderings, and looks at nothing but the maps of the
Ops, so that it can be checked against the code that compiles graphs.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from phintys.graph.apply import Apply
from phintys.graph.traversal import toposort
from phintys.graph.variable import Variable

__all__ = ["order_is_right", "some_order_is_right"]


def some_order_is_right(outputs: Sequence[Variable], kept: Collection[Variable] = ()) -> bool:
    """Return whether there is an order in which each reader sees the right value.

    Parameters
    ----------
    outputs
        Of a small graph: there may be as many orders as its overwriting nodes have.
    kept
        Variables that must not be overwritten at all. A function copies leaves before they are
        overwritten, and outputs as soon as they are computed, so it keeps none.
    """
    nodes = toposort(outputs)
    cells = _cells(nodes)
    if any(_reads_what_it_overwrites(node, cells) for node in nodes):
        return False
    seen: set[frozenset[Apply]] = set()
    stack = [(frozenset(nodes), _leaves(nodes, kept))]
    while stack:
        waiting, alive = _run_harmless(*stack.pop())
        if not waiting:
            return alive.issuperset(kept)
        # What is alive follows from what has run, since all of that has read what it should.
        if waiting in seen:
            continue
        seen.add(waiting)
        for node in waiting:
            if alive.issuperset(node.inputs):
                gone = _overwritten(node, alive, cells)
                stack.append((waiting - {node}, alive.difference(gone).union(node.outputs)))
    return False


def order_is_right(nodes: Sequence[Apply], kept: Collection[Variable] = ()) -> bool:
    """Return whether each reader sees the right value if nodes run in this order.

    Parameters
    ----------
    nodes
        All nodes of a graph, in some order.
    kept
        Variables that must be right in the end.
    """
    cells = _cells(toposort([variable for node in nodes for variable in node.outputs]))
    alive = _leaves(nodes, kept)
    for node in nodes:
        if not alive.issuperset(node.inputs):
            return False
        alive = alive.difference(_overwritten(node, alive, cells)).union(node.outputs)
    return alive.issuperset(kept)


def _leaves(nodes: Sequence[Apply], kept: Collection[Variable]) -> frozenset[Variable]:
    """Return the values that are right before any node has run."""
    known = [variable for node in nodes for variable in node.inputs]
    return frozenset(variable for variable in (*known, *kept) if variable.owner is None)


def _run_harmless(
    waiting: frozenset[Apply], alive: frozenset[Variable]
) -> tuple[frozenset[Apply], frozenset[Variable]]:
    """Run all nodes that can run and overwrite nothing: to wait with them never helps."""
    while ready := {
        node for node in waiting if not node.op.destroy_map and alive.issuperset(node.inputs)
    }:
        waiting = waiting - ready
        alive = alive.union(variable for node in ready for variable in node.outputs)
    return waiting, alive


def _cells(nodes: Sequence[Apply]) -> dict[Variable, frozenset[Variable]]:
    """Return, for each variable, the variables that stand for the pieces of memory it may be in."""
    cells: dict[Variable, frozenset[Variable]] = {}
    for node in nodes:
        for variable in node.inputs:
            cells.setdefault(variable, frozenset((variable,)))
        for number, output in enumerate(node.outputs):
            positions = [
                position
                for aliases in (node.op.view_map, node.op.destroy_map)
                for position in aliases.get(number, ())
            ]
            found = [cells[node.inputs[position]] for position in positions]
            cells[output] = frozenset((output,)) if not found else frozenset().union(*found)
    return cells


def _victims(node: Apply) -> set[int]:
    return {position for positions in node.op.destroy_map.values() for position in positions}


def _reads_what_it_overwrites(node: Apply, cells: dict[Variable, frozenset[Variable]]) -> bool:
    """Return whether an overwritten input may share memory with another input of the node."""
    return any(
        not cells[node.inputs[victim]].isdisjoint(cells[other])
        for victim in _victims(node)
        for position, other in enumerate(node.inputs)
        if position != victim
    )


def _overwritten(
    node: Apply, alive: Collection[Variable], cells: dict[Variable, frozenset[Variable]]
) -> list[Variable]:
    """Return the values that a node overwrites."""
    gone = frozenset().union(*(cells[node.inputs[position]] for position in _victims(node)))
    return [variable for variable in alive if not gone.isdisjoint(cells.get(variable, ()))]
