"""Canonical forms of indexing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.passes._facts import as_result, is_size_of, operands
from phintys.rewriting import node_rewriter
from phintys.tensor.indexing.basic import Subtensor
from phintys.tensor.indexing.template import Slice, fill
from phintys.tensor.make_vector import MakeVector
from phintys.tensor.shape import Shape, shape_i
from phintys.tensor.sizes import fold

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable
    from phintys.rewriting import NodeRewriter

__all__ = ["CANONICAL_INDEXING"]


@node_rewriter([Subtensor])
def drop_full_slices(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """x[:, 0:shape(x)[1]] -> x"""
    assert isinstance(node.op, Subtensor)
    x, *indices = operands(node)
    entries = fill(node.op.idx_list, indices)
    if not all(
        isinstance(entry, Slice) and _is_full(entry, x, dim) for dim, entry in enumerate(entries)
    ):
        return None
    return as_result(fgraph, node, x)


def _is_full(entry: Slice, x: Any, dim: int) -> bool:
    start, stop, step = (None if bound is None else fold(bound) for bound in entry)
    if start not in {None, 0} or step not in {None, 1}:
        return False
    if stop is None:
        return True
    if isinstance(stop, int):
        size = x.type.shape[dim]
        return size is not None and stop >= size
    return is_size_of(stop, x, dim)


@node_rewriter([Subtensor], depth=3)
def index_known_parts(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """shape(x)[i] -> shape_i(x, i), make_vector(x0, x1, x2)[1:] -> make_vector(x1, x2)"""
    assert isinstance(node.op, Subtensor)
    vector, *indices = operands(node)
    maker = vector.owner
    if maker is None or not isinstance(maker.op, MakeVector | Shape) or not node.op.idx_list:
        return None
    index = _known_index(next(iter(fill(node.op.idx_list, indices))))
    if index is None:
        return None
    positions = range(vector.type.shape[0])[index]
    if isinstance(positions, int):
        return as_result(fgraph, node, _part(maker, positions))
    parts = [_part(maker, position) for position in positions]
    return as_result(fgraph, node, MakeVector(vector.dtype)(*parts))


def _known_index(entry: Any) -> int | slice | None:
    if not isinstance(entry, Slice):
        known = fold(entry)
        return known if isinstance(known, int) else None
    bounds = [None if bound is None else fold(bound) for bound in entry]
    if any(bound is not None and not isinstance(bound, int) for bound in bounds) or bounds[2] == 0:
        return None
    return slice(*bounds)


def _part(maker: Apply, position: int) -> Any:
    if isinstance(maker.op, MakeVector):
        return maker.inputs[position]
    return shape_i(maker.inputs[0], position)


CANONICAL_INDEXING: tuple[NodeRewriter, ...] = (drop_full_slices, index_known_parts)
"""In the order in which they are tried."""
