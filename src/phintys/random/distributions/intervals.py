"""Distributions on an interval, other than the uniform and the beta distribution."""

from __future__ import annotations

import math as numbers
from typing import Any, ClassVar

import numpy as np

from phintys.random.distributions.base import Distribution, by_rest, log_by_rest, same
from phintys.random.distributions.checks import at_least, positive
from phintys.random.distributions.location_scale import EULER, Normal
from phintys.random.distributions.tails import (
    log_increase,
    log_of_hazard,
    log_of_smaller,
    log_quotient,
)
from phintys.tensor import math, special
from phintys.tensor.creation import zeros_like


class Triangular(Distribution, method="triangular"):
    """A density that rises in a line from ``left`` to ``mode``, and falls to ``right``.

    The density of x is ``2 * where(x < mode, (x - left) / (mode - left), (right - x) / (right -
    mode)) / (right - left)``.

    Parameters
    ----------
    left, mode, right
        The ends, and where the density is largest; also ``lower``, ``c`` and ``upper``.

    Examples
    --------
    >>> from phintys.random import Triangular, logp
    >>> round(float(logp(Triangular(-1.0, 0.0, 3.0), 1.0).eval()), 6)
    -1.098612
    """

    defaults: ClassVar[dict[str, Any]] = {"left": -1.0, "mode": 0.0, "right": 1.0}
    domains: ClassVar[dict[str, Any]] = {"mode": at_least("left"), "right": at_least("mode")}
    alternatives: ClassVar[Any] = {
        "lower": ("left", same),
        "c": ("mode", same),
        "upper": ("right", same),
    }

    def support(self) -> tuple[Any, Any]:
        return self.left, self.right

    def _sides(self) -> tuple[Any, Any, Any]:
        """Return the widths of the interval, of its rising part, and of its falling part."""
        peak = self.parameters["mode"]
        return self.right - self.left, peak - self.left, self.right - peak

    def _logp(self, value: Any) -> Any:
        width, rise, fall = self._sides()
        is_rising = value < self.parameters["mode"]
        away = math.switch(is_rising, value - self.left, self.right - value)
        side = math.switch(is_rising, rise, fall)
        # At the mode of a triangle with one side, that side is 0.
        height = math.switch(math.eq(value, self.parameters["mode"]), 1, away / side)
        return numbers.log(2) + math.log(height) - math.log(width)

    def _cdf(self, value: Any) -> Any:
        width, rise, fall = self._sides()
        past = value - self.parameters["mode"]
        ends = value - self.left, self.right - value
        return _of_triangle(past < 0, *ends, past, width, rise, fall)

    def _sf(self, value: Any) -> Any:
        width, rise, fall = self._sides()
        past = self.parameters["mode"] - value
        ends = self.right - value, value - self.left
        return _of_triangle(past <= 0, *ends, past, width, fall, rise)

    def _logcdf(self, value: Any) -> Any:
        width, rise, _ = self._sides()
        is_rising = value < self.parameters["mode"]
        shares = self._cdf(value), self._sf(value)
        return _log_of_triangle(is_rising, *shares, value - self.left, width, rise)

    def _logsf(self, value: Any) -> Any:
        width, _, fall = self._sides()
        is_rising = value > self.parameters["mode"]
        shares = self._sf(value), self._cdf(value)
        return _log_of_triangle(is_rising, *shares, self.right - value, width, fall)

    def _icdf(self, q: Any) -> Any:
        width, rise, fall = self._sides()
        return self._at_share(q, width, rise, fall, self.left, self.right, 1)

    def _isf(self, q: Any) -> Any:
        width, rise, fall = self._sides()
        return self._at_share(q, width, fall, rise, self.right, self.left, -1)

    def _at_share(
        self, q: Any, width: Any, rise: Any, fall: Any, start: Any, end: Any, sign: int
    ) -> Any:
        """Return the number before which there is a probability, from one end to the other."""
        is_rising = q * width < rise
        inside = start + sign * (math.sqrt(q * width) * math.sqrt(rise))
        left = math.sqrt((1 - q) * width)
        # Past the mode, from it or from the end: by the distance that is smaller.
        root = left / math.sqrt(math.switch(is_rising, 1, fall))
        past = self.parameters["mode"] + sign * (q * width - rise) / (1 + root)
        after = math.switch(root > 0.5, past, end - sign * (left * math.sqrt(fall)))
        return math.switch(is_rising, inside, after)

    def mean(self) -> Any:
        return (self.left + self.parameters["mode"] + self.right) / 3

    def variance(self) -> Any:
        width, rise, fall = self._sides()
        return (math.sqr(width) - rise * fall) / 18

    def mode(self) -> Any:
        return self.parameters["mode"]

    def entropy(self) -> Any:
        return 0.5 + math.log(0.5 * self._sides()[0])


