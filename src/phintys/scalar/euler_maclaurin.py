"""Derivatives of digamma in NumPy, as multiples of the zeta function of A. Hurwitz (1882).

By the formula of L. Euler (1738) and C. Maclaurin (1742), after some of its terms. The NIST Digital
Library of Mathematical Functions (dlmf.nist.gov) is cited by section.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from phintys._base.uninterrupted import import_whole
from phintys.scalar.doubled import exact_sum
from phintys.scalar.gamma_quotients import log_gamma_of_wide

LARGE_ORDER = 20
"""Of larger orders, factorials and powers leave the range of floats, though their products do not.
"""

MOST_ORDER = 1000
"""The largest order that is computed here: each needs another term."""

MOST_REFLECTED = 100
"""The largest order for negative numbers, whose derivative of the cotangent does not overflow."""

FIRST = 6
"""So many terms, and one for each order, are summed; the formula converges fast from there."""

COEFFICIENTS = (
    1 / 12,
    -1 / 720,
    1 / 30240,
    -1 / 1209600,
    1 / 47900160,
    -691 / 1307674368000,
    1 / 74724249600,
    -3617 / 10670622842880000,
)
"""B(2 k) / (2 k)! of Bernoulli numbers B, for k from 1."""


def polygamma(n: Any, x: Any) -> Any:
    """Return the n-th derivative of digamma of arrays; for other n, and poles, SciPy's.

    Examples
    --------
    >>> from phintys.scalar.euler_maclaurin import polygamma
    >>> polygamma(1, 1.0).round(12)
    np.float64(1.644934066848)
    """
    special = import_whole("scipy.special")
    order, place = np.broadcast_arrays(n, x)
    order, place = order.astype(np.float64), place.astype(np.float64)
    usual = (order >= 1) & (order <= MOST_ORDER) & (order == np.rint(order)) & np.isfinite(place)
    found = np.empty(order.shape)
    parts = (
        (usual & (place > 0), _of_positive),
        (usual & (place < 0) & (order <= MOST_REFLECTED) & (place != np.rint(place)), _reflected),
    )
    others = np.ones(order.shape, bool)
    with np.errstate(all="ignore"):
        for there, function in parts:
            if there.any():
                found[there] = function(order[there], place[there])
                others &= ~there
    found[others] = special.polygamma(order[others], place[others])
    dtype = np.asarray(x).dtype
    return found.astype(dtype if dtype.kind == "f" else np.float64)[()]


def _of_positive(n: Any, x: Any) -> Any:
    found, is_large = np.empty(n.shape), n > LARGE_ORDER
    for there, function in ((~is_large, _of_small_order), (is_large, _of_large_order)):
        if there.any():
            found[there] = function(n[there], x[there])
    return found


def _of_small_order(n: Any, x: Any) -> Any:
    return -_sign(n) * import_whole("scipy.special").gamma(n + 1) * _zeta(n + 1, x, 1.0)


def _of_large_order(n: Any, x: Any) -> Any:
    """Return the function by the logarithm of ``n! x**-(n + 1)``, in NumPy's longest floats."""
    wide, place = n.astype(np.longdouble), x.astype(np.longdouble)
    factor = np.exp(log_gamma_of_wide(wide + 1) - (wide + 1) * np.log(place))
    return (-_sign(n) * factor * _zeta(n + 1, x, x)).astype(np.float64)


def _reflected(n: Any, x: Any) -> Any:
    """Return the function of negative x from that of ``1 - x`` (5.15.6).

    Between poles it has zeros, where its terms cancel, but no term of the derivatives of the
    cotangent does.
    """
    tangent = np.pi * (x - np.rint(x))
    near = np.pi * (0.5 - np.abs(x - np.rint(x)))
    cotangent = np.where(np.abs(tangent) < 1, 1 / np.tan(tangent), np.sign(tangent) * np.tan(near))
    turned = np.empty(n.shape)
    for order in np.unique(n):
        there = n == order
        turned[there] = _derivative_of_cotangent(int(order), cotangent[there])
    return _sign(n) * _of_positive(n, 1 - x) - turned


def _derivative_of_cotangent(n: int, cotangent: Any) -> Any:
    """Return the n-th derivative of ``pi cot(pi x)``, a polynomial in the cotangent."""
    coefficients = np.array([0.0, 1.0])
    for _ in range(n):
        coefficients = -np.polynomial.Polynomial(coefficients).deriv().coef
        coefficients = np.polynomial.polynomial.polymul(coefficients, (1.0, 0.0, 1.0))
    return np.pi ** (n + 1) * np.polynomial.polynomial.polyval(cotangent, coefficients)


def _sign(n: Any) -> Any:
    return np.where(n % 2 == 1, -1.0, 1.0)


def _zeta(s: Any, q: Any, unit: Any) -> Any:
    """Return the sum of ``((n + q) / unit)**-s`` over n >= 0, of positive q (25.11.5, 2.10.1)."""
    steps = FIRST + int(s.max())
    place, error = exact_sum(q, float(steps))
    rest = _rest(s, place, unit)
    lost = (1 - s) * (error / place) * rest
    for n in range(steps - 1, -1, -1):  # the small terms first
        place, error = exact_sum(q, float(n))
        term = (place / unit) ** -s
        rest, rounding = exact_sum(term, rest)
        lost = lost + (rounding - s * (error / place) * term)
    return np.where(np.isfinite(rest), rest + lost, rest)


def _rest(s: Any, q: Any, unit: Any) -> Any:
    square, factor = 1 / (q * q), s / q
    total = np.full_like(q, 0.5)
    for k, number in enumerate(COEFFICIENTS):
        total = total + factor * number
        factor = factor * (s + (2 * k + 1)) * (s + (2 * k + 2)) * square
    # Of the power -s alone there may be nothing left.
    return (q / unit) ** (1 - s) * (1 / (s - 1) + total / q) * unit
