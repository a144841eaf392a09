"""Compute the polynomial coefficients of the native backend's vector math, and of derivatives.

    python benchmarks/minimax.py > src/phintys/backends/native/assembler/math/coefficients.py
    python benchmarks/minimax.py slopes > src/phintys/scalar/slope_coefficients.py

Each polynomial interpolates its function at Chebyshev nodes of an interval, computed in 80 digits,
which comes within a small factor of the best one of its degree. Coefficients are rounded to the
float type last. The column on the right of each polynomial is the error that interpolation leaves,
relative to the function that the polynomial is part of; rounding errors come on top.
"""

import sys
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath as mp
import numpy as np

DIGITS = 80


@dataclass(frozen=True)
class Fit:
    """A function on an interval, and how many coefficients it gets for each float type."""

    name: str
    meaning: str
    function: Any
    # One for both float types, or one for each.
    interval: Any
    counts: dict[str, int]
    # By how much an error of the polynomial counts in the end: a function of the same variable.
    weight: Any = lambda x: mp.mpf(1)

    def bounds(self, dtype):
        pair = self.interval[dtype] if isinstance(self.interval, dict) else self.interval
        return tuple(as_number(bound) for bound in pair)


def as_number(bound):
    """Return a number given exactly, or as text such as "1/3" or "0.25"."""
    if not isinstance(bound, str):
        return mp.mpf(bound)
    fraction = Fraction(bound)
    return mp.mpf(fraction.numerator) / fraction.denominator


def even(function, limit):
    """Return f(sqrt(u)) as a function of u, its limit at 0 being given."""
    return lambda u: function(mp.sqrt(u)) if u > mp.mpf(10) ** -50 else mp.mpf(limit)


def scaled_erfc(a):
    return mp.exp(a * a) * mp.erfc(a)


def scaled_binet(x):
    return x * (mp.loggamma(x) - (x - 0.5) * mp.log(x) + x - mp.log(2 * mp.pi) / 2)


@cache
def digamma_root():
    return mp.findroot(mp.digamma, 1.4616)


LN2_2 = mp.mpf("0.3475")  # ln(2) / 2 and room for rounding


