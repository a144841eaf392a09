"""Measure how accurate derivatives are, and write "Derivatives" of docs/accuracy.md.

    python -m benchmarks.derivative_accuracy [points] [function ...]

The first and second derivatives of all smooth scalar functions, as ``grad`` builds them and the
default mode computes them, against mpmath. The records below also drive the tests, with fewer
points.
"""

import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import mpmath as mp
import numpy as np

import phintys
import phintys.scalar.table as scalars
import phintys.tensor as pt
from benchmarks import accuracy, special_accuracy
from benchmarks.accuracy import DOCUMENT, LIMITS, MATRICES, magnitudes, near, ulps, uniform

GOAL = 4
CHAPTER = "## Derivatives"
ORDERS = (1, 2)
FIRST_PRECISION = 160
ENOUGH_FOR_ZERO = 5000
LAST_PRECISION = 20_000

VALUES = {record.name: record.exact for record in accuracy.RECORDS}
VALUES |= {special.name: special.exact for special in special_accuracy.FUNCTIONS}


@dataclass(frozen=True)
class Slope:
    """The derivatives of a function of the table by one of its arguments.

    Attributes
    ----------
    name
        The function's name in the table.
    ranges
        Label of a range -> a function of :class:`accuracy.Limits` that returns what draws numbers,
        for a function of several arguments a tuple of such.
    exact
        The first derivative and the second by mpmath; differences of the function's values if not
        given.
    by
        Position of the argument.
    scales
        For each derivative, the magnitude in whose ulp the error counts, where it is not the
        result's own.
    limits
        For each derivative, the largest error in ulp that the tests accept.
    """

    name: str
    ranges: dict[str, Any]
    exact: tuple[Callable[..., Any], ...] = ()
    by: int = 0
    scales: tuple[Callable[..., Any] | None, ...] = (None, None)
    limits: tuple[float, ...] = (GOAL, GOAL)
    value: Callable[..., Any] | None = None

    def derivative(self, order):
        """Return a derivative by mpmath."""
        if order <= len(self.exact):
            return self.exact[order - 1]
        if self.exact:
            return differences(self.exact[-1], self.by, order - len(self.exact))
        return differences(self.value or VALUES[self.name], self.by, order)


def differences(function, by, order):
    """Return a derivative by central differences, with steps that are tiny for the precision."""

    def derivative(*x):
        size = abs(x[by]) if x[by] else mp.mpf(1)
        h = mp.ldexp(size, -mp.mp.prec // 4)
        before, at, after = (function(*x[:by], x[by] + n * h, *x[by + 1 :]) for n in (-1, 0, 1))
        return (after - before) / (2 * h) if order == 1 else (after - 2 * at + before) / h**2

    return derivative


def settled(function, x):
    """Return a value computed with so many digits that half of them change nothing."""
    former = None
    precision = FIRST_PRECISION
    while precision <= LAST_PRECISION:
        with mp.workprec(precision):
            value = function(*x)
            if former is not None and (
                value == former or abs(value - former) <= mp.ldexp(abs(value), -72)
            ):
                if value or precision >= ENOUGH_FOR_ZERO:
                    return value
            former, precision = value, 2 * precision
            if not value:  # all digits may have cancelled
                precision = max(precision, ENOUGH_FOR_ZERO)
    return mp.nan


def whole(signed=True):
    return lambda t: magnitudes(t.tiny, t.max, signed)


def between(low, high):
    """A range that is the same for all dtypes."""
    return {f"[{low}, {high}]": lambda t: uniform(low, high)}


def sech2(x):
    return 1 / mp.cosh(x) ** 2


def logistic(x):
    return 1 / (1 + mp.exp(-x))


def density(x):
    return mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)


def gaussian(x):
    return 2 / mp.sqrt(mp.pi) * mp.exp(-x * x)


TINY = {"tiny": lambda t: magnitudes(t.tiny, 2.0**-8, True)}
POSITIVE = {"[0.5, 2]": lambda t: uniform(0.5, 2), "all": whole(signed=False)}
SUBNORMAL = {"subnormal": lambda t: magnitudes(t.least, t.tiny)}
EXPONENTIAL = {"[-1, 1]": lambda t: uniform(-1, 1), **TINY}
EXPONENTIAL |= {"all": lambda t: uniform(t.exp_low * 0.83, t.exp_high)}
REAL = {"[-9, 9]": lambda t: uniform(-9, 9), **TINY, "all": whole()}
BETWEEN = {"[-1, 1]": lambda t: uniform(-1, 1), **TINY, "near 1": lambda t: near_below(1)}


