"""Classes of draws: ``NormalRV`` and its like, and the shapes of their parameters.

A parameter has axes of its own, the last ones, and axes of the batch before them, which are
broadcast with those of the other parameters.

A draw is an expression here, so that no node has one Op for it, and
``isinstance(node.op, NormalRV)`` is false. An instance draws, as the function does. A class derived
from one with ``rng_fn`` is an Op of draws of the user's own, a ``RandomVariable``.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

import phintys.random as new
import phintys.tensor as pt
from phintys import random
from phintys._base.errors import ArgumentError
from phintys.compat import argument_orders
from phintys.compat.random_streams import RandomVariable
from phintys.graph import Variable
from phintys.graph.type import Generic

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "CLASSES",
    "DrawMeta",
    "broadcast_params",
    "compute_batch_shape",
    "explicit_expand_dims",
    "normalize_size_param",
    "params_broadcast_shapes",
    "supp_shape_from_ref_param_shape",
]


def params_broadcast_shapes(
    param_shapes: Sequence[Any],
    ndims_params: Sequence[int],
    use_pytensor: bool = True,
    use_aesara: bool = True,
) -> list[tuple[Any, ...]]:
    """Return the shapes of parameters with the axes of their common batch.

    Parameters
    ----------
    param_shapes
        The shape of each parameter: sizes, which are numbers or variables.
    ndims_params
        How many axes each parameter has without a batch.
    use_pytensor, use_aesara
        Whether sizes may be variables.

    Examples
    --------
    >>> from phintys.compat.draws import params_broadcast_shapes
    >>> params_broadcast_shapes([(3,), (2, 3, 3)], [1, 2], use_pytensor=False)
    [(2, 3), (2, 3, 3)]
    """
    larger = pt.maximum if use_pytensor and use_aesara else max
    shapes = [tuple(shape) for shape in param_shapes]
    batches = [shape[: len(shape) - ndim] for shape, ndim in zip(shapes, ndims_params, strict=True)]
    common: list[Any] = []
    for sizes in zip_longest(*(batch[::-1] for batch in batches), fillvalue=1):
        size: Any = 1
        for other in sizes:
            if _is_one(size) or _is_one(other):
                size = other if _is_one(size) else size
            else:
                size = larger(size, other)
        common.insert(0, size)
    return [
        (*common, *shape[len(shape) - ndim :])
        for shape, ndim in zip(shapes, ndims_params, strict=True)
    ]


def _is_one(size: Any) -> bool:
    return not isinstance(size, Variable) and bool(size == 1)


def broadcast_params(params: Sequence[Any], ndims_params: Sequence[int]) -> list[Any]:
    """Return parameters with the axes of their common batch.

    Parameters
    ----------
    params
        Arrays, or variables.
    ndims_params
        How many axes each parameter has without a batch.

    Examples
    --------
    >>> import numpy as np
    >>> from phintys.compat.draws import broadcast_params
    >>> mean, cov = broadcast_params([np.zeros(3), np.zeros((2, 3, 3))], [1, 2])
    >>> mean.shape, cov.shape
    ((2, 3), (2, 3, 3))
    """
    if not any(isinstance(param, Variable) for param in params):
        arrays = [np.asarray(param) for param in params]
        found = params_broadcast_shapes(
            [array.shape for array in arrays], ndims_params, use_pytensor=False
        )
        return [np.broadcast_to(array, shape) for array, shape in zip(arrays, found, strict=True)]
    variables = [pt.as_tensor_variable(param) for param in params]
    shapes = params_broadcast_shapes([_sizes(one) for one in variables], ndims_params)
    return [pt.broadcast_to(one, shape) for one, shape in zip(variables, shapes, strict=True)]


def _sizes(x: Any) -> tuple[Any, ...]:
    """Return the sizes that are known as numbers, and the others as variables."""
    return tuple(x.shape[axis] if size is None else size for axis, size in enumerate(x.type.shape))


def explicit_expand_dims(
    params: Sequence[Any], ndim_params: Sequence[int], size_length: int | None = None
) -> list[Any]:
    """Return parameters that all have as many axes of the batch: new ones of size 1 come first.

    Parameters
    ----------
    params
        Variables.
    ndim_params
        How many axes each parameter has without a batch.
    size_length
        How many axes the batch has; by default as many as the largest that a parameter has.
    """
    batches = [param.ndim - ndim for param, ndim in zip(params, ndim_params, strict=True)]
    most = max(batches, default=0) if size_length is None else size_length
    return [
        pt.shape_padleft(param, most - batch) if most > batch else param
        for param, batch in zip(params, batches, strict=True)
    ]


def compute_batch_shape(params: Sequence[Any], ndims_params: Sequence[int]) -> Any:
    """Return the shape of the common batch of parameters, a vector."""
    batches = [
        param[(..., *(0,) * ndim)]
        for param, ndim in zip(
            explicit_expand_dims(params, ndims_params), ndims_params, strict=True
        )
    ]
    return pt.broadcast_arrays(*batches)[0].shape


def normalize_size_param(size: Any) -> Any:
    """Return the size of a draw as a variable; one of the type of ``None`` stays as it is."""
    if isinstance(size, Variable) and isinstance(size.type, Generic):
        return size
    return random.normalize_size_param(size)


def supp_shape_from_ref_param_shape(
    *,
    ndim_supp: int,
    dist_params: Sequence[Any],
    param_shapes: Sequence[Any] | None = None,
    ref_param_idx: int,
) -> Any:
    """Return the shape of one draw, which is that of the last axes of a parameter.

    Parameters
    ----------
    ndim_supp
        How many axes a draw has, at least 1.
    dist_params
        The parameters.
    param_shapes
        Their shapes, if these are known already.
    ref_param_idx
        The position of the parameter.

    Raises
    ------
    ArgumentError
        A draw has no axes, or the parameter has fewer.
    """
    if ndim_supp < 1:
        msg = f"ndim_supp must be greater than 0, got {ndim_supp}: a number has no shape."
        raise ArgumentError(msg)
    if param_shapes is not None:
        return tuple(param_shapes[ref_param_idx])[-ndim_supp:]
    param = dist_params[ref_param_idx]
    if param.ndim < ndim_supp:
        msg = (
            f"Reference parameter {param} must have at least {ndim_supp} axes, those of a draw; "
            f"it has {param.ndim}."
        )
        raise ArgumentError(msg)
    return param.shape[-ndim_supp:]


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
