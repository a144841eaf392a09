"""Elementwise functions, comparisons, parts and stacks have NumPy's values and derivatives.

All are computed by one function for each pair of formats, and differentiated together.
"""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

import phintys
import phintys.tensor as pt
from phintys import sparse
from phintys._base.errors import ArgumentError, IndexingError, ShapeError, TypeContractError
from phintys.testing import verify_grad

SHAPE = (5, 4)
ROWS, COLUMNS = np.array([3, 0, -1, 3]), np.array([1, 2, -1, 0])


def dense(value):
    return value.toarray() if sp.issparse(value) else np.asarray(value)


def matrix(format, seed, shape=SHAPE):
    """Return a matrix of whole numbers, with an explicit zero."""
    rng = np.random.default_rng(seed)
    full = np.where(rng.random(shape) < 0.5, rng.integers(-3, 4, shape), 0).astype(float)
    value = sp.csr_array(full).asformat(format)
    value.data[0] = 0
    return value


def _listed(values):
    out = np.zeros(SHAPE)
    np.add.at(out, [4, 1, 4], values[:3])
    return out


def _stored(name):
    ours, theirs = getattr(sparse, name), getattr(np, name)
    return lambda a, b, x: ours(a), lambda a, b, x: theirs(a)


STORED = {
    name: _stored(name)
    for name in (
        *("abs", "arctan", "arcsinh", "ceil", "conj", "deg2rad", "expm1", "floor", "rad2deg"),
        *("rint", "sign", "sin", "sinh", "tan", "tanh", "trunc"),
    )
}

# name -> (of two sparse variables and a dense one, of dense values)
CASES = {
    **STORED,
    "sqr": (lambda a, b, x: sparse.sqr(a), lambda a, b, x: a**2),
    "structured_pow": (lambda a, b, x: sparse.structured_pow(a, 2), lambda a, b, x: a**2),
    "eq": (lambda a, b, x: sparse.eq(a, b), lambda a, b, x: a == b),
    "neq": (lambda a, b, x: sparse.neq(a, b), lambda a, b, x: a != b),
    "lt": (lambda a, b, x: a < b, lambda a, b, x: a < b),
    "gt": (lambda a, b, x: a > b, lambda a, b, x: a > b),
    "le": (lambda a, b, x: a <= b, lambda a, b, x: a <= b),
    "ge": (lambda a, b, x: a >= b, lambda a, b, x: a >= b),
    "gt dense": (lambda a, b, x: a > x, lambda a, b, x: a > x),
    "dense lt": (lambda a, b, x: x < a, lambda a, b, x: x < a),
    "dense plus": (lambda a, b, x: x + a, lambda a, b, x: x + a),
    "dense minus": (lambda a, b, x: x - a, lambda a, b, x: x - a),
    "dense times": (lambda a, b, x: x * a, lambda a, b, x: x * a),
    "dense at": (lambda a, b, x: x.T @ a, lambda a, b, x: x.T @ a),
    "vector at": (lambda a, b, x: x[:, 0] @ a, lambda a, b, x: x[:, 0] @ a),
    "mean": (lambda a, b, x: a.mean(), lambda a, b, x: a.mean()),
    "mean of rows": (lambda a, b, x: a.mean(axis=-1), lambda a, b, x: a.mean(axis=1)),
    "mean of columns": (lambda a, b, x: a.mean(axis=0), lambda a, b, x: a.mean(axis=0)),
    "max": (lambda a, b, x: a.max(), lambda a, b, x: a.max()),
    "max of rows": (lambda a, b, x: a.max(axis=1), lambda a, b, x: a.max(axis=1)),
    "min of columns": (lambda a, b, x: a.min(axis=0), lambda a, b, x: a.min(axis=0)),
    "maximum": (lambda a, b, x: a.maximum(b), lambda a, b, x: np.maximum(a, b)),
    "minimum with a dense one": (lambda a, b, x: a.minimum(x), lambda a, b, x: np.minimum(a, x)),
    "count_nonzero": (
        lambda a, b, x: a.count_nonzero(axis=1),
        lambda a, b, x: np.count_nonzero(a, axis=1),
    ),
    "sum by NumPy": (lambda a, b, x: np.sum(a, axis=0), lambda a, b, x: a.sum(axis=0)),
    "max by NumPy": (lambda a, b, x: np.max(a), lambda a, b, x: a.max()),
    "real": (lambda a, b, x: a.real, lambda a, b, x: a),
    "power": (lambda a, b, x: a**3, lambda a, b, x: a**3),
    "vstack": (lambda a, b, x: sparse.vstack([a, b, x]), lambda *v: np.vstack(v)),
    "hstack": (lambda a, b, x: sparse.hstack([b, a]), lambda a, b, x: np.hstack([b, a])),
    "block_diag": (
        lambda a, b, x: sparse.block_diag(a, b),
        lambda a, b, x: scipy.linalg.block_diag(a, b),
    ),
    "rows": (lambda a, b, x: a[1:4], lambda a, b, x: a[1:4]),
    "part": (lambda a, b, x: a[::-2, 1:], lambda a, b, x: a[::-2, 1:]),
    "row": (lambda a, b, x: a[2], lambda a, b, x: a[2:3]),
    "rows by numbers": (lambda a, b, x: sparse.get_item_list(a, ROWS), lambda a, b, x: a[ROWS]),
    "columns by numbers": (lambda a, b, x: a[:, COLUMNS], lambda a, b, x: a[:, COLUMNS]),
    "rows by bools": (
        lambda a, b, x: a[np.array([True, False, True, True, False])],
        lambda a, b, x: a[[0, 2, 3]],
    ),
    "elements": (
        lambda a, b, x: sparse.get_item_2lists(a, ROWS, COLUMNS),
        lambda a, b, x: a[ROWS, COLUMNS],
    ),
    "element": (lambda a, b, x: a[2, 3], lambda a, b, x: a[2, 3]),
    "remove0": (lambda a, b, x: sparse.clean(a), lambda a, b, x: a),
    "usmm": (lambda a, b, x: sparse.usmm(2.0, a, x.T, 1.0), lambda a, b, x: 2 * a @ x.T + 1),
    "usmm sparse": (lambda a, b, x: sparse.usmm(1.0, a, b.T, 1.0), lambda a, b, x: a @ b.T + 1),
    "construct_sparse_from_list": (
        lambda a, b, x: sparse.construct_sparse_from_list(x, x[:3], [4, 1, 4]),
        lambda a, b, x: _listed(x),
    ),
    "sp_zeros_like": (lambda a, b, x: sparse.sp_zeros_like(a), lambda a, b, x: 0 * a),
}

