"""The derivatives that benchmarks/derivative_accuracy.py and the tests measure, by mpmath."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath as mp
import numpy as np

from benchmarks import accuracy, special_accuracy
from benchmarks.accuracy import magnitudes, negatives, uniform
from benchmarks.special_accuracy import whole

GOAL = 4
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
        The first derivatives by mpmath; those that are not given are differences.
    by
        Position of the argument.
    scales
        For each derivative, a magnitude: errors count in ulp of it where the result is smaller.
    limits
        For each derivative, the largest error in ulp that tests accept.
    value
        The function by mpmath, where no other record has it and no derivative is given.
    """

    name: str
    ranges: dict[str, Any]
    exact: tuple[Callable[..., Any], ...] = ()
    by: int = 0
    scales: tuple[Callable[..., Any] | None, ...] = (None, None)
    limits: tuple[float, float] = (GOAL, 16)
    value: Callable[..., Any] | None = None

    def derivative(self, order):
        """Return a derivative by mpmath."""
        if order <= len(self.exact):
            return self.exact[order - 1]
        if self.exact:
            return differences(self.exact[-1], self.by, order - len(self.exact))
        return differences(self.value or VALUES[self.name], self.by, order)


def _bits() -> int:
    """The precision that mpmath computes with."""
    context: Any = mp.mp
    return context.prec


def differences(function, by, order):
    """Return a derivative by central differences, with steps that are tiny for the precision."""

    def derivative(*x):
        size = abs(x[by]) if x[by] else mp.mpf(1)
        h = mp.ldexp(size, -_bits() // 4)
        before, at, after = (function(*x[:by], x[by] + n * h, *x[by + 1 :]) for n in (-1, 0, 1))
        return (after - before) / (2 * h) if order == 1 else (after - 2 * at + before) / h**2

    return derivative


# Ranges


def chosen(ranges, *labels):
    """Return some of the ranges, for what holds in them alone."""
    return {label: ranges[label] for label in labels}


def near_below(limit):
    """Numbers below one number, at all distances."""

    def draw(rng, n, dtype):
        distance = np.exp(rng.uniform(np.log(np.finfo(dtype).eps), np.log(0.5), n))
        return np.minimum(limit - distance, np.nextafter(dtype(limit), dtype(0))).astype(dtype)

    return draw


def same(*bounds):
    """A range that is the same for all dtypes: an interval for each argument."""
    label = ", ".join(f"[{low}, {high}]" for low, high in bounds)
    draws = [uniform(*bound) for bound in bounds]
    return {label: lambda t: tuple(draws) if len(draws) > 1 else draws[0]}


def far(low, high, low32, high32):
    return {"far": lambda t: uniform(*((low, high) if t.dtype == np.float64 else (low32, high32)))}


def orders(low, high, *bounds):
    """Whole orders, and intervals for the argument."""
    return {
        f"n [{low}, {high}], [{x}, {y}]": lambda t, x=x, y=y: (whole(low, high), uniform(x, y))
        for x, y in bounds
    }


TINY = {"tiny": lambda t: magnitudes(t.tiny, 2.0**-8, True)}
ALL = {"all": lambda t: magnitudes(t.tiny, t.max, True)}
POSITIVE = {**same((0.5, 2)), "all": lambda t: magnitudes(t.tiny, t.max)}
SUBNORMAL = {"subnormal": lambda t: magnitudes(t.least, t.tiny)}
SMALL = {"small": lambda t: magnitudes(t.tiny, 0.1)}
NEAR_1 = {"near 1": lambda t: near_below(1)}
UNIT = {**same((-1, 1)), **TINY}
REAL = {**same((-9, 9)), **TINY, **ALL}
BETWEEN = {**UNIT, **NEAR_1}
EXPONENTIAL = {**UNIT, "all": lambda t: uniform(t.exp_low * 0.83, t.exp_high)}
QUANTILE = {**same((0.01, 0.99)), **SMALL, **NEAR_1}
TAIL_OF_ERF = far(-26, 26, -9, 9)
INTEGRAL = {**same((0.01, 10)), "all": lambda t: magnitudes(t.tiny, 80)}
FAR_APART = {"far apart": lambda t: (magnitudes(1, 1e6), magnitudes(1e-6, 1))}
POSITIVE_PAIRS = {
    **same((0.01, 10), (0.01, 10)),
    **same((1, 1.01), (1, 1.01)),
    "all": lambda t: (magnitudes(t.tiny, t.max), magnitudes(t.tiny, t.max)),
}
GAMMA = {label: r for label, r in accuracy.GAMMA.items() if label != "near -3"}
POWERS = chosen(accuracy.POWERS, "[0, 10] ** [-10, 10]", "near 1 ** large", "all ** [-1, 1]")


def ranges_of(name):
    return next(record.ranges for record in accuracy.RECORDS if record.name == name)


# Functions by mpmath


def one(*x):
    return 1


def zero(*x):
    return mp.mpf(0)


def power(exponent, base):
    return base ** mp.mpf(exponent)


def logistic(x):
    return 1 / (1 + mp.exp(-x))


def slope_of_logistic(x):
    return 1 / (2 + mp.exp(x) + mp.exp(-x))


def sech_squared(x):
    return 1 / mp.cosh(x) ** 2


def density(x):
    return mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)


