"""Classes of draws: ``NormalRV`` and its like, and what programs derive from them.

A draw is an expression here, so that no node has one Op for it, and
``isinstance(node.op, NormalRV)`` is false. An instance draws, as the function does. A class derived
from one with ``rng_fn`` is an Op of draws of the user's own, a ``RandomVariable``.
"""

from __future__ import annotations

from typing import Any

import phintys.random as new
from phintys.compat import argument_orders
from phintys.compat.random_streams import RandomVariable

__all__ = ["CLASSES", "DrawMeta"]

CLASSES: dict[str, tuple[str, str]] = {
    "BernoulliRV": ("bernoulli", "()->()"),
    "BetaBinomialRV": ("betabinom", "(),(),()->()"),
    "BetaRV": ("beta", "(),()->()"),
    "BinomialRV": ("binomial", "(),()->()"),
    "CategoricalRV": ("categorical", "(p)->()"),
    "CauchyRV": ("cauchy", "(),()->()"),
    "ChiSquareRV": ("chisquare", "()->()"),
    "DirichletRV": ("dirichlet", "(a)->(a)"),
    "ExponentialRV": ("exponential", "()->()"),
    "FRV": ("f", "(),()->()"),
    "GammaRV": ("gamma", "(),()->()"),
    "GenGammaRV": ("gengamma", "(),(),()->()"),
    "GeometricRV": ("geometric", "()->()"),
    "GumbelRV": ("gumbel", "(),()->()"),
    "HalfCauchyRV": ("halfcauchy", "(),()->()"),
    "HalfNormalRV": ("halfnormal", "(),()->()"),
    "HyperGeometricRV": ("hypergeometric", "(),(),()->()"),
    "IntegersRV": ("integers", "(),()->()"),
    "InvGammaRV": ("invgamma", "(),()->()"),
    "LaplaceRV": ("laplace", "(),()->()"),
    "LogNormalRV": ("lognormal", "(),()->()"),
    "LogisticRV": ("logistic", "(),()->()"),
    "MultinomialRV": ("multinomial", "(),(p)->(p)"),
    "MvNormalRV": ("multivariate_normal", "(n),(n,n)->(n)"),
    "NegBinomialRV": ("nbinom", "(),()->()"),
    "NormalRV": ("normal", "(),()->()"),
    "ParetoRV": ("pareto", "(),()->()"),
    "PermutationRV": ("permutation", "(x)->(x)"),
    "PoissonRV": ("poisson", "()->()"),
    "PowerRV": ("power", "()->()"),
    "RandIntRV": ("randint", "(),()->()"),
    "RayleighRV": ("rayleigh", "()->()"),
    "StandardNormalRV": ("standard_normal", "()->()"),
    "StudentTRV": ("t", "(),(),()->()"),
    "TriangularRV": ("triangular", "(),(),()->()"),
    "TruncExponentialRV": ("truncexpon", "(),(),()->()"),
    "UniformRV": ("uniform", "(),()->()"),
    "VonMisesRV": ("vonmises", "(),()->()"),
    "WaldRV": ("wald", "(),()->()"),
    "WeibullRV": ("weibull", "()->()"),
    "ZipfRV": ("zipf", "()->()"),
}
"""The class in Aesara and PyTensor -> the function that draws, and the ranks of its parameters."""

_INTEGERS = frozenset(
    [
        "bernoulli",
        "betabinom",
        "binomial",
        "categorical",
        "geometric",
        "hypergeometric",
        "integers",
        "multinomial",
        "nbinom",
        "permutation",
        "poisson",
        "randint",
        "zipf",
    ]
)


class DrawMeta(type):
    """The class of a draw: derived classes with ``rng_fn`` are Ops of the user's own."""

    def __new__(mcs, name: str, bases: tuple[type, ...], members: dict[str, Any]) -> Any:
        """Return the class, or an Op class if it is derived and says how it draws."""
        if not any(isinstance(base, DrawMeta) for base in bases):
            return super().__new__(mcs, name, bases, members)
        if "rng_fn" not in members:
            msg = (
                f"{name} is derived from {bases[0].__name__}, whose draws are expressions: define "
                "rng_fn(self, rng, *parameters, size), which draws by NumPy."
            )
            raise TypeError(msg)
        drawing: Any = bases[0]
        inherited = {"name": drawing.name, "dtype": drawing.dtype}
        if "ndim_supp" not in members and "signature" not in members:
            inherited["signature"] = drawing.signature
        others = tuple(base for base in bases if not isinstance(base, DrawMeta))
        return type(name, (*others, RandomVariable), inherited | members)


class _Draw(metaclass=DrawMeta):
    name: str
    dtype: str
    signature: str

    def __call__(self, *parameters: Any, **options: Any) -> Any:
        """Draw."""
        home = argument_orders if hasattr(argument_orders, self.name) else new
        return getattr(home, self.name)(*parameters, **options)

    def __repr__(self) -> str:
        return f"{self.name}_rv"


def _class_of(name: str) -> Any:
    function, signature = CLASSES[name]
    dtype = "int64" if function in _INTEGERS else "floatX"
    members = {"name": function, "dtype": dtype, "signature": signature, "__module__": __name__}
    return type.__new__(DrawMeta, name, (_Draw,), members)


_FUNCTIONS = {function: name for name, (function, _) in CLASSES.items()}


def __getattr__(name: str) -> Any:
    """Make a class, or the instance that draws."""
    if name in CLASSES:
        found = _class_of(name)
    elif name in _FUNCTIONS:
        found = __getattr__(_FUNCTIONS[name])()
        found.__doc__ = getattr(new, name).__doc__
    else:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return globals().setdefault(name, found)
