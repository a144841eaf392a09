"""Distributions of vectors and matrices against SciPy."""

import numpy as np
import pytest
import scipy.stats

import phintys
import phintys.tensor as pt
from phintys import random
from phintys._base.errors import ArgumentError, ShapeError
from phintys.gradient import verify_grad

COV = np.array([[2.0, 0.3, -0.1], [0.3, 1.0, 0.2], [-0.1, 0.2, 0.5]])
MEAN = np.array([0.5, -1.0, 2.0])
FORMS = {
    "cov": COV,
    "chol": np.linalg.cholesky(COV),
    "precision": np.linalg.inv(COV),
}


def looks_like(draws, mean, covariance):
    """Return whether means and covariances of vectors lie within six deviations."""
    count = len(draws)
    variance = np.diag(covariance)
    near = abs(draws.mean(0) - mean) < 6 * np.sqrt(variance / count)
    spread = np.sqrt((np.outer(variance, variance) + covariance**2) / count)
    return near.all() and (abs(np.cov(draws.T) - covariance) < 6 * spread).all()


@pytest.fixture(scope="module")
def normals():
    """Return densities, draws, entropies and covariances for each form of the spread."""
    r, x = random.rng("r"), pt.dmatrix("x")
    results = []
    for name, value in FORMS.items():
        each = random.MultivariateNormal(MEAN, **{name: value})
        results += [each.logp(x), each.draw(r, 5000)[1], each.entropy(), each.covariance()]
    f = phintys.function([r, x], results)
    made = f(random.state(1), np.arange(6.0).reshape(2, 3))
    return {name: made[4 * i : 4 * i + 4] for i, name in enumerate(FORMS)}


@pytest.mark.parametrize("form", FORMS)
def test_multivariate_normal(normals, form):
    logarithms, draws, entropy, covariance = normals[form]
    exact = scipy.stats.multivariate_normal(MEAN, COV)
    np.testing.assert_allclose(logarithms, exact.logpdf(np.arange(6.0).reshape(2, 3)))
    np.testing.assert_allclose(entropy, exact.entropy())
    np.testing.assert_allclose(covariance, COV)
    assert looks_like(draws, MEAN, COV)


def test_batches():
    stream = random.RandomStream(2)
    means, factors = np.arange(12.0).reshape(4, 3), np.stack([FORMS["chol"]] * 4)
    batch = random.MultivariateNormal(means, chol=factors)
    single, several, shared, density = phintys.function(
        [],
        [
            stream.draw(batch),
            stream.draw(batch, (5, 4)),
            stream.multivariate_normal(MEAN, COV, (2, 2)),
            batch.logp(np.zeros((5, 1, 3))),
        ],
    )()
    assert single.shape == (4, 3)
    assert several.shape == (5, 4, 3)
    assert shared.shape == (2, 2, 3)
    expected = [scipy.stats.multivariate_normal(mean, COV).logpdf(np.zeros(3)) for mean in means]
    np.testing.assert_allclose(density, np.tile(expected, (5, 1)))


@pytest.mark.parametrize("form", ["cov", "precision"])
def test_derivatives_of_densities_and_draws(form):
    r = random.shared_rng(seed=3)

    def total(mean, root):
        matrix = pt.dot(root, root.T) + pt.eye(3)
        each = random.MultivariateNormal(mean, **{form: matrix})
        return each.logp(np.ones(3)) + (each.draw(r, 4)[1] ** 2).sum()

    verify_grad(total, [MEAN, FORMS["chol"]], rng=np.random.default_rng(4))


def test_matrix_normal():
    rows, columns = COV[:2, :2], COV
    mean, x = np.arange(6.0).reshape(2, 3), np.ones((2, 3))
    ours, stream = random.MatrixNormal(mean, rows, columns), random.RandomStream(5)
    draws, density, variance = phintys.function(
        [], [stream.draw(ours, 5000), ours.logp(x), ours.variance()]
    )()
    np.testing.assert_allclose(density, scipy.stats.matrix_normal(mean, rows, columns).logpdf(x))
    np.testing.assert_allclose(variance, np.outer(np.diag(rows), np.diag(columns)))
    assert looks_like(draws.reshape(5000, 6), mean.ravel(), np.kron(rows, columns))


def test_uniform_directions():
    stream = random.RandomStream(6)
    draws = stream.uniform_direction(4, size=5000)
    points, density = phintys.function([], [draws, random.UniformDirection(4).logp(draws)])()
    np.testing.assert_allclose((points**2).sum(-1), 1)
    np.testing.assert_allclose(density, -np.log(2 * np.pi**2))
    assert looks_like(points, np.zeros(4), np.eye(4) / 4)


def test_wrong_arguments():
    with pytest.raises(ArgumentError, match="takes one of cov, chol, precision, got none of them"):
        random.MultivariateNormal(MEAN)
    with pytest.raises(ArgumentError, match="got cov and chol"):
        random.MultivariateNormal(MEAN, cov=COV, chol=COV)
    with pytest.raises(ShapeError, match="cov is a matrix, or a batch of them, got 1 dimensions"):
        random.MultivariateNormal(MEAN, MEAN)
    with pytest.raises(ShapeError, match="mean is a batch of 2 dimensions, more than size"):
        random.RandomStream(1).multivariate_normal(np.zeros((4, 5, 3)), COV, size=4)
