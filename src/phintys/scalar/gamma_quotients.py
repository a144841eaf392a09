"""Beta functions, binomial coefficients, densities of gamma and beta numbers, in NumPy.

Native code has the same formulas, and says where they come from. Here exponents are computed in
NumPy's longest floats, which on most machines have some bits more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from phintys._base.uninterrupted import import_whole
from phintys.scalar.doubled import exact_sum

LARGEST = 1e100
"""Parameters up to this are taken; of larger ones quotients overflow."""

FEW = 20.0
"""Binomial coefficients and factorials of fewer whole factors are products."""

_STIRLING_FROM = 2.5
_SERIES_FROM = 24
_CLOSE = 0.01
# B(2 k) / (2 k (2 k - 1)): Stirling's series (DLMF 5.11.1).
_STIRLING = ((1, 12), (-1, 360), (1, 1260), (-1, 1680), (1, 1188), (-691, 360360), (1, 156))


def gamma_density(a: Any, x: Any) -> Any:
    """Return ``x**(a - 1) * exp(-x) / gamma(a)`` of arrays of float32 or float64.

    Examples
    --------
    >>> import numpy as np
    >>> from phintys.scalar.gamma_quotients import gamma_density
    >>> gamma_density(np.array([1.0, 2.0]), np.array([0.0, 1.0])).round(6)
    array([1.      , 0.367879])
    """
    with np.errstate(all="ignore"):
        is_inside = (a > 0) & (a < LARGEST) & (x > 0) & (x < np.inf)
        shape, place = _wide(is_inside, (a, 1), (x, 1))
        base, rest, scale = _gamma(shape)
        change, is_known = (place - shape) / shape, base == shape
        logarithm = _log_near(place / base, change, is_known)
        exponent = (shape - 1) * logarithm + (shape - place)
        # (a - 1) log(1 + t) - a t of a small t, whose first terms cancel.
        is_close = is_known & (np.abs(change) < _CLOSE)
        t = np.where(is_close, change, 0)
        series = np.zeros_like(t)
        for n in range(12, 1, -1):
            series = np.longdouble((-1) ** (n + 1)) / n + t * series
        exponent = np.where(is_close, shape * t * t * series - logarithm, exponent) - rest
        result = np.where(is_inside, np.exp(exponent) / (scale * base), np.nan)
        is_zero = (a >= 0) & (a < np.inf) & ((x == np.inf) | ((a == 0) & (x > 0)))
        is_huge = (a >= LARGEST) & (a < np.inf) & (x >= 0)
        result = np.where(is_zero | is_huge, 0, result)
        # All of the mass is at less than a rounding error from so huge a shape.
        result = np.where(
            is_huge & (x == a), 1 / np.sqrt(2 * np.pi * LARGEST) / np.sqrt(a / LARGEST), result
        )
        return _at_origin(a, x, 1, result).astype(np.result_type(a, x))


def beta_density(a: Any, b: Any, x: Any) -> Any:
    """Return ``x**(a - 1) * (1 - x)**(b - 1) / beta(a, b)`` of arrays of float32 or float64.

    Examples
    --------
    >>> import numpy as np
    >>> from phintys.scalar.gamma_quotients import beta_density
    >>> beta_density(np.array([2.0]), np.array([2.0]), np.array([0.5]))
    array([1.5])
    """
    with np.errstate(all="ignore"):
        are_positive = (a > 0) & (b > 0) & (a < LARGEST) & (b < LARGEST)
        is_inside = are_positive & (x > 0) & (x < 1)
        first, second, place = _wide(is_inside, (a, 1), (b, 1), (x, 0.5))
        whole, one, other = (_gamma(p) for p in (first + second, first, second))
        change, is_large = second * place - first * (1 - place), whole[0] == first + second
        left = _log_near(place * whole[0] / one[0], change / first, is_large & (one[0] == first))
        right = (1 - place) * whole[0] / other[0]
        right = _log_near(right, -change / second, is_large & (other[0] == second))
        exponent = (first - 1) * left + (second - 1) * right
        exponent += whole[1] - one[1] - other[1]
        scale = whole[2] * whole[0] ** 2 / (one[2] * one[0] * other[2] * other[0])
        result = np.where(is_inside, np.exp(exponent) * scale, np.nan)
        result = np.where(are_positive, _at_origin(a, x, b, result), np.nan)
        result = np.where(are_positive, _at_origin(b, 1 - x, a, result), np.nan)
        return result.astype(np.result_type(a, b, x))


def beta(x: Any, y: Any) -> Any:
    """Return beta(x, y) of arrays; of numbers that are not positive SciPy's.

    Examples
    --------
    >>> from phintys.scalar.gamma_quotients import beta
    >>> beta(2.0, 3.0)
    np.float64(0.08333333333333333)
    """
    with np.errstate(all="ignore"):
        is_usual = np.asarray((x > 0) & (y > 0) & (x < LARGEST) & (y < LARGEST))
        found = _beta(*_wide(is_usual, (x, 1), (y, 1)))
        return _or_scipy("beta", is_usual, found, x, y)


def _beta(x: Any, y: Any) -> Any:
    whole, one, other = (_gamma(p) for p in (x + y, x, y))
    exponent = x * _log_of_share(one[0], whole[0], x, y)
    exponent += y * _log_of_share(other[0], whole[0], y, x)
    exponent += one[1] + other[1] - whole[1]
    return np.exp(exponent) * (one[2] * other[2] / whole[2])


def binom(n: Any, k: Any) -> Any:
    """Return binomial coefficients of arrays.

    Examples
    --------
    >>> from phintys.scalar.gamma_quotients import binom
    >>> binom(5.0, 2.0)
    np.float64(10.0)
    """
    with np.errstate(all="ignore"):
        n, k = np.broadcast_arrays(np.asarray(n), np.asarray(k))
        dtype = np.result_type(n, k)
        n, k = n.astype(float), k.astype(float)
        few = np.minimum(_few_or(k, FEW), _few_or(n - k, FEW))
        is_few = few < FEW
        is_usual = ~is_few & (k > -1) & (n - k > -1) & (n > -1) & (n < LARGEST)
        wide, part = _wide(is_usual, (n, 1), (k, 0.5))
        whole, one, other = (_gamma(p) for p in (wide + 1, part + 1, wide - part + 1))
        rest = wide - part
        exponent = -(part + 1) * _log_of_share(one[0], whole[0], part + 1, rest)
        exponent -= (rest + 1) * _log_of_share(other[0], whole[0], rest + 1, part)
        exponent += whole[1] - one[1] - other[1] + 1
        found = np.exp(exponent) * (whole[2] / (one[2] * other[2] * whole[0]))
        found = np.where(is_few, _factors(n, np.where(is_few, few, 0), -1), found)
        rest, lost = exact_sum(n, -k)
        below, lost = np.minimum(k, rest), np.where(k < rest, 0.0, lost)
        is_outside = ~is_few & (below <= -1) & (n > -1) & (n < LARGEST)
        found = np.where(is_outside, _outside(is_outside, n, below, lost), found)
        known = is_few | is_usual | is_outside
        return _or_scipy("binom", known, found, n, k).astype(dtype)[()]


def _outside(is_outside: Any, n: Any, below: Any, lost: Any) -> Any:
    """Return binomial coefficients of k below -1 or above n + 1, by reflection (DLMF 5.5.3).

    The smaller one of k and n - k is given with its rounding error.
    """
    order, number = _wide(is_outside, (n + 1, 2), (-below, 1.5))
    whole, others = np.rint(below), np.rint(lost)
    part = (below - whole) + (lost - others)
    is_even = np.mod(whole, 2) == np.mod(others, 2)
    sine = np.where(is_even, -1, 1) * np.sin(_pi() * part)
    nearer = np.minimum(number, LARGEST)
    found = _beta(order, nearer) * (number / nearer) ** -order * sine / _pi()
    return np.where(part == 0, 0, found)


def poch(z: Any, m: Any) -> Any:
    """Return rising factorials of arrays.

    Examples
    --------
    >>> from phintys.scalar.gamma_quotients import poch
    >>> poch(2.0, 3.0)
    np.float64(24.0)
    """
    with np.errstate(all="ignore"):
        z, m = np.broadcast_arrays(np.asarray(z), np.asarray(m))
        dtype = np.result_type(z, m)
        z, m = z.astype(float), m.astype(float)
        few = _few_or(m, FEW)
        is_few = few < FEW
        is_usual = ~is_few & (z > 0) & (z + m > 0) & (z < LARGEST) & (m < LARGEST)
        first, part = _wide(is_usual, (z, 1), (m, 0.5))
        whole, one = _gamma(first + part), _gamma(first)
        exponent = part * np.log(whole[0]) - first * _log_of_share(one[0], whole[0], first, part)
        exponent += whole[1] - one[1] - part
        found = np.exp(exponent) * (whole[2] / one[2])
        found = np.where(is_few, _factors(z, np.where(is_few, few, 0), 1), found)
        return _or_scipy("poch", is_few | is_usual, found, z, m).astype(dtype)[()]


def _log_of_share(part: Any, whole: Any, p: Any, rest: Any) -> Any:
    """Return log(part / whole), of p and p + rest or, instead of small ones, 1."""
    return _log_near(part / whole, -rest / whole, (part == p) & (whole != 1))


def _log_near(ratio: Any, change: Any, is_known: Any) -> Any:
    """Return log(ratio), by the ratio less 1 where that is known and small."""
    is_close = is_known & (np.abs(change) < 0.5)
    near = np.log1p(np.where(is_close, change, 0))
    return np.where(is_close, near, np.log(ratio))


def _few_or(x: Any, most: float) -> Any:
    """Return x where it is a whole number from 0 to most; elsewhere ``most``."""
    return np.where((np.rint(x) == x) & (x >= 0) & (x < most), x, most)


def _factors(first: Any, count: Any, step: int) -> Any:
    """Return the product of some numbers in steps of 1, rising, or in steps of -1 by count!."""
    above, below = np.ones_like(first), np.ones_like(first)
    for done in range(int(count.max(initial=0))):
        is_left = done < count
        above = np.where(is_left, above * (first + step * done), above)
        if step < 0:
            below = np.where(is_left, below * (done + 1), below)
            is_large = np.abs(above) > 1e50
            above, below = np.where(is_large, above / below, above), np.where(is_large, 1, below)
    return above / below if step < 0 else above


def _or_scipy(name: str, is_known: Any, found: Any, *given: Any) -> Any:
    """Return the numbers found, in the dtype of the arguments, and SciPy's elsewhere."""
    found = np.asarray(found, np.result_type(*given))
    if not is_known.all():
        others = (np.broadcast_to(one, is_known.shape)[~is_known] for one in given)
        found[~is_known] = getattr(import_whole("scipy.special"), name)(*others)
    return found[()]


