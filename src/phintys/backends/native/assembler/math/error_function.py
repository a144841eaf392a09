"""The error function, its complement, alone and scaled, and normal distribution functions.

erf(a) is a polynomial near 0; elsewhere exp(-a**2) times a polynomial in (a - c) / (a + c), which
maps all large a to an interval (M. M. Shepherd and J. G. Laframboise, "Chebyshev approximation of
(1 + 2x) exp(x**2) erfc x in 0 <= x < infinity", Math. Comp. 36, 1981). The scaled function does so
as well.
"""

from __future__ import annotations

import math

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.math.coefficients import ERF, ERF_TAIL, ERFC
from phintys.backends.native.assembler.math.constants import Ratio, words
from phintys.backends.native.assembler.math.exact import (
    Pair,
    fast_two_sum,
    polynomial,
    quotient,
    two_prod,
)
from phintys.backends.native.assembler.math.exponential import exp, exp_pair
from phintys.backends.native.assembler.math.floating import clamp, copysign, fabs, scaled
from phintys.backends.native.assembler.math.logarithm import log, log1p
from phintys.backends.native.assembler.math.registry import float_function
from phintys.backends.native.assembler.values import Value

ROOT_HALF = Ratio(math.isqrt(5 * 10**79), 10**40)

# erfc is 0 from here on.
LARGEST = {"float64": 27.3, "float32": 10.2}


@float_function("erf")
def erf(b: Builder, x: Value) -> Value:
    """a + a P(a**2) up to 1, then 1 - exp(-a**2) Q."""
    name = x.type.name
    a = b.minimum_number(6.0 if name == "float64" else 4.0, fabs(b, x))
    square = a * a
    near = b.madd(a, polynomial(b, square, ERF[name]), a)
    t = (a - 2.0) / (a + 2.0)
    tail = exp(b, -square) * polynomial(b, t, ERF_TAIL[name])
    return copysign(b, b.select(a > 1.0, b.sub(1.0, tail), near), x)


def erfc_ratio(b: Builder, argument: Pair) -> tuple[Pair, Pair]:
    """Return a dividend and a divisor of exp(a**2) erfc(a) for a >= 1/2, given as a pair."""
    a, low = argument
    name = a.type.name
    t = (a - 4.0) / (a + 4.0)
    first, *others = ERFC[name]
    dividend = fast_two_sum(b, b.constant(a.type, first), t * polynomial(b, t, others))
    divisor, lost = fast_two_sum(b, a + a, b.constant(a.type, 1.0))
    return dividend, (divisor, lost + (low + low))


def _erfc_far(b: Builder, argument: Pair, square: Pair) -> tuple[Value, Value]:
    """Return k and p with erfc(a) = 2**k p for a >= 1/2, given as a pair with its square."""
    (factor, more), divisor = erfc_ratio(b, argument)
    k, (hi, lo) = exp_pair(b, -square[0], -square[1])
    # exp(-a**2) Q / (1 + 2 a), rounded at the end.
    product, rest = two_prod(b, hi, factor)
    rest = b.madd(hi, more, rest)
    rest = b.madd(lo, factor, rest)
    return k, quotient(b, product, divisor, rest)


def erfc_near(b: Builder, x: Value) -> Value:
    """1 - erf(x) for |x| <= 1/2."""
    hi, lo = fast_two_sum(b, b.constant(x.type, 1.0), -x)
    return hi + (lo - x * polynomial(b, x * x, ERF[x.type.name]))


@float_function("erfc")
def erfc(b: Builder, x: Value) -> Value:
    """1 - erf(x) up to 1/2, then exp(-x**2) Q; 2 - erfc(-x) for negative x."""
    a = b.maximum_number(0.5, b.minimum_number(LARGEST[x.type.name], fabs(b, x)))
    k, p = _erfc_far(b, (a, b.constant(x.type, 0.0)), two_prod(b, a, a))
    tail = scaled(b, p, k)
    far = b.select(x < 0.0, b.sub(2.0, tail), tail)
    near = erfc_near(b, clamp(b, x, -0.5, 0.5))
    result = b.select(fabs(b, x) > 0.5, far, near)
    return b.select(b.isnan(x), x, result)


