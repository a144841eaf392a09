"""Distributions on the real line that are shifted and stretched."""

from __future__ import annotations

import math as numbers
from typing import Any, ClassVar

from phintys.random.distributions.base import Distribution, as_parameter, log_of_smaller, same
from phintys.random.distributions.normal_integrals import nodes
from phintys.random.distributions.tails import log1p_quotient
from phintys.random.exact.functions import exact_normal
from phintys.random.samplers.truncated import normal_between
from phintys.tensor import math, special
from phintys.tensor.creation import zeros_like
from phintys.tensor.elemwise import elemwise

_CLOSE = 0.25  # where six nodes give all digits
_FEW_NODES = nodes(6)


class LocationScale(Distribution):
    """``loc + scale * z``, of a standard distribution of ``z``.

    Methods that begin with ``_standard`` are those of the distribution of ``z``. They hold on the
    whole line, and have limits at both ends.
    """

    defaults: ClassVar[dict[str, Any]] = {"loc": 0.0, "scale": 1.0}
    alternatives: ClassVar[Any] = {"mu": ("loc", same), "sigma": ("scale", same)}
    is_symmetric: ClassVar[bool] = True

    def _standard_logp(self, z: Any) -> Any:
        raise self._lacks("log-density")

    def _standard_cdf(self, z: Any) -> Any:
        raise self._lacks("distribution function")

    def _standard_logcdf(self, z: Any) -> Any:
        return log_of_smaller(self._standard_cdf(z), self._standard_sf(z))

    def _standard_sf(self, z: Any) -> Any:
        return self._standard_cdf(-z) if self.is_symmetric else 1 - self._standard_cdf(z)

    def _standard_logsf(self, z: Any) -> Any:
        if self.is_symmetric:
            return self._standard_logcdf(-z)
        return log_of_smaller(self._standard_sf(z), self._standard_cdf(z))

    def _standard_icdf(self, q: Any) -> Any:
        raise self._lacks("quantile function")

    def _standard_isf(self, q: Any) -> Any:
        return -self._standard_icdf(q) if self.is_symmetric else self._standard_icdf(1 - q)

    def _standard_mean(self) -> Any:
        return 0.0

    def _standard_variance(self) -> Any:
        raise self._lacks("variance")

    def _standard_entropy(self) -> Any:
        raise self._lacks("entropy")

    def _standardized(self, value: Any) -> Any:
        return math.true_div(math.sub(value, self.loc), self.scale)

    def _at(self, z: Any) -> Any:
        return math.add(self.loc, math.mul(self.scale, z))

    def _logp(self, value: Any) -> Any:
        return self._standard_logp(self._standardized(value)) - math.log(self.scale)

    def _cdf(self, value: Any) -> Any:
        return self._standard_cdf(self._standardized(value))

    def _sf(self, value: Any) -> Any:
        return self._standard_sf(self._standardized(value))

    def _logcdf(self, value: Any) -> Any:
        return self._standard_logcdf(self._standardized(value))

    def _logsf(self, value: Any) -> Any:
        return self._standard_logsf(self._standardized(value))

    def _icdf(self, q: Any) -> Any:
        return self._at(self._standard_icdf(q))

    def _isf(self, q: Any) -> Any:
        return self._at(self._standard_isf(q))

    def mean(self) -> Any:
        return self._at(self._standard_mean())

    def variance(self) -> Any:
        return math.sqr(self.scale) * self._standard_variance()

    def mode(self) -> Any:
        return math.add(self.loc, zeros_like(self.scale))

    def entropy(self) -> Any:
        return zeros_like(self.loc) + math.log(self.scale) + self._standard_entropy()


def _root_of_precision(tau: Any) -> Any:
    return 1 / math.sqrt(as_parameter(tau))


