"""The methods of NumPy's generators, for symbolic ones."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.config import config
from phintys._base.errors import ArgumentError
from phintys._base.records import record
from phintys.graph.variable import Constant, Variable
from phintys.random.generators.drawing import documented, has_draws
from phintys.random.generators.numpy_generators import NumpyGeneratorVariable, SeedState
from phintys.random.generators.variables import RandomVariable
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.ranges import arange
from phintys.tensor.type import normalize_dtype

if TYPE_CHECKING:
    from collections.abc import Callable

_NEEDED: Any = inspect.Parameter.empty


@record(frozen=True)
class _Method:
    """A method of NumPy's generators.

    Attributes
    ----------
    signature
        The core axes of its parameters and of a draw.
    parameters
        The parameters, and their defaults.
    dtype
        The dtype of draws.
    takes_dtype
        Whether NumPy's method has the parameter, so that other bits are drawn for other dtypes.
    loops
        Whether NumPy's method takes a single set of parameters.
    """

    signature: str
    parameters: dict[str, Any]
    dtype: str = "floatX"
    takes_dtype: bool = False
    loops: bool = False


def _scalars(dtype: str = "floatX", takes_dtype: bool = False, **parameters: Any) -> _Method:
    sides = ",".join("()" for _ in parameters)
    return _Method(f"{sides}->()", parameters, dtype, takes_dtype)


NUMPY_METHODS: dict[str, _Method] = {
    "beta": _scalars(a=_NEEDED, b=_NEEDED),
    "binomial": _scalars("int64", n=_NEEDED, p=_NEEDED),
    "chisquare": _scalars(df=_NEEDED),
    "dirichlet": _Method("(k)->(k)", {"alpha": _NEEDED}, loops=True),
    "exponential": _scalars(scale=1.0),
    "f": _scalars(dfnum=_NEEDED, dfden=_NEEDED),
    "gamma": _scalars(shape=_NEEDED, scale=1.0),
    "geometric": _scalars("int64", p=_NEEDED),
    "gumbel": _scalars(loc=0.0, scale=1.0),
    "hypergeometric": _scalars("int64", ngood=_NEEDED, nbad=_NEEDED, nsample=_NEEDED),
    "laplace": _scalars(loc=0.0, scale=1.0),
    "logistic": _scalars(loc=0.0, scale=1.0),
    "lognormal": _scalars(mean=0.0, sigma=1.0),
    "logseries": _scalars("int64", p=_NEEDED),
    "multinomial": _Method("(),(k)->(k)", {"n": _NEEDED, "pvals": _NEEDED}, "int64"),
    "multivariate_hypergeometric": _Method(
        "(k),()->(k)", {"colors": _NEEDED, "nsample": _NEEDED}, "int64", loops=True
    ),
    "multivariate_normal": _Method("(n),(n,n)->(n)", {"mean": _NEEDED, "cov": _NEEDED}, loops=True),
    "negative_binomial": _scalars("int64", n=_NEEDED, p=_NEEDED),
    "noncentral_chisquare": _scalars(df=_NEEDED, nonc=_NEEDED),
    "noncentral_f": _scalars(dfnum=_NEEDED, dfden=_NEEDED, nonc=_NEEDED),
    "normal": _scalars(loc=0.0, scale=1.0),
    "pareto": _scalars(a=_NEEDED),
    "poisson": _scalars("int64", lam=1.0),
    "power": _scalars(a=_NEEDED),
    "random": _scalars(takes_dtype=True),
    "rayleigh": _scalars(scale=1.0),
    "standard_cauchy": _scalars(),
    "standard_exponential": _scalars(takes_dtype=True),
    "standard_gamma": _scalars(takes_dtype=True, shape=_NEEDED),
    "standard_normal": _scalars(takes_dtype=True),
    "standard_t": _scalars(df=_NEEDED),
    "triangular": _scalars(left=_NEEDED, mode=_NEEDED, right=_NEEDED),
    "uniform": _scalars(low=0.0, high=1.0),
    "vonmises": _scalars(mu=_NEEDED, kappa=_NEEDED),
    "wald": _scalars(mean=_NEEDED, scale=_NEEDED),
    "weibull": _scalars(a=_NEEDED),
    "zipf": _scalars("int64", a=_NEEDED),
}
"""The methods that draw from distributions."""


_COUNTS = {
    "binomial": ("n",),
    "hypergeometric": ("ngood", "nbad", "nsample"),
    "multinomial": ("n",),
    "multivariate_hypergeometric": ("colors", "nsample"),
}
"""Parameters that must be integers; those of distributions are floats."""


class NumpyDraw(RandomVariable):
    """A draw by the method of NumPy's generators with its name."""

    def rng_fn(self, rng: Any, *parameters: Any) -> Any:
        """Call the method of NumPy."""
        *given, size = parameters
        known = NUMPY_METHODS[self.name]
        counts = _COUNTS.get(self.name, ())
        given = [
            x.astype("int64") if name in counts else x
            for name, x in zip(known.parameters, given, strict=True)
        ]
        draw: Callable[..., Any] = getattr(rng, self.name)
        if known.takes_dtype:
            return draw(*given, size=size, dtype=self.dtype)
        return self._one_by_one(draw, given, size) if known.loops else draw(*given, size)

    def _one_by_one(self, draw: Callable[..., Any], given: Any, size: Any) -> Any:
        """Call a method for each set of parameters."""
        batches, cores = zip(*map(_divided, given, self.ndims_params), strict=True)
        if all(set(batch) <= {1} for batch in batches):
            return draw(*map(np.reshape, given, cores), size)
        whole = np.broadcast_shapes(*batches) if size is None else size
        full = [np.broadcast_to(x, (*whole, *core)) for x, core in zip(given, cores, strict=True)]
        rows = [draw(*(x[at] for x in full)) for at in np.ndindex(*whole)]
        return np.reshape(rows, (*whole, *np.shape(rows[0]))) if rows else full[0]


