"""Random numbers: the same bits on every backend and on any number of threads.

A generator is a variable of :class:`RandomType`, whose values are states: the key and the counter
of Philox 4x32-10. A state never changes; a draw returns the next state and the numbers.

Draws are made of three kinds of nodes. :class:`RandomBits` is the only one that makes random
numbers: a function of a state and a position. :class:`Advance` returns the next state, which
depends on the number of blocks that a draw uses, not on the numbers. A distribution is an
expression of the bits, of ordinary elementwise Ops: it is differentiated, rewritten, fused and
compiled as any other. Two draws from one state are thus the same, and merged; draws from different
states never are. Nodes of states are not folded into constants.

The bits, uniform numbers and Bernoulli trials are exact, so equal everywhere. Other distributions
are computed by functions such as ``log`` and ``ndtri``, whose last digits may differ between the
reference backend and native code.
"""

from phintys._base.public import public_dir
from phintys.random.bits import RandomBits
from phintys.random.distributions import (
    DISTRIBUTIONS,
    AsymmetricLaplace,
    Bernoulli,
    Beta,
    Binomial,
    Burr12,
    Categorical,
    Cauchy,
    ChiSquare,
    Choice,
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
    Hypergeometric,
    Integers,
    InverseGamma,
    Kumaraswamy,
    Laplace,
    Levy,
    Logistic,
    LogitNormal,
    LogLogistic,
    LogNormal,
    LogSeries,
    LogUniform,
    Lomax,
    MatrixNormal,
    Maxwell,
    Moyal,
    MultivariateNormal,
    Nakagami,
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
    Triangular,
    TruncExpon,
    Uniform,
    UniformDirection,
    Wald,
    Weibull,
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
from phintys.random.functions import function_named
from phintys.random.numpy_draws import NumpyDraw
from phintys.random.numpy_generators import RandomGeneratorType, random_generator_type
from phintys.random.philox import philox
from phintys.random.states import (
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
from phintys.random.streams import RandomStream, rng, shared_rng
from phintys.random.variables import RandomVariable

__all__ = [
    "Advance",
    "AsymmetricLaplace",
    "Bernoulli",
    "Beta",
    "Binomial",
    "Burr12",
    "Categorical",
    "Cauchy",
    "ChiSquare",
    "Choice",
    "DiscreteUniform",
    "DiscreteWeibull",
    "Distribution",
    "ExGaussian",
    "Exponential",
    "F",
    "FoldIn",
    "Gamma",
    "GeneralizedGamma",
    "GeneratorVariable",
    "Geometric",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "HalfStudentT",
    "Hypergeometric",
    "Integers",
    "InverseGamma",
    "Jump",
    "Kumaraswamy",
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
    "Moyal",
    "MultivariateNormal",
    "Nakagami",
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
    "RandomStream",
    "RandomType",
    "RandomVariable",
    "Rayleigh",
    "Shuffle",
    "SkewNormal",
    "Split",
    "SplitState",
    "StateWords",
    "StudentT",
    "Triangular",
    "TruncExpon",
    "Uniform",
    "UniformDirection",
    "Wald",
    "Weibull",
    "cdf",
    "entropy",
    "icdf",
    "isf",
    "logcdf",
    "logp",
    "logsf",
    "mean",
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

__dir__ = public_dir(__name__)


def __getattr__(name: str) -> object:
    """Return the function that draws from the distribution with a method of this name."""
    function = function_named(name)
    if function is None:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg, name=name)
    return function
