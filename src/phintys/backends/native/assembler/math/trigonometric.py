"""Sine, cosine and tangent, and their inverses.

x = k pi / 2 + r with |r| <= pi / 4, then a polynomial (Cody and Waite, 1980). pi / 2 is split into
as many words as r needs to be accurate near multiples of pi / 2; for larger x, libm computes the
lane.
"""

from __future__ import annotations

import math

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.math.coefficients import ASIN, ATAN, COS, SIN, TAN
from phintys.backends.native.assembler.math.constants import PI, number, words
from phintys.backends.native.assembler.math.exact import (
    Pair,
    fast_two_sum,
    pair_div,
    polynomial,
    residual,
    two_prod,
    two_sum,
)
from phintys.backends.native.assembler.math.floating import (
    copysign,
    fabs,
    rounded,
    sign_bits,
    sqrt,
)
from phintys.backends.native.assembler.math.lanewise import redo_lanes
from phintys.backends.native.assembler.math.registry import float_function
from phintys.backends.native.assembler.values import Value

_HALF_PI = PI / 2
_FUSED = words(_HALF_PI, "float64", 53, 53)
_SHORT = words(_HALF_PI, "float64", 33, 33, 33)
_SINGLE = words(_HALF_PI, "float64", 24, 24)

# Larger arguments go to libm.
_LIMIT_FUSED, _LIMIT_SHORT, _LIMIT_SINGLE = 2.0**39, 2.0**20, 2.0**28


def _reduced(b: Builder, x: Value) -> tuple[Pair, Value]:
    """Return r with its error, and an integer whose low bits are those of k."""
    if x.type.name == "float32":
        return _reduced_single(b, x)
    k, bits = rounded(b, x, 2 / math.pi)
    if b.target.has_fma:
        first = b.madd(k, -_FUSED[0], x)
        product = k * -_FUSED[1]
        error = b.fma(k, -_FUSED[1], -product)
        r, lost = two_sum(b, first, product)
        return (r, b.madd(k, -_FUSED[2], error) + lost), bits
    # Words of 33 bits times k are exact.
    first = x - k * _SHORT[0]
    r, lost = two_sum(b, first, k * -_SHORT[1])
    r, more = two_sum(b, r, k * -_SHORT[2])
    return (r, (lost + more) - k * _SHORT[3]), bits


def _reduced_single(b: Builder, x: Value) -> tuple[Pair, Value]:
    wide = b.convert(x, x.type.like("float64"))
    k, bits = rounded(b, wide, 2 / math.pi)
    if b.target.has_fma:
        r = b.fma(k, -_FUSED[1], b.fma(k, -_FUSED[0], wide))
    else:
        r = ((wide - k * _SINGLE[0]) - k * _SINGLE[1]) - k * _SINGLE[2]
    hi = b.convert(r, x.type)
    lo = b.convert(r - b.convert(hi, wide.type), x.type)
    return (hi, lo), b.convert(bits, x.type.integer)


def _limit(b: Builder, x: Value) -> float:
    if x.type.name == "float32":
        return _LIMIT_SINGLE
    return _LIMIT_FUSED if b.target.has_fma else _LIMIT_SHORT


def _or_libm(b: Builder, result: Value, name: str, x: Value) -> Value:
    """Return the result, or that of libm for huge numbers."""
    huge = fabs(b, x) >= _limit(b, x)
    return redo_lanes(b, result, huge, f"phintys_libm_{name}_{x.type.name}", [x])


def _sine_parts(b: Builder, r: Pair, square: Value) -> Pair:
    """Return two terms of sin(r), the second one smaller; square is r[0]**2."""
    hi, lo = r
    return hi, b.madd(hi * square, polynomial(b, square, SIN[hi.type.name]), lo)


def _cosine_parts(b: Builder, r: Pair, square: Value) -> Pair:
    """Return two terms of cos(r), the second one smaller; square is r[0]**2."""
    hi, lo = r
    half = square * 0.5
    one = b.sub(1.0, half)
    rest = b.madd(square * square, polynomial(b, square, COS[hi.type.name]), -(hi * lo))
    return one, (b.sub(1.0, one) - half) + rest


def _sine_or_cosine(b: Builder, r: Pair, odd: Value) -> Value:
    """sin(r), or cos(r) where odd."""
    square = r[0] * r[0]
    sine = _sine_parts(b, r, square)
    cosine = _cosine_parts(b, r, square)
    return b.select(odd, cosine[0] + cosine[1], sine[0] + sine[1])