STEPS = {"ceil", "floor", "rint", "sign", "trunc", "abs"}  # not smooth at whole numbers


@pytest.mark.parametrize("formats", [("csr", "csc"), ("csc", "csc")])
def test_values_are_those_of_numpy(formats):
    a, b, x = matrix(formats[0], 0), matrix(formats[1], 1), matrix("csr", 2).toarray()
    s, t, y = sparse.matrix(formats[0]), sparse.matrix(formats[1]), pt.dmatrix()
    f = phintys.function([s, t, y], {name: ours(s, t, y) for name, (ours, _) in CASES.items()})
    results = f(a, b, x)
    for name, (_, theirs) in CASES.items():
        wanted = theirs(a.toarray(), b.toarray(), x)
        np.testing.assert_allclose(dense(results[name]), wanted, err_msg=name)
        if sp.issparse(results[name]):
            again = results[name].copy()  # without what the result says of itself
            assert results[name].has_canonical_format, name
            assert again.has_canonical_format, name


@pytest.mark.parametrize("formats", [("csr", "csr"), ("csc", "csr")])
def test_gradients_are_those_of_differences(formats):
    a, b = (matrix(format, seed) for seed, format in enumerate(formats))
    rng = np.random.default_rng(3)
    weights = {name: rng.standard_normal() for name in CASES}

    def cost(d, e, x):
        s, t = (
            sparse.from_parts(v, m.indices, m.indptr, m.shape, m.format)
            for v, m in ((d, a), (e, b))
        )
        terms = []
        for name, (ours, _) in CASES.items():
            result = ours(s, t, x)
            result = result.elements if sparse.is_sparse(result) else result
            if name not in STEPS and result.dtype != "bool":
                terms.append(weights[name] * (result**2).sum())
        return sum(terms[1:], terms[0])

    values = [rng.uniform(0.2, 0.9, v.nnz) for v in (a, b)]
    verify_grad(cost, [*values, rng.uniform(0.2, 0.9, SHAPE)], rng=rng, n_tests=1)


