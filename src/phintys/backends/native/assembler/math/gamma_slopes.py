"""How quantiles of the gamma distribution move with its shape.

The formulas are those of :mod:`phintys.scalar.gamma_slopes` (Figurnov, Mohamed and Mnih, 2018),
for all lanes at once: each of its loops runs until the lanes that need it have converged.
"""

from __future__ import annotations

import math

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import frozen, iterate
from phintys.backends.native.assembler.math.calls import float_math
from phintys.backends.native.assembler.math.floating import clamp, sqrt
from phintys.backends.native.assembler.math.registry import float_function
from phintys.backends.native.assembler.values import Value
from phintys.scalar.gamma_slopes import ENOUGH, FARTHEST, LARGE, MOST_TERMS


@float_function("log_gamma_slope", 2)
def log_gamma_slope(b: Builder, a: Value, t: Value) -> Value:
    """The derivative of t by the shape a, where exp(t) is the quantile of a fixed probability."""
    if a.type.name == "float32":
        wide = a.type.like("float64")
        return b.convert(log_gamma_slope(b, b.convert(a, wide), b.convert(t, wide)), a.type)
    a, t = frozen(b, a), frozen(b, t)
    x = float_math(b, "exp", t)
    is_large = a > LARGE
    is_usual = (a > 0.0) & ~is_large
    is_above = is_usual & (x > b.maximum_number(a + 1.0, 2.0))
    is_below = is_usual & ~is_above & ~b.isnan(t)
    # Lanes that another formula computes converge at once.
    one = b.constant(a.type, 1.0)
    small = b.select(is_usual, a, one)
    # digamma(a + 1) - t, which both formulas need
    offset = float_math(b, "digamma", small + 1.0) - t
    by_series = _by_series(b, small, b.select(is_below, x, 0.0), offset)
    by_fraction = _by_fraction(b, small, b.select(is_above, x, small + 2.0), offset, is_above)
    far = _far(b, b.select(is_large, a, one), b.select(is_large, t, 0.0))
    result = b.select(is_large, far, b.constant(a.type, math.nan))
    result = b.select(is_below, by_series, result)
    return b.select(is_above, by_fraction, result)


def _by_series(b: Builder, a: Value, x: Value, offset: Value) -> Value:
    """Write the slope from P's series, ``x**a exp(-x) / gamma(a + 1)`` times a sum of terms."""
    zero, one = b.constant(a.type, 0.0), b.constant(a.type, 1.0)

    def add_term(
        place: Value, term: Value, total: Value, h: Value, weighted: Value
    ) -> tuple[list[Value], Value]:
        inverse = b.div(1.0, place)
        term, h = term * x * inverse, h + inverse
        total, weighted = total + term, b.madd(term, h, weighted)
        return [place + 1.0, term, total, h, weighted], term > total * ENOUGH

    _, _, total, _, weighted = iterate(b, MOST_TERMS, [a + 1.0, one, one, zero, zero], add_term)
    return b.madd(total, offset, weighted) / a


def _by_fraction(b: Builder, a: Value, x: Value, offset: Value, mask: Value) -> Value:
    """Write the slope from the continued fraction of ``1 - P``, from its far end."""
    zero = b.constant(a.type, 0.0)
    length = b.intrinsic("floor", sqrt(b, a)) * 8.0 + 100.0

    def next_place(n: Value, rest: Value, slope: Value) -> tuple[list[Value], Value]:
        is_place = n > 0.0
        denominator = x + (n + n + 1.0) - a + rest
        inverse = b.div(1.0, denominator)
        quotient = n * (a - n) * inverse
        following = (n - quotient * (slope - 1.0)) * inverse
        n = b.select(is_place, n - 1.0, n)
        return [
            n,
            b.select(is_place, quotient, rest),
            b.select(is_place, following, slope),
        ], n > 0.0

    places = b.select(mask, length, zero)
    _, rest, slope = iterate(b, MOST_TERMS, [places, zero, zero], next_place)
    fraction = b.div(1.0, x + 1.0 - a + rest)
    # digamma(a) = digamma(a + 1) - 1 / a
    difference = b.div(1.0, a) - offset
    return fraction * difference + fraction * fraction * b.sub(1.0, slope)


def _far(b: Builder, a: Value, t: Value) -> Value:
    """Write the slope from the expansion of quantiles in normal ones, for large shapes."""
    root, x = sqrt(b, a), float_math(b, "exp", t)
    cubic_root = float_math(b, "cbrt", x / a)
    z = clamp(b, root * 3.0 * (cubic_root - 1.0 + b.div(1.0, a * 9.0)), -FARTHEST, FARTHEST)
    for _ in range(3):
        square = z * z
        error = (
            a
            + z * root
            + (square - 1.0) / 3.0
            + z * (square - 7.0) / (root * 36.0)
            - _quartic(square) / (a * 810.0)
            - x
        )
        z = z - error / (root + z * (2 / 3) + (square * 3.0 - 7.0) / (root * 36.0))
        z = clamp(b, z, -FARTHEST, FARTHEST)
    square = z * z
    slope = (
        z / (root + root)
        - z * (square - 7.0) / (a * root * 72.0)
        + _quartic(square) / (a * a * 810.0)
        + 1.0
    )
    return slope / x


def _quartic(square: Value) -> Value:
    return (square * 3.0 + 7.0) * square - 16.0
