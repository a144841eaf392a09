"""Bessel functions of the orders 0 and 1, and modified ones of any order.

See :mod:`phintys.scalar.bessel` (H. Hankel, 1869; P. Debye, 1909; N. M. Temme, 1975). SciPy's
functions are called for all other lanes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import computed_if, frozen, iterate
from phintys.backends.native.assembler.math.bessel_recurrence import (
    modified_near_0,
    modified_series,
    stepped,
)
from phintys.backends.native.assembler.math.bessel_slopes import log_kve_slope
from phintys.backends.native.assembler.math.calls import float_math
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
from phintys.backends.native.assembler.math.floating import copysign, fabs
from phintys.backends.native.assembler.math.lanewise import computed_where, redo_lanes
from phintys.backends.native.assembler.math.power import log_pair
from phintys.backends.native.assembler.math.registry import float_function
from phintys.backends.native.assembler.values import Value
from phintys.scalar.bessel import (
    FAR,
    HANKEL,
    HANKEL_MIDDLE,
    LARGEST_ORDER,
    LARGEST_POWER,
    LIFT,
    MIDDLE,
    MOST_PLACES,
    ORDERS_BELOW,
    OVERFLOWING,
    RATIO_LENGTH,
    RATIO_LENGTH_AT_1,
    TINY,
    UNIFORM_FROM,
    WRONSKIAN_TO,
)
from phintys.scalar.bessel_near_0 import ENOUGH, NEAR_TO
from phintys.scalar.bessel_slopes import LARGEST, SUMS

LARGEST_SLOPE = 1e100
"""Of v by x, whose square does not overflow."""


@float_function("j0")
def j0(b: Builder, x: Value) -> Value:
    """The function of order 0."""
    return _bessel(b, 0, x)


@float_function("j1")
def j1(b: Builder, x: Value) -> Value:
    """The function of order 1."""
    return _bessel(b, 1, x)


def _bessel(b: Builder, order: int, x: Value) -> Value:
    if x.type.name == "float32":
        return b.convert(_bessel(b, order, b.convert(x, x.type.like("float64"))), x.type)
    size = fabs(b, x)
    is_far = b.le(MIDDLE, size) & (size < math.inf)
    found = computed_where(b, is_far, lambda: _far(b, order, b.select(is_far, size, FAR)))
    found = found if order == 0 else b.select(x < 0.0, -found, found)
    found = redo_lanes(b, found, ~is_far, f"phintys_scipy_j{order}_float64", [x])
    return found if order == 0 else b.select(size < TINY, x * 0.5, found)


def _far(b: Builder, order: int, x: Value) -> Value:
    inverse = b.div(1.0, x)
    square = inverse * inverse
    is_middle = x < FAR

    def parts(coefficients: Sequence[Sequence[float]]) -> list[Value]:
        return [polynomial(b, square, numbers) for numbers in coefficients]

    is_any = b.any(is_middle) if is_middle.type.lanes > 1 else is_middle
    middle = computed_if(b, is_any, lambda: parts(HANKEL_MIDDLE[order]), [0.0, 0.0])
    far = parts(HANKEL[order])
    even, odd = (b.select(is_middle, near, other) for near, other in zip(middle, far, strict=True))
    odd = odd * inverse
    cosine, sine = float_math(b, "cos", x), float_math(b, "sin", x)
    first, second = (cosine, sine) if order == 0 else (sine, -cosine)
    total = (even + odd) * first + (even - odd) * second
    # The root of pi x, which may overflow.
    return total / (b.intrinsic("sqrt", x * (0.25 * math.pi)) * 2.0)


@float_function("i0")
def i0(b: Builder, x: Value) -> Value:
    """The modified function of the first kind and of order 0."""
    return _whole_order(b, 0, x)


@float_function("i1")
def i1(b: Builder, x: Value) -> Value:
    """The modified function of the first kind and of order 1."""
    return _whole_order(b, 1, x)


def _whole_order(b: Builder, order: int, x: Value) -> Value:
    if x.type.name == "float32":
        return b.convert(_whole_order(b, order, b.convert(x, x.type.like("float64"))), x.type)
    size, degree = fabs(b, x), b.constant(x.type, float(order))
    is_far = size > OVERFLOWING
    found = computed_where(b, is_far, lambda: _uniform(b, degree, size, 1.0, 1.0))
    found = found if order == 0 else b.select(x < 0.0, -found, found)
    return redo_lanes(b, found, ~is_far, f"phintys_scipy_i{order}_float64", [x])


@float_function("iv", 2)
def iv(b: Builder, v: Value, x: Value) -> Value:
    """The modified function of the first kind."""
    return _first_kind(b, "iv", v, x)


@float_function("ive", 2)
def ive(b: Builder, v: Value, x: Value) -> Value:
    """The scaled modified function of the first kind."""
    return _first_kind(b, "ive", v, x)


def _first_kind(b: Builder, name: str, v: Value, x: Value) -> Value:
    if x.type.name == "float32":
        wide = x.type.like("float64")
        return b.convert(_first_kind(b, name, b.convert(v, wide), b.convert(x, wide)), x.type)
    v, x = frozen(b, v), frozen(b, x)
    is_whole = b.eq(b.intrinsic("rint", v), v)
    order, size = b.select(is_whole, fabs(b, v), v), fabs(b, x)
    is_real = is_whole | b.le(0.0, x)
    is_far = is_real & (float_math(b, "hypot", v, x) > UNIFORM_FROM) & (size > 0.0)
    is_far = is_far & ((order > -0.5) | (-order < size))
    is_small = is_real & ~is_far & (size <= WRONSKIAN_TO)
    is_small = is_small & (order > -1.0) & (order <= ORDERS_BELOW)
    is_between = is_real & ~is_far & (size > WRONSKIAN_TO) & (order > -0.5)
    growth = 0.0 if name == "ive" else 1.0

    def small() -> Value:
        degree, place = b.select(is_small, order, 0.5), b.select(is_small, size, 1.0)
        found = modified_series(b, degree, place)
        return found * float_math(b, "exp", -place) if name == "ive" else found

    def between() -> Value:
        degree, place = b.select(is_between, order, 0.5), b.select(is_between, size, 3.0)
        other = _between(b, degree, place)
        scale = b.constant(x.type, 1.0) if name == "ive" else float_math(b, "exp", place)
        return scale / (place * other * _wronskian(b, degree, place))

    found = computed_where(b, is_far, lambda: _uniform(b, order, size, 1.0, growth))
    found = b.select(is_small, computed_where(b, is_small, small), found)
    found = b.select(is_between, computed_where(b, is_between, between), found)
    half = b.select(is_whole, v, 0.0) * 0.5
    is_odd = ~b.eq(b.intrinsic("floor", half), half)
    negative = copysign(b, b.constant(x.type, 1.0), x) < 0.0
    found = b.select(negative & is_odd, -found, found)
    known = is_far | is_small | is_between
    return redo_lanes(b, found, ~known, f"phintys_scipy_{name}_float64", [v, x])


def _wronskian(b: Builder, v: Value, x: Value) -> Value:
    """Write 1 by the product of x and both functions, as two quotients of neighboring orders."""
    length = b.madd(b.intrinsic("sqrt", x), RATIO_LENGTH_AT_1, RATIO_LENGTH)
    twice = b.div(2.0, x)

    def next_place(n: Value, rest: Value) -> tuple[list[Value], Value]:
        is_place = n > 0.0
        rest = b.select(is_place, b.div(1.0, b.madd(v + n, twice, rest)), rest)
        n = b.select(is_place, n - 1.0, n)
        return [n, rest], n > 0.0

    first = [b.intrinsic("ceil", length), b.constant(x.type, 0.0)]
    _, rest = iterate(b, MOST_PLACES, first, next_place)
    return rest + (v / x + (1.0 - log_kve_slope(b, v, x)))


@float_function("kv", 2)
def kv(b: Builder, v: Value, x: Value) -> Value:
    """The modified function of the second kind."""
    return _second_kind(b, "kv", v, x)


@float_function("kve", 2)
def kve(b: Builder, v: Value, x: Value) -> Value:
    """The scaled modified function of the second kind."""
    return _second_kind(b, "kve", v, x)


def _second_kind(b: Builder, name: str, v: Value, x: Value) -> Value:
    if x.type.name == "float32":
        wide = x.type.like("float64")
        return b.convert(_second_kind(b, name, b.convert(v, wide), b.convert(x, wide)), x.type)
    v, x = fabs(b, frozen(b, v)), frozen(b, x)
    is_scaled = name == "kve"
    is_far = (x > 0.0) & (float_math(b, "hypot", v, x) > UNIFORM_FROM)
    is_inner = (x > 0.0) & ~is_far & (v <= UNIFORM_FROM)
    is_near = is_inner & (x < NEAR_TO)
    is_small = is_inner & ~is_near & (x <= WRONSKIAN_TO)
    is_between = is_inner & (x > WRONSKIAN_TO)

    def near() -> Value:
        degree, place = b.select(is_near, v, 0.5), b.select(is_near, x, 0.1)
        found = modified_near_0(b, degree, place)
        return found * float_math(b, "exp", place) if is_scaled else found

    def small() -> Value:
        degree, place = b.select(is_small, v, 0.5), b.select(is_small, x, 1.0)
        other = place * modified_series(b, degree, place) * _wronskian(b, degree, place)
        scale = float_math(b, "exp", place) if is_scaled else b.constant(x.type, 1.0)
        return scale / other

    def between() -> Value:
        degree, place = b.select(is_between, v, 0.5), b.select(is_between, x, 3.0)
        found = _between(b, degree, place)
        return found if is_scaled else found * float_math(b, "exp", -place)

    far = computed_where(b, is_far, lambda: _uniform(b, v, x, -1.0, 0.0 if is_scaled else -1.0))
    found = b.select(is_near, computed_where(b, is_near, near), far)
    found = b.select(is_small, computed_where(b, is_small, small), found)
    found = b.select(is_between, computed_where(b, is_between, between), found)
    known = is_far | is_near | is_small | is_between
    return redo_lanes(b, found, ~known, f"phintys_scipy_{name}_float64", [v, x])


def _between(b: Builder, v: Value, x: Value) -> Value:
    """Write kve by its recurrence, which is stable to larger orders."""
    value, following = _by_fraction(b, v - b.intrinsic("rint", v), x)
    return stepped(b, v, x, value, following, 1.0)


def _by_fraction(b: Builder, m: Value, x: Value) -> tuple[Value, Value]:
    """Write kve of an order between -1/2 and 1/2 and of the next one, by Temme's fraction."""
    zero, one = b.constant(x.type, 0.0), b.constant(x.type, 1.0)
    share = (-m + 0.5) * (m + 0.5)
    below = x + x + 2.0
    inverse = b.div(1.0, below)

    def next_place(
        n: Value,
        above: Value,
        whole: Value,
        former: Value,
        factor: Value,
        weight: Value,
        inverse: Value,
        change: Value,
        fraction: Value,
        total: Value,
        lost: Value,
    ) -> tuple[list[Value], Value]:
        above = above - (n + n - 2.0)
        whole = -above * whole / n
        former, factor = factor, (former - (below + (n + n - 4.0)) * factor) / above
        weight = b.madd(whole, factor, weight)
        place = below + (n + n - 2.0)
        past, inverse = inverse, b.div(1.0, b.madd(above, inverse, place))
        change = -above * past * inverse * change
        fraction, term = fraction + change, weight * change
        total, rounding = two_sum(b, total, term)
        following = [n + 1.0, above, whole, former, factor, weight]
        following += [inverse, change, fraction, total, lost + rounding]
        return following, fabs(b, term) > total * ENOUGH

    first = [b.constant(x.type, 2.0), -share, share, zero, one, share]
    first += [inverse, inverse, inverse, *two_sum(b, one, share * inverse)]
    *_, fraction, total, lost = iterate(b, MOST_PLACES, first, next_place)
    value = b.intrinsic("sqrt", b.div(0.5 * math.pi, x)) / (total + lost)
    return value, value * ((m + 0.5 - share * fraction) / x + 1.0)


