"""Distributions on the real line, and of waiting times, that are not symmetric."""

from __future__ import annotations

import math as numbers
from typing import Any, ClassVar

import numpy as np

from phintys.random.distributions.base import Distribution, log_by_rest, same
from phintys.random.distributions.checks import positive
from phintys.random.distributions.location_scale import EULER, LocationScale
from phintys.random.distributions.normal_integrals import (
    log_skew_fall,
    log_skew_rest,
    log_sum_fall,
    log_sum_rest,
    log_waiting,
)
from phintys.random.distributions.positive import Positive
from phintys.random.distributions.tails import log_beyond
from phintys.random.exact.functions import exact_exponential, exact_normal
from phintys.random.exact.uniform import open_uniform
from phintys.tensor import math, special
from phintys.tensor.elemwise import elemwise

LOG_ROOT_TWO_PI = 0.5 * numbers.log(2 * numbers.pi)


_MANY = 40.0
_FAR = 40.0


def _scaled_exp1(x: Any) -> Any:
    """Return ``exp(x) * exp1(x)``, for a large x by its continued fraction."""
    is_large = x > _MANY
    near, far = math.switch(is_large, 1.0, x), math.switch(is_large, x, _MANY)
    fraction: Any = far
    for k in range(12, 0, -1):
        fraction = far + k / (1 + k / fraction)
    return math.switch(is_large, 1 / fraction, math.exp(near) * special.exp1(near))


def _log_sum_cdf(z: Any, rate: Any) -> Any:
    """Return the log-probability up to z of a normal number plus an exponential one."""
    return elemwise(log_sum_rest)(z, rate) + log_sum_fall(z)


class Wald(Positive, method="wald"):
    """The inverse Gaussian distribution: when Brownian motion with drift first passes a level.

    The density of x is ``sqrt(scale / (2 * pi * x**3)) * exp(-scale * (x - mean)**2 / (2 *
    mean**2 * x))``.

    Parameters
    ----------
    mean
        The mean, also ``mu``.
    scale
        The shape: the cube of the mean over the variance; also ``lam``.

    Examples
    --------
    >>> from phintys.random import Wald, logp
    >>> round(float(logp(Wald(1.0, 2.0), 0.5).eval()), 6)
    -0.032644
    """

    defaults: ClassVar[dict[str, Any]] = {"mean": 1.0, "scale": 1.0}
    domains: ClassVar[dict[str, Any]] = {"mean": positive, "scale": positive}
    alternatives: ClassVar[Any] = {"mu": ("mean", same), "lam": ("scale", same)}
    words: int = 2

    @property
    def _mu(self) -> Any:
        return self.parameters["mean"]

    def sample(self, *bits: Any) -> Any:
        """Return one of the two roots of Michael, Schucany and Haas's quadratic equation."""
        half = 0.5 * math.sqr(exact_normal(bits[0])) * self._mu / self.scale
        # The smaller root over the mean: 1 + half - sqrt(half * (half + 2)), without cancellation.
        root = 1 / (1 + half + math.sqrt(half * (half + 2)))
        is_smaller = open_uniform(bits[1], self.dtype) * (1 + root) <= 1
        return self._mu * math.switch(is_smaller, root, 1 / root)

    def _logp(self, value: Any) -> Any:
        # Far from the mean, (x - mu) / mu has a derivative in mu whose terms cancel.
        is_near = abs(value - self._mu) < 0.5 * self._mu
        near = math.switch(is_near, value - self._mu, 0) / self._mu
        relative = math.switch(is_near, near, value / self._mu - 1)
        # A square, so that no factor of a derivative by the mean is a square of it.
        away = 0.5 * math.sqr(math.sqrt(self.scale / value) * relative)
        logp = 0.5 * math.log(self.scale) - 1.5 * math.log(value) - LOG_ROOT_TWO_PI - away
        return math.switch(math.le(value, 0), -np.inf, logp)

    def _ends(self, value: Any) -> tuple[Any, Any, Any]:
        root = math.sqrt(self.scale / value)
        return root * (value / self._mu - 1), root * (value / self._mu + 1), self.scale / self._mu

    def _logcdf(self, value: Any) -> Any:
        low, high, ratio = self._ends(value)
        below = math.logaddexp(special.log_ndtr(low), 2 * ratio + special.log_ndtr(-high))
        return log_by_rest(below, self._sf(value))

    def _logsf(self, value: Any) -> Any:
        # With z = -low and the rate high - low, exp(2 * ratio) is that of the sum.
        low, _, _ = self._ends(value)
        return _log_sum_cdf(-low, 2 * math.sqrt(self.scale / value))

    def _cdf(self, value: Any) -> Any:
        return math.exp(self._logcdf(value))

    def _sf(self, value: Any) -> Any:
        return math.exp(self._logsf(value))

    def mean(self) -> Any:
        return self._mu

    def variance(self) -> Any:
        return math.power(self._mu, 3) / self.scale

    def mode(self) -> Any:
        half = 1.5 * self._mu / self.scale
        return self._mu / (half + math.sqrt(1 + math.sqr(half)))

    def entropy(self) -> Any:
        # The mean of log(x / mean) is minus exp(r) E1(r), in a scaled form that does not overflow.
        ratio = 2 * self.scale / self._mu
        spread = LOG_ROOT_TWO_PI + 0.5 + 1.5 * math.log(self._mu) - 0.5 * math.log(self.scale)
        return spread - 1.5 * _scaled_exp1(ratio)


