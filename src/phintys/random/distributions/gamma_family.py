"""The gamma distribution and those that are functions of gamma numbers."""

from __future__ import annotations

import math as numbers
from typing import Any, ClassVar

import numpy as np

from phintys.random.distributions.base import reciprocal, same
from phintys.random.distributions.checks import positive
from phintys.random.distributions.location_scale import EULER
from phintys.random.distributions.positive import Positive
from phintys.random.distributions.tails import (
    gamma_above,
    gamma_below,
    gamma_quantile,
    gamma_quantile_above,
    log_gamma_above,
    log_gamma_below,
    log_of_hazard,
    log_power,
)
from phintys.random.samplers.gamma import gamma_of_bits
from phintys.tensor import math, special
from phintys.tensor.creation import zeros_like


class PowerOfGamma(Positive):
    """``scale * g ** (1 / power)``, for a gamma number g of some shape.

    Subclasses say what the three are.
    """

    is_falling: ClassVar[bool] = False
    """Whether the power is negative, so that the value falls as the gamma number grows."""

    @property
    def bits_dtype(self) -> str:
        return "uint64"

    def _shape(self) -> Any:
        raise NotImplementedError

    def _scale(self) -> Any:
        raise NotImplementedError

    def _power(self) -> Any:
        return 1.0

    def _exponent(self) -> Any:
        """Return the exponent of the density at 0."""
        return self._shape() * self._power() - 1

    def sample(self, *bits: Any) -> Any:
        return self._of_gamma(gamma_of_bits(bits[0], self._shape()))

    def _of_gamma(self, number: Any) -> Any:
        power = self._power()
        if isinstance(power, float):
            number = {1.0: same, -1.0: math.reciprocal, 2.0: math.sqrt}[power](number)
        else:
            number = math.power(number, 1 / power)
        return math.mul(self._scale(), number)

    def _gamma_of(self, value: Any) -> Any:
        """Return the gamma number of a value."""
        z, power = value / self._scale(), self._power()
        if isinstance(power, float):
            return {1.0: same, 2.0: math.sqr}[power](z)
        return math.power(z, power)

    def _log_gamma_of(self, value: Any) -> Any:
        return self._power() * math.log(value / self._scale())

    def _logp(self, value: Any) -> Any:
        shape, power = self._shape(), self._power()
        inside = log_power(self._exponent(), value, math.log(value / self._scale()))
        density = inside - self._gamma_of(value)
        if self.is_falling:  # the difference of two infinities, of which the second is the larger
            density = math.switch(math.eq(value, 0), -numbers.inf, density)
        return density - special.gammaln(shape) + math.log(abs(power)) - math.log(self._scale())

    def _cdf(self, value: Any) -> Any:
        return self._above(value) if self.is_falling else self._below(value)

    def _sf(self, value: Any) -> Any:
        return self._below(value) if self.is_falling else self._above(value)

    def _below(self, value: Any) -> Any:
        """Return the probability of gamma numbers below that of a value."""
        number, power = self._gamma_of(value), self._power()
        if isinstance(power, float) and abs(power) == 1:
            return special.gammainc(self._shape(), number)
        return gamma_below(self._shape(), number, self._log_gamma_of(value))

    def _above(self, value: Any) -> Any:
        number, power = self._gamma_of(value), self._power()
        if isinstance(power, float) and abs(power) == 1:
            return special.gammaincc(self._shape(), number)
        return gamma_above(self._shape(), number, self._log_gamma_of(value))

    def _logcdf(self, value: Any) -> Any:
        return self._log_above(value) if self.is_falling else self._log_below(value)

    def _logsf(self, value: Any) -> Any:
        return self._log_below(value) if self.is_falling else self._log_above(value)

    def _log_below(self, value: Any) -> Any:
        """Return the logarithm of the probability of gamma numbers below that of a value."""
        logarithm = self._log_gamma_of(value)
        return log_gamma_below(self._shape(), self._gamma_of(value), logarithm)

    def _log_above(self, value: Any) -> Any:
        logarithm = self._log_gamma_of(value)
        return log_gamma_above(self._shape(), self._gamma_of(value), logarithm)

    def _icdf(self, q: Any) -> Any:
        quantile = gamma_quantile_above if self.is_falling else gamma_quantile
        return self._of_quantile(*quantile(self._shape(), q))

    def _isf(self, q: Any) -> Any:
        quantile = gamma_quantile if self.is_falling else gamma_quantile_above
        return self._of_quantile(*quantile(self._shape(), q))

    def _of_quantile(self, number: Any, logarithm: Any) -> Any:
        """Return the value of a gamma number, by its logarithm if it may have underflowed."""
        is_tiny = number < numbers.exp(-50)
        usual = self._of_gamma(math.switch(is_tiny, 1, number))
        tiny = self._scale() * math.exp(math.switch(is_tiny, logarithm, 0) / self._power())
        return math.switch(is_tiny, tiny, usual)

    def _moment(self, n: int) -> Any:
        """Return the mean of the n-th power."""
        shape, step = self._shape(), n / self._power()
        ratio = math.exp(special.gammaln(shape + step) - special.gammaln(shape))
        return math.power(self._scale(), n) * math.switch(shape + step > 0, ratio, numbers.inf)

    def mean(self) -> Any:
        return self._moment(1)

    def variance(self) -> Any:
        return self._moment(2) - math.sqr(self._moment(1))

    def mode(self) -> Any:
        above = self._shape() - 1 / self._power()
        return self._of_gamma(above if self.is_falling else math.maximum(above, 0))

    def entropy(self) -> Any:
        shape, power = self._shape(), self._power()
        slope = special.digamma(shape)
        logs = special.gammaln(shape) + math.log(self._scale()) - math.log(abs(power))
        return shape - (shape - 1 / power) * slope + logs


