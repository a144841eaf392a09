"""Exponential integrals and related functions, and factorials.

Derivatives are from the NIST Digital Library of Mathematical Functions (dlmf.nist.gov). Native code
calls SciPy for each element.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.late import LateModule
from phintys._base.uninterrupted import import_whole
from phintys.scalar.arithmetic import abs, fmod, sqr
from phintys.scalar.cancelling import cancelled_product, product
from phintys.scalar.comparison import eq, gt, lt
from phintys.scalar.doubled import exact_sum
from phintys.scalar.exponential import exp, expm1, log
from phintys.scalar.logic import and_
from phintys.scalar.rounding import rint
from phintys.scalar.row_kinds import FloatRow
from phintys.scalar.selection import maximum, minimum, switch
from phintys.scalar.special import digamma, digamma_difference, erfcx, sinc
from phintys.scalar.trigonometric import cos, sin

if TYPE_CHECKING:
    from phintys.scalar import special_slopes as slopes
else:
    slopes = LateModule("phintys.scalar.special_slopes")

_PARAMETER = (
    "its derivative with respect to this parameter has no closed form. Use a constant, or stop "
    "the gradient there with phintys.gradient.disconnected_grad(parameter)"
)

exp1 = FloatRow(
    "exp1",
    "scipy.special:exp1",
    doc="Exponential integral: the integral of exp(-t) / t from x to infinity.",
    source="SciPy's (S. Zhang and J. Jin, Computation of Special Functions, 1996).",
    domain="x >= 0",
    intervals=((0.2, 5.0),),
    external=True,
    derivative=lambda x, out: (-exp(-x) / x,),
)

expi = FloatRow(
    "expi",
    "phintys.scalar.exponential_integrals:expi",
    doc="Exponential integral: the principal value of the integral of exp(t) / t from -inf to x.",
    source="SciPy's (S. Zhang and J. Jin, Computation of Special Functions, 1996).",
    derivative=lambda x, out: (exp(x) / x,),
)


expn = FloatRow(
    "expn",
    "phintys.scalar.exponential_integrals:expn",
    doc="Exponential integral: the integral of exp(-x t) / t**n from 1 to inf, for a whole n.",
    source=(
        "A. M. Legendre's continued fraction, 1826 (DLMF 8.19.17); near 0 SciPy's, from Cephes (S. "
        "L. Moshier, 1989)."
    ),
    parameters=("n", "x"),
    domain="n >= 0 and x >= 0",
    example="2, [0.5, 1.0]",
    nin=2,
    derivative=lambda n, x, out: (
        None,
        switch(gt(n, 0), -expn(switch(gt(n, 0), n - 1, 0), x), -out * (1 + 1 / x)),
    ),
    undefined=_PARAMETER,
)


def _part_of(name: str, position: int) -> Any:
    """Return one result of a function of SciPy that has two."""
    return lambda x: getattr(import_whole("scipy.special"), name)(x)[position]


def _vanishing(x: Any, slope: Any) -> Any:
    """Return a derivative that oscillates and vanishes at infinity."""
    return switch(eq(abs(x), math.inf), 0, slope)


def _sine_by_argument(x: Any) -> Any:
    """Return ``sin(x) / x``; far out x / pi would lose the digits of the phase."""
    is_near = lt(abs(x), 1.5)
    far = switch(is_near, 2, x)
    return switch(is_near, sinc(switch(is_near, x, 0) / math.pi), sin(far) / far)


sine_integral = FloatRow(
    "sine_integral",
    _part_of("sici", 0),
    doc="The integral of sin(t) / t from 0 to x.",
    source=(
        "SciPy's, from Cephes (S. L. Moshier, Methods and Programs for Mathematical "
        "Functions, 1989)."
    ),
    intervals=((0.2, 5.0),),
    derivative=lambda x, out: (_vanishing(x, _sine_by_argument(x)),),
    slope_at_zero=1,
)

cosine_integral = FloatRow(
    "cosine_integral",
    _part_of("sici", 1),
    doc="Euler's constant plus log(x) plus the integral of (cos(t) - 1) / t from 0 to x.",
    source=(
        "SciPy's, from Cephes (S. L. Moshier, Methods and Programs for Mathematical "
        "Functions, 1989)."
    ),
    intervals=((0.2, 5.0),),
    derivative=lambda x, out: (_vanishing(x, cos(x) / x),),
)


def _quarter_turns(x: Any) -> Any:
    """Return ``x**2`` less a multiple of 4, with the digits that the rounded square would lose.

    The square of the nearest whole number is 0 or 1 but for a multiple of 4, and its product with
    the distance to it is exact: the bits of both together are those of x. So the phase of huge
    floats, which are all multiples of 4, is 0, and that of infinity is taken for 0 as well.
    """
    x = switch(eq(abs(x), math.inf), 0, x)
    whole = rint(x)
    rest = x - whole
    exact = abs(fmod(whole, 2)) + 2 * fmod(whole * rest, 2)
    return (exact - 4 * rint(exact / 4)) + sqr(rest)


_SETTLED = 1e17  # where a Fresnel integral differs from its limit by less than a rounding error


def _fresnel(position: int) -> Any:
    """Return SciPy's function, which ends where the square of x overflows, and its limits."""

    def function(x: Any) -> Any:
        nearer = np.clip(x, x.dtype.type(-_SETTLED), x.dtype.type(_SETTLED))
        return import_whole("scipy.special").fresnel(nearer)[position]

    return function


