"""``phintys.tensor.fft``: discrete Fourier transforms.

The names, arguments and results are those of NumPy and of the array API. Float32 and complex64 are
kept; integers are transformed as float64. ``docs/fourier.md`` has a table of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.config import config
from phintys._base.errors import ArgumentError, DtypeError, ShapeError
from phintys._base.late import late_names
from phintys.tensor import math
from phintys.tensor._rules import conjugate
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.devices import takes_device
from phintys.tensor.dim_shuffle import normalize_axes
from phintys.tensor.fourier import FFT, IRFFT, RFFT, SWAPPED, checked, norm_of, resized
from phintys.tensor.ranges import arange
from phintys.tensor.shapes import sizes_of
from phintys.tensor.sizes import as_size, fold
from phintys.tensor.synonyms import also_named
from phintys.tensor.tiling import roll
from phintys.tensor.type import normalize_dtype

if TYPE_CHECKING:
    from phintys.tensor.variable import TensorVariable
else:
    __getattr__, __dir__ = late_names(__name__)

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]


def _complex(function: str, x: Any, s: Any, axes: Any, norm: Any, inverse: bool) -> Any:
    """Return a complex transform, or its inverse."""
    norm = norm_of(norm, function)
    x, axes, points = checked(x, s, axes, function)
    for axis, number in zip(axes, points, strict=True):
        x = resized(x, axis, number)
    if axes:
        return FFT(axes, norm, inverse)(x)
    return math.cast(x, np.result_type(x.dtype, "complex64").name)


def _some(axes: tuple[int, ...], x: Any, function: str) -> None:
    if not axes:
        msg = f"{function} halves the last of the axes, but {x} of type {x.type} has none."
        raise ShapeError(msg)


def _real(function: str, x: Any, s: Any, axes: Any, norm: Any) -> Any:
    """Return the transform of real numbers."""
    norm = norm_of(norm, function)
    x, axes, points = checked(x, s, axes, function)
    _some(axes, x, function)
    for axis, number in zip(axes, points, strict=True):
        x = resized(x, axis, number)
    return RFFT(axes, norm)(x)


def _real_inverse(function: str, x: Any, s: Any, axes: Any, norm: Any) -> Any:
    """Return the real numbers of a transform; by default, their number is even."""
    norm = norm_of(norm, function)
    x, axes, points = checked(x, s, axes, function)
    _some(axes, x, function)
    for axis, number in zip(axes[:-1], points[:-1], strict=True):
        x = resized(x, axis, number)
    last, number = axes[-1], points[-1]
    if number is None:
        number = 2 * (sizes_of(x)[last] - 1)
    else:
        x = resized(x, last, number // 2 + 1)
    if isinstance(number, int) and number < 1:
        msg = (
            f"{function}: the number of points is at least 1, but by default it is "
            f"2 * ({number // 2 + 1} - 1) for {x} of shape {x.type.shape}. State n=, or s=."
        )
        raise ShapeError(msg)
    return IRFFT(axes, norm)(x, number)


@also_named
def fft(x: Any, n: Any = None, axis: int = -1, norm: str | None = "backward") -> TensorVariable:
    """Return the Fourier transform along an axis: ``sum(k) x[k] exp(-2 pi i j k / n)``.

    Parameters
    ----------
    x
        A tensor of real or complex numbers.
    n
        The number of points, an int or symbolic: the first ones are taken, or zeros added. By
        default that of ``x``.
    axis
        The axis.
    norm
        ``"backward"``: the inverse is divided by the number of points; ``"forward"``: the transform
        is; ``"ortho"``: both are, by its root.

    Returns
    -------
    TensorVariable
        A complex tensor with ``n`` elements along the axis.

    Raises
    ------
    ShapeError
        ``axis`` is out of range, or there are no points.
    ArgumentError
        ``norm`` is none of the three.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.fft.fft([1.0, 2.0]).eval().real
    array([ 3., -1.])
    """
    return _complex("fft", x, [n], [axis], norm, inverse=False)


@also_named
def ifft(x: Any, n: Any = None, axis: int = -1, norm: str | None = "backward") -> TensorVariable:
    """Return the inverse of :func:`fft`.

    Parameters
    ----------
    x
        A tensor of real or complex numbers.
    n
        The number of points, an int or symbolic: the first ones are taken, or zeros added. By
        default that of ``x``.
    axis
        The axis.
    norm
        ``"backward"``: the inverse is divided by the number of points; ``"forward"``: the transform
        is; ``"ortho"``: both are, by its root.

    Returns
    -------
    TensorVariable
        A complex tensor with ``n`` elements along the axis.

    Raises
    ------
    ShapeError
        ``axis`` is out of range, or there are no points.
    ArgumentError
        ``norm`` is none of the three.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.fft.ifft([3.0, -1.0]).eval().real
    array([1., 2.])
    """
    return _complex("ifft", x, [n], [axis], norm, inverse=True)


@also_named
def rfft(x: Any, n: Any = None, axis: int = -1, norm: str | None = "backward") -> TensorVariable:
    """Return the Fourier transform of real numbers: the first ``n // 2 + 1`` elements of it.

    The others are conjugates of these.

    Parameters
    ----------
    x
        A tensor of real numbers.
    n
        The number of points, an int or symbolic: the first ones are taken, or zeros added. By
        default that of ``x``.
    axis
        The axis.
    norm
        ``"backward"``: the inverse is divided by the number of points; ``"forward"``: the transform
        is; ``"ortho"``: both are, by its root.

    Returns
    -------
    TensorVariable
        A complex tensor with ``n // 2 + 1`` elements along the axis.

    Raises
    ------
    ShapeError
        ``axis`` is out of range, or there are no points.
    ArgumentError
        ``norm`` is none of the three.
    DtypeError
        ``x`` is complex.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.fft.rfft([1.0, 2.0, 1.0]).eval().round(3)
    array([ 4. +0.j   , -0.5-0.866j])
    """
    return _real("rfft", x, [n], [axis], norm)


@also_named
def irfft(x: Any, n: Any = None, axis: int = -1, norm: str | None = "backward") -> TensorVariable:
    """Return the inverse of :func:`rfft`: real numbers.

    Parameters
    ----------
    x
        A tensor: half of a transform, that of real numbers.
    n
        The number of points of the result. By default ``2 * (m - 1)`` for m elements: it is not
        known whether there was one more.
    axis
        The axis.
    norm
        ``"backward"``: the inverse is divided by the number of points; ``"forward"``: the transform
        is; ``"ortho"``: both are, by its root.

    Returns
    -------
    TensorVariable
        A real tensor with ``n`` elements along the axis.

    Raises
    ------
    ShapeError
        ``axis`` is out of range, or there are no points.
    ArgumentError
        ``norm`` is none of the three.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.fft.irfft(pt.fft.rfft([1.0, 2.0, 1.0]), n=3).eval().round(3)
    array([1., 2., 1.])
    """
    return _real_inverse("irfft", x, [n], [axis], norm)


@also_named
def hfft(x: Any, n: Any = None, axis: int = -1, norm: str | None = "backward") -> TensorVariable:
    """Return the Fourier transform of numbers whose second half is the conjugate of the first.

    It is real.

    Parameters
    ----------
    x
        A tensor: the first half of the numbers.
    n
        The number of points of the result. By default ``2 * (m - 1)`` for m elements: it is not
        known whether there was one more.
    axis
        The axis.
    norm
        ``"backward"``: the inverse is divided by the number of points; ``"forward"``: the transform
        is; ``"ortho"``: both are, by its root.

    Returns
    -------
    TensorVariable
        A real tensor with ``n`` elements along the axis.

    Raises
    ------
    ShapeError
        ``axis`` is out of range, or there are no points.
    ArgumentError
        ``norm`` is none of the three.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.fft.hfft([1.0, 2.0, 1.0]).eval()
    array([ 6.,  0., -2.,  0.])
    """
    norm = SWAPPED[norm_of(norm, "hfft")]
    return _real_inverse("hfft", conjugate(as_tensor_variable(x)), [n], [axis], norm)


@also_named
def ihfft(x: Any, n: Any = None, axis: int = -1, norm: str | None = "backward") -> TensorVariable:
    """Return the inverse of :func:`hfft`: the first half of it.

    Parameters
    ----------
    x
        A tensor of real numbers.
    n
        The number of points, an int or symbolic: the first ones are taken, or zeros added. By
        default that of ``x``.
    axis
        The axis.
    norm
        ``"backward"``: the inverse is divided by the number of points; ``"forward"``: the transform
        is; ``"ortho"``: both are, by its root.

    Returns
    -------
    TensorVariable
        A complex tensor with ``n // 2 + 1`` elements along the axis.

    Raises
    ------
    ShapeError
        ``axis`` is out of range, or there are no points.
    ArgumentError
        ``norm`` is none of the three.
    DtypeError
        ``x`` is complex.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.fft.ihfft([6.0, 0.0, -2.0, 0.0]).eval().real
    array([1., 2., 1.])
    """
    norm = SWAPPED[norm_of(norm, "ihfft")]
    return math.conj(_real("ihfft", x, [n], [axis], norm))


@also_named
def fftn(x: Any, s: Any = None, axes: Any = None, norm: str | None = "backward") -> TensorVariable:
    """Return the Fourier transform along several axes.

    Parameters
    ----------
    x
        A tensor of real or complex numbers.
    s
        The number of points along each axis, as a tuple: the first ones are taken, or zeros added.
        By default, and where it is -1 or ``None``, that of ``x``.
    axes
        The axes. By default all; or as many of the last ones as ``s`` has entries.
    norm
        ``"backward"``: the inverse is divided by the number of points; ``"forward"``: the transform
        is; ``"ortho"``: both are, by its root.

    Returns
    -------
    TensorVariable
        A complex tensor, with the sizes ``s`` along the axes.

    Raises
    ------
    ShapeError
        An axis is out of range or named twice, or there are no points.
    ArgumentError
        ``norm`` is none of the three, or ``s`` has another number of entries than ``axes``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.fft.fftn([[1.0, 2.0], [3.0, 4.0]]).eval().real
    array([[10., -2.],
           [-4.,  0.]])
    """
    return _complex("fftn", x, s, axes, norm, inverse=False)


@also_named
def ifftn(x: Any, s: Any = None, axes: Any = None, norm: str | None = "backward") -> TensorVariable:
    """Return the inverse of :func:`fftn`.

    Parameters
    ----------
    x
        A tensor of real or complex numbers.
    s
        The number of points along each axis, as a tuple: the first ones are taken, or zeros added.
        By default, and where it is -1 or ``None``, that of ``x``.
    axes
        The axes. By default all; or as many of the last ones as ``s`` has entries.
    norm
        ``"backward"``: the inverse is divided by the number of points; ``"forward"``: the transform
        is; ``"ortho"``: both are, by its root.

    Returns
    -------
    TensorVariable
        A complex tensor, with the sizes ``s`` along the axes.

    Raises
    ------
    ShapeError
        An axis is out of range or named twice, or there are no points.
    ArgumentError
        ``norm`` is none of the three, or ``s`` has another number of entries than ``axes``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.fft.ifftn([[1.0, 2.0], [3.0, 4.0]]).eval().real
    array([[ 2.5, -0.5],
           [-1. ,  0. ]])
    """
    return _complex("ifftn", x, s, axes, norm, inverse=True)


@also_named
def rfftn(x: Any, s: Any = None, axes: Any = None, norm: str | None = "backward") -> TensorVariable:
    """Return the Fourier transform of real numbers along several axes, with half of the last one.

    Parameters
    ----------
    x
        A tensor of real numbers.
    s
        The number of points along each axis, as a tuple: the first ones are taken, or zeros added.
        By default, and where it is -1 or ``None``, that of ``x``.
    axes
        The axes. By default all; or as many of the last ones as ``s`` has entries.
    norm
        ``"backward"``: the inverse is divided by the number of points; ``"forward"``: the transform
        is; ``"ortho"``: both are, by its root.

    Returns
    -------
    TensorVariable
        A complex tensor, with the sizes ``s`` along the axes, of which the last is ``s[-1] // 2 +
        1``.

    Raises
    ------
    ShapeError
        An axis is out of range or named twice, or there are no points.
    ArgumentError
        ``norm`` is none of the three, or ``s`` has another number of entries than ``axes``.
    DtypeError
        ``x`` is complex.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.fft.rfftn([[1.0, 2.0], [3.0, 4.0]]).eval().real
    array([[10., -2.],
           [-4.,  0.]])
    """
    return _real("rfftn", x, s, axes, norm)


@also_named
def irfftn(
    x: Any, s: Any = None, axes: Any = None, norm: str | None = "backward"
) -> TensorVariable:
    """Return the inverse of :func:`rfftn`: real numbers.

    Parameters
    ----------
    x
        A tensor: half of a transform, that of real numbers.
    s
        The number of points of the result along each axis, as a tuple. By default that of ``x``,
        and ``2 * (m - 1)`` for m elements of the last axis.
    axes
        The axes. By default all; or as many of the last ones as ``s`` has entries.
    norm
        ``"backward"``: the inverse is divided by the number of points; ``"forward"``: the transform
        is; ``"ortho"``: both are, by its root.

    Returns
    -------
    TensorVariable
        A real tensor, with the sizes ``s`` along the axes.

    Raises
    ------
    ShapeError
        An axis is out of range or named twice, or there are no points.
    ArgumentError
        ``norm`` is none of the three, or ``s`` has another number of entries than ``axes``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.fft.irfftn([[1.0, 2.0], [3.0, 4.0]]).eval().real
    array([[ 2.5, -0.5],
           [-1. ,  0. ]])
    """
    return _real_inverse("irfftn", x, s, axes, norm)


@also_named
def fft2(
    x: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = "backward"
) -> TensorVariable:
    """Return the Fourier transform along two axes.

    Parameters
    ----------
    x
        A tensor of real or complex numbers.
    s
        The number of points along each axis, as a tuple: the first ones are taken, or zeros added.
        By default, and where it is -1 or ``None``, that of ``x``.
    axes
        The two axes.
    norm
        ``"backward"``: the inverse is divided by the number of points; ``"forward"``: the transform
        is; ``"ortho"``: both are, by its root.

    Returns
    -------
    TensorVariable
        A complex tensor, with the sizes ``s`` along the axes.

    Raises
    ------
    ShapeError
        An axis is out of range or named twice, or there are no points.
    ArgumentError
        ``norm`` is none of the three, or ``s`` has another number of entries than ``axes``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.fft.fft2([[1.0, 2.0], [3.0, 4.0]]).eval().real
    array([[10., -2.],
           [-4.,  0.]])
    """
    return _complex("fft2", x, s, axes, norm, inverse=False)


@also_named
def ifft2(
    x: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = "backward"
) -> TensorVariable:
    """Return the inverse of :func:`fft2`.

    Parameters
    ----------
    x
        A tensor of real or complex numbers.
    s
        The number of points along each axis, as a tuple: the first ones are taken, or zeros added.
        By default, and where it is -1 or ``None``, that of ``x``.
    axes
        The two axes.
    norm
        ``"backward"``: the inverse is divided by the number of points; ``"forward"``: the transform
        is; ``"ortho"``: both are, by its root.

    Returns
    -------
    TensorVariable
        A complex tensor, with the sizes ``s`` along the axes.

    Raises
    ------
    ShapeError
        An axis is out of range or named twice, or there are no points.
    ArgumentError
        ``norm`` is none of the three, or ``s`` has another number of entries than ``axes``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.fft.ifft2([[1.0, 2.0], [3.0, 4.0]]).eval().real
    array([[ 2.5, -0.5],
           [-1. ,  0. ]])
    """
    return _complex("ifft2", x, s, axes, norm, inverse=True)


@also_named
def rfft2(
    x: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = "backward"
) -> TensorVariable:
    """Return the Fourier transform of real numbers along two axes, with half of the last one.

    Parameters
    ----------
    x
        A tensor of real numbers.
    s
        The number of points along each axis, as a tuple: the first ones are taken, or zeros added.
        By default, and where it is -1 or ``None``, that of ``x``.
    axes
        The two axes.
    norm
        ``"backward"``: the inverse is divided by the number of points; ``"forward"``: the transform
        is; ``"ortho"``: both are, by its root.

    Returns
    -------
    TensorVariable
        A complex tensor, with the sizes ``s`` along the axes, of which the last is ``s[-1] // 2 +
        1``.

    Raises
    ------
    ShapeError
        An axis is out of range or named twice, or there are no points.
    ArgumentError
        ``norm`` is none of the three, or ``s`` has another number of entries than ``axes``.
    DtypeError
        ``x`` is complex.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.fft.rfft2([[1.0, 2.0], [3.0, 4.0]]).eval().real
    array([[10., -2.],
           [-4.,  0.]])
    """
    return _real("rfft2", x, s, axes, norm)


@also_named
def irfft2(
    x: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = "backward"
) -> TensorVariable:
    """Return the inverse of :func:`rfft2`: real numbers.

    Parameters
    ----------
    x
        A tensor: half of a transform, that of real numbers.
    s
        The number of points of the result along each axis, as a tuple. By default that of ``x``,
        and ``2 * (m - 1)`` for m elements of the last axis.
    axes
        The two axes.
    norm
        ``"backward"``: the inverse is divided by the number of points; ``"forward"``: the transform
        is; ``"ortho"``: both are, by its root.

    Returns
    -------
    TensorVariable
        A real tensor, with the sizes ``s`` along the axes.

    Raises
    ------
    ShapeError
        An axis is out of range or named twice, or there are no points.
    ArgumentError
        ``norm`` is none of the three, or ``s`` has another number of entries than ``axes``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.fft.irfft2([[1.0, 2.0], [3.0, 4.0]]).eval().real
    array([[ 2.5, -0.5],
           [-1. ,  0. ]])
    """
    return _real_inverse("irfft2", x, s, axes, norm)


# ---- frequencies, and their order ----------------------------------------------------------------


def _number_of_points(n: Any, function: str) -> Any:
    points = fold(as_size(n, f"{function}: n"))
    if isinstance(points, int) and points < 1:
        msg = f"{function}: n, the number of points, is at least 1; got {points}."
        raise ArgumentError(msg)
    return points


def _scaled(numbers: Any, points: Any, d: Any, dtype: Any, function: str) -> Any:
    """Return numbers of periods as frequencies."""
    dtype = config.floatX if dtype is None else normalize_dtype(dtype)
    if np.dtype(dtype).kind != "f":
        msg = f"{function}: the dtype of frequencies is a real floating one, got {dtype}."
        raise DtypeError(msg)
    step = math.cast(1.0 / (points * as_tensor_variable(d)), dtype)
    return math.cast(numbers, dtype) * step


@takes_device
def fftfreq(n: Any, d: Any = 1.0, dtype: Any = None) -> TensorVariable:
    """Return the frequencies of the elements of :func:`fft`, negative ones in the second half.

    Parameters
    ----------
    n
        The number of points, an int or symbolic.
    d
        The distance of two points; the unit of frequencies is its inverse.
    dtype
        A real floating dtype; by default ``config.floatX``.

    Returns
    -------
    TensorVariable
        A vector of length ``n``: cycles for each unit of ``d``.

    Raises
    ------
    ArgumentError
        ``n`` is less than 1.
    DtypeError
        ``n`` is not an integer, or ``dtype`` is another one.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.fft.fftfreq(4, 0.5).eval()
    array([ 0. ,  0.5, -1. , -0.5])
    """
    points = _number_of_points(n, "fftfreq")
    half = points // 2
    numbers = (arange(points) + half) % points - half
    return _scaled(numbers, points, d, dtype, "fftfreq")


@takes_device
def rfftfreq(n: Any, d: Any = 1.0, dtype: Any = None) -> TensorVariable:
    """Return the frequencies of the elements of :func:`rfft`.

    Parameters
    ----------
    n
        The number of points that are transformed, an int or symbolic.
    d
        The distance of two points; the unit of frequencies is its inverse.
    dtype
        A real floating dtype; by default ``config.floatX``.

    Returns
    -------
    TensorVariable
        A vector of length ``n // 2 + 1``: cycles for each unit of ``d``.

    Raises
    ------
    ArgumentError
        ``n`` is less than 1.
    DtypeError
        ``n`` is not an integer, or ``dtype`` is another one.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.fft.rfftfreq(4, 0.5).eval()
    array([0. , 0.5, 1. ])
    """
    points = _number_of_points(n, "rfftfreq")
    return _scaled(arange(points // 2 + 1), points, d, dtype, "rfftfreq")


def _shifted(x: Any, axes: Any, *, back: bool) -> Any:
    x = as_tensor_variable(x)
    sizes = sizes_of(x)
    for axis in normalize_axes(axes, x.ndim):
        half = sizes[axis] // 2
        x = roll(x, -half if back else half, axis)
    return x


def fftshift(x: Any, axes: Any = None) -> TensorVariable:
    """Return a transform, or its frequencies, with the frequency 0 in the middle.

    Parameters
    ----------
    x
        A tensor.
    axes
        An axis, or several; by default all.

    Returns
    -------
    TensorVariable
        A tensor with the shape and dtype of ``x``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.fft.fftshift(pt.fft.fftfreq(4)).eval()
    array([-0.5 , -0.25,  0.  ,  0.25])
    """
    return _shifted(x, axes, back=False)


def ifftshift(x: Any, axes: Any = None) -> TensorVariable:
    """Return the inverse of :func:`fftshift`: the frequency 0 is first.

    Parameters
    ----------
    x
        A tensor.
    axes
        An axis, or several; by default all.

    Returns
    -------
    TensorVariable
        A tensor with the shape and dtype of ``x``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.fft.ifftshift([-2, -1, 0, 1]).eval()
    array([ 0,  1, -2, -1])
    """
    return _shifted(x, axes, back=True)