class SkewNormal(LocationScale, method="skewnormal"):
    """Azzalini's distribution: a normal density, times a normal distribution function.

    The density of x is ``2 * exp(-((x - loc) / scale)**2 / 2) * ndtr(alpha * (x - loc) / scale) /
    (scale * sqrt(2 * pi))``.

    Parameters
    ----------
    loc, scale
        The location and the scale, also ``mu`` and ``sigma``.
    alpha
        The skewness: at 0 the numbers are normal.

    Examples
    --------
    >>> from phintys.random import SkewNormal, logp
    >>> round(float(logp(SkewNormal(0.0, 2.0, 3.0), 1.0).eval()), 6)
    -1.113082
    """

    defaults: ClassVar[dict[str, Any]] = {"loc": 0.0, "scale": 1.0, "alpha": 0.0}
    is_symmetric: ClassVar[bool] = False
    words: int = 2

    def sample(self, *bits: Any) -> Any:
        first, second = map(exact_normal, bits)
        return self._at((self.alpha * abs(first) + second) / math.sqrt(1 + math.sqr(self.alpha)))

    def _standard_logp(self, z: Any) -> Any:
        normal = -0.5 * math.sqr(z) - LOG_ROOT_TWO_PI
        return numbers.log(2) + normal + special.log_ndtr(self.alpha * z)

    def _standard_logcdf(self, z: Any) -> Any:
        return self._lower_tail(z, self.alpha)

    def _lower_tail(self, z: Any, alpha: Any) -> Any:
        return elemwise(log_skew_rest)(z, alpha) + log_skew_fall(z, alpha)

    def _standard_logsf(self, z: Any) -> Any:
        return self._lower_tail(-z, -self.alpha)

    def _standard_cdf(self, z: Any) -> Any:
        return math.exp(self._standard_logcdf(z))

    def _standard_sf(self, z: Any) -> Any:
        return math.exp(self._standard_logsf(z))

    def _standard_mean(self) -> Any:
        return numbers.sqrt(2 / numbers.pi) * self.alpha / math.sqrt(1 + math.sqr(self.alpha))

    def _standard_variance(self) -> Any:
        return 1 - math.sqr(self._standard_mean())

    def mode(self) -> Any:
        raise self._lacks("mode")