class Gamma(PowerOfGamma, method="gamma"):
    """The gamma distribution, by its shape and its scale or rate.

    The density of x is ``x**(shape - 1) * exp(-x / scale) / (gamma(shape) * scale**shape)``.

    Parameters
    ----------
    shape
        The shape, also ``alpha`` and ``a``.
    scale
        The scale; or its inverse as ``rate`` or ``beta``.

    Examples
    --------
    >>> from phintys.random import Gamma, logp
    >>> round(float(logp(Gamma(3.0, 2.0), 2.0).eval()), 6)
    -2.386294
    """

    defaults: ClassVar[dict[str, Any]] = {"shape": 1.0, "scale": 1.0}
    domains: ClassVar[dict[str, Any]] = {"shape": positive}
    alternatives: ClassVar[Any] = {
        "rate": ("scale", reciprocal),
        "alpha": ("shape", same),
        "a": ("shape", same),
        "beta": ("scale", reciprocal),
    }

    def _shape(self) -> Any:
        return self.shape

    def _scale(self) -> Any:
        return self.scale

    def mean(self) -> Any:
        return self.shape * self.scale

    def variance(self) -> Any:
        return self.shape * math.sqr(self.scale)


class ChiSquare(PowerOfGamma, method="chisquare"):
    """The distribution of the sum of ``df`` squares of standard normal numbers.

    The density of x is ``x**(df / 2 - 1) * exp(-x / 2) / (2**(df / 2) * gamma(df / 2))``.

    Parameters
    ----------
    df
        The degrees of freedom, also ``nu``.

    Examples
    --------
    >>> from phintys.random import ChiSquare, logp
    >>> round(float(logp(ChiSquare(3.0), 2.0).eval()), 6)
    -1.572365
    """

    defaults: ClassVar[dict[str, Any]] = {"df": 1.0}
    alternatives: ClassVar[Any] = {"nu": ("df", same)}

    def _shape(self) -> Any:
        return 0.5 * self.df

    def _scale(self) -> Any:
        return 2.0 + zeros_like(self.df)

    def mean(self) -> Any:
        return self.df

    def variance(self) -> Any:
        return 2 * self.df


class InverseGamma(PowerOfGamma, method="invgamma"):
    """The distribution of ``scale / g``, for a gamma number g of the shape and scale 1.

    The density of x is ``(scale / x)**shape * exp(-scale / x) / (x * gamma(shape))``.

    Parameters
    ----------
    shape, scale
        The shape and the scale, also ``alpha`` and ``beta``.

    Examples
    --------
    >>> from phintys.random import InverseGamma, logp
    >>> round(float(logp(InverseGamma(3.0, 2.0), 2.0).eval()), 6)
    -2.386294
    """

    defaults: ClassVar[dict[str, Any]] = {"shape": 1.0, "scale": 1.0}
    domains: ClassVar[dict[str, Any]] = {"shape": positive}
    alternatives: ClassVar[Any] = {"alpha": ("shape", same), "beta": ("scale", same)}
    is_falling: ClassVar[bool] = True

    def _shape(self) -> Any:
        return self.shape

    def _scale(self) -> Any:
        return self.scale

    def _power(self) -> Any:
        return -1.0

    def _gamma_of(self, value: Any) -> Any:
        return self.scale / value

    def mode(self) -> Any:
        return self.scale / (self.shape + 1)


