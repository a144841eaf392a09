"""Distributions of directions, and of vectors with heavy tails."""

from __future__ import annotations

import math as numbers
from typing import Any, ClassVar

import numpy as np

from phintys import scalar as ps
from phintys._base.uninterrupted import import_whole
from phintys.random.distributions.checks import nonnegative, positive, unit_length
from phintys.random.distributions.gaussian import (
    LOG_TWO_PI,
    log_diagonal,
    solved,
    standard_normal,
    times,
)
from phintys.random.distributions.multivariate import Multivariate, Source
from phintys.random.exact.functions import exact_cos_pi, exact_exp, exact_log
from phintys.random.exact.steps import Rejection
from phintys.random.exact.uniform import open_uniform
from phintys.random.samplers.gamma import gamma_of_bits
from phintys.scalar import FloatRow
from phintys.tensor import math, reduce, special
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.diagonals import diagonal
from phintys.tensor.dim_shuffle import expand_dims
from phintys.tensor.linear_algebra.cholesky import cholesky

__all__ = ["MultivariateT", "VonMisesFisher"]


class MultivariateT(Multivariate, method="multivariate_t"):
    """Normal vectors about ``loc``, divided by the root of a common chi-square number over ``df``.

    Parameters
    ----------
    loc
        Vectors.
    shape
        Positive definite matrices: the covariance, if ``df`` is infinite.
    df
        The degrees of freedom.

    Examples
    --------
    >>> from phintys.random import MultivariateT, logp
    >>> one = MultivariateT([0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]], 3.0)
    >>> round(float(logp(one, [0.5, 0.5]).eval()), 6)
    -2.223254
    """

    defaults: ClassVar[dict[str, Any]] = {"loc": [0.0], "shape": [[1.0]], "df": 1.0}
    domains: ClassVar[dict[str, Any]] = {"df": positive}
    core_ndim: ClassVar[dict[str, int]] = {"loc": 1, "shape": 2}
    event_ndim: ClassVar[int] = 1

    def numbers(self, source: Source, lengths: tuple[Any, ...]) -> Any:
        size = self.common_size("loc", "shape")
        z = times(cholesky(self.shape), standard_normal(source, self.dtype, *lengths, size))
        half = 0.5 * self.df
        mean_square = gamma_of_bits(source.bits(*lengths), half) / half
        return self.loc + z / expand_dims(math.sqrt(mean_square), -1)

    def logp(self, value: Any) -> Any:
        factor = cholesky(self.shape)
        z = solved(factor, as_tensor_variable(value) - self.loc)
        size = math.cast(self.common_size("loc", "shape"), self.dtype)
        half, all_half = 0.5 * self.df, 0.5 * (self.df + size)
        constant = special.gammaln(all_half) - special.gammaln(half)
        constant = constant - 0.5 * size * math.log(numbers.pi * self.df) - log_diagonal(factor)
        square = reduce.sum(math.sqr(z), axis=-1)
        return constant - all_half * math.log1p(square / self.df)

    def mean(self) -> Any:
        return math.switch(expand_dims(self.df, -1) > 1, self.loc, numbers.nan)

    def variance(self) -> Any:
        df = expand_dims(self.df, -1)
        finite = df / math.switch(df > 2, df - 2, 1) * diagonal(self.shape, axis1=-2, axis2=-1)
        return math.switch(df > 2, finite, math.switch(df > 1, numbers.inf, numbers.nan))


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(48)
_FAR = 13.0  # widths of the peak, beyond which the density is nothing
_LARGE = 100.0


def _mean_cosine(kappa: Any, size: Any) -> Any:
    """Return the quotient of Bessel functions of the orders ``size / 2`` and ``size / 2 - 1``.

    Of large concentrations by SciPy's functions; else by Gauss's continued fraction, where those
    are too small.
    """
    order = size / 2 - 1
    is_large = (kappa > _LARGE) & (order * order < 1000 * kappa)
    bessel = import_whole("scipy.special")
    large = np.where(is_large, kappa, _LARGE)
    by_scipy = bessel.ive(order + 1, large) / bessel.ive(order, large)
    small = np.where(is_large, 1.0, kappa)
    fraction = np.zeros(np.broadcast_shapes(kappa.shape, size.shape))
    for k in range(60 + int(np.max(small, initial=0.0)), 0, -1):
        fraction = small / (2 * (order + k) + small * fraction)
    return np.where(is_large, by_scipy, fraction)


