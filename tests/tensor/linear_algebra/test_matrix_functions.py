"""Derivatives of functions of matrices, and what SciPy's own results say of them."""

import numpy as np
import pytest
import scipy.linalg

import phintys
import phintys.tensor as pt
from phintys._base.errors import MethodNotDefinedError

RNG = np.random.default_rng(7)
A = RNG.uniform(-0.4, 0.4, (2, 2)) + np.diag([2.0, 3.0])
FACTOR = np.tril(RNG.uniform(-1, 1, (3, 3))) + 3 * np.eye(3)


def spread(m, n):
    """A matrix whose columns are of very different lengths."""
    return (RNG.uniform(-0.2, 0.2, (m, n)) + np.eye(m, n)) * 9.0 ** np.arange(n)


def toeplitz_solution(c, r, b):
    return pt.linalg.solve_toeplitz((c, r), b)


DIFFERENTIABLE = {
    "sqrtm": (pt.linalg.sqrtm, [A]),
    "logm": (pt.linalg.logm, [A]),
    "pivoted qr": (lambda a: pt.linalg.qr(a, pivoting=True)[1] ** 2, [spread(3, 2)]),
    "pivoted qr, wide": (lambda a: pt.linalg.qr(a, pivoting=True)[0] ** 2, [spread(2, 3)]),
    "update": (pt.linalg.cholesky_update, [FACTOR, RNG.uniform(-1, 1, 3)]),
    "downdate": (
        lambda factor, x: pt.linalg.cholesky_update(factor, x, lower=False, downdate=True),
        [FACTOR.T, RNG.uniform(-1, 1, 3)],
    ),
    "toeplitz": (
        toeplitz_solution,
        [np.array([4.0, 1.0, -0.5]), np.array([0.0, 0.5, 0.3]), RNG.uniform(-1, 1, (3, 2))],
    ),
    "banded": (
        lambda a, b: pt.linalg.solve(a, b, assume_a="banded", bands=(2, 1)),
        [FACTOR + np.eye(3, k=1), RNG.uniform(-1, 1, 3)],
    ),
    "half of the bands": (
        pt.linalg.solveh_banded,
        [np.array([[0.0, 0.5, 0.4], [4.0, 5.0, 6.0]]), RNG.uniform(-1, 1, 3)],
    ),
}


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_derivatives(name):
    function, values = DIFFERENTIABLE[name]
    types = [pt.TensorType("float64", x.shape)() for x in values]
    output = function(*types)
    cost = (pt.sin(output) + output**2).sum()
    gradients = phintys.grad(cost, types)
    directions = [np.random.default_rng(2).normal(size=x.shape) for x in values]
    forward = phintys.Rop(cost, types, [pt.constant(d) for d in directions])
    run = phintys.function(types, [cost, forward, *gradients])
    _, found, *slopes = run(*values)
    step = 1e-6
    ends = [
        run(*(x + sign * step * d for x, d in zip(values, directions, strict=True)))[0]
        for sign in (1, -1)
    ]
    expected = (ends[0] - ends[1]) / (2 * step)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    along = sum((slope * d).sum() for slope, d in zip(slopes, directions, strict=True))
    np.testing.assert_allclose(along, expected, rtol=1e-6)


def test_banded_solvers_agree_with_the_dense_one():
    a, b = pt.dmatrix("a"), pt.dvector("b")
    solved = [
        pt.linalg.solve(a, b, assume_a="banded", bands=(1, 2)),
        pt.linalg.solve(a, b, assume_a="banded", bands=(1, 2), transposed=True),
    ]
    run = phintys.function([a, b], solved)
    for n in (1, 2, 5):
        value = np.triu(np.tril(RNG.uniform(-1, 1, (n, n)), 2), -1) + 4 * np.eye(n)
        right = RNG.uniform(-1, 1, n)
        for found, matrix in zip(run(value, right), (value, value.T), strict=True):
            np.testing.assert_allclose(found, np.linalg.solve(matrix, right), rtol=1e-10)


