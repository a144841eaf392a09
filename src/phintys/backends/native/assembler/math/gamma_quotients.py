"""Quotients of gamma functions and powers: beta functions, densities of gamma and beta numbers.

Logarithms of gamma functions are huge, and their differences lose the digits that differ.
Stirling's formula leaves quotients of powers and small remainders (A. R. DiDonato and A. H. Morris,
"Algorithm 708: Significant digit computation of the incomplete beta function ratios", ACM Trans.
Math. Softw. 18, 1992; C. Loader, "Fast and accurate computation of binomial probabilities", 2000).
What is left is an exponent, which is computed with its rounding error, so that the result has all
digits.

Each gamma function is written as ``scale * (base / e)**p * exp(rest)``, where the base of a large p
is p itself and the scale sqrt(2 pi / p); of a small p the base is 1.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import frozen, iterate
from phintys.backends.native.assembler.math.calls import float_math
from phintys.backends.native.assembler.math.exact import (
    Pair,
    fast_two_sum,
    pair_add,
    pair_div,
    residual,
    two_prod,
    two_sum,
)
from phintys.backends.native.assembler.math.exponential import exp_of_sum
from phintys.backends.native.assembler.math.floating import fabs
from phintys.backends.native.assembler.math.lanewise import computed_where, redo_lanes
from phintys.backends.native.assembler.math.log_gamma import STIRLING_FROM, stirling_rest
from phintys.backends.native.assembler.math.power import log_pair
from phintys.backends.native.assembler.math.registry import float_function
from phintys.backends.native.assembler.values import Operand, Value
from phintys.scalar.gamma_quotients import FEW, LARGEST

if TYPE_CHECKING:
    from collections.abc import Callable


class _Gamma(NamedTuple):
    """A gamma function of a positive number, by its parts."""

    base: Value
    rest: Pair
    inverse_square: Value  # of the scale


def _gamma(b: Builder, p: Value) -> _Gamma:
    is_large = p > STIRLING_FROM
    inverse_square = b.select(is_large, p * (1 / math.tau), 1.0)
    return _Gamma(b.select(is_large, p, 1.0), stirling_rest(b, p), inverse_square)


def _minus(x: Pair) -> Pair:
    return -x[0], -x[1]


def _total(b: Builder, *terms: Pair) -> Pair:
    total = terms[0]
    for term in terms[1:]:
        total = pair_add(b, total, term)
    return total


def _pair(b: Builder, x: Value) -> Pair:
    return x, b.constant(x.type, 0.0)


def _power(b: Builder, exponent: Pair, above: Pair, below: Value) -> Pair:
    """Return exponent * log(above / below)."""
    hi, lo = pair_div(b, above, _pair(b, below))
    hi = b.maximum_number(hi, 5e-324)
    log_hi, log_lo = log_pair(b, hi)
    log_lo = log_lo + lo / hi
    product, error = two_prod(b, exponent[0], log_hi)
    return product, error + b.madd(exponent[0], log_lo, exponent[1] * log_hi)


_CLOSE = 2.0**-20
_LARGEST_EXPONENT, _LIFT = 600.0, 64.0


def _log_of_share(b: Builder, p: Pair, part: Value, whole: Value) -> Pair:
    """Return p * log(part / whole) of a part that is p rounded, or 1.

    The logarithm of a quotient near 1 is -q - q**2 / 2 ..., for the share q of the rest d, and so
    the product is -d + d q / 2 + d q**2 / 6 + d q**3 / 12 ....
    """
    rest, lost = two_sum(b, whole, -part)
    share = rest / whole
    is_close = b.eq(part, p[0]) & (fabs(b, share) < _CLOSE)
    far = _power(b, p, _pair(b, part), whole)
    small = rest * share * b.madd(share, b.madd(share, 1 / 12, 1 / 6), 0.5)
    small = (small - p[1] * share) - lost
    return b.select(is_close, -rest, far[0]), b.select(is_close, small, far[1])


def _exp(b: Builder, x: Pair) -> Value:
    # Of other numbers the exponential is 0 or infinite.
    return exp_of_sum(b, x[0], b.select(fabs(b, x[0]) < 1000.0, x[1], 0.0))


def _root(b: Builder, x: Value) -> Value:
    return b.intrinsic("sqrt", x)


def _in_double(function: Callable[..., Value], b: Builder, *values: Value) -> Value:
    type = values[0].type
    wide = (b.convert(value, type.like("float64")) for value in values)
    return b.convert(function(b, *wide), type)


def _safe(b: Builder, is_inside: Value, *pairs: tuple[Value, Operand]) -> list[Value]:
    return [b.select(is_inside, value, other) for value, other in pairs]


@float_function("gamma_density", 2)
def gamma_density(b: Builder, a: Value, x: Value) -> Value:
    """x**(a - 1) exp(-x) / gamma(a)"""
    if a.type.name == "float32":
        return _in_double(gamma_density, b, a, x)
    is_inside = (a > 0.0) & (a < LARGEST) & (x > 0.0) & (x < math.inf)
    shape, place = _safe(b, is_inside, (a, 1.0), (x, 1.0))
    gamma = _gamma(b, shape)
    far = pair_add(
        b,
        _power(b, two_sum(b, shape, -1.0), _pair(b, place), gamma.base),
        two_sum(b, shape, -place),
    )
    # (a - 1) log(1 + t) - a t of a small t, whose first terms cancel.
    t = (place - shape) / shape
    square = shape * t * t
    series = b.madd(t, b.madd(t, b.madd(t, 0.2, -0.25), 1 / 3), -0.5)
    near = square * series, t * b.madd(t, b.madd(t, -1 / 3, 0.5), -1.0)
    is_close = (fabs(b, t) < _CLOSE) & (shape > STIRLING_FROM)
    exponent = tuple(b.select(is_close, n, f) for n, f in zip(near, far, strict=True))
    exponent = pair_add(b, (exponent[0], exponent[1]), _minus(gamma.rest))
    # sqrt(2 pi / a) a**a, and x**(a - 1) is (x / a)**(a - 1) a**(a - 1)
    factor = _root(b, gamma.inverse_square) / gamma.base
    result = b.select(is_inside, _exp(b, exponent) * factor, math.nan)
    is_zero = (a >= 0.0) & (a < math.inf) & (b.eq(x, math.inf) | (b.eq(a, 0.0) & (x > 0.0)))
    is_huge = (a >= LARGEST) & (a < math.inf) & (x >= 0.0)
    result = b.select(is_zero | is_huge, 0.0, result)
    # All of the mass is at less than a rounding error from so huge a shape.
    peak = b.div(1 / math.sqrt(2 * math.pi * LARGEST), _root(b, a * (1 / LARGEST)))
    result = b.select(is_huge & b.eq(x, a), peak, result)
    return _at_origin(b, a, x, b.constant(a.type, 1.0), result)


def _at_origin(b: Builder, a: Value, x: Value, of_one: Value, result: Value) -> Value:
    """Return the result, but at 0 the value there of a density that is like x**(a - 1)."""
    there = b.select(a < 1.0, math.inf, b.select(b.eq(a, 1.0), of_one, 0.0))
    return b.select(b.eq(x, 0.0) & (a > 0.0), there, result)


@float_function("beta_density", 3)
def beta_density(b: Builder, a: Value, c: Value, x: Value) -> Value:
    """x**(a - 1) (1 - x)**(c - 1) / beta(a, c)"""
    if a.type.name == "float32":
        return _in_double(beta_density, b, a, c, x)
    are_positive = (a > 0.0) & (c > 0.0) & (a < LARGEST) & (c < LARGEST)
    is_inside = are_positive & (x > 0.0) & (x < 1.0)
    first, second, place = _safe(b, is_inside, (a, 1.0), (c, 1.0), (x, 0.5))
    total, lost = two_sum(b, first, second)
    whole, one, other = (_gamma(b, p) for p in (total, first, second))
    left, right = two_prod(b, place, whole.base), two_sum(b, b.constant(x.type, 1.0), -place)
    right_hi, right_lo = two_prod(b, right[0], whole.base)
    right = fast_two_sum(b, right_hi, b.madd(right[1], whole.base, right_lo))
    exponent = _total(
        b,
        _power(b, two_sum(b, first, -1.0), left, one.base),
        _power(b, two_sum(b, second, -1.0), right, other.base),
        whole.rest,
        _minus(one.rest),
        _minus(other.rest),
        _pair(b, lost),
    )
    scale = _root(b, one.inverse_square) / one.base * (_root(b, other.inverse_square) / other.base)
    scale = scale * whole.base * (whole.base / _root(b, whole.inverse_square))
    result = b.select(is_inside, _exp(b, exponent) * scale, math.nan)
    result = _at_origin(b, a, x, c, result)
    result = _at_origin(b, c, b.sub(1.0, x), a, result)
    return b.select(are_positive, result, math.nan)


@float_function("beta", 2)
def beta(b: Builder, x: Value, y: Value) -> Value:
    """gamma(x) gamma(y) / gamma(x + y)"""
    if x.type.name == "float32":
        return _in_double(beta, b, x, y)
    is_usual = (x > 0.0) & (y > 0.0) & (x < LARGEST) & (y < LARGEST)
    found = _beta(b, *_safe(b, is_usual, (x, 1.0), (y, 1.0)))
    return redo_lanes(b, found, ~is_usual, "phintys_scipy_beta_float64", [x, y])


def _beta(b: Builder, first: Value, second: Value) -> Value:
    total, lost = two_sum(b, first, second)
    whole, one, other = (_gamma(b, p) for p in (total, first, second))
    exponent = _total(
        b,
        _log_of_share(b, _pair(b, first), one.base, whole.base),
        _log_of_share(b, _pair(b, second), other.base, whole.base),
        one.rest,
        other.rest,
        _minus(whole.rest),
        _pair(b, -lost),
    )
    scale = _root(b, whole.inverse_square / one.inverse_square / other.inverse_square)
    return _exp(b, exponent) * scale


@float_function("binom", 2)
def binom(b: Builder, n: Value, k: Value) -> Value:
    """gamma(n + 1) / (gamma(k + 1) gamma(n - k + 1)); a product of few whole factors"""
    if n.type.name == "float32":
        return _in_double(binom, b, n, k)
    n, k = frozen(b, n), frozen(b, k)
    rest, lost = two_sum(b, n, -k)
    few = b.minimum_number(_few_or(b, k, FEW), _few_or(b, rest, FEW))
    is_few = few < FEW
    is_usual = (k > -1.0) & (rest > -1.0) & (n > -1.0) & (n < LARGEST) & ~is_few
    found = computed_where(b, is_usual, lambda: _binom(b, is_usual, n, k, (rest, lost)))
    steps = b.select(is_few, few, 0.0)
    found = b.select(is_few, _factors(b, n, steps, -1.0), found)
    below = b.minimum_number(k, rest)
    is_outside = (below <= -1.0) & (n > -1.0) & (n < LARGEST) & ~is_few
    lost = b.select(k < rest, 0.0, lost)
    outside = computed_where(b, is_outside, lambda: _outside(b, is_outside, n, (below, lost)))
    found = b.select(is_outside, outside, found)
    others = ~(is_few | is_usual | is_outside)
    return redo_lanes(b, found, others, "phintys_scipy_binom_float64", [n, k])


def _outside(b: Builder, is_outside: Value, n: Value, below: Pair) -> Value:
    """Return binomial coefficients of k below -1 or above n + 1, by reflection (DLMF 5.5.3).

    ``below`` is the smaller one of k and n - k.
    """
    n, number = _safe(b, is_outside, (n, 1.0), (below[0], -1.5))
    lost = b.select(is_outside, below[1], 0.0)
    whole, others = (b.intrinsic("rint", part) for part in (number, lost))
    rest = (number - whole) + (lost - others)
    is_even = b.eq(*(b.eq(b.intrinsic("floor", x * 0.5), x * 0.5) for x in (whole, others)))
    sine = float_math(b, "sin", rest * math.pi) * (1 / math.pi)
    nearer = b.minimum_number(-number, LARGEST)
    found = _beta(b, n + 1.0, nearer) * float_math(b, "pow", nearer / -number, n + 1.0) * sine
    return b.select(b.eq(rest, 0.0), 0.0, b.select(is_even, -found, found))


def _binom(b: Builder, is_usual: Value, n: Value, k: Value, rest: Pair) -> Value:
    n, k, rest_hi = _safe(b, is_usual, (n, 1.0), (k, 0.5), (rest[0], 0.5))
    rest_lo = b.select(is_usual, rest[1], 0.0)
    top, first = two_sum(b, n, 1.0), two_sum(b, k, 1.0)
    second = two_sum(b, rest_hi, 1.0)
    second = fast_two_sum(b, second[0], second[1] + rest_lo)
    whole, one, other = (_gamma(b, p[0]) for p in (top, first, second))
    exponent = _total(
        b,
        _minus(_log_of_share(b, first, one.base, whole.base)),
        _minus(_log_of_share(b, second, other.base, whole.base)),
        whole.rest,
        _minus(one.rest),
        _minus(other.rest),
        _pair(b, (top[1] - first[1]) - second[1]),
        _pair(b, b.constant(n.type, 1.0)),
    )
    quotient, lost = _scale(b, whole, one, other)
    return _exp(b, (exponent[0], exponent[1] + lost)) * quotient


def _scale(b: Builder, whole: _Gamma, one: _Gamma, other: _Gamma) -> Pair:
    """Return the scale of a binomial coefficient by its base, and its relative rounding error."""
    above, error = two_prod(b, one.inverse_square, other.inverse_square)
    square = above / whole.inverse_square
    scale = _root(b, square)
    quotient = scale / whole.base
    error = error + residual(b, above, square, whole.inverse_square)
    rest = residual(b, square, scale, scale)
    rest = b.madd(scale, residual(b, scale, quotient, whole.base) * 2.0, rest)
    return quotient, b.madd(whole.inverse_square, rest, error) / above * 0.5


@float_function("poch", 2)
def poch(b: Builder, z: Value, m: Value) -> Value:
    """gamma(z + m) / gamma(z); a product of few whole factors"""
    if z.type.name == "float32":
        return _in_double(poch, b, z, m)
    z, m = frozen(b, z), frozen(b, m)
    few = _few_or(b, m, FEW)
    is_few = few < FEW
    is_usual = (z > 0.0) & (z + m > 0.0) & (z < LARGEST) & (m < LARGEST) & ~is_few
    found = computed_where(b, is_usual, lambda: _poch(b, is_usual, z, m))
    steps = b.select(is_few, few, 0.0)
    found = b.select(is_few, _factors(b, z, steps, 1.0), found)
    return redo_lanes(b, found, ~(is_few | is_usual), "phintys_scipy_poch_float64", [z, m])


def _poch(b: Builder, is_usual: Value, z: Value, m: Value) -> Value:
    z, m = _safe(b, is_usual, (z, 1.0), (m, 0.5))
    total, lost = two_sum(b, z, m)
    whole, one = _gamma(b, total), _gamma(b, z)
    exponent = _total(
        b,
        _power(b, _pair(b, m), _pair(b, whole.base), b.constant(m.type, 1.0)),
        _minus(_log_of_share(b, _pair(b, z), one.base, whole.base)),
        whole.rest,
        _minus(one.rest),
        two_sum(b, -m, lost),
    )
    root = _root(b, one.inverse_square / whole.inverse_square)
    # The exponential may overflow where the result does not.
    is_large = exponent[0] > _LARGEST_EXPONENT
    exponent = b.select(is_large, exponent[0] - _LIFT, exponent[0]), exponent[1]
    lift = b.select(is_large, b.constant(m.type, math.exp(_LIFT)), 1.0)
    return _exp(b, exponent) * root * lift


def _few_or(b: Builder, x: Value, most: float) -> Value:
    """Return x if it is a whole number from 0 to most; elsewhere ``most``."""
    is_few = b.eq(b.intrinsic("rint", x), x) & b.le(0.0, x) & (x < most)
    return b.select(is_few, x, most)


def _factors(b: Builder, first: Value, count: Value, step: float) -> Value:
    """Return the product of some numbers in steps of 1, rising, or in steps of -1 by count!."""
    one = b.constant(first.type, 1.0)

    def multiplied(done: Value, above: Value, below: Value) -> tuple[list[Value], Value]:
        is_left = done < count
        above = b.select(is_left, above * b.madd(done, step, first), above)
        done = b.select(is_left, done + 1.0, done)
        if step < 0:
            below = b.select(is_left, below * done, below)
            # Small products are exact; large ones must not overflow before they are divided.
            is_large = fabs(b, above) > 1e50
            above, below = b.select(is_large, above / below, above), b.select(is_large, one, below)
        return [done, above, below], done < count

    _, above, below = iterate(b, int(FEW), [b.constant(first.type, 0.0), one, one], multiplied)
    return above / below if step < 0 else above
