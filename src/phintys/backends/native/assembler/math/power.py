"""Roots and powers.

Powers are exponentials of logarithms with their rounding errors, as in Arm's optimized routines
(pow.c, 2018); the cube root is found by Halley's method and Newton's (W. Kahan, "Computing a real
cube root", 1991).
"""

from __future__ import annotations

import math

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.math.coefficients import CBRT, EXP_SHORT, LOG1P, LOG1P_SHORT
from phintys.backends.native.assembler.math.constants import LN2, number, words
from phintys.backends.native.assembler.math.exact import (
    Pair,
    fast_two_sum,
    polynomial,
    two_prod,
    two_sum,
)
from phintys.backends.native.assembler.math.exponential import exp_of_sum
from phintys.backends.native.assembler.math.floating import (
    clamp,
    copysign,
    fabs,
    format_of,
    power_of_two,
    rounded,
    sign_bits,
    split_exponent,
)
from phintys.backends.native.assembler.math.registry import float_function
from phintys.backends.native.assembler.math.tables import LOG_START, inverses, log_words, lookup
from phintys.backends.native.assembler.values import Value

# Multiples of 2**-42, as the logarithms in the table: sums with exponents times it are exact.
_LN2 = words(LN2, "float64", 42)


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
    """sqrt(x**2 + y**2) of numbers scaled so that nothing overflows or underflows."""
    x, y = fabs(b, x), fabs(b, y)
    double = x.type.name == "float64"
    largest = b.maximum_number(x, y)
    high, low = (2.0**500, 2.0**-450) if double else (2.0**60, 2.0**-45)
    up, down = (2.0**600, 2.0**-600) if double else (2.0**100, 2.0**-100)
    one = b.constant(x.type, 1.0)
    big, tiny = largest > high, largest < low
    factor = b.select(big, b.constant(x.type, down), b.select(tiny, b.constant(x.type, up), one))
    back = b.select(big, b.constant(x.type, up), b.select(tiny, b.constant(x.type, down), one))
    scaled_x, scaled_y = x * factor, y * factor
    root = b.intrinsic("sqrt", b.madd(scaled_x, scaled_x, scaled_y * scaled_y))
    infinite = b.eq(x, math.inf) | b.eq(y, math.inf)
    return b.select(infinite, b.constant(x.type, math.inf), root * back)


def _reduced_by_table(b: Builder, x: Value) -> tuple[Value, Value, Value]:
    """Return k, an index i and z in x = 2**k z, for positive x; z's interval has the index."""
    subnormal = x < format_of(x.type).tiny
    bits = b.bits(b.select(subnormal, x * 2.0**54, x))
    above = bits - LOG_START
    exponent = above >> 52
    z = b.bitcast(bits - (exponent << 52), x.type)
    magic = format_of(x.type).magic
    number = b.bitcast(exponent + b.bits(b.constant(x.type, magic)), x.type)
    lift = b.select(subnormal, b.constant(x.type, magic + 54.0), magic)
    return number - lift, (above >> 48) & 15, z


def _minus_one(b: Builder, z: Value, inverse: Value) -> Value:
    """z * inverse - 1, exactly, for an inverse of 6 bits."""
    if b.target.has_fma:
        return b.fma(z, inverse, -1.0)
    upper = b.bitcast(b.bits(z) & ~((1 << 27) - 1), z.type)
    return (upper * inverse - 1.0) + (z - upper) * inverse


def log_pair(b: Builder, x: Value) -> Pair:
    """log(x) of positive finite x, to 2**-64 of it.

    As in Arm's optimized routines (pow.c), with a shorter table and a longer polynomial.
    """
    k, index, z = _reduced_by_table(b, x)
    r = _minus_one(b, z, lookup(b, inverses(), index))
    first_words, last_words = log_words()
    ln2_hi, ln2_lo = _LN2
    first = b.madd(k, ln2_hi, lookup(b, first_words, index))
    low = b.madd(k, ln2_lo, lookup(b, last_words, index))
    total, lost = fast_two_sum(b, first, r)
    half = r * -0.5
    square, error = two_prod(b, half, r)
    hi, more = fast_two_sum(b, total, square)
    tail = polynomial(b, r, LOG1P["float64"], r * r) * (r * (r * r))
    return fast_two_sum(b, hi, tail + ((low + lost) + (error + more)))


