"""Hyperbolic functions and their inverses.

exp(x) = 2**k (C + S) and exp(-x) = 2**-k (C - S) with C = cosh(r) and S = sinh(r), so that sums and
differences of both need no division (Cody and Waite, 1980). tanh follows from tanh(s), s small, by
the addition theorem. The inverses are logarithms of pairs.
"""

from __future__ import annotations

import math

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.math.coefficients import COSH, SINH, TANH
from phintys.backends.native.assembler.math.constants import LN2, number, words
from phintys.backends.native.assembler.math.exact import (
    Pair,
    fast_two_sum,
    pair_div,
    pair_sqrt,
    polynomial,
    quotient,
    two_prod,
    two_sum,
)
from phintys.backends.native.assembler.math.exponential import limits, reduced
from phintys.backends.native.assembler.math.floating import copysign, fabs, power_of_two, rounded
from phintys.backends.native.assembler.math.logarithm import log_of_pair
from phintys.backends.native.assembler.math.registry import float_function
from phintys.backends.native.assembler.values import Value


def _exponential_parts(b: Builder, x: Value) -> tuple[Value, Pair, Value]:
    """Return k, sinh(r) as r and a small rest, and cosh(r) - 1, for |x|."""
    type = x.type
    # Just beyond overflow, where 2**(k - 2) is still a number.
    a = b.minimum_number(limits(type)[1] + 0.5, fabs(b, x))
    k, (r, error) = reduced(b, a)
    square = r * r
    tail = b.madd(r * square, polynomial(b, square, SINH[type.name]), error)
    even = square * b.madd(square, polynomial(b, square, COSH[type.name]), 0.5)
    return k, (r, tail), b.madd(r, error, even)


@float_function("sinh")
def sinh(b: Builder, x: Value) -> Value:
    """(2**(k-1) + 2**(-k-1)) S + (2**(k-1) - 2**(-k-1)) C."""
    k, (r, tail), even = _exponential_parts(b, x)
    # All is scaled down, and scaled up at the end, so that products of pairs do not overflow.
    shift = 40.0 if x.type.name == "float64" else 20.0
    large = power_of_two(b, k - shift)
    small = power_of_two(b, b.maximum_number(-k, _smallest(x)) - shift)
    total, difference = large + small, large - small
    first, rest = two_sum(b, difference, total * r)
    product = two_prod(b, total, r)[1]
    # The rounding error of large - small, where small is tiny: at most half an ulp.
    lost = (large - difference) - small
    rest = rest + ((product + lost) + b.madd(total, tail, difference * even))
    result = (first + rest) * 2.0 ** (shift - 1.0)
    near = b.madd(x * x * x, 1 / 6, x)
    return copysign(b, b.select(fabs(b, x) < _nearly_linear(x), near, result), x)


@float_function("cosh")
def cosh(b: Builder, x: Value) -> Value:
    """(2**(k-1) + 2**(-k-1)) C + (2**(k-1) - 2**(-k-1)) S."""
    k, (r, tail), even = _exponential_parts(b, x)
    large = power_of_two(b, k - 2.0)
    small = power_of_two(b, b.maximum_number(-k, _smallest(x)) - 2.0)
    total, lost = fast_two_sum(b, large, small)
    rest = b.madd(large - small, r + tail, b.madd(total, even, lost))
    return (total + rest) * 2.0


_HALF_LN2 = {"float64": words(LN2 / 2, "float64", 44), "float32": words(LN2 / 2, "float32", 17)}
# Where tanh rounds to 1, and so does the computed value; and the largest n for which 2**n - 1 and
# 2**n + 1 are exact. Beyond it s is large and t has few good bits, but then few are needed.
_TANH_LIMITS = {"float64": (19.25, 52.0), "float32": (9.11, 23.0)}


