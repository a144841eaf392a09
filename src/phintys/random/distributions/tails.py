"""Probabilities and quantiles of gamma and beta numbers, and their logarithms far in the tails.

Where a probability is below the smallest float, its logarithm is that of the leading term, times a
continued fraction (NIST Digital Library of Mathematical Functions, 8.9.1, 8.9.2 and 8.17.22). So
far out a few steps of it suffice. Where a quantile is so small that the leading term is all of the
probability, it is the inverse of that term.

Arguments that are near 0 or 1 are given with their complements and logarithms, which have digits
that the rounded argument has not.
"""

from __future__ import annotations

import math as numbers
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.random.distributions.base import log_of_smaller
from phintys.tensor import math, special

if TYPE_CHECKING:
    from collections.abc import Sequence

_SERIES = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680)
_LARGE = 16.0
_FAR = 1e17  # adding 1 changes neither the number nor its square
_STEPS = 8
"""Steps of continued fractions: enough 36 deviations away from the mean, where floats end."""


def _smallest(x: Any) -> float:
    """Return the smallest number of the dtype that is surely not subnormal."""
    info = np.finfo(x.dtype)
    return float(info.tiny / info.eps)


def log_peak(k: Any) -> Any:
    """Return the log-probability that a Poisson number of mean k is k.

    For large k by Stirling's series, as the terms ``k log(k) - k - log(k!)`` cancel.
    """
    is_large = k > _LARGE
    large = math.switch(is_large, k, _LARGE)
    square = 1 / (large * large)
    rest: Any = _SERIES[-1]
    for coefficient in _SERIES[-2::-1]:
        rest = coefficient + square * rest
    small = math.switch(is_large, 1.0, k)
    of_small = special.xlogx(small) - small - special.gammaln(small + 1)
    return math.switch(is_large, -0.5 * math.log(2 * np.pi * large) - rest / large, of_small)


def poisson_logp(k: Any, mean: Any) -> Any:
    """Return the log-probability of Poisson numbers, without cancellation for large means."""
    return log_peak(k) - special.kl_div(k, mean)


def binomial_logp(k: Any, n: Any, p: Any, rest: Any, others: Any = None) -> Any:
    """Return the log-probability of binomial numbers; ``rest`` is ``1 - p``.

    ``others`` is ``n - k``, for callers that have it: where it is 0, the derivatives of a
    difference would be infinite.

    It is that of two Poisson numbers with the sum n, divided by that of the sum, so that only small
    terms are subtracted. n need not be an integer.
    """
    others = n - k if others is None else others
    peaks = log_peak(k) + log_peak(others) - log_peak(n)
    return peaks - special.kl_div(k, n * p) - special.kl_div(others, n * rest)


def log_of_hazard(log_sf: Any, log_hazard: Any) -> Any:
    """Return the logarithm of ``1 - exp(-h)``.

    Parameters
    ----------
    log_sf
        ``-h``, a negative number.
    log_hazard
        The logarithm of h, for an h that has underflowed.
    """
    is_tiny = -log_sf < _smallest(log_sf)
    is_certain = math.eq(log_sf, -np.inf)
    usual = special.log1mexp(math.switch(math.or_(is_tiny, is_certain), -1, log_sf))
    return math.switch(is_certain, 0, math.switch(is_tiny, log_hazard, usual))


def log_beyond(z: Any) -> Any:
    """Return the log-probability of normal numbers beyond a positive z, on both sides."""
    is_near = z < 1
    near = math.log1p(-special.erf(math.switch(is_near, z, 1) / numbers.sqrt(2)))
    return math.switch(is_near, near, numbers.log(2) + special.log_ndtr(-z))


def log_quotient(x: Any, y: Any) -> Any:
    """Return ``log(x / y)`` of positive numbers, whose quotient may overflow or underflow."""
    ratio = x / y
    is_usual = math.and_(ratio > _smallest(ratio), ratio < np.inf)
    return math.switch(is_usual, math.log(ratio), math.log(x) - math.log(y))


def log1p_quotient(x: Any, *divisors: Any, power: int = 1) -> Any:
    """Return ``log(1 + (x / d)**power)`` of positive numbers, of which d is the product of many.

    Of a large quotient it is a difference of logarithms. Their derivatives do not overflow or
    underflow, as those of the quotient and of its logarithm do, which are multiplied.
    """
    is_far = _divided(x, divisors) > _FAR
    ratio = _divided(
        math.switch(is_far, 0, x), [math.switch(is_far, 1, divisor) for divisor in divisors]
    )
    logarithm = math.log(math.switch(is_far, x, 1))
    for divisor in divisors:
        logarithm = logarithm - math.log(math.switch(is_far, divisor, 1))
    return math.log1p(math.sqr(ratio) if power == 2 else ratio) + power * logarithm


