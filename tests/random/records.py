"""One record for each distribution: its parameters, and its twin in SciPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
import scipy
import scipy.special
import scipy.stats as st

__all__ = ["CONTINUOUS", "DISCRETE", "RECORDS", "Record"]

SETS = 3
SCIPY = tuple(map(int, scipy.__version__.split(".")[:2]))


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
    rough
        Questions that SciPy answers with few digits in the tails.
    """

    method: str
    intervals: dict[str, tuple[float, float]]
    twin: Callable[..., Any]
    lacks: frozenset[str] = frozenset()
    is_discrete: bool = False
    whole: frozenset[str] = frozenset()
    rtol: float = 1e-8
    rough: frozenset[str] = frozenset()

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


def lacking_before(version: tuple[int, int], words: str) -> frozenset[str]:
    """Return what an older SciPy than this lacks; nothing with this one and newer ones."""
    return lacking(words) if version > SCIPY else frozenset()


class Monotone:
    """An increasing function of the numbers of a distribution of SciPy, in ``(0, 1)``."""

    def support(self):
        return 0.0, 1.0

    def logpdf(self, x):
        inside = (x > 0) & (x < 1)
        x = np.where(inside, x, 0.5)
        return np.where(inside, self.base.logpdf(self.back(x)) + self.log_slope(x), -np.inf)

    def __getattr__(self, name):
        def answer(x):
            x = np.clip(x, 0, 1)
            return getattr(self.base, name)(self.back(x))

        return answer

    def ppf(self, q):
        return self.there(self.base.ppf(q))

    def isf(self, q):
        return self.there(self.base.isf(q))


class LogitNormal(Monotone):
    """The sigmoid of a normal number."""

    def __init__(self, mu, sigma):
        self.base = st.norm(mu, sigma)
        self.there, self.back = scipy.special.expit, scipy.special.logit

    def log_slope(self, x):
        return -np.log(x) - np.log1p(-x)


class Kumaraswamy(Monotone):
    """A power of numbers of a beta distribution."""

    def __init__(self, a, b):
        self.a, self.b = a, b
        self.base = st.beta(1, b)
        self.b = b

    def there(self, x):
        return x ** (1 / self.a)

    def back(self, x):
        return x**self.a

    def log_slope(self, x):
        return np.log(self.a) + (self.a - 1) * np.log(x)

    def mean(self):
        return self.b * scipy.special.beta(1 + 1 / self.a, self.b)

    def var(self):
        return self.b * scipy.special.beta(1 + 2 / self.a, self.b) - self.mean() ** 2


class half_t:
    """The absolute value of numbers of Student's t distribution."""

    def __init__(self, df, scale):
        self.t, self.scale = st.t(df), scale

    def support(self):
        return 0.0, np.inf

    def logpdf(self, x):
        inside = self.t.logpdf(x / self.scale) + np.log(2 / self.scale)
        return np.where(x < 0, -np.inf, inside)

    def sf(self, x):
        return 2 * self.t.sf(np.maximum(x, 0) / self.scale)

    def cdf(self, x):
        return st.f.cdf(np.square(np.maximum(x, 0) / self.scale), 1, *self.t.args)

    def logsf(self, x):
        return np.log(self.sf(x))

    def logcdf(self, x):
        return np.log(self.cdf(x))

    def ppf(self, q):
        return self.scale * np.sqrt(st.f.ppf(q, 1, *self.t.args))

    def isf(self, q):
        return self.scale * self.t.isf(q / 2)

    def mean(self):
        (df,) = self.t.args
        return 2 * self.scale * self.t.pdf(0) * df / (df - 1)

    def var(self):
        return self.scale**2 * self.t.var() - self.mean() ** 2


