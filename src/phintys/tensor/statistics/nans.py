"""Reductions that ignore NaN, and replacing NaN and infinities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ArgumentError, DomainError, DtypeError
from phintys.tensor import math
from phintys.tensor._rules import Axis, is_discrete
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.cumulative import cumprod, cumsum
from phintys.tensor.dim_shuffle import normalize_axes
from phintys.tensor.extremes import argmax, argmin
from phintys.tensor.observing import CheckAndRaise
from phintys.tensor.reduce import all, max, min, prod, sum
from phintys.tensor.statistics.moments import dtypes_of_mean
from phintys.tensor.synonyms import also_named

if TYPE_CHECKING:
    from phintys.tensor.variable import TensorVariable

__all__ = [
    "nan_to_num",
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
]

_REAL = {"complex64": "float32", "complex128": "float64"}


def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> TensorVariable:
    """Return ``x`` with NaN and infinities replaced by numbers.

    Parameters
    ----------
    x
        A tensor of any dtype; integers and bools are returned as they are. Real and imaginary parts
        of complex numbers are treated alike.
    copy
        Accepted for compatibility with NumPy's signature; graphs do not change ``x``.
    nan
        What replaces NaN.
    posinf, neginf
        What replaces the infinities; by default the largest and the smallest number of the dtype.

    Returns
    -------
    TensorVariable
        A tensor with the shape and dtype of ``x``.

    Examples
    --------
    >>> import numpy as np, phintys.tensor as pt
    >>> pt.nan_to_num([1.0, np.nan, -np.inf], nan=0.5, neginf=-9.0).eval()
    array([ 1. ,  0.5, -9. ])
    """
    x = as_tensor_variable(x)
    if is_discrete(x):
        return x
    if x.type.numpy_dtype.kind == "c":
        parts = (nan_to_num(part(x), copy, nan, posinf, neginf) for part in (math.real, math.imag))
        return math.cast(math.complex(*parts), x.dtype)
    limits = np.finfo(x.dtype)
    high = math.cast(float(limits.max) if posinf is None else posinf, x.dtype)
    low = math.cast(float(limits.min) if neginf is None else neginf, x.dtype)
    finite = math.switch(math.isinf(x), math.switch(math.gt(x, 0), high, low), x)
    return math.switch(math.isnan(x), math.cast(nan, x.dtype), finite)


def _filled(x: Any, value: float) -> Any:
    """Return ``x`` with a number in place of NaN."""
    x = as_tensor_variable(x)
    return x if is_discrete(x) else math.switch(math.isnan(x), math.cast(value, x.dtype), x)


@also_named
def nansum(
    x: Any,
    axis: Axis = None,
    dtype: Any = None,
    keepdims: bool = False,
    *,
    initial: Any = None,
    where: Any = True,
) -> TensorVariable:
    """Return the sum of the elements along some axes, with NaN as 0; see :func:`sum`.

    Parameters
    ----------
    x
        A tensor of any dtype.
    axis
        One axis, several, or ``None`` for all.
    dtype
        Dtype of the result. By default that of ``x``, or int64 or uint64 for integers and bools.
    keepdims
        Keep the axes, with size 1.
    initial, where
        As for :func:`sum`.

    Returns
    -------
    TensorVariable
        0 where all elements are NaN.

    Raises
    ------
    ShapeError
        ``axis`` is out of range.

    Examples
    --------
    >>> import numpy as np, phintys.tensor as pt
    >>> pt.nansum([1.0, np.nan, 2.0]).eval()
    array(3.)
    """
    return sum(_filled(x, 0), axis, dtype, keepdims, where=where, initial=initial)


@also_named
def nanprod(
    x: Any,
    axis: Axis = None,
    dtype: Any = None,
    keepdims: bool = False,
    *,
    initial: Any = None,
    where: Any = True,
) -> TensorVariable:
    """Return the product of the elements along some axes, with NaN as 1; see :func:`prod`.

    Parameters
    ----------
    x
        A tensor of any dtype.
    axis
        One axis, several, or ``None`` for all.
    dtype
        Dtype of the result. By default that of ``x``, or int64 or uint64 for integers and bools.
    keepdims
        Keep the axes, with size 1.
    initial, where
        As for :func:`prod`.

    Returns
    -------
    TensorVariable
        1 where all elements are NaN.

    Raises
    ------
    ShapeError
        ``axis`` is out of range.

    Examples
    --------
    >>> import numpy as np, phintys.tensor as pt
    >>> pt.nanprod([3.0, np.nan, 2.0]).eval()
    array(6.)
    """
    return prod(_filled(x, 1), axis, dtype, keepdims, where=where, initial=initial)


@also_named
def nancumsum(x: Any, axis: int | None = None, dtype: Any = None) -> TensorVariable:
    """Return cumulative sums along an axis, with NaN as 0; see :func:`cumsum`.

    Parameters
    ----------
    x
        A tensor of any dtype.
    axis
        The axis; with ``None``, ``x`` is flattened first.
    dtype
        As for :func:`cumsum`.

    Returns
    -------
    TensorVariable
        A tensor with the shape of ``x``, or a vector for ``None``.

    Raises
    ------
    ShapeError
        ``axis`` is out of range.

    Examples
    --------
    >>> import numpy as np, phintys.tensor as pt
    >>> pt.nancumsum([1.0, np.nan, 2.0]).eval()
    array([1., 1., 3.])
    """
    return cumsum(_filled(x, 0), axis, dtype)


@also_named
def nancumprod(x: Any, axis: int | None = None, dtype: Any = None) -> TensorVariable:
    """Return cumulative products along an axis, with NaN as 1; see :func:`cumprod`.

    Parameters
    ----------
    x
        A tensor of any dtype.
    axis
        The axis; with ``None``, ``x`` is flattened first.
    dtype
        As for :func:`cumprod`.

    Returns
    -------
    TensorVariable
        A tensor with the shape of ``x``, or a vector for ``None``.

    Raises
    ------
    ShapeError
        ``axis`` is out of range.

    Examples
    --------
    >>> import numpy as np, phintys.tensor as pt
    >>> pt.nancumprod([3.0, np.nan, 2.0]).eval()
    array([3., 3., 6.])
    """
    return cumprod(_filled(x, 1), axis, dtype)


@also_named
def nanmax(
    x: Any,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    initial: Any = None,
    where: Any = True,
) -> TensorVariable:
    """Return the largest of the elements that are not NaN along some axes.

    Parameters
    ----------
    x
        A real tensor.
    axis
        One axis, several, or ``None`` for all.
    keepdims
        Keep the axes, with size 1.
    initial, where
        As for :func:`max`; with ``initial``, it is the result where no element is a number.

    Returns
    -------
    TensorVariable
        A tensor with the dtype of ``x``. NaN where no element is a number; NumPy's function warns,
        and raises for none at all.

    Raises
    ------
    ShapeError
        ``axis`` is out of range.
    DtypeError
        ``x`` is complex.

    Examples
    --------
    >>> import numpy as np, phintys.tensor as pt
    >>> pt.nanmax([1.0, np.nan, 2.0]).eval()
    array(2.)
    """
    return _extreme(x, axis, keepdims, max, -np.inf, {"initial": initial, "where": where})


@also_named
def nanmin(
    x: Any,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    initial: Any = None,
    where: Any = True,
) -> TensorVariable:
    """Return the smallest of the elements that are not NaN along some axes.

    Parameters
    ----------
    x
        A real tensor.
    axis
        One axis, several, or ``None`` for all.
    keepdims
        Keep the axes, with size 1.
    initial, where
        As for :func:`min`; with ``initial``, it is the result where no element is a number.

    Returns
    -------
    TensorVariable
        A tensor with the dtype of ``x``. NaN where no element is a number; NumPy's function warns,
        and raises for none at all.

    Raises
    ------
    ShapeError
        ``axis`` is out of range.
    DtypeError
        ``x`` is complex.

    Examples
    --------
    >>> import numpy as np, phintys.tensor as pt
    >>> pt.nanmin([1.0, np.nan, 2.0]).eval()
    array(1.)
    """
    return _extreme(x, axis, keepdims, min, np.inf, {"initial": initial, "where": where})


def _extreme(
    x: Any, axis: Axis, keepdims: bool, reduction: Any, neutral: float, options: dict[str, Any]
) -> Any:
    x = _real(x)
    if is_discrete(x):
        return reduction(x, axis, keepdims=keepdims, **options)
    found = reduction(_filled(x, neutral), axis, keepdims=keepdims, **options)
    if options["initial"] is not None:
        return found
    none = all(math.isnan(x), axis, keepdims=keepdims, where=options["where"])
    return math.switch(none, math.cast(np.nan, x.dtype), found)


@also_named
def nanargmax(x: Any, axis: int | None = None, keepdims: bool = False) -> TensorVariable:
    """Return the index of the largest of the elements that are not NaN along an axis.

    Parameters
    ----------
    x
        A real tensor.
    axis
        The axis; with ``None``, the index is that of the flattened array.
    keepdims
        Keep the axis, with size 1.

    Returns
    -------
    TensorVariable
        An int64 tensor; of equal elements the first one counts.

    Raises
    ------
    DomainError
        When it is computed: all elements are NaN.
    DtypeError
        ``x`` is complex.

    Examples
    --------
    >>> import numpy as np, phintys.tensor as pt
    >>> pt.nanargmax([1.0, np.nan, 2.0]).eval()
    array(2)
    """
    return _place(x, axis, keepdims, argmax, -np.inf)


@also_named
def nanargmin(x: Any, axis: int | None = None, keepdims: bool = False) -> TensorVariable:
    """Return the index of the smallest of the elements that are not NaN along an axis.

    Parameters
    ----------
    x
        A real tensor.
    axis
        The axis; with ``None``, the index is that of the flattened array.
    keepdims
        Keep the axis, with size 1.

    Returns
    -------
    TensorVariable
        An int64 tensor; of equal elements the first one counts.

    Raises
    ------
    DomainError
        When it is computed: all elements are NaN.
    DtypeError
        ``x`` is complex.

    Examples
    --------
    >>> import numpy as np, phintys.tensor as pt
    >>> pt.nanargmin([1.0, np.nan, 2.0]).eval()
    array(0)
    """
    return _place(x, axis, keepdims, argmin, np.inf)


def _place(x: Any, axis: int | None, keepdims: bool, search: Any, neutral: float) -> Any:
    x = _real(x)
    found = search(_filled(x, neutral), axis, keepdims=keepdims)
    if is_discrete(x):
        return found
    none = all(math.isnan(x), axis, keepdims=keepdims)
    message = f"nan{search.__name__}: there are only NaN along the axis"
    return CheckAndRaise(DomainError, message)(found, math.logical_not(none))


def _real(x: Any) -> Any:
    x = as_tensor_variable(x)
    if x.type.numpy_dtype.kind == "c":
        msg = f"Complex numbers have no order, got {x} of dtype {x.dtype}."
        raise DtypeError(msg)
    return x


@also_named
def nanmean(
    x: Any,
    axis: Axis = None,
    dtype: Any = None,
    keepdims: bool = False,
    *,
    where: Any = True,
) -> TensorVariable:
    """Return the mean of the elements that are not NaN along some axes; see :func:`mean`.

    Parameters
    ----------
    x
        A tensor of any dtype.
    axis
        One axis, several, or ``None`` for all.
    dtype
        Dtype of the result. By default that of ``x``, or float64 for integers and bools.
    keepdims
        Keep the axes, with size 1.
    where
        Which elements count, as for :func:`mean`.

    Returns
    -------
    TensorVariable
        NaN where all elements are NaN, without NumPy's warning.

    Raises
    ------
    ShapeError
        ``axis`` is out of range.

    Examples
    --------
    >>> import numpy as np, phintys.tensor as pt
    >>> pt.nanmean([1.0, np.nan, 2.0]).eval()
    array(1.5)
    """
    x = as_tensor_variable(x)
    return _mean(x, normalize_axes(axis, x.ndim), dtype, keepdims, where)


def _mean(x: Any, axes: tuple[int, ...], dtype: Any, keepdims: bool, where: Any) -> Any:
    wanted = dtypes_of_mean(x, dtype)[0]
    acc = "float32" if wanted == "float16" else wanted
    total = sum(_filled(x, 0), axes, acc, keepdims, where=where)
    count = _count(x, axes, keepdims, _REAL.get(acc, acc), where)
    return math.cast(total / count, wanted)


def _count(x: Any, axes: tuple[int, ...], keepdims: bool, dtype: str, where: Any) -> Any:
    return sum(math.logical_not(math.isnan(x)), axes, dtype, keepdims, where=where)


@also_named
def nanvar(
    x: Any,
    axis: Axis = None,
    dtype: Any = None,
    ddof: Any = 0,
    keepdims: bool = False,
    *,
    correction: Any = None,
    where: Any = True,
) -> TensorVariable:
    """Return the variance of the elements that are not NaN along some axes; see :func:`var`.

    Parameters
    ----------
    x
        A tensor of any dtype.
    axis
        One axis, several, or ``None`` for all.
    dtype
        Dtype in which to compute. By default that of ``x``, or float64 for integers and bools.
    ddof
        The sum of squares is divided by the number of elements that are not NaN minus ``ddof``.
    keepdims
        Keep the axes, with size 1.
    correction
        The array API's name for ``ddof``.
    where
        Which elements count, as for :func:`var`.

    Returns
    -------
    TensorVariable
        A real tensor; NaN where at most ``ddof`` elements are not NaN, without NumPy's warning.

    Raises
    ------
    ShapeError
        ``axis`` is out of range.
    ArgumentError
        Both ``ddof`` and ``correction`` are given.
    DtypeError
        ``dtype`` is not a floating one.

    Examples
    --------
    >>> import numpy as np, phintys.tensor as pt
    >>> pt.nanvar([1.0, np.nan, 3.0]).eval()
    array(1.)
    """
    if correction is not None:
        if ddof != 0:
            msg = "ddof and correction are names of the same argument; give one of them."
            raise ArgumentError(msg)
        ddof = correction
    x = as_tensor_variable(x)
    axes = normalize_axes(axis, x.ndim)
    wanted = dtypes_of_mean(x, dtype)[0]
    real = _REAL.get(wanted, wanted)
    acc = "float32" if real == "float16" else real
    deviation = x - _mean(x, axes, None if dtype is None else wanted, True, where)
    deviation = math.switch(math.isnan(x), math.cast(0, deviation.dtype), deviation)
    squares = math.real(deviation * math.conj(deviation))
    free = _count(x, axes, keepdims, acc, where) - math.cast(ddof, acc)
    total = sum(squares, axes, acc, keepdims, where=where)
    nan = math.cast(np.nan, acc)
    return math.cast(math.switch(math.gt(free, 0), total / free, nan), real)


@also_named
def nanstd(
    x: Any,
    axis: Axis = None,
    dtype: Any = None,
    ddof: Any = 0,
    keepdims: bool = False,
    *,
    correction: Any = None,
    where: Any = True,
) -> TensorVariable:
    """Return the standard deviation of the elements that are not NaN: the root of :func:`nanvar`.

    Parameters
    ----------
    x
        A tensor of any dtype.
    axis
        One axis, several, or ``None`` for all.
    dtype
        Dtype in which to compute. By default that of ``x``, or float64 for integers and bools.
    ddof
        The sum of squares is divided by the number of elements that are not NaN minus ``ddof``.
    keepdims
        Keep the axes, with size 1.
    correction
        The array API's name for ``ddof``.
    where
        Which elements count, as for :func:`var`.

    Returns
    -------
    TensorVariable
        A real tensor; NaN where at most ``ddof`` elements are not NaN, without NumPy's warning.

    Raises
    ------
    ShapeError
        ``axis`` is out of range.
    ArgumentError
        Both ``ddof`` and ``correction`` are given.
    DtypeError
        ``dtype`` is not a floating one.

    Examples
    --------
    >>> import numpy as np, phintys.tensor as pt
    >>> pt.nanstd([1.0, np.nan, 3.0]).eval()
    array(1.)
    """
    return math.sqrt(nanvar(x, axis, dtype, ddof, keepdims, correction=correction, where=where))