def gaussian(x):
    return 2 / mp.sqrt(mp.pi) * mp.exp(-x * x)


def scaled_erfc(x):
    """Return exp(x**2) erfc(x); of a large x by DLMF 7.12.1."""
    if x < 2000:
        return mp.exp(x * x) * mp.erfc(x)
    term = total = mp.mpf(1)
    n = 0
    while abs(term) > mp.ldexp(1, -_bits()) and n < 10**6:
        n += 1
        term *= -(2 * n - 1) / (2 * x * x)
        total += term
    return total / (x * mp.sqrt(mp.pi))


def slope_of_erfcx(x):
    return 2 * x * scaled_erfc(x) - 2 / mp.sqrt(mp.pi)


def bend_of_erfcx(x):
    return (2 + 4 * x * x) * scaled_erfc(x) - 4 * x / mp.sqrt(mp.pi)


def mills(x):
    """Return the density of the normal distribution by ndtr(x)."""
    return mp.sqrt(2 / mp.pi) / scaled_erfc(-x / mp.sqrt(2))


def erfcinv(y):
    """Return the inverse of erfc: by that of erf, or Newton's method for its logarithm."""
    if y > 1:
        return -erfcinv(2 - y)
    if y > mp.mpf(1) / 4:
        return mp.erfinv(1 - y)
    x, step = mp.sqrt(-mp.log(y * mp.sqrt(-mp.pi * mp.log(y)))), mp.mpf(1)
    while abs(step) > mp.ldexp(1, -_bits() * 2 // 3):
        tail = mp.erfc(x)
        step = mp.log(tail / y) * tail / gaussian(x)
        x += step
    return x


def slopes_of_erfcinv(y):
    return -1 / gaussian(erfcinv(y))


def bend_of_erfcinv(y):
    return 2 * erfcinv(y) / gaussian(erfcinv(y)) ** 2


def slope_of_ndtri(y):
    return 1 / density(mp.sqrt(2) * erfcinv(2 * y))


def bend_of_ndtri(y):
    x = -mp.sqrt(2) * erfcinv(2 * y)
    return x / density(x) ** 2


def psi2(x):
    """Return the second derivative of digamma."""
    if x > 1e30:
        return -1 / x**2 - 1 / x**3 - 1 / (2 * x**4)
    return mp.psi(2, x + 1) - 2 / x**3 if abs(x) < 0.5 else mp.psi(2, x)


def slope_of_sinc(x):
    return (mp.cospi(x) - mp.sincpi(x)) / x


def bend_of_sinc(x):
    if abs(x) < 1e-30:
        return -(mp.pi**2) / 3
    return -(mp.pi**2) * mp.sincpi(x) - 2 * slope_of_sinc(x) / x


def dawson(x):
    return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)


