"""The error function and its complement.

erf(a) is a polynomial near 0; elsewhere exp(-a**2) times a polynomial in (a - c) / (a + c), which
maps all large a to an interval (M. M. Shepherd and J. G. Laframboise, "Chebyshev approximation of
(1 + 2x) exp(x**2) erfc x in 0 <= x < infinity", Math. Comp. 36, 1981).
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
