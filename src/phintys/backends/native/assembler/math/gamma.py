"""Functions related to the gamma function, for which SciPy exports no C function.

The recurrence and the asymptotic series are those of B. E. Schneider, "Algorithm AS 121: Trigamma
function", Appl. Stat. 27, 1978.
"""

from __future__ import annotations

import math

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.math.constants import PI, words
from phintys.backends.native.assembler.math.exact import pair_div, two_sum
from phintys.backends.native.assembler.math.floating import fabs
from phintys.backends.native.assembler.math.registry import float_function
from phintys.backends.native.assembler.math.trigonometric import sine_of_half_turns
from phintys.backends.native.assembler.values import Value

# Bernoulli numbers: trigamma(z) ~ 1 / z + 1 / (2 z**2) + sum of B(2 k) / z**(2 k + 1).
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798)
_STEPS = 9


@float_function("trigamma")
def trigamma(b: Builder, x: Value) -> Value:
    """Sum of 1 / (x + k)**2 over k >= 0: the first terms, then the asymptotic series.

    DLMF 5.15.5 and 5.15.8; by reflection (5.15.6) for negative x.
    """
    if x.type.name == "float32":
        return b.convert(trigamma(b, b.convert(x, x.type.like("float64"))), x.type)
    negative = x <= 0.0
    positive = b.select(negative, b.sub(1.0, x), x)
    total = _trigamma_of_positive(b, positive)
    reflected = _squared_quotient(b, fabs(b, x - b.intrinsic("rint", x)), total)
    result = b.select(negative, reflected, total)
    pole = negative & b.eq(b.intrinsic("floor", x), x)
    return b.select(pole, b.constant(x.type, math.inf), result)


def _squared_quotient(b: Builder, f: Value, total: Value) -> Value:
    """Return (pi / sin(pi f))**2 - total for 0 <= f <= 1/2."""
    tiny = f < 2.0**-500
    safe = b.select(tiny, b.constant(f.type, 0.5), f)
    hi, lo = words(PI, f.type.name, 53)
    pi = b.constant(f.type, hi), b.constant(f.type, lo)
    ratio, error = pair_div(b, pi, sine_of_half_turns(b, safe))
    # The sine of such a small number is the number itself.
    ratio = b.select(tiny, b.div(1.0, f), ratio)
    return b.madd(ratio, ratio, b.madd(ratio + ratio, error, -total))


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
