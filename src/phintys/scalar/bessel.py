"""Bessel functions in NumPy, where SciPy's lose digits.

Those of the first kind, of orders 0 and 1, by Hankel's expansion far out: SciPy's lose the digits
of the phase there, which is a rounded difference. By the sine and the cosine of the argument itself
they are kept (H. Hankel, 1869; DLMF 10.17.3). The modified functions where the routines of D. E.
Amos lose up to three digits: outside of the asymptotic series of the first kind, and in the power
series of the second kind, which is replaced by the Wronskian (DLMF 10.28.2), and next to 0 by that
of :mod:`.bessel_near_0`; and where they end, by the first terms of the uniform expansions of P.
Debye (1909; DLMF 10.41.3).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from phintys._base.uninterrupted import import_whole
from phintys.scalar.bessel_near_0 import LARGE, NEAR_TO, modified_near_0, modified_series
from phintys.scalar.bessel_slopes import (
    LARGEST,
    log_ive_slope,
    log_kve_slope,
    sum_of_powers,
)

FAR = 25.0
"""Where the expansion is used from."""

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
    is_far = (np.abs(wide) >= FAR) & np.isfinite(wide)
    if is_far.any():
        far = _far(order, np.where(is_far, np.abs(wide), FAR))
        near = np.where(is_far, far if order == 0 else np.sign(wide) * far, near)
    return near.astype(x.dtype)[()]


def _far(order: int, x: Any) -> Any:
    inverse = 1 / x
    square = inverse * inverse
    even, odd = (sum_of_powers(square, numbers) for numbers in HANKEL[order])
    odd = odd * inverse
    cosine, sine = np.cos(x), np.sin(x)
    first, second = (cosine, sine) if order == 0 else (sine, -cosine)
    return ((even + odd) * first + (even - odd) * second) / np.sqrt(math.pi * x)


ORDERS_BELOW, SCALED_BELOW = 50.0, 600.0
"""Where SciPy's ``iv`` has more digits than its ``ive``: where it does not overflow ..."""

SERIES_FROM = 22.0
"""... and less than this, or than half the square of the order ..."""

SCALED_FROM = 1e-30
"""... and where it does not underflow."""


def ive(v: Any, x: Any) -> Any:
    """Return ``iv(v, x) * exp(-abs(x))`` of arrays of float32 or float64.

    Examples
    --------
    >>> from phintys.scalar.bessel import ive
    >>> ive(0.5, 2.0).round(12)
    np.float64(0.276928045435)
    """
    special = import_whole("scipy.special")
    order, size = np.asarray(v, np.float64), np.asarray(x, np.float64)
    length = np.abs(size)
    is_near = (length < SERIES_FROM) | (np.square(order) > 2 * length)
    is_near = is_near & (length > SCALED_FROM) & (length < SCALED_BELOW)
    is_near = is_near & (np.abs(order) < ORDERS_BELOW)
    near = special.iv(order, np.where(is_near, size, 1)) * np.exp(-length)
    found = np.where(is_near, near, special.ive(order, size))
    is_whole = order == np.rint(order)
    # Below -1/2, an order that is not whole adds a multiple of the other function.
    is_usual = is_whole | ((size >= 0) & ((order > -0.5) | (-order < size)))
    is_beyond = is_usual & (np.hypot(order, size) > BEYOND)
    if np.any(is_beyond):
        is_odd = np.mod(np.where(is_whole & np.isfinite(order), order, 0.0), 2) == 1
        sign = np.where((size < 0) & is_odd, -1.0, 1.0)
        found = np.where(is_beyond, sign * _beyond(order, length, 1.0, 0.0), found)
    return found.astype(np.result_type(v, x))[()]


BEYOND = 1e9
"""The distance of (v, x) from the origin where the routines of D. E. Amos end."""

WRONSKIAN_FROM, WRONSKIAN_TO = 0.25, 2.0
"""Where functions of the second kind are computed from those of the first kind."""


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
    >>> kve(0.5, 1.0).round(12)
    np.float64(1.253314137316)
    """
    return _second_kind("kve", v, x, 1)


def _second_kind(name: str, v: Any, x: Any, growth: float) -> Any:
    special, dtype = import_whole("scipy.special"), np.result_type(v, x)
    found = getattr(special, name)(v, x)
    if dtype.kind == "c":
        return found
    order, size = np.abs(v, dtype=np.float64), np.asarray(x, np.float64)
    is_between = (size >= WRONSKIAN_FROM) & (size <= WRONSKIAN_TO) & (order < ORDERS_BELOW)
    if np.any(is_between):
        degree, place = np.where(is_between, order, 0.5), np.where(is_between, size, 1)
        slopes = (log_ive_slope(degree, place) + 2) - log_kve_slope(degree, place)
        inside = np.exp(growth * place) / (place * modified_series(degree, place) * slopes)
        found = np.where(is_between, inside, found)
    is_near = (size > 0) & (size < NEAR_TO) & (order <= LARGE)
    if np.any(is_near):
        degree, place = np.where(is_near, order, 0.5), np.where(is_near, size, 0.1)
        with np.errstate(all="ignore"):
            near = modified_near_0(degree, place) * np.exp(growth * place)
        found = np.where(is_near, near, found)
    is_beyond = (size > 0) & (np.hypot(order, size) > BEYOND)
    if np.any(is_beyond):
        found = np.where(is_beyond, _beyond(order, size, -1.0, growth - 1), found)
    return np.asarray(found).astype(dtype)[()]


def _beyond(v: Any, x: Any, side: float, growth: float) -> Any:
    """Return a function of the first kind (1) or the second (-1), by ``exp(growth * x)`` larger."""
    with np.errstate(all="ignore"):
        v = np.minimum(np.abs(v), LARGEST)
        distance = np.hypot(v, x)
        exponent = v * (0.5 * v / (0.5 * distance + 0.5 * x) - np.arcsinh(v / x))
        total = 1 + side * (3 - 5 * np.square(v / distance)) / (24 * distance)
        shift = growth * x if growth else 0.0
        scale = math.sqrt(0.5 * math.pi**-side) / np.sqrt(distance)
        return np.exp(side * exponent + shift) * scale * total
