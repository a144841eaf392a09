"""The hypergeometric functions of Gauss and Kummer, and their derivatives by their parameters.

The derivatives by the parameters are the series, differentiated term by term. A negative x is made
positive, so that the terms do not cancel each other, by the transformations of Kummer and Pfaff
(NIST Digital Library of Mathematical Functions, dlmf.nist.gov, 13.2, 13.3 and 15.8.1)::

    hyp1f1(a, b, x) = exp(x) hyp1f1(b - a, b, -x)
    hyp2f1(a, b, c, x) = (1 - x)**-a hyp2f1(a, c - b, c, x / (x - 1))

Next to 1, where the series of Gauss converges slowly, it is connected to two series at 1 - x
(15.8.4). Each of them has poles where c - a - b is an integer, which cancel each other: there the
derivatives are their means over a circle around c.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from phintys._base.uninterrupted import import_whole
from phintys.scalar.row_kinds import FloatRow

_MOST_TERMS_OF_GAUSS = 20_000
_ENOUGH = 1e-18

_NEAR_ONE = 0.98
_FAST = 8.0
_NEAR_POLE = 0.05
_RADIUS = 0.12
_POINTS_OF_HALF_CIRCLE = 16

_MOST_LOST = 1e-6
"""Where terms cancel so far that the relative error may be larger, derivatives are NaN."""

_SECOND = (
    "the second derivative by this parameter is not available. Stop the gradient there with "
    "phintys.gradient.disconnected_grad(parameter)"
)


_FACTS: dict[str, Any] = {
    "parameters": ("a", "b", "x"),
    "example": "1.0, 2.5, [0.2, 0.5]",
    "nin": 3,
}

hyp1f1_by_a = FloatRow(
    "hyp1f1_by_a",
    "phintys.scalar.kummer:hyp1f1_by_a",
    doc="Derivative of hyp1f1 by a.",
    source="E. E. Kummer's series, 1836 (DLMF 13.2.2).",
    special=False,
    derivative=lambda a, b, x, out: (
        None,
        None,
        (hyp1f1(a + 1, b + 1, x) + a * hyp1f1_by_a(a + 1, b + 1, x)) / b,
    ),
    undefined=_SECOND,
    widened=True,
    **_FACTS,
)

hyp1f1_by_b = FloatRow(
    "hyp1f1_by_b",
    "phintys.scalar.kummer:hyp1f1_by_b",
    doc="Derivative of hyp1f1 by b.",
    source="E. E. Kummer's series, 1836 (DLMF 13.2.2).",
    special=False,
    derivative=lambda a, b, x, out: (
        None,
        None,
        a / b * (hyp1f1_by_b(a + 1, b + 1, x) - hyp1f1(a + 1, b + 1, x) / b),
    ),
    undefined=_SECOND,
    widened=True,
    **_FACTS,
)

hyp1f1 = FloatRow(
    "hyp1f1",
    "phintys.scalar.kummer:hyp1f1",
    doc="Kummer's confluent hypergeometric function of a and b at x.",
    source="SciPy's, from Boost; E. E. Kummer's series, 1836 (DLMF 13.2.2).",
    intervals=((0.5, 3.0), (0.5, 3.0), (-4.0, 4.0)),
    derivative=lambda a, b, x, out: (
        hyp1f1_by_a(a, b, x),
        hyp1f1_by_b(a, b, x),
        a / b * hyp1f1(a + 1, b + 1, x),
    ),
    widened=True,
    **_FACTS,
)


def _gauss_slopes(a: Any, b: Any, c: Any, x: Any) -> tuple[Any, Any]:
    """Return the derivatives of hyp2f1 by a and by c, on arrays of any dtype."""
    a, b, c, x = np.broadcast_arrays(*(np.asarray(one, np.float64) for one in (a, b, c, x)))
    below = x < 0
    with np.errstate(all="ignore"):
        scale = np.where(below, (1 - x) ** -a, 1.0)
        b = np.where(below, c - b, b)
        z, rest = np.where(below, x / (x - 1), x), np.where(below, 1 / (1 - x), 1 - x)
        # The terms fall as n**(a + b - c - 1) at least.
        near = (z > _NEAR_ONE) & (z <= 1) & (c - a - b < _FAST)
        found = np.full((4, *x.shape), np.nan)
        if near.any():
            found[:, near] = _gauss_near_one(a[near], b[near], c[near], rest[near])
        far = np.isnan(found).any(axis=0)
        if far.any():
            found[:, far] = _gauss_series(a[far], b[far], c[far], z[far])
        value, by_a, by_b, by_c = found
        by_a = scale * (by_a - np.where(below, np.log1p(-x) * value, 0.0))
        return by_a[()], (scale * np.where(below, by_c + by_b, by_c))[()]


def _gauss_series(a: Any, b: Any, c: Any, x: Any) -> Any:
    """Return the sum of the terms of hyp2f1 for x >= 0, and those of their derivatives.

    They are NaN where the series does not converge, or loses too many digits.
    """
    terms = np.zeros((4, *x.shape), np.result_type(a, b, c))  # and derivatives by a, b, c
    terms[0] = 1
    sums, largest = terms.copy(), np.abs(terms)
    # At 1 the terms fall as n**(a + b - c - 1): up to that power too slowly to converge.
    diverges = (x > 1) | ((x == 1) & (np.real(c - a - b) <= 3))
    moving = ~diverges
    for n in range(_MOST_TERMS_OF_GAUSS):
        step = x / ((c + n) * (n + 1))
        ratio = (a + n) * (b + n) * step
        slopes = np.array([(b + n) * step, (a + n) * step, -ratio / (c + n)])
        of_parameters = terms[1:] * ratio + terms[0] * slopes
        terms = np.array([terms[0] * ratio, *of_parameters])
        sums += np.where(moving, terms, 0.0)
        largest = np.maximum(largest, np.where(moving, np.abs(terms), 0.0))
        moving &= (np.abs(terms) > _ENOUGH * np.abs(sums)).any(axis=0)
        if not moving.any():
            break
    lost = largest * np.finfo(np.float64).eps > _MOST_LOST * np.abs(sums)
    return np.where(diverges | moving | lost | ~np.isfinite(sums), np.nan, sums)


def _gauss_near_one(a: Any, b: Any, c: Any, rest: Any) -> Any:
    """Return hyp2f1 at ``1 - rest``, next to 1, and its derivatives by a, b and c; or NaN."""
    distance = np.abs((c - a - b) - np.round(c - a - b))
    at_pole = distance < _NEAR_POLE
    found = np.empty((4, *rest.shape))
    found[:, ~at_pole] = _connected(*(one[~at_pole] for one in (a, b, c, rest)))
    # The mean of an analytic function over a circle is its value in the centre. The other half of
    # the circle has the conjugate values.
    a, b, c, rest = (one[at_pole] for one in (a, b, c, rest))
    turns = (np.arange(_POINTS_OF_HALF_CIRCLE) + 0.5) / _POINTS_OF_HALF_CIRCLE
    places = _RADIUS * np.exp(1j * np.pi * turns)
    values = [_connected(a, b, c + place, rest).real for place in places]
    is_alone = (c > 2 * _RADIUS) | (np.abs(c - np.round(c)) > 2 * _RADIUS)  # from the poles in c
    found[:, at_pole] = np.where(is_alone, np.mean(values, axis=0), np.nan)
    return found


def _connected(a: Any, b: Any, c: Any, rest: Any) -> Any:
    """Return hyp2f1 and its derivatives by two series in ``rest``; c - a - b is not integral."""
    special = import_whole("scipy.special")
    s = c - a - b
    gammas = special.gamma(c) * special.gamma(s)
    left, right = special.rgamma(c - a), special.rgamma(c - b)
    front = gammas * left * right
    by_left, by_right = (
        gammas * _slope_of_rgamma(c - a) * right,
        gammas * left * _slope_of_rgamma(c - b),
    )
    of_s = front * special.psi(s)
    fronts = [
        front,
        -of_s - by_left,
        -of_s - by_right,
        front * special.psi(c) + of_s + by_left + by_right,
    ]

    # The limits of powers of 0 and of their products with a logarithm.
    is_end = rest == 0
    limit = np.where(np.real(s) > 0, 0.0, np.nan)
    log_rest = np.log(np.where(is_end, 1.0, rest))
    power = np.where(is_end, limit, np.exp(s * log_rest))
    gammas = special.gamma(c) * special.gamma(-s) * power
    left, right = special.rgamma(a), special.rgamma(b)
    back = gammas * left * right
    of_s = back * (special.psi(-s) - log_rest)
    backs = [
        back,
        gammas * _slope_of_rgamma(a) * right + of_s,
        gammas * left * _slope_of_rgamma(b) + of_s,
        back * special.psi(c) - of_s,
    ]

    value, by_a, by_b, by_c = _gauss_series(a, b, 1 - s, rest)
    first = [value, by_a + by_c, by_b + by_c, -by_c]
    value, by_a, by_b, by_c = _gauss_series(c - a, c - b, 1 + s, rest)
    second = [value, -by_a - by_c, -by_b - by_c, by_a + by_b + by_c]

    def products(factors: list[Any], series: list[Any]) -> Any:
        slopes = [factors[0] * series[i] + factors[i] * series[0] for i in (1, 2, 3)]
        return np.array([factors[0] * series[0], *slopes])

    one, other = products(fronts, first), products(backs, second)
    size = (np.abs(one) + np.abs(other)) * np.finfo(np.float64).eps
    lost = size > _MOST_LOST * np.abs(one + other)
    return np.where(lost, np.nan, one + other)


def _slope_of_rgamma(x: Any) -> Any:
    """Return the derivative of ``1 / gamma(x)``, at the poles of gamma too."""
    special = import_whole("scipy.special")
    is_pole = (np.real(x) <= 0) & (x == np.round(np.real(x)))
    n = np.where(is_pole, -np.real(x), 0.0)
    at_pole = np.where(n % 2, -1.0, 1.0) * special.gamma(n + 1)
    inside = np.where(is_pole, 1.0, x)
    return np.where(is_pole, at_pole, -special.psi(inside) * special.rgamma(inside))


_FACTS_OF_GAUSS: dict[str, Any] = {
    "parameters": ("a", "b", "c", "x"),
    "example": "1.0, 1.5, 2.5, [0.2, 0.5]",
    "nin": 4,
}

hyp2f1_by_a = FloatRow(
    "hyp2f1_by_a",
    lambda a, b, c, x: _gauss_slopes(a, b, c, x)[0],
    doc="Derivative of hyp2f1 by a; by symmetry, that by b is ``hyp2f1_by_a(b, a, c, x)``.",
    source="C. F. Gauss's series, 1813 (DLMF 15.2.1, 15.8.4).",
    special=False,
    derivative=lambda a, b, c, x, out: (
        None,
        None,
        None,
        b / c * (hyp2f1(a + 1, b + 1, c + 1, x) + a * hyp2f1_by_a(a + 1, b + 1, c + 1, x)),
    ),
    undefined=_SECOND,
    widened=True,
    **_FACTS_OF_GAUSS,
)

hyp2f1_by_c = FloatRow(
    "hyp2f1_by_c",
    lambda a, b, c, x: _gauss_slopes(a, b, c, x)[1],
    doc="Derivative of hyp2f1 by c.",
    source="C. F. Gauss's series, 1813 (DLMF 15.2.1, 15.8.4).",
    special=False,
    derivative=lambda a, b, c, x, out: (
        None,
        None,
        None,
        a * b / c * (hyp2f1_by_c(a + 1, b + 1, c + 1, x) - hyp2f1(a + 1, b + 1, c + 1, x) / c),
    ),
    undefined=_SECOND,
    widened=True,
    **_FACTS_OF_GAUSS,
)

hyp2f1 = FloatRow(
    "hyp2f1",
    "scipy.special:hyp2f1",
    doc="Hypergeometric function of a, b and c at x.",
    source=(
        "SciPy's, from Cephes (S. L. Moshier, Methods and Programs for Mathematical "
        "Functions, 1989)."
    ),
    external=True,
    derivative=lambda a, b, c, x, out: (
        hyp2f1_by_a(a, b, c, x),
        hyp2f1_by_a(b, a, c, x),
        hyp2f1_by_c(a, b, c, x),
        a * b / c * hyp2f1(a + 1, b + 1, c + 1, x),
    ),
    **_FACTS_OF_GAUSS,
)
