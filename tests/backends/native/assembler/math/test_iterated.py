"""Functions that iterate until all lanes have converged, against numbers of 40 digits."""

import numpy as np
import pytest

from phintys.backends.native.assembler.operations import emit
from phintys.scalar.table import SCALAR_OPS
from tools.native_functions import elementwise

mpmath = pytest.importorskip("mpmath")

SHAPES = [1e-3, 0.5, 1.0, 30.0, 8e3, 1.1e5]
DEVIATIONS = [-6.0, 0.5, 6.0]


def compute(name, *inputs):
    dtypes = ["f8"] * len(inputs)
    return elementwise(lambda b, *values: emit(b, name, values, "f8"), dtypes, "f8")(*inputs)


def exact_slope(a, t):
    """Return the slope from the series of P and its derivative."""
    a, t = mpmath.mpf(a), mpmath.mpf(t)
    x = mpmath.exp(t)
    term = total = mpmath.mpf(1)
    h = weighted = mpmath.mpf(0)
    place = a
    while place < x or term > total * mpmath.mpf(10) ** -30:
        place += 1
        term *= x / place
        h += 1 / place
        total += term
        weighted += term * h
    return (weighted - total * (t - mpmath.digamma(a + 1))) / a


def test_slopes_of_gamma_quantiles():
    a, z = (part.ravel() for part in np.meshgrid(SHAPES, DEVIATIONS))
    t = np.log(a) + z / np.sqrt(a + 4)
    with mpmath.workdps(40):
        expected = np.array([float(exact_slope(*point)) for point in zip(a, t, strict=True)])
    assert np.allclose(compute("log_gamma_slope", a, t), expected, rtol=1e-11, atol=0)


def test_zeta():
    x, q = (part.ravel() for part in np.meshgrid([1.01, 2, 3.9, 9.3, 20, 60], [0.1, 1, 9.99, 63]))
    with mpmath.workdps(150):
        expected = np.array([float(mpmath.zeta(*point)) for point in zip(x, q, strict=True)])
    assert np.all(np.abs(compute("zeta", x, q) - expected) <= 4 * np.spacing(expected))


@pytest.mark.parametrize(("name", "function"), [("ive", "besseli"), ("kve", "besselk")])
def test_slopes_of_modified_bessel_functions(name, function):
    v, x = (part.ravel() for part in np.meshgrid([0.3, 2, 17.5, 42, 63], [0.25, 0.9, 6, 31, 70]))
    growth = {"ive": -1, "kve": 1}[name]
    with mpmath.workdps(40):
        value = getattr(mpmath, function)
        exact = []
        for order, at in zip(map(mpmath.mpf, v), map(mpmath.mpf, x), strict=True):
            below, above = value(order - 1, at), value(order + 1, at)
            exact.append(growth * (1 - (below + above) / 2 / value(order, at)))
        exact = np.array(exact, float)
    row = SCALAR_OPS[f"log_{name}_slope"]
    for found in (compute(row.name, v, x), [row.impl(*point) for point in zip(v, x, strict=True)]):
        assert np.all(np.abs(found - exact) <= 1e-14 * np.maximum(np.abs(exact), v / x))


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "u8", "i8"])
def test_divisors_at_all_edges(dtype):
    info = np.iinfo(dtype)
    numbers = {0, 1, 6, 12, 89, 55, info.max, info.max - 1, info.min, info.min + 1}
    x, y = (part.ravel() for part in np.meshgrid(*[np.array(sorted(numbers), dtype)] * 2))
    for name, expected in (("gcd", np.gcd(x, y)), ("lcm", np.lcm(x, y))):
        result = elementwise(lambda b, *v, name=name: emit(b, name, v, dtype), [dtype] * 2, dtype)
        assert np.array_equal(result(x, y), expected), name
