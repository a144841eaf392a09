"""The logarithm of the gamma function, and its derivative.

Near their positive zeros both are the distances to these times a polynomial (W. J. Cody, A. J.
Strecok and H. C. Thacher, "Chebyshev approximations for the psi function", Math. Comp. 27, 1973);
farther from 0 they are Stirling's asymptotic expansions (1730; DLMF 5.11.1, 5.11.2), with
polynomials in 1 / x**2 in place of the series. Negative numbers are reflected.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.math.coefficients import (
    BINET,
    DIGAMMA,
    DIGAMMA_TAIL,
    LOG_GAMMA,
)
from phintys.backends.native.assembler.math.constants import PI, Ratio, words
from phintys.backends.native.assembler.math.exact import (
    Pair,
    fast_two_sum,
    pair_add,
    pair_div,
    polynomial,
    residual,
    two_prod,
    two_sum,
)
from phintys.backends.native.assembler.math.floating import copysign, fabs
from phintys.backends.native.assembler.math.logarithm import log, log_as_pair
from phintys.backends.native.assembler.math.power import log_pair
from phintys.backends.native.assembler.math.registry import float_function
from phintys.backends.native.assembler.math.trigonometric import sine_of_half_turns
from phintys.backends.native.assembler.values import Value

_LOG_PI = words(Ratio.read("1.14472988584940017414342735135305871164729481"), "float64", 53)
# log(2 pi) / 2 - 1 / 2
_STIRLING = words(Ratio.read("0.41893853320467274178032973640561763986139747"), "float64", 53)
# The positive zero of digamma, less 1.
_ROOT = words(Ratio.read("0.46163214496836234126265954232572132846819620"), "float64", 53)
_PI = words(PI, "float64", 53)
STIRLING_FROM = 2.5
"""Above this number, logarithms of gamma functions are Stirling's, with a polynomial."""

# gammaln overflows above.
_LARGEST = 2.556348163871691e305


@float_function("gammaln")
def gammaln(b: Builder, x: Value) -> Value:
    """log|gamma(x)|; up to -1/2 log(pi / |x sin(pi x)|) - gammaln(-x) (DLMF 5.5.3)."""
    if x.type.name == "float32":
        return b.convert(gammaln(b, b.convert(x, x.type.like("float64"))), x.type)
    a = fabs(b, x)
    total = _log_gamma(b, x, a)
    reflected = pair_add(b, _log_of_reflection(b, x, a), (-total[0], -total[1]))
    is_left = x <= -0.5
    hi, lo = (b.select(is_left, r, t) for r, t in zip(reflected, total, strict=True))
    is_infinite = _is_pole(b, x) | (a > _LARGEST)
    result = b.select(is_infinite, b.constant(x.type, math.inf), hi + lo)
    return b.select(a < math.inf, result, x)


def _log_gamma(b: Builder, x: Value, a: Value) -> Pair:
    """Return log|gamma(x)| of |x| < 1/2, and log(gamma(a)) of larger a = |x|."""
    is_small, is_large = a < 0.5, a > STIRLING_FROM
    one = b.constant(a.type, 1.0)
    logarithm = log_as_pair(b, b.select(is_small | is_large, a, one))
    # gamma(x) = gamma(1 + x) / x
    near = pair_add(
        b, (-logarithm[0], -logarithm[1]), _log_gamma_near(b, b.select(is_small, x, a - 1.0))
    )
    far = _log_gamma_far(b, a, logarithm)
    hi, lo = (b.select(is_large, f, n) for f, n in zip(far, near, strict=True))
    return hi, lo


def _log_gamma_near(b: Builder, z: Value) -> Pair:
    """Return log(gamma(1 + z)) of -1/2 <= z <= 3/2: z (z - 1) P(z - 1/2)."""
    factor, more = _polynomial_pair(b, z - 0.5, LOG_GAMMA["float64"])
    distance, lost = fast_two_sum(b, b.constant(z.type, -1.0), z)
    product, error = two_prod(b, z, distance)
    error = b.madd(z, lost, error)
    hi, lo = two_prod(b, product, factor)
    return hi, lo + b.madd(product, more, error * factor)


def stirling_rest(b: Builder, a: Value) -> Pair:
    """Return the logarithm of gamma(a) less that of sqrt(2 pi / a) (a / e)**a, for a > 5/2.

    Of smaller positive numbers, return log(gamma(a)) + a.
    """
    is_small, is_large = a < 0.5, a > STIRLING_FROM
    hi, lo = log_pair(b, b.select(is_small, a, 1.0))
    near = _log_gamma_near(b, b.select(is_small, a, b.select(is_large, 0.0, a - 1.0)))
    near = pair_add(b, near, two_sum(b, b.select(is_large, 0.0, a), -hi))
    inverse = b.div(1.0, a)
    far = inverse * polynomial(b, inverse * inverse, BINET["float64"])
    return b.select(is_large, far, near[0]), b.select(is_large, 0.0, near[1] - lo)


def _polynomial_pair(b: Builder, t: Value, coefficients: Sequence[float]) -> Pair:
    """Return a polynomial whose first term is the largest, with the error of its last sum."""
    first, *others = coefficients
    return fast_two_sum(b, b.constant(t.type, first), t * polynomial(b, t, others))


