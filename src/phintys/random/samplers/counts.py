"""Samplers of integers as scalar functions of 64 random bits and parameters, in exact steps.

Numbers of small mean are quantiles: the uniform number is compared with the sums of the first
probabilities, each computed from the one before. Others are found by transformed rejection with
squeeze: W. Hörmann, "The transformed rejection method for generating Poisson random variables",
Insurance: Mathematics and Economics 12, 1993, and "The generation of binomial random variates",
Journal of Statistical Computation and Simulation 46, 1993. Hypergeometric numbers are found by
ratios of uniform numbers: E. Stadlober, "The ratio of uniforms approach for generating discrete
random variates", Journal of Computational and Applied Mathematics 31, 1990.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from phintys import scalar as ps
from phintys.random.exact.functions import exact_exp, exact_log
from phintys.random.exact.steps import RareCase, Rejection, exact_function
from phintys.random.exact.uniform import open_uniform
from phintys.random.exact.wide import high_product


def _none(*arguments: Any) -> tuple[Any, ...]:
    """Return no derivatives: numbers are constant between jumps."""
    return (0,) * (len(arguments) - 1)


@exact_function(derivative=lambda p, out: (-1 / (1 - p),))
def exact_log1m(p: Any) -> Any:
    """log(1 - p), in exact steps."""
    rest = 1.0 - p
    lost = ps.switch(ps.gt(rest, 0.0), (p - (1.0 - rest)) / rest, 0.0)
    return exact_log(rest) - lost


def to_int64(x: Any) -> Any:
    """Return positive floats rounded down, as int64; the largest one if they are beyond."""
    return ps.cast(ps.minimum(x, 2.0**63 - 1024), "int64")


# ---- equally probable integers -------------------------------------------------------------------


def _of_another_word(first: Any, second: Any, count: Any) -> tuple[Any, Any]:
    return high_product(first, count), ps.ge(first * count, _beyond(count))


def _beyond(count: Any) -> Any:
    """Return 2**64 modulo a count: so many lower halves of products are one too many."""
    return (np.uint64(0) - count) % count


redrawn_below = Rejection(
    "redrawn_below",
    nin=2,
    prepare=lambda count: (count,),
    attempt=_of_another_word,
    derivative=_none,
)


def _exactly_below(bits: Any, count: Any) -> Any:
    is_accepted = ps.ge(bits * count, _beyond(count))
    return ps.switch(is_accepted, high_product(bits, count), redrawn_below(bits, count))


# D. Lemire, "Fast random integer generation in an interval", 2019. A count of 0 stands for 2**64.
integer_below = RareCase(
    "integer_below",
    nin=2,
    usual=lambda bits, count: ps.switch(
        ps.eq(count, np.uint64(0)), bits, high_product(bits, count)
    ),
    is_rare=lambda bits, count: ps.lt(bits * count, count),
    rare=_exactly_below,
    derivative=_none,
)


# ---- what rejection needs ------------------------------------------------------------------------

_LOG_ROOT_TWO_PI = 0.5 * math.log(2 * math.pi)
_SERIES = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188)


def _stirling(n: Any) -> Any:
    """Return ``log(gamma(n))`` without ``(n - 1/2) log(n) - n + log(2 pi) / 2``."""
    inverse = 1.0 / n
    square = inverse * inverse
    result: Any = _SERIES[-1]
    for coefficient in _SERIES[-2::-1]:
        result = coefficient + square * result
    return inverse * result


def _log_factorial(k: Any) -> Any:
    """Return ``log(k!)``, by the series from 8 on."""
    n = k + 1.0
    product = n
    for step in range(1, 8):
        product = product * (n + float(step))
    is_small = ps.lt(n, 8.0)
    large = ps.switch(is_small, n + 8.0, n)
    value = (large - 0.5) * exact_log(large) - large + (_LOG_ROOT_TWO_PI + _stirling(large))
    return value - ps.switch(is_small, exact_log(ps.switch(is_small, product, 1.0)), 0.0)


def _first_passed(u: Any, first: Any, factors: Any) -> Any:
    """Return how many sums of probabilities a uniform number exceeds.

    Parameters
    ----------
    u
        Uniform numbers.
    first
        The probability of 0.
    factors
        The quotients of the probability of 1, 2, … and the one before.
    """
    term, total, count = first, first, 0.0
    for factor in factors:
        count = count + ps.switch(ps.gt(u, total), 1.0, 0.0)
        term = term * factor
        total = total + term
    return count


_SMALL_MEAN = 10.0
_STEPS = 50
"""Numbers of mean 10 are greater with a probability below 2**-53."""


# ---- Poisson -------------------------------------------------------------------------------------


def _small_poisson(bits: Any, mean: Any) -> Any:
    factors = (mean * (1.0 / k) for k in range(1, _STEPS))
    u = open_uniform(bits, "float64")
    return ps.cast(_first_passed(u, exact_exp(-mean), factors), "int64")


def _prepare_poisson(mean: Any) -> tuple[Any, ...]:
    b = 0.931 + 2.53 * ps.sqrt(mean)
    a = -0.059 + 0.02483 * b
    return mean, a, b, 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2.0)


def _attempt_poisson(
    first: Any, second: Any, mean: Any, a: Any, b: Any, scale: Any, sure: Any
) -> tuple[Any, Any]:
    u, v = open_uniform(first, "float64") - 0.5, open_uniform(second, "float64")
    depth = 0.5 - ps.abs(u)
    k = ps.floor((2.0 * a / depth + b) * u + (mean + 0.43))
    n = ps.maximum(k, 0.0) + 1.0
    height = v * scale / (a / (depth * depth) + b) * ps.sqrt((2 * math.pi) * n)
    log_share = (n - 1.0) * exact_log(mean / n) + (n - mean)
    is_under = ps.le(exact_log(height) + _stirling(n), log_share)
    is_sure = ps.and_(ps.ge(depth, 0.07), ps.le(v, sure))
    is_wrong = ps.or_(ps.lt(mean, _SMALL_MEAN), ps.ne(mean, mean))
    accepted = ps.or_(is_wrong, ps.and_(ps.ge(k, 0.0), ps.or_(is_sure, is_under)))
    return to_int64(k), accepted


rejected_poisson = Rejection(
    "rejected_poisson", nin=2, prepare=_prepare_poisson, attempt=_attempt_poisson, derivative=_none
)
large_poisson = RareCase(
    "large_poisson",
    nin=2,
    cost=150.0,
    usual=lambda bits, mean: ps.cast(ps.mul(mean, 0.0), "int64"),
    is_rare=lambda bits, mean: ps.ge(mean, _SMALL_MEAN),
    rare=rejected_poisson,
    derivative=_none,
)
poisson_number = RareCase(
    "poisson_number",
    nin=2,
    cost=150.0,
    usual=large_poisson,
    is_rare=lambda bits, mean: ps.lt(mean, _SMALL_MEAN),
    rare=_small_poisson,
    derivative=_none,
)


# ---- binomial ------------------------------------------------------------------------------------


def _small_binomial(bits: Any, n: Any, p: Any) -> Any:
    odds = p / (1.0 - p)
    first = exact_exp(n * exact_log1m(p))
    factors = ((n - float(k - 1)) * (odds * (1.0 / k)) for k in range(1, _STEPS))
    count = _first_passed(open_uniform(bits, "float64"), first, factors)
    return ps.cast(ps.minimum(count, n), "int64")


def _log_share(k: Any, n: Any, p: Any) -> Any:
    """Return the logarithm of a probability, up to a constant, and what its root multiplies."""
    left, right, whole = k + 1.0, (n - k) + 1.0, n + 1.0
    main = k * exact_log(whole * p / left) + (n - k) * exact_log(whole * (1.0 - p) / right)
    return main - (_stirling(left) + _stirling(right))


def _root(k: Any, n: Any) -> Any:
    return ps.sqrt((k + 1.0) * (n - k + 1.0))


def _prepare_binomial(n: Any, p: Any) -> tuple[Any, ...]:
    deviation = ps.sqrt(n * p * (1.0 - p))
    b = 1.15 + 2.53 * deviation
    a = (-0.0873 + 0.0248 * b) + 0.01 * p
    mode = ps.floor((n + 1.0) * p)
    scale = (2.83 + 5.1 / b) * deviation / _root(mode, n)
    return n, p, a, b, scale, 0.92 - 4.2 / b, _log_share(mode, n, p)


def _attempt_binomial(first: Any, second: Any, *prepared: Any) -> tuple[Any, Any]:
    n, p, a, b, scale, sure, most = prepared
    u, v = open_uniform(first, "float64") - 0.5, open_uniform(second, "float64")
    depth = 0.5 - ps.abs(u)
    k = ps.floor((2.0 * a / depth + b) * u + (n * p + 0.5))
    inside = ps.and_(ps.ge(k, 0.0), ps.le(k, n))
    safe = ps.switch(inside, k, 0.0)
    height = v * scale / (a / (depth * depth) + b) * _root(safe, n)
    is_under = ps.le(exact_log(height), _log_share(safe, n, p) - most)
    is_sure = ps.and_(ps.ge(depth, 0.07), ps.le(v, sure))
    is_other = ps.logical_not(ps.ge(n * p, _SMALL_MEAN))
    accepted = ps.or_(is_other, ps.and_(inside, ps.or_(is_sure, is_under)))
    return to_int64(ps.maximum(k, 0.0)), accepted


rejected_binomial = Rejection(
    "rejected_binomial",
    nin=3,
    cost=200.0,
    prepare=_prepare_binomial,
    attempt=_attempt_binomial,
    derivative=_none,
)
large_binomial = RareCase(
    "large_binomial",
    nin=3,
    cost=200.0,
    usual=lambda bits, n, p: ps.cast(ps.mul(n, 0.0), "int64"),
    is_rare=lambda bits, n, p: ps.ge(n * p, _SMALL_MEAN),
    rare=rejected_binomial,
    derivative=_none,
)
half_binomial = RareCase(
    "half_binomial",
    nin=3,
    cost=200.0,
    usual=large_binomial,
    is_rare=lambda bits, n, p: ps.lt(n * p, _SMALL_MEAN),
    rare=_small_binomial,
    derivative=_none,
)


@exact_function(derivative=_none, cost=200.0)
def binomial_number(bits: Any, n: Any, p: Any) -> Any:
    """Binomial numbers of random bits; those of ``1 - p`` are counted down from ``n``."""
    is_high = ps.gt(p, 0.5)
    low = half_binomial(bits, n, ps.switch(is_high, 1.0 - p, p))
    return ps.switch(is_high, to_int64(n) - low, low)


# ---- hypergeometric ------------------------------------------------------------------------------

_WIDTH = 2 * math.sqrt(2 / math.e)
_ROOM = 3 - 2 * math.sqrt(3 / math.e)


def _prepare_hypergeometric(fewer: Any, more: Any, taken: Any) -> tuple[Any, ...]:
    total = fewer + more
    share = fewer / total
    centre = taken * share + 0.5
    spread = (total - taken) * taken * share * (1.0 - share) / ps.maximum(total - 1.0, 1.0)
    width = _WIDTH * ps.sqrt(spread + 0.5) + _ROOM
    mode = ps.floor((taken + 1.0) * (fewer + 1.0) / (total + 2.0))
    return fewer, more, taken, centre, width, _log_ways(mode, fewer, more, taken)


def _log_ways(k: Any, fewer: Any, more: Any, taken: Any) -> Any:
    """Return the logarithm of the inverse of the number of ways, up to a constant."""
    left = _log_factorial(k) + _log_factorial(fewer - k)
    return left + (_log_factorial(taken - k) + _log_factorial(more - taken + k))


def _attempt_hypergeometric(first: Any, second: Any, *prepared: Any) -> tuple[Any, Any]:
    fewer, more, taken, centre, width, most = prepared
    u, v = open_uniform(first, "float64"), open_uniform(second, "float64")
    k = ps.floor(centre + width * (v - 0.5) / u)
    inside = ps.and_(ps.ge(k, 0.0), ps.le(k, ps.minimum(fewer, taken)))
    safe = ps.switch(inside, k, 0.0)
    is_under = ps.le(2.0 * exact_log(u), most - _log_ways(safe, fewer, more, taken))
    return to_int64(safe), ps.or_(ps.ne(centre, centre), ps.and_(inside, is_under))


# Of the rarer kind, in a sample of at most half of all.
part_of_sample = Rejection(
    "part_of_sample",
    nin=4,
    cost=400.0,
    prepare=_prepare_hypergeometric,
    attempt=_attempt_hypergeometric,
    derivative=_none,
)


@exact_function(derivative=_none, cost=400.0)
def hypergeometric_number(bits: Any, good: Any, bad: Any, sample: Any) -> Any:
    """How many of a sample are good, by random bits."""
    taken = ps.minimum(sample, good + bad - sample)
    rare = part_of_sample(bits, ps.minimum(good, bad), ps.maximum(good, bad), taken)
    of_taken = ps.switch(ps.gt(good, bad), to_int64(taken) - rare, rare)
    return ps.switch(ps.lt(taken, sample), to_int64(good) - of_taken, of_taken)


# ---- powers -----------------------------------------------------------------------------------

_LOG_TWO = math.log(2)
_STRAIGHT = 1e6


def _attempt_zipf(first: Any, second: Any, power: Any) -> tuple[Any, Any]:
    u, v = open_uniform(first, "float64"), open_uniform(second, "float64")
    x = ps.floor(exact_exp(exact_log(u) / -power))
    ratio = exact_exp(exact_log(1.0 + 1.0 / x) * power)
    # x * (ratio - 1) has few digits if x is large, and is then near to the power.
    growth = ps.switch(ps.gt(x, _STRAIGHT), power, x * (ratio - 1.0))
    most = exact_exp(power * _LOG_TWO)
    is_under = ps.le(v * growth / (most - 1.0), ratio / most)
    return to_int64(x), ps.and_(ps.lt(x, 2.0**63), is_under)


# L. Devroye, "Non-uniform random variate generation", 1986, X.6.1
zipf_number = Rejection(
    "zipf_number",
    nin=2,
    cost=400.0,
    prepare=lambda power: (power,),
    attempt=_attempt_zipf,
    derivative=_none,
)
"""Numbers with probabilities in proportion to ``k ** -(power + 1)``; none is beyond int64."""
