"""Exponential integrals in NumPy: of whole orders by a continued fraction from 1/2 on.

From its far end, nothing cancels and no rounding error grows (the NIST Digital Library of
Mathematical Functions, dlmf.nist.gov, 8.19.17, contracted; A. M. Legendre, 1826). Nearer to 0
SciPy's series, from Cephes. The principal value of large numbers by its asymptotic series (6.12.2).
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from phintys._base.uninterrupted import import_whole
from phintys.scalar.bessel_slopes import sum_of_powers

PARTS = (0.5, 1.0, 4.0, np.inf)
"""Between which the fraction is used, with the places that the lower bound needs."""

_LENGTH, _LENGTH_AT_1 = 10, 95
"""It has converged with ``10 + 95 / x`` places."""


EXPI_FROM, LIFT = 700.0, 64.0
"""SciPy's principal value overflows too early from here on; an exponent is less than the second, so
that the exponential does not, before the division by x."""

EXPI_SERIES = tuple(float(math.factorial(n)) for n in range(9))
"""In powers of the inverse; the next term is below 1e-20."""


def expi(x: Any) -> Any:
    """Return the principal value of an array of float32 or float64.

    Examples
    --------
    >>> from phintys.scalar.exponential_integrals import expi
    >>> expi(1.0).round(12)
    np.float64(1.895117816356)
    """
    x = np.asarray(x)
    with np.errstate(over="ignore"):
        found = import_whole("scipy.special").expi(x.astype(np.float64))
        is_far = (x > EXPI_FROM) & np.isfinite(x)
        if is_far.any():
            inverse = 1 / np.where(is_far, x, EXPI_FROM)
            series = inverse * sum_of_powers(inverse, EXPI_SERIES)
            far = np.exp(np.where(is_far, x, EXPI_FROM) - LIFT) * series * math.exp(LIFT)
            found = np.where(is_far, far, found)
        return np.asarray(found).astype(x.dtype)[()]


def expn(n: Any, x: Any) -> Any:
    """Return the exponential integral of order n of arrays, and NaN for orders that are not whole.

    Examples
    --------
    >>> from phintys.scalar.exponential_integrals import expn
    >>> expn(2, 1.0).round(12)
    np.float64(0.148495506776)
    """
    dtype = np.result_type(n, x)
    order, place = np.broadcast_arrays(np.asarray(n, np.float64), np.asarray(x, np.float64))
    found = np.full(order.shape, np.nan)
    is_order = (order == np.rint(order)) & (order >= 0) & (order < 2**31)
    rest = is_order & ~(place >= PARTS[0])
    found[rest] = import_whole("scipy.special").expn(order[rest].astype(np.int64), place[rest])
    for least, largest in pairwise(PARTS):
        there = is_order & (place >= least) & (place < largest)
        if there.any():
            length = math.ceil(_LENGTH + _LENGTH_AT_1 / least)
            found[there] = _fraction(order[there], place[there], length)
    found[is_order & np.isposinf(place)] = 0.0
    return found.astype(dtype if dtype.kind == "f" else np.float64)[()]


def _fraction(n: Any, x: Any, length: int) -> Any:
    total, rest = x + n, np.zeros_like(x)
    for k in range(length, 0, -1):
        rest = (n + (k - 1)) * k / (total + 2 * k - rest)
    return np.exp(-x) / (total - rest)
