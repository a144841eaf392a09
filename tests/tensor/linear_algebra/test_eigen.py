"""Eigenvalues of any matrices: pairs, failures, and derivatives of every order."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys.gradient import verify_grad

RNG = np.random.default_rng(0)
REAL, COMPLEX = RNG.normal(size=(3, 3)), RNG.normal(size=(3, 3)) + 1j * RNG.normal(size=(3, 3))


def value(x):
    return x.eval(mode="reference")


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_vectors_are_those_of_values(dtype):
    a = (RNG.normal(size=(2, 5, 5)) + (1j if dtype.startswith("c") else 0)).astype(dtype)
    w, v = map(value, pt.linalg.eig(a))
    assert w.dtype == v.dtype == np.result_type(dtype, np.complex64)
    tolerance = 1e-4 if w.dtype == "complex64" else 1e-12
    np.testing.assert_allclose(a @ v, v * w[:, None, :], atol=tolerance)
    np.testing.assert_allclose(np.linalg.norm(v, axis=-2), 1, rtol=tolerance)
    np.testing.assert_allclose(value(pt.linalg.eigvals(a)), w, atol=tolerance)


def _sizes(a):
    w, v = pt.linalg.eig(a)
    return abs(v).sum() + 2 * abs(w).sum()


def _powers(a):
    return pt.real(pt.linalg.eigvals(a) ** 3).sum()


@pytest.mark.parametrize("a", [REAL, COMPLEX], ids=["real", "complex"])
@pytest.mark.parametrize("cost", [_sizes, _powers])
def test_gradients_and_gradients_of_gradients(cost, a):
    verify_grad(cost, [a], mode="reference")
    verify_grad(lambda x: abs(phintys.grad(cost(x), x)).sum(), [a], mode="reference")


def test_a_matrix_that_is_not_finite_is_named():
    a = pt.tensor3("a")
    stack = np.stack([np.eye(2), np.full((2, 2), np.nan)])
    with pytest.raises(np.linalg.LinAlgError, match=r"position \[1\].*not finite"):
        pt.linalg.eigvals(a).eval({a: stack}, mode="reference")
    w, v = pt.linalg.eig(a, on_error="nan")
    found = phintys.function([a], [w, v], mode="reference")(stack)
    assert np.isfinite(found[0][0]).all()
    assert np.isnan(found[0][1]).all()
    assert np.isnan(found[1][1]).all()
