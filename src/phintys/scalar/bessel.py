"""Bessel functions in NumPy, where SciPy's lose digits.

Those of the first kind, of orders 0 and 1, by Hankel's form from 5 on: SciPy's lose the digits
of the phase there, which is a rounded difference. By the sine and the cosine of the argument itself
they are kept (H. Hankel, 1869; DLMF 10.17.3). The modified functions where the routines of D. E.
Amos lose up to three digits, overflow or underflow too early: by the uniform expansions of P. Debye
(1909; DLMF 10.41.3) far out; nearer, one kind by the other and their Wronskian (DLMF 10.28.2); next
to 0 by their series, that of the second kind as in :mod:`.bessel_near_0`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from phintys._base.uninterrupted import import_whole
from phintys.scalar.bessel_near_0 import ENOUGH, NEAR_TO, modified_near_0, modified_series, stepped
from phintys.scalar.bessel_slopes import (
    SUMS,
    log_kve_slope,
    sum_of_powers,
)
from phintys.scalar.doubled import exact_sum
from phintys.scalar.slope_coefficients import HANKEL_P_0, HANKEL_P_1, HANKEL_Q_0, HANKEL_Q_1

FAR = 25.0
"""Where the expansion is used from."""

MIDDLE = 5.0
"""From here to there, polynomials take the place of its series."""

TINY = 1e-150
"""Smaller numbers are twice the function of order 1; of subnormal ones SciPy's loses digits."""

_TERMS = 11