def slope_of_dawson(x):
    return 1 - 2 * x * dawson(x)


def density_of_gamma(a, x):
    return mp.exp((a - 1) * mp.log(x) - x - mp.loggamma(a))


def slopes_of_bessel(function, lower, upper, growth=0):
    """Return the derivatives of ``exp(growth * x) * function(v, x)`` by x (DLMF 10.6.1, 10.29.1).

    The function has the derivative ``(lower * f(v - 1, x) + upper * f(v + 1, x)) / 2``.
    """

    def at(shift, v, x):
        return function(v + shift, x)

    def slope(v, x):
        inner = (lower * at(-1, v, x) + upper * at(1, v, x)) / 2
        return mp.exp(growth * x) * (inner + growth * at(0, v, x))

    def bend(v, x):
        inner = (at(-2, v, x) + 2 * lower * upper * at(0, v, x) + at(2, v, x)) / 4
        once = lower * at(-1, v, x) + upper * at(1, v, x)
        return mp.exp(growth * x) * (inner + growth * once + growth**2 * at(0, v, x))

    return slope, bend


def larger_term_of_ive(v, x):
    """Return ``(v + 1/2) ive(v, x) / x``: the derivative is 0 near ``x = v**2``."""
    return (v + 0.5) / x * mp.exp(-x) * mp.besseli(v, x)


def of_order(function, v):
    return lambda x: function(v, x)


def amplitude(*x):
    """Return the amplitude of Bessel functions, between whose zeros they swing."""
    return min(1, 1 / mp.sqrt(abs(x[-1]))) if x[-1] else 1


_POWER = (
    (lambda x, y: y * x ** (y - 1), lambda x, y: y * (y - 1) * x ** (y - 2)),
    (lambda x, y: x**y * mp.log(x), lambda x, y: x**y * mp.log(x) ** 2),
)
_OWENS_T = (
    lambda h, a: -density(h) * mp.erf(a * h / mp.sqrt(2)) / 2,
    lambda h, a: mp.exp(-h * h * (1 + a * a) / 2) / (2 * mp.pi * (1 + a * a)),
)
_ARCTAN2 = (
    (lambda y, x: x / (x * x + y * y), lambda y, x: -2 * x * y / (x * x + y * y) ** 2),
    (lambda y, x: -y / (x * x + y * y), lambda y, x: 2 * x * y / (x * x + y * y) ** 2),
)
_DIVERGENCES = (
    ("rel_entr", 0, one, (lambda x, y: mp.log(x / y) + 1, lambda x, y: 1 / x)),
    ("rel_entr", 1, None, (lambda x, y: -x / y, lambda x, y: x / y**2)),
    ("kl_div", 0, None, (lambda x, y: mp.log(x / y), lambda x, y: 1 / x)),
    ("kl_div", 1, None, (lambda x, y: 1 - x / y, lambda x, y: x / y**2)),
)
_UNLIMITED = (1e300, 1e300)

