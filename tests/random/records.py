"""One record for each distribution: its parameters, and its twin in SciPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
import scipy.stats as st

__all__ = ["CONTINUOUS", "DISCRETE", "RECORDS", "Record"]

SETS = 3


@dataclass(frozen=True)
class Record:
    """What tests need to know of a distribution.

    Parameters
    ----------
    method
        The method of generators.
    intervals
        For each parameter, the interval from which tests draw it.
    twin
        Returns SciPy's distribution of parameters.
    lacks
        What has no closed form: names of questions.
    is_discrete
        Whether its draws are integers.
    whole
        The parameters that are integers.
    rtol
        How far from SciPy's answers ours may be.
    """

    method: str
    intervals: dict[str, tuple[float, float]]
    twin: Callable[..., Any]
    lacks: frozenset[str] = frozenset()
    is_discrete: bool = False
    whole: frozenset[str] = frozenset()
    rtol: float = 1e-8

    def parameters(self) -> dict[str, np.ndarray]:
        """Return the parameters: a few sets, always the same."""
        rng = np.random.default_rng(crc32(self.method.encode()))
        drawn = {name: rng.uniform(*ends, SETS) for name, ends in self.intervals.items()}
        return {name: np.floor(x) if name in self.whole else x for name, x in drawn.items()}

    def exact(self) -> Any:
        """Return SciPy's distribution of these parameters."""
        return self.twin(**self.parameters())

    def is_asked(self, question: str) -> bool:
        """Return whether a question has a closed answer."""
        return question not in self.lacks


LOC_SCALE = {"loc": (-2.0, 2.0), "scale": (0.5, 3.0)}


def lacking(words: str) -> frozenset[str]:
    return frozenset(words.split())


CONTINUOUS = [
    Record(
        "uniform",
        {"low": (-2.0, -1.0), "high": (1.0, 2.0)},
        lambda low, high: st.uniform(low, high - low),
    ),
    Record("normal", LOC_SCALE, st.norm),
    Record("laplace", LOC_SCALE, st.laplace),
    Record("logistic", LOC_SCALE, st.logistic),
    Record("gumbel", LOC_SCALE, st.gumbel_r),
    Record("cauchy", LOC_SCALE, st.cauchy),
    Record("exponential", {"scale": (0.5, 3.0)}, lambda scale: st.expon(scale=scale)),
    Record("halfnormal", LOC_SCALE, st.halfnorm),
    Record(
        "lognormal",
        {"mean": (-1.0, 1.0), "sigma": (0.3, 1.2)},
        lambda mean, sigma: st.lognorm(sigma, scale=np.exp(mean)),
    ),
    Record(
        "weibull",
        {"a": (0.7, 4.0), "scale": (0.5, 3.0)},
        lambda a, scale: st.weibull_min(a, scale=scale),
    ),
]


class _DiscreteWeibull(st.rv_discrete):
    """Nakagawa and Osaki's distribution, which SciPy lacks."""

    def _argcheck(self, q, beta):
        return (q > 0) & (q < 1) & (beta > 0)

    def _sf(self, k, q, beta):
        return q ** ((np.floor(k) + 1) ** beta)

    def _cdf(self, k, q, beta):
        return -np.expm1(np.log(q) * (np.floor(k) + 1) ** beta)

    def _pmf(self, k, q, beta):
        return self._sf(k - 1, q, beta) - self._sf(k, q, beta)


def _discrete_weibull(q, beta):
    return _DiscreteWeibull(name="discrete_weibull")(q, beta)  # by position: ppf has a q too


DISCRETE = [
    Record("bernoulli", {"p": (0.1, 0.9)}, st.bernoulli, is_discrete=True),
    Record(
        "poisson",
        {"lam": (2.0, 60.0)},
        lambda lam: st.poisson(mu=lam),
        lacking("icdf isf entropy"),
        is_discrete=True,
    ),
    Record(
        "binomial",
        {"n": (5.0, 90.0), "p": (0.1, 0.9)},
        st.binom,
        lacking("icdf isf entropy"),
        is_discrete=True,
        whole=frozenset({"n"}),
    ),
    Record(
        "hypergeometric",
        {"ngood": (5.0, 40.0), "nbad": (5.0, 40.0), "nsample": (3.0, 10.0)},
        lambda ngood, nbad, nsample: st.hypergeom(ngood + nbad, ngood, nsample),
        lacking("cdf sf logcdf logsf icdf isf entropy"),
        is_discrete=True,
        whole=frozenset({"ngood", "nbad", "nsample"}),
    ),
    Record(
        "logseries",
        {"p": (0.2, 0.95)},
        st.logser,
        lacking("cdf sf logcdf logsf icdf isf entropy"),
        is_discrete=True,
    ),
    Record("geometric", {"p": (0.1, 0.9)}, st.geom, is_discrete=True),
    Record(
        "discrete_weibull",
        {"q": (0.3, 0.9), "beta": (0.7, 2.0)},
        _discrete_weibull,
        lacking("mean variance entropy"),
        is_discrete=True,
    ),
]

RECORDS = CONTINUOUS + DISCRETE
