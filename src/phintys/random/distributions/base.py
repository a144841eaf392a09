"""A distribution: one block of sampler, log-density, distribution function and quantiles.

The sampler is the quantile function of a uniform number, unless a distribution has one of its own,
so derivatives of draws in the parameters are pathwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from phintys._base.config import config
from phintys._base.errors import ArgumentError, ShapeError
from phintys.random.bits import RandomBits
from phintys.random.distributions.checks import checked
from phintys.random.distributions.uniform_bits import open_uniform
from phintys.random.states import Advance, StateWords, as_state
from phintys.tensor import math
from phintys.tensor.broadcasting import broadcast_shape, broadcast_to
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.creation import as_sizes
from phintys.tensor.reshaping import reshape
from phintys.tensor.sizes import ceil_div_sizes, fold, multiply_sizes

if TYPE_CHECKING:
    from collections.abc import Callable

    from phintys.graph.variable import Variable

__all__ = ["DISTRIBUTIONS", "LISTENERS", "Distribution", "cdf", "icdf", "logp"]

DISTRIBUTIONS: dict[str, type[Distribution]] = {}
"""The method of generators -> the distribution that it draws from."""

LISTENERS: list[Callable[[str, type[Distribution]], None]] = []
"""What is called with each further method and its distribution."""


class Distribution:
    """A distribution with its parameters, which broadcast against each other.

    Parameters
    ----------
    values
        The parameters, in the order of ``defaults``.
    """

    defaults: ClassVar[dict[str, Any]]
    """The parameters and their defaults."""

    domains: ClassVar[dict[str, Any]] = {}
    """The values that parameters may have: see :mod:`~phintys.random.distributions.checks`."""

    method: ClassVar[str | None] = None
    """The method of generators that draws from it."""

    def __init_subclass__(cls, method: str | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if method is not None:
            cls.method = method
            DISTRIBUTIONS[method] = cls
            for listener in LISTENERS:
                listener(method, cls)

    def __init__(self, *values: Any, **named: Any) -> None:
        name = type(self).__name__
        if len(values) > len(self.defaults):
            msg = f"{name} has the parameters {', '.join(self.defaults)}, got {len(values)}."
            raise ArgumentError(msg)
        given = dict(zip(self.defaults, values, strict=False))
        for parameter, value in named.items():
            if parameter not in self.defaults or parameter in given:
                what = "is given twice" if parameter in given else "is not one of its parameters"
                msg = f"{name}: {parameter} {what} ({', '.join(self.defaults)})."
                raise ArgumentError(msg)
            given[parameter] = value
        self.parameters: dict[str, Any] = {}
        for parameter, default in self.defaults.items():
            value = as_tensor_variable(given.get(parameter, default))
            if value.dtype not in ("float32", "float64"):
                value = math.cast(value, config.floatX)
            self.parameters[parameter] = value

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["parameters"][name]
        except KeyError:
            msg = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(msg) from None

    @property
    def dtype(self) -> str:
        """Dtype of the draws."""
        return np.result_type(*(one.dtype for one in self.parameters.values())).name

    def sample(self, bits: Any) -> Any:
        """Return draws, an expression of random bits."""
        return self.icdf(open_uniform(bits, self.dtype))

    def logp(self, value: Any) -> Any:
        """Return the logarithm of the density, or of the probability of a discrete value."""
        raise NotImplementedError

    def cdf(self, value: Any) -> Any:
        """Return the probability of numbers up to a value."""
        raise NotImplementedError

    def icdf(self, q: Any) -> Any:
        """Return the value up to which numbers have the probability ``q``."""
        raise NotImplementedError

    def draw(self, rng: Any, size: Any = None) -> tuple[Variable, Any]:
        """Return the next state and draws.

        Parameters
        ----------
        rng
            A generator.
        size
            The shape of the draws; that of the parameters by default.
        """
        state = as_state(rng)
        parameters = list(self.parameters.values())
        if size is None:
            lengths = broadcast_shape(*parameters)
            distribution = self
        else:
            lengths = tuple(as_sizes(size, "The size of a draw"))
            most = max(one.ndim for one in parameters)
            if most > len(lengths):
                msg = (
                    f"{type(self).__name__}: the parameters have {most} dimensions, more than "
                    f"size, which has {len(lengths)}. The shape of the draws is size."
                )
                raise ShapeError(msg)
            # Parameters with a longer axis than the draws would repeat draws.
            distribution = type(self)(
                *(one if one.ndim == 0 else broadcast_to(one, lengths) for one in parameters)
            )
        count = multiply_sizes([fold(length) for length in lengths])
        op = RandomBits("uint32" if self.dtype == "float32" else "uint64")
        bits = reshape(op(StateWords()(state), count), lengths, ndim=len(lengths))
        used = ceil_div_sizes(count, op.in_block)
        return Advance()(state, used), distribution.sample(bits)


def logp(distribution: Distribution, value: Any) -> Any:
    """Return the logarithm of the density or probability of a value.

    Examples
    --------
    >>> from phintys.random import Normal, logp
    >>> round(float(logp(Normal(0.0, 1.0), 0.0).eval()), 6)
    -0.918939
    """
    return _checked(distribution).logp(value)


def cdf(distribution: Distribution, value: Any) -> Any:
    """Return the probability of numbers up to a value.

    Examples
    --------
    >>> from phintys.random import Normal, cdf
    >>> float(cdf(Normal(0.0, 1.0), 0.0).eval())
    0.5
    """
    return _checked(distribution).cdf(value)


def icdf(distribution: Distribution, q: Any) -> Any:
    """Return the value up to which numbers have the probability ``q``.

    Examples
    --------
    >>> from phintys.random import Uniform, icdf
    >>> float(icdf(Uniform(2.0, 4.0), 0.25).eval())
    2.5
    """
    return _checked(distribution).icdf(q)


def _checked(distribution: Any) -> Distribution:
    if not isinstance(distribution, Distribution):
        msg = f"Expected a distribution such as Normal(loc, scale), got {distribution!r}."
        raise ArgumentError(msg)
    return checked(distribution)
