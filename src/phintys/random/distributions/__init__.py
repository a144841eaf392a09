"""Distributions: each is one block of sampler, log-density, distribution function and quantiles."""

from phintys.random.distributions.base import DISTRIBUTIONS, Distribution
from phintys.random.distributions.bounded import Uniform
from phintys.random.distributions.discrete import Bernoulli
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

__all__ = [
    "DISTRIBUTIONS",
    "Bernoulli",
    "Cauchy",
    "Distribution",
    "Exponential",
    "Gumbel",
    "HalfNormal",
    "Laplace",
    "LogNormal",
    "Logistic",
    "Normal",
    "Uniform",
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
