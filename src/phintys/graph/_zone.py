"""The part of a graph in which a change can violate the order that overwriting nodes require.

A node that overwrites a value must run after all readers of the value. This is impossible only if a
reader depends on it, through nodes that are both below an overwriting node and above a reader. As
long as changes stay outside this zone, and nothing new reads or overwrites the values concerned, a
sound graph remains sound.
"""

from __future__ import annotations

from operator import is_
from typing import TYPE_CHECKING, Literal

from phintys.graph.apply import Apply

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable

__all__ = ["Zone"]


_MOST_LOOKED_AT = 300
"""Nodes to search between a new overwriting node and a reader before checking the whole graph."""


class Zone:
    """Tracks the changes of a sound graph, and whether one could have made it unsound.

    Parameters
    ----------
    fgraph
        The graph.
    victims
        Overwriting node -> positions of the inputs that it overwrites.
    roots
        Returns the roots of a variable of the graph.

    Attributes
    ----------
    in_doubt : bool
        Whether the graph must be checked again.
    arrived : dict
        Overwriting nodes that are new or have changed inputs, and are not yet accepted.
    """

    def __init__(
        self,
        fgraph: FunctionGraph,
        victims: Mapping[Apply, Collection[int]],
        roots: Callable[[Variable], tuple[Variable, ...]],
    ) -> None:
        self.in_doubt = False
        self.arrived: dict[Apply, None] = {}
        self._outputs = list(fgraph.outputs)
        by_root: dict[Variable, Apply] = {}
        for node, positions in victims.items():
            for position in positions:
                by_root.update(dict.fromkeys(roots(node.inputs[position]), node))
        self._memory: dict[Variable, set[Apply]] = {}  # root -> nodes that overwrite it
        self._overwrites: dict[Apply, set[Variable]] = {}  # the inverse of _memory
        for variable in fgraph.variables:
            for root in roots(variable):
                if root in by_root:
                    self._note(variable, by_root[root])
        readers = [
            node
            for node in fgraph.apply_nodes
            if any(
                variable in self._memory and position not in victims.get(node, ())
                for position, variable in enumerate(node.inputs)
            )
        ]
        self._above: set[Apply] = set()  # nodes that readers depend on
        self._below: set[Apply] = set()  # nodes that depend on overwriting nodes
        _spread(readers, self._above, _needed)
        _spread(victims, self._below, lambda node: _users(fgraph, node))

    def _note(self, variable: Variable, node: Apply) -> None:
        self._memory.setdefault(variable, set()).add(node)
        self._overwrites.setdefault(node, set()).add(variable)

    def _forget(self, node: Apply) -> None:
        """Remove the record of what a node overwrites."""
        for variable in self._overwrites.pop(node, ()):
            left = self._memory.get(variable, set())
            left.discard(node)
            if not left:
                self._memory.pop(variable, None)

    # ---- changes -------------------------------------------------------------------------------

    def on_import(self, node: Apply) -> None:
        """Record a new node."""
        if any(variable in self._memory for variable in node.inputs):
            self.in_doubt = True
            return
        if node.op.destroy_map:
            self.arrived[node] = None
        if any(one in self._below for one in _needed(node)):
            self._below.add(node)

    def on_prune(self, node: Apply) -> None:
        """Record the removal of a node."""
        self.arrived.pop(node, None)
        self._above.discard(node)
        self._below.discard(node)
        self._forget(node)
        for variable in node.outputs:
            for other in self._memory.pop(variable, ()):
                self._overwrites[other].discard(variable)

    def on_change_input(
        self, fgraph: FunctionGraph, node: Apply | Literal["output"], i: int, new: Variable
    ) -> None:
        """Record that a node, or an output of the graph, now uses a variable."""
        if self.in_doubt:
            return
        if new in self._memory or (isinstance(node, Apply) and self._hands_on(node)):
            self.in_doubt = True
            return
        if isinstance(node, str):
            self._outputs[i] = new
            return
        if node.op.destroy_map:
            self._forget(node)
            self.arrived[node] = None
        owner = new.owner
        if owner is None:
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

    def knows_outputs(self, fgraph: FunctionGraph) -> bool:
        """Return whether the outputs are as recorded; features do not see them added or removed."""
        outputs = fgraph.outputs
        return len(outputs) == len(self._outputs) and all(map(is_, outputs, self._outputs))

    def _hands_on(self, node: Apply) -> bool:
        """Return whether a change of a node's input changes which values are overwritten."""
        return bool(node.op.view_map) and any(variable in self._memory for variable in node.outputs)

    # ---- new overwriting nodes -----------------------------------------------------------------

    def take_up(self, fgraph: FunctionGraph, node: Apply, gone: Collection[Variable]) -> bool:
        """Accept a node that overwrites its own inputs if it is clearly sound; return whether.

        Parameters
        ----------
        fgraph
            The graph.
        node
            The node.
        gone
            The roots that it overwrites; no other node may overwrite them.
        """
        shown = _views_of(fgraph, gone)
        if any(variable in self._memory for variable in shown):
            return False  # another node overwrites it
        clients = [client for variable in shown for client, _ in fgraph.clients.get(variable, ())]
        readers = {client for client in clients if isinstance(client, Apply)}
        if len(readers) < len({*clients}):
            return False  # an output of the graph
        readers.discard(node)
        if readers and not self._can_precede(fgraph, readers, node):
            return False
        for variable in shown:
            self._note(variable, node)
        _spread(readers, self._above, _needed)
        _spread([node], self._below, lambda one: _users(fgraph, one))
        return True

    def _can_precede(self, fgraph: FunctionGraph, readers: Collection[Apply], node: Apply) -> bool:
        """Return whether no reader depends on a node; false if the search is cut off.

        The search alternates between descendants of the node and ancestors of the readers, since
        either can be exhausted early.
        """
        later, sooner = [node], list(readers)
        below, above = {node}, set(readers)
        for _ in range(_MOST_LOOKED_AT):
            if not later or not sooner:
                return True
            if _meets(self._later(fgraph, later.pop()), later, below, above):
                return False
            if _meets(self._sooner(fgraph, sooner.pop()), sooner, above, below):
                return False
        return False

    def _later(self, fgraph: FunctionGraph, node: Apply) -> Iterator[Apply]:
        """Yield the nodes that must run after ``node``."""
        yield from _users(fgraph, node)
        for variable in node.inputs:
            yield from (one for one in self._memory.get(variable, ()) if one is not node)

    def _sooner(self, fgraph: FunctionGraph, node: Apply) -> Iterator[Apply]:
        """Yield the nodes that must run before ``node``."""
        yield from _needed(node)
        for variable in self._overwrites.get(node, ()):
            for client, _ in fgraph.clients.get(variable, ()):
                if isinstance(client, Apply) and client is not node:
                    yield client


def _meets(found: Iterable[Apply], queue: list[Apply], seen: set[Apply], other: set[Apply]) -> bool:
    """Add nodes to ``seen``; return whether one is already in ``other``."""
    for node in found:
        if node in other:
            return True
        if node not in seen:
            seen.add(node)
            queue.append(node)
    return False


def _views_of(fgraph: FunctionGraph, roots: Iterable[Variable]) -> set[Variable]:
    """Return the variables that may share memory with some roots."""
    found = set(roots)
    stack = list(found)
    while stack:
        for client, position in fgraph.clients.get(stack.pop(), ()):
            if not isinstance(client, Apply):
                continue
            for index, viewed in client.op.view_map.items():
                if position in viewed and client.outputs[index] not in found:
                    found.add(client.outputs[index])
                    stack.append(client.outputs[index])
    return found


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
    """Add nodes and all nodes reachable from them to a set; return the new ones."""
    joined: list[Apply] = []
    stack = list(start)
    while stack:
        node = stack.pop()
        if node not in known:
            known.add(node)
            joined.append(node)
            stack.extend(beside(node))
    return joined
