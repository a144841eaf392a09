"""Means and variances, expressed as sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.errors import ArgumentError, DtypeError, ShapeError
from phintys._base.late import LateModule
from phintys.tensor import math
from phintys.tensor._rules import Axis, is_discrete
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.dim_shuffle import dimshuffle, normalize_axes
from phintys.tensor.reduce import sum
from phintys.tensor.shapes import shape_i, specify_broadcastable, specify_shape
from phintys.tensor.sizes import multiply_sizes
from phintys.tensor.synonyms import also_named
from phintys.tensor.type import normalize_dtype

if TYPE_CHECKING:
    from phintys.tensor import masking
    from phintys.tensor.variable import TensorVariable
else:
    masking = LateModule("phintys.tensor.masking")

_REAL = {"complex64": "float32", "complex128": "float64"}


def _count(x: Any, axes: tuple[int, ...], dtype: str) -> Any:
    """Return the number of reduced elements: a Python float if it is known, otherwise symbolic."""
    static = x.type.shape
    count = multiply_sizes(
        shape_i(x, axis) if static[axis] is None else static[axis] for axis in axes
    )
    return float(count) if isinstance(count, int) else math.cast(count, _REAL.get(dtype, dtype))


def dtypes_of_mean(x: Any, dtype: Any, acc_dtype: Any = None) -> tuple[str, str]:
    """Return the dtype of a mean and the dtype in which to compute it."""
    usual = "float64" if is_discrete(x) else x.dtype
    wanted = usual if dtype is None else normalize_dtype(dtype)
    if wanted[0] not in "fc":
        msg = (
            f"A mean is not an integer, got dtype {wanted}. Compute in a floating dtype and "
            "round the result with pt.round(...).astype(...)."
        )
        raise DtypeError(msg)
    if acc_dtype is not None:
        return wanted, normalize_dtype(acc_dtype)
    return wanted, "float32" if wanted == "float16" else wanted


def _count_of(x: Any, where: Any, axes: tuple[int, ...], dtype: str, keepdims: bool) -> Any:
    """Return the number of elements along some axes that a mask selects."""
    mask = math.second(x, masking.as_mask(x, where))
    return sum(mask, axes, _REAL.get(dtype, dtype), keepdims)


@also_named
def mean(
    x: Any,
    axis: Axis = None,
    dtype: Any = None,
    keepdims: bool = False,
    acc_dtype: Any = None,
    *,
    where: Any = True,
) -> TensorVariable:
    """Return the mean of the elements along some axes.

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
    acc_dtype
        Dtype in which to compute; by default ``dtype``, and float32 for float16.
    where
        Bools that broadcast to the shape of ``x``: which elements count. By default all do.

    Returns
    -------
    TensorVariable
        NaN along an empty axis.

    Raises
    ------
    ShapeError
        ``axis`` is out of range.
    DtypeError
        ``dtype`` is an integer dtype, or is real while ``x`` is complex.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.mean(pt.constant([[1, 2], [3, 4]]), axis=0).eval()
    array([2., 3.])
    """
    x = as_tensor_variable(x)
    axes = normalize_axes(axis, x.ndim)
    wanted, acc = dtypes_of_mean(x, dtype, acc_dtype)
    total = sum(x, axes, acc, keepdims, where=where)
    if where is True:
        return math.cast(total / _count(x, axes, acc), wanted)
    return math.cast(total / _count_of(x, where, axes, acc, keepdims), wanted)


@also_named
def var(
    x: Any,
    axis: Axis = None,
    dtype: Any = None,
    ddof: Any = 0,
    keepdims: bool = False,
    corrected: bool = False,
    *,
    correction: Any = None,
    where: Any = True,
    mean: Any = None,
) -> TensorVariable:
    """Return the variance of the elements along some axes: the mean of ``|x - mean(x)|**2``.

    Parameters
    ----------
    x
        A tensor of any dtype.
    axis
        One axis, several, or ``None`` for all.
    dtype
        Dtype in which to compute the mean. By default that of ``x``, or float64 for integers and
        bools. The result is real. PyTensor's order of arguments, without a dtype, is taken too:
        an integer here is ``ddof``, and the next are ``keepdims`` and ``corrected``.
    ddof
        The sum of squares is divided by the number of elements minus ``ddof``.
    keepdims
        Keep the axes, with size 1.
    corrected
        An alternative to ``ddof``: ``True`` is equivalent to ``ddof=1``.
    correction
        Another name of ``ddof``.
    where
        Bools that broadcast to the shape of ``x``: which elements count. By default all do.
    mean
        The mean, if it is there already, with the axes kept.

    Returns
    -------
    TensorVariable
        NaN along an empty axis.

    Raises
    ------
    ShapeError
        ``axis`` is out of range.
    DtypeError
        ``dtype`` is an integer dtype, or is real while ``x`` is complex.
    ArgumentError
        Both ``ddof`` and ``correction`` are given.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.var(pt.constant([1.0, 2.0, 3.0]), ddof=1).eval()
    array(1.)
    """
    x = as_tensor_variable(x)
    axes = normalize_axes(axis, x.ndim)
    if isinstance(dtype, int):  # PyTensor's order: axis, ddof, keepdims, corrected
        dtype, ddof, keepdims, corrected = None, dtype, bool(ddof), keepdims
    if correction is not None:
        if not (isinstance(ddof, int) and ddof == 0):
            msg = "ddof and correction are names of the same argument; give one of them."
            raise ArgumentError(msg)
        ddof = correction
    wanted, acc = dtypes_of_mean(x, dtype, None)
    if where is True:
        count = kept_count = _count(x, axes, acc)
    else:
        count = _count_of(x, where, axes, acc, keepdims)
        kept_count = _count_of(x, where, axes, acc, True)
    if mean is None:
        center = sum(x, axes, acc, keepdims=True, where=where) / kept_count
    else:
        center = _as_kept(mean, axes, x)
    # In the wider of both dtypes, as in NumPy: float64 data are not rounded to a float32 mean.
    deviation = x - center
    if deviation.type.numpy_dtype.kind == "c":
        squares = math.sqr(math.real(deviation)) + math.sqr(math.imag(deviation))
    else:
        squares = math.sqr(deviation)
    real = _REAL.get(acc, acc)
    divisor = _degrees_of_freedom(count, 1 if corrected else ddof, real)
    total = sum(squares, axes, real, keepdims, where=where)
    return math.cast(total / divisor, _REAL.get(wanted, wanted))


def _as_kept(mean: Any, axes: tuple[int, ...], x: Any) -> Any:
    """Return a mean that broadcasts along the axes of which it is the mean."""
    mean = as_tensor_variable(mean)
    if mean.ndim == 0:
        return mean
    if mean.ndim != x.ndim:
        msg = (
            f"mean= takes the mean of {x} with keepdims=True, of {x.ndim} dimensions; got {mean} "
            f"of type {mean.type}."
        )
        raise ShapeError(msg)
    return specify_broadcastable(mean, *axes)


def _degrees_of_freedom(count: Any, ddof: Any, dtype: str) -> Any:
    """Return ``count - ddof``, at least 0."""
    if isinstance(ddof, int | float):
        if ddof == 0:
            return count
        if isinstance(count, float):
            return count - ddof if count > ddof else 0.0
    return math.maximum(count - math.cast(ddof, dtype), 0)


@also_named
def std(
    x: Any,
    axis: Axis = None,
    dtype: Any = None,
    ddof: Any = 0,
    keepdims: bool = False,
    corrected: bool = False,
    *,
    correction: Any = None,
    where: Any = True,
    mean: Any = None,
) -> TensorVariable:
    """Return the standard deviation of the elements along some axes: the root of :func:`var`.

    Its gradient is not finite where all elements are equal.

    Parameters
    ----------
    x
        A tensor of any dtype.
    axis
        One axis, several, or ``None`` for all.
    dtype
        Dtype in which to compute the mean, as for :func:`var`.
    ddof
        The sum of squares is divided by the number of elements minus ``ddof``.
    keepdims
        Keep the axes, with size 1.
    corrected
        An alternative to ``ddof``: ``True`` is equivalent to ``ddof=1``.
    correction
        Another name of ``ddof``.
    where
        Bools that broadcast to the shape of ``x``: which elements count. By default all do.
    mean
        The mean, if it is there already, with the axes kept.

    Returns
    -------
    TensorVariable
        A real tensor; NaN along an empty axis.

    Raises
    ------
    ShapeError
        ``axis`` is out of range.
    DtypeError
        ``dtype`` is an integer dtype, or is real while ``x`` is complex.
    ArgumentError
        Both ``ddof`` and ``correction`` are given.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.std(pt.constant([1.0, 2.0, 3.0]), ddof=1).eval()
    array(1.)
    """
    return math.sqrt(
        var(
            x,
            axis,
            dtype,
            ddof,
            keepdims,
            corrected,
            correction=correction,
            where=where,
            mean=mean,
        )
    )


@also_named
def average(
    x: Any,
    axis: Axis = None,
    weights: Any = None,
    keepdims: bool = False,
    *,
    returned: bool = False,
) -> Any:
    """Return the weighted mean of the elements along some axes.

    Parameters
    ----------
    x
        A tensor of any dtype.
    axis
        One axis, several, or ``None`` for all.
    weights
        An array of the shape of ``x``, or a vector if there is a single axis. By default all
        elements have equal weight.
    keepdims
        Keep the axes, with size 1.
    returned
        Return the sum of the weights as well, in the shape of the result.

    Returns
    -------
    TensorVariable or tuple of TensorVariable
        The means; with ``returned`` also the sums of the weights.

    Raises
    ------
    ShapeError
        ``axis`` is out of range, or the weights have the wrong rank.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.average(pt.constant([1.0, 4.0]), weights=[2.0, 1.0]).eval()
    array(2.)
    """
    x = as_tensor_variable(x)
    if weights is None:
        result = mean(x, axis, keepdims=keepdims)
        count = _count(x, normalize_axes(axis, x.ndim), result.dtype)
        return (result, math.second(result, math.cast(count, result.dtype))) if returned else result
    weights = as_tensor_variable(weights)
    axes = normalize_axes(axis, x.ndim)
    if weights.ndim != x.ndim:
        if weights.ndim != 1 or len(axes) != 1:
            msg = (
                f"average: weights of type {weights.type} do not fit {x} of type {x.type} along "
                f"the axes {axes}. Give one weight for each element, or a vector for one axis."
            )
            raise ShapeError(msg)
        weights = dimshuffle(weights, *(0 if dim in axes else "x" for dim in range(x.ndim)))
        stated = [x.type.shape[dim] if dim in axes else 1 for dim in range(x.ndim)]
    else:
        stated = list(x.type.shape)
    weights = specify_shape(weights, stated)
    total = sum(x * weights, axes, keepdims=keepdims)
    weight = sum(math.second(x, weights), axes, keepdims=keepdims)
    if not is_discrete(total):
        weight = math.cast(weight, total.dtype)
    result = total / weight
    return (result, math.cast(weight, result.dtype)) if returned else result
