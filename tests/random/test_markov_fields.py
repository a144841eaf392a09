"""Gaussian Markov random fields are normal vectors with a sparse precision."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.stats

import phintys
import phintys.tensor as pt
from phintys import random, sparse
from phintys._base.errors import ArgumentError, ShapeError, TypeContractError
from phintys.random import GaussianMarkovField
from phintys.testing import verify_grad

N = 6


def precision(seed=0, n=N):
    rng = np.random.default_rng(seed)
    full = np.where(rng.random((n, n)) < 0.3, rng.normal(size=(n, n)), 0) + 2 * np.eye(n)
    return full @ full.T


FULL = precision()
MEAN = np.arange(N) / 2.0
COV = np.linalg.inv(FULL)


@pytest.fixture(scope="module")
def program():
    """Return densities, entropy, variance, one draw and many, for any mean and precision."""
    q, m, x, r = sparse.csr_matrix("q"), pt.dvector("m"), pt.dmatrix("x"), random.rng("r")
    field = GaussianMarkovField(m, q)
    results = [field.logp(x), field.logp(x[0]), field.entropy(), field.variance(), field.mode()]
    draws = [field.draw(r)[1], field.draw(r, (50, 100))[1]]
    return phintys.function([q, m, x, r], [*results, *draws])


def test_it_is_a_dense_normal_distribution(program):
    x = np.arange(3.0 * N).reshape(3, N) / 9
    logs, log, entropy, variance, mode, one, many = program(
        sp.csr_array(FULL), MEAN, x, random.state(1)
    )
    exact = scipy.stats.multivariate_normal(MEAN, COV)
    np.testing.assert_allclose(logs, exact.logpdf(x))
    np.testing.assert_allclose(log, exact.logpdf(x[0]))
    np.testing.assert_allclose(entropy, exact.entropy())
    np.testing.assert_allclose(variance, np.diag(COV))
    np.testing.assert_allclose(mode, MEAN)
    assert (one.shape, many.shape) == ((N,), (50, 100, N))
    draws = many.reshape(-1, N)
    spread = np.sqrt((np.outer(np.diag(COV), np.diag(COV)) + COV**2) / len(draws))
    assert (abs(draws.mean(0) - MEAN) < 6 * np.sqrt(np.diag(COV) / len(draws))).all()
    assert (abs(np.cov(draws.T) - COV) < 6 * spread).all()


def test_draws_take_the_words_of_normal_numbers(program):
    *_, one, _ = program(sp.csr_array(np.eye(N)), np.zeros(N), np.zeros((1, N)), random.state(5))
    r = random.rng("r")
    z = phintys.function([r], random.Normal(0.0, 1.0).draw(r, (N,))[1])(random.state(5))
    np.testing.assert_array_equal(np.sort(one), np.sort(z))


def test_the_order_of_the_factor_is_undone(program):
    # An arrow, whose factor would be full without another order.
    arrow = 4 * np.eye(N) + np.pad(np.ones((1, N - 1)), ((0, N - 1), (1, 0)))
    arrow = np.maximum(arrow, arrow.T)
    *_, many = program(sp.csr_array(arrow), np.zeros(N), np.zeros((1, N)), random.state(2))
    draws, cov = many.reshape(-1, N), np.linalg.inv(arrow)
    spread = np.sqrt((np.outer(np.diag(cov), np.diag(cov)) + cov**2) / len(draws))
    assert (abs(np.cov(draws.T) - cov) < 6 * spread).all()


def test_derivatives_by_the_mean_and_by_the_elements():
    # Elements of the lower triangle, so that the matrix is symmetric for all.
    lower, both = sp.csr_array(np.tril(FULL)), sp.csr_array(FULL)
    number = np.zeros((N, N), int)
    number[np.tril(FULL) != 0] = np.arange(lower.nnz)
    at = np.maximum(number, number.T)[both.nonzero()]
    r = random.shared_rng(seed=3)

    def total(elements, mean, x):
        matrix = sparse.from_parts(elements[at], both.indices, both.indptr, (N, N))
        field = GaussianMarkovField(mean, matrix)
        return field.logp(x) + (field.draw(r, 2)[1] ** 3).sum() + field.variance().sum()

    rng = np.random.default_rng(4)
    verify_grad(total, [lower.data, MEAN, np.ones(N)], rng=rng, n_tests=1)


def test_the_gradient_by_a_sparse_precision_has_its_pattern():
    q, x = sparse.csc_matrix("q"), np.ones(N)
    logarithm = GaussianMarkovField(MEAN, q).logp(x)
    slope = phintys.function([q], phintys.grad(logarithm, q))(sp.csc_array(FULL))
    away = x - MEAN
    wanted = np.where(FULL != 0, 0.5 * (COV - np.outer(away, away)), 0)
    np.testing.assert_allclose(slope.toarray(), wanted, atol=1e-12)


def test_a_batch_of_means_and_one_mean_for_all(program):
    stream = random.RandomStream(2)
    field = GaussianMarkovField(np.stack([MEAN, MEAN + 1]), sp.csr_array(FULL))
    draw, density = phintys.function([], [stream.draw(field), field.logp(np.ones((4, 1, N)))])()
    assert (draw.shape, density.shape) == ((2, N), (4, 2))
    short = GaussianMarkovField([0.5], sp.csr_array(FULL))
    exact = scipy.stats.multivariate_normal(np.full(N, 0.5), COV)
    np.testing.assert_allclose(short.logp(MEAN).eval(), exact.logpdf(MEAN))


def test_single_precision_stays():
    field = GaussianMarkovField(MEAN.astype("float32"), sp.csr_array(FULL.astype("float32")))
    outputs = [field.draw(random.shared_rng(seed=1))[1], field.logp(MEAN.astype("float32"))]
    assert [v.dtype for v in outputs] == ["float32", "float32"]
    draw, logarithm = phintys.function([], outputs)()
    assert (draw.dtype, logarithm.dtype) == (np.float32, np.float32)
    exact = scipy.stats.multivariate_normal(MEAN, COV).logpdf(MEAN)
    np.testing.assert_allclose(logarithm, exact, rtol=1e-5)


def test_it_is_pickled_and_named():
    field = pickle.loads(pickle.dumps(GaussianMarkovField(MEAN, sp.csr_array(FULL))))
    assert "precision=SparseConstant" in repr(field)
    assert "GaussianMarkovField" in dir(random)


# what is wrong -> (mean, precision, error, what it says)
WRONG = {
    "dense": (MEAN, FULL, TypeContractError, "sparse"),
    "no precision": (MEAN, None, ArgumentError, "one of precision"),
    "a number": (0.0, sp.csr_array(FULL), ShapeError, "mean is a vector"),
    "complex": (MEAN, sp.csr_array(FULL * 1j), ArgumentError, "must be real"),
    "not square": (MEAN, sp.csr_array(np.ones((2, N))), ShapeError, "square"),
    "sizes": (np.ones(N + 1), sp.csr_array(FULL), ShapeError, "must be equal, got 6 and 7"),
    "indefinite": (
        np.zeros(2),
        sp.csr_array([[1.0, 2.0], [2.0, 1.0]]),
        np.linalg.LinAlgError,
        "not positive definite",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named(name):
    mean, matrix, error, said = WRONG[name]
    with pytest.raises(error, match=said):
        GaussianMarkovField(mean, matrix).logp(mean).eval()
