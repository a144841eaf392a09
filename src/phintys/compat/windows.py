"""Pooling with windows whose sizes are variables, as an expression of other Ops."""

from __future__ import annotations

from typing import Any

import numpy as np

import phintys.tensor as pt
from phintys._base.errors import DtypeError, ShapeError
from phintys.graph import Variable
from phintys.tensor.observing import CheckAndRaise

__all__ = ["has_variables", "pool"]

_fits = CheckAndRaise(
    ShapeError, "Pooling: the windows do not fit on the images. Use smaller ones, or partial ones."
)
_is_inside = CheckAndRaise(
    ShapeError,
    "Pooling: the padding must be less than the window, so that each window has elements, and 0 "
    "for partial windows (ignore_border=False).",
)


def has_variables(*options: Any) -> bool:
    """Return whether one of several numbers, or sequences of them, is symbolic."""
    entries = (one if isinstance(one, list | tuple) else [one] for one in options)
    return any(isinstance(entry, Variable) for each in entries for entry in each)


def pool(
    ndim: int, input: Any, window: Any, stride: Any, padding: Any, partial: bool, mode: str
) -> Any:
    """Return the largest elements, sums or averages of windows on the last ``ndim`` axes.

    Parameters
    ----------
    ndim
        How many axes are pooled.
    input
        Images.
    window, stride, padding
        A vector, or a number for each axis; adjacent windows without a stride.
    partial
        Whether windows at the end may lie on the images in part.
    mode
        ``"max"``, ``"sum"``, ``"average_inc_pad"`` or ``"average_exc_pad"``.

    Raises
    ------
    DtypeError
        The window, the stride or the padding is not a vector of integers.
    ShapeError
        The images have too few axes. When a function is called: windows do not fit, or have no
        elements.

    Notes
    -----
    The windows are taken one axis after the other, the last one first. The first one of equal
    elements has the gradient.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.compat.windows import pool
    >>> x, size = pt.constant([[1.0, 2.0, 5.0], [4.0, 3.0, 0.0]]), pt.lvector("size")
    >>> largest = pool(2, x, size, None, (0, 0), partial=True, mode="max")
    >>> largest.eval({size: [2, 2]})
    array([[4., 5.]])
    """
    x = pt.as_tensor_variable(input)
    if x.ndim < ndim:
        msg = f"pool_{ndim}d takes images of rank {ndim} or more, got {x} of type {x.type}."
        raise ShapeError(msg)
    sizes = pt.as_tensor_variable(window)
    strides = sizes if stride is None else pt.as_tensor_variable(stride)
    pads = pt.as_tensor_variable(padding)
    for what, given in (("window", sizes), ("stride", strides), ("padding", pads)):
        if given.type.numpy_dtype.kind not in "iu" or given.ndim != 1:
            msg = f"The {what} of pool_{ndim}d is a vector of integers, got {given}: {given.type}."
            raise DtypeError(msg)
    for number in reversed(range(ndim)):
        pad = _is_inside(
            pads[number], pt.eq(pads[number], 0) if partial else pads[number] < sizes[number]
        )
        x = _along(x, x.ndim - ndim + number, sizes[number], strides[number], pad, partial, mode)
    return x


def _along(x: Any, axis: int, size: Any, stride: Any, pad: Any, partial: bool, mode: str) -> Any:
    """Pool along one axis."""
    length = x.shape[axis]
    room = length - 1 if partial else length + 2 * pad - size
    room = _fits(room, pt.ge(room, 0))
    count = room // stride + 1
    if partial:
        # Overlapping windows end with the first one that reaches the last element.
        reaching = pt.maximum(length - 1 - size + stride, 0) // stride + 1
        count = pt.switch(pt.ge(stride, size), count, reaching)
    places = pt.arange(count)[:, None] * stride + pt.arange(size) - pad
    is_there = (places >= 0) & (places < length)
    windows = pt.take(x, pt.clip(places, 0, length - 1), axis=axis)
    after = [None] * (x.ndim - 1 - axis)
    shown = is_there[(..., *after)] if after else is_there
    if mode == "max":
        windows = pt.switch(shown, windows, _least(x.type.numpy_dtype))
        first = pt.expand_dims(pt.argmax(windows, axis=axis + 1), axis + 1)
        return pt.squeeze(pt.take_along_axis(windows, first, axis=axis + 1), axis=axis + 1)
    total = pt.switch(shown, windows, np.zeros((), x.dtype)).sum(axis=axis + 1, dtype=x.dtype)
    if mode == "sum":
        return total
    all_count = mode == "average_inc_pad" and not partial
    elements = size if all_count else is_there.sum(axis=1)[(..., *after)]
    return total / pt.cast(elements, x.dtype)


def _least(dtype: np.dtype[Any]) -> Any:
    """Return the smallest value of a dtype."""
    if dtype.kind == "f":
        return np.asarray(-np.inf, dtype)
    return np.asarray(False if dtype.kind == "b" else np.iinfo(dtype).min, dtype)
