"""Special functions from SciPy.

Derivatives are from the NIST Digital Library of Mathematical Functions (dlmf.nist.gov); the section
is cited where a rule is not obvious.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.late import LateModule
from phintys._base.uninterrupted import import_whole
from phintys.scalar.arithmetic import abs, fmod, sign, sqr
from phintys.scalar.cancelling import pull_by_slope_of_log
from phintys.scalar.comparison import eq, ge, gt, lt
from phintys.scalar.exponential import exp, exp_of_product, log
from phintys.scalar.gamma_slopes import slope_by_differences
from phintys.scalar.log_gamma import log_gamma
from phintys.scalar.logic import and_, invert, or_
from phintys.scalar.rounding import rint
from phintys.scalar.row import dtype_of
from phintys.scalar.row_kinds import FloatRow
from phintys.scalar.selection import maximum, minimum, switch
from phintys.scalar.trigonometric import sin

if TYPE_CHECKING:
    from phintys.scalar import special_slopes as slopes
else:
    slopes = LateModule("phintys.scalar.special_slopes")

_TWO_BY_ROOT_PI = 2 / math.sqrt(math.pi)
_ROOT_PI_BY_TWO = math.sqrt(math.pi) / 2
_ROOT_TWO_PI = math.sqrt(2 * math.pi)
_LOG_ROOT_TWO_PI = math.log(_ROOT_TWO_PI)
_ROOT_HALF = math.sqrt(0.5)
_ROOT_HALF_PI = math.sqrt(math.pi / 2)

_ORDER = (
    "its derivative with respect to the order has no closed form. Use a constant order, or stop "
    "the gradient there with phintys.gradient.disconnected_grad(order)"
)


def _exp_of_minus_square(x: Any) -> Any:
    """Return ``exp(-x**2)``, of real numbers with all digits of the square."""
    return exp(-sqr(x)) if dtype_of(x).kind == "c" else exp_of_product(-x, x)


erf = FloatRow(
    "erf",
    "scipy.special:erf",
    doc="Error function: 2/sqrt(pi) times the integral of exp(-t**2) from 0 to x.",
    source=(
        "M. M. Shepherd and J. G. Laframboise, Math. Comp. 36, 1981; SciPy's from Cephes (S. "
        "L. Moshier, 1989)."
    ),
    complex=True,
    # The exact square would make this common gradient a third slower.
    derivative=lambda x, out: (_TWO_BY_ROOT_PI * exp(-sqr(x)),),
    slope_at_zero=_TWO_BY_ROOT_PI,
)

erfc = FloatRow(
    "erfc",
    "scipy.special:erfc",
    doc="1 - erf(x), accurate for large x.",
    source=(
        "M. M. Shepherd and J. G. Laframboise, Math. Comp. 36, 1981; SciPy's from Cephes (S. "
        "L. Moshier, 1989)."
    ),
    complex=True,
    derivative=lambda x, out: (-_TWO_BY_ROOT_PI * _exp_of_minus_square(x),),
    pullback=pull_by_slope_of_log(lambda x, out: -_TWO_BY_ROOT_PI / erfcx(x)),
    positive=True,
)


def _erfcx_derivative(x: Any, out: Any) -> Any:
    """Return ``2 x erfcx(x) - 2 / sqrt(pi)``, whose terms cancel as x grows."""
    if dtype_of(x).kind == "c":
        return 2 * x * out - _TWO_BY_ROOT_PI
    # Each branch is evaluated only where it is finite, so that its own derivatives are finite too.
    start = slopes.ERFCX_FROM
    is_near = lt(x, start)
    near = 2 * minimum(x, start) * switch(is_near, out, 0) - _TWO_BY_ROOT_PI
    return switch(is_near, near, -slopes.minus_slope_of_erfcx(maximum(x, start)))


erfcx = FloatRow(
    "erfcx",
    "scipy.special:erfcx",
    doc="exp(x**2) * erfc(x), which does not underflow.",
    source=(
        "M. M. Shepherd and J. G. Laframboise, Math. Comp. 36, 1981; SciPy's by S. G. "
        "Johnson, Faddeeva package, 2012."
    ),
    complex=True,
    derivative=lambda x, out: (_erfcx_derivative(x, out),),
)

_LARGEST_TAIL = 30.0  # erfc is 0 from here on
_CLOSE = 1e-4  # more than the relative error of exp(x**2) in any dtype of at least 32 bits


def _exp_of_square_values(x: Any, tail: Any) -> Any:
    nearer = np.minimum(np.abs(x), x.dtype.type(_LARGEST_TAIL))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        plain = np.exp(np.square(x))
        exact = import_whole("scipy.special").erfcx(nearer) / tail
        return np.where(np.abs(exact - plain) < _CLOSE * plain, exact, plain)


def _exp_of_square(x: Any, tail: Any) -> Any:
    plain = exp(sqr(x))
    exact = erfcx(minimum(abs(x), _LARGEST_TAIL)) / tail
    return switch(lt(abs(exact - plain), _CLOSE * plain), exact, plain)


exp_of_square = FloatRow(
    "exp_of_square",
    _exp_of_square_values,
    doc="exp(x**2). If tail is erfc(\\|x\\|), it gives the digits that the square of x lacks.",
    source="M. M. Shepherd and J. G. Laframboise, Math. Comp. 36, 1981: by erfcx.",
    parameters=("x", "tail"),
    nin=2,
    intervals=((0.1, 2.0), (0.1, 0.9)),
    expansion=_exp_of_square,
    # By the derivatives of the quotient its terms would overflow, although they cancel.
    derivative=lambda x, tail, out: (2 * x * out, 0),
    special=False,
)


def _slope_of_erfinv(x: Any, out: Any) -> Any:
    is_near = lt(abs(x), 0.5)
    near = exp(sqr(switch(is_near, out, 0)))
    return _ROOT_PI_BY_TWO * switch(is_near, near, exp_of_square(out, 1 - abs(x)))


def _slope_of_erfcinv(x: Any, out: Any) -> Any:
    is_near = lt(abs(x - 1), 0.5)
    near = exp(sqr(switch(is_near, out, 0)))
    return _ROOT_PI_BY_TWO * switch(is_near, near, exp_of_square(out, minimum(x, 2 - x)))


erfinv = FloatRow(
    "erfinv",
    "scipy.special:erfinv",
    doc="Inverse of erf.",
    source="SciPy's, from Boost (J. Maddock, 2006).",
    domain="-1 < x < 1",
    example="[0.0, 0.5]",
    derivative=lambda x, out: (_slope_of_erfinv(x, out),),
    slope_at_zero=1 / _TWO_BY_ROOT_PI,
)

erfcinv = FloatRow(
    "erfcinv",
    "scipy.special:erfcinv",
    doc="Inverse of erfc.",
    source=(
        "SciPy's, from Cephes (S. L. Moshier, Methods and Programs for Mathematical "
        "Functions, 1989)."
    ),
    domain="0 < x < 2",
    derivative=lambda x, out: (-_slope_of_erfcinv(x, out),),
)


def _slope_of_log_ndtr(x: Any, inverse: Any) -> Any:
    """Return the density of the normal distribution by ndtr(x), of which the inverse is given.

    Below 0 it is ``sqrt(2 / pi) / erfcx(-x / sqrt(2))`` (DLMF 7.2.3), from -10,000 down the start
    of its asymptotic series (DLMF 7.8.4 and 7.12.1), since squares of larger numbers overflow.
    """
    is_far, is_below = lt(x, _FAR_BELOW), lt(x, 0)
    shrinking = 1 / switch(is_far, x, 1)
    far = -switch(is_far, x, 1) - shrinking * (1 - 2 * sqr(shrinking))
    below = 1 / (_ROOT_HALF_PI * erfcx(-_ROOT_HALF * maximum(minimum(x, 0), _FAR_BELOW)))
    above = _density_of_normal(maximum(x, 0)) * switch(is_below, 1, inverse)
    return switch(is_far, far, switch(is_below, below, above))


def _density_of_normal(x: Any) -> Any:
    """Return ``exp(-x**2 / 2) / sqrt(2 pi)``, of real numbers with all digits of the square."""
    is_complex = dtype_of(x).kind == "c"
    power = exp(-0.5 * sqr(x)) if is_complex else exp_of_product(-0.5 * x, x)
    return power * (1 / _ROOT_TWO_PI)


_FAR_BELOW = -1e4

ndtr = FloatRow(
    "ndtr",
    "scipy.special:ndtr",
    doc="Distribution function of the standard normal.",
    source=(
        "M. M. Shepherd and J. G. Laframboise, Math. Comp. 36, 1981; SciPy's from Cephes (S. "
        "L. Moshier, 1989)."
    ),
    complex=True,
    derivative=lambda x, out: (_density_of_normal(x),),
    pullback=pull_by_slope_of_log(lambda x, out: _slope_of_log_ndtr(x, 1 / out)),
    positive=True,
)


def _derivative_of_log_ndtr(x: Any, out: Any) -> Any:
    if dtype_of(x).kind == "c":
        return exp(-0.5 * sqr(x) - out - _LOG_ROOT_TWO_PI)
    return _slope_of_log_ndtr(x, exp(-maximum(out, -1)))


log_ndtr = FloatRow(
    "log_ndtr",
    "scipy.special:log_ndtr",
    doc="log(ndtr(x)), accurate far below 0.",
    source=(
        "M. M. Shepherd and J. G. Laframboise, Math. Comp. 36, 1981; SciPy's by S. G. "
        "Johnson, Faddeeva package, 2012."
    ),
    complex=True,
    derivative=lambda x, out: (_derivative_of_log_ndtr(x, out),),
)


def _slope_of_ndtri(x: Any, out: Any) -> Any:
    is_near = lt(abs(x - 0.5), 0.25)
    near = exp(0.5 * sqr(switch(is_near, out, 0)))
    far = exp_of_square(_ROOT_HALF * out, 2 * minimum(x, 1 - x))
    return _ROOT_TWO_PI * switch(is_near, near, far)


ndtri = FloatRow(
    "ndtri",
    "scipy.special:ndtri",
    doc="Inverse of ndtr: quantile of the standard normal.",
    source=(
        "SciPy's, from Cephes (S. L. Moshier, Methods and Programs for Mathematical "
        "Functions, 1989)."
    ),
    domain="0 < x < 1",
    example="[0.5, 0.9]",
    derivative=lambda x, out: (_slope_of_ndtri(x, out),),
)


def _partials_of_owens_t(h: Any, a: Any, out: Any) -> tuple[Any, Any]:
    spread = 1 + sqr(a)
    power, turned = exp_of_product(-0.5 * h, h), a * h
    dh = -0.5 * power * erf(turned * _ROOT_HALF) / _ROOT_TWO_PI
    return dh, power * exp_of_product(-0.5 * turned, turned) / (2 * math.pi * spread)


owens_t = FloatRow(
    "owens_t",
    "scipy.special:owens_t",
    doc="Owen's T function of h and a.",
    source="SciPy's (M. Patefield and D. Tandy, J. Stat. Softw. 5, 2000).",
    parameters=("h", "a"),
    nin=2,
    derivative=_partials_of_owens_t,
)

gamma = FloatRow(
    "gamma",
    "scipy.special:gamma",
    doc="Gamma function.",
    source=(
        "SciPy's, from Cephes (S. L. Moshier, Methods and Programs for Mathematical "
        "Functions, 1989)."
    ),
    complex=True,
    derivative=lambda x, out: (out * digamma(x),),
)

gammaln = FloatRow(
    "gammaln",
    log_gamma,
    doc="Logarithm of the absolute value of the gamma function.",
    source="J. Stirling, Methodus differentialis, 1730 (DLMF 5.7.3, 5.11.1).",
    derivative=lambda x, out: (digamma(x),),
)

digamma = FloatRow(
    "digamma",
    "scipy.special:psi",
    doc="Derivative of gammaln.",
    source="W. J. Cody, A. J. Strecok and H. C. Thacher, Math. Comp. 27, 1973.",
    complex=True,
    # SciPy has no complex trigamma.
    derivative=lambda x, out: (None if dtype_of(x).kind == "c" else trigamma(x),),
    undefined="its derivative, trigamma, is defined for real numbers only",
)


def _trigamma(x: Any) -> Any:
    return import_whole("scipy.special").polygamma(np.ones((), x.dtype), x)


trigamma = FloatRow(
    "trigamma",
    _trigamma,
    doc="Derivative of digamma.",
    source="B. E. Schneider, Algorithm AS 121, Appl. Stat. 27, 1978.",
    derivative=lambda x, out: (polygamma(2, x),),
)

polygamma = FloatRow(
    "polygamma",
    "phintys.scalar.euler_maclaurin:polygamma",
    doc="n-th derivative of digamma, for an integer n of any dtype.",
    source="A. Hurwitz, 1882: by his zeta function (DLMF 25.11.12).",
    parameters=("n", "x"),
    example="1, [1.0, 2.0]",
    nin=2,
    derivative=lambda n, x, out: (None, polygamma(n + 1, x)),
    undefined=_ORDER,
)

digamma_difference = FloatRow(
    "digamma_difference",
    "phintys.scalar.special_slopes:digamma_difference",
    doc="digamma(a + b) - digamma(a), whose terms cancel for a small b.",
    source="J. Stirling's series, 1730 (DLMF 5.5.2, 5.11.2), term by term.",
    parameters=("a", "b"),
    nin=2,
    expansion=lambda a, b: slopes.difference_of_digammas(a, b, digamma),
    intervals=((0.2, 5.0), (0.2, 5.0)),
    special=False,
)

beta = FloatRow(
    "beta",
    "phintys.scalar.gamma_quotients:beta",
    doc="Beta function: gamma(a) gamma(b) / gamma(a + b).",
    source="A. R. DiDonato and A. H. Morris, Algorithm 708, ACM Trans. Math. Softw. 18, 1992.",
    parameters=("a", "b"),
    nin=2,
    derivative=lambda a, b, out: (
        -out * digamma_difference(a, b),
        -out * digamma_difference(b, a),
    ),
    commutative=True,
)

betaln = FloatRow(
    "betaln",
    "phintys.scalar.log_beta:betaln",
    doc="Logarithm of the absolute value of the beta function.",
    source="A. R. DiDonato and A. H. Morris, Algorithm 708, ACM Trans. Math. Softw. 18, 1992.",
    parameters=("a", "b"),
    nin=2,
    derivative=lambda a, b, out: (-digamma_difference(a, b), -digamma_difference(b, a)),
    commutative=True,
)


gamma_density = FloatRow(
    "gamma_density",
    "phintys.scalar.gamma_quotients:gamma_density",
    doc="x**(a - 1) exp(-x) / gamma(a), the derivative of gammainc.",
    source="C. Loader, Fast and accurate computation of binomial probabilities, 2000.",
    parameters=("a", "x"),
    nin=2,
    domain="a >= 0 and x >= 0",
    intervals=((0.5, 5.0), (0.1, 5.0)),
    derivative=lambda a, x, out: (
        out * (log(x) - digamma(a)),
        # The first term is 0 for all x if a is 1.
        out * ((a - 1) / switch(eq(a, 1), 1, x) - 1),
    ),
    special=False,
)


log_gamma_slope = FloatRow(
    "log_gamma_slope",
    "phintys.scalar.gamma_slopes:log_gamma_slope",
    doc="How the logarithm t of a quantile of the gamma distribution moves with the shape a.",
    source="M. Figurnov, S. Mohamed and A. Mnih, Implicit reparameterization gradients, 2018.",
    parameters=("a", "t"),
    nin=2,
    domain="a > 0",
    # In t, the second derivatives of the equation P(a, exp(t)) = q.
    derivative=lambda a, t, out: (
        log_gamma_bend(a, t),
        digamma(a) - t - (a - exp(t)) * out,
    ),
    widened=True,
    special=False,
)

log_gamma_bend = FloatRow(
    "log_gamma_bend",
    "phintys.scalar.gamma_slopes:log_gamma_bend",
    doc="The derivative of log_gamma_slope in the shape a.",
    source="M. Figurnov, S. Mohamed and A. Mnih, Implicit reparameterization gradients, 2018.",
    parameters=("a", "t"),
    nin=2,
    domain="a > 0",
    expansion=lambda a, t: slope_by_differences(log_gamma_slope, a, t),
    intervals=((0.5, 5.0), (-2.0, 2.0)),
    derivative=lambda a, t, out: (
        slope_by_differences(log_gamma_bend, a, t),
        trigamma(a) - log_gamma_slope(a, t) - (a - exp(t)) * out,
    ),
    widened=True,
    special=False,
)


def _slope_by_order(a: Any, x: Any) -> Any:
    """Return the derivative of ``gammainc`` in its order: 0 where all or nothing is below x."""
    is_inside = and_(gt(x, 0), lt(x, math.inf))
    inside = switch(is_inside, x, 1)
    slope = log_gamma_slope(a, log(inside)) * inside * gamma_density(a, inside)
    return switch(is_inside, -slope, 0.0)


gammainc = FloatRow(
    "gammainc",
    "scipy.special:gammainc",
    doc="Regularized lower incomplete gamma function of order a at x.",
    source=(
        "SciPy's (N. M. Temme, SIAM J. Math. Anal. 10, 1979; A. R. DiDonato and A. H. Morris,"
        " 1986)."
    ),
    parameters=("a", "x"),
    domain="a >= 0 and x >= 0",
    nin=2,
    derivative=lambda k, x, out: (_slope_by_order(k, x), gamma_density(k, x)),
)

gammaincc = FloatRow(
    "gammaincc",
    "scipy.special:gammaincc",
    doc="1 - gammainc(a, x), accurate for large x.",
    source=(
        "SciPy's (N. M. Temme, SIAM J. Math. Anal. 10, 1979; A. R. DiDonato and A. H. Morris,"
        " 1986)."
    ),
    parameters=("a", "x"),
    domain="a >= 0 and x >= 0",
    nin=2,
    derivative=lambda k, x, out: (-_slope_by_order(k, x), -gamma_density(k, x)),
)

gammaincinv = FloatRow(
    "gammaincinv",
    "scipy.special:gammaincinv",
    doc="Inverse of gammainc in x: the quantile of the gamma distribution at y.",
    source=(
        "SciPy's (N. M. Temme, SIAM J. Math. Anal. 10, 1979; A. R. DiDonato and A. H. Morris,"
        " 1986)."
    ),
    parameters=("a", "y"),
    domain="a >= 0 and 0 <= y <= 1",
    example="2.0, [0.2, 0.5]",
    nin=2,
    intervals=((0.5, 5.0), (0.05, 0.95)),
    external=True,
    derivative=lambda a, y, out: (
        out * log_gamma_slope(a, log(out)),
        1 / gamma_density(a, out),
    ),
)

gammainccinv = FloatRow(
    "gammainccinv",
    "scipy.special:gammainccinv",
    doc="Inverse of gammaincc in x, accurate for small y.",
    source=(
        "SciPy's (N. M. Temme, SIAM J. Math. Anal. 10, 1979; A. R. DiDonato and A. H. Morris,"
        " 1986)."
    ),
    parameters=("a", "y"),
    domain="a >= 0 and 0 <= y <= 1",
    example="2.0, [0.2, 0.5]",
    nin=2,
    intervals=((0.5, 5.0), (0.05, 0.95)),
    external=True,
    derivative=lambda a, y, out: (
        out * log_gamma_slope(a, log(out)),
        -1 / gamma_density(a, out),
    ),
)


# Bessel functions (DLMF 10.6, 10.29): the derivative is half the sum or difference of neighbors.

j0 = FloatRow(
    "j0",
    "phintys.scalar.bessel:j0",
    doc="Bessel function of the first kind, order 0.",
    source="H. Hankel, Math. Ann. 1, 1869; near 0 SciPy's from Cephes (S. L. Moshier, 1989).",
    derivative=lambda x, out: (-j1(x),),
)

j1 = FloatRow(
    "j1",
    "phintys.scalar.bessel:j1",
    doc="Bessel function of the first kind, order 1.",
    source="H. Hankel, Math. Ann. 1, 1869; near 0 SciPy's from Cephes (S. L. Moshier, 1989).",
    derivative=lambda x, out: (_slope_of_j1(x),),
    slope_at_zero=0.5,
)


def _slope_of_j1(x: Any) -> Any:
    """Return ``(j0 - j2) / 2``, and ``j0 - j1 / x`` where derivatives of that do not cancel."""
    is_near = lt(abs(x), 1)
    inner, outer = switch(is_near, x, 0), switch(is_near, 1, x)
    return switch(is_near, 0.5 * (j0(inner) - jv(2, inner)), j0(outer) - j1(outer) / outer)


jv = FloatRow(
    "jv",
    "phintys.scalar.bessel_recurrence:jv",
    doc="Bessel function of the first kind, order v.",
    source=(
        "Barnett, Feng, Steed and Goldfarb, Comput. Phys. Commun. 8, 1974; SciPy's (D. E. Amos, "
        "Algorithm 644, ACM Trans. Math. Softw. 12, 1986)."
    ),
    parameters=("v", "x"),
    domain="x >= 0 or v % 1 == 0",
    example="1, [1.0, 2.0]",
    nin=2,
    complex=True,
    real_inputs=(0,),
    derivative=lambda v, x, out: (None, _slope_of_jv(v, x, out)),
    undefined=_ORDER,
)

yv = FloatRow(
    "yv",
    "phintys.scalar.bessel_recurrence:yv",
    doc="Bessel function of the second kind, order v.",
    source=(
        "Barnett, Feng, Steed and Goldfarb, Comput. Phys. Commun. 8, 1974; SciPy's (D. E. Amos, "
        "Algorithm 644, ACM Trans. Math. Softw. 12, 1986)."
    ),
    parameters=("v", "x"),
    domain="x > 0",
    example="1, [1.0, 2.0]",
    nin=2,
    complex=True,
    real_inputs=(0,),
    # Of v - 1, which may be negative, SciPy's function loses digits.
    derivative=lambda v, x, out: (None, v / x * out - yv(v + 1, x)),
    undefined=_ORDER,
)

i0 = FloatRow(
    "i0",
    "phintys.scalar.bessel:i0",
    doc="Modified Bessel function of the first kind, order 0.",
    source=(
        "SciPy's, from Cephes (S. L. Moshier, Methods and Programs for Mathematical "
        "Functions, 1989)."
    ),
    derivative=lambda x, out: (i1(x),),
)

i1 = FloatRow(
    "i1",
    "phintys.scalar.bessel:i1",
    doc="Modified Bessel function of the first kind, order 1.",
    source=(
        "SciPy's, from Cephes (S. L. Moshier, Methods and Programs for Mathematical "
        "Functions, 1989)."
    ),
    derivative=lambda x, out: (0.5 * (i0(x) + iv(2, abs(x))),),
    slope_at_zero=0.5,
)

i0e = FloatRow(
    "i0e",
    "scipy.special:i0e",
    doc="i0(x) * exp(-\\|x\\|).",
    source=(
        "SciPy's, from Cephes (S. L. Moshier, Methods and Programs for Mathematical "
        "Functions, 1989)."
    ),
    derivative=lambda x, out: (-sign(x) * i0e_less_i1e(x),),
)

i1e = FloatRow(
    "i1e",
    "scipy.special:i1e",
    doc="i1(x) * exp(-\\|x\\|).",
    source=(
        "SciPy's, from Cephes (S. L. Moshier, Methods and Programs for Mathematical "
        "Functions, 1989)."
    ),
    derivative=lambda x, out: (_slope_of_i1e(x),),
    slope_at_zero=0.5,
)

i0e_less_i1e = FloatRow(
    "i0e_less_i1e",
    "phintys.scalar.special_slopes:i0e_less_i1e",
    doc="i0e(x) - \\|i1e(x)\\|, whose terms cancel for large x.",
    source=(
        "M. M. Shepherd and J. G. Laframboise, Math. Comp. 36, 1981: polynomials in (x - 4) /"
        " (x + 4)."
    ),
    expansion=lambda x: slopes.bessel_difference(x),  # noqa: PLW0108 - imports it late
    intervals=((0.1, 20.0),),
    special=False,
)


def _slope_of_i1e(x: Any) -> Any:
    """Return the derivative of i1e: ``i0e - i1e - i1e / x``, near 0 by its polynomial.

    The terms cancel there, and have no derivatives.
    """
    size, is_near = abs(x), lt(abs(x), slopes.I1E_SLOPE_TO)
    inner = minimum(size, slopes.I1E_SLOPE_TO)
    outer = maximum(size, slopes.I1E_SLOPE_TO)
    near = slopes.slope_of_i1e(inner)
    return switch(is_near, near, i0e_less_i1e(outer) - i1e(outer) / outer)


iv = FloatRow(
    "iv",
    "phintys.scalar.bessel:iv",
    doc="Modified Bessel function of the first kind, order v.",
    source=(
        "P. Debye, Math. Ann. 67, 1909 (DLMF 10.41.3); near 0 its power series, between by kve "
        "and the Wronskian (DLMF 10.25.2, 10.28.2)."
    ),
    parameters=("v", "x"),
    domain="x >= 0 or v % 1 == 0",
    example="1, [1.0, 2.0]",
    nin=2,
    complex=True,
    real_inputs=(0,),
    derivative=lambda v, x, out: (None, _slope_of_iv(v, x, out)),
    undefined=_ORDER,
)

ive = FloatRow(
    "ive",
    "phintys.scalar.bessel:ive",
    doc="iv(v, x) * exp(-\\|x\\|) for a real x.",
    source=(
        "P. Debye, Math. Ann. 67, 1909 (DLMF 10.41.3); near 0 its power series, between by kve "
        "and the Wronskian (DLMF 10.25.2, 10.28.2)."
    ),
    parameters=("v", "x"),
    domain="x >= 0 or v % 1 == 0",
    example="1, [1.0, 2.0]",
    nin=2,
    derivative=lambda v, x, out: (None, _slope_of_ive(v, x, out)),
    undefined=_ORDER,
)

kv = FloatRow(
    "kv",
    "phintys.scalar.bessel:kv",
    doc="Modified Bessel function of the second kind, order v.",
    source=(
        "P. Debye, Math. Ann. 67, 1909 (DLMF 10.41.3); near 0 N. M. Temme, J. Comput. Phys. 19, "
        "1975; between SciPy's (D. E. Amos, Algorithm 644, ACM Trans. Math. Softw. 12, 1986)."
    ),
    parameters=("v", "x"),
    domain="x > 0",
    example="1, [1.0, 2.0]",
    nin=2,
    complex=True,
    real_inputs=(0,),
    derivative=lambda v, x, out: (None, -(kv(v - 1, x) + _share_of_order(v, x, out))),
    undefined=_ORDER,
)

kve = FloatRow(
    "kve",
    "phintys.scalar.bessel:kve",
    doc="kv(v, x) * exp(x).",
    source=(
        "P. Debye, Math. Ann. 67, 1909 (DLMF 10.41.3); near 0 N. M. Temme, J. Comput. Phys. 19, "
        "1975; between SciPy's (D. E. Amos, Algorithm 644, ACM Trans. Math. Softw. 12, 1986)."
    ),
    parameters=("v", "x"),
    domain="x > 0",
    example="1, [1.0, 2.0]",
    nin=2,
    complex=True,
    real_inputs=(0,),
    derivative=lambda v, x, out: (None, _slope_of_kve(v, x, out)),
    undefined=_ORDER,
)


# Sums of neighboring orders of scaled functions cancel beyond, by a factor of 2 x. Functions of one
# order have no derivatives at 0 in the other forms.
_NEIGHBORS_UP_TO = 0.5


def _keeps_order(v: Any) -> Any:
    """Return whether v - 1 has the digits of v, which it has not for a small v."""
    return or_(eq(v, 0), ge(abs(v), 0.5))


def _slope_of_iv(v: Any, x: Any, out: Any) -> Any:
    """Return the derivative of iv by x: of v - 1, which may be negative, only near 0."""
    if dtype_of(x).kind == "c":
        return 0.5 * (iv(v - 1, x) + iv(v + 1, x))
    is_near = and_(lt(abs(x), _NEIGHBORS_UP_TO), _keeps_order(v))
    place, far = switch(is_near, x, 0), switch(is_near, 1, x)
    near = 0.5 * (iv(v - 1, place) + iv(v + 1, place))
    return switch(is_near, near, v / far * out + iv(v + 1, far))


def _slope_of_jv(v: Any, x: Any, out: Any) -> Any:
    """Return the derivative of jv by x: of v - 1, which may be negative, only near 0."""
    if dtype_of(x).kind == "c":
        return 0.5 * (jv(v - 1, x) - jv(v + 1, x))
    is_near = and_(lt(abs(x), _NEIGHBORS_UP_TO), _keeps_order(v))
    place, far = switch(is_near, x, 0), switch(is_near, 1, x)
    near = 0.5 * (jv(v - 1, place) - jv(v + 1, place))
    return switch(is_near, near, v / far * out - jv(v + 1, far))


def _slope_of_ive(v: Any, x: Any, out: Any) -> Any:
    """Return the derivative of ive by x, from its neighbors near 0.

    SciPy's function of an order below -1/2 that is not whole has no other formula.
    """
    size, is_usual = abs(x), or_(gt(v, -0.5), eq(v, rint(v)))
    is_near = or_(lt(size, _NEIGHBORS_UP_TO), invert(is_usual))
    place = switch(is_near, x, 0)
    near = 0.5 * (ive(v - 1, place) + ive(v + 1, place)) - sign(x) * out
    far = log_ive_slope(switch(is_usual, v, 1), switch(is_near, 1, size))
    return switch(is_near, near, sign(x) * far * out)


def _share_of_order(v: Any, x: Any, out: Any) -> Any:
    """Return ``v / x * out``, and 0 for v = 0, where x may be 0, too."""
    return switch(eq(v, 0), 0, v / x * out)


def _slope_of_kve(v: Any, x: Any, out: Any) -> Any:
    if dtype_of(x).kind == "c":
        return out - 0.5 * (kve(v - 1, x) + kve(v + 1, x))
    is_near = lt(x, _NEIGHBORS_UP_TO)
    place = switch(is_near, x, 1)
    near = out - kve(v - 1, place) - _share_of_order(v, place, out)
    return switch(is_near, near, log_kve_slope(v, switch(is_near, 1, x)) * out)


log_ive_slope = FloatRow(
    "log_ive_slope",
    "phintys.scalar.bessel_slopes:log_ive_slope",
    doc="Derivative of log(ive(v, x)) by x, for v > -1/2 or a whole v.",
    source="P. Debye, Math. Ann. 67, 1909; near 0 E. E. Kummer's series, 1836 (DLMF 10.39.5).",
    parameters=("v", "x"),
    domain="x > 0",
    nin=2,
    # From Bessel's equation; d log(f) of f'' + (2 + 1 / x) f' + (1 / x - v**2 / x**2) f = 0.
    derivative=lambda v, x, out: (
        None,
        sqr(v / x) - (1 + out) / x - out * (2 + out),
    ),
    undefined=_ORDER,
    widened=True,
    special=False,
)

log_kve_slope = FloatRow(
    "log_kve_slope",
    "phintys.scalar.bessel_slopes:log_kve_slope",
    doc="Derivative of log(kve(v, x)) by x, for x >= 1/4.",
    source="P. Debye, Math. Ann. 67, 1909; N. M. Temme, J. Comput. Phys. 19, 1975.",
    parameters=("v", "x"),
    domain="x >= 0.25",
    nin=2,
    derivative=lambda v, x, out: (
        None,
        sqr(v / x) + (1 - out) / x + out * (2 - out),
    ),
    undefined=_ORDER,
    widened=True,
    special=False,
)


_SINC_TERMS = 12  # enough for third derivatives


def _sinc(x: Any) -> Any:
    """Return ``sin(y) / y`` for y = pi x: near 0 by its Taylor series, whose derivatives are exact.

    Those of the quotient lose all digits there: the first is the difference of two numbers near
    1 / x. Each branch is evaluated only where it is finite.
    """
    is_near = lt(abs(x), 0.5)
    t = sqr(math.pi * switch(is_near, x, 0))
    series: Any = 1.0
    for n in range(_SINC_TERMS, 0, -1):
        series = 1.0 - t * (series * (1 / (2 * n * (2 * n + 1))))
    far = switch(is_near, 1, x)
    return switch(is_near, series, _sine_of_turns(far) / (math.pi * far))


def _sine_of_turns(x: Any) -> Any:
    """Return ``sin(pi x)``, of real numbers from the exact distance to the next whole number."""
    if dtype_of(x).kind == "c":
        return sin(math.pi * x)
    whole = rint(x)
    return (1 - 2 * abs(fmod(whole, 2))) * sin(math.pi * (x - whole))


def _sinc_values(x: Any) -> Any:
    """Return NumPy's values of complex numbers, and of real ones those of :func:`_sinc`."""
    if x.dtype.kind == "c":
        return np.sinc(x)
    with np.errstate(all="ignore"):
        whole = np.rint(x)
        sine = (1 - 2 * np.abs(np.fmod(whole, 2))) * np.sin(np.pi * (x - whole))
        return np.where(x == 0, x.dtype.type(1), sine / (np.pi * x))


sinc = FloatRow(
    "sinc",
    _sinc_values,
    doc="sin(pi x) / (pi x), and 1 for x = 0.",
    source="W. J. Cody and W. Waite, Software Manual for the Elementary Functions, 1980.",
    complex=True,
    expansion=_sinc,
)
