"""The beta distribution, and quotients of gamma and normal numbers."""

from __future__ import annotations

import math as numbers
from typing import Any, ClassVar

import numpy as np

from phintys.random.distributions.base import Distribution, same
from phintys.random.distributions.checks import positive
from phintys.random.distributions.location_scale import LocationScale
from phintys.random.distributions.positive import Positive
from phintys.random.distributions.tails import (
    beta_above,
    beta_below,
    beta_quantile,
    beta_quantile_above,
    log1p_quotient,
    log_beta_below,
)
from phintys.random.exact.functions import exact_normal
from phintys.random.samplers.gamma import (
    gamma_of_bits,
    log_gamma_of_bits,
    word_of,
)
from phintys.tensor import math, special
from phintys.tensor.creation import zeros_like


class Beta(Distribution, method="beta"):
    """The beta distribution on the numbers from 0 to 1.

    The density of x is ``x**(alpha - 1) * (1 - x)**(beta - 1) / B(alpha, beta)``.

    Parameters
    ----------
    alpha, beta
        The shapes, also ``a`` and ``b``.

    Examples
    --------
    >>> from phintys.random import Beta, logp
    >>> round(float(logp(Beta(2.0, 3.0), 0.5).eval()), 6)
    0.405465
    """

    defaults: ClassVar[dict[str, Any]] = {"alpha": 1.0, "beta": 1.0}
    domains: ClassVar[dict[str, Any]] = {"alpha": positive, "beta": positive}
    alternatives: ClassVar[Any] = {"a": ("alpha", same), "b": ("beta", same)}
    words: int = 2

    def support(self) -> tuple[Any, Any]:
        return 0.0, 1.0

    @property
    def bits_dtype(self) -> str:
        return "uint64"

    def sample(self, *bits: Any) -> Any:
        parameters = (self.alpha, self.beta)
        first, second = (log_gamma_of_bits(b, p) for b, p in zip(bits, parameters, strict=True))
        return math.sigmoid(first - second)

    def _logp(self, value: Any) -> Any:
        ends = special.xlogy(self.alpha - 1, value) + special.xlog1py(self.beta - 1, -value)
        return ends - special.betaln(self.alpha, self.beta)

    def _cdf(self, value: Any) -> Any:
        return special.betainc(self.alpha, self.beta, value)

    def _sf(self, value: Any) -> Any:
        return beta_above(self.alpha, self.beta, value)

    def _logcdf(self, value: Any) -> Any:
        logs = math.log(value), math.log1p(-value)
        return log_beta_below(self.alpha, self.beta, value, 1 - value, *logs)

    def _logsf(self, value: Any) -> Any:
        logs = math.log1p(-value), math.log(value)
        return log_beta_below(self.beta, self.alpha, 1 - value, value, *logs)

    def _icdf(self, q: Any) -> Any:
        return beta_quantile(self.alpha, self.beta, q)[0]

    def _isf(self, q: Any) -> Any:
        return beta_quantile_above(self.alpha, self.beta, q)[0]

    def mean(self) -> Any:
        return self.alpha / (self.alpha + self.beta)

    def variance(self) -> Any:
        total = self.alpha + self.beta
        return self.alpha * self.beta / (math.sqr(total) * (total + 1))

    def mode(self) -> Any:
        return (self.alpha - 1) / (self.alpha + self.beta - 2)

    def entropy(self) -> Any:
        a, b = self.alpha, self.beta
        each = (a - 1) * special.digamma(a) + (b - 1) * special.digamma(b)
        return special.betaln(a, b) - each + (a + b - 2) * special.digamma(a + b)


