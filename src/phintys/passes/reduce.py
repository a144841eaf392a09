"""Canonical forms of reductions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.passes._facts import as_result, operands
from phintys.rewriting import node_rewriter
from phintys.tensor.dimshuffle import DimShuffle
from phintys.tensor.math import cast
from phintys.tensor.reduce import Reduce

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable
    from phintys.rewriting import NodeRewriter

__all__ = ["CANONICAL_REDUCE"]


def _with_axes(op: Reduce, axes: Sequence[int], x: Any) -> Any:
    """Return a reduction like ``op`` over other axes; over none, the cast that it makes."""
    if axes:
        return Reduce(op.scalar_op, axes, op.dtype, op.acc_dtype)(x)
    dtype, computed_in = op.resolve_dtypes(x.dtype)
    return cast(cast(x, computed_in), dtype)


@node_rewriter([Reduce])
def drop_axes_of_size_one(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """sum(x, axes) -> x, where all axes are of size 1 or there are none; also prod, max, all ...

    Where only some are of size 1, these are dropped first.
    """
    (x,) = operands(node)
    op = node.op
    assert isinstance(op, Reduce)
    axes = op.axes(x.ndim)
    ones = [axis for axis in axes if x.type.shape[axis] == 1]
    if axes and not ones:
        return None
    kept = [dim for dim in range(x.ndim) if dim not in ones]
    rest = [kept.index(axis) for axis in axes if axis not in ones]
    return as_result(fgraph, node, _with_axes(op, rest, x.dimshuffle(kept) if ones else x))


@node_rewriter([Reduce])
def reduce_before_dimshuffle(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """sum(dimshuffle(x)) -> sum(x), where the dimensions that remain keep their order"""
    shuffled = node.inputs[0].owner
    if shuffled is None or not isinstance(shuffled.op, DimShuffle) or shuffled.op.drop:
        return None
    op, order = node.op, shuffled.op.new_order
    assert isinstance(op, Reduce)
    axes = op.axes(len(order))
    remaining = [entry for dim, entry in enumerate(order) if dim not in axes]
    numbers = [entry for entry in remaining if isinstance(entry, int)]
    if numbers != remaining or numbers != sorted(numbers):
        return None
    (x,) = operands(shuffled)
    reduced = [entry for dim in axes if isinstance(entry := order[dim], int)]
    return as_result(fgraph, node, _with_axes(op, sorted(reduced), x))


CANONICAL_REDUCE: tuple[NodeRewriter, ...] = (drop_axes_of_size_one, reduce_before_dimshuffle)
"""In the order in which they are tried."""
