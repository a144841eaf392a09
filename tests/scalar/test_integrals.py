"""Factorials, exponential integrals, and derivatives of others, at extreme arguments."""

from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special

import phintys
import phintys.tensor as pt

EPS = np.finfo(float).eps
FACTORIAL: Any = mpmath.factorial
MODES = pytest.mark.parametrize("mode", ["native", "reference"])


@MODES
def test_factorials(mode):
    n = pt.dvector("n")
    f = phintys.function([n], pt.special.factorial(n), mode=mode)
    places = np.array([0.0, -0.0, 1.0, 20.0, 170.0, 171.0, 1e300, -1.0, 5e-324, np.inf, np.nan])
    np.testing.assert_allclose(f(places), scipy.special.factorial(places), rtol=4 * EPS)
    places = np.array([1e-9, 0.3, 7.7, 19.99, 60.25, 169.9])
    with mpmath.workdps(40):
        exact = [float(FACTORIAL(mpmath.mpf(place))) for place in places.tolist()]
    # The reference is SciPy's.
    np.testing.assert_allclose(f(places), exact, rtol=4 * EPS if mode == "native" else 64 * EPS)


@MODES
def test_slopes_of_fresnel_integrals_keep_the_digits_of_the_phase(mode):
    x = pt.dvector("x")
    integrals = [pt.special.fresnel_sine(x), pt.special.fresnel_cosine(x)]
    slopes = [phintys.grad(one.sum(), x) for one in integrals]
    places = np.array([1e-200, 0.5, 8.999, 33.333, -1234.567, 2e7])
    sine, cosine = phintys.function([x], slopes, mode=mode)(places)
    with mpmath.workdps(60):
        squares = [mpmath.mpf(place) ** 2 / 2 for place in places.tolist()]
        expected = [[float(mpmath.sinpi(one)), float(mpmath.cospi(one))] for one in squares]
    np.testing.assert_allclose(np.transpose([sine, cosine]), expected, rtol=0, atol=4 * EPS)


@MODES
def test_slopes_of_dawson_integrals_do_not_cancel(mode):
    x = pt.dvector("x")
    slope = phintys.grad(pt.special.dawsn(x).sum(), x)
    places = np.array([0.0, 1.499, 1.501, -3.0, 3.999, 4.001, 9.999, 10.001, -1e8, 1e150])
    found = phintys.function([x], slope, mode=mode)(places)
    with mpmath.workdps(60):
        for one, at in zip(found.tolist(), map(mpmath.mpf, places.tolist()), strict=True):
            if abs(at) < 1e3:
                dawson = mpmath.exp(-at * at) * mpmath.erfi(at) * mpmath.sqrt(mpmath.pi) / 2
                exact = 1 - 2 * at * dawson
            else:
                exact = -1 / (2 * at * at)
            scale = abs(exact) if abs(at) > 2 else 1  # it is 0 at 0.92
            assert abs(one - exact) <= 4 * EPS * scale, at


@MODES
def test_exponential_integrals_of_whole_orders_have_their_digits(mode):
    n, x = pt.lvector("n"), pt.dvector("x")
    f = phintys.function([n, x], pt.special.expn(n, x), mode=mode)
    rng = np.random.default_rng(5)
    # Next to the ends of the parts with fewer places too.
    orders = np.concatenate([rng.integers(0, 9, 40), [0, 1, 2, 5, 300, 10**6, 1, 2]])
    places = np.concatenate(
        [10 ** rng.uniform(-2, 2.5, 40), [0.5, 0.5, 1.0, 4.0, 0.7, 3.0, 0.999, 3.999]]
    )
    found = f(orders, places)
    with mpmath.workdps(40):
        for order, at, one in zip(orders.tolist(), places.tolist(), found.tolist(), strict=True):
            exact = mpmath.expint(order, mpmath.mpf(at))
            assert abs(one - exact) <= 4 * EPS * exact, (order, at)
    ends = f([0, 1, 2, 3, 0, 1, -1], [0.0, 0.0, 0.0, np.inf, np.inf, -1.0, 2.0])
    np.testing.assert_array_equal(ends, [np.inf, np.inf, 1, 0, 0, np.nan, np.nan])
