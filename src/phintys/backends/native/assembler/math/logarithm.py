"""Logarithms: log, log1p, log2, log10, and sums of exponentials.

x = (1 + f) 2**k with 1 + f near 1, and log(1 + f) = 2 atanh(s) with s = f / (2 + f): an odd
polynomial. The sum is arranged as in FreeBSD's msun (e_log.c, 1993), so that f enters exactly.
"""

from __future__ import annotations

import math

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.math import avx512
from phintys.backends.native.assembler.math.coefficients import LOG
from phintys.backends.native.assembler.math.constants import LN2, LN10, number, words
from phintys.backends.native.assembler.math.exact import (
    Pair,
    fast_two_sum,
    polynomial,
    two_prod,
    two_sum,
)
from phintys.backends.native.assembler.math.exponential import (
    exp_below_one,
    exp_pair,
    limits,
    one_minus_exp,
)
from phintys.backends.native.assembler.math.floating import (
    clamp,
    fabs,
    power_of_two,
    scaled,
    split_exponent,
)
from phintys.backends.native.assembler.math.registry import float_function
from phintys.backends.native.assembler.values import Value

# Exponents have 11 bits (float32: 8): times a first word of 42 (16) bits they are exact.
_LN2 = {"float64": words(LN2, "float64", 42), "float32": words(LN2, "float32", 16)}
_LARGEST_EXPONENT = {"float64": 1022.0, "float32": 126.0}


def _log_near_one(b: Builder, f: Value, error: Value | None = None) -> tuple[Value, Value]:
    """Return f and t with log(1 + f) = f - t; an error is added to the small term."""
    s = f / (f + 2.0)
    square = s * s
    rest = square * polynomial(b, square, LOG[f.type.name])
    half = f * f * 0.5
    series = s * (half + rest) if error is None else b.madd(s, half + rest, error)
    return half, series


def _assemble(b: Builder, f: Value, k: Value, error: Value | None = None) -> Value:
    """log(1 + f) + k ln(2) + error."""
    hi, lo = _LN2[f.type.name]
    low = k * lo if error is None else b.madd(k, lo, error)
    half, series = _log_near_one(b, f, low)
    return b.madd(k, hi, f - (half - series))


def _with_limits(b: Builder, x: Value, result: Value) -> Value:
    """Return the result for positive finite x, and log's value for others."""
    nan = b.constant(x.type, math.nan)
    limit = b.select(b.eq(x, 0.0), b.constant(x.type, -math.inf), b.select(x < 0.0, nan, x))
    return b.select((x > 0.0) & (x < math.inf), result, limit)


@float_function("log")
def log(b: Builder, x: Value) -> Value:
    """Natural logarithm."""
    f, k = split_exponent(b, x)
    result = _assemble(b, f, k)
    # AVX-512 gives 0 and infinity an infinite k, and negative numbers f = NaN.
    return result if avx512.fits(b, x.type) else _with_limits(b, x, result)


def log_as_pair(b: Builder, x: Value) -> Pair:
    """log(x) of a positive finite number, with some more bits than a float has."""
    f, k = split_exponent(b, x)
    hi, lo = _LN2[x.type.name]
    square, lost = two_prod(b, f, f)
    _, series = _log_near_one(b, f, b.madd(lost, -0.5, k * lo))
    total, error = two_sum(b, k * hi, f)
    total, more = two_sum(b, total, square * -0.5)
    return fast_two_sum(b, total, series + (error + more))


def log_of_pair(b: Builder, x: Pair, more: Value | None = None) -> Value:
    """log(hi + lo) + more ln(2) of a positive normal pair; accurate near 1."""
    hi, lo = x
    f, k = split_exponent(b, hi)
    # lo / hi, for which 1 / (1 + f) = 1 - f + f**2 is enough.
    largest = _LARGEST_EXPONENT[hi.type.name]
    inverse = power_of_two(b, -clamp(b, k, -largest, largest))
    error = lo * inverse * b.madd(f, f - 1.0, 1.0)
    return _assemble(b, f, k if more is None else k + more, error)


def log1p_of_pair(b: Builder, x: Pair) -> Value:
    """log(1 + hi + lo) of a pair above -1, whichever of 1 and hi is larger."""
    hi, lo = two_sum(b, x[0], 1.0)
    return log_of_pair(b, fast_two_sum(b, hi, lo + x[1]))


@float_function("log1p")
def log1p(b: Builder, x: Value) -> Value:
    """log(1 + x), accurate near 0."""
    result = log_of_pair(b, two_sum(b, x, 1.0))
    nan = b.constant(x.type, math.nan)
    limit = b.select(b.eq(x, -1.0), b.constant(x.type, -math.inf), b.select(x < -1.0, nan, x))
    result = b.select((x > -1.0) & (x < math.inf), result, limit)
    return b.select(b.eq(x, 0.0), x, result)


def _log_in_base(
    b: Builder, x: Value, step: tuple[float, ...], inverse: tuple[float, ...]
) -> Value:
    """k * step + log(1 + f) * inverse, both factors in two words."""
    f, k = split_exponent(b, x)
    half, series = _log_near_one(b, f)
    hi, lo = fast_two_sum(b, f, -half)
    lo = lo + series
    product, error = two_prod(b, hi, inverse[0])
    error = b.madd(lo, inverse[0], b.madd(hi, inverse[1], error))
    if step[1]:
        error = b.madd(k, step[1], error)
        k = k * step[0]
    total, rest = two_sum(b, k, product)
    return _with_limits(b, x, total + (rest + error))


