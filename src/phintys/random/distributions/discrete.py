"""Distributions on the integers."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from phintys.random.distributions.base import Distribution
from phintys.random.distributions.checks import probability
from phintys.random.distributions.uniform_bits import half_open_uniform
from phintys.tensor import math
from phintys.tensor.convert import as_tensor_variable

__all__ = ["Bernoulli"]


class Bernoulli(Distribution, method="bernoulli"):
    """1 with the probability ``p``, else 0, as int64."""

    defaults: ClassVar[dict[str, Any]] = {"p": 0.5}
    domains: ClassVar[dict[str, Any]] = {"p": probability}

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
