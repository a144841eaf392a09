"""The hypergeometric functions of Gauss and Kummer, and their derivatives by their parameters.

The derivatives by the parameters are the series, differentiated term by term. A negative x is made
positive, so that the terms do not cancel each other, by the transformations of Kummer and Pfaff
(NIST Digital Library of Mathematical Functions, dlmf.nist.gov, 13.2, 13.3 and 15.8.1)::

    hyp1f1(a, b, x) = exp(x) hyp1f1(b - a, b, -x)
    hyp2f1(a, b, c, x) = (1 - x)**-a hyp2f1(a, c - b, c, x / (x - 1))
"""

from __future__ import annotations

from typing import Any

import numpy as np

from phintys._base.apart import import_whole
from phintys.scalar.row_kinds import FloatRow

_LARGE = 1e4
"""For a larger x, SciPy's routine may not return; exp(x) overflows."""

_LARGEST = 1e6
"""For a larger \\|a\\|, SciPy's routine may not return."""

_MOST_TERMS = 5000
_MOST_TERMS_OF_GAUSS = 20_000
_ENOUGH = 1e-18

_MOST_LOST = 1e-6
"""Where terms cancel so far that the relative error may be larger, derivatives are NaN."""

_SECOND = (
    "the second derivative by this parameter is not available. Stop the gradient there with "
    "phintys.gradient.disconnected_grad(parameter)"
)


def _hyp1f1(a: Any, b: Any, x: Any) -> Any:
    """Return SciPy's values; infinities for a large x; NaN where SciPy's routine may not return."""
    special = import_whole("scipy.special")
    a, b, x = np.broadcast_arrays(*(np.asarray(one, np.float64) for one in (a, b, x)))
    is_polynomial = (a <= 0) & (a == np.floor(a))
    is_large = (x > _LARGE) & ~is_polynomial
    overflows = is_large & (x > 100 * np.abs(a)) & (x > 100 * np.abs(b))
    unknown = (np.abs(a) > _LARGEST) | (is_large & ~overflows)
    known = ~(overflows | unknown)
    values = special.hyp1f1(*(np.where(known, one, 1.0) for one in (a, b, x)))
    sign = special.gammasgn(a) * special.gammasgn(b)
    values = np.where(overflows, np.copysign(np.inf, sign), values)
    return np.where(unknown, np.nan, values)[()]


def _slopes(a: Any, b: Any, x: Any) -> tuple[Any, Any]:
    """Return the derivatives of hyp1f1 by a and by b, on arrays of any dtype."""
    a, b, x = np.broadcast_arrays(*(np.asarray(one, np.float64) for one in (a, b, x)))
    below = x < 0
    with np.errstate(all="ignore"):
        scale = np.where(below, np.exp(np.minimum(x, 0.0)), 1.0)
        by_a, by_b = _series(np.where(below, b - a, a), b, np.abs(x), scale)
    return np.where(below, -by_a, by_a)[()], np.where(below, by_a + by_b, by_b)[()]


def _series(a: Any, b: Any, x: Any, scale: Any) -> tuple[Any, Any]:
    """Return the sums of the derivatives of the terms of ``scale * hyp1f1(a, b, x)``, x >= 0."""
    term, of_a, of_b = scale, np.zeros_like(scale), np.zeros_like(scale)
    by_a, by_b = np.zeros_like(scale), np.zeros_like(scale)
    for n in range(_MOST_TERMS):
        ratio, step = (a + n) * x / ((b + n) * (n + 1)), x / ((b + n) * (n + 1))
        of_a = of_a * ratio + term * step
        of_b = (of_b - term / (b + n)) * ratio
        term = term * ratio
        by_a, by_b = by_a + of_a, by_b + of_b
        is_small = np.abs(of_a) <= _ENOUGH * np.abs(by_a)
        if np.all(is_small & (np.abs(of_b) <= _ENOUGH * np.abs(by_b)) | ~np.isfinite(by_a)):
            break
    return by_a, by_b


_FACTS: dict[str, Any] = {
    "parameters": ("a", "b", "x"),
    "example": "1.0, 2.5, [0.2, 0.5]",
    "nin": 3,
}

hyp1f1_by_a = FloatRow(
    "hyp1f1_by_a",
    lambda a, b, x: _slopes(a, b, x)[0],
    doc="Derivative of hyp1f1 by a.",
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
    lambda a, b, x: _slopes(a, b, x)[1],
    doc="Derivative of hyp1f1 by b.",
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
    _hyp1f1,
    doc="Kummer's confluent hypergeometric function of a and b at x.",
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
        value, by_a, by_b, by_c = _gauss_series(
            a, np.where(below, c - b, b), c, np.where(below, x / (x - 1), x)
        )
        by_a = scale * (by_a - np.where(below, np.log1p(-x) * value, 0.0))
        return by_a[()], (scale * np.where(below, by_c + by_b, by_c))[()]


def _gauss_series(a: Any, b: Any, c: Any, x: Any) -> Any:
    """Return the sum of the terms of hyp2f1 for x >= 0, and those of their derivatives.

    They are NaN where the series does not converge, or loses too many digits.
    """
    terms = np.array([np.ones_like(x), *np.zeros((3, *x.shape))])  # and derivatives by a, b, c
    sums, largest = terms.copy(), np.abs(terms)
    # At 1 the terms fall as n**(a + b - c - 1): up to that power too slowly to converge.
    diverges = (x > 1) | ((x == 1) & (c <= a + b + 3))
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


_FACTS_OF_GAUSS: dict[str, Any] = {
    "parameters": ("a", "b", "c", "x"),
    "example": "1.0, 1.5, 2.5, [0.2, 0.5]",
    "nin": 4,
}

hyp2f1_by_a = FloatRow(
    "hyp2f1_by_a",
    lambda a, b, c, x: _gauss_slopes(a, b, c, x)[0],
    doc="Derivative of hyp2f1 by a; by symmetry, that by b is ``hyp2f1_by_a(b, a, c, x)``.",
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
    external=True,
    derivative=lambda a, b, c, x, out: (
        hyp2f1_by_a(a, b, c, x),
        hyp2f1_by_a(b, a, c, x),
        hyp2f1_by_c(a, b, c, x),
        a * b / c * hyp2f1(a + 1, b + 1, c + 1, x),
    ),
    **_FACTS_OF_GAUSS,
)
