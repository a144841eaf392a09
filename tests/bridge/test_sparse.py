"""Sparse matrices in PyTensor's graphs are those of ``phintys.sparse``."""

import numpy as np
import pytensor
import pytensor.sparse
import pytensor.sparse.linalg
import pytensor.tensor as pt
import pytest
import scipy.sparse
from pytensor.graph import Apply, Op
from pytensor.graph.traversal import applys_between

import phintys
from phintys import sparse
from phintys.bridge.pytensor import callbacks, convert_op, from_pytensor, to_pytensor

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


def test_gradients_reach_them():
    a, x = pytensor.sparse.csr_matrix("a"), pt.dmatrix("x")
    cost = (pytensor.sparse.dot(a, x) ** 2).sum()
    *ours, found = from_pytensor([a, x, cost])
    of_a, of_x = phintys.function(ours, phintys.grad(found, ours))(W, X.T)
    full = 2 * W.toarray() @ X.T @ X
    np.testing.assert_allclose(of_a.toarray(), full * (W.toarray() != 0))
    np.testing.assert_allclose(of_x, 2 * W.T @ (W @ X.T))


A = scipy.sparse.csr_matrix([[0.0, 2.0, 0.5], [1.0, 0.0, 3.0]])
B = scipy.sparse.csr_matrix([[0.0, 2.0, 0.0], [4.0, 5.0, 0.0]])
SQUARE = (A.T @ A).tocsc()
ROWS = np.array([1, 0, -1])

# Name -> the function of PyTensor's variables, and values for them.
RECORDS = {
    "properties": (lambda a: list(pytensor.sparse.csm_properties(a)), A),
    "structured": (lambda a: [pytensor.sparse.structured_exp(a), pytensor.sparse.sqr(a), -a], A),
    "convert": (
        lambda a, c, x: [
            *(a.toarray(), c.toarray(), a.T, a.shape[0], a.shape),
            *(pytensor.sparse.csr_from_dense(x), pytensor.sparse.csc_from_dense(x)),
            pytensor.sparse.cast(a, "float32"),
        ],
        *(A, A.tocsc(), B.toarray()),
    ),
    "parts": (
        lambda a, k: [
            *(a[0:1, 1:], a[::1], a[1, 2], pytensor.sparse.get_item_list(a, k)),
            pytensor.sparse.get_item_2lists(a, k, k),
        ],
        *(A, ROWS),
    ),
    "gradients_of_parts": (
        lambda a, c, k, x: [
            pytensor.sparse.basic.get_item_list_grad(a, k[:2], a),
            pytensor.sparse.basic.get_item_2lists_grad(c, k[:2], k[1:], x[0, :2]),
        ],
        *(A, A.tocsc(), ROWS, B.toarray()),
    ),
    "scale": (
        lambda a, c, v: [
            pytensor.sparse.math.mul_s_v(a, v),
            *(pytensor.sparse.col_scale(one, v) for one in (a, c)),
            *(pytensor.sparse.row_scale(one, v[1:]) for one in (a, c)),
        ],
        *(A, A.tocsc(), np.array([1.0, 2.0, 4.0])),
    ),
    "diagonal": (
        lambda s, v: [pytensor.sparse.diag(s), pytensor.sparse.square_diagonal(v)],
        *(SQUARE, np.array([1.0, 2.0])),
    ),
    "stack": (
        lambda a, b, x: [
            pytensor.sparse.hstack([a, b]),
            pytensor.sparse.vstack([a, b], format="csr", dtype="float32"),
            pytensor.sparse.linalg.block_diag(a, x, format="csr"),
            pytensor.sparse.construct_sparse_from_list(x, x, np.array([1, 0])),
        ],
        *(A, B, B.toarray()),
    ),
    "clean": (
        lambda a: [pytensor.sparse.clean(a), pytensor.sparse.remove0(a)],
        scipy.sparse.csr_matrix(([1.0, 0.0, 2.0], [2, 0, 1], [0, 2, 3]), shape=(2, 3)),
    ),
    "sum": (lambda a: [pytensor.sparse.sp_sum(a, axis) for axis in (None, 0, 1)], A),
    "add": (
        lambda a, b, x: [
            *(a + b, a - b, a + x),
            *(pytensor.sparse.add_s_s_data(a, a), pytensor.sparse.structured_add_s_v(a, x[0])),
        ],
        *(A, B, B.toarray()),
    ),
    "multiply": (lambda a, b, x, n: [a * b, a * x, a * n[0]], A, B, B.toarray(), ROWS),
    "compare": (
        lambda a, b, x: [
            compared(a, other)
            for other in (b, x)
            for name in ("eq", "neq", "lt", "gt", "le", "ge")
            for compared in [getattr(pytensor.sparse, name)]
        ],
        *(A, B, B.toarray()),
    ),
    "products": (
        lambda a, b, x: [
            *(pytensor.sparse.dot(a, x.T), pytensor.sparse.dot(x, a.T)),
            *(pytensor.sparse.dot(a, b.T), pytensor.sparse.dot(a, x[1])),
            *(pytensor.sparse.structured_dot(a, x.T), pytensor.sparse.structured_dot(a, b.T)),
            *(pytensor.sparse.true_dot(a, b.T), pytensor.sparse.true_dot(a, x.T)),
            pytensor.sparse.math.usmm(x[0, 1], a, x.T, pt.ones((2, 2))),
            pytensor.sparse.sampling_dot(x[:, :2], x[:, 1:], a[:, :2]),
        ],
        *(A, B, B.toarray()),
    ),
}


