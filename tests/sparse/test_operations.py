"""Sparse operations have SciPy's values, and derivatives that finite differences confirm."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import phintys
import phintys.tensor as pt
from phintys import sparse
from phintys._base.errors import ShapeError, TypeContractError
from phintys.testing import verify_grad


def dense(value):
    return value.toarray() if sp.issparse(value) else np.asarray(value)


def matrices(rng, shape, format, density=0.4, dtype="float64"):
    """Return a matrix whose first row is empty, with an explicit zero if it has entries."""
    full = np.where(rng.random(shape) < density, rng.integers(1, 9, shape), 0).astype(dtype)
    full[:1] = 0
    value = sp.csr_array(full).asformat(format)
    if value.nnz:
        value.data[0] = 0
    return value


# name -> (function of sparse and dense variables, SciPy's, kinds of the operands)
OPERATIONS = {
    "add": (lambda a, b: a + b, lambda a, b: a + b, "ss"),
    "sub": (lambda a, b: a - b, lambda a, b: a - b, "ss"),
    "mul": (lambda a, b: a * b, lambda a, b: a.multiply(b), "ss"),
    "add dense": (lambda a, x: a + x, lambda a, x: dense(a) + x, "sd"),
    "dense less it": (lambda a, x: sparse.sub(x, a), lambda a, x: x - dense(a), "sd"),
    "mul dense": (lambda a, x: a * x, lambda a, x: dense(a) * x, "sd"),
    "mul row": (lambda a, x: a * x[0], lambda a, x: dense(a) * x[0], "sd"),
    "mul column": (lambda a, x: a * x[:, 0][:, None], lambda a, x: dense(a) * x[:, :1], "sd"),
    "row_scale": (
        lambda a, x: sparse.row_scale(a, x[:, 0]),
        lambda a, x: dense(a) * x[:, :1],
        "sd",
    ),
    "col_scale": (lambda a, x: sparse.col_scale(a, x[0]), lambda a, x: dense(a) * x[0], "sd"),
    "scalar": (lambda a: -a / 4 + 2 * a, lambda a: 1.75 * dense(a), "s"),
    "transpose": (lambda a: a.T, lambda a: a.T, "s"),
    "tocsr": (lambda a: a.tocsr(), lambda a: a, "s"),
    "tocsc": (lambda a: a.tocsc(), lambda a: a, "s"),
    "toarray": (lambda a: a.toarray(), dense, "s"),
    "diag": (sparse.diag, lambda a: a.diagonal(), "s"),
    "sum": (lambda a: a.sum(), lambda a: a.sum(), "s"),
    "sum of columns": (lambda a: a.sum(0), lambda a: a.sum(0), "s"),
    "sum of rows": (lambda a: a.sum(-1), lambda a: a.sum(1), "s"),
    "product with a vector": (lambda a, x: a @ x[0], lambda a, x: a @ x[0], "sd"),
    "product with a matrix": (lambda a, x: a @ x.T, lambda a, x: a @ x.T, "sd"),
    "product of a dense one": (lambda a, x: sparse.dot(x.T, a), lambda a, x: x.T @ a, "sd"),
    "sparse product": (lambda a, b: a @ b.T, lambda a, b: a @ b.T, "ss"),
    "csr_from_dense": (sparse.csr_from_dense, lambda x: x, "d"),
    "square_diagonal": (lambda x: sparse.square_diagonal(x[0]), lambda x: np.diag(x[0]), "d"),
}


@pytest.mark.parametrize("name", OPERATIONS)
@settings(max_examples=4)
@given(
    seed=st.integers(0, 1000),
    formats=st.tuples(*[st.sampled_from(["csr", "csc"])] * 2),
    shape=st.sampled_from([(4, 5), (0, 3), (3, 0), (1, 1), (5, 2)]),
)
def test_values_are_those_of_scipy(name, seed, formats, shape):
    ours, theirs, kinds = OPERATIONS[name]
    if shape[0] == 0 and name in {
        "mul row",
        "col_scale",
        "product with a vector",
        "square_diagonal",
    }:
        shape = (1, 3)
    if shape[1] == 0 and name in {"mul column", "row_scale"}:
        shape = (3, 1)
    rng = np.random.default_rng(seed)
    values = [
        matrices(rng, shape, f) if kind == "s" else rng.standard_normal(shape)
        for kind, f in zip(kinds, formats, strict=False)
    ]
    variables = [sparse.matrix(v.format) if sp.issparse(v) else pt.dmatrix() for v in values]
    f = phintys.function(variables, ours(*variables))
    np.testing.assert_allclose(dense(f(*values)), dense(theirs(*values)))


@pytest.mark.parametrize("name", OPERATIONS)
def test_gradients_are_those_of_differences(name):
    ours, _, kinds = OPERATIONS[name]
    rng = np.random.default_rng(3)
    values = [
        matrices(rng, (4, 4), f) if kind == "s" else rng.standard_normal((4, 4))
        for kind, f in zip(kinds, ("csr", "csc"), strict=False)
    ]
    patterns = [v if sp.issparse(v) else None for v in values]

    def of_elements(*arrays):
        operands = [
            x if p is None else sparse.from_parts(x, p.indices, p.indptr, p.shape, p.format)
            for x, p in zip(arrays, patterns, strict=True)
        ]
        result = ours(*operands)
        return result.elements if sparse.is_sparse(result) else result

    verify_grad(of_elements, [v.data if sp.issparse(v) else v for v in values], rng=rng)


def test_the_gradient_of_a_sparse_argument_has_its_pattern():
    a, x = sparse.csr_matrix("a"), pt.dvector("x")
    f = phintys.function([a, x], phintys.grad(((a @ x) ** 2).sum() / 2 + a.sum(), a))
    value = sp.csr_array([[0.0, 2.0], [3.0, 0.0]])
    slope = f(value, [1.0, 10.0])
    np.testing.assert_array_equal(slope.toarray(), [[0.0, 201.0], [4.0, 0.0]])


def test_constants_and_shared_matrices_multiply_as_arguments_do():
    value = sp.csc_array([[0.0, 2.0], [3.0, 0.0]])
    w = phintys.shared(value)
    c = sparse.as_sparse_variable(value)
    x = pt.dvector("x")
    f = phintys.function([x], [w @ x, c @ x, phintys.grad((c @ x).sum(), x)])
    for result in f([1.0, 10.0])[:2]:
        np.testing.assert_array_equal(result, [20.0, 3.0])
    np.testing.assert_array_equal(f([1.0, 10.0])[2], [3.0, 2.0])
    w.set_value(2 * value)
    np.testing.assert_array_equal(f([1.0, 10.0])[0], [40.0, 6.0])


def test_entries_that_are_stored_twice_are_refused():
    twice = sp.csr_array(([1.0, 2.0], [0, 0], [0, 2]), shape=(1, 2))
    f = phintys.function([a := sparse.csr_matrix("a")], a.sum())
    with pytest.raises(ShapeError, match=r"sum_duplicates\(\)"):
        f(twice)


def test_shapes_that_differ_are_refused():
    a, b = sparse.csr_matrix("a"), sparse.csr_matrix("b")
    f = phintys.function([a, b], a + b)
    with pytest.raises(ShapeError, match="same shape"):
        f(sp.csr_array((2, 3)), sp.csr_array((2, 4)))


WRONG_PATTERNS = {
    "twice": ([0, 0], [0, 2], "grow within each row"),
    "not sorted": ([1, 0], [0, 2], "grow within each row"),
    "negative": ([-1, 0], [0, 2], "from 0 to 1"),
    "too large": ([0, 2**33], [0, 2], "from 0 to 1"),
    "too few starts": ([0, 1], [0], "2 numbers"),
    "wrong end": ([0, 1], [0, 1], "number of entries"),
}


@pytest.mark.parametrize("name", WRONG_PATTERNS)
def test_wrong_patterns_are_refused(name):
    """Those that are known at once, others when they come."""
    indices, indptr, said = WRONG_PATTERNS[name]
    d, i, p = pt.dvector("d"), pt.lvector("i"), pt.lvector("p")
    with pytest.raises(ShapeError, match=said):
        sparse.from_parts(d, indices, indptr, (1, 2))
    f = phintys.function([d, i, p], sparse.from_parts(d, i, p, (1, 2)).toarray())
    np.testing.assert_array_equal(f([1.0, 2.0], [0, 1], [0, 2]), [[1, 2]])
    with pytest.raises(ShapeError, match=said):
        f([1.0, 2.0], indices, indptr)


@pytest.mark.parametrize("scale", [sparse.row_scale, sparse.col_scale])
def test_scales_must_have_the_size_of_the_axis(scale):
    a, s = sparse.csr_matrix("a"), pt.dvector("s")
    f = phintys.function([a, s], scale(a, s))
    with pytest.raises(ShapeError):
        f(sp.eye_array(3, format="csr"), np.ones(4))


QUOTIENTS = {
    "sparse": lambda x, y: x / y,
    "a matrix of SciPy": lambda x, y: x / sp.eye_array(2, format="csr"),
    "number": lambda x, y: 1 / y,
    "array": lambda x, y: np.ones((2, 2)) / y,
    "tensor": lambda x, y: pt.dmatrix("d") / y,
}


@pytest.mark.parametrize("name", QUOTIENTS)
def test_a_sparse_divisor_is_refused_with_what_to_write(name):
    x, y = sparse.csr_matrix("x"), sparse.csr_matrix("y")
    with pytest.raises(TypeContractError, match=r"must be dense, got .* Write x / y\.toarray\(\)"):
        QUOTIENTS[name](x, y)


def test_quotients_as_the_error_says_to_write_them():
    x, y = sparse.csr_matrix("x"), sparse.csr_matrix("y")
    both = x * sparse.structured(y, lambda data: 1 / data)
    f = phintys.function([x, y], [(x / y.toarray()).toarray(), both.toarray()])
    a, b = np.array([[3.0, 0, 4], [0, 2, 0]]), np.array([[2.0, 5, 0], [0, 4, 0]])
    of_x, of_both = f(sp.csr_array(a), sp.csr_array(b))
    np.testing.assert_array_equal(of_x, [[1.5, 0, np.inf], [0, 0.5, 0]])
    np.testing.assert_array_equal(of_both, [[1.5, 0, 0], [0, 0.5, 0]])


def test_shared_matrices_are_sparse_whatever_was_imported_before():
    program = """
    import scipy.sparse, phintys
    print(phintys.shared(scipy.sparse.eye_array(2, format="csr")).type)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout.strip() == "SparseType(csr, float64, (None, None))"