def _of_triangle(
    is_rising: Any, distance: Any, rest: Any, past: Any, width: Any, rise: Any, fall: Any
) -> Any:
    """Return the probability before a value, by its distances from both ends and past the mode."""
    inside = distance / width * (distance / rise)
    left = rest / fall
    outside = rest / width * left
    after = math.switch(outside < 0.5, 1 - outside, (rise + past * (1 + left)) / width)
    return math.switch(is_rising, inside, after)


def _log_of_triangle(
    is_rising: Any, share: Any, rest: Any, distance: Any, width: Any, rise: Any
) -> Any:
    """Return the logarithm of the probability before a value, also where that underflows."""
    is_thin = math.and_(is_rising, share < float(np.finfo(share.dtype).tiny))
    near, width, rise = (math.switch(is_thin, one, 1) for one in (distance, width, rise))
    thin = log_quotient(near, width) + log_quotient(near, rise)
    return math.switch(is_thin, thin, log_of_smaller(math.switch(is_thin, 1, share), rest))


class Kumaraswamy(Distribution, method="kumaraswamy"):
    """Kumaraswamy's distribution on the numbers from 0 to 1, with elementary quantiles.

    The density of x is ``a * b * x**(a - 1) * (1 - x**a)**(b - 1)``.

    Parameters
    ----------
    a, b
        The shapes.

    Examples
    --------
    >>> from phintys.random import Kumaraswamy, logp
    >>> round(float(logp(Kumaraswamy(2.0, 3.0), 0.5).eval()), 6)
    0.523248
    """

    defaults: ClassVar[dict[str, Any]] = {"a": 1.0, "b": 1.0}
    domains: ClassVar[dict[str, Any]] = {"a": positive, "b": positive}

    def support(self) -> tuple[Any, Any]:
        return 0.0, 1.0

    def _logp(self, value: Any) -> Any:
        inside = special.xlogy(self.a - 1, value)
        log_rest = self._log_rest(value)
        # At 1 the logarithm of 1 - value**a is -infinity, which b = 1 takes away.
        is_away = math.and_(math.eq(self.b, 1), math.isinf(log_rest))
        outer = (self.b - 1) * math.switch(is_away, 0, log_rest)
        return math.log(self.a * self.b) + inside + outer

    def _log_rest(self, value: Any) -> Any:
        """Return the logarithm of ``1 - value**a``."""
        return special.log1mexp(self.a * math.log(value))

    def _cdf(self, value: Any) -> Any:
        return -math.expm1(self._logsf(value))

    def _sf(self, value: Any) -> Any:
        return math.exp(self._logsf(value))

    def _logsf(self, value: Any) -> Any:
        return self.b * self._log_rest(value)

    def _logcdf(self, value: Any) -> Any:
        log_power = self.a * math.log(value)
        return log_of_hazard(self._logsf(value), math.log(self.b) + log_power)

    def _icdf(self, q: Any) -> Any:
        return math.power(-math.expm1(math.log1p(-q) / self.b), self._root())

    def _isf(self, q: Any) -> Any:
        return math.power(-math.expm1(math.log(q) / self.b), self._root())

    def _root(self) -> Any:
        """Return ``1 / a``, which is finite, so that it is the exponent of 1 too."""
        return math.minimum(1 / self.a, float(np.finfo(self.a.dtype).max))

    def _moment(self, n: int) -> Any:
        return self.b * special.beta(1 + n / self.a, self.b)

    def mean(self) -> Any:
        return self._moment(1)

    def variance(self) -> Any:
        return self._moment(2) - math.sqr(self._moment(1))

    def entropy(self) -> Any:
        harmonic = special.digamma(self.b + 1) + EULER
        return 1 - 1 / self.b + (1 - 1 / self.a) * harmonic - math.log(self.a * self.b)


