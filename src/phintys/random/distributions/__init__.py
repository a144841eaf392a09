"""Distributions: each is one block of sampler, log-density, distribution function and quantiles."""

from phintys.random.distributions.base import DISTRIBUTIONS, Distribution
from phintys.random.distributions.bounded import Uniform
from phintys.random.distributions.categorical import Categorical, OrderedLogistic
from phintys.random.distributions.counts import Binomial, Hypergeometric, LogSeries, Poisson
from phintys.random.distributions.discrete import Bernoulli, DiscreteWeibull, Geometric
from phintys.random.distributions.gaussian import (
    MatrixNormal,
    MultivariateNormal,
    UniformDirection,
)
from phintys.random.distributions.integers import DiscreteUniform, Integers
from phintys.random.distributions.location_scale import Cauchy, Gumbel, Laplace, Logistic, Normal
from phintys.random.distributions.positive import Exponential, HalfNormal, LogNormal, Weibull
from phintys.random.distributions.questions import (
    cdf,
    entropy,
    icdf,
    isf,
    logcdf,
    logp,
    logsf,
    mean,
    sf,
    stddev,
    variance,
)
from phintys.random.distributions.selecting import Choice, Permutation, Permuted, Shuffle

__all__ = [
    "DISTRIBUTIONS",
    "Bernoulli",
    "Binomial",
    "Categorical",
    "Cauchy",
    "Choice",
    "DiscreteUniform",
    "DiscreteWeibull",
    "Distribution",
    "Exponential",
    "Geometric",
    "Gumbel",
    "HalfNormal",
    "Hypergeometric",
    "Integers",
    "Laplace",
    "LogNormal",
    "LogSeries",
    "Logistic",
    "MatrixNormal",
    "MultivariateNormal",
    "Normal",
    "OrderedLogistic",
    "Permutation",
    "Permuted",
    "Poisson",
    "Shuffle",
    "Uniform",
    "UniformDirection",
    "Weibull",
    "cdf",
    "entropy",
    "icdf",
    "isf",
    "logcdf",
    "logp",
    "logsf",
    "mean",
    "sf",
    "stddev",
    "variance",
]
