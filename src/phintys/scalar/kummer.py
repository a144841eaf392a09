"""Kummer's function hyp1f1 and its derivatives by its parameters, in NumPy.

By E. E. Kummer's series (1836), whose terms are differentiated for the derivatives. A negative x is
made positive first, so that terms cancel less (NIST Digital Library of Mathematical Functions,
dlmf.nist.gov, 13.2.2 and 13.2.39)::

    hyp1f1(a, b, x) = exp(x) hyp1f1(b - a, b, -x)

Where terms cancel all the same, next to zeros of the function, they are computed with twice the
digits. A derivative is NaN where those are not enough.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from phintys._base.uninterrupted import import_whole
from phintys.scalar.doubled import Doubled, exact_sum

_LARGE = 1e4
"""For a larger x, SciPy's routine may not return; exp(x) overflows."""

_LARGEST = 1e6
"""For a larger \\|a\\|, SciPy's routine may not return."""

_FEW = 50.0
"""With arguments up to this, Kummer's series has few terms."""

_LARGEST_LOSS = 4.0
"""How much larger than their sum the terms of a series of floats may be."""

_LARGEST_LOSS_OF_DOUBLED = 1e14
"""And those of a series of numbers with twice the digits."""

_LARGEST_ERROR = 1e-15
"""How much the rounding error of b - a may change the sum, relative to it."""

_MOST_TERMS = 5000
"""After so many terms, a sum that has not ended is given up."""

_ENOUGH = 1e-18
"""How small the last terms of a series of floats are, relative to the magnitudes of all."""

_ENOUGH_OF_DOUBLED = 1e-34
"""And those of a series of numbers with twice the digits."""


def hyp1f1(a: Any, b: Any, x: Any) -> Any:
    """Return Kummer's function of arrays of float64.

    It is infinite for a large x, and NaN where SciPy's routine may not return.

    Examples
    --------
    >>> from phintys.scalar.kummer import hyp1f1
    >>> hyp1f1(2.0, 2.0, -1.0).round(12)
    np.float64(0.367879441171)
    """
    special = import_whole("scipy.special")
    a, b, x = np.broadcast_arrays(*(np.asarray(one, np.float64) for one in (a, b, x)))
    is_polynomial = (a <= 0) & (a == np.floor(a))
    is_large = (x > _LARGE) & ~is_polynomial
    overflows = is_large & (x > 100 * np.abs(a)) & (x > 100 * np.abs(b))
    unknown = (np.abs(a) > _LARGEST) | (is_large & ~overflows)
    values = np.full(a.shape, np.nan)
    _by_series(values, _value, a, b, x, _FEW)
    left = np.isnan(values) & ~(overflows | unknown)
    values[left] = special.hyp1f1(a[left], b[left], x[left])
    sign = special.gammasgn(a) * special.gammasgn(b)
    return np.where(overflows, np.copysign(np.inf, sign), values)[()]


def hyp1f1_by_a(a: Any, b: Any, x: Any) -> Any:
    """Return the derivative of hyp1f1 by a, of arrays of float64.

    It is NaN where too few digits would be known.

    Examples
    --------
    >>> from phintys.scalar.kummer import hyp1f1_by_a
    >>> hyp1f1_by_a(1.0, 2.0, 0.5).round(12)
    np.float64(0.323240912303)
    """
    return _slope(_slope_by_a, a, b, x)


def hyp1f1_by_b(a: Any, b: Any, x: Any) -> Any:
    """Return the derivative of hyp1f1 by b, of arrays of float64.

    It is NaN where too few digits would be known.

    Examples
    --------
    >>> from phintys.scalar.kummer import hyp1f1_by_b
    >>> hyp1f1_by_b(1.0, 2.0, 0.5).round(12)
    np.float64(-0.166101211946)
    """
    return _slope(_slope_by_b, a, b, x)


def _slope(function: Any, a: Any, b: Any, x: Any) -> Any:
    a, b, x = np.broadcast_arrays(*(np.asarray(one, np.float64) for one in (a, b, x)))
    slopes = np.full(a.shape, np.nan)
    _by_series(slopes, function, a, b, x, _LARGE)
    return slopes[()]