def test_structured_functions_leave_zeros_that_are_not_stored():
    a = matrix("csr", 0)
    s, v = sparse.csr_matrix(), pt.dvector()
    functions = {
        sparse.structured_exp(s): np.exp(a.data),
        sparse.structured_sigmoid(s): 1 / (1 + np.exp(-a.data)),
        sparse.structured_maximum(s, 1): np.maximum(a.data, 1),
        sparse.structured_minimum(s, 1): np.minimum(a.data, 1),
        sparse.structured_add(s, 3): a.data + 3,
        sparse.structured_add_s_v(s, v): a.data + np.arange(4.0)[a.indices],
        sparse.structured_log(sparse.sp_ones_like(s)): 0 * a.data,
    }
    results = phintys.function([s, v], list(functions))(a, np.arange(4.0))
    for result, wanted in zip(results, functions.values(), strict=True):
        np.testing.assert_allclose(result.data, wanted)
        np.testing.assert_array_equal(result.indices, a.indices)


def test_removed_zeros_are_no_entries():
    a = matrix("csr", 0)
    s = sparse.csr_matrix()
    f = phintys.function([s], sparse.remove0(s))
    assert f(a).nnz == np.count_nonzero(a.toarray()) < a.nnz


@pytest.mark.parametrize("made", [sparse.CSR, sparse.CSC])
def test_a_matrix_is_made_of_what_it_has(made):
    a = matrix(made.__name__.lower(), 0)
    s = sparse.matrix(a.format)
    arrays = sparse.csm_data(s), sparse.csm_indices(s), sparse.csm_indptr(s), sparse.csm_shape(s)
    again = phintys.function([s], made(*arrays))(a)
    np.testing.assert_array_equal(again.toarray(), a.toarray())
    assert again.format == a.format


def test_sparse_jacobians_and_hessians_are_sparse_variables():
    x = pt.dvector("x")
    y = pt.sin(x[1:]) * x[:-1]
    jacobian = sparse.sparse_jacobian(y, x, sizes={x: 6})
    hessian = sparse.sparse_hessian((y**2).sum(), x, sizes={x: 6})
    assert (jacobian.type.shape, hessian.type.shape) == ((5, 6), (6, 6))
    dense_ones = [phintys.jacobian(y, x), phintys.hessian((y**2).sum(), x)]
    step = sparse.linalg.solve(hessian, phintys.grad((y**2).sum(), x))
    f = phintys.function([x], [jacobian, hessian, *dense_ones, step])
    value = np.linspace(0.5, 2, 6)
    j, h, dense_j, dense_h, newton = f(value)
    np.testing.assert_allclose(j.toarray(), dense_j)
    np.testing.assert_allclose(h.toarray(), dense_h)
    slope = 2 * dense_j.T @ (np.sin(value[1:]) * value[:-1])
    np.testing.assert_allclose(newton, np.linalg.solve(dense_h, slope))


@pytest.mark.parametrize("format", ["csr", "csc"])
def test_the_jacobian_of_a_product_has_the_pattern_of_the_matrix(format):
    a = matrix(format, 0, (6, 6))
    x = pt.dvector("x")
    jacobian = sparse.sparse_jacobian(sparse.dot(a, x) + x**2, x, sizes={x: 6})
    value = jacobian.eval({x: np.arange(6.0)})
    np.testing.assert_allclose(value.toarray(), a.toarray() + 2 * np.diag(np.arange(6.0)))
    assert value.nnz <= a.nnz + 6