def test_what_is_sparse_only_inside_never_becomes_an_object():
    d = pt.dvector("d")
    a = sparse.from_parts(d, [1, 0], [0, 1, 2], (2, 2))
    f = phintys.function([d], ((a + a) @ pt.ones(2)).sum())
    assert "callback" not in f.explain()
    assert "RepeatIndex" not in f.explain()  # the rows of a constant pattern are known
    np.testing.assert_array_equal(f([1.0, 2.0]), 6.0)


def test_matrices_made_inside_are_inputs_and_have_gradients():
    x, v = pt.dmatrix("x"), np.arange(3.0)
    made = sparse.csr_from_dense(x)
    twice = 2 * made
    cost = (sparse.dot(twice, v) ** 2).sum() + (made * made).sum()
    slope = phintys.grad(cost, made)
    given = sp.csr_array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])
    f = phintys.function([made], [cost, slope])
    value, found = f(given)
    products = 2 * given.toarray() @ v
    np.testing.assert_allclose(value, (products**2).sum() + (given.data**2).sum())
    wanted = 4 * np.outer(products, v) + 2 * given.toarray()
    np.testing.assert_allclose(found.toarray(), np.where(given.toarray() != 0, wanted, 0))
    # The whole expression has the same values, and joins no patterns: there is one.
    g = phintys.function([x], [cost, slope.sum()])
    np.testing.assert_allclose(g(given.toarray()), [value, found.sum()])
    ops = {type(node.op).__name__ for node in g.maker.fgraph.toposort()}
    assert not ops & {"Parts", "FromParts", "MergedPattern", "CommonPattern", "PlacesIn"}


