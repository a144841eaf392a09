"""``phintys.tensor.signal``: convolutions and pooling of batches of images.

Images have any number of spatial dimensions: sequences one, pictures two, volumes three. Axes are
``(images, channels, ...)`` of images, and ``(filters, channels, ...)`` of filters. All functions
have derivatives of any order.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from phintys._base.errors import ArgumentError, ShapeError
from phintys._base.late import late_names
from phintys.tensor import math
from phintys.tensor.batching import vectorize
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.convolution import convolve
from phintys.tensor.creation import ones
from phintys.tensor.dim_shuffle import expand_dims
from phintys.tensor.images.convolutions import Conv, ConvByImages
from phintys.tensor.images.geometry import (
    extent_of,
    pads_of,
    per_axis,
    per_axis_padding,
)
from phintys.tensor.images.pooling import MaxPool, pooled_size
from phintys.tensor.manipulation.padding import pad
from phintys.tensor.ranges import arange
from phintys.tensor.reshaping import reshape
from phintys.tensor.shapes import sizes_of
from phintys.tensor.sizes import add_sizes, floor_div_sizes, multiply_sizes, subtract_sizes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.tensor.variable import TensorVariable
else:
    __getattr__, __dir__ = late_names(__name__)

__all__ = [
    "average_pool",
    "conv",
    "conv_transpose",
    "convolve1d",
    "convolve2d",
    "max_pool",
    "sum_pool",
]


# ---- convolutions ------------------------------------------------------------------------------


def _images_and_filters(images: Any, filters: Any, name: str) -> tuple[Any, Any, int]:
    images, filters = as_tensor_variable(images), as_tensor_variable(filters)
    if images.ndim < 3 or images.ndim != filters.ndim:
        msg = (
            f"{name} takes images with the axes (images, channels, ...) and filters with (filters, "
            f"channels, ...), of the same rank from 3; got {images} of type {images.type}, and "
            f"{filters} of type {filters.type}."
        )
        raise ShapeError(msg)
    return images, filters, images.ndim - 2


def _flipped(filters: Any) -> Any:
    """Return filters with their spatial axes reversed."""
    return filters[(slice(None), slice(None), *[slice(None, None, -1)] * (filters.ndim - 2))]


def _known_padding(padding: Any, filters: Any, dilation: Sequence[int]) -> tuple[Any, ...]:
    """Return the padding of each axis in numbers, where sizes of filters are known."""
    found: list[Any] = []
    sizes = filters.type.shape[2:]
    paddings = per_axis_padding(padding, len(sizes))
    for rule, size, step in zip(paddings, sizes, dilation, strict=True):
        is_known = isinstance(rule, str) and size is not None
        found.append(pads_of(rule, extent_of(size, step)) if is_known else rule)
    return tuple(found)


def conv(
    images: Any,
    filters: Any,
    *,
    stride: int | Sequence[int] = 1,
    padding: Any = "valid",
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    flip: bool = False,
) -> TensorVariable:
    """Return the sums of products of filters with images, at each place of the filters.

    Parameters
    ----------
    images
        A tensor with the axes ``(images, channels, ...)``, the others spatial; zeros surround it.
    filters
        A tensor with the axes ``(filters, channels, ...)``.
    stride
        The distance between places, one int or one for each spatial axis.
    padding
        ``"valid"``: filters stay inside of images. ``"full"``: all places where they overlap.
        ``"half"``: half of a filter is added on both sides, so that the result of an odd filter is
        as large as the image. Otherwise the number of elements that are added on both sides: an
        int, or for each axis an int or a pair of the numbers before and behind.
    dilation
        The distance between the elements of a filter, as for the stride.
    groups
        The number of groups into which channels and filters are divided: filters of a group have
        products with the channels of the group alone, and are given for those.
    flip
        Reverse the spatial axes of filters: this is convolution in the mathematical sense. By
        default it is correlation, as in networks.

    Returns
    -------
    TensorVariable
        A tensor with the axes ``(images, filters, ...)``, of the dtype to which both promote. Along
        an axis it has ``(n + padding - reach) // stride + 1`` elements, where filters of k elements
        have the reach ``(k - 1) * dilation + 1``.

    Raises
    ------
    ShapeError
        Ranks or channels do not match, or filters are larger than padded images.
    ArgumentError
        A stride or another option is not an int, too small, or not one for each axis.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> x = pt.constant([[[1.0, 2.0, 4.0, 8.0]]])
    >>> pt.signal.conv(x, [[[1.0, -1.0]]]).eval()
    array([[[-1., -2., -4.]]])
    >>> pt.signal.conv(x, [[[1.0, -1.0]]], padding=(1,), stride=2).eval()
    array([[[-1., -2.,  8.]]])
    """
    images, filters, ndim = _images_and_filters(images, filters, "conv")
    steps = per_axis(dilation, ndim, "The dilation")
    op = Conv(
        per_axis(stride, ndim, "The stride"), _known_padding(padding, filters, steps), steps, groups
    )
    return op(images, _flipped(filters) if flip else filters)


def conv_transpose(
    images: Any,
    filters: Any,
    sizes: Sequence[Any] | None = None,
    *,
    stride: int | Sequence[int] = 1,
    padding: Any = "valid",
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    flip: bool = False,
) -> TensorVariable:
    """Return the transpose of :func:`conv`, a linear map of its results to its images.

    Each element of an image is multiplied by a filter, and added where the filter was.

    Parameters
    ----------
    images
        A tensor with the axes ``(images, filters, ...)``, as a result of :func:`conv`.
    filters
        The filters of that convolution, with the axes ``(filters, channels, ...)``.
    sizes
        The spatial sizes of the result, ints or symbolic; of those that the stride allows, the
        smallest by default.
    stride, padding, dilation, groups, flip
        Those of the convolution.

    Returns
    -------
    TensorVariable
        A tensor with the axes ``(images, channels, ...)``.

    Raises
    ------
    ShapeError
        Ranks or numbers of filters do not match, or no images of these sizes have such a result.
    ArgumentError
        As for :func:`conv`.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.signal.conv_transpose([[[1.0, 10.0]]], [[[1.0, 2.0, 3.0]]], stride=2).eval()
    array([[[ 1.,  2., 13., 20., 30.]]])
    """
    images, filters, ndim = _images_and_filters(images, filters, "conv_transpose")
    steps = per_axis(stride, ndim, "The stride")
    apart = per_axis(dilation, ndim, "The dilation")
    pads = _known_padding(padding, filters, apart)
    if sizes is None:
        axes = zip(sizes_of(images)[2:], sizes_of(filters)[2:], steps, pads, apart, strict=True)
        sizes = [_smallest(*axis) for axis in axes]
    return ConvByImages(steps, pads, apart, groups)(
        _flipped(filters) if flip else filters, images, *sizes
    )


def _smallest(count: Any, length: Any, stride: int, padding: Any, dilation: int) -> Any:
    """Return the smallest size of an axis on which a filter has a number of places."""
    extent = extent_of(length, dilation)
    reach = add_sizes(multiply_sizes((subtract_sizes(count, 1), stride)), extent)
    before, behind = pads_of(padding, extent)
    return subtract_sizes(reach, add_sizes(before, behind))


def convolve1d(in1: Any, in2: Any, mode: str = "full") -> TensorVariable:
    """Return convolutions of the last axes; the others are those of a batch.

    Parameters
    ----------
    in1, in2
        Tensors of rank 1 or more, whose other axes are broadcast against each other.
    mode
        ``"full"``, ``"same"`` or ``"valid"``, as for SciPy's functions: ``"same"`` is as many as
        ``in1`` has elements, from the middle, and :func:`phintys.tensor.convolve` has as many as
        the longer one, as NumPy.

    Returns
    -------
    TensorVariable
        A tensor with the axes of the batch, and the convolutions.

    Raises
    ------
    ShapeError
        An operand has no axis, or no elements along the last one.
    ArgumentError
        The mode is unknown.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.signal.convolve1d([[1.0, 2.0], [3.0, 4.0]], [1.0, 10.0]).eval()
    array([[ 1., 12., 20.],
           [ 3., 34., 40.]])
    """
    in1, in2 = as_tensor_variable(in1), as_tensor_variable(in2)
    _refuse_rank(1, "convolve1d", in1, in2)
    if in1.ndim == in2.ndim == 1:
        return _convolve1d(in1, in2, mode)
    return vectorize(lambda x, y: _convolve1d(x, y, mode), signature="(n),(m)->(k)")(in1, in2)


def _convolve1d(x: Any, y: Any, mode: str) -> Any:
    if mode != "same":
        return convolve(x, y, mode)
    n, m = (sizes_of(one)[0] for one in (x, y))
    start = floor_div_sizes(subtract_sizes(m, 1), 2)
    return convolve(x, y)[start : add_sizes(start, n)]


def _refuse_rank(least: int, name: str, *operands: Any) -> None:
    for x in operands:
        if x.ndim < least:
            msg = f"{name} takes tensors of rank {least} or more, got {x} of type {x.type}."
            raise ShapeError(msg)


_PAD_MODES = {"fill": "constant", "wrap": "wrap", "symm": "symmetric"}


def convolve2d(
    in1: Any,
    in2: Any,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: Any = 0,
    method: str = "auto",
) -> TensorVariable:
    """Return convolutions of the last two axes; the others are those of a batch.

    Parameters
    ----------
    in1, in2
        Tensors of rank 2 or more, whose other axes are broadcast against each other.
    mode
        ``"full"``: all places where both overlap. ``"same"``: as many as ``in1`` has, from the
        middle. ``"valid"``: those where one lies on the other completely; ``in2`` on ``in1`` if the
        sizes of ``in2`` alone are known when the graph is built.
    boundary
        What surrounds ``in1``: ``"fill"``: ``fillvalue``; ``"wrap"``: copies of it; ``"symm"``: its
        mirror images.
    fillvalue
        A number.
    method
        ``"direct"``, ``"fft"`` or ``"auto"``, as in other libraries. Sums of products are computed
        in any case.

    Returns
    -------
    TensorVariable
        A tensor with the axes of the batch, and the convolutions.

    Raises
    ------
    ShapeError
        An operand has less than two axes, or ``"valid"`` leaves nothing.
    ArgumentError
        An option is unknown.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> x = pt.constant([[1.0, 2.0], [3.0, 4.0]])
    >>> pt.signal.convolve2d(x, [[1.0, 10.0]]).eval()
    array([[ 1., 12., 20.],
           [ 3., 34., 40.]])
    >>> pt.signal.convolve2d(x, [[1.0, 10.0]], "same", boundary="wrap").eval()
    array([[21., 12.],
           [43., 34.]])
    """
    in1, in2 = as_tensor_variable(in1), as_tensor_variable(in2)
    _refuse_rank(2, "convolve2d", in1, in2)
    options = (
        (mode, "mode", ("full", "same", "valid")),
        (boundary, "boundary", tuple(_PAD_MODES)),
        (method, "method", ("direct", "fft", "auto")),
    )
    for given, name, known in options:
        if given not in known:
            msg = f"convolve2d: {name} is one of {', '.join(map(repr, known))}, got {given!r}."
            raise ArgumentError(msg)
    if in1.ndim == in2.ndim == 2:
        return _convolve2d(in1, in2, mode, boundary, fillvalue)
    batched = vectorize(
        lambda x, y: _convolve2d(x, y, mode, boundary, fillvalue), signature="(n,m),(k,l)->(i,j)"
    )
    return batched(in1, in2)


def _convolve2d(x: Any, y: Any, mode: str, boundary: str, fillvalue: Any) -> Any:
    if mode != "valid":
        pads: list[Any] = []
        for size in sizes_of(y):
            most = subtract_sizes(size, 1)
            half = (floor_div_sizes(size, 2), floor_div_sizes(most, 2))
            pads.append((most, most) if mode == "full" else half)
        facts = {"constant_values": fillvalue} if boundary == "fill" else {}
        x = pad(x, pads, _PAD_MODES[boundary], **facts)
    else:
        x, y = _larger_first(x, y)
    images, filters = (expand_dims(one, (0, 1)) for one in (x, y))
    return conv(images, filters, flip=True)[0, 0]


def _larger_first(x: Any, y: Any) -> tuple[Any, Any]:
    """Return two matrices, of which the second one fits on the first if one fits on the other."""
    known = [*x.type.shape, *y.type.shape]
    if None not in known:
        is_second = known[0] <= known[2] and known[1] <= known[3]
        return (y, x) if is_second else (x, y)
    if None not in y.type.shape:
        return x, y
    # Surrounded by as many zeros, the smaller matrix has the same sums of products.
    pairs = list(zip(sizes_of(x), sizes_of(y), strict=True))
    is_second = math.and_(*(math.le(*pair) for pair in pairs))
    missing = [math.switch(is_second, math.sub(size, own), 0) for own, size in pairs]
    return pad(x, [(width, width) for width in missing]), y


# ---- pooling -----------------------------------------------------------------------------------


def _windows(
    images: Any, window: Any, stride: Any, padding: Any, partial: bool, name: str
) -> tuple[Any, MaxPool]:
    """Return images, and the Op that knows how windows lie on them."""
    images = as_tensor_variable(images)
    ndim = len(window) if isinstance(window, tuple | list) else max(images.ndim - 2, 1)
    window = per_axis(window, ndim, "The window")
    stride = window if stride is None else per_axis(stride, ndim, "The stride")
    op = MaxPool(window, stride, per_axis(padding, ndim, "The padding", 0), partial)
    if images.ndim < ndim:
        msg = f"{name}: windows of {window} need {ndim} axes, got {images} of type {images.type}."
        raise ShapeError(msg)
    return images, op


def max_pool(
    images: Any,
    window: int | Sequence[int],
    *,
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    partial: bool = False,
) -> TensorVariable:
    """Return the largest elements under windows that move over images.

    Parameters
    ----------
    images
        A real tensor whose last axes are spatial.
    window
        The size of windows, one for each spatial axis; an int is for all axes from the third one.
    stride
        The distance between windows, an int or one for each axis; by default they are adjacent.
    padding
        How far windows reach beyond both ends of an axis, where there are no elements; less than
        the window.
    partial
        Whether windows may lie on the end of an axis in part. By default elements that do not fill
        a window are left out.

    Returns
    -------
    TensorVariable
        A tensor of the same rank and dtype. Of equal elements of a window, the first one has the
        gradient; NaN is the largest.

    Raises
    ------
    ShapeError
        The images have too few axes, or are smaller than windows.
    ArgumentError
        A window or another option is not an int, too small, or not one for each axis.
    DtypeError
        The images are complex.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> x = pt.constant([[1.0, 2.0, 5.0], [4.0, 3.0, 0.0]])
    >>> pt.signal.max_pool(x, (2, 2)).eval()
    array([[4.]])
    >>> pt.signal.max_pool(x, (2, 2), partial=True).eval()
    array([[4., 5.]])
    """
    images, op = _windows(images, window, stride, padding, partial, "max_pool")
    return op(images)[0]


def sum_pool(
    images: Any,
    window: int | Sequence[int],
    *,
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    partial: bool = False,
) -> TensorVariable:
    """Return the sums of the elements under windows that move over images.

    Parameters
    ----------
    images
        A tensor whose last axes are spatial.
    window, stride, padding, partial
        As for :func:`max_pool`.

    Returns
    -------
    TensorVariable
        A tensor of the same rank and dtype.

    Raises
    ------
    ShapeError, ArgumentError
        As for :func:`max_pool`.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.signal.sum_pool([[1.0, 2.0, 5.0], [4.0, 3.0, 0.0]], (2, 2), stride=1).eval()
    array([[10., 10.]])
    """
    images, op = _windows(images, window, stride, padding, partial, "sum_pool")
    return _sums(images, op)


def _sums(images: Any, op: MaxPool) -> Any:
    """Return the sums, as the convolution of each image with a window of ones."""
    sizes = sizes_of(images)
    lead = len(sizes) - op.ndim
    rows = reshape(images, (multiply_sizes(sizes[:lead]), 1, *sizes[lead:]))
    # Partial windows are whole ones beyond the end, as many as begin on the image.
    pads = [
        (0, size - 1) if op.partial else (padding, padding)
        for padding, size in zip(op.padding, op.window, strict=True)
    ]
    window = ones((1, 1, *op.window), images.dtype)
    sums = conv(rows, window, stride=op.stride, padding=tuple(pads))
    counts = _counts(sizes[lead:], op)
    if op.partial:
        sums = sums[(slice(None), slice(None), *map(slice, counts))]
    return reshape(sums, (*sizes[:lead], *counts))


def _counts(sizes: Sequence[Any], op: MaxPool) -> list[Any]:
    """Return the number of windows along each spatial axis."""
    axes = zip(sizes, op.window, op.stride, op.padding, strict=True)
    return [pooled_size(*axis, op.partial) for axis in axes]


def average_pool(
    images: Any,
    window: int | Sequence[int],
    *,
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    partial: bool = False,
    count_padding: bool = True,
) -> TensorVariable:
    """Return the averages of the elements under windows that move over images.

    Parameters
    ----------
    images
        A tensor of floats or complex numbers, whose last axes are spatial; integers are averaged in
        ``float64``.
    window, stride, padding, partial
        As for :func:`max_pool`.
    count_padding
        Whether padding counts as zeros. The missing elements of partial windows do not count.

    Returns
    -------
    TensorVariable
        A tensor of the same rank.

    Raises
    ------
    ShapeError, ArgumentError
        As for :func:`max_pool`.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.signal.average_pool([1.0, 2.0, 6.0], (2,), padding=1).eval()
    array([0.5, 4. ])
    >>> pt.signal.average_pool([1.0, 2.0, 6.0], (2,), padding=1, count_padding=False).eval()
    array([1., 4.])
    """
    images, op = _windows(images, window, stride, padding, partial, "average_pool")
    if images.type.numpy_dtype.kind in "biu":
        images = math.cast(images, "float64")
    sums = _sums(images, op)
    if not op.partial and (count_padding or not any(op.padding)):
        return sums / float(prod(op.window))
    sizes = sizes_of(images)
    lead = len(sizes) - op.ndim
    number: Any = 1
    for axis, (length, count) in enumerate(
        zip(sizes[lead:], _counts(sizes[lead:], op), strict=True)
    ):
        size, step, padding_ = op.window[axis], op.stride[axis], op.padding[axis]
        first = arange(count) * step - padding_
        inside = math.minimum(first + size, length) - math.maximum(first, 0)
        others = range(1, op.ndim - axis)
        number = number * expand_dims(inside, tuple(others))
    return sums / math.cast(as_tensor_variable(number), sums.dtype)
