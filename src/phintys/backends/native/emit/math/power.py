"""Roots and powers."""

from __future__ import annotations

import math

from phintys.backends.native.emit.builder import Builder
from phintys.backends.native.emit.math.coefficients import CBRT
from phintys.backends.native.emit.math.exact import polynomial, two_prod
from phintys.backends.native.emit.math.floating import (
    copysign,
    fabs,
    power_of_two,
    rounded,
    split_exponent,
)
from phintys.backends.native.emit.math.registry import float_function
from phintys.backends.native.emit.values import Value

__all__: list[str] = []


@float_function("sqrt", outlined=False)
def sqrt(b: Builder, x: Value) -> Value:
    """Square root: an instruction."""
    return b.intrinsic("sqrt", x)


@float_function("cbrt")
def cbrt(b: Builder, x: Value) -> Value:
    """Cube root: x = m 2**(3 k) with m between 0.35 and 2.83, a polynomial, Halley, Newton."""
    a = fabs(b, x)
    f, exponent = split_exponent(b, a)
    k, _ = rounded(b, exponent, 1 / 3)
    m = (f + 1.0) * power_of_two(b, exponent - k * 3.0)
    y = polynomial(b, m, CBRT[x.type.name])
    cube = y * y * y
    y = y * (cube + (m + m)) / (cube + cube + m)
    # y**3 - m with its rounding errors, over 3 y**2
    square, lost = two_prod(b, y, y)
    hi, lo = two_prod(b, square, y)
    rest = (hi - m) + b.madd(lost, y, lo)
    y = y - rest / (square * 3.0)
    result = b.select((a > 0.0) & (a < math.inf), y * power_of_two(b, k), x)
    return copysign(b, result, x)


@float_function("hypot", 2)
def hypot(b: Builder, x: Value, y: Value) -> Value:
    """sqrt(x**2 + y**2) of numbers scaled so that nothing overflows or is lost."""
    x, y = fabs(b, x), fabs(b, y)
    double = x.type.name == "float64"
    largest = b.maximum_number(x, y)
    high, low = (2.0**500, 2.0**-450) if double else (2.0**60, 2.0**-45)
    up, down = (2.0**600, 2.0**-600) if double else (2.0**70, 2.0**-70)
    one = b.constant(x.type, 1.0)
    big, tiny = largest > high, largest < low
    factor = b.select(big, b.constant(x.type, down), b.select(tiny, b.constant(x.type, up), one))
    back = b.select(big, b.constant(x.type, up), b.select(tiny, b.constant(x.type, down), one))
    scaled_x, scaled_y = x * factor, y * factor
    root = b.intrinsic("sqrt", b.madd(scaled_x, scaled_x, scaled_y * scaled_y))
    infinite = b.eq(x, math.inf) | b.eq(y, math.inf)
    return b.select(infinite, b.constant(x.type, math.inf), root * back)
