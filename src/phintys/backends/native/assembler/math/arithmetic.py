"""Arithmetic of one or a few instructions, remainders, rounding and extremes."""

from __future__ import annotations

import math

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.math.exact import residual
from phintys.backends.native.assembler.math.floating import copysign, fabs
from phintys.backends.native.assembler.math.lanewise import redo_lanes
from phintys.backends.native.assembler.math.registry import float_function, integer_function
from phintys.backends.native.assembler.values import Value


@float_function("add", 2, outlined=False)
def add(b: Builder, x: Value, y: Value) -> Value:
    """x + y."""
    return x + y


@float_function("sub", 2, outlined=False)
def sub(b: Builder, x: Value, y: Value) -> Value:
    """x - y."""
    return x - y


@float_function("mul", 2, outlined=False)
def mul(b: Builder, x: Value, y: Value) -> Value:
    """x * y."""
    return x * y


@float_function("true_div", 2, outlined=False)
def true_div(b: Builder, x: Value, y: Value) -> Value:
    """x / y."""
    return x / y


@float_function("neg", outlined=False)
def neg(b: Builder, x: Value) -> Value:
    """-x."""
    return -x


@float_function("pos", outlined=False)
@float_function("conj", outlined=False)
def pos(b: Builder, x: Value) -> Value:
    """x."""
    return x


@float_function("abs", outlined=False)
def abs(b: Builder, x: Value) -> Value:
    """|x|."""
    return fabs(b, x)


@float_function("sign", outlined=False)
def sign(b: Builder, x: Value) -> Value:
    """-1, 0 or 1; NaN for NaN."""
    one = copysign(b, b.constant(x.type, 1.0), x)
    return b.select(b.compare("ueq", x, 0.0), b.select(b.isnan(x), x, 0.0), one)


@float_function("reciprocal", outlined=False)
def reciprocal(b: Builder, x: Value) -> Value:
    """1 / x."""
    return b.div(1.0, x)


@float_function("sqr", outlined=False)
def sqr(b: Builder, x: Value) -> Value:
    """x * x."""
    return x * x


@float_function("copysign", 2, outlined=False)
def with_sign(b: Builder, x: Value, y: Value) -> Value:
    """|x| with the sign of y."""
    return copysign(b, x, y)


@float_function("nextafter", 2, outlined=False)
def nextafter(b: Builder, x: Value, y: Value) -> Value:
    """The next number after x towards y: its bits, as an integer, one more or less."""
    bits = b.bits(x)
    one = b.constant(bits.type, 1)
    away = (x < y) ^ (bits < 0)
    moved = b.bitcast(bits + b.select(away, one, -1), x.type)
    smallest = copysign(b, b.bitcast(one, x.type), y)
    moved = b.select(b.eq(x, 0.0), smallest, moved)
    moved = b.select(b.eq(x, y), y, moved)
    return b.select(b.compare("uno", x, y), x + y, moved)


@float_function("spacing", outlined=False)
def spacing(b: Builder, x: Value) -> Value:
    """The next number away from 0, minus x; NaN for infinities."""
    away = copysign(b, b.constant(x.type, math.inf), x)
    distance = nextafter(b, x, away) - x
    return b.select(b.eq(x, 0.0), fabs(b, distance), distance)


@float_function("heaviside", 2, outlined=False)
def heaviside(b: Builder, x: Value, y: Value) -> Value:
    """0 for x < 0, y for x == 0, 1 for x > 0; NaN for NaN."""
    zero = b.constant(x.type, 0.0)
    step = b.select(x > 0.0, b.constant(x.type, 1.0), zero)
    return b.select(b.isnan(x), x, b.select(b.eq(x, 0.0), y, step))


def _fmod_of_magnitudes(b: Builder, x: Value, y: Value) -> tuple[Value, Value]:
    """Return fmod(x, y) of positive numbers, and where it must be recomputed.

    The quotient q, truncated to an integer, may be one too large by rounding; x - q y is exact.
    """
    if x.type.name == "float32":
        return _fmod_of_singles(b, x, y)
    quotient = b.intrinsic("trunc", x / y)
    rest = residual(b, x, quotient, y)
    rest = b.select(rest < 0.0, rest + y, rest)
    unsafe = quotient >= 2.0**53
    if not b.target.has_fma:
        unsafe = unsafe | (b.le(1.0, quotient) & ((x > 2.0**900) | (y < 2.0**-900)))
    return b.select(x < y, x, rest), unsafe & (x < math.inf) & (y > 0.0)


def _fmod_of_singles(b: Builder, x: Value, y: Value) -> tuple[Value, Value]:
    """In float64, where a quotient of up to 29 bits times y is exact."""
    wide = x.type.like("float64")
    x, y = b.convert(x, wide), b.convert(y, wide)
    quotient = b.intrinsic("trunc", x / y)
    rest = x - quotient * y
    rest = b.select(rest < 0.0, rest + y, rest)
    unsafe = (quotient >= 2.0**29) & (x < math.inf) & (y > 0.0)
    return b.convert(b.select(x < y, x, rest), wide.like("float32")), unsafe


