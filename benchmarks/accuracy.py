"""Measure how accurate the native backend's vector math is, and write docs/accuracy.md.

    python -m benchmarks.accuracy [points] [function ...]

Errors are in units in the last place (ulp) of the exact result, which mpmath computes. The records
below also drive the tests, with fewer points.
"""

import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np

from phintys.backends.native.assembler.math import float_math
from phintys.backends.native.assembler.target import Target
from tools.native_functions import elementwise

PRECISION = 140
MATRICES = "## Matrices"
"""The heading of the chapter that benchmarks/matrix_accuracy.py writes."""

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "accuracy.md"


@dataclass(frozen=True)
class Limits:
    """What ranges depend on."""

    dtype: Any
    max: float
    tiny: float
    least: float
    exp_low: float  # exp is 0 below
    exp_high: float  # exp overflows above
    epsilon: float


LIMITS = {
    "float64": Limits(
        np.float64, 1.79769e308, 2.2250738585072014e-308, 5e-324, -745.2, 709.78, 2.0**-52
    ),
    "float32": Limits(
        np.float32, 3.4028e38, 1.1754943508222875e-38, 1e-45, -104.0, 88.72, 2.0**-23
    ),
}


def uniform(low, high):
    return lambda rng, n, dtype: rng.uniform(low, high, n).astype(dtype)


def magnitudes(low, high, signed=False):
    """All exponents between two positive numbers alike: uniform in the bits."""

    def draw(rng, n, dtype):
        integer = np.int64 if dtype == np.float64 else np.int32
        bounds = np.array([low, high], dtype).view(integer)
        values = rng.integers(bounds[0], bounds[1], n, endpoint=True).astype(integer).view(dtype)
        return values * rng.choice([-1, 1], n).astype(dtype) if signed else values

    return draw


def negatives(low, high):
    """Negative numbers of all exponents between two magnitudes."""

    def draw(rng, n, dtype):
        return -magnitudes(low, high)(rng, n, dtype)

    return draw


def near(center, spread):
    """Numbers next to one number, at all distances."""

    def draw(rng, n, dtype):
        distance = np.exp(rng.uniform(np.log(spread * 1e-7), np.log(spread), n))
        return (center + distance * rng.choice([-1, 1], n)).astype(dtype)

    return draw


def whole(signed=True):
    return lambda t: magnitudes(t.least, t.max, signed)


@dataclass(frozen=True)
class Record:
    """A function, what it is exactly, and where it is measured.

    Each range is a function of :class:`Limits` that returns what draws numbers, for a function of
    several inputs a tuple of such.
    """

    name: str
    exact: Callable[..., Any]
    ranges: dict[str, Any]
    # The magnitude in whose ulp the error counts; the result's own if not given.
    scale: Callable[..., Any] | None = None


def exact_cbrt(x):
    return mp.sign(x) * mp.cbrt(abs(x))


def exact_pow(x, y):
    if x < 0:
        return abs(x) ** y * (-1 if int(y) % 2 else 1)
    return x**y


def exact_trigamma(x):
    if x > 0:
        return mp.psi(1, x)
    # By reflection; mpmath would shift x, one by one, to where it is positive.
    return mp.inf if x == mp.floor(x) else (mp.pi / mp.sinpi(x)) ** 2 - mp.psi(1, 1 - x)


def exact_gammaln(x):
    if x > 0:
        return mp.loggamma(x)
    return mp.inf if x == mp.floor(x) else mp.log(mp.pi / abs(x * mp.sinpi(x))) - mp.loggamma(-x)


def exact_digamma(x):
    if x > 0:
        return mp.digamma(x)
    # By reflection; at poles there is no value.
    return mp.nan if x == mp.floor(x) else mp.digamma(1 - x) - mp.pi * mp.cospi(x) / mp.sinpi(x)


def larger(x, y):
    return max(abs(x), abs(y))


def one_of_negative(x):
    return 1 if x < 0 else 0


def reflected_digamma(x):
    return abs(mp.digamma(1 - x)) if x < 0 else 0


