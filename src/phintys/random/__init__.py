"""Random numbers: the same bits on every backend and on any number of threads.

A generator is a variable of :class:`RandomType`, whose values are states: the key and the counter
of Philox 4x32-10. A state never changes; a draw returns the next state and the numbers.

Draws are made of three kinds of nodes. :class:`RandomBits` is the only one that makes random
numbers: a function of a state and a position. :class:`Advance` returns the next state, which
depends on the number of blocks that a draw uses, not on the numbers. A distribution is an
expression of the bits, of ordinary elementwise Ops: it is differentiated, rewritten, fused and
compiled as any other. Two draws from one state are thus the same, and merged; draws from different
states never are. Nodes of states are not folded into constants.

Draws of numbers are the same bits from the reference and from native code, on any number of
threads and any width of vectors: what they are made of is computed in exact steps
(:mod:`~phintys.random.exact.steps`). So are integers, random orders, and choices without weights.
Draws of vectors and matrices, and choices by weights, use sums and factorizations, which are
rounded as anywhere else.

From the ground up:

- ``bits``: Philox, states of generators, and their Ops.
- ``exact``: from bits to numbers in exact steps: uniform and normal numbers, logarithms.
- ``samplers``: gamma numbers, counts and orders, which need more than one quantile function.
- ``distributions``: each a class with sampler, log-density, distribution function and moments.
- ``generators``: what users draw with: streams, shared generators, NumPy's, Ops of their own.
"""

from typing import TYPE_CHECKING, Any

from phintys._base.late import late_names
from phintys._base.names import public_dir
from phintys.random.bits.philox import philox
from phintys.random.bits.random_bits import RandomBits
from phintys.random.bits.states import (
    Advance,
    FoldIn,
    GeneratorVariable,
    Jump,
    RandomType,
    SplitState,
    StateWords,
    random_type,
    state,
)
from phintys.random.distributions import (
    DISTRIBUTIONS,
    LKJ,
    AsymmetricLaplace,
    Bernoulli,
    Beta,
    BetaBinomial,
    Binomial,
    Burr12,
    Categorical,
    Cauchy,
    Censored,
    ChiSquare,
    Choice,
    Dirichlet,
    DirichletMultinomial,
    DiscreteUniform,
    DiscreteWeibull,
    Distribution,
    ExGaussian,
    Exponential,
    F,
    Gamma,
    GeneralizedGamma,
    Geometric,
    Gumbel,
    HalfCauchy,
    HalfNormal,
    HalfStudentT,
    Hurdle,
    Hypergeometric,
    Integers,
    InverseGamma,
    InverseWishart,
    Kumaraswamy,
    Laplace,
    Levy,
    LKJCholesky,
    Logistic,
    LogitNormal,
    LogLogistic,
    LogNormal,
    LogSeries,
    LogUniform,
    Lomax,
    MatrixNormal,
    Maxwell,
    Mixture,
    Moyal,
    Multinomial,
    MultivariateNormal,
    MultivariateT,
    Nakagami,
    NegativeBinomial,
    Normal,
    OrderedLogistic,
    Pareto,
    Permutation,
    Permuted,
    Poisson,
    Power,
    Rayleigh,
    Shuffle,
    SkewNormal,
    StudentT,
    Transformed,
    Triangular,
    Truncated,
    TruncatedNormal,
    TruncExpon,
    Uniform,
    UniformDirection,
    VonMises,
    VonMisesFisher,
    Wald,
    Weibull,
    Wishart,
    ZeroInflated,
    Zipf,
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
from phintys.random.generators.functions import function_named
from phintys.random.generators.numpy_draws import NumpyDraw
from phintys.random.generators.numpy_generators import (
    NumpyGeneratorVariable as RandomGeneratorVariable,
)
from phintys.random.generators.numpy_generators import RandomGeneratorType, random_generator_type
from phintys.random.generators.shorthands import SHORTHANDS
from phintys.random.generators.streams import RandomStream, as_rng, default_rng, rng, shared_rng
from phintys.random.generators.variables import RandomVariable, normalize_size_param

if TYPE_CHECKING:
    from phintys.random.distributions.markov_fields import GaussianMarkovField

__all__ = [
    "LKJ",
    "Advance",
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
    "FoldIn",
    "Gamma",
    "GaussianMarkovField",
    "GeneralizedGamma",
    "GeneratorVariable",
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
    "Jump",
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
    "NumpyDraw",
    "OrderedLogistic",
    "Pareto",
    "Permutation",
    "Permuted",
    "Poisson",
    "Power",
    "RandomBits",
    "RandomGeneratorType",
    "RandomGeneratorVariable",
    "RandomStream",
    "RandomType",
    "RandomVariable",
    "Rayleigh",
    "Shuffle",
    "SkewNormal",
    "SplitState",
    "StateWords",
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
    "as_rng",
    "cdf",
    "default_rng",
    "entropy",
    "icdf",
    "isf",
    "logcdf",
    "logp",
    "logsf",
    "mean",
    "normalize_size_param",
    "philox",
    "random_generator_type",
    "random_type",
    "rng",
    "sf",
    "shared_rng",
    "state",
    "stddev",
    "variance",
]
__all__ += list(DISTRIBUTIONS)  # pyright: ignore[reportUnsupportedDunderAll]
__all__ += list(SHORTHANDS)  # pyright: ignore[reportUnsupportedDunderAll]

_late, _ = late_names(__name__)

__dir__ = public_dir(__name__)


def __getattr__(name: str) -> Any:
    """Return the function that draws from a distribution, or a name that is imported late."""
    function = function_named(name)
    return _late(name) if function is None else function
