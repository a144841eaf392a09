"""Copies of values; those of large arrays are made in parts, with signal handlers in between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from itertools import product
from math import prod
from typing import Any

import numpy as np

__all__ = ["LARGE", "copied", "copy_of", "pieces"]

LARGE = 1 << 20
"""Number of elements up to which an array is copied at once: a few milliseconds."""


def copied(source: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return a C-contiguous copy of an array, cast to a dtype as ``astype`` does.

    NumPy copies an array without a look at signals, which takes seconds for gigabytes.

    Examples
    --------
    >>> import numpy as np
    >>> from phintys._base.copies import copied
    >>> copied(np.arange(3)[::-1], np.dtype("float64"))
    array([2., 1., 0.])
    """
    if source.size <= LARGE:
        return np.array(source, dtype=dtype, order="C", copy=True, subok=False)
    target = np.empty(source.shape, dtype)
    for piece in pieces(source.shape):
        np.copyto(target[piece], source[piece], casting="unsafe")
    return target


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