UNIT = {"[-1, 1]": lambda t: uniform(-1, 1), "tiny": lambda t: magnitudes(t.least, 2.0**-8, True)}
EXPONENTIAL = {
    **UNIT,
    "all": lambda t: uniform(t.exp_low, t.exp_high),
    "subnormal results": lambda t: uniform(t.exp_low, t.exp_low * 0.95),
}
TRIGONOMETRIC = {
    **UNIT,
    "[-10, 10]": lambda t: uniform(-10, 10),
    "[-1e5, 1e5]": lambda t: uniform(-1e5, 1e5),
    "all": whole(),
}
LOGARITHMIC = {
    "[0.5, 2]": lambda t: uniform(0.5, 2),
    "near 1": lambda t: near(1.0, 0.3),
    "all": whole(signed=False),
    "subnormal": lambda t: magnitudes(t.least, t.tiny),
}
BETWEEN = {
    **UNIT,
    "near 1": lambda t: uniform(0.99, 1),
    "near -1": lambda t: uniform(-1, -0.99),
}
GAMMA = {
    "[0, 3]": lambda t: uniform(1e-6, 3),
    "[0, 20]": lambda t: uniform(0.1, 20),
    "positive": lambda t: magnitudes(t.least, t.max),
    "[-20, 0]": lambda t: uniform(-20, 0),
    "near -3": lambda t: near(-3, 0.5),
}
PLANE = {
    "[-1, 1]": lambda t: (uniform(-1, 1), uniform(-1, 1)),
    "all": lambda t: (whole()(t), whole()(t)),
    "subnormal": lambda t: (magnitudes(t.least, t.tiny, True), magnitudes(t.least, t.tiny, True)),
}
PAIRS = {
    "[-2, 2]": lambda t: (uniform(-2, 2), uniform(-2, 2)),
    "[-500, 500]": lambda t: (uniform(-500, 500), uniform(-500, 500)),
    "close": lambda t: (uniform(20, 21), uniform(20, 21)),
}
POWERS = {
    "[0, 10] ** [-10, 10]": lambda t: (uniform(0.01, 10), uniform(-10, 10)),
    "near 1 ** large": lambda t: (uniform(0.9, 1.1), uniform(t.exp_low * 9, t.exp_high * 9)),
    "nearer 1": lambda t: (
        uniform(0.999, 1.001),
        uniform(t.exp_low * 900, t.exp_high * 900),
    ),
    "all ** [-1, 1]": lambda t: (whole(signed=False)(t), uniform(-1, 1)),
    "negative ** whole": lambda t: (
        uniform(-10, -0.1),
        lambda rng, n, dtype: rng.integers(-30, 30, n).astype(dtype),
    ),
    "subnormal results": lambda t: (
        uniform(0.1, 0.9),
        uniform(0.12 * -t.exp_low, 0.45 * -t.exp_low),
    ),
}