FITS = [
    Fit(
        "EXP",
        "(exp(r) - 1 - r) / r**2 for |r| <= ln(2) / 2",
        lambda r: (mp.exp(r) - 1 - r) / r**2 if abs(r) > mp.mpf(10) ** -20 else mp.mpf(1) / 2,
        (-LN2_2, LN2_2),
        {"float64": 10, "float32": 5},
        lambda r: r**2 / mp.exp(r),
    ),
    Fit(
        "LOG",
        "2 (atanh(s) / s - 1) / s**2 of s**2, "
        "where s = f / (2 + f) and 1 + f in [sqrt(.5), sqrt(2)]",
        even(lambda s: 2 * (mp.atanh(s) / s - 1) / s**2, mp.mpf(2) / 3),
        (0, "0.02945"),
        {"float64": 7, "float32": 3},
        lambda u: u / 2,
    ),
    Fit(
        "SIN",
        "(sin(r) / r - 1) / r**2 of r**2, for |r| <= pi / 4",
        even(lambda r: (mp.sin(r) / r - 1) / r**2, mp.mpf(-1) / 6),
        (0, "0.6170"),
        {"float64": 6, "float32": 3},
        lambda u: u,
    ),
    Fit(
        "COS",
        "(cos(r) - 1 + r**2 / 2) / r**4 of r**2, for |r| <= pi / 4",
        even(lambda r: (mp.cos(r) - 1 + r**2 / 2) / r**4, mp.mpf(1) / 24),
        (0, "0.6170"),
        {"float64": 6, "float32": 3},
        lambda u: u**2,
    ),
    Fit(
        "TAN",
        "(tan(r) / r - 1) / r**2 of r**2, for |r| <= pi / 4",
        even(lambda r: (mp.tan(r) / r - 1) / r**2, mp.mpf(1) / 3),
        (0, "0.6170"),
        {"float64": 15, "float32": 7},
        lambda u: u,
    ),
    Fit(
        "ATAN",
        "(atan(t) / t - 1) / t**2 of t**2, for |t| <= tan(pi / 8)",
        even(lambda t: (mp.atan(t) / t - 1) / t**2, mp.mpf(-1) / 3),
        (0, "0.1717"),
        {"float64": 11, "float32": 5},
        lambda u: u,
    ),
    Fit(
        "ASIN",
        "(asin(t) / t - 1) / t**2 of t**2, for |t| <= 1 / 2",
        even(lambda t: (mp.asin(t) / t - 1) / t**2, mp.mpf(1) / 6),
        (0, "0.25"),
        {"float64": 13, "float32": 6},
        lambda u: u,
    ),
    Fit(
        "SINH",
        "(sinh(r) / r - 1) / r**2 of r**2, for |r| <= ln(2) / 2",
        even(lambda r: (mp.sinh(r) / r - 1) / r**2, mp.mpf(1) / 6),
        (0, LN2_2**2),
        {"float64": 5, "float32": 3},
        lambda u: u,
    ),
    Fit(
        "COSH",
        "(cosh(r) - 1 - r**2 / 2) / r**4 of r**2, for |r| <= ln(2) / 2",
        even(lambda r: (mp.cosh(r) - 1 - r**2 / 2) / r**4, mp.mpf(1) / 24),
        (0, LN2_2**2),
        {"float64": 5, "float32": 2},
        lambda u: u**2,
    ),
    Fit(
        "TANH",
        "(tanh(s) / s - 1) / s**2 of s**2, for |s| <= ln(2) / 4",
        even(lambda s: (mp.tanh(s) / s - 1) / s**2, mp.mpf(-1) / 3),
        (0, (LN2_2 / 2) ** 2),
        {"float64": 7, "float32": 3},
        lambda u: u,
    ),
    Fit(
        "ERF",
        "erf(a) / a - 1 of a**2, for a <= 1",
        even(lambda a: mp.erf(a) / a - 1, 2 / mp.sqrt(mp.pi) - 1),
        (0, 1),
        {"float64": 12, "float32": 7},
        lambda u: u,
    ),
    Fit(
        "ERF_TAIL",
        "exp(a**2) erfc(a) of t = (a - 2) / (a + 2), for a in [1, 6] (float32: [1, 4])",
        lambda t: scaled_erfc(2 * (1 + t) / (1 - t)),
        {"float64": ("-1/3", "1/2"), "float32": ("-1/3", "1/3")},
        {"float64": 16, "float32": 6},
        lambda t: mp.exp(-((2 * (1 + t) / (1 - t)) ** 2)),
    ),
    Fit(
        "ERFC",
        "(1 + 2 a) exp(a**2) erfc(a) of t = (a - 4) / (a + 4), for a in [0.5, 27.5]",
        lambda t: (1 + 8 * (1 + t) / (1 - t)) * scaled_erfc(4 * (1 + t) / (1 - t)),
        {"float64": ("-7/9", "47/63"), "float32": ("-7/9", "13/29")},
        {"float64": 22, "float32": 11},
    ),
    Fit(
        "CBRT",
        "cbrt(m) for m in [0.35, 2.83]: a first guess",
        mp.cbrt,
        ("0.353", "2.83"),
        {"float64": 6, "float32": 6},
        lambda m: 1 / mp.cbrt(m),
    ),
    Fit(
        "LOG1P",
        "(log(1 + r) - r + r**2 / 2) / r**3 for |r| <= 0.041",
        lambda r: (
            (mp.log(1 + r) - r + r**2 / 2) / r**3 if abs(r) > mp.mpf(10) ** -15 else mp.mpf(1) / 3
        ),
        ("-0.041", "0.041"),
        {"float64": 10},
        lambda r: r**2,
    ),
    Fit(
        "LOG1P_SHORT",
        "(log(1 + r) - r) / r**2 for |r| <= 0.041, for results of float32",
        lambda r: (mp.log(1 + r) - r) / r**2 if abs(r) > mp.mpf(10) ** -20 else -mp.mpf(1) / 2,
        ("-0.041", "0.041"),
        {"float64": 6},
        lambda r: r,
    ),
    Fit(
        "EXP_SHORT",
        "(exp(r) - 1) / r for |r| <= ln(2) / 2, for results of float32",
        lambda r: (mp.exp(r) - 1) / r if abs(r) > mp.mpf(10) ** -20 else mp.mpf(1),
        (-LN2_2, LN2_2),
        {"float64": 6},
        lambda r: r / mp.exp(r),
    ),
    Fit(
        "LOG_GAMMA",
        "log(gamma(x)) / ((x - 1) (x - 2)) of t = x - 3/2, for x in [0.5, 2.5]",
        lambda t: mp.loggamma(t + 1.5) / (t * t - 0.25),
        (-1, 1),
        {"float64": 38},
        lambda t: (t * t - 0.25) / mp.loggamma(t + 1.5),
    ),
    Fit(
        "BINET",
        "x (log(gamma(x)) - (x - 1/2) log(x) + x - log(2 pi) / 2) of 1 / x**2, for x >= 2.5",
        lambda u: scaled_binet(1 / mp.sqrt(u)),
        (0, "0.16"),
        {"float64": 13},
        mp.sqrt,
    ),
    Fit(
        "DIGAMMA",
        "digamma(x) / (x - root) of t = x - 2, for x in [1, 3]",
        lambda t: mp.digamma(t + 2) / (t + 2 - digamma_root()),
        (-1, 1),
        {"float64": 30},
        lambda t: (t + 2 - digamma_root()) / mp.digamma(t + 2),
    ),
    Fit(
        "DIGAMMA_TAIL",
        "x**2 (log(x) - 1 / (2 x) - digamma(x)) of 1 / x**2, for x >= 3",
        lambda u: (-mp.log(u) / 2 - mp.sqrt(u) / 2 - mp.digamma(1 / mp.sqrt(u))) / u,
        (0, "1/9"),
        {"float64": 13},
        lambda u: u,
    ),
]

