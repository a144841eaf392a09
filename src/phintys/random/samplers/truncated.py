"""Normal numbers between two ends, by their quantiles, in exact steps.

Of ends on both sides of 0 the quantile is that of a probability. Of ends above 0 it is the solution
e of ``low * e + e**2 / 2 - log(m(low + e) / m(low)) = -log(s)``: s is what is left above the number
of what there is above ``low``, and m is Mills' ratio, the probability above a number over the
density at it. That has no probabilities which could underflow. The left side is convex, so that
Newton's method converges from the right, where the logarithm is left out.

Where both ways lose digits, numbers are nearly uniform: between ends close to each other, and
beside an end that is 0. There the integral of the density is a cubic polynomial.
"""

from __future__ import annotations

import math
from typing import Any

from phintys import scalar as ps
from phintys.random.exact.functions import (
    exact_exp,
    exact_expm1,
    exact_log,
    exact_log1p,
    exact_ndtri,
    polynomial,
)
from phintys.random.exact.steps import RareCase, exact_function

_LOG_ROOT_TWO_PI = 0.5 * math.log(2 * math.pi)
_ROOT_HALF = math.sqrt(0.5)
_STEPS = {"float64": 6, "float32": 5}
_CLOSE = {"float64": 1e-5, "float32": 4e-3}
"""Of which the third power is a rounding error."""
_CLOSE_STEPS = 3
_FEW = 1e-3
"""The share of numbers that are beside an end."""
_MOST = {"float64": 1e300, "float32": 1e37}
_LEAST = {"float64": 1e-323, "float32": 1e-44}

# (1 + 2 a) erfcx(a) in powers of (a - K) / (a + K), a form of M. M. Shepherd and J. G. Laframboise,
# "Chebyshev approximation of (1 + 2x) exp(x**2) erfc x in 0 <= x < infinity", 1981.
_CENTRE = 3.75
_SCALED_ERFC = {
    "float64": (
        1.2375126308378275,
        -0.14024059858554702,
        0.003585415485479575,
        0.08227673849014977,
        -0.10880393014246645,
        0.09230432116025894,
        -0.05869339857631061,
        0.028362277420377335,
        -0.00974657968596217,
        0.001755625843431864,
        0.000293714390578856,
        -0.00029015404203352704,
        5.164649341002877e-05,
        2.2384138525656757e-05,
        -1.1437980374495534e-05,
        -9.733875167494142e-07,
        1.7419011945194367e-06,
        -5.741076073013916e-08,
        -2.4851108650210706e-07,
        2.3398534313040898e-08,
        3.195398612057818e-08,
        -3.798189797736207e-09,
        -2.618520156503145e-09,
        3.2052623379289157e-10,
    ),
    "float32": (
        1.2375126308378275,
        -0.14024310696626976,
        0.00358570680579673,
        0.08232711624284668,
        -0.1088098386941157,
        0.09201916856436688,
        -0.058659114965607446,
        0.029028182110101497,
        -0.009830616404036218,
        0.0010584335427230188,
        0.00039079593326293914,
    ),
}


def _mills(x: Any) -> Any:
    """Return the probability above a number that is not negative, over the density at it."""
    a = ps.minimum(x, _MOST[x.dtype]) * _ROOT_HALF
    scaled = polynomial((a - _CENTRE) / (a + _CENTRE), _SCALED_ERFC[x.dtype])
    return scaled / (1.0 + 2.0 * a) * math.sqrt(math.pi / 2)


def _above(x: Any) -> Any:
    """Return the probability above a number that is not negative."""
    return exact_exp(-0.5 * (x * x)) * _mills(x) * (1 / math.sqrt(2 * math.pi))


def _far_quantile(p: Any) -> Any:
    zero = 0.0 * p
    return _excess_of(exact_log(2.0 * ps.maximum(p, _LEAST[p.dtype])), zero, _mills(zero))


# The number above which there is a probability p, at most 1/2.
_tail_quantile = RareCase(
    "_tail_quantile",
    nin=1,
    usual=lambda p: -exact_ndtri(p),
    rare=_far_quantile,
    is_rare=lambda p: ps.lt(p, 1e-9),
)


def _central(share: Any, rest: Any, low: Any, high: Any) -> Any:
    """Return the quantile between an end below 0 and one above it."""
    below_low, above_high = _above(ps.maximum(-low, 0.0)), _above(ps.maximum(high, 0.0))
    below = below_low * rest + (1.0 - above_high) * share
    above = (1.0 - below_low) * rest + above_high * share
    is_below = ps.lt(below, 0.5)
    tail = _tail_quantile(ps.switch(is_below, below, above))
    z = ps.switch(is_below, -tail, tail)
    return ps.minimum(ps.maximum(z, low), high)


def _outer(share: Any, rest: Any, low: Any, high: Any) -> Any:
    """Return the quantile between two ends on one side of 0."""
    is_negative = ps.le(high, 0.0)
    near, far = ps.switch(is_negative, -high, low), ps.switch(is_negative, -low, high)
    up, down = ps.switch(is_negative, rest, share), ps.switch(is_negative, share, rest)
    z = ps.minimum(near + _excess(up, down, near, far), far)
    return ps.switch(is_negative, -z, z)


