"""Bessel functions of any order of the first and second kind, where SciPy's lose digits.

See :mod:`phintys.scalar.bessel_recurrence` for the formulas (J. C. P. Miller, 1952; Barnett, Feng,
Steed and Goldfarb, 1974; P. Debye, 1909), and :mod:`phintys.scalar.bessel_near_0` for those of the
second kind next to 0 (N. M. Temme, 1975 and 1976). SciPy's functions are called for all other
lanes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import frozen, iterate
from phintys.backends.native.assembler.math.calls import float_math
from phintys.backends.native.assembler.math.constants import PI, words
from phintys.backends.native.assembler.math.exact import (
    Pair,
    fast_two_sum,
    pair_add,
    pair_div,
    pair_sqrt,
    polynomial,
    residual,
    two_prod,
    two_sum,
)
from phintys.backends.native.assembler.math.exponential import exp_of_sum
from phintys.backends.native.assembler.math.floating import clamp, copysign, fabs
from phintys.backends.native.assembler.math.lanewise import computed_where, redo_lanes
from phintys.backends.native.assembler.math.power import log_pair
from phintys.backends.native.assembler.math.registry import float_function
from phintys.backends.native.assembler.values import Value
from phintys.scalar.bessel import LARGEST_POWER, LIFT
from phintys.scalar.bessel_near_0 import ENOUGH, EVEN, LARGE, MOST_TERMS, ODD, ROOM, SUBNORMAL
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
    TURNING,
    TURNING_ABOVE,
    TURNING_BELOW,
)
from phintys.scalar.bessel_slopes import LARGEST, SUMS

_PI = words(PI, "float64", 53)


def _words(n: int) -> tuple[float, float]:
    """Return ``(-1)**(n // 2) / n!`` in two words."""
    exact = Fraction((-1) ** (n // 2), math.factorial(n))
    return float(exact), float(exact - Fraction(float(exact)))


# Taylor's series of sines and cosines: so many terms with twice the digits, and others.
_EXACT_TERMS, _TERMS = 4, 11
_SINE, _COSINE = (tuple(_words(2 * n + odd) for n in range(_TERMS)) for odd in (1, 0))

LEAST_SHARE = 1e-100
"""Of x in v, by which v is divided."""

# ---- next to 0 -----------------------------------------------------------------------------------


def second_kind_near_0(b: Builder, v: Value, x: Value) -> Value:
    """Write ``yv`` for orders from 0 on and arguments between 0 and 1/4."""
    value, following = _series_near_0(b, v - b.intrinsic("rint", v), x, -1.0)
    return stepped(b, v, x, value * (-2 / math.pi), following * (-2 / math.pi), -1.0)


def modified_near_0(b: Builder, v: Value, x: Value) -> Value:
    """Write ``kv`` for orders from 0 on and arguments between 0 and 1/4."""
    value, following = _series_near_0(b, v - b.intrinsic("rint", v), x, 1.0)
    return stepped(b, v, x, value, following, 1.0)


def _series_near_0(b: Builder, m: Value, x: Value, side: float) -> tuple[Value, Value]:
    """Write the functions of the orders m and m + 1, but for a factor of those that oscillate."""
    square, step = m * m, x * x * (0.25 * side)
    even, odd = polynomial(b, square, EVEN), polynomial(b, square, ODD)
    one = b.constant(x.type, 1.0)
    log = -float_math(b, "log", x) + math.log(2)
    exponent, turn = m * log, m * (0.5 * math.pi)
    power = float_math(b, "pow", x, -m) * float_math(b, "exp2", m)
    inverse = b.div(1.0, power)
    difference = b.select(
        fabs(b, exponent) < 1.0, float_math(b, "sinh", exponent), (power - inverse) * 0.5
    )
    is_whole = b.eq(m, 0.0)
    angle = b.select(is_whole, one, turn)
    sine = b.select(is_whole, one, float_math(b, "sin", angle) / angle)
    twice = angle + angle
    share = b.select(is_whole, one, twice / float_math(b, "sin", twice))
    growth = b.select(is_whole, one, difference / b.select(is_whole, one, exponent))
    f = share * (odd * 0.5 * (power + inverse) + even * growth * log)
    p = power * 0.5 / (even - m * odd)
    q = b.div(0.5, power * (even + m * odd))
    weight = turn * sine * sine * math.pi if side < 0 else b.constant(x.type, 0.0)

    def add_term(
        n: Value, f: Value, p: Value, q: Value, factor: Value, total: Value, following: Value
    ) -> tuple[list[Value], Value]:
        f = (n * f + p + q) / (n * n - square)
        factor, p, q = factor * step / n, p / (n - m), q / (n + m)
        term = factor * (f + weight * q)
        total, following = total + term, following + (factor * p - n * term)
        least = b.minimum_number(fabs(b, total), fabs(b, following))
        return [n + 1.0, f, p, q, factor, total, following], fabs(b, n * term) > least * ENOUGH

    initial = [one, f, p, q, one, f + weight * q, p]
    *_, total, following = iterate(b, MOST_TERMS, initial, add_term)
    return total, following * b.div(2.0, x)


def stepped(b: Builder, v: Value, x: Value, value: Value, following: Value, side: float) -> Value:
    """Write the function of order v, from those of the order ``v - rint(v)`` and of one more."""
    whole = b.intrinsic("rint", v)
    base, factor = v - whole, two_over(b, x)
    one, zero = (b.constant(x.type, number) for number in (1.0, 0.0))

    def raise_order(
        n: Value, now: Value, lost: Value, following: Value, lost_following: Value
    ) -> tuple[list[Value], Value]:
        rise = times(b, times(b, factor, (following, lost_following)), (base + n, zero))
        after, lost_after = pair_add(b, rise, (now * side, lost * side))
        is_step = n <= whole
        changed = (
            *((following, now), (lost_following, lost)),
            *((after, following), (lost_after, lost_following)),
        )
        return [n + 1.0, *(b.select(is_step, new, old) for new, old in changed)], n < whole

    # Without fused multiply-add, products with twice the digits end before the largest floats.
    first = [one, value * ROOM, zero, following * ROOM, zero]
    _, now, *_ = iterate(b, int(MOST_ORDER) + 1, first, raise_order)
    is_finite = fabs(b, now) < math.inf
    return b.select(is_finite, now * (1 / ROOM), b.constant(x.type, side * math.inf))


def two_over(b: Builder, x: Value) -> Pair:
    """Write ``2 / x`` with twice the digits."""
    quotient = b.div(2.0, x)
    return quotient, residual(b, b.constant(x.type, 2.0), quotient, x) / x


def times(b: Builder, x: Pair, y: Pair) -> Pair:
    """Write a product of numbers with twice the digits."""
    product, error = two_prod(b, x[0], y[0])
    return fast_two_sum(b, product, b.madd(x[0], y[1], b.madd(x[1], y[0], error)))


def modified_series(b: Builder, v: Value, x: Value) -> Value:
    """Write ``iv`` of orders from 0 on by its power series."""
    half = x * 0.5
    square = half * half
    total = summed(b, x, lambda n: square / (n * (v + n)))
    first, others = factorial(b, v)
    return power_of_half(b, v, x) / first / others * total


def power_of_half(b: Builder, v: Value, x: Value) -> Value:
    """Write (x / 2)**v, also where the half of a subnormal number has lost digits."""
    is_tiny = x < SUBNORMAL
    power = float_math(b, "pow", b.select(is_tiny, x, x * 0.5), v)
    rest = computed_where(b, is_tiny, lambda: float_math(b, "exp2", -v))
    return b.select(is_tiny, power * rest, power)


def summed(b: Builder, like: Value, quotient: Callable[[Value], Value]) -> Value:
    """Write a series of a first term 1, given the quotient of the n-th term and the one before."""
    one = b.constant(like.type, 1.0)

    def add_term(n: Value, term: Value, total: Value) -> tuple[list[Value], Value]:
        term = term * quotient(n)
        return [n + 1.0, term, total + term], fabs(b, term) > ENOUGH

    return iterate(b, MOST_TERMS, [one, one, one], add_term)[2]


def factorial(b: Builder, v: Value) -> tuple[Value, Value]:
    """Write two factors of ``gamma(v + 1)``: that of an order below 1, and a product."""
    steps = b.maximum_number(b.intrinsic("floor", v), 0.0)
    base = v - steps
    one, zero = (b.constant(v.type, number) for number in (1.0, 0.0))

    def raise_order(n: Value, now: Value, lost: Value) -> tuple[list[Value], Value]:
        now, lost = times(b, (now, lost), (b.select(n <= steps, base + n, one), zero))
        return [n + 1.0, now, lost], n < steps

    _, now, lost = iterate(b, int(SERIES_ORDER) + 1, [one, one, zero], raise_order)
    return float_math(b, "gamma", base + 1.0), now + lost


# ---- other arguments -----------------------------------------------------------------------------


@float_function("jv", 2)
def jv(b: Builder, v: Value, x: Value) -> Value:
    """The function of the first kind."""
    if x.type.name == "float32":
        return _widened(b, jv, v, x)
    v, x = frozen(b, v), frozen(b, x)
    is_whole = _is_whole(b, v)
    order, size = b.select(is_whole, fabs(b, v), v), fabs(b, x)
    is_usual = (is_whole | ((v > -1.0) & b.le(0.0, x))) & (size < math.inf)
    is_far = is_usual & _is_far(b, order, size)
    is_small = (size <= FRACTION_TO) | _is_large(b, order, size)
    is_small = is_usual & is_small & (order <= SERIES_ORDER) & ~is_far
    is_near = is_usual & ~is_small & ~is_far & _is_near(b, order, size)
    found = computed_where(b, is_small, lambda: _series(b, *_inside(b, is_small, order, size)))
    near = computed_where(b, is_near, lambda: _downwards(b, *_inside(b, is_near, order, size)))
    found = b.select(is_near, near, b.select(is_far, _uniform(b, is_far, order, size, 0), found))
    found = _turned(b, found, v, x)
    is_opposite = _is_opposite(b, v, x)
    opposite = computed_where(b, is_opposite, lambda: _of_opposite(b, v, x)[0])
    found = b.select(is_opposite, opposite, found)
    known = is_small | is_near | is_far | is_opposite
    return redo_lanes(b, found, ~known, "phintys_scipy_jv_float64", [v, x])


@float_function("yv", 2)
def yv(b: Builder, v: Value, x: Value) -> Value:
    """The function of the second kind."""
    if x.type.name == "float32":
        return _widened(b, yv, v, x)
    v, x = frozen(b, v), frozen(b, x)
    order = fabs(b, v)
    is_usual = (_is_whole(b, v) | b.le(0.0, v)) & (x > 0.0) & (x < math.inf)
    is_far = is_usual & _is_far(b, order, x)
    is_inner = is_usual & ~is_far
    is_large = is_inner & _is_large(b, order, x) & (order <= SERIES_ORDER)
    is_small = is_inner & ~is_large & (x < FRACTION_FROM) & (order <= LARGE)
    is_near = is_inner & ~is_large & _is_near(b, order, x) & ((x <= FRACTION_TO) | (order > FEW))
    found = _uniform(b, is_far, order, x, 1)
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
    known = is_large | is_small | is_near | is_far | is_opposite
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
    return power_of_half(b, v, x) / first / others * total


def _series_of_large(b: Builder, v: Value, x: Value) -> Value:
    half = x * 0.5
    square = half * half
    total = summed(b, x, lambda n: b.select(n < v, square / (n * (v - n)), 0.0))
    first, others = factorial(b, v - 1.0)
    return -(first / math.pi * power_of_half(b, -v, x) * others) * total


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


def _is_far(b: Builder, v: Value, x: Value) -> Value:
    """Write where the uniform expansions hold: not near orders that are the argument."""
    v = b.minimum_number(fabs(b, v), LARGEST)
    is_possible = (x > 0.0) & ((x > TURNING_ABOVE) | (v > TURNING_ABOVE))

    def reach() -> Value:
        distance = _distance(b, v, x)
        share = v / distance
        least = b.select(x > v, b.constant(x.type, TURNING_ABOVE), TURNING_BELOW)
        return distance - b.madd(share * share, TURNING, least)

    return is_possible & (computed_where(b, is_possible, reach) > 0.0)


def _uniform(b: Builder, where: Value, v: Value, x: Value, kind: int) -> Value:
    """Write a function of the first kind (0) or the second (1) by Debye's expansions."""
    is_above = v > x
    far = computed_where(b, where & ~is_above, lambda: _far(b, v, x)[kind])
    beyond = computed_where(b, where & is_above, lambda: _decaying(b, v, x, kind))
    return b.select(is_above, beyond, far)


def _decaying(b: Builder, v: Value, x: Value, kind: int) -> Value:
    """Write the function of an order above x that decays (0), or the one that grows (1)."""
    side = 1.0 if kind else -1.0
    v = b.minimum_number(v, LARGEST)
    v, distance = b.maximum_number(v, x), _distance(b, v, x)
    high, low = _exponent(b, v, x)
    high, low = high * side, low * side
    step, share = b.div(-side, distance), v / distance
    square, total = share * share, b.constant(x.type, 0.0)
    for numbers in reversed(SUMS):
        total = b.madd(total, step, polynomial(b, square, numbers))
    scale = total * math.sqrt((2 if kind else 0.5) / math.pi) / b.intrinsic("sqrt", distance)
    is_large = high > LARGEST_POWER
    high = b.select(is_large, high - LIFT, high)
    low = b.select(fabs(b, high) < 1000.0, low, 0.0)
    lift = b.select(is_large, b.constant(x.type, math.exp(LIFT)), 1.0)
    found = exp_of_sum(b, high, low) * scale * lift
    return -found if kind else found


def _exponent(b: Builder, v: Value, x: Value) -> Pair:
    """Write ``v log((v + d) / x) - d`` for the root d of ``v**2 - x**2``, of an order above x.

    With its rounding error. Of a huge quotient that it is huge is all that has to be known.
    """
    zero = b.constant(x.type, 0.0)
    root = _root_of_product(b, two_sum(b, v, -x), two_sum(b, v, x))
    least = b.maximum_number(x, v * LEAST_SHARE)
    ratio = pair_div(b, pair_add(b, root, (v, zero)), (least, zero))
    log, lost = log_pair(b, ratio[0])
    log, lost = fast_two_sum(b, log, lost + ratio[1] / ratio[0])
    product, error = two_prod(b, v, log)
    return pair_add(b, (product, b.madd(v, lost, error)), (-root[0], -root[1]))


def _root_of_product(b: Builder, x: Pair, y: Pair) -> Pair:
    """Write the root of a product of pairs, scaled so that it does not overflow."""
    is_large = y[0] > 2.0**400
    scale = b.select(is_large, b.constant(y[0].type, 2.0**-600), 1.0)
    x, y = (x[0] * scale, x[1] * scale), (y[0] * scale, y[1] * scale)
    root = pair_sqrt(b, times(b, x, y))
    back = b.select(is_large, b.constant(y[0].type, 2.0**600), 1.0)
    return root[0] * back, root[1] * back


def _is_opposite(b: Builder, v: Value, x: Value) -> Value:
    """Write where an order is negative and not whole, and the expansion holds for its opposite."""
    is_between = (v < 0.0) & ~_is_whole(b, v) & (-v < x) & (x < math.inf)
    return is_between & _is_far(b, fabs(b, v), x)


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
    """Write both functions of orders below x."""
    v = b.minimum_number(order, x)
    distance = _distance(b, v, x)
    step, share = b.div(1.0, distance), v / distance
    square = -(share * share)
    real, imaginary = (b.constant(x.type, 0.0) for _ in range(2))
    for numbers in reversed(SUMS):
        real, imaginary = b.madd(imaginary, step, polynomial(b, square, numbers)), -real * step
    whole = b.intrinsic("rint", v)
    shift, lost = _phase(b, v, x, whole)
    cosine, sine = float_math(b, "cos", x), float_math(b, "sin", x)
    near, aside = float_math(b, "cos", shift), float_math(b, "sin", shift)
    near, aside = near - lost * aside, aside + lost * near
    cosine, sine = cosine * near - sine * aside, sine * near + cosine * aside
    cosine, sine = cosine + sine, sine - cosine  # less pi / 4, but for a factor
    is_odd = _is_odd(b, whole)
    cosine, sine = b.select(is_odd, sine, cosine), b.select(is_odd, -cosine, sine)
    half = b.intrinsic("floor", whole * 0.5)
    scale = b.div(1.0, b.intrinsic("sqrt", distance * math.pi))
    scale = b.select(_is_odd(b, half), -scale, scale)
    first = scale * (cosine * real - sine * imaginary)
    second = scale * (sine * real + cosine * imaginary)
    return first, second


def _phase(b: Builder, v: Value, x: Value, whole: Value) -> Pair:
    """Write ``v arcsin(v / x) - (x - d) - (v - whole) pi / 2`` for the root d of ``x**2 - v**2``.

    With its rounding error: in half turns, of which a sine is known with its error, the arcsine is
    a float and a small correction.
    """
    zero = b.constant(x.type, 0.0)
    root = _root_of_product(b, two_sum(b, x, -v), two_sum(b, x, v))
    share = v / x
    share = share, residual(b, v, share, x) / x
    turn = clamp(b, float_math(b, "arcsin", share[0]) * (1 / math.pi), 0.0, 0.5)
    sine = _sine_of_half_turns(b, turn)
    change = ((share[0] - sine[0]) + (share[1] - sine[1])) * (x / root[0])
    turns = pair_add(b, two_prod(b, v, turn), ((whole - v) * 0.5, zero))
    angle = times(b, turns, (b.constant(x.type, _PI[0]), b.constant(x.type, _PI[1])))
    angle = pair_add(b, angle, two_prod(b, v, change))
    rest, lost = two_sum(b, x, -root[0])
    return pair_add(b, angle, (-rest, root[1] - lost))


def _sine_of_half_turns(b: Builder, f: Value) -> Pair:
    """Write sin(pi f) of 0 <= f <= 1/2 with twice the digits."""
    is_odd = f > 0.25
    one, zero = (b.constant(f.type, number) for number in (1.0, 0.0))
    angle = times(b, (b.select(is_odd, b.sub(0.5, f), f), zero), (one * _PI[0], one * _PI[1]))
    square = times(b, angle, angle)

    def tail(words: tuple[tuple[float, float], ...]) -> Value:
        return polynomial(b, square[0], [word for word, _ in words[_EXACT_TERMS:]])

    total = b.select(is_odd, tail(_COSINE), tail(_SINE)), zero
    for cosine, sine in reversed([*zip(_COSINE, _SINE, strict=True)][:_EXACT_TERMS]):
        pair = tuple(b.select(is_odd, one * c, s) for c, s in zip(cosine, sine, strict=True))
        total = pair_add(b, times(b, total, square), (pair[0], pair[1]))
    factor = b.select(is_odd, one, angle[0]), b.select(is_odd, zero, angle[1])
    return times(b, total, factor)
