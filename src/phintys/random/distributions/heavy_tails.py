"""Distributions of positive numbers with tails that fall as powers."""

from __future__ import annotations

import math as numbers
from typing import Any, ClassVar

import numpy as np

from phintys.random.distributions.base import Distribution, same
from phintys.random.distributions.checks import positive
from phintys.random.distributions.location_scale import EULER, LocationScale
from phintys.random.distributions.positive import Positive
from phintys.random.distributions.tails import (
    log1p_quotient,
    log_beyond,
    log_increase,
    log_of_hazard,
    log_power,
    log_quotient,
)
from phintys.random.exact.functions import exact_normal
from phintys.tensor import math, special
from phintys.tensor.creation import zeros_like

_FAR = 40.0
"""The logarithm of numbers from which 1 can be taken without changing them."""


def _power_less_one(x: Any, power: Any) -> Any:
    """Return ``x**power - 1``; an exponential of the logarithm would multiply its error."""
    return power * special.boxcox(x, power)


class Pareto(Distribution, method="pareto"):
    """Pareto's distribution of the first kind: numbers from ``scale`` on, with the exponent b.

    The density of x is ``b * scale**b / x**(b + 1)``.

    Parameters
    ----------
    b
        The exponent of the tail, also ``alpha``.
    scale
        The least number, also ``m``.

    Examples
    --------
    >>> from phintys.random import Pareto, logp
    >>> round(float(logp(Pareto(2.0, 3.0), 4.0).eval()), 6)
    -1.268511
    """

    defaults: ClassVar[dict[str, Any]] = {"b": 1.0, "scale": 1.0}
    domains: ClassVar[dict[str, Any]] = {"b": positive, "scale": positive}
    alternatives: ClassVar[Any] = {"alpha": ("b", same), "m": ("scale", same)}

    def support(self) -> tuple[Any, Any]:
        return self.scale, np.inf

    def _inner(self) -> Any:
        return 2 * self.scale

    def _logp(self, value: Any) -> Any:
        return math.log(self.b / self.scale) - (self.b + 1) * log_quotient(value, self.scale)

    def _cdf(self, value: Any) -> Any:
        return -math.expm1(self._logsf(value))

    def _sf(self, value: Any) -> Any:
        return math.exp(self._logsf(value))

    def _logsf(self, value: Any) -> Any:
        return -self.b * log_increase(value, self.scale)

    def _icdf(self, q: Any) -> Any:
        return self.scale * math.exp(-math.log1p(-q) / self.b)

    def _isf(self, q: Any) -> Any:
        return self.scale * math.power(q, -1 / self.b)

    def mean(self) -> Any:
        return math.switch(self.b > 1, self.b * self.scale / (self.b - 1), np.inf)

    def variance(self) -> Any:
        finite = self.b * math.sqr(self.scale / (self.b - 1)) / (self.b - 2)
        return math.switch(self.b > 2, finite, np.inf)

    def mode(self) -> Any:
        return zeros_like(self.b) + self.scale

    def entropy(self) -> Any:
        return math.log(self.scale / self.b) + 1 / self.b + 1


class Lomax(Positive, method="lomax"):
    """Pareto's distribution of the second kind, from 0 on.

    The density of x is ``alpha / scale * (1 + x / scale)**(-alpha - 1)``.

    Parameters
    ----------
    alpha
        The exponent of the tail, also ``a``.
    scale
        The scale, also ``m``.

    Examples
    --------
    >>> from phintys.random import Lomax, logp
    >>> round(float(logp(Lomax(2.0, 3.0), 1.0).eval()), 6)
    -1.268511
    """

    defaults: ClassVar[dict[str, Any]] = {"alpha": 1.0, "scale": 1.0}
    domains: ClassVar[dict[str, Any]] = {"alpha": positive}
    alternatives: ClassVar[Any] = {"a": ("alpha", same), "m": ("scale", same)}

    def _logp(self, value: Any) -> Any:
        logarithm = log1p_quotient(value, self.scale)
        return math.log(self.alpha / self.scale) - (self.alpha + 1) * logarithm

    def _cdf(self, value: Any) -> Any:
        return -math.expm1(self._logsf(value))

    def _sf(self, value: Any) -> Any:
        return math.exp(self._logsf(value))

    def _logsf(self, value: Any) -> Any:
        return -self.alpha * log1p_quotient(value, self.scale)

    def _icdf(self, q: Any) -> Any:
        return self.scale * math.expm1(-math.log1p(-q) / self.alpha)

    def _isf(self, q: Any) -> Any:
        return self.scale * _power_less_one(q, -1 / self.alpha)

    def mean(self) -> Any:
        return math.switch(self.alpha > 1, self.scale / (self.alpha - 1), np.inf)

    def variance(self) -> Any:
        finite = self.alpha * math.sqr(self.scale / (self.alpha - 1)) / (self.alpha - 2)
        return math.switch(self.alpha > 2, finite, np.inf)

    def mode(self) -> Any:
        return zeros_like(self.alpha + self.scale)

    def entropy(self) -> Any:
        return math.log(self.scale / self.alpha) + 1 / self.alpha + 1


