"""Distributions of counts: Poisson, binomial, hypergeometric, logarithmic."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from phintys.random.distributions.base import same
from phintys.random.distributions.checks import Domain, nonnegative, probability
from phintys.random.distributions.discrete import probability_below_one
from phintys.random.distributions.searching import SearchedCounts
from phintys.random.distributions.summing import SummedCounts
from phintys.random.distributions.tails import (
    binomial_logp,
    log_beta_below,
    log_gamma_above,
    log_gamma_below,
    poisson_logp,
)
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

    def _logcdf(self, value: Any) -> Any:
        return log_gamma_above(value + 1, self.lam, math.log(self.lam))

    def _logsf(self, value: Any) -> Any:
        return log_gamma_below(value + 1, self.lam, math.log(self.lam))

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

    def _logs(self) -> tuple[Any, Any]:
        """Return the logarithms of the probabilities of success and failure."""
        return math.log(self.p), math.log1p(-self.p)

    def _cdf(self, value: Any) -> Any:
        return special.betaincc(value + 1, self.n - value, self.p)

    def _sf(self, value: Any) -> Any:
        return special.betainc(value + 1, self.n - value, self.p)

    def _logcdf(self, value: Any) -> Any:
        return log_beta_below(
            self.n - value, value + 1, 1 - self.p, self.p, *reversed(self._logs())
        )

    def _logsf(self, value: Any) -> Any:
        return log_beta_below(value + 1, self.n - value, self.p, 1 - self.p, *self._logs())

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