def _divided(x: Any, divisors: Sequence[Any]) -> Any:
    for divisor in divisors:
        x = x / divisor
    return x


def log_power(exponent: Any, x: Any, logarithm: Any) -> Any:
    """Return ``exponent * logarithm``, of a multiple of x, and 0 where it is that of ``0**0``.

    Slopes in x and in what divides it do not depend on each other, which those of ``xlogy`` do.
    """
    is_one = math.and_(math.eq(exponent, 0), math.eq(x, 0))
    return math.switch(is_one, 0, exponent * logarithm)


def log_increase(x: Any, y: Any) -> Any:
    """Return ``log(x / y)`` of positive numbers of which x is the larger, be it by little."""
    is_close = x < 2 * y
    near = math.log1p(math.switch(is_close, x - y, 0) / y)
    return math.switch(is_close, near, log_quotient(math.switch(is_close, 2 * y, x), y))


# ---- gamma numbers -------------------------------------------------------------------------------


def gamma_below(shape: Any, x: Any, log_x: Any) -> Any:
    """Return the probability of gamma numbers up to x, which may have underflowed."""
    is_tiny = x < _smallest(x)
    tiny = math.exp(shape * math.switch(is_tiny, log_x, 0) - special.gammaln(shape + 1))
    return math.switch(is_tiny, tiny, special.gammainc(shape, x))


def log_gamma_below(shape: Any, x: Any, log_x: Any) -> Any:
    """Return the logarithm of the probability of gamma numbers up to x."""
    below = gamma_below(shape, x, log_x)
    is_thin = below < _smallest(below)
    near, log_near = math.switch(is_thin, x, 0.5 * shape), math.switch(is_thin, log_x, 0)
    # Where x has underflowed, the logarithm of the leading term is that of a power.
    is_usual = near > _smallest(near)
    usual = poisson_logp(shape, math.switch(is_usual, near, shape))
    leading = math.switch(is_usual, usual, shape * log_near - special.gammaln(shape + 1))
    fraction: Any = shape + (2 * _STEPS + 1)
    for m in range(_STEPS, 0, -1):
        fraction = shape + 2 * m - (shape + m) * near / fraction
        fraction = shape + (2 * m - 1) + m * near / fraction
    thin = leading - math.log1p(-near / fraction)
    return _log_of(below, special.gammaincc(shape, x), is_thin, thin)


def gamma_above(shape: Any, x: Any, log_x: Any) -> Any:
    """Return the probability of gamma numbers above x, which may have underflowed."""
    is_tiny = x < _smallest(x)
    return math.switch(is_tiny, 1 - gamma_below(shape, x, log_x), special.gammaincc(shape, x))


def log_gamma_above(shape: Any, x: Any, log_x: Any) -> Any:
    """Return the logarithm of the probability of gamma numbers above x."""
    above = special.gammaincc(shape, x)
    is_thin = math.and_(above < _smallest(above), x < np.inf)
    far = math.switch(is_thin, x, 2 * shape + 1)
    fraction: Any = far - shape + (2 * _STEPS + 1)
    for n in range(_STEPS, 0, -1):
        fraction = far - shape + (2 * n - 1) + n * (shape - n) / fraction
    thin = poisson_logp(shape, far) + math.log(shape / fraction)
    return _log_of(above, gamma_below(shape, x, log_x), is_thin, thin)


def _log_of(p: Any, rest: Any, is_thin: Any, thin: Any) -> Any:
    return math.switch(is_thin, thin, log_of_smaller(math.switch(is_thin, 1, p), rest))


def gamma_quantile(shape: Any, q: Any) -> tuple[Any, Any]:
    """Return the number up to which gamma numbers have the probability ``q``, and its logarithm."""
    return _gamma_quantile(special.gammaincinv, shape, q, math.log(q))


def gamma_quantile_above(shape: Any, q: Any) -> tuple[Any, Any]:
    """Return the number above which gamma numbers have the probability ``q``, and its logarithm."""
    return _gamma_quantile(special.gammainccinv, shape, q, math.log1p(-q))


def _gamma_quantile(inverse: Any, shape: Any, q: Any, log_below: Any) -> tuple[Any, Any]:
    leading = (log_below + special.gammaln(shape + 1)) / shape
    is_small = _is_all(leading)
    found = inverse(math.switch(is_small, 1, shape), math.switch(is_small, 0.5, q))
    small = math.switch(is_small, leading, 0)
    logarithm = math.switch(is_small, small, math.log(found))
    return math.switch(is_small, math.exp(small), found), logarithm


