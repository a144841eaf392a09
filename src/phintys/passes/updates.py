"""Rules on the targets of ``set_subtensor`` and ``inc_subtensor``, and sums of their results.

The gradient of ``x[i]`` is a tensor of zeros with one part written. Where many such gradients are
added, as for ``x[0]``, ``x[1]`` ... of an unrolled program, they are turned into writes into a
single tensor: the cost of each is then that of the part, not that of the whole tensor. Vectors of
a few elements, such as the states of differential equations, are made of numbers instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import phintys.scalar as ps
from phintys.graph.identity import all_same
from phintys.passes._facts import (
    as_result,
    as_value,
    has_one_client,
    is_pure,
    is_size_of,
    is_uniformly,
    operands,
    output_type,
    same_size,
    sizes_covered,
)
from phintys.passes.reduce import has_plain_dtype
from phintys.rewriting import late_rules, node_rewriter
from phintys.tensor import math
from phintys.tensor.convert import constant
from phintys.tensor.creation import Alloc, alloc
from phintys.tensor.dim_shuffle import expand_dims
from phintys.tensor.elemwise import elemwise
from phintys.tensor.indexing.basic import Subtensor
from phintys.tensor.indexing.template import ARRAY, SCALAR, Slice, fill, is_full
from phintys.tensor.indexing.update import AdvancedIncSubtensor, IncSubtensor
from phintys.tensor.math import cast
from phintys.tensor.ranges import ARange
from phintys.tensor.reduce import Reduce
from phintys.tensor.scalar_bridge import MakeVector
from phintys.tensor.sizes import fold
from phintys.tensor.variable import TensorConstant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable
    from phintys.tensor.type import TensorType


_UPDATES = (IncSubtensor, AdvancedIncSubtensor)


@node_rewriter(
    [elemwise(ps.add)],
    operands=_UPDATES,
    tags=["zeros"],
    examples=[
        "pt.inc_subtensor(pt.zeros_like(x3)[0], s) + pt.inc_subtensor(pt.zeros_like(x3)[2], t)",
        "pt.inc_subtensor(pt.zeros_like(x)[i], s) + pt.inc_subtensor(pt.zeros_like(x)[i], t) + x",
        "pt.inc_subtensor(pt.zeros_like(x)[1:], y[1:]) + x",
        "pt.set_subtensor(pt.zeros_like(X)[j, 1:], s) + X * Y",
        "pt.inc_subtensor(pt.zeros_like(x)[k], y) + x",
        "pt.inc_subtensor(pt.zeros_like(x)[1], s) + pt.inc_subtensor(pt.zeros_like(x)[1:], t) + y",
    ],
)
def increment_in_turn(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """inc_subtensor(zeros[i], x) + inc_subtensor(zeros[j], y) + z -> z[i] += x, then [j] += y"""
    type_ = output_type(node)
    written: list[Apply] = []
    rest: list[Any] = []
    for operand in operands(node):
        update = _written_into_zeros(fgraph, operand, type_)
        if update is None:
            rest.append(operand)
        else:
            written.append(update)
    if not written or len(node.inputs) == 1:
        return None
    base: Any = rest[0] if rest else written[0].inputs[0]
    if len(rest) > 1:
        base = elemwise(ps.add)(*rest)
    if base.dtype != type_.dtype:
        return None
    alike = [base, *(operands(base.owner) if is_pure(base.owner) else ())]
    if not all(sizes_covered(update.inputs[0], alike) for update in written):
        return None
    for update in written:
        base = _incrementing(update.op)(base, *update.inputs[1:])
    return as_result(fgraph, node, base)


def _written_into_zeros(fgraph: FunctionGraph, x: Any, type_: TensorType) -> Apply | None:
    """Return the node that writes a value into zeros, if only a sum of ``type_`` uses it."""
    node = x.owner
    if node is None or not isinstance(node.op, _UPDATES) or node.op.inplace:
        return None
    if isinstance(node.op, AdvancedIncSubtensor) and node.op.set_instead_of_inc:
        return None  # if an element is written several times, only the last value counts
    zeros: Any = node.inputs[0]
    is_alike = (x.dtype, x.broadcastable) == (type_.dtype, type_.broadcastable)
    if not is_alike or type_.dtype == "bool" or not has_one_client(fgraph, x):
        return None
    return node if is_uniformly(zeros, 0) else None


def _incrementing(op: Any) -> Any:
    """Return the Op that adds the values that another Op writes into zeros."""
    if not op.set_instead_of_inc:
        return op
    return IncSubtensor(op.idx_list, tolerate_aliased=op.tolerate_aliased)


@node_rewriter(
    [Subtensor],
    operands=[IncSubtensor],
    examples=[
        "pt.inc_subtensor(x[i], s)[i]",
        "pt.inc_subtensor(x[1:], s)[1:]",
        "pt.inc_subtensor(X[i], x)[i]",
        "pt.inc_subtensor(X[:, j], s)[:, j]",
        "pt.inc_subtensor(x3[:2], y3[1:])[:2]",
    ],
)
def read_what_was_incremented(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """inc_subtensor(x[i], y)[i] -> x[i] + y"""
    inner = node.inputs[0].owner
    if inner is None or not isinstance(inner.op, IncSubtensor) or inner.op.inplace:
        return None
    x, y, *indices = operands(inner)
    op, type_ = node.op, output_type(node)
    assert isinstance(op, Subtensor)
    if inner.op.set_instead_of_inc or inner.op.idx_list != op.idx_list or x.dtype == "bool":
        return None
    if not all_same(indices, node.inputs[1:]):
        return None
    # A value of the wrong shape must still raise, and not broadcast the other way round.
    missing = type_.ndim - y.ndim
    if any(
        size == 1 and given != 1
        for size, given in zip(type_.shape[missing:], y.type.shape, strict=True)
    ):
        return None
    return as_result(fgraph, node, elemwise(ps.add)(op(x, *indices), cast(y, x.dtype)))


@node_rewriter(
    [Subtensor],
    operands=[IncSubtensor],
    examples=[
        "pt.inc_subtensor(x3[1:], s)[0]",
        "pt.set_subtensor(x3[0], s)[2]",
        "pt.set_subtensor(x3[:2], y3[:2])[2:]",
    ],
)
def read_beside_what_was_written(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """inc_subtensor(x[1:], y)[0] -> x[0], set_subtensor(x[0], y)[2] -> x[2], for known sizes"""
    inner = node.inputs[0].owner
    if inner is None or not isinstance(inner.op, IncSubtensor) or inner.op.inplace:
        return None
    x, y, *indices = operands(inner)
    assert isinstance(node.op, Subtensor)
    # An index that is out of range, and a value of the wrong shape, must still raise.
    if indices or len(node.inputs) > 1 or None in x.type.shape or None in y.type.shape:
        return None
    if not _are_apart(inner.op.idx_list, node.op.idx_list, x.type.shape):
        return None
    return as_result(fgraph, node, node.op(x))


def _are_apart(first: Sequence[Any], second: Sequence[Any], shape: Sequence[int]) -> bool:
    """Return whether two known places in a tensor have no element in common."""
    for one, other, size in zip(first, second, shape, strict=False):
        (low, high), (other_low, other_high) = _bounds(one, size), _bounds(other, size)
        if high < other_low or other_high < low:
            return True
    return False


def _bounds(entry: Any, size: int) -> tuple[int, int]:
    """Return the first and the last element along an axis; those of the whole axis if unsure."""
    if isinstance(entry, int):
        place = entry + size if entry < 0 else entry
        return (place, place) if 0 <= place < size else (0, size)
    places = range(*slice(*entry).indices(size))
    return (min(places), max(places)) if places else (0, size)


# ---- vectors of few elements ---------------------------------------------------------------------

_FEW = 8
"""The most numbers of a vector that is made of them, however few of them are written."""
_FEW_WRITTEN = 32
"""The same, if at least half of them are written."""
_FEW_READ = 4
"""Vectors, other than constants, that are first read element by element have no more of them."""


@node_rewriter(
    [IncSubtensor],
    tags=["zeros"],
    examples=[
        "pt.inc_subtensor(pt.inc_subtensor(pt.zeros(2)[0], s)[1], t)",
        "pt.inc_subtensor(pt.set_subtensor(pt.stack([s, t])[1], 2.0)[1], t)",
        "pt.set_subtensor(pt.inc_subtensor(pt.constant(np.arange(6.0))[5], s)[1], t)",
    ],
)
def vector_of_what_is_written(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """inc_subtensor(inc_subtensor(zeros(2)[0], x)[1], y) -> make_vector(x, y), of few elements"""
    type_ = output_type(node)
    size = type_.shape[0] if type_.ndim == 1 else None
    if size is None or not 0 < size <= _FEW_WRITTEN or type_.dtype == "bool":
        return None
    if any(_is_written_number(client) for client, _ in fgraph.clients[node.outputs[0]]):
        return None  # the last one is rewritten, with all before it
    updates = _numbers_written(fgraph, node)
    if size > max(_FEW, 2 * len(updates)):
        return None
    elements = _elements(updates[0].inputs[0]) if len(updates) > 1 else None
    if elements is None:
        return None
    if not all(-len(elements) <= update.op.idx_list[0] < len(elements) for update in updates):
        return None  # which raises at run time
    for update in updates:
        (place,), y = update.op.idx_list, cast(operands(update)[1], type_.dtype)
        former = None if update.op.set_instead_of_inc else elements[place]
        elements[place] = y if former is None else elemwise(ps.add)(former, y)
    zero = constant(np.zeros((), type_.numpy_dtype))
    filled = [zero if element is None else element for element in elements]
    return as_result(fgraph, node, MakeVector(type_.dtype)(*filled))


def _numbers_written(fgraph: FunctionGraph, node: Apply) -> list[Any]:
    """Return the nodes that write numbers to elements in turn, up to and with a given one."""
    found: list[Any] = []
    current: Any = node
    while _is_written_number(current):
        found.append(current)
        before = current.inputs[0]
        current = before.owner if has_one_client(fgraph, before) else None
    return found[::-1]


def _is_written_number(node: Any) -> bool:
    """Return whether a node writes a number to a known element of a vector."""
    if isinstance(node, str) or node is None or not isinstance(node.op, IncSubtensor):
        return False
    index, (vector, value) = node.op.idx_list, node.inputs[:2]
    if node.op.inplace or vector.type.ndim != 1 or value.type.ndim != 0:
        return False
    return len(index) == 1 and isinstance(index[0], int)


def _elements(x: Any) -> list[Any] | None:
    """Return the elements of a vector, ``None`` for those that are 0; ``None`` if too many."""
    if is_uniformly(x, 0):
        return [None] * x.type.shape[0]
    if x.owner is not None and isinstance(x.owner.op, MakeVector):
        return [cast(element, x.dtype) for element in x.owner.inputs]
    if isinstance(x, TensorConstant):
        return [constant(element) for element in x.data]
    if x.type.shape[0] > _FEW_READ:
        return None
    return [Subtensor((place,))(x) for place in range(x.type.shape[0])]


@node_rewriter(
    [IncSubtensor],
    examples=[
        "pt.set_subtensor(x3[None][0], y3)",
        "pt.inc_subtensor(X3[:, None][:, -1], Y3)",
        "pt.inc_subtensor(pt.zeros((1,))[0], s)",
        "pt.set_subtensor(x3[:], y3)",
    ],
)
def write_whole(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """set_subtensor(x[:, 0], y) -> y[:, None], x[:, 0] += y -> x + y[:, None], for one column x"""
    op: Any = node.op
    x, y, *indices = operands(node)
    if op.inplace or indices or x.dtype == "bool":
        return None
    dropped: list[int] = []
    for dim, (entry, size) in enumerate(zip(op.idx_list, x.type.shape, strict=False)):
        if size == 1 and isinstance(entry, int) and entry in {0, -1}:
            dropped.append(dim)
        elif not is_full(entry):
            return None
    if y.ndim + len(dropped) != x.ndim:
        return None
    value = cast(expand_dims(y, tuple(dropped)) if dropped else y, x.dtype)
    # A value of the wrong shape must still raise; one that broadcasts is written by a kernel.
    if not all(same_size(x, value, dim) for dim in range(x.ndim)):
        return None
    return as_result(fgraph, node, value if op.set_instead_of_inc else elemwise(ps.add)(x, value))


CANONICAL_UPDATES = late_rules(
    write_whole, read_what_was_incremented, read_beside_what_was_written, needs=[IncSubtensor]
)
"""In the order in which they are tried."""

SPECIALIZE_UPDATES = late_rules(
    increment_in_turn, vector_of_what_is_written, needs=[AdvancedIncSubtensor, IncSubtensor]
)
"""Applied after sums have been flattened, so that each sum is visited once."""


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