def _power_sign(b: Builder, magnitude: Value, x: Value, y: Value) -> Value:
    """Give |x|**y the sign of x**y; NaN where negative numbers have no power."""
    whole = b.eq(b.intrinsic("trunc", y), y)
    half = y * 0.5
    odd = whole & b.ne(b.intrinsic("trunc", half), half)
    signs = sign_bits(b, x)
    flipped = b.bits(magnitude) ^ b.select(odd, signs, 0)
    magnitude = b.bitcast(flipped, x.type)
    undefined = (x < 0.0) & (x > -math.inf) & ~whole
    return b.select(undefined, b.constant(x.type, math.nan), magnitude)


@float_function("pow", 2)
def pow(b: Builder, x: Value, y: Value) -> Value:
    """exp(y log|x|), with C's rules for special values."""
    if x.type.name == "float32":
        return _pow_single(b, x, y, b.convert(y, x.type.like("float64")))
    return _power(b, x, y)


@float_function("pow_less_one", 2)
def pow_less_one(b: Builder, x: Value, y: Value) -> Value:
    """exp((y - 1) log|x|), as pow but for the rounding error of y - 1, which is in the product."""
    if x.type.name == "float32":
        less = b.convert(y, x.type.like("float64")) - 1.0
        return _pow_single(b, x, less, less)
    power, error = two_sum(b, y, -1.0)
    return _power(b, x, power, b.select(fabs(b, error) < 1.0, error, 0.0))


def _power(b: Builder, x: Value, y: Value, more: Value | None = None) -> Value:
    """exp((y + more) log|x|) for a small number that is added to the exponent."""
    a = fabs(b, x)
    hi, lo = log_pair(b, a)
    limit = b.select(b.eq(a, 0.0), b.constant(x.type, -math.inf), a)
    hi = b.select((a > 0.0) & (a < math.inf), hi, limit)
    product, error = two_prod(b, y, hi)
    error = b.madd(y, lo, error)
    if more is not None:
        error = b.madd(more, hi, error)
    error = b.select(fabs(b, product) < 1000.0, error, 0.0)
    result = exp_of_sum(b, product, error)
    return _with_special_values(b, result, x, y)


def _with_special_values(b: Builder, result: Value, x: Value, y: Value) -> Value:
    """Return x**y where the result is |x|**y."""
    one = b.eq(fabs(b, x), 1.0) | b.eq(y, 0.0)
    result = b.select(one, b.constant(x.type, 1.0), result)
    result = _power_sign(b, result, x, y)
    return b.select(b.eq(x, 1.0) | b.eq(y, 0.0), b.constant(x.type, 1.0), result)


def _pow_single(b: Builder, x: Value, y: Value, z: Value) -> Value:
    """float32 through float64, with short polynomials.

    The exponent is z, in float64; y is the same number in any type that holds it.
    """
    wide = z.type
    a = b.convert(fabs(b, x), wide)
    k, index, m = _reduced_by_table(b, a)
    r = _minus_one(b, m, lookup(b, inverses(), index))
    log = b.madd(k, number(LN2, "float64"), lookup(b, log_words()[0], index))
    square = r * r
    log = log + b.madd(square, polynomial(b, r, LOG1P_SHORT["float64"], square), r)
    limit = b.select(b.eq(a, 0.0), b.constant(wide, -math.inf), a)
    log = b.select((a > 0.0) & (a < math.inf), log, limit)
    product = clamp(b, z * log, -110.0, 100.0)
    k, _ = rounded(b, product, 1 / number(LN2, "float64"))
    r = b.madd(k, -number(LN2, "float64"), product)
    p = b.madd(r, polynomial(b, r, EXP_SHORT["float64"]), 1.0)
    result = b.convert(p * power_of_two(b, k), x.type)
    return _with_special_values(b, result, x, y)