def _is_all(leading: Any) -> Any:
    """Return whether numbers of some logarithms are so small that the leading term is the sum."""
    return leading < np.log(np.finfo(leading.dtype).eps) - 2


# ---- beta numbers --------------------------------------------------------------------------------


def beta_above(a: Any, b: Any, x: Any) -> Any:
    """Return the probability of beta numbers above x.

    Where that below is small, as 1 minus it: SciPy's complement rounds ``1 - x`` if both shapes are
    1/2.
    """
    below = special.betainc(a, b, x)
    return math.switch(below < 0.25, 1 - below, special.betaincc(a, b, x))


def beta_below(a: Any, b: Any, x: Any, rest: Any, log_x: Any) -> Any:
    """Return the probability of beta numbers up to x, of the smaller one of x and ``rest``."""
    is_low = x <= 0.5
    low = special.betainc(a, b, math.switch(is_low, x, 0.5))
    high = beta_above(b, a, math.switch(is_low, 0.5, rest))
    is_tiny = x < _smallest(x)
    tiny = math.exp(a * math.switch(is_tiny, log_x, 0) - math.log(a) - special.betaln(a, b))
    return math.switch(is_tiny, tiny, math.switch(is_low, low, high))


def _log_of_tail(below: Any, a: Any, b: Any, x: Any, rest: Any, log_x: Any) -> Any:
    """Return the logarithm of the probability ``below`` of beta numbers up to x, if it is small."""
    is_thin = below < _smallest(below)
    mean = a / (a + b)
    near, log_near = math.switch(is_thin, x, 0.5 * mean), math.switch(is_thin, log_x, 0)
    others = math.switch(is_thin, rest, 1 - 0.5 * mean)
    is_usual = near > _smallest(near)
    usual = binomial_logp(a, a + b, math.switch(is_usual, near, 0.5 * mean), others, b)
    power = a * log_near + special.xlogy(b, others) - math.log(a) - special.betaln(a, b)
    leading = math.switch(is_usual, usual + math.log(b / (a + b)), power)
    fraction: Any = 1.0
    for m in range(_STEPS, 0, -1):
        up = m * (b - m) * near / ((a + (2 * m - 1)) * (a + 2 * m))
        down = (a + (m - 1)) * (a + b + (m - 1)) * near / ((a + (2 * m - 2)) * (a + (2 * m - 1)))
        fraction = 1 - down / (1 + up / fraction)
    thin = leading - math.log(fraction)
    return math.switch(is_thin, thin, math.log(math.switch(is_thin, 1, below)))


def log_beta_below(a: Any, b: Any, x: Any, rest: Any, log_x: Any, log_rest: Any) -> Any:
    """Return the logarithm of the probability of beta numbers up to x."""
    below, above = beta_below(a, b, x, rest, log_x), beta_below(b, a, rest, x, log_rest)
    is_small = below < 0.5
    small = _log_of_tail(math.switch(is_small, below, 0.5), a, b, x, rest, log_x)
    return math.switch(is_small, small, math.log1p(-math.switch(is_small, 0, above)))


def beta_quantile(a: Any, b: Any, q: Any) -> tuple[Any, Any]:
    """Return the number up to which beta numbers have the probability ``q``, and its logarithm."""
    return _beta_quantile(special.betaincinv, a, b, q, math.log(q), math.log1p(-q))


def beta_quantile_above(a: Any, b: Any, q: Any) -> tuple[Any, Any]:
    """Return the number above which beta numbers have the probability ``q``, and its logarithm."""
    return _beta_quantile(special.betainccinv, a, b, q, math.log1p(-q), math.log(q))


def _beta_quantile(
    inverse: Any, a: Any, b: Any, q: Any, log_below: Any, log_above: Any
) -> tuple[Any, Any]:
    both = special.betaln(a, b)
    leading, of_rest = (log_below + math.log(a) + both) / a, (log_above + math.log(b) + both) / b
    is_small = _is_all(leading + math.log1p(b))
    is_near_one = _is_all(of_rest + math.log1p(a))
    is_usual = math.logical_not(math.or_(is_small, is_near_one))
    shapes = (math.switch(is_usual, shape, 1) for shape in (a, b))
    found = inverse(*shapes, math.switch(is_usual, q, 0.5))
    small, rest = math.switch(is_small, leading, 0), math.switch(is_near_one, of_rest, -1)
    end, log_end = -math.expm1(rest), special.log1mexp(rest)
    at_end = math.switch(is_small, math.exp(small), end), math.switch(is_small, small, log_end)
    return (
        math.switch(is_usual, found, at_end[0]),
        math.switch(is_usual, math.log(found), at_end[1]),
    )