ROOT_PI = "0.5641895835477562869480794515607725858440506"  # 1 / sqrt(pi)


def asymptotic_erfcx_slope(x):
    """2 / sqrt(pi) - 2 x erfcx(x) of a large x (DLMF 7.12.1)."""
    step, term, total = -1 / (2 * x * x), mp.mpf(1), mp.mpf(0)
    for n in range(1, 30):
        term *= (2 * n - 1) * step
        total -= term
    return 2 * mp.mpf(ROOT_PI) * total


def erfcx_slope(x):
    if x > 100:
        return asymptotic_erfcx_slope(x)
    return 2 * mp.mpf(ROOT_PI) - 2 * x * scaled_erfc(x)


def bessel_difference(x):
    """exp(-x) (I0(x) - I1(x)); for a large x by DLMF 10.40.1."""
    if x < 300:
        return mp.exp(-x) * (mp.besseli(0, x) - mp.besseli(1, x))
    total, terms = mp.mpf(0), [mp.mpf(1), mp.mpf(1)]
    for k in range(1, 40):
        terms = [
            -t * (v - (2 * k - 1) ** 2) / (8 * k * x) for t, v in zip(terms, (0, 4), strict=True)
        ]
        total += terms[0] - terms[1]
    return total / mp.sqrt(2 * mp.pi * x)


def of_ratio(function, middle):
    """Return a function of x as one of (x - middle) / (x + middle)."""
    return lambda u: function(middle * (1 + u) / (1 - u))


