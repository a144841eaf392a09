"""Convolutions and pooling of the old packages: ``tensor.nnet`` and ``tensor.signal``."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

import numpy as np

import phintys.tensor as pt
from phintys._base.config import config
from phintys._base.errors import ArgumentError
from phintys.compat import windows
from phintys.compat.unshared import unshared_by_inputs, unshared_by_weights, unshared_conv2d
from phintys.tensor.images.convolutions import ConvByFilters
from phintys.tensor.images.geometry import count_of, extent_of, per_axis_padding
from phintys.tensor.images.pooling import MaxPool
from phintys.tensor.known import known_int
from phintys.tensor.shapes import sizes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "bilinear_kernel_1D",
    "bilinear_kernel_2D",
    "bilinear_upsampling",
    "causal_conv1d",
    "conv2d",
    "conv2d_grad_wrt_inputs",
    "conv2d_grad_wrt_weights",
    "conv2d_of_images",
    "conv2d_transpose",
    "conv3d",
    "conv3d_grad_wrt_inputs",
    "conv3d_grad_wrt_weights",
    "frac_bilinear_upsampling",
    "get_conv_output_shape",
    "get_conv_shape_1axis",
    "max_pool_2d",
    "max_pool_2d_same_size",
    "max_pool_3d",
    "old_conv2d",
    "pool_2d",
    "pool_3d",
    "separable_conv2d",
    "separable_conv3d",
]


# ---- convolutions ------------------------------------------------------------------------------


def _with_shape(x: Any, shape: Sequence[Any] | None) -> Any:
    """Return a tensor whose sizes are those that the program states, which are checked."""
    x = pt.as_tensor_variable(x)
    if shape is None:
        return x
    sizes = [None if size is None else _known(size) for size in shape]
    return x if all(size is None for size in sizes) else pt.specify_shape(x, tuple(sizes))


def _known(size: Any) -> int | None:
    """Return a size that may be a number, a constant or symbolic, if it is known."""
    return known_int(pt.as_tensor_variable(size))


def _conv(
    ndim: int,
    input: Any,
    filters: Any,
    shapes: tuple[Any, Any],
    border_mode: Any,
    subsample: Any,
    filter_flip: bool,
    filter_dilation: Any,
    num_groups: int,
) -> Any:
    images, filters = _with_shape(input, shapes[0]), _with_shape(filters, shapes[1])
    for x, what in ((images, "input"), (filters, "filters")):
        if x.ndim != ndim + 2:
            msg = f"conv{ndim}d takes {what} of rank {ndim + 2}, got {x} of type {x.type}."
            raise ArgumentError(msg)
    return pt.signal.conv(
        images,
        filters,
        stride=subsample,
        padding=border_mode,
        dilation=filter_dilation,
        groups=num_groups,
        flip=filter_flip,
    )


def conv2d(
    input: Any,
    filters: Any,
    input_shape: Any = None,
    filter_shape: Any = None,
    border_mode: Any = "valid",
    subsample: Any = (1, 1),
    filter_flip: bool = True,
    image_shape: Any = None,
    filter_dilation: Any = (1, 1),
    num_groups: int = 1,
    unshared: bool = False,
) -> Any:
    """Return convolutions of pictures; filters are flipped.

    With ``unshared=True``, each place of the result has filters of its own.
    """
    shapes = (image_shape if input_shape is None else input_shape, filter_shape)
    options = (border_mode, subsample, filter_flip, filter_dilation, num_groups)
    if unshared:
        x, w = _with_shape(input, shapes[0]), _with_shape(filters, shapes[1])
        return unshared_conv2d(x, w, *options)
    return _conv(2, input, filters, shapes, *options)


def conv3d(
    input: Any,
    filters: Any,
    input_shape: Any = None,
    filter_shape: Any = None,
    border_mode: Any = "valid",
    subsample: Any = (1, 1, 1),
    filter_flip: bool = True,
    filter_dilation: Any = (1, 1, 1),
    num_groups: int = 1,
) -> Any:
    """Return convolutions of volumes; filters are flipped."""
    options = (border_mode, subsample, filter_flip, filter_dilation, num_groups)
    return _conv(3, input, filters, (input_shape, filter_shape), *options)


def old_conv2d(
    input: Any,
    filters: Any,
    image_shape: Any = None,
    filter_shape: Any = None,
    border_mode: Any = "valid",
    subsample: Any = (1, 1),
    **options: Any,
) -> Any:
    """Convolve as ``nnet.conv.conv2d``; options of its generated code have no effect."""
    _only_of_code(options, "conv2d")
    return conv2d(input, filters, image_shape, filter_shape, border_mode, subsample)


_OF_CODE = {"unroll_batch", "unroll_kern", "unroll_patch", "verbose", "version", "openmp"}


def _only_of_code(options: dict[str, Any], name: str) -> None:
    unknown = sorted(set(options) - _OF_CODE)
    if unknown:
        msg = f"{name} has no option {unknown[0]!r} in Phintys."
        raise ArgumentError(msg)


def conv2d_of_images(
    input: Any,
    filters: Any,
    image_shape: Any = None,
    filter_shape: Any = None,
    border_mode: Any = "valid",
    subsample: Any = (1, 1),
    **options: Any,
) -> Any:
    """Return convolutions of each image with each filter; one of them may be a single matrix."""
    _only_of_code(options, "signal.conv.conv2d")
    images, filters = _with_shape(input, image_shape), _with_shape(filters, filter_shape)
    for x in (images, filters):
        if x.ndim not in {2, 3}:
            msg = f"signal.conv.conv2d takes tensors of rank 2 or 3, got {x} of type {x.type}."
            raise ArgumentError(msg)
    many, several = images.ndim == 3, filters.ndim == 3
    x = images[:, None] if many else images[None, None]
    w = filters[:, None] if several else filters[None, None]
    out = conv2d(x, w, border_mode=border_mode, subsample=subsample)
    return out if many and several else out[:, 0] if many else out[0] if several else out[0, 0]


def _by_inputs(
    ndim: int,
    output_grad: Any,
    filters: Any,
    shapes: tuple[Any, Any],
    border_mode: Any,
    subsample: Any,
    filter_flip: bool,
    filter_dilation: Any,
    num_groups: int,
) -> Any:
    input_shape, filter_shape = shapes
    lengths = None if input_shape is None else tuple(input_shape)[-ndim:]
    if lengths is not None and any(length is None for length in lengths):
        msg = f"The spatial sizes of the result must be stated, got the shape {input_shape}."
        raise ArgumentError(msg)
    return pt.signal.conv_transpose(
        output_grad,
        _with_shape(filters, filter_shape),
        lengths,
        stride=subsample,
        padding=border_mode,
        dilation=filter_dilation,
        groups=num_groups,
        flip=filter_flip,
    )


def conv2d_grad_wrt_inputs(
    output_grad: Any,
    filters: Any,
    input_shape: Any,
    filter_shape: Any = None,
    border_mode: Any = "valid",
    subsample: Any = (1, 1),
    filter_flip: bool = True,
    filter_dilation: Any = (1, 1),
    num_groups: int = 1,
    unshared: bool = False,
) -> Any:
    """Return the gradient of :func:`conv2d` with respect to its input."""
    options = (border_mode, subsample, filter_flip, filter_dilation, num_groups)
    if unshared:
        w = _with_shape(filters, filter_shape)
        return unshared_by_inputs(output_grad, w, input_shape, **_named(options))
    return _by_inputs(2, output_grad, filters, (input_shape, filter_shape), *options)


def conv3d_grad_wrt_inputs(
    output_grad: Any,
    filters: Any,
    input_shape: Any,
    filter_shape: Any = None,
    border_mode: Any = "valid",
    subsample: Any = (1, 1, 1),
    filter_flip: bool = True,
    filter_dilation: Any = (1, 1, 1),
    num_groups: int = 1,
) -> Any:
    """Return the gradient of :func:`conv3d` with respect to its input."""
    options = (border_mode, subsample, filter_flip, filter_dilation, num_groups)
    return _by_inputs(3, output_grad, filters, (input_shape, filter_shape), *options)


def conv2d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    filter_shape: Any = None,
    border_mode: Any = "valid",
    input_dilation: Any = (1, 1),
    filter_flip: bool = True,
    filter_dilation: Any = (1, 1),
    num_groups: int = 1,
    unshared: bool = False,
) -> Any:
    """Return :func:`conv2d_grad_wrt_inputs`, of which the stride has another name here."""
    options = (border_mode, input_dilation, filter_flip, filter_dilation, num_groups, unshared)
    return conv2d_grad_wrt_inputs(input, filters, output_shape, filter_shape, *options)


def _by_weights(
    ndim: int,
    input: Any,
    output_grad: Any,
    shapes: tuple[Any, Any],
    border_mode: Any,
    subsample: Any,
    filter_flip: bool,
    filter_dilation: Any,
    num_groups: int,
) -> Any:
    input_shape, filter_shape = shapes
    images, grad = _with_shape(input, input_shape), pt.as_tensor_variable(output_grad)
    padding = per_axis_padding(border_mode, ndim)
    op = ConvByFilters(subsample, padding, filter_dilation, num_groups)
    found: Any = op(images, grad, *tuple(filter_shape)[-ndim:])
    flipped = (slice(None), slice(None), *[slice(None, None, -1)] * ndim)
    return found[flipped] if filter_flip else found


def conv2d_grad_wrt_weights(
    input: Any,
    output_grad: Any,
    filter_shape: Any,
    input_shape: Any = None,
    border_mode: Any = "valid",
    subsample: Any = (1, 1),
    filter_flip: bool = True,
    filter_dilation: Any = (1, 1),
    num_groups: int = 1,
    unshared: bool = False,
) -> Any:
    """Return the gradient of :func:`conv2d` with respect to its filters."""
    options = (border_mode, subsample, filter_flip, filter_dilation, num_groups)
    if unshared:
        x = _with_shape(input, input_shape)
        return unshared_by_weights(x, output_grad, filter_shape, **_named(options))
    return _by_weights(2, input, output_grad, (input_shape, filter_shape), *options)


def conv3d_grad_wrt_weights(
    input: Any,
    output_grad: Any,
    filter_shape: Any,
    input_shape: Any = None,
    border_mode: Any = "valid",
    subsample: Any = (1, 1, 1),
    filter_flip: bool = True,
    filter_dilation: Any = (1, 1, 1),
    num_groups: int = 1,
) -> Any:
    """Return the gradient of :func:`conv3d` with respect to its filters."""
    options = (border_mode, subsample, filter_flip, filter_dilation, num_groups)
    return _by_weights(3, input, output_grad, (input_shape, filter_shape), *options)


def _named(options: tuple[Any, ...]) -> dict[str, Any]:
    names = ("border_mode", "subsample", "filter_flip", "filter_dilation", "num_groups")
    return dict(zip(names, options, strict=True))


def separable_conv2d(
    input: Any,
    depthwise_filters: Any,
    pointwise_filters: Any,
    num_channels: int,
    input_shape: Any = None,
    depthwise_filter_shape: Any = None,
    pointwise_filter_shape: Any = None,
    border_mode: Any = "valid",
    subsample: Any = (1, 1),
    filter_flip: bool = True,
    filter_dilation: Any = (1, 1),
) -> Any:
    """Return convolutions of each channel with its own filters, and sums over the channels."""
    shapes = (input_shape, depthwise_filter_shape)
    options = (border_mode, subsample, filter_flip, filter_dilation, num_channels)
    apart = _conv(2, input, depthwise_filters, shapes, *options)
    return conv2d(apart, pointwise_filters, None, pointwise_filter_shape, filter_flip=filter_flip)


def separable_conv3d(
    input: Any,
    depthwise_filters: Any,
    pointwise_filters: Any,
    num_channels: int,
    input_shape: Any = None,
    depthwise_filter_shape: Any = None,
    pointwise_filter_shape: Any = None,
    border_mode: Any = "valid",
    subsample: Any = (1, 1, 1),
    filter_flip: bool = True,
    filter_dilation: Any = (1, 1, 1),
) -> Any:
    """Return :func:`separable_conv2d` of volumes."""
    shapes = (input_shape, depthwise_filter_shape)
    options = (border_mode, subsample, filter_flip, filter_dilation, num_channels)
    apart = _conv(3, input, depthwise_filters, shapes, *options)
    return conv3d(apart, pointwise_filters, None, pointwise_filter_shape, filter_flip=filter_flip)


def causal_conv1d(
    input: Any,
    filters: Any,
    filter_shape: Any,
    input_shape: Any = None,
    subsample: int = 1,
    filter_flip: bool = True,
    filter_dilation: int = 1,
    num_groups: int = 1,
    unshared: bool = False,
) -> Any:
    """Return convolutions of sequences with what came before each of their elements."""
    if unshared:
        msg = "causal_conv1d has no unshared=True in Phintys: use conv2d with padded images."
        raise NotImplementedError(msg)
    reach = extent_of(int(filter_shape[2]), filter_dilation)
    shapes = (input_shape, filter_shape)
    padding = ((reach - 1, 0),)
    options = ((subsample,), filter_flip, (filter_dilation,), num_groups)
    return _conv(1, input, filters, shapes, padding, *options)


def get_conv_shape_1axis(
    image_shape: Any, kernel_shape: Any, border_mode: Any, subsample: int, dilation: int = 1
) -> Any:
    """Return the size of a convolution along an axis; ``None`` if it does not follow."""
    if image_shape is None or kernel_shape is None:
        return None
    (padding,) = per_axis_padding((border_mode,), 1)
    return count_of(image_shape, padding, extent_of(kernel_shape, dilation), subsample)


def get_conv_output_shape(
    image_shape: Sequence[Any],
    kernel_shape: Sequence[Any],
    border_mode: Any,
    subsample: Sequence[int],
    filter_dilation: Sequence[int] | None = None,
) -> tuple[Any, ...]:
    """Return the shape of a convolution, with ``None`` for sizes that do not follow."""
    ndim = len(subsample)
    padding = per_axis_padding(border_mode, ndim)
    dilation = (1,) * ndim if filter_dilation is None else tuple(filter_dilation)
    axes = zip(image_shape[2:], kernel_shape[-ndim:], padding, subsample, dilation, strict=True)
    return (image_shape[0], kernel_shape[0], *(get_conv_shape_1axis(*axis) for axis in axes))


# ---- pooling -----------------------------------------------------------------------------------

_AVERAGES = {"average_inc_pad": True, "average_exc_pad": False}


def pool(
    ndim: int, input: Any, ws: Any, ignore_border: Any, stride: Any, pad: Any, mode: str
) -> Any:
    if ws is None:
        msg = f"pool_{ndim}d needs the size of windows: ws, or ds in older programs."
        raise ArgumentError(msg)
    if mode not in {"max", "sum", *_AVERAGES}:
        modes = ", ".join(map(repr, ("max", "sum", *_AVERAGES)))
        msg = f"The mode of pooling is one of {modes}, got {mode!r}."
        raise ArgumentError(msg)
    window = each(ws, ndim)
    steps = None if stride is None else each(stride, ndim)
    padding = (0,) * ndim if pad is None else each(pad, ndim)
    # Older versions of Theano asked for a choice, and took False if there was none.
    partial = not ignore_border
    if windows.has_variables(window, steps, padding):
        return windows.pool(ndim, input, window, steps, padding, partial, mode)
    options: dict[str, Any] = {"stride": steps, "padding": padding, "partial": partial}
    if mode == "max":
        return pt.signal.max_pool(input, window, **options)
    if mode == "sum":
        return pt.signal.sum_pool(input, window, **options)
    return pt.signal.average_pool(input, window, **options, count_padding=_AVERAGES[mode])


def either(old: Any, new: Any, names: str) -> Any:
    """Return the one of two options that is given; they are one, by an older and a newer name."""
    if old is not None and new is not None:
        msg = f"Pooling takes one of {names}, which are names of one option; got {old} and {new}."
        raise ArgumentError(msg)
    return new if old is None else old


def each(value: Any, ndim: int) -> Any:
    """Return a number for each axis, of arrays and lists too."""
    if isinstance(value, int | np.integer):
        return (int(value),) * ndim
    return tuple(value) if isinstance(value, list | tuple | np.ndarray) else value


def pool_2d(
    input: Any,
    ws: Any = None,
    ignore_border: bool | None = None,
    stride: Any = None,
    pad: Any = None,
    mode: str = "max",
    ds: Any = None,
    st: Any = None,
    padding: Any = None,
) -> Any:
    """Return the largest elements, sums or averages of windows on the last two axes."""
    window, steps = either(ds, ws, "ds and ws"), either(st, stride, "st and stride")
    unless_zero = None if isinstance(pad, tuple) and not any(pad) else pad
    pads = either(padding, unless_zero, "padding and pad")
    return pool(2, input, window, ignore_border, steps, pads, mode)


def pool_3d(
    input: Any,
    ws: Any = None,
    ignore_border: bool | None = None,
    stride: Any = None,
    pad: Any = None,
    mode: str = "max",
    ds: Any = None,
    st: Any = None,
    padding: Any = None,
) -> Any:
    """Return :func:`pool_2d` of the last three axes."""
    window, steps = either(ds, ws, "ds and ws"), either(st, stride, "st and stride")
    unless_zero = None if isinstance(pad, tuple) and not any(pad) else pad
    pads = either(padding, unless_zero, "padding and pad")
    return pool(3, input, window, ignore_border, steps, pads, mode)


def max_pool_2d(
    input: Any,
    ds: Any,
    ignore_border: bool | None = None,
    st: Any = None,
    padding: Any = (0, 0),
    mode: str = "max",
) -> Any:
    """Return :func:`pool_2d` by the names of ``signal.downsample``."""
    return pool(2, input, ds, ignore_border, st, padding, mode)


def max_pool_3d(
    input: Any,
    ds: Any,
    ignore_border: bool | None = None,
    st: Any = None,
    padding: Any = (0, 0, 0),
    mode: str = "max",
) -> Any:
    """Return :func:`max_pool_2d` of the last three axes."""
    return pool(3, input, ds, ignore_border, st, padding, mode)


def max_pool_2d_same_size(input: Any, patch_size: Any) -> Any:
    """Return images of which only the largest element of each patch is not set to 0."""
    x, window = pt.as_tensor_variable(input), each(patch_size, 2)
    op = MaxPool(window, window)
    values, places = op(x)
    return op.spread(x, places, values)


# ---- larger images -------------------------------------------------------------------------------


def bilinear_kernel_1D(ratio: Any, normalize: bool = True) -> Any:
    """Return the weights of a linear interpolation, which rise and fall.

    ``ratio`` is a whole number, or a variable of one.
    """
    if isinstance(ratio, pt.TensorVariable):
        rising = pt.arange(1, 2 * ratio)
        weights: Any = pt.minimum(rising, 2 * ratio - rising).astype(config.floatX)
        return weights / ratio.astype(config.floatX) if normalize else weights
    rise = np.arange(1, 2 * ratio)
    weights = np.minimum(rise, 2 * ratio - rise)
    return pt.constant((weights / (ratio if normalize else 1)).astype(config.floatX))


def bilinear_kernel_2D(ratio: Any, normalize: bool = True) -> Any:
    """Return the products of :func:`bilinear_kernel_1D` with itself."""
    line = bilinear_kernel_1D(ratio, normalize)
    return line[:, None] * line[None, :]


def bilinear_upsampling(
    input: Any,
    ratio: int | None = None,
    frac_ratio: Any = None,
    batch_size: Any = None,
    num_input_channels: Any = None,
    use_1D_kernel: bool = True,
) -> Any:
    """Return images enlarged by a whole number, or a fraction, with linear interpolation.

    Beyond the edges, images continue with the elements there.
    """
    if (frac_ratio is None) == (ratio is None):
        msg = (
            "bilinear_upsampling must get either ratio= or frac_ratio=; got ratio="
            f"{ratio!r} and frac_ratio={frac_ratio!r}."
        )
        raise ArgumentError(msg)
    if frac_ratio is not None:
        return frac_bilinear_upsampling(input, frac_ratio)
    x = pt.as_tensor_variable(input)
    x = _with_shape(x, (batch_size, num_input_channels, None, None))
    ratio = int(cast("Any", ratio))
    weights = bilinear_kernel_1D(ratio)
    for axis in (2, 3):
        x = _enlarged(x, axis, ratio, weights)
    return x


def frac_bilinear_upsampling(input: Any, frac_ratio: Any) -> Any:
    """Return images enlarged by fractions ``(p, q)``, one for both axes or one for each.

    They are enlarged by p, and each q-th element is kept.

    Raises
    ------
    ArgumentError
        ``frac_ratio`` is not a tuple.

    Examples
    --------
    >>> import numpy as np
    >>> import phintys.tensor as pt
    >>> from phintys.compat.images import frac_bilinear_upsampling
    >>> x = pt.dtensor4("x")
    >>> y = frac_bilinear_upsampling(x, ((1, 1), (3, 2)))
    >>> y.eval({x: np.array([0.0, 3.0]).reshape(1, 1, 1, 2)}).ravel()
    array([0., 1., 3.])
    """
    if not isinstance(frac_ratio, tuple):
        msg = f"frac_ratio must be (p, q), or a pair of such pairs; got {frac_ratio!r}."
        raise ArgumentError(msg)
    pairs = frac_ratio if isinstance(frac_ratio[0], tuple) else (frac_ratio, frac_ratio)
    fractions = [Fraction(*pair) for pair in pairs]
    x = pt.as_tensor_variable(input)
    for axis, by in zip((2, 3), fractions, strict=True):
        x = _enlarged(x, axis, by.numerator, bilinear_kernel_1D(by.numerator))
    return x[:, :, :: fractions[0].denominator, :: fractions[1].denominator]


def _enlarged(x: Any, axis: int, ratio: int, weights: Any) -> Any:
    """Return images enlarged along an axis."""
    count, channels, *lengths = sizes_of(x)
    widths = [(0, 0)] * 4
    widths[axis] = (1, 1)
    padded = pt.pad(x, widths, mode="edge")
    images = padded.reshape((count * channels, 1, *sizes_of(padded)[2:]))
    lengths[axis - 2] = lengths[axis - 2] * ratio
    pads, steps = [0, 0], [1, 1]
    pads[axis - 2], steps[axis - 2] = 2 * ratio - (ratio - 1) // 2 - 1, ratio
    kernel = weights[:, None] if axis == 2 else weights[None, :]
    grown = pt.signal.conv_transpose(
        images, kernel[None, None], lengths, stride=tuple(steps), padding=tuple(pads)
    )
    return grown.reshape((count, channels, *lengths))
