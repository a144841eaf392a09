"""The beta function, its logarithm and binomial coefficients, beside mpmath."""

import mpmath
import numpy as np
import pytest
import scipy.special

import phintys
import phintys.tensor as pt

EPS = np.finfo(float).eps


def log_beta(x, y):
    return mpmath.loggamma(x) + mpmath.loggamma(y) - mpmath.loggamma(x + y)


EXACT = {
    "betaln": log_beta,
    "beta": lambda x, y: mpmath.exp(log_beta(x, y)),
    "binom": lambda n, k: mpmath.exp(-log_beta(k + 1, n - k + 1)) / (n + 1),
}
# exponents of ten of the arguments
RANGES = {
    "betaln": [(-5, 12, -5, 12), (1, 3, 1, 3), (8, 9, -9, 2), (-60, 60, -60, 60)],
    "beta": [(3, 9, -3, 1), (1, 2.4, 1, 2.4), (20, 60, -2, 0)],
    "binom": [(2.2, 7, -1, 1.4), (2.2, 2.6, 1, 1.8), (2.2, 12, -3, 0.9)],
}


@pytest.fixture(scope="module", params=["native", "reference"])
def functions(request):
    x, y = pt.dvectors("x", "y")
    outputs = [getattr(pt.special, name)(x, y) for name in EXACT]
    f = phintys.function([x, y], outputs, mode=request.param)
    return lambda a, b: dict(zip(EXACT, f(a, b), strict=True))


@pytest.mark.parametrize("name", EXACT)
def test_digits_of_large_arguments(name, functions, repeats):
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
                # exponentials lose what their logarithms, or terms of these, lose
                lost = max(1, abs(exact)) if name == "betaln" else abs(exact)
                if name != "betaln":
                    lost *= 1 + max(
                        abs(mpmath.log(exact)), mpmath.log(float(a)) if name == "binom" else 0
                    )
                assert abs(float(one) - exact) <= 16 * EPS * lost, (name, a, b)


def test_other_arguments_are_as_in_scipy(functions):
    x = np.array([0.5, 5.0, -1.5, np.nan, np.inf, 200.0, 0.0, 30.0, -300.5])
    y = np.array([2.0, 3.0, 0.7, 1.0, 1.0, 3.0, 20.0, -2.5, 400.25])
    with np.errstate(all="ignore"):
        found = functions(x, y)
        for name in EXACT:
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