def _log_gamma_far(b: Builder, a: Value, logarithm: Pair) -> Pair:
    """Return (a - 1/2) (log(a) - 1) + (log(2 pi) - 1) / 2 + P(1 / a**2) / a of a > 5/2."""
    factor, lost = two_sum(b, logarithm[0], -1.0)
    lost = lost + logarithm[1]
    place, rest = fast_two_sum(b, a, b.constant(a.type, -0.5))
    product, error = two_prod(b, place, factor)
    if not b.target.has_fma:
        # The parts of such a large factor would overflow.
        error = b.select(a < 2.0**900, error, 0.0)
    error = b.madd(rest, factor, b.madd(place, lost, error))
    inverse = b.div(1.0, a)
    series = inverse * polynomial(b, inverse * inverse, BINET["float64"])
    return pair_add(b, (product, error), (b.constant(a.type, _STIRLING[0]), series + _STIRLING[1]))


def _log_of_reflection(b: Builder, x: Value, a: Value) -> Pair:
    """Return log(pi / (a sin(pi a))) of a = |x| >= 1/2."""
    sine, error = sine_of_half_turns(b, fabs(b, x - b.intrinsic("rint", x)))
    product, lost = two_prod(b, a, sine)
    hi, lo = log_as_pair(b, product)
    lo = lo + b.madd(a, error, lost) / product
    return pair_add(b, (b.constant(x.type, _LOG_PI[0]), b.constant(x.type, _LOG_PI[1])), (-hi, -lo))


@float_function("digamma")
def digamma(b: Builder, x: Value) -> Value:
    """Derivative of gammaln; digamma(-x) - 1 / x - pi / tan(pi x) of negative x (DLMF 5.5.4)."""
    if x.type.name == "float32":
        return b.convert(digamma(b, b.convert(x, x.type.like("float64"))), x.type)
    a = fabs(b, x)
    total, error = _digamma(b, x, a)
    cotangent = _cotangent(b, a - b.intrinsic("rint", a))
    reflected, lost = two_sum(b, total, cotangent[0])
    is_negative = x < 0.0
    error = b.select(is_negative, error + (lost + cotangent[1]), error)
    total = b.select(is_negative, reflected, total)
    # The error of an infinite total is NaN.
    total = b.select(fabs(b, total) < math.inf, total + error, total)
    total = b.select(_is_pole(b, x), b.constant(x.type, math.nan), total)
    return b.select(b.eq(x, 0.0), copysign(b, b.constant(x.type, math.inf), -x), total)


def _digamma(b: Builder, x: Value, a: Value) -> Pair:
    """Return digamma(x) of positive x, and digamma(1 + a) of negative x = -a."""
    zero = b.constant(x.type, 0.0)
    is_small, is_negative = a < 1.0, x < 0.0
    inverse = b.div(1.0, a)
    near, rest = _digamma_near(b, b.select(is_small, a, a - 1.0))
    is_near = a < 3.0
    total = b.select(is_near, near, _digamma_far(b, a, inverse))
    # Up to here, that of 1 + a where a < 1, and of a elsewhere.
    step = b.select(is_small, b.select(is_negative, zero, -inverse), zero)
    step = b.select(is_negative & ~is_small, inverse, step)
    total, error = two_sum(b, total, step)
    lost = b.madd(step, residual(b, b.constant(x.type, 1.0), inverse, a), rest)
    return total, b.select(is_near & (a > 2.0**-30), error + lost, error)


def _digamma_near(b: Builder, z: Value) -> Pair:
    """Return digamma(1 + z) of 0 <= z <= 2: the distance to the zero times P(z - 1)."""
    distance, lost = two_sum(b, z, -_ROOT[0])
    factor, more = _polynomial_pair(b, z - 1.0, DIGAMMA["float64"])
    hi, lo = two_prod(b, distance, factor)
    return hi, lo + b.madd(distance, more, (lost - _ROOT[1]) * factor)


def _digamma_far(b: Builder, a: Value, inverse: Value) -> Value:
    """Return log(a) - 1 / (2 a) - P(1 / a**2) / a**2 of a >= 3."""
    square = inverse * inverse
    series = b.madd(square, polynomial(b, square, DIGAMMA_TAIL["float64"]), inverse * 0.5)
    return log(b, a) - series


def _cotangent(b: Builder, f: Value) -> Pair:
    """Return pi / tan(pi f) of |f| <= 1/2."""
    distance = fabs(b, f)
    is_tiny = distance < 2.0**-500
    safe = b.select(is_tiny, b.constant(f.type, 0.5), distance)
    cosine, error = sine_of_half_turns(b, b.sub(0.5, safe))
    product, lost = two_prod(b, cosine, _PI[0])
    lost = b.madd(cosine, _PI[1], b.madd(error, _PI[0], lost))
    hi, lo = pair_div(b, (product, lost), sine_of_half_turns(b, safe))
    # The tangent of such a small number is the number itself.
    hi = b.select(is_tiny, b.div(1.0, distance), hi)
    lo = b.select(is_tiny, b.constant(f.type, 0.0), lo)
    is_left = f < 0.0
    return b.select(is_left, -hi, hi), b.select(is_left, -lo, lo)


def _is_pole(b: Builder, x: Value) -> Value:
    return (x <= 0.0) & b.eq(b.intrinsic("floor", x), x)
