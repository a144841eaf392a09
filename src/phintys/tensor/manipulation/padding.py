"""Padding arrays at their edges, in the modes of NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ArgumentError, ShapeError
from phintys._base.late import LateModule
from phintys.graph.variable import Variable
from phintys.tensor import math
from phintys.tensor._rules import is_discrete
from phintys.tensor.broadcasting import broadcast_to
from phintys.tensor.convert import as_tensor_variable, constant
from phintys.tensor.creation import alloc, check_sizes, empty
from phintys.tensor.dim_shuffle import dimshuffle, normalize_axis
from phintys.tensor.indexing import set_subtensor, take
from phintys.tensor.joining import concatenate
from phintys.tensor.ranges import arange
from phintys.tensor.reduce import max, min
from phintys.tensor.shapes import sizes_of
from phintys.tensor.size_check import SizeCheck
from phintys.tensor.sizes import add_sizes, as_size, clip_size, fold, multiply_sizes, subtract_sizes
from phintys.tensor.statistics.moments import mean
from phintys.tensor.synonyms import also_named

if TYPE_CHECKING:
    from collections.abc import Callable

    from phintys.tensor.statistics import quantiles
    from phintys.tensor.variable import TensorVariable
else:
    quantiles = LateModule("phintys.tensor.statistics.quantiles")

__all__ = ["pad"]

_ARGUMENTS = {
    "constant": ("constant_values",),
    "edge": (),
    "empty": (),
    "linear_ramp": ("end_values",),
    "maximum": ("stat_length",),
    "mean": ("stat_length",),
    "median": ("stat_length",),
    "minimum": ("stat_length",),
    "reflect": ("reflect_type",),
    "symmetric": ("reflect_type",),
    "wrap": (),
}


@also_named
def pad(
    x: Any,
    pad_width: Any,
    mode: str = "constant",
    *,
    constant_values: Any = None,
    end_values: Any = None,
    stat_length: Any = None,
    reflect_type: str | None = None,
) -> TensorVariable:
    """Return ``x`` with elements added before and after it along its axes.

    Parameters
    ----------
    x
        A tensor of any dtype.
    pad_width
        How many elements: one number for all edges, ``(before, after)`` for all axes, a list of
        ``(before, after)`` for each axis, or a dictionary of axes. Numbers are ints or symbolic
        integers, and not negative.
    mode
        What the new elements are:

        - ``"constant"``: ``constant_values``, by default 0
        - ``"edge"``: the element at the edge
        - ``"linear_ramp"``: equidistant from the edge to ``end_values``, by default 0
        - ``"maximum"``, ``"mean"``, ``"median"``, ``"minimum"``: of the ``stat_length`` elements
          next to the edge, by default of all along the axis
        - ``"reflect"``, ``"symmetric"``: the array mirrored at the element at the edge, or at the
          edge, which repeats that element
        - ``"wrap"``: the array repeated
        - ``"empty"``: arbitrary
    constant_values, end_values, stat_length
        As ``pad_width``: one for all edges, or for each.
    reflect_type
        ``"even"``, or ``"odd"``, which mirrors the values at that of the edge as well.

    Returns
    -------
    TensorVariable
        A tensor with the rank and dtype of ``x``.

    Raises
    ------
    ArgumentError
        The mode is unknown, or does not have the argument.
    ShapeError
        A number is negative, or there are not as many as axes; an axis without elements is padded
        with elements of it.

    Notes
    -----
    Axes are padded one after the other, and the corners are those of the last one, as in
    ``numpy.pad``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.pad([1, 2, 3], (2, 1), mode="reflect").eval()
    array([3, 2, 1, 2, 3, 2])
    """
    x = as_tensor_variable(x)
    given = {
        "constant_values": constant_values,
        "end_values": end_values,
        "stat_length": stat_length,
        "reflect_type": reflect_type,
    }
    options = _options(mode, {name: value for name, value in given.items() if value is not None})
    widths = _widths(pad_width, x.ndim)
    if mode in {"constant", "empty"}:
        return _pad_around(x, widths, mode, options.get("constant_values", 0))
    for axis, (before, after) in enumerate(widths):
        if not (_is_zero(before) and _is_zero(after)):
            x = _pad_axis(x, axis, before, after, mode, options)
    return x


# ---- arguments -----------------------------------------------------------------------------------


def _options(mode: Any, given: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(mode, str) or mode not in _ARGUMENTS:
        msg = f"pad: mode is one of {', '.join(_ARGUMENTS)}; got {mode!r}."
        raise ArgumentError(msg)
    for name in given:
        if name not in _ARGUMENTS[mode]:
            there = ", ".join(_ARGUMENTS[mode]) or "none"
            msg = f"pad: mode {mode!r} has no argument {name}. It has: {there}."
            raise ArgumentError(msg)
    if given.get("reflect_type", "even") not in {"even", "odd"}:
        msg = f'pad: reflect_type is "even" or "odd", got {given["reflect_type"]!r}.'
        raise ArgumentError(msg)
    return given


def _widths(pad_width: Any, ndim: int) -> list[tuple[Any, Any]]:
    if isinstance(pad_width, dict):
        by_axis = {normalize_axis(axis, ndim): width for axis, width in pad_width.items()}
        pairs = [_pairs(by_axis.get(axis, 0), 1, "pad_width")[0] for axis in range(ndim)]
    else:
        pairs = _pairs(pad_width, ndim, "pad_width")
    widths = [tuple(fold(as_size(n, "A width of pad")) for n in pair) for pair in pairs]
    check_sizes([n if isinstance(n, int) else None for n in sum(widths, ())], "A width of pad")
    return [(_bounded(before), _bounded(after)) for before, after in widths]


_MOST = 2**61
"""The sum of two such widths and a length fits into 64 bits, and no array is as long."""


def _bounded(width: Any) -> Any:
    if isinstance(width, int) and width > _MOST:
        msg = f"A width of pad must be at most {_MOST:,}, got {width:,}."
        raise ShapeError(msg)
    return clip_size(width, None, _MOST)


def _pairs(given: Any, ndim: int, name: str) -> list[tuple[Any, Any]]:
    """Return (before, after) for each axis, by the rules of NumPy's broadcasting to (ndim, 2)."""
    if isinstance(given, Variable):
        whole = broadcast_to(as_tensor_variable(given), (ndim, 2))
        return [(whole[axis, 0], whole[axis, 1]) for axis in range(ndim)]
    rows = given.tolist() if isinstance(given, np.ndarray) else given
    rows = list(rows) if isinstance(rows, list | tuple) else [[rows]]
    if not any(isinstance(row, list | tuple) for row in rows):
        rows = [rows]
    rows = [list(row) if isinstance(row, list | tuple) else [row] for row in rows]
    if len(rows) not in {1, ndim} or any(len(row) not in {1, 2} for row in rows):
        msg = (
            f"pad: {name} is one number, (before, after), or a pair for each of the {ndim} axes; "
            f"got {given!r}."
        )
        raise ShapeError(msg)
    rows = rows * ndim if len(rows) == 1 else rows
    return [(row[0], row[-1]) for row in rows]


