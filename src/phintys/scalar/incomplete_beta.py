"""The incomplete beta function, its derivatives in its parameters, and its inverse.

With ``p = a + b``, a series of positive terms (NIST Digital Library of Mathematical Functions,
8.17.8) gives the function and, term by term, its derivatives::

    I_x(a, b) = x**a (1 - x)**b / (a B(a, b)) * sum_n (p)_n / (a + 1)_n x**n

The logarithm of a term has the derivative ``sum_{k < n} 1 / (p + k) - 1 / (a + 1 + k)`` by a, and
``sum_{k < n} 1 / (p + k)`` by b. Where x is large, ``I_x(a, b) = 1 - I_{1-x}(b, a)``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from phintys._base.apart import import_whole
from phintys.scalar.arithmetic import xlog1py, xlogy
from phintys.scalar.exponential import exp, log, log1p
from phintys.scalar.row_kinds import FloatRow
from phintys.scalar.special import betaln, digamma

_LARGEST = 1e6  # of the sum of the parameters; beyond it the derivatives are NaN
_MOST_TERMS = 20_000
_SECOND = (
    "the second derivative of betainc with respect to its parameters a and b is not there. Use "
    "constant ones, or stop the gradient there with phintys.gradient.disconnected_grad(a)"
)
_PARAMETERS = {
    "parameters": ("a", "b", "x"),
    "domain": "a > 0 and b > 0 and 0 <= x <= 1",
}


def _density(a: Any, b: Any, x: Any) -> Any:
    return exp(xlogy(a - 1, x) + xlog1py(b - 1, -x) - betaln(a, b))


def _mean_slopes(a: Any, b: Any, x: Any) -> tuple[Any, Any]:
    """Return the mean derivatives of the logarithms of the terms, weighted by the terms."""
    term, total = np.ones_like(x), np.ones_like(x)
    slope_a, slope_b, sum_a, sum_b = (np.zeros_like(x) for _ in range(4))
    for n in range(_MOST_TERMS):
        slope_b += 1 / (a + b + n)
        slope_a += 1 / (a + b + n) - 1 / (a + 1 + n)
        term *= (a + b + n) / (a + 1 + n) * x
        total += term
        sum_a += term * slope_a
        sum_b += term * slope_b
        if not np.any(term * (1 + slope_b) > 1e-17 * total):
            return sum_a / total, sum_b / total
    return np.full_like(x, np.nan), np.full_like(x, np.nan)


def _lower_slopes(a: Any, b: Any, x: Any) -> tuple[Any, Any]:
    """Return the derivatives by a and b where the series converges fast."""
    special = import_whole("scipy.special")
    value, both = special.betainc(a, b, x), special.psi(a + b)
    mean_a, mean_b = _mean_slopes(a, b, x)
    by_a = np.log(x) + both - special.psi(a + 1) + mean_a
    by_b = np.log1p(-x) + both - special.psi(b) + mean_b
    return value * by_a, value * by_b


def _slopes(a: Any, b: Any, x: Any) -> tuple[Any, Any]:
    """Return the derivatives of the incomplete beta function by a and b."""
    a, b, x = np.broadcast_arrays(a, b, x)
    is_large = x > (a + 1) / (a + b + 2)
    is_inside = (x > 0) & (x < 1) & (a > 0) & (b > 0) & (a + b <= _LARGEST)
    with np.errstate(all="ignore"):
        first, second = np.where(is_large, b, a), np.where(is_large, a, b)
        first, second = (np.where(is_inside, one, 1.0) for one in (first, second))
        place = np.where(is_inside, np.where(is_large, 1 - x, x), 0.5)
        by_first, by_second = _lower_slopes(first, second, place)
    at_ends = np.where(((x == 0) | (x == 1)) & (a > 0) & (b > 0), 0.0, np.nan)
    by_a = np.where(is_large, -by_second, by_first)
    by_b = np.where(is_large, -by_first, by_second)
    return np.where(is_inside, by_a, at_ends), np.where(is_inside, by_b, at_ends)


betainc_by_a = FloatRow(
    "betainc_by_a",
    lambda a, b, x: _slopes(a, b, x)[0],
    doc="Derivative of betainc by its first parameter.",
    example="2.0, 3.0, [0.2, 0.5]",
    nin=3,
    special=False,
    derivative=lambda a, b, x, out: (
        None,
        None,
        _density(a, b, x) * (log(x) - digamma(a) + digamma(a + b)),
    ),
    undefined=_SECOND,
    widened=True,
    **_PARAMETERS,
)

betainc_by_b = FloatRow(
    "betainc_by_b",
    lambda a, b, x: _slopes(a, b, x)[1],
    doc="Derivative of betainc by its second parameter.",
    example="2.0, 3.0, [0.2, 0.5]",
    nin=3,
    special=False,
    derivative=lambda a, b, x, out: (
        None,
        None,
        _density(a, b, x) * (log1p(-x) - digamma(b) + digamma(a + b)),
    ),
    undefined=_SECOND,
    widened=True,
    **_PARAMETERS,
)

betainc = FloatRow(
    "betainc",
    "scipy.special:betainc",
    doc="Regularized incomplete beta function of a and b at x.",
    parameters=("a", "b", "x"),
    domain="a >= 0 and b >= 0 and 0 <= x <= 1",
    example="2.0, 3.0, [0.2, 0.5]",
    nin=3,
    derivative=lambda a, b, x, out: (
        betainc_by_a(a, b, x),
        betainc_by_b(a, b, x),
        _density(a, b, x),
    ),
    widened=True,
)


def _partials_of_inverse(a: Any, b: Any, y: Any, out: Any) -> tuple[Any, Any, Any]:
    density = _density(a, b, out)
    return -betainc_by_a(a, b, out) / density, -betainc_by_b(a, b, out) / density, 1 / density


betaincinv = FloatRow(
    "betaincinv",
    "scipy.special:betaincinv",
    doc="Inverse of betainc: the x at which it is y.",
    parameters=("a", "b", "y"),
    domain="a > 0 and b > 0 and 0 <= y <= 1",
    example="2.0, 3.0, [0.2, 0.5]",
    intervals=((0.5, 5.0), (0.5, 5.0), (0.05, 0.95)),
    nin=3,
    external=True,
    derivative=_partials_of_inverse,
    widened=True,
)