def _slope(kappa: Any, size: Any, cosine: Any) -> Any:
    """Return how a quantile of the cosine moves with the concentration.

    With the angle t and ``g(s) = exp(kappa cos(s)) sin(s)**(size - 2)``, it is ``-sin(t) / g(t)``
    times the integral of ``(cos(s) - mean) g(s)`` over s from t to pi, or ``sin(t) / g(t)`` times
    that from 0 to t, as both have the sum 0.
    """
    kappa, size, cosine = (np.asarray(one, "float64") for one in (kappa, size, cosine))
    angle = np.arccos(np.clip(cosine, -1, 1))
    power = size - 2
    root = np.sqrt(power * power + 4 * kappa * kappa)
    peak = np.arccos(np.minimum(2 * kappa / np.maximum(power + root, 1e-300), 1))
    width = 1 / np.sqrt(np.maximum(kappa + power, 1e-10))
    is_near = angle < np.maximum(peak, width)
    away = np.where(is_near, -1, 1) * np.minimum(
        np.where(is_near, angle, numbers.pi - angle), _FAR * width
    )
    mean = _mean_cosine(kappa, size)
    sine = np.maximum(np.sin(angle), 1e-300)
    total = np.zeros(np.broadcast_shapes(away.shape, mean.shape))
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        s = angle + away * ((1 + node) / 2)
        growth = 2 * kappa * np.sin((angle + s) / 2) * np.sin((angle - s) / 2)
        density = np.exp(growth) * (np.sin(s) / sine) ** power
        total += weight * (np.cos(s) - mean) * density
    return -0.5 * away * total * sine


von_mises_fisher_slope = FloatRow(
    "von_mises_fisher_slope",
    _slope,
    doc="How a quantile of the cosine to the mean direction moves with the concentration.",
    parameters=("kappa", "size", "cosine"),
    nin=3,
    undefined="second derivatives of draws have no closed form; see disconnected_grad(draw)",
    widened=True,
    special=False,
)


def _prepare(kappa: Any, size: Any) -> tuple[Any, ...]:
    rest = size - 1.0
    b = rest / (2.0 * kappa + ps.sqrt(4.0 * (kappa * kappa) + rest * rest))
    centre = (1.0 - b) / (1.0 + b)
    most = kappa * centre + rest * exact_log(1.0 - centre * centre)
    return kappa, rest, b, centre, most


def _attempt(
    first: Any, second: Any, third: Any, _: Any, kappa: Any, rest: Any, b: Any, *other: Any
) -> tuple[Any, Any]:
    centre, most = other
    u, v, w = (open_uniform(word, "float64") for word in (first, second, third))
    # A symmetric beta number: G. Ulrich, "Computer generation of distributions on the m-sphere",
    # Applied Statistics 33, 1984.
    spread = ps.sqrt(1.0 - exact_exp(exact_log(u) * (2.0 / (rest - 1.0))))
    beta = 0.5 + 0.5 * (spread * exact_cos_pi(2.0 * v))
    value = (1.0 - (1.0 + b) * beta) / (1.0 - (1.0 - b) * beta)
    height = kappa * value + rest * exact_log(1.0 - centre * value)
    return value, ps.logical_not(ps.lt(height - most, exact_log(w)))


# The cosine of the angle to the mean: A. T. A. Wood, "Simulation of the von Mises Fisher
# distribution", Communications in Statistics 23, 1994.
cosine_to_mean = Rejection(
    "cosine_to_mean",
    nin=3,
    words=4,
    prepare=_prepare,
    attempt=_attempt,
    derivative=lambda bits, kappa, size, out: (0, von_mises_fisher_slope(kappa, size, out), 0),
)


class VonMisesFisher(Multivariate, method="von_mises_fisher"):
    """Points on the unit sphere with densities in proportion to ``exp(kappa * mu @ x)``.

    Parameters
    ----------
    mu
        The mean directions, vectors of length 1.
    kappa
        How closely the points lie about them.

    Examples
    --------
    >>> from phintys.random import VonMisesFisher, logp
    >>> round(float(logp(VonMisesFisher([0.0, 1.0], 2.0), [0.6, 0.8]).eval()), 6)
    -1.061871
    """

    defaults: ClassVar[dict[str, Any]] = {"mu": [1.0, 0.0], "kappa": 1.0}
    domains: ClassVar[dict[str, Any]] = {"mu": unit_length, "kappa": nonnegative}
    core_ndim: ClassVar[dict[str, int]] = {"mu": 1}
    event_ndim: ClassVar[int] = 1

    def _size(self, dtype: str) -> Any:
        return math.cast(self.core_sizes("mu")[0], dtype)

    def numbers(self, source: Source, lengths: tuple[Any, ...]) -> Any:
        kappa = math.cast(self.kappa, "float64")
        cosine = cosine_to_mean(source.bits(*lengths), kappa, self._size("float64"))
        cosine = expand_dims(math.cast(cosine, self.dtype), -1)
        z = standard_normal(source, self.dtype, *lengths, self.core_sizes("mu")[0])
        across = z - reduce.sum(z * self.mu, axis=-1, keepdims=True) * self.mu
        sine = math.sqrt(math.maximum(1 - math.sqr(cosine), 0))
        length = math.sqrt(reduce.sum(math.sqr(across), axis=-1, keepdims=True))
        return cosine * self.mu + sine * (across / length)

    def logp(self, value: Any) -> Any:
        order = 0.5 * self._size(self.dtype) - 1
        constant = special.xlogy(order, self.kappa) - (order + 1) * LOG_TWO_PI
        constant = constant - math.log(special.ive(order, self.kappa)) - self.kappa
        return constant + self.kappa * reduce.sum(as_tensor_variable(value) * self.mu, axis=-1)
