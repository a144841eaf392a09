"""Derivatives of digamma have their digits, beside mpmath."""

import mpmath
import numpy as np
import pytest
import scipy.special

import phintys
import phintys.tensor as pt

EPS = np.finfo(float).eps


@pytest.fixture(scope="module", params=["native", "reference"])
def polygamma(request):
    n, x = pt.lvector("n"), pt.dvector("x")
    return phintys.function([n, x], pt.special.polygamma(n, x), mode=request.param)


def test_polygamma_has_its_digits(polygamma):
    rng = np.random.default_rng(8)
    n = rng.integers(1, 21, 60)
    x = 10 ** rng.permutation(np.linspace(-8, 6, 60))
    found = polygamma(n, x)
    with mpmath.workdps(60):
        for order, at, one in zip(n.tolist(), x.tolist(), found.tolist(), strict=True):
            exact = mpmath.polygamma(order, mpmath.mpf(at))
            assert abs(one - exact) <= 2 * EPS * abs(exact), (order, at)


def test_polygamma_goes_on_as_scipy_does(polygamma):
    n = np.array([0, 0, 1, 1, 1, 2, 2, 3, 21, 25, 170, 1])
    x = np.array([2.0, -0.5, 0.0, -0.5, np.inf, 1e300, -1.5, np.nan, 3.0, 0.5, 9.0, -3.0])
    np.testing.assert_allclose(polygamma(n, x), scipy.special.polygamma(n, x), rtol=1e-14)