def near_below(limit):
    """Numbers below one number, at all distances."""

    def draw(rng, n, dtype):
        distance = np.exp(rng.uniform(np.log(np.finfo(dtype).eps), np.log(0.5), n))
        return np.minimum(limit - distance, np.nextafter(dtype(limit), dtype(0))).astype(dtype)

    return draw


def one(*x):
    return 1


def scaled_erfc(x):
    """Return exp(x**2) erfc(x); of a large x by DLMF 7.12.1."""
    if x < 2000:
        return mp.exp(x * x) * mp.erfc(x)
    term = total = mp.mpf(1)
    n = 0
    while abs(term) > mp.ldexp(1, -mp.mp.prec) and n < 10**6:
        n += 1
        term *= -(2 * n - 1) / (2 * x * x)
        total += term
    return total / (x * mp.sqrt(mp.pi))


def erfcinv(y):
    """Return the inverse of erfc: from the one of erf, or by Newton's method on its logarithm."""
    if y > 1:
        return -erfcinv(2 - y)
    if y > mp.mpf(1) / 4:
        return mp.erfinv(1 - y)
    x = mp.sqrt(-mp.log(y * mp.sqrt(-mp.pi * mp.log(y))))
    for _ in range(60):
        step = (mp.log(mp.erfc(x)) - mp.log(y)) * mp.erfc(x) / (2 / mp.sqrt(mp.pi) * mp.exp(-x * x))
        x += step
        if abs(step) < mp.ldexp(abs(x), -mp.mp.prec * 2 // 3):
            return x + (mp.log(mp.erfc(x)) - mp.log(y)) * mp.erfc(x) / (2 / mp.sqrt(mp.pi) * mp.exp(-x * x))
    return mp.nan


def dawson(x):
    return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)


def accuracy_ranges(name):
    return next(record.ranges for record in accuracy.RECORDS if record.name == name)


def slope_of_erfcx(x):
    return 2 * x * scaled_erfc(x) - 2 / mp.sqrt(mp.pi)


def bend_of_erfcx(x):
    return (2 + 4 * x * x) * scaled_erfc(x) - 4 * x / mp.sqrt(mp.pi)


def mills(x):
    return mp.sqrt(2 / mp.pi) / scaled_erfc(-x / mp.sqrt(2))


