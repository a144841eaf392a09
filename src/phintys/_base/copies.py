"""Copies of values; those of large arrays are made in parts, with signal handlers in between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from itertools import product
from math import prod
from typing import Any

import numpy as np

LARGE = 1 << 20
"""Number of elements up to which an array is copied at once: a few milliseconds."""

_ALONG, _ACROSS = 128, 256

BLOCK = _ALONG * _ACROSS
"""Number of elements of a block of a transposed array, which fits into the cache."""


def copied(source: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return a C-contiguous copy of an array, cast to a dtype as ``astype`` does.

    NumPy copies an array without a look at signals, which takes seconds for gigabytes; and in the
    order of the copy, which reads a cache line for each element of a transposed array. So parts of
    large arrays, and blocks of transposed ones, are copied one after the other.

    Examples
    --------
    >>> import numpy as np
    >>> from phintys._base.copies import copied
    >>> copied(np.arange(3)[::-1], np.dtype("float64"))
    array([2., 1., 0.])
    """
    axis = _axis_of_neighbours(source)
    if axis is None and source.size <= LARGE:
        return np.array(source, dtype=dtype, order="C", copy=True, subok=False)
    target = np.empty(source.shape, dtype)
    parts = pieces(source.shape) if axis is None else blocks(source.shape, axis)
    for part in parts:
        np.copyto(target[part], source[part], casting="unsafe")
    return target


def _axis_of_neighbours(source: np.ndarray[Any, Any]) -> int | None:
    """Return the axis along which elements are close in memory; ``None`` if that does not matter.

    It does not if it is the last axis, as in a C-contiguous array, or if one of both is short.
    """
    if source.ndim < 2 or source.shape[-1] < _ACROSS:
        return None
    steps = [abs(stride) for stride in source.strides]
    axis = min(range(source.ndim), key=lambda at: (steps[at], -at))
    return None if axis == source.ndim - 1 or source.shape[axis] < _ACROSS else axis


def blocks(shape: Sequence[int], axis: int) -> Iterator[tuple[int | slice, ...]]:
    """Yield indices of the parts of an array whose neighbours are along an axis, not the last one.

    Each has at most :data:`BLOCK` elements.

    Examples
    --------
    >>> from phintys._base.copies import blocks
    >>> list(blocks((2, 200, 256), 1))[:2]
    [(0, slice(0, 128, None), slice(0, 256, None)), (0, slice(128, 256, None), slice(0, 256, None))]
    """
    sides = {axis: _ALONG, len(shape) - 1: _ACROSS}
    yield from product(
        *(
            [slice(start, start + sides[at]) for start in range(0, length, sides[at])]
            if at in sides
            else range(length)
            for at, length in enumerate(shape)
        )
    )


def pieces(shape: Sequence[int]) -> Iterator[tuple[int | slice, ...]]:
    """Yield indices of the parts of a large array, each of at most :data:`LARGE` elements.

    Examples
    --------
    >>> from phintys._base.copies import pieces
    >>> list(pieces((2, 2**20 + 1)))[:2]
    [(0, slice(0, 1048576, None)), (0, slice(1048576, 1048577, None))]
    """
    axis = next(at for at in range(len(shape)) if prod(shape[at + 1 :]) <= LARGE)
    length = LARGE // max(1, prod(shape[axis + 1 :]))
    for outer in product(*map(range, shape[:axis])):
        for start in range(0, shape[axis], length):
            yield (*outer, slice(start, min(start + length, shape[axis])))


def copy_of(value: Any) -> Any:
    """Return a deep copy of a value; of a buffer, which has none, an array.

    Examples
    --------
    >>> from phintys._base.copies import copy_of
    >>> copy_of([1, 2]), copy_of(memoryview(b"ab"))
    ([1, 2], array([97, 98], dtype=uint8))
    """
    return np.array(value) if isinstance(value, memoryview) else deepcopy(value)
