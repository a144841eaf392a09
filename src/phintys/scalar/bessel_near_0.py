"""Bessel functions of the second kind next to 0, in NumPy, where SciPy's lose digits.

Of an order between -1/2 and 1/2 and of the next one as N. M. Temme arranged their series (J.
Comput. Phys. 19, 1975, and 21, 1976), in which nothing is lost for small orders, and from there up
by the recurrence with twice the digits (NIST Digital Library of Mathematical Functions,
dlmf.nist.gov, 10.6.1 and 10.29.1).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from phintys._base.uninterrupted import import_whole
from phintys.scalar.bessel_slopes import sum_of_powers
from phintys.scalar.doubled import Doubled

NEAR_TO = 0.25
"""Below this, the logarithm in the first term of the series outweighs the rest."""

LARGE = 50.0
"""The largest order that is reached by the recurrence."""

MOST_TERMS = 300
"""A bound that no series reaches."""

SUBNORMAL = 2.0**-1021
"""The halves of smaller numbers are subnormal."""

ROOM = 2.0**-40
"""The factor of numbers that a recurrence raises, by which its last product does not overflow."""

ENOUGH = 1e-18
"""A series ends with a term of this size, relative to its sum: below the last bit of a float64."""

# Of 1 / gamma(1 + m) in powers of m**2, and of its odd part divided by -m (DLMF 5.7.1).
EVEN = (
    *(1.0, -0.6558780715202539, 0.16653861138229148, -0.009621971527876973, -0.0011651675918590652),
    *(0.00012805028238811619, -1.2504934821426706e-06, -2.056338416977607e-07),
    *(5.00200764446922e-09, 1.0434267116911005e-10, -3.696805618642206e-12),
)
ODD = (
    *(-0.5772156649015329, 0.04200263503409524, 0.04219773455554433, -0.0072189432466631),
    *(0.00021524167411495098, 2.013485478078824e-05, -1.1330272319816959e-06),
    *(-6.1160951044814e-09, 1.18127457048702e-09, -7.782263439905071e-12, -5.100370287454475e-13),
)


def second_kind_near_0(v: Any, x: Any) -> Any:
    """Return ``yv(v, x)`` of arrays, for orders from 0 on and arguments between 0 and 1/4.

    Examples
    --------
    >>> import numpy as np
    >>> from phintys.scalar.bessel_near_0 import second_kind_near_0
    >>> second_kind_near_0(np.array([0.25, 1.75]), np.array([0.1, 0.1])).round(6)
    array([ -1.911768, -55.521527])
    """
    value, following = _series(v - np.rint(v), x, -1.0)
    return stepped(v, x, -2 / math.pi * value, -2 / math.pi * following, -1.0)


def modified_near_0(v: Any, x: Any) -> Any:
    """Return ``kv(v, x)`` of arrays, for orders from 0 on and arguments between 0 and 1/4.

    Examples
    --------
    >>> import numpy as np
    >>> from phintys.scalar.bessel_near_0 import modified_near_0
    >>> modified_near_0(np.array([0.25, 1.75]), np.array([0.1, 0.1])).round(6)
    array([ 2.685157, 86.635695])
    """
    return stepped(v, x, *_series(v - np.rint(v), x, 1.0), 1.0)


def _series(m: Any, x: Any, side: float) -> tuple[Any, Any]:
    """Return the functions of the orders m and m + 1, but for a factor of those that oscillate.

    The names are Temme's: f, p, q and the sums of their terms.
    """
    square, step = m * m, side * 0.25 * x * x
    even, odd = sum_of_powers(square, EVEN), sum_of_powers(square, ODD)
    log = math.log(2) - np.log(x)
    exponent, angle = m * log, 0.5 * math.pi * m
    power = x**-m * 2.0**m
    difference = np.where(np.abs(exponent) < 1, np.sinh(exponent), 0.5 * (power - 1 / power))
    sine = np.where(angle == 0, 1.0, np.sin(angle) / angle)
    share = np.where(angle == 0, 1.0, 2 * angle / np.sin(2 * angle))
    growth = np.where(exponent == 0, 1.0, difference / exponent)
    f = share * (odd * 0.5 * (power + 1 / power) + even * growth * log)
    p, q = 0.5 * power / (even - m * odd), 0.5 / (power * (even + m * odd))
    weight = math.pi * angle * sine * sine if side < 0 else 0.0
    coefficient, total, following = 1.0, f + weight * q, p
    for n in range(1, MOST_TERMS):
        f = (n * f + p + q) / (n * n - square)
        coefficient, p, q = coefficient * step / n, p / (n - m), q / (n + m)
        term = coefficient * (f + weight * q)
        total, following = total + term, following + (coefficient * p - n * term)
        if not (np.abs(n * term) > ENOUGH * np.minimum(np.abs(total), np.abs(following))).any():
            break
    return total, following * (2 / x)


def stepped(v: Any, x: Any, value: Any, following: Any, side: float) -> Any:
    """Return the function of order v, from those of the order ``v - rint(v)`` and of one more.

    Parameters
    ----------
    v, x
        The order and the argument.
    value, following
        The functions of both orders, which overflow to the infinity of the same sign.
    side
        -1 for the recurrence of functions that oscillate, 1 for that of ``kv``.

    Examples
    --------
    >>> import numpy as np
    >>> from phintys.scalar.bessel_near_0 import stepped
    >>> stepped(np.array([3.0]), np.array([2.0]), np.array([1.0]), np.array([3.0]), -1.0)
    array([1.])
    """
    steps = np.rint(v)
    base, factor = v - steps, Doubled(2.0) / x
    # Products with twice the digits end before the largest floats.
    now, following = Doubled(value * ROOM), Doubled(following * ROOM)
    found = now.value
    for n in range(1, int(steps.max(initial=0)) + 1):
        found = np.where(n == steps, following.value, found)
        now, following = following, factor * following * (base + n) + now * side
    return np.where(np.isfinite(found), found / ROOM, side * np.inf)


def modified_series(v: Any, x: Any) -> Any:
    """Return ``iv(v, x)`` by its power series (10.25.2), of orders from 0 on.

    Examples
    --------
    >>> import numpy as np
    >>> from phintys.scalar.bessel_near_0 import modified_series
    >>> modified_series(np.array([0.5]), np.array([1.0])).round(6)
    array([0.937675])
    """
    half = 0.5 * x
    square = half * half
    first, others = factorial(v)
    return power_of_half(v, x) / first / others * summed(x, lambda n: square / (n * (v + n)))


def power_of_half(v: Any, x: Any) -> Any:
    """Return ``(x / 2)**v``, also where the half of a subnormal number has lost digits.

    Examples
    --------
    >>> import numpy as np
    >>> from phintys.scalar.bessel_near_0 import power_of_half
    >>> power_of_half(np.array([1.0, -0.5]), np.array([3.0, 2.0]))
    array([1.5, 1. ])
    """
    return np.where(x < SUBNORMAL, x**v * np.exp2(-v), (0.5 * x) ** v)


def summed(like: Any, quotient: Callable[[int], Any]) -> Any:
    """Return a series of a first term 1, given the quotient of the n-th term and the one before.

    Examples
    --------
    >>> import numpy as np
    >>> from phintys.scalar.bessel_near_0 import summed
    >>> summed(np.array(1.0), lambda n: 1 / n).round(12)
    np.float64(2.718281828459)
    """
    term = total = np.ones_like(like)
    for n in range(1, MOST_TERMS):
        term = term * quotient(n)
        total = total + term
        if not (np.abs(term) > ENOUGH).any():
            break
    return total


def factorial(v: Any) -> tuple[Any, Any]:
    """Return two factors of ``gamma(v + 1)``: that of an order below 1, and a product.

    Examples
    --------
    >>> import numpy as np
    >>> from phintys.scalar.bessel_near_0 import factorial
    >>> factorial(np.array([4.0]))
    (array([1.]), array([24.]))
    """
    steps = np.maximum(np.floor(v), 0.0)
    base, product = v - steps, Doubled(np.ones_like(v))
    for n in range(1, int(steps.max(initial=0)) + 1):
        product = product * np.where(n <= steps, base + n, 1.0)
    return import_whole("scipy.special").gamma(base + 1), product.value + product.rest
