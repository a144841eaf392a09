"""Distributions: each is one block of sampler, log-density, distribution function and quantiles."""

from phintys.random.distributions.base import DISTRIBUTIONS, Distribution
from phintys.random.distributions.beta_family import Beta, F, HalfStudentT, StudentT
from phintys.random.distributions.bounded import Uniform
from phintys.random.distributions.categorical import Categorical, OrderedLogistic
from phintys.random.distributions.circular import VonMises
from phintys.random.distributions.compound_counts import BetaBinomial, NegativeBinomial
from phintys.random.distributions.counts import Binomial, Hypergeometric, LogSeries, Poisson
from phintys.random.distributions.derived import (
    Censored,
    Hurdle,
    Mixture,
    Transformed,
    Truncated,
    ZeroInflated,
)
from phintys.random.distributions.directions import MultivariateT, VonMisesFisher
from phintys.random.distributions.discrete import Bernoulli, DiscreteWeibull, Geometric
from phintys.random.distributions.functions import (
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
from phintys.random.distributions.gamma_family import (
    ChiSquare,
    Gamma,
    GeneralizedGamma,
    InverseGamma,
    Maxwell,
    Nakagami,
    Rayleigh,
)
from phintys.random.distributions.gaussian import (
    MatrixNormal,
    MultivariateNormal,
    UniformDirection,
)
from phintys.random.distributions.heavy_tails import (
    Burr12,
    HalfCauchy,
    Levy,
    LogLogistic,
    Lomax,
    Pareto,
)
from phintys.random.distributions.integers import DiscreteUniform, Integers
from phintys.random.distributions.intervals import (
    Kumaraswamy,
    LogitNormal,
    LogUniform,
    Power,
    Triangular,
    TruncExpon,
)
from phintys.random.distributions.location_scale import Cauchy, Gumbel, Laplace, Logistic, Normal
from phintys.random.distributions.matrices import LKJ, InverseWishart, LKJCholesky, Wishart
from phintys.random.distributions.positive import Exponential, HalfNormal, LogNormal, Weibull
from phintys.random.distributions.selecting import Choice, Permutation, Permuted, Shuffle
from phintys.random.distributions.shares import Dirichlet, DirichletMultinomial, Multinomial
from phintys.random.distributions.skewed import (
    AsymmetricLaplace,
    ExGaussian,
    Moyal,
    SkewNormal,
    Wald,
)
from phintys.random.distributions.truncated_normal import TruncatedNormal
from phintys.random.distributions.zeta_counts import Zipf

__all__ = [
    "DISTRIBUTIONS",
    "LKJ",
    "AsymmetricLaplace",
    "Bernoulli",
    "Beta",
    "BetaBinomial",
    "Binomial",
    "Burr12",
    "Categorical",
    "Cauchy",
    "Censored",
    "ChiSquare",
    "Choice",
    "Dirichlet",
    "DirichletMultinomial",
    "DiscreteUniform",
    "DiscreteWeibull",
    "Distribution",
    "ExGaussian",
    "Exponential",
    "F",
    "Gamma",
    "GeneralizedGamma",
    "Geometric",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "HalfStudentT",
    "Hurdle",
    "Hypergeometric",
    "Integers",
    "InverseGamma",
    "InverseWishart",
    "Kumaraswamy",
    "LKJCholesky",
    "Laplace",
    "Levy",
    "LogLogistic",
    "LogNormal",
    "LogSeries",
    "LogUniform",
    "Logistic",
    "LogitNormal",
    "Lomax",
    "MatrixNormal",
    "Maxwell",
    "Mixture",
    "Moyal",
    "Multinomial",
    "MultivariateNormal",
    "MultivariateT",
    "Nakagami",
    "NegativeBinomial",
    "Normal",
    "OrderedLogistic",
    "Pareto",
    "Permutation",
    "Permuted",
    "Poisson",
    "Power",
    "Rayleigh",
    "Shuffle",
    "SkewNormal",
    "StudentT",
    "Transformed",
    "Triangular",
    "TruncExpon",
    "Truncated",
    "TruncatedNormal",
    "Uniform",
    "UniformDirection",
    "VonMises",
    "VonMisesFisher",
    "Wald",
    "Weibull",
    "Wishart",
    "ZeroInflated",
    "Zipf",
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
