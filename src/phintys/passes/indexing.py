"""Canonical forms of indexing: known entries in the template, indices applied as early as possible.

Indexing early reduces the number of elements computed. An index is moved below a node only if the
node has no other users; an index that is out of range still raises.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.graph.identity import all_same
from phintys.passes._facts import (
    as_result,
    has_one_client,
    is_pure,
    is_size_of,
    operands,
    output_type,
    sizes_covered,
)
from phintys.rewriting import late_rules, node_rewriter
from phintys.tensor.creation import Alloc, alloc
from phintys.tensor.dim_shuffle import DimShuffle, dimshuffle
from phintys.tensor.indexing.basic import Subtensor
from phintys.tensor.indexing.template import FULL, SCALAR, Slice, fill, is_full, slice_length
from phintys.tensor.indexing.update import IncSubtensor
from phintys.tensor.joining import Join
from phintys.tensor.products import Dot
from phintys.tensor.reduce import Reduce
from phintys.tensor.scalar_bridge import MakeVector
from phintys.tensor.shapes import Shape, shape_i
from phintys.tensor.sizes import fold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable

# ---- indices as lists of entries -----------------------------------------------------------------


def _entries(node: Apply, ndim: int) -> list[Any]:
    """Return one entry for each dimension: an int, a scalar variable, or a slice of these."""
    assert isinstance(node.op, Subtensor)
    found = list(fill(node.op.idx_list, node.inputs[1:]))
    return [*map(_folded, found), *[FULL] * (ndim - len(found))]


def _folded(entry: Any) -> Any:
    if isinstance(entry, Slice):
        return Slice(*(None if bound is None else fold(bound) for bound in entry))
    return fold(entry)


def _index(x: Any, entries: Sequence[Any]) -> Any:
    """Return x[entries]; x itself if they select all of it."""
    entries = list(entries)
    while entries and is_full(entries[-1]):
        entries.pop()
    if not entries:
        return x
    inputs: list[Any] = []

    def part(entry: Any) -> Any:
        if entry is None or isinstance(entry, int):
            return entry
        inputs.append(entry)
        return SCALAR

    template = [Slice(*map(part, e)) if isinstance(e, Slice) else part(e) for e in entries]
    return Subtensor(template)(x, *inputs)


def _is_full(entry: Any, x: Any, dim: int) -> bool:
    start, stop, step = entry
    if start not in {None, 0} or step not in {None, 1}:
        return False
    if stop is None:
        return True
    if isinstance(stop, int):
        size = x.type.shape[dim]
        return size is not None and stop >= size
    return is_size_of(stop, x, dim)


# ---- simpler indices -----------------------------------------------------------------------------


@node_rewriter([Subtensor], examples=["X[:, 0:X.shape[1]]", "X3[0:3, :5]", "x[:]"])
def drop_full_slices(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """x[:, 0:shape(x)[1]] -> x"""
    x = operands(node)[0]
    entries = _entries(node, x.ndim)
    if not all(isinstance(e, Slice) and _is_full(e, x, dim) for dim, e in enumerate(entries)):
        return None
    return as_result(fgraph, node, x)


@node_rewriter(
    [Subtensor],
    examples=["X[0:2]", "X[::1, 0]", "X[0:X.shape[0], 1]"],
)
def simplify_entries(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """x[constant(1)] -> x[1], x[0:2:1] -> x[:2], x[0:shape(x)[0], 1] -> x[:, 1]"""
    x = operands(node)[0]
    entries = _entries(node, x.ndim)
    for dim, entry in enumerate(entries):
        if isinstance(entry, Slice):
            start, stop, step = entry
            step = None if isinstance(step, int) and step == 1 else step
            start = None if step is None and isinstance(start, int) and start == 0 else start
            entries[dim] = FULL if _is_full(entry, x, dim) else Slice(start, stop, step)
    simpler = _index(x, entries)
    if simpler is x or simpler.owner.op == node.op:
        return None
    return as_result(fgraph, node, simpler)


@node_rewriter(
    [Subtensor],
    examples=["x[None][0]", "X[:, None, :][1:, -1]", "s[None, None][0, 0]", "x3[:, None][1, 0]"],
)
def index_only_place(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """x[:, 0] -> x without its axis 1, where that has length 1"""
    x = operands(node)[0]
    entries = _entries(node, x.ndim)
    alone = [
        dim
        for dim, (entry, size) in enumerate(zip(entries, x.type.shape, strict=True))
        if size == 1 and isinstance(entry, int) and entry in {0, -1}
    ]
    if not alone:
        return None
    kept = [dim for dim in range(x.ndim) if dim not in alone]
    part = _index(dimshuffle(x, *kept), [entries[dim] for dim in kept])
    return as_result(fgraph, node, part)


@node_rewriter(
    [Subtensor], depth=3, examples=["x.shape[0]", "pt.stack([s, t, s])[1:]", "X.shape[1:]"]
)
def index_known_parts(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """shape(x)[i] -> shape_i(x, i), make_vector(x0, x1, x2)[1:] -> make_vector(x1, x2)"""
    vector = operands(node)[0]
    maker = vector.owner
    assert isinstance(node.op, Subtensor)
    if maker is None or not isinstance(maker.op, MakeVector | Shape) or not node.op.idx_list:
        return None
    index = _known_index(_entries(node, 1)[0])
    if index is None:
        return None
    positions = range(vector.type.shape[0])[index]
    if isinstance(positions, int):
        return as_result(fgraph, node, _part(maker, positions))
    parts = [_part(maker, position) for position in positions]
    return as_result(fgraph, node, MakeVector(vector.dtype)(*parts))


def _known_index(entry: Any) -> int | slice | None:
    if not isinstance(entry, Slice):
        return entry if isinstance(entry, int) else None
    if any(bound is not None and not isinstance(bound, int) for bound in entry) or entry.step == 0:
        return None
    return slice(*entry)


def _part(maker: Apply, position: int) -> Any:
    if isinstance(maker.op, MakeVector):
        return maker.inputs[position]
    return shape_i(maker.inputs[0], position)


# ---- an index of an index ------------------------------------------------------------------------


@node_rewriter(
    [Subtensor],
    examples=[
        "x[1:][1]",
        "x[1:][1:]",
        "X[i][j]",
        "X[:, 1][0]",
        "x[::-1][::-1]",
        "x[::-1][0]",
        "x[:2][:1]",
        "x3[::-1][1:][0]",
        "X[:, 0][i:]",
    ],
)
def merge_indices(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """x[1:][1] -> x[2], x[i][j] -> x[i, j], x[:, i][j:] -> x[j:, i], x[::-1][::-1] -> x"""
    inner = node.inputs[0].owner
    if inner is None or not isinstance(inner.op, Subtensor):
        return None
    x = operands(inner)[0]
    later = iter(_entries(node, operands(node)[0].ndim))
    merged: list[Any] = []
    for dim, first in enumerate(_entries(inner, x.ndim)):
        entry = first
        if isinstance(first, Slice):
            entry = _composed(first, next(later), x.type.shape[dim])
            if entry is None:
                return None
        merged.append(entry)
    return as_result(fgraph, node, _index(x, merged))


def _composed(first: Slice, second: Any, size: int | None) -> Any:
    """Return e with x[first][second] == x[e] for a dimension; ``None`` if there is none."""
    if is_full(second):
        return first
    if is_full(first):
        return second
    known = _known_index(second)
    known_bounds = _known_index(first)
    if known is None or known_bounds is None:
        return None
    if size is not None:
        return _of_range(range(*slice(*first).indices(size)), known)
    if known_bounds == slice(None, None, -1):
        if isinstance(known, int):
            return -1 - known
        return FULL if second == first else None
    return _shifted(first, known)


def _of_range(places: range, index: int | slice) -> Any:
    if isinstance(index, int):
        return places[index] if -len(places) <= index < len(places) else None
    kept = places[index]
    if not kept:
        return Slice(0, 0)
    return Slice(kept.start, kept.stop if kept.stop >= 0 else None, kept.step)


def _shifted(first: Any, index: int | slice) -> Any:
    """Compose an index with x[start:stop], where no bound counts from the end."""
    start, stop = first.start or 0, first.stop
    if first.step not in {None, 1} or start < 0 or (stop is not None and stop < 0):
        return None
    if isinstance(index, int):
        fits = index >= 0 and (stop is None or start + index < stop)
        return start + index if fits else None
    low, high, step = index.start or 0, index.stop, index.step or 1
    if low < 0 or step < 0 or (high is not None and high < 0):
        return None
    ends = [end for end in (stop, None if high is None else start + high) if end is not None]
    return Slice(start + low, min(ends) if ends else None, index.step)


# ---- an index of what is computed ----------------------------------------------------------------


@node_rewriter(
    [Subtensor],
    examples=["pt.exp(x)[0]", "pt.exp(X)[i, 1:]", "(2 * X)[0]", "(x3 + y3)[1:]", "(r + s)[0, 1:]"],
)
def index_before_elemwise(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """exp(x)[i] -> exp(x[i]), where exp(x) has no other users, or few elements, read one by one"""
    x = operands(node)[0]
    inner = x.owner
    if inner is None or not is_pure(inner) or len(inner.outputs) > 1:
        return None
    if not has_one_client(fgraph, x) and not _is_read_by_elements(fgraph, x):
        return None
    whole = next(
        (y for y in inner.inputs if all(sizes_covered(z, [y]) for z in inner.inputs)), None
    )
    if whole is None:
        return None
    entries = _entries(node, x.ndim)
    return as_result(
        fgraph, node, inner.op(*(_index_broadcast(y, x, entries) for y in operands(inner)))
    )


_FEW = 4
"""Vectors that are computed element by element have no more of them."""


def _is_read_by_elements(fgraph: FunctionGraph, x: Any) -> bool:
    """Return whether a vector of few elements is only used by indices, each of one of them."""
    if x.type.ndim != 1 or x.type.shape[0] is None or x.type.shape[0] > _FEW:
        return False
    places: list[Any] = []
    for reader, _ in fgraph.clients[x]:
        if isinstance(reader, str) or not isinstance(reader.op, Subtensor):
            return False
        places.append(_known_index(_entries(reader, 1)[0]))
    return all(isinstance(place, int) for place in places) and len(set(places)) == len(places)


def _index_broadcast(operand: Any, result: Any, entries: Sequence[Any]) -> Any:
    """Return the part of an operand that ``result[entries]`` is computed from."""
    own: list[Any] = []
    for dim, entry in enumerate(entries):
        repeated = operand.type.shape[dim] == 1 and result.type.shape[dim] != 1
        own.append(entry if not repeated else FULL if isinstance(entry, Slice) else 0)
    return _index(operand, own)


@node_rewriter(
    [Subtensor], examples=["X.T[0]", "X.T[i, 1:]", "x[:, None][1:, 0]", "T.dimshuffle(2, 0, 1)[1]"]
)
def index_before_dimshuffle(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """x.T[i] -> x[:, i], and likewise for every dimshuffle"""
    inner = node.inputs[0].owner
    if inner is None or not isinstance(inner.op, DimShuffle):
        return None
    (x,) = operands(inner)
    own: list[Any] = [FULL] * x.ndim
    order: list[Any] = []
    entries = _entries(node, output_type(inner).ndim)
    for place, entry in zip(inner.op.new_order, entries, strict=True):
        if isinstance(place, int):
            own[place] = entry
            order.extend([place] if isinstance(entry, Slice) else [])
        elif is_full(entry):
            order.append("x")
        elif isinstance(entry, Slice) or _known_index(entry) not in (0, -1):
            return None
    kept = [dim for dim, entry in enumerate(own) if isinstance(entry, Slice)]
    new_order = [entry if entry == "x" else kept.index(entry) for entry in order]
    return as_result(fgraph, node, DimShuffle(len(kept), new_order)(_index(x, own)))


@node_rewriter(
    [Subtensor],
    examples=["pt.alloc(s, n)[1:]", "pt.alloc(s, 3, n)[0]", "pt.alloc(x, n, 3)[1:, 1:]"],
)
def index_before_alloc(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """alloc(x, n)[1:] -> alloc(x, n - 1), and likewise for all slices and known indices"""
    whole = operands(node)[0]
    inner = whole.owner
    if inner is None or not isinstance(inner.op, Alloc):
        return None
    value, *sizes = operands(inner)
    new_sizes: list[Any] = []
    entries = _entries(node, whole.ndim)
    for dim, entry in enumerate(entries):
        if isinstance(entry, Slice):
            new_sizes.append(slice_length(fold(sizes[dim]), entry))
            continue
        size = whole.type.shape[dim]
        if not isinstance(entry, int) or size is None or not -size <= entry < size:
            return None
    missing = whole.ndim - value.ndim
    own = [
        entry if size != 1 else FULL if isinstance(entry, Slice) else 0
        for entry, size in zip(entries[missing:], value.type.shape, strict=True)
    ]
    return as_result(fgraph, node, alloc(_index(value, own), *new_sizes))


@node_rewriter(
    [Subtensor],
    examples=[
        "pt.concatenate([x3, y3])[1]",
        "pt.concatenate([x3, y3])[3:5]",
        "pt.concatenate([x, y])[:x.shape[0]]",
        "pt.concatenate([x, y])[x.shape[0]:]",
        "pt.concatenate([X3, Y3], axis=1)[0, 4]",
    ],
)
def index_before_join(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """concatenate([x, y])[:shape(x)[0]] -> x, and likewise where an index meets one part only"""
    whole = operands(node)[0]
    inner = whole.owner
    if inner is None or not isinstance(inner.op, Join):
        return None
    axis = inner.op.axis
    parts = [x for x in operands(inner) if x.dtype == whole.dtype]
    others = [dim for dim in range(whole.ndim) if dim != axis]
    # Mismatched shapes must still raise.
    known = [{x.type.shape[dim] for x in parts} for dim in others]
    if len(parts) < len(inner.inputs) or any(None in sizes or len(sizes) > 1 for sizes in known):
        return None
    entries = _entries(node, whole.ndim)
    found = _part_of_join(parts, axis, entries[axis])
    if found is None:
        return None
    part, entry = found
    return as_result(fgraph, node, _index(part, [*entries[:axis], entry, *entries[axis + 1 :]]))


def _part_of_join(parts: Sequence[Any], axis: int, entry: Any) -> tuple[Any, Any] | None:
    """Return the part that an index along the axis selects from, and the index into it."""
    if isinstance(entry, Slice) and entry.step in {None, 1}:
        start, stop, _ = entry
        if start in {None, 0} and stop is not None and _is_size(stop, parts[0], axis):
            return parts[0], FULL
        if len(parts) == 2 and stop is None and _is_size(start, parts[0], axis):
            return parts[1], FULL
    index = _known_index(entry)
    sizes = [x.type.shape[axis] for x in parts]
    if index is None or None in sizes:
        return None
    total = sum(sizes)
    places = range(total)[index] if isinstance(index, slice) else None
    if places is None:
        place = index if isinstance(index, int) and index >= 0 else total + index  # pyright: ignore[reportOperatorIssue]
        places = range(place, place + 1)
    if not places or places.step != 1:
        return None
    begin = 0
    for part, size in zip(parts, sizes, strict=True):
        if begin <= places[0] and places[-1] < begin + size:
            first = places[0] - begin
            return part, first if isinstance(index, int) else Slice(first, first + len(places))
        begin += size
    return None


def _is_size(bound: Any, x: Any, dim: int) -> bool:
    """Return whether a bound of a slice is the size of a tensor in a dimension."""
    if bound is None or isinstance(bound, int):
        return bound is not None and bound == x.type.shape[dim]
    return is_size_of(bound, x, dim)


@node_rewriter(
    [Subtensor], examples=["X.sum(axis=1)[0]", "X.max(axis=0)[i]", "T.sum(axis=1)[1:, 0]"]
)
def index_before_reduction(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """sum(x, axis=1)[i] -> sum(x[i], axis=0), where the sum has no other users"""
    inner = node.inputs[0].owner
    if (
        inner is None
        or not isinstance(inner.op, Reduce)
        or not has_one_client(fgraph, node.inputs[0])
    ):
        return None
    (x,) = operands(inner)
    axes = inner.op.axes(x.ndim)
    later = iter(_entries(node, x.ndim - len(axes)))
    entries = [FULL if dim in axes else next(later) for dim in range(x.ndim)]
    kept = [dim for dim, entry in enumerate(entries) if isinstance(entry, Slice)]
    op = Reduce(
        inner.op.scalar_op, [kept.index(a) for a in axes], inner.op.dtype, inner.op.acc_dtype
    )
    return as_result(fgraph, node, op(_index(x, entries)))


@node_rewriter([Subtensor], examples=["pt.dot(X, Y)[0]", "pt.dot(X, Y)[i, 1:]", "pt.dot(X, y)[1:]"])
def index_before_dot(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """dot(x, y)[i, j] -> dot(x[i], y[:, j]), where the product has no other users"""
    inner = node.inputs[0].owner
    if inner is None or not isinstance(inner.op, Dot) or not has_one_client(fgraph, node.inputs[0]):
        return None
    x, y = operands(inner)
    entries = _entries(node, output_type(inner).ndim)
    if x.ndim == 2:
        x = _index(x, [entries.pop(0)])
    if y.ndim == 2:
        y = _index(y, [FULL, entries.pop(0)])
    return as_result(fgraph, node, inner.op(x, y))


@node_rewriter(
    [Subtensor], examples=["pt.set_subtensor(x3[1], s)[1]", "pt.set_subtensor(x3[:2], y3[:2])[:2]"]
)
def read_what_was_set(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """set_subtensor(x[i], y)[i] -> y"""
    inner = node.inputs[0].owner
    if inner is None or not isinstance(inner.op, IncSubtensor) or not inner.op.set_instead_of_inc:
        return None
    x, y, *indices = operands(inner)
    assert isinstance(node.op, Subtensor)
    same = inner.op.idx_list == node.op.idx_list and all_same(indices, node.inputs[1:])
    # An index that is out of range, and a value of the wrong shape, must still raise.
    if not same or inner.op.inplace or None in x.type.shape or None in y.type.shape or indices:
        return None
    return as_result(fgraph, node, y) if y.type == output_type(node) else None


CANONICAL_INDEXING = late_rules(
    drop_full_slices,
    index_known_parts,
    simplify_entries,
    index_only_place,
    merge_indices,
    read_what_was_set,
    index_before_alloc,
    index_before_join,
    index_before_dimshuffle,
    index_before_elemwise,
    index_before_reduction,
    index_before_dot,
    needs=[Subtensor],
)
"""In the order in which they are tried."""

KNOWN_PARTS = late_rules(index_known_parts, needs=[Subtensor])