@float_function("log2")
def log2(b: Builder, x: Value) -> Value:
    """Logarithm to base 2; exact for powers of 2."""
    inverse = words(1 / LN2, x.type.name, 53 if x.type.name == "float64" else 24)
    return _log_in_base(b, x, (1.0, 0.0), inverse)


@float_function("log10")
def log10(b: Builder, x: Value) -> Value:
    """Logarithm to base 10."""
    double = x.type.name == "float64"
    inverse = words(1 / LN10, x.type.name, 53 if double else 24)
    return _log_in_base(b, x, words(LN2 / LN10, x.type.name, 42 if double else 16), inverse)


@float_function("log1mexp")
def log1mexp(b: Builder, x: Value) -> Value:
    """log(1 - exp(x)) of x < 0."""
    result = log_of_pair(b, one_minus_exp(b, x))
    limit = b.select(x > 0.0, b.constant(x.type, math.nan), -math.inf)
    return b.select(b.compare("uno", x, x), x, b.select(x < 0.0, result, limit))


def _quick_log1p_of_exp(b: Builder, x: Value) -> Value:
    """log(1 + exp(x)) of x <= 0; with an error below 2 ulp."""
    small = exp_below_one(b, x)
    # 1 + f is the sum, or half of it, which is not exact.
    above = small > math.sqrt(2.0) - 1.0
    difference = small - 1.0
    lost = small - (difference + 1.0)
    f = b.select(above, difference * 0.5, small)
    zero = b.constant(x.type, 0.0)
    hi, lo = _LN2[x.type.name]
    half, series = _log_near_one(b, f, b.select(above, b.madd(lost, 0.5, lo), zero))
    return b.select(above, b.constant(x.type, hi), zero) + (f - (half - series))


def _log1p_of_exp(b: Builder, x: Value, error: Value) -> Value:
    """log(1 + exp(x + error)) of x <= 0; with an error below 1 ulp, for sums that may cancel."""
    k, p = exp_pair(b, clamp(b, x, limits(x.type)[0], 0.0), error)
    small = (scaled(b, p[0], k), scaled(b, p[1], k))
    hi, lo = fast_two_sum(b, b.constant(x.type, 1.0), small[0])
    return log_of_pair(b, fast_two_sum(b, hi, lo + small[1]))


@float_function("softplus")
def softplus(b: Builder, x: Value) -> Value:
    """log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|))."""
    result = _quick_log1p_of_exp(b, -fabs(b, x)) + b.maximum_number(x, 0.0)
    return b.select(b.isnan(x), x, result)


@float_function("log_sigmoid")
def log_sigmoid(b: Builder, x: Value) -> Value:
    """-softplus(-x)."""
    return -softplus(b, -x)


def _difference(b: Builder, x: Value, y: Value) -> tuple[Value, Pair]:
    """Return the larger of two, and -|x - y| with its rounding error; 0 for equal infinities."""
    hi, lo = two_sum(b, x, -y)
    larger = b.select(x > y, x, y)
    same = b.eq(x, y)
    near = fabs(b, hi) < 2000.0  # farther apart, the larger one is the whole result
    hi = b.select(same, b.constant(x.type, 0.0), hi)
    lo = b.select(near, b.select(hi > 0.0, -lo, lo), 0.0)
    return larger, (-fabs(b, hi), lo)


@float_function("logaddexp", 2)
def logaddexp(b: Builder, x: Value, y: Value) -> Value:
    """max(x, y) + log(1 + exp(-|x - y|))."""
    larger, (hi, lo) = _difference(b, x, y)
    result = larger + _log1p_of_exp(b, hi, lo)
    return b.select(b.compare("uno", x, y), x + y, result)


def _plus_in_base_2(b: Builder, x: Value, log: Value) -> Value:
    """x + log / log(2), rounded once: the terms may cancel."""
    name = x.type.name
    if b.target.has_fma:
        return b.madd(log, number(1 / LN2, name), x)
    factor, rest = words(1 / LN2, name, 53 if name == "float64" else 24)
    product, error = two_prod(b, log, factor)
    total, lost = two_sum(b, x, product)
    lost = lost + b.madd(log, rest, error)
    # The error of an infinite total is NaN.
    return total + b.select(fabs(b, total) < math.inf, lost, 0.0)


@float_function("logaddexp2", 2)
def logaddexp2(b: Builder, x: Value, y: Value) -> Value:
    """max(x, y) + log2(1 + 2**-|x - y|)."""
    type = x.type
    larger, (hi, lo) = _difference(b, x, y)
    double = type.name == "float64"
    ln2 = words(LN2, type.name, 53 if double else 24)
    hi = b.maximum_number(-1100.0 if double else -160.0, hi)
    product, error = two_prod(b, hi, ln2[0])
    error = error + b.madd(hi, ln2[1], lo * ln2[0])
    result = _plus_in_base_2(b, larger, _log1p_of_exp(b, product, error))
    result = b.select(b.eq(x, y), x + 1.0, result)
    return b.select(b.compare("uno", x, y), x + y, result)


@float_function("xlogy", 2)
def xlogy(b: Builder, x: Value, y: Value) -> Value:
    """x log(y), and 0 where x is 0."""
    zero = b.eq(x, 0.0) & ~b.isnan(y)
    return b.select(zero, b.constant(x.type, 0.0), x * log(b, y))


@float_function("xlog1py", 2)
def xlog1py(b: Builder, x: Value, y: Value) -> Value:
    """x log(1 + y), and 0 where x is 0."""
    zero = b.eq(x, 0.0) & ~b.isnan(y)
    return b.select(zero, b.constant(x.type, 0.0), x * log1p(b, y))
