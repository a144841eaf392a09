"""Bessel functions of any order of the first and second kind in NumPy, where SciPy's lose digits.

The routines of D. E. Amos lose up to three digits between their power series and their asymptotic
series, two or more by the logarithms of the first factor of the power series, and end at 1e9. The
NIST Digital Library of Mathematical Functions (dlmf.nist.gov) is cited by section.

*The series* of the first kind (10.2.2), with a power and the gamma function as its factor, of which
all but that of an order below 1 is a product; and of the second kind, of large orders without what
is far too small there (10.8.1), and next to 0 (:mod:`.bessel_near_0`).

*Recurrence* (10.6.1) from a large order down, as J. C. P. Miller did (1952; 3.6(iii)), with twice
the digits, gives functions of the first kind but for a factor. The continued fraction of ``H'/H``
of Hankel's function (Barnett, Feng, Steed and Goldfarb, Comput. Phys. Commun. 8, 1974; 10.33.1)
gives that, and the functions of the second kind, by the Wronskian (10.5.2).

*Debye's expansions* (1909; 10.19.3, 10.19.6) where order and argument are far from each other and
from 0. The phase is ``x`` less a multiple of ``pi / 2`` and a correction of the size of ``v**2 /
x``: the cosine and the sine of x have all digits, and the correction has twice as many, as has the
exponent of orders above x.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from phintys._base.uninterrupted import import_whole
from phintys.scalar.bessel import LARGEST_POWER, LIFT
from phintys.scalar.bessel_near_0 import (
    LARGE,
    NEAR_TO,
    factorial,
    power_of_half,
    second_kind_near_0,
    stepped,
    summed,
)
from phintys.scalar.bessel_slopes import LARGEST, SUMS, sum_of_powers
from phintys.scalar.doubled import Doubled

MOST_ORDER, FAR = 1000.0, 1500.0
"""The largest order and argument for which the recurrence is used."""

MOST_ORDER_NEAR_0, FRACTION_FROM, FRACTION_TO = LARGE, NEAR_TO, 2.0
"""The same order for small arguments, and from where to where these are. SciPy's second kind has
lost digits there."""

SERIES_ORDER = 160.0
"""The largest order whose factorial has twice the digits without overflow."""

FEW = 3.0
"""SciPy's second kind of orders up to this is right from 2 on."""

LARGE_NEAR_0 = 10.0
"""The series of large orders are for those above LARGE, and next to 0 from 10 on."""

HANKEL_FROM = 25.0
"""SciPy's asymptotic series is right from this argument, and from the square of the order, on."""

START = 1e-140
"""With what a recurrence begins, so that neither it nor its square leaves the range of floats."""

SLOPE, SHIFT = 10.0, 6.0
"""It begins at an order of ``m + 10 (m / 2)**(1 / 3) + 6``, for the larger m of v and x."""

FRACTION_LENGTH, FRACTION_LENGTH_AT_1 = 10.0, 80.0
"""The continued fraction has converged with ``10 + 80 / x`` places."""

MOST_TERMS, MOST_STEPS = 300, 2000
"""Bounds that no series and no recurrence reaches."""

ENOUGH = 1e-18

TURNING, TURNING_ABOVE, TURNING_BELOW = 150.0, 50.0, -100.0
"""The expansions hold where ``d = sqrt(abs(x**2 - v**2))`` is larger than 150 times ``(v / d)**2``
plus 50 for x above v, or less 100 for x below: the phase, or the exponent, is 40 or larger there,
and the first term that is left out 1e-17 or smaller."""


