"""Distributions on the positive numbers."""

from __future__ import annotations

import math as numbers
from typing import Any, ClassVar

import numpy as np

from phintys.random.distributions.base import Distribution
from phintys.random.distributions.checks import positive
from phintys.random.distributions.location_scale import Normal
from phintys.random.exact_functions import exact_exponential
from phintys.tensor import math, special
from phintys.tensor.convert import as_tensor_variable

__all__ = ["Exponential", "HalfNormal", "LogNormal", "Weibull"]


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

    def sample(self, bits: Any) -> Any:
        return math.mul(self.scale, exact_exponential(bits))

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
    domains: ClassVar[dict[str, Any]] = {"a": positive}

    def _positive_logp(self, value: Any) -> Any:
        z = value / self.scale
        return math.log(self.a / self.scale) + special.xlogy(self.a - 1, z) - math.power(z, self.a)

    def _positive_cdf(self, value: Any) -> Any:
        return -math.expm1(-math.power(value / self.scale, self.a))

    def icdf(self, q: Any) -> Any:
        return self.scale * math.power(-math.log1p(-q), 1 / self.a)