def _uniform(b: Builder, v: Value, x: Value, side: float, growth: float) -> Value:
    """Write a function of the first kind (1) or the second (-1), by ``exp(growth * x)`` larger.

    Its exponent has the digits that the exponential needs.
    """
    v = fabs(b, v)
    x = x * b.select(v > LARGEST_ORDER, b.div(LARGEST_ORDER, v), 1.0)
    v = b.minimum_number(v, LARGEST_ORDER)
    distance = float_math(b, "hypot", v, x)
    place = b.minimum_number(x, LARGEST)
    exponent = _exponent(b, v, place)
    exponent = (exponent[0] * side, exponent[1] * side)
    if growth:
        exponent = pair_add(b, exponent, (place * growth, b.constant(x.type, 0.0)))
    step, share = b.div(side, distance), v / distance
    square = share * share
    total = b.constant(x.type, 0.0)
    for numbers in reversed(SUMS):
        total = b.madd(total, step, polynomial(b, square, numbers))
    scale = total * math.sqrt(0.5 * math.pi**-side) / b.intrinsic("sqrt", distance)
    high, low = exponent
    is_large = high > LARGEST_POWER
    high = b.select(is_large, high - LIFT, high)
    low = b.select(fabs(b, high) < 1000.0, low, 0.0)
    lift = b.select(is_large, b.constant(x.type, math.exp(LIFT)), 1.0)
    return exp_of_sum(b, high, low) * scale * lift