@float_function("fmod", 2)
def fmod(b: Builder, x: Value, y: Value) -> Value:
    """x - y trunc(x / y), exactly."""
    rest, unsafe = _fmod_of_magnitudes(b, fabs(b, x), fabs(b, y))
    rest = redo_lanes(b, copysign(b, rest, x), unsafe, f"phintys_libm_fmod_{x.type.name}", [x, y])
    return b.select(b.isnan(x), x, b.select(b.isnan(y), y, rest))


@float_function("mod", 2)
def mod(b: Builder, x: Value, y: Value) -> Value:
    """x - y floor(x / y), with the sign of y."""
    return _shifted_remainder(b, fmod(b, x, y), y)[0]


def _shifted_remainder(b: Builder, rest: Value, y: Value) -> tuple[Value, Value]:
    """Return the remainder with the sign of y, and where y was added."""
    zero = b.eq(rest, 0.0)
    other_side = ((b.bits(rest) ^ b.bits(y)) < 0) & ~zero & ~b.isnan(rest)
    shifted = b.select(other_side, rest + y, rest)
    return b.select(zero, copysign(b, b.constant(y.type, 0.0), y), shifted), other_side


@float_function("int_div", 2)
def int_div(b: Builder, x: Value, y: Value) -> Value:
    """floor(x / y), from the exact remainder, as in Python."""
    rest = fmod(b, x, y)
    other_side = _shifted_remainder(b, rest, y)[1]
    quotient = (x - rest) / y
    quotient = b.select(other_side, quotient - 1.0, quotient)
    whole = b.intrinsic("floor", quotient)
    whole = b.select(quotient - whole > 0.5, whole + 1.0, whole)
    plain = x / y
    whole = b.select(b.eq(quotient, 0.0), copysign(b, b.constant(x.type, 0.0), plain), whole)
    return b.select(b.eq(y, 0.0), plain, whole)


# ---- rounding to integers that are still floats --------------------------------------------------


@float_function("ceil", outlined=False)
def ceil(b: Builder, x: Value) -> Value:
    """The least integer that is not below x."""
    return b.intrinsic("ceil", x)


@float_function("floor", outlined=False)
def floor(b: Builder, x: Value) -> Value:
    """The greatest integer that is not above x."""
    return b.intrinsic("floor", x)


@float_function("trunc", outlined=False)
def trunc(b: Builder, x: Value) -> Value:
    """x without its fraction."""
    return b.intrinsic("trunc", x)


@float_function("rint", outlined=False)
def rint(b: Builder, x: Value) -> Value:
    """The nearest integer; of two equally near ones, the even one."""
    return b.intrinsic("rint", x)


@float_function("round_half_away", outlined=False)
def round_half_away(b: Builder, x: Value) -> Value:
    """The nearest integer; of two equally near ones, the one farther from 0."""
    whole = b.intrinsic("trunc", x)
    away = whole + copysign(b, b.constant(x.type, 1.0), x)
    return b.select(fabs(b, x - whole) >= 0.5, away, whole)


# ---- extremes, of floats and integers ------------------------------------------------------------


@float_function("maximum", 2, outlined=False)
def maximum(b: Builder, x: Value, y: Value) -> Value:
    """The larger of two; NaN if one is NaN."""
    return b.select((x >= y) | b.isnan(x), x, y)


@float_function("minimum", 2, outlined=False)
def minimum(b: Builder, x: Value, y: Value) -> Value:
    """The smaller of two; NaN if one is NaN."""
    return b.select((x <= y) | b.isnan(x), x, y)


@float_function("fmax", 2, outlined=False)
def fmax(b: Builder, x: Value, y: Value) -> Value:
    """The larger of two, ignoring a NaN."""
    return b.select((x >= y) | b.isnan(y), x, y)


@float_function("fmin", 2, outlined=False)
def fmin(b: Builder, x: Value, y: Value) -> Value:
    """The smaller of two, ignoring a NaN."""
    return b.select((x <= y) | b.isnan(y), x, y)


@float_function("clip", 3, outlined=False)
def clip(b: Builder, x: Value, lower: Value, upper: Value) -> Value:
    """minimum(maximum(x, lower), upper)."""
    return minimum(b, maximum(b, x, lower), upper)


@integer_function("maximum", "fmax")
def larger(b: Builder, x: Value, y: Value) -> Value:
    """The larger of two."""
    return b.select(x >= y, x, y)


@integer_function("minimum", "fmin")
def smaller(b: Builder, x: Value, y: Value) -> Value:
    """The smaller of two."""
    return b.select(x <= y, x, y)


@integer_function("clip")
def clip_integer(b: Builder, x: Value, lower: Value, upper: Value) -> Value:
    """minimum(maximum(x, lower), upper)."""
    return smaller(b, larger(b, x, lower), upper)
