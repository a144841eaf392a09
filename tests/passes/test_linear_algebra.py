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
