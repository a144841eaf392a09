"""Factors are shared, and structure is seen."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt

RNG = np.random.default_rng(5)
A = RNG.normal(size=(6, 6)) + 6 * np.eye(6)
P = A @ A.T
B = RNG.normal(size=6)


def calls(f):
    lines = [line.strip() for line in f.explain().splitlines()]
    found = [line.split("call ")[1].split("(")[0] for line in lines if ". call " in line]
    return {name: found.count(name) for name in dict.fromkeys(found)}


def callbacks(f):
    return "callback" in f.explain().splitlines()[0]


def agree(inputs, outputs, values):
    f = phintys.function(inputs, outputs, mode="native")
    slow = phintys.function(inputs, outputs, mode="reference")
    for one, other in zip(f(*values), slow(*values), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
    assert not callbacks(f)
    return calls(f)


def test_a_solution_its_gradient_and_a_determinant_share_one_factorization():
    a, b = pt.dmatrix("a"), pt.dvector("b")
    x = pt.linalg.solve(a, b)
    cost = (x**2).sum() + pt.linalg.slogdet(a).logabsdet
    found = agree([a, b], [cost, *phintys.grad(cost, [a, b])], [A, B])
    assert found["getrf"] == 1


def test_a_positive_definite_system_shares_the_cholesky_factor():
    a, b = pt.dmatrix("a"), pt.dvector("b")
    cost = pt.linalg.solve(a, b, assume_a="pos") @ b
    cost = cost + pt.log(pt.linalg.diagonal(pt.linalg.cholesky(a))).sum()
    found = agree([a, b], [cost, *phintys.grad(cost, [a, b])], [P, B])
    assert found["potrf"] == 1
    assert "getrf" not in found


def test_an_inverse_is_not_computed_for_a_product():
    a, b = pt.dmatrix("a"), pt.dvector("b")
    found = agree([a, b], [pt.linalg.inv(a) @ b], [A, B])
    assert found == {"getrf": 1, "trsm": 2}


def test_a_determinant_does_not_overflow_in_a_logarithm():
    a = pt.dmatrix("a")
    f = phintys.function([a], pt.log(pt.linalg.det(a)), mode="native")
    np.testing.assert_allclose(f(np.eye(400) * 10.0), 400 * np.log(10))
    assert np.isnan(f(np.diag([-1.0, 1.0])))
    assert f(np.zeros((2, 2))) == -np.inf


@pytest.mark.parametrize(
    "build",
    [
        pt.linalg.solve,
        lambda c, b: pt.linalg.solve(c.T, b),
        lambda c, b: pt.linalg.solve(c @ c.T, b),
        lambda c, b: pt.linalg.det(c @ c.T) * b,
        lambda c, b: pt.linalg.inv(c) @ b,
    ],
)
def test_triangular_factors_are_not_factorized(build):
    a, b = pt.dmatrix("a"), pt.dvector("b")
    found = agree([a, b], [build(pt.linalg.cholesky(a), b)], [P, B])
    assert "getrf" not in found


@pytest.mark.sampled(2)
@pytest.mark.parametrize("columns", [None, 1, 2])
@pytest.mark.parametrize("scale", [-1.0, 0.3, None])
def test_the_gradient_of_a_normal_density_is_an_inverse_and_an_outer_product(columns, scale):
    shape = (None,) if columns is None else (None, columns)
    a, b, s = pt.dmatrix("a"), pt.tensor("b", shape=shape), pt.dscalar("s")
    factor = pt.linalg.cholesky(a)
    x = pt.linalg.solve_triangular(factor, b, lower=True)
    cost = (x**2).sum() / 2 + pt.log(pt.linalg.diagonal(factor)).sum()
    cost = cost * (s if scale is None else scale) + 0 * s
    right = B if columns is None else RNG.normal(size=(6, columns))
    found = agree([a, b, s], [cost, *phintys.grad(cost, [a, b])], [P, right, 1.7])
    assert found["potri"] == found["potrf"] == 1
    # Only vectors or the columns of b are solved for; with an unknown factor, once more.
    assert found["trsm"] == (2 if scale == -1 else 3)


def test_the_gradient_of_a_normal_density_for_each_of_a_stack():
    a, b = pt.dtensor3("a"), pt.dtensor3("b")
    factor = pt.linalg.cholesky(a)
    x = pt.linalg.solve_triangular(factor, b, lower=True)
    cost = pt.log(pt.linalg.diagonal(factor, 0, 1, 2)).sum() - (x**2).sum() / 2
    stack, right = np.stack([P, 2 * P]), RNG.normal(size=(2, 6, 2))
    found = agree([a, b], [cost, *phintys.grad(cost, [a, b])], [stack, right])
    assert found["potri"] == found["potrf"] == 1
    assert found["trsm"] == 2


@pytest.mark.parametrize("size", [None, 6])
@pytest.mark.parametrize("is_stack", [False, True])
def test_the_gradient_of_a_normal_density_of_a_stack_of_one(is_stack, size):
    a, b = pt.tensor("a", shape=(size, size)), pt.tensor("b", shape=(size,))
    factor = pt.linalg.cholesky(a)
    points = b[None, :, None] if is_stack else b[:, None]
    x = pt.linalg.solve_triangular(factor, points, lower=True)[..., 0]
    costs = -(x**2).sum(axis=-1) / 2 - pt.log(pt.diagonal(factor)).sum()
    cost = costs[0] if is_stack else costs
    found = agree([a, b], [cost, *phintys.grad(cost, [a, b])], [P, B])
    assert found["potri"] == found["potrf"] == 1
    assert found["trsm"] <= 3
    assert "gemm" not in found


@pytest.mark.parametrize("size", [None, 6])
def test_a_gradient_keeps_what_is_not_of_a_normal_density(size):
    a, b = pt.tensor("a", shape=(size, size)), pt.tensor("b", shape=(size,))
    factor = pt.linalg.cholesky(a)
    x = pt.linalg.solve_triangular(factor, b, lower=True)
    cost = (x**2).sum() + (factor**3).sum() - (pt.diagonal(factor) ** 2).sum() + (x**3).sum()
    found = agree([a, b], [cost, *phintys.grad(cost, [a, b])], [P, B])
    assert "potri" not in found
    # u v^T with the triangle above the diagonal, or with another matrix, are not such gradients.
    other = pt.linalg.solve_triangular(factor.T, (x * b), lower=False)
    cost = (pt.triu(pt.outer(other, x)) * factor).sum() + pt.log(pt.diagonal(factor)).sum()
    agree([a, b], [cost, phintys.grad(cost, a)], [P, B])