@float_function("ndtr")
def ndtr(b: Builder, x: Value) -> Value:
    """erfc(-x / sqrt(2)) / 2, where the square of the argument is x**2 / 2, exactly."""
    root, rest = words(ROOT_HALF, x.type.name, 53 if x.type.name == "float64" else 24)
    z = x * -root
    largest = LARGEST[x.type.name] * math.sqrt(2.0)
    limited = b.maximum_number(0.7, b.minimum_number(largest, fabs(b, x)))
    square, error = two_prod(b, limited, limited)
    a, lost = two_prod(b, limited, root)
    argument = (a, b.madd(limited, rest, lost))
    k, p = _erfc_far(b, argument, (square * 0.5, error * 0.5))
    tail = scaled(b, p, k - 1.0)
    far = b.select(x > 0.0, b.sub(1.0, tail), tail)
    near = erfc_near(b, clamp(b, z, -0.5, 0.5)) * 0.5
    result = b.select(fabs(b, z) > 0.5, far, near)
    return b.select(b.isnan(x), x, result)


# ---- exp(x**2) erfc(x), and the logarithm of the normal distribution function --------------------


_INVERSE_ROOT_OF_PI = Ratio.read("0.5641895835477562869480794515607725858440506")
_TERMS = 8
_BITS = {"float64": 53, "float32": 24}


def _far(b: Builder, a: Value, low: Value) -> Value:
    """Return exp(a**2) erfc(a) for a >= 1/2, given as a pair.

    Where the polynomial ends, the asymptotic series of DLMF 7.12.1 begins.
    """
    largest = LARGEST[a.type.name]
    is_large = a > largest
    (dividend, more), divisor = erfc_ratio(b, (b.minimum_number(largest, a), low))
    middle = quotient(b, dividend, divisor, more)
    limited = b.maximum_number(largest, a)
    step = -0.5 / (limited * limited)
    series = b.constant(a.type, 1.0)
    for n in range(_TERMS, 1, -1):
        series = b.madd(step * (2.0 * n - 1.0), series, 1.0)
    # The first term is rounded once; what is added to it is small.
    factor, rest = words(_INVERSE_ROOT_OF_PI, a.type.name, _BITS[a.type.name])
    first = factor / limited
    far = b.madd(first, b.madd(step, series, rest / factor), first)
    return b.select(is_large, far, middle)


def _exp_of_square(b: Builder, x: Value) -> tuple[Value, Pair]:
    """Return k and p with exp(x**2) = 2**k p."""
    return exp_pair(b, *two_prod(b, x, x))


@float_function("erfcx")
def erfcx(b: Builder, x: Value) -> Value:
    """exp(x**2) erfc(x) up to 1/2, then Q / (1 + 2 x); 2 exp(x**2) - erfcx(-x) below -1/2."""
    a = b.maximum_number(0.5, fabs(b, x))
    far = _far(b, a, b.constant(x.type, 0.0))
    k, (hi, lo) = _exp_of_square(b, b.minimum_number(LARGEST[x.type.name], a))
    below = scaled(b, hi + lo, k + 1.0) - far
    inner = clamp(b, x, -0.5, 0.5)
    near = erfc_near(b, inner)
    k, (hi, lo) = _exp_of_square(b, inner)
    near = scaled(b, b.madd(hi, near, lo * near), k)
    result = b.select(fabs(b, x) > 0.5, b.select(x < 0.0, below, far), near)
    return b.select(b.isnan(x), x, result)


@float_function("log_ndtr")
def log_ndtr(b: Builder, x: Value) -> Value:
    """log1p(-ndtr(-x)) from 0 on; log(erfcx(-x / sqrt(2)) / 2) - x**2 / 2 below -1."""
    a = fabs(b, x)
    tail = ndtr(b, -a)
    root, rest = words(ROOT_HALF, x.type.name, _BITS[x.type.name])
    limited = b.maximum_number(1.0, a)
    argument, lost = two_prod(b, limited, root)
    is_far = x < -1.0
    scaled_tail = _far(b, argument, b.madd(limited, rest, lost)) * 0.5
    exponent = b.select(is_far, (x * x) * 0.5, b.constant(x.type, 0.0))
    below = log(b, b.select(is_far, scaled_tail, tail)) - exponent
    result = b.select(x < 0.0, below, log1p(b, -tail))
    return b.select(b.isnan(x), x, result)