def _is_zero(width: Any) -> bool:
    return isinstance(width, int) and width == 0


# ---- constants -----------------------------------------------------------------------------------


def _pad_around(x: Any, widths: list[tuple[Any, Any]], mode: str, values: Any) -> Any:
    """Write the array into the middle of a larger one."""
    pairs = _pairs(values, x.ndim, "constant_values")
    sizes = sizes_of(x)
    wide = [add_sizes(add_sizes(b, n), a) for n, (b, a) in zip(sizes, widths, strict=True)]
    if len({_key(value) for pair in pairs for value in pair}) > 1:
        return _pad_in_turn(x, widths, pairs)
    background = empty(wide, x.dtype) if mode == "empty" else _filled(pairs, wide, x.dtype)
    inside = tuple(
        slice(before, add_sizes(before, size))
        for size, (before, _) in zip(sizes, widths, strict=True)
    )
    return set_subtensor(background[inside], x) if x.ndim else x


def _key(value: Any) -> Any:
    return id(value) if isinstance(value, Variable) else complex(value)


def _filled(pairs: Any, sizes: Any, dtype: str) -> Any:
    return alloc(_element(pairs[0][0] if pairs else 0, dtype), *sizes)


def _element(value: Any, dtype: str) -> Any:
    """Return a number in the dtype of the array, as NumPy's assignment would."""
    if isinstance(value, Variable):
        return math.cast(value, dtype)
    return constant(np.asarray(value).astype(dtype))


def _pad_in_turn(x: Any, widths: list[tuple[Any, Any]], pairs: list[tuple[Any, Any]]) -> Any:
    for axis, (counts, values) in enumerate(zip(widths, pairs, strict=True)):
        parts = [
            alloc(_element(value, x.dtype), *_with_size(x, axis, count))
            for count, value in zip(counts, values, strict=True)
        ]
        x = concatenate([parts[0], x, parts[1]], axis)
    return x


def _with_size(x: Any, axis: int, size: Any) -> list[Any]:
    sizes = list(sizes_of(x))
    sizes[axis] = size
    return sizes


# ---- one axis ------------------------------------------------------------------------------------


def _pad_axis(
    x: Any, axis: int, before: Any, after: Any, mode: str, options: dict[str, Any]
) -> Any:
    if mode in {"linear_ramp", "edge"} or mode in _STATISTICS or mode in _MIRRORED:
        before = _of_nonempty(x, axis, before, mode)
    if mode in _MIRRORED:
        return _gathered(x, axis, before, after, mode, options.get("reflect_type") == "odd")
    if mode == "linear_ramp":
        ends = _pairs(options.get("end_values", 0), x.ndim, "end_values")[axis]
        return _ramps(x, axis, before, after, ends)
    lengths = _pairs(options["stat_length"], x.ndim, "stat_length") if options else None
    return _statistics(x, axis, (before, after), mode, lengths[axis] if lengths else (None, None))