def jv(v: Any, x: Any) -> Any:
    """Return the function of the first kind of arrays of floats; of complex x SciPy's.

    Examples
    --------
    >>> from phintys.scalar.bessel_recurrence import jv
    >>> jv(0.5, 10.0).round(12)
    np.float64(-0.137263735755)
    """
    special, dtype = import_whole("scipy.special"), np.result_type(v, x)
    if dtype.kind == "c":
        return special.jv(v, x)
    v, x = np.broadcast_arrays(np.asarray(v, np.float64), np.asarray(x, np.float64))
    is_whole = v == np.rint(v)
    order, size = np.where(is_whole, np.abs(v), v), np.abs(x)
    is_usual = (is_whole | ((v > -1) & (x >= 0))) & np.isfinite(x)
    is_far = is_usual & _is_far(order, size)
    is_small = is_usual & ((size <= FRACTION_TO) | _is_large(order, size)) & (order <= SERIES_ORDER)
    is_small = is_small & ~is_far
    is_near = is_usual & ~is_small & ~is_far & _is_near(order, size)
    found = np.full(v.shape, np.nan)
    with np.errstate(all="ignore"):
        for there, function in ((is_small, _series), (is_near, _downwards), (is_far, _first)):
            if there.any():
                found[there] = function(order[there], size[there])
    known = is_small | is_near | is_far
    found = np.asarray(np.where(known & _is_turned(v, x), -found, found))
    is_opposite = _is_opposite(v, x)
    if is_opposite.any():
        found[is_opposite] = _of_opposite(v[is_opposite], x[is_opposite])[0]
        known |= is_opposite
    found[~known] = special.jv(v[~known], x[~known])
    return found.astype(dtype)[()]


def yv(v: Any, x: Any) -> Any:
    """Return the function of the second kind of arrays of floats; of complex x SciPy's.

    Examples
    --------
    >>> from phintys.scalar.bessel_recurrence import yv
    >>> yv(0.5, 1.0).round(12)
    np.float64(-0.431098868018)
    """
    special, dtype = import_whole("scipy.special"), np.result_type(v, x)
    if dtype.kind == "c":
        return special.yv(v, x)
    v, x = np.broadcast_arrays(np.asarray(v, np.float64), np.asarray(x, np.float64))
    order = np.abs(v)
    is_usual = ((v == np.rint(v)) | (v >= 0)) & (x > 0) & np.isfinite(x)
    is_far = is_usual & _is_far(order, x)
    is_inner = is_usual & ~is_far
    is_large = is_inner & _is_large(order, x) & (order <= SERIES_ORDER)
    is_small = is_inner & ~is_large & (x < FRACTION_FROM) & (order <= LARGE)
    is_near = is_inner & ~is_large & _is_near(order, x) & ((x <= FRACTION_TO) | (order > FEW))
    found = np.full(v.shape, np.nan)
    parts = (
        (is_large, _series_of_large),
        (is_small, second_kind_near_0),
        (is_near, _upwards),
        (is_far, _second),
    )
    with np.errstate(all="ignore"):
        for there, function in parts:
            if there.any():
                found[there] = function(order[there], x[there])
    known = is_large | is_small | is_near | is_far
    found = np.asarray(np.where(known & _is_turned(v, x), -found, found))
    is_opposite = _is_opposite(v, x)
    if is_opposite.any():
        found[is_opposite] = _of_opposite(v[is_opposite], x[is_opposite])[1]
        known |= is_opposite
    found[~known] = special.yv(v[~known], x[~known])
    return found.astype(dtype)[()]


def _is_near(v: Any, x: Any) -> Any:
    """Return where the recurrence stays in the range of floats, and SciPy's series lose digits."""
    with np.errstate(over="ignore"):
        is_known = (x < HANKEL_FROM) | (v * v > x)
    is_known = is_known & (x >= FRACTION_FROM) & (x <= FAR) & (v >= -0.5)
    return is_known & (v <= np.where(x > FRACTION_TO, MOST_ORDER, MOST_ORDER_NEAR_0))


def _is_large(v: Any, x: Any) -> Any:
    """Return where an order is so large that the series do not cancel, nor depend on each other."""
    with np.errstate(over="ignore"):
        is_far = (v > LARGE) & (x * x <= 2 * (v + 1))
    return is_far | ((v >= LARGE_NEAR_0) & (x < FRACTION_FROM))