def _by_series(result: Any, function: Any, a: Any, b: Any, x: Any, limit: float) -> None:
    """Fill in the sums of series of arguments below a limit, if they lose few of their digits."""
    is_pole = (b <= 0) & (b == np.floor(b))
    few = (np.abs(a) < limit) & (np.abs(b) < limit) & (np.abs(x) < limit) & ~is_pole
    if not few.any():
        return
    a, b, x = a[few], b[few], x[few]
    below = x < 0
    if function is _value:  # of which few terms are left, with signs that mostly agree
        below &= ~((a <= 0) & (a == np.floor(a)))
    first, error = exact_sum(b, -a)
    first, error = np.where(below, first, a), np.where(below, error, 0.0)
    size = np.where(below, -x, x)
    with np.errstate(all="ignore"):
        total, magnitude = function(first, b, size, below)
        # (b - a)(b - a + 1)... with a relative error.
        lost = np.abs(error) * np.log1p(np.abs(size / first))
        again = (magnitude > _LARGEST_LOSS * np.abs(total)) | (lost > _LARGEST_ERROR)
        if again.any():
            exactly = (Doubled(one[again]) for one in (b, size))
            start = Doubled(first[again], error[again])
            precise, terms = function(start, *exactly, below[again])
            is_known = terms <= _LARGEST_LOSS_OF_DOUBLED * abs(precise)
            total[again] = np.where(is_known, precise.value, np.nan)
        # Where an infinite sum has terms of both signs, or a factor, its value may be finite.
        total[np.isinf(total) & (below | (first < 0) | (b < 0))] = np.nan
        factor = np.exp(np.where(below, x / 2, 0.0))  # in halves, which do not underflow
        result[few] = factor * total * factor


def _value(a: Any, b: Any, x: Any, below: Any) -> tuple[Any, Any]:
    """Return the sum of the series, and that of the magnitudes of its terms."""
    term = x * 0.0 + 1.0
    total, magnitude = term, abs(term)
    for n in range(_MOST_TERMS):
        term = term * ((a + n) * x / ((b + n) * (n + 1.0)))
        total, magnitude = total + term, magnitude + abs(term)
        if _has_ended(n + 1, (a, b, x), total, (term, magnitude)):
            return total, magnitude
    return total * np.nan, magnitude


def _slope_by_a(a: Any, b: Any, x: Any, below: Any) -> tuple[Any, Any]:
    """Return the derivative by the a of what was transformed where x was below 0."""
    by_a, _, magnitude, _ = _slopes(a, b, x)
    return by_a * np.where(below, -1.0, 1.0), magnitude


def _slope_by_b(a: Any, b: Any, x: Any, below: Any) -> tuple[Any, Any]:
    by_a, by_b, magnitude_by_a, magnitude = _slopes(a, b, x)
    return by_b + by_a * np.where(below, 1.0, 0.0), magnitude + np.where(below, magnitude_by_a, 0.0)


def _slopes(a: Any, b: Any, x: Any) -> tuple[Any, Any, Any, Any]:
    """Return the sums of the derivatives of the terms by a and by b, and of their magnitudes."""
    term = x * 0.0 + 1.0
    of_a = of_b = by_a = by_b = x * 0.0
    magnitude_by_a = magnitude_by_b = abs(by_a)
    for n in range(_MOST_TERMS):
        step = x / ((b + n) * (n + 1.0))
        ratio = (a + n) * step
        of_a = of_a * ratio + term * step
        of_b = (of_b - term / (b + n)) * ratio
        term = term * ratio
        by_a, by_b = by_a + of_a, by_b + of_b
        magnitude_by_a, magnitude_by_b = magnitude_by_a + abs(of_a), magnitude_by_b + abs(of_b)
        sums = (term, magnitude_by_a), (of_a, magnitude_by_a), (of_b, magnitude_by_b)
        if _has_ended(n + 1, (a, b, x), by_a, *sums):
            return by_a, by_b, magnitude_by_a, magnitude_by_b
    return by_a * np.nan, by_b * np.nan, magnitude_by_a, magnitude_by_b


def _has_ended(n: int, arguments: Any, total: Any, *sums: tuple[Any, Any]) -> bool:
    """Return whether the last of n terms are small beside the magnitudes so far, and get smaller.

    Each later term is less than half as large as the one before it where that is so of the next,
    and (a + n) / (b + n) has no pole to come: it goes to 1 and becomes no larger than 1 on its way.
    """
    is_doubled = isinstance(total, Doubled)
    enough = _ENOUGH_OF_DOUBLED if is_doubled else _ENOUGH
    ended = True
    for term, magnitude in sums:
        ended = ended & (abs(term) <= enough * magnitude)
    if not np.any(ended):
        return not np.any(np.isfinite(total.value if is_doubled else total))
    a, b, x, values = (
        one.value if isinstance(one, Doubled) else one for one in (*arguments, total)
    )
    gets_smaller = 2 * np.maximum(np.abs(a + n), b + n) * x <= (b + n) * (n + 1)
    return bool(np.all(~np.isfinite(values) | (ended & (b + n > 0) & gets_smaller)))
