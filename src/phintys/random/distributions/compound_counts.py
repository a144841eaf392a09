"""Counts whose rate or probability is random: negative binomial and beta-binomial numbers."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from phintys._base.errors import ArgumentError
from phintys.random.distributions.base import as_parameter, same
from phintys.random.distributions.checks import nonnegative, positive
from phintys.random.distributions.discrete import positive_probability
from phintys.random.distributions.searching import SearchedCounts
from phintys.random.distributions.summing import SummedCounts
from phintys.random.distributions.tails import binomial_logp, log_beta_below
from phintys.random.exact.functions import exact_exp
from phintys.random.samplers.counts import binomial_number, poisson_number
from phintys.random.samplers.gamma import gamma_of_bits, log_gamma_of_bits
from phintys.tensor import math, special


def _wide(*parameters: Any) -> list[Any]:
    return [math.cast(one, "float64") for one in parameters]


class NegativeBinomial(SearchedCounts, method="negative_binomial"):
    """How many trials fail before ``n`` succeed, each with the probability ``p``.

    It is also a Poisson number whose mean is a gamma number: ``mu`` and ``alpha``, given instead,
    are the mean and the shape. ``n`` need not be an integer.

    The probability of k is ``comb(k + n - 1, k) * p**n * (1 - p)**k``.

    Parameters
    ----------
    n
        How many successes end the trials, a positive number.
    p
        The probability of a success.

    Examples
    --------
    >>> from phintys.random import NegativeBinomial, mean
    >>> round(float(mean(NegativeBinomial(mu=3.0, alpha=2.0)).eval()), 6)
    3.0
    """

    defaults: ClassVar[dict[str, Any]] = {"n": 1.0, "p": 0.5}
    domains: ClassVar[dict[str, Any]] = {"n": positive, "p": positive_probability}
    words: int = 2

    def __init__(self, *values: Any, **named: Any) -> None:
        if "mu" in named or "alpha" in named:
            if values or set(named) != {"mu", "alpha"}:
                msg = "NegativeBinomial takes n and p, or mu and alpha."
                raise ArgumentError(msg)
            mean, shape = as_parameter(named["mu"]), as_parameter(named["alpha"])
            named = {"n": shape, "p": shape / (mean + shape)}
        super().__init__(*values, **named)

    def number(self, *bits: Any) -> Any:
        n, p = _wide(self.n, self.p)
        odds = math.minimum((1 - p) / p, float(np.finfo(p.dtype).max))  # the factor may be 0
        return poisson_number(bits[1], gamma_of_bits(bits[0], n) * odds)

    def support(self) -> tuple[Any, Any]:
        return 0.0, np.inf

    def _logp(self, value: Any) -> Any:
        # Of n + k trials, n succeed; the last is one of these.
        share = math.log(self.n / (self.n + value))
        return share + binomial_logp(self.n, self.n + value, self.p, 1 - self.p, value)

    def _cdf(self, value: Any) -> Any:
        return special.betainc(self.n, value + 1, self.p)

    def _sf(self, value: Any) -> Any:
        return special.betaincc(self.n, value + 1, self.p)

    def _logcdf(self, value: Any) -> Any:
        logs = math.log(self.p), math.log1p(-self.p)
        return log_beta_below(self.n, value + 1, self.p, 1 - self.p, *logs)

    def _logsf(self, value: Any) -> Any:
        logs = math.log1p(-self.p), math.log(self.p)
        return log_beta_below(value + 1, self.n, 1 - self.p, self.p, *logs)

    def mean(self) -> Any:
        return self.n * (1 - self.p) / self.p

    def variance(self) -> Any:
        return self.mean() / self.p


class BetaBinomial(SummedCounts, method="betabinom"):
    """How many of ``n`` trials succeed, if their common probability is a beta number.

    The probability of k is ``comb(n, k) * B(k + alpha, n - k + beta) / B(alpha, beta)``.

    Parameters
    ----------
    n
        How many trials there are.
    alpha, beta
        The shapes of the distribution of the probability, also ``a`` and ``b``.

    Examples
    --------
    >>> from phintys.random import BetaBinomial, cdf
    >>> round(float(cdf(BetaBinomial(3, 1.0, 1.0), 1).eval()), 6)
    0.5
    """

    defaults: ClassVar[dict[str, Any]] = {"n": 1.0, "alpha": 1.0, "beta": 1.0}
    domains: ClassVar[dict[str, Any]] = {"n": nonnegative, "alpha": positive, "beta": positive}
    alternatives: ClassVar[Any] = {"a": ("alpha", same), "b": ("beta", same)}
    words: int = 3

    def number(self, *bits: Any) -> Any:
        n, alpha, beta = _wide(self.n, self.alpha, self.beta)
        succeeds = log_gamma_of_bits(bits[0], alpha)
        fails = log_gamma_of_bits(bits[1], beta)
        return binomial_number(bits[2], n, 1 / (1 + exact_exp(fails - succeeds)))

    def support(self) -> tuple[Any, Any]:
        return 0.0, self.n

    def _logp(self, value: Any) -> Any:
        rest = self.n - value
        ways = -math.log1p(self.n) - special.betaln(rest + 1, value + 1)
        with_counts = special.betaln(value + self.alpha, rest + self.beta)
        return ways + with_counts - special.betaln(self.alpha, self.beta)

    def _growth(self, value: Any) -> tuple[Any, Any]:
        rest = self.n - value
        return rest * (value + self.alpha), (value + 1) * (rest - 1 + self.beta)

    def mean(self) -> Any:
        return self.n * self.alpha / (self.alpha + self.beta)

    def variance(self) -> Any:
        total = self.alpha + self.beta
        product = self.n * self.alpha * self.beta * (total + self.n)
        return product / (math.sqr(total) * (total + 1))