def _variable(value):
    if scipy.sparse.issparse(value):
        return pytensor.sparse.matrix(value.format, dtype=value.dtype.name)
    return pt.tensor(dtype=value.dtype.name, shape=(None,) * value.ndim)


@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")  # of PyTensor's Ops
@pytest.mark.parametrize("name", RECORDS)
def test_values_are_pytensors(name):
    build, *values = RECORDS[name]
    inputs = [_variable(value) for value in values]
    outputs = build(*inputs)
    expected = pytensor.function(
        inputs, outputs, mode=pytensor.compile.Mode("py", None), on_unused_input="ignore"
    )(*values)
    assert not callbacks(from_pytensor(outputs))
    found = pytensor.function(inputs, outputs, mode="PHINTYS", on_unused_input="ignore")(*values)
    for value, wanted, output in zip(found, expected, outputs, strict=True):
        assert value.dtype == output.type.dtype
        if scipy.sparse.issparse(wanted):
            assert isinstance(value, output.type.format_cls[output.type.format])
            value, wanted = value.toarray(), wanted.toarray()
        np.testing.assert_allclose(value, wanted)


def test_each_sparse_op_has_a_record():
    def classes(build, *values):
        outputs = build(*map(_variable, values))
        return {type(node.op).__name__ for node in applys_between([], outputs)}

    with_gradients = {"CSMGrad", "StructuredDotGradCSC", "StructuredDotGradCSR"}
    theirs = {cls.__name__ for cls in convert_op.registry if ".sparse." in cls.__module__}
    recorded = set().union(*(classes(*record) for record in RECORDS.values()))
    assert theirs - recorded == with_gradients  # which test_op_gradients compares


class Doubled(Op):
    """An Op of a user."""

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        assert isinstance(inputs[0], scipy.sparse.spmatrix)
        output_storage[0][0] = 2 * inputs[0]

    def pullback(self, inputs, outputs, output_grads):
        return [2 * output_grads[0].toarray()]


def test_ops_of_users_take_and_return_them():
    a = pytensor.sparse.csr_matrix("a")
    ours, found = from_pytensor([a, pytensor.sparse.sqr(Doubled()(a))])
    assert callbacks(found) == {"Doubled": 1}
    value, slope = phintys.function([ours], [found, phintys.grad(found.sum(), ours)])(W)
    np.testing.assert_allclose(value.toarray(), 4 * W.toarray() ** 2)
    np.testing.assert_allclose(slope.toarray(), 8 * W.toarray())


@pytest.mark.parametrize("mode", ["PHINTYS", "FAST_COMPILE"])
def test_functions_of_phintys_take_and_return_them(mode):
    a, v = pytensor.sparse.csr_matrix("a"), pt.dvector("v")
    scaled, product = to_pytensor(lambda a, v: [2 * a, sparse.dot(a, v)])(a, v)
    outputs = [scaled, product, pytensor.grad((product**2).sum(), v)]
    value, found, slope = pytensor.function([a, v], outputs, mode=mode)(W, X[0])
    assert isinstance(value, scipy.sparse.csr_matrix)
    np.testing.assert_allclose(value.toarray(), 2 * W.toarray())
    np.testing.assert_allclose(found, W @ X[0])
    np.testing.assert_allclose(slope, 2 * W.T @ (W @ X[0]))


def test_blocks_are_rows_inside():
    a = pytensor.sparse.bsr_matrix("a", dtype="float64")
    f = pytensor.function([a], a, mode="PHINTYS")
    found = f(scipy.sparse.bsr_matrix(W))
    assert found.format == "bsr"
    np.testing.assert_array_equal(found.toarray(), W.toarray())