RECORDS = [
    Record("exp", mp.exp, EXPONENTIAL),
    Record(
        "exp2",
        lambda x: mp.mpf(2) ** x,
        {
            **UNIT,
            "all": lambda t: uniform(t.exp_low / 0.6935, t.exp_high / 0.6932),
            "subnormal results": lambda t: uniform(t.exp_low / 0.6935, t.exp_low / 0.73),
        },
    ),
    Record(
        "exp_of_product",
        lambda x, y: mp.exp(x * y),
        {
            "[-5, 5]": lambda t: (uniform(-5, 5), uniform(-5, 5)),
            "all": lambda t: (
                uniform(0, -t.exp_low / 13),
                uniform(-13, t.exp_high * 13 / -t.exp_low),
            ),
        },
    ),
    Record("expm1", mp.expm1, EXPONENTIAL),
    Record("log", mp.log, LOGARITHMIC),
    Record("log2", lambda x: mp.log(x, 2), LOGARITHMIC),
    Record("log10", mp.log10, LOGARITHMIC),
    Record(
        "log1p",
        mp.log1p,
        {
            "[-1, 1]": lambda t: uniform(-0.9999, 1),
            "tiny": UNIT["tiny"],
            "positive": lambda t: magnitudes(t.least, t.max),
            "near -1": lambda t: uniform(-1 + 1e-5, -0.99),
        },
    ),
    Record("sqrt", mp.sqrt, LOGARITHMIC),
    Record("cbrt", exact_cbrt, {"all": whole(), "subnormal": LOGARITHMIC["subnormal"]}),
    Record("hypot", mp.hypot, PLANE),
    Record("pow", exact_pow, POWERS),
    Record(
        "pow_less_one",
        lambda x, y: exact_pow(x, y - 1),
        {label: POWERS[label] for label in ("[0, 10] ** [-10, 10]", "all ** [-1, 1]")},
    ),
    Record("logaddexp", lambda x, y: max(x, y) + mp.log1p(mp.exp(-abs(x - y))), PAIRS, larger),
    Record(
        "logaddexp2",
        lambda x, y: max(x, y) + mp.log1p(mp.mpf(2) ** -abs(x - y)) / mp.log(2),
        PAIRS,
        larger,
    ),
    Record("exp_share", lambda x, y: 1 / (1 + mp.exp(y - x)), PAIRS),
    Record("exp2_share", lambda x, y: 1 / (1 + mp.mpf(2) ** (y - x)), PAIRS),
    Record("sigmoid", lambda x: 1 / (1 + mp.exp(-x)), EXPONENTIAL),
    Record("softplus", lambda x: mp.log1p(mp.exp(x)), EXPONENTIAL),
    Record("log_sigmoid", lambda x: -mp.log1p(mp.exp(-x)), UNIT | {"all": EXPONENTIAL["all"]}),
    Record(
        "log1mexp",
        lambda x: mp.log(-mp.expm1(x)) if x > -1 else mp.log1p(-mp.exp(x)),
        {
            "[-2, 0]": lambda t: uniform(-2, -1e-9),
            "tiny": lambda t: lambda rng, n, dtype: -magnitudes(t.least, 2.0**-8)(rng, n, dtype),
            "all": lambda t: uniform(t.exp_low, -1e-9),
        },
    ),
    Record("sin", mp.sin, TRIGONOMETRIC),
    Record("cos", mp.cos, TRIGONOMETRIC),
    Record("tan", mp.tan, TRIGONOMETRIC),
    Record("arcsin", mp.asin, BETWEEN),
    Record("arccos", mp.acos, BETWEEN),
    Record("arctan", mp.atan, {**UNIT, "[-4, 4]": lambda t: uniform(-4, 4), "all": whole()}),
    Record("arctan2", mp.atan2, PLANE),
    Record(
        "sinh",
        mp.sinh,
        {**UNIT, "[-20, 20]": lambda t: uniform(-20, 20)}
        | {"all": lambda t: uniform(-t.exp_high, t.exp_high)},
    ),
    Record(
        "cosh",
        mp.cosh,
        {**UNIT, "[-20, 20]": lambda t: uniform(-20, 20)}
        | {"all": lambda t: uniform(-t.exp_high, t.exp_high)},
    ),
    Record("tanh", mp.tanh, {**UNIT, "[-22, 22]": lambda t: uniform(-22, 22)}),
    Record("arcsinh", mp.asinh, {**UNIT, "[-9, 9]": lambda t: uniform(-9, 9), "all": whole()}),
    Record(
        "arccosh",
        mp.acosh,
        {
            "[1, 2]": lambda t: uniform(1, 2),
            "near 1": lambda t: uniform(1, 1.001),
            "all": lambda t: magnitudes(1, t.max),
        },
    ),
    Record("arctanh", mp.atanh, {**UNIT, "near 1": lambda t: uniform(0.99, 0.99999)}),
    Record("erf", mp.erf, {**UNIT, "[-6, 6]": lambda t: uniform(-6, 6)}),
    Record(
        "erfc",
        mp.erfc,
        {
            **UNIT,
            "negative": lambda t: uniform(-6, 0),
            "positive": lambda t: uniform(0.4, 26.5 if t.dtype == np.float64 else 9.1),
        },
    ),
    Record(
        "ndtr",
        mp.ncdf,
        {
            **UNIT,
            "positive": lambda t: uniform(0, 8),
            "negative": lambda t: uniform(-37.5 if t.dtype == np.float64 else -12.9, 0),
        },
    ),
    Record(
        "erfcx",
        lambda x: mp.exp(x * x) * mp.erfc(x),
        {
            **UNIT,
            "negative": lambda t: uniform(-26.6 if t.dtype == np.float64 else -9.3, 0),
            "positive": lambda t: uniform(0.4, 40),
        },
    ),
    Record(
        "log_ndtr",
        lambda x: mp.log1p(-mp.ncdf(-x)) if x > 0 else mp.log(mp.ncdf(x)),
        {
            **UNIT,
            "positive": lambda t: uniform(0, 37.5 if t.dtype == np.float64 else 12.9),
            "negative": lambda t: uniform(-60, 0),
        },
    ),
    Record(
        "gammaln",
        exact_gammaln,
        GAMMA
        | {"near 1": lambda t: near(1, 0.5), "near 2": lambda t: near(2, 0.5)}
        | {"negative": lambda t: negatives(t.least, 2.0**20)},
        one_of_negative,
    ),
    Record(
        "digamma",
        exact_digamma,
        GAMMA
        | {"near the zero": lambda t: near(1.4616321449683623, 0.4)}
        | {"negative": lambda t: negatives(4 / t.max, 2.0**20 + 0.5)},
        reflected_digamma,
    ),
    Record(
        "trigamma",
        exact_trigamma,
        {
            "[0, 2]": lambda t: uniform(1e-6, 2),
            "[0, 20]": lambda t: uniform(0.1, 20),
            "positive": lambda t: magnitudes(t.least, t.max),
            "[-20, 0]": lambda t: uniform(-20, 0),
            "near -3": lambda t: near(-3, 0.5),
            "negative": lambda t: negatives(t.least, 2.0**20),
        },
    ),
    Record(
        "xlogy", lambda x, y: x * mp.log(y), {"x > 0": lambda t: (uniform(0, 9), uniform(0.01, 9))}
    ),
    Record(
        "xlog1py",
        lambda x, y: x * mp.log1p(y),
        {"x > 0": lambda t: (uniform(0, 9), uniform(-0.9, 9))},
    ),
    Record(
        "round_half_away",
        lambda x: mp.sign(x) * mp.floor(abs(x) + 0.5),
        {"[-9, 9]": lambda t: uniform(-9, 9)},
    ),
]