SLOPES = [
    Slope("sqrt", POSITIVE | SUBNORMAL, (lambda x: 1 / (2 * mp.sqrt(x)),)),
    Slope("cbrt", {"all": whole()}, (lambda x: mp.cbrt(abs(x)) ** -2 / 3, )),
    Slope("exp", EXPONENTIAL, (mp.exp, mp.exp)),
    Slope(
        "exp2",
        {k: v for k, v in EXPONENTIAL.items() if k != "all"}
        | {"all": lambda t: uniform(t.exp_low * 1.2, t.exp_high * 1.44)},
        (lambda x: mp.mpf(2) ** x * mp.log(2), lambda x: mp.mpf(2) ** x * mp.log(2) ** 2),
    ),
    Slope("expm1", EXPONENTIAL, (mp.exp, mp.exp)),
    Slope("log", POSITIVE | SUBNORMAL, (lambda x: 1 / x, lambda x: -1 / x**2)),
    Slope("log2", POSITIVE | SUBNORMAL, (lambda x: 1 / (x * mp.log(2)),)),
    Slope("log10", POSITIVE | SUBNORMAL, (lambda x: 1 / (x * mp.log(10)),)),
    Slope(
        "log1p",
        BETWEEN | {"near -1": lambda t: lambda *a: -near_below(1)(*a), "all": whole(signed=False)},
        (lambda x: 1 / (1 + x), lambda x: -1 / (1 + x)**2),
    ),
    Slope("reciprocal", {"all": whole()}, (lambda x: -1 / x**2, lambda x: 2 / x**3)),
    Slope(
        "sigmoid",
        EXPONENTIAL,
        (
            lambda x: 1 / (2 + mp.exp(x) + mp.exp(-x)),
            lambda x: -mp.tanh(x / 2) / (2 + mp.exp(x) + mp.exp(-x)),
        ),
    ),
    Slope(
        "softplus",
        EXPONENTIAL,
        (logistic, lambda x: 1 / (2 + mp.exp(x) + mp.exp(-x))),
    ),
    Slope(
        "log_sigmoid",
        EXPONENTIAL,
        (lambda x: logistic(-x), lambda x: -1 / (2 + mp.exp(x) + mp.exp(-x))),
    ),
    Slope(
        "log1mexp",
        {
            "[-2, 0]": lambda t: uniform(-2, -1e-9),
            "tiny": lambda t: accuracy.negatives(t.tiny, 2.0**-8),
            "all": lambda t: uniform(t.exp_low * 0.83, -1e-9),
            "large": lambda t: uniform(t.exp_low * 10, t.exp_low),
        },
        (lambda x: 1 / mp.expm1(-x) * -1, lambda x: -mp.exp(-x) / mp.expm1(-x) ** 2),
    ),
    Slope("sin", REAL, (mp.cos, lambda x: -mp.sin(x))),
    Slope("cos", REAL, (lambda x: -mp.sin(x), lambda x: -mp.cos(x))),
    Slope("tan", REAL, (lambda x: mp.sec(x) ** 2, lambda x: 2 * mp.tan(x) * mp.sec(x) ** 2)),
    Slope(
        "arcsin",
        BETWEEN,
        (lambda x: (1 - x * x) ** mp.mpf(-0.5), lambda x: x * (1 - x * x) ** mp.mpf(-1.5)),
    ),
    Slope(
        "arccos",
        BETWEEN,
        (lambda x: -((1 - x * x) ** mp.mpf(-0.5)), lambda x: -x * (1 - x * x) ** mp.mpf(-1.5)),
    ),
    Slope(
        "arctan", REAL, (lambda x: 1 / (1 + x * x), lambda x: -2 * x / (1 + x * x) ** 2)
    ),
    Slope("sinh", EXPONENTIAL, (mp.cosh, mp.sinh)),
    Slope("cosh", EXPONENTIAL, (mp.sinh, mp.cosh)),
    Slope(
        "tanh",
        EXPONENTIAL,
        (sech2, lambda x: -2 * mp.tanh(x) * sech2(x)),
    ),
    Slope(
        "arcsinh",
        REAL,
        (lambda x: (1 + x * x) ** mp.mpf(-0.5), lambda x: -x * (1 + x * x) ** mp.mpf(-1.5)),
    ),
    Slope(
        "arccosh",
        {
            "[1, 2]": lambda t: uniform(1, 2),
            "near 1": lambda t: uniform(1, 1.001),
            "all": lambda t: magnitudes(1.5, t.max),
        },
        (lambda x: (x * x - 1) ** mp.mpf(-0.5), lambda x: -x * (x * x - 1) ** mp.mpf(-1.5)),
    ),
    Slope(
        "arctanh", BETWEEN, (lambda x: 1 / (1 - x * x), lambda x: 2 * x / (1 - x * x) ** 2)
    ),
    Slope("erf", {"[-1, 1]": lambda t: uniform(-1, 1), **TINY, "far": lambda t: uniform(-0.32 * t.exp_high**0.5*3, 26 if t.dtype == np.float64 else 9)}, (gaussian, lambda x: -2 * x * gaussian(x))),
    Slope("erfc", {"[-1, 1]": lambda t: uniform(-1, 1), **TINY, "far": lambda t: uniform(-0.32 * t.exp_high**0.5*3, 26 if t.dtype == np.float64 else 9)}, (lambda x: -gaussian(x), lambda x: 2 * x * gaussian(x))),
    Slope(
        "erfcx",
        {"[-1, 1]": lambda t: uniform(-1, 1), **TINY, "[0, 20]": lambda t: uniform(0, 20),
         "negative": lambda t: uniform(-26 if t.dtype == np.float64 else -9, 0), "large": lambda t: magnitudes(1, t.max)},
        (slope_of_erfcx, bend_of_erfcx),
    ),
    Slope("erfinv", {"[-1, 1]": lambda t: uniform(-1, 1), "near 1": lambda t: near_below(1), **TINY}, (lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(mp.erfinv(x) ** 2), lambda x: mp.erfinv(x) * mp.pi / 2 * mp.exp(2 * mp.erfinv(x) ** 2))),
    Slope("ndtr", {"[-1, 1]": lambda t: uniform(-1, 1), **TINY, "far": lambda t: uniform(-37 if t.dtype == np.float64 else -13, 37 if t.dtype == np.float64 else 13)}, (density, lambda x: -x * density(x))),
]



