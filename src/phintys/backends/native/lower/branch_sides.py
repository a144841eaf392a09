"""Which nodes of a graph are lowered inside of branches: those that only some choices need.

A node is lowered where it is certain to be needed: once for all if something outside of choices
reads it, or every side of a choice; otherwise inside of the branches whose sides read it, once in
each.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from phintys.backends.native.limits import (
    BRANCHES_IN_ANY_CASE,
    CALLS_A_BRANCH,
    CALLS_AFTER_BRANCHES,
    DEEPEST_BRANCHES,
    FEW_NODES,
    MOST_BRANCHES_OF_NODE,
    MOST_LOWERINGS,
)
from phintys.graph.alias_map import AliasMap, destroyed_inputs
from phintys.graph.choosing import Choosing
from phintys.graph.identity import is_among

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.choosing import Guard
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable

    Needs = frozenset[Guard]


_ALWAYS: Needs = frozenset({()})


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
        self._needs: dict[Variable, Needs] = {}
        self._is_tangled = False
        self.path: Guard = ()
        """The sides inside of which steps are being added."""
        if any(isinstance(node.op, Choosing) for node in order):
            self._place = {node: number for number, node in enumerate(order)}
            self._needs, self._is_tangled = _needs(order, fgraph.outputs)
            exposed = _exposed(order, self._needs)
            if exposed:
                outputs = [*fgraph.outputs, *exposed]
                self._needs, self._is_tangled = _needs(order, outputs)

    @property
    def is_empty(self) -> bool:
        """Whether the graph has no choices."""
        return not self._needs

    @property
    def is_tangled(self) -> bool:
        """Whether choices are nested too deeply, or needed in too many places, for branches."""
        return self._is_tangled

    def is_certain(self, node: Apply) -> bool:
        """Return whether a node is needed whatever is chosen."""
        return () in self._needs_of(node)

    def _needs_of(self, node: Apply) -> Needs:
        return self._needs.get(node.outputs[0], _ALWAYS) if node.outputs else _ALWAYS

    @contextmanager
    def inside(self, node: Apply, side: int) -> Generator[None]:
        """Add steps for a side of a choice."""
        outer = self.path
        self.path = _extended(outer, node, side)
        yield
        self.path = outer

    def needed(self, *, nested: bool = False, below: Iterable[Variable]) -> list[Apply]:
        """Return the nodes to lower at the current place, in the order of execution.

        Parameters
        ----------
        nested
            Whether those are included that only choices at this place need.
        below
            The variables that are needed.
        """
        path = self.path
        length = len(path)
        found: list[Apply] = []
        seen: set[Apply] = set()
        waiting = list(below)
        while waiting:
            variable = waiting.pop()
            owner = variable.owner
            if owner is None or owner in seen or is_among(variable, self._inputs):
                continue
            needs = self._needs_of(owner)
            if any(path[: len(one)] == one for one in needs if len(one) < length):
                continue  # lowered outside
            seen.add(owner)
            if nested or path in needs:
                found.append(owner)
            waiting += owner.inputs
        return sorted(found, key=self._place.__getitem__)

    def known(self, node: Apply) -> int | None:
        """Return the side that a node is known to choose at the current place."""
        op = node.op
        assert isinstance(op, Choosing)
        selector = op.selector(node)
        return next((side for one, side in self.path if one is selector), None)


def _extended(path: Guard, node: Apply, side: int) -> Guard:
    op = node.op
    assert isinstance(op, Choosing)
    return (*path, (op.selector(node), side))


def _needs(
    order: Sequence[Apply], outputs: Iterable[Variable]
) -> tuple[dict[Variable, Needs], bool]:
    """Return the places where each variable is needed, and whether there are too many or too deep.

    If there are, the places are given by their outermost choice.
    """
    needs = _places(order, outputs)
    if needs is not None:
        return needs, False
    return _places(order, outputs, outermost=True) or {}, True


def _places(
    order: Sequence[Apply], outputs: Iterable[Variable], *, outermost: bool = False
) -> dict[Variable, Needs] | None:
    """Return the places where each variable is needed; ``None`` if there are too many or too deep.

    Parameters
    ----------
    order
        The nodes.
    outputs
        What is needed whatever is chosen.
    outermost
        Whether places are given by their outermost choice, in any number.
    """
    found: dict[Variable, set[Guard]] = {output: {()} for output in outputs}
    counts: dict[Variable, int] = {}
    needs: dict[Variable, Needs] = {}
    deepest = BRANCHES_IN_ANY_CASE
    copies = MOST_LOWERINGS * max(len(order), FEW_NODES)
    for node in reversed(order):
        own: Needs = frozenset(
            _simplified({p for v in node.outputs for p in found.get(v, ())}, counts)
        )
        if outermost:
            own = frozenset(path[:1] for path in own)
        else:
            depth = max(map(len, own), default=0)
            if depth > deepest:
                deepest = _room()
            copies -= len(own)
            if len(own) > MOST_BRANCHES_OF_NODE or depth > deepest or copies < 0:
                return None
        own = own or _ALWAYS
        needs.update(dict.fromkeys(node.outputs, own))
        sides: dict[int, int] = {}
        selector: Variable | None = None
        if isinstance(node.op, Choosing):
            selector = node.op.selector(node)
            members = node.op.sides(node)
            counts[selector] = len(members)
            sides = {at: side for side, some in enumerate(members) for at in some}
        for position, variable in enumerate(node.inputs):
            side = sides.get(position)
            uses = found.setdefault(variable, set())
            if side is None or selector is None:
                uses.update(own)
                continue
            for path in own:
                known = next((chosen for one, chosen in path if one is selector), None)
                if known is None:
                    uses.add((*path, (selector, side)))
                elif known == side:
                    uses.add(path)
    return needs


def _room() -> int:
    """Return how many branches inside of each other Python's stack has room for."""
    used, frame = 0, sys._getframe()
    while frame is not None:
        used, frame = used + 1, frame.f_back
    room = (sys.getrecursionlimit() - used - CALLS_AFTER_BRANCHES) // CALLS_A_BRANCH
    return max(BRANCHES_IN_ANY_CASE, min(DEEPEST_BRANCHES, room))


def _simplified(paths: set[Guard], counts: dict[Variable, int]) -> set[Guard]:
    """Return places without those inside of others; all sides of a choice are its own place."""
    while True:
        paths = {
            path for path in paths if not any(path[:length] in paths for length in range(len(path)))
        }
        if len(paths) < 2:
            return paths
        whole: set[Guard] = set()
        for path in paths:
            outer, selector = path[:-1], path[-1][0]
            sides = range(counts[selector])
            if all((*outer, (selector, side)) in paths for side in sides):
                whole.add(outer)
        if not whole:
            return paths
        paths |= whole


def _exposed(order: Sequence[Apply], needs: dict[Variable, Needs]) -> list[Variable]:
    """Return results of nodes whose order matters, since one of them overwrites what others read.

    If all of them, and what they read, are needed in the same places, they are lowered together.
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
                places = {needs.get(one.outputs[0], _ALWAYS) for one in others if one.outputs}
                if len(places | {needs.get(root, _ALWAYS)}) > 1:
                    found.update((output, None) for one in others for output in one.outputs)
    return list(found)
