"""Products of matrices, convolution, pooling and Fourier transforms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.backends.jax.arrays import jax, jnp, lax
from phintys.backends.jax.tracing import MisfitError, NotConvertedError, Trace, converts
from phintys.tensor.blas import Gemm
from phintys.tensor.convolution import Convolve
from phintys.tensor.dim_shuffle import DimShuffle
from phintys.tensor.fourier import FFT, IRFFT, RFFT
from phintys.tensor.images.convolutions import Conv, ConvByFilters, ConvByImages
from phintys.tensor.images.geometry import extent_of, pads_of
from phintys.tensor.images.pooling import MaxPool
from phintys.tensor.products import BatchedDot, Dot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.variable import Variable


def _dtype(node: Apply) -> np.dtype[Any]:
    return np.dtype(node.outputs[0].type.dtype)  # pyright: ignore[reportAttributeAccessIssue]


@converts(Dot)
def dot(op: Any, node: Apply, trace: Trace, x: Any, y: Any) -> Any:
    """A product; XLA would materialise transposed operands, so their other axis is contracted."""
    x_rank, y_rank = np.ndim(x), np.ndim(y)
    if not x_rank or not y_rank:
        return jnp.multiply(x, y).astype(_dtype(node))
    if np.shape(x)[-1] != np.shape(y)[max(y_rank - 2, 0)]:
        raise MisfitError(node)
    if _dtype(node).kind == "b":
        return jnp.dot(jnp.asarray(x).astype("int32"), jnp.asarray(y).astype("int32")) > 0
    x, x_is_flipped = _untransposed(node.inputs[0], x, trace)
    y, y_is_flipped = _untransposed(node.inputs[1], y, trace)
    contracted = (
        (0 if x_is_flipped else x_rank - 1,),
        (1 if y_is_flipped else max(y_rank - 2, 0),),
    )
    if contracted == ((0,), (0,)):
        x, y = _in_one_order(x, y, trace)
    return lax.dot_general(
        jnp.asarray(x),
        jnp.asarray(y),
        (contracted, ((), ())),
        precision=trace.session.precision,
        preferred_element_type=_dtype(node),
    )


def _in_one_order(x: Any, y: Any, trace: Trace) -> tuple[Any, Any]:
    """Return matrices whose rows are summed without the reversal that both have."""
    a, b = trace.reversals.get(x), trace.reversals.get(y)
    return (x, y) if a is None or b is None or a[1] != b[1] else (a[0], b[0])


def _untransposed(variable: Variable, value: Any, trace: Trace) -> tuple[Any, bool]:
    """Return the matrix that a value is the transpose of, if it is one."""
    node = variable.owner
    if node is None or not isinstance(node.op, DimShuffle) or node.op.new_order != (1, 0):
        return value, False
    source = trace.env.get(node.inputs[0])
    return (value, False) if source is None else (source, True)


@converts(BatchedDot)
def batched_dot(op: Any, node: Apply, trace: Trace, x: Any, y: Any) -> Any:
    """Products of stacks of matrices; batches broadcast where they are statically 1."""
    static = [variable.type.shape for variable in node.inputs]  # pyright: ignore[reportAttributeAccessIssue]
    axes = zip(np.shape(x)[:-2], np.shape(y)[:-2], static[0], static[1], strict=False)
    if np.shape(x)[-1] != np.shape(y)[-2] or any(a != b and 1 not in (s, t) for a, b, s, t in axes):
        raise MisfitError(node)
    x, y = jnp.asarray(x), jnp.asarray(y)
    if _dtype(node).kind == "b":
        return jnp.matmul(x.astype("int32"), y.astype("int32")) > 0
    precision = trace.session.precision
    return jnp.matmul(x, y, precision=precision, preferred_element_type=_dtype(node))


@converts(Gemm)
def gemm(op: Any, node: Apply, trace: Trace, x: Any, y: Any, alpha: Any, *added: Any) -> Any:
    """A scaled product, and what is added to it."""
    if np.shape(x)[-1] != np.shape(y)[0]:
        raise MisfitError(node)
    found = jnp.dot(x, y, precision=trace.session.precision) * alpha
    return found + added[0] if added else found


@converts(Convolve)
def convolve(op: Any, node: Apply, trace: Trace, a: Any, v: Any) -> Any:
    """The full convolution of two vectors."""
    if not (np.size(a) and np.size(v)):
        raise MisfitError(node)
    found = jnp.convolve(jnp.asarray(a), jnp.asarray(v), precision=trace.session.precision)
    return found.astype(_dtype(node))


@converts(FFT)
def fft(op: Any, node: Apply, trace: Trace, x: Any) -> Any:
    """The complex transform and its inverse."""
    op.shapes_of_results(node.inputs, [np.shape(x)])  # raises for sizes that do not fit
    function = jnp.fft.ifftn if op.inverse else jnp.fft.fftn
    return function(jnp.asarray(x), axes=op.axes, norm=op.norm).astype(_dtype(node))


@converts(RFFT)
def rfft(op: Any, node: Apply, trace: Trace, x: Any) -> Any:
    """The transform of real numbers."""
    op.shapes_of_results(node.inputs, [np.shape(x)])
    return jnp.fft.rfftn(jnp.asarray(x), axes=op.axes, norm=op.norm).astype(_dtype(node))


@converts(IRFFT)
def irfft(op: Any, node: Apply, trace: Trace, x: Any, points: Any) -> Any:
    """Its inverse, of a known number of points."""
    (n,) = trace.sizes(node, [points], "the number of points")
    x = jnp.asarray(x)
    op.shapes_of_results(node.inputs, [x.shape, ()], [None, int(n)])
    lengths = [*(x.shape[axis] for axis in op.axes[:-1]), n]
    return jnp.fft.irfftn(x, s=lengths, axes=op.axes, norm=op.norm).astype(_dtype(node))


# ---- images --------------------------------------------------------------------------------------


def _convolved(op: Any, trace: Trace, images: Any, filters: Any, sizes: Sequence[Any]) -> Any:
    extents = [extent_of(n, d) for n, d in zip(sizes, op.dilation, strict=True)]
    pads = [
        tuple(int(p) for p in pads_of(pad, extent))
        for pad, extent in zip(op.padding, extents, strict=True)
    ]
    letters = "DHW"[-op.ndim :]
    return lax.conv_general_dilated(
        images,
        filters,
        op.stride,
        pads,
        rhs_dilation=op.dilation,
        feature_group_count=op.groups,
        dimension_numbers=(f"NC{letters}", f"OI{letters}", f"NC{letters}"),
        precision=trace.session.precision,
    )


def _shape_of_result(
    op: Any, node: Apply, arrays: Sequence[Any], lengths: Sequence[Any] = ()
) -> tuple[int, ...]:
    """Return the shape by the rule of the Op, whose inputs are arrays and then lengths."""
    values = [*(None for _ in arrays), *map(int, lengths)]
    return op.shapes_of_results(node.inputs, [array.shape for array in arrays], values)[0]


@converts(Conv)
def conv(op: Any, node: Apply, trace: Trace, images: Any, filters: Any, *lengths: Any) -> Any:
    """Filters over images."""
    _shape_of_result(op, node, (images, filters))  # raises for sizes that do not fit
    return _convolved(op, trace, jnp.asarray(images), jnp.asarray(filters), filters.shape[2:])


@converts(ConvByImages)
def conv_by_images(op: Any, node: Apply, trace: Trace, filters: Any, g: Any, *sizes: Any) -> Any:
    """The transpose of a convolution as a function of its images."""
    shape = _shape_of_result(op, node, (filters, g), trace.sizes(node, sizes))

    def of_images(images: Any) -> Any:
        return _convolved(op, trace, images, jnp.asarray(filters), filters.shape[2:])

    return jax.linear_transpose(of_images, jax.ShapeDtypeStruct(shape, g.dtype))(jnp.asarray(g))[0]


@converts(ConvByFilters)
def conv_by_filters(op: Any, node: Apply, trace: Trace, images: Any, g: Any, *sizes: Any) -> Any:
    """The transpose of a convolution as a function of its filters."""
    shape = _shape_of_result(op, node, (images, g), trace.sizes(node, sizes))

    def of_filters(filters: Any) -> Any:
        return _convolved(op, trace, jnp.asarray(images), filters, shape[2:])

    return jax.linear_transpose(of_filters, jax.ShapeDtypeStruct(shape, g.dtype))(jnp.asarray(g))[0]


@converts(MaxPool)
def max_pool(op: Any, node: Apply, trace: Trace, x: Any) -> list[Any]:
    """The largest values of windows, and their positions: the first of equal ones."""
    x = jnp.asarray(x)
    if x.dtype.kind not in "fiu":
        raise NotConvertedError
    shape = _shape_of_result(op, node, (x,))
    before = x.ndim - op.ndim
    spatial = x.shape[before:]
    pads = [
        (pad, max(0, (count - 1) * stride + width - pad - n))
        for n, count, (width, stride, pad, _) in zip(spatial, shape[before:], op._axes, strict=True)
    ]
    ones = (1,) * before
    window, strides = (*ones, *op.window), (*ones, *op.stride)
    padding = (*((0, 0),) * before, *pads)
    lowest = np.asarray(-np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min, x.dtype)
    places = jnp.broadcast_to(lax.iota("int64", int(np.prod(spatial))).reshape(spatial), x.shape)
    outside = np.asarray(np.iinfo("int64").max)

    def larger(left: Any, right: Any) -> Any:
        (a, i), (b, j) = left, right
        is_left = (a > b) | ((a == b) & (i < j))
        if x.dtype.kind == "f":  # NaN is larger than all numbers
            of_nan = jnp.where(jnp.isnan(b), i < j, True)
            is_left = jnp.where(jnp.isnan(a), of_nan, jnp.where(jnp.isnan(b), False, is_left))
        return jnp.where(is_left, a, b), jnp.where(is_left, i, j)

    return list(lax.reduce_window((x, places), (lowest, outside), larger, window, strides, padding))
