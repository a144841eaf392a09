"""How quantiles of the gamma distribution move with its shape, on arrays.

With ``x`` the quantile of a fixed probability and ``t = log(x)``, the slope is the derivative of t
in the shape a: ``-(dP/da) / (dP/dt)`` for the regularized incomplete gamma function P(a, x). The
quotient is formed analytically, so that it has its digits where both are tiny (Figurnov, Mohamed
and Mnih, "Implicit reparameterization gradients", 2018).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from phintys._base.uninterrupted import import_whole

_BLOCK = 4096
LARGE = 1e5
ENOUGH = 1e-17
MOST_TERMS = 100_000

FARTHEST = 1e30
"""The largest normal quantile that is looked for; powers of others would overflow."""


def log_gamma_slope(a: Any, t: Any) -> Any:
    """Return the slope of the logarithm of a quantile by the shape.

    Parameters
    ----------
    a
        The shape, a positive array of floats.
    t
        The logarithm of the quantile.

    Examples
    --------
    The quantiles of the exponential distribution, whose shape is 1:

    >>> import numpy as np
    >>> from scipy.special import gammaincinv
    >>> x, up, down = gammaincinv([1.0, 1.0001, 0.9999], 0.3)
    >>> slope = log_gamma_slope(np.array([1.0]), np.log([x]))[0]
    >>> bool(abs(slope - np.log(up / down) / 2e-4) < 1e-7)
    True
    """
    a, t = np.broadcast_arrays(np.asarray(a), np.asarray(t))
    shape, dtype = a.shape, a.dtype
    a, t = (np.asarray(one, "float64").reshape(-1) for one in (a, t))
    result = np.empty(a.shape)
    with np.errstate(all="ignore"):
        for start in range(0, a.size, _BLOCK):
            block = slice(start, start + _BLOCK)
            result[block] = _of_block(a[block], t[block])
    return result.reshape(shape).astype(dtype)


_STEP = 0.015
_WEIGHTS = (4 / 5, -1 / 5, 4 / 105, -1 / 280)  # of central differences of eighth order


def slope_by_differences(function: Callable[[Any, Any], Any], a: Any, t: Any) -> Any:
    """Return the derivative in a of a function that is smooth in the logarithm of a.

    Parameters
    ----------
    function
        Takes ``a`` and ``t``, variables or arrays.
    a, t
        The arguments.
    """
    total: Any = 0.0
    for n, weight in enumerate(_WEIGHTS, 1):
        after, before = function((1 + n * _STEP) * a, t), function((1 - n * _STEP) * a, t)
        total = total + weight * (after - before)
    return total / (_STEP * a)


def log_gamma_bend(a: Any, t: Any) -> Any:
    """Return the derivative of the slope in the shape.

    Parameters
    ----------
    a, t
        As for :func:`log_gamma_slope`.
    """
    return slope_by_differences(log_gamma_slope, a, t)


def _of_block(a: Any, t: Any) -> Any:
    x = np.exp(t)
    is_large, is_usual = a > LARGE, (a > 0) & (a <= LARGE)
    is_above = is_usual & (x > np.maximum(a + 1, 2))
    is_below = is_usual & (x <= np.maximum(a + 1, 2))
    result = np.full(a.shape, np.nan)
    for there, function in ((is_below, _by_series), (is_above, _by_fraction), (is_large, _far)):
        if there.any():
            result[there] = function(a[there], t[there], x[there])
    return result


def _digamma(a: Any) -> Any:
    return import_whole("scipy.special").digamma(a)


def _by_series(a: Any, t: Any, x: Any) -> Any:
    """Return the slope from P's series, ``x**a exp(-x) / gamma(a + 1)`` times a sum of terms.

    The n-th term is ``x**n / ((a + 1) ... (a + n))``; its logarithm has the derivative ``-h`` in a.
    """
    term, total = np.ones_like(a), np.ones_like(a)
    h, weighted = np.zeros_like(a), np.zeros_like(a)
    for n in range(1, MOST_TERMS):
        term *= x / (a + n)
        h += 1 / (a + n)
        total += term
        weighted += term * h
        if not (term > ENOUGH * total).any():
            break
    return (weighted - total * (t - _digamma(a + 1))) / a


def _by_fraction(a: Any, t: Any, x: Any) -> Any:
    """Return the slope from the continued fraction of ``1 - P`` (DLMF 8.9.2), from its far end."""
    rest, slope = np.zeros_like(a), np.zeros_like(a)
    for n in range(100 + 8 * math.isqrt(int(a.max())), 0, -1):
        numerator, denominator = n * (a - n), x + (2 * n + 1) - a + rest
        slope = (n - numerator / denominator * (slope - 1)) / denominator
        rest = numerator / denominator
    fraction = 1 / (x + 1 - a + rest)
    return fraction * (t - _digamma(a)) + np.square(fraction) * (1 - slope)


def _far(a: Any, t: Any, x: Any) -> Any:
    """Return the slope from the expansion of quantiles in normal ones, for large shapes.

    ``x = a + z sqrt(a) + (z**2 - 1) / 3 + (z**3 - 7 z) / (36 sqrt(a)) - ...``, where z is the
    normal quantile of the same probability.
    """
    root = np.sqrt(a)
    z = np.clip(3 * root * (np.cbrt(x / a) - 1 + 1 / (9 * a)), -FARTHEST, FARTHEST)
    for _ in range(3):
        cubic, quartic = z**3 - 7 * z, 3 * z**4 + 7 * z**2 - 16
        error = a + z * root + (z * z - 1) / 3 + cubic / (36 * root) - quartic / (810 * a) - x
        z = z - error / (root + 2 * z / 3 + (z * z * 3 - 7) / (36 * root))
        z = np.clip(z, -FARTHEST, FARTHEST)
    cubic, quartic = z**3 - 7 * z, 3 * z**4 + 7 * z**2 - 16
    return (1 + z / (2 * root) - cubic / (72 * a * root) + quartic / (810 * a * a)) / x
