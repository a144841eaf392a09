"""Measure how accurate special functions are, and write "Special functions" of docs/accuracy.md.

    python -m benchmarks.special_accuracy [points] [function ...]

These functions are computed by Python or native code of their own, or by SciPy; the functions of
benchmarks/accuracy.py are computed by vector math. Errors are in units in the last place (ulp) of
the exact result, which mpmath computes.
"""

import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath as mp
import numpy as np
import scipy.special

import phintys
import phintys.scalar.table as scalars
import phintys.tensor as pt
from benchmarks.accuracy import MATRICES, replace_chapter, ulps, uniform

DIGITS = 100  # of which zeta loses those by which it is smaller than 1
GOAL = 4
SPECIAL = "## Special functions"


@dataclass(frozen=True)
class Special:
    """A function of the table of scalar functions, and what its values are compared with.

    Attributes
    ----------
    name
        Its name in the table.
    exact
        The function by mpmath.
    ranges
        Label of a range -> a way to draw each argument.
    scipy
        The function by SciPy, if SciPy has it.
    """

    name: str
    exact: Callable[..., Any]
    ranges: dict[str, tuple[Any, ...]]
    scipy: Callable[..., Any] | None = None


def whole(low, high):
    """Whole numbers."""
    return lambda rng, n, dtype: rng.integers(low, high, n, endpoint=True).astype(dtype)


def derivative(function, at):
    """Return the derivative of a function of mpmath by one of its arguments."""
    return lambda *x: mp.diff(function, x, tuple(int(n == at) for n in range(len(x))))


def betainc(a, b, x):
    """Return the regularized incomplete beta function, by its hypergeometric series."""
    return x**a * (1 - x) ** b / (a * mp.beta(a, b)) * mp.hyp2f1(1, a + b, a + 1, x)


def log_gamma_slope(a, t):
    """Return how the logarithm of a quantile moves: the equation P(a, exp(t)) = q, differentiated.

    The slope of P by a is that of ``x**a exp(-x) / gamma(a + 1) * hyp1f1(1, a + 1, x)``.
    """
    x = mp.exp(t)

    def below(order):
        return mp.exp(order * t - x - mp.loggamma(order + 1)) * mp.hyp1f1(1, order + 1, x)

    return -mp.diff(below, a) / mp.exp(a * t - x - mp.loggamma(a))


def kl_div(x, y):
    """Return the terms of the divergence, whose difference cancels for close arguments."""
    return x * mp.log(x / y) - x + y


def boxcox(x, power):
    """Return the power transform."""
    return mp.expm1(power * mp.log(x)) / power