def test_a_constant_keeps_its_value():
    given = sp.csr_array([[1.0, 2.0]])
    constant = sparse.as_sparse_variable(given)
    given.data[:] = 0
    np.testing.assert_array_equal(constant.data.toarray(), [[1.0, 2.0]])


def test_functions_are_methods_as_in_scipy():
    x = sparse.csr_matrix("x")
    given = sp.csr_array([[0.5, 0.0], [-0.25, 0.75]])
    names = [
        "arcsin",
        "arctan",
        "ceil",
        "expm1",
        "log1p",
        "rint",
        "sign",
        "sin",
        "sinh",
        "tan",
        "tanh",
        "trunc",
    ]
    f = phintys.function([x], [*(getattr(x, name)() for name in names), x.trace(), x.size])
    *found, trace, size = f(given)
    for name, value in zip(names, found, strict=True):
        np.testing.assert_allclose(value.toarray(), getattr(given, name)().toarray(), err_msg=name)
    assert (trace, size) == (1.25, given.size)
    assert x.conj() is x


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (bool, "neither true nor false"),
        (len, "its sizes are A.shape"),
        (np.asarray, r"A.toarray\(\)"),
        (lambda a: np.array([a, 1.0]), r"A.toarray\(\)"),
        (list, "number of rows is not known"),
        (lambda a: 1 in a, "Compare A.elements"),
    ],
)
def test_a_symbolic_matrix_has_no_value(use, message):
    with pytest.raises(TypeError, match=message):
        use(sparse.csr_matrix("A"))


def test_a_dense_argument_of_a_sparse_input_is_told_how_to_become_sparse():
    a = sparse.csr_matrix("a")
    with pytest.raises(TypeContractError, match=r"scipy.sparse.csr_array\(value\)") as caught:
        phintys.function([a], a.sum())(np.eye(2))
    assert "astype" not in "".join(caught.value.__notes__)
