"""Distribution functions that are differences of normal ones, as integrals without cancellation.

Far in a tail both terms agree in most digits. Their difference is the integral of a positive
function that falls at least as ``exp(-s**2 / 2)``, and is smooth; Gauss and Legendre's quadrature,
over the interval in which it is not negligible, gives it within 1e-13.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from phintys import scalar as ps
from phintys.scalar import FloatRow
from phintys.scalar.expansion import expanded

_LOG_ROOT_TWO_PI = 0.5 * math.log(2 * math.pi)
_ROOT_HALF = math.sqrt(0.5)
_REACH = 72.0
"""Twice the logarithm of what is negligible."""
_MOST = 1e150
"""The square of greater numbers may overflow; the logarithms are -infinity from there."""


def nodes(count: int) -> list[tuple[float, float]]:
    """Return places from 0 to 1, and weights, of Gauss and Legendre's quadrature.

    Examples
    --------
    >>> from phintys.random.distributions.normal_integrals import nodes
    >>> round(sum(weight * place**3 for place, weight in nodes(2)), 12)
    0.25
    """
    places, weights = np.polynomial.legendre.leggauss(count)
    return [(float(x + 1) / 2, float(w) / 2) for x, w in zip(places, weights, strict=True)]


_NODES = nodes(20)
_FEW_NODES = nodes(8)


def _log_of_falling(steepness: Any, factor: Callable[[Any], Any]) -> Any:
    """Return the logarithm of the integral of ``exp(-steepness * s - s**2 / 2) * factor(s)``.

    It is from 0 to infinity.
    """
    length = _REACH / (steepness + ps.sqrt(steepness * steepness + _REACH))
    total: Any = 0.0
    for place, weight in _NODES:
        s = length * place
        total = total + weight * ps.exp(-s * (steepness + 0.5 * s)) * factor(s)
    return ps.log(length * total)


def _row(
    name: str, expansion: Callable[..., Any], derivative: Callable[..., Any], **facts: Any
) -> FloatRow:
    """Return a function of two numbers whose reference is its expansion."""

    def reference(x: Any, y: Any) -> Any:
        with np.errstate(all="ignore"):
            return expanded(row, [np.asarray(one).dtype for one in (x, y)]).impl(x, y)

    row = FloatRow(
        name,
        reference,
        nin=2,
        expansion=expansion,
        derivative=derivative,
        widened=True,
        special=False,
        home=globals(),
        **facts,
    )
    return row


# ---- skew normal numbers -------------------------------------------------------------------------


def log_skew_fall(x: Any, skewness: Any) -> Any:
    """Return how the logarithm of the lower tail falls, for :data:`log_skew_rest`."""
    return -0.5 * ps.sqr(ps.minimum(x, 0.0)) * (1 + ps.sqr(ps.maximum(skewness, 0.0)))


def _thin_tail(h: Any, skewness: Any) -> tuple[Any, Any]:
    """Return the log-probability of skew numbers up to ``-h``, as a fall and the rest.

    Neither argument is negative. The probability is ``2 * ndtr(-skewness * x)`` times the normal
    density, integrated over x from h to infinity, where the product is ``exp(-(1 + skewness**2) *
    x**2 / 2)`` times ``erfcx`` (A. Azzalini, "A class of distributions which includes the normal
    ones", Scandinavian Journal of Statistics 12, 1985).
    """
    stretch = ps.hypot(1.0, skewness)
    away = stretch * h
    start, share = ps.minimum(away, _MOST), (skewness / stretch) * _ROOT_HALF
    integral = _log_of_falling(start, lambda s: ps.erfcx(share * (start + s)))
    return -0.5 * (away * away), integral - ps.log(stretch) - _LOG_ROOT_TWO_PI


def _log_skew_rest(x: Any, skewness: Any) -> Any:
    is_mirrored, is_low, h = ps.lt(skewness, 0.0), ps.lt(x, 0.0), ps.abs(x)
    fall, thin_rest = _thin_tail(h, ps.abs(skewness))
    thin = fall + thin_rest
    both_rest = ps.log(ps.erfcx(h * _ROOT_HALF))  # the thin tail, and the other one beyond h
    both = both_rest - 0.5 * ps.sqr(h)
    others = ps.log1mexp(ps.minimum(thin - both, -0.5))
    central = ps.erf(h * _ROOT_HALF) + ps.exp(thin)
    high = ps.switch(ps.lt(central, 0.5), ps.log(central), ps.log1p(-ps.exp(both + others)))
    mirrored = ps.switch(is_low, both_rest + others, ps.log1p(-ps.exp(thin)))
    return ps.switch(is_mirrored, mirrored, ps.switch(is_low, thin_rest, high))


def _slopes_of_skew(x: Any, skewness: Any, out: Any) -> tuple[Any, Any]:
    low, skew = ps.minimum(x, 0.0), ps.maximum(skewness, 0.0)
    square, spread = ps.sqr(x), 1 + ps.sqr(skewness)
    is_low, is_thin = ps.lt(x, 0.0), ps.lt(low * skew, 0.0)
    # The density, and exp(-x**2 * spread / 2), over the probability: without what falls in both.
    far = ps.log(0.5 * ps.erfcx(ps.switch(is_thin, -skewness * x, 0.0) * _ROOT_HALF))
    side = ps.switch(is_thin, far, ps.log_ndtr(ps.switch(is_thin, 0.0, skewness * x)))
    left = ps.switch(is_low, 0.0, -0.5 * square)
    left_of_both = left - ps.switch(is_thin, 0.0, 0.5 * square * ps.sqr(skewness))
    density = ps.exp(math.log(2) - _LOG_ROOT_TWO_PI + left + side - out)
    by_skewness = -ps.exp(left_of_both - out) / (math.pi * spread)
    return density + low * (1 + ps.sqr(skew)), by_skewness + ps.sqr(low) * skew


log_skew_rest = _row(
    "log_skew_rest",
    _log_skew_rest,
    _slopes_of_skew,
    doc="Logarithm of the distribution function of the standard skew normal distribution, without"
    " how it falls: slopes have digits where the logarithm has few.",
    parameters=("x", "skewness"),
    cost=400,
)


# ---- sums of normal and exponential numbers ------------------------------------------------------


def log_waiting(z: Any, rate: Any, product: Any = None) -> Any:
    """Return ``log(exp(rate**2 / 2 - rate * z) * ndtr(z - rate))``.

    Parameters
    ----------
    z, rate
        The standard normal number, and the rate in its unit.
    product
        ``rate * z``, for callers that have it: where both are quotients by the same parameter, its
        derivative is the difference of two large numbers.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.random.distributions.normal_integrals import log_waiting
    >>> round(float(log_waiting(pt.constant(-1e3), pt.constant(1.0)).eval()), 5)
    -500007.82769
    """
    ahead = rate - z
    is_far = ps.gt(ahead, 0.0)
    far = _log_density(z) + _log_mills(ps.switch(is_far, ahead, 0.0))
    behind = ps.switch(is_far, 0.0, ahead)
    is_given = product is not None
    exponent = 0.5 * ps.sqr(rate) - product if is_given else rate * (0.5 * rate - z)
    return ps.switch(is_far, far, exponent + ps.log_ndtr(-behind))


def _log_density(z: Any) -> Any:
    return -0.5 * ps.sqr(z) - _LOG_ROOT_TWO_PI


def _mills(u: Any) -> Any:
    """Return ``ndtr(-u)`` over the density at u."""
    return math.sqrt(math.pi / 2) * ps.erfcx(u * _ROOT_HALF)


def _log_mills(u: Any) -> Any:
    return ps.log(_mills(u))


def log_sum_fall(z: Any) -> Any:
    """Return how the logarithm of the lower tail falls, for :data:`log_sum_rest`."""
    return -0.5 * ps.sqr(ps.minimum(z, 0.0))


def _log_sum_rest(z: Any, rate: Any) -> Any:
    is_low = ps.lt(z, 1.0)
    # Of z below 1, the density times a difference of Mills' ratios.
    away = ps.switch(is_low, -z, 0.0)
    is_slow = ps.lt(rate, ps.maximum(1.0, 1.0 + away))
    slow, fast = ps.switch(is_slow, rate, 1.0), ps.switch(is_slow, 2.0 + away, rate)
    falling = _log_of_falling(ps.minimum(away, _MOST), lambda s: -ps.expm1(-slow * s))
    ratio = ps.switch(is_slow, falling, ps.log(_mills(away) - _mills(away + fast)))
    low = _log_density(ps.maximum(z, 0.0)) + ratio
    # Of others, the probability, or what is left of 1.
    high = ps.switch(is_low, 1.0, z)
    above = ps.ndtr(-high) + ps.exp(log_waiting(high, rate))
    within: Any = 0.0
    for place, weight in _FEW_NODES:
        within = within + weight * ps.exp(_log_density(high - slow * place))
    waited = -ps.expm1(slow * (0.5 * slow - high)) * ps.ndtr(high - slow)
    inside = ps.switch(
        ps.lt(above, 0.5), ps.log1p(-ps.minimum(above, 0.5)), ps.log(slow * within + waited)
    )
    return ps.switch(is_low, low, inside)


_SERIES_TERMS = 12
_LARGE = 20.0


def _one_less_mills(u: Any) -> Any:
    """Return ``1 - u * _mills(u)``, for a large u by the asymptotic series (DLMF 7.12.1)."""
    is_large = ps.gt(u, _LARGE)
    q = 1 / ps.sqr(ps.switch(is_large, u, _LARGE))
    series: Any = 1.0
    for k in range(_SERIES_TERMS, 0, -1):
        series = 1 - (2 * k + 1) * q * series
    return ps.switch(is_large, q * series, 1 - u * _mills(ps.switch(is_large, 0.0, u)))


def _slopes_of_sum(z: Any, rate: Any, out: Any) -> tuple[Any, Any]:
    low, is_low = ps.minimum(z, 0.0), ps.lt(z, 0.0)
    # Over the probability, the density and what waits: without what falls in both.
    density = ps.exp(_log_density(ps.maximum(z, 0.0)) - out)
    ahead = ps.switch(is_low, rate - z, 0.0)
    later = ps.exp(log_waiting(ps.switch(is_low, 0.0, z), rate) - out)
    waiting = ps.switch(is_low, density * _mills(ahead), later)
    by_rate = ps.switch(is_low, density * _one_less_mills(ahead), density - (rate - z) * later)
    return rate * waiting + low, by_rate


log_sum_rest = _row(
    "log_sum_rest",
    _log_sum_rest,
    _slopes_of_sum,
    doc="log(ndtr(z) - exp(rate**2 / 2 - rate z) ndtr(z - rate)), of sums of a normal number and an"
    " exponential one, without how it falls: slopes have digits where the logarithm has few.",
    parameters=("z", "rate"),
    domain="rate > 0",
    cost=400,
)
