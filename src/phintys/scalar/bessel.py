"""Bessel functions of the first kind, of orders 0 and 1, in NumPy: far out by Hankel's expansion.

SciPy's lose the digits of the phase there, which is a rounded difference. By the sine and the
cosine of the argument itself they are kept (H. Hankel, 1869; DLMF 10.17.3).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from phintys._base.uninterrupted import import_whole

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


def sum_of_powers(x: Any, coefficients: tuple[float, ...]) -> Any:
    """Return a polynomial, by Horner's scheme."""
    total: Any = coefficients[-1]
    for number in reversed(coefficients[:-1]):
        total = number + x * total
    return total