def _coefficients(order: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the coefficients of P and of Q in powers of 1 / x**2, Q without a factor 1 / x."""
    number, found = 1.0, []
    for k in range(2 * _TERMS):
        found.append((-1) ** (k // 2) * number)
        number *= (4 * order**2 - (2 * k + 1) ** 2) / (8 * (k + 1))
    return tuple(found[::2]), tuple(found[1::2])


HANKEL = tuple(_coefficients(order) for order in (0, 1))
"""For both orders, the coefficients of P and Q."""

HANKEL_MIDDLE = tuple(
    tuple(numbers["float64"] for numbers in pair)
    for pair in ((HANKEL_P_0, HANKEL_Q_0), (HANKEL_P_1, HANKEL_Q_1))
)
"""Those of the polynomials."""


def j0(x: Any) -> Any:
    """Return the function of order 0 of an array of float32 or float64.

    Examples
    --------
    >>> from phintys.scalar.bessel import j0
    >>> j0(100.0).round(12)
    np.float64(0.019985850304)
    """
    return _bessel(0, x)


def j1(x: Any) -> Any:
    """Return the function of order 1 of an array of float32 or float64.

    Examples
    --------
    >>> from phintys.scalar.bessel import j1
    >>> j1(-100.0).round(12)
    np.float64(0.077145352014)
    """
    return _bessel(1, x)


def _bessel(order: int, x: Any) -> Any:
    x = np.asarray(x)
    wide = x.astype(np.float64)
    near = getattr(import_whole("scipy.special"), f"j{order}")(wide)
    is_far = (np.abs(wide) >= MIDDLE) & np.isfinite(wide)
    if is_far.any():
        far = _far(order, np.where(is_far, np.abs(wide), FAR))
        near = np.where(is_far, far if order == 0 else np.sign(wide) * far, near)
    near = near if order == 0 else np.where(np.abs(wide) < TINY, 0.5 * wide, near)
    return near.astype(x.dtype)[()]


def _far(order: int, x: Any) -> Any:
    inverse = 1 / x
    square = inverse * inverse
    even, odd = (
        np.where(x < FAR, sum_of_powers(square, near), sum_of_powers(square, numbers))
        for near, numbers in zip(HANKEL_MIDDLE[order], HANKEL[order], strict=True)
    )
    odd = odd * inverse
    cosine, sine = np.cos(x), np.sin(x)
    first, second = (cosine, sine) if order == 0 else (sine, -cosine)
    # The root of pi x, which may overflow.
    return ((even + odd) * first + (even - odd) * second) / (2 * np.sqrt(0.25 * math.pi * x))


ORDERS_BELOW = 50.0
"""Orders below this are computed by series, and by Wronskians."""

UNIFORM_FROM = 50.0
"""The distance of (v, x) from the origin from which the uniform expansions are used: the first term
that is left out is below 2e-18."""

WRONSKIAN_TO = 2.0
"""Up to where functions of the second kind are computed from those of the first kind; from there on
those of the first kind are computed from those of the second kind."""

RATIO_LENGTH, RATIO_LENGTH_AT_1 = 8.0, 7.0
"""The fraction of a quotient of the first kind has converged with ``8 + 7 * sqrt(x)`` places ..."""

MOST_PLACES = 100
"""... and those of the second kind, from 2 on, with fewer than this."""

LARGEST_ORDER = 2.0**990
"""Larger orders are taken for it, with arguments that are smaller by as much."""

LARGEST_POWER, LIFT = 600.0, 64.0
"""Exponents above the first are less than the second, so that a small factor is in time."""


def iv(v: Any, x: Any) -> Any:
    """Return the modified function of the first kind of arrays of floats; of complex x SciPy's.

    Examples
    --------
    >>> from phintys.scalar.bessel import iv
    >>> iv(0.5, 1.0).round(12)
    np.float64(0.937674888245)
    """
    return _first_kind("iv", v, x, 1)


def ive(v: Any, x: Any) -> Any:
    """Return ``iv(v, x) * exp(-abs(x))`` of arrays of float32 or float64.

    Examples
    --------
    >>> from phintys.scalar.bessel import ive
    >>> ive(0.5, 2.0).round(12)
    np.float64(0.276928045435)
    """
    return _first_kind("ive", v, x, 0)


OVERFLOWING = 700.0
"""SciPy's ``i0`` and ``i1`` of larger numbers overflow too early."""


def i0(x: Any) -> Any:
    """Return the modified function of the first kind and of order 0 of an array of floats.

    Examples
    --------
    >>> from phintys.scalar.bessel import i0
    >>> i0(1.0).round(12)
    np.float64(1.266065877752)
    """
    return _whole_order("i0", 0, x)


def i1(x: Any) -> Any:
    """Return the modified function of the first kind and of order 1 of an array of floats.

    Examples
    --------
    >>> from phintys.scalar.bessel import i1
    >>> i1(-1.0).round(12)
    np.float64(-0.565159103992)
    """
    return _whole_order("i1", 1, x)


def _whole_order(name: str, order: int, x: Any) -> Any:
    x = np.asarray(x)
    found, size = getattr(import_whole("scipy.special"), name)(x), np.abs(x.astype(np.float64))
    is_far = size > OVERFLOWING
    if is_far.any():
        far = _uniform(np.full(x.shape, float(order)), np.where(is_far, size, 1.0), 1.0, 1.0)
        found = np.where(is_far, far if order == 0 else np.sign(x) * far, found)
    with np.errstate(over="ignore"):
        return np.asarray(found).astype(x.dtype)[()]


def _first_kind(name: str, v: Any, x: Any, growth: float) -> Any:
    special, dtype = import_whole("scipy.special"), np.result_type(v, x)
    if dtype.kind == "c":
        return getattr(special, name)(v, x)
    v, x = np.broadcast_arrays(np.asarray(v, np.float64), np.asarray(x, np.float64))
    is_whole = v == np.rint(v)
    order, size = np.where(is_whole, np.abs(v), v), np.abs(x)
    is_real = is_whole | (x >= 0)
    # Below -1/2, an order that is not whole adds a multiple of the other function.
    is_far = is_real & (np.hypot(order, size) > UNIFORM_FROM) & ((order > -0.5) | (-order < size))
    is_far = is_far & (size > 0)
    is_small = is_real & ~is_far & (size <= WRONSKIAN_TO) & (order > -1) & (order <= ORDERS_BELOW)
    is_between = is_real & ~is_far & (size > WRONSKIAN_TO) & (order > -0.5)
    found = np.full(v.shape, np.nan)

    def between(v: Any, x: Any) -> Any:
        return np.exp(growth * x) / (x * _between(v, x) * _wronskian(v, x))

    with np.errstate(all="ignore"):
        for there, function in (
            (is_far, lambda v, x: _uniform(v, x, 1.0, growth)),
            (is_small, lambda v, x: modified_series(v, x) * np.exp((growth - 1) * x)),
            (is_between, between),
        ):
            if there.any():
                found[there] = function(order[there], size[there])
    is_odd = np.mod(np.where(is_whole & np.isfinite(v), v, 0.0), 2) == 1
    found = np.asarray(np.where(np.signbit(x) & is_odd, -found, found))
    known = is_far | is_small | is_between
    found[~known] = getattr(special, name)(v[~known], x[~known])
    return found.astype(dtype)[()]


def _wronskian(v: Any, x: Any) -> Any:
    """Return 1 by the product of x and both functions (10.28.2).

    That is ``I(v + 1) / I(v)``, by its continued fraction (10.33.1), and ``K(v + 1) / K(v)``.
    """
    rest, twice = np.zeros_like(x), 2 / x
    for n in range(math.ceil(RATIO_LENGTH + RATIO_LENGTH_AT_1 * math.sqrt(x.max())), 0, -1):
        rest = 1 / ((v + n) * twice + rest)
    return rest + (v / x + (1 - log_kve_slope(v, x)))


def kv(v: Any, x: Any) -> Any:
    """Return the modified function of the second kind of arrays of floats; of complex x SciPy's.

    Examples
    --------
    >>> from phintys.scalar.bessel import kv
    >>> kv(0.5, 1.0).round(12)
    np.float64(0.461068504448)
    """
    return _second_kind("kv", v, x, 0)


def kve(v: Any, x: Any) -> Any:
    """Return ``kv(v, x) * exp(x)``.

    Examples
    --------
    >>> from phintys.scalar.bessel import kve
    >>> kve(0.5, 1.0).round(10)
    np.float64(1.2533141373)
    """
    return _second_kind("kve", v, x, 1)


def _second_kind(name: str, v: Any, x: Any, growth: float) -> Any:
    special, dtype = import_whole("scipy.special"), np.result_type(v, x)
    if dtype.kind == "c":
        return getattr(special, name)(v, x)
    v, x = np.broadcast_arrays(np.abs(v, dtype=np.float64), np.asarray(x, np.float64))
    is_far = (x > 0) & (np.hypot(v, x) > UNIFORM_FROM)
    is_inner = (x > 0) & ~is_far & (v <= UNIFORM_FROM)
    is_near = is_inner & (x < NEAR_TO)
    is_small = is_inner & ~is_near & (x <= WRONSKIAN_TO)
    is_between = is_inner & (x > WRONSKIAN_TO)
    found = np.full(v.shape, np.nan)

    def small(v: Any, x: Any) -> Any:
        return np.exp(growth * x) / (x * modified_series(v, x) * _wronskian(v, x))

    with np.errstate(all="ignore"):
        for there, function in (
            (is_far, lambda v, x: _uniform(v, x, -1.0, growth - 1)),
            (is_near, lambda v, x: modified_near_0(v, x) * np.exp(growth * x)),
            (is_small, small),
            (is_between, lambda v, x: _between(v, x) * np.exp((growth - 1) * x)),
        ):
            if there.any():
                found[there] = function(v[there], x[there])
    known = is_far | is_near | is_small | is_between
    found[~known] = getattr(special, name)(v[~known], x[~known])
    return found.astype(dtype)[()]


def _between(v: Any, x: Any) -> Any:
    """Return ``kve`` by its recurrence, which is stable to larger orders."""
    base = v - np.rint(v)
    value, following = _by_fraction(base, x)
    return stepped(v, x, value, following, 1.0)


def _by_fraction(m: Any, x: Any) -> tuple[Any, Any]:
    """Return ``kve`` of an order between -1/2 and 1/2 and of the next one.

    By the continued fraction of a quotient of Tricomi's functions, and a sum that goes with it (N.
    M. Temme, J. Comput. Phys. 19, 1975); both are added up from the near end (J. Steed's scheme).
    """
    share = (0.5 - m) * (0.5 + m)
    below = 2 * (1 + x)
    inverse = 1 / below
    fraction = change = inverse
    former, factor = np.zeros_like(x), np.ones_like(x)
    weight = whole = share
    above = -share
    total, lost = exact_sum(1.0, share * change)
    for n in range(2, MOST_PLACES):
        above = above - 2 * (n - 1)
        whole = -above * whole / n
        former, factor = factor, (former - below * factor) / above
        weight = weight + whole * factor
        below = below + 2
        past, inverse = inverse, 1 / (below + above * inverse)
        change = -above * past * inverse * change
        fraction = fraction + change
        term = weight * change
        total, rounding = exact_sum(total, term)
        lost = lost + rounding
        if not (np.abs(term) > ENOUGH * total).any():
            break
    value = np.sqrt(0.5 * math.pi / x) / (total + lost)
    return value, value * ((m + 0.5 - share * fraction) / x + 1)


def _uniform(v: Any, x: Any, side: float, growth: float) -> Any:
    """Return a function of the first kind (1) or the second (-1), by ``exp(growth * x)`` larger.

    The exponent of a large order is huge: in NumPy's longest floats it has the digits that the
    exponential needs.
    """
    with np.errstate(all="ignore"):
        v = np.abs(v)
        x = x * np.where(v > LARGEST_ORDER, LARGEST_ORDER / v, 1.0)
        v = np.minimum(v, LARGEST_ORDER)
        distance = np.hypot(v, x)
        wide, place = v.astype(np.longdouble), np.asarray(x, np.longdouble)
        share = 0.5 * wide / (0.5 * np.hypot(wide, place) + 0.5 * place)
        exponent = side * wide * (share - np.arcsinh(wide / place))
        exponent = exponent + growth * place if growth else exponent
        step, square = side / distance, np.square(v / distance)
        total = np.zeros_like(distance)
        for numbers in reversed(SUMS):
            total = total * step + sum_of_powers(square, numbers)
        lift = np.where(exponent > LARGEST_POWER, LIFT, 0.0)
        scale = math.sqrt(0.5 * math.pi**-side) / np.sqrt(distance) * total
        return (np.exp(exponent - lift) * scale * np.exp(lift)).astype(np.float64)
