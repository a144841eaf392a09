"""Rules about sums of what was written into zeros, as gradients of reads and padding do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import phintys.scalar as ps
from phintys.passes._facts import (
    as_result,
    as_value,
    is_size_of,
    is_uniformly,
    operands,
    output_type,
)
from phintys.passes.reduce import has_plain_dtype
from phintys.rewriting import late_rules, node_rewriter
from phintys.tensor import math
from phintys.tensor.creation import Alloc, alloc
from phintys.tensor.indexing.template import ARRAY, SCALAR, Slice, fill
from phintys.tensor.indexing.update import AdvancedIncSubtensor, IncSubtensor
from phintys.tensor.ranges import ARange
from phintys.tensor.reduce import Reduce
from phintys.tensor.sizes import fold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable

__all__ = ["CANONICAL_SCATTERED", "sum_of_scattered"]

_SCATTERS = (IncSubtensor, AdvancedIncSubtensor)


@node_rewriter(
    [Reduce],
    operands=_SCATTERS,
    depth=3,
    examples=[
        "pt.inc_subtensor(pt.zeros((n, n), s.dtype)[i, j], s).sum(axis=0)",
        "pt.inc_subtensor(pt.zeros((n, 3), x.dtype)[pt.arange(n), k], x).sum(axis=1)",
        "pt.inc_subtensor(pt.zeros((3, n), x.dtype)[k, pt.arange(n)], x).sum(axis=1)",
        "pt.inc_subtensor(pt.zeros((n, n), s.dtype)[1, j], s).sum(axis=0)",
    ],
)
def sum_of_scattered(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """sum(inc_subtensor(zeros(m, n)[i, j], x), axis=1) -> inc_subtensor(zeros(m)[i], x)"""
    op, inner = node.op, node.inputs[0].owner
    assert isinstance(op, Reduce)
    if inner is None or not isinstance(inner.op, _SCATTERS) or op.scalar_op is not ps.add:
        return None
    zeros, x, *indices = operands(inner)
    if inner.op.inplace or inner.op.set_instead_of_inc or not has_plain_dtype(node):
        return None
    if zeros.owner is None or not isinstance(zeros.owner.op, Alloc) or not is_uniformly(zeros, 0):
        return None
    if len(inner.op.idx_list) != zeros.ndim:
        return None
    axes = op.axes(zeros.ndim)
    kept = [dim for dim in range(zeros.ndim) if dim not in axes]
    update = _update_along(inner.op, kept, indices)
    if update is None:
        return None
    sizes = operands(zeros.owner)[1:]
    target = alloc(as_value(0, output_type(node)), *(sizes[dim] for dim in kept))
    symbolic = [dim for dim, entry in enumerate(inner.op.idx_list) if not isinstance(entry, int)]
    places = [index for dim, index in zip(symbolic, indices, strict=True) if dim in kept]
    return as_result(fgraph, node, update(target, x, *places))


def _update_along(op: Any, kept: Sequence[int], indices: Sequence[Any]) -> Any:
    """Return an update like ``op``, of single elements, restricted to some of the dimensions.

    ``None`` if ``op`` does not update single elements, by a number or a vector for each dimension.
    """
    if not kept:
        return None
    entries = [op.idx_list[dim] for dim in kept]
    if isinstance(op, IncSubtensor):
        single = all(isinstance(entry, int) or entry is SCALAR for entry in op.idx_list)
        return IncSubtensor(entries) if single else None
    if any(entry is not ARRAY for entry in op.idx_list):
        return None
    if any(index.ndim != 1 or index.type.shape == (1,) for index in indices):
        return None
    # Elements that differ in a dropped dimension can coincide now, unless a range separates them.
    makers = [indices[dim].owner for dim in kept]
    apart = any(maker is not None and isinstance(maker.op, ARange) for maker in makers)
    if op.ignore_duplicates and not apart:
        return None
    return AdvancedIncSubtensor(entries, ignore_duplicates=op.ignore_duplicates)


@node_rewriter(
    [Reduce],
    operands=[IncSubtensor],
    depth=3,
    examples=["pt.pad(X, 3).sum()", "pt.pad(x, (0, 2)).sum()", "pt.pad(X3, 1).sum()"],
)
def sum_of_padded(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """sum(set_subtensor(zeros(a + n + b)[a:a+n], x)) -> sum(x), where x has n elements"""
    op, inner = node.op, node.inputs[0].owner
    assert isinstance(op, Reduce)
    if inner is None or not isinstance(inner.op, IncSubtensor) or op.scalar_op is not ps.add:
        return None
    zeros, x, *indices = operands(inner)
    if inner.op.inplace or (zeros.dtype, zeros.ndim) != (x.dtype, x.ndim):
        return None
    if zeros.owner is None or not isinstance(zeros.owner.op, Alloc) or not is_uniformly(zeros, 0):
        return None
    entries = list(fill(inner.op.idx_list, indices))
    if len(op.axes(zeros.ndim)) != zeros.ndim or len(entries) != zeros.ndim:
        return None
    sizes = operands(zeros.owner)[1:]
    if not all(
        _is_inside(e, n, x, dim) for dim, (e, n) in enumerate(zip(entries, sizes, strict=True))
    ):
        return None
    return as_result(fgraph, node, op(x))


def _is_inside(entry: Any, size: Any, x: Any, dim: int) -> bool:
    """Return whether a slice of a dimension has the size of ``x``, and ends before ``size``."""
    if not isinstance(entry, Slice) or entry.step not in {None, 1} or entry.stop is None:
        return False
    start = 0 if entry.start is None else fold(entry.start)
    if not isinstance(start, int) or start < 0:
        return False
    end, limit = _beyond(entry.stop, x, dim), _beyond(size, x, dim)
    return end is not None and limit is not None and end == start and end <= limit


def _beyond(size: Any, x: Any, dim: int) -> int | None:
    """Return by how much a size exceeds that of a tensor in a dimension; ``None``: unknown."""
    more = 0
    size = fold(size)
    while not isinstance(size, int) and size.owner is not None and size.owner.op == math.add:
        terms = [fold(term) for term in size.owner.inputs]
        others = [term for term in terms if not isinstance(term, int)]
        if len(others) != 1:
            return None
        more += sum(term for term in terms if isinstance(term, int))
        size = others[0]
    length = x.type.shape[dim]
    if isinstance(size, int):
        return None if length is None else size + more - length
    return more if is_size_of(size, x, dim) else None


CANONICAL_SCATTERED = late_rules(
    sum_of_scattered, sum_of_padded, needs=[AdvancedIncSubtensor, IncSubtensor]
)
"""In the order in which they are tried."""

SPECIALIZE_SCATTERED = late_rules(sum_of_scattered, needs=[AdvancedIncSubtensor, IncSubtensor])
