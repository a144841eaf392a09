"""Convolutions with filters of their own at each place: ``conv2d(..., unshared=True)``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import phintys.tensor as pt
from phintys._base.errors import ArgumentError
from phintys.gradient import Lop
from phintys.tensor.shapes import sizes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["unshared_by_inputs", "unshared_by_weights", "unshared_conv2d"]


def unshared_conv2d(
    images: Any,
    filters: Any,
    border_mode: Any = "valid",
    subsample: Sequence[int] = (1, 1),
    filter_flip: bool = True,
    filter_dilation: Sequence[int] = (1, 1),
    num_groups: int = 1,
) -> Any:
    """Return sums of patches of images, weighted with filters that differ from place to place.

    Parameters
    ----------
    images
        Shape ``(count, channels, rows, columns)``.
    filters
        Shape ``(features, rows of the result, columns of the result, channels / num_groups, height,
        width)``; the last two sizes must be known.
    border_mode, subsample, filter_flip, filter_dilation, num_groups
        As for ``conv2d``.

    Raises
    ------
    ArgumentError
        The ranks are not 4 and 6, or the height and width of the filters are not known.

    Examples
    --------
    >>> import numpy as np
    >>> import phintys.tensor as pt
    >>> from phintys.compat.unshared import unshared_conv2d
    >>> x, w = pt.dtensor4("x"), pt.TensorType("float64", (1, 1, 2, 1, 1, 2))("w")
    >>> value = np.array([1.0, 2.0, 3.0]).reshape(1, 1, 1, 3)
    >>> weights = np.array([[1.0, 0.0], [0.0, 10.0]]).reshape(1, 1, 2, 1, 1, 2)
    >>> unshared_conv2d(x, w, filter_flip=False).eval({x: value, w: weights})
    array([[[[ 1., 30.]]]])
    """
    x, w = pt.as_tensor_variable(images), pt.as_tensor_variable(filters)
    if (x.ndim, w.ndim) != (4, 6):
        msg = (
            "With unshared=True, conv2d takes images of rank 4 and filters of rank 6, "
            f"(features, rows, columns, channels, height, width); got {x.type} and {w.type}."
        )
        raise ArgumentError(msg)
    lengths = [length for length in w.type.shape[4:] if length is not None]
    if len(lengths) < 2:
        msg = (
            "With unshared=True, the height and width of the filters must be known: state "
            f"filter_shape. Got filters of type {w.type}."
        )
        raise ArgumentError(msg)
    if filter_flip:
        w = w[..., ::-1, ::-1]
    pads = [
        _padding(mode, (length - 1) * step + 1)
        for mode, length, step in zip(_per_axis(border_mode), lengths, filter_dilation, strict=True)
    ]
    padded = pt.pad(x, [(0, 0), (0, 0), *pads])
    features, rows, columns, *_ = sizes_of(w)
    parts = [
        w_part * _patches(padded, (i, j), (rows, columns), subsample, filter_dilation, num_groups)
        for i in range(lengths[0])
        for j in range(lengths[1])
        for w_part in [_in_groups(w[..., i, j], num_groups)]
    ]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    # (count, groups, features of a group, rows, columns, channels of a group)
    return total.sum(axis=-1).reshape((sizes_of(x)[0], features, rows, columns))


def _patches(
    x: Any,
    place: tuple[int, int],
    sizes: tuple[Any, Any],
    steps: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Any:
    """Return the elements that one element of the filters meets, at all places of the result."""
    cuts: list[slice] = []
    for start, size, step, apart in zip(place, sizes, steps, dilation, strict=True):
        first = start * apart
        cuts.append(slice(first, first + (size - 1) * step + 1, step))
    met = x[:, :, cuts[0], cuts[1]]
    count, channels, *_ = sizes_of(x)
    grouped = met.reshape((count, groups, channels // groups, *sizes))
    return grouped.dimshuffle(0, 1, "x", 3, 4, 2)


def _in_groups(w: Any, groups: int) -> Any:
    features, rows, columns, channels = sizes_of(w)
    return w.reshape((1, groups, features // groups, rows, columns, channels))


def _per_axis(border_mode: Any) -> tuple[Any, Any]:
    """Return the padding of each axis, as it is written."""
    if isinstance(border_mode, tuple | list):
        return border_mode[0], border_mode[1]
    return border_mode, border_mode


def _padding(mode: Any, extent: int) -> tuple[int, int]:
    """Return how many zeros stand before and after an axis."""
    named = {"valid": 0, "full": extent - 1, "half": extent // 2}
    if isinstance(mode, tuple | list):
        return mode[0], mode[1]
    size = named.get(mode, mode)
    if not isinstance(size, int):
        msg = f"border_mode must be 'valid', 'full', 'half' or numbers of elements; got {mode!r}."
        raise ArgumentError(msg)
    return size, size


def unshared_by_inputs(output_grad: Any, filters: Any, shape: Sequence[Any], **options: Any) -> Any:
    """Return the gradient of :func:`unshared_conv2d` for its images, which have this shape."""
    x = pt.zeros(tuple(shape), dtype=pt.as_tensor_variable(output_grad).dtype)
    return Lop(unshared_conv2d(x, filters, **options), x, output_grad)


def unshared_by_weights(images: Any, output_grad: Any, shape: Sequence[Any], **options: Any) -> Any:
    """Return the gradient of :func:`unshared_conv2d` for its filters, which have this shape."""
    w = pt.zeros(tuple(shape), dtype=pt.as_tensor_variable(output_grad).dtype)
    return Lop(unshared_conv2d(images, w, **options), w, output_grad)
