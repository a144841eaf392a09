"""Random covariances, correlations, directions, and vectors with heavy tails against SciPy."""

import numpy as np
import pytest
import scipy.stats

import phintys
import phintys.tensor as pt
from phintys import random
from phintys.gradient import verify_grad

SCALE = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, -0.2], [0.1, -0.2, 0.5]])
LOC = np.array([1.0, -2.0, 0.5])
DRAWS = 2000


def agrees(draws, cdf):
    return scipy.stats.kstest(draws, cdf).pvalue > 1e-6


def test_wishart():
    ours, exact = random.Wishart(4.5, SCALE), scipy.stats.wishart(4.5, SCALE)
    x = np.stack([np.eye(3), 2 * SCALE])
    draws, density, mean, variance = phintys.function(
        [], [random.RandomStream(1).draw(ours, DRAWS), ours.logp(x), ours.mean(), ours.variance()]
    )()
    np.testing.assert_allclose(density, exact.logpdf(np.moveaxis(x, 0, -1)))
    np.testing.assert_allclose(mean, exact.mean())
    np.testing.assert_allclose(variance, exact.var())
    np.testing.assert_allclose(draws, draws.swapaxes(1, 2))
    assert (abs(draws.mean(0) - mean) < 6 * np.sqrt(variance / DRAWS)).all()
    # The square of any vector has a chi-square distribution.
    direction = np.array([1.0, -1.0, 2.0])
    squares = np.einsum("i,nij,j->n", direction, draws, direction)
    assert agrees(squares / (direction @ SCALE @ direction), scipy.stats.chi2(4.5).cdf)


def test_inverse_wishart():
    ours, exact = random.InverseWishart(8.5, SCALE), scipy.stats.invwishart(8.5, SCALE)
    x = np.stack([np.eye(3), 2 * SCALE])
    stream, df = random.RandomStream(8), np.array([8.5, 9.5])
    draws, of_batch, density, mean, variance = phintys.function(
        [],
        [
            stream.draw(ours, DRAWS),
            stream.invwishart(df, np.stack([SCALE, np.eye(3)]), size=(2, 2)),
            ours.logp(x),
            ours.mean(),
            ours.variance(),
        ],
    )()
    np.testing.assert_allclose(density, exact.logpdf(np.moveaxis(x, 0, -1)))
    np.testing.assert_allclose(mean, exact.mean())
    np.testing.assert_allclose(variance, exact.var())
    assert (abs(draws.mean(0) - mean) < 6 * np.sqrt(variance / DRAWS)).all()
    # The inverses are Wishart matrices.
    direction = np.array([1.0, -1.0, 2.0])
    inverse = np.linalg.inv(SCALE)
    squares = np.einsum("i,nij,j->n", direction, np.linalg.inv(draws), direction)
    assert agrees(squares / (direction @ inverse @ direction), scipy.stats.chi2(8.5).cdf)
    assert of_batch.shape == (2, 2, 3, 3)
    assert (np.linalg.eigvalsh(of_batch) > 0).all()


@pytest.mark.parametrize("n", [2, 4])
def test_correlations(n):
    eta, stream = 1.5, random.RandomStream(2)
    whole, factor = random.LKJ(n, eta), random.LKJCholesky(n, eta)
    draws, factors = phintys.function(
        [], [stream.draw(whole, DRAWS), stream.draw(factor, (5, 2))]
    )()
    np.testing.assert_allclose(np.diagonal(draws, axis1=1, axis2=2), 1)
    half = eta + (n - 2) / 2
    for i in range(n):
        for j in range(i):
            assert agrees((draws[:, i, j] + 1) / 2, scipy.stats.beta(half, half).cdf)
    assert factors.shape == (5, 2, n, n)
    np.testing.assert_array_equal(factors, np.tril(factors))
    np.testing.assert_allclose((factors**2).sum(-1), 1)


def test_densities_of_correlations():
    pair = np.array([[1.0, 0.3], [0.3, 1.0]])
    of_pair, of_factor, even = phintys.function(
        [],
        [
            random.LKJ(2, 2.0).logp(pair),
            random.LKJCholesky(2, 2.0).logp(np.linalg.cholesky(pair)),
            random.LKJ(3, 1.0).logp(np.eye(3)),
        ],
    )()
    expected = scipy.stats.beta(2, 2).logpdf(0.65) - np.log(2)
    np.testing.assert_allclose([of_pair, of_factor], expected)  # the diagonal follows from the rest
    np.testing.assert_allclose(even, -np.log(np.pi**2 / 2))  # all correlations of three numbers


def test_multivariate_t():
    ours, exact = random.MultivariateT(LOC, SCALE, 5.0), scipy.stats.multivariate_t(LOC, SCALE, 5)
    x = np.arange(6.0).reshape(2, 3)
    draws, density = phintys.function(
        [], [random.RandomStream(3).draw(ours, DRAWS), ours.logp(x)]
    )()
    np.testing.assert_allclose(density, exact.logpdf(x))
    direction = np.array([1.0, -1.0, 2.0])
    spread = np.sqrt(direction @ SCALE @ direction)
    assert agrees((draws - LOC) @ direction / spread, scipy.stats.t(5).cdf)


@pytest.mark.parametrize("mu", [[0.0, 1.0], [0.0, 0.6, 0.8], [0.6, 0, 0.8, 0, 0]])
def test_von_mises_fisher(mu):
    mu, kappa = np.array(mu), 3.0
    ours, exact = random.VonMisesFisher(mu, kappa), scipy.stats.vonmises_fisher(mu, kappa)
    points, density = phintys.function(
        [], [random.RandomStream(4).draw(ours, DRAWS), ours.logp(np.eye(len(mu)))]
    )()
    np.testing.assert_allclose(density, exact.logpdf(np.eye(len(mu))))
    np.testing.assert_allclose((points**2).sum(-1), 1)
    others = exact.rvs(DRAWS, random_state=5)
    for direction in (mu, np.eye(len(mu))[0]):
        alike = scipy.stats.ks_2samp(points @ direction, others @ direction)
        assert alike.pvalue > 1e-6


def test_derivatives_of_densities():
    def total(root, df, mu):
        matrix = pt.dot(root, root.T) + pt.eye(3)
        asked = [
            random.Wishart(df + 3, matrix).logp(SCALE),
            random.InverseWishart(df + 3, matrix).logp(SCALE),
            random.MultivariateT(mu, matrix, df).logp(np.ones(3)),
            random.LKJ(3, df).logp(np.eye(3) + 0.1 * (1 - np.eye(3)) * df),
            random.VonMisesFisher(mu / pt.sqrt((mu**2).sum()), df).logp([0.6, 0.0, 0.8]),
        ]
        return sum(asked)

    point = [np.linalg.cholesky(SCALE), np.array(1.7), LOC]
    verify_grad(total, point, rng=np.random.default_rng(6))
