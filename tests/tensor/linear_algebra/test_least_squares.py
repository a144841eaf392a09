"""Derivatives of pseudo-inverses and least squares, which do not depend on gaps."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt

RNG = np.random.default_rng(4)
Q = np.linalg.qr(RNG.normal(size=(4, 4)))[0]
DESIGN = np.eye(3)[[0, 0, 1, 1, 2, 2]]
"""Each row is of one of three groups of the same size."""

REPEATED = {
    "identity": np.eye(3),
    "rotation": Q,
    "orthonormal columns": Q[:, :2],
    "orthonormal rows": Q[:3],
    "design": DESIGN,
    "nearly equal": (Q * [1, 1 + 1e-13, 2, 2 - 1e-12]) @ Q[::-1],
    "projection": Q[:, :2] @ Q[:, :2].T,
    "of lower rank": (Q[:, :3] * [3, 3, 1]) @ Q[:3],
}


def golub_and_pereyra(a, direction):
    p = np.linalg.pinv(a, 1e-10)
    rest, beyond = np.eye(len(a)) - a @ p, np.eye(a.shape[1]) - p @ a
    change = p @ p.T @ direction.T @ rest + beyond @ direction.T @ p.T @ p
    return change - p @ direction @ p


@pytest.mark.sampled(3)
@pytest.mark.parametrize("mode", ["native", "reference"])
@pytest.mark.parametrize("rcond", [None, 1e-8])
@pytest.mark.parametrize("name", REPEATED)
def test_both_derivatives_where_singular_values_repeat(name, rcond, mode):
    value = REPEATED[name]
    direction, weights = RNG.normal(size=value.shape), RNG.normal(size=value.T.shape)
    b = RNG.normal(size=(len(value), 2))
    a, d = pt.dmatrices("a", "d")
    inverse, solution = pt.linalg.pinv(a, rcond), pt.linalg.lstsq(a, b, rcond).x
    costs = (inverse * weights).sum(), (solution * (weights @ b)).sum()
    outputs = [*(phintys.grad(cost, a) for cost in costs), *phintys.Rop([inverse, solution], a, d)]
    slope, other, change, moved = phintys.function([a, d], outputs, mode=mode)(value, direction)
    expected = golub_and_pereyra(value, direction)
    np.testing.assert_allclose(change, expected, atol=1e-11)
    np.testing.assert_allclose(moved, expected @ b, atol=1e-11)
    np.testing.assert_allclose((slope * direction).sum(), (expected * weights).sum())
    np.testing.assert_allclose((other * direction).sum(), (expected @ b * (weights @ b)).sum())


def test_the_gradient_at_the_identity_has_all_elements():
    a, weights = pt.dmatrix("a"), RNG.normal(size=(3, 3))
    slope = phintys.grad((pt.linalg.pinv(a) * weights).sum(), a)
    np.testing.assert_allclose(slope.eval({a: np.eye(3)}), -weights)
    slope = phintys.grad((pt.linalg.pinv(a, hermitian=True) * weights).sum(), a)
    whole = -(weights + weights.T)
    expected = np.tril(whole) - np.diag(np.diag(whole)) / 2
    np.testing.assert_allclose(slope.eval({a: np.eye(3)}), expected)


@pytest.mark.parametrize("function", [pt.linalg.pinv, lambda a: pt.linalg.lstsq(a, np.eye(4)).x])
def test_second_derivatives_along_matrices_of_one_rank(function):
    def of_factors(x, y):
        return function(pt.dot(x, y))  # of rank 2 for all x and y

    def slope(x, y):
        cost = (of_factors(x, y) * pt.constant(weights)).sum()
        return pt.concatenate([g.flatten() for g in phintys.grad(cost, [x, y])])

    weights = RNG.normal(size=(3, 4))
    for check in (of_factors, slope):
        phintys.gradient.verify_grad(
            check, [Q[:, :2], 2 * Q[:2, :3]], rng=np.random.default_rng(1), mode="reference"
        )


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("shape", [(4, 4), (4, 3), (3, 4)])
def test_values_that_a_cutoff_drops_may_be_large(shape, dtype):
    rng = np.random.default_rng(5)
    x = rng.normal(size=shape) + (1j * rng.normal(size=shape) if dtype == "complex128" else 0)
    u, _, vh = np.linalg.svd(x, full_matrices=False)
    s = np.array([2.0, 2.0, 0.6, 0.5])[: min(shape)]
    a = pt.tensor("a", dtype=dtype, shape=shape)
    for function in (
        lambda a: pt.linalg.pinv(a, 0.4),
        lambda a: pt.linalg.lstsq(a, x[:, :2], 0.4).x,
    ):
        y = function(a)
        cost = pt.sin(y.real).sum() + pt.cos(y.imag).sum()
        direction = pt.constant(x)
        f = phintys.function([a], [cost, phintys.grad(cost, a), phintys.Rop(cost, a, direction)])
        value, step = (u * s) @ vh, 1e-5
        _, slope, change = f(value)
        expected = (f(value + step * x)[0] - f(value - step * x)[0]) / (2 * step)
        np.testing.assert_allclose(change, expected, rtol=1e-6)
        np.testing.assert_allclose((slope.conj() * x).sum().real, change)