@pytest.mark.parametrize("format", ["csr", "csc"])
def test_elements_and_parts_are_found_in_native_code(format):
    d, rows, columns = pt.dvector("d"), pt.lvector("rows"), pt.lvector("columns")
    indices, indptr = pt.ivector("indices"), pt.ivector("indptr")
    a = sparse.from_parts(d, indices, indptr, (5, 5), format)
    first = rows.shape[0] - 3
    results = a[rows, columns], a[rows].elements, a[:, columns].elements, a[first:, rows].sum()
    f = phintys.function([d, indices, indptr, rows, columns], results, mode="native")
    called = [type(node.op).__name__ for node in f.vm.callback_nodes]
    assert called == ["CheckedPattern"]
    value = sp.random_array((5, 5), density=0.5, format=format, rng=np.random.default_rng(0))
    at = np.array([4, -5, 2, 2]), np.array([-1, 0, 3, 3])
    full = value.toarray()
    elements, in_rows, in_columns, total = f(value.data, value.indices, value.indptr, *at)
    np.testing.assert_array_equal(elements, full[at])
    for found, part in ((in_rows, value[at[0]]), (in_columns, value[:, at[1]])):
        np.testing.assert_array_equal(found, part.asformat(format).sorted_indices().data)
    np.testing.assert_allclose(total, full[1:, at[0]].sum())


def test_rows_of_a_matrix_of_known_size_can_be_iterated():
    s, value = sparse.csr_matrix(shape=SHAPE), matrix("csr", 0)
    rows = phintys.function([s], list(s))(value)
    np.testing.assert_array_equal(np.vstack([row.toarray() for row in rows]), value.toarray())


@pytest.mark.parametrize(
    ("build", "error"),
    [
        (lambda s: s[0, 0, 0], TypeContractError),
        (lambda s: s[None], TypeContractError),
        (lambda s: s[0.5], TypeContractError),
        (lambda s: sparse.vstack([]), ArgumentError),
        (lambda s: sparse.hstack([np.eye(2), np.eye(2)]), ArgumentError),
        (lambda s: sparse.structured_pow(s, s), TypeContractError),
        (lambda s: s + "text", TypeContractError),
        (lambda s: s**0, TypeContractError),
        (lambda s: s**-1.0, TypeContractError),
        (lambda s: s ** pt.dscalar(), TypeContractError),
        (lambda s: sparse.csr_matrix(shape=(2, 3)) @ np.ones(2), ShapeError),
        (np.asarray, TypeContractError),
        (bool, TypeError),
        (len, TypeError),
        (list, TypeError),
        (lambda s: 1.0 in s, TypeError),
        (lambda s: s.max(axis=2), ArgumentError),
        (lambda s: s.sum(out=np.zeros(())), ArgumentError),
    ],
)
def test_what_has_no_meaning_is_refused(build, error):
    with pytest.raises(error):
        build(sparse.csr_matrix())


@pytest.mark.parametrize(
    ("build", "error", "said"),
    [
        (lambda s: s[7], IndexingError, "Index 7 is out of range"),
        (lambda s: s[[0], [-5]], IndexingError, "Index -5 is out of range"),
        (lambda s: s[[5, 0], [0, 0]], IndexingError, "Index 5 is out of range"),
        (lambda s: s[:, [0, 4]], IndexingError, "Index 4 is out of range"),
        (lambda s: s @ np.ones(6), ShapeError, "must be equal, got 4 and 6"),
        (lambda s: np.ones(6) @ s, ShapeError, "must be equal, got 5 and 6"),
        (lambda s: sparse.row_scale(s, np.ones(4)), ShapeError, "got 5 and 4"),
        (lambda s: sparse.col_scale(s, np.ones(5)), ShapeError, "got 4 and 5"),
        (lambda s: sparse.vstack([s, s.T]), ShapeError, "number of columns"),
        (lambda s: sparse.structured_add_s_v(s, np.ones(3)), ShapeError, "3"),
    ],
)
def test_what_does_not_fit_is_refused_by_calls(build, error, said):
    s = sparse.csr_matrix()
    f = phintys.function([s], build(s))
    with pytest.raises(error, match=said):
        f(matrix("csr", 0))


