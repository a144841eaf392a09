"""The parts of floating-point numbers: exponents, powers of two, rounding, signs."""

from __future__ import annotations

import math

from phintys._base.records import record
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.math import avx512
from phintys.backends.native.assembler.types import MachineType
from phintys.backends.native.assembler.values import Value


@record(frozen=True)
class Format:
    """Facts about a float type.

    Attributes
    ----------
    bits
        Fraction bits.
    bias
        Added to the exponent in its stored form.
    magic
        A number whose last bit counts ones, 1.5 * 2**bits: adding it rounds to an integer.
    tiny
        The smallest normal number.
    """

    bits: int
    bias: int

    @property
    def magic(self) -> float:
        """1.5 * 2**bits: a sum with it is rounded to an integer."""
        return 1.5 * 2.0**self.bits

    @property
    def tiny(self) -> float:
        """The smallest normal number."""
        return 2.0 ** (1 - self.bias)

    @property
    def one(self) -> int:
        """The bits of 1.0."""
        return self.bias << self.bits

    @property
    def root_two(self) -> int:
        """The bits of sqrt(2), rounded up."""
        return self.one + math.ceil((math.sqrt(2.0) - 1) * 2**self.bits)


_FORMATS = {"float32": Format(23, 127), "float64": Format(52, 1023)}


def format_of(type: MachineType) -> Format:
    """Return the facts about float32 or float64."""
    return _FORMATS[type.name]


def fabs(b: Builder, x: Value) -> Value:
    """|x|."""
    return b.intrinsic("fabs", x)


def sqrt(b: Builder, x: Value) -> Value:
    """Square root."""
    return b.intrinsic("sqrt", x)


def copysign(b: Builder, x: Value, sign: Value) -> Value:
    """|x| with a sign."""
    return b.intrinsic("copysign", x, sign)


def sign_bits(b: Builder, x: Value) -> Value:
    """Return the sign bit of x, in place, as an integer."""
    bits = b.bits(x)
    return bits & (1 << (bits.type.bits - 1))


def clamp(b: Builder, x: Value, low: float, high: float) -> Value:
    """Limit x to an interval; NaN stays NaN."""
    return b.maximum_number(low, b.minimum_number(high, x))


def rounded(b: Builder, x: Value, factor: float = 1.0) -> tuple[Value, Value]:
    """Round x * factor to the nearest integer, |x * factor| being below 2**(bits - 1).

    Returns
    -------
    float, int
        The integer as a float, and an integer whose low bits are those of it.
    """
    magic = format_of(x.type).magic
    shifted = x + magic if factor == 1.0 else b.madd(x, factor, magic)
    return shifted - magic, b.bits(shifted)


def power_of_two(b: Builder, k: Value) -> Value:
    """Return 2**k of an integer k, given as a float, for which the power is a normal number."""
    form = format_of(k.type)
    shifted = b.bits(k + (2.0**form.bits + form.bias))
    return b.bitcast(shifted << form.bits, k.type)


def scaled(b: Builder, x: Value, k: Value) -> Value:
    """Return x * 2**k of an integer k, given as a float, rounded once.

    x is 0 or about 1, and k such that overflow or underflow happens by a factor of 4 at most, or
    else |k| is at most twice the largest exponent.
    """
    if avx512.fits(b, x.type):
        return avx512.scalef(b, x, k)
    half, _ = rounded(b, k, 0.5)
    return x * power_of_two(b, half) * power_of_two(b, k - half)


def times_power_of_two(b: Builder, x: Value, count: Value) -> Value:
    """Return x * 2**count of any x and any int64 count, rounded once."""
    form = format_of(x.type)
    # Three steps reach from the largest to the smallest number.
    most = 3 * form.bias
    count = b.minimum_number(most, b.maximum_number(-most, count))
    k = b.convert(count, x.type)
    if avx512.fits(b, x.type):
        return avx512.scalef(b, x, k)
    # Steps down stay clear of subnormal numbers, so that only the last one rounds.
    up, down = float(form.bias), float(1 - form.bias + form.bits + 1)
    for _ in range(2):
        step = b.select(
            k > up, b.constant(k.type, up), b.select(k < -up, b.constant(k.type, down), 0.0)
        )
        x, k = x * power_of_two(b, step), k - step
    return x * power_of_two(b, clamp(b, k, float(1 - form.bias), up))


def split_exponent(b: Builder, x: Value) -> tuple[Value, Value]:
    """Split a positive number: x = (1 + f) * 2**k with 1 + f between sqrt(1/2) and sqrt(2).

    The results for zeros, infinities, NaN and negative numbers are unspecified.

    Returns
    -------
    f, k
        f is exact; k is an integer as a float.
    """
    if avx512.fits(b, x.type):
        return _split_by_instruction(b, x)
    form = format_of(x.type)
    subnormal = x < form.tiny
    lift = form.bits + 2
    bits = b.bits(b.select(subnormal, x * 2.0**lift, x))
    # A fraction of sqrt(2) or more carries into the exponent.
    raised = bits + ((1 << form.bits) - (form.root_two - form.one))
    exponent_mask = ((1 << bits.type.bits) - 1) ^ ((1 << form.bits) - 1)
    m = b.bitcast(bits - ((raised & exponent_mask) - form.one), x.type)
    exponent = b.bitcast(raised, bits.type.like(f"uint{bits.type.bits}")) >> form.bits
    two = b.bits(b.constant(x.type, 2.0**form.bits))
    number = b.bitcast(b.bitcast(exponent, bits.type) | two, x.type)
    k = number - b.select(
        subnormal,
        b.constant(x.type, 2.0**form.bits + form.bias + lift),
        2.0**form.bits + form.bias,
    )
    return m - 1.0, k


def _split_by_instruction(b: Builder, x: Value) -> tuple[Value, Value]:
    m = avx512.getmant(b, x)
    k = avx512.getexp(b, x)
    form = format_of(x.type)
    above = m >= math.ldexp(form.root_two - form.one + (1 << form.bits), -form.bits)
    m = b.select(above, m * 0.5, m)
    return m - 1.0, b.select(above, k + 1.0, k)