class ExGaussian(Distribution, method="exgaussian"):
    """The sum of a normal number and an exponential one of mean ``nu``.

    The density of x is ``exp((mu - x) / nu + (sigma / nu)**2 / 2) * ndtr((x - mu) / sigma - sigma
    / nu) / nu``.

    Parameters
    ----------
    mu, sigma
        The mean and the standard deviation of the normal number.
    nu
        The mean of the exponential one.

    Examples
    --------
    >>> from phintys.random import ExGaussian, logp
    >>> round(float(logp(ExGaussian(0.0, 1.0, 2.0), 1.0).eval()), 6)
    -1.437094
    """

    defaults: ClassVar[dict[str, Any]] = {"mu": 0.0, "sigma": 1.0, "nu": 1.0}
    domains: ClassVar[dict[str, Any]] = {"nu": positive, "sigma": positive}
    words: int = 2

    def sample(self, *bits: Any) -> Any:
        normal, wait = exact_normal(bits[0]), exact_exponential(bits[1])
        return self.mu + self.sigma * normal + self.nu * wait

    def _parts(self, value: Any) -> tuple[Any, Any]:
        """Return the standard normal number of a value, and the rate in its unit."""
        return (value - self.mu) / self.sigma, self.sigma / self.nu

    def _waiting(self, value: Any) -> Any:
        return log_waiting(*self._parts(value), (value - self.mu) / self.nu)

    def _logp(self, value: Any) -> Any:
        return self._waiting(value) - math.log(self.nu)

    def _cdf(self, value: Any) -> Any:
        return math.exp(self._logcdf(value))

    def _sf(self, value: Any) -> Any:
        return math.exp(self._logsf(value))

    def _logcdf(self, value: Any) -> Any:
        return _log_sum_cdf(*self._parts(value))

    def _logsf(self, value: Any) -> Any:
        z, _ = self._parts(value)
        above = math.logaddexp(special.log_ndtr(-z), self._waiting(value))
        return log_by_rest(above, self._cdf(value))

    def mean(self) -> Any:
        return self.mu + self.nu + 0 * self.sigma

    def variance(self) -> Any:
        return math.sqr(self.sigma) + math.sqr(self.nu) + 0 * self.mu


class AsymmetricLaplace(LocationScale, method="asymmetriclaplace"):
    """Laplace numbers with the rates ``kappa / scale`` above, ``1 / (kappa scale)`` below.

    The density of x is ``exp(-(x - loc) / scale * where(x < loc, -1 / kappa, kappa)) / (scale *
    (kappa + 1 / kappa))``.

    Parameters
    ----------
    kappa
        How much steeper the density falls above than below: the square root of the quotient.
    loc
        Where the density is largest, also ``mu``.
    scale
        The scale.

    Examples
    --------
    >>> from phintys.random import AsymmetricLaplace, logp
    >>> round(float(logp(AsymmetricLaplace(2.0, 0.0, 1.0), 1.0).eval()), 6)
    -2.916291
    """

    defaults: ClassVar[dict[str, Any]] = {"kappa": 1.0, "loc": 0.0, "scale": 1.0}
    domains: ClassVar[dict[str, Any]] = {"kappa": positive}
    alternatives: ClassVar[Any] = {"mu": ("loc", same)}
    is_symmetric: ClassVar[bool] = False

    def _sides(self) -> tuple[Any, Any]:
        """Return the probabilities of numbers below ``loc``, and above it."""
        return 1 / (1 + math.sqr(1 / self.kappa)), 1 / (1 + math.sqr(self.kappa))

    def _standard_logp(self, z: Any) -> Any:
        slope = math.switch(z < 0, 1 / self.kappa, -self.kappa)
        return z * slope - math.log(self.kappa + 1 / self.kappa)

    def _standard_logcdf(self, z: Any) -> Any:
        return self._log_side(z / self.kappa, z * self.kappa, *self._sides())

    def _standard_logsf(self, z: Any) -> Any:
        return self._log_side(-z * self.kappa, -z / self.kappa, *reversed(self._sides()))

    def _log_side(self, inside: Any, beyond: Any, share: Any, rest: Any) -> Any:
        """Return the logarithm of the probability of a side, which has a share of all numbers.

        It falls as ``exp(inside)`` on that side, and rises by ``rest * (1 - exp(-beyond))`` after.
        """
        is_inside = inside < 0
        log_share = math.switch(share < 0.5, math.log(share), math.log1p(-math.minimum(rest, 0.5)))
        tail = log_share + math.minimum(inside, 0)
        left = rest * math.exp(-math.maximum(beyond, 0))
        whole = share - rest * math.expm1(-math.maximum(beyond, 0))
        after = math.switch(left < 0.5, math.log1p(-math.minimum(left, 0.5)), math.log(whole))
        return math.switch(is_inside, tail, after)

    def _standard_cdf(self, z: Any) -> Any:
        return math.exp(self._standard_logcdf(z))

    def _standard_sf(self, z: Any) -> Any:
        return math.exp(self._standard_logsf(z))

    def _standard_icdf(self, q: Any) -> Any:
        return self._quantile(q, self.kappa, 1 / self.kappa, *self._sides())

    def _standard_isf(self, q: Any) -> Any:
        return -self._quantile(q, 1 / self.kappa, self.kappa, *reversed(self._sides()))

    def _quantile(self, q: Any, below: Any, above: Any, share: Any, rest: Any) -> Any:
        """Return a quantile, by the widths and the shares of numbers below 0 and above it."""
        gap = math.switch(share < 0.5, share - q, (1 - q) - rest) / rest
        near = math.log1p(math.maximum(gap, -0.5))
        away = math.switch(gap > -0.5, near, math.log1p(-q) - math.log(rest))
        return math.switch(q < share, below * math.log(q / share), -above * away)

    def _standard_mean(self) -> Any:
        return 1 / self.kappa - self.kappa

    def _standard_variance(self) -> Any:
        return math.sqr(1 / self.kappa) + math.sqr(self.kappa)

    def _standard_entropy(self) -> Any:
        return 1 + math.log(self.kappa + 1 / self.kappa)


