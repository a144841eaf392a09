"""Cholesky factors of large matrices, and inverses by them, in blocks that threads share."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.config import config
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.routines.blocked_factors import most_unblocked
from phintys.tensor.linear_algebra.cholesky import CholeskyInverse

MOST = most_unblocked(Target.host())
SIZES = [MOST, MOST + 1, 512, 513, 576, 577, 671, 768, 1025]


def definite(n, dtype="float64"):
    """Return a matrix that is well conditioned; all of its elements differ from 0."""
    half = np.random.default_rng(n).normal(size=(n, n + 5))
    return (half @ half.T / n + np.eye(n)).astype(dtype)


def compiled(build, dtype="float64"):
    x = pt.matrix("x", dtype=dtype)
    return phintys.function([x], build(x), mode="native")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n", SIZES)
def test_factors_and_inverses(n, dtype):
    a = definite(n, dtype)
    exact = np.linalg.cholesky(a.astype("float64"))
    tolerance = 50 * np.finfo(dtype).eps
    factor = compiled(pt.linalg.cholesky, dtype)(a)
    assert factor.dtype == dtype
    assert not np.triu(factor, 1).any()
    np.testing.assert_allclose(factor, exact, atol=tolerance)
    inverse = compiled(CholeskyInverse(), dtype)(exact.astype(dtype))
    assert not np.triu(inverse, 1).any()
    np.testing.assert_allclose(inverse, np.tril(np.linalg.inv(exact @ exact.T)), atol=tolerance)


@pytest.mark.parametrize("n", [900])
def test_results_do_not_depend_on_threads(n):
    a = definite(n)
    factorize, invert = compiled(pt.linalg.cholesky), compiled(CholeskyInverse())
    found = []
    for threads in (1, 2, 3):
        with config.change_flags(num_threads=threads):
            factor = factorize(a)
            found.append((factor, invert(factor)))
    for factor, inverse in found[1:]:
        assert (factor == found[0][0]).all()
        assert (inverse == found[0][1]).all()


@pytest.mark.parametrize("row", [0, 191, 192, 700, 899])
def test_the_first_minor_that_is_not_positive_is_named(row):
    a = definite(900)
    a[row, row] = -1.0
    with pytest.raises(np.linalg.LinAlgError, match=f"leading minor of order {row + 1} is not"):
        compiled(pt.linalg.cholesky)(a)
    assert np.isnan(compiled(lambda x: pt.linalg.cholesky(x, on_error="nan"))(a)).all()


def test_a_factor_with_a_zero_on_its_diagonal_has_no_inverse():
    factor = np.linalg.cholesky(definite(700))
    factor[500, 500] = 0.0
    assert np.isnan(compiled(CholeskyInverse())(factor)).all()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_matrices_with_nan_and_infinities(value):
    a = definite(700)
    a[600, 100] = value
    factor = compiled(lambda x: pt.linalg.cholesky(x, on_error="nan"))(a)
    assert np.isnan(factor).any()
    assert not np.triu(np.nan_to_num(factor), 1).any()


def test_stacks_of_large_matrices():
    x = pt.tensor3("x")
    f = phintys.function([x], pt.linalg.cholesky(x), mode="native")
    stack = np.stack([definite(700), 2 * definite(700)])
    np.testing.assert_allclose(f(stack), np.linalg.cholesky(stack), atol=1e-14)
    np.testing.assert_allclose(f(stack[:1]), np.linalg.cholesky(stack[:1]), atol=1e-14)
