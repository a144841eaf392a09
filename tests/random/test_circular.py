"""The von Mises distribution."""

import numpy as np
import pytest
import scipy.stats as st

import phintys
import phintys.tensor as pt
from phintys import random
from phintys._base.errors import MethodNotDefinedError

KAPPA = np.array([0.0, 0.3, 4.0, 900.0])


def test_density_and_entropy():
    x, twin = np.linspace(-3, 3, 7)[:, None], st.vonmises(KAPPA[1:], 0.5)
    distribution = random.VonMises(0.5, KAPPA[1:])
    f = phintys.function([], [random.logp(distribution, x), random.entropy(distribution)])
    for result, wanted in zip(f(), (twin.logpdf(x), twin.entropy()), strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-9)
    with pytest.raises(MethodNotDefinedError, match="VonMises has no closed quantile function"):
        random.icdf(distribution, 0.5)


def test_draws_and_their_derivatives():
    r, kappa = random.rng("r"), pt.dvector("kappa")
    _, draw = r.vonmises(0.5, kappa, size=(3000, 4))
    slope = phintys.gradient.Rop(draw, kappa, pt.ones_like(kappa))
    made, slopes = phintys.function([r, kappa], [draw, slope])(random.state(4), KAPPA)
    same = phintys.function([r, kappa], draw, mode="FAST_COMPILE")(random.state(4), KAPPA)
    np.testing.assert_allclose(made, same, rtol=1e-10, atol=1e-13)
    assert (abs(made) <= np.pi).all()
    angles = np.mod(made - 0.5 + np.pi, 2 * np.pi) - np.pi
    for i, each in enumerate(KAPPA):
        twin = st.vonmises(each) if each else st.uniform(-np.pi, 2 * np.pi)
        assert st.kstest(angles[:, i], twin.cdf).pvalue > 1e-5
    # SciPy's distribution function is precise below a concentration of 50.
    for i in (1, 2):
        angle, step = angles[:200, i], 1e-4
        change = st.vonmises.cdf(angle, KAPPA[i] + step) - st.vonmises.cdf(angle, KAPPA[i] - step)
        wanted = -change / (2 * step) / st.vonmises.pdf(angle, KAPPA[i])
        np.testing.assert_allclose(slopes[:200, i], wanted, rtol=1e-5, atol=1e-7)
    # For a large concentration, angles are normal numbers over its root.
    np.testing.assert_allclose(slopes[:, 3], -angles[:, 3] / 1800, rtol=0.02, atol=1e-6)