FUNCTIONS = [
    Special(
        "zeta",
        mp.zeta,
        {
            "x [1.1, 10], q [0.1, 10]": (uniform(1.1, 10), uniform(0.1, 10)),
            "x [2, 50], q [1, 100]": (uniform(2, 50), uniform(1, 100)),
        },
        scipy.special.zeta,
    ),
    Special(
        "polygamma",
        lambda n, x: mp.polygamma(int(n), x),
        {"n [1, 5], x [0.1, 20]": (whole(1, 5), uniform(0.1, 20))},
        scipy.special.polygamma,
    ),
    *(
        Special(
            name,
            exact,
            {
                "v [0, 10], x [0.01, 0.25]": (uniform(0, 10), uniform(0.01, 0.25)),
                "v [10, 50], x [0.05, 2]": (uniform(10, 50), uniform(0.05, 2)),
                "v [50, 150], x [1, 10]": (uniform(50, 150), uniform(1, 10)),
                "v [150, 300], x [40, 400]": (uniform(150, 300), uniform(40, 400)),
            },
            reference,
        )
        for name, exact, reference in (
            ("jv", mp.besselj, scipy.special.jv),
            ("yv", mp.bessely, scipy.special.yv),
        )
    ),
    *(
        Special(
            name,
            exact,
            {
                "v [0, 10], x [0.01, 2]": (uniform(0, 10), uniform(0.01, 2)),
                "v [0, 30], x [2, 50]": (uniform(0, 30), uniform(2, 50)),
                "v [0, 150], x [50, 700]": (uniform(0, 150), uniform(50, 700)),
            },
            reference,
        )
        for name, exact, reference in (
            ("iv", mp.besseli, scipy.special.iv),
            ("ive", lambda v, x: mp.besseli(v, x) * mp.exp(-x), scipy.special.ive),
            ("kv", mp.besselk, scipy.special.kv),
            ("kve", lambda v, x: mp.besselk(v, x) * mp.exp(x), scipy.special.kve),
        )
    ),
    Special(
        "log_gamma_slope",
        log_gamma_slope,
        {
            "a [0.1, 5], t [-3, 2]": (uniform(0.1, 5), uniform(-3, 2)),
            "a [5, 50], t [1, 4]": (uniform(5, 50), uniform(1, 4)),
        },
    ),
    *(
        Special(
            name,
            derivative(betainc, at),
            {
                "a, b [0.2, 5], x [0.01, 0.99]": (*[uniform(0.2, 5)] * 2, uniform(0.01, 0.99)),
                "a, b [5, 50], x [0.3, 0.7]": (*[uniform(5, 50)] * 2, uniform(0.3, 0.7)),
            },
        )
        for at, name in enumerate(("betainc_by_a", "betainc_by_b"))
    ),
    *(
        Special(
            name,
            exact,
            {
                "a, b [0.5, 3], x [0, 5]": (uniform(0.5, 3), uniform(0.5, 3), uniform(0, 5)),
                "a, b [0.5, 3], x [-5, 0]": (uniform(0.5, 3), uniform(0.5, 3), uniform(-5, 0)),
            },
            reference,
        )
        for name, exact, reference in (
            ("hyp1f1", mp.hyp1f1, scipy.special.hyp1f1),
            ("hyp1f1_by_a", derivative(mp.hyp1f1, 0), None),
            ("hyp1f1_by_b", derivative(mp.hyp1f1, 1), None),
        )
    ),
    *(
        Special(
            name,
            exact,
            {
                "a, b, c [0.5, 3], x [0, 0.8]": (*[uniform(0.5, 3)] * 3, uniform(0, 0.8)),
                "a, b, c [0.5, 3], x [-3, 0]": (*[uniform(0.5, 3)] * 3, uniform(-3, 0)),
            },
            reference,
        )
        for name, exact, reference in (
            ("hyp2f1", mp.hyp2f1, scipy.special.hyp2f1),
            ("hyp2f1_by_a", derivative(mp.hyp2f1, 0), None),
            ("hyp2f1_by_c", derivative(mp.hyp2f1, 2), None),
        )
    ),
    Special(
        "betainc",
        betainc,
        {"a, b [0.2, 5], x [0.01, 0.99]": (uniform(0.2, 5), uniform(0.2, 5), uniform(0.01, 0.99))},
        scipy.special.betainc,
    ),
    Special(
        "gammainc",
        lambda a, x: mp.gammainc(a, 0, x, regularized=True),
        {"a [0.1, 10], x [0.01, 20]": (uniform(0.1, 10), uniform(0.01, 20))},
        scipy.special.gammainc,
    ),
    *(
        Special(name, exact, {"[0.01, 10]": (uniform(0.01, 10),)}, reference)
        for name, exact, reference in (
            ("sine_integral", mp.si, lambda x: scipy.special.sici(x)[0]),
            ("cosine_integral", mp.ci, lambda x: scipy.special.sici(x)[1]),
            ("fresnel_sine", mp.fresnels, lambda x: scipy.special.fresnel(x)[0]),
            ("fresnel_cosine", mp.fresnelc, lambda x: scipy.special.fresnel(x)[1]),
            ("exp1", mp.e1, scipy.special.exp1),
            ("expi", mp.ei, scipy.special.expi),
            (
                "dawsn",
                lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x),
                scipy.special.dawsn,
            ),
            ("spence", lambda x: mp.polylog(2, 1 - x).real, scipy.special.spence),
            ("entr", lambda x: -x * mp.log(x), scipy.special.entr),
        )
    ),
    Special(
        "expn",
        lambda n, x: mp.expint(int(n), x),
        {"n [0, 10], x [0.1, 20]": (whole(0, 10), uniform(0.1, 20))},
        scipy.special.expn,
    ),
    Special(
        "logit",
        lambda x: mp.log(x) - mp.log1p(-x),
        {"[0.001, 0.999]": (uniform(0.001, 0.999),)},
        scipy.special.logit,
    ),
    *(
        Special(
            name,
            exact,
            {
                "x, y [0.01, 10]": (uniform(0.01, 10), uniform(0.01, 10)),
                "x, y [1, 1.01]": (uniform(1, 1.01), uniform(1, 1.01)),
            },
            reference,
        )
        for name, exact, reference in (
            ("rel_entr", lambda x, y: x * mp.log(x / y), scipy.special.rel_entr),
            ("kl_div", kl_div, scipy.special.kl_div),
        )
    ),
    Special(
        "boxcox",
        boxcox,
        {
            "x [0.01, 10], power [-3, 3]": (uniform(0.01, 10), uniform(-3, 3)),
            "x [0.5, 2], power [-900, 900]": (uniform(0.5, 2), uniform(-900, 900)),
        },
        scipy.special.boxcox,
    ),
    Special(
        "boxcox1p",
        lambda x, power: boxcox(1 + x, power),
        {
            "x [-0.9, 10], power [-3, 3]": (uniform(-0.9, 10), uniform(-3, 3)),
            "x [-0.5, 1], power [-900, 900]": (uniform(-0.5, 1), uniform(-900, 900)),
        },
        scipy.special.boxcox1p,
    ),
]


