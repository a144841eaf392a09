"""Distributions on the positive numbers with elementary quantiles."""

from __future__ import annotations

import math as numbers
from typing import Any, ClassVar

import numpy as np

from phintys.random.distributions.base import Distribution, reciprocal, same
from phintys.random.distributions.checks import positive
from phintys.random.distributions.location_scale import EULER, Normal
from phintys.random.distributions.tails import log_beyond, log_of_hazard, log_power, log_quotient
from phintys.random.exact.functions import exact_exponential
from phintys.tensor import math, special
from phintys.tensor.creation import zeros_like


class Positive(Distribution):
    """A distribution on the positive numbers."""

    def support(self) -> tuple[Any, Any]:
        return 0.0, np.inf


class Exponential(Positive, method="exponential"):
    """The exponential distribution; ``scale`` is the mean.

    The density of x is ``exp(-x / scale) / scale``.

    Parameters
    ----------
    scale
        The mean, also ``beta``; or its inverse as ``rate`` or ``lam``.

    Examples
    --------
    >>> from phintys.random import Exponential, logp
    >>> round(float(logp(Exponential(2.0), 1.0).eval()), 6)
    -1.193147
    """

    defaults: ClassVar[dict[str, Any]] = {"scale": 1.0}
    alternatives: ClassVar[Any] = {
        "rate": ("scale", reciprocal),
        "lam": ("scale", reciprocal),
        "beta": ("scale", same),
    }

    def sample(self, *bits: Any) -> Any:
        return math.mul(self.scale, exact_exponential(bits[0]))

    def _logp(self, value: Any) -> Any:
        return -value / self.scale - math.log(self.scale)

    def _cdf(self, value: Any) -> Any:
        return -math.expm1(-value / self.scale)

    def _sf(self, value: Any) -> Any:
        return math.exp(-value / self.scale)

    def _logsf(self, value: Any) -> Any:
        return -value / self.scale

    def _icdf(self, q: Any) -> Any:
        return -self.scale * math.log1p(-q)

    def _isf(self, q: Any) -> Any:
        return -self.scale * math.log(q)

    def mean(self) -> Any:
        return self.scale

    def variance(self) -> Any:
        return math.sqr(self.scale)

    def mode(self) -> Any:
        return zeros_like(self.scale)

    def entropy(self) -> Any:
        return 1 + math.log(self.scale)


class HalfNormal(Positive, method="halfnormal"):
    """The absolute value of a normal number with mean 0, plus ``loc``.

    The density of x is ``2 * exp(-((x - loc) / scale)**2 / 2) / (scale * sqrt(2 * pi))``.

    Parameters
    ----------
    loc
        The least number.
    scale
        The standard deviation of the normal number, also ``sigma``.

    Examples
    --------
    >>> from phintys.random import HalfNormal, logp
    >>> round(float(logp(HalfNormal(0.0, 2.0), 1.0).eval()), 6)
    -1.043939
    """

    defaults: ClassVar[dict[str, Any]] = {"loc": 0.0, "scale": 1.0}
    alternatives: ClassVar[Any] = {"sigma": ("scale", same)}

    def support(self) -> tuple[Any, Any]:
        return self.loc, np.inf

    def _standardized(self, value: Any) -> Any:
        return (value - self.loc) / self.scale

    def _logp(self, value: Any) -> Any:
        z = self._standardized(value)
        return -0.5 * z * z + 0.5 * numbers.log(2 / numbers.pi) - math.log(self.scale)

    def _cdf(self, value: Any) -> Any:
        return special.erf(self._standardized(value) / numbers.sqrt(2))

    def _sf(self, value: Any) -> Any:
        return special.erfc(self._standardized(value) / numbers.sqrt(2))

    def _logsf(self, value: Any) -> Any:
        return log_beyond(self._standardized(value))

    def _icdf(self, q: Any) -> Any:
        return self.loc + self.scale * numbers.sqrt(2) * special.erfinv(q)

    def _isf(self, q: Any) -> Any:
        return self.loc + self.scale * numbers.sqrt(2) * special.erfcinv(q)

    def mean(self) -> Any:
        return self.loc + self.scale * numbers.sqrt(2 / numbers.pi)

    def variance(self) -> Any:
        return math.sqr(self.scale) * (1 - 2 / numbers.pi)

    def mode(self) -> Any:
        return self.loc + zeros_like(self.scale)

    def entropy(self) -> Any:
        return 0.5 * numbers.log(numbers.pi * numbers.e / 2) + math.log(self.scale)


