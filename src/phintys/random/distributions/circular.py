"""The von Mises distribution of angles."""

from __future__ import annotations

import math as numbers
from typing import Any, ClassVar

import numpy as np

from phintys import scalar as ps
from phintys._base.uninterrupted import import_whole
from phintys.random.distributions.base import Distribution, same
from phintys.random.distributions.checks import nonnegative
from phintys.random.exact.functions import exact_log, exact_sin_pi
from phintys.random.exact.steps import Rejection, exact_function
from phintys.random.exact.uniform import open_uniform
from phintys.random.samplers.gamma import word_of
from phintys.scalar import FloatRow
from phintys.tensor import math, special

__all__ = ["VonMises"]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(48)
_FAR = 13.0  # widths of the peak, beyond which the density is nothing


def _slope(kappa: Any, angle: Any) -> Any:
    """Return how a quantile, an angle from 0 to pi, moves with the concentration.

    It is ``-(dF/dkappa) / density``: the integral of ``(cos(s) - A) exp(kappa (cos(s) - cos(t)))``
    over s from t to pi, or minus that from 0 to t, as both have the sum 0.
    """
    bessel = import_whole("scipy.special")
    kappa, angle = (np.asarray(one, "float64") for one in (kappa, angle))
    width = 1 / np.sqrt(np.maximum(kappa, 1e-10))
    is_near = angle < width
    start = np.where(is_near, 0, angle)
    end = np.where(is_near, angle, np.minimum(numbers.pi, angle + _FAR * width))
    half = (end - start) / 2
    deficit = (bessel.i0e(kappa) - bessel.i1e(kappa)) / bessel.i0e(kappa)
    total = np.zeros(half.shape)
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        s = start + half * (1 + node)
        growth = 2 * kappa * np.sin((angle + s) / 2) * np.sin((angle - s) / 2)
        total += weight * (deficit - 2 * np.square(np.sin(s / 2))) * np.exp(growth)
    return np.where(is_near, -1, 1) * half * total


von_mises_slope = FloatRow(
    "von_mises_slope",
    _slope,
    doc="How a quantile of the von Mises distribution moves with its concentration.",
    parameters=("kappa", "angle"),
    nin=2,
    undefined="second derivatives of draws have no closed form; see disconnected_grad(draw)",
    widened=True,
    special=False,
)


_LEAST = {"float64": 1e-12, "float32": 1e-6}  # nothing is less uniform
_LARGE = {"float64": 1e9, "float32": 1e5}  # 1 is no digit of the square
_MOST = {"float64": 1e305, "float32": 1e35}  # the widths of the peak of greater ones are nothing


def _prepare(kappa: Any) -> tuple[Any, ...]:
    kappa = ps.switch(ps.lt(kappa, _LEAST[kappa.dtype]), _LEAST[kappa.dtype], kappa)
    kappa = ps.switch(ps.gt(kappa, _MOST[kappa.dtype]), _MOST[kappa.dtype], kappa)
    double = 2.0 * kappa
    is_large = ps.gt(kappa, _LARGE[kappa.dtype])
    length = ps.switch(is_large, double, ps.sqrt(1.0 + double * double))
    root = ps.sqrt(1.0 + length)
    denominator = root * (root + numbers.sqrt(2))
    rho = double / denominator
    rest = (numbers.sqrt(2) * root + (1.0 + 1.0 / (length + double))) / denominator  # 1 - rho
    return kappa, (rest * rest) / (2.0 * rho)


def _attempt(first: Any, second: Any, kappa: Any, excess: Any) -> tuple[Any, Any]:
    """Make an attempt of Best and Fisher, of which ``excess`` is r - 1."""
    u, v = (open_uniform(word_of(one, kappa.dtype), kappa.dtype) for one in (first, second))
    sine = exact_sin_pi(0.5 * u)
    w = (excess * (sine * sine)) / (excess + (2.0 - 2.0 * (sine * sine)))
    c = kappa * (excess + 2.0 * w)
    is_refused = ps.lt(exact_log(c / v) + (1.0 - c), 0.0)
    return w, ps.logical_not(is_refused)


_attempts = Rejection("_attempts", nin=2, prepare=_prepare, attempt=_attempt)


def _derivative(bits: Any, kappa: Any, out: Any) -> tuple[Any, Any]:
    angle = 2 * ps.arcsin(ps.sqrt(out))
    return 0, 0.5 * ps.sin(angle) * von_mises_slope(kappa, angle)


@exact_function(derivative=_derivative, cost=150.0)
def squared_half_sine(bits: Any, kappa: Any) -> Any:
    """The square of the sine of half an angle from the von Mises distribution, of random bits."""
    return _attempts(bits, kappa)


class VonMises(Distribution, method="vonmises"):
    """Angles from -pi to pi, with the density of ``exp(kappa cos(angle - mu))``.

    The density of x is ``exp(kappa * cos(x - mu)) / (2 * pi * I0(kappa))``.

    Parameters
    ----------
    mu
        The mean direction, also ``loc``.
    kappa
        The concentration.

    Examples
    --------
    >>> from phintys.random import VonMises, logp
    >>> round(float(logp(VonMises(0.5, 2.0), 1.0).eval()), 6)
    -0.906705
    """

    defaults: ClassVar[dict[str, Any]] = {"mu": 0.0, "kappa": 1.0}
    domains: ClassVar[dict[str, Any]] = {"kappa": nonnegative}
    alternatives: ClassVar[Any] = {"loc": ("mu", same)}

    def support(self) -> tuple[Any, Any]:
        return -numbers.pi, numbers.pi

    @property
    def bits_dtype(self) -> str:
        return "uint64"

    def sample(self, *bits: Any) -> Any:
        away = 2 * math.arcsin(math.sqrt(squared_half_sine(bits[0], self.kappa)))
        # The bits are the key of the attempts, so that one of them can choose the side as well.
        is_left = math.eq(math.and_(bits[0], np.uint64(1)), np.uint64(1))
        angle = self.mu + math.switch(is_left, -away, away)
        return angle - 2 * numbers.pi * math.floor(angle / (2 * numbers.pi) + 0.5)

    def _logp(self, value: Any) -> Any:
        fall = 2 * self.kappa * math.sqr(math.sin(0.5 * (value - self.mu)))
        return -fall - math.log(2 * numbers.pi * special.i0e(self.kappa))

    def mode(self) -> Any:
        return self.mu + 0 * self.kappa

    def entropy(self) -> Any:
        ratio = special.i1e(self.kappa) / special.i0e(self.kappa)
        spread = math.log(2 * numbers.pi * special.i0e(self.kappa))
        return spread + self.kappa * (1 - ratio) + 0 * self.mu