ELEMENTARY = [
    Slope("sqrt", POSITIVE | SUBNORMAL, (lambda x: 1 / (2 * mp.sqrt(x)),)),
    Slope("cbrt", ALL, (lambda x: mp.cbrt(abs(x)) ** -2 / 3,)),
    Slope("exp", EXPONENTIAL, (mp.exp, mp.exp)),
    Slope(
        "exp2",
        {**UNIT, "all": lambda t: uniform(t.exp_low * 1.2, t.exp_high * 1.44)},
        (lambda x: mp.mpf(2) ** x * mp.log(2),),
    ),
    Slope("expm1", EXPONENTIAL, (mp.exp, mp.exp)),
    Slope("log", POSITIVE | SUBNORMAL, (lambda x: 1 / x, lambda x: -1 / x**2)),
    Slope("log2", POSITIVE | SUBNORMAL, (lambda x: 1 / (x * mp.log(2)),)),
    Slope("log10", POSITIVE | SUBNORMAL, (lambda x: 1 / (x * mp.log(10)),)),
    Slope(
        "log1p",
        {**BETWEEN, "near -1": lambda t: lambda *a: -near_below(1)(*a), **POSITIVE},
        (lambda x: 1 / (1 + x), lambda x: -1 / (1 + x) ** 2),
    ),
    Slope("reciprocal", ALL, (lambda x: -1 / x**2, lambda x: 2 / x**3)),
    Slope(
        "sigmoid",
        EXPONENTIAL,
        (slope_of_logistic, lambda x: -mp.tanh(x / 2) * slope_of_logistic(x)),
        scales=(None, slope_of_logistic),
    ),
    Slope("softplus", EXPONENTIAL, (logistic, slope_of_logistic)),
    Slope("log_sigmoid", EXPONENTIAL, (lambda x: logistic(-x), lambda x: -slope_of_logistic(x))),
    Slope(
        "log1mexp",
        {
            **same((-2, -1e-9)),
            "tiny": lambda t: negatives(t.tiny, 2.0**-8),
            "all": lambda t: uniform(t.exp_low * 0.83, -1e-9),
            "zero results": lambda t: uniform(t.exp_low * 10, t.exp_low),
        },
        (lambda x: -1 / mp.expm1(-x), lambda x: -mp.exp(-x) / mp.expm1(-x) ** 2),
    ),
    *(
        Slope(
            name,
            accuracy.PAIRS,
            (
                lambda x, y, k=k: logistic((x - y) * k()),
                lambda x, y, k=k: k() * slope_of_logistic((x - y) * k()),
            ),
        )
        for name, k in (("logaddexp", lambda: mp.mpf(1)), ("logaddexp2", lambda: mp.log(2)))
    ),
    Slope("sin", REAL, (mp.cos, lambda x: -mp.sin(x))),
    Slope("cos", REAL, (lambda x: -mp.sin(x), lambda x: -mp.cos(x))),
    Slope("tan", REAL, (lambda x: mp.sec(x) ** 2, lambda x: 2 * mp.tan(x) * mp.sec(x) ** 2)),
    Slope(
        "arcsin",
        BETWEEN,
        (lambda x: power(-0.5, 1 - x * x), lambda x: x * power(-1.5, 1 - x * x)),
    ),
    Slope(
        "arccos",
        BETWEEN,
        (lambda x: -power(-0.5, 1 - x * x), lambda x: -x * power(-1.5, 1 - x * x)),
    ),
    Slope("arctan", REAL, (lambda x: 1 / (1 + x * x), lambda x: -2 * x / (1 + x * x) ** 2)),
    *(
        Slope("arctan2", chosen(accuracy.PLANE, *labels), exact, by, limits=limits)
        for labels, limits in (
            (("[-1, 1]", "all"), (GOAL, 16)),
            (("subnormal",), (100, math.inf)),
        )
        for by, exact in enumerate(_ARCTAN2)
    ),
    Slope("sinh", EXPONENTIAL, (mp.cosh, mp.sinh)),
    Slope("cosh", EXPONENTIAL, (mp.sinh, mp.cosh)),
    Slope(
        "tanh",
        EXPONENTIAL,
        (sech_squared, lambda x: -2 * mp.tanh(x) * sech_squared(x)),
        scales=(one, one),
    ),
    Slope(
        "arcsinh",
        REAL,
        (lambda x: power(-0.5, 1 + x * x), lambda x: -x * power(-1.5, 1 + x * x)),
    ),
    Slope(
        "arccosh",
        {**same((1, 2)), **same((1, 1.001)), "all": lambda t: magnitudes(1.5, t.max)},
        (lambda x: power(-0.5, x * x - 1), lambda x: -x * power(-1.5, x * x - 1)),
    ),
    Slope("arctanh", BETWEEN, (lambda x: 1 / (1 - x * x), lambda x: 2 * x / (1 - x * x) ** 2)),
    Slope(
        "hypot",
        {label: r for label, r in accuracy.PLANE.items() if label != "subnormal"},
        (lambda x, y: x / mp.hypot(x, y), lambda x, y: y * y / mp.hypot(x, y) ** 3),
    ),
    Slope("true_div", same((-9, 9), (-9, 9)), (lambda x, y: 1 / y, zero)),
    Slope(
        "true_div",
        same((-9, 9), (-9, 9)),
        (lambda x, y: -x / y**2, lambda x, y: 2 * x / y**3),
        by=1,
    ),
    Slope("pow", chosen(POWERS, "[0, 10] ** [-10, 10]", "near 1 ** large"), _POWER[0]),
    # The power x**(y - 2) overflows where its product with y (y - 1) does not.
    Slope("pow", chosen(POWERS, "all ** [-1, 1]"), _POWER[0], limits=(GOAL, math.inf)),
    Slope("pow", POWERS, _POWER[1], 1),
    Slope("xlogy", ranges_of("xlogy"), (lambda x, y: mp.log(y), zero)),
    Slope("xlogy", ranges_of("xlogy"), (lambda x, y: x / y, lambda x, y: -x / y**2), 1),
    Slope("xlog1py", ranges_of("xlog1py"), (lambda x, y: mp.log1p(y), zero)),
    Slope(
        "xlog1py",
        ranges_of("xlog1py"),
        (lambda x, y: x / (1 + y), lambda x, y: -x / (1 + y) ** 2),
        1,
    ),
    Slope("sinc", REAL, (slope_of_sinc, bend_of_sinc), scales=(amplitude, amplitude)),
    Slope(
        "logit",
        {**same((1e-6, 1 - 1e-6)), **NEAR_1, "small": lambda t: magnitudes(t.tiny**0.45, 0.1)},
        (lambda x: 1 / (x * (1 - x)), lambda x: (2 * x - 1) / (x * (1 - x)) ** 2),
        scales=(None, one),
    ),
    # Terms that cancel at 1 / e: another logarithm, of the distance to it, would make them slower.
    Slope("xlogx", POSITIVE, (lambda x: mp.log(x) + 1, lambda x: 1 / x), scales=(one, None)),
    Slope("entr", POSITIVE, (lambda x: -mp.log(x) - 1, lambda x: -1 / x), scales=(one, None)),
    *(
        Slope(name, POSITIVE_PAIRS, exact, by, scales=(scale, None))
        for name, by, scale, exact in _DIVERGENCES
    ),
    Slope(
        "boxcox",
        same((0.01, 10), (-3, 3)),
        (lambda x, p: x ** (p - 1), lambda x, p: (p - 1) * x ** (p - 2)),
    ),
    Slope("boxcox", same((0.01, 10), (-3, 3)), by=1, limits=(GOAL, 32)),
    Slope(
        "boxcox1p",
        same((-0.9, 10), (-3, 3)),
        (lambda x, p: (1 + x) ** (p - 1), lambda x, p: (p - 1) * (1 + x) ** (p - 2)),
    ),
    Slope("boxcox1p", same((-0.9, 10), (-3, 3)), by=1, limits=(GOAL, 32)),
]

