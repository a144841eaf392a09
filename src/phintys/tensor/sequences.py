"""Sequences of numbers by formula: geometric ones, powers, and windows for signals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ShapeError
from phintys._base.names import public_dir
from phintys.tensor import math
from phintys.tensor._rules import is_discrete
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.creation import check_sizes
from phintys.tensor.diagonals import diag
from phintys.tensor.dim_shuffle import expand_dims, moveaxis
from phintys.tensor.indexing.grids import indices
from phintys.tensor.ranges import arange, linspace
from phintys.tensor.reshaping import flatten
from phintys.tensor.shapes import sizes_of
from phintys.tensor.sizes import as_size, clip_size, fold, subtract_sizes
from phintys.tensor.type import promote

if TYPE_CHECKING:
    from collections.abc import Callable

    from phintys.tensor.variable import TensorVariable

__all__ = [
    "bartlett",
    "blackman",
    "diagflat",
    "fromfunction",
    "geomspace",
    "hamming",
    "hanning",
    "kaiser",
    "logspace",
    "vander",
]


def logspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> TensorVariable:
    """Return ``num`` numbers from ``base**start`` to ``base**stop``, evenly spaced in the exponent.

    Parameters
    ----------
    start, stop
        Exponents: numbers or tensors, which broadcast against each other.
    num
        How many numbers, an int or symbolic.
    endpoint
        Whether ``base**stop`` is the last number.
    base
        A number, or a tensor that broadcasts against the exponents.
    dtype
        Dtype of the result; floating by default.
    axis
        The position of the new dimension.

    Returns
    -------
    TensorVariable
        A floating tensor, or one of ``dtype``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.logspace(0.0, 3.0, 4).eval()
    array([   1.,   10.,  100., 1000.])
    """
    exponents = linspace(start, stop, num, endpoint)
    if not isinstance(base, int | float) or exponents.type.numpy_dtype.kind == "c":
        numbers = math.pow(as_tensor_variable(base), exponents)
    else:
        numbers = math.pow(math.cast(float(base), exponents.dtype), exponents)
    moved = moveaxis(numbers, 0, axis) if axis else numbers
    return moved if dtype is None else math.cast(moved, dtype)


def geomspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    dtype: Any = None,
    axis: int = 0,
) -> TensorVariable:
    """Return ``num`` numbers from ``start`` to ``stop``, each the same multiple of the one before.

    Parameters
    ----------
    start, stop
        Real numbers or tensors of the same sign, which broadcast against each other, and are not 0.
    num
        How many numbers, an int or symbolic.
    endpoint
        Whether ``stop`` is the last number.
    dtype
        Dtype of the result; floating by default.
    axis
        The position of the new dimension.

    Returns
    -------
    TensorVariable
        NaN where the signs differ.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.geomspace(1.0, 1000.0, 4).eval()
    array([   1.,   10.,  100., 1000.])
    """
    start, stop = _floating(start), _floating(stop)
    sign = math.sign(start)
    exponents = linspace(math.log10(start * sign), math.log10(stop * sign), num, endpoint)
    inner = math.pow(math.cast(10.0, exponents.dtype), exponents)
    count = sizes_of(inner)[0]
    place = arange(count).dimshuffle(0, *["x"] * (inner.ndim - 1))
    # The ends are exact, regardless of rounding.
    numbers = math.switch(math.eq(place, 0), start * sign, inner)
    if endpoint:
        last = math.logical_and(math.eq(place, subtract_sizes(count, 1)), math.gt(place, 0))
        numbers = math.switch(last, stop * sign, numbers)
    numbers = numbers * sign
    moved = moveaxis(numbers, 0, axis) if axis else numbers
    return moved if dtype is None else math.cast(moved, dtype)


def _floating(x: Any) -> Any:
    x = as_tensor_variable(x)
    return math.cast(x, "float64") if is_discrete(x) else x


def vander(x: Any, N: Any = None, increasing: bool = False) -> TensorVariable:
    """Return the Vandermonde matrix: powers of the elements of a vector, one in each row.

    Parameters
    ----------
    x
        A vector.
    N
        Number of columns, by default the length of ``x``.
    increasing
        Whether the powers increase from 0, or decrease to it.

    Returns
    -------
    TensorVariable
        A matrix with one row for each element of ``x``, and ``N`` columns; of the dtype to which
        that of ``x`` and int64 promote.

    Raises
    ------
    ShapeError
        ``x`` is not a vector.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.vander([2, 3], 3).eval()
    array([[4, 2, 1],
           [9, 3, 1]])
    """
    x = as_tensor_variable(x)
    if x.ndim != 1:
        msg = f"vander takes a vector, got {x} of type {x.type}."
        raise ShapeError(msg)
    count = sizes_of(x)[0] if N is None else fold(as_size(N, "vander: the number of columns"))
    check_sizes([count if isinstance(count, int) else None], "vander: the number of columns")
    powers = arange(count)
    if not increasing:
        powers = math.sub(subtract_sizes(count, 1), powers)
    base = math.cast(x, promote(x.dtype, "int64"))
    return math.pow(expand_dims(base, 1), powers)


def diagflat(v: Any, k: Any = 0) -> TensorVariable:
    """Return a matrix with the elements of an array, in order, on a diagonal.

    Parameters
    ----------
    v
        A tensor of any rank.
    k
        Offset from the main diagonal, an int or symbolic: positive is above it, negative below.

    Returns
    -------
    TensorVariable
        A square matrix with the dtype of ``v``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.diagflat([[1], [2]]).eval()
    array([[1, 0],
           [0, 2]])
    """
    return diag(flatten(as_tensor_variable(v)), k)


def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: Any = "float64", **kwargs: Any
) -> Any:
    """Apply a function to the indices of the elements of an array.

    Parameters
    ----------
    function
        It is called once, with one array of indices for each dimension.
    shape
        Ints or symbolic integers.
    dtype
        Dtype of the indices.
    **kwargs
        More arguments of the function.

    Returns
    -------
    TensorVariable
        What the function returns, as it is.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.fromfunction(lambda i, j: 10 * i + j, (2, 3), dtype="int64").eval()
    array([[ 0,  1,  2],
           [10, 11, 12]])
    """
    grids = indices(shape, dtype)
    return function(*(grids[dim] for dim in range(grids.type.shape[0])), **kwargs)


# ---- windows -------------------------------------------------------------------------------------


def bartlett(M: Any) -> TensorVariable:
    """Return the Bartlett window of ``M`` points: a triangle that is 0 at both ends.

    Parameters
    ----------
    M
        The number of points, an int or symbolic; none if it is not positive.

    Returns
    -------
    TensorVariable
        A floating vector of length ``M``, symmetric, with the maximum 1 for odd ``M``.

    Notes
    -----
    M. S. Bartlett, "Periodogram analysis and continuous spectra", Biometrika 37 (1950), 1-16.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.bartlett(5).eval()
    array([0. , 0.5, 1. , 0.5, 0. ])
    """
    place, reach = _places(M)
    return _window(reach, 1 - math.abs(place) / math.maximum(reach, 1))


def blackman(M: Any) -> TensorVariable:
    """Return the Blackman window of ``M`` points.

    ``0.42 + 0.5 cos(x) + 0.08 cos(2 x)`` for x from -pi to pi.

    Parameters
    ----------
    M
        The number of points, an int or symbolic; none if it is not positive.

    Returns
    -------
    TensorVariable
        A floating vector of length ``M``, symmetric, with the maximum 1 for odd ``M``.

    Notes
    -----
    R. B. Blackman and J. W. Tukey, "The Measurement of Power Spectra", 1958.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.blackman(5).eval().round(2)
    array([-0.  ,  0.34,  1.  ,  0.34, -0.  ])
    """
    place, reach = _places(M)
    angle = np.pi * place / math.maximum(reach, 1)
    return _window(reach, 0.42 + 0.5 * math.cos(angle) + 0.08 * math.cos(2 * angle))


def hamming(M: Any) -> TensorVariable:
    """Return the Hamming window of ``M`` points: ``0.54 + 0.46 cos(x)`` for x from -pi to pi.

    Parameters
    ----------
    M
        The number of points, an int or symbolic; none if it is not positive.

    Returns
    -------
    TensorVariable
        A floating vector of length ``M``, symmetric, with the maximum 1 for odd ``M``.

    Notes
    -----
    R. B. Blackman and J. W. Tukey, "The Measurement of Power Spectra", 1958.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.hamming(3).eval().round(2)
    array([0.08, 1.  , 0.08])
    """
    place, reach = _places(M)
    return _window(reach, 0.54 + 0.46 * math.cos(np.pi * place / math.maximum(reach, 1)))


def hanning(M: Any) -> TensorVariable:
    """Return the Hann window of ``M`` points: ``0.5 + 0.5 cos(x)`` for x from -pi to pi.

    Parameters
    ----------
    M
        The number of points, an int or symbolic; none if it is not positive.

    Returns
    -------
    TensorVariable
        A floating vector of length ``M``, symmetric, with the maximum 1 for odd ``M``.

    Notes
    -----
    R. B. Blackman and J. W. Tukey, "The Measurement of Power Spectra", 1958.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.hanning(3).eval().round(2)
    array([0., 1., 0.])
    """
    place, reach = _places(M)
    return _window(reach, 0.5 + 0.5 * math.cos(np.pi * place / math.maximum(reach, 1)))


def kaiser(M: Any, beta: Any) -> TensorVariable:
    """Return the Kaiser window of ``M`` points.

    Parameters
    ----------
    M
        Number of points, an int or symbolic integer.
    beta
        The shape: 0 is a rectangle, and larger ones are narrower.

    Returns
    -------
    TensorVariable
        A floating vector of length ``M``, symmetric, with the maximum 1 for odd ``M``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.kaiser(3, 14.0).eval().round(6)
    array([8.e-06, 1.e+00, 8.e-06])
    """
    place, reach = _places(M)
    beta = _floating(beta)
    ratio = place / math.maximum(reach, 1)
    inside = math.sqrt(math.maximum(1 - ratio * ratio, 0))
    return _window(reach, math.i0(beta * inside) / math.i0(beta))


def _places(M: Any) -> tuple[Any, Any]:
    """Return the odd or even numbers from ``1 - M`` to ``M - 1``, and the last one."""
    count = clip_size(fold(as_size(M, "The number of points")), 0, None)
    reach = math.cast(as_tensor_variable(subtract_sizes(count, 1)), "float64")
    return 2 * math.cast(arange(count), "float64") - reach, reach


def _window(reach: Any, values: Any) -> Any:
    """Return the values; 1 for a single point."""
    return math.switch(math.eq(reach, 0), 1.0, values)


__dir__ = public_dir(__name__)