def _divided(x: Any, axes: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the shape of an array before its core axes, and that of these."""
    return x.shape[: x.ndim - axes], x.shape[x.ndim - axes :]


class NumpyIntegers(RandomVariable):
    """Integers from ``low`` to ``high - 1``, by the method of NumPy's generators."""

    name = "integers"
    signature = "(),()->()"
    dtype = "int64"

    def rng_fn(self, rng: Any, *parameters: Any) -> Any:
        """Call the method of NumPy, which draws other bits for other dtypes."""
        return rng.integers(*parameters, dtype=self.dtype)


class NumpyChoice(RandomVariable):
    """Entries of an array, chosen by the method of NumPy's generators."""

    name = "choice"
    __props__ = (*RandomVariable.__props__, "replace")

    def __init__(self, *options: Any, replace: bool = True, **named: Any) -> None:
        self.replace = replace
        super().__init__(*options, **named)

    def rng_fn(self, rng: Any, *parameters: Any) -> Any:
        """Call the method of NumPy."""
        *given, size = parameters
        # Size has put axes before those of the parameters.
        a, *weights = (
            x.reshape(_divided(x, axes)[1])
            for x, axes in zip(given, self.ndims_params, strict=True)
        )
        return rng.choice(a, size, self.replace, *weights)

    def _supp_shape_from_params(self, dist_params: Any, param_shapes: Any = None) -> list[Any]:
        shapes = [one.shape for one in dist_params] if param_shapes is None else param_shapes
        return list(shapes[0])[1:]


class NumpyPermutation(RandomVariable):
    """The rows of an array in random order, by the method of NumPy's generators."""

    name = "permutation"

    def rng_fn(self, rng: Any, *parameters: Any) -> Any:
        """Call the method of NumPy."""
        return rng.permutation(parameters[0])


def _integers(
    self: Any,
    low: Any,
    high: Any = None,
    size: Any = None,
    dtype: Any = "int64",
    endpoint: bool = False,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Draw integers from ``low`` to ``high - 1``, or below ``low`` alone."""
    low, high = (0, low) if high is None else (low, high)
    high = as_tensor_variable(high) + 1 if endpoint else high
    op = NumpyIntegers(dtype=normalize_dtype(dtype))
    return op(low, high, size=size, name=name, rng=self, return_next_rng=True)


def _choice(
    self: Any,
    a: Any,
    size: Any = None,
    replace: bool = True,
    p: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Draw entries of a vector, or rows of an array, or integers below ``a``."""
    given = as_tensor_variable(a)
    rows = arange(given) if given.ndim == 0 else given
    axes = ["n", *(f"a{dim}" for dim in range(1, rows.ndim))]
    weights = () if p is None else (as_tensor_variable(p),)
    signature = f"({','.join(axes)}){',(n)' if weights else ''}->({','.join(axes[1:])})"
    op = NumpyChoice(signature=signature, dtype=rows.dtype, replace=replace)
    size = () if size is None else size
    return op(rows, *weights, size=size, name=name, rng=self, return_next_rng=True)


def _permutation(self: Any, x: Any, name: str | None = None) -> tuple[Any, Any]:
    """Return the rows of an array, or the integers below ``x``, in random order."""
    given = as_tensor_variable(x)
    rows = arange(given) if given.ndim == 0 else given
    axes = ",".join(f"a{dim}" for dim in range(rows.ndim))
    op = NumpyPermutation(signature=f"({axes})->({axes})", dtype=rows.dtype)
    return op(rows, name=name, rng=self, return_next_rng=True)


_ACCEPTED = {name: set(known.parameters) for name, known in NUMPY_METHODS.items()}
_ACCEPTED |= {
    "integers": {"low", "high", "endpoint", "size"},
    "choice": {"a", "replace", "p", "size"},
    "permutation": {"x"},
}
"""The parameters that the methods have here."""

_NAMES = {"beta": {"alpha": "a", "beta": "b"}}
"""Our names of parameters that NumPy's methods have under others."""


def _draw(self: Any, distribution: Any, size: Any = None) -> tuple[Any, Any]:
    """Return the next generator and numbers of a distribution.

    They are NumPy's if it has a method with the name and the parameters of the distribution. Others
    are drawn from a state of ours that the generator seeds.
    """
    name = getattr(distribution, "method", None) or ""
    given = _arguments(distribution, name)
    if size is not None:
        given["size"] = size
    if name in _ACCEPTED and given.keys() <= _ACCEPTED[name] | {"size"}:
        return _METHODS[name](self, **given)
    after, seed = SeedState()(self, return_list=True)
    return after, distribution.draw(seed, size)[1]


def _arguments(distribution: Any, name: str) -> dict[str, Any]:
    """Return the arguments of a distribution that differ from what NumPy's method does without."""
    found: dict[str, Any] = {}
    for group in ("arguments", "options", "parameters"):
        found.update(getattr(distribution, group, {}))
    if getattr(distribution, "size", None) is not None:
        found["size"] = distribution.size
    accepted = _ACCEPTED.get(name, set())
    defaults = getattr(distribution, "defaults", {})
    names = _NAMES.get(name, {})
    return {
        names.get(one, one): value
        for one, value in found.items()
        if value is not None
        and (names.get(one, one) in accepted or not _is_default(value, defaults.get(one)))
    }


def _is_default(value: Any, default: Any) -> bool:
    known = value.data if isinstance(value, Constant) else value
    return not isinstance(known, Variable) and np.ndim(known) == 0 and bool(known == default)


def _method(method: str, known: _Method) -> Callable[..., Any]:
    def drawing(
        self: Any,
        *given: Any,
        size: Any = None,
        dtype: Any = None,
        name: str | None = None,
        **named: Any,
    ) -> tuple[Any, Any]:
        if len(given) == len(known.parameters) + 1 and size is None:
            *given, size = given  # pyright: ignore[reportAssignmentType]
        values = {**known.parameters, **dict(zip(known.parameters, given, strict=False)), **named}
        is_wrong = len(given) > len(known.parameters) or values.keys() != known.parameters.keys()
        if is_wrong or _NEEDED in values.values():
            listed = ", ".join(known.parameters) or "none"
            msg = (
                f"{method} of NumPy's generators has the parameters {listed}; got {given}, {named}."
            )
            raise ArgumentError(msg)
        kind = config.floatX if known.dtype == "floatX" else known.dtype
        op = NumpyDraw(method, known.signature, kind if dtype is None else normalize_dtype(dtype))
        return op(*values.values(), size=size, name=name, rng=self, return_next_rng=True)

    return documented(
        drawing,
        NumpyGeneratorVariable,
        method,
        f"Draw as {method} of ``numpy.random.Generator``.",
        {"self": _NEEDED, **known.parameters, "size": None, "dtype": None, "name": None},
    )


_METHODS = {name: _method(name, known) for name, known in NUMPY_METHODS.items()}
_METHODS |= {"integers": _integers, "choice": _choice, "permutation": _permutation}

for _name, _function in {**_METHODS, "draw": _draw}.items():
    setattr(NumpyGeneratorVariable, _name, _function)
has_draws(NumpyGeneratorVariable)