def tails(low, high, low32, high32):
    return {"far": lambda t: uniform(*((low, high) if t.dtype == np.float64 else (low32, high32)))}


def two(first, second=None):
    """A range of two arguments that is the same for all dtypes."""
    second = second or first
    label = f"[{first[0]}, {first[1]}], [{second[0]}, {second[1]}]"
    return {label: lambda t: (uniform(*first), uniform(*second))}


def orders(low, high, x):
    label = f"order [{low}, {high}], [{x[0]}, {x[1]}]"
    return {label: lambda t: (special_accuracy.whole(low, high), uniform(*x))}


def psi2(x):
    if x > 1e30:
        return -1 / x**2 - 1 / x**3 - 1 / (2 * x**4)
    return mp.psi(2, x + 1) - 2 / x**3 if abs(x) < 0.5 else mp.psi(2, x)


def sinc(x):
    return mp.sincpi(x)


def scaled(function, sign=-1):
    return lambda v, x: function(v, x) * mp.exp(sign * abs(x))


def cdf_of_gamma(a, x):
    return mp.gammainc(a, 0, x, regularized=True)


def density_of_gamma(a, x):
    return mp.exp((a - 1) * mp.log(x) - x - mp.loggamma(a))


SLOPES += [
    Slope("log_ndtr", {"[-1, 1]": lambda t: uniform(-1, 1), **TINY, "[-60, 0]": lambda t: uniform(-60, 0), "positive": lambda t: uniform(0, 37 if t.dtype==np.float64 else 13), "far": lambda t: accuracy.negatives(10, t.max)}, (mills, lambda x: -mills(x) * (x + mills(x)))),
    Slope("erfcinv", {"[0, 2]": lambda t: uniform(0.01, 1.99), "small": lambda t: magnitudes(t.tiny, 0.1)}, value=lambda y: erfcinv(y)),
    Slope("ndtri", {"[0, 1]": lambda t: uniform(0.01, 0.99), "small": lambda t: magnitudes(t.tiny, 0.1), "near 1": lambda t: near_below(1)}, value=lambda y: -mp.sqrt(2) * erfcinv(2 * y)),
    Slope("ndtri_exp", {"[-4, 0]": lambda t: uniform(-4, -1e-3), "all": lambda t: uniform(t.exp_low*0.8, -1e-3), "tiny": lambda t: accuracy.negatives(1e-6, 0.1)}, value=lambda y: -mp.sqrt(2) * erfcinv(2 * mp.exp(y))),
    *(Slope("owens_t", two((-3, 3)) , by=by, exact=exact, limits=(4, 100)) for by, exact in enumerate((
        (lambda h, a: -density(h) * mp.erf(a * h / mp.sqrt(2)) / 2,),
        (lambda h, a: mp.exp(-h * h * (1 + a * a) / 2) / (2 * mp.pi * (1 + a * a)),),
    ))),
    *(Slope("hypot", accuracy.PLANE, exact=(lambda x, y: x / mp.hypot(x, y), lambda x, y: y * y / mp.hypot(x, y) ** 3)) for _ in range(1)),
    Slope("arctan2", accuracy.PLANE, exact=(lambda y, x: x / (x * x + y * y), lambda y, x: -2 * x * y / (x * x + y * y)**2), by=0),
    Slope("arctan2", accuracy.PLANE, exact=(lambda y, x: -y / (x * x + y * y), lambda y, x: 2 * x * y / (x * x + y * y)**2), by=1),
    Slope("true_div", two((-9, 9)), exact=(lambda x, y: 1 / y,)),
    Slope("true_div", two((-9, 9)), exact=(lambda x, y: -x / y**2, lambda x, y: 2 * x / y**3), by=1),
    *(Slope("pow", {k: accuracy.POWERS[k] for k in ("[0, 10] ** [-10, 10]", "near 1 ** large", "all ** [-1, 1]")}, exact=exact, by=by) for by, exact in enumerate((
        (lambda x, y: y * x ** (y - 1), lambda x, y: y * (y - 1) * x ** (y - 2)),
        (lambda x, y: x ** y * mp.log(x), lambda x, y: x ** y * mp.log(x)**2),
    ))),
    Slope("xlogy", accuracy_ranges("xlogy"), exact=(lambda x, y: mp.log(y), lambda x, y: mp.mpf(0))),
    Slope("xlogy", accuracy_ranges("xlogy"), exact=(lambda x, y: x / y, lambda x, y: -x / y**2), by=1),
    Slope("xlog1py", accuracy_ranges("xlog1py"), exact=(lambda x, y: mp.log1p(y), lambda x, y: mp.mpf(0))),
    Slope("xlog1py", accuracy_ranges("xlog1py"), exact=(lambda x, y: x / (1 + y), lambda x, y: -x / (1 + y)**2), by=1),
    Slope("logaddexp", accuracy.PAIRS, exact=(lambda x, y: logistic(x - y), lambda x, y: 1 / (2 + mp.exp(x - y) + mp.exp(y - x)))),
    Slope("logaddexp2", accuracy.PAIRS, exact=(lambda x, y: logistic((x - y) * mp.log(2)), lambda x, y: mp.log(2) / (2 + mp.mpf(2)**(x - y) + mp.mpf(2)**(y - x)))),
    Slope("gamma", {"[0, 20]": lambda t: uniform(0.1, 20), "[-5, 0]": lambda t: uniform(-5, 0)}, exact=(lambda x: mp.gamma(x) * mp.digamma(x), lambda x: mp.gamma(x) * (mp.digamma(x)**2 + mp.psi(1, x)))),
    Slope("gammaln", accuracy.GAMMA, exact=(accuracy.exact_digamma, accuracy.exact_trigamma), scales=(accuracy.reflected_digamma, None)),
    Slope("digamma", {k: v for k, v in accuracy.GAMMA.items() if k != "near -3"}, exact=(accuracy.exact_trigamma, psi2)),
    Slope("trigamma", {"[0, 20]": lambda t: uniform(0.1, 20)}, exact=(lambda x: mp.psi(2, x), lambda x: mp.psi(3, x))),
    Slope("polygamma", orders(1, 5, (0.1, 20)), exact=(lambda n, x: mp.psi(int(n) + 1, x), lambda n, x: mp.psi(int(n) + 2, x)), by=1),
    Slope("beta", two((0.1, 9)) | {"far apart": lambda t: (magnitudes(1, 1e6), magnitudes(1e-6, 1))}, value=mp.beta),
    Slope("betaln", two((0.1, 9)) | {"far apart": lambda t: (magnitudes(1, 1e6), magnitudes(1e-6, 1))}, exact=(lambda a, b: mp.digamma(a) - mp.digamma(a + b), lambda a, b: mp.psi(1, a) - mp.psi(1, a + b))),
    Slope("gammainc", two((0.1, 10), (0.01, 20)), by=0),
    Slope("gammainc", two((0.1, 10), (0.01, 20)) | two((100, 1000), (100, 1000)), exact=(density_of_gamma,), by=1),
    Slope("gammaincc", two((0.1, 10), (0.01, 20)), by=1, exact=(lambda a, x: -density_of_gamma(a, x),)),
    *(Slope(n, {"[-9, 9]": lambda t: uniform(-9, 9), **TINY, "[-1000, 1000]": lambda t: uniform(-700, 700) if n in ("i0", "i1") else uniform(-1000, 1000)}, value=v) for n, v in (
        ("j0", mp.j0), ("j1", mp.j1), )),
    *(Slope(n, {"[-9, 9]": lambda t: uniform(-9, 9), **TINY, "large": lambda t: uniform(9, 700 if t.dtype == np.float64 else 85)}, value=v) for n, v in (
        ("i0", lambda x: mp.besseli(0, x)), ("i1", lambda x: mp.besseli(1, x)))),
    *(Slope(n, {"[-9, 9]": lambda t: uniform(-9, 9), **TINY, "large": lambda t: magnitudes(9, 1e6)}, value=v) for n, v in (
        ("i0e", lambda x: mp.besseli(0, x) * mp.exp(-abs(x))), ("i1e", lambda x: mp.besseli(1, x) * mp.exp(-abs(x))))),
    *(Slope(n, orders(0, 3, (0.1, 20)) | {"large": lambda t: (special_accuracy.whole(0, 3), uniform(20, 80))}, value=v, by=1) for n, v in (
        ("jv", mp.besselj), ("yv", mp.bessely), ("iv", mp.besseli), ("kv", mp.besselk), ("ive", scaled(mp.besseli)), ("kve", scaled(mp.besselk, 1)))),
    Slope("sinc", {"[-9, 9]": lambda t: uniform(-9, 9), **TINY, "all": whole()}, exact=(lambda x: (mp.cospi(x) - sinc(x)) / x, lambda x: -mp.pi**2 * sinc(x) - 2 * (mp.cospi(x) - sinc(x)) / x**2)),
    Slope("exp1", {"[0.01, 10]": lambda t: uniform(0.01, 10), "all": lambda t: magnitudes(t.tiny, 80)}, exact=(lambda x: -mp.exp(-x) / x, lambda x: mp.exp(-x) / x * (1 + 1/x))),
    Slope("expi", {"[0.01, 10]": lambda t: uniform(0.01, 10), "all": lambda t: magnitudes(t.tiny, 80)}, exact=(lambda x: mp.exp(x) / x, lambda x: mp.exp(x) / x * (1 - 1/x))),
    Slope("expn", orders(0, 5, (0.1, 20)), exact=(lambda n, x: -mp.expint(int(n) - 1, x), lambda n, x: mp.expint(int(n) - 2, x)), by=1),
    Slope("sine_integral", REAL, exact=(lambda x: mp.sin(x) / x, lambda x: mp.cos(x) / x - mp.sin(x) / x**2)),
    Slope("cosine_integral", {"[0.01, 10]": lambda t: uniform(0.01, 10), "all": lambda t: magnitudes(t.tiny, t.max)}, exact=(lambda x: mp.cos(x) / x, )),
    Slope("fresnel_sine", {"[-9, 9]": lambda t: uniform(-9, 9), **TINY}, exact=(lambda x: mp.sinpi(x * x / 2),)),
    Slope("fresnel_cosine", {"[-9, 9]": lambda t: uniform(-9, 9), **TINY}, exact=(lambda x: mp.cospi(x * x / 2),)),
    Slope("zeta", two((1.1, 10), (0.1, 10)), by=1, exact=(lambda x, q: -x * mp.zeta(x + 1, q), lambda x, q: x * (x+1) * mp.zeta(x + 2, q))),
    Slope("dawsn", {"[-9, 9]": lambda t: uniform(-9, 9), **TINY, "large": lambda t: uniform(9, 1000)}, exact=(lambda x: 1 - 2 * x * dawson(x), lambda x: -2 * dawson(x) - 2 * x * (1 - 2 * x * dawson(x)))),
    Slope("spence", {"[0.01, 10]": lambda t: uniform(0.01, 10), "all": lambda t: magnitudes(t.tiny, t.max)}, exact=(lambda x: mp.log(x) / (1 - x), )),
    *(Slope("binom", two((4, 20), (0.3, 3.8)), by=by, value=lambda n, k: mp.binomial(n, k)) for by in (0, 1)),
    *(Slope("poch", two((0.5, 5), (0.2, 3)), by=by, value=lambda z, m: mp.gamma(z + m) / mp.gamma(z)) for by in (0, 1)),
    Slope("factorial", {"[0.1, 20]": lambda t: uniform(0.1, 20)}, value=mp.factorial),
    Slope("logit", {"[0, 1]": lambda t: uniform(1e-6, 1 - 1e-6), "small": lambda t: magnitudes(t.tiny, 0.1), "near 1": lambda t: near_below(1)}, exact=(lambda x: 1 / (x * (1 - x)), lambda x: (2 * x - 1) / (x * (1 - x)) ** 2)),
    Slope("xlogx", POSITIVE, exact=(lambda x: mp.log(x) + 1, lambda x: 1 / x)),
    Slope("entr", POSITIVE, exact=(lambda x: -mp.log(x) - 1, lambda x: -1 / x)),
    *(Slope(n, two((0.01, 10)) | two((1, 1.01)) | {"all": lambda t: (magnitudes(t.tiny, t.max), magnitudes(t.tiny, t.max))}, exact=e, by=by) for n, by, e in (
        ("rel_entr", 0, (lambda x, y: mp.log(x / y) + 1, lambda x, y: 1 / x)),
        ("rel_entr", 1, (lambda x, y: -x / y, lambda x, y: x / y**2)),
        ("kl_div", 0, (lambda x, y: mp.log(x / y), lambda x, y: 1 / x)),
        ("kl_div", 1, (lambda x, y: 1 - x / y, lambda x, y: x / y**2)))),
    *(Slope("boxcox", two((0.01, 10), (-3, 3)), by=by, exact=e) for by, e in enumerate(((lambda x, p: x ** (p - 1), lambda x, p: (p-1) * x ** (p - 2)), ()))),
    *(Slope("boxcox1p", two((-0.9, 10), (-3, 3)), by=by, exact=e) for by, e in enumerate(((lambda x, p: (1 + x) ** (p - 1), lambda x, p: (p-1) * (1 + x) ** (p - 2)), ()))),
]
FEW = [
    *(Slope("betainc", {"a, b [0.2, 5], x [0.01, 0.99]": lambda t: (uniform(0.2, 5), uniform(0.2, 5), uniform(0.01, 0.99))}, by=by) for by in range(3)),
    *(Slope("hyp1f1", {"a, b [0.5, 3], x [0, 5]": lambda t: (uniform(0.5, 3), uniform(0.5, 3), uniform(0, 5))}, by=by) for by in range(3)),
    *(Slope("hyp2f1", {"a, b, c [0.5, 3], x [0, 0.8]": lambda t: (uniform(0.5, 3), uniform(0.5, 3), uniform(0.5, 3), uniform(0, 0.8))}, by=by) for by in (0, 2, 3)),
    Slope("gammaincinv", two((0.5, 5), (0.05, 0.95)), by=1),
]