def _wide(is_inside: Any, *pairs: tuple[Any, float]) -> list[Any]:
    return [np.where(is_inside, value, other).astype(np.longdouble) for value, other in pairs]


def _at_origin(a: Any, x: Any, of_one: Any, result: Any) -> Any:
    there = np.where(a < 1, np.inf, np.where(a == 1, of_one, 0))
    return np.where((x == 0) & (a > 0), there, result)


def _gamma(p: Any) -> tuple[Any, Any, Any]:
    """Return base, rest and scale where gamma(p) is ``scale * (base / e)**p * exp(rest)``."""
    base = np.where(p > _STIRLING_FROM, p, 1)
    scale = np.where(p > _STIRLING_FROM, np.sqrt(2 * _pi() / p), 1)
    nearer = np.minimum(p, _SERIES_FROM)
    near = log_gamma_of_wide(nearer) + nearer - nearer * np.log(np.minimum(base, _SERIES_FROM))
    near -= np.log(scale)
    return base, np.where(p < _SERIES_FROM, near, _remainder(p)), scale


def log_gamma_of_wide(p: Any) -> Any:
    """Return log(gamma(p)) of positive numbers in their precision.

    Examples
    --------
    >>> import numpy as np
    >>> from phintys.scalar.gamma_quotients import log_gamma_of_wide
    >>> bool(abs(log_gamma_of_wide(np.longdouble(3)) - np.log(2)) < 1e-15)
    True
    """
    shifted, product = p, np.ones_like(p)
    while (steps := shifted < _SERIES_FROM).any():
        product = np.where(steps, product * shifted, product)
        shifted = np.where(steps, shifted + 1, shifted)
    whole = (shifted - 0.5) * np.log(shifted) - shifted + np.log(2 * _pi()) / 2
    return whole + _remainder(shifted) - np.log(product)


def _remainder(p: Any) -> Any:
    """Return log(gamma(p)) less Stirling's formula."""
    inverse, series = 1 / p, np.zeros_like(p)
    for above, below in reversed(_STIRLING):
        series = series * inverse * inverse + np.longdouble(above) / below
    return series * inverse


def _pi() -> Any:
    return 4 * np.arctan(np.longdouble(1))