class LogitNormal(Distribution, method="logitnormal"):
    """The sigmoid of a normal number.

    The density of x is ``exp(-((log(x / (1 - x)) - mu) / sigma)**2 / 2) / (sigma * sqrt(2 * pi) *
    x * (1 - x))``.

    Parameters
    ----------
    mu, sigma
        The mean and the standard deviation of the normal number.

    Examples
    --------
    >>> from phintys.random import LogitNormal, logp
    >>> round(float(logp(LogitNormal(0.5, 2.0), 0.25).eval()), 6)
    -0.257554
    """

    defaults: ClassVar[dict[str, Any]] = {"mu": 0.0, "sigma": 1.0}

    def support(self) -> tuple[Any, Any]:
        return 0.0, 1.0

    def _normal(self) -> Normal:
        return Normal(self.mu, self.sigma)

    def sample(self, *bits: Any) -> Any:
        return math.sigmoid(self._normal().sample(*bits))

    def _logp(self, value: Any) -> Any:
        is_inside = math.and_(value > 0, value < 1)
        safe = math.switch(is_inside, value, 0.5)
        density = self._normal()._logp(special.logit(safe)) - math.log(safe) - math.log1p(-safe)
        return math.switch(is_inside, density, math.switch(math.isnan(value), value, -np.inf))

    def _cdf(self, value: Any) -> Any:
        return self._normal()._cdf(special.logit(value))

    def _sf(self, value: Any) -> Any:
        return self._normal()._sf(special.logit(value))

    def _logcdf(self, value: Any) -> Any:
        return self._normal()._logcdf(special.logit(value))

    def _logsf(self, value: Any) -> Any:
        return self._normal()._logsf(special.logit(value))

    def _icdf(self, q: Any) -> Any:
        return math.sigmoid(self._normal()._icdf(q))

    def _isf(self, q: Any) -> Any:
        return math.sigmoid(self._normal()._isf(q))


class Power(Distribution, method="power"):
    """The density ``a * x ** (a - 1)`` on the numbers from 0 to 1.

    The density of x is ``a * x**(a - 1)``.

    Parameters
    ----------
    a
        The exponent of the distribution function.

    Examples
    --------
    >>> from phintys.random import Power, logp
    >>> round(float(logp(Power(2.0), 0.25).eval()), 6)
    -0.693147
    """

    defaults: ClassVar[dict[str, Any]] = {"a": 1.0}
    domains: ClassVar[dict[str, Any]] = {"a": positive}

    def support(self) -> tuple[Any, Any]:
        return 0.0, 1.0

    def _logp(self, value: Any) -> Any:
        return math.log(self.a) + special.xlogy(self.a - 1, value)

    def _cdf(self, value: Any) -> Any:
        return math.power(value, self.a)

    def _sf(self, value: Any) -> Any:
        return -math.expm1(self.a * math.log(value))

    def _logcdf(self, value: Any) -> Any:
        return self.a * math.log(value)

    def _logsf(self, value: Any) -> Any:
        return special.log1mexp(self.a * math.log(value))

    def _icdf(self, q: Any) -> Any:
        return math.power(q, 1 / self.a)

    def _isf(self, q: Any) -> Any:
        return math.exp(math.log1p(-q) / self.a)

    def mean(self) -> Any:
        return self.a / (self.a + 1)

    def variance(self) -> Any:
        return self.a / ((self.a + 2) * math.sqr(self.a + 1))

    def entropy(self) -> Any:
        return 1 - 1 / self.a - math.log(self.a)


