"""The derivatives of the incomplete beta function in its parameters."""

import numpy as np
import pytest

import phintys.scalar as ps

# a, b, x, and both derivatives to 17 digits, from differences of integrals in 50 digits.
POINTS = [
    (0.5, 2.5, 0.05, -0.7934278104521199, 0.07516687281783697),
    (2.0, 3.0, 0.5, -0.1952886866349624, 0.1541084939249829),
    (5.0, 0.5, 0.95, -0.04583412294226542, 0.7785175329621885),
    (1.0, 1.0, 0.3, -0.3611918412977808, 0.24967246075711266),
    (40.0, 60.0, 0.41, -0.04750126636383834, 0.03228590089926871),
    (0.001, 2.0, 0.6, -0.11097325155374863, 0.00015086627523030625),
    (300.0, 7.0, 0.98, -0.0032411766514128687, 0.15190710062672602),
]


@pytest.mark.parametrize(("a", "b", "x", "by_a", "by_b"), POINTS)
def test_derivatives_by_the_parameters(a, b, x, by_a, by_b):
    found = [row.impl(*map(np.float64, (a, b, x))) for row in (ps.betainc_by_a, ps.betainc_by_b)]
    np.testing.assert_allclose(found, [by_a, by_b], rtol=1e-13)


def test_far_from_the_mean_and_among_others():
    a, b, x = np.array([[15000, 1.25, 0.999], [1.5, 12500, 0.001], [2.0, 3.0, 0.5]]).T
    by_a = [-6.5954322569556673e-10, -3.9375637199591709e-5, -0.1952886866349624]
    by_b = [2.008497927784773e-6, 1.4782043391986095e-8, 0.1541084939249829]
    np.testing.assert_allclose(ps.betainc_by_a.impl(a, b, x), by_a, rtol=1e-11)
    np.testing.assert_allclose(ps.betainc_by_b.impl(a, b, x), by_b, rtol=1e-11)


def test_ends_and_outside():
    by_a = ps.betainc_by_a.impl
    assert by_a(2.0, 3.0, np.array([0.0, 1.0])).tolist() == [0, 0]
    assert np.isnan(by_a(2.0, np.array([-1.0, 1.0, np.nan]), np.array([0.5, 1.5, 0.5]))).all()
