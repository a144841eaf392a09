"""Distributions of counts: Poisson, binomial, hypergeometric, logarithmic."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from phintys.random.distributions.base import same
from phintys.random.distributions.checks import Domain, nonnegative, probability
from phintys.random.distributions.discrete import probability_below_one
from phintys.random.distributions.searching import SearchedCounts
from phintys.random.distributions.summing import SummedCounts
from phintys.random.exact.functions import exact_exp, exact_log
from phintys.random.exact.uniform import open_uniform
from phintys.random.samplers.counts import (
    binomial_number,
    exact_log1m,
    hypergeometric_number,
    poisson_number,
    to_int64,
)
from phintys.tensor import math, special

__all__ = ["Binomial", "Hypergeometric", "LogSeries", "Poisson", "binomial_logp", "log_peak"]

_SERIES = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680)
_LARGE = 16.0


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


class Poisson(SearchedCounts, method="poisson"):
    """How many events there are, if they occur independently and ``lam`` is the mean.

    The probability of k is ``exp(-lam) * lam**k / gamma(k + 1)``.

    Parameters
    ----------
    lam
        The mean, also ``mu``.

    Examples
    --------
    >>> from phintys.random import Poisson, logp
    >>> round(float(logp(Poisson(3.0), 2).eval()), 6)
    -1.495923
    """

    defaults: ClassVar[dict[str, Any]] = {"lam": 1.0}
    domains: ClassVar[dict[str, Any]] = {"lam": nonnegative}
    alternatives: ClassVar[dict[str, Any]] = {"mu": ("lam", same)}

    def number(self, *bits: Any) -> Any:
        return poisson_number(bits[0], math.cast(self.lam, "float64"))

    def support(self) -> tuple[Any, Any]:
        return 0.0, np.inf

    def _logp(self, value: Any) -> Any:
        return poisson_logp(value, self.lam)

    def _cdf(self, value: Any) -> Any:
        return special.gammaincc(value + 1, self.lam)

    def _sf(self, value: Any) -> Any:
        return special.gammainc(value + 1, self.lam)

    def mean(self) -> Any:
        return self.lam

    def variance(self) -> Any:
        return self.lam


class Binomial(SearchedCounts, method="binomial"):
    """How many of ``n`` trials succeed, each with the probability ``p``.

    The probability of k is ``comb(n, k) * p**k * (1 - p)**(n - k)``.

    Parameters
    ----------
    n
        How many trials there are.
    p
        The probability of a success.

    Examples
    --------
    >>> from phintys.random import Binomial, logp
    >>> round(float(logp(Binomial(10, 0.5), 5).eval()), 6)
    -1.402043
    """

    defaults: ClassVar[dict[str, Any]] = {"n": 1.0, "p": 0.5}
    domains: ClassVar[dict[str, Any]] = {"n": nonnegative, "p": probability}

    def number(self, *bits: Any) -> Any:
        n, p = (math.cast(one, "float64") for one in (self.n, self.p))
        return binomial_number(bits[0], n, p)

    def support(self) -> tuple[Any, Any]:
        return 0.0, self.n

    def _logp(self, value: Any) -> Any:
        return binomial_logp(value, self.n, self.p, 1 - self.p)

    def _cdf(self, value: Any) -> Any:
        return special.betainc(self.n - value, value + 1, 1 - self.p)

    def _sf(self, value: Any) -> Any:
        return special.betainc(value + 1, self.n - value, self.p)

    def mean(self) -> Any:
        return self.n * self.p

    def variance(self) -> Any:
        return self.n * self.p * (1 - self.p)


def _is_too_large(value: Any, given: Any) -> Any:
    return (value < 0) | (value > given["ngood"] + given["nbad"])


class Hypergeometric(SummedCounts, method="hypergeometric"):
    """How many of ``nsample`` are good, taken from ``ngood`` good and ``nbad`` bad ones at once.

    The probability of k is ``comb(ngood, k) * comb(nbad, nsample - k) / comb(ngood + nbad,
    nsample)``.

    Parameters
    ----------
    ngood, nbad
        How many good and bad ones there are.
    nsample
        How many are taken.

    Examples
    --------
    >>> from phintys.random import Hypergeometric, cdf
    >>> round(float(cdf(Hypergeometric(2, 2, 1), 0).eval()), 6)
    0.5
    """

    defaults: ClassVar[dict[str, Any]] = {"ngood": 1.0, "nbad": 1.0, "nsample": 1.0}
    domains: ClassVar[dict[str, Any]] = {
        "ngood": nonnegative,
        "nbad": nonnegative,
        "nsample": Domain("must be between 0 and ngood + nbad", _is_too_large),
    }

    def number(self, *bits: Any) -> Any:
        counts = (math.cast(one, "float64") for one in (self.ngood, self.nbad, self.nsample))
        return hypergeometric_number(bits[0], *counts)

    def support(self) -> tuple[Any, Any]:
        return math.maximum(self.nsample - self.nbad, 0), math.minimum(self.nsample, self.ngood)

    def _logp(self, value: Any) -> Any:
        total = self.ngood + self.nbad
        share = self.nsample / total
        of_good = binomial_logp(value, self.ngood, share, 1 - share)
        of_bad = binomial_logp(self.nsample - value, self.nbad, share, 1 - share)
        return of_good + of_bad - binomial_logp(self.nsample, total, share, 1 - share)

    def _growth(self, value: Any) -> tuple[Any, Any]:
        fewer = (self.ngood - value) * (self.nsample - value)
        return fewer, (value + 1) * (self.nbad - self.nsample + value + 1)

    def mean(self) -> Any:
        return self.nsample * self.ngood / (self.ngood + self.nbad)

    def variance(self) -> Any:
        total = self.ngood + self.nbad
        share = self.ngood / total
        left = (total - self.nsample) / math.maximum(total - 1, 1)
        return self.nsample * share * (1 - share) * left


class LogSeries(SummedCounts, method="logseries"):
    """1, 2, … with probabilities in proportion to ``p ** k / k``.

    The probability of k is ``-p**k / (k * log(1 - p))``.

    Parameters
    ----------
    p
        The quotient of neighbouring probabilities for large integers.

    Examples
    --------
    >>> from phintys.random import LogSeries, cdf
    >>> round(float(cdf(LogSeries(0.5), 1).eval()), 6)
    0.721348
    """

    defaults: ClassVar[dict[str, Any]] = {"p": 0.5}
    domains: ClassVar[dict[str, Any]] = {"p": probability_below_one}
    words: int = 2

    def number(self, *bits: Any) -> Any:
        # A geometric number whose probability is random (A. W. Kemp, "Efficient generation of
        # logarithmically distributed pseudo-random variables", Applied Statistics 30, 1981).
        u, v = (open_uniform(one, "float64") for one in bits)
        fails = 1.0 - exact_exp(exact_log1m(math.cast(self.p, "float64")) * u)
        return 1 + to_int64(exact_log(v) / exact_log(fails))

    def support(self) -> tuple[Any, Any]:
        return 1.0, np.inf

    def _whole(self) -> Any:
        """Return the sum of ``p ** k / k``."""
        return -math.log1p(-self.p)

    def _logp(self, value: Any) -> Any:
        return value * math.log(self.p) - math.log(value * self._whole())

    def _growth(self, value: Any) -> tuple[Any, Any]:
        return self.p * value, value + 1

    def mean(self) -> Any:
        return self.p / ((1 - self.p) * self._whole())

    def variance(self) -> Any:
        return self.mean() * (1 / (1 - self.p) - self.mean())