@pytest.mark.parametrize("lower", [True, False])
def test_half_of_the_diagonals_of_a_hermitian_matrix(lower):
    ab, b = pt.tensor("ab", dtype="complex128", shape=(3, None)), pt.zvector("b")
    run = phintys.function([ab, b], pt.linalg.solveh_banded(ab, b, lower=lower))
    for n in (1, 2, 6):
        bands = RNG.uniform(-1, 1, (3, n)) + 1j * RNG.uniform(-1, 1, (3, n))
        bands[0 if lower else 2] = 8
        right = RNG.uniform(-1, 1, n) + 0j
        a = np.zeros((n, n), complex)
        for i in range(n):
            for j in range(max(0, i - 2), i + 1):
                a[i, j] = bands[i - j, j] if lower else np.conj(bands[2 + j - i, i])
        a += np.tril(a, -1).conj().T
        np.testing.assert_allclose(run(bands, right), np.linalg.solve(a, right), rtol=1e-10)


@pytest.mark.parametrize("sort", [None, "lhp", "rhp", "iuc", "ouc"])
def test_schur_forms_are_scipys(sort):
    a = RNG.normal(size=(4, 4))
    t, z = pt.linalg.schur(pt.constant(a), "complex", sort)
    expected, unitary, *_ = scipy.linalg.schur(a, "complex", sort=sort)
    np.testing.assert_allclose(t.eval(), expected, atol=1e-12)
    np.testing.assert_allclose(z.eval(), unitary, atol=1e-12)
    assert t.dtype == z.dtype == "complex128"


def test_ordered_pairs():
    a, b = RNG.normal(size=(2, 4, 4))
    found = pt.linalg.ordqz(pt.constant(a), pt.constant(b), "iuc", "complex")
    s, t, q, z = (x.eval() for x in found)
    is_inside = abs(np.diag(s) / np.diag(t)) < 1
    assert is_inside.tolist() == sorted(is_inside, reverse=True)
    np.testing.assert_allclose(q @ s @ z.conj().T, a, atol=1e-12)
    np.testing.assert_allclose(q @ t @ z.conj().T, b, atol=1e-12)


def test_forms_without_a_gradient_say_so():
    a = pt.dmatrix("a")
    for value in (pt.linalg.schur(a).T, pt.linalg.qz(a, a).AA, pt.linalg.qr(a, "raw").H):
        with pytest.raises(MethodNotDefinedError, match=r"gradient of .* is not defined"):
            phintys.grad(value.sum(), a)


def test_packed_factors_are_lapacks():
    a = RNG.normal(size=(4, 3))
    packed, tau = pt.linalg.qr(pt.constant(a), "raw")
    (expected, factors), _ = scipy.linalg.qr(a, mode="raw")
    np.testing.assert_allclose(packed.eval(), expected)
    np.testing.assert_allclose(tau.eval(), factors)


def test_an_update_of_a_large_factor_is_native():
    factor, x = pt.dmatrix("factor"), pt.dvector("x")
    run = phintys.function([factor, x], pt.linalg.cholesky_update(factor, x), mode="native")
    assert "call cholesky_update" in run.explain()
    a, vector = np.cov(RNG.normal(size=(60, 200))), RNG.normal(size=60)
    expected = np.linalg.cholesky(a + np.outer(vector, vector))
    np.testing.assert_allclose(run(np.linalg.cholesky(a), vector), expected, atol=1e-12)


def test_what_has_no_result_is_named():
    a = pt.dmatrix("a")
    for function, value, reason in [
        (pt.linalg.sqrtm, np.diag([1.0, -1.0]), "no real square root"),
        (pt.linalg.logm, np.diag([1.0, -1.0]), "no real logarithm"),
        (pt.linalg.logm, np.diag([1.0, 0.0]), "no logarithm"),
        (pt.linalg.schur, np.full((2, 2), np.nan), "not finite"),
        (lambda a: pt.linalg.solve_toeplitz(a[0], a[1]), np.zeros((2, 2)), "minor of 0"),
        (
            lambda a: pt.linalg.cholesky_update(a, a[0] * 2, downdate=True),
            np.eye(2),
            "minor of order 1 is not positive",
        ),
    ]:
        made = function(a)
        output = made[0] if isinstance(made, tuple) else made
        with pytest.raises(np.linalg.LinAlgError, match=reason):
            phintys.function([a], output)(value)


@pytest.mark.parametrize("rcond", [-1, 0, 1e-6, 0.5, 1, 2.0])
def test_what_counts_in_least_squares_is_what_counts_in_numpy(rcond):
    a, b = np.array([[2.0, 1.0], [3.0, 4.0]]), np.array([[17.0, 20.0], [43.0, 50.0]])
    found = pt.linalg.lstsq(pt.constant(a), b, rcond).x.eval()
    np.testing.assert_allclose(found, np.linalg.lstsq(a, b, rcond)[0])