SPECIAL = [
    Slope(
        "erf",
        UNIT | TAIL_OF_ERF,
        (gaussian, lambda x: -2 * x * gaussian(x)),
        limits=(700, 700),
    ),
    Slope("erfc", UNIT | TAIL_OF_ERF, (lambda x: -gaussian(x), lambda x: 2 * x * gaussian(x))),
    Slope(
        "erfcx",
        {**UNIT, **same((0, 20)), **far(-26, 0, -9, 0), "large": lambda t: magnitudes(1, t.max)},
        (slope_of_erfcx, bend_of_erfcx),
    ),
    Slope(
        "erfinv",
        BETWEEN,
        (
            lambda x: 1 / gaussian(mp.erfinv(x)),
            lambda x: 2 * mp.erfinv(x) / gaussian(mp.erfinv(x)) ** 2,
        ),
    ),
    Slope(
        "erfcinv",
        {**same((0.01, 1.99)), "small": lambda t: magnitudes(t.tiny**0.45, 0.1)},
        (slopes_of_erfcinv, bend_of_erfcinv),
    ),
    Slope("ndtr", UNIT | far(-37, 37, -13, 13), (density, lambda x: -x * density(x))),
    Slope(
        "log_ndtr",
        {
            **UNIT,
            **same((-60, 0)),
            **far(0, 37, 0, 13),
            "large": lambda t: negatives(10, t.max),
        },
        (mills, lambda x: -mills(x) * (x + mills(x))),
    ),
    Slope(
        "ndtri",
        {**QUANTILE, "small": lambda t: magnitudes(t.tiny**0.45, 0.1)},
        (slope_of_ndtri, bend_of_ndtri),
    ),
    Slope(
        "ndtri_exp",
        {
            **same((-4, -1e-3)),
            "all": lambda t: uniform(t.exp_low * 0.8, -1e-3),
            "small": lambda t: negatives(1e-6, 0.1),
        },
        (lambda y: mp.exp(y) * slope_of_ndtri(mp.exp(y)),),
    ),
    *(
        Slope("owens_t", same((-3, 3), (-3, 3)), (exact,), by, limits=((GOAL, 64), (64, 64))[by])
        for by, exact in enumerate(_OWENS_T)
    ),
    Slope(
        "gamma",
        {**same((0.1, 20)), **same((-5, -0.01))},
        (
            lambda x: mp.gamma(x) * mp.digamma(x),
            lambda x: mp.gamma(x) * (mp.digamma(x) ** 2 + mp.psi(1, x)),
        ),
        scales=(mp.gamma, None),
        limits=(8, 16),
    ),
    Slope(
        "gammaln",
        GAMMA,
        (accuracy.exact_digamma, accuracy.exact_trigamma),
        scales=(accuracy.reflected_digamma, None),
    ),
    Slope("digamma", GAMMA, (accuracy.exact_trigamma, psi2)),
    Slope("trigamma", same((0.1, 20)), (psi2, lambda x: mp.psi(3, x))),
    Slope(
        "polygamma",
        orders(1, 5, (0.1, 20)),
        (lambda n, x: mp.psi(int(n) + 1, x), lambda n, x: mp.psi(int(n) + 2, x)),
        by=1,
    ),
    Slope(
        "beta",
        same((0.1, 9), (0.1, 9)) | FAR_APART,
        (lambda a, b: mp.beta(a, b) * (mp.digamma(a) - mp.digamma(a + b)),),
    ),
    Slope(
        "betaln",
        same((0.1, 9), (0.1, 9)) | FAR_APART,
        (
            lambda a, b: mp.digamma(a) - mp.digamma(a + b),
            lambda a, b: mp.psi(1, a) - mp.psi(1, a + b),
        ),
    ),
    Slope("gammainc", same((0.1, 10), (0.01, 20)), limits=(16, 1e6)),
    Slope(
        "gammainc",
        {**same((0.1, 10), (0.01, 20)), **same((100, 1000), (100, 1000))},
        (density_of_gamma,),
        by=1,
        limits=(GOAL, 1e3),
    ),
    Slope(
        "gammaincc",
        same((0.1, 10), (0.01, 20)),
        (lambda a, x: -density_of_gamma(a, x),),
        by=1,
        limits=(GOAL, 1e3),
    ),
    *(
        Slope(
            name,
            {**same((-9, 9)), **TINY, **same((-1000, 1000))},
            value=of_order(mp.besselj, v),
            scales=(amplitude, amplitude),
        )
        for v, name in enumerate(("j0", "j1"))
    ),
    *(
        Slope(
            name,
            {**same((-9, 9)), **TINY, **far(9, 700, 9, 85)},
            value=of_order(mp.besseli, v),
            limits=(16, 1e300),
        )
        for v, name in enumerate(("i0", "i1"))
    ),
    *(
        Slope(
            name,
            {**same((-9, 9)), **TINY, "large": lambda t: magnitudes(9, 1e6)},
            value=lambda x, v=v: mp.besseli(v, x) * mp.exp(-abs(x)),
            scales=(
                lambda x: 0.5 / (1 + abs(x)) ** mp.mpf(1.5),
                lambda x: 0.5 / (1 + abs(x)) ** 2.5,
            ),
            limits=(GOAL, 16),
        )
        for v, name in enumerate(("i0e", "i1e"))
    ),
    *(
        Slope(
            name,
            {**same((0, 3), (0.1, 20)), **same((0, 3), (20, 80))},
            slopes_of_bessel(*facts),
            by=1,
            scales=(scale, scale),
            limits=limits,
        )
        for name, scale, limits, *facts in (
            ("jv", amplitude, (4, 16), mp.besselj, 1, -1),
            ("yv", amplitude, (8, 64), mp.bessely, 1, -1),
            ("iv", None, (GOAL, 64), mp.besseli, 1, 1),
            ("kv", None, (GOAL, 64), mp.besselk, -1, -1),
            ("ive", larger_term_of_ive, (16, 1e4), mp.besseli, 1, 1, -1),
            ("kve", None, (16, 1e4), mp.besselk, -1, -1, 1),
        )
    ),
    Slope("exp1", INTEGRAL, (lambda x: -mp.exp(-x) / x, lambda x: mp.exp(-x) / x * (1 + 1 / x))),
    Slope(
        "expi",
        INTEGRAL,
        (lambda x: mp.exp(x) / x, lambda x: mp.exp(x) / x * (1 - 1 / x)),
        scales=(None, lambda x: mp.exp(x) / x),  # of the terms, which cancel at 1
    ),
    Slope(
        "expn",
        orders(0, 5, (0.1, 20)),
        (lambda n, x: -mp.expint(int(n) - 1, x), lambda n, x: mp.expint(int(n) - 2, x)),
        by=1,
        limits=(5, 16),
    ),
    Slope(
        "sine_integral",
        REAL,
        (lambda x: mp.sin(x) / x, lambda x: mp.cos(x) / x - mp.sin(x) / x**2),
        scales=(amplitude, amplitude),
    ),
    Slope(
        "cosine_integral",
        INTEGRAL,
        (lambda x: mp.cos(x) / x, lambda x: -mp.sin(x) / x - mp.cos(x) / x**2),
        scales=(None, lambda x: 1 / x),
    ),
    Slope(
        "fresnel_sine",
        {**same((-9, 9)), **TINY, "large": lambda t: magnitudes(9, 1e3)},
        (lambda x: mp.sinpi(x * x / 2), lambda x: mp.pi * x * mp.cospi(x * x / 2)),
        scales=(one, one),
        limits=(GOAL, 1e4),
    ),
    Slope(
        "fresnel_cosine",
        {**same((-9, 9)), **TINY},
        (lambda x: mp.cospi(x * x / 2), lambda x: -mp.pi * x * mp.sinpi(x * x / 2)),
        scales=(one, one),
        limits=(GOAL, 1e4),
    ),
    Slope(
        "zeta",
        same((1.1, 10), (0.1, 10)),
        (lambda x, q: -x * mp.zeta(x + 1, q), lambda x, q: x * (x + 1) * mp.zeta(x + 2, q)),
        by=1,
        limits=(GOAL, 16),
    ),
    Slope(
        "dawsn",
        {**same((-9, 9)), **TINY, **same((10, 1000))},
        (slope_of_dawson, lambda x: -2 * dawson(x) - 2 * x * slope_of_dawson(x)),
        scales=(lambda x: 1 if abs(x) < 2 else 0, lambda x: 1 if abs(x) < 2 else 0),
        limits=(GOAL, 64),
    ),
    Slope(
        "spence",
        POSITIVE | same((0.01, 10)),
        (lambda x: mp.log(x) / (1 - x),),
        limits=(GOAL, 64),
    ),
    *(
        Slope("binom", same((4, 20), (0.3, 3.8)), by=by, value=mp.binomial, limits=(GOAL, 1e5))
        for by in (0, 1)
    ),
    *(
        Slope(
            "poch",
            same((0.5, 5), (0.2, 3)),
            by=by,
            value=lambda z, m: mp.gamma(z + m) / mp.gamma(z),
            limits=(GOAL, 1e4),
        )
        for by in (0, 1)
    ),
    Slope(
        "factorial",
        same((0.1, 20)),
        (lambda x: mp.gamma(x + 1) * mp.digamma(x + 1),),
        scales=(lambda x: mp.gamma(x + 1), None),
        limits=(GOAL, 128),
    ),
    Slope(
        "betainc",
        same((0.2, 5), (0.2, 5), (0.01, 0.99)),
        (
            lambda a, b, x: x ** (a - 1) * (1 - x) ** (b - 1) / mp.beta(a, b),
            lambda a, b, x: (
                ((a - 1) / x - (b - 1) / (1 - x))
                * x ** (a - 1)
                * (1 - x) ** (b - 1)
                / mp.beta(a, b)
            ),
        ),
        by=2,
        scales=(None, lambda a, b, x: x ** (a - 2) * (1 - x) ** (b - 2) / mp.beta(a, b)),
        limits=(GOAL, 1e3),
    ),
    Slope(
        "hyp1f1",
        same((0.5, 3), (0.5, 3), (0, 5)),
        (lambda a, b, x: a / b * mp.hyp1f1(a + 1, b + 1, x),),
        by=2,
        limits=(8, 32),
    ),
    Slope(
        "hyp2f1",
        same((0.5, 3), (0.5, 3), (0.5, 3), (0, 0.8)),
        (lambda a, b, c, x: a * b / c * mp.hyp2f1(a + 1, b + 1, c + 1, x),),
        by=3,
        limits=(200, 200),
    ),
]