class F(Positive, method="f"):
    """The distribution of the quotient of two mean squares of normal numbers.

    The density of x is ``sqrt((dfnum * x)**dfnum * dfden**dfden / (dfnum * x + dfden)**(dfnum +
    dfden)) / (x * B(dfnum / 2, dfden / 2))``.

    Parameters
    ----------
    dfnum, dfden
        The degrees of freedom of the numerator and of the denominator.

    Examples
    --------
    >>> from phintys.random import F, logp
    >>> round(float(logp(F(3.0, 5.0), 0.5).eval()), 6)
    -0.53441
    """

    defaults: ClassVar[dict[str, Any]] = {"dfnum": 1.0, "dfden": 1.0}
    domains: ClassVar[dict[str, Any]] = {"dfnum": positive, "dfden": positive}
    words: int = 2

    @property
    def bits_dtype(self) -> str:
        return "uint64"

    def sample(self, *bits: Any) -> Any:
        first = log_gamma_of_bits(bits[0], 0.5 * self.dfnum)
        second = log_gamma_of_bits(bits[1], 0.5 * self.dfden)
        # Neither 0 nor infinite, as the other factor may be infinite or 0.
        info = np.finfo(self.dtype)
        ratio = math.clip(self.dfden / self.dfnum, float(info.tiny), float(info.max))
        return ratio * math.exp(first - second)

    def _halves(self) -> tuple[Any, Any]:
        return 0.5 * self.dfnum, 0.5 * self.dfden

    def _shares(self, value: Any) -> tuple[Any, Any, Any, Any]:
        """Return the shares of numerator and denominator in all squares, and their logarithms."""
        odds = self.dfnum / self.dfden * value
        rest = 1 / (1 + odds)
        return odds * rest, rest, -math.log1p(1 / odds), -math.log1p(odds)

    def _logp(self, value: Any) -> Any:
        a, b = self._halves()
        ratio = self.dfnum / self.dfden
        logs = special.xlogy(a, ratio) + special.xlogy(a - 1, value)
        slope = log1p_quotient(value, self.dfden, 1 / self.dfnum)
        return logs - (a + b) * slope - special.betaln(a, b)

    def _cdf(self, value: Any) -> Any:
        a, b = self._halves()
        share, rest, log_share, _ = self._shares(value)
        return beta_below(a, b, share, rest, log_share)

    def _sf(self, value: Any) -> Any:
        a, b = self._halves()
        share, rest, _, log_rest = self._shares(value)
        return beta_below(b, a, rest, share, log_rest)

    def _logcdf(self, value: Any) -> Any:
        return log_beta_below(*self._halves(), *self._shares(value))

    def _logsf(self, value: Any) -> Any:
        a, b = self._halves()
        share, rest, log_share, log_rest = self._shares(value)
        return log_beta_below(b, a, rest, share, log_rest, log_share)

    def _icdf(self, q: Any) -> Any:
        a, b = self._halves()
        return self._of_shares(beta_quantile(a, b, q), beta_quantile_above(b, a, q))

    def _isf(self, q: Any) -> Any:
        a, b = self._halves()
        return self._of_shares(beta_quantile_above(a, b, q), beta_quantile(b, a, q))

    def _of_shares(self, share: tuple[Any, Any], rest: tuple[Any, Any]) -> Any:
        """Return the value of two shares, each with its logarithm, as both may underflow."""
        return self.dfden / self.dfnum * _ratio(share, rest)

    def mean(self) -> Any:
        return math.switch(self.dfden > 2, self.dfden / (self.dfden - 2), np.inf)

    def variance(self) -> Any:
        m, n = self.dfnum, self.dfden
        finite = 2 * math.sqr(n) * (m + n - 2) / (m * math.sqr(n - 2) * (n - 4))
        return math.switch(n > 4, finite, np.inf)

    def entropy(self) -> Any:
        a, b = self._halves()
        slopes = (1 - a) * special.digamma(a) - (1 + b) * special.digamma(b)
        logs = math.log(self.dfden / self.dfnum) + special.betaln(a, b)
        return logs + slopes + (a + b) * special.digamma(a + b)


def _log_constant(df: Any) -> Any:
    """Return the logarithm of the standard density at 0."""
    return -special.betaln(0.5 * df, 0.5) - 0.5 * math.log(df)


def _ratio(share: tuple[Any, Any], rest: tuple[Any, Any], power: float = 1.0) -> Any:
    """Return a power of the quotient of two shares, each with its logarithm.

    Both shares may underflow, and so may the quotient where its root does not.
    """
    (x, log_x), (y, log_y) = share, rest
    is_tiny = math.minimum(x, y) < numbers.exp(-50)
    tiny = math.exp(power * math.switch(is_tiny, log_x - log_y, 0.0))
    usual = math.switch(is_tiny, 1, x) / math.switch(is_tiny, 1, y)
    return math.switch(is_tiny, tiny, math.power(usual, power))