@dataclass(frozen=True)
class Sample:
    """Inputs and exact results: each the sum of two float64."""

    inputs: tuple[Any, ...]
    high: Any
    low: Any
    ulp: Any


def ulps(magnitude, dtype):
    """Return the distance of neighbouring numbers of a dtype at magnitudes given as float64."""
    info = np.finfo(dtype)
    exponent = np.frexp(np.minimum(np.abs(magnitude), float(info.max)))[1] - 1
    return np.ldexp(1.0, np.maximum(exponent, info.minexp) - info.nmant)


def replace_chapter(title, following, text):
    """Write a chapter of the document, before another one, in place of what it was."""
    before, heading, after = DOCUMENT.read_text("utf-8").partition(following)
    before = before.partition(title)[0].rstrip()
    DOCUMENT.write_text(f"{before}\n\n{text}\n{heading}{after}", encoding="utf-8")


def sample(record, label, dtype, points):
    """Draw inputs, the same on each run, and compute exact results."""
    limits = LIMITS[dtype]
    rng = np.random.default_rng(zlib.crc32(f"{record.name} {label} {dtype}".encode()))
    draws = record.ranges[label](limits)
    draws = draws if isinstance(draws, tuple) else (draws,)
    inputs = tuple(draw(rng, points, limits.dtype) for draw in draws)
    high, low, scale = (np.empty(points) for _ in range(3))
    with mp.workprec(PRECISION):
        for i, numbers in enumerate(zip(*(x.tolist() for x in inputs), strict=True)):
            exact = [mp.mpf(number) for number in numbers]
            result = record.exact(*exact)
            high[i] = float(result)
            low[i] = float(result - mp.mpf(high[i])) if np.isfinite(high[i]) else 0.0
            scale[i] = max(abs(high[i]), float(record.scale(*exact))) if record.scale else high[i]
    return Sample(inputs, high, low, ulps(scale, limits.dtype))