@cache
def hankel(order, x):
    """P and Q of Hankel's form of the Bessel functions J and Y (DLMF 10.17.3, 10.17.4)."""
    phase = x - (mp.mpf(order) / 2 + mp.mpf(1) / 4) * mp.pi
    cosine, sine, scale = mp.cos(phase), mp.sin(phase), mp.sqrt(mp.pi * x / 2)
    first, second = scale * mp.besselj(order, x), scale * mp.bessely(order, x)
    return first * cosine + second * sine, second * cosine - first * sine


def i1e_slope(x):
    first, second = mp.besseli(0, x), mp.besseli(1, x)
    return mp.exp(-x) * (first - second - (second / x if x else mp.mpf(1) / 2))


def dawson_slope(x):
    return x * mp.sqrt(mp.pi) * mp.exp(-x * x) * mp.erfi(x) - 1


FITS_OF_SLOPES = [
    Fit(
        "ERFCX",
        "(2 / sqrt(pi) - 2 x erfcx(x)) (1 + x)**2 of (x - 4) / (x + 4), for x >= 1/2",
        of_ratio(lambda x: erfcx_slope(x) * (1 + x) ** 2, 4),
        ("-7/9", 1),
        {"float64": 26, "float32": 14},
    ),
    Fit(
        "BESSEL_NEAR",
        "exp(-x) (I0(x) - I1(x)) of x - 3/4, for x in [0, 3/2]",
        lambda u: bessel_difference(u + mp.mpf(3) / 4),
        ("-3/4", "3/4"),
        {"float64": 19, "float32": 11},
        lambda u: 1 / bessel_difference(u + mp.mpf(3) / 4),
    ),
    Fit(
        "BESSEL",
        "exp(-x) (I0(x) - I1(x)) (1 + x)**(3/2) of (x - 4) / (x + 4), for x in [3/2, 8]",
        of_ratio(lambda x: bessel_difference(x) * (1 + x) ** mp.mpf(1.5), 4),
        ("-5/11", "1/3"),
        {"float64": 26, "float32": 14},
        lambda u: mp.mpf(4),
    ),
    Fit(
        "BESSEL_TAIL",
        "exp(-x) (I0(x) - I1(x)) x**(3/2) of 16 / x - 1, for x >= 8",
        lambda t: bessel_difference(16 / (1 + t)) * (16 / (1 + t)) ** mp.mpf(1.5),
        (-1, 1),
        {"float64": 30, "float32": 9},
        lambda t: mp.mpf(5),
    ),
    Fit(
        "I1E_NEAR",
        "the derivative of exp(-x) I1(x) of x - 1, for x in [0, 2]",
        lambda u: i1e_slope(1 + u),
        (-1, 1),
        {"float64": 22, "float32": 13},
    ),
    Fit(
        "I1E_MIDDLE",
        "the derivative of exp(-x) I1(x) of (x - 4) / (x + 4), for x in [2, 8]",
        of_ratio(i1e_slope, 4),
        ("-1/3", "1/3"),
        {"float64": 27, "float32": 14},
        lambda u: mp.mpf(50),
    ),
    Fit(
        "DAWSN",
        "2 x D(x) - 1 of (x - 2.75) / 1.25, where D is Dawson's integral, for x in [1.5, 4]",
        lambda u: dawson_slope(2.75 + 1.25 * u),
        (-1, 1),
        {"float64": 30, "float32": 18},
        lambda u: mp.mpf(10),
    ),
    Fit(
        "DAWSN_TAIL",
        "(2 x D(x) - 1) x**2 of 40 / (3 x) - 7 / 3, for x in [4, 10]",
        lambda u: dawson_slope(40 / (3 * u + 7)) * (40 / (3 * u + 7)) ** 2,
        (-1, 1),
        {"float64": 31, "float32": 12},
        lambda u: mp.mpf(2),
    ),
    *(
        Fit(
            f"HANKEL_{part}_{order}",
            f"{part} of Hankel's form of J{order}(x){times} of 1 / x**2, for x in [5, 25]",
            lambda u, order=order, power=power: (
                hankel(order, 1 / mp.sqrt(u))[power] * mp.sqrt(u) ** -power
            ),
            ("1/625", "1/25"),
            {"float64": count},
            lambda u, power=power: mp.sqrt(u) ** power,
        )
        for order in (0, 1)
        for power, (part, times, count) in enumerate((("P", "", 19), ("Q", " times x", 19)))
    ),
]


