"""The part of a graph in which a change may spoil the order that overwriting nodes ask for.

A node that overwrites a value must run after all that read the value. That is impossible only if a
reader depends on it, through nodes that lie both below an overwriting node and above a reader. As
long as changes stay out of there, and nothing new reads or overwrites the values concerned, a graph
that was sound is sound still.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from phintys.graph.apply import Apply

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable

__all__ = ["Zone"]


class Zone:
    """Follows the changes of a sound graph, and tells whether one may have spoilt it.

    Parameters
    ----------
    fgraph
        The graph.
    victims
        Node that overwrites -> the positions of the inputs that it overwrites.
    roots
        Variable -> its roots, for all variables of the graph.

    Attributes
    ----------
    in_doubt : bool
        Whether the graph must be checked again.
    """

    def __init__(
        self,
        fgraph: FunctionGraph,
        victims: Mapping[Apply, Collection[int]],
        roots: Mapping[Variable, tuple[Variable, ...]],
    ) -> None:
        self.in_doubt = False
        gone = {
            root
            for node, positions in victims.items()
            for position in positions
            for root in roots[node.inputs[position]]
        }
        self._memory = {v for v, found in roots.items() if not gone.isdisjoint(found)}
        readers = [
            node
            for node in fgraph.apply_nodes
            if any(
                variable in self._memory and position not in victims.get(node, ())
                for position, variable in enumerate(node.inputs)
            )
        ]
        self._above: set[Apply] = set()  # what readers need
        self._below: set[Apply] = set()  # what needs overwriting nodes
        _spread(readers, self._above, _needed)
        _spread(victims, self._below, lambda node: _users(fgraph, node))

    def on_import(self, node: Apply) -> None:
        """Take note of a new node."""
        if node.op.destroy_map or any(variable in self._memory for variable in node.inputs):
            self.in_doubt = True
        elif any(one in self._below for one in _needed(node)):
            self._below.add(node)

    def on_prune(self, node: Apply) -> None:
        """Take note of a node that left."""
        self._above.discard(node)
        self._below.discard(node)
        self._memory.difference_update(node.outputs)

    def on_change_input(
        self, fgraph: FunctionGraph, node: Apply | Literal["output"], new: Variable
    ) -> None:
        """Take note that a node, or an output of the graph, uses a variable from now on."""
        if self.in_doubt:
            return
        if new in self._memory or (isinstance(node, Apply) and self._hands_on(node)):
            self.in_doubt = True
            return
        owner = new.owner
        if isinstance(node, str) or owner is None:
            return
        joined: list[Apply] = []
        if owner in self._below:
            joined += _spread([node], self._below, lambda one: _users(fgraph, one))
        if node in self._above:
            joined += _spread([owner], self._above, _needed)
        if (owner in self._below and node in self._above) or any(
            one in self._above and one in self._below for one in joined
        ):
            self.in_doubt = True

    def _hands_on(self, node: Apply) -> bool:
        """Tell whether other values are overwritten when a node gets another input."""
        op = node.op
        if op.destroy_map:
            return True
        return bool(op.view_map) and any(variable in self._memory for variable in node.outputs)


def _needed(node: Apply) -> list[Apply]:
    return [variable.owner for variable in node.inputs if variable.owner is not None]


def _users(fgraph: FunctionGraph, node: Apply) -> list[Apply]:
    return [
        client
        for variable in node.outputs
        for client, _ in fgraph.clients.get(variable, ())
        if isinstance(client, Apply)
    ]


def _spread(
    start: Iterable[Apply], known: set[Apply], beside: Callable[[Apply], Iterable[Apply]]
) -> list[Apply]:
    """Add nodes to a set, and all that can be reached from them; return those that were new."""
    joined: list[Apply] = []
    stack = list(start)
    while stack:
        node = stack.pop()
        if node not in known:
            known.add(node)
            joined.append(node)
            stack.extend(beside(node))
    return joined
