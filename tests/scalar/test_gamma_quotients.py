"""Quotients of gamma functions and powers, beside mpmath: beta functions, densities."""

import mpmath
import numpy as np
import pytest
import scipy.special

import phintys
import phintys.tensor as pt
from phintys.scalar import SCALAR_OPS

EPS = np.finfo(float).eps


def log_beta(x, y):
    return mpmath.loggamma(x) + mpmath.loggamma(y) - mpmath.loggamma(x + y)


EXACT = {
    "betaln": log_beta,
    "beta": lambda x, y: mpmath.exp(log_beta(x, y)),
    "binom": lambda n, k: mpmath.exp(-log_beta(k + 1, n - k + 1)) / (n + 1),
    "poch": lambda z, m: mpmath.exp(mpmath.loggamma(z + m) - mpmath.loggamma(z)),
    "gamma_density": lambda a, x: mpmath.exp((a - 1) * mpmath.log(x) - x - mpmath.loggamma(a)),
}
# exponents of ten of the arguments
RANGES = {
    "betaln": [(-5, 12, -5, 12), (1, 3, 1, 3), (8, 9, -9, 2), (-60, 60, -60, 60)],
    "beta": [(3, 9, -3, 1), (1, 2.4, 1, 2.4), (20, 60, -2, 0), (-300, 1, -6, 1), (-1, 1, -1, 1)],
    "binom": [(2.2, 7, -1, 1.4), (2.2, 2.6, 1, 1.8), (2.2, 12, -3, 0.9), (0.3, 2, -3, 0.3)],
    "poch": [(-6, 1, -3, 1), (2, 10, -3, 1), (-300, -1, -3, 1), (0, 17, -6, 0)],
    "gamma_density": [(-5, 2, -5, 2), (2.9, 3.1, 2.9, 3.1), (-300, 0, -300, 2), (0, 1, -200, 1)],
}


@pytest.fixture(scope="module", params=["native", "reference"])
def functions(request):
    x, y = pt.dvectors("x", "y")
    outputs = [pt.Elemwise(SCALAR_OPS[name])(x, y) for name in EXACT]
    f = phintys.function([x, y], outputs, mode=request.param)
    return lambda a, b: dict(zip(EXACT, f(a, b), strict=True))


@pytest.mark.parametrize("name", EXACT)
def test_digits(name, functions, repeats):
    rng = np.random.default_rng(7)
    for first_least, first_most, second_least, second_most in RANGES[name]:
        count = repeats(40, 4_000)
        x = 10.0 ** rng.uniform(first_least, first_most, count)
        y = 10.0 ** rng.uniform(second_least, second_most, count)
        with np.errstate(all="ignore"):
            found = functions(x, y)[name]
        with mpmath.workdps(160):
            for one, a, b in zip(found, x, y, strict=True):
                exact = EXACT[name](mpmath.mpf(float(a)), mpmath.mpf(float(b)))
                if not 1e-290 < abs(exact) < 1e290:
                    continue
                bound = 16 * max(1, abs(exact)) if name == "betaln" else 2 * abs(exact)
                assert abs(float(one) - exact) <= EPS * bound, (name, a, b)


@pytest.mark.parametrize("mode", ["native", "reference"])
def test_digits_of_densities_near_their_modes(mode):
    rng = np.random.default_rng(3)
    shape = 10.0 ** rng.uniform(-1, 12, 40)
    other = 10.0 ** rng.uniform(-1, 6, 40)
    near = abs(shape + 2 * np.sqrt(shape) * rng.normal(size=40)) + 1e-3
    share = np.clip(rng.beta(np.minimum(shape, 1e6), other), 1e-9, 1 - 1e-9)
    a, b, x, p = pt.dvectors("a", "b", "x", "p")
    densities = [
        pt.Elemwise(SCALAR_OPS["gamma_density"])(a, x),
        pt.Elemwise(SCALAR_OPS["beta_density"])(a, b, p),
    ]
    first = phintys.function([a, x], densities[0], mode=mode)(shape, near)
    shape = np.minimum(shape, 1e6)
    second = phintys.function([a, b, p], densities[1], mode=mode)(shape, other, share)
    with mpmath.workdps(60):
        for i, found in enumerate(second):
            k, m, y = (mpmath.mpf(float(one[i])) for one in (shape, other, share))
            exact = mpmath.exp(
                (k - 1) * mpmath.log(y) + (m - 1) * mpmath.log1p(-y) - log_beta(k, m)
            )
            if exact > 1e-290:
                assert abs(found - exact) < 8 * EPS * exact, (k, m, y)
    shape = 10.0 ** np.random.default_rng(3).uniform(-1, 12, 40)
    with mpmath.workdps(60):
        for i, found in enumerate(first):
            exact = EXACT["gamma_density"](mpmath.mpf(float(shape[i])), mpmath.mpf(float(near[i])))
            assert abs(found - exact) < 16 * EPS * exact, (shape[i], near[i])


@pytest.mark.parametrize("mode", ["native", "reference"])
def test_densities_at_ends_and_outside(mode):
    a, b, x = pt.dvectors("a", "b", "x")
    gamma = phintys.function([a, x], pt.Elemwise(SCALAR_OPS["gamma_density"])(a, x), mode=mode)
    inf = np.inf
    places = [
        (0.5, 0),
        (1, 0),
        (2, 0),
        (2, inf),
        (0, 1),
        (2, -1),
        (-1, 1),
        (np.nan, 1),
        (2, 1e-320),
    ]
    expected = [inf, 1, 0, 0, 0, np.nan, np.nan, np.nan, 1e-320]
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(gamma(*np.transpose(places)), expected)
    beta = phintys.function([a, b, x], pt.Elemwise(SCALAR_OPS["beta_density"])(a, b, x), mode=mode)
    places = [(0.5, 2, 0), (1, 3, 0), (2, 3, 0), (3, 1, 1), (3, 0.5, 1), (1, 1, 0.5), (-1, 1, 0.5)]
    expected = [inf, 3, 0, 3, inf, 1, np.nan]
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(beta(*np.transpose(places)), expected)


def test_other_arguments_are_as_in_scipy(functions):
    x = np.array([0.5, 5.0, -1.5, np.nan, np.inf, 200.0, 0.0, 30.0, -300.5])
    y = np.array([2.0, 3.0, 0.7, 1.0, 1.0, 3.0, 20.0, -2.5, 400.25])
    with np.errstate(all="ignore"):
        found = functions(x, y)
        for name in ("beta", "betaln", "binom", "poch"):
            np.testing.assert_allclose(found[name], getattr(scipy.special, name)(x, y), rtol=1e-11)


def test_denormal_and_huge_arguments(functions):
    x = np.array([5e-324, 12.0, 1e308, 1e300])
    y = np.array([12.0, 5e-324, 1e308, 1e300])
    with mpmath.workdps(700):
        wanted = [
            float(log_beta(*map(mpmath.mpf, map(float, pair)))) for pair in zip(x, y, strict=True)
        ]
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(functions(x, y)["betaln"], wanted, rtol=1e-14)
