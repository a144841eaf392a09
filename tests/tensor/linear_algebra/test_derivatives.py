"""Derivatives of functions of several matrix Ops; and second ones of all."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt

RNG = np.random.default_rng(0)
A = RNG.normal(size=(2, 3, 3))
P = A @ A.mT + 3 * np.eye(3)
TALL = RNG.normal(size=(4, 3))
B = RNG.normal(size=(3, 2))
C = RNG.normal(size=(3, 3)) + 1j * RNG.normal(size=(3, 3))

COMPOSED = {
    "cho_solve": (lambda a, b: pt.linalg.cho_solve(pt.linalg.cho_factor(a), b), [P, B]),
    "lu_solve": (lambda a, b: pt.linalg.lu_solve(pt.linalg.lu_factor(a), b), [A, B]),
    "lu_solve, transposed": (
        lambda a, b: pt.linalg.lu_solve(pt.linalg.lu_factor(a), b, 1),
        [A, B],
    ),
    "lu": (lambda a: pt.linalg.lu(a, permute_l=True)[0], [A[0]]),
    "pinv": (pt.linalg.pinv, [TALL]),
    "pinv, hermitian": (lambda a: pt.linalg.pinv(a, hermitian=True), [P[0]]),
    "lstsq": (lambda a, b: pt.linalg.lstsq(a, b).x, [TALL, TALL[:, :2]]),
    "cond": (pt.linalg.cond, [A]),
    "norm": (lambda a: pt.linalg.norm(a, "nuc", axis=(1, 2)) + pt.linalg.norm(a, 2, (1, 2)), [A]),
    "matrix_power": (lambda a: pt.linalg.matrix_power(a, -2), [A[0]]),
    "eigh, generalized": (lambda a, b: pt.linalg.eigh(a, b)[1] ** 2, [A[0] + A[0].T, P[1]]),
}

SINGLE = {
    "cholesky": (pt.linalg.cholesky, [P[0]]),
    "cholesky, complex": (pt.linalg.cholesky, [C @ C.T.conj() + np.eye(3)]),
    "solve": (pt.linalg.solve, [A[0], B]),
    "solve, positive": (lambda a, b: pt.linalg.solve(a, b, assume_a="pos"), [P[0], B]),
    "solve_triangular": (pt.linalg.solve_triangular, [P[0], B]),
    "lu_factor": (lambda a: pt.linalg.lu_factor(a)[0], [A[0]]),
    "inv": (pt.linalg.inv, [A[0]]),
    "det": (pt.linalg.det, [A[0]]),
    "slogdet": (lambda a: pt.linalg.slogdet(a)[1], [A[0]]),
    "eigh": (lambda a: pt.linalg.eigh(a)[0] ** 2, [P[0]]),
    "eigh, vectors": (lambda a: pt.linalg.eigh(a)[1] ** 2, [P[0]]),
    "svd": (lambda a: pt.linalg.svd(a, full_matrices=False)[0] ** 2, [TALL]),
    "svd, complex": (lambda a: abs(pt.linalg.svd(a, full_matrices=False)[2]) ** 2, [C]),
    "svdvals": (lambda a: pt.linalg.svdvals(a) ** 2, [TALL.T]),
    "qr": (lambda a: pt.linalg.qr(a)[0], [TALL]),
    "qr, wide": (lambda a: pt.linalg.qr(a)[1], [TALL.T]),
    "qr, complex": (lambda a: pt.linalg.qr(a)[1], [C]),
    "expm": (pt.linalg.expm, [A[0]]),
}


def verify(function, values):
    phintys.gradient.verify_grad(
        function, values, rng=np.random.default_rng(1), mode="reference", abs_tol=1e-4, rel_tol=1e-4
    )


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", COMPOSED)
def test_gradients(name):
    verify(*COMPOSED[name])


@pytest.mark.stress
@pytest.mark.parametrize("name", [*SINGLE, *COMPOSED])
def test_second_derivatives(name):
    function, values = {**SINGLE, **COMPOSED}[name]

    def slope(*inputs):
        out = function(*inputs)
        shape = out.eval(dict(zip(inputs, values, strict=True))).shape
        cost = (out * weights.normal(size=shape)).sum()
        cost = cost.real if out.dtype.startswith("complex") else cost
        return pt.concatenate([g.flatten() for g in phintys.grad(cost, list(inputs))])

    weights = np.random.default_rng(3)
    verify(slope, values)


def test_the_gradient_at_equal_eigenvalues():
    a = pt.dmatrix("a")
    w, v = pt.linalg.eigh(a)
    cost = ((v * pt.exp(w)) @ v.T)[0, 0]  # does not depend on the choice of the vectors
    (slope,) = [phintys.grad(w.sum() + pt.exp(w).sum(), a)]
    np.testing.assert_allclose(slope.eval({a: np.eye(3)}), np.eye(3) * (1 + np.e))
    assert np.isfinite(phintys.grad(cost, a).eval({a: np.eye(3)})).all()


@pytest.mark.parametrize(
    "build", [lambda a: pt.linalg.svd(a)[0], lambda a: pt.linalg.qr(a, "full")[0]]
)
def test_arbitrary_vectors_have_no_gradient(build):
    a = pt.dmatrix("a")
    with pytest.raises(NotImplementedError, match="is not defined"):
        phintys.grad(build(a).sum(), a)


def test_singular_values_that_are_0_have_the_derivative_0():
    """An outer product with zeros has only such ones, whatever their vectors are."""
    x, y = pt.dvectors("x", "y")
    values = pt.linalg.svdvals(pt.outer(y, x))
    third = (values * np.array([0.0, 0.0, 1.0])).sum()
    pulled = phintys.grad(third, [x, y])
    pushed = phintys.gradient.Rop(third, [x, y], [x, x])
    found = phintys.function([x, y], [*pulled, pushed])([1.0, 1.0, 1.0], [0.0, 0.0, 0.0])
    assert not any(np.any(one) for one in found)
