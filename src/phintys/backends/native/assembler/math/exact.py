"""Arithmetic with the rounding errors kept, and what is built on it.

A ``Pair`` (hi, lo) stands for the sum of two floats of which hi is the rounded sum. The algorithms
are those of Dekker ("A floating-point technique for extending the available precision", 1971) and
Knuth; see Muller et al., "Handbook of Floating-Point Arithmetic", 2018, chapters 4 and 14.
"""

from __future__ import annotations

from collections.abc import Sequence

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.values import Operand, Value

Pair = tuple[Value, Value]


def two_sum(b: Builder, x: Operand, y: Operand) -> Pair:
    """Return x + y exactly, as a pair; 6 instructions."""
    total = b.add(x, y)
    y_part = total - x
    return total, b.sub(x, total - y_part) + b.sub(y, y_part)


def fast_two_sum(b: Builder, x: Operand, y: Operand) -> Pair:
    """Return x + y exactly, as a pair, where |x| >= |y| or x is 0; 3 instructions."""
    total = b.add(x, y)
    return total, b.sub(y, total - x)


def _split(b: Builder, x: Value) -> Pair:
    """Return the upper and the lower half of the bits of x (Veltkamp)."""
    factor = 134217729.0 if x.type.name == "float64" else 4097.0
    scaled = x * factor
    upper = scaled - (scaled - x)
    return upper, x - upper


def two_prod(b: Builder, x: Value, y: Operand) -> Pair:
    """Return x * y exactly, as a pair: 2 instructions, 17 without FMA.

    Without FMA the factors must be below 2**996 (float64) or 2**115 (float32).
    """
    product = x * y
    if b.target.has_fma:
        return product, b.fma(x, y, -product)
    y = b.value(x.type, y)
    x_hi, x_lo = _split(b, x)
    y_hi, y_lo = _split(b, y)
    error = ((x_hi * y_hi - product) + x_hi * y_lo + x_lo * y_hi) + x_lo * y_lo
    return product, error


def pair_add(b: Builder, x: Pair, y: Pair) -> Pair:
    """Return the sum of two pairs."""
    hi, lo = two_sum(b, x[0], y[0])
    return fast_two_sum(b, hi, lo + (x[1] + y[1]))


def residual(b: Builder, x: Value, q: Value, y: Value) -> Value:
    """Return x - q * y where q is approximately x / y: the difference is exact with FMA."""
    if b.target.has_fma:
        return b.fma(-q, y, x)
    hi, lo = two_prod(b, q, y)
    return (x - hi) - lo


def _division(b: Builder, x: Value, y: Pair) -> tuple[Value, Value, Value]:
    """Return an approximate quotient q, its remainder, and 1 / y; one division."""
    inverse = b.div(1.0, y[0])
    q = inverse * x
    return q, b.madd(-q, y[1], residual(b, x, q, y[0])), inverse


def pair_div(b: Builder, x: Pair, y: Pair) -> Pair:
    """Return the quotient of two pairs as a pair."""
    q, rest, inverse = _division(b, x[0], y)
    return fast_two_sum(b, q, (rest + x[1]) * inverse)


def quotient(b: Builder, x: Value, y: Pair, error: Value | None = None) -> Value:
    """Return the quotient of a number (and its error) and a pair, rounded."""
    q, rest, inverse = _division(b, x, y)
    return b.madd(rest if error is None else rest + error, inverse, q)


def pair_sqrt(b: Builder, x: Pair) -> Pair:
    """Return the square root of a pair whose high word is positive."""
    root = b.intrinsic("sqrt", x[0])
    rest = residual(b, x[0], root, root) + x[1]
    return fast_two_sum(b, root, rest / (root + root))


def polynomial(
    b: Builder, x: Value, coefficients: Sequence[float], square: Value | None = None
) -> Value:
    """Return the polynomial with these coefficients, that of x**0 first.

    Long ones are summed as two halves in x**2: half the latency for one instruction more.

    Parameters
    ----------
    b
        The builder.
    x
        Where.
    coefficients
        At least one.
    square
        x * x, if it has been computed.
    """
    if len(coefficients) < 6:
        return _horner(b, x, coefficients)
    square = x * x if square is None else square
    even = _horner(b, square, coefficients[::2])
    return b.madd(_horner(b, square, coefficients[1::2]), x, even)


def _horner(b: Builder, x: Value, coefficients: Sequence[float]) -> Value:
    result = b.constant(x.type, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = b.madd(result, x, coefficient)
    return result
