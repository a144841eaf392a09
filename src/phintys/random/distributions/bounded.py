"""Distributions on an interval."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from phintys.random.distributions.base import Distribution, same
from phintys.random.distributions.checks import at_least
from phintys.random.exact.uniform import half_open_uniform
from phintys.tensor import math


class Uniform(Distribution, method="uniform"):
    """The uniform distribution on ``[low, high)``.

    The density of x is ``1 / (high - low)``.

    Parameters
    ----------
    low, high
        The ends, also ``lower`` and ``upper``.

    Examples
    --------
    >>> from phintys.random import Uniform, logp
    >>> round(float(logp(Uniform(1.0, 3.0), 2.5).eval()), 6)
    -0.693147
    """

    defaults: ClassVar[dict[str, Any]] = {"low": 0.0, "high": 1.0}
    alternatives: ClassVar[Any] = {"lower": ("low", same), "upper": ("high", same)}
    domains: ClassVar[dict[str, Any]] = {"high": at_least("low")}

    def support(self) -> tuple[Any, Any]:
        return self.low, self.high

    def sample(self, *bits: Any) -> Any:
        return self._icdf(half_open_uniform(bits[0], self.dtype))

    def _width(self) -> Any:
        return math.sub(self.high, self.low)

    def _logp(self, value: Any) -> Any:
        return math.switch(math.isnan(value), np.nan, -math.log(self._width()))

    def _cdf(self, value: Any) -> Any:
        return (value - self.low) / self._width()

    def _sf(self, value: Any) -> Any:
        return (self.high - value) / self._width()

    def _icdf(self, q: Any) -> Any:
        return math.add(self.low, math.mul(self._width(), q))

    def _isf(self, q: Any) -> Any:
        return self.high - self._width() * q

    def mean(self) -> Any:
        return 0.5 * (self.low + self.high)

    def variance(self) -> Any:
        return math.sqr(self._width()) / 12

    def mode(self) -> Any:
        return self.mean()

    def entropy(self) -> Any:
        return math.log(self._width())
