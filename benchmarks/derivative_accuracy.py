"""Measure how accurate derivatives are, and write "Derivatives" of docs/accuracy.md.

    python -m benchmarks.derivative_accuracy [points] [function ...]

The first and second derivatives of the smooth scalar functions, as ``grad`` builds them and the
default mode computes them, against mpmath. The records of benchmarks/derivative_records.py also
drive the tests, with fewer points.
"""

import sys
import zlib
from functools import cache

import mpmath as mp
import numpy as np

import phintys
import phintys.scalar.table as scalars
import phintys.tensor as pt
from benchmarks import accuracy
from benchmarks.accuracy import LIMITS, replace_chapter, ulps
from benchmarks.derivative_records import GOAL, SLOPES
from benchmarks.special_accuracy import SPECIAL

CHAPTER = "## Derivatives"
ORDERS = (1, 2)
# Bits. References are computed with twice as many until that changes nothing.
FIRST_PRECISION = 160
ENOUGH_FOR_ZERO = 5000
LAST_PRECISION = 20_000


def settled(function, x):
    """Return a value computed with so many digits that half of them change nothing."""
    former = None
    precision = FIRST_PRECISION
    while precision <= LAST_PRECISION:
        with mp.workprec(precision):
            value = function(*x)
            known = former is not None and abs(value - former) <= mp.ldexp(abs(value), -72)
            if known and (value or precision >= ENOUGH_FOR_ZERO):
                return value
            former, precision = value, 2 * precision
            if not value:  # all digits may have cancelled
                precision = max(precision, ENOUGH_FOR_ZERO)
    return mp.nan


@cache
def compiled(name, by, dtype, nin):
    """Return a function that computes the first and the second derivative by an argument."""
    xs = [pt.vector(dtype=dtype) for _ in range(nin)]
    y = pt.Elemwise(getattr(scalars, name))(*xs)
    first = phintys.grad(y.sum(), xs[by])
    second = phintys.grad(first.sum(), xs[by], disconnected_inputs="ignore")
    return phintys.function(xs, [first, second], on_unused_input="ignore")


def sample(slope, label, dtype, order, points):
    """Draw arguments, the same on each run and for each order, and compute exact derivatives."""
    limits = LIMITS[dtype]
    rng = np.random.default_rng(zlib.crc32(f"{slope.name} {label} {dtype}".encode()))
    draws = slope.ranges[label](limits)
    draws = draws if isinstance(draws, tuple) else (draws,)
    inputs = tuple(draw(rng, points, limits.dtype) for draw in draws)
    high, low, scale = (np.empty(points) for _ in range(3))
    function, magnitude = slope.derivative(order), slope.scales[order - 1]
    for i, numbers in enumerate(zip(*(x.tolist() for x in inputs), strict=True)):
        arguments = [mp.mpf(number) for number in numbers]
        result = settled(function, arguments)
        high[i] = float(result)
        with mp.workprec(400):
            low[i] = float(result - mp.mpf(high[i])) if np.isfinite(high[i]) else 0.0
        least = abs(float(magnitude(*arguments))) if magnitude else 0.0
        scale[i] = max(abs(high[i]), least)
    return accuracy.Sample(inputs, high, low, ulps(scale, limits.dtype))


def measure(slope, label, dtype, order, points):
    """Return the largest and the median error in ulp, and the arguments of the largest."""
    exact = sample(slope, label, dtype, order, points)
    function = compiled(slope.name, slope.by, dtype, len(exact.inputs))
    found = function(*exact.inputs)[order - 1]
    error = accuracy.errors(exact, found, LIMITS[dtype].dtype)
    worst = int(np.argmax(error))
    return float(error[worst]), float(np.median(error)), tuple(x[worst] for x in exact.inputs)


def row(slope, label, points):
    """Return a line of the table."""
    parameters = getattr(scalars, slope.name).parameters
    cells, missed = [], False
    for dtype in LIMITS:
        for order in ORDERS:
            error, median, where = measure(slope, label, dtype, order, points)
            cells.append(f"{error:.3g}")
            if order == 1:
                cells.append(f"{median:.2g}")
                missed |= error > GOAL
            if error > slope.limits[order - 1]:
                print(f"{slope.name} {label} {dtype} {order}: {error} at {where}", file=sys.stderr)
    by = parameters[slope.by]
    mark = "missed" if missed else ""
    return f"| {slope.name} | {by} | {label} | {' | '.join(cells)} | {mark} |"


HEADER = f"""{CHAPTER}

Largest errors in ulp of the exact derivatives, which mpmath computes, of {{points:,}} arguments
drawn in each range, and the medians of those of the first derivative. They are computed by what
`grad` builds, in the default mode. The goal is {GOAL} ulp for the first derivative; ranges in
which it is not met are marked as *missed*. Second derivatives have no goal: that of a sum of terms
has a zero where they cancel, near which an error that is small beside them is large in ulp.

Some errors count in ulp of a larger magnitude than the result: those of `tanh` in ulp of 1, because
1 - tanh(x)**2 is a difference, and another exponential would make it slower; those of `xlogx`,
`entr` and `rel_entr` by x in ulp of 1, because log(x) + 1 is 0 at 1 / e, and another logarithm, of
the distance to it, would make them slower; the second of `expi` and `cosine_integral` in ulp of
their terms, exp(x) / x and 1 / x, which cancel; the second of `sigmoid` in ulp of the first; those
of `gamma` and `factorial` in ulp of the function, those of `gammaln` as its own; those of Bessel
functions and `sinc` in ulp of their amplitude 1 / sqrt(x); of `i0e` and `i1e` in ulp of 0.5 / (1 +
x)**(3/2); of Fresnel integrals in ulp of 1, and of `dawsn` below 2, where its derivative has a
zero, too; those of `ive` in ulp of the larger of the terms whose difference it is, (v + 1/2) ive(v,
x) / x, for it is 0 near x = v**2.

What is missed, and why: the square of x is rounded in the exponent of `erf`, where the exact one
would make a common gradient slower, and that of a h in `owens_t`; an error of the argument is
multiplied by the exponent there, which is the condition number of the function: measured by that,
these derivatives have all digits that their arguments determine. That of `gammainc` in a is a
product with `log_gamma_slope`. The derivatives of hypergeometric functions are multiples of values,
those of `hyp2f1` SciPy's. That of `arctan2` is missed where the distance from 0 is subnormal; it
overflows from a quarter of the smallest normal distance on. Where a second derivative overflows, it
may be infinite early, or NaN: that of `pow` by x is where x**(y - 2) overflows, whatever it is
multiplied by.

This chapter is written by `benchmarks/derivative_accuracy.py`.

| function | by | range | float64 | median | second | float32 | median | second | |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""


def main(points, names):
    rows = []
    for slope in SLOPES:
        for label in slope.ranges:
            if not names or slope.name in names:
                rows.append(row(slope, label, points))
                print(rows[-1], flush=True)
    if not names:
        table = HEADER.format(points=points) + "\n".join(rows) + "\n"
        replace_chapter(CHAPTER, SPECIAL, table)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100, sys.argv[2:])
