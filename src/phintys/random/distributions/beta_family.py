"""The beta distribution, and quotients of gamma and normal numbers."""

from __future__ import annotations

import math as numbers
from typing import Any, ClassVar

import numpy as np

from phintys.random.distributions.base import Distribution, same
from phintys.random.distributions.checks import positive
from phintys.random.distributions.location_scale import LocationScale
from phintys.random.distributions.positive import Positive
from phintys.random.exact.functions import exact_normal
from phintys.random.samplers.gamma import (
    gamma_of_bits,
    log_gamma_of_bits,
    word_of,
)
from phintys.tensor import math, special

__all__ = ["Beta", "F", "HalfStudentT", "StudentT"]


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
        return special.betainc(self.beta, self.alpha, 1 - value)

    def _icdf(self, q: Any) -> Any:
        return special.betaincinv(self.alpha, self.beta, q)

    def _isf(self, q: Any) -> Any:
        return 1 - special.betaincinv(self.beta, self.alpha, q)

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
        return self.dfden / self.dfnum * math.exp(first - second)

    def _halves(self) -> tuple[Any, Any]:
        return 0.5 * self.dfnum, 0.5 * self.dfden

    def _share(self, value: Any) -> tuple[Any, Any]:
        """Return the numerator's share of all squares, and the denominator's."""
        numerator, total = self.dfnum * value, self.dfnum * value + self.dfden
        return numerator / total, self.dfden / total

    def _logp(self, value: Any) -> Any:
        a, b = self._halves()
        ratio = self.dfnum / self.dfden
        logs = special.xlogy(a, ratio) + special.xlogy(a - 1, value)
        return logs - (a + b) * math.log1p(ratio * value) - special.betaln(a, b)

    def _cdf(self, value: Any) -> Any:
        a, b = self._halves()
        return special.betainc(a, b, self._share(value)[0])

    def _sf(self, value: Any) -> Any:
        a, b = self._halves()
        return special.betainc(b, a, self._share(value)[1])

    def _icdf(self, q: Any) -> Any:
        a, b = self._halves()
        share = special.betaincinv(a, b, q)
        return self.dfden / self.dfnum * share / (1 - share)

    def _isf(self, q: Any) -> Any:
        a, b = self._halves()
        share = special.betaincinv(b, a, q)
        return self.dfden / self.dfnum * (1 - share) / share

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


def _tail(df: Any, z: Any) -> Any:
    """Return the probability of numbers above a positive one."""
    return 0.5 * special.betainc(0.5 * df, 0.5, df / (df + math.sqr(z)))


def _above_tail(df: Any, q: Any) -> Any:
    """Return the number above which numbers have a probability of at most 1/2."""
    # Of the two shares of df and z**2 the smaller one is found, so that both ends keep digits.
    is_far = q < 0.25
    far = special.betaincinv(0.5 * df, 0.5, math.switch(is_far, 2 * q, 0.5))
    near = special.betaincinv(0.5, 0.5 * df, math.switch(is_far, 0.5, 1 - 2 * q))
    return math.sqrt(df * math.switch(is_far, (1 - far) / far, near / (1 - near)))


def _quotient(bits: tuple[Any, ...], df: Any) -> Any:
    """Return standard draws: a normal number by the root of a mean square of others."""
    normal = exact_normal(word_of(bits[0], df.dtype))
    return normal * math.sqrt(0.5 * df / gamma_of_bits(bits[1], 0.5 * df))


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

    def _standard_logp(self, z: Any) -> Any:
        return _log_constant(self.df) - 0.5 * (self.df + 1) * math.log1p(math.sqr(z) / self.df)

    def _standard_cdf(self, z: Any) -> Any:
        tail = _tail(self.df, z)
        return math.switch(z < 0, tail, 1 - tail)

    def _standard_icdf(self, q: Any) -> Any:
        away = _above_tail(self.df, math.minimum(q, 1 - q))
        return math.switch(q < 0.5, -away, away)

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
        z = value / self.scale
        density = _log_constant(self.df) - 0.5 * (self.df + 1) * math.log1p(math.sqr(z) / self.df)
        return numbers.log(2) + density - math.log(self.scale)

    def _cdf(self, value: Any) -> Any:
        square = math.sqr(value / self.scale)
        return special.betainc(0.5, 0.5 * self.df, square / (self.df + square))

    def _sf(self, value: Any) -> Any:
        return 2 * _tail(self.df, value / self.scale)

    def _icdf(self, q: Any) -> Any:
        return self._isf(1 - q)

    def _isf(self, q: Any) -> Any:
        return self.scale * _above_tail(self.df, 0.5 * q)

    def mean(self) -> Any:
        at_zero = math.exp(_log_constant(self.df))
        return self.scale * math.switch(self.df > 1, 2 * at_zero * self.df / (self.df - 1), np.inf)

    def variance(self) -> Any:
        squares = math.switch(self.df > 2, self.df / (self.df - 2), np.inf)
        return math.sqr(self.scale) * squares - math.sqr(self.mean())

    def entropy(self) -> Any:
        return StudentT(self.df, 0.0, self.scale).entropy() - numbers.log(2)
