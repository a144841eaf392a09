"""Distributions: each is one block of sampler, log-density, distribution function and quantiles.

The sampler is the quantile function of a uniform number, unless a distribution has one of its own,
so derivatives of draws in the parameters are pathwise.
"""

from __future__ import annotations

import math as numbers
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from phintys._base.config import config
from phintys._base.errors import ArgumentError, ShapeError
from phintys.random.bits import RandomBits
from phintys.random.states import Advance, StateWords, as_state
from phintys.tensor import math, special
from phintys.tensor.broadcasting import broadcast_shape, broadcast_to
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.reshaping import reshape
from phintys.tensor.sizes import as_size, ceil_div_sizes, fold, multiply_sizes

if TYPE_CHECKING:
    from collections.abc import Callable

    from phintys.graph.variable import Variable

__all__ = [
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
    "icdf",
    "logp",
]

DISTRIBUTIONS: dict[str, type[Distribution]] = {}
"""The method of generators -> the distribution that it draws from."""


class Distribution:
    """A distribution with its parameters, which broadcast against each other.

    Parameters
    ----------
    values
        The parameters, in the order of ``defaults``.
    """

    defaults: ClassVar[dict[str, Any]]
    """The parameters and their defaults."""

    def __init_subclass__(cls, method: str | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if method is not None:
            DISTRIBUTIONS[method] = cls

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
            lengths = size if isinstance(size, tuple | list) else (size,)
            lengths = tuple(as_size(length, "The size of a draw") for length in lengths)
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


# ---- uniform numbers ---------------------------------------------------------------------------


def half_open_uniform(bits: Any, dtype: str) -> Any:
    """Return numbers in [0, 1): multiples of 2**-53, or of 2**-24 in float32; all steps exact."""
    digits = {"float64": 53, "float32": 24}[dtype]
    return math.mul(_leading(bits, digits, dtype), np.dtype(dtype).type(2.0**-digits))


def open_uniform(bits: Any, dtype: str) -> Any:
    """Return numbers in (0, 1): odd multiples of 2**-53, or of 2**-24 in float32.

    All steps are exact, and the numbers lie symmetrically about 1/2.
    """
    digits = {"float64": 52, "float32": 23}[dtype]
    kind = np.dtype(dtype).type
    middle = math.add(_leading(bits, digits, dtype), kind(0.5))
    return math.mul(middle, kind(2.0**-digits))


def _leading(bits: Any, digits: int, dtype: str) -> Any:
    width = 8 * np.dtype(bits.dtype).itemsize
    whole = math.right_shift(bits, np.dtype(bits.dtype).type(width - digits))
    signed = "int64" if width == 64 else "int32"  # processors convert signed integers faster
    return math.cast(math.cast(whole, signed), dtype)


# ---- families ----------------------------------------------------------------------------------


class LocationScale(Distribution):
    """``loc + scale * z``, of a standard distribution of ``z``."""

    defaults: ClassVar[dict[str, Any]] = {"loc": 0.0, "scale": 1.0}

    def _standard_logp(self, z: Any) -> Any:
        raise NotImplementedError

    def _standard_cdf(self, z: Any) -> Any:
        raise NotImplementedError

    def _standard_icdf(self, q: Any) -> Any:
        raise NotImplementedError

    def _standardized(self, value: Any) -> Any:
        return math.true_div(math.sub(value, self.loc), self.scale)

    def logp(self, value: Any) -> Any:
        return self._standard_logp(self._standardized(value)) - math.log(self.scale)

    def cdf(self, value: Any) -> Any:
        return self._standard_cdf(self._standardized(value))

    def icdf(self, q: Any) -> Any:
        return math.add(self.loc, math.mul(self.scale, self._standard_icdf(q)))


class Normal(LocationScale, method="normal"):
    """The normal distribution."""

    def _standard_logp(self, z: Any) -> Any:
        return -0.5 * z * z - 0.5 * numbers.log(2 * numbers.pi)

    def _standard_cdf(self, z: Any) -> Any:
        return special.ndtr(z)

    def _standard_icdf(self, q: Any) -> Any:
        return special.ndtri(q)


class Laplace(LocationScale, method="laplace"):
    """The Laplace (double exponential) distribution."""

    def _standard_logp(self, z: Any) -> Any:
        return -abs(z) - numbers.log(2)

    def _standard_cdf(self, z: Any) -> Any:
        below = 0.5 * math.exp(-abs(z))
        return math.switch(z < 0, below, 1 - below)

    def _standard_icdf(self, q: Any) -> Any:
        tail = math.log(2 * math.minimum(q, 1 - q))
        return math.switch(q < 0.5, tail, -tail)


class Logistic(LocationScale, method="logistic"):
    """The logistic distribution."""

    def _standard_logp(self, z: Any) -> Any:
        return -abs(z) - 2 * math.log1p(math.exp(-abs(z)))

    def _standard_cdf(self, z: Any) -> Any:
        return math.sigmoid(z)

    def _standard_icdf(self, q: Any) -> Any:
        return math.log(q) - math.log1p(-q)


class Gumbel(LocationScale, method="gumbel"):
    """The Gumbel distribution of largest values."""

    def _standard_logp(self, z: Any) -> Any:
        return -(z + math.exp(-z))

    def _standard_cdf(self, z: Any) -> Any:
        return math.exp(-math.exp(-z))

    def _standard_icdf(self, q: Any) -> Any:
        return -math.log(-math.log(q))


class Cauchy(LocationScale, method="cauchy"):
    """The Cauchy distribution."""

    def _standard_logp(self, z: Any) -> Any:
        return -math.log1p(z * z) - numbers.log(numbers.pi)

    def _standard_cdf(self, z: Any) -> Any:
        # atan2 keeps the digits of both tails.
        return math.arctan2(1.0, -z) / numbers.pi

    def _standard_icdf(self, q: Any) -> Any:
        away = 1 / math.tan(numbers.pi * math.minimum(q, 1 - q))  # keeps the digits of both tails
        return math.switch(q < 0.5, -away, away)


class Uniform(Distribution, method="uniform"):
    """The uniform distribution on ``[low, high)``."""

    defaults: ClassVar[dict[str, Any]] = {"low": 0.0, "high": 1.0}

    def sample(self, bits: Any) -> Any:
        return self.icdf(half_open_uniform(bits, self.dtype))

    def logp(self, value: Any) -> Any:
        inside = math.and_(self.low <= value, value <= self.high)
        return math.switch(inside, -math.log(self.high - self.low), -np.inf)

    def cdf(self, value: Any) -> Any:
        return math.clip((value - self.low) / (self.high - self.low), 0, 1)

    def icdf(self, q: Any) -> Any:
        return math.add(self.low, math.mul(math.sub(self.high, self.low), q))


class _Positive(Distribution):
    """A distribution on positive numbers, by its log-density, cdf and icdf there."""

    def _positive_logp(self, value: Any) -> Any:
        raise NotImplementedError

    def _positive_cdf(self, value: Any) -> Any:
        raise NotImplementedError

    def logp(self, value: Any) -> Any:
        value = as_tensor_variable(value)
        inside = math.switch(value >= 0, value, 1)  # so that derivatives outside are not NaN
        return math.switch(value >= 0, self._positive_logp(inside), -np.inf)

    def cdf(self, value: Any) -> Any:
        return self._positive_cdf(math.maximum(value, 0))


class Exponential(_Positive, method="exponential"):
    """The exponential distribution; ``scale`` is the mean."""

    defaults: ClassVar[dict[str, Any]] = {"scale": 1.0}

    def _positive_logp(self, value: Any) -> Any:
        return -value / self.scale - math.log(self.scale)

    def _positive_cdf(self, value: Any) -> Any:
        return -math.expm1(-value / self.scale)

    def icdf(self, q: Any) -> Any:
        return -self.scale * math.log1p(-q)


class HalfNormal(_Positive, method="halfnormal"):
    """The absolute value of a normal number with mean 0."""

    defaults: ClassVar[dict[str, Any]] = {"scale": 1.0}

    def _positive_logp(self, value: Any) -> Any:
        z = value / self.scale
        return -0.5 * z * z + 0.5 * numbers.log(2 / numbers.pi) - math.log(self.scale)

    def _positive_cdf(self, value: Any) -> Any:
        return special.erf(value / (self.scale * numbers.sqrt(2)))

    def icdf(self, q: Any) -> Any:
        return self.scale * numbers.sqrt(2) * special.erfinv(q)


class LogNormal(_Positive, method="lognormal"):
    """The exponential of a normal number."""

    defaults: ClassVar[dict[str, Any]] = {"mean": 0.0, "sigma": 1.0}

    def _normal(self) -> Normal:
        return Normal(self.mean, self.sigma)

    def _positive_logp(self, value: Any) -> Any:
        is_zero = value <= 0
        logarithm = math.log(math.switch(is_zero, 1, value))
        return math.switch(is_zero, -np.inf, self._normal().logp(logarithm) - logarithm)

    def _positive_cdf(self, value: Any) -> Any:
        return self._normal().cdf(math.log(value))

    def icdf(self, q: Any) -> Any:
        return math.exp(self._normal().icdf(q))


class Weibull(_Positive, method="weibull"):
    """The Weibull distribution with shape ``a``."""

    defaults: ClassVar[dict[str, Any]] = {"a": 1.0, "scale": 1.0}

    def _positive_logp(self, value: Any) -> Any:
        z = value / self.scale
        return math.log(self.a / self.scale) + special.xlogy(self.a - 1, z) - math.power(z, self.a)

    def _positive_cdf(self, value: Any) -> Any:
        return -math.expm1(-math.power(value / self.scale, self.a))

    def icdf(self, q: Any) -> Any:
        return self.scale * math.power(-math.log1p(-q), 1 / self.a)


class Bernoulli(Distribution, method="bernoulli"):
    """1 with the probability ``p``, else 0, as int64."""

    defaults: ClassVar[dict[str, Any]] = {"p": 0.5}

    def sample(self, bits: Any) -> Any:
        return math.cast(half_open_uniform(bits, self.dtype) < self.p, "int64")

    def logp(self, value: Any) -> Any:
        value = as_tensor_variable(value)
        of_zero = math.switch(math.eq(value, 0), math.log1p(-self.p), -np.inf)
        return math.switch(math.eq(value, 1), math.log(self.p), of_zero)

    def cdf(self, value: Any) -> Any:
        value = as_tensor_variable(value)
        return math.switch(value < 0, 0.0, math.switch(value < 1, 1 - self.p, 1.0))

    def icdf(self, q: Any) -> Any:
        return math.cast(as_tensor_variable(q) > 1 - self.p, "int64")


# ---- functions ---------------------------------------------------------------------------------


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
    return distribution


def drawing(distribution: type[Distribution]) -> Callable[..., Any]:
    """Return the method of generators that draws from a distribution."""

    def draw(self: Any, *parameters: Any, size: Any = None, **named: Any) -> Any:
        most = len(distribution.defaults)
        if len(parameters) == most + 1 and size is None:  # size may follow the parameters
            *parameters, size = parameters  # pyright: ignore[reportAssignmentType]
        return self.draw(distribution(*parameters, **named), size)

    draw.__doc__ = (
        f"Draw from :class:`~phintys.random.{distribution.__name__}` with the parameters "
        f"{', '.join(distribution.defaults)}, and a size."
    )
    return draw