class GeneralizedGamma(PowerOfGamma, method="gengamma"):
    """``lambd * g ** (1 / p)``, for a gamma number g of the shape ``alpha / p``.

    The density of x is ``p / lambd * (x / lambd)**(alpha - 1) * exp(-(x / lambd)**p) /
    gamma(alpha / p)``.

    Parameters
    ----------
    alpha, p
        The exponents at 0, and of the tail.
    lambd
        The scale.

    Examples
    --------
    >>> from phintys.random import GeneralizedGamma, logp
    >>> round(float(logp(GeneralizedGamma(3.0, 2.0, 1.5), 2.0).eval()), 6)
    -0.793949
    """

    defaults: ClassVar[dict[str, Any]] = {"alpha": 1.0, "p": 1.0, "lambd": 1.0}
    domains: ClassVar[dict[str, Any]] = {"alpha": positive, "p": positive, "lambd": positive}

    def _shape(self) -> Any:
        return self.alpha / self.p

    def _scale(self) -> Any:
        return self.lambd

    def _power(self) -> Any:
        return self.p

    def _exponent(self) -> Any:
        return self.alpha - 1


class Nakagami(PowerOfGamma, method="nakagami"):
    """The distribution of the root of a gamma number of shape ``nu`` and mean ``scale ** 2``.

    The density of x is ``2 * nu**nu / (gamma(nu) * scale**(2 * nu)) * x**(2 * nu - 1) * exp(-nu *
    (x / scale)**2)``.

    Parameters
    ----------
    nu
        The shape.
    scale
        The root of the mean of the squares.

    Examples
    --------
    >>> from phintys.random import Nakagami, logp
    >>> round(float(logp(Nakagami(2.0, 3.0), 1.0).eval()), 6)
    -2.53723
    """

    defaults: ClassVar[dict[str, Any]] = {"nu": 1.0, "scale": 1.0}
    domains: ClassVar[dict[str, Any]] = {"nu": positive}

    def _shape(self) -> Any:
        return self.nu

    def _scale(self) -> Any:
        # Finite, as gamma numbers of a tiny shape are 0.
        return math.minimum(self.scale / math.sqrt(self.nu), float(np.finfo(self.dtype).max))

    def _gamma_of(self, value: Any) -> Any:
        return self.nu * math.sqr(value / self.scale)  # its slope by nu has no factor of the scale

    def _power(self) -> Any:
        return 2.0


class Maxwell(PowerOfGamma, method="maxwell"):
    """The length of a vector of three normal numbers of mean 0 and standard deviation ``scale``.

    The density of x is ``sqrt(2 / pi) * x**2 / scale**3 * exp(-x**2 / (2 * scale**2))``.

    Parameters
    ----------
    scale
        The standard deviation of each of the numbers.

    Examples
    --------
    >>> from phintys.random import Maxwell, logp
    >>> round(float(logp(Maxwell(2.0), 1.0).eval()), 6)
    -2.430233
    """

    defaults: ClassVar[dict[str, Any]] = {"scale": 1.0}

    def _shape(self) -> Any:
        return 1.5 + zeros_like(self.scale)

    def _scale(self) -> Any:
        return numbers.sqrt(2) * self.scale

    def _power(self) -> Any:
        return 2.0


class Rayleigh(Positive, method="rayleigh"):
    """The length of a vector of two normal numbers of mean 0 and standard deviation ``scale``.

    The density of x is ``x / scale**2 * exp(-x**2 / (2 * scale**2))``.

    Parameters
    ----------
    scale
        The standard deviation of both numbers, also ``sigma``.

    Examples
    --------
    >>> from phintys.random import Rayleigh, logp
    >>> round(float(logp(Rayleigh(2.0), 1.0).eval()), 6)
    -1.511294
    """

    defaults: ClassVar[dict[str, Any]] = {"scale": 1.0}
    alternatives: ClassVar[Any] = {"sigma": ("scale", same)}

    def _logp(self, value: Any) -> Any:
        z = value / self.scale
        return math.log(z) - 0.5 * math.sqr(z) - math.log(self.scale)

    def _cdf(self, value: Any) -> Any:
        return -math.expm1(self._logsf(value))

    def _sf(self, value: Any) -> Any:
        return math.exp(self._logsf(value))

    def _logcdf(self, value: Any) -> Any:
        # The square of a small number may underflow.
        return log_of_hazard(self._logsf(value), 2 * math.log(value / self.scale) - numbers.log(2))

    def _logsf(self, value: Any) -> Any:
        return -0.5 * math.sqr(value / self.scale)

    def _icdf(self, q: Any) -> Any:
        return self.scale * math.sqrt(-2 * math.log1p(-q))

    def _isf(self, q: Any) -> Any:
        return self.scale * math.sqrt(-2 * math.log(q))

    def mean(self) -> Any:
        return numbers.sqrt(numbers.pi / 2) * self.scale

    def variance(self) -> Any:
        return (2 - numbers.pi / 2) * math.sqr(self.scale)

    def mode(self) -> Any:
        return self.scale

    def entropy(self) -> Any:
        return 1 + math.log(self.scale / numbers.sqrt(2)) + 0.5 * EULER