class LogUniform(Distribution, method="loguniform"):
    """The exponential of a uniform number: from ``low`` to ``high``, which are positive.

    The density of x is ``1 / (x * log(high / low))``.

    Parameters
    ----------
    low, high
        The ends, also ``a`` and ``b``.

    Examples
    --------
    >>> from phintys.random import LogUniform, logp
    >>> round(float(logp(LogUniform(1.0, 10.0), 2.0).eval()), 6)
    -1.52718
    """

    defaults: ClassVar[dict[str, Any]] = {"low": 1.0, "high": numbers.e}
    domains: ClassVar[dict[str, Any]] = {"low": positive, "high": at_least("low")}
    alternatives: ClassVar[Any] = {"a": ("low", same), "b": ("high", same)}

    def support(self) -> tuple[Any, Any]:
        return self.low, self.high

    def _width(self) -> Any:
        return log_increase(self.high, self.low)

    def _logp(self, value: Any) -> Any:
        return -math.log(value) - math.log(self._width())

    def _cdf(self, value: Any) -> Any:
        return log_increase(value, self.low) / self._width()

    def _sf(self, value: Any) -> Any:
        return log_increase(self.high, value) / self._width()

    def _icdf(self, q: Any) -> Any:
        # In two factors: the quotient of the ends may overflow, but not its root.
        root = math.exp((0.5 * q) * self._width())
        return math.clip((self.low * root) * root, self.low, self.high)

    def _isf(self, q: Any) -> Any:
        root = math.exp((-0.5 * q) * self._width())
        return math.clip((self.high * root) * root, self.low, self.high)

    def mean(self) -> Any:
        return (self.high - self.low) / self._width()

    def variance(self) -> Any:
        squares = (self.high - self.low) * (0.5 * (self.high + self.low)) / self._width()
        return squares - math.sqr(self.mean())

    def mode(self) -> Any:
        return self.low + zeros_like(self.high)

    def entropy(self) -> Any:
        return 0.5 * (math.log(self.low) + math.log(self.high)) + math.log(self._width())


class TruncExpon(Distribution, method="truncexpon"):
    """An exponential number below b, by ``scale``, plus ``loc``.

    The density of x is ``exp(-(x - loc) / scale) / (scale * (1 - exp(-b)))``.

    Parameters
    ----------
    b
        The greatest number before it is scaled.
    loc, scale
        The least number, and the scale.

    Examples
    --------
    >>> from phintys.random import TruncExpon, logp
    >>> round(float(logp(TruncExpon(2.0), 1.0).eval()), 6)
    -0.854587
    """

    defaults: ClassVar[dict[str, Any]] = {"b": 1.0, "loc": 0.0, "scale": 1.0}
    domains: ClassVar[dict[str, Any]] = {"b": positive}

    def support(self) -> tuple[Any, Any]:
        return self.loc, self.loc + self.b * self.scale

    def _standardized(self, value: Any) -> Any:
        return (value - self.loc) / self.scale

    def _log_total(self) -> Any:
        return special.log1mexp(-self.b)

    def _logp(self, value: Any) -> Any:
        return -self._standardized(value) - self._log_total() - math.log(self.scale)

    def _cdf(self, value: Any) -> Any:
        return math.expm1(-self._standardized(value)) / math.expm1(-self.b)

    def _sf(self, value: Any) -> Any:
        z = self._standardized(value)
        above = math.exp(-z) * math.expm1(z - self.b) / math.expm1(-self.b)
        return by_rest(above, self._cdf(value))

    def _logcdf(self, value: Any) -> Any:
        below = special.log1mexp(-self._standardized(value)) - self._log_total()
        return log_by_rest(below, self._sf(value))

    def _logsf(self, value: Any) -> Any:
        z = self._standardized(value)
        above = special.log1mexp(z - self.b) - z - self._log_total()
        return log_by_rest(above, self._cdf(value))

    def _icdf(self, q: Any) -> Any:
        return self.loc - self.scale * math.log1p(q * math.expm1(-self.b))

    def _isf(self, q: Any) -> Any:
        # log(exp(-b) + q * (1 - exp(-b))), of its smaller deviation from 1.
        fall = -math.expm1(-self.b)
        near = math.log1p((q - 1) * fall)
        far = math.log(math.exp(-self.b) + q * fall)
        return self.loc - self.scale * math.switch((1 - q) * fall < 0.5, near, far)

    def mean(self) -> Any:
        return self.loc + self.scale * (1 - self.b / math.expm1(self.b))

    def variance(self) -> Any:
        rest = math.sqr(self.b) * math.exp(self.b) / math.sqr(math.expm1(self.b))
        return math.sqr(self.scale) * (1 - rest) + 0 * self.loc

    def mode(self) -> Any:
        return self.loc + zeros_like(self.b + self.scale)

    def entropy(self) -> Any:
        z = 1 - self.b / math.expm1(self.b)
        return z + self._log_total() + math.log(self.scale) + 0 * self.loc