CONTINUOUS = [
    Record(
        "uniform",
        {"low": (-2.0, -1.0), "high": (1.0, 2.0)},
        lambda low, high: st.uniform(low, high - low),
    ),
    Record("normal", LOC_SCALE, st.norm),
    Record(
        "truncated_normal",
        {**LOC_SCALE, "lower": (-4.0, -1.0), "upper": (1.0, 5.0)},
        lambda loc, scale, lower, upper: st.truncnorm(
            (lower - loc) / scale, (upper - loc) / scale, loc, scale
        ),
    ),
    Record("laplace", LOC_SCALE, st.laplace),
    Record("logistic", LOC_SCALE, st.logistic),
    Record("gumbel", LOC_SCALE, st.gumbel_r),
    Record("cauchy", LOC_SCALE, st.cauchy, rough=lacking_before((1, 17), "icdf isf")),
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
    Record(
        "gamma",
        {"shape": (0.3, 5.0), "scale": (0.5, 3.0)},
        lambda shape, scale: st.gamma(shape, scale=scale),
    ),
    Record("chisquare", {"df": (0.7, 9.0)}, st.chi2),
    Record(
        "invgamma",
        {"shape": (2.5, 6.0), "scale": (0.5, 3.0)},
        lambda shape, scale: st.invgamma(shape, scale=scale),
    ),
    Record(
        "gengamma",
        {"alpha": (0.8, 4.0), "p": (0.7, 2.0), "lambd": (0.5, 3.0)},
        lambda alpha, p, lambd: st.gengamma(alpha / p, p, scale=lambd),
    ),
    Record(
        "nakagami",
        {"nu": (0.6, 4.0), "scale": (0.5, 3.0)},
        lambda nu, scale: st.nakagami(nu, scale=scale),
    ),
    Record("maxwell", {"scale": (0.5, 3.0)}, lambda scale: st.maxwell(scale=scale)),
    Record("rayleigh", {"scale": (0.5, 3.0)}, lambda scale: st.rayleigh(scale=scale)),
    Record(
        "beta",
        {"alpha": (0.4, 5.0), "beta": (0.6, 5.0)},
        lambda alpha, beta: st.beta(a=alpha, b=beta),
    ),
    Record(
        "f",
        {"dfnum": (2.0, 9.0), "dfden": (4.5, 9.0)},
        lambda dfnum, dfden: st.f(dfn=dfnum, dfd=dfden),
        rough=lacking("isf") | lacking_before((1, 17), "icdf"),
    ),
    Record("t", {"df": (2.5, 9.0), **LOC_SCALE}, st.t),
    Record(
        "halfstudentt",
        {"df": (2.5, 9.0), "scale": (0.5, 3.0)},
        half_t,
        lacking("entropy"),
    ),
    Record(
        "pareto", {"b": (2.5, 6.0), "scale": (0.5, 3.0)}, lambda b, scale: st.pareto(b, scale=scale)
    ),
    Record(
        "lomax",
        {"alpha": (2.5, 6.0), "scale": (0.5, 3.0)},
        lambda alpha, scale: st.lomax(alpha, scale=scale),
    ),
    Record("halfcauchy", LOC_SCALE, st.halfcauchy),
    Record(
        "loglogistic",
        {"alpha": (0.5, 3.0), "beta": (2.5, 6.0)},
        lambda alpha, beta: st.fisk(beta, scale=alpha),
    ),
    Record(
        "burr12",
        {"c": (1.5, 4.0), "d": (1.5, 4.0), "scale": (0.5, 3.0)},
        lambda c, d, scale: st.burr12(c, d, scale=scale),
        rough=lacking_before((1, 17), "isf"),
    ),
    Record("levy", LOC_SCALE, st.levy),
    Record(
        "wald",
        {"mean": (0.5, 3.0), "scale": (0.5, 3.0)},
        lambda mean, scale: st.invgauss(mean / scale, scale=scale),
        lacking("icdf isf"),
    ),
    Record(
        "skewnormal",
        {**LOC_SCALE, "alpha": (-3.0, 3.0)},
        lambda loc, scale, alpha: st.skewnorm(alpha, loc, scale),
        lacking("icdf isf entropy logcdf logsf"),
        rough=lacking("cdf sf"),
    ),
    Record(
        "exgaussian",
        {"mu": (-1.0, 1.0), "sigma": (0.5, 2.0), "nu": (0.5, 2.0)},
        lambda mu, sigma, nu: st.exponnorm(nu / sigma, mu, sigma),
        lacking("icdf isf entropy"),
    ),
    Record("asymmetriclaplace", {"kappa": (0.5, 2.0), **LOC_SCALE}, st.laplace_asymmetric),
    Record("moyal", LOC_SCALE, st.moyal, rough=lacking("isf entropy")),
    Record(
        "triangular",
        {"left": (-3.0, -1.0), "mode": (-0.5, 0.5), "right": (1.0, 3.0)},
        lambda left, mode, right: st.triang((mode - left) / (right - left), left, right - left),
    ),
    Record("kumaraswamy", {"a": (0.6, 4.0), "b": (0.6, 4.0)}, Kumaraswamy, lacking("entropy")),
    Record(
        "logitnormal",
        {"mu": (-1.0, 1.0), "sigma": (0.5, 2.0)},
        LogitNormal,
        lacking("mean variance entropy"),
    ),
    Record("power", {"a": (0.6, 4.0)}, lambda a: st.powerlaw(a=a)),
    Record(
        "loguniform",
        {"low": (0.5, 1.0), "high": (2.0, 9.0)},
        lambda low, high: st.loguniform(a=low, b=high),
    ),
    Record("truncexpon", {"b": (0.5, 3.0), **LOC_SCALE}, st.truncexpon),
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
        lacking("entropy"),
        is_discrete=True,
    ),
    Record(
        "binomial",
        {"n": (5.0, 90.0), "p": (0.1, 0.9)},
        st.binom,
        lacking("entropy"),
        is_discrete=True,
        whole=frozenset({"n"}),
    ),
    Record(
        "negative_binomial",
        {"n": (0.5, 9.0), "p": (0.2, 0.8)},
        st.nbinom,
        lacking("entropy"),
        is_discrete=True,
    ),
    Record(
        "betabinom",
        {"n": (5.0, 40.0), "alpha": (0.5, 3.0), "beta": (0.5, 3.0)},
        lambda n, alpha, beta: st.betabinom(n=n, a=alpha, b=beta),
        lacking("entropy"),
        is_discrete=True,
        whole=frozenset({"n"}),
    ),
    Record(
        "hypergeometric",
        {"ngood": (5.0, 40.0), "nbad": (5.0, 40.0), "nsample": (3.0, 10.0)},
        lambda ngood, nbad, nsample: st.hypergeom(ngood + nbad, ngood, nsample),
        lacking("entropy"),
        is_discrete=True,
        whole=frozenset({"ngood", "nbad", "nsample"}),
    ),
    Record(
        "logseries",
        {"p": (0.2, 0.95)},
        st.logser,
        lacking("icdf isf entropy"),  # slow in the reference: tested in native code
        is_discrete=True,
    ),
    Record("geometric", {"p": (0.1, 0.9)}, st.geom, is_discrete=True),
    Record("zipf", {"a": (5.0, 8.0)}, st.zipf, lacking("entropy"), is_discrete=True),
    Record(
        "discrete_weibull",
        {"q": (0.3, 0.9), "beta": (0.7, 2.0)},
        _discrete_weibull,
        lacking("mean variance entropy"),
        is_discrete=True,
    ),
]

RECORDS = CONTINUOUS + DISCRETE