def _exponent(b: Builder, v: Value, x: Value) -> Pair:
    """Write ``sqrt(v**2 + x**2) - x - v arcsinh(v / x)`` of an order that is not negative.

    It is v times ``t / (1 + sqrt(1 + t**2)) - log(t + sqrt(1 + t**2))`` for t = v / x. For a huge t
    or v it is any number whose exponential is 0.
    """
    zero, one = b.constant(x.type, 0.0), b.constant(x.type, 1.0)
    t = b.minimum_number(v / x, LARGEST_SLOPE)
    t = (t, b.select(t < LARGEST_SLOPE, residual(b, v, t, x) / x, 0.0))
    square, error = two_prod(b, t[0], t[0])
    square = pair_add(b, (one, zero), (square, b.madd(t[0] + t[0], t[1], error)))
    root = pair_sqrt(b, square)
    share = pair_div(b, t, pair_add(b, root, (one, zero)))
    whole = pair_add(b, t, root)
    log = log_pair(b, whole[0])
    rest = whole[1] / whole[0]
    log = fast_two_sum(b, log[0], log[1] + rest)
    slope = pair_add(b, share, (-log[0], -log[1]))
    product, error = two_prod(b, v, slope[0])
    is_known = product > -2.0 * LARGEST
    return b.select(is_known, product, -2.0 * LARGEST), b.select(
        is_known, b.madd(v, slope[1], error), zero
    )
