"""Batches of indexing, and of writing to what an index selects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.records import record
from phintys.tensor.batching.rules import batches
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.dim_shuffle import dimshuffle, shape_padright
from phintys.tensor.indexing.advanced import AdvancedSubtensor
from phintys.tensor.indexing.basic import Subtensor
from phintys.tensor.indexing.template import (
    ARRAY,
    FULL,
    NEWAXIS,
    SEPARATOR,
    Kind,
    Mask,
    Placed,
    Slice,
    count_dims,
    count_inputs,
    layout,
)
from phintys.tensor.indexing.update import AdvancedIncSubtensor, IncSubtensor
from phintys.tensor.joining import concatenate
from phintys.tensor.math import cast, clip, lt, maximum, switch
from phintys.tensor.nonzeros import Nonzero
from phintys.tensor.ranges import arange
from phintys.tensor.reduce import max as largest_of
from phintys.tensor.reduce import min as smallest_of
from phintys.tensor.reshaping import flatten
from phintys.tensor.shapes import sizes_of
from phintys.tensor.size_check import with_check
from phintys.tensor.sizes import subtract_sizes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.tensor.batching.engine import Batch
    from phintys.tensor.indexing.template import Template

__all__: list[str] = []


@batches(Subtensor)
def batch_subtensor(node: Any, batch: Batch) -> list[Any] | None:
    """Index the last axes; with an index for each item, gather."""
    x, *indices = batch.inputs
    if not any(batch.ranks[1:]):
        return [Subtensor((FULL,) * batch.ndim + node.op.idx_list)(x, *indices)]
    plan = _planned(node, batch, 1)
    return None if plan is None else [plan.read(batch)]


@batches(AdvancedSubtensor)
def batch_advanced_subtensor(node: Any, batch: Batch) -> list[Any] | None:
    """Index the last axes; with an index for each item, gather."""
    x, *indices = batch.inputs
    if any(batch.ranks[1:]):
        plan = _planned(node, batch, 1)
        return None if plan is None else [plan.read(batch)]
    op = AdvancedSubtensor((FULL,) * batch.ndim + node.op.idx_list)
    found = op(x, *indices)
    moved = _axes_before_batch(op.idx_list, x.ndim, node.inputs[1:])
    if not moved:
        return [found]
    first = batch.ndim
    order = [*range(moved, moved + first), *range(moved), *range(moved + first, found.ndim)]
    return [dimshuffle(found, *order)]


def _axes_before_batch(template: Template, ndim: int, indices: Any) -> int:
    """Return how many axes of index arrays come before those of the batch.

    They come first if there is a slice between the arrays, as NumPy has it.
    """
    if layout(template, ndim)[0] is not Placed.ADVANCED:
        return 0
    return _rank_of_arrays(template, indices)


def _rank_of_arrays(template: Template, indices: Any) -> int:
    given = iter(indices)
    rank = 0
    for entry in template:
        own = [next(given) for _ in range(count_inputs((entry,)))]
        if entry is ARRAY:
            rank = max(rank, own[0].ndim)
        elif isinstance(entry, Mask):
            rank = max(rank, 1)
    return rank


@batches(IncSubtensor)
def batch_inc_subtensor(node: Any, batch: Batch) -> list[Any] | None:
    """Write to the last axes; with an index for each item, scatter."""
    op = node.op
    _, _, *indices = batch.inputs
    if any(batch.ranks[2:]):
        plan = _planned(node, batch, 2)
        return None if plan is None else [plan.write(batch, ignore_duplicates=False)]
    template = (FULL,) * batch.ndim + op.idx_list
    part = node.inputs[0].ndim - sum(not isinstance(entry, Slice) for entry in op.idx_list)
    y = batch.padded(1, part) if batch.ranks[1] else batch.inputs[1]
    whole = IncSubtensor(template, set_instead_of_inc=op.set_instead_of_inc)
    return [whole(batch.whole(0), y, *indices)]


@batches(AdvancedIncSubtensor)
def batch_advanced_inc_subtensor(node: Any, batch: Batch) -> list[Any] | None:
    """Write to the last axes; with an index for each item, scatter."""
    op = node.op
    _, _, *indices = batch.inputs
    if any(batch.ranks[2:]):
        plan = _planned(node, batch, 2)
        return None if plan is None else [plan.write(batch, op.ignore_duplicates)]
    x = batch.whole(0)
    template = (FULL,) * batch.ndim + op.idx_list
    part = AdvancedSubtensor(op.idx_list)(node.inputs[0], *node.inputs[2:]).ndim
    y = batch.inputs[1]
    moved = _axes_before_batch(template, x.ndim, node.inputs[2:])
    if batch.ranks[1] or moved:
        y = batch.padded(1, part)
        first = batch.ndim
        order = [*range(first, first + moved), *range(first), *range(first + moved, y.ndim)]
        y = dimshuffle(y, *order) if moved else y
    whole = AdvancedIncSubtensor(
        template,
        set_instead_of_inc=op.set_instead_of_inc,
        ignore_duplicates=op.ignore_duplicates,
    )
    return [whole(x, y, *indices)]


@record()
class _Plan:
    """How the items of a batch are indexed, each with an index of its own.

    The axes of an item that integers and arrays index come first, after those of the batch; then
    the index is that of NumPy with arrays only, followed by slices.

    Attributes
    ----------
    batched
        Whether the indexed array has axes of the batch.
    order
        The axes of an item: those that arrays index, then the others.
    arrays
        The arrays, with the axes of the batch and then ``rank`` others.
    rank
        The number of axes to which the index arrays of an item broadcast.
    rest
        The entries for the other axes: slices.
    bounds
        The inputs for these.
    places
        For the axes of the result for an item: ``None`` for a new one, the number of an array's
        axis, or ``rank`` plus the number of another axis.
    """

    batched: bool
    order: list[int]
    arrays: list[Any]
    rank: int
    rest: list[Any]
    bounds: list[Any]
    places: list[int | None]

    def entries(self, batch: Batch, x: Any) -> tuple[list[Any], list[Any]]:
        """Return a template for the array with its axes in order, and its inputs."""
        own: list[Any] = []
        if self.batched:
            for dim in range(batch.ndim):
                after = batch.ndim - dim - 1 + self.rank
                own.append(dimshuffle(arange(x.shape[dim]), *["x"] * dim, 0, *["x"] * after))
        arrays = [*own, *self.arrays]
        rest = list(self.rest)
        while rest and rest[-1] == FULL:
            rest.pop()
        return [ARRAY] * len(arrays) + rest, [*arrays, *self.bounds]

    def ordered(self, batch: Batch) -> Any:
        """Return the indexed array with its axes in order."""
        x = batch.whole(0) if self.batched else batch.inputs[0]
        first = batch.ndim if self.batched else 0
        return dimshuffle(x, *range(first), *(first + dim for dim in self.order))

    def read(self, batch: Batch) -> Any:
        """Return what the index selects."""
        x = self.ordered(batch)
        template, inputs = self.entries(batch, x)
        found = AdvancedSubtensor(template)(x, *inputs)
        first = batch.ndim
        order = ["x" if place is None else first + place for place in self.places]
        return dimshuffle(found, *range(first), *order)

    def write(self, batch: Batch, ignore_duplicates: bool) -> Any:
        """Return the array after writing to what the index selects."""
        x = self.ordered(batch)
        template, inputs = self.entries(batch, x)
        first = batch.ndim
        y = batch.padded(1, len(self.places))
        kept = [axis for axis, place in enumerate(self.places) if place is not None]
        kept.sort(key=lambda axis: self.places[axis] or 0)
        y = dimshuffle(y, *range(first), *(first + axis for axis in kept))
        updating: Any = batch.node.op
        op = AdvancedIncSubtensor(
            template,
            set_instead_of_inc=updating.set_instead_of_inc,
            ignore_duplicates=ignore_duplicates,
        )
        found = op(x, y, *inputs)
        back = sorted(range(len(self.order)), key=lambda at: self.order[at])
        return dimshuffle(found, *range(first), *(first + at for at in back))


def _planned(node: Any, batch: Batch, first: int) -> _Plan | None:
    """Return a plan, or ``None`` if items select parts of different shapes.

    Parameters
    ----------
    node, batch
        The node, and its inputs for the batch.
    first
        The position of the first input of the template.
    """
    template: Template = node.op.idx_list
    x = node.inputs[0]
    position = first
    dim = 0
    indexed: list[int] = []
    kept: list[tuple[int, Any]] = []
    found: list[tuple[Any, int]] = []  # arrays, each with the number of its axes of the batch
    bounds: list[Any] = []
    spans: dict[int, Any] = {}  # slices for each item: axis -> positions
    x_all = batch.inputs[0]
    for entry in template:
        own = range(position, position + count_inputs((entry,)))
        position += len(own)
        if isinstance(entry, Slice) and batch.any_of(own):
            places_of_slice = _positions(entry, own, batch, sizes_of(x_all)[dim - x.ndim])
            if places_of_slice is None:
                return None
            spans[dim] = places_of_slice
            indexed.append(dim)
        elif isinstance(entry, Mask) and batch.any_of(own):
            return None
        elif isinstance(entry, Slice):
            kept.append((dim, entry))
            bounds += [batch.inputs[at] for at in own]
        elif isinstance(entry, Mask):
            vectors = Nonzero()(batch.inputs[own[0]], return_list=True)
            found += [(vector, 0) for vector in vectors]
        elif isinstance(entry, int):
            found.append((_constant(entry), 0))
        elif entry is not NEWAXIS and entry is not SEPARATOR:
            found.append((batch.inputs[own[0]], batch.ranks[own[0]]))
        width = count_dims((entry,))
        if not isinstance(entry, Slice):
            indexed += range(dim, dim + width)
        dim += width
    kept += [(other, FULL) for other in range(dim, x.ndim)]
    common = max((array.ndim - own for array, own in found), default=0)
    rank = common + len(spans)
    arrays = {
        dim: shape_padright(_aligned(array, own, batch.ndim, common), len(spans))
        for dim, (array, own) in zip((d for d in indexed if d not in spans), found, strict=True)
    }
    numbers: dict[int, int] = {}
    for number, (where, array) in enumerate(spans.items()):
        before, after = ["x"] * (common + number), ["x"] * (len(spans) - number - 1)
        arrays[where] = dimshuffle(array, *range(batch.ndim), *before, batch.ndim, *after)
        numbers[where] = common + number
    places: list[int | None] = []
    numbers.update((other, rank + number) for number, (other, _) in enumerate(kept))
    for place in layout(template, x.ndim):
        if place is Placed.NEW:
            places.append(None)
        elif place is Placed.ADVANCED:
            places += range(common)
        else:
            places.append(numbers[place.dim])
    return _Plan(
        batched=bool(batch.ranks[0]) or first == 2,
        order=[*indexed, *(other for other, _ in kept)],
        arrays=[arrays[where] for where in indexed],
        rank=rank,
        rest=[entry for _, entry in kept],
        bounds=bounds,
        places=places,
    )


def _positions(entry: Slice, own: Sequence[int], batch: Batch, size: Any) -> Any:
    """Return the positions that a slice selects, along a last axis after those of the batch.

    All items select as many elements, which is checked. ``None`` if the step is symbolic.
    """
    if not isinstance(entry.step, int | None):
        return None
    step = 1 if entry.step is None else entry.step
    given = iter(own)
    lowest, highest = (0, size) if step > 0 else (-1, subtract_sizes(size, 1))
    ends: list[Any] = []
    for bound, default in zip(
        entry[:2], (lowest, highest) if step > 0 else (highest, lowest), strict=True
    ):
        if bound is None:
            ends.append(as_tensor_variable(default))
            continue
        place = batch.padded(next(given)) if isinstance(bound, Kind) else bound
        place = cast(as_tensor_variable(place), "int64")
        ends.append(clip(switch(lt(place, 0), place + size, place), lowest, highest))
    first, last = ends
    counts = flatten(maximum((last - first + step - (1 if step > 0 else -1)) // step, 0))
    zero = as_tensor_variable(np.zeros(1, "int64"))
    largest = largest_of(concatenate([counts, zero]))
    least = smallest_of(concatenate([counts, shape_padright(largest)]))
    subject = (
        f"{batch.node.op}: the items of a batch must have results of one shape, but the largest "
        "and the smallest number of elements that a slice selects"
    )
    (count,) = with_check([largest], "equal", largest, least, subject)
    first = dimshuffle(first, *["x"] * (batch.ndim - first.ndim), *range(first.ndim))
    return shape_padright(first) + step * arange(count)


def _constant(number: int) -> Any:
    return as_tensor_variable(np.int64(number))


def _aligned(array: Any, own: int, ndim: int, rank: int) -> Any:
    """Return an array with all axes of the batch, and then ``rank`` others."""
    core = array.ndim - own
    order = [*["x"] * (ndim - own), *range(own), *["x"] * (rank - core), *range(own, array.ndim)]
    return dimshuffle(array, *order)