fresnel_sine = FloatRow(
    "fresnel_sine",
    _fresnel(0),
    doc=(
        "Fresnel integral: the integral of sin(pi t**2 / 2) from 0 to x. Its derivative is that of "
        "the float x itself, which is 0 for huge ones, and taken for 0 at infinity."
    ),
    source=(
        "SciPy's, from Cephes (S. L. Moshier, Methods and Programs for Mathematical "
        "Functions, 1989)."
    ),
    intervals=((-2.0, 2.0),),
    derivative=lambda x, out: (sin(math.pi / 2 * _quarter_turns(x)),),
)

fresnel_cosine = FloatRow(
    "fresnel_cosine",
    _fresnel(1),
    doc=(
        "Fresnel integral: the integral of cos(pi t**2 / 2) from 0 to x. Its derivative is that of "
        "the float x itself, which is 1 for huge ones, and taken for 1 at infinity."
    ),
    source=(
        "SciPy's, from Cephes (S. L. Moshier, Methods and Programs for Mathematical "
        "Functions, 1989)."
    ),
    intervals=((-2.0, 2.0),),
    derivative=lambda x, out: (cos(math.pi / 2 * _quarter_turns(x)),),
    slope_at_zero=1,
)


def _zeta_of_one_more(x: Any, q: Any) -> Any:
    """Return ``zeta(x + 1, q)``, with the rounding error of the exponent, that of nearly q.

    Some digits of the logarithm of q are enough. It is rounded for its derivative to be 0: that of
    the correction is as small as what it corrects, and a second value of zeta would be computed.
    """
    power, error = exact_sum(x, 1)
    is_usual = and_(gt(q, 0), lt(q, math.inf))  # others have whole exponents, or no value
    return zeta(power, q) * (1 - error * rint(16 * log(switch(is_usual, q, 1))) / 16)


zeta = FloatRow(
    "zeta",
    "scipy.special:zeta",
    doc="Hurwitz's zeta function: the sum of (n + q)**-x over n >= 0.",
    source="The formula of L. Euler, 1738, and C. Maclaurin, 1742 (DLMF 25.11.5, 2.10.1).",
    parameters=("x", "q"),
    domain="x > 1",
    example="[2.0, 3.0], 1.0",
    nin=2,
    derivative=lambda x, q, out: (None, -x * _zeta_of_one_more(x, q)),
    undefined=_PARAMETER,
)

_DAWSN_TERMS = 18


def _slope_of_dawsn(x: Any, out: Any) -> Any:
    """Return ``1 - 2 x dawsn(x)``, whose terms cancel as x grows.

    From 1.5 on by polynomials, far out by its asymptotic series (DLMF 7.12.1, 7.5.1).
    """
    size = abs(x)
    is_near, is_far = lt(size, slopes.DAWSN_FROM), gt(size, slopes.DAWSN_TO)
    step = 0.5 / sqr(switch(is_far, x, slopes.DAWSN_TO))
    series: Any = 1.0
    for n in range(_DAWSN_TERMS, 1, -1):
        series = 1.0 + (2 * n - 1) * step * series
    middle = minimum(maximum(size, slopes.DAWSN_FROM), slopes.DAWSN_TO)
    beyond = switch(is_far, -step * series, -slopes.minus_slope_of_dawsn(middle))
    return switch(is_near, 1 - 2 * switch(is_near, x, 0) * out, beyond)


dawsn = FloatRow(
    "dawsn",
    "scipy.special:dawsn",
    doc="Dawson's integral: exp(-x**2) times the integral of exp(t**2) from 0 to x.",
    source="SciPy's by S. G. Johnson, Faddeeva package, 2012.",
    external=True,
    intervals=((-3.0, 3.0),),
    derivative=lambda x, out: (_slope_of_dawsn(x, out),),
    slope_at_zero=1,
)


