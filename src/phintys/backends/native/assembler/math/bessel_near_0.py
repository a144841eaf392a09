"""Bessel functions of the second kind next to 0, where SciPy's lose digits.

See :mod:`phintys.scalar.bessel_near_0` for the formulas (N. M. Temme, 1975 and 1976).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.math.calls import float_math
from phintys.backends.native.assembler.math.exact import (
    Pair,
    fast_two_sum,
    pair_add,
    polynomial,
    residual,
    two_prod,
)
from phintys.backends.native.assembler.math.floating import fabs
from phintys.backends.native.assembler.math.iteration import iterate
from phintys.backends.native.assembler.values import Value
from phintys.scalar.bessel_near_0 import ENOUGH, EVEN, MOST_TERMS, ODD
from phintys.scalar.bessel_recurrence import MOST_ORDER, SERIES_ORDER


def second_kind_near_0(b: Builder, v: Value, x: Value) -> Value:
    """Write ``yv`` for orders from 0 on and arguments between 0 and 1/4."""
    value, following = _series(b, v - b.intrinsic("rint", v), x, -1.0)
    return stepped(b, v, x, value * (-2 / math.pi), following * (-2 / math.pi), -1.0)


def modified_near_0(b: Builder, v: Value, x: Value) -> Value:
    """Write ``kv`` for orders from 0 on and arguments between 0 and 1/4."""
    value, following = _series(b, v - b.intrinsic("rint", v), x, 1.0)
    return stepped(b, v, x, value, following, 1.0)


def _series(b: Builder, m: Value, x: Value, side: float) -> tuple[Value, Value]:
    """Write the functions of the orders m and m + 1, but for a factor of those that oscillate."""
    square, step = m * m, x * x * (0.25 * side)
    even, odd = polynomial(b, square, EVEN), polynomial(b, square, ODD)
    one = b.constant(x.type, 1.0)
    log = -float_math(b, "log", x) + math.log(2)
    exponent, turn = m * log, m * (0.5 * math.pi)
    power = float_math(b, "pow", x, -m) * float_math(b, "exp2", m)
    inverse = b.div(1.0, power)
    difference = b.select(
        fabs(b, exponent) < 1.0, float_math(b, "sinh", exponent), (power - inverse) * 0.5
    )
    is_whole = b.eq(m, 0.0)
    angle = b.select(is_whole, one, turn)
    sine = b.select(is_whole, one, float_math(b, "sin", angle) / angle)
    twice = angle + angle
    share = b.select(is_whole, one, twice / float_math(b, "sin", twice))
    growth = b.select(is_whole, one, difference / b.select(is_whole, one, exponent))
    f = share * (odd * 0.5 * (power + inverse) + even * growth * log)
    p = power * 0.5 / (even - m * odd)
    q = b.div(0.5, power * (even + m * odd))
    weight = turn * sine * sine * math.pi if side < 0 else b.constant(x.type, 0.0)

    def add_term(
        n: Value, f: Value, p: Value, q: Value, factor: Value, total: Value, following: Value
    ) -> tuple[list[Value], Value]:
        f = (n * f + p + q) / (n * n - square)
        factor, p, q = factor * step / n, p / (n - m), q / (n + m)
        term = factor * (f + weight * q)
        total, following = total + term, following + (factor * p - n * term)
        least = b.minimum_number(fabs(b, total), fabs(b, following))
        return [n + 1.0, f, p, q, factor, total, following], fabs(b, n * term) > least * ENOUGH

    initial = [one, f, p, q, one, f + weight * q, p]
    *_, total, following = iterate(b, MOST_TERMS, initial, add_term)
    return total, following * b.div(2.0, x)


def stepped(b: Builder, v: Value, x: Value, value: Value, following: Value, side: float) -> Value:
    """Write the function of order v, from those of the order ``v - rint(v)`` and of one more."""
    whole = b.intrinsic("rint", v)
    base, factor = v - whole, two_over(b, x)
    one, zero = (b.constant(x.type, number) for number in (1.0, 0.0))

    def raise_order(
        n: Value, now: Value, lost: Value, following: Value, lost_following: Value
    ) -> tuple[list[Value], Value]:
        rise = times(b, times(b, factor, (following, lost_following)), (base + n, zero))
        after, lost_after = pair_add(b, rise, (now * side, lost * side))
        is_step = n <= whole
        changed = (
            *((following, now), (lost_following, lost)),
            *((after, following), (lost_after, lost_following)),
        )
        return [n + 1.0, *(b.select(is_step, new, old) for new, old in changed)], n < whole

    first = [one, value, zero, following, zero]
    _, now, *_ = iterate(b, int(MOST_ORDER) + 1, first, raise_order)
    return b.select(fabs(b, now) < math.inf, now, b.constant(x.type, side * math.inf))


def two_over(b: Builder, x: Value) -> Pair:
    """Write ``2 / x`` with twice the digits."""
    quotient = b.div(2.0, x)
    return quotient, residual(b, b.constant(x.type, 2.0), quotient, x) / x


def times(b: Builder, x: Pair, y: Pair) -> Pair:
    """Write a product of numbers with twice the digits."""
    product, error = two_prod(b, x[0], y[0])
    return fast_two_sum(b, product, b.madd(x[0], y[1], b.madd(x[1], y[0], error)))


def modified_series(b: Builder, v: Value, x: Value) -> Value:
    """Write ``iv`` of orders from 0 on by its power series."""
    half = x * 0.5
    square = half * half
    total = summed(b, x, lambda n: square / (n * (v + n)))
    first, others = factorial(b, v)
    return float_math(b, "pow", half, v) / first / others * total


def summed(b: Builder, like: Value, quotient: Callable[[Value], Value]) -> Value:
    """Write a series of a first term 1, given the quotient of the n-th term and the one before."""
    one = b.constant(like.type, 1.0)

    def add_term(n: Value, term: Value, total: Value) -> tuple[list[Value], Value]:
        term = term * quotient(n)
        return [n + 1.0, term, total + term], fabs(b, term) > ENOUGH

    return iterate(b, MOST_TERMS, [one, one, one], add_term)[2]


def factorial(b: Builder, v: Value) -> tuple[Value, Value]:
    """Write two factors of ``gamma(v + 1)``: that of an order below 1, and a product."""
    steps = b.maximum_number(b.intrinsic("floor", v), 0.0)
    base = v - steps
    one, zero = (b.constant(v.type, number) for number in (1.0, 0.0))

    def raise_order(n: Value, now: Value, lost: Value) -> tuple[list[Value], Value]:
        now, lost = times(b, (now, lost), (b.select(n <= steps, base + n, one), zero))
        return [n + 1.0, now, lost], n < steps

    _, now, lost = iterate(b, int(SERIES_ORDER) + 1, [one, one, zero], raise_order)
    return float_math(b, "gamma", base + 1.0), now + lost
