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
                value == former or abs(value - former) <= mp.ldexp(abs(value), -80)
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


SLOPES.append(Slope("log_ndtr", {"[-1, 1]": lambda t: uniform(-1, 1), **TINY, "[-60, 0]": lambda t: uniform(-60, 0), "positive": lambda t: uniform(0, 37 if t.dtype==np.float64 else 13), "far": lambda t: accuracy.negatives(10, t.max)}, (mills, lambda x: -mills(x) * (x + mills(x)))))


@cache
def compiled(name, by, dtype, order, nin):
    xs = [pt.vector(dtype=dtype) for _ in range(nin)]
    y = pt.Elemwise(getattr(scalars, name))(*xs)
    for _ in range(order):
        y = phintys.grad(y.sum(), xs[by])
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
