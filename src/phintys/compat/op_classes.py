"""Classes of Ops of the old packages: an instance applies the function of Phintys.

``isinstance(node.op, Old)`` is true for nodes of the Op that stands for it here. A class whose
result is an expression of other Ops has no instances.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import phintys.tensor as pt
from phintys._base.errors import ArgumentError
from phintys.compat import images, neural, tensors
from phintys.compat.adapters import matrix_dot
from phintys.compat.old_classes import stands_for
from phintys.scalar import casting
from phintys.scalar.casting import CASTS
from phintys.tensor.fourier import IRFFT, RFFT
from phintys.tensor.images.convolutions import Conv, ConvByFilters, ConvByImages
from phintys.tensor.images.pooling import MaxPool, pooled_size
from phintys.tensor.linear_algebra import least_squares, lu, schur

__all__ = [
    "LU",
    "AbstractConv",
    "AbstractConv2d",
    "AbstractConv2d_gradInputs",
    "AbstractConv2d_gradWeights",
    "AbstractConv3d",
    "AbstractConv3d_gradInputs",
    "AbstractConv3d_gradWeights",
    "AbstractConv_gradInputs",
    "AbstractConv_gradWeights",
    "AdvancedIncSubtensor1",
    "Bartlett",
    "BroadcastTo",
    "Cast",
    "CholeskySolve",
    "Choose",
    "CpuContiguous",
    "CumprodOp",
    "CumsumOp",
    "DiffOp",
    "Eye",
    "FillDiagonal",
    "FillDiagonalOffset",
    "IRFFTOp",
    "LogSoftmax",
    "Lstsq",
    "MatMul",
    "MaxAndArgmax",
    "Mean",
    "PermuteRowElements",
    "Pool",
    "RFFTOp",
    "RavelMultiIndex",
    "Repeat",
    "SLogDet",
    "Schur",
    "SearchsortedOp",
    "Softmax",
    "SoftmaxWithBias",
    "SpecifyShape",
    "TensorInv",
    "TensorSolve",
    "Tri",
    "UnravelIndex",
    "cpu_contiguous",
    "inverse_transform",
    "log_softmax_op",
    "matrix_dot",
    "softmax_op",
    "transform",
]  # fmt: skip


# ---- convolutions and pooling --------------------------------------------------------------------


def _of_images(ndim: int, use: Callable[..., Any]) -> Any:
    """Return a class of Ops of convolutions: ``use(imshp, kshp, options)`` is what it applies."""

    def make(
        imshp: Any = None,
        kshp: Any = None,
        border_mode: Any = "valid",
        subsample: Any = (1,) * ndim,
        filter_flip: bool = True,
        filter_dilation: Any = (1,) * ndim,
        num_groups: int = 1,
        unshared: bool = False,
    ) -> Any:
        """Take the shapes and options of the old class."""
        options = {
            "border_mode": border_mode,
            "subsample": subsample,
            "filter_flip": filter_flip,
            "filter_dilation": filter_dilation,
            "num_groups": num_groups,
        }
        if unshared:
            options["unshared"] = unshared
        return use(imshp, kshp, options)

    return make


def _convolution(ndim: int) -> Any:
    """``op(images, filters)``: convolve."""
    apply = (images.conv2d, images.conv3d)[ndim - 2]

    def use(imshp: Any, kshp: Any, options: dict[str, Any]) -> Any:
        return lambda img, kern: apply(img, kern, imshp, kshp, **options)

    return _of_images(ndim, use)


def _by_inputs(ndim: int) -> Any:
    """``op(filters, output_grad, spatial_shape)``: the gradient for the images."""
    apply = (images.conv2d_grad_wrt_inputs, images.conv3d_grad_wrt_inputs)[ndim - 2]

    def use(imshp: Any, kshp: Any, options: dict[str, Any]) -> Any:
        def op(kern: Any, topgrad: Any, shape: Any, add_assert_shape: bool = True) -> Any:
            return apply(topgrad, kern, _whole(imshp, shape, ndim), kshp, **options)

        return op

    return _of_images(ndim, use)


def _by_weights(ndim: int) -> Any:
    """``op(images, output_grad, spatial_shape)``: the gradient for the filters."""
    apply = (images.conv2d_grad_wrt_weights, images.conv3d_grad_wrt_weights)[ndim - 2]

    def use(imshp: Any, kshp: Any, options: dict[str, Any]) -> Any:
        def op(img: Any, topgrad: Any, shape: Any, add_assert_shape: bool = True) -> Any:
            return apply(img, topgrad, _whole(kshp, shape, ndim), imshp, **options)

        return op

    return _of_images(ndim, use)


def _whole(stated: Any, spatial: Any, ndim: int) -> tuple[Any, ...]:
    """Return a shape of four or five sizes, of which the last ones are given."""
    sizes = tuple(pt.as_tensor_variable(spatial)[axis] for axis in range(ndim))
    known = [None if stated is None else stated[-ndim + axis] for axis in range(ndim)]
    both = zip(known, sizes, strict=True)
    lead = (None, None) if stated is None else tuple(stated)[:2]
    return (*lead, *(size if one is None else one for one, size in both))


def _of_rank(makers: Any) -> Any:
    def make(convdim: int, *arguments: Any, **options: Any) -> Any:
        """Take the number of spatial axes first."""
        return makers(convdim)(*arguments, **options)

    return make


AbstractConv = stands_for("AbstractConv", Conv, _of_rank(_convolution))
AbstractConv2d = stands_for("AbstractConv2d", Conv, _convolution(2))
AbstractConv3d = stands_for("AbstractConv3d", Conv, _convolution(3))
AbstractConv_gradInputs = stands_for("AbstractConv_gradInputs", ConvByImages, _of_rank(_by_inputs))
AbstractConv2d_gradInputs = stands_for("AbstractConv2d_gradInputs", ConvByImages, _by_inputs(2))
AbstractConv3d_gradInputs = stands_for("AbstractConv3d_gradInputs", ConvByImages, _by_inputs(3))
AbstractConv_gradWeights = stands_for(
    "AbstractConv_gradWeights", ConvByFilters, _of_rank(_by_weights)
)
AbstractConv2d_gradWeights = stands_for("AbstractConv2d_gradWeights", ConvByFilters, _by_weights(2))
AbstractConv3d_gradWeights = stands_for("AbstractConv3d_gradWeights", ConvByFilters, _by_weights(3))


def _pool(ignore_border: bool = False, mode: str = "max", ndim: int = 2, openmp: Any = None) -> Any:
    """Pool: ``Pool(ignore_border, mode, ndim)(x, ws, stride, pad)``."""

    def op(x: Any, ws: Any, stride: Any = None, pad: Any = None) -> Any:
        return images.pool(ndim, x, ws, ignore_border, stride, pad, mode)

    return op


def _pooled_shape(
    imgshape: Any,
    ws: Any = None,
    ignore_border: bool = False,
    stride: Any = None,
    pad: Any = None,
    ndim: int = 2,
    ds: Any = None,
    st: Any = None,
    padding: Any = None,
) -> list[Any]:
    """Return the shape of what pooling returns."""
    size = images.either(ds, ws, "ds and ws")
    given = images.either(st, stride, "st and stride")
    pads = images.either(padding, pad, "padding and pad")
    shape = list(imgshape)
    if size is None or len(shape) < ndim:
        msg = f"Pool.out_shape needs a window, and a shape of {ndim} sizes or more; got {imgshape}."
        raise ArgumentError(msg)
    window = images.each(size, ndim)
    step = window if given is None else images.each(given, ndim)
    axes = zip(
        shape[-ndim:], window, step, images.each(0 if pads is None else pads, ndim), strict=True
    )
    if ignore_border:
        spatial = [pooled_size(*axis, partial=False) for axis in axes]
    else:
        spatial = [pooled_size(size, width, by, 0, partial=True) for size, width, by, _ in axes]
    return [*shape[:-ndim], *spatial]


Pool = stands_for("Pool", MaxPool, _pool, out_shape=staticmethod(_pooled_shape))


# ---- softmaxes -----------------------------------------------------------------------------------


def _softmax(axis: Any = -1) -> Any:
    """Return the softmax along an axis: ``Softmax(axis)(x)``."""
    return lambda c: pt.softmax(c, axis=axis)


def _log_softmax(axis: Any = -1) -> Any:
    """Return the logarithm of the softmax along an axis: ``LogSoftmax(axis)(x)``."""
    return lambda c: pt.log_softmax(c, axis=axis)


def _softmax_with_bias() -> Any:
    """Return the softmax of each row: ``SoftmaxWithBias()(x, b)``."""
    return neural.softmax_with_bias


Softmax = stands_for("Softmax", pt.Softmax, _softmax)
LogSoftmax = stands_for("LogSoftmax", pt.LogSoftmax, _log_softmax)
SoftmaxWithBias = stands_for("SoftmaxWithBias", (), _softmax_with_bias)
softmax_op = neural.softmax_of_rows
log_softmax_op = neural.log_softmax_of_rows


# ---- elements, reductions, matrices --------------------------------------------------------------


def _increment(inplace: bool = False, set_instead_of_inc: bool = False) -> Any:
    """Add to rows, or set them: ``AdvancedIncSubtensor1(...)(x, y, indices)``."""
    change = tensors.advanced_set_subtensor1 if set_instead_of_inc else None
    return change or tensors.advanced_inc_subtensor1


def _bartlett() -> Any:
    """Return a triangular window: ``Bartlett()(M)``."""
    return pt.bartlett


def _choose(mode: str = "raise") -> Any:
    """Take elements of several arrays: ``Choose(mode)(a, choices)``."""
    return lambda a, choices: pt.choose(a, choices, mode=mode)


def cpu_contiguous(x: Any) -> Any:
    """Return ``x``: how its memory lies is decided when a function is compiled."""
    return pt.as_tensor_variable(x)


def _contiguous() -> Any:
    """Return ``x``: ``CpuContiguous()(x)``."""
    return cpu_contiguous


def _cumulative(function: Any) -> Any:
    def make(axis: Any = None, mode: str | None = None) -> Any:
        """Accumulate along an axis: ``CumsumOp(axis)(x)``."""
        return lambda x: function(x, axis=axis)

    return make


def _diff(n: int = 1, axis: int = -1) -> Any:
    """Return differences of neighbours: ``DiffOp(n, axis)(x)``."""
    return lambda x: pt.diff(x, n, axis)


def _eye(dtype: Any = None) -> Any:
    """Return a matrix with ones on a diagonal: ``Eye(dtype)(n, m, k)``."""
    return lambda n, m=None, k=0: pt.eye(n, m, k, dtype=dtype)


def _tri(dtype: Any = None) -> Any:
    """Return a matrix with ones below a diagonal: ``Tri(dtype)(n, m, k)``."""
    return lambda n, m=None, k=0: pt.tri(n, m, k, dtype=dtype)


def _fill_diagonal() -> Any:
    """Set a diagonal: ``FillDiagonal()(a, val)``."""
    return pt.fill_diagonal


def _fill_diagonal_offset() -> Any:
    """Set a diagonal: ``FillDiagonalOffset()(a, val, offset)``."""
    return pt.fill_diagonal_offset


def _max_and_argmax(axis: Any = None) -> Any:
    """Return the largest elements and their places: ``MaxAndArgmax(axis)(x)``."""
    return lambda x: list(pt.max_and_argmax(x, axis=axis))


def _mean(axis: Any = None) -> Any:
    """Return the mean: ``Mean(axis)(x)``."""
    return lambda x: pt.mean(x, axis=axis)


def _matmul(dtype: Any = None) -> Any:
    """Return the product of matrices: ``MatMul(dtype)(a, b)``."""
    return lambda a, b: pt.matmul(a, b, dtype=dtype)


def _permute() -> Any:
    """Permute the rows of a matrix each: ``PermuteRowElements()(x, y, inverse)``."""
    return pt.permute_row_elements


def _broadcast() -> Any:
    """Broadcast to a shape: ``BroadcastTo()(x, *sizes)``."""
    return lambda x, *sizes: pt.broadcast_to(x, sizes)


def _repeat(axis: Any = None) -> Any:
    """Repeat elements: ``Repeat(axis)(x, repeats)``."""
    return lambda x, repeats: pt.repeat(x, repeats, axis=axis)


def _search(side: str = "left") -> Any:
    """Find places in sorted values: ``SearchsortedOp(side)(x, v, sorter)``."""
    return lambda x, v, sorter=None: pt.searchsorted(x, v, side, sorter)


def _unravel(order: str = "C") -> Any:
    """Return the index in each dimension: ``UnravelIndex(order)(indices, dims)``."""
    return lambda indices, dims: tensors.unravel_index(indices, dims, order)


def _ravel(mode: str = "raise", order: str = "C") -> Any:
    """Return indices into a flat array: ``RavelMultiIndex(mode, order)(*index, dims)``."""
    return lambda *given: tensors.ravel_multi_index(given[:-1], given[-1], mode, order)


def _inverse_of_tensor(ind: int = 2) -> Any:
    """Return the inverse for ``tensordot``: ``TensorInv(ind)(a)``."""
    return lambda a: pt.linalg.tensorinv(a, ind)


def _solve_tensor(axes: Any = None) -> Any:
    """Solve ``tensordot(a, x) = b``: ``TensorSolve(axes)(a, b)``."""
    return lambda a, b: pt.linalg.tensorsolve(a, b, axes)


def _cho_solve(lower: bool = True, **options: Any) -> Any:
    """Solve with a Cholesky factor: ``CholeskySolve(lower)(c, b)``."""
    return lambda c, b: pt.linalg.cho_solve((c, lower), b)


def _lstsq() -> Any:
    """Return the least-squares solution: ``Lstsq()(a, b, rcond)``."""
    return pt.linalg.lstsq


def _slogdet() -> Any:
    """Return the sign and the logarithm of the determinant: ``SLogDet()(x)``."""
    return pt.linalg.slogdet


def _lu(**options: Any) -> Any:
    """Return the LU factors: ``LU(permute_l=...)(x)``."""
    return lambda a: pt.linalg.lu(a, **options)


def _schur(**options: Any) -> Any:
    """Return the Schur form: ``Schur(output=...)(x)``."""
    return lambda a: pt.linalg.schur(a, **options)


def _rfft() -> Any:
    """Return the transform of real rows: ``RFFTOp()(x, s)``, with real and imaginary parts last."""
    return transform


def transform(a: Any, s: Any = None) -> Any:
    """Return the transform of a stack of real arrays, as pairs of real numbers."""
    a = pt.as_tensor_variable(a)
    axes = tuple(range(1, a.ndim))
    sizes = None if s is None else [pt.as_tensor_variable(s)[i] for i in range(a.ndim - 1)]
    found = pt.fft.rfftn(a, sizes, axes)
    return pt.stack([pt.real(found), pt.imag(found)], axis=-1)


def _irfft() -> Any:
    """Return the inverse of ``RFFTOp()``, not divided by the size: ``IRFFTOp()(x, s)``."""
    return inverse_transform


def inverse_transform(a: Any, s: Any = None) -> Any:
    """Return the inverse of :func:`transform`, times the number of elements."""
    a = pt.as_tensor_variable(a)
    rank = a.ndim - 2
    half = pt.complex(a[..., 0], a[..., 1])
    last = 2 * (half.shape[rank] - 1)
    sizes = (None,) * (rank - 1) + (last,)
    if s is not None:
        sizes = tuple(pt.as_tensor_variable(s)[i] for i in range(rank))
    return pt.fft.irfftn(half, s=sizes, axes=tuple(range(1, rank + 1)), norm="forward")


def _specify_shape() -> Any:
    """State a shape: ``SpecifyShape()(x, shape)``, or ``(x, *sizes)``."""

    def op(x: Any, *shape: Any) -> Any:
        one = len(shape) == 1 and not (
            shape[0] is None or isinstance(shape[0], int) or getattr(shape[0], "ndim", 1) == 0
        )
        return pt.specify_shape(x, shape[0] if one else shape)

    return op


def _cast(o_type: Any, name: str | None = None) -> Any:
    """Cast scalars to a type: ``Cast(scalar.float32)``."""
    return CASTS[o_type.dtype]


AdvancedIncSubtensor1 = stands_for("AdvancedIncSubtensor1", pt.AdvancedIncSubtensor, _increment)
Bartlett = stands_for("Bartlett", (), _bartlett)
BroadcastTo = stands_for("BroadcastTo", (), _broadcast)
Cast = stands_for("Cast", casting.Cast, _cast)
Choose = stands_for("Choose", (), _choose)
CpuContiguous = stands_for("CpuContiguous", (), _contiguous)
CumsumOp = stands_for("CumsumOp", pt.CumOp, _cumulative(pt.cumsum))
CumprodOp = stands_for("CumprodOp", pt.CumOp, _cumulative(pt.cumprod))
DiffOp = stands_for("DiffOp", (), _diff)
Eye = stands_for("Eye", (), _eye)
Tri = stands_for("Tri", (), _tri)
FillDiagonal = stands_for("FillDiagonal", (), _fill_diagonal)
FillDiagonalOffset = stands_for("FillDiagonalOffset", (), _fill_diagonal_offset)
MaxAndArgmax = stands_for("MaxAndArgmax", (), _max_and_argmax)
Mean = stands_for("Mean", (), _mean)
MatMul = stands_for("MatMul", (), _matmul)
PermuteRowElements = stands_for("PermuteRowElements", (), _permute)
Repeat = stands_for("Repeat", (), _repeat)
SearchsortedOp = stands_for("SearchsortedOp", pt.SearchSorted, _search)
UnravelIndex = stands_for("UnravelIndex", (), _unravel)
RavelMultiIndex = stands_for("RavelMultiIndex", (), _ravel)
SpecifyShape = stands_for("SpecifyShape", pt.SpecifyShape, _specify_shape)
TensorInv = stands_for("TensorInv", (), _inverse_of_tensor)
TensorSolve = stands_for("TensorSolve", (), _solve_tensor)
CholeskySolve = stands_for("CholeskySolve", (), _cho_solve)
Lstsq = stands_for("Lstsq", least_squares.Lstsq, _lstsq)
SLogDet = stands_for("SLogDet", (), _slogdet)
LU = stands_for("LU", lu.LUFactor, _lu)
Schur = stands_for("Schur", schur.Schur, _schur)
RFFTOp = stands_for("RFFTOp", RFFT, _rfft)
IRFFTOp = stands_for("IRFFTOp", IRFFT, _irfft)
