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
    assert not callbacks(found)


def matrices():
    """Matrices of few and many elements, small and large, with columns and rows of none."""
    rng = np.random.default_rng(7)
    yield "small", W
    yield "empty", scipy.sparse.csr_matrix((3, 4))
    yield "rare", scipy.sparse.random(300, 200, 0.01, format="csc", random_state=rng)
    yield "dense", scipy.sparse.random(30, 20, 0.5, format="csr", random_state=rng)


@pytest.mark.parametrize(("name", "matrix"), list(matrices()))
@pytest.mark.parametrize("ndim", [1, 2])
@pytest.mark.parametrize("is_left", [True, False])
def test_products_with_constants_of_any_kind(name, matrix, ndim, is_left):
    x = pt.tensor("x", shape=(None,) * ndim, dtype="float64")
    constant = pytensor.sparse.as_sparse_variable(matrix)
    product = pytensor.sparse.dot(constant, x) if is_left else pytensor.sparse.dot(x, constant)
    ours, found = from_pytensor([x, product])
    assert not callbacks(found)
    f = phintys.function([ours], [found, phintys.grad((found**2).sum(), ours)])
    dense = matrix.toarray()
    size = dense.shape[1 if is_left else 0]
    value = np.random.default_rng(3).normal(size=(size, 5)[:ndim])
    value = value if is_left else value.T
    result, gradient = f(value)
    expected = dense @ value if is_left else value @ dense
    np.testing.assert_allclose(result, expected, atol=1e-12)
    slopes = 2 * (dense.T @ expected if is_left else expected @ dense.T)
    np.testing.assert_allclose(gradient, slopes, atol=1e-12)
    with pytest.raises(ValueError, match="shape"):
        f(np.concatenate([value, value], axis=0 if is_left else -1))


@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize("copies", [1, 40])
def test_elements_of_a_constant_pattern_have_gradients(form, copies):
    matrix = scipy.sparse.block_diag([W] * copies, format=form)
    elements, x = pt.dvector("elements"), pt.dvector("x")
    pattern = (matrix.indices, matrix.indptr, np.array(matrix.shape))
    product = pytensor.sparse.dot(pytensor.sparse.CSM(form)(elements, *pattern), x)
    data, ours, found = from_pytensor([elements, x, product])
    f = phintys.function([data, ours], [found, *phintys.grad((found**2).sum(), [data, ours])])
    assert not f.vm.callback_nodes
    value = np.linspace(1, 2, matrix.shape[1])
    result, of_elements, of_x = f(matrix.data, value)
    np.testing.assert_allclose(result, matrix @ value)
    coordinates = matrix.tocoo()
    expected = 2 * (result[coordinates.row] * value[coordinates.col])
    np.testing.assert_allclose(of_elements, expected)
    np.testing.assert_allclose(of_x, 2 * (matrix.T @ result))


def test_sums_with_dense_matrices():
    x = pt.dmatrix("x")
    total = pytensor.sparse.add(pytensor.sparse.as_sparse_variable(W), x)
    ours, found = from_pytensor([x, total])
    assert not callbacks(found)
    np.testing.assert_allclose(found.eval({ours: X}), W.toarray() + X)


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
