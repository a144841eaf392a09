"""Bessel functions of any order of the first and second kind, where SciPy's lose digits.

See :mod:`phintys.scalar.bessel_recurrence` for the formulas (J. C. P. Miller, 1952; Barnett, Feng,
Steed and Goldfarb, 1974; P. Debye, 1909). SciPy's functions are called for all other lanes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.math.bessel_near_0 import (
    factorial,
    second_kind_near_0,
    stepped,
    summed,
    times,
    two_over,
)
from phintys.backends.native.assembler.math.calls import float_math
from phintys.backends.native.assembler.math.exact import (
    pair_add,
    polynomial,
    two_sum,
)
from phintys.backends.native.assembler.math.floating import copysign, fabs
from phintys.backends.native.assembler.math.iteration import frozen, iterate
from phintys.backends.native.assembler.math.lanewise import computed_where, redo_lanes
from phintys.backends.native.assembler.math.registry import float_function
from phintys.backends.native.assembler.values import Value
from phintys.scalar.bessel import BEYOND
from phintys.scalar.bessel_near_0 import LARGE
from phintys.scalar.bessel_recurrence import (
    FAR,
    FEW,
    FRACTION_FROM,
    FRACTION_LENGTH,
    FRACTION_LENGTH_AT_1,
    FRACTION_TO,
    HANKEL_FROM,
    LARGE_NEAR_0,
    MOST_ORDER,
    MOST_ORDER_NEAR_0,
    MOST_STEPS,
    SERIES_ORDER,
    SHIFT,
    SLOPE,
    START,
    TERMS,
    TURNING,
)
from phintys.scalar.bessel_slopes import LARGEST, SUMS


@float_function("jv", 2)
def jv(b: Builder, v: Value, x: Value) -> Value:
    """The function of the first kind."""
    if x.type.name == "float32":
        return _widened(b, jv, v, x)
    v, x = frozen(b, v), frozen(b, x)
    is_whole = _is_whole(b, v)
    order, size = b.select(is_whole, fabs(b, v), v), fabs(b, x)
    is_usual = (is_whole | ((v > -1.0) & b.le(0.0, x))) & (size < math.inf)
    is_small = (size <= FRACTION_TO) | _is_large(b, order, size)
    is_small = is_usual & is_small & (order <= SERIES_ORDER)
    is_near = is_usual & ~is_small & _is_near(b, order, size)
    is_beyond = is_usual & _is_beyond(b, order, size)
    found = computed_where(b, is_small, lambda: _series(b, *_inside(b, is_small, order, size)))
    near = computed_where(b, is_near, lambda: _downwards(b, *_inside(b, is_near, order, size)))
    beyond = computed_where(b, is_beyond, lambda: _far(b, order, size)[0])
    found = b.select(is_near, near, b.select(is_beyond, beyond, found))
    found = _turned(b, found, v, x)
    is_opposite = _is_opposite(b, v, x)
    opposite = computed_where(b, is_opposite, lambda: _of_opposite(b, v, x)[0])
    found = b.select(is_opposite, opposite, found)
    known = is_small | is_near | is_beyond | is_opposite
    return redo_lanes(b, found, ~known, "phintys_scipy_jv_float64", [v, x])


@float_function("yv", 2)
def yv(b: Builder, v: Value, x: Value) -> Value:
    """The function of the second kind."""
    if x.type.name == "float32":
        return _widened(b, yv, v, x)
    v, x = frozen(b, v), frozen(b, x)
    order = fabs(b, v)
    is_usual = (_is_whole(b, v) | b.le(0.0, v)) & (x > 0.0) & (x < math.inf)
    is_large = is_usual & _is_large(b, order, x) & (order <= SERIES_ORDER)
    is_small = is_usual & ~is_large & (x < FRACTION_FROM) & (order <= LARGE)
    is_near = is_usual & ~is_large & _is_near(b, order, x) & ((x <= FRACTION_TO) | (order > FEW))
    is_beyond = is_usual & _is_beyond(b, order, x)
    found = computed_where(b, is_beyond, lambda: _far(b, order, x)[1])
    for there, function in (
        (is_large, _series_of_large),
        (is_small, second_kind_near_0),
        (is_near, _upwards),
    ):
        part = computed_where(b, there, lambda: function(b, *_inside(b, there, order, x)))  # noqa: B023 - called at once
        found = b.select(there, part, found)
    found = _turned(b, found, v, x)
    is_opposite = _is_opposite(b, v, x)
    opposite = computed_where(b, is_opposite, lambda: _of_opposite(b, v, x)[1])
    found = b.select(is_opposite, opposite, found)
    known = is_large | is_small | is_near | is_beyond | is_opposite
    return redo_lanes(b, found, ~known, "phintys_scipy_yv_float64", [v, x])


def _widened(
    b: Builder, function: Callable[[Builder, Value, Value], Value], v: Value, x: Value
) -> Value:
    wide = x.type.like("float64")
    return b.convert(function(b, b.convert(v, wide), b.convert(x, wide)), x.type)


def _inside(b: Builder, there: Value, v: Value, x: Value) -> tuple[Value, Value]:
    """Return arguments for which loops end, in the lanes that need no result too."""
    return b.select(there, v, 0.5), b.select(there, x, 1.0)


def _is_whole(b: Builder, v: Value) -> Value:
    return b.eq(b.intrinsic("rint", v), v)


def _is_odd(b: Builder, v: Value) -> Value:
    half = v * 0.5
    return _is_whole(b, v) & ~b.eq(b.intrinsic("floor", half), half)


def _turned(b: Builder, found: Value, v: Value, x: Value) -> Value:
    """Return the result with the sign that whole orders and arguments below 0 give it."""
    sign = copysign(b, b.constant(x.type, 1.0), x)
    sign = b.select(v < 0.0, -sign, sign)
    return b.select(_is_odd(b, v), found * sign, found)


def _is_near(b: Builder, v: Value, x: Value) -> Value:
    is_known = (x < HANKEL_FROM) | (v * v > x)
    is_known = is_known & (x >= FRACTION_FROM) & (x <= FAR) & (v >= -0.5)
    most = b.select(x > FRACTION_TO, b.constant(x.type, MOST_ORDER), MOST_ORDER_NEAR_0)
    return is_known & (v <= most)


def _is_large(b: Builder, v: Value, x: Value) -> Value:
    is_far = (v > LARGE) & (x * x <= v * 2.0 + 2.0)
    return is_far | ((v >= LARGE_NEAR_0) & (x < FRACTION_FROM))


def _series(b: Builder, v: Value, x: Value) -> Value:
    half = x * 0.5
    square = half * half
    total = summed(b, x, lambda n: -square / (n * (v + n)))
    first, others = factorial(b, v)
    return float_math(b, "pow", half, v) / first / others * total


def _series_of_large(b: Builder, v: Value, x: Value) -> Value:
    half = x * 0.5
    square = half * half
    total = summed(b, x, lambda n: b.select(n < v, square / (n * (v - n)), 0.0))
    first, others = factorial(b, v - 1.0)
    return -(first / math.pi * float_math(b, "pow", half, -v) * others) * total


def _downwards(b: Builder, v: Value, x: Value) -> Value:
    return _scaled(b, v, x).wanted


def _upwards(b: Builder, v: Value, x: Value) -> Value:
    start = _scaled(b, v - b.intrinsic("rint", v), x)
    return stepped(b, v, x, start.second_kind, start.following, -1.0)


class _Scaled(NamedTuple):
    """The first kind of an order, and the second kind of the least one and the one above it."""

    wanted: Value
    second_kind: Value
    following: Value


def _scaled(b: Builder, v: Value, x: Value) -> _Scaled:
    """Write the recurrence down to the least order, and the factor by which its results are off."""
    place = b.intrinsic("rint", v)
    base = v - place
    wanted, first, second = _unscaled(b, base, place, x, b.maximum_number(v, x))
    p, q = _fraction(b, base, x)
    slope = base / x - p
    other = second - slope * first
    square = b.madd(q * first, first, other * other / q)
    scale = b.intrinsic("sqrt", square * (x * (0.5 * math.pi)))
    second_kind = other / (q * scale)
    return _Scaled(wanted / scale, second_kind, slope * second_kind - q * first / scale)


def _unscaled(
    b: Builder, base: Value, place: Value, x: Value, largest: Value
) -> tuple[Value, Value, Value]:
    factor = two_over(b, x)
    zero = b.constant(x.type, 0.0)
    top = b.madd(float_math(b, "cbrt", largest * 0.5), SLOPE, largest + SHIFT)
    top = b.intrinsic("ceil", top - base)

    def lower_order(
        n: Value, wanted: Value, now: Value, lost: Value, before: Value, lost_before: Value
    ) -> tuple[list[Value], Value]:
        wanted = b.select(b.eq(n, place), now + lost, wanted)
        rise = times(b, times(b, two_sum(b, base, n), factor), (now, lost))
        after, lost_after = pair_add(b, rise, (-before, -lost_before))
        is_step = n > 0.0
        changed = ((after, now), (lost_after, lost), (now, before), (lost, lost_before))
        following = [b.select(is_step, new, old) for new, old in changed]
        return [b.select(is_step, n - 1.0, n), wanted, *following], is_step

    initial = [top, zero, b.constant(x.type, START), zero, zero, zero]
    _, wanted, now, lost, before, lost_before = iterate(b, MOST_STEPS, initial, lower_order)
    return wanted, now + lost, before + lost_before


def _fraction(b: Builder, v: Value, x: Value) -> tuple[Value, Value]:
    zero = b.constant(x.type, 0.0)
    length = b.intrinsic("ceil", b.div(FRACTION_LENGTH_AT_1, x) + FRACTION_LENGTH)
    twice = x + x

    def next_place(n: Value, real: Value, imaginary: Value) -> tuple[list[Value], Value]:
        below, beside = twice + real, n + n + imaginary
        half = n - 0.5
        share = (half - v) * (half + v) / b.madd(below, below, beside * beside)
        is_place = n > 0.0
        real = b.select(is_place, below * share, real)
        imaginary = b.select(is_place, -beside * share, imaginary)
        n = b.select(is_place, n - 1.0, n)
        return [n, real, imaginary], n > 0.0

    _, real, imaginary = iterate(b, MOST_STEPS, [length, zero, zero], next_place)
    return -(imaginary + 0.5) / x, real / x + 1.0


def _is_beyond(b: Builder, v: Value, x: Value) -> Value:
    v = b.minimum_number(v, LARGEST)
    root = float_math(b, "cbrt", v)
    is_far = float_math(b, "hypot", v, x) > BEYOND
    return is_far & (_distance(b, v, x) > root * root * TURNING)


def _is_opposite(b: Builder, v: Value, x: Value) -> Value:
    """Write where an order is negative and not whole, and the expansion holds for its opposite."""
    is_between = (v < 0.0) & ~_is_whole(b, v) & (-v < x) & (x < math.inf)
    return is_between & _is_beyond(b, fabs(b, v), x)


def _of_opposite(b: Builder, v: Value, x: Value) -> tuple[Value, Value]:
    """Write both functions of a negative order by those of its opposite."""
    order = fabs(b, v)
    first, second = _far(b, order, x)
    whole = b.intrinsic("rint", order)
    part = (order - whole) * math.pi
    cosine = float_math(b, "sin", -fabs(b, part) + 0.5 * math.pi)
    sine = float_math(b, "sin", part)
    is_odd = _is_odd(b, whole)
    cosine, sine = b.select(is_odd, -cosine, cosine), b.select(is_odd, -sine, sine)
    return cosine * first - sine * second, sine * first + cosine * second


def _distance(b: Builder, v: Value, x: Value) -> Value:
    return b.intrinsic("sqrt", fabs(b, x - v)) * b.intrinsic("sqrt", x + v)


def _far(b: Builder, order: Value, x: Value) -> tuple[Value, Value]:
    """Write both functions beyond: Debye's expansion, and the limits for orders above x."""
    v = b.minimum_number(order, x)
    distance = _distance(b, v, x)
    step, share = b.div(1.0, distance), v / distance
    square = -(share * share)
    real, imaginary = (b.constant(x.type, 0.0) for _ in range(2))
    for numbers in reversed(SUMS[:TERMS]):
        real, imaginary = b.madd(imaginary, step, polynomial(b, square, numbers)), -real * step
    whole = b.intrinsic("rint", v)
    shift = v * float_math(b, "arcsin", v / x) - v * (v / (distance + x))
    shift = shift - (v - whole) * (0.5 * math.pi)
    cosine, sine = float_math(b, "cos", x), float_math(b, "sin", x)
    near, aside = float_math(b, "cos", shift), float_math(b, "sin", shift)
    cosine, sine = cosine * near - sine * aside, sine * near + cosine * aside
    cosine, sine = cosine + sine, sine - cosine  # less pi / 4, but for a factor
    is_odd = _is_odd(b, whole)
    cosine, sine = b.select(is_odd, sine, cosine), b.select(is_odd, -cosine, sine)
    half = b.intrinsic("floor", whole * 0.5)
    scale = b.div(1.0, b.intrinsic("sqrt", distance * math.pi))
    scale = b.select(_is_odd(b, half), -scale, scale)
    first = scale * (cosine * real - sine * imaginary)
    second = scale * (sine * real + cosine * imaginary)
    is_below = order < x
    zero, infinity = (b.constant(x.type, number) for number in (0.0, -math.inf))
    return b.select(is_below, first, zero), b.select(is_below, second, infinity)
