"""Iterations with preconditioners solve the same systems, in fewer steps."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import phintys
import phintys.tensor as pt
from phintys import sparse
from phintys._base.errors import ArgumentError, ShapeError, TypeContractError
from phintys.sparse import linalg
from phintys.testing import verify_grad

N = 6
RNG = np.random.default_rng(0)
FULL = np.where(RNG.random((N, N)) < 0.4, RNG.standard_normal((N, N)), 0) + np.diag(
    10.0 ** np.arange(N)
)
NEAR = np.linalg.inv(FULL + 0.01 * np.diag(np.diag(FULL)))

PRECONDITIONERS = {
    "jacobi": "jacobi",
    "dense": NEAR,
    "sparse": sp.csc_array(NEAR),
    "function": lambda r: pt.dot(NEAR, r),
    "of two steps": lambda r: pt.dot(NEAR, 2 * r - pt.dot(FULL @ NEAR, r)),
}


@pytest.mark.parametrize(
    ("name", "format"), [(name, "csc" if name == "dense" else "csr") for name in PRECONDITIONERS]
)
@pytest.mark.sampled(3)
def test_solutions_and_gradients_are_those_of_the_system(name, format):
    a = sp.csr_array(FULL).asformat(format)

    def solve(d, b):
        matrix = sparse.from_parts(d, a.indices, a.indptr, a.shape, format)
        return linalg.gmres(matrix, b, M=PRECONDITIONERS[name])

    b = np.arange(N) + 1.0
    d, v = pt.dvector(), pt.dvector()
    x = solve(d, v)
    f = phintys.function([d, v], [x, *phintys.grad((x**2).sum(), [d, v])], mode="reference")
    found, of_data, of_b = f(a.data, b)
    wanted = np.linalg.solve(FULL, b)
    np.testing.assert_allclose(found, wanted, rtol=1e-7)
    slope = np.linalg.solve(FULL.T, 2 * wanted)
    np.testing.assert_allclose(of_b, slope, rtol=1e-6, atol=1e-8)
    entries = a.tocoo()
    np.testing.assert_allclose(
        of_data, -slope[entries.row] * wanted[entries.col], rtol=1e-6, atol=1e-7
    )


def test_conjugate_gradients_need_fewer_steps():
    full = np.diag(10.0 ** np.arange(N)) + 0.1
    s, v = sparse.csr_matrix(), pt.dvector()
    b = np.arange(N) + 1.0
    plain = phintys.function([s, v], linalg.cg(s, v, maxiter=4), mode="reference")
    with pytest.raises(np.linalg.LinAlgError, match="has not converged"):
        plain(sp.csr_array(full), b)
    better = linalg.cg(s, v, maxiter=4, M="jacobi", rtol=1e-6)
    f = phintys.function([s, v], [better, phintys.grad(better.sum(), v)], mode="reference")
    found, slope = f(sp.csr_array(full), b)
    np.testing.assert_allclose(found, np.linalg.solve(full, b), rtol=1e-4)
    np.testing.assert_allclose(slope, np.linalg.solve(full, np.ones(N)), rtol=1e-3)
    copied = pickle.loads(pickle.dumps(f))
    np.testing.assert_array_equal(copied(sp.csr_array(full), b)[0], found)


def test_what_does_not_depend_on_the_vector_is_computed_once():
    s, v, w = sparse.csr_matrix(), pt.dvector(), pt.dvector("w")
    x = linalg.cg(s, v, M=lambda r: r / (pt.exp(w) * 3))
    (inner,) = [n.op.fgraph for n in phintys.graph.toposort([x]) if hasattr(n.op, "fgraph")]
    assert len(inner.apply_nodes) == 1
    f = phintys.function([s, v, w], [x, phintys.grad(x.sum(), v)], mode="reference")
    full, b = np.eye(N) * 2, np.arange(N) + 1.0
    np.testing.assert_allclose(f(sp.csr_array(full), b, np.zeros(N))[0], b / 2)
    assert (
        phintys.grad(x.sum(), w, disconnected_inputs="ignore").owner.op == pt.zeros_like(w).owner.op
    )


def test_several_right_sides_and_tangents():
    a = sp.csr_array(FULL)
    verify_grad(
        lambda b: linalg.gmres(a, b, M="jacobi"), [RNG.standard_normal((N, 2))], rng=RNG, n_tests=1
    )
    v, w = pt.dvector(), pt.dvector()
    f = phintys.function([v, w], phintys.Rop(linalg.gmres(a, v, M=NEAR), v, w), mode="reference")
    moved = np.arange(N) + 2.0
    np.testing.assert_allclose(f(np.ones(N), moved), np.linalg.solve(FULL, moved), rtol=1e-7)


def test_what_is_wrong_is_named():
    s, v = sparse.csr_matrix(), pt.dvector()
    with pytest.raises(ArgumentError, match="'jacobi', got 'ilu'"):
        linalg.cg(s, v, M="ilu")
    with pytest.raises(TypeContractError, match="must map a vector to a vector"):
        linalg.cg(s, v, M=lambda r: r.sum())
    with pytest.raises(TypeContractError, match="must map a vector to a vector"):
        linalg.cg(s, v, M=lambda r: v)
    with pytest.raises(TypeContractError, match="must be real"):
        linalg.cg(s, pt.zvector(), M="jacobi")
    f = phintys.function([s, v], linalg.cg(s, v, M=lambda r: r[:2]))
    with pytest.raises(ShapeError, match="a vector of 6 numbers"):
        f(sp.csr_array(np.eye(N)), np.ones(N))
