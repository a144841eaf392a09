"""Derivatives of digamma in NumPy, as multiples of the zeta function of A. Hurwitz (1882).

By the formula of L. Euler (1738) and C. Maclaurin (1742), after some of its terms. The NIST Digital
Library of Mathematical Functions (dlmf.nist.gov) is cited by section.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from phintys._base.uninterrupted import import_whole
from phintys.scalar.doubled import exact_sum

MOST_ORDER = 20
"""The largest order that is computed here; n! is a float, and few terms do."""

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
    """Return the n-th derivative of digamma of arrays; for other n, and x up to 0, SciPy's.

    Examples
    --------
    >>> from phintys.scalar.euler_maclaurin import polygamma
    >>> polygamma(1, 1.0).round(12)
    np.float64(1.644934066848)
    """
    special = import_whole("scipy.special")
    order, place = np.broadcast_arrays(n, x)
    usual = (order >= 1) & (order <= MOST_ORDER) & (order == np.rint(order))
    usual &= (place > 0) & np.isfinite(place)
    found = np.empty(order.shape)
    found[~usual] = special.polygamma(order[~usual], place[~usual])
    if usual.any():
        order, place = (part[usual].astype(np.float64) for part in (order, place))
        sign = np.where(order % 2 == 1, 1.0, -1.0)
        with np.errstate(all="ignore"):
            found[usual] = sign * special.gamma(order + 1) * _zeta(order + 1, place)
    dtype = np.asarray(x).dtype
    return found.astype(dtype if dtype.kind == "f" else np.float64)[()]


def _zeta(s: Any, q: Any) -> Any:
    """Return the sum of ``(n + q)**-s`` over n >= 0 (25.11.5 and 2.10.1), of positive q."""
    steps = FIRST + int(s.max())
    place, error = exact_sum(q, float(steps))
    rest = _rest(s, place)
    lost = (1 - s) * (error / place) * rest
    for n in range(steps - 1, -1, -1):  # the small terms first
        place, error = exact_sum(q, float(n))
        term = place**-s
        rest, rounding = exact_sum(term, rest)
        lost = lost + (rounding - s * (error / place) * term)
    return np.where(np.isfinite(rest), rest + lost, rest)


def _rest(s: Any, q: Any) -> Any:
    square, factor = 1 / (q * q), s / q
    total = np.full_like(q, 0.5)
    for k, number in enumerate(COEFFICIENTS):
        total = total + factor * number
        factor = factor * (s + (2 * k + 1)) * (s + (2 * k + 2)) * square
    return q ** (1 - s) * (1 / (s - 1) + total / q)  # of q**-s alone there may be nothing left