@cache
def compiled(name, by, dtype, order, nin):
    xs = [pt.vector(dtype=dtype) for _ in range(nin)]
    y = pt.Elemwise(getattr(scalars, name))(*xs)
    for _ in range(order):
        y = phintys.grad(y.sum(), xs[by], disconnected_inputs="ignore")
    return phintys.function(xs, y, on_unused_input="ignore")


def sample(slope, label, dtype, order, points):
    limits = LIMITS[dtype]
    rng = np.random.default_rng(zlib.crc32(f"{slope.name} {label} {dtype}".encode()))
    draws = slope.ranges[label](limits)
    draws = draws if isinstance(draws, tuple) else (draws,)
    inputs = tuple(draw(rng, points, limits.dtype) for draw in draws)
    high, low, scale = (np.empty(points) for _ in range(3))
    function = slope.derivative(order)
    for i, numbers in enumerate(zip(*(x.tolist() for x in inputs), strict=True)):
        exact = [mp.mpf(n) for n in numbers]
        result = settled(function, exact)
        high[i] = float(result)
        with mp.workprec(400):
            low[i] = float(result - mp.mpf(high[i])) if np.isfinite(high[i]) else 0.0
        s = slope.scales[order - 1]
        scale[i] = max(abs(high[i]), float(s(*exact))) if s else high[i]
    return accuracy.Sample(inputs, high, low, ulps(scale, limits.dtype))


def measure(slope, label, dtype, order, points):
    exact = sample(slope, label, dtype, order, points)
    function = compiled(slope.name, slope.by, dtype, order, len(exact.inputs))
    error = accuracy.errors(exact, function(*exact.inputs), LIMITS[dtype].dtype)
    worst = int(np.argmax(error))
    return float(error[worst]), float(np.median(error)), tuple(x[worst] for x in exact.inputs)


def main(points, names):
    for slope in SLOPES:
        if names and slope.name not in names: continue
        for label in slope.ranges:
            cells = []
            for dtype in LIMITS:
                for order in ORDERS:
                    e, m, where = measure(slope, label, dtype, order, points)
                    cells.append(f"{e:.3g}" + (f" @{','.join(f'{float(w):.4g}' for w in where)}" if e > GOAL else ""))
            print(f"| {slope.name} | {label} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400, sys.argv[2:])