def sine_of_half_turns(b: Builder, f: Value) -> Pair:
    """Return sin(pi f) of 0 <= f <= 1/2 as a pair."""
    hi, lo = words(PI, f.type.name, 53 if f.type.name == "float64" else 24)
    odd = f > 0.25
    f = b.select(odd, b.sub(0.5, f), f)
    product, error = two_prod(b, f, hi)
    r = product, b.madd(f, lo, error)
    square = product * product
    sine, cosine = _sine_parts(b, r, square), _cosine_parts(b, r, square)
    first, second = (b.select(odd, c, s) for c, s in zip(cosine, sine, strict=True))
    return fast_two_sum(b, first, second)


def _with_quadrant(b: Builder, value: Value, bits: Value) -> Value:
    """Change the sign in the third and fourth quadrant: where the second bit is set."""
    sign = (bits & 2) << (bits.type.bits - 2)
    return b.bitcast(b.bits(value) ^ sign, value.type)


@float_function("sin")
def sin(b: Builder, x: Value) -> Value:
    """Sine."""
    # Of |x|, so that -0.0 keeps its sign.
    r, bits = _reduced(b, fabs(b, x))
    result = _with_quadrant(b, _sine_or_cosine(b, r, b.ne(bits & 1, 0)), bits)
    result = b.bitcast(b.bits(result) ^ sign_bits(b, x), x.type)
    return _or_libm(b, result, "sin", x)


@float_function("cos")
def cos(b: Builder, x: Value) -> Value:
    """Cosine."""
    # Of |x|, so that the sine of the same number has the same parts.
    r, bits = _reduced(b, fabs(b, x))
    result = _sine_or_cosine(b, r, b.eq(bits & 1, 0))
    return _or_libm(b, _with_quadrant(b, result, bits + 1), "cos", x)


@float_function("tan")
def tan(b: Builder, x: Value) -> Value:
    """Tangent: of r, or -1 / tan(r)."""
    r, bits = _reduced(b, fabs(b, x))
    hi, lo = r
    square = hi * hi
    rest = b.madd(hi * square, polynomial(b, square, TAN[x.type.name]), b.madd(lo, square, lo))
    tangent, error = fast_two_sum(b, hi, rest)
    inverse = b.div(-1.0, tangent)
    correction = residual(b, b.constant(x.type, -1.0), inverse, tangent) - inverse * error
    cotangent = b.madd(correction, -inverse, inverse)
    result = b.select(b.ne(bits & 1, 0), cotangent, tangent)
    result = b.bitcast(b.bits(result) ^ sign_bits(b, x), x.type)
    return _or_libm(b, result, "tan", x)


def _arcsine_parts(b: Builder, a: Value) -> tuple[Value, Pair, Value]:
    """Return a > 1/2, a pair s, and p with asin(s) = s + p, for s = sqrt((1 - a) / 2) or a."""
    large = a > 0.5
    halved = b.select(large, b.madd(a, -0.5, 0.5), a * a)
    root = sqrt(b, halved)
    error = residual(b, halved, root, root) / (root + root)
    error = b.select(b.eq(halved, 0.0), b.constant(a.type, 0.0), error)
    s = b.select(large, root, a)
    tail = s * halved * polynomial(b, halved, ASIN[a.type.name])
    return large, (s, b.select(large, error, 0.0)), tail


@float_function("arcsin")
def arcsin(b: Builder, x: Value) -> Value:
    """asin(a) = pi/2 - 2 asin(sqrt((1 - a) / 2)) for a > 1/2."""
    a = fabs(b, x)
    large, (s, error), tail = _arcsine_parts(b, a)
    hi, lo = words(_HALF_PI, x.type.name, 53 if x.type.name == "float64" else 24)
    first, rest = fast_two_sum(b, b.constant(x.type, hi), s * -2.0)
    rest = (rest + lo) - (tail + error) * 2.0
    return copysign(b, b.select(large, first + rest, s + tail), x)


@float_function("arccos")
def arccos(b: Builder, x: Value) -> Value:
    """pi/2 - asin(x), 2 asin(sqrt((1 - x) / 2)) or pi - 2 asin(sqrt((1 + x) / 2))."""
    a = fabs(b, x)
    large, (s, error), tail = _arcsine_parts(b, a)
    bits = 53 if x.type.name == "float64" else 24
    hi, lo = words(_HALF_PI, x.type.name, bits)
    s, tail = copysign(b, s, x), copysign(b, tail, x)
    error = b.select(x < 0.0, -error, error)
    factor = b.select(large, b.constant(x.type, 2.0), -1.0)
    # How many quarter turns are added: 1 for small x, 0 or 2 for large ones.
    turns = b.select(large, b.select(x < 0.0, b.constant(x.type, 2.0), 0.0), 1.0)
    first, rest = fast_two_sum(b, turns * hi, s * factor)
    swapped, other = fast_two_sum(b, s * factor, turns * hi)
    none = b.eq(turns, 0.0)
    first, rest = b.select(none, swapped, first), b.select(none, other, rest)
    return first + (b.madd(tail + error, factor, rest) + turns * lo)


