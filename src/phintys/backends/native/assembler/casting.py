"""Casts between dtypes, with NumPy's results.

A float out of an integer's range gives what C gives on this CPU, as in NumPy.
"""

from __future__ import annotations

from phintys._base.errors import DtypeError
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.types import FLOAT32, FLOAT64, INT32, INT64, MachineType
from phintys.backends.native.assembler.values import Complex, Value


def cast(b: Builder, x: Value | Complex, type: MachineType) -> Value | Complex:
    """Return x as another dtype, as ``astype`` does; a complex number loses its imaginary part.

    Parameters
    ----------
    b
        The builder.
    x
        The value.
    type
        The wanted type, with the lanes of x.
    """
    if type.kind == "c":
        if isinstance(x, Complex):
            return Complex(real_cast(b, x.re, type.part), real_cast(b, x.im, type.part))
        return Complex(real_cast(b, x, type.part), b.constant(type.part, 0.0))
    if type.kind == "b":
        return is_true(b, x)
    return real_cast(b, x.re if isinstance(x, Complex) else x, type)


def is_true(b: Builder, x: Value | Complex) -> Value:
    """Return the mask of what is not 0; NaN is not."""
    if isinstance(x, Complex):
        return is_true(b, x.re) | is_true(b, x.im)
    kind = x.type.kind
    if kind == "b":
        return x
    if kind == "h":
        return b.ne(b.bitcast(x, x.type.like("int16")) & 0x7FFF, 0)
    return b.ne(x, 0)


def real_cast(b: Builder, x: Value, type: MachineType) -> Value:
    """Return a value that is not complex as another dtype that is not complex."""
    source = x.type
    if source is type:
        return x
    if source.kind not in "biuhf" or type.kind not in "biuhf":
        msg = f"There is no cast from {source!r} to {type!r}."
        raise DtypeError(msg)
    if type.kind == "b":
        return is_true(b, x)
    if source.kind == "h":
        return real_cast(b, from_float16(b, x), type)
    if type.kind == "h":
        if source is FLOAT64.of(source.lanes):
            return to_float16(b, _rounded_to_odd(b, x))
        # Integers that float32 rounds are above all of float16's.
        return to_float16(b, real_cast(b, x, FLOAT32.of(source.lanes)))
    if source.kind == "b" and type.kind == "f":
        return b.select(x, b.constant(type, 1.0), 0.0)
    if source.kind == "f" and type.is_integer:
        return _float_to_integer(b, x, type)
    return b.convert(x, type)


def _float_to_integer(b: Builder, x: Value, type: MachineType) -> Value:
    lanes = type.lanes
    if type.kind == "u" and type.bits >= 32:
        # The upper half does not fit the machine's signed conversion.
        half = 2.0 ** (type.bits - 1)
        large = x >= half
        shifted = b.select(large, x - half, x)
        low = b.convert(b.convert(shifted, type.integer), type)
        return low ^ b.select(large, b.constant(type, 1 << (type.bits - 1)), 0)
    # Smaller integers are truncated from a wider one, as in C: LLVM's direct conversion may
    # saturate.
    wide = INT64 if type.bits == 64 else INT32
    return b.convert(b.convert(x, wide.of(lanes)), type)


def from_float16(b: Builder, x: Value) -> Value:
    """Return a float16 as a float32, which is exact."""
    lanes = x.type.lanes
    single = FLOAT32.of(lanes)
    if b.target.has_float16:
        half = single.text.replace("float", "half")
        bits = b.write(x.type, f"bitcast {x.typed} to {half}")
        return b.write(single, f"fpext {half} {bits.text} to {single.text}")
    bits = b.convert(b.bitcast(x, x.type.like("uint16")), INT32.of(lanes))
    magnitude = (bits & 0x7FFF) << 13
    # The exponent's bias differs by 112; multiplying normalises subnormal numbers, too.
    number = b.bits(b.bitcast(magnitude, single) * 2.0**112)
    special = b.select(magnitude >= 0x7C00 << 13, b.constant(magnitude.type, 0x7F800000), 0)
    return b.bitcast(number | special | ((bits & 0x8000) << 16), single)


def to_float16(b: Builder, x: Value) -> Value:
    """Return a float32 rounded to float16."""
    lanes = x.type.lanes
    half = x.type.like("float16")
    if b.target.has_float16:
        text = x.type.text.replace("float", "half")
        rounded = b.write(half, f"fptrunc {x.typed} to {text}")
        return b.write(half, f"bitcast {text} {rounded.text} to {half.text}")
    bits = b.bits(b.value(FLOAT32.of(lanes), x))
    magnitude = bits & 0x7FFFFFFF
    # Adding a half less one ulp, and one where the result would be odd, rounds to nearest even.
    even = (magnitude >> 13) & 1
    normal = (magnitude + (((15 - 127) << 23) + 0xFFF) + even) >> 13
    # Adding 0.5 shifts a small number to where float32 rounds as float16's subnormals do.
    small = b.bits(b.bitcast(magnitude, x.type) + 0.5) - 0x3F000000
    large = b.select(magnitude > 0x7F800000, b.constant(bits.type, 0x7E00), 0x7C00)
    result = b.select(magnitude < 0x38800000, small, normal)
    result = b.select(magnitude >= 0x47800000, large, result)
    result = result | ((bits >> 16) & 0x8000)
    return b.bitcast(b.convert(result, half.like("int16")), half)


def _rounded_to_odd(b: Builder, x: Value) -> Value:
    """Return a float64 as a float32 from which float16 rounds as if from x.

    Truncated towards 0, with the last bit set where something was lost (Boldo and Melquiond,
    "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008).
    """
    single = b.convert(x, FLOAT32.of(x.type.lanes))
    back = b.convert(single, x.type)
    absolute = b.intrinsic("fabs", back) > b.intrinsic("fabs", x)
    bits = b.bits(single)
    bits = bits - b.select(absolute, b.constant(bits.type, 1), 0)
    bits = bits | b.select(b.ne(back, x), b.constant(bits.type, 1), 0)
    return b.bitcast(bits, single.type)
