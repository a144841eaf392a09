"""Integers, with NumPy's results: sums and products wrap, x // 0 and x % 0 are 0.

Integer division has no vector instruction; up to 32 bits it goes through float64, exactly.
"""

from __future__ import annotations

from phintys._base.errors import MethodNotDefinedError
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import frozen, iterate, loop
from phintys.backends.native.assembler.math.registry import integer_function
from phintys.backends.native.assembler.types import FLOAT64, INT64, MachineType
from phintys.backends.native.assembler.values import Value


@integer_function("add")
def add(b: Builder, x: Value, y: Value) -> Value:
    """x + y."""
    return x + y


@integer_function("sub")
def sub(b: Builder, x: Value, y: Value) -> Value:
    """x - y."""
    return x - y


@integer_function("mul")
def mul(b: Builder, x: Value, y: Value) -> Value:
    """x * y."""
    return x * y


@integer_function("neg")
def neg(b: Builder, x: Value) -> Value:
    """-x."""
    return -x


@integer_function("pos", "ceil", "floor", "trunc", "conj")
def pos(b: Builder, x: Value) -> Value:
    """x."""
    return x


@integer_function("abs")
def abs(b: Builder, x: Value) -> Value:
    """|x|; the lowest number is unchanged."""
    return x if x.type.kind == "u" else b.select(x < 0, -x, x)


@integer_function("sign")
def sign(b: Builder, x: Value) -> Value:
    """-1, 0 or 1."""
    one = b.constant(x.type, 1)
    return b.select(b.eq(x, 0), x, b.select(x < 0, b.constant(x.type, -1), one))


@integer_function("sqr")
def sqr(b: Builder, x: Value) -> Value:
    """x * x."""
    return x * x


def _lowest(type: MachineType) -> int:
    return -(1 << (type.bits - 1))


def _truncated(b: Builder, x: Value, y: Value) -> Value:
    """x / y truncated towards 0; 0 for y == 0; the lowest number divided by -1 is itself."""
    zero = b.constant(x.type, 0)
    if x.type.bits <= 32:
        wide = FLOAT64.of(x.type.lanes)
        divisor = b.select(b.eq(y, 0), b.constant(y.type, 1), y)
        quotient = b.convert(x, wide) / b.convert(divisor, wide)
        # 2**31 is out of int32's range: through int64 it wraps.
        whole = b.convert(b.convert(quotient, INT64.of(x.type.lanes)), x.type)
        return b.select(b.eq(y, 0), zero, whole)
    unsafe = b.eq(y, 0)
    if x.type.kind == "i":
        unsafe = unsafe | (b.eq(y, -1) & b.eq(x, _lowest(x.type)))
    divisor = b.select(unsafe, b.constant(y.type, 1), y)
    quotient = b.binary("sdiv" if x.type.kind == "i" else "udiv", x, divisor)
    return b.select(b.eq(y, 0), zero, quotient)


def _floored(b: Builder, x: Value, y: Value) -> tuple[Value, Value]:
    """Return the floor of x / y, and x - y * floor; both are 0 for y == 0."""
    quotient = _truncated(b, x, y)
    rest = b.select(b.eq(y, 0), b.constant(x.type, 0), x - quotient * y)
    if x.type.kind == "u":
        return quotient, rest
    below = b.ne(rest, 0) & ((rest ^ y) < 0)
    return (
        b.select(below, quotient - 1, quotient),
        b.select(below, rest + y, rest),
    )


@integer_function("int_div")
def int_div(b: Builder, x: Value, y: Value) -> Value:
    """floor(x / y)."""
    return _floored(b, x, y)[0]


@integer_function("mod")
def mod(b: Builder, x: Value, y: Value) -> Value:
    """x - y floor(x / y)."""
    return _floored(b, x, y)[1]


@integer_function("fmod")
def fmod(b: Builder, x: Value, y: Value) -> Value:
    """x - y trunc(x / y)."""
    rest = x - _truncated(b, x, y) * y
    return b.select(b.eq(y, 0), b.constant(x.type, 0), rest)


@integer_function("reciprocal")
def reciprocal(b: Builder, x: Value) -> Value:
    """1 / x truncated towards 0; what C makes of infinity for x == 0."""
    one = b.constant(x.type, 1)
    quotient = _truncated(b, one, x)
    return b.select(b.eq(x, 0), b.constant(x.type, _reciprocal_of_zero(x.type)), quotient)


