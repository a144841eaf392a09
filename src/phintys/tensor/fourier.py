"""The Ops of discrete Fourier transforms, which call ``scipy.fft``, and their arguments.

Three Ops do all: a complex transform, that of real numbers, of which half is kept, and its inverse.
Inputs have the sizes that are transformed already. SciPy computes in float32 and complex64 as well,
and lets other threads run meanwhile.

All three are linear. For ``Z = F x`` with gradient G, ``dC = Re sum(conj(G) dZ)`` gives the
gradient ``F^H G``, a transform in the other direction, with the factors of the norm exchanged.
Where half of a spectrum stands for all of it, the elements that stand for two count twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from phintys._base.errors import ArgumentError, DtypeError, OpContractError, ShapeError
from phintys._base.late import LateModule
from phintys.graph.apply import Apply
from phintys.graph.null_type import disconnected_type
from phintys.tensor import math
from phintys.tensor._rules import fit_gradient, is_missing
from phintys.tensor.convert import as_tensor_variable, constant
from phintys.tensor.creation import zeros
from phintys.tensor.dim_shuffle import dimshuffle, normalize_axis
from phintys.tensor.joining import concatenate
from phintys.tensor.ranges import arange
from phintys.tensor.shape_rules import Misfit, S, ShapedOp, Shapes
from phintys.tensor.shapes import sizes_of, specify_shape
from phintys.tensor.sizes import as_size, fold, same_size
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    import scipy.fft as scipy_fft
else:
    scipy_fft = LateModule("scipy.fft")


_NORMS = ("backward", "ortho", "forward")


def norm_of(norm: Any, function: str) -> str:
    """Return the name of a norm; ``None`` stands for ``"backward"``."""
    if norm is None:
        return "backward"
    if norm not in _NORMS:
        msg = f"{function}: norm is one of {', '.join(map(repr, _NORMS))}; got {norm!r}."
        raise ArgumentError(msg)
    return norm


class TransformArguments(NamedTuple):
    """A tensor, the axes along which it is transformed, and the number of points along each."""

    x: Any
    axes: tuple[int, ...]
    points: tuple[Any, ...]
    """``None`` for as many as there are."""


def checked(x: Any, s: Any, axes: Any, function: str) -> TransformArguments:
    """Return the arguments of a transform along several axes."""
    x = as_tensor_variable(x)
    points = None if s is None else _listed(s, "s", function)
    if axes is None:
        count = x.ndim if points is None else len(points)
        if count > x.ndim:
            msg = f"{function}: s has {count} numbers of points, but {x} is of type {x.type}."
            raise ShapeError(msg)
        axes = range(x.ndim - count, x.ndim)
    given = _listed(axes, "axes", function)
    found = tuple(normalize_axis(axis, x.ndim) for axis in given)
    if len(set(found)) < len(found):
        msg = f"{function}: an axis is named twice in {axes!r}. Transform twice if you mean it."
        raise ShapeError(msg)
    if points is None:
        points = [None] * len(found)
    if len(points) != len(found):
        msg = (
            f"{function}: s has a number of points for each of the axes, got s = {s!r} for "
            f"{len(found)} axes."
        )
        raise ArgumentError(msg)
    sizes = sizes_of(x)
    numbers = [_number(one, sizes[axis], function) for one, axis in zip(points, found, strict=True)]
    return TransformArguments(x, found, tuple(numbers))


def _listed(value: Any, name: str, function: str) -> list[Any]:
    if isinstance(value, list | tuple | range):
        return list(value)
    msg = f"{function}: {name} is a tuple with one entry for each axis, got {value!r}."
    raise ArgumentError(msg)


def _number(points: Any, size: Any, function: str) -> Any:
    """Return a number of points as an int or a symbolic size; ``None`` for the default.

    In functions of several axes -1 stands for the size, which is not the default of real ones.
    """
    if points is None:
        return None
    found = fold(as_size(points, f"{function}: a number of points"))
    if isinstance(found, int) and found == -1 and function.endswith(("n", "2")):
        return size
    if isinstance(found, int) and found < 1:
        msg = f"{function}: the number of points is at least 1, got {found}."
        raise ShapeError(msg)
    return found


def resized(x: Any, axis: int, points: Any) -> Any:
    """Return ``x`` with a number of points along an axis: the first ones, and zeros after them."""
    size = sizes_of(x)[axis]
    if points is None or same_size(points, size):
        return x
    first = (slice(None),) * axis
    is_known = isinstance(size, int) and isinstance(points, int)
    if is_known and points < size:
        return x[(*first, slice(None, points))]
    missing = points - size if is_known else math.maximum(points - size, 0)
    sizes = list(sizes_of(x))
    sizes[axis] = missing
    cut = x if is_known else x[(*first, slice(None, points))]
    found = concatenate([cut, zeros(tuple(sizes), dtype=x.dtype)], axis)
    stated: list[Any] = [None] * x.ndim
    stated[axis] = points
    return specify_shape(found, stated)


SWAPPED = {"backward": "forward", "forward": "backward", "ortho": "ortho"}
"""For each norm, the one with which the inverse direction is the adjoint."""

_COMPUTED = {"float16": "float32", "float32": "float32", "complex64": "complex64"}
_HINT = "n=, or s=, sets the number of points, and adds zeros where there are fewer."


_EMPTY = Misfit("empty", "{0} points")
_HALF = Misfit("half", "{0} elements, not {1}")
_POINTS = Misfit("points", "{0} points")


class _Transform(ShapedOp):
    """Base class of the transforms.

    Parameters
    ----------
    axes
        The axes, counted from the first; of real transforms the last one is halved.
    norm
        ``"backward"``: the inverse is divided by the number of points; ``"forward"``: the transform
        is; ``"ortho"``: both are, by its root.
    """

    __props__: ClassVar[tuple[str, ...]] = ("axes", "norm")

    def __init__(self, axes: Sequence[int], norm: str = "backward") -> None:
        self.axes = tuple(axes)
        if min(self.axes, default=0) < 0:
            msg = f"The axes of {type(self).__name__} count from the front, got {self.axes}."
            raise OpContractError(msg)
        self.norm: Any = norm

    def after(self, count: int) -> _Transform:
        """Return the same transform of arrays with some more axes before the others."""
        return type(self)([axis + count for axis in self.axes], self.norm)

    def _input(self, x: Any) -> Any:
        """Return the input in a dtype that SciPy computes in, with its sizes checked."""
        x = as_tensor_variable(x)
        if x.ndim <= max(self.axes):
            msg = f"{self} takes tensors of rank {max(self.axes) + 1} or more, got {x} of {x.type}."
            raise ShapeError(msg)
        wide = "complex128" if x.type.numpy_dtype.kind == "c" else "float64"
        dtype = _COMPUTED.get(x.dtype, wide)
        return x if x.dtype == dtype else math.cast(x, dtype)

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        """Return the shape of the input, which has points to transform along each axis."""
        sizes = list(shapes.shapes[0])
        for axis in self.axes:
            sizes[axis] = shapes.at_least(sizes[axis], 1, _EMPTY._replace(dim=axis))
        return [tuple(sizes)]

    def misfit_subject(self, misfit: Misfit, shapes: Shapes[Any]) -> str:
        """Name the numbers of points."""
        if misfit is _HALF:
            return f"{self}: the number of elements, and half that of points"
        return f"{self}: a number of points"

    def misfit_error(self, misfit: Misfit, shapes: Shapes[Any]) -> ShapeError:
        """Show the shape."""
        x, shape = shapes.inputs[0], shapes.shapes[0]
        return ShapeError(
            f"{self}: {x} of shape {tuple(shape)} has no points to transform along axis "
            f"{misfit.dim}. {_HINT}"
        )

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """Transform the direction."""
        point = eval_points[0]
        return [None if is_missing(point) else self(point, *inputs[1:])]

    def flops(self, input_shapes: Sequence[Any], output_shapes: Sequence[Any]) -> int:
        """Return about ``5 n log2(n)`` for n points."""
        shape = max(input_shapes[0], output_shapes[0], key=np.prod)
        points = max(int(np.prod([shape[axis] for axis in self.axes], dtype=int)), 1)
        return int(5 * np.prod(shape, dtype=int) * np.log2(points))


def _complex(dtype: str) -> str:
    return "complex64" if dtype in {"float32", "complex64"} else "complex128"


def _real(dtype: str) -> str:
    return "float32" if dtype == "complex64" else "float64"


class FFT(_Transform):
    """Return the Fourier transform along some axes, or its inverse.

    Parameters
    ----------
    axes, norm
        As for all transforms.
    inverse
        Whether exponents have the positive sign.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.tensor.fourier import FFT
    >>> FFT((0,))([1.0, 2.0]).eval().real
    array([ 3., -1.])
    """

    __props__: ClassVar[tuple[str, ...]] = ("axes", "norm", "inverse")

    def __init__(self, axes: Sequence[int], norm: str = "backward", inverse: bool = False) -> None:
        super().__init__(sorted(axes), norm)
        self.inverse = bool(inverse)

    def after(self, count: int) -> FFT:
        """Return the same transform of arrays with some more axes before the others."""
        return FFT([axis + count for axis in self.axes], self.norm, self.inverse)

    def make_node(self, x: Any) -> Apply:
        """Apply to real or complex numbers."""
        x = self._input(x)
        return Apply(self, [x], [TensorType(_complex(x.dtype), *self.static_shapes([x]))()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Transform with SciPy."""
        (x,) = inputs
        self.shapes_of_results(node.inputs, [x.shape])
        function = scipy_fft.ifftn if self.inverse else scipy_fft.fftn
        output_storage[0][0] = function(x, axes=self.axes, norm=self.norm)

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Transform in the other direction."""
        adjoint = FFT(self.axes, SWAPPED[self.norm], not self.inverse)
        return [fit_gradient(adjoint(output_grads[0]), inputs[0])]


class RFFT(_Transform):
    """Return the Fourier transform of real numbers, with half of the last one of the axes.

    The other half is the conjugate of what is returned, ``n // 2 + 1`` elements for n points.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.tensor.fourier import RFFT
    >>> RFFT((0,))([1.0, 2.0, 1.0]).eval().round(3)
    array([ 4. +0.j   , -0.5-0.866j])
    """

    def make_node(self, x: Any) -> Apply:
        """Apply to real numbers."""
        x = self._input(x)
        if x.type.numpy_dtype.kind == "c":
            msg = (
                f"{self} takes real numbers, got {x} of dtype {x.dtype}. For complex ones use "
                "pt.fft.fft, pt.fft.fft2 or pt.fft.fftn."
            )
            raise DtypeError(msg)
        return Apply(self, [x], [TensorType(_complex(x.dtype), *self.static_shapes([x]))()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Transform with SciPy."""
        (x,) = inputs
        self.shapes_of_results(node.inputs, [x.shape])
        output_storage[0][0] = scipy_fft.rfftn(x, axes=self.axes, norm=self.norm)

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        """Return the shape of the input, with one axis halved."""
        sizes = list(super().output_shapes(shapes)[0])
        sizes[self.axes[-1]] = shapes.add(shapes.floor_div(sizes[self.axes[-1]], 2), 1)
        return [tuple(sizes)]

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Transform back; elements that stand for two are counted twice by that, and here once."""
        (x,) = inputs
        points = sizes_of(x)[self.axes[-1]]
        g = output_grads[0] * _counts(output_grads[0], self.axes[-1], points, 0.5)
        return [fit_gradient(IRFFT(self.axes, SWAPPED[self.norm])(g, points), x)]


class IRFFT(_Transform):
    """Return the real numbers of which a transform is given, with half of the last of the axes.

    Takes the transform, and the number of points along the halved axis.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.tensor.fourier import IRFFT
    >>> IRFFT((0,))([4.0, -0.5 - 0.866j], 3).eval().round(3)
    array([1., 2., 1.])
    """

    def make_node(self, x: Any, points: Any) -> Apply:
        """Apply to a transform, and a number of points."""
        x = self._input(x)
        x = math.cast(x, _complex(x.dtype))
        inputs = [x, as_size(points, f"{self}: the number of points")]
        return Apply(self, inputs, [TensorType(_real(x.dtype), *self.static_shapes(inputs))()])

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        """Return the shape of the input, with the number of points along one axis."""
        sizes = list(super().output_shapes(shapes)[0])
        points = shapes.at_least(shapes.value(1), 1, _POINTS)
        half = shapes.add(shapes.floor_div(points, 2), 1)
        shapes.equal(sizes[self.axes[-1]], half, _HALF)
        sizes[self.axes[-1]] = points
        return [tuple(sizes)]

    def misfit_error(self, misfit: Misfit, shapes: Shapes[Any]) -> ShapeError:
        """Show the number of points, or the shape."""
        if misfit is not _POINTS and misfit is not _HALF:
            return super().misfit_error(misfit, shapes)
        points = shapes.value(1)
        if misfit is _POINTS:
            return ShapeError(f"{self}: the number of points must be at least 1, got {points}.")
        return ShapeError(
            f"{self}: the transform of {points} real numbers has {points // 2 + 1} elements, got "
            f"{shapes.inputs[0]} of shape {tuple(shapes.shapes[0])}."
        )

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Transform with SciPy."""
        x, points = inputs[0], int(inputs[1])
        self.shapes_of_results(node.inputs, [x.shape, ()], [x, points])
        sizes = [*(x.shape[axis] for axis in self.axes[:-1]), points]
        output_storage[0][0] = scipy_fft.irfftn(x, s=sizes, axes=self.axes, norm=self.norm)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """The number of points has no derivative."""
        return [[True], [False]]

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Transform forth; elements that stand for two count twice."""
        x, points = inputs
        found = RFFT(self.axes, SWAPPED[self.norm])(output_grads[0])
        counts = _counts(found, self.axes[-1], fold(points), 2.0)
        return [fit_gradient(found * counts, x), disconnected_type()]


def _counts(spectrum: Any, axis: int, points: Any, twice: float) -> Any:
    """Return 1 for the elements of half a spectrum that are real, and a number for the others."""
    dtype = _real(spectrum.dtype)
    if isinstance(points, int):
        numbers = np.arange(points // 2 + 1)
        is_single = (numbers == 0) | (2 * numbers == points)
        counts = constant(np.where(is_single, 1.0, twice).astype(dtype))
    else:
        numbers = arange(points // 2 + 1)
        is_single = math.or_(math.eq(numbers, 0), math.eq(2 * numbers, points))
        counts = math.switch(is_single, *(np.asarray(one, dtype) for one in (1.0, twice)))
    order = [0 if dim == axis else "x" for dim in range(spectrum.ndim)]
    return dimshuffle(counts, *order)
