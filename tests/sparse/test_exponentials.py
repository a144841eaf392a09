"""Exponentials of sparse matrices times vectors."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

import phintys
import phintys.tensor as pt
from phintys import sparse
from phintys._base.errors import ShapeError
from phintys.sparse import linalg
from phintys.testing import verify_grad

N = 5


def drawn(seed=0, dtype="float64"):
    rng = np.random.default_rng(seed)
    full = np.where(rng.random((N, N)) < 0.5, rng.standard_normal((N, N)), 0)
    if np.dtype(dtype).kind == "c":
        full = full * np.exp(1j * rng.random((N, N)))
    return full.astype(dtype), rng.standard_normal(N).astype(dtype)


@pytest.mark.parametrize(
    ("format", "dtype"), [("csr", "float64"), ("csr", "float32"), ("csc", "complex128")]
)
@pytest.mark.sampled(2)
def test_values_are_those_of_the_dense_exponential(format, dtype):
    full, b = drawn(dtype=dtype)
    s, w = sparse.matrix(format, dtype=dtype), pt.matrix(dtype=dtype)
    f = phintys.function([s, w], linalg.expm_multiply(s, w), mode="reference")
    several = np.stack([b, 2 * b], axis=1)
    for scale in (0, 1e-3, 1, 20):
        a = sp.csr_array((full * scale).astype(dtype)).asformat(format)
        wanted = scipy.linalg.expm(a.toarray().astype("complex128")) @ several
        found = f(a, several)
        assert found.dtype == dtype
        largest = max(1, np.abs(wanted).max())
        tolerance = largest * (1e-4 if dtype == "float32" else 1e-12) * max(1, scale)
        np.testing.assert_allclose(found, wanted, atol=tolerance, rtol=0)


def test_a_shift_costs_no_products():
    """A multiple of the identity is taken out, so ``max_products`` is not exceeded."""
    a = sp.eye_array(N, format="csr") * -5000.0
    f = phintys.function(
        [s := sparse.csr_matrix()], linalg.expm_multiply(s, np.ones(N), 5), mode="reference"
    )
    np.testing.assert_allclose(f(a), np.exp(-5000.0) * np.ones(N))
    np.testing.assert_allclose(f(a / 5000), np.exp(-1) * np.ones(N))


def test_derivatives_are_those_of_differences():
    full, b = drawn(1)
    a = sp.csr_array(full)
    verify_grad(
        lambda d, v: linalg.expm_multiply(sparse.from_parts(d, a.indices, a.indptr, a.shape), v),
        [a.data, b],
        rng=np.random.default_rng(2),
        n_tests=1,
    )


@pytest.mark.parametrize("scale", [1e300, np.inf, np.nan])
def test_norms_that_ask_for_too_many_products_are_errors(scale):
    f = phintys.function(
        [s := sparse.csr_matrix(), v := pt.dvector()], linalg.expm_multiply(s, v), mode="reference"
    )
    full, b = drawn()
    a = sp.csr_array(full)
    a.data *= scale
    with pytest.raises(OverflowError, match="max_products=100000"):
        f(a, b)


def test_wrong_shapes_are_refused():
    with pytest.raises(ShapeError, match="must be square"):
        linalg.expm_multiply(sparse.csr_matrix(shape=(2, 3)), pt.dvector())
    f = phintys.function(
        [s := sparse.csr_matrix(), v := pt.dvector()], linalg.expm_multiply(s, v), mode="reference"
    )
    with pytest.raises(ShapeError):
        f(sp.eye_array(3, format="csr"), np.ones(4))
    with pytest.raises(ShapeError):
        f(sp.csr_array((3, 4)), np.ones(3))
    assert f(sp.csr_array((0, 0)), np.ones(0)).shape == (0,)


def test_the_sparse_jacobian_keeps_unconnected_parts_apart():
    blocks = [sp.csr_array(np.triu(drawn(seed)[0][:3, :3] + 3.0)) for seed in (2, 3)]
    a = sp.block_diag(blocks, format="csr")
    v, d = pt.tensor("v", shape=(6,)), pt.tensor("d", shape=(a.nnz,))
    y = linalg.expm_multiply(sparse.from_parts(d, a.indices, a.indptr, a.shape), v)
    jacobian = sparse.sparse_jacobian(y, v)
    (found,) = phintys.function([v, d], [jacobian], mode="reference")(np.ones(6), a.data)
    assert found.nnz == 12
    np.testing.assert_allclose(found.toarray(), scipy.linalg.expm(a.toarray()), atol=1e-12)