def _excess(share: Any, rest: Any, low: Any, high: Any) -> Any:
    width, at_low = high - low, _mills(low)
    fall = width * (low + 0.5 * width) + exact_log(at_low / _mills(high))
    passed, beyond = share * -exact_expm1(-fall), exact_exp(-fall)
    left = ps.switch(ps.lt(passed, 0.5), exact_log1p(-passed), exact_log(rest + share * beyond))
    first = passed * at_low  # the part of the integral of the density over that at the end
    is_close = ps.lt(first * (1.0 + low), _CLOSE[low.dtype])
    far = _excess_of(ps.switch(is_close, -1.0, left), low, at_low)
    return ps.switch(is_close, _of_integral(ps.switch(is_close, first, 0.0), low), far)


def _excess_of(left: Any, low: Any, at_low: Any) -> Any:
    """Return how far numbers are above ``low``, of the logarithm of what is left above them."""
    excess = -2.0 * left / (low + ps.sqrt(low * low - 2.0 * left))
    for _ in range(_STEPS[low.dtype]):
        here = _mills(low + excess)
        miss = excess * (low + 0.5 * excess) - exact_log(here / at_low) + left
        excess = ps.maximum(excess - miss * here, 0.0)
    return excess


def _are_close(low: Any, high: Any) -> Any:
    """Return whether the density hardly changes between two ends."""
    farther = ps.maximum(ps.abs(low), ps.abs(high))
    return ps.lt((high - low) * (1.0 + farther), _CLOSE[low.dtype])


def _integral(z: Any, low: Any) -> Any:
    """Return the integral of ``exp(-low * s - s**2 / 2)`` from 0 to a small number."""
    tilt = low * z
    return z * (1.0 - 0.5 * tilt + (tilt * tilt - z * z) / 6.0)


def _of_integral(value: Any, low: Any) -> Any:
    """Return the small number up to which the integral has a value."""
    z = value
    for _ in range(_CLOSE_STEPS):
        z = value + (z - _integral(z, low))
    return z


def _narrow(share: Any, rest: Any, low: Any, high: Any) -> Any:
    """Return the quantile between two close ends, from the one that is closer to 0."""
    is_mirrored = ps.lt(low + high, 0.0)
    near, up = ps.switch(is_mirrored, -high, low), ps.switch(is_mirrored, rest, share)
    z = near + _of_integral(up * _integral(high - low, near), near)
    return ps.minimum(ps.maximum(ps.switch(is_mirrored, -z, z), low), high)


def _unusual(share: Any, rest: Any, low: Any, high: Any) -> Any:
    """Return the quantile between ends that are close to each other, or on one side of 0."""
    are_close = _are_close(low, high)
    outer = _outer(share, rest, ps.switch(are_close, 1.0, low), ps.switch(are_close, 2.0, high))
    ends = ps.switch(are_close, low, 0.0), ps.switch(are_close, high, 0.0)
    return ps.switch(are_close, _narrow(share, rest, *ends), outer)


def _is_unusual(share: Any, rest: Any, low: Any, high: Any) -> Any:
    # Beside an end that is 0, a quantile has digits that a probability of nearly 1/2 has not.
    is_above = ps.or_(ps.gt(low, 0.0), ps.and_(ps.eq(low, 0.0), ps.lt(share, _FEW)))
    is_below = ps.or_(ps.lt(high, 0.0), ps.and_(ps.eq(high, 0.0), ps.lt(rest, _FEW)))
    return ps.or_(ps.or_(is_above, is_below), _are_close(low, high))


_between = RareCase("_between", nin=4, usual=_central, rare=_unusual, is_rare=_is_unusual)


def _log_probability(low: Any, high: Any) -> Any:
    """Return the logarithm of the probability of normal numbers between two ends."""
    is_above = ps.gt(low, 0.0)
    near, far = ps.switch(is_above, -low, high), ps.switch(is_above, -high, low)
    log_near = ps.log_ndtr(near)
    apart = log_near + ps.log1mexp(ps.minimum(ps.log_ndtr(far) - log_near, 0.0))
    are_close = _are_close(low, high)
    start, width = ps.switch(are_close, low, 0.0), ps.switch(are_close, high - low, 1.0)
    square, middle = ps.sqr(width), ps.sqr(start + 0.5 * width)
    mean = 1.0 + square * (middle - 1.0) / 24.0
    close = ps.log(width * mean) - 0.5 * middle - _LOG_ROOT_TWO_PI
    return ps.switch(are_close, close, apart)


def _slopes(share: Any, rest: Any, low: Any, high: Any, out: Any) -> tuple[Any, ...]:
    """Return derivatives of the equation ``ndtr(out) = rest ndtr(low) + share ndtr(high)``."""
    by_share = ps.exp(_log_probability(low, high) + 0.5 * ps.sqr(out) + _LOG_ROOT_TWO_PI)
    of_low = rest * ps.exp(0.5 * (out - low) * (out + low))
    return by_share, 0, of_low, share * ps.exp(0.5 * (out - high) * (out + high))


@exact_function(derivative=_slopes, cost=200.0)
def normal_between(share: Any, rest: Any, low: Any, high: Any) -> Any:
    """The quantile of normal numbers from low to high, of a probability and ``1`` minus it."""
    return _between(share, rest, low, high)