def interpolate(function, a, b, count):
    """Return coefficients, lowest first, of the polynomial through Chebyshev nodes of [a, b]."""
    angles = [mp.pi * (2 * k + 1) / (2 * count) for k in range(count)]
    middle, half = (a + b) / 2, (b - a) / 2
    values = [function(middle + half * mp.cos(angle)) for angle in angles]
    chebyshev = [
        2 * sum(v * mp.cos(j * angle) for v, angle in zip(values, angles, strict=True)) / count
        for j in range(count)
    ]
    chebyshev[0] /= 2
    return shifted(monomials(chebyshev), middle, half)


def monomials(chebyshev):
    """Return the coefficients of sum(c[j] T[j](t)) in powers of t."""
    result = [mp.mpf(0)] * len(chebyshev)
    before, now = [mp.mpf(1)], [mp.mpf(0), mp.mpf(1)]
    for c in chebyshev:
        for i, v in enumerate(before):
            result[i] += c * v
        after = [mp.mpf(0), *(2 * v for v in now)]
        for i, v in enumerate(before):
            after[i] -= v
        before, now = now, after
    return result


def shifted(coefficients, middle, half):
    """Return the coefficients in powers of x of a polynomial in t = (x - middle) / half."""
    result = [mp.mpf(0)]
    for c in reversed(coefficients):  # Horner's rule on polynomials
        longer = [mp.mpf(0), *(v / half for v in result)]
        for i, v in enumerate(result):
            longer[i] -= v * middle / half
        longer[0] += c
        result = longer
    return result[: len(coefficients)]


def horner(coefficients, x):
    result = mp.mpf(0)
    for c in reversed(coefficients):
        result = result * x + c
    return result


def error(fit, dtype, coefficients):
    a, b = fit.bounds(dtype)
    points = [a + (b - a) * (i + mp.mpf("0.37")) / 201 for i in range(201)]
    return max(abs((horner(coefficients, x) - fit.function(x)) * fit.weight(x)) for x in points)


def rounded(coefficients, dtype):
    kind = np.dtype(dtype).type
    return [float(kind(mp.nstr(c, 40))) for c in coefficients]


def table(fits=FITS):
    """Return {name: {dtype: coefficients}} and the same of errors."""
    with mp.workdps(DIGITS):
        coefficients, errors = {}, {}
        for fit in fits:
            for dtype, count in fit.counts.items():
                a, b = fit.bounds(dtype)
                exact = interpolate(fit.function, a, b, count)
                coefficients.setdefault(fit.name, {})[dtype] = rounded(exact, dtype)
                errors.setdefault(fit.name, {})[dtype] = error(fit, dtype, exact)
        return coefficients, errors


HEADER = '''"""Polynomial coefficients, lowest power first: written by benchmarks/minimax.py."""

from __future__ import annotations

Coefficients = dict[str, tuple[float, ...]]
"""For each float type its own."""
'''


def source(fits=FITS):
    """Return the text of the module of coefficients."""
    coefficients, errors = table(fits)
    parts = [HEADER]
    for fit in fits:
        rows = []
        for dtype, values in coefficients[fit.name].items():
            power = float(mp.log(errors[fit.name][dtype], 2))
            numbers = "".join(f"        {value!r},\n" for value in values)
            rows.append(f'    # off by 2**{power:.1f} at most\n    "{dtype}": (\n{numbers}    ),\n')
        meaning = f'"""{fit.meaning}."""'
        parts.append(f"\n{fit.name}: Coefficients = {{\n{''.join(rows)}}}\n{meaning}\n")
    return "".join(parts)


if __name__ == "__main__":
    print(source(FITS_OF_SLOPES if sys.argv[1:] == ["slopes"] else FITS), end="")
