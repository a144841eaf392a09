"""Medians, quantiles and percentiles, by sorting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ArgumentError, DomainError, DtypeError
from phintys.graph.variable import Constant
from phintys.tensor import math
from phintys.tensor._rules import Axis, is_discrete
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.dim_shuffle import expand_dims, moveaxis, normalize_axes, transpose
from phintys.tensor.indexing.setting import take_along_axis
from phintys.tensor.observing import CheckAndRaise
from phintys.tensor.reduce import sum
from phintys.tensor.reshaping import flatten, reshape
from phintys.tensor.shapes import sizes_of
from phintys.tensor.size_check import at_least_one
from phintys.tensor.sizes import multiply_sizes
from phintys.tensor.sorting import sort
from phintys.tensor.synonyms import also_named
from phintys.tensor.type import promote

if TYPE_CHECKING:
    from collections.abc import Callable

    from phintys.tensor.variable import TensorVariable

__all__ = ["median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"]


@also_named
def median(x: Any, axis: Axis = None, keepdims: bool = False) -> TensorVariable:
    """Return the median of the elements along some axes.

    Parameters
    ----------
    x
        A real tensor.
    axis
        One axis, several, or ``None`` for all.
    keepdims
        Keep the axes, with size 1.

    Returns
    -------
    TensorVariable
        For an even number of elements, the mean of the two in the middle. NaN if there is a NaN.
        The dtype is that of ``x``, or float64 for integers and bools.

    Raises
    ------
    ShapeError
        ``axis`` is out of range, or there are no elements.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.median([3.0, 1.0, 2.0, 10.0]).eval()
    array(2.5)
    """
    rows, kept = _rows(x, axis, "median")
    rows = math.cast(rows, "float64") if is_discrete(rows) else rows
    count = _count(rows, "median")
    ordered = sort(rows, axis=-1)
    lower, upper = ordered[..., (count - 1) // 2], ordered[..., count // 2]
    # The middle one is not added to itself, which may overflow.
    middle = math.switch(math.eq(math.mod(count, 2), 1), lower, _half(lower, upper))
    return _as_kept(_nan_where(math.isnan(ordered[..., count - 1]), middle), kept, keepdims)


def _half(lower: Any, upper: Any) -> Any:
    if lower.dtype == "float16":
        return math.cast((math.cast(lower, "float32") + upper) / 2, "float16")
    return (lower + upper) / 2


@also_named
def quantile(
    x: Any, q: Any, axis: Axis = None, method: str = "linear", keepdims: bool = False
) -> TensorVariable:
    """Return quantiles of the elements along some axes.

    Parameters
    ----------
    x
        A real tensor.
    q
        Which quantiles: a number from 0 to 1, or an array of them. Its axes come first in the
        result.
    axis
        One axis, several, or ``None`` for all.
    method
        How to choose between two elements: ``"linear"``, ``"lower"``, ``"higher"``,
        ``"midpoint"``, ``"nearest"``; or one of the nine of Hyndman and Fan, "Sample quantiles in
        statistical packages", The American Statistician 50 (1996), 361-365: ``"inverted_cdf"``,
        ``"averaged_inverted_cdf"``, ``"closest_observation"``, ``"interpolated_inverted_cdf"``,
        ``"hazen"``, ``"weibull"``, ``"median_unbiased"`` and ``"normal_unbiased"``.
    keepdims
        Keep the axes, with size 1.

    Returns
    -------
    TensorVariable
        NaN if there is a NaN. The methods that choose one element keep the dtype of ``x``; the
        others give a floating dtype.

    Raises
    ------
    ArgumentError
        The method is unknown.
    DomainError
        ``q`` is not between 0 and 1.
    ShapeError
        ``axis`` is out of range, or there are no elements.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.quantile([0.0, 10.0, 20.0], [0.25, 0.5]).eval()
    array([ 5., 10.])
    """
    rows, kept = _rows(x, axis, "quantile")
    ordered = sort(rows, axis=-1)
    count = _count(rows, "quantile")
    length = math.cast(count, "float64")
    found = _interpolated(ordered, _fractions(q, rows), length, _at_ends(q, method))
    found = _nan_where(expand_dims(math.isnan(ordered[..., count - 1]), -1), found)
    return _quantiles_first(found, q, kept, keepdims)


@also_named
def percentile(
    x: Any, q: Any, axis: Axis = None, method: str = "linear", keepdims: bool = False
) -> TensorVariable:
    """Return percentiles: :func:`quantile` with ``q`` from 0 to 100.

    Parameters
    ----------
    x
        A real tensor.
    q
        Which percentiles: a number from 0 to 100, or an array of them. Its axes come first in the
        result.
    axis
        One axis, several, or ``None`` for all.
    method
        How to choose between two elements; see :func:`quantile`.
    keepdims
        Keep the axes, with size 1.

    Returns
    -------
    TensorVariable
        NaN if there is a NaN. The dtype is that of :func:`quantile`.

    Raises
    ------
    ArgumentError
        The method is unknown.
    DomainError
        ``q`` is not between 0 and 100.
    ShapeError
        ``axis`` is out of range, or there are no elements.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.percentile([0.0, 10.0, 20.0], 75).eval()
    array(15.)
    """
    return quantile(x, _of_hundred(q), axis, method, keepdims)


# ---- without NaN ---------------------------------------------------------------------------------


@also_named
def nanquantile(
    x: Any, q: Any, axis: Axis = None, method: str = "linear", keepdims: bool = False
) -> TensorVariable:
    """Return quantiles of the elements that are not NaN; see :func:`quantile`.

    Parameters
    ----------
    x
        A real tensor.
    q
        Which quantiles: a number from 0 to 1, or an array of them. Its axes come first in the
        result.
    axis
        One axis, several, or ``None`` for all.
    method
        How to choose between two elements; see :func:`quantile`.
    keepdims
        Keep the axes, with size 1.

    Returns
    -------
    TensorVariable
        NaN where all elements are NaN. The dtype is that of :func:`quantile`.

    Raises
    ------
    ArgumentError
        The method is unknown.
    DomainError
        ``q`` is not between 0 and 1.
    ShapeError
        ``axis`` is out of range, or there are no elements.

    Examples
    --------
    >>> import numpy as np, phintys.tensor as pt
    >>> pt.nanquantile([0.0, np.nan, 20.0], 0.5).eval()
    array(10.)
    """
    rows, kept = _rows(x, axis, "nanquantile")
    ordered = sort(rows, axis=-1)
    present = math.logical_not(math.isnan(rows))
    most = math.cast(_count(rows, "nanquantile"), "float64")
    count = math.minimum(sum(present, -1, dtype="float64", keepdims=True), most)  # if there is one
    found = _interpolated(ordered, _fractions(q, rows), count, _at_ends(q, method))
    return _quantiles_first(found, q, kept, keepdims)


@also_named
def nanpercentile(
    x: Any, q: Any, axis: Axis = None, method: str = "linear", keepdims: bool = False
) -> TensorVariable:
    """Return percentiles of the elements that are not NaN; see :func:`nanquantile`.

    Parameters
    ----------
    x
        A real tensor.
    q
        Which percentiles: a number from 0 to 100, or an array of them. Its axes come first in the
        result.
    axis
        One axis, several, or ``None`` for all.
    method
        How to choose between two elements; see :func:`quantile`.
    keepdims
        Keep the axes, with size 1.

    Returns
    -------
    TensorVariable
        NaN where all elements are NaN. The dtype is that of :func:`quantile`.

    Raises
    ------
    ArgumentError
        The method is unknown.
    DomainError
        ``q`` is not between 0 and 100.
    ShapeError
        ``axis`` is out of range, or there are no elements.

    Examples
    --------
    >>> import numpy as np, phintys.tensor as pt
    >>> pt.nanpercentile([0.0, np.nan, 20.0], 50).eval()
    array(10.)
    """
    return nanquantile(x, _of_hundred(q), axis, method, keepdims)


@also_named
def nanmedian(x: Any, axis: Axis = None, keepdims: bool = False) -> TensorVariable:
    """Return the median of the elements that are not NaN; see :func:`median`.

    Parameters
    ----------
    x
        A real tensor.
    axis
        One axis, several, or ``None`` for all.
    keepdims
        Keep the axes, with size 1.

    Returns
    -------
    TensorVariable
        NaN where all elements are NaN. The dtype is that of ``x``, or float64 for integers and
        bools.

    Raises
    ------
    ShapeError
        ``axis`` is out of range, or there are no elements.

    Examples
    --------
    >>> import numpy as np, phintys.tensor as pt
    >>> pt.nanmedian([3.0, 1.0, np.nan]).eval()
    array(2.)
    """
    rows, kept = _rows(x, axis, "nanmedian")
    rows = math.cast(rows, "float64") if is_discrete(rows) else rows
    ordered = sort(rows, axis=-1)
    present = sum(math.logical_not(math.isnan(rows)), -1, dtype="int64", keepdims=True)
    count = math.minimum(present, _count(rows, "nanmedian"))  # if there is one
    lower, upper = (
        _at(ordered, math.maximum(place, 0))[..., 0] for place in ((count - 1) // 2, count // 2)
    )
    odd = math.eq(math.mod(count[..., 0], 2), 1)
    # Where all is NaN, the first element is.
    return _as_kept(math.switch(odd, lower, _half(lower, upper)), kept, keepdims)


# ---- rows ----------------------------------------------------------------------------------------


def _rows(x: Any, axis: Axis, name: str) -> tuple[Any, Any]:
    """Return ``x`` with the reduced axes merged into the last one, and what there was before."""
    x = as_tensor_variable(x)
    if x.type.numpy_dtype.kind == "c":
        msg = f"{name}: complex numbers have no order, got {x} of dtype {x.dtype}."
        raise DtypeError(msg)
    axes = normalize_axes(axis, x.ndim)
    others = [dim for dim in range(x.ndim) if dim not in axes]
    if len(axes) == x.ndim:
        return flatten(x), (x.ndim, axes)
    if len(axes) == 1:
        return moveaxis(x, axes[0], -1), (x.ndim, axes)
    moved = transpose(x, (*others, *axes))
    sizes = sizes_of(moved)
    merged = multiply_sizes(sizes[len(others) :])
    return reshape(moved, [*sizes[: len(others)], merged]), (x.ndim, axes)


def _count(rows: Any, name: str) -> Any:
    """Return the number of elements of a row; there is no answer for none."""
    return at_least_one(sizes_of(rows)[-1], f"{name}: the number of elements")


def _as_kept(result: Any, kept: Any, keepdims: bool, leading: int = 0) -> Any:
    """Put the reduced axes back, with size 1, behind ``leading`` others."""
    return expand_dims(result, [leading + axis for axis in kept[1]]) if keepdims else result


def _quantiles_first(found: Any, q: Any, kept: Any, keepdims: bool) -> Any:
    """Replace the last axis, of all quantiles, by the axes of ``q`` in front."""
    q = as_tensor_variable(q)
    first = moveaxis(found, -1, 0)
    sizes = sizes_of(first)
    shaped = first[0] if q.ndim == 0 else reshape(first, [*sizes_of(q), *sizes[1:]])
    return _as_kept(shaped, kept, keepdims, q.ndim)


def _nan_where(condition: Any, x: Any) -> Any:
    if is_discrete(x):
        return x
    return math.switch(condition, math.cast(float("nan"), x.dtype), x)


def _of_hundred(q: Any) -> Any:
    if isinstance(q, int | float):
        return q / 100
    q = as_tensor_variable(q)
    return q / (100.0 if is_discrete(q) else math.cast(100, q.dtype))


def _fractions(q: Any, rows: Any) -> Any:
    """Return ``q`` as a checked vector of floats; a Python number does not decide the dtype."""
    given = as_tensor_variable(q)
    if given.type.numpy_dtype.kind == "c":
        msg = f"A quantile is a real number, got {given} of dtype {given.dtype}."
        raise DtypeError(msg)
    flat = flatten(given)
    weak = isinstance(q, int | float) and not is_discrete(rows)
    flat = math.cast(flat, rows.dtype if weak else promote(flat.dtype, "float16"))
    inside = math.logical_and(math.ge(flat, 0), math.le(flat, 1))
    message = "a quantile is between 0 and 1, and a percentile between 0 and 100"
    if isinstance(given, Constant):
        if not np.all((given.data >= 0) & (given.data <= 1)):
            msg = f"{message[0].upper()}{message[1:]}, got the fraction {q!r}."
            raise DomainError(msg)
        return flat
    return CheckAndRaise(DomainError, message)(flat, inside)


def _at_ends(q: Any, method: str) -> str:
    """Return the method for ``q``: the integers 0 and 1 choose elements, as in NumPy.

    Interpolation between them would be NaN beside an infinity.
    """
    return "lower" if method == "linear" and is_discrete(as_tensor_variable(q)) else method


# ---- methods -------------------------------------------------------------------------------------


def _interpolated(ordered: Any, q: Any, length: Any, method: str) -> Any:
    """Return quantiles of sorted rows, of which the first ``length`` elements count."""
    if method not in _METHODS:
        msg = f"quantile: method is one of {', '.join(sorted(_METHODS))}; got {method!r}."
        raise ArgumentError(msg)
    wide = math.cast(q, "float64")
    place = _METHODS[method](length, wide)
    last = math.maximum(length - 1, 0)
    lower = math.clip(math.floor(place), 0, last)
    if method in _CHOOSING:
        return _at(ordered, math.cast(lower, "int64"))
    upper = math.clip(lower + 1, 0, last)
    weight = math.clip(place - lower, 0, 1)
    dtype = promote(ordered.dtype, q.dtype)
    below, above = (_at(ordered, math.cast(index, "int64")) for index in (lower, upper))
    return _mixed(math.cast(below, dtype), math.cast(above, dtype), weight, dtype)


def _at(ordered: Any, index: Any) -> Any:
    """Return elements of each row; ``index`` is one vector for all rows, or has rows itself."""
    if index.ndim == 1:
        return ordered[..., index]
    return take_along_axis(ordered, index, axis=-1)


def _mixed(below: Any, above: Any, weight: Any, dtype: str) -> Any:
    """Return ``below + (above - below) * weight``, from the nearer end, so that ends are exact."""
    weight = math.cast(weight, dtype)
    rise = above - below
    near = math.switch(math.lt(weight, 0.5), below + rise * weight, above - rise * (1 - weight))
    return math.switch(math.eq(below, above), below, near)  # also of two equal infinities


def _continuous(alpha: float, beta: float) -> Callable[[Any, Any], Any]:
    """Return the rule ``n * q + alpha + q * (1 - alpha - beta) - 1`` of Hyndman and Fan."""
    return lambda n, q: n * q + (alpha + q * (1 - alpha - beta)) - 1


def _inverted_cdf(n: Any, q: Any) -> Any:
    return math.ceil(n * q - 1)


def _averaged_inverted_cdf(n: Any, q: Any) -> Any:
    place = n * q - 1
    lower = math.floor(place)
    return math.switch(math.eq(lower, place), lower + 0.5, lower + 1)


def _closest_observation(n: Any, q: Any) -> Any:
    """Round halves to the even one of the places counted from 1."""
    place = n * q - 1.5
    lower = math.floor(place)
    stays = math.logical_and(math.eq(lower, place), math.eq(math.mod(lower, 2), 1))
    return math.switch(stays, lower, lower + 1)


def _midpoint(n: Any, q: Any) -> Any:
    place = (n - 1) * q
    return (math.floor(place) + math.ceil(place)) / 2


_METHODS: dict[str, Callable[[Any, Any], Any]] = {
    "inverted_cdf": _inverted_cdf,
    "averaged_inverted_cdf": _averaged_inverted_cdf,
    "closest_observation": _closest_observation,
    "interpolated_inverted_cdf": _continuous(0, 1),
    "hazen": _continuous(0.5, 0.5),
    "weibull": _continuous(0, 0),
    "linear": lambda n, q: (n - 1) * q,
    "median_unbiased": _continuous(1 / 3, 1 / 3),
    "normal_unbiased": _continuous(3 / 8, 3 / 8),
    "lower": lambda n, q: math.floor((n - 1) * q),
    "higher": lambda n, q: math.ceil((n - 1) * q),
    "midpoint": _midpoint,
    "nearest": lambda n, q: math.rint((n - 1) * q),
}
"""Method -> the place, counted from 0 and perhaps between two elements, of a quantile."""

_CHOOSING = {"inverted_cdf", "closest_observation", "lower", "higher", "nearest"}
"""The methods whose places are not between two elements."""
