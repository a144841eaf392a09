"""Functions of matrices that are written with vectors have derivatives where values are equal."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys.graph.traversal import toposort

RNG = np.random.default_rng(3)
B, C, VECTOR = RNG.normal(size=(3, 2)), RNG.normal(size=(2, 3)), RNG.normal(size=3)


def adjoint(x):
    return x.mT.conj() if np.dtype(x.dtype).kind == "c" else x.mT


def _softmax(w):
    return pt.exp(w) / pt.exp(w).sum()


OF_EIGENVECTORS = {
    "scaled": lambda w, v: (v * pt.exp(w)) @ adjoint(v),
    "rows": lambda w, v: v @ (pt.sin(w)[:, None] * adjoint(v)),
    "diagonal": lambda w, v: v @ pt.diag(w**3) @ adjoint(v),
    "roots": lambda w, v: (v * pt.sqrt(w)) @ adjoint(v * pt.sqrt(w)),
    "quotient": lambda w, v: (v / (1 + w)) @ adjoint(v),
    "identity": lambda w, v: v @ adjoint(v),
    "times a matrix": lambda w, v: v @ ((adjoint(v) @ B) / w[:, None]),
    "times a vector": lambda w, v: v @ ((adjoint(v) @ VECTOR) / w),
    "between matrices": lambda w, v: (C @ v * pt.log(w)) @ (adjoint(v) @ B),
    "complex": lambda w, v: (2 * v * pt.exp(1j * w)) @ v.conj().T,
    "some values": lambda w, v: (v * pt.switch(w > 0.5, 1 / w, 0)) @ adjoint(v),
    "two of them": lambda w, v: ((v * w) @ adjoint(v)) @ ((v * pt.exp(w)) @ adjoint(v)),
    "divided by the sum": lambda w, v: (v * (w / w.sum())) @ adjoint(v),
    "softmax": lambda w, v: (v * _softmax(w)) @ adjoint(v),
    "einsum": lambda w, v: pt.einsum("ij,j,kj->ik", v, w**2, v.conj()),
    "slope of eigenvalues": lambda w, v: phintys.grad(pt.exp(w).sum(), v.owner.inputs[0]),
}

OF_SINGULAR_VECTORS = {
    "itself": lambda u, s, vh: (u * s) @ vh,
    "polar factor": lambda u, s, vh: u @ vh,
    "odd": lambda u, s, vh: (u * pt.sin(s)) @ vh,
    "threshold": lambda u, s, vh: (u * pt.maximum(s - 0.3, 0)) @ vh,
    "rows": lambda u, s, vh: u @ (pt.tanh(s)[:, None] * vh),
    "left": lambda u, s, vh: (u * pt.exp(s)) @ adjoint(u),
    "right": lambda u, s, vh: (adjoint(vh) * pt.exp(s)) @ vh,
    "inverse": lambda u, s, vh: (adjoint(vh) / s) @ adjoint(u),
    "slope of the nuclear norm": lambda u, s, vh: phintys.grad(s.sum(), u.owner.inputs[0]),
}

EIGENVALUES = ([1, 1, 1], [1, 1, 2], [0.3, 1, 2], [1, 1 + 1e-13, 2])
SINGULAR_VALUES = ([1, 1, 1], [2, 2, 1], [4, 2, 0.7], [1, 1, 1 - 1e-13])


def unitary(n, dtype):
    rng = np.random.default_rng(n)
    x = rng.normal(size=(n, n)) + (1j * rng.normal(size=(n, n)) if dtype == "complex128" else 0)
    return np.linalg.qr(x)[0]


def numeric(f, a, direction, step=1e-5):
    return (f(a + step * direction) - f(a - step * direction)) / (2 * step)


def cost_of(y):
    weights = np.random.default_rng(5).normal(size=(2, *y.type.shape))
    cost = (y.real * weights[0]).sum()
    return cost + (y.imag * weights[1]).sum() if np.dtype(y.dtype).kind == "c" else cost


def check(cost, x, matrices, directions):
    """Compare both derivatives with differences, in some directions."""
    slope = phintys.grad(cost, x)
    direction = x.type("direction")
    f = phintys.function([x], cost)
    g = phintys.function([x, direction], [slope, phintys.Rop(cost, x, direction)])
    for a in matrices:
        for d in directions:
            reverse, forward = g(a, d)
            expected = numeric(f, a, d)
            scale = max(1, abs(expected))
            assert abs(forward - expected) < 1e-7 * scale
            assert abs((reverse.conj() * d).sum().real - forward) < 1e-8 * scale


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", OF_EIGENVECTORS)
def test_functions_of_hermitian_matrices(name, dtype):
    x = pt.tensor("x", dtype=dtype, shape=(3, 3))
    cost = cost_of(OF_EIGENVECTORS[name](*pt.linalg.eigh(x)))
    q = unitary(3, dtype)
    matrices = [np.eye(3, dtype=dtype), *((q * w) @ q.conj().T for w in np.array(EIGENVALUES))]
    directions = [np.tril(unitary(3, dtype) * k + k * np.eye(3)) for k in (1, -2)]
    for d in directions:
        np.fill_diagonal(d, d.diagonal().real)
    check(cost, x, matrices, directions)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", OF_SINGULAR_VECTORS)
@pytest.mark.parametrize("shape", [(3, 3), (4, 3), (3, 4)])
def test_functions_of_matrices(name, shape, dtype):
    x = pt.tensor("x", dtype=dtype, shape=shape)
    full = shape == (3, 3) and dtype == "float64" and name != "slope of the nuclear norm"
    cost = cost_of(OF_SINGULAR_VECTORS[name](*pt.linalg.svd(x, full_matrices=full)))
    u, v = unitary(shape[0], dtype)[:, :3], unitary(shape[1], dtype)[:3][::-1]
    matrices = [np.eye(*shape, dtype=dtype), *((u * s) @ v for s in np.array(SINGULAR_VALUES))]
    direction = RNG.normal(size=shape).astype(dtype)
    check(cost, x, matrices, [direction, direction[::-1] * 2])


def test_stacks():
    x = pt.tensor3("x", dtype="float64")
    w, v = pt.linalg.eigh(x)
    cost = ((v * pt.exp(w)[:, None, :]) @ v.mT)[:, 0, 1].sum()
    slope = phintys.grad(cost, x).eval({x: np.stack([np.eye(2), np.diag([1.0, 2.0])])})
    np.testing.assert_allclose(slope[:, 1, 0], [np.e, np.e**2 - np.e])


@pytest.mark.parametrize(
    "build",
    [
        lambda w, v: (v**2 * w).sum(),
        lambda w, v: ((v * np.array([1.0, 2.0, 3.0])) @ v.T)[0, 1],  # which of the vectors is last?
        lambda w, v: ((v * pt.cumsum(w)) @ v.T)[0, 1],
        lambda w, v: v[0, 0],
    ],
)
def test_what_depends_on_the_choice_of_vectors_has_no_derivative(build):
    x = pt.dmatrix("x")
    cost = build(*pt.linalg.eigh(x))
    direction = pt.constant(np.tri(3))
    for value in (phintys.grad(cost, x).sum(), phintys.Rop(cost, x, direction)):
        assert np.isnan(value.eval({x: np.eye(3)}))
        assert np.isfinite(value.eval({x: np.diag([1.0, 2.0, 4.0])}))


def test_singular_vectors_of_equal_values_have_no_derivative():
    x = pt.dmatrix("x")
    u, _, vh = pt.linalg.svd(x, full_matrices=False)
    for cost in (u[0, 0], abs(vh).sum()):
        assert np.isnan(phintys.grad(cost, x).eval({x: np.eye(3)})).all()
        assert np.isfinite(phintys.grad(cost, x).eval({x: np.diag([1.0, 2.0, 4.0])})).all()


def test_equal_eigenvalues_of_a_general_matrix_have_no_vectors_with_derivatives():
    x = pt.dmatrix("x")
    cost = abs(pt.linalg.eig(x)[1]).sum()
    assert np.isnan(phintys.grad(cost, x).eval({x: np.eye(3)})).all()


def test_variables_on_the_way_keep_their_own_gradients():
    x = pt.dmatrix("x")
    w, v = pt.linalg.eigh(x)
    scaled = v * pt.exp(w)
    y = scaled @ v.T
    value = np.diag([1.0, 2.0])
    for target in (v, scaled, w):
        slope = phintys.grad(y.sum(), target).eval({x: value})
        assert np.isfinite(slope).all()
        assert slope.any()
    fixed = phintys.grad(y.sum(), x, consider_constant=[v]).eval({x: value})
    np.testing.assert_allclose(fixed, np.diag(np.exp([1.0, 2.0])))
    assert [node.op for node in toposort([y])] == [node.op for node in toposort([scaled @ v.T])]


def test_long_chains_beside_a_decomposition():
    x = pt.dmatrix("x")
    w, y = pt.linalg.eigh(x)[0], x
    for _ in range(3000):
        y = y * 1.0
    z = w
    for _ in range(60):
        z = z * z
    cost = (y @ x).sum() + (x @ z).sum()
    slope = phintys.grad(cost, x).eval({x: np.eye(2)}, mode="reference")
    assert slope.shape == (2, 2)
