"""The error function and its complement.

erf(a) is a polynomial near 0; elsewhere exp(-a**2) times a polynomial in (a - c) / (a + c), which
maps all large a to an interval.
"""

from __future__ import annotations

from phintys.backends.native.emit.builder import Builder
from phintys.backends.native.emit.math.coefficients import ERF, ERF_TAIL, ERFC
from phintys.backends.native.emit.math.exact import (
    fast_two_sum,
    polynomial,
    two_prod,
)
from phintys.backends.native.emit.math.exponential import exp, exp_of_pair
from phintys.backends.native.emit.math.floating import clamp, copysign, fabs
from phintys.backends.native.emit.math.registry import float_function
from phintys.backends.native.emit.values import Value

__all__: list[str] = []


@float_function("erf")
def erf(b: Builder, x: Value) -> Value:
    """a + a P(a**2) up to 1, then 1 - exp(-a**2) Q."""
    name = x.type.name
    a = b.minimum_number(6.0 if name == "float64" else 4.0, fabs(b, x))
    square = a * a
    near = b.madd(a, polynomial(b, square, ERF[name]), a)
    t = (a - 2.0) / (a + 2.0)
    tail = exp(b, -square) * polynomial(b, t, ERF_TAIL[name])
    return copysign(b, b.select(a > 1.0, b.sub(1.0, tail), near), x)


@float_function("erfc")
def erfc(b: Builder, x: Value) -> Value:
    """1 - erf(x) up to 1/2, then exp(-x**2) Q; 2 - erfc(-x) for negative x."""
    name = x.type.name
    a = b.minimum_number(28.0 if name == "float64" else 11.0, fabs(b, x))
    square, error = two_prod(b, a, a)
    # exp(-a**2) / (1 + 2 a) * Q((a - 4) / (a + 4)), with one division for both quotients.
    first, second = b.madd(a, 2.0, 1.0), a + 4.0
    inverse = b.div(1.0, first * second)
    t = (a - 4.0) * (inverse * first)
    quotient = polynomial(b, t, ERFC[name]) * (inverse * second)
    tail = exp_of_pair(b, (-square, -error)) * quotient
    far = b.select(x < 0.0, b.sub(2.0, tail), tail)
    small = clamp(b, x, -0.5, 0.5)
    hi, lo = fast_two_sum(b, b.constant(x.type, 1.0), -small)
    low_square = small * small
    near = hi + (lo - small * polynomial(b, low_square, ERF[name]))
    result = b.select(fabs(b, x) > 0.5, far, near)
    return b.select(b.isnan(x), x, result)