class HalfCauchy(Distribution, method="halfcauchy"):
    """``loc`` plus the absolute value of a number of Cauchy's distribution.

    The density of x is ``2 / (pi * scale * (1 + ((x - loc) / scale)**2))``.

    Parameters
    ----------
    loc
        The least number.
    scale
        The scale, also ``beta``.

    Examples
    --------
    >>> from phintys.random import HalfCauchy, logp
    >>> round(float(logp(HalfCauchy(0.0, 2.0), 1.0).eval()), 6)
    -1.367873
    """

    defaults: ClassVar[dict[str, Any]] = {"loc": 0.0, "scale": 1.0}
    alternatives: ClassVar[Any] = {"beta": ("scale", same)}

    def support(self) -> tuple[Any, Any]:
        return self.loc, np.inf

    def _standardized(self, value: Any) -> Any:
        return (value - self.loc) / self.scale

    def _logp(self, value: Any) -> Any:
        slope = log1p_quotient(value - self.loc, self.scale, power=2)
        return numbers.log(2 / numbers.pi) - math.log(self.scale) - slope

    def _cdf(self, value: Any) -> Any:
        return 2 / numbers.pi * math.arctan2(value - self.loc, self.scale)

    def _sf(self, value: Any) -> Any:
        return 2 / numbers.pi * math.arctan2(self.scale, value - self.loc)

    def _icdf(self, q: Any) -> Any:
        return self.loc + self.scale * math.tan(0.5 * numbers.pi * q)

    def _isf(self, q: Any) -> Any:
        return self.loc + self.scale / math.tan(0.5 * numbers.pi * q)

    def mean(self) -> Any:
        return zeros_like(self.loc + self.scale) + np.inf

    def variance(self) -> Any:
        return zeros_like(self.loc + self.scale) + np.inf

    def mode(self) -> Any:
        return self.loc + zeros_like(self.scale)

    def entropy(self) -> Any:
        return math.log(2 * numbers.pi * self.scale) + zeros_like(self.loc)


class LogLogistic(Positive, method="loglogistic"):
    """The exponential of a logistic number: with the median ``alpha`` and the exponent ``beta``.

    The density of x is ``beta / alpha * (x / alpha)**(beta - 1) / (1 + (x / alpha)**beta)**2``.

    Parameters
    ----------
    alpha
        The median, also ``scale``.
    beta
        The exponent, also ``c``.

    Examples
    --------
    >>> from phintys.random import LogLogistic, logp
    >>> round(float(logp(LogLogistic(2.0, 3.0), 1.0).eval()), 6)
    -1.216395
    """

    defaults: ClassVar[dict[str, Any]] = {"alpha": 1.0, "beta": 1.0}
    domains: ClassVar[dict[str, Any]] = {"alpha": positive, "beta": positive}
    alternatives: ClassVar[Any] = {"scale": ("alpha", same), "c": ("beta", same)}

    def _log_odds(self, value: Any) -> Any:
        return self.beta * log_quotient(value, self.alpha)

    def _logp(self, value: Any) -> Any:
        inside = log_power(self.beta - 1, value, log_quotient(value, self.alpha))
        constant = math.log(self.beta / self.alpha)
        return inside + constant - 2 * special.softplus(self._log_odds(value))

    def _cdf(self, value: Any) -> Any:
        return math.sigmoid(self._log_odds(value))

    def _sf(self, value: Any) -> Any:
        return math.sigmoid(-self._log_odds(value))

    def _logcdf(self, value: Any) -> Any:
        return special.log_sigmoid(self._log_odds(value))

    def _logsf(self, value: Any) -> Any:
        return special.log_sigmoid(-self._log_odds(value))

    def _icdf(self, q: Any) -> Any:
        return self.alpha * math.power(q / (1 - q), 1 / self.beta)

    def _isf(self, q: Any) -> Any:
        return self.alpha * math.power(q / (1 - q), -1 / self.beta)

    def mean(self) -> Any:
        angle = numbers.pi / self.beta
        return math.switch(self.beta > 1, self.alpha * angle / math.sin(angle), np.inf)

    def variance(self) -> Any:
        angle = numbers.pi / self.beta
        squares = 2 * angle / math.sin(2 * angle) - math.sqr(angle / math.sin(angle))
        return math.switch(self.beta > 2, math.sqr(self.alpha) * squares, np.inf)

    def mode(self) -> Any:
        above = math.maximum((self.beta - 1) / (self.beta + 1), 0)
        return self.alpha * math.power(above, 1 / self.beta)

    def entropy(self) -> Any:
        return 2 + math.log(self.alpha / self.beta)


