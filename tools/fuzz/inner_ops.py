"""Ops with an inner graph, for random graphs: pure ones, views, and such as overwrite inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import phintys.tensor as pt
from phintys.control.rows.row_loop import RowLoop
from phintys.graph.apply import Apply
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.inner import HasInnerGraph, InnerProgram
from phintys.graph.op import Op
from phintys.tensor import inplace
from tools.fuzz import memory_ops

__all__ = ["lent", "overwriting", "pure", "rows", "scratching", "shown", "twice"]


class Within(HasInnerGraph, Op):
    """An Op that computes its inner graph once.

    Parameters
    ----------
    fgraph
        The inner graph.
    views, destroys
        Pairs (output, inputs) of ``view_map`` and ``destroy_map``.
    """

    __props__ = ("views", "destroys")

    def __init__(
        self,
        fgraph: FunctionGraph,
        views: tuple[tuple[int, int], ...] = (),
        destroys: tuple[tuple[int, int], ...] = (),
    ) -> None:
        self.fgraph = fgraph
        self.views, self.destroys = views, destroys
        self.view_map: Mapping[int, Sequence[int]] = {out: [given] for out, given in views}
        self.destroy_map: Mapping[int | None, Sequence[int]] = {
            out: [given] for out, given in destroys
        }
        self.mutable_inner = tuple(given for _, given in destroys)

    def with_inner(self, fgraph: FunctionGraph) -> Within:
        """Return the Op with another inner graph."""
        return Within(fgraph, self.views, self.destroys)

    def make_node(self, *inputs: Any) -> Apply:
        """Take tensors of the types of the inner inputs."""
        return Apply(self, inputs, [variable.type() for variable in self.inner_outputs])

    def perform_with(
        self,
        program: InnerProgram,
        node: Apply,
        inputs: Sequence[Any],
        output_storage: Sequence[list[Any]],
    ) -> None:
        """Run the inner graph."""
        for cell, value in zip(output_storage, program(list(inputs)), strict=True):
            cell[0] = value


def _within(compute: Callable[..., Any], *given: Any, **maps: Any) -> Any:
    inner = [x.type() for x in given]
    return Within(FunctionGraph(inner, [compute(*inner)], clone=False), **maps)(*given)


def pure(x: Any, y: Any) -> Any:
    """Return x + 2 * y."""
    return _within(lambda u, v: u + 2 * v, x, y)


def overwriting(x: Any, y: Any) -> Any:
    """Return x + y, which the inner graph computes in the memory of x: x must be copied."""
    return _within(inplace.add_inplace, x, y)


def scratching(x: Any, y: Any) -> Any:
    """Return x - y, for which the inner graph overwrites a view of y: y must be copied."""
    return _within(lambda u, v: memory_ops.scratch_one(u, v[::-1][::-1]), x, y)


def twice(x: Any, y: Any) -> Any:
    """Return x + y by an inner graph in an inner graph, which overwrites x."""
    return _within(overwriting, x, y)


def shown(x: Any) -> Any:
    """Return a view of x, as the Op declares."""
    return _within(lambda u: u[::-1], x, views=((0, 0),))


def lent(x: Any, y: Any) -> Any:
    """Return x + y in the memory of x, as the Op declares."""
    return _within(inplace.add_inplace, x, y, destroys=((0, 0),))


def rows(x: Any, y: Any) -> Any:
    """Return 3 * (x + y), as a sum over rows that each overwrite x: each needs a copy of it."""
    index = pt.lscalar()
    inner = [x.type(), y.type()]
    fgraph = FunctionGraph([index, *inner], [inplace.add_inplace(*inner)], clone=False)
    return RowLoop(fgraph, [0], [False])(3, x, y)
