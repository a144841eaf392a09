"""Ranks: a topological order of nodes that is updated with each new edge.

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

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

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