class Burr12(Positive, method="burr12"):
    """Burr's distribution of type XII, also known as Singh and Maddala's.

    The density of x is ``c * d / scale * (x / scale)**(c - 1) * (1 + (x / scale)**c)**(-d - 1)``.

    Parameters
    ----------
    c, d
        The shapes; the exponent of the tail is their product.
    scale
        The scale.

    Examples
    --------
    >>> from phintys.random import Burr12, logp
    >>> round(float(logp(Burr12(2.0, 3.0), 0.5).eval()), 6)
    0.206038
    """

    defaults: ClassVar[dict[str, Any]] = {"c": 1.0, "d": 1.0, "scale": 1.0}
    domains: ClassVar[dict[str, Any]] = {"c": positive, "d": positive}

    def _log1p_power(self, value: Any) -> Any:
        log_power = self.c * log_quotient(value, self.scale)
        return special.softplus(log_power)

    def _logcdf(self, value: Any) -> Any:
        log_power = self.c * log_quotient(value, self.scale)
        return log_of_hazard(self._logsf(value), math.log(self.d) + log_power)

    def _logp(self, value: Any) -> Any:
        inside = log_power(self.c - 1, value, log_quotient(value, self.scale))
        constant = math.log(self.c * self.d / self.scale)
        return constant + inside - (self.d + 1) * self._log1p_power(value)

    def _cdf(self, value: Any) -> Any:
        return -math.expm1(self._logsf(value))

    def _sf(self, value: Any) -> Any:
        return math.exp(self._logsf(value))

    def _logsf(self, value: Any) -> Any:
        return -self.d * self._log1p_power(value)

    def _icdf(self, q: Any) -> Any:
        less = math.expm1(-math.log1p(-q) / self.d)
        return self._of_odds(math.log1p(-q), less, 1 - q)

    def _isf(self, q: Any) -> Any:
        return self._of_odds(math.log(q), _power_less_one(q, -1 / self.d), q)

    def _of_odds(self, logarithm: Any, less: Any, above: Any) -> Any:
        """Return the quantile for ``less``, which is ``above**(-1 / d) - 1`` and may overflow."""
        is_far = logarithm < -_FAR * self.d
        near = math.power(math.switch(is_far, 1, less), 1 / self.c)
        far = math.power(math.switch(is_far, above, 1), -1 / self.d / self.c)
        return self.scale * math.switch(is_far, far, near)

    def _moment(self, n: int) -> Any:
        finite = self.d * special.beta(self.d - n / self.c, 1 + n / self.c)
        return math.power(self.scale, n) * math.switch(self.c * self.d > n, finite, np.inf)

    def mean(self) -> Any:
        return self._moment(1)

    def variance(self) -> Any:
        return self._moment(2) - math.sqr(self._moment(1))

    def entropy(self) -> Any:
        # log1p((x / scale)**c) is exponential with the mean 1 / d, and (x / scale)**c is a quotient
        # of gamma numbers of the shapes 1 and d.
        mean_log = -(EULER + special.digamma(self.d)) / self.c
        outer = (self.d + 1) / self.d - (self.c - 1) * mean_log
        return outer + math.log(self.scale / (self.c * self.d))


class Levy(LocationScale, method="levy"):
    """Levy's distribution: ``loc`` plus ``scale`` by the square of a normal number.

    The density of x is ``sqrt(scale / (2 * pi * (x - loc)**3)) * exp(-scale / (2 * (x - loc)))``.

    Parameters
    ----------
    loc
        The least number, also ``mu``.
    scale
        The scale, also ``sigma``.

    Examples
    --------
    >>> from phintys.random import Levy, logp
    >>> round(float(logp(Levy(0.0, 2.0), 1.0).eval()), 6)
    -1.572365
    """

    is_symmetric: ClassVar[bool] = False

    def support(self) -> tuple[Any, Any]:
        return self.loc, np.inf

    def _inner(self) -> Any:
        return self.loc + self.scale

    def sample(self, *bits: Any) -> Any:
        return self._at(1 / math.sqr(exact_normal(bits[0])))

    def _standard_logp(self, z: Any) -> Any:
        # At 0 the density has the limit 0, though both terms are infinite.
        logp = -0.5 / z - 1.5 * math.log(z) - 0.5 * numbers.log(2 * numbers.pi)
        return math.switch(math.le(z, 0), -np.inf, logp)

    def _standard_cdf(self, z: Any) -> Any:
        return special.erfc(math.sqrt(0.5 / z))

    def _standard_sf(self, z: Any) -> Any:
        return special.erf(math.sqrt(0.5 / z))

    def _standard_logcdf(self, z: Any) -> Any:
        return log_beyond(math.sqrt(1 / z))

    def _standard_icdf(self, q: Any) -> Any:
        return 0.5 / math.sqr(special.erfcinv(q))

    def _standard_isf(self, q: Any) -> Any:
        return 0.5 / math.sqr(special.erfinv(q))

    def _standard_mean(self) -> Any:
        return np.inf

    def _standard_variance(self) -> Any:
        return np.inf

    def mode(self) -> Any:
        return self.loc + self.scale / 3

    def _standard_entropy(self) -> Any:
        return 0.5 * (1 + 3 * EULER + numbers.log(16 * numbers.pi))
