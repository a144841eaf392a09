"""Stacks of small matrices are computed in lanes; values are those of one matrix after another."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt

SIZES = (0, 1, 2, 3, 5, 8, 16, 17)
COUNTS = (0, 1, 7, 16, 33)
DTYPES = ("float64", "float32")


def drawn(count, n, dtype, seed=0):
    a = np.random.default_rng(seed).normal(size=(count, n, n))
    return a.astype(dtype)


def positive(a):
    return (a @ a.mT + a.shape[-1] * np.eye(a.shape[-1])).astype(a.dtype)


def close(found, expected, dtype):
    scale = max(1.0, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(
        found / scale, expected / scale, atol=1e-10 if dtype == "float64" else 1e-3
    )


@pytest.fixture(scope="module", params=DTYPES)
def functions(request):
    """A dtype, and functions for stacks of sizes that are not known."""
    dtype = request.param
    a, b = (pt.TensorType(dtype, (None, None, None))(name) for name in "ab")
    factor = phintys.function([a], pt.linalg.cholesky(a))
    solved = [
        pt.linalg.solve_triangular(a, b, lower=True),
        pt.linalg.solve_triangular(a.mT, b, lower=True, unit_diagonal=True),
        pt.linalg.solve_triangular(a[:, ::-1, ::-1], b, lower=False),
    ]
    factors, exchanges = pt.linalg.lu_factor(a)
    inverse = [factors, exchanges, pt.linalg.inv(a)]
    return dtype, factor, phintys.function([a, b], solved), phintys.function([a], inverse)


@pytest.mark.parametrize("n", SIZES)
def test_sizes_that_are_not_known(functions, n):
    dtype, factor, solve, invert = functions
    for count in COUNTS:
        a = drawn(count, n, dtype)
        close(factor(positive(a)), np.linalg.cholesky(positive(a)), dtype)
        a += 3 * n * np.eye(n, dtype=dtype)
        b = drawn(count, n, dtype, seed=1)[..., :2]
        eye = np.eye(n, dtype=dtype)
        read = [np.tril(a), np.tril(a.mT, -1) + eye, np.triu(a[:, ::-1, ::-1])]
        for found, matrix in zip(solve(a, b), read, strict=True):
            close(found, np.linalg.solve(matrix, b), dtype)
        a = drawn(count, n, dtype, seed=2)
        factors, exchanges, inverse = invert(a)
        close(a @ inverse, np.broadcast_to(eye, a.shape), dtype)
        assert exchanges.shape == (count, n)
        product = (np.tril(factors, -1) + eye) @ np.triu(factors)
        for row in reversed(range(n)):  # undo the exchanges
            for at, other in enumerate(exchanges[:, row]):
                product[at, [row, other]] = product[at, [other, row]]
        close(product, a, dtype)


@pytest.mark.parametrize("n", [3, 6])
def test_sizes_that_are_known(n):
    a = pt.tensor("a", shape=(None, n, n), dtype="float64")
    run = phintys.function([a], [pt.linalg.cholesky(a), pt.linalg.inv(a)])
    values = positive(drawn(19, n, "float64"))
    factor, inverse = run(values)
    close(factor, np.linalg.cholesky(values), "float64")
    close(inverse, np.linalg.inv(values), "float64")


def test_one_matrix_for_all_right_sides():
    a, b = pt.dmatrix("a"), pt.dtensor3("b")
    run = phintys.function([a, b], pt.linalg.solve_triangular(a, b, lower=True))
    matrix = np.tril(drawn(1, 5, "float64")[0]) + 5 * np.eye(5)
    right = drawn(11, 5, "float64", seed=1)
    close(run(matrix, right), np.linalg.solve(matrix, right), "float64")


@pytest.mark.parametrize("n", [3, 20])
def test_the_first_matrix_without_a_factor_is_named(n):
    a = pt.dtensor3("a")
    values = np.broadcast_to(np.eye(n), (40, n, n)).copy()
    values[[37, 21, 29], 1, 1] = -1
    values[21, 2, 2] = -1
    with pytest.raises(np.linalg.LinAlgError, match=r"position \[21\] .* order 2 is"):
        phintys.function([a], pt.linalg.cholesky(a))(values)
    found = phintys.function([a], pt.linalg.cholesky(a, on_error="nan"))(values)
    bad = np.isnan(found).all(axis=(1, 2))
    np.testing.assert_array_equal(np.flatnonzero(bad), [21, 29, 37])
    np.testing.assert_array_equal(found[~bad], values[~bad])


def test_the_first_singular_matrix_is_named():
    a, b = pt.dtensor3("a"), pt.dtensor3("b")
    values = np.broadcast_to(np.eye(4), (20, 4, 4)).copy()
    values[[13, 9], [2, 3], [2, 3]] = 0
    for lower in (True, False):
        x = pt.linalg.solve_triangular(a, b, lower=lower)
        with pytest.raises(np.linalg.LinAlgError, match=r"position \[9\] .* element 3 of"):
            phintys.function([a, b], x)(values, values)
        x = pt.linalg.solve_triangular(a, b, lower=lower, on_error="nan")
        found = phintys.function([a, b], x)(values, np.ones_like(values))
        assert np.flatnonzero(np.isnan(found).all(axis=(1, 2))).tolist() == [9, 13]


def test_results_do_not_depend_on_the_number_of_threads():
    a = pt.dtensor3("a")
    run = phintys.function([a], pt.linalg.inv(a))
    for n in (4, 24):
        values = drawn(1200, n, "float64") + n * np.eye(n)
        whole = run(values)
        np.testing.assert_array_equal(whole[1000:1003], run(values[1000:1003]))
        with phintys.config.change_flags(num_threads=1):
            np.testing.assert_array_equal(whole, run(values))


def test_gradients_through_factors_of_stacks():
    a = pt.dtensor3("a")
    factor = pt.linalg.cholesky(a)
    gradient = phintys.grad((factor**2 * pt.tril(factor + 1)).sum(), a)
    run = phintys.function([a], gradient)
    assert "call cholesky_adjoint" in run.explain()
    slow = phintys.function([a], gradient, mode="reference")
    for n in (1, 4, 9, 20):
        values = positive(drawn(11, n, "float64"))
        close(run(values), slow(values), "float64")


@pytest.mark.parametrize("n", [1, 2, 3])
def test_determinants_of_up_to_three_rows_are_sums_of_products(n):
    a = pt.tensor("a", shape=(None, n, n), dtype="float64")
    run = phintys.function([a], pt.linalg.det(a))
    assert "call" not in run.explain()
    values = drawn(9, n, "float64")
    close(run(values), np.linalg.det(values), "float64")