HEADER = f"""{SPECIAL}

Largest and median errors in ulp (float64) of {{points:,}} points drawn in each range, and those of
SciPy {scipy.__version__} where it has the function. The goal is {GOAL} ulp, or SciPy's largest
error; functions that exceed both are marked as *missed*. Near a zero of a function its terms
cancel, and an error that is small beside these terms is large in ulp of the result: there the
medians say more.

Far from these ranges, `owens_t` of SciPy, which native code calls, is off by h**2 ulp for large h:
that is its condition number, by which a rounding error of h is multiplied. `beta`, `binom` and
`poch` of positive arguments up to 1e100 are off by 2 ulp, their logarithms being computed with
their rounding errors; `betaln` has 1e-15 of the larger of 1 and the result. The reference backend
has such digits where NumPy's `longdouble` is longer than a double; its `log_ndtr` is SciPy's, off
by 1e-13 above 17 and 0 above 37.6, where native code has its digits. `jv` and `yv` of orders above
1,000 are SciPy's, off by up to 10,000 ulp, where the order is close to the argument: where
`abs(x**2 - v**2)**(3 / 2)` is below `150 * v**2`. Modified functions have their digits up to where
they overflow and underflow, subnormal results among them. Results below 2e-308 of `gamma`,
`gammainc`, `gammaincc` and `betainc` are SciPy's, which are 0.

This chapter is written by `benchmarks/special_accuracy.py`.

| function | range | largest | median | SciPy: largest | median | |
| --- | --- | --- | --- | --- | --- | --- |
"""


def drawn(special, label, points):
    """Return the same arguments on each run."""
    rng = np.random.default_rng(zlib.crc32(f"{special.name} {label}".encode()))
    return [draw(rng, points, np.float64) for draw in special.ranges[label]]


def exact_values(special, arguments):
    """Return exact results, each the sum of two float64."""
    exact = [
        special.exact(*map(mp.mpf, one))
        for one in zip(*(x.tolist() for x in arguments), strict=True)
    ]
    high = np.array([float(value) for value in exact])
    low = [float(value - mp.mpf(top)) for value, top in zip(exact, high.tolist(), strict=True)]
    return high, np.array(low)


def compiled(special, arguments):
    """Return the values of our function, in native code."""
    variables = [pt.dvector() for _ in arguments]
    function = pt.Elemwise(getattr(scalars, special.name))
    return phintys.function(variables, function(*variables))(*arguments)


def summary(found, high, low):
    """Return the largest and the median error in ulp."""
    errors = np.abs((found - high) - low) / ulps(high, np.float64)
    errors = np.where(np.isnan(errors), np.inf, errors)
    return float(errors.max()), float(np.median(errors))


def row(special, label, points):
    """Return a line of the table."""
    arguments = drawn(special, label, points)
    high, low = exact_values(special, arguments)
    largest, median = summary(compiled(special, arguments), high, low)
    cells, best = [f"{largest:.3g}", f"{median:.2g}"], float(GOAL)
    if special.scipy is None:
        cells += ["", ""]
    else:
        reference = summary(special.scipy(*arguments), high, low)
        cells += [f"{reference[0]:.3g}", f"{reference[1]:.2g}"]
        best = max(best, reference[0])
    missed = "missed" if largest > best else ""
    return f"| {special.name} | {label} | {' | '.join(cells)} | {missed} |"


def main(points, names):
    mp.mp.dps = DIGITS
    rows = []
    for special in FUNCTIONS:
        for label in special.ranges:
            if not names or special.name in names:
                rows.append(row(special, label, points))
                print(rows[-1], flush=True)
    if not names:
        table = HEADER.format(points=points) + "\n".join(rows) + "\n"
        replace_chapter(SPECIAL, MATRICES, table)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400, sys.argv[2:])