def _is_turned(v: Any, x: Any) -> Any:
    """Return whether the sign changes with that of the order or of the argument, but not of both.

    Of whole orders, which are the only ones for which either may be negative.
    """
    is_odd = np.mod(np.where(np.isfinite(v), v, 0.0), 2) == 1
    return is_odd & ((v < 0) != np.signbit(x))


def _series(v: Any, x: Any) -> Any:
    half = 0.5 * x
    square = half * half
    total = summed(x, lambda n: -square / (n * (v + n)))
    first, others = factorial(v)
    return power_of_half(v, x) / first / others * total


def _series_of_large(v: Any, x: Any) -> Any:
    """Return the function of the second kind of a large order."""
    half = 0.5 * x
    square = half * half
    total = summed(x, lambda n: np.where(n < v, square / (n * (v - n)), 0.0))
    first, others = factorial(v - 1)
    return -(first / math.pi * power_of_half(-v, x) * others) * total


def _downwards(v: Any, x: Any) -> Any:
    """Return the function of the first kind by the recurrence."""
    base = v - np.rint(v)
    wanted, (first, second) = _unscaled(v, x, base)
    p, q = _fraction(base, x)
    # H' = (p + i q) H makes J**2 + ((J' - p J) / q)**2 equal to 2 / (pi x q).
    other = second - (base / x - p) * first
    return wanted / np.sqrt((q * first * first + other * other / q) * (0.5 * math.pi * x))


def _upwards(v: Any, x: Any) -> Any:
    """Return the function of the second kind, whose recurrence is stable to larger orders."""
    base = v - np.rint(v)
    _, (first, second) = _unscaled(base, x, base)
    p, q = _fraction(base, x)
    other = second - (base / x - p) * first
    scale = np.sqrt((q * first * first + other * other / q) * (0.5 * math.pi * x))
    now = other / (q * scale)
    return stepped(v, x, now, (base / x - p) * now - q * first / scale, -1.0)


def _unscaled(v: Any, x: Any, base: Any) -> tuple[Any, tuple[Any, Any]]:
    """Return multiples of the functions of the first kind of v, and of base and base + 1."""
    largest = np.maximum(v, x)
    top = np.ceil(largest + SLOPE * np.cbrt(0.5 * largest) + SHIFT - base)
    place, factor = np.rint(v), Doubled(2.0) / x
    now, before = Doubled(np.zeros_like(x)), Doubled(np.zeros_like(x))
    wanted = np.zeros_like(x)
    for n in range(int(top.max()), -1, -1):
        now = now + np.where(top == n, START, 0.0)
        wanted = np.where(place == n, now.value + now.rest, wanted)
        if n:
            now, before = (Doubled(base) + float(n)) * factor * now - before, now
    return wanted, (now.value + now.rest, before.value + before.rest)


def _fraction(v: Any, x: Any) -> tuple[Any, Any]:
    """Return p and q of ``H'/H = p + i q`` of orders up to 1/2, from the fraction's far end."""
    real, imaginary = np.zeros_like(x), np.zeros_like(x)
    for n in range(math.ceil(FRACTION_LENGTH + FRACTION_LENGTH_AT_1 / x.min()), 0, -1):
        below, beside = 2 * x + real, 2.0 * n + imaginary
        share = ((n - 0.5) - v) * ((n - 0.5) + v) / (below * below + beside * beside)
        real, imaginary = below * share, -beside * share
    return -(0.5 + imaginary) / x, 1 + real / x


def _is_far(v: Any, x: Any) -> Any:
    """Return where the uniform expansions hold: not near orders that are the argument."""
    with np.errstate(all="ignore"):
        v = np.minimum(np.abs(v), LARGEST)
        distance = _distance(v, x)
        least = TURNING * np.square(v / distance) + np.where(x > v, TURNING_ABOVE, TURNING_BELOW)
        return (x > 0) & (distance > least)