@pytest.mark.parametrize("format", ["csr", "csc"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int8", "uint16"])
def test_extremes_count_elements_that_are_not_stored(format, dtype):
    signs = -1 if dtype != "uint16" else 1
    given = np.array([[1, 2, 3], [0, 2, 0], [0, 0, 0], [5, 5, 1]], dtype) * np.array(signs, dtype)
    s = sparse.matrix(format, dtype=dtype)
    axes = (None, 0, 1, -2)
    results = [getattr(s, name)(axis) for name in ("max", "min") for axis in axes]
    f = phintys.function([s], results)
    for one in (given, given[1:3], given[:1], given[2:3]):
        found = f(sp.csr_array(one).asformat(format))
        wanted = [getattr(one, name)(axis=axis) for name in ("max", "min") for axis in axes]
        for value, expected in zip(found, wanted, strict=True):
            assert value.dtype == expected.dtype
            np.testing.assert_array_equal(value, expected)


def test_extremes_of_nan_and_infinities():
    s = sparse.csr_matrix()
    f = phintys.function([s], [s.max(), s.min(), s.max(1), s.maximum(-s).sum()])
    found = f(sp.csr_array([[np.nan, 1.0], [-np.inf, 0.0]]))
    np.testing.assert_array_equal(found[0], np.nan)
    np.testing.assert_array_equal(found[1], np.nan)
    np.testing.assert_array_equal(found[2], [np.nan, 0.0])


def test_the_largest_of_no_elements_is_an_error():
    s = sparse.csr_matrix()
    for result in (s.max(), s.min(axis=0)):
        with pytest.raises(ShapeError, match="elements compared must be at least 1, got 0"):
            phintys.function([s], result)(sp.csr_array((0, 3)))
    np.testing.assert_array_equal(phintys.function([s], s.max(axis=1))(sp.csr_array((0, 3))), [])


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "uint32"])
def test_what_is_made_of_whole_numbers_has_no_slope(dtype):
    d = pt.dvector("d")
    a = sparse.from_parts(d, [0, 2, 1], [0, 2, 3], (2, 3))
    whole = sparse.cast(a, dtype)
    vector = np.arange(1.0, 4.0)
    results = [whole.sum(), whole.toarray(), whole @ vector, whole.T, whole * 2, whole.max(1)]
    results += [sparse.sp_sum(whole, 0), whole[0], whole.count_nonzero()]
    for result in results:
        dense_result = result.toarray() if sparse.is_sparse(result) else result
        slope = phintys.grad((dense_result * 0.5).sum() + (d**2).sum(), d)
        np.testing.assert_array_equal(phintys.function([d], slope)([1.0, 2.0, 3.0]), [2, 4, 6])
    mixed = phintys.grad((whole * a).sum(), d)  # the whole numbers are constants
    np.testing.assert_array_equal(phintys.function([d], mixed)([1.0, 1.0, 1.0]), [1, 1, 1])


def test_products_that_do_not_fit_are_named():
    a, b, v = sparse.csr_matrix("A"), sparse.csc_matrix("B"), pt.dvector("v")
    eye = sp.eye_array(4, format="csr")
    for result, given, said in (
        (a @ v, {a: eye, v: np.ones(5)}, "A @ v: the last axis of A and the first one of v"),
        (v @ a, {a: eye, v: np.ones(5)}, "v @ A: the last axis of v and the first one of A"),
        (a @ b, {a: eye, b: eye[:3].tocsc()}, "A @ B: the last axis of A and the first one of B"),
        (b @ a, {a: eye[:3], b: eye.tocsc()}, "B @ A: the last axis of B and the first one of A"),
        (sparse.row_scale(a, v), {a: eye, v: np.ones(5)}, "the rows of A and the elements of v"),
    ):
        for mode in ("native", "reference"):
            f = phintys.function(list(given), result, mode=mode)
            with pytest.raises(ShapeError, match=f"{said} must be equal, got "):
                f(*given.values())


def test_batches_of_elements_have_one_pattern():
    m = matrix("csr", 0)
    d, v, batch = pt.dvector("d"), pt.dvector("v"), pt.dmatrix("batch")
    a = sparse.from_parts(d, m.indices, m.indptr, m.shape)
    results = [a @ v, a.sum(0), a.T @ (a @ v), a.max(1), phintys.grad((a @ v).sum(), v)]
    f = phintys.function([batch, v], phintys.vectorize_graph(results, {d: batch}))
    one = phintys.function([d, v], results)
    given, vector = np.stack([m.data, 2 * m.data, m.data[::-1]]), np.arange(4.0)
    for at, found in enumerate(zip(*f(given, vector), strict=True)):
        for value, wanted in zip(found, one(given[at], vector), strict=True):
            np.testing.assert_allclose(value, wanted)
    with pytest.raises(ArgumentError, match="only tensors can be stacked"):
        phintys.vectorize_graph(2 * a, {d: batch})
