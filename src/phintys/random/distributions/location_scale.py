"""Distributions on the real line that are shifted and stretched."""

from __future__ import annotations

import math as numbers
from typing import Any, ClassVar

from phintys.random.distributions.base import Distribution
from phintys.random.exact_functions import exact_normal
from phintys.tensor import math, special

__all__ = ["Cauchy", "Gumbel", "Laplace", "Logistic", "Normal"]


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

    def sample(self, bits: Any) -> Any:
        return math.add(self.loc, math.mul(self.scale, exact_normal(bits)))

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