def angle_of_point(b: Builder, y: Value, x: Value, left: Value | None) -> Value:
    """Angle of the point (x, y) in the first quadrant, or of (-x, y) where ``left``.

    The smaller coordinate over the larger one is a tangent t <= 1; above tan(pi / 8) the angle
    pi / 4 is taken off: (t - 1) / (t + 1).
    """
    type = x.type
    swapped = y > x
    small, large = b.select(swapped, x, y), b.select(swapped, y, x)
    steep = small > large * math.tan(math.pi / 8)
    difference, lost = fast_two_sum(b, large, -small)
    total, more = fast_two_sum(b, large, small)
    zero = b.constant(type, 0.0)
    numerator = (b.select(steep, -difference, small), b.select(steep, -lost, zero))
    denominator = (b.select(steep, total, large), b.select(steep, more, zero))
    t, error = pair_div(b, numerator, denominator)
    if not b.target.has_fma:
        # The parts of a product of such a small number would underflow.
        least = 2.0**-900 if type.name == "float64" else 2.0**-80
        error = b.select(small < least, b.constant(type, 0.0), error)
        t = b.select(small < least, numerator[0] / denominator[0], t)
    square = t * t
    tail = b.madd(t * square, polynomial(b, square, ATAN[type.name]), error)
    # The angle is an eighth of a turn times a number, plus or minus atan(t).
    eighths = b.select(steep, b.constant(type, 1.0), 0.0)
    eighths = b.select(swapped, b.sub(2.0, eighths), eighths)
    negative = swapped
    if left is not None:
        eighths = b.select(left, b.sub(4.0, eighths), eighths)
        negative = negative ^ left
    t, tail = b.select(negative, -t, t), b.select(negative, -tail, tail)
    hi, lo = words(PI / 4, type.name, 50 if type.name == "float64" else 21)
    first, rest = fast_two_sum(b, eighths * hi, t)
    result = first + (rest + b.madd(eighths, lo, tail))
    # Without an offset t may be the larger term.
    return b.select(b.eq(eighths, 0.0), t + tail, result)


@float_function("arctan")
def arctan(b: Builder, x: Value) -> Value:
    """Inverse tangent."""
    a = b.minimum_number(2.0**100 if x.type.name == "float64" else 2.0**60, fabs(b, x))
    result = angle_of_point(b, a, b.constant(x.type, 1.0), None)
    return copysign(b, result, x)


@float_function("arctan2", 2)
def arctan2(b: Builder, y: Value, x: Value) -> Value:
    """Angle of the point (x, y), whatever its signs."""
    double = x.type.name == "float64"
    a, c = fabs(b, y), fabs(b, x)
    # Keep the residual of the quotient clear of overflow and underflow.
    largest = b.maximum_number(a, c)
    up, down = (2.0**500, 2.0**-500) if double else (2.0**60, 2.0**-60)
    huge, tiny = (2.0**500, 2.0**-450) if double else (2.0**60, 2.0**-50)
    factor = b.select(largest > huge, b.constant(x.type, down), 1.0)
    factor = b.select(largest < tiny, b.constant(x.type, up), factor)
    infinite = b.eq(largest, math.inf)
    one = b.constant(x.type, 1.0)
    a = b.select(infinite, b.select(b.eq(a, math.inf), one, 0.0), a * factor)
    c = b.select(infinite, b.select(b.eq(c, math.inf), one, 0.0), c * factor)
    c = b.select(b.eq(largest, 0.0), one, c)
    left = b.bits(x) < 0
    result = copysign(b, angle_of_point(b, a, c, left), y)
    return b.select(b.compare("uno", x, y), x + y, result)


@float_function("deg2rad", outlined=False)
def deg2rad(b: Builder, x: Value) -> Value:
    """x pi / 180."""
    return x * number(PI / 180, x.type.name)


@float_function("rad2deg", outlined=False)
def rad2deg(b: Builder, x: Value) -> Value:
    """x 180 / pi."""
    return x * number(180 / PI, x.type.name)
