"""Bessel functions far out keep the digits of their phase, beside mpmath."""

import mpmath
import numpy as np
import pytest
import scipy.special

import phintys
import phintys.tensor as pt


@pytest.mark.parametrize("mode", ["native", "reference"])
def test_errors_are_small_beside_the_amplitude(mode):
    rng = np.random.default_rng(2)
    x = np.concatenate([25 + rng.exponential(10, 20), 10 ** rng.uniform(2, 15, 40)])
    x *= rng.choice([-1, 1], len(x))
    v = pt.dvector("v")
    found = phintys.function([v], [pt.special.j0(v), pt.special.j1(v)], mode=mode)(x)
    with mpmath.workdps(60):
        for order, values in enumerate(found):
            for one, at in zip(values, x, strict=True):
                exact = mpmath.besselj(order, mpmath.mpf(float(at)))
                amplitude = (2 / np.pi / abs(at)) ** 0.5
                assert abs(float(one) - exact) < 5e-16 * amplitude, (order, at)


@pytest.mark.parametrize("mode", ["native", "reference"])
def test_other_numbers_are_as_in_scipy(mode):
    x = np.array([0.0, -0.0, 5e-324, 3.5, -24.9, np.inf, -np.inf, np.nan])
    v = pt.dvector("v")
    found = phintys.function([v], [pt.special.j0(v), pt.special.j1(v)], mode=mode)(x)
    np.testing.assert_array_equal(found, [scipy.special.j0(x), scipy.special.j1(x)])
