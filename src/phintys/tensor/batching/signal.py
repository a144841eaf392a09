"""Batches of convolutions, pooling and Fourier transforms."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from phintys.tensor.batching.rules import batches
from phintys.tensor.dim_shuffle import dimshuffle
from phintys.tensor.fourier import FFT, IRFFT, RFFT
from phintys.tensor.images.convolutions import (
    FILTERS,
    IMAGES,
    RESULT,
    Conv,
    ConvByFilters,
    ConvByImages,
)
from phintys.tensor.images.pooling import MaxPool
from phintys.tensor.reshaping import reshape
from phintys.tensor.shapes import sizes_of
from phintys.tensor.sizes import floor_div_sizes, multiply_sizes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.tensor.batching.engine import Batch


@batches(FFT, RFFT, IRFFT)
def batch_transform(node: Any, batch: Batch) -> list[Any] | None:
    """Transform the same axes, which come after those of the batch."""
    x, *points = batch.inputs
    if any(batch.ranks[1:]):
        return None
    return [node.op.after(batch.ndim)(x, *points)]


_SHARED = {
    frozenset((IMAGES, RESULT)): {IMAGES: 0, RESULT: 0},
    frozenset((FILTERS, RESULT)): {FILTERS: 0, RESULT: 1},
    frozenset((IMAGES, FILTERS)): {IMAGES: 1, FILTERS: 1},
}
"""The axis that two of the arrays of a convolution share, and the third one lacks."""

_OF_GROUPS = {IMAGES: 1, FILTERS: 0, RESULT: 1}
"""The axis of each array that is divided into groups."""


@batches(Conv, ConvByImages, ConvByFilters)
def batch_convolution(node: Any, batch: Batch) -> list[Any] | None:
    """Add the batch to an axis that is in the result as well, or make each item a group."""
    if any(batch.ranks[2:]):
        return None
    batched = [at for at in range(2) if batch.ranks[at]]
    return _one(node, batch, batched[0]) if len(batched) == 1 else _both(node, batch)


def _one(node: Any, batch: Batch, at: int) -> list[Any] | None:
    """Return the result for a batch of one of the arrays."""
    op = node.op
    role = op.given[at]
    axes = _SHARED[frozenset((role, op.computes))]
    if op.groups > 1 and role + op.computes != IMAGES + RESULT:
        return None  # the items of a group would not be neighbours
    inputs = list(batch.inputs)
    size = sizes_of(inputs[at])[batch.ndim + axes[role]]
    inputs[at] = _merged(inputs[at], batch, axes[role])
    return [_divided(op(*inputs), batch, axes[op.computes], size)]


def _both(node: Any, batch: Batch) -> list[Any] | None:
    """Return the result for a batch of both arrays, of a known number of items."""
    op, sizes = node.op, batch.sizes
    if not all(isinstance(size, int) for size in sizes) or not prod(sizes):
        return None
    arrays = [_merged(batch.whole(at), batch, _OF_GROUPS[op.given[at]]) for at in range(2)]
    grouped = type(op)(op.stride, op.padding, op.dilation, op.groups * prod(sizes))
    axis = _OF_GROUPS[op.computes]
    out = grouped(*arrays, *batch.inputs[2:])
    return [_divided(out, batch, axis, floor_div_sizes(sizes_of(out)[axis], prod(sizes)))]


def _merged(x: Any, batch: Batch, axis: int) -> Any:
    """Return an array whose axes of the batch have become part of an axis of the item."""
    first = batch.ndim
    core = range(first, x.ndim)
    moved = dimshuffle(x, *core[:axis], *range(first), *core[axis:]) if axis else x
    sizes = sizes_of(x)
    joined = multiply_sizes([*sizes[:first], sizes[first + axis]])
    return reshape(moved, _with(sizes[first:], axis, [joined]))


def _divided(out: Any, batch: Batch, axis: int, size: Any) -> Any:
    """Return a result with the axes of the batch in front, which were part of an axis."""
    first = batch.ndim
    apart = reshape(out, _with(sizes_of(out), axis, [*batch.sizes, size]))
    order = [*range(axis, axis + first), *range(axis), *range(axis + first, apart.ndim)]
    return dimshuffle(apart, *order)


def _with(sizes: Sequence[Any], axis: int, instead: Sequence[Any]) -> tuple[Any, ...]:
    return (*sizes[:axis], *instead, *sizes[axis + 1 :])


@batches(MaxPool)
def batch_pool(node: Any, batch: Batch) -> list[Any]:
    """The last axes are pooled, however many there are before them."""
    return node.op(*batch.inputs, return_list=True)
