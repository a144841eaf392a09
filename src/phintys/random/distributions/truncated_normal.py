"""The normal distribution between two ends, with its moments."""

from __future__ import annotations

import math as numbers
from typing import Any, ClassVar

import numpy as np

from phintys.random.distributions.base import Distribution, same
from phintys.random.distributions.checks import at_least
from phintys.random.distributions.derived import Truncated
from phintys.random.distributions.location_scale import Normal
from phintys.random.distributions.normal_integrals import nodes
from phintys.tensor import math, reduce
from phintys.tensor.dim_shuffle import expand_dims

_REACH = 80.0
"""Twice the logarithm of what is negligible."""
_PLACES, _WEIGHTS = np.transpose(nodes(32))


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

    def _moments(self) -> _Moments:
        """Return the integrals over what is left; over everything where that is a point."""
        lower, upper = self._twin()._ends()
        return _Moments(self.loc, self.scale, lower, upper)

    def _unless_point(self, at_point: Any, elsewhere: Any) -> Any:
        """Return a moment, or another value where only an infinite end is left."""
        is_point = self._twin()._is_point()
        return elsewhere if is_point is None else math.switch(is_point, at_point, elsewhere)

    def mean(self) -> Any:
        infinity = math.switch(self.lower > 0, np.inf, -np.inf)
        return self._unless_point(infinity, self._moments().mean())

    def variance(self) -> Any:
        return self._unless_point(0.0, self._moments().variance())

    def mode(self) -> Any:
        return math.clip(self.loc, self.lower, self.upper) + 0 * self.scale

    def entropy(self) -> Any:
        return self._unless_point(-np.inf, self._moments().entropy())


class _Moments:
    """Integrals of the density over an interval, from its highest point to either side.

    A closed form takes the densities at the ends over the probability between them, and subtracts
    numbers of the size of the squared distance from ``loc`` to get a variance of the size of its
    reciprocal (D. R. Barr and E. T. Sherrill, "Mean and variance of truncated normal
    distributions", The American Statistician 53, 1999). Integrals of deviations from the highest
    point, and of squared deviations from the mean, are sums of positive terms. The integrand is
    smooth and falls at least as fast as ``exp(-s**2 / 2)``, so Gauss and Legendre's quadrature
    over the part that is not negligible gives 14 digits.

    Parameters
    ----------
    loc, scale, lower, upper
        Those of the distribution.
    """

    def __init__(self, loc: Any, scale: Any, lower: Any, upper: Any) -> None:
        self.scale = scale
        self.peak = math.clip(loc, lower, upper)
        most = float(np.finfo(self.peak.dtype).max) / 8
        away = math.clip((self.peak - loc) / scale, -most, most)
        # What is not negligible: a length whose exponent is that of REACH.
        reach = _REACH / (abs(away) + math.hypot(away, numbers.sqrt(_REACH)))
        above = _distance(self.peak, upper, scale, reach)
        below = _distance(lower, self.peak, scale, reach)
        longer = math.maximum(above, below)
        self.unit = math.switch(longer > 0, longer, 1.0)
        self.weights: list[Any] = []
        self.places: list[Any] = []
        self.heights: list[Any] = []
        for side, length in ((1.0, above), (-1.0, below)):
            place = _along_nodes(length) * _PLACES.astype(self.peak.dtype)
            height = place * (side * _along_nodes(away) + 0.5 * place)
            share = _along_nodes(length / self.unit) * _WEIGHTS.astype(self.peak.dtype)
            self.weights.append(share * math.exp(-height))
            self.places.append(side * place / _along_nodes(self.unit))
            self.heights.append(height)
        total = _over_nodes(self.weights)
        self.is_empty = math.le(total, 0)  # both ends are the same number
        self.total = math.switch(self.is_empty, 1.0, total)

    def _average(self, terms: list[Any]) -> Any:
        products = [w * term for w, term in zip(self.weights, terms, strict=True)]
        return _over_nodes(products) / self.total

    def mean(self) -> Any:
        return self.peak + self.scale * self.unit * self._average(self.places)

    def variance(self) -> Any:
        middle = _along_nodes(self._average(self.places))
        spread = self._average([math.sqr(place - middle) for place in self.places])
        return math.sqr(self.scale * self.unit) * spread

    def entropy(self) -> Any:
        found = math.log(self.scale) + math.log(self.unit) + math.log(self.total)
        return math.switch(self.is_empty, -np.inf, found + self._average(self.heights))


def _distance(low: Any, high: Any, scale: Any, most: Any) -> Any:
    """Return how many times ``scale`` lies between two numbers, but at most ``most``."""
    is_far = math.or_(math.isinf(low), math.isinf(high))
    near = math.switch(is_far, 0.0, high) - math.switch(is_far, 0.0, low)
    return math.switch(is_far, most, math.minimum(near / scale, most))


def _along_nodes(x: Any) -> Any:
    """Return a value that is the same at each place of the quadrature."""
    return expand_dims(x, -1)


def _over_nodes(parts: list[Any]) -> Any:
    return reduce.sum(parts[0], axis=-1) + reduce.sum(parts[1], axis=-1)