def _slope_of_spence(x: Any) -> Any:
    """Return ``log(x) / (1 - x)``, near 1 by its series."""
    is_near = lt(abs(x - 1), 0.05)
    step = switch(is_near, x, 1) - 1
    series: Any = 0.0
    for n in range(12, -1, -1):
        series = (-1) ** n / (n + 1) + step * series
    far = switch(is_near, 2, x)
    return switch(is_near, -series, log(far) / (1 - far))


def _along_spence(x: Any, logarithm: Any, v: Any) -> Any:
    """Return v times the derivative; ``logarithm`` is ``log(x) * v``."""
    is_near = lt(abs(x - 1), 0.05)
    return switch(is_near, _slope_of_spence(x) * v, logarithm / (1 - switch(is_near, 2, x)))


def _pull_spence(x: Any, out: Any, g: Any) -> tuple[Any] | None:
    """_along_spence(g), where g is 0 wherever x is"""
    found = cancelled_product(log(x), g)
    return None if found is None else (_along_spence(x, found, g),)


spence = FloatRow(
    "spence",
    "scipy.special:spence",
    doc="The integral of log(t) / (1 - t) from 1 to x: the dilogarithm of 1 - x.",
    source=(
        "SciPy's, from Cephes (S. L. Moshier, Methods and Programs for Mathematical "
        "Functions, 1989)."
    ),
    domain="x >= 0",
    intervals=((0.1, 5.0),),
    external=True,
    derivative=lambda x, out: (_slope_of_spence(x),),
    pullback=_pull_spence,
    pushforward=lambda x, out, v: _along_spence(x, product(log(x), v[0]), v[0]),
)

binom = FloatRow(
    "binom",
    "phintys.scalar.gamma_quotients:binom",
    doc="Binomial coefficient, for real n and k too.",
    source="C. Loader, Fast and accurate computation of binomial probabilities, 2000.",
    parameters=("n", "k"),
    example="[4.0, 5.5], 2.0",
    nin=2,
    intervals=((4.1, 6.9), (0.3, 3.8)),
    derivative=lambda n, k, out: (
        out * digamma_difference(n - k + 1, k),
        out * digamma_difference(k + 1, n - 2 * k),
    ),
)

_DIGAMMA_ROOT, _TRIGAMMA_AT_ROOT = 1.4616321449683623, 0.9676722454476212


def _digamma_of_sum(z: Any, m: Any) -> Any:
    """Return ``digamma(z + m)``, next to its root with the rounding error of the sum."""
    total, error = exact_sum(z, m)
    is_near = lt(abs(total - _DIGAMMA_ROOT), 0.5)
    return digamma(total) + switch(is_near, _TRIGAMMA_AT_ROOT * error, 0)


poch = FloatRow(
    "poch",
    "phintys.scalar.gamma_quotients:poch",
    doc="Rising factorial, gamma(z + m) / gamma(z).",
    source="A. R. DiDonato and A. H. Morris, Algorithm 708, ACM Trans. Math. Softw. 18, 1992.",
    parameters=("z", "m"),
    nin=2,
    intervals=((0.5, 5.0), (0.2, 3.0)),
    derivative=lambda z, m, out: (
        out * digamma_difference(z, m),
        out * _digamma_of_sum(z, m),
    ),
)

factorial = FloatRow(
    "factorial",
    "scipy.special:factorial",
    doc="gamma(n + 1), and 0 for a negative n.",
    source=(
        "SciPy's, from Cephes (S. L. Moshier, Methods and Programs for Mathematical "
        "Functions, 1989)."
    ),
    parameters=("n",),
    intervals=((0.1, 5.0),),
    # gamma(n + 1) would multiply the rounding error of n + 1.
    expansion=lambda n: switch(lt(n, 0), 0.0, poch(1, switch(lt(n, 0), 0, n))),
)


def _slope_of_ndtri_exp(x: Any, out: Any) -> Any:
    """Return ``exp(x)`` by the normal density at ``out``, from the tail beyond it.

    Exponentials of squares multiply the error of ``out``.
    """
    is_below = lt(out, 0)
    odds = switch(is_below, 1, 1 / expm1(-switch(is_below, -1, x)))
    return math.sqrt(math.pi / 2) * erfcx(math.sqrt(0.5) * abs(out)) * odds


ndtri_exp = FloatRow(
    "ndtri_exp",
    "scipy.special:ndtri_exp",
    doc="Inverse of log_ndtr: the quantile of the standard normal at exp(x).",
    source="SciPy's, from its version 1.7 of 2021 on: Newton's method far out.",
    domain="x < 0",
    example="[-1.0, -0.5]",
    intervals=((-4.0, -0.1),),
    external=True,
    derivative=lambda x, out: (_slope_of_ndtri_exp(x, out),),
)
