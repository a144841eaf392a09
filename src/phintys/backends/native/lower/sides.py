"""Which nodes of a graph are lowered inside of branches: those that one side of a choice needs.

A node all of whose readers are on one side of a choice, or of several choices by the same
condition, is lowered inside the branches of these choices, once in each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.graph.alias_map import AliasMap, destroyed_inputs
from phintys.graph.choosing import Choosing, find_guards
from phintys.graph.identity import is_among

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.choosing import Guard
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable

__all__ = ["Sides"]


class Sides:
    """The nodes of one graph, by the choices that they are needed for.

    Parameters
    ----------
    fgraph
        The graph.
    order
        Its nodes, in the order of execution.
    """

    def __init__(self, fgraph: FunctionGraph, order: Sequence[Apply]) -> None:
        self._inputs = fgraph.inputs
        self._place: dict[Apply, int] = {}
        self._guards: dict[Variable, Guard] = {}
        if any(isinstance(node.op, Choosing) for node in order):
            self._place = {node: number for number, node in enumerate(order)}
            self._guards = _guards(fgraph, order)

    @property
    def is_empty(self) -> bool:
        """Whether the graph has no choices."""
        return not self._guards

    def guard(self, node: Apply) -> Guard:
        """Return the sides that must be chosen for a node to be needed."""
        return self._guards.get(node.outputs[0], ()) if node.outputs else ()

    def needed(self, node: Apply, side: int, *, nested: bool = False) -> list[Apply]:
        """Return the nodes to lower for one side of a choice, in the order of execution.

        Parameters
        ----------
        node
            A node whose Op is a :class:`~phintys.graph.choosing.Choosing`.
        side
            The number of the side.
        nested
            Whether those are included that only choices on that side need.
        """
        op = node.op
        assert isinstance(op, Choosing)
        guard = (*self.guard(node), (op.selector(node), side))
        found: list[Apply] = []
        seen: set[Apply] = set()
        waiting = [node.inputs[position] for position in op.sides(node)[side]]
        while waiting:
            variable = waiting.pop()
            owner = variable.owner
            if owner is None or owner in seen or is_among(variable, self._inputs):
                continue
            own = self.guard(owner)
            if own[: len(guard)] != guard:
                continue
            seen.add(owner)
            if nested or len(own) == len(guard):
                found.append(owner)
            waiting += owner.inputs
        return sorted(found, key=self._place.__getitem__)


def _guards(fgraph: FunctionGraph, order: Sequence[Apply]) -> dict[Variable, Guard]:
    """Return the guards of all variables, with memory overwritten in one place only."""
    steps = [(node, range(len(node.inputs))) for node in reversed(order)]
    pinned = list(fgraph.outputs)
    guards = find_guards(steps, pinned)
    exposed = _exposed(order, guards)
    return find_guards(steps, [*pinned, *exposed]) if exposed else guards


def _exposed(order: Sequence[Apply], guards: dict[Variable, Guard]) -> list[Variable]:
    """Return results of nodes whose order matters, since one of them overwrites what others read.

    If all of them, and what they read, are needed for the same sides, they are lowered together.
    """
    destroyers = [node for node in order if node.op.destroy_map]
    if not destroyers:
        return []
    aliases = AliasMap.of_nodes(order)
    readers: dict[Variable, list[Apply]] = {}
    for node in order:
        for variable in dict.fromkeys(node.inputs):
            for root in aliases.roots(variable):
                readers.setdefault(root, []).append(node)
    found: dict[Variable, None] = {}
    for node in destroyers:
        for position in destroyed_inputs(node):
            for root in aliases.roots(node.inputs[position]):
                others = readers[root]
                places = {guards.get(one.outputs[0], ()) for one in others if one.outputs}
                if len(places | {guards.get(root, ())}) > 1:
                    found.update((output, None) for one in others for output in one.outputs)
    return list(found)