def _shares_of(df: Any, z: Any) -> tuple[Any, Any, Any, Any]:
    """Return the shares of df and of ``z**2`` in their sum, and their logarithms."""
    ratio = abs(z) / math.sqrt(df)
    length = math.hypot(1, ratio)
    log_share = -log1p_quotient(abs(z), math.sqrt(df), power=2)
    shares = math.sqr(1 / length), math.sqr(ratio / length)
    return (*shares, log_share, log_share + 2 * math.log(ratio))


def _half(df: Any) -> Any:
    """Return the shape of one square, in the dtype of the other."""
    return zeros_like(df) + 0.5


def _tail(df: Any, z: Any) -> Any:
    """Return the probability of numbers beyond z, on both sides."""
    share, rest, log_share, _ = _shares_of(df, z)
    return beta_below(0.5 * df, _half(df), share, rest, log_share)


def _log_tail(df: Any, z: Any) -> Any:
    """Return the logarithm of the probability of numbers beyond z, on both sides."""
    share, rest, log_share, log_rest = _shares_of(df, z)
    return log_beta_below(0.5 * df, _half(df), share, rest, log_share, log_rest)


def _beyond(df: Any, q: Any) -> Any:
    """Return the number beyond which numbers have the probability q, on both sides."""
    half = _half(df)
    share, rest = beta_quantile(0.5 * df, half, q), beta_quantile_above(half, 0.5 * df, q)
    return math.sqrt(df) * _ratio(rest, share, 0.5)


def _quotient(bits: tuple[Any, ...], df: Any) -> Any:
    """Return standard draws: a normal number by the root of a mean square of others."""
    normal = exact_normal(word_of(bits[0], df.dtype))
    half = math.maximum(0.5 * df, float(np.finfo(df.dtype).tiny))
    return normal * math.sqrt(half / gamma_of_bits(bits[1], half))


class StudentT(LocationScale, method="t"):
    """Student's t distribution, with ``df`` degrees of freedom.

    The density of x is ``(1 + ((x - loc) / scale)**2 / df)**(-(df + 1) / 2) / (scale * sqrt(df) *
    B(df / 2, 1 / 2))``.

    Parameters
    ----------
    df
        The degrees of freedom, also ``nu``.
    loc, scale
        The location and the scale, also ``mu`` and ``sigma``.

    Examples
    --------
    >>> from phintys.random import StudentT, logp
    >>> round(float(logp(StudentT(3.0, 0.0, 2.0), 0.5).eval()), 6)
    -1.735275
    """

    defaults: ClassVar[dict[str, Any]] = {"df": 1.0, "loc": 0.0, "scale": 1.0}
    alternatives: ClassVar[Any] = {"nu": ("df", same), **LocationScale.alternatives}
    words: int = 2

    @property
    def bits_dtype(self) -> str:
        return "uint64"

    def sample(self, *bits: Any) -> Any:
        return self._at(_quotient(bits, self.df))

    def _logp(self, value: Any) -> Any:
        slope = log1p_quotient(abs(value - self.loc), self.scale, math.sqrt(self.df), power=2)
        return _log_constant(self.df) - 0.5 * (self.df + 1) * slope - math.log(self.scale)

    # At the centre the square of z has no slope, and its logarithm an infinite one.
    def _is_central(self, z: Any) -> Any:
        """Return whether z is so small that probabilities are linear."""
        return math.sqr(z) < float(np.finfo(z.dtype).eps) * math.minimum(self.df, 1)

    def _central(self, z: Any) -> tuple[Any, Any, Any]:
        """Return whether z is central, the excess of probabilities there, and others."""
        is_central = self._is_central(z)
        excess = math.switch(is_central, z, 0) * math.exp(_log_constant(self.df))
        return is_central, excess, math.switch(is_central, 1, z)

    def _standard_cdf(self, z: Any) -> Any:
        is_central, excess, away = self._central(z)
        tail = 0.5 * _tail(self.df, away)
        return math.switch(is_central, 0.5 + excess, math.switch(z < 0, tail, 1 - tail))

    def _standard_logcdf(self, z: Any) -> Any:
        is_central, excess, away = self._central(z)
        tail = _log_tail(self.df, away) - numbers.log(2)
        others = math.switch(z < 0, tail, math.log1p(-math.exp(tail)))
        return math.switch(is_central, math.log1p(2 * excess) - numbers.log(2), others)

    def _standard_icdf(self, q: Any) -> Any:
        central = (q - 0.5) * math.exp(-_log_constant(self.df))
        is_central = self._is_central(central)
        away = _beyond(self.df, 2 * math.switch(is_central, 0.25, math.minimum(q, 1 - q)))
        return math.switch(is_central, central, math.switch(q < 0.5, -away, away))

    def _standard_mean(self) -> Any:
        return math.switch(self.df > 1, 0.0, np.nan)

    def _standard_variance(self) -> Any:
        finite = self.df / (self.df - 2)
        return math.switch(self.df > 2, finite, math.switch(self.df > 1, np.inf, np.nan))

    def _standard_entropy(self) -> Any:
        half = 0.5 * self.df
        slopes = special.digamma(half + 0.5) - special.digamma(half)
        return (half + 0.5) * slopes - _log_constant(self.df)


