"""Derivatives of draws from the von Mises-Fisher distribution in its concentration."""

import numpy as np
import pytest
import scipy.integrate
import scipy.special

import phintys
import phintys.tensor as pt
from phintys import random
from phintys.random.distributions.directions import von_mises_fisher_slope

CASES = [(0.0, 3), (1e-3, 2), (0.5, 2), (2.0, 3), (20.0, 3), (30.0, 12), (900.0, 4), (0.7, 50)]


def _quantile_slope(kappa, size, cosine):
    """Return -(dF/dkappa) / density, by integrals of adaptive accuracy."""
    angle = np.arccos(cosine)

    def log_density(s):
        return kappa * np.cos(s) + (size - 2) * np.log(np.sin(s))

    most = max(log_density(s) for s in np.linspace(1e-6, np.pi - 1e-6, 20_001))

    def integral(weight, start):
        def integrand(s):
            return weight(s) * np.exp(log_density(s) - most)

        points = [angle] if start < angle else None
        return scipy.integrate.quad(
            integrand,
            start + 1e-12,
            np.pi - 1e-12,
            points=points,
            limit=500,
            epsabs=1e-12,
            epsrel=1e-9,
        )[0]

    mean = integral(np.cos, 0) / integral(np.ones_like, 0)
    above = integral(lambda s: np.cos(s) - mean, angle)
    return -np.sin(angle) * above / np.exp(log_density(angle) - most)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("kappa", "size"), CASES)
def test_slopes_of_quantiles(kappa, size):
    r = random.rng("r")
    mu = np.eye(size)[0]
    points = r.von_mises_fisher(mu, kappa, size=40)[1]
    cosines = phintys.function([r], points)(random.state(3))[:, 0]
    found = von_mises_fisher_slope.impl(kappa, float(size), cosines)
    wanted = [_quantile_slope(kappa, size, one) for one in cosines]
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-9)


def test_means_of_derivatives_are_those_of_the_mean():
    """The mean cosine is a quotient of Bessel functions, whose derivative is known."""
    r, kappa = random.rng("r"), pt.dvector("kappa")
    mu = np.array([0.6, 0.0, 0.8])
    _, points = r.von_mises_fisher(mu, kappa, size=(20_000, 3))
    along = (points * mu).sum(axis=-1)
    each = phintys.gradient.Rop(along, kappa, pt.ones_like(kappa))
    total = phintys.grad(along.sum(), kappa)
    values = np.array([0.0, 1.5, 40.0])
    slopes, sums = phintys.function([r, kappa], [each, total])(random.state(5), values)
    np.testing.assert_allclose(slopes.sum(axis=0), sums, rtol=1e-9)
    near = np.maximum(values, 1e-2)
    wanted = np.where(values > 0, 1 / near**2 - 1 / np.sinh(near) ** 2, 1 / 3)
    error = slopes.std(axis=0) / np.sqrt(len(slopes))
    assert (abs(slopes.mean(axis=0) - wanted) < 6 * error).all()


def test_points_stay_on_the_sphere_as_the_concentration_changes():
    r, kappa = random.rng("r"), pt.dscalar("kappa")
    _, points = r.von_mises_fisher([0.0, 1.0, 0.0, 0.0], kappa, size=50)
    moves = phintys.gradient.Rop(points, kappa, pt.ones_like(kappa))
    at, move = phintys.function([r, kappa], [points, moves])(random.state(6), 3.0)
    np.testing.assert_allclose((at * move).sum(axis=-1), 0, atol=1e-10)
    assert (move[:, 1] > 0).all()
