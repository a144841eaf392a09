"""The normal distribution between two ends, with its moments."""

from __future__ import annotations

import math as numbers
from typing import Any, ClassVar

import numpy as np

from phintys.random.distributions.base import Distribution, same
from phintys.random.distributions.checks import at_least
from phintys.random.distributions.derived import Truncated
from phintys.random.distributions.location_scale import Normal
from phintys.tensor import math


class TruncatedNormal(Distribution, method="truncated_normal"):
    """Normal numbers, given that they are from ``lower`` to ``upper``.

    Draws are those of ``Truncated(Normal(loc, scale), lower, upper)``: quantiles, with derivatives
    in all parameters.

    Parameters
    ----------
    loc, scale
        The mean and the standard deviation before the truncation.
    lower, upper
        The ends, which may be infinite, or any number of deviations away.

    Examples
    --------
    >>> from phintys.random import TruncatedNormal, mean
    >>> round(float(mean(TruncatedNormal(lower=0.0)).eval()), 6)
    0.797885
    """

    defaults: ClassVar[dict[str, Any]] = {
        "loc": 0.0,
        "scale": 1.0,
        "lower": -np.inf,
        "upper": np.inf,
    }
    domains: ClassVar[dict[str, Any]] = {"upper": at_least("lower")}
    alternatives: ClassVar[Any] = {"mu": ("loc", same), "sigma": ("scale", same)}

    def _twin(self) -> Any:
        return Truncated(Normal(self.loc, self.scale), self.lower, self.upper)

    def support(self) -> tuple[Any, Any]:
        return self.lower, self.upper

    def _inner(self) -> Any:
        near = math.clip(self.loc, self.lower, self.upper)
        above = math.minimum(self.scale, self.upper - near)
        below = math.minimum(self.scale, near - self.lower)
        return near + 0.5 * (above - below)

    def sample(self, *bits: Any) -> Any:
        return self._twin().sample(*bits)

    def _logp(self, value: Any) -> Any:
        return self._twin()._logp(value)

    def _cdf(self, value: Any) -> Any:
        return self._twin()._cdf(value)

    def _sf(self, value: Any) -> Any:
        return self._twin()._sf(value)

    def _logcdf(self, value: Any) -> Any:
        return self._twin()._logcdf(value)

    def _logsf(self, value: Any) -> Any:
        return self._twin()._logsf(value)

    def _icdf(self, q: Any) -> Any:
        return self._twin()._icdf(q)

    def _isf(self, q: Any) -> Any:
        return self._twin()._isf(q)

    def _at_ends(self) -> tuple[Any, Any]:
        """Return the difference of the densities at the ends, and that of their first moments."""
        densities, moments = [], []
        for end in (self.lower, self.upper):
            is_far = math.isinf(end)
            near = math.switch(is_far, self.loc, end)
            density = math.switch(is_far, 0.0, math.exp(self._logp(near)))
            densities.append(density)
            moments.append((near - self.loc) * density)
        return densities[0] - densities[1], moments[0] - moments[1]

    def mean(self) -> Any:
        return self.loc + math.sqr(self.scale) * self._at_ends()[0]

    def variance(self) -> Any:
        fall, moment = self._at_ends()
        return math.sqr(self.scale) * (1 + moment - math.sqr(self.scale * fall))

    def mode(self) -> Any:
        return math.clip(self.loc, self.lower, self.upper) + 0 * self.scale

    def entropy(self) -> Any:
        spread = 0.5 * numbers.log(2 * numbers.pi * numbers.e) + math.log(self.scale)
        return spread + self._twin()._log_total() + 0.5 * self._at_ends()[1]
