"""Derivatives of the logarithms of scaled modified Bessel functions.

The formulas are those of :mod:`phintys.scalar.bessel_slopes` (P. Debye, 1909; N. M. Temme, 1975),
for all lanes at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import frozen, iterate
from phintys.backends.native.assembler.math.calls import float_math
from phintys.backends.native.assembler.math.exact import polynomial, two_sum
from phintys.backends.native.assembler.math.floating import fabs
from phintys.backends.native.assembler.math.registry import float_function
from phintys.backends.native.assembler.values import Value
from phintys.scalar.bessel_slopes import (
    CHANGES,
    ENOUGH,
    FAR,
    FRACTION_LENGTH,
    FRACTION_LENGTH_AT_1,
    LARGEST,
    LEAST,
    MOST_TERMS,
    SUMS,
)


@float_function("log_ive_slope", 2)
def log_ive_slope(b: Builder, v: Value, x: Value) -> Value:
    """The derivative of log(ive(v, x)) by x, for v > -1/2 or a whole v."""
    return _slope(b, v, x, 1.0, _by_series)


@float_function("log_kve_slope", 2)
def log_kve_slope(b: Builder, v: Value, x: Value) -> Value:
    """The derivative of log(kve(v, x)) by x, for x >= 1/4."""
    return _slope(b, v, x, -1.0, _by_fraction)


def _slope(
    b: Builder, v: Value, x: Value, side: float, near: Callable[[Builder, Value, Value], Value]
) -> Value:
    if x.type.name == "float32":
        wide = x.type.like("float64")
        v, x = b.convert(v, wide), b.convert(x, wide)
        return b.convert(_slope(b, v, x, side, near), wide.like("float32"))
    v, x = frozen(b, v), frozen(b, x)
    size = fabs(b, v)
    is_even = b.eq(b.intrinsic("floor", v), v)
    v = size if side < 0 else b.select(is_even, size, v)
    is_known = (x >= LEAST if side < 0 else x > 0.0) & (v > -0.5)
    v, x = b.minimum_number(v, LARGEST), b.minimum_number(x, LARGEST)
    distance = float_math(b, "hypot", v, x)
    is_far = distance > FAR
    is_near = is_known & ~is_far
    found = near(b, b.select(is_near, v, 0.5), b.select(is_near, x, 1.0))
    far = _far(b, b.select(is_far, v, FAR), b.select(is_far, x, FAR), side)
    found = b.select(is_far, far, found)
    return b.select(is_known, found, b.constant(x.type, math.nan))


def _by_series(b: Builder, v: Value, x: Value) -> Value:
    """Write the slope of ive as a quotient of two series, with their rounding errors."""
    zero, one = b.constant(x.type, 0.0), b.constant(x.type, 1.0)
    twice, first = x + x, v + v + 1.0

    def add_term(
        n: Value, term: Value, total: Value, lost: Value, part: Value, lost_part: Value
    ) -> tuple[list[Value], Value]:
        place = first + n
        term = term * ((v + n + 0.5) * twice / (place * (n + 1.0)))
        total, error = two_sum(b, total, term)
        part, error_of_part = two_sum(b, part, term * (first / (place + 1.0)))
        following = [n + 1.0, term, total, lost + error, part, lost_part + error_of_part]
        return following, term > total * ENOUGH

    _, _, total, lost, part, lost_part = iterate(
        b, MOST_TERMS, [zero, one, one, zero, one, zero], add_term
    )
    return v / x - (part + lost_part) / (total + lost)


def _by_fraction(b: Builder, v: Value, x: Value) -> Value:
    """Write the slope of kve by Temme's continued fraction, from its end."""
    square = v * v
    length = b.div(FRACTION_LENGTH_AT_1, x) + v + FRACTION_LENGTH
    length = b.intrinsic("floor", length)

    def next_place(n: Value, rest: Value) -> tuple[list[Value], Value]:
        half = n + 0.5
        below = b.madd(square - half * half, rest, (x + n) * 2.0)
        is_place = n > 0.0
        rest = b.select(is_place, b.div(1.0, below), rest)
        n = b.select(is_place, n - 1.0, n)
        return [n, rest], n > 0.0

    _, rest = iterate(b, MOST_TERMS, [length, b.constant(x.type, 0.0)], next_place)
    return -b.madd((v - 0.5) * (v + 0.5), rest, 0.5) / x


def _far(b: Builder, v: Value, x: Value, side: float) -> Value:
    """Write the slope by the uniform expansion, whose signs differ between both functions."""
    distance = float_math(b, "hypot", v, x)
    step, share = b.div(side, distance), v / distance
    square = share * share
    total, change = (b.constant(x.type, 0.0) for _ in range(2))
    for sums, changes in zip(reversed(SUMS), reversed(CHANGES), strict=True):
        total = b.madd(total, step, polynomial(b, square, sums))
        change = b.madd(change, step, polynomial(b, square, changes))
    slope = (v / x) * (v / (distance + x)) + (distance / x) * (change / total)
    return slope if side > 0 else -slope
