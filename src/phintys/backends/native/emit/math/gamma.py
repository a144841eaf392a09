"""Relatives of the gamma function that SciPy exports no C function for."""

from __future__ import annotations

import math

from phintys.backends.native.emit.builder import Builder
from phintys.backends.native.emit.math.constants import PI, number
from phintys.backends.native.emit.math.exact import two_sum
from phintys.backends.native.emit.math.registry import float_function
from phintys.backends.native.emit.math.trigonometric import sin
from phintys.backends.native.emit.values import Value

__all__: list[str] = []

# Bernoulli numbers: trigamma(z) ~ 1 / z + 1 / (2 z**2) + sum of B(2 k) / z**(2 k + 1).
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798)
_STEPS = 9


@float_function("trigamma")
def trigamma(b: Builder, x: Value) -> Value:
    """Sum of 1 / (x + k)**2 over k >= 0: the first terms, then the asymptotic series.

    DLMF 5.15.5 and 5.15.8; by reflection (5.15.6) for negative x, where the error is up to 5 ulp.
    """
    if x.type.name == "float32":
        return b.convert(trigamma(b, b.convert(x, x.type.like("float64"))), x.type)
    negative = x <= 0.0
    positive = b.select(negative, b.sub(1.0, x), x)
    total = _trigamma_of_positive(b, positive)
    pi = number(PI, x.type.name)
    ratio = b.div(pi, sin(b, (x - b.intrinsic("rint", x)) * pi))
    result = b.select(negative, b.madd(ratio, ratio, -total), total)
    pole = negative & b.eq(b.intrinsic("floor", x), x)
    return b.select(pole, b.constant(x.type, math.inf), result)


def _trigamma_of_positive(b: Builder, x: Value) -> Value:
    large = x > float(_STEPS)
    asymptotic = _asymptotic_trigamma(b, b.select(large, x, x + float(_STEPS)))
    total, error = asymptotic, b.constant(x.type, 0.0)
    for step in reversed(range(_STEPS)):
        place = x + float(step)
        total, lost = two_sum(b, total, b.div(1.0, place * place))
        error = error + lost
    # The error of an infinite total is NaN.
    total = b.select(total < math.inf, total + error, total)
    return b.select(large, asymptotic, total)


def _asymptotic_trigamma(b: Builder, x: Value) -> Value:
    inverse = b.div(1.0, x)
    square = inverse * inverse
    series = b.constant(x.type, _BERNOULLI[-1])
    for coefficient in reversed(_BERNOULLI[:-1]):
        series = b.madd(series, square, coefficient)
    return b.madd(square, b.madd(series, inverse, 0.5), inverse)