@float_function("tanh")
def tanh(b: Builder, x: Value) -> Value:
    """((2**n + 1) t + 2**n - 1) / ((2**n - 1) t + 2**n + 1), t = tanh(s), s = |x| - n ln(2) / 2."""
    name = x.type.name
    one_from, most = _TANH_LIMITS[name]
    a = b.minimum_number(one_from, fabs(b, x))
    n, _ = rounded(b, a, number(2 / LN2, "float64"))
    n = b.minimum_number(most, n)
    hi, lo = _HALF_LN2[name]
    first = b.madd(n, -hi, a)
    s = b.madd(n, -lo, first)
    error = b.madd(n, -lo, first - s)
    square = s * s
    t = s + b.madd(s * square, polynomial(b, square, TANH[name]), error)
    power = power_of_two(b, n)
    below, above = power - 1.0, power + 1.0
    divisor = b.madd(below, t, above)
    lost = b.madd(below, t, above - divisor)
    return copysign(b, quotient(b, b.madd(above, t, below), (divisor, lost)), x)


def _nearly_linear(x: Value) -> float:
    """Below this sinh(x) = x + x**3 / 6."""
    return 2.0**-14 if x.type.name == "float64" else 2.0**-7


def _smallest(x: Value) -> float:
    """Where 2**-k is negligible against 2**k."""
    return -980.0 if x.type.name == "float64" else -100.0


def _root_pair(b: Builder, x: Value, one: float) -> Pair:
    """Return sqrt(x**2 + one) as a pair."""
    hi, lo = two_prod(b, x, x)
    hi, rest = two_sum(b, hi, one)
    hi, lo = fast_two_sum(b, hi, lo + rest)
    return pair_sqrt(b, (hi, lo))


@float_function("arcsinh")
def arcsinh(b: Builder, x: Value) -> Value:
    """log(|x| + sqrt(x**2 + 1)); log(2 |x|) for large x."""
    a = fabs(b, x)
    large = a > 2.0**30
    near = b.select(large, b.constant(x.type, 1.0), a)
    root = _root_pair(b, near, 1.0)
    hi, lo = two_sum(b, root[0], near)
    hi, lo = fast_two_sum(b, hi, lo + root[1])
    result = _log_or_log_of_double(b, a, large, (hi, lo))
    return copysign(b, result, x)


@float_function("arccosh")
def arccosh(b: Builder, x: Value) -> Value:
    """log(x + sqrt(x**2 - 1)); log(2 x) for large x."""
    large = x > 2.0**30
    near = b.select(large, b.constant(x.type, 2.0), x)
    root = _root_pair(b, near, -1.0)
    zero = b.constant(x.type, 0.0)
    one = b.eq(x, 1.0)
    hi, lo = fast_two_sum(b, near, b.select(one, zero, root[0]))
    hi, lo = fast_two_sum(b, hi, lo + b.select(one, zero, root[1]))
    result = _log_or_log_of_double(b, x, large, (hi, lo))
    return b.select(x >= 1.0, result, math.nan)


def _log_or_log_of_double(b: Builder, a: Value, large: Value, pair: Pair) -> Value:
    """log(2 a) where large, else log(hi + lo); infinity and NaN are unchanged."""
    hi = b.select(large, a * 0.5, pair[0])
    lo = b.select(large, b.constant(a.type, 0.0), pair[1])
    more = b.select(large, b.constant(a.type, 2.0), 0.0)
    return b.select(a < math.inf, log_of_pair(b, (hi, lo), more), a)


@float_function("arctanh")
def arctanh(b: Builder, x: Value) -> Value:
    """log((1 + |x|) / (1 - |x|)) / 2."""
    a = fabs(b, x)
    one = b.constant(x.type, 1.0)
    numerator = fast_two_sum(b, one, a)
    denominator = fast_two_sum(b, one, -a)
    result = log_of_pair(b, pair_div(b, numerator, denominator)) * 0.5
    limit = b.select(b.eq(a, 1.0), b.constant(x.type, math.inf), math.nan)
    result = b.select(a < 1.0, result, limit)
    return copysign(b, b.select(b.isnan(x), x, result), x)