class HalfStudentT(Positive, method="halfstudentt"):
    """The absolute value of a number of Student's t distribution with ``loc`` 0.

    The density of x is ``2 / (scale * sqrt(df) * B(df / 2, 1 / 2)) * (1 + (x / scale)**2 /
    df)**(-(df + 1) / 2)``.

    Parameters
    ----------
    df
        The degrees of freedom, also ``nu``.
    scale
        The scale, also ``sigma``.

    Examples
    --------
    >>> from phintys.random import HalfStudentT, logp
    >>> round(float(logp(HalfStudentT(3.0, 2.0), 0.5).eval()), 6)
    -1.042127
    """

    defaults: ClassVar[dict[str, Any]] = {"df": 1.0, "scale": 1.0}
    alternatives: ClassVar[Any] = {"nu": ("df", same), "sigma": ("scale", same)}
    words: int = 2

    @property
    def bits_dtype(self) -> str:
        return "uint64"

    def sample(self, *bits: Any) -> Any:
        return self.scale * abs(_quotient(bits, self.df))

    def _logp(self, value: Any) -> Any:
        slope = log1p_quotient(value, self.scale, math.sqrt(self.df), power=2)
        density = _log_constant(self.df) - 0.5 * (self.df + 1) * slope
        return numbers.log(2) + density - math.log(self.scale)

    def _cdf(self, value: Any) -> Any:
        z = value / self.scale
        share, rest, _, log_rest = _shares_of(self.df, z)
        below = beta_below(_half(self.df), 0.5 * self.df, rest, share, log_rest)
        # A small power of a share that underflows may still be far from 0.
        is_far = share < float(np.finfo(share.dtype).tiny)
        return math.switch(is_far, 1 - _tail(self.df, z), below)

    def _sf(self, value: Any) -> Any:
        return _tail(self.df, value / self.scale)

    def _logcdf(self, value: Any) -> Any:
        share, rest, log_share, log_rest = _shares_of(self.df, value / self.scale)
        shapes = _half(self.df), 0.5 * self.df
        return log_beta_below(*shapes, rest, share, log_rest, log_share)

    def _logsf(self, value: Any) -> Any:
        return _log_tail(self.df, value / self.scale)

    def _icdf(self, q: Any) -> Any:
        share = beta_quantile_above(0.5 * self.df, _half(self.df), q)
        rest = beta_quantile(_half(self.df), 0.5 * self.df, q)
        return self.scale * math.sqrt(self.df) * _ratio(rest, share, 0.5)

    def _isf(self, q: Any) -> Any:
        return self.scale * _beyond(self.df, q)

    def mean(self) -> Any:
        at_zero = math.exp(_log_constant(self.df))
        return self.scale * math.switch(self.df > 1, 2 * at_zero * self.df / (self.df - 1), np.inf)

    def variance(self) -> Any:
        squares = math.switch(self.df > 2, self.df / (self.df - 2), np.inf)
        return math.sqr(self.scale) * squares - math.sqr(self.mean())

    def entropy(self) -> Any:
        return StudentT(self.df, 0.0, self.scale).entropy() - numbers.log(2)
