"""LU factors of matrices with three diagonals."""

import numpy as np
import pytest
from scipy.linalg import lapack

import phintys
import phintys.tensor as pt
from phintys._base.errors import MethodNotDefinedError

RNG = np.random.default_rng(5)


def drawn(count, n):
    return np.tril(np.triu(RNG.normal(size=(count, n, n)), -1), 1)


def test_factors_and_solutions():
    a, b = pt.dtensor3("a"), pt.dtensor3("b")
    factors = pt.linalg.tridiagonal_lu_factor(a)
    solutions = [
        pt.linalg.tridiagonal_lu_solve(factors, b, transposed=turned) for turned in (False, True)
    ]
    fast, slow = (
        phintys.function([a, b], [*solutions, *factors], mode=mode)
        for mode in ("native", "reference")
    )
    assert "callback" not in fast.explain()
    for n in (0, 1, 2, 3, 9):
        matrices, right = drawn(3, n), RNG.normal(size=(3, n, 2))
        found = fast(matrices, right)
        for one, other in zip(found, slow(matrices, right), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-9)
        np.testing.assert_allclose(matrices @ found[0], right, atol=1e-9)
        np.testing.assert_allclose(matrices.mT @ found[1], right, atol=1e-9)
    *wanted, _ = lapack.dgttrf(*(np.diag(matrices[0], offset) for offset in (-1, 0, 1)))
    for one, other in zip(found[2:], wanted, strict=True):
        np.testing.assert_allclose(one[0], other, atol=1e-12)


def test_a_singular_matrix():
    a, b = pt.dtensor3("a"), pt.dtensor3("b")
    factors = pt.linalg.tridiagonal_lu_factor(a)
    matrices = np.stack([np.eye(4), np.zeros((4, 4))])
    right = np.ones((2, 4, 1))
    for mode in ("native", "reference"):
        f = phintys.function([a, b], pt.linalg.tridiagonal_lu_solve(factors, b), mode=mode)
        with pytest.raises(np.linalg.LinAlgError):
            f(matrices, right)
        x = pt.linalg.tridiagonal_lu_solve(factors, b, on_error="nan")
        found = phintys.function([a, b], x, mode=mode)(matrices, right)
        np.testing.assert_array_equal(found[0], right[0])
        assert np.isnan(found[1]).all()


@pytest.mark.parametrize("transposed", [False, True])
def test_gradients_for_the_right_side(transposed):
    matrix = pt.constant(drawn(1, 5)[0] + 3 * np.eye(5))
    factors = pt.linalg.tridiagonal_lu_factor(matrix)
    phintys.gradient.verify_grad(
        lambda b: pt.linalg.tridiagonal_lu_solve(factors, b, transposed=transposed) ** 2,
        [RNG.normal(size=(5, 2))],
        rng=RNG,
    )


def test_gradients_for_the_matrix_are_refused():
    a = pt.dmatrix("a")
    x = pt.linalg.tridiagonal_lu_solve(pt.linalg.tridiagonal_lu_factor(a), np.ones(3))
    with pytest.raises(Exception, match='assume_a="tridiagonal"') as e:
        phintys.grad(x.sum(), a)
    with pytest.raises(MethodNotDefinedError, match='assume_a="tridiagonal"'):
        phintys.grad(pt.linalg.tridiagonal_lu_factor(a)[0].sum(), a)
    assert "tridiagonal_lu_factor" in str(e.value)
