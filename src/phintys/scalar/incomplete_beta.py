"""The incomplete beta function, its derivatives in its parameters, and its inverse.

A continued fraction (NIST Digital Library of Mathematical Functions, 8.17.22) gives the function::

    I_x(a, b) = x**a (1 - x)**b / (a B(a, b)) * 1 / (1 + d_1 / (1 + d_2 / (1 + ...)))

Its derivatives by a and b follow the same recurrences (R. J. Boik and J. F. Robison-Cox,
Derivatives of the incomplete beta function, Journal of Statistical Software 3, 1998). It converges
fast, after a multiple of the root of the larger parameter, where ``x < (a + 1) / (a + b + 2)``;
elsewhere ``I_x(a, b) = 1 - I_{1-x}(b, a)``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from phintys._base.uninterrupted import import_whole
from phintys.scalar.comparison import eq
from phintys.scalar.exponential import log, log1p
from phintys.scalar.row_kinds import FloatRow
from phintys.scalar.selection import switch
from phintys.scalar.special import digamma_difference

_LARGEST = 1e6  # of the sum of the parameters; beyond it the derivatives are NaN
_MOST_TERMS = 20_000
_CLOSE = 1e-16
_SECOND = (
    "the second derivative of betainc with respect to its parameters a and b is not available. Use "
    "constant ones, or stop the gradient there with phintys.gradient.disconnected_grad(a)"
)
_PARAMETERS = {
    "parameters": ("a", "b", "x"),
    "domain": "a > 0 and b > 0 and 0 <= x <= 1",
}


beta_density = FloatRow(
    "beta_density",
    "phintys.scalar.gamma_quotients:beta_density",
    doc="x**(a - 1) (1 - x)**(b - 1) / beta(a, b), the derivative of betainc.",
    source="C. Loader, Fast and accurate computation of binomial probabilities, 2000.",
    example="2.0, 3.0, [0.2, 0.5]",
    nin=3,
    intervals=((0.5, 5.0), (0.5, 5.0), (0.05, 0.95)),
    derivative=lambda a, b, x, out: (
        out * (log(x) + digamma_difference(a, b)),
        out * (log1p(-x) + digamma_difference(b, a)),
        # Each term is 0 for all x if its parameter is 1.
        out * ((a - 1) / switch(eq(a, 1), 1, x) - (b - 1) / switch(eq(b, 1), 1, 1 - x)),
    ),
    special=False,
    **_PARAMETERS,
)


def _coefficient(n: int, a: Any, b: Any, x: Any) -> tuple[Any, Any, Any]:
    """Return the n-th coefficient of the continued fraction, and its derivatives by a and b."""
    m = n // 2
    scale = x / ((a + n - 1) * (a + n))
    if n % 2 == 0:
        value, by_b = m * (b - m) * scale, m * scale
        return value, -value * (1 / (a + n - 1) + 1 / (a + n)), by_b
    value, by_b = -(a + m) * (a + b + m) * scale, -(a + m) * scale
    slope = 1 / (a + m) + 1 / (a + b + m) - 1 / (a + n - 1) - 1 / (a + n)
    return value, value * slope, by_b


def _fraction_slopes(a: Any, b: Any, x: Any) -> tuple[Any, Any]:
    """Return the derivatives of the logarithm of the continued fraction by a and b.

    The algorithm of Lentz writes the fraction as a product of ratios ``above * below``; each factor
    comes with its derivatives by a and b.
    """
    above, above_a, above_b = np.ones_like(x), np.zeros_like(x), np.zeros_like(x)
    below, below_a, below_b = np.ones_like(x), np.zeros_like(x), np.zeros_like(x)
    sum_a, sum_b = np.zeros_like(x), np.zeros_like(x)
    moving = np.ones_like(x, bool)
    for n in range(1, _MOST_TERMS):
        d, d_a, d_b = _coefficient(n, a, b, x)
        if n > 1:  # the first ratio has no part above
            above_a = (d_a - d * above_a / above) / above
            above_b = (d_b - d * above_b / above) / above
            above = 1 + d / above
        after = 1 / (1 + d * below)
        below_a = -(after**2) * (d_a * below + d * below_a)
        below_b = -(after**2) * (d_b * below + d * below_b)
        below = after
        step_a, step_b = above_a / above + below_a / below, above_b / above + below_b / below
        sum_a, sum_b = sum_a + moving * step_a, sum_b + moving * step_b
        moving &= (abs(step_a) > _CLOSE * abs(sum_a)) | (abs(step_b) > _CLOSE * abs(sum_b))
        if not np.any(moving):
            break
    return np.where(moving, np.nan, sum_a), np.where(moving, np.nan, sum_b)


def _lower_slopes(a: Any, b: Any, x: Any) -> tuple[Any, Any]:
    """Return the derivatives by a and b where the continued fraction converges fast."""
    special = import_whole("scipy.special")
    value, both = special.betainc(a, b, x), special.psi(a + b)
    fraction_a, fraction_b = _fraction_slopes(a, b, x)
    by_a = np.log(x) + both - special.psi(a + 1) + fraction_a
    by_b = np.log1p(-x) + both - special.psi(b) + fraction_b
    return value * by_a, value * by_b


def _slopes(a: Any, b: Any, x: Any) -> tuple[Any, Any]:
    """Return the derivatives of the incomplete beta function by a and b."""
    a, b, x = np.broadcast_arrays(a, b, x)
    is_large = x > (a + 1) / (a + b + 2)
    is_inside = (x > 0) & (x < 1) & (a > 0) & (b > 0) & (a + b <= _LARGEST)
    with np.errstate(all="ignore"):
        first, second = np.where(is_large, b, a), np.where(is_large, a, b)
        first, second = (np.where(is_inside, one, 1.0) for one in (first, second))
        place = np.where(is_inside, np.where(is_large, 1 - x, x), 0.5)
        by_first, by_second = _lower_slopes(first, second, place)
    at_ends = np.where(((x == 0) | (x == 1)) & (a > 0) & (b > 0), 0.0, np.nan)
    by_a = np.where(is_large, -by_second, by_first)
    by_b = np.where(is_large, -by_first, by_second)
    return np.where(is_inside, by_a, at_ends), np.where(is_inside, by_b, at_ends)


betainc_by_a = FloatRow(
    "betainc_by_a",
    lambda a, b, x: _slopes(a, b, x)[0],
    doc="Derivative of betainc by its first parameter.",
    source="R. J. Boik and J. F. Robison-Cox, J. Stat. Softw. 3, 1998.",
    example="2.0, 3.0, [0.2, 0.5]",
    nin=3,
    special=False,
    derivative=lambda a, b, x, out: (
        None,
        None,
        beta_density(a, b, x) * (log(x) + digamma_difference(a, b)),
    ),
    undefined=_SECOND,
    widened=True,
    **_PARAMETERS,
)

betainc_by_b = FloatRow(
    "betainc_by_b",
    lambda a, b, x: _slopes(a, b, x)[1],
    doc="Derivative of betainc by its second parameter.",
    source="R. J. Boik and J. F. Robison-Cox, J. Stat. Softw. 3, 1998.",
    example="2.0, 3.0, [0.2, 0.5]",
    nin=3,
    special=False,
    derivative=lambda a, b, x, out: (
        None,
        None,
        beta_density(a, b, x) * (log1p(-x) + digamma_difference(b, a)),
    ),
    undefined=_SECOND,
    widened=True,
    **_PARAMETERS,
)

betainc = FloatRow(
    "betainc",
    "scipy.special:betainc",
    doc="Regularized incomplete beta function of a and b at x.",
    source="SciPy's, from Boost (A. R. DiDonato and A. H. Morris, Algorithm 708, 1992).",
    parameters=("a", "b", "x"),
    domain="a >= 0 and b >= 0 and 0 <= x <= 1",
    example="2.0, 3.0, [0.2, 0.5]",
    nin=3,
    derivative=lambda a, b, x, out: (
        betainc_by_a(a, b, x),
        betainc_by_b(a, b, x),
        beta_density(a, b, x),
    ),
    widened=True,
)


def _partials_of_inverse(a: Any, b: Any, y: Any, out: Any) -> tuple[Any, Any, Any]:
    density = beta_density(a, b, out)
    return -betainc_by_a(a, b, out) / density, -betainc_by_b(a, b, out) / density, 1 / density


betaincinv = FloatRow(
    "betaincinv",
    "scipy.special:betaincinv",
    doc="Inverse of betainc: the x at which it is y.",
    source="SciPy's, from Boost (A. R. DiDonato and A. H. Morris, Algorithm 708, 1992).",
    parameters=("a", "b", "y"),
    domain="a > 0 and b > 0 and 0 <= y <= 1",
    example="2.0, 3.0, [0.2, 0.5]",
    intervals=((0.5, 5.0), (0.5, 5.0), (0.05, 0.95)),
    nin=3,
    external=True,
    derivative=_partials_of_inverse,
    widened=True,
)

betaincc = FloatRow(
    "betaincc",
    "scipy.special:betaincc",
    doc="1 - betainc(a, b, x), accurate where that is near 1.",
    source="SciPy's, from Boost (A. R. DiDonato and A. H. Morris, Algorithm 708, 1992).",
    example="2.0, 3.0, [0.2, 0.5]",
    intervals=((0.5, 5.0), (0.5, 5.0), (0.05, 0.95)),
    nin=3,
    parameters=("a", "b", "x"),
    domain="a >= 0 and b >= 0 and 0 <= x <= 1",
    external=True,
    derivative=lambda a, b, x, out: (
        -betainc_by_a(a, b, x),
        -betainc_by_b(a, b, x),
        -beta_density(a, b, x),
    ),
    widened=True,
)

betainccinv = FloatRow(
    "betainccinv",
    "scipy.special:betainccinv",
    doc="Inverse of betaincc in x, accurate for small y.",
    source="SciPy's, from Boost (A. R. DiDonato and A. H. Morris, Algorithm 708, 1992).",
    parameters=("a", "b", "y"),
    domain="a > 0 and b > 0 and 0 <= y <= 1",
    example="2.0, 3.0, [0.2, 0.5]",
    intervals=((0.5, 5.0), (0.5, 5.0), (0.05, 0.95)),
    nin=3,
    external=True,
    derivative=lambda a, b, y, out: tuple(
        sign * partial
        for sign, partial in zip((1, 1, -1), _partials_of_inverse(a, b, y, out), strict=True)
    ),
    widened=True,
)