class Moyal(LocationScale, method="moyal"):
    """Moyal's distribution of losses of energy: minus the logarithm of a squared normal number.

    The density of x is ``exp(-((x - loc) / scale + exp(-(x - loc) / scale)) / 2) / (scale *
    sqrt(2 * pi))``.

    Parameters
    ----------
    loc, scale
        The mode and the scale, also ``mu`` and ``sigma``.

    Examples
    --------
    >>> from phintys.random import Moyal, logp
    >>> round(float(logp(Moyal(0.0, 2.0), 1.0).eval()), 6)
    -2.165351
    """

    is_symmetric: ClassVar[bool] = False

    def sample(self, *bits: Any) -> Any:
        return self._at(-2 * math.log(abs(exact_normal(bits[0]))))

    def _standard_logp(self, z: Any) -> Any:
        return -0.5 * (z + math.exp(-z)) - LOG_ROOT_TWO_PI

    def _standard_cdf(self, z: Any) -> Any:
        return special.erfc(math.exp(-0.5 * z) / numbers.sqrt(2))

    def _standard_sf(self, z: Any) -> Any:
        return special.erf(math.exp(-0.5 * z) / numbers.sqrt(2))

    def _standard_logcdf(self, z: Any) -> Any:
        return log_beyond(math.exp(-0.5 * z))

    def _standard_logsf(self, z: Any) -> Any:
        is_far = z > _FAR  # the root of the density, which may underflow, is that of a uniform one
        near = super()._standard_logsf(math.switch(is_far, 0, z))
        return math.switch(is_far, 0.5 * numbers.log(2 / numbers.pi) - 0.5 * z, near)

    def _standard_icdf(self, q: Any) -> Any:
        return -2 * math.log(numbers.sqrt(2) * special.erfcinv(q))

    def _standard_isf(self, q: Any) -> Any:
        return -2 * math.log(numbers.sqrt(2) * special.erfinv(q))

    def _standard_mean(self) -> Any:
        return EULER + numbers.log(2)

    def _standard_variance(self) -> Any:
        return 0.5 * numbers.pi**2

    def _standard_entropy(self) -> Any:
        return 0.5 * (EULER + numbers.log(2) + 1) + LOG_ROOT_TWO_PI