def _reciprocal_of_zero(type: MachineType) -> int:
    """The result of converting an infinite float64 on x86, as in NumPy's loop."""
    if type.name in {"int32", "int64"}:
        return _lowest(type)
    return 0


def _unsigned(b: Builder, x: Value) -> Value:
    """Return |x| as an unsigned integer, which can hold the lowest number's too."""
    return b.bitcast(abs(b, x), x.type.like(f"uint{x.type.bits}"))


def _common_divisor(b: Builder, x: Value, y: Value) -> Value:
    """Return the greatest common divisor of unsigned numbers, by Euclid's algorithm."""

    def step(larger: Value, smaller: Value) -> tuple[list[Value], Value]:
        unfinished = b.ne(smaller, 0)
        rest = larger - _truncated(b, larger, smaller) * smaller
        zero = b.constant(smaller.type, 0)
        following = b.select(unfinished, rest, zero)
        return [b.select(unfinished, smaller, larger), following], b.ne(following, 0)

    # Fibonacci numbers need the most passes: fewer than 1.5 for each bit.
    return iterate(b, 2 * x.type.bits, [frozen(b, x), frozen(b, y)], step)[0]


@integer_function("gcd")
def gcd(b: Builder, x: Value, y: Value) -> Value:
    """Greatest common divisor."""
    return b.bitcast(_common_divisor(b, _unsigned(b, x), _unsigned(b, y)), x.type)


@integer_function("lcm")
def lcm(b: Builder, x: Value, y: Value) -> Value:
    """Least common multiple; 0 if a number is 0."""
    first, second = _unsigned(b, x), _unsigned(b, y)
    return b.bitcast(_truncated(b, first, _common_divisor(b, first, second)) * second, x.type)


@integer_function("and_")
def and_(b: Builder, x: Value, y: Value) -> Value:
    """x & y."""
    return x & y


@integer_function("or_")
def or_(b: Builder, x: Value, y: Value) -> Value:
    """x | y."""
    return x | y


@integer_function("xor")
def xor(b: Builder, x: Value, y: Value) -> Value:
    """x ^ y."""
    return x ^ y


@integer_function("invert")
def invert(b: Builder, x: Value) -> Value:
    """~x."""
    return ~x


def _shift_count(b: Builder, x: Value, y: Value) -> tuple[Value, Value]:
    """Return which counts are too large (or negative), and counts that a machine shift accepts."""
    unsigned = b.bitcast(y, y.type.like(f"uint{y.type.bits}"))
    large = unsigned >= x.type.bits
    return large, b.select(large, b.constant(y.type, 0), y)


@integer_function("left_shift")
def left_shift(b: Builder, x: Value, y: Value) -> Value:
    """x << y; 0 where all bits are shifted out."""
    large, count = _shift_count(b, x, y)
    return b.select(large, b.constant(x.type, 0), x << count)


@integer_function("right_shift")
def right_shift(b: Builder, x: Value, y: Value) -> Value:
    """x >> y; 0, or -1 for negative x, where all bits are shifted out."""
    large, count = _shift_count(b, x, y)
    last = b.constant(x.type, 0)
    if x.type.kind == "i":
        last = b.select(x < 0, b.constant(x.type, -1), last)
    return b.select(large, last, x >> count)


@integer_function("pow")
def pow(b: Builder, x: Value, y: Value) -> Value:
    """x**y by squaring. A negative y is an error that the kernel must report."""
    if y.type.kind == "i":
        if b.fail_where is None:
            msg = (
                "Integer powers fail for negative exponents: set builder.fail_where to what "
                "reports lanes that failed."
            )
            raise MethodNotDefinedError(msg)
        b.fail_where(y < 0, "Integers to negative integer powers are not allowed.")
    result = b.constant(x.type, 1)
    with loop(b, 0, x.type.bits, carried=[result, x, y], runs=True) as bit:
        result, factor, rest = bit.carried
        result = b.select(b.ne(rest & 1, 0), result * factor, result)
        unsigned = b.bitcast(rest, rest.type.like(f"uint{rest.type.bits}"))
        bit.next(result, factor * factor, b.bitcast(unsigned >> 1, rest.type))
    return bit.results[0]