class LogNormal(Positive, method="lognormal"):
    """The exponential of a normal number.

    The density of x is ``exp(-((log(x) - mean) / sigma)**2 / 2) / (x * sigma * sqrt(2 * pi))``.

    Parameters
    ----------
    mean, sigma
        The mean and the standard deviation of the normal number, also ``mu`` and ``scale``.

    Examples
    --------
    >>> from phintys.random import LogNormal, logp
    >>> round(float(logp(LogNormal(0.0, 2.0), 1.0).eval()), 6)
    -1.612086
    """

    defaults: ClassVar[dict[str, Any]] = {"mean": 0.0, "sigma": 1.0}
    alternatives: ClassVar[Any] = {"mu": ("mean", same), "scale": ("sigma", same)}

    def _normal(self) -> Normal:
        return Normal(self.parameters["mean"], self.sigma)

    def _logp(self, value: Any) -> Any:
        is_zero = value <= 0
        logarithm = math.log(math.switch(is_zero, 1, value))
        return math.switch(is_zero, -np.inf, self._normal()._logp(logarithm) - logarithm)

    def _cdf(self, value: Any) -> Any:
        return self._normal()._cdf(math.log(value))

    def _sf(self, value: Any) -> Any:
        return self._normal()._sf(math.log(value))

    def _logcdf(self, value: Any) -> Any:
        return self._normal()._logcdf(math.log(value))

    def _logsf(self, value: Any) -> Any:
        return self._normal()._logsf(math.log(value))

    def _icdf(self, q: Any) -> Any:
        return math.exp(self._normal()._icdf(q))

    def _isf(self, q: Any) -> Any:
        return math.exp(self._normal()._isf(q))

    def mean(self) -> Any:
        return math.exp(self.parameters["mean"] + 0.5 * math.sqr(self.sigma))

    def variance(self) -> Any:
        return math.expm1(math.sqr(self.sigma)) * math.sqr(self.mean())

    def mode(self) -> Any:
        return math.exp(self.parameters["mean"] - math.sqr(self.sigma))

    def entropy(self) -> Any:
        return self._normal().entropy() + self.parameters["mean"]


class Weibull(Positive, method="weibull"):
    """The Weibull distribution with shape ``a``.

    The density of x is ``a / scale * (x / scale)**(a - 1) * exp(-(x / scale)**a)``.

    Parameters
    ----------
    a
        The exponent, also ``shape`` and ``alpha``.
    scale
        The scale, also ``beta``.

    Examples
    --------
    >>> from phintys.random import Weibull, logp
    >>> round(float(logp(Weibull(2.0, 3.0), 1.0).eval()), 6)
    -1.615189
    """

    defaults: ClassVar[dict[str, Any]] = {"a": 1.0, "scale": 1.0}
    alternatives: ClassVar[Any] = {
        "shape": ("a", same),
        "alpha": ("a", same),
        "beta": ("scale", same),
    }
    domains: ClassVar[dict[str, Any]] = {"a": positive}

    def _logp(self, value: Any) -> Any:
        z = value / self.scale
        inside = log_power(self.a - 1, value, math.log(z))
        return math.log(self.a / self.scale) + inside - math.power(z, self.a)

    def _cdf(self, value: Any) -> Any:
        return -math.expm1(self._logsf(value))

    def _sf(self, value: Any) -> Any:
        return math.exp(self._logsf(value))

    def _logcdf(self, value: Any) -> Any:
        return log_of_hazard(self._logsf(value), self.a * log_quotient(value, self.scale))

    def _logsf(self, value: Any) -> Any:
        return -math.power(value / self.scale, self.a)

    def _icdf(self, q: Any) -> Any:
        return self.scale * math.power(-math.log1p(-q), 1 / self.a)

    def _isf(self, q: Any) -> Any:
        return self.scale * math.power(-math.log(q), 1 / self.a)

    def mean(self) -> Any:
        return self.scale * special.gamma(1 + 1 / self.a)

    def variance(self) -> Any:
        squares = special.gamma(1 + 2 / self.a) - math.sqr(special.gamma(1 + 1 / self.a))
        return math.sqr(self.scale) * squares

    def mode(self) -> Any:
        above = math.maximum(1 - 1 / self.a, 0)
        return self.scale * math.power(above, 1 / self.a)

    def entropy(self) -> Any:
        return EULER * (1 - 1 / self.a) + math.log(self.scale / self.a) + 1
