"""Sparse matrices in PyTensor's graphs: its own Ops compute with them."""

import numpy as np
import pytensor
import pytensor.sparse
import pytensor.tensor as pt
import pytest
import scipy.sparse

import phintys
from phintys._base.errors import NullGradientError
from phintys.bridge.pytensor import callbacks, from_pytensor

W = scipy.sparse.csr_matrix(np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]]))
X = np.array([[1.0, 2.0, 4.0], [3.0, 5.0, 7.0]])


def test_products_with_a_constant_have_gradients():
    x = pt.dmatrix("x")
    matrix = pytensor.sparse.as_sparse_variable(W)
    product = pytensor.sparse.dot(matrix, pt.exp(x.T))
    cost = (product**2).sum() + pytensor.sparse.sp_sum(matrix, axis=1).sum() * matrix.shape[0]
    ours, found = from_pytensor([x, cost])
    f = phintys.function([ours], [found, phintys.grad(found, ours)])
    value, gradient = f(X)
    dense = W.toarray()
    expected = 2 * (dense @ np.exp(X.T)) @ (dense @ np.exp(X.T)).T
    np.testing.assert_allclose(value, np.trace(expected) / 2 + 2 * dense.sum())
    np.testing.assert_allclose(gradient, (2 * dense.T @ dense @ np.exp(X.T)).T * np.exp(X))
    assert set(callbacks(found)) == {
        "DenseFromSparse{structured_grad=True}",
        "SparseDot",
        "SpSum{axis=1}",
    }


def test_the_mode_takes_and_returns_them():
    a, x = pytensor.sparse.csr_matrix("a"), pt.dmatrix("x")
    shared = pytensor.shared(W, "shared")
    outputs = [a, pytensor.sparse.dot(a, x), pytensor.sparse.add(a, shared)]
    f = pytensor.function([a, x], outputs, mode="PHINTYS")
    same, product, total = f(W, X.T)
    assert (same != W).nnz == 0
    np.testing.assert_allclose(product, W @ X.T)
    np.testing.assert_allclose(total.toarray(), 2 * W.toarray())
    shared.set_value(3 * W)
    np.testing.assert_allclose(f(W, X.T)[2].toarray(), 4 * W.toarray())


def test_gradients_through_them_are_an_error():
    x = pt.dmatrix("x")
    cost = pytensor.sparse.dot(pytensor.sparse.csr_from_dense(x), x.T).sum()
    ours, found = from_pytensor([x, cost])
    with pytest.raises(NullGradientError, match="sparse matrices are not defined"):
        phintys.grad(found, ours)
