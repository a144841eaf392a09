"""Kronecker products, and blocks along a diagonal, are computed with by their parts."""

import numpy as np
import pytest
from scipy.linalg import block_diag

import phintys
import phintys.tensor as pt
from phintys._base.errors import ShapeError

RNG = np.random.default_rng(0)
A, B = (pt.tensor(name, dtype="float64", shape=(n, n)) for name, n in (("A", 6), ("B", 5)))
right = pt.dmatrix("right")


def definite(n):
    half = RNG.normal(size=(n, n))
    return half @ half.T + n * np.eye(n)


def sizes_of_calls(f, routine):
    """The sizes of the matrices that a routine is called for."""
    lines = [line for line in f.explain().splitlines() if f"call {routine}(" in line]
    return sorted(int(line.split("[n = ")[1].split(",")[0]) for line in lines)


def test_systems_of_kronecker_products_are_solved_by_their_factors():
    a, b = pt.matrix("a", shape=(3, 3)), pt.matrix("b", shape=(4, 4))
    k = pt.kron(a, b)
    r = pt.dvector("r")
    outputs = [pt.linalg.solve(k, r), pt.linalg.inv(k), pt.linalg.slogdet(k)[1]]
    f = phintys.function([a, b, r], outputs)
    values = [RNG.normal(size=(n, n)) + 5 * np.eye(n) for n in (3, 4)]
    whole, right = np.kron(*values), RNG.normal(size=12)
    solved, inverse, logarithm = f(*values, right)
    np.testing.assert_allclose(solved, np.linalg.solve(whole, right))
    np.testing.assert_allclose(inverse, np.linalg.inv(whole), atol=1e-12)
    np.testing.assert_allclose(logarithm, np.linalg.slogdet(whole)[1])


WITH_BLOCKS = {
    "inv": (pt.linalg.inv, np.linalg.inv, "getrf"),
    "det": (pt.linalg.det, np.linalg.det, "getrf"),
    "slogdet": (lambda x: pt.linalg.slogdet(x)[1], lambda x: np.linalg.slogdet(x)[1], "getrf"),
    "cholesky": (pt.linalg.cholesky, np.linalg.cholesky, "potrf"),
    "solve": (lambda x: pt.linalg.solve(x, right), None, "getrf"),
    "solve, positive": (lambda x: pt.linalg.solve(x, right, assume_a="pos"), None, "potrf"),
}


@pytest.mark.parametrize("name", WITH_BLOCKS)
def test_blocks(name):
    function, expected, routine = WITH_BLOCKS[name]
    f = phintys.function(
        [A, B, right],
        function(pt.linalg.block_diag(A, B)),
        mode="native",
        on_unused_input="ignore",
    )
    assert sizes_of_calls(f, routine) == [5, 6]
    a, b, r = definite(6), definite(5), RNG.normal(size=(11, 2))
    whole = block_diag(a, b)
    wanted = np.linalg.solve(whole, r) if expected is None else expected(whole)
    np.testing.assert_allclose(f(a, b, r), wanted, atol=1e-10)


def test_a_right_side_of_another_length_is_an_error():
    f = phintys.function([A, B, right], pt.linalg.solve(pt.linalg.block_diag(A, B), right))
    for rows in (5, 10, 12):
        with pytest.raises(ShapeError):
            f(definite(6), definite(5), np.ones((rows, 2)))


def test_what_is_not_a_matrix_of_blocks():
    x = pt.zeros((11, 11))
    others = [
        pt.set_subtensor(pt.set_subtensor(x[:6, 5:], A)[6:, :5], B),
        pt.inc_subtensor(pt.set_subtensor(x[:6, :6], A)[6:, 6:], B),
        pt.set_subtensor(pt.set_subtensor((x + 1)[:6, :6], A)[6:, 6:], B),
        pt.set_subtensor(x[6:, 6:], B),
    ]
    for other in others:
        f = phintys.function([A, B], pt.linalg.inv(other), on_unused_input="ignore", mode="native")
        assert sizes_of_calls(f, "getrf") == [11]


def test_a_block_without_a_result_makes_all_nan():
    x = pt.linalg.block_diag(A, B)
    f = phintys.function([A, B], pt.linalg.inv(x, on_error="nan"))
    assert np.isnan(f(np.zeros((6, 6)), np.eye(5))).all()


def test_factors_of_kronecker_products():
    a, b = (pt.assume(x, "positive_definite") for x in (A, B))
    product = pt.kron(a, b)
    outputs = [pt.linalg.cholesky(product), pt.linalg.solve(product, right, assume_a="pos")]
    f = phintys.function([A, B, right], outputs, mode="native")
    assert sizes_of_calls(f, "potrf") == [5, 6]
    values = definite(6), definite(5)
    whole, r = np.kron(*values), RNG.normal(size=(30, 2))
    factor, solution = f(*values, r)
    np.testing.assert_allclose(factor, np.linalg.cholesky(whole), atol=1e-11)
    np.testing.assert_allclose(solution, np.linalg.solve(whole, r), atol=1e-11)
