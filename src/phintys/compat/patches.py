"""Images as matrices of patches, and volumes in the order of ``conv3d2d``."""

from __future__ import annotations

from typing import Any

import phintys.tensor as pt
from phintys._base.errors import ArgumentError, ShapeError
from phintys.compat import images
from phintys.tensor.observing import CheckAndRaise

__all__ = ["conv3D", "images2neibs", "neibs2images", "volumes"]

_MODES = ("valid", "ignore_borders", "wrap_centered", "half", "full")

_fits = CheckAndRaise(
    ShapeError,
    "images2neibs: the images are smaller than a patch, or the steps do not end at their borders. "
    "Use mode='ignore_borders' to leave the rest out.",
)
_is_odd = CheckAndRaise(
    ShapeError, "images2neibs: with mode='wrap_centered', the sizes of a patch must be odd."
)


def images2neibs(ten4: Any, neib_shape: Any, neib_step: Any = None, mode: str = "valid") -> Any:
    """Return the patches of images, each as a row.

    Parameters
    ----------
    ten4
        Images: (items, channels, rows, columns).
    neib_shape, neib_step
        The sizes of a patch, and the distances between patches; by default they are adjacent.
    mode
        ``"valid"``: patches reach the borders exactly; ``"ignore_borders"``: what does not fill a
        patch is left out; ``"half"``, ``"full"``: zeros around the images; ``"wrap_centered"``: a
        patch around each step, which continues on the other side.

    Returns
    -------
    Variable
        A matrix, with rows in the order of items, channels, rows and columns.

    Raises
    ------
    ShapeError
        When a function is called: patches do not fit.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.compat.patches import images2neibs
    >>> images2neibs(pt.arange(8.0).reshape((1, 1, 2, 4)), (2, 2)).eval().tolist()
    [[0.0, 1.0, 4.0, 5.0], [2.0, 3.0, 6.0, 7.0]]
    """
    if mode not in _MODES:
        msg = f"The mode of images2neibs is one of {', '.join(map(repr, _MODES))}; got {mode!r}."
        raise ArgumentError(msg)
    x = pt.as_tensor_variable(ten4)
    if x.ndim != 4:
        msg = f"images2neibs takes images of rank 4, got {x} of type {x.type}."
        raise ShapeError(msg)
    sizes = pt.as_tensor_variable(neib_shape)
    steps = sizes if neib_step is None else pt.as_tensor_variable(neib_step)
    counts: list[Any] = []
    for axis in (2, 3):
        x, count = _with_windows(x, 2 * axis - 2, sizes[axis - 2], steps[axis - 2], mode)
        counts.append(count)
    items, channels = x.shape[0], x.shape[1]
    rows = x.dimshuffle(0, 1, 2, 4, 3, 5)
    return rows.reshape((items * channels * counts[0] * counts[1], sizes[0] * sizes[1]))


def _with_windows(x: Any, axis: int, size: Any, step: Any, mode: str) -> tuple[Any, Any]:
    """Return a tensor with an axis of windows, and one inside of them, and how many they are."""
    length = x.shape[axis]
    if mode == "wrap_centered":
        x = _is_odd(x, pt.eq(size % 2, 1))
        x = _fits(x, pt.ge(length, size))
        count = (length + step - 1) // step
        places = pt.arange(count)[:, None] * step + pt.arange(size) - size // 2
        return pt.take(x, places % length, axis=axis), count
    pad = {"half": size // 2, "full": size - 1}.get(mode)
    least = 1 if mode == "full" else size
    if pad is not None:
        widths = [(0, 0)] * x.ndim
        widths[axis] = (pad, pad)
        x = pt.pad(x, widths)
        room = length + 2 * pad - size
    else:
        room = length - size
    enough = pt.ge(length, least)
    x = _fits(x, enough if mode == "ignore_borders" else enough & pt.eq(room % step, 0))
    count = 1 + room // step
    places = pt.arange(count)[:, None] * step + pt.arange(size)
    return pt.take(x, places, axis=axis), count


def neibs2images(neibs: Any, neib_shape: Any, original_shape: Any, mode: str = "valid") -> Any:
    """Return the images of which adjacent patches are given; the inverse of images2neibs.

    Parameters
    ----------
    neibs
        Patches as rows.
    neib_shape, original_shape
        The sizes of a patch, and of the images, which have rank 4.
    mode
        ``"valid"``; with ``"ignore_borders"`` what the patches leave out is 0.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.compat.patches import neibs2images
    >>> rows = pt.constant([[0.0, 1.0, 4.0, 5.0], [2.0, 3.0, 6.0, 7.0]])
    >>> neibs2images(rows, (2, 2), (1, 1, 2, 4)).eval().tolist()
    [[[[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]]]]
    """
    if mode not in {"valid", "ignore_borders"}:
        msg = f"The mode of neibs2images is 'valid' or 'ignore_borders', got {mode!r}."
        raise ArgumentError(msg)
    patches = pt.as_tensor_variable(neibs)
    height, width = (pt.as_tensor_variable(neib_shape)[i] for i in range(2))
    shape = [pt.as_tensor_variable(original_shape)[i] for i in range(4)]
    down, across = shape[2] // height, shape[3] // width
    apart = patches.reshape((shape[0], shape[1], down, across, height, width))
    whole = apart.dimshuffle(0, 1, 2, 4, 3, 5)
    whole = whole.reshape((shape[0], shape[1], down * height, across * width))
    if mode == "valid":
        return whole.reshape(shape)
    rest = [(0, 0), (0, 0), (0, shape[2] - down * height), (0, shape[3] - across * width)]
    return pt.pad(whole, rest)


def volumes(
    signals: Any,
    filters: Any,
    signals_shape: Any = None,
    filters_shape: Any = None,
    border_mode: Any = "valid",
) -> Any:
    """Return ``conv3d2d.conv3d``: convolutions of films of (item, time, channel, row, column).

    Parameters
    ----------
    signals, filters
        Films and filters, of which the first axis is the item or the filter.
    signals_shape, filters_shape
        Their sizes, which are checked.
    border_mode
        ``"valid"``, ``"half"`` or ``"full"``, or one for each of time, rows and columns.
    """
    order = (0, 2, 1, 3, 4)
    x = pt.as_tensor_variable(signals).dimshuffle(order)
    w = pt.as_tensor_variable(filters).dimshuffle(order)
    shapes = [
        None if shape is None else tuple(shape[axis] for axis in order)
        for shape in (signals_shape, filters_shape)
    ]
    return images.conv3d(x, w, *shapes, border_mode=border_mode).dimshuffle(order)


def conv3D(V: Any, W: Any, b: Any, d: Any) -> Any:
    """Return ``Conv3D.conv3D``: correlations of volumes with the channel last, by steps ``d``.

    Parameters
    ----------
    V, W
        Volumes (item, row, column, time, channel), and filters with the channel of the output
        first.
    b
        A bias for each channel of the output.
    d
        The steps.
    """
    x, w = (pt.as_tensor_variable(one).dimshuffle(0, 4, 1, 2, 3) for one in (V, W))
    out = images.conv3d(x, w, subsample=tuple(map(int, d)), filter_flip=False)
    return out.dimshuffle(0, 2, 3, 4, 1) + b