class Normal(LocationScale, method="normal"):
    """The normal distribution.

    The density of x is ``exp(-((x - loc) / scale)**2 / 2) / (scale * sqrt(2 * pi))``.

    Parameters
    ----------
    loc
        The mean, also ``mu``.
    scale
        The standard deviation, also ``sigma``; or ``tau``, the inverse of its square.

    Examples
    --------
    >>> from phintys.random import Normal, logp
    >>> round(float(logp(Normal(0.0, 2.0), 1.0).eval()), 6)
    -1.737086
    """

    alternatives: ClassVar[Any] = {
        **LocationScale.alternatives,
        "tau": ("scale", _root_of_precision),
    }

    def sample(self, *bits: Any) -> Any:
        return self._at(exact_normal(bits[0]))

    def _standard_logp(self, z: Any) -> Any:
        return -0.5 * z * z - 0.5 * numbers.log(2 * numbers.pi)

    def _standard_cdf(self, z: Any) -> Any:
        return special.ndtr(z)

    def _standard_logcdf(self, z: Any) -> Any:
        return special.log_ndtr(z)

    def _standard_icdf(self, q: Any) -> Any:
        return special.ndtri(q)

    def _between_ends(self, share: Any, rest: Any, lower: Any, upper: Any) -> Any:
        ends: list[Any] = []
        for end in (lower, upper):
            is_far = math.isinf(end)
            ends.append(math.switch(is_far, end, self._standardized(math.switch(is_far, 0, end))))
        return self._at(elemwise(normal_between)(share, rest, *ends))

    def _log_between_close(self, low: Any, high: Any) -> tuple[Any, Any] | None:
        """By the density halfway and the mean of its quotients, by Gauss and Legendre's rule."""
        is_open = math.or_(math.isinf(low), math.isinf(high))
        low, high = (math.switch(is_open, self.loc, end) for end in (low, high))
        width, start = (high - low) / self.scale, self._standardized(low)
        middle = start + 0.5 * width
        is_close = math.and_(math.logical_not(is_open), width * (1 + abs(middle)) < _CLOSE)
        width, middle = (math.switch(is_close, one, 0.5 * _CLOSE) for one in (width, middle))
        mean: Any = 0.0
        for place, weight in _FEW_NODES:
            away = width * (place - 0.5)
            mean = mean + weight * math.exp(-away * (middle + 0.5 * away))
        return is_close, self._standard_logp(middle) + math.log(width * mean)

    def _standard_variance(self) -> Any:
        return 1.0

    def _standard_entropy(self) -> Any:
        return 0.5 * numbers.log(2 * numbers.pi * numbers.e)


class Laplace(LocationScale, method="laplace"):
    """The Laplace (double exponential) distribution.

    The density of x is ``exp(-abs(x - loc) / scale) / (2 * scale)``.

    Parameters
    ----------
    loc, scale
        The mean and the scale, also ``mu`` and ``b``.

    Examples
    --------
    >>> from phintys.random import Laplace, logp
    >>> round(float(logp(Laplace(0.0, 2.0), 1.0).eval()), 6)
    -1.886294
    """

    alternatives: ClassVar[Any] = {"mu": ("loc", same), "b": ("scale", same)}

    def _standard_logp(self, z: Any) -> Any:
        return -abs(z) - numbers.log(2)

    # The absolute value has no slope at 0, where the two sides meet; z has.
    def _standard_cdf(self, z: Any) -> Any:
        above = 1 - 0.5 * math.exp(-math.maximum(z, 0))
        return math.switch(z < 0, 0.5 * math.exp(math.minimum(z, 0)), above)

    def _standard_logcdf(self, z: Any) -> Any:
        above = math.log1p(-0.5 * math.exp(-math.maximum(z, 0)))
        return math.switch(z < 0, z - numbers.log(2), above)

    def _standard_icdf(self, q: Any) -> Any:
        tail = math.log(2 * math.minimum(q, 1 - q))
        return math.switch(q < 0.5, tail, -tail)

    def _standard_variance(self) -> Any:
        return 2.0

    def _standard_entropy(self) -> Any:
        return 1 + numbers.log(2)