def errors(exact, results, dtype):
    """Return errors in ulp; infinite where an overflow or a NaN is missed or made up."""
    largest = float(np.finfo(dtype).max)
    results = results.astype(np.float64)
    overflows = np.abs(exact.high) > largest
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs((results - exact.high) - exact.low) / exact.ulp
    error[np.isnan(exact.high) & np.isnan(results)] = 0.0
    error[overflows] = np.where(np.isinf(results[overflows]), 0.0, np.inf)
    return np.where(np.isnan(error), np.inf, error)


@cache
def compiled(name, nin, dtype, target):
    return elementwise(
        lambda b, *values: float_math(b, name, *values), [dtype] * nin, dtype, target=target
    )


def measure(record, label, dtype, target, points):
    """Return the largest error in ulp, and the inputs where it occurs."""
    exact = sample(record, label, dtype, points)
    function = compiled(record.name, len(exact.inputs), dtype, target)
    error = errors(exact, function(*exact.inputs), LIMITS[dtype].dtype)
    worst = int(np.argmax(error))
    return float(error[worst]), tuple(x[worst] for x in exact.inputs)


HEADER = """# Accuracy of the native backend's vector math

Largest errors in units in the last place (ulp) of the exact result, which mpmath computes; correct
rounding would be 0.5. {points} points were drawn in each range. *FMA* columns hold for CPUs with
fused multiply-add (x86-64-v3 and later, aarch64), the others for x86-64-v2.

All of these functions are at most 2 ulp off. The errors of `logaddexp` and `logaddexp2` are counted
in ulp of the larger of their inputs and result, because the sum may cancel; for negative numbers
those of `gammaln` in ulp of the larger of 1 and the result, and those of `digamma` in ulp of the
larger of digamma(1 - x) and the result, for the same reason. Zeros keep their signs;
infinities, NaN and subnormal numbers give what C gives. Beyond 2**39 (2**20 without FMA; float32:
2**28) sines, cosines and tangents are computed by libm. Other special functions call SciPy for each
element (gamma, Bessel ...), and are as accurate as SciPy, or code of their own: see
[Special functions](#special-functions).

This table is written by `benchmarks/accuracy.py`.

| function | range | float64, FMA | float64 | float32, FMA | float32 |
| --- | --- | --- | --- | --- | --- |
"""


def main(points, names):
    targets = (Target.host(), Target.named("x86-64-v2"))
    rows = []
    for record in RECORDS:
        if names and record.name not in names:
            continue
        for label in record.ranges:
            cells = []
            for dtype in LIMITS:
                for target in targets:
                    error, where = measure(record, label, dtype, target, points)
                    cells.append(f"{error:.2f}")
                    if error > 2:
                        print(f"{record.name} {label} {dtype} {target.name}: {error} at {where}")
            rows.append(f"| {record.name} | {label} | {' | '.join(cells)} |")
            print(rows[-1], flush=True)
    if not names:
        DOCUMENT.parent.mkdir(exist_ok=True)
        former = DOCUMENT.read_text("utf-8") if DOCUMENT.exists() else ""
        _, heading, chapters = former.partition("\n## ")  # which other programs write
        table = HEADER.format(points=f"{points:,}") + "\n".join(rows) + "\n"
        DOCUMENT.write_text(table + heading + chapters, encoding="utf-8")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000, sys.argv[2:])
