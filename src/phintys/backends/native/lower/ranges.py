"""Lowering of ranges of numbers.

NumPy computes the first two numbers and their difference, and from these all others:
``out[i] = first + i * (second - first)``. So does the code here, in the dtype of the result.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys import scalar as ps
from phintys.backends.native.expressions import (
    Conversion,
    Expression,
    Index,
    Literal,
    Operation,
    Position,
    SizeValue,
)
from phintys.backends.native.failures import Failure
from phintys.backends.native.lower.integers import when
from phintys.backends.native.lower.lowering import Loops, Lowering, NotLowered, lowers
from phintys.backends.native.lower.view import View
from phintys.backends.native.sizes import Size, Sizes, is_length
from phintys.graph.apply import Apply
from phintys.tensor.ranges import ARange

if TYPE_CHECKING:
    from collections.abc import Sequence


_MOST = 2**63 - 1
_BOOL, _INT64, _FLOAT64 = np.dtype("bool"), np.dtype("int64"), np.dtype("float64")


@lowers(ARange)
def lower_arange(op: ARange, node: Apply, lowering: Lowering) -> None:
    """``out[i] = first + i * (second - first)``."""
    dtype = np.dtype(op.dtype)
    given: list[np.dtype[Any]] = [variable.type.numpy_dtype for variable in node.inputs]  # pyright: ignore[reportAttributeAccessIssue]
    if all(kind.kind in "iu" for kind in given):
        _range_of_integers(dtype, given, node, lowering)
    elif dtype.kind == "f":
        _range_of_floats(node, lowering)
    else:
        msg = f"a range of {dtype} between floats"
        raise NotLowered(msg)


# ---- integers ----------------------------------------------------------------------------------


def _range_of_integers(
    dtype: np.dtype[Any], given: Sequence[np.dtype[Any]], node: Apply, lowering: Lowering
) -> None:
    start, stop, step = (lowering.size_of(variable) for variable in node.inputs)
    for kind, bound in zip(given, (start, stop, step), strict=True):
        if kind == np.uint64 and bound.known is None:
            msg = "a range with a bound of uint64, which may not fit into int64"
            raise NotLowered(msg)
    sizes = lowering.sizes
    length = _length_of_range(start, stop, step, node, lowering)
    second = sizes.add(start, step)
    if dtype.kind == "f":
        first, following = (Conversion(SizeValue(size), dtype) for size in (start, second))
        _fill(first, following, length, node, lowering)
        return
    if dtype != _INT64:
        for number, (at, size) in enumerate((("first", start), ("second", second))):
            has_it = sizes.arithmetic("lt", sizes.fixed(number), length)
            is_wrong = sizes.mul(has_it, sizes.sub(sizes.fixed(1), _fits(size, dtype, lowering)))
            failure = Failure(node, "range", f"the {at} number does not fit into {dtype}")
            lowering.require_equal(is_wrong, sizes.fixed(0), failure)
    length = sizes.canonical(length)
    target, (loop,) = lowering.compute(node.outputs[0], [length])
    index = Index(() if loop is None else ((loop, step),), None if start.known == 0 else start)
    lowering.store(target, Position(index), [loop], nodes=(node,))


def _fits(size: Size, dtype: np.dtype[Any], lowering: Lowering) -> Size:
    """Return 1 if a number is in the range of an integer dtype, else 0."""
    sizes = lowering.sizes
    info = np.iinfo(dtype)
    is_fine = sizes.arithmetic("lt", sizes.fixed(int(info.min) - 1), size)
    if info.max > np.iinfo(np.int64).max:
        return is_fine
    return sizes.mul(is_fine, sizes.arithmetic("lt", size, sizes.fixed(int(info.max) + 1)))


def _length_of_range(start: Size, stop: Size, step: Size, node: Apply, lowering: Lowering) -> Size:
    """Return ``max(0, ceil((stop - start) / step))``, or the largest int64 if it is above."""
    sizes = lowering.sizes
    zero, one = sizes.fixed(0), sizes.fixed(1)
    is_back = sizes.arithmetic("lt", step, zero)
    if step.known is None:
        is_zero = sizes.sub(sizes.sub(one, is_back), sizes.arithmetic("lt", zero, step))
        lowering.require_equal(is_zero, zero, Failure(node, "range", "a step of 0"))
    elif step.known == 0:
        msg = "a range whose step is 0"
        raise NotLowered(msg)
    first, last = when(sizes, is_back, stop, start), when(sizes, is_back, start, stop)
    least = sizes.arithmetic("max", step, sizes.fixed(-_MOST))  # so that its negative is an int64
    width = sizes.arithmetic("max", when(sizes, is_back, sizes.sub(zero, least), least), one)
    if is_length(first):
        distance = sizes.sub(sizes.arithmetic("max", last, first), first)
        # Not (distance + width - 1) // width, which can overflow.
        steps = sizes.arithmetic("floordiv", sizes.sub(distance, one), width)
        return sizes.canonical(sizes.at_least_zero(sizes.add(steps, one)))
    steps = _steps_between(first, last, width, sizes.arithmetic("lt", step, least), sizes)
    is_any = sizes.arithmetic("lt", first, last)
    return sizes.canonical(sizes.mul(is_any, sizes.arithmetic("total", steps, one)))


def _steps_between(first: Size, last: Size, width: Size, is_widest: Size, sizes: Sizes) -> Size:
    """Return ``(last - 1 - first) // width``, for ``first < last``, at most the largest int64.

    The distance may be out of range, so it is divided in two parts, before and after -1 or the
    bound that is next to it. ``is_widest`` is 1 for a width of 2^63, which is not an int64.
    """
    one, none = sizes.fixed(1), sizes.fixed(-1)
    middle = sizes.arithmetic("max", first, sizes.arithmetic("min", none, sizes.sub(last, one)))
    before = sizes.at_least_zero(sizes.sub(middle, first))
    after = sizes.at_least_zero(sizes.sub(last, sizes.add(middle, one)))
    quotients = [sizes.arithmetic("floordiv", part, width) for part in (before, after)]
    rest, other = (sizes.arithmetic("mod", part, width) for part in (before, after))
    carry = sizes.arithmetic("lt", sizes.sub(sizes.sub(width, one), rest), other)
    steps = sizes.arithmetic("total", sizes.arithmetic("total", *quotients), carry)
    is_beyond = sizes.arithmetic("lt", sizes.sub(sizes.fixed(_MOST), before), after)
    return when(sizes, is_widest, is_beyond, steps)


# ---- floats ------------------------------------------------------------------------------------


def _range_of_floats(node: Apply, lowering: Lowering) -> None:
    """Compute the number of elements as NumPy does, in the dtype of the bounds."""
    start, stop, step = (_number(variable, lowering) for variable in node.inputs)
    store = partial(_stored, lowering, (), node)
    distance = store(_apply(ps.sub, stop, start))
    quotient = store(_apply(ps.true_div, distance, step))
    count = _apply(ps.ceil, Conversion(quotient, _FLOAT64))
    # NumPy's messages for a quotient that underflows to 0, and for an invalid length.
    one, none = (Literal(np.float64(value), _FLOAT64) for value in (1, 0))
    is_tiny = _apply(ps.and_, _is_zero(quotient), _apply(ps.ne, distance, _zero(distance)))
    if_tiny = _apply(ps.switch, _apply(ps.signbit, Conversion(quotient, _FLOAT64)), none, one)
    count = store(_apply(ps.switch, store(is_tiny), store(if_tiny), store(count)))
    most, least = (Literal(np.float64(value), _FLOAT64) for value in (2**62, -(2**63)))
    is_length = _apply(ps.and_, _apply(ps.lt, count, most), _apply(ps.le, least, count))
    for bound in (start, stop, step):
        is_length = _apply(ps.and_, is_length, _apply(ps.isfinite, bound))
    is_length = _apply(ps.and_, is_length, _apply(ps.ne, step, _zero(step)))
    limited = _apply(ps.maximum, count, none)
    found = [
        Conversion(is_length, _INT64),
        _apply(ps.switch, store(is_length), store(limited), none),
    ]
    views = [View.of(lowering.array(_INT64, ()), lowering.sizes) for _ in found]
    for view, value in zip(views, found, strict=True):
        lowering.store(view, value, (), nodes=(node,))
    is_fine, length = (lowering.sizes.element(view.array) for view in views)
    lowering.require(is_fine, Failure(node, "range", "invalid bounds or step"))
    dtype: Any = node.outputs[0].type.numpy_dtype  # pyright: ignore[reportAttributeAccessIssue]
    second = store(_apply(ps.add, start, step))
    _fill(Conversion(start, dtype), Conversion(second, dtype), length, node, lowering)


def _number(variable: Any, lowering: Lowering) -> Expression:
    """Return a bound; integers are wide enough that they do not overflow."""
    value = lowering.load(lowering.view(variable), ())
    return Conversion(value, _INT64) if value.dtype.kind in "iu" else value


def _apply(op: Any, *arguments: Expression) -> Operation:
    (dtype,) = op.resolve_dtypes([argument.dtype for argument in arguments])
    return Operation(op, arguments, np.dtype(dtype))


def _zero(like: Expression) -> Literal:
    return Literal(like.dtype.type(0), like.dtype)


def _is_zero(value: Expression) -> Operation:
    return _apply(ps.eq, value, _zero(value))


def _fill(
    first: Expression, second: Expression, length: Size, node: Apply, lowering: Lowering
) -> None:
    """Store ``first``, ``second``, and the numbers that follow; float16 is computed in float32."""
    dtype = first.dtype
    wide = np.dtype("float32") if dtype == np.float16 else dtype
    number = partial(_stored, lowering, (), node)
    first, second = (number(value) for value in (first, second))
    if wide != dtype:
        first, second = (number(Conversion(value, wide)) for value in (first, second))
    difference = number(Operation(ps.sub, (second, first), wide))
    target, loops = lowering.compute(node.outputs[0], [length])
    element = partial(_stored, lowering, [length], node)
    (loop,) = loops
    one = lowering.sizes.fixed(1)
    count = Position(Index(() if loop is None else ((loop, one),)))
    scaled = element(Operation(ps.mul, (element(Conversion(count, wide)), difference), wide))
    later = element(Operation(ps.add, (scaled, first), wide))
    is_second = element(Operation(ps.eq, (count, Literal(np.int64(1), _INT64)), _BOOL))
    value: Expression = element(Operation(ps.switch, (is_second, second, later), wide))
    if wide != dtype:
        value = Conversion(value, dtype)
    lowering.store(target, value, loops, nodes=(node,))


def _stored(
    lowering: Lowering, lengths: Sequence[Size], node: Apply, value: Expression
) -> Expression:
    """Store a value for each element; return the expression that reads it."""
    loops: Loops = lowering.loops(lengths)
    view = View.of(lowering.array(value.dtype, lengths), lowering.sizes)
    lowering.store(view, value, loops, nodes=(node,))
    return view.load(loops)
