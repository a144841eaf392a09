"""Values that other programs compute with fewer digits, which were taken for errors of ours."""

import mpmath
import numpy as np
import pytest

import phintys
import phintys.tensor as pt


@pytest.mark.parametrize("mode", ["native", "reference"])
def test_zeta_of_hurwitz_beside_its_terms(mode):
    """mpmath needs ten times the digits that it is asked for here."""
    x = np.array([22.221803914990684, 21.993492167610093, 30.0, 1.0004644688880213])
    q = np.array([355.8697747137715, 71.92877704729707, 1935.0, 0.13412548625547804])
    a, b = pt.dvectors("a", "b")
    found = phintys.function([a, b], pt.special.zeta(a, b), mode=mode)(x, q)
    with mpmath.workdps(200):
        exact = [
            float(mpmath.zeta(*map(mpmath.mpf, pair)))
            for pair in zip(x.tolist(), q.tolist(), strict=True)
        ]
    np.testing.assert_allclose(found, exact, rtol=1e-15)


@pytest.mark.parametrize("mode", ["native", "reference"])
def test_owens_t_loses_no_more_than_its_argument_does_far_out(mode):
    """The derivative of log(T) in log(h) is about -h**2; the integral is scaled, as it is tiny."""
    h = np.array([0.5, 3.0, 10.0, 20.0, 30.0, 37.0])
    a = np.array([2.0, 0.5, 2.0, 0.3, 1.0, 0.01])
    v, w = pt.dvectors("v", "w")
    found = phintys.function([v, w], pt.special.owens_t(v, w), mode=mode)(h, a)
    with mpmath.workdps(30):
        for one, x, y in zip(found, map(mpmath.mpf, h.tolist()), a, strict=True):
            places = mpmath.linspace(0, min(y, 14 / x), 5)
            inner = mpmath.quad(
                lambda t, x=x: mpmath.exp(-((x * t) ** 2) / 2) / (1 + t * t), places
            )
            exact = mpmath.exp(-x * x / 2) * inner / (2 * mpmath.pi)
            assert abs(one / exact - 1) < 2.3e-16 * (4 + x * x), (x, y)
