"""Distributions on an interval."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from phintys.random.distributions.base import Distribution
from phintys.random.distributions.checks import at_least
from phintys.random.distributions.uniform_bits import half_open_uniform
from phintys.tensor import math

__all__ = ["Uniform"]


class Uniform(Distribution, method="uniform"):
    """The uniform distribution on ``[low, high)``."""

    defaults: ClassVar[dict[str, Any]] = {"low": 0.0, "high": 1.0}
    domains: ClassVar[dict[str, Any]] = {"high": at_least("low")}

    def sample(self, bits: Any) -> Any:
        return self.icdf(half_open_uniform(bits, self.dtype))

    def logp(self, value: Any) -> Any:
        inside = math.and_(self.low <= value, value <= self.high)
        return math.switch(inside, -math.log(self.high - self.low), -np.inf)

    def cdf(self, value: Any) -> Any:
        return math.clip((value - self.low) / (self.high - self.low), 0, 1)

    def icdf(self, q: Any) -> Any:
        return math.add(self.low, math.mul(math.sub(self.high, self.low), q))