SLOPES = [*ELEMENTARY, *SPECIAL]

# Constants, multiples of the arguments, choices among them, and parts of other records: those by
# parameters of gammainc, betainc and hypergeometric functions are rows of special_accuracy.
# fmt: off
PLAIN = {
    "abs", "add", "ceil", "clip", "copysign", "deg2rad", "floor", "fmax", "fmin", "fmod",
    "heaviside", "identity", "int_div", "ldexp", "maximum", "minimum", "mod", "mul", "neg",
    "nextafter", "pos", "rad2deg", "rint", "round_half_away", "second", "sign", "spacing", "sqr",
    "sub", "switch", "trunc",
    "arctan2_slope", "beta_density", "betainc_by_a", "betainc_by_b", "betaincc", "betainccinv",
    "betaincinv",
    "digamma_difference", "exp2_share", "exp_of_product", "exp_of_square", "exp_share",
    "gamma_density", "gammaincinv", "gammainccinv", "hypot_slope",
    "hyp1f1_by_a", "hyp1f1_by_b", "hyp2f1_by_a", "hyp2f1_by_c",
    "i0e_less_i1e", "log_gamma_bend", "log_gamma_slope", "log_ive_slope", "log_kve_slope",
    "pow_less_one",
    "angle", "complex", "complex_from_polar", "conj", "imag", "real",
}
# fmt: on
