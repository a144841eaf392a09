"""Programs with the old packages' sparse matrices run as they are."""

import importlib

import numpy as np
import pytest
import scipy.sparse as sp

from phintys.compat import install, uninstall


@pytest.fixture(params=["theano", "aesara", "pytensor"])
def package(request):
    install(request.param)
    yield importlib.import_module(request.param)
    uninstall(request.param)


def test_a_program_with_sparse_matrices(package):
    sparse = importlib.import_module(f"{package.__name__}.sparse")
    tensor = importlib.import_module(f"{package.__name__}.tensor")
    x, w = sparse.csr_matrix("x", dtype="float64"), tensor.dmatrix("w")
    a = sparse.CSM("csr")(*sparse.csm_properties(x))
    cost = (sparse.structured_dot(a, w) ** 2).sum() + sparse.sp_sum(sparse.sqr(x), sparse_grad=True)
    total = sparse.hstack([x, x]) + sparse.HStack("csr")(x, x)
    f = package.function([x, w], [cost, *package.grad(cost, [x, w]), total])
    full = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]])
    weights = np.arange(6.0).reshape(3, 2)
    cost, of_x, of_w, total = f(sp.csr_matrix(full), weights)
    product = full @ weights
    np.testing.assert_allclose(cost, (product**2).sum() + (full**2).sum())
    np.testing.assert_allclose(of_w, 2 * full.T @ product)
    wanted = np.where(full, 2 * product @ weights.T + 2 * full, 0)
    np.testing.assert_allclose(of_x.toarray(), wanted)
    np.testing.assert_allclose(total.toarray(), 2 * np.hstack([full, full]))
    assert total.format == "csc"


def test_casts_matrices_and_comparisons_by_their_names(package):
    sparse = importlib.import_module(f"{package.__name__}.sparse")
    basic = importlib.import_module(f"{package.__name__}.sparse.basic")
    x = basic.csc_fmatrix("x")
    assert (x.type.dtype, sparse.dcast(x).type.dtype) == ("float32", "float64")
    assert isinstance(basic.bsr_matrix("b").type, sparse.SparseTensorType)
    a = sp.csc_array(np.array([[1.0, 0.0], [0.0, 2.0]], "float32"))
    f = package.function([x], [sparse.gt(x, x), sparse.SpSum(axis=0)(x), x[1, 1]])
    greater, sums, element = f(a)
    assert (greater.nnz, sums.tolist(), element) == (0, [1.0, 2.0], 2.0)


def test_results_are_matrices_whose_operator_is_the_product(package):
    sparse = importlib.import_module(f"{package.__name__}.sparse")
    x = sparse.csc_matrix("x", dtype="float64")
    w = package.shared(sp.csr_matrix(np.eye(2)), "w")
    full = np.array([[1.0, 2.0], [0.0, 3.0]])
    f = package.function(
        [x],
        [x + x, package.Out(x * 3.0, borrow=True), x],
        updates=[(w, w + sparse.csr_from_dense(x.toarray()))],
    )
    given = sp.csc_matrix(full)
    total, multiple, same = f(given)
    for value, wanted in ((total, 2 * full), (multiple, 3 * full), (same, full)):
        assert isinstance(value, sp.csc_matrix)
        np.testing.assert_array_equal((value * given).toarray(), wanted @ full)
    assert isinstance(w.get_value(), sp.csr_matrix)
    np.testing.assert_array_equal(w.get_value().toarray(), np.eye(2) + full)
    made = 2.0 * x
    first = made.eval({x: given})
    assert isinstance(first, sp.csc_matrix)
    np.testing.assert_array_equal((first * first).toarray(), 4 * full @ full)
    one = package.function([x], package.grad((x * x).sum(), x))(given)
    assert isinstance(one, sp.csc_matrix)


def test_dense_operands_of_sparse_divisors_are_told_what_to_write(package):
    sparse = importlib.import_module(f"{package.__name__}.sparse")
    tensor = importlib.import_module(f"{package.__name__}.tensor")
    x, d = sparse.csr_matrix("x", dtype="float64"), tensor.dmatrix("d")
    with pytest.raises(TypeError, match="A divisor must be dense"):
        d / x
    for function in (tensor.true_div, tensor.add):
        with pytest.raises(TypeError, match=r"which is sparse\. Write x\.toarray\(\)"):
            function(d, x)
