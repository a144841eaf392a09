"""Topological sorting, by one loop or by ranks that are updated with each new edge.

Every node has a rank above those of the nodes that must run before it. An edge that violates this
raises the rank of its second node, and of what follows that node, as far as necessary. The cost of
an edge is that of the nodes between the ranks of its ends, whatever the size of the graph. Ranks
are spaced, so that nodes that are added later fit between others (M. A. Bender, J. T. Fineman,
S. Gilbert, R. E. Tarjan, *A New Approach to Incremental Cycle Detection and Related Problems*, ACM
Transactions on Algorithms 12, 2016, give a finer variant).
"""

from __future__ import annotations

import itertools
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Generic, TypeVar

from phintys._base.errors import CycleError

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping

    from phintys.graph.apply import Apply
    from phintys.graph.variable import Variable


_NOTHING: frozenset[object] = frozenset()


def nodes_below(
    roots: Iterable[Apply],
    known: Container[Apply] = _NOTHING,
    blockers: Container[Variable] = _NOTHING,
    orderings: Mapping[Apply, Iterable[Apply]] | None = None,
) -> list[Apply]:
    """Return ``roots`` and the nodes that they depend on, in topological order.

    The order is determined by the graph alone: roots and inputs are visited first to last.

    Parameters
    ----------
    roots
        Nodes to start from.
    known
        Nodes to leave out, along with the nodes that only they depend on.
    blockers
        Variables that are taken as given: their owners are not visited.
    orderings
        Node -> further nodes that must come before it.

    Raises
    ------
    CycleError
        The graph has a cycle.
    """
    order: list[Apply] = []
    finished: dict[Apply, bool] = {}  # False while its dependencies are being visited
    look_up = finished.get
    stack: list[Apply] = []
    for root in roots:
        if root in known:
            continue
        stack.append(root)
        while stack:
            node = stack[-1]
            state = look_up(node)
            if state is None:
                finished[node] = False
                height = len(stack)
                if orderings is not None:
                    for earlier in reversed(list(orderings.get(node, ()))):
                        if earlier not in known:
                            state = look_up(earlier)
                            if state is None:
                                stack.append(earlier)
                            elif not state:
                                raise _cycle(stack[:height], earlier, finished)
                for variable in node.inputs[::-1]:
                    owner = variable.owner
                    if owner is not None:
                        state = look_up(owner)
                        if state is None:
                            if owner not in known and variable not in blockers:
                                stack.append(owner)
                        elif not state and variable not in blockers:
                            raise _cycle(stack[:height], owner, finished)
                if len(stack) > height:
                    continue
                state = False
            del stack[-1]
            if not state:
                finished[node] = True
                order.append(node)
    return order


def needed_by(node: Apply) -> list[Apply]:
    """Return the nodes that compute the inputs of a node."""
    return [variable.owner for variable in node.inputs if variable.owner is not None]


def _cycle(stack: list[Apply], again: Apply, finished: dict[Apply, bool]) -> CycleError:
    """Describe the cycle from ``again`` up the stack and back."""
    # The nodes started but not finished are the path down from the root. A node can also be on the
    # stack further down, for another user, so its topmost position counts.
    path: dict[Apply, None] = {}
    for node in reversed(stack):
        if finished.get(node) is False:
            path.setdefault(node)
            if node is again:
                break
    return cycle_error(list(path))


def cycle_error(path: list[Apply]) -> CycleError:
    """Return the error for a cycle, given as nodes that each depend on the next."""
    shown = 12
    lines = [f"  {node.op!r}, made at\n    {_indented(node)}" for node in path[:shown]]
    if len(path) > shown:
        lines.append(f"  ... and {len(path) - shown} more")
    return CycleError(
        f"The graph depends on itself: these {len(path)} node(s) need each other, each the next "
        "and the last the first.\n" + "\n".join(lines) + "\nA replacement must not need what it "
        "replaces (unless it is all that still does), and the order in which values are "
        "overwritten must leave each reader a time to read."
    )


def _indented(node: Apply) -> str:
    return str(node.origin).replace("\n", "\n    ")


_SPACE = 2**32

N = TypeVar("N")


class Ranks(Generic[N]):
    """The ranks of nodes.

    Parameters
    ----------
    before
        Node -> nodes that come before it; sorted.

    Attributes
    ----------
    rank_of : dict
        Node -> rank.
    """

    def __init__(self, before: Mapping[N, Iterable[N]]) -> None:
        self.rank_of: dict[N, int] = {}
        # As low as possible, so that most readers of a value rank below a node that overwrites it.
        for node, earlier in before.items():
            self.rank_of[node] = self._above(earlier) + _SPACE

    def _above(self, earlier: Iterable[N]) -> int:
        return 1 + max([self.rank_of.get(one, 0) for one in earlier], default=0)

    def order(self) -> list[N]:
        """Return the nodes by rank."""
        return sorted(self.rank_of, key=self.rank_of.__getitem__)

    def add(self, node: N, earlier: Iterable[N]) -> None:
        """Add a node above others, unless it is there already."""
        if node not in self.rank_of:
            self.rank_of[node] = self._above(earlier)

    def remove(self, node: N) -> None:
        """Remove a node, if it is there."""
        self.rank_of.pop(node, None)

    def place(
        self,
        edges: Iterable[tuple[N, N]],
        followers: Callable[[N], Iterable[N]],
    ) -> list[N] | None:
        """Raise the second node of each edge above the first, and what follows it above itself.

        Parameters
        ----------
        edges
            Pairs of nodes, of which the second must come after the first.
        followers
            Returns the nodes that must come after a node.

        Returns
        -------
        list or None
            Empty if that was possible. Otherwise a cycle: nodes that each follow the next, and the
            last of which follows the first. ``None`` if there may be a cycle elsewhere.
        """
        rank = self.rank_of
        for first, second in edges:
            if rank[first] >= rank[second]:
                cycle = self._raise(first, second, followers)
                if cycle != []:
                    return cycle
        return []

    def _raise(self, first: N, second: N, followers: Callable[[N], Iterable[N]]) -> list[N] | None:
        rank = self.rank_of
        raised = {second: rank[first] + 1}
        cause: dict[N, N] = {}
        seen: set[N] = set()
        count = itertools.count()
        queue = [(rank[second], next(count), second)]
        while queue:
            node = heappop(queue)[2]
            if node in seen:
                continue
            seen.add(node)
            least = raised[node] + 1
            for follower in followers(node):
                if follower == first:
                    path = [first, node]
                    while node in cause:
                        path.append(node := cause[node])
                    return path
                if raised.get(follower, rank[follower]) < least:
                    if follower in seen:
                        return None
                    raised[follower], cause[follower] = least, node
                    heappush(queue, (rank[follower], next(count), follower))
        rank.update(raised)
        return []