def _of_nonempty(x: Any, axis: int, width: Any, mode: str) -> Any:
    """Return a width after a check that there is an element to pad with."""
    length = fold(sizes_of(x)[axis])
    if not isinstance(length, int):
        return SizeCheck("at least", f"pad(mode={mode!r}): the length of axis {axis}")(
            width, length, 1
        )
    if length == 0:
        msg = (
            f"pad: axis {axis} of {x} (type {x.type}) has no elements to pad with in mode "
            f'{mode!r}. Use mode="constant".'
        )
        raise ShapeError(msg)
    return width


_MIRRORED = ("edge", "reflect", "symmetric", "wrap")


def _gathered(x: Any, axis: int, before: Any, after: Any, mode: str, odd: bool) -> Any:
    """Return the elements at indices of a periodic continuation."""
    length = sizes_of(x)[axis]
    places = arange(math.neg(before), add_sizes(length, after))
    if mode == "edge":
        return take(x, math.clip(places, 0, subtract_sizes(length, 1)), axis)
    if mode == "wrap":
        return take(x, math.mod(places, length), axis)
    turn = length if mode == "symmetric" else subtract_sizes(length, 1)
    period = clip_size(multiply_sizes((2, turn)), 1, None)
    phase = math.mod(places, period)
    last = subtract_sizes(multiply_sizes((2, turn)), 1 if mode == "symmetric" else 0)
    # An axis of length 1 has the period 0 in mode "reflect": all of it is that element.
    mirrored = math.ge(phase, length)
    inside = math.maximum(math.switch(mirrored, math.sub(last, phase), phase), 0)
    even = take(x, inside, axis)
    if not odd:
        return even
    return _odd(x, axis, even, mirrored, math.floor_div(places, period), length)


def _odd(x: Any, axis: int, even: Any, mirrored: Any, turns: Any, length: Any) -> Any:
    """Mirror the values as well: 2 * edge - value, and a rise from one period to the next."""
    column = ["x"] * x.ndim
    column[axis] = 0
    mirrored, turns = dimshuffle(mirrored, *column), dimshuffle(turns, *column)
    first = take(x, constant([0]), axis)
    last = take(x, constant([-1]), axis)
    # With 2 * last for a mirrored period, the edges count a whole number of times. One that does
    # not count may be NaN.
    edges = 2 * (_times(turns + mirrored, last) - _times(turns, first))
    moved = math.switch(mirrored, edges - even, edges + even)
    # With a single element, there is no rise, and nothing to mirror.
    return math.cast(math.switch(math.gt(length, 1), moved, even), x.dtype)


def _times(count: Any, x: Any) -> Any:
    """Return ``count * x``, and 0 for none."""
    return math.switch(math.eq(count, 0), 0, count * x)


def _ramps(x: Any, axis: int, before: Any, after: Any, ends: tuple[Any, Any]) -> Any:
    column = ["x"] * x.ndim
    column[axis] = 0
    parts = [x]
    for position, (count, end) in enumerate(zip((before, after), ends, strict=True)):
        edge = take(x, constant([-position]), axis)
        steps = dimshuffle(arange(count), *column)
        if position:
            steps = math.sub(subtract_sizes(count, 1), steps)
        ramp = _ramp(edge, math.cast(as_tensor_variable(end), x.dtype), steps, count)
        part = math.cast(ramp, x.dtype)
        parts = [*parts, part] if position else [part, *parts]
    return concatenate(parts, axis)


def _ramp(edge: Any, end: Any, steps: Any, count: Any) -> Any:
    """Return ``end + (edge - end) * steps / count``, rounded down for integers, up for bools."""
    if not is_discrete(edge):
        return end + (edge - end) / clip_size(count, 1, None) * steps
    start, stop = math.cast(end, "float64"), math.cast(edge, "float64")
    ramp = start + (stop - start) / clip_size(count, 1, None) * steps
    return math.neq(ramp, 0) if edge.dtype == "bool" else math.floor(ramp)


_STATISTICS: dict[str, Callable[..., Any]] = {
    "maximum": max,
    "mean": mean,
    "median": lambda x, axis, keepdims: quantiles.median(x, axis, keepdims=keepdims),
    "minimum": min,
}


def _statistics(
    x: Any, axis: int, widths: tuple[Any, Any], mode: str, lengths: tuple[Any, Any]
) -> Any:
    size = sizes_of(x)[axis]
    before = (slice(None),) * axis
    parts = []
    for position, (count, length) in enumerate(zip(widths, lengths, strict=True)):
        used = size
        if length is not None:
            used = fold(as_size(length, "A stat_length of pad"))
            check_sizes([used if isinstance(used, int) else None], "A stat_length of pad")
            used = clip_size(used, None, size)
        start = subtract_sizes(size, used) if position else 0
        whole = x[(*before, slice(start, add_sizes(start, used)))]
        value = _STATISTICS[mode](whole, axis, keepdims=True)
        if is_discrete(x) and x.dtype != "bool" and not is_discrete(value):
            value = math.rint(value)
        parts.append(broadcast_to(math.cast(value, x.dtype), _with_size(x, axis, count)))
    return concatenate([parts[0], x, parts[1]], axis)
