"""Arrays of the same elements, placed in memory in different ways."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

LAYOUTS = (
    "C",
    "F",
    "stepped",
    "reversed",
    "swapped",
    "broadcast",
    "read-only",
    "unaligned",
)
"""The ways in which :func:`lay_out` places an array in memory."""


def lay_out(array: Array, layout: str) -> Array:
    """Return an array of the same shape and dtype, placed in memory in some way.

    Parameters
    ----------
    array
        The elements. They stay the same, except that those of ``"broadcast"`` are repeated along
        a dimension, with a stride of 0.
    layout
        One of :data:`LAYOUTS`.

    Examples
    --------
    >>> lay_out(np.arange(3), "reversed").strides
    (-8,)
    """
    if layout == "F":
        return array.copy("F")
    if layout == "stepped" and array.ndim:
        wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
        wide[..., ::2] = array
        return wide[..., ::2]
    if layout == "reversed" and array.ndim:
        return np.flip(np.flip(array).copy())
    if layout == "swapped" and array.ndim > 1:
        return np.swapaxes(np.swapaxes(array, 0, -1).copy(), 0, -1)
    if layout == "broadcast" and array.size:
        return np.broadcast_to(array[:1] if array.ndim else array, array.shape)
    if layout == "unaligned" and array.size:
        buffer = np.empty(array.nbytes + 1, np.uint8)
        moved = buffer[1:].view(array.dtype).reshape(array.shape)
        moved[...] = array
        return moved
    copy = array.copy("C")
    copy.flags.writeable = layout != "read-only"
    return copy
