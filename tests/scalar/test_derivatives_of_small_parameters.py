"""Derivatives by formulas that one small parameter would cancel, or one at 0 make infinite."""

import mpmath as mp
import numpy as np
import pytest

import phintys
import phintys.tensor as pt

MODES = pytest.mark.parametrize("mode", ["native", "reference"])
EPS = np.finfo(float).eps
BESSEL = {
    "iv": (mp.besseli, lambda v, x: v / x * mp.besseli(v, x) + mp.besseli(v + 1, x)),
    "jv": (mp.besselj, lambda v, x: v / x * mp.besselj(v, x) - mp.besselj(v + 1, x)),
    "kv": (mp.besselk, lambda v, x: v / x * mp.besselk(v, x) - mp.besselk(v + 1, x)),
}


def evaluated(build, by, arrays, mode):
    variables = [pt.dvector() for _ in arrays]
    slope = phintys.grad(build(*variables).sum(), variables[by])
    return phintys.function(variables, slope, mode=mode)(*arrays)


def drawn(first, second):
    return [part.ravel() for part in np.meshgrid(first, second)]


@MODES
@pytest.mark.parametrize("name", BESSEL)
def test_bessel_functions_of_small_orders(name, mode):
    """The order less 1 has lost all digits of a small order."""
    v, x = drawn([1e-300, 1e-20, 1e-12, 1e-5, 0.01, 0.3, 0.49], [1e-9, 1e-3, 0.2, 0.49, 0.51, 3.0])
    found = evaluated(getattr(pt.special, name), 1, (v, x), mode)
    with mp.workdps(80):
        for one, order, at in zip(found.tolist(), v.tolist(), x.tolist(), strict=True):
            exact = BESSEL[name][1](mp.mpf(order), mp.mpf(at))
            largest = max(abs(exact), abs(mp.mpf(order) / at * BESSEL[name][0](order, at)))
            assert abs(one - exact) <= 8 * EPS * largest, (order, at)


@MODES
@pytest.mark.parametrize("name", ["boxcox", "boxcox1p"])
def test_power_transforms_of_0_by_the_power(name, mode):
    """The logarithm is infinite there, and cancels: of ``-1 / power`` the slope is left."""
    powers = np.array([1e-3, 0.5, 1.0, 3.0, 40.0])
    at = np.zeros(5) if name == "boxcox" else np.full(5, -1.0)
    found = evaluated(getattr(pt, name), 1, (at, powers), mode)
    np.testing.assert_allclose(found, 1 / powers**2, rtol=1e-15)
    # Next to it, where the power is 0 or nothing of it is left.
    if name == "boxcox":
        found = evaluated(pt.boxcox, 1, (np.full(4, 1e-300), np.array([0.5, 1.0, 3.0, 40.0])), mode)
        with mp.workdps(60):
            t = [mp.mpf(p) * mp.log(mp.mpf(1e-300)) for p in (0.5, 1.0, 3.0, 40.0)]
            exact = [
                float((mp.exp(one) * (one - 1) + 1) / p**2)
                for one, p in zip(t, (0.5, 1.0, 3.0, 40.0), strict=True)
            ]
        np.testing.assert_allclose(found, exact, rtol=1e-14)


@MODES
@pytest.mark.parametrize("by", [0, 1])
@pytest.mark.parametrize("name", ["beta", "betaln"])
def test_beta_functions_of_tiny_arguments(name, by, mode):
    """The product of both parameters underflows, and so does the difference of digammas."""
    a, b = drawn([1e-200, 1e-160, 1e-30, 1e-3, 2.0], [1e-200, 1e-150, 1e-9, 0.5, 30.0])
    found = evaluated(getattr(pt.special, name), by, (a, b), mode)
    with mp.workdps(260):
        for one, *point in zip(found.tolist(), a.tolist(), b.tolist(), strict=True):
            p, q = mp.mpf(point[by]), mp.mpf(point[1 - by])
            exact = mp.digamma(p) - mp.digamma(p + q)
            exact *= mp.beta(p, q) if name == "beta" else 1
            if abs(exact) > 1e308:
                assert one == -np.inf, point
            else:
                assert abs(one - exact) <= 8 * EPS * abs(exact), point
