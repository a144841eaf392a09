"""Samples: interpolation between them, differences, integrals, and running sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ArgumentError, DtypeError, ShapeError
from phintys._base.names import public_dir
from phintys.tensor import math
from phintys.tensor._rules import is_discrete
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.creation import ones, zeros
from phintys.tensor.cumulative import cumprod, cumsum, diff
from phintys.tensor.dim_shuffle import (
    dimshuffle,
    expand_dims,
    listed_axes,
    moveaxis,
    normalize_axis,
    shape_padright,
)
from phintys.tensor.indexing import take
from phintys.tensor.joining import concatenate
from phintys.tensor.reduce import sum
from phintys.tensor.reshaping import flatten
from phintys.tensor.searching import searchsorted
from phintys.tensor.shapes import sizes_of
from phintys.tensor.size_check import at_least_one
from phintys.tensor.sizes import subtract_sizes
from phintys.tensor.sorting import argsort
from phintys.tensor.synonyms import also_named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.tensor.variable import TensorVariable

__all__ = [
    "cumulative_prod",
    "cumulative_sum",
    "ediff1d",
    "gradient",
    "interp",
    "trapezoid",
    "unwrap",
]


def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> TensorVariable:
    """Return a piecewise linear function through samples.

    Parameters
    ----------
    x
        Where to evaluate it: a real tensor of any rank.
    xp
        Where the samples are: a vector in ascending order, of at least one element.
    fp
        The samples: a vector of the same length, real or complex.
    left, right
        The values before the first sample and behind the last one; those samples by default.
    period
        The function repeats with this period, and ``xp`` may have any order; ``left`` and ``right``
        are ignored.

    Returns
    -------
    TensorVariable
        In the shape of ``x``. It has derivatives by ``x``, ``xp`` and ``fp``.

    Raises
    ------
    ShapeError
        ``xp`` or ``fp`` is not a vector.
    DtypeError
        ``x`` or ``xp`` is complex.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.interp([0.0, 1.5, 9.0], [1.0, 2.0, 3.0], [3.0, 2.0, 0.0]).eval()
    array([3. , 2.5, 0. ])
    """
    x, xp, fp = (_as_continuous(one) for one in (x, xp, fp))
    for name, one in (("xp", xp), ("fp", fp)):
        if one.ndim != 1:
            msg = f"interp: {name} is a vector, got {one} of type {one.type}."
            raise ShapeError(msg)
    if "complex" in x.dtype or "complex" in xp.dtype:
        msg = f"interp: places are real, got {x} of dtype {x.dtype} and {xp} of {xp.dtype}."
        raise DtypeError(msg)
    if period is not None:
        if isinstance(period, int | float) and period == 0:
            msg = "interp: the period must not be 0."
            raise ArgumentError(msg)
        x, xp, fp = _as_one_period(x, xp, fp, math.abs(period))
    return _between(x, xp, fp, left, right)


def _as_continuous(x: Any) -> Any:
    x = as_tensor_variable(x)
    return math.cast(x, "float64") if is_discrete(x) else x


def _as_one_period(x: Any, xp: Any, fp: Any, period: Any) -> tuple[Any, Any, Any]:
    """Return the places in the first period, and samples that reach beyond both of its ends."""
    x, xp = math.mod(x, period), math.mod(xp, period)
    order = argsort(xp)
    xp, fp = take(xp, order), take(fp, order)
    xp = concatenate([xp[-1:] - period, xp, xp[:1] + period])
    return x, xp, concatenate([fp[-1:], fp, fp[:1]])


def _between(x: Any, xp: Any, fp: Any, left: Any, right: Any) -> TensorVariable:
    count = at_least_one(sizes_of(xp)[0], "interp: the number of samples")
    last = subtract_sizes(count, 1)
    zero = 0 if isinstance(last, int) else math.minimum(last, 0)  # after the check
    after = searchsorted(xp, x, "right")
    start = math.clip(math.sub(after, 1), 0, math.maximum(subtract_sizes(last, 1), 0))
    end = math.minimum(math.add(start, 1), last)
    x0, x1, y0, y1 = take(xp, start), take(xp, end), take(fp, start), take(fp, end)
    width = x1 - x0
    is_flat = math.eq(width, 0)  # one sample, or two at one place
    inside = y0 + (x - x0) * ((y1 - y0) / math.switch(is_flat, 1, width))
    first, final = fp[zero], fp[last]
    value = math.switch(math.ge(x, xp[last]), final, math.switch(is_flat, y0, inside))
    value = math.switch(math.lt(x, xp[zero]), first if left is None else left, value)
    value = math.switch(math.gt(x, xp[last]), final if right is None else right, value)
    return math.switch(math.isnan(x), x, value)


__dir__ = public_dir(__name__)


@also_named
def ediff1d(x: Any, to_end: Any = None, to_begin: Any = None) -> TensorVariable:
    """Return the differences between neighbouring elements of the flattened array.

    Parameters
    ----------
    x
        A tensor of a numeric dtype.
    to_end, to_begin
        Values to put after the differences, and before them.

    Returns
    -------
    TensorVariable
        A vector.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.ediff1d([1, 4, 9], to_begin=0).eval()
    array([0, 3, 5])
    """
    inner = diff(flatten(as_tensor_variable(x)))
    parts = [_vector(to_begin, inner), inner, _vector(to_end, inner)]
    given = [part for part in parts if part is not None]
    return given[0] if len(given) == 1 else concatenate(given)


def _vector(values: Any, like: Any) -> Any:
    """Return values as a vector of the dtype of the differences."""
    if values is None:
        return None
    return math.cast(flatten(as_tensor_variable(values)), like.dtype)


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> TensorVariable:
    """Return the integral of samples along an axis, by the trapezoidal rule.

    Parameters
    ----------
    y
        The samples.
    x
        Where they were taken: a vector, or an array that broadcasts against ``y``. By default they
        are ``dx`` apart.
    dx
        The distance of neighbouring samples.
    axis
        The dimension along which to integrate.

    Returns
    -------
    TensorVariable
        A tensor with the shape of ``y`` without the axis.

    Raises
    ------
    ShapeError
        ``axis`` is out of range.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.trapezoid([1.0, 2.0, 3.0], x=[0.0, 4.0, 6.0]).eval()
    array(11.)
    """
    y = as_tensor_variable(y)
    axis = normalize_axis(axis, y.ndim)
    y = math.cast(y, "float64") if is_discrete(y) else y
    before = (slice(None),) * axis
    later, sooner = y[(*before, slice(1, None))], y[(*before, slice(None, -1))]
    return sum(_steps(x, dx, y.ndim, axis) * (later + sooner) / 2, axis)


def _steps(x: Any, dx: Any, ndim: int, axis: int) -> Any:
    if x is None:
        return dx
    x = as_tensor_variable(x)
    if x.ndim != 1:
        return diff(x, axis=axis - ndim)
    pattern: list[Any] = ["x"] * ndim
    pattern[axis] = 0
    return dimshuffle(diff(x), *pattern)


def gradient(
    f: Any, *varargs: Any, axis: int | Sequence[int] | None = None, edge_order: int = 1
) -> Any:
    """Return the derivatives of samples along axes, by central differences.

    Parameters
    ----------
    f
        The samples, at least ``edge_order + 1`` along each axis.
    varargs
        Where they were taken: one distance for all axes, or for each axis a distance or a vector of
        places. By default they are 1 apart.
    axis
        One axis, several, or ``None`` for all.
    edge_order
        The order of the differences at both ends, 1 or 2.

    Returns
    -------
    TensorVariable or tuple of them
        One for each axis, in the shape of ``f``; not in a tuple if there is one axis.

    Raises
    ------
    ArgumentError
        The number of places is not that of the axes, or ``edge_order`` is another one.
    ShapeError
        Places are not a vector, or ``axis`` is out of range.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.gradient([1.0, 4.0, 9.0, 16.0], 2.0).eval()
    array([1.5, 2. , 3. , 3.5])
    """
    f = as_tensor_variable(f)
    f = math.cast(f, "float64") if is_discrete(f) else f
    if edge_order not in {1, 2}:
        msg = f"gradient: edge_order is 1 or 2, got {edge_order!r}."
        raise ArgumentError(msg)
    axes = range(f.ndim) if axis is None else listed_axes(axis)
    spacings = varargs if len(varargs) != 1 else varargs * len(axes)
    if len(spacings) not in {0, len(axes)}:
        msg = (
            f"gradient: {len(spacings)} distances for {len(axes)} axes. Give one, or one for each."
        )
        raise ArgumentError(msg)
    found = [
        _gradient_along(f, spacing, normalize_axis(one, f.ndim), edge_order)
        for one, spacing in zip(axes, spacings or [1.0] * len(axes), strict=True)
    ]
    return found[0] if len(found) == 1 else tuple(found)


def _gradient_along(f: Any, spacing: Any, axis: int, edge_order: int) -> Any:
    rows = moveaxis(f, axis, 0)
    is_weak = type(spacing) in {int, float}
    spacing = as_tensor_variable(spacing)
    spacing = math.cast(spacing, rows.dtype) if is_weak or is_discrete(spacing) else spacing
    if spacing.ndim > 1:
        msg = f"gradient: a distance or a vector of places, got {spacing} of type {spacing.type}."
        raise ShapeError(msg)
    if spacing.ndim == 0:
        inner = (rows[2:] - rows[:-2]) / (2 * spacing)
        ends = [
            _end(rows, spacing, spacing, edge_order),
            _end(rows[::-1], -spacing, -spacing, edge_order),
        ]
    else:
        steps = shape_padright(diff(spacing), rows.ndim - 1)
        before, after = steps[:-1], steps[1:]
        inner = (
            before / after * (rows[2:] - rows[1:-1]) + after / before * (rows[1:-1] - rows[:-2])
        ) / (before + after)
        back = -steps[::-1]
        ends = [
            _end(rows, steps[0], steps[edge_order - 1], edge_order),
            _end(rows[::-1], back[0], back[edge_order - 1], edge_order),
        ]
    first, last = (expand_dims(end, 0) for end in ends)
    return moveaxis(concatenate([first, inner, last]), 0, axis)


def _end(rows: Any, step: Any, next_step: Any, edge_order: int) -> Any:
    """Return the derivative at the first of the rows, from the following ones."""
    first = (rows[1] - rows[0]) / step
    if edge_order == 1:
        return first
    second = (rows[2] - rows[1]) / next_step
    return first - step * (second - first) / (step + next_step)


def unwrap(
    p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * np.pi
) -> TensorVariable:
    """Return angles without jumps by periods: neighbours differ by at most half of one.

    Parameters
    ----------
    p
        A real tensor.
    discont
        Smaller differences are left as they are; by default half of a period, which is the least
        number that means anything.
    axis
        The dimension.
    period
        The period, a number.

    Returns
    -------
    TensorVariable
        In the shape of ``p``. Integers stay integers if the period is one.

    Raises
    ------
    DtypeError
        ``p`` is complex.
    AxisError
        ``axis`` is out of range.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.unwrap([0, 3, 2, 3], period=4).eval()
    array([ 0, -1, -2, -1])
    """
    p = as_tensor_variable(p)
    if "complex" in p.dtype:
        msg = f"unwrap takes real angles, got {p} of dtype {p.dtype}."
        raise DtypeError(msg)
    axis = normalize_axis(axis, p.ndim)
    steps = diff(p, axis=axis)
    # Numbers of Python take the dtype of the angles.
    weak = getattr(period, "dtype", period)
    dtype = np.result_type(steps.dtype, weak).name
    steps, whole = math.cast(steps, dtype), math.cast(as_tensor_variable(period), dtype)
    half = math.floor_div(whole, 2) if is_discrete(steps) else whole / 2
    wrapped = math.mod(steps + half, whole) - half
    # A step of exactly half a period keeps its direction.
    at_limit = math.and_(math.eq(wrapped, -half), math.gt(steps, 0))
    if is_discrete(steps):
        at_limit = math.and_(at_limit, math.eq(math.mod(whole, 2), 0))
    wrapped = math.switch(at_limit, half, wrapped)
    least = math.true_div(period, 2) if discont is None else discont
    change = math.switch(math.lt(math.abs(steps), least), 0, wrapped - steps)
    before = (slice(None),) * axis
    p = math.cast(p, dtype)
    later = p[(*before, slice(1, None))] + cumsum(change, axis)
    return concatenate([p[(*before, slice(None, 1))], math.cast(later, dtype)], axis)


def cumulative_sum(
    x: Any, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> TensorVariable:
    """Return cumulative sums along an axis, as the array API names them.

    Parameters
    ----------
    x
        A tensor of a numeric dtype.
    axis
        The dimension; it may be left out for a vector.
    dtype
        As for :func:`cumsum`.
    include_initial
        Whether the result starts with 0, and is longer by one.

    Returns
    -------
    TensorVariable
        A tensor with the shape of ``x``, and one element more along the axis if
        ``include_initial``.

    Raises
    ------
    ArgumentError
        ``x`` is not a vector, and there is no axis.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.cumulative_sum([1, 2, 3], include_initial=True).eval()
    array([0, 1, 3, 6])
    """
    x, axis = _with_axis(x, axis, "cumulative_sum")
    running = cumsum(x, axis, dtype)
    return _with_first(running, axis, zeros) if include_initial else running


def cumulative_prod(
    x: Any, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> TensorVariable:
    """Return cumulative products along an axis, as the array API names them.

    Parameters
    ----------
    x
        A tensor of a numeric dtype.
    axis
        The dimension; it may be left out for a vector.
    dtype
        As for :func:`cumprod`.
    include_initial
        Whether the result starts with 1, and is longer by one.

    Returns
    -------
    TensorVariable
        A tensor with the shape of ``x``, and one element more along the axis if
        ``include_initial``.

    Raises
    ------
    ArgumentError
        ``x`` is not a vector, and there is no axis.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.cumulative_prod([2, 3], include_initial=True).eval()
    array([1, 2, 6])
    """
    x, axis = _with_axis(x, axis, "cumulative_prod")
    running = cumprod(x, axis, dtype)
    return _with_first(running, axis, ones) if include_initial else running


def _with_axis(x: Any, axis: int | None, name: str) -> tuple[Any, int]:
    x = as_tensor_variable(x)
    if x.ndim == 0:
        msg = f"{name} takes an array of rank 1 or more, got {x} of type {x.type}."
        raise ShapeError(msg)
    if axis is None and x.ndim > 1:
        msg = f"{name} needs an axis for {x} of type {x.type}, which has {x.ndim}. Give axis=..."
        raise ArgumentError(msg)
    return x, 0 if axis is None else normalize_axis(axis, x.ndim)


def _with_first(running: Any, axis: int, fill: Any) -> Any:
    sizes = list(sizes_of(running))
    sizes[axis] = 1
    return concatenate([fill(sizes, running.dtype), running], axis)