class Logistic(LocationScale, method="logistic"):
    """The logistic distribution.

    The density of x is ``exp(-(x - loc) / scale) / (scale * (1 + exp(-(x - loc) / scale))**2)``.

    Parameters
    ----------
    loc, scale
        The mean and the scale, also ``mu`` and ``s``.

    Examples
    --------
    >>> from phintys.random import Logistic, logp
    >>> round(float(logp(Logistic(0.0, 2.0), 1.0).eval()), 6)
    -2.141301
    """

    alternatives: ClassVar[Any] = {"mu": ("loc", same), "s": ("scale", same)}

    def _standard_logp(self, z: Any) -> Any:
        return -abs(z) - 2 * math.log1p(math.exp(-abs(z)))

    def _standard_cdf(self, z: Any) -> Any:
        return math.sigmoid(z)

    def _standard_logcdf(self, z: Any) -> Any:
        return special.log_sigmoid(z)

    def _standard_icdf(self, q: Any) -> Any:
        return math.log(q) - math.log1p(-q)

    def _standard_variance(self) -> Any:
        return numbers.pi**2 / 3

    def _standard_entropy(self) -> Any:
        return 2.0


class Gumbel(LocationScale, method="gumbel"):
    """The Gumbel distribution of largest values.

    The density of x is ``exp(-(x - loc) / scale - exp(-(x - loc) / scale)) / scale``.

    Parameters
    ----------
    loc, scale
        The mode and the scale, also ``mu`` and ``beta``.

    Examples
    --------
    >>> from phintys.random import Gumbel, logp
    >>> round(float(logp(Gumbel(0.0, 2.0), 1.0).eval()), 6)
    -1.799678
    """

    alternatives: ClassVar[Any] = {"mu": ("loc", same), "beta": ("scale", same)}
    is_symmetric: ClassVar[bool] = False

    def _standard_logp(self, z: Any) -> Any:
        return -(z + math.exp(-z))

    def _standard_cdf(self, z: Any) -> Any:
        return math.exp(-math.exp(-z))

    def _standard_sf(self, z: Any) -> Any:
        return -math.expm1(-math.exp(-z))

    def _standard_logcdf(self, z: Any) -> Any:
        return -math.exp(-z)

    def _standard_logsf(self, z: Any) -> Any:
        is_far = z > _FAR  # exp(-z) may underflow there, and is the probability
        near = special.log1mexp(-math.exp(-math.switch(is_far, 0, z)))
        return math.switch(is_far, -z, near)

    def _standard_icdf(self, q: Any) -> Any:
        return -math.log(-math.log(q))

    def _standard_isf(self, q: Any) -> Any:
        return -math.log(-math.log1p(-q))

    def _standard_mean(self) -> Any:
        return EULER

    def _standard_variance(self) -> Any:
        return numbers.pi**2 / 6

    def _standard_entropy(self) -> Any:
        return 1 + EULER


_FAR = 40.0

EULER = 0.5772156649015328606
"""Euler's constant."""


class Cauchy(LocationScale, method="cauchy"):
    """The Cauchy distribution.

    The density of x is ``1 / (pi * scale * (1 + ((x - loc) / scale)**2))``.

    Parameters
    ----------
    loc, scale
        The median and the scale, also ``alpha`` and ``beta``.

    Examples
    --------
    >>> from phintys.random import Cauchy, logp
    >>> round(float(logp(Cauchy(0.0, 2.0), 1.0).eval()), 6)
    -2.061021
    """

    alternatives: ClassVar[Any] = {"alpha": ("loc", same), "beta": ("scale", same)}

    def _logp(self, value: Any) -> Any:
        slope = log1p_quotient(abs(value - self.loc), self.scale, power=2)
        return -slope - numbers.log(numbers.pi) - math.log(self.scale)

    # The angle keeps the digits of both tails, and has derivatives for every scale.
    def _cdf(self, value: Any) -> Any:
        return math.arctan2(self.scale, self.loc - value) / numbers.pi

    def _sf(self, value: Any) -> Any:
        return math.arctan2(self.scale, value - self.loc) / numbers.pi

    def _logcdf(self, value: Any) -> Any:
        return log_of_smaller(self._cdf(value), self._sf(value))

    def _logsf(self, value: Any) -> Any:
        return log_of_smaller(self._sf(value), self._cdf(value))

    def _standard_icdf(self, q: Any) -> Any:
        away = 1 / math.tan(numbers.pi * math.minimum(q, 1 - q))  # keeps the digits of both tails
        return math.switch(q < 0.5, -away, away)

    def _standard_mean(self) -> Any:
        return numbers.nan

    def _standard_variance(self) -> Any:
        return numbers.nan

    def _standard_entropy(self) -> Any:
        return numbers.log(4 * numbers.pi)
