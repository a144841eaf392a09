"""Derivatives of the logarithms of scaled modified Bessel functions, on arrays.

The derivatives of ``ive`` and ``kve`` as sums of their neighbors cancel by a factor of 2 x. Here
nothing cancels but the two terms of the slope of ``ive``, near its zero at ``x = v**2``. In series
and continued fractions for moderate arguments, and in the uniform expansions of P. Debye (1909)
elsewhere; the NIST Digital Library of Mathematical Functions (dlmf.nist.gov) is cited by section.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from phintys.scalar.doubled import exact_sum

FAR = 64.0
"""The distance of (v, x) from the origin from which the uniform expansions are used."""

LARGEST = 1e300
"""Larger arguments are taken for this one, whose slope differs by as little as a subnormal."""

LEAST = 0.25
"""The smallest argument for which the slope of ``kve`` is computed; it is NaN below."""

MOST_TERMS = 2000
ENOUGH = 1e-18
FRACTION_LENGTH, FRACTION_LENGTH_AT_1 = 20.0, 40.0
"""A continued fraction of ``20 + 40 / x + v`` places has converged for all x from LEAST on."""

_EXPANSION_TERMS = 12

Powers = dict[int, Fraction]


def _uniform_coefficients() -> tuple[tuple[tuple[float, ...], ...], ...]:
    """Return the coefficients of ``U(k)`` and ``V(k) - U(k)`` of DLMF 10.41.9.

    Each is ``p**k`` times a polynomial in ``p**2``.
    """
    sums, changes = [{0: Fraction(1)}], [{0: Fraction(0)}]
    for k in range(_EXPANSION_TERMS):
        following: Powers = {}
        change: Powers = {}
        for power, number in sums[k].items():
            half = number * Fraction(2 * power + 1, 2)  # of p U + 2 p**2 U'
            for sign, above, weight in ((1, power + 1, 1), (-1, power + 3, 5)):
                bend = sign * number * (Fraction(power, 2) + Fraction(weight, 8 * above))
                following[above] = following.get(above, Fraction(0)) + bend
                change[above] = change.get(above, Fraction(0)) - sign * half
        sums.append(following)
        changes.append(change)

    def rows(polynomials: list[Powers]) -> tuple[tuple[float, ...], ...]:
        return tuple(
            tuple(float(one.get(k + 2 * j, 0)) for j in range(k + 1))
            for k, one in enumerate(polynomials)
        )

    return rows(sums), rows(changes)


SUMS, CHANGES = _uniform_coefficients()


def log_ive_slope(v: Any, x: Any) -> Any:
    """Return the derivative of ``log(ive(v, x))`` by x, for ``v > -1/2`` or a whole v.

    Parameters
    ----------
    v
        The order, an array of floats.
    x
        The argument, a positive array.

    Examples
    --------
    >>> import numpy as np
    >>> from phintys.scalar.bessel_slopes import log_ive_slope
    >>> log_ive_slope(np.array([0.0, 0.5]), np.array([1e8, 1e8]))
    array([-5.00000001e-09, -5.00000000e-09])
    """
    return _slopes(v, x, 1.0, _by_series)


def log_kve_slope(v: Any, x: Any) -> Any:
    """Return the derivative of ``log(kve(v, x))`` by x, for ``x >= 1/4``.

    Parameters
    ----------
    v
        The order, an array of floats.
    x
        The argument, an array of numbers that are not below 1/4.

    Examples
    --------
    >>> import numpy as np
    >>> from phintys.scalar.bessel_slopes import log_kve_slope
    >>> log_kve_slope(np.array([0.5, 1.5]), np.array([2.0, 2.0])).round(12)
    array([-0.25      , -0.41666667])
    """
    return _slopes(v, x, -1.0, _by_fraction)


def _slopes(v: Any, x: Any, side: float, near: Any) -> Any:
    v, x = np.broadcast_arrays(np.asarray(v), np.asarray(x))
    shape, dtype = v.shape, np.result_type(v, x)
    v, x = (np.asarray(one, np.float64).reshape(-1) for one in (v, x))
    v = np.abs(v) if side < 0 else np.where(v == np.rint(v), np.abs(v), v)
    v, x = np.minimum(v, LARGEST), np.minimum(x, LARGEST)
    result = np.full(v.shape, np.nan)
    with np.errstate(all="ignore"):
        is_known = (x >= LEAST if side < 0 else x > 0) & (v > -0.5)
        is_far = np.hypot(v, x) > FAR
        for there, function in ((is_far, _far(side)), (~is_far, near)):
            if (there & is_known).any():
                result[there & is_known] = function(v[there & is_known], x[there & is_known])
    return result.reshape(shape).astype(dtype)[()]


def _by_series(v: Any, x: Any) -> Any:
    """Return the slope of ``ive``: ``v / x`` less ``ive(v + 1, x) / ive(v, x)`` taken from 1.

    Both are ``exp(-2 x)`` times Kummer's functions of ``v + 1/2`` at 2 x (DLMF 10.39.5), whose
    terms are positive, and differ by a factor ``(2 v + 1) / (2 v + 1 + n)``.
    """
    term, total, part = (np.ones_like(x) for _ in range(3))
    lost, lost_part = np.zeros_like(x), np.zeros_like(x)
    for n in range(MOST_TERMS):
        place = 2 * v + 1 + n
        term = term * ((v + (n + 0.5)) * (2 * x) / (place * (n + 1)))
        total, error = exact_sum(total, term)
        lost = lost + error
        part, error = exact_sum(part, term * ((2 * v + 1) / (place + 1)))
        lost_part = lost_part + error
        if not (term > ENOUGH * total).any():
            break
    return v / x - (part + lost_part) / (total + lost)


def _by_fraction(v: Any, x: Any) -> Any:
    """Return the slope of ``kve`` by the continued fraction of N. M. Temme (1975), from its end.

    It is the quotient of two functions of Tricomi, in ``x kve(v + 1, x) / kve(v, x)`` less
    ``v + x + 1/2`` (DLMF 10.39.6 and 13.3.7).
    """
    rest, square = np.zeros_like(x), v * v
    length = FRACTION_LENGTH + FRACTION_LENGTH_AT_1 / x.min() + v.max()
    for n in range(math.ceil(length), 0, -1):
        rest = 1 / (2 * (x + n) + (square - (n + 0.5) ** 2) * rest)
    return -(0.5 + (v - 0.5) * (v + 0.5) * rest) / x


def _far(side: float) -> Any:
    """Return the slope by the uniform expansion of both functions: signs differ (DLMF 10.41.3)."""

    def slope(v: Any, x: Any) -> Any:
        distance = np.hypot(v, x)
        step, square = side / distance, np.square(v / distance)
        total, change = (np.zeros_like(x) for _ in range(2))
        for sums, changes in zip(reversed(SUMS), reversed(CHANGES), strict=True):
            total = total * step + sum_of_powers(square, sums)
            change = change * step + sum_of_powers(square, changes)
        return side * ((v / x) * (v / (distance + x)) + (distance / x) * (change / total))

    return slope


def sum_of_powers(x: Any, coefficients: tuple[float, ...]) -> Any:
    """Return a polynomial, by Horner's scheme.

    Examples
    --------
    >>> from phintys.scalar.bessel_slopes import sum_of_powers
    >>> sum_of_powers(2.0, (1.0, 0.5))
    2.0
    """
    total: Any = coefficients[-1]
    for number in reversed(coefficients[:-1]):
        total = number + x * total
    return total
