"""Lowering of indexing: views, gathers, and writes to indexed elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys import scalar as ps
from phintys._base.errors import IndexingError
from phintys._base.late import LateModule
from phintys._base.records import record
from phintys.backends.native.expressions import (
    Conversion,
    Expression,
    Index,
    IndexCheck,
    Load,
    Operation,
    SizeValue,
)
from phintys.backends.native.failures import Failure
from phintys.backends.native.lower.lowering import Loops, Lowering, NotLowered, lowers
from phintys.backends.native.lower.overwriting import Base, WrittenRow, base_of
from phintys.backends.native.lower.shape_rules import NativeShapes
from phintys.backends.native.lower.slices import (
    basic_parts,
    entries_with_sizes,
    out_of_range,
    part_of,
    position_in,
    slice_of,
)
from phintys.backends.native.lower.view import AxisMap, View
from phintys.backends.native.sizes import Size
from phintys.backends.native.values import Place
from phintys.graph.apply import Apply
from phintys.graph.variable import Constant
from phintys.tensor.indexing.advanced import AdvancedSubtensor
from phintys.tensor.indexing.basic import Subtensor
from phintys.tensor.indexing.template import (
    ARRAY,
    NEWAXIS,
    SEPARATOR,
    Kept,
    Mask,
    Placed,
    Slice,
    layout,
)
from phintys.tensor.indexing.update import AdvancedIncSubtensor, IncSubtensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.lower import counting
else:
    counting = LateModule("phintys.backends.native.lower.counting")

_INT64 = np.dtype("int64")
_FAR = 2**62
"""Larger than all sizes."""


@lowers(Subtensor)
def lower_subtensor(op: Subtensor, node: Apply, lowering: Lowering) -> None:
    """``out[i, j] = x[i + 1, 2 * j]``: a view of the same memory."""
    shapes = NativeShapes(node, lowering)
    op.output_shapes(shapes)
    view = part_of(shapes.views[0], shapes.parts, lowering.sizes)
    lowering.bind(node.outputs[0], view, is_part=True)


@lowers(IncSubtensor)
def lower_inc_subtensor(op: IncSubtensor, node: Apply, lowering: Lowering) -> None:
    """``out = x``; then ``out[i + 1] = y[i]`` or ``x[i + 1] + y[i]``."""
    x = lowering.view(node.inputs[0])
    entries = entries_with_sizes(op.idx_list, node.inputs[2:], lowering)
    parts = basic_parts(x, entries, node, lowering)
    read = part_of(x, parts, lowering.sizes)
    y = _fitted(node, read.sizes, lowering)
    target = base_of(node, node.inputs[0], lowering)
    place = part_of(target.view, parts, lowering.sizes)
    y = target.settled(y, lowering)
    loops = lowering.loops(read.sizes)
    value = lowering.load(y, loops)
    is_row = target.is_late and len(entries) == 1 and isinstance(entries[0], Size)
    if is_row and not lowering.bases.is_late([y.array.memory]):
        position = place.maps[0].offset or lowering.sizes.fixed(0)
        source = lowering.view(lowering.bases.chained[node])
        row = WrittenRow(source, position, y, op.set_instead_of_inc)
        lowering.bases.rows.setdefault(target.view.array, row)
    if not target.is_copy:
        read = place
    if not op.set_instead_of_inc:
        value = _sum(lowering.load(read, loops), value, place, loops, node, lowering)
    lowering.store(place, value, loops, nodes=(node,))


def _fitted(node: Apply, lengths: Sequence[Size], lowering: Lowering) -> View:
    """Return the value to be written, broadcast to the sizes of its target."""
    variable: Any = node.inputs[1]
    y = lowering.view(variable)
    missing = len(lengths) - y.ndim
    for axis, static in enumerate(variable.type.shape):
        if static != 1:
            failure = Failure(node, "broadcast", f"dimension {missing + axis}: {{0}} and {{1}}")
            lowering.require_equal(lengths[missing + axis], y.sizes[axis], failure)
    whole = y.rearranged([*[None] * missing, *range(y.ndim)], lowering.sizes)
    return whole.broadcast([lowering.sizes.canonical(size) for size in lengths], lowering.sizes)


def _sum(
    old: Expression,
    new: Expression,
    place: View,
    loops: Loops,
    node: Apply,
    lowering: Lowering,
) -> Expression:
    """Return the sum of two values in the dtype of a place."""
    dtype = place.array.dtype
    if new.dtype != dtype:
        new = Conversion(new, dtype)
    return Operation(ps.add, (old, new), dtype)


# ---- arrays as indices ---------------------------------------------------------------------------


@record()
class _Gather:
    """The elements selected by an index with arrays: one of ``view`` for each of the result.

    Attributes
    ----------
    view
        The array, after its slices were applied.
    covering
        The entries of the index that cover axes of the array.
    positions
        One for each axis of the view.
    sizes, loops
        The sizes and loops of the result.
    is_grouped
        Whether equal indices are known to be consecutive.
    """

    view: View
    covering: list[Any]
    positions: list[Index]
    sizes: list[Size]
    loops: Loops
    is_grouped: bool = False

    def load(self, lowering: Lowering) -> Load:
        """Return the expression that reads an element."""
        return self.view.at(self.positions, lowering.sizes)


def _cut(view: View, covering: Sequence[Any], node: Apply, lowering: Lowering) -> View:
    """Return a view after its slices; its other axes are axes of the memory."""
    sizes = lowering.sizes
    for axis, entry in enumerate(covering):
        if isinstance(entry, Slice):
            part = slice_of(view.sizes[axis], entry, node, lowering)
            if part is not None:
                first, step, length = part
                assert length is not None
                view = view.sliced(axis, first, step, length, sizes)
    axes = [axis for axis, entry in enumerate(covering) if not isinstance(entry, Slice)]
    return _indexable(view, axes, lowering)


def _gather(
    view: View,
    template: Any,
    node: Apply,
    first: int,
    lowering: Lowering,
    *,
    is_late: bool = False,
) -> _Gather:
    """Return the elements that a template with arrays selects; its inputs begin at ``first``.

    Indices that are used late are checked now, and kept.
    """
    sizes = lowering.sizes
    entries = entries_with_sizes(template, node.inputs[first:], lowering)
    covering = _covering(template, entries, view, node, lowering)
    arrays = [entry for entry in covering if isinstance(entry, _IndexArray)]
    shape = _index_shape(arrays, node, lowering)
    view = _cut(view, covering, node, lowering)
    # The loops of the result, and which of them belong to which axis of the view.
    places = layout(template, view.ndim)
    lengths: list[Size] = []
    axes: dict[int, int] = {}
    begin = 0
    for place in places:
        if isinstance(place, Kept):
            axes[place.dim] = len(lengths)
            lengths.append(view.sizes[place.dim])
        elif place is Placed.NEW:
            lengths.append(sizes.fixed(1))
        else:
            begin = len(lengths)
            lengths += shape
    loops = lowering.loops(lengths)
    index_loops = loops[begin : begin + len(shape)]
    # An index is checked even if nothing is read, because an axis has size 0.
    is_apart = is_late or any(not lengths[place].known for place in axes.values())
    positions: list[Index] = []
    one = sizes.fixed(1)
    for axis in range(view.ndim):
        entry = covering[axis] if axis < len(covering) else None
        if axis in axes:
            loop = loops[axes[axis]]
            positions.append(Index(() if loop is None else ((loop, one),)))
        elif isinstance(entry, Size):
            position = position_in(view.sizes[axis], entry, axis, node, lowering)
            positions.append(Index((), None if position.known == 0 else position))
        else:
            assert isinstance(entry, _IndexArray)
            size = view.sizes[axis]
            entry = entry.checked_once(shape, axis, size, lowering)
            if is_apart:
                entry = entry.checked(shape, axis, size, lowering)
            positions.append(Index((), None, entry.at(index_loops, shape, axis, size, lowering)))
    is_grouped = len(arrays) == 1 and arrays[0].is_sorted
    return _Gather(view, covering, positions, lengths, loops, is_grouped)


def _covering(
    template: Any, entries: Sequence[Any], view: View, node: Apply, lowering: Lowering
) -> list[Any]:
    """Return one entry for each of the first axes: a slice, a size, or an array of indices."""
    covering: list[Any] = []
    for kind, entry in zip(template, entries, strict=True):
        if kind is NEWAXIS or kind is SEPARATOR:
            continue
        if isinstance(entry, Slice | Size):
            covering.append(entry)
        elif isinstance(kind, Mask):
            covering += _indices_of_mask(entry, view, len(covering), node, lowering)
        else:
            array = lowering.view(entry)
            if _may_repeat_nothing(array, lowering):
                array = lowering.copied(array, node)
            covering.append(_IndexArray(array, entry.type.shape, node))
    return covering


def _may_repeat_nothing(view: View, lowering: Lowering) -> bool:
    """Return whether a view may repeat an element zero times.

    Such an element is not used as an index: it must be checked inside the loop that repeats it,
    which is guaranteed only for arrays with their own memory.
    """
    shown = {axis for map_ in view.maps for axis, _ in map_.terms}
    return any(
        axis not in shown and not lowering.sizes.canonical(size).known
        for axis, size in enumerate(view.sizes)
    )


@record()
class _IndexArray:
    """An array of indices.

    Attributes
    ----------
    view, static
        The array, and its shape as known when the graph was built.
    node
        The node of the index.
    is_safe
        Whether all indices are known to be in range and non-negative.
    """

    view: View
    static: Sequence[int | None]
    node: Apply
    is_safe: bool = False

    @property
    def is_sorted(self) -> bool:
        """Whether this is a constant vector of non-negative integers in ascending order."""
        data = self.view.array.data
        return (
            data is not None
            and data.ndim == 1 == self.view.ndim
            and data.size == self.view.sizes[0].known
            and bool((data >= 0).all() and (data[1:] >= data[:-1]).all())
        )

    def checked_once(
        self, shape: Sequence[Size], axis: int, size: Size, lowering: Lowering
    ) -> _IndexArray:
        """Return constant indices without a check of each: only the least and greatest are checked.

        Other indices are returned unchanged. So are negative ones along an axis whose size is known
        only at run time, and those that may be repeated zero times: NumPy does not check these.
        """
        data, sizes = self.view.array.data, lowering.sizes
        if self.is_safe or data is None or not self.view.is_whole(sizes) or not data.size:
            return self
        wanted = [sizes.canonical(length).known for length in shape]
        least, most = int(data.min()), int(data.max())
        is_repeated = wanted != list(data.shape)
        if (is_repeated and not all(wanted)) or most >= _FAR or (least < 0 and size.known is None):
            return self
        for index in (least, most) if least < 0 else (most,):
            bound = sizes.fixed(-index - 1 if index < 0 else index)
            failure = out_of_range(self.node, f"index {index} of axis {axis}")
            lowering.require(sizes.arithmetic("lt", bound, size), failure)
        view = self.view
        if least < 0:
            made = np.where(data < 0, data + int(size.known or 0), data).astype(_INT64)
            array = lowering.array(_INT64, view.sizes, Place.CONSTANT, data=made)
            view = View.of(array, sizes)
        return _IndexArray(view, self.static, self.node, is_safe=True)

    def checked(
        self, shape: Sequence[Size], axis: int, size: Size, lowering: Lowering
    ) -> _IndexArray:
        """Return the indices in their own memory, checked whether they are used or not.

        The same indices into axes of one size share it.
        """
        if self.is_safe:
            return self
        sizes = lowering.sizes
        maps = tuple([(map_.terms, map_.offset) for map_ in self.view.maps])
        lengths = tuple(map(sizes.canonical, (size, *shape, *self.view.sizes)))
        key = self.view.array, maps, lengths
        view = lowering.checked_indices.get(key)
        if view is None:
            loops = lowering.loops(shape)
            view = View.of(lowering.array(_INT64, shape), sizes)
            value = self.at(loops, shape, axis, size, lowering)
            lowering.store(view, value, loops, nodes=(self.node,))
            lowering.checked_indices[key] = view
        static = [length.known for length in shape]
        return _IndexArray(view, static, self.node, is_safe=True)

    def at(
        self, loops: Loops, shape: Sequence[Size], axis: int, size: Size, lowering: Lowering
    ) -> Expression:
        """Return an index into an axis of a given size, from arrays that broadcast to a shape."""
        sizes = lowering.sizes
        ndim = self.view.ndim
        order = [*[None] * (len(shape) - ndim), *range(ndim)]
        shown = self.view.rearranged(order, sizes).broadcast(shape, sizes)
        index = lowering.load(shown, loops)
        if index.dtype != _INT64:
            index = Conversion(index, _INT64)
        if self.is_safe:
            return index
        detail = f"index {{0}} is out of range for axis {axis} of size {{1}}"
        failure = Failure(self.node, "index", detail, IndexingError, "{op}: {detail}.")
        return IndexCheck(index, size, failure)


def _indices_of_mask(
    mask: Any, view: View, axis: int, node: Apply, lowering: Lowering
) -> list[_IndexArray]:
    """Return where a mask, which covers the axes from one on, is true: an array for each axis."""
    shown = lowering.view(mask)
    for dim, size in enumerate(shown.sizes):
        failure = Failure(node, "mask", f"dimension {dim}: {{0}} and {{1}}")
        lowering.require_equal(size, view.sizes[axis + dim], failure)
    if not isinstance(mask, Constant):
        views = counting.nonzero_views(shown, node, lowering)
        return [_IndexArray(view, (None,), node, is_safe=True) for view in views]
    made: list[_IndexArray] = []
    for indices in np.nonzero(mask.data):
        data = np.ascontiguousarray(indices, _INT64)
        lengths = [lowering.sizes.fixed(data.size)]
        array = lowering.array(_INT64, lengths, Place.CONSTANT, data=data)
        whole = View.of(array, lowering.sizes)
        made.append(_IndexArray(whole, data.shape, node, is_safe=True))
    return made


def _indexable(view: View, axes: Sequence[int], lowering: Lowering) -> View:
    """Return a view in which some axes are axes of the memory, so that indices are not scaled."""
    maps = list(view.maps)
    free = [
        place
        for place, map_ in enumerate(maps)
        if not map_.terms and map_.offset is None and view.array.sizes[place].known == 1
    ]
    for axis in axes:
        steps = [step for map_ in maps for other, step in map_.terms if other == axis]
        if not steps and free and view.sizes[axis].known == 1:
            maps[free.pop()] = AxisMap(((axis, lowering.sizes.fixed(1)),))
        elif [step.known for step in steps] != [1]:
            return _with_all_axes(lowering.copied(view), lowering)
    for map_ in maps:
        if sum(axis in axes for axis, _ in map_.terms) > 1:
            return _with_all_axes(lowering.copied(view), lowering)
    return View(view.array, tuple(maps), view.sizes)


def _with_all_axes(view: View, lowering: Lowering) -> View:
    """Return a view of a whole array in which axes of size 1 are shown as well."""
    one = lowering.sizes.fixed(1)
    maps = tuple(AxisMap(((axis, one),)) for axis in range(view.ndim))
    return View(view.array, maps, view.sizes)


def _index_shape(arrays: Sequence[_IndexArray], node: Apply, lowering: Lowering) -> list[Size]:
    """Return the sizes to which index arrays broadcast, from the front."""
    backwards: list[Size] = []
    for back in range(1, max(array.view.ndim for array in arrays) + 1):
        chosen: Size | None = None
        for array in arrays:
            if array.view.ndim < back or array.static[-back] == 1:
                continue
            if chosen is None:
                chosen = array.view.sizes[-back]
                continue
            failure = Failure(node, "broadcast", "index arrays of sizes {0} and {1}")
            lowering.require_equal(chosen, array.view.sizes[-back], failure)
        sizes = lowering.sizes
        backwards.append(sizes.fixed(1) if chosen is None else sizes.canonical(chosen))
    return backwards[::-1]


def _check_masks(template: Any) -> None:
    """Leave bools without dimensions, which select all or nothing, to NumPy."""
    if any(isinstance(entry, Mask) and not entry.ndim for entry in template):
        msg = "a bool without dimensions as an index"
        raise NotLowered(msg)


@lowers(AdvancedSubtensor)
def lower_advanced_subtensor(op: AdvancedSubtensor, node: Apply, lowering: Lowering) -> None:
    """``out[i, j] = x[index[i], j]``."""
    _check_masks(op.idx_list)
    x = lowering.view(node.inputs[0])
    row = lowering.bases.rows.get(x.array) if x.is_whole(lowering.sizes) else None
    if row is not None and op.idx_list == (ARRAY,):
        _read_beside_row(row, op, node, lowering)
        return
    is_late = lowering.bases.is_late([x.array.memory])
    gather = _gather(x, op.idx_list, node, 1, lowering, is_late=is_late)
    target, _ = lowering.compute(node.outputs[0], gather.sizes)
    lowering.store(target, gather.load(lowering), gather.loops, nodes=(node,))


def _read_beside_row(
    row: WrittenRow, op: AdvancedSubtensor, node: Apply, lowering: Lowering
) -> None:
    """``out[i, j] = where(index[i] == position, row[j], x[index[i], j])``, with the old x.

    So what is computed from the result need not wait until the row has been written.
    """
    gather = _gather(row.source, op.idx_list, node, 1, lowering, is_late=True)
    target, _ = lowering.compute(node.outputs[0], gather.sizes)
    index = gather.positions[0].dynamic
    assert index is not None
    old = gather.load(lowering)
    new = lowering.load(row.value, gather.loops[len(gather.loops) - row.value.ndim :])
    if not row.is_set:
        new = _sum(old, new, target, gather.loops, node, lowering)
    elif new.dtype != old.dtype:
        new = Conversion(new, old.dtype)
    is_there = Operation(ps.eq, (index, SizeValue(row.position)), np.dtype("bool"))
    value = Operation(ps.switch, (is_there, new, old), old.dtype)
    lowering.store(target, value, gather.loops, nodes=(node,))


@lowers(AdvancedIncSubtensor)
def lower_advanced_inc_subtensor(op: AdvancedIncSubtensor, node: Apply, lowering: Lowering) -> None:
    """``out = x``; then ``out[index[i], j] = y[i, j]`` or ``+= y[i, j]``, in this order."""
    _check_masks(op.idx_list)
    x = lowering.view(node.inputs[0])
    base = base_of(node, node.inputs[0], lowering)
    target = base.view
    gather = _gather(target, op.idx_list, node, 2, lowering, is_late=base.is_late)
    y = _fitted(node, gather.sizes, lowering)
    dtype = target.array.dtype
    accumulate = None if op.set_instead_of_inc or op.ignore_duplicates else "add"
    if op.ignore_duplicates and not op.set_instead_of_inc:
        y = _sums(base, x, y, gather, node, lowering)
    value = lowering.load(base.settled(y, lowering), gather.loops)
    if value.dtype != dtype:
        value = Conversion(value, dtype)
    lowering.store(
        target,
        value,
        gather.loops,
        positions=gather.load(lowering).indices,
        accumulate=accumulate,
        nodes=(node,),
        is_grouped=gather.is_grouped,
    )


def _sums(base: Base, x: View, y: View, gather: _Gather, node: Apply, lowering: Lowering) -> View:
    """Return the sums of old and added values, before any of them is written."""
    source = x if base.is_copy or base.is_late else base.view
    old = _cut(source, gather.covering, node, lowering).at(gather.positions, lowering.sizes)
    made = View.of(lowering.array(base.view.array.dtype, gather.sizes), lowering.sizes)
    new = lowering.load(y, gather.loops)
    value = _sum(old, new, made, gather.loops, node, lowering)
    lowering.store(made, value, gather.loops, nodes=(node,))
    return made
