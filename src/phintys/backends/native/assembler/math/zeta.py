"""Hurwitz's zeta function, by the formula of L. Euler (1738) and C. Maclaurin (1742)."""

from __future__ import annotations

import math

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import frozen, iterate
from phintys.backends.native.assembler.math.calls import float_math
from phintys.backends.native.assembler.math.exact import two_sum
from phintys.backends.native.assembler.math.registry import float_function
from phintys.backends.native.assembler.values import Value

_FIRST = 10.0
_MOST = 1_000_000
# B(2 k) / (2 k)! of Bernoulli numbers B, for k = 1, 2 ...; from k = 6 on by zeta(2 k) itself,
# 2 (-1)**(k + 1) zeta(2 k) / (2 pi)**(2 k).
_EXACT = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160)
_COEFFICIENTS = tuple(
    (-1) ** (k + 1) * 2 * math.fsum(n ** (-2 * k) for n in range(1, 40)) / math.tau ** (2 * k)
    for k in range(6, 13)
)


@float_function("zeta", 2)
def zeta(b: Builder, x: Value, q: Value) -> Value:
    """The sum of (n + q)**-x over n >= 0: the first terms, and the formula for the rest.

    DLMF 25.11.5 and 2.10.1. Where q is negative, x must be an integer.
    """
    if x.type.name == "float32":
        wide = x.type.like("float64")
        return b.convert(zeta(b, b.convert(x, wide), b.convert(q, wide)), x.type)
    x, q = frozen(b, x), frozen(b, q)
    nan, infinity = (b.constant(x.type, number) for number in (math.nan, math.inf))
    is_whole_q = b.eq(b.intrinsic("floor", q), q)
    is_whole_x = b.eq(b.intrinsic("floor", x), x)
    negative = q <= 0.0
    has_value = (x > 1.0) & (~negative | (is_whole_x & ~is_whole_q & (q > -float(_MOST))))
    total = _sum(b, b.select(has_value, x, 2.0), b.select(has_value, q, _FIRST))
    total = b.select(has_value, total, nan)
    at_pole = b.eq(x, 1.0) | ((x > 1.0) & negative & is_whole_q)
    return b.select(at_pole, infinity, total)


def _sum(b: Builder, x: Value, q: Value) -> Value:
    zero = b.constant(x.type, 0.0)
    # The formula converges fast above x; ten terms of a large power leave nothing to sum.
    end = b.maximum_number(_FIRST, b.minimum_number(x, q) + _FIRST)

    def add_term(place: Value, total: Value, error: Value) -> tuple[list[Value], Value]:
        is_term = place < end
        term = b.select(is_term, float_math(b, "pow", place, -x), zero)
        total, lost = two_sum(b, total, term)
        place = b.select(is_term, place + 1.0, place)
        return [place, total, error + lost], place < end

    place, total, error = iterate(b, _MOST + 20, [q, zero, zero], add_term)
    rest = _rest(b, x, place)
    return b.select(total < math.inf, total + (error + rest), total)


def _rest(b: Builder, x: Value, place: Value) -> Value:
    """Return the sum of (n + place)**-x over n >= 0, for a place that is not below 10."""
    inverse = b.div(1.0, place)
    square = inverse * inverse
    series, factor = inverse * 0.5, x * square
    for k, coefficient in enumerate((*_EXACT, *_COEFFICIENTS), 1):
        series = b.madd(factor, coefficient, series)
        factor = factor * (x + float(2 * k - 1)) * (x + float(2 * k)) * square
    series = series + b.div(1.0, x - 1.0)
    power = float_math(b, "pow", place, b.sub(1.0, x))
    return b.select(b.eq(power, 0.0), power, power * series)