def _is_opposite(v: Any, x: Any) -> Any:
    """Return where an order is negative and not whole, and the expansion holds for its opposite."""
    is_between = (v < 0) & (v != np.rint(v)) & (-v < x) & np.isfinite(x)
    return is_between & _is_far(np.abs(v), x)


def _of_opposite(v: Any, x: Any) -> tuple[Any, Any]:
    """Return both functions of a negative order by those of its opposite (10.4.7)."""
    with np.errstate(all="ignore"):
        first, second = _far(-v, x)
    whole = np.rint(-v)
    sign = np.where(np.mod(whole, 2) == 1, -1.0, 1.0)
    part = math.pi * (-v - whole)
    cosine, sine = sign * np.sin(0.5 * math.pi - np.abs(part)), sign * np.sin(part)
    return cosine * first - sine * second, sine * first + cosine * second


def _distance(v: Any, x: Any) -> Any:
    """Return ``sqrt(abs(x**2 - v**2))``."""
    return np.sqrt(np.abs(x - v)) * np.sqrt(x + v)


def _first(v: Any, x: Any) -> Any:
    return np.where(x > v, _far(v, x)[0], _decaying(v, x, -1.0))


def _second(v: Any, x: Any) -> Any:
    return np.where(x > v, _far(v, x)[1], -_decaying(v, x, 1.0))


def _decaying(v: Any, x: Any, side: float) -> Any:
    """Return the function of an order above x that decays (-1), or minus the one that grows (1).

    By Debye's expansions (10.19.3). The exponent is computed in NumPy's longest floats.
    """
    v = np.minimum(v, LARGEST)
    order = np.maximum(v, x)
    wide, place = order.astype(np.longdouble), x.astype(np.longdouble)
    root = np.sqrt((wide - place) / wide) * np.sqrt((wide + place) / wide)
    exponent = side * wide * (np.log((1 + root) / (place / wide)) - root)
    distance = _distance(order, x)
    step, square = -side / distance, np.square(order / distance)
    total = np.zeros_like(x)
    for numbers in reversed(SUMS):
        total = total * step + sum_of_powers(square, numbers)
    lift = np.where(exponent > LARGEST_POWER, LIFT, 0.0)
    scale = np.sqrt((2 if side > 0 else 0.5) / math.pi / distance) * total
    return (np.exp(exponent - lift) * scale * np.exp(lift)).astype(np.float64)


def _far(v: Any, x: Any) -> tuple[Any, Any]:
    """Return both functions of orders below x by Debye's expansion."""
    v = np.minimum(v, x)
    distance = _distance(v, x)
    step, square = 1 / distance, -np.square(v / distance)
    real, imaginary = (np.zeros_like(x) for _ in range(2))
    for numbers in reversed(SUMS):
        real, imaginary = imaginary * step + sum_of_powers(square, numbers), -real * step
    whole = np.rint(v)
    # The phase less x, in NumPy's longest floats.
    wide, place = v.astype(np.longdouble), x.astype(np.longdouble)
    share = wide / place
    shift = wide * (np.arcsin(share) - share / (1 + np.sqrt((1 - share) * (1 + share))))
    shift = shift - 2 * np.arctan(np.longdouble(1)) * (wide - whole)
    cosine, sine = np.cos(x), np.sin(x)
    near, aside = np.cos(shift).astype(np.float64), np.sin(shift).astype(np.float64)
    cosine, sine = cosine * near - sine * aside, sine * near + cosine * aside
    cosine, sine = cosine + sine, sine - cosine  # less pi / 4, but for a factor
    quarter = np.mod(whole, 4)
    is_odd = np.mod(whole, 2) == 1
    cosine, sine = np.where(is_odd, sine, cosine), np.where(is_odd, -cosine, sine)
    scale = np.where(quarter >= 2, -1.0, 1.0) / np.sqrt(math.pi * distance)
    return scale * (cosine * real - sine * imaginary), scale * (sine * real + cosine * imaginary)
