"""Exponentials: exp, exp2, expm1, and functions that follow by one addition and division.

exp(x) = 2**k exp(r) with r = x - k ln(2), |r| <= ln(2) / 2 (Cody and Waite, "Software Manual for
the Elementary Functions", 1980); exp(r) - 1 is a polynomial.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.math.coefficients import EXP
from phintys.backends.native.assembler.math.constants import LN2, number, words
from phintys.backends.native.assembler.math.exact import (
    Pair,
    fast_two_sum,
    polynomial,
    quotient,
    two_prod,
    two_sum,
)
from phintys.backends.native.assembler.math.floating import (
    clamp,
    fabs,
    power_of_two,
    rounded,
    scaled,
)
from phintys.backends.native.assembler.math.registry import float_function
from phintys.backends.native.assembler.types import MachineType
from phintys.backends.native.assembler.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable

# Beyond these limits exp and exp2 are 0 or infinite, and expm1 is -1.
_UNDERFLOW = {"float64": -746.0, "float32": -104.5}
_OVERFLOW = {"float64": 710.0, "float32": 89.0}
_EXPONENTS = {"float64": (-1076.0, 1025.0), "float32": (-151.0, 129.0)}
_MINUS_ONE = {"float64": -40.0, "float32": -20.0}

# The first word of ln(2) times any exponent is exact.
_LN2 = {"float64": words(LN2, "float64", 42), "float32": words(LN2, "float32", 15)}


def _limited(b: Builder, x: Value, low: dict[str, float] = _UNDERFLOW) -> Value:
    return clamp(b, x, low[x.type.name], _OVERFLOW[x.type.name])


def _reduction(b: Builder, x: Value) -> tuple[Value, Value, Value]:
    """Return k, x less most of k ln(2), and r = x - k ln(2), rounded."""
    hi, lo = _LN2[x.type.name]
    k, _ = rounded(b, x, 1 / number(LN2, "float64"))
    first = b.madd(k, -hi, x)
    return k, first, b.madd(k, -lo, first)


def reduced(b: Builder, x: Value) -> tuple[Value, Pair]:
    """Return k and (r, its rounding error) with x = k ln(2) + r."""
    k, first, r = _reduction(b, x)
    return k, (r, b.madd(k, -_LN2[x.type.name][1], first - r))


def _tail(b: Builder, r: Value) -> Value:
    """exp(r) - 1 - r."""
    square = r * r
    return square * polynomial(b, r, EXP[r.type.name], square)


def expm1_pair(b: Builder, r: Pair) -> Pair:
    """exp(r) - 1 of a small pair."""
    return fast_two_sum(b, r[0], _tail(b, r[0]) + r[1])


def exp_pair(b: Builder, x: Value, error: Value | None = None) -> tuple[Value, Pair]:
    """Return k and a pair p with exp(x + error) = 2**k p, for limited x."""
    k, (r, lost) = reduced(b, x)
    if error is not None:
        r, lost = fast_two_sum(b, r, lost + error)
    p = expm1_pair(b, (r, lost))
    hi, lo = fast_two_sum(b, b.constant(x.type, 1.0), p[0])
    return k, (hi, lo + p[1])


def _expm1_near_zero(b: Builder, r: Pair) -> Value:
    """exp(r) - 1 of a small pair, rounded."""
    square = r[0] * r[0]
    return r[0] + b.madd(square, polynomial(b, r[0], EXP[r[0].type.name], square), r[1])


def exp_below_one(b: Builder, x: Value, error: Value | None = None) -> Value:
    """exp(x + error) of x <= 0 and its small error, a little more accurate than exp."""
    k, r = reduced(b, clamp(b, x, _UNDERFLOW[x.type.name], 0.0))
    r = r if error is None else fast_two_sum(b, r[0], r[1] + error)
    return scaled(b, _expm1_near_zero(b, r) + 1.0, k)


def exp_of_sum(b: Builder, x: Value, error: Value | None = None) -> Value:
    """exp(x + error) for a rounded number and its small error."""
    k, _, r = _reduction(b, _limited(b, x))
    r = r if error is None else r + error
    square = r * r
    tail = b.madd(square, polynomial(b, r, EXP[x.type.name], square), r)
    return scaled(b, tail + 1.0, k)


@float_function("exp")
def exp(b: Builder, x: Value) -> Value:
    """e**x."""
    return exp_of_sum(b, x)


@float_function("exp_of_product", 2)
def exp_of_product(b: Builder, x: Value, y: Value) -> Value:
    """e**(x * y), of the product with its rounding error."""
    product, error = two_prod(b, x, y)
    # Elsewhere the exponential is 0 or infinite, and the error may be too.
    low, high = limits(x.type)
    is_known = (product > low) & (product < high) & (fabs(b, error) < 1.0)
    return exp_of_sum(b, product, b.select(is_known, error, b.constant(x.type, 0.0)))


@float_function("exp2")
def exp2(b: Builder, x: Value) -> Value:
    """2**x."""
    return _exp2_of_sum(b, x)


def _exp2_of_sum(b: Builder, x: Value, more: Value | None = None) -> Value:
    """2**(x + more) for a rounded number and its small error."""
    x = clamp(b, x, *_EXPONENTS[x.type.name])
    k, _ = rounded(b, x)
    fraction = x - k
    hi, lo = words(LN2, x.type.name, 53 if x.type.name == "float64" else 24)
    r, error = two_prod(b, fraction, hi)
    if more is not None:
        r, error = fast_two_sum(b, r, b.madd(more, hi, error))
    tail = _tail(b, r) + b.madd(fraction, lo, error)
    return scaled(b, (tail + r) + 1.0, k)


def _minus_shifted_expm1(b: Builder, p: Pair, power: Value) -> Pair:
    """1 - power * (p + 1) of a power of 2 that is 1 or less; p is 0 or less if it is 1."""
    first = b.sub(1.0, power)
    # The product is exact, and smaller than the first term unless that is 0.
    hi, lo = fast_two_sum(b, first, -(power * p[0]))
    return hi, b.madd(-power, p[1], lo)


@float_function("expm1")
def expm1(b: Builder, x: Value) -> Value:
    """e**x - 1, accurate near 0."""
    k, r = reduced(b, _limited(b, x, _MINUS_ONE))
    p = _expm1_near_zero(b, r)
    # Half of the result, so that 2**(k - 1) does not overflow.
    power = power_of_two(b, k - 1.0)
    result = b.madd(power, p, power - 0.5) * 2.0
    return b.select(fabs(b, x) < 2.0**-60, x, result)


@float_function("sigmoid")
def sigmoid(b: Builder, x: Value) -> Value:
    """1 / (1 + exp(-x)) = exp(x) / (1 + exp(x)): whichever of the two cannot overflow."""
    small = exp_below_one(b, -fabs(b, x))
    one = b.constant(x.type, 1.0)
    return quotient(b, b.select(x < 0.0, small, one), fast_two_sum(b, one, small))


@float_function("exp_share", 2)
def exp_share(b: Builder, x: Value, y: Value) -> Value:
    """exp(x) / (exp(x) + exp(y)), as sigmoid of x - y with its rounding error."""
    return _share(b, x, y, exp_below_one)


@float_function("exp2_share", 2)
def exp2_share(b: Builder, x: Value, y: Value) -> Value:
    """2**x / (2**x + 2**y)."""
    return _share(b, x, y, _exp2_of_sum)


def _share(b: Builder, x: Value, y: Value, power: Callable[..., Value]) -> Value:
    difference, error = two_sum(b, x, -y)
    is_below = difference < 0.0
    # Of differences with larger errors, the exponentials are 0.
    error = b.select(fabs(b, error) < 1.0, error, 0.0)
    small = power(b, -fabs(b, difference), b.select(is_below, error, -error))
    one = b.constant(x.type, 1.0)
    result = quotient(b, b.select(is_below, small, one), fast_two_sum(b, one, small))
    return b.select(b.eq(x, -math.inf) & b.eq(y, -math.inf), 0.0, result)


def one_minus_exp(b: Builder, x: Value) -> Pair:
    """1 - exp(x) of x <= 0, as a pair, accurate near 0; the low word is exp(x) of large -x."""
    k, r = reduced(b, clamp(b, x, _UNDERFLOW[x.type.name], 0.0))
    power = scaled(b, b.constant(x.type, 1.0), k)
    hi, lo = _minus_shifted_expm1(b, expm1_pair(b, r), power)
    # The rounding error of 1 - power, where power is tiny.
    lost = b.sub(1.0, b.sub(1.0, power)) - power
    return fast_two_sum(b, hi, lo + lost)


def limits(type: MachineType) -> tuple[float, float]:
    """Return where exp is 0 and where it is infinite."""
    return _UNDERFLOW[type.name], _OVERFLOW[type.name]
