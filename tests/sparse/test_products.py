"""Products along a pattern are native loops over its rows, with SciPy's values."""

import numpy as np
import pytest
import scipy.sparse as sp

import phintys
import phintys.tensor as pt
from phintys import Mode, sparse
from phintys._base.errors import ShapeError
from phintys.sparse.patterns import CommonPattern, MergedPattern, ProductPattern
from phintys.sparse.products import ProductByColumns, ProductByRows, ProductOfRows
from tools.fuzz.modes import StepByStep

M, N = 50, 40


def pattern(seed=0, shape=(M, N)):
    return sp.csr_array(sp.random(*shape, 0.2, format="csr", random_state=seed))


def draws(dtype, k, seed=1):
    """Return elements, x and y of whole numbers, so that sums are exact."""
    rng = np.random.default_rng(seed)
    a = pattern()
    columns = () if k is None else (k,)
    sizes = [(a.nnz,), (N, *columns), (M, *columns)]
    values = [rng.integers(-5, 6, size).astype(dtype) for size in sizes]
    if np.dtype(dtype).kind == "c":
        values = [v + (1j * rng.integers(-5, 6, v.shape)).astype(dtype) for v in values]
    a = sp.csr_array((values[0], a.indices, a.indptr), shape=a.shape)
    return a, values[1], values[2]


def function(a, x, y, *, is_constant, mode="native"):
    """Return a function of the elements, x, y and maybe the pattern: all three products."""
    d, u, v = (
        pt.tensor(dtype=w.dtype, shape=tuple(1 if size == 1 else None for size in w.shape))
        for w in (a.data, x, y)
    )
    parts = [a.indices, a.indptr]
    given = [pt.constant(p) if is_constant else pt.ivector() for p in parts]
    results = [
        ProductByRows()(d, pt.specify_shape(u, (N, *(None,) * (x.ndim - 1))), *given),
        ProductByColumns()(d, v, *given, N),
        ProductOfRows()(v, u, *given),
    ]
    f = phintys.function([d, u, v, *([] if is_constant else given)], results, mode=mode)
    return f, [a.data, x, y, *([] if is_constant else parts)]


@pytest.mark.parametrize(
    ("dtype", "k"),
    [
        *(("float64", None), ("float64", 0), ("float64", 1), ("float64", 3), ("float32", 37)),
        *(("int8", 70), ("complex128", None), ("complex128", 5), ("complex64", 37)),
    ],
)
def test_values_are_those_of_scipy(dtype, k):
    a, x, y = draws(dtype, k)
    f, values = function(a, x, y, is_constant=k in {None, 1, 37})
    assert "callback" not in f.explain()
    rows, columns, entries = f(*values)
    np.testing.assert_array_equal(rows, a @ x)
    np.testing.assert_array_equal(columns, a.T @ y)
    products = y[np.repeat(np.arange(M), np.diff(a.indptr))] * x[a.indices]
    np.testing.assert_array_equal(entries, products if k is None else products.sum(1).astype(dtype))


@pytest.mark.parametrize("mode", ["native", "reference"])
@pytest.mark.parametrize(
    ("at", "change", "error"),
    [
        (3, lambda v: np.where(v == v.max(), 10**6, v), "columns of the matrix"),
        (3, lambda v: np.where(v == v.max(), -1, v), "columns of the matrix"),
        (4, lambda v: v + 1, "from 0 to the number"),
        (4, lambda v: np.where(v == v[5], v[5] + 10**6, v), "from 0 to the number"),
    ],
)
def test_wrong_patterns_are_found_before_memory_is_read(mode, at, change, error):
    a, x, y = draws("float64", None)
    f, values = function(a, x, y, is_constant=False, mode=mode)
    values[at] = change(values[at]).astype("int32")
    with pytest.raises(IndexError, match=error):
        f(*values)


@pytest.mark.parametrize("at", [0, 1, 2])
def test_operands_of_another_length_are_refused(at):
    a, x, y = draws("float64", None)
    f, values = function(a, x, y, is_constant=True)
    values[at] = values[at][:-1]
    with pytest.raises(ShapeError):
        f(*values)


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
@pytest.mark.parametrize("is_constant", [True, False])
def test_both_gradients_are_one_pass_with_the_same_bits(dtype, is_constant):
    rng = np.random.default_rng(4)
    a, x, y = draws(dtype, None)
    for values in (a.data, x, y):
        values *= rng.standard_normal(values.shape).astype(dtype)
    d, u, v = (pt.vector(dtype=dtype) for _ in range(3))
    parts = [a.indices, a.indptr]
    given = [pt.constant(p) if is_constant else pt.ivector() for p in parts]
    product = ProductByRows()(d, u, *given)
    gradients = phintys.grad(None, [d, u], known_grads={product: v})
    values = [a.data, x, y, *([] if is_constant else parts)]
    inputs = [d, u, v, *([] if is_constant else given)]
    apart = phintys.compile.get_mode("native").excluding("both_gradients")
    fused, separate = (phintys.function(inputs, gradients, mode=mode) for mode in ("native", apart))
    assert "product_gradients" in fused.explain()
    assert "product_gradients" not in separate.explain()
    for one, other in zip(fused(*values), separate(*values), strict=True):
        np.testing.assert_array_equal(one, other)
    if not is_constant:
        values[3] = np.where(parts[0] == N - 1, N, parts[0])
        with pytest.raises(IndexError, match="columns of the matrix"):
            fused(*values)


@pytest.mark.parametrize("dtype", ["float64", "complex64", "int16"])
@pytest.mark.parametrize(("columns", "density"), [(45, 0.9), (1001, 0.12)])
def test_blocks_of_rows_have_the_same_bits_for_all_threads(dtype, columns, density):
    rng = np.random.default_rng(5)
    a = sp.random_array((1237, columns), density=density, format="csr", rng=rng)
    draw = rng.standard_normal if dtype != "int16" else lambda n: rng.integers(-9, 9, n)
    elements, x, y = (draw(n).astype(dtype) for n in (a.nnz, columns, 1237))
    d, u, v = (pt.vector(dtype=dtype) for _ in range(3))
    inputs, of_parts = [d, u, v], [pt.ivector(), pt.ivector()]
    parts = [a.indices, a.indptr]
    found = []
    for given, values in (([pt.constant(p) for p in parts], []), (of_parts, parts)):
        outputs = [
            ProductByColumns()(d, v, *given, columns),
            ProductOfRows()(v, u, *given),
        ]
        apart = phintys.compile.get_mode("native").excluding("both_gradients")
        for mode in ("native", apart):
            f = phintys.function([*inputs, *(given if values else [])], outputs, mode=mode)
            for threads in (1, 2):
                with phintys.config.change_flags(num_threads=threads):
                    found.append(f(elements, x, y, *values))
    for one in found[1:]:
        for result, first in zip(one, found[0], strict=True):
            np.testing.assert_array_equal(result, first)
    wide = sp.csr_array((elements.astype("complex128"), *parts), shape=a.shape)
    expected = wide.T @ y.astype("complex128")
    scale = np.abs(expected).max()
    if dtype == "int16":
        np.testing.assert_array_equal(found[0][0], expected.real.astype("int64").astype("int16"))
    else:
        atol = 32 * float(np.finfo(dtype).eps) * scale
        np.testing.assert_allclose(found[0][0], expected, atol=atol, rtol=0)


def both(second, condition=None):
    """Return a function whose results are two products; the second is given those of the first."""
    a = pattern()
    d, v = pt.dvectors(2)
    given = [pt.constant(p) for p in (a.indices, a.indptr)]
    by_columns = ProductByColumns()(d, v, *given, N)
    of_rows = ProductOfRows()(v, second(by_columns), *given)
    outputs = [by_columns, of_rows]
    if condition is not None:
        outputs = [by_columns, phintys.ifelse(condition, of_rows, d)]
    return phintys.function([d, v, *([] if condition is None else [condition])], outputs), a


def test_products_of_which_one_needs_the_other_stay_two():
    f, a = both(lambda by_columns: 2 * by_columns)
    assert "product_gradients" not in f.explain()
    y = np.arange(float(M))
    sums, entries = f(a.data, y)
    rows = np.repeat(np.arange(M), np.diff(a.indptr))
    np.testing.assert_allclose(sums, a.T @ y)
    np.testing.assert_allclose(entries, y[rows] * 2 * sums[a.indices])


def test_products_that_few_calls_need_stay_two():
    f, _ = both(lambda by_columns: pt.constant(np.arange(float(N))), pt.bscalar())
    assert "product_gradients" not in f.explain()


@pytest.mark.parametrize("columns", [N - 1, N + 2])
def test_one_pass_has_the_columns_of_both_products(columns):
    a, x, y = draws("float64", None)
    inputs = d, u, v, indices, indptr = *pt.dvectors(3), *pt.ivectors(2)
    outputs = [
        ProductOfRows()(v, u, indices, indptr),
        ProductByColumns()(d, v, indices, indptr, columns),
    ]
    f = phintys.function(inputs, outputs, mode="native")
    assert "product_gradients" in f.explain()
    values = [a.data, x, y, a.indices, a.indptr]
    if columns < N:
        with pytest.raises(IndexError, match="columns of the matrix"):
            f(*values)
    else:
        np.testing.assert_array_equal(f(*values)[1], [*(a.T @ y), 0, 0])


def test_results_do_not_depend_on_threads():
    rng = np.random.default_rng(3)
    places = rng.integers(20_000, size=180_000), rng.integers(3_000, size=180_000)
    a = sp.csr_array((rng.standard_normal(180_000), places), (20_000, 3_000))
    x = rng.standard_normal((3_000, 40))
    w = pt.dmatrix("w")
    y = sparse.as_sparse_variable(a) @ w
    f = phintys.function([w], [y, phintys.grad((y**2).sum(), w)])
    several = f(x)
    with phintys.config.change_flags(num_threads=1):
        for one, other in zip(f(x), several, strict=True):
            np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(several[0], a @ x, atol=1e-12)


def test_a_product_of_two_is_computed_with_its_pattern_in_the_same_bits():
    a, b = sparse.csr_matrix("a"), sparse.csc_matrix("b")
    apart = phintys.compile.get_mode("native").excluding("product_with_its_pattern")
    outputs = [a @ b, b @ a, phintys.grad((a @ b).elements.sum(), a)]
    together, alone = (phintys.function([a, b], outputs, mode=m) for m in ("native", apart))
    assert "fill_product_and_elements" in together.explain()
    assert "fill_product_and_elements" not in alone.explain()
    rng = np.random.default_rng(6)
    x = sp.random_array((M, M), density=0.3, format="csr", rng=rng)
    y = sp.random_array((M, M), density=0.2, format="csc", rng=rng)
    for found, expected in zip(together(x, y), alone(x, y), strict=True):
        for name in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_a_known_pattern_is_not_computed_with_its_elements():
    d = pt.dvector("d")
    a = sparse.from_parts(d, pattern().indices, pattern().indptr, (M, N), "csr")
    f = phintys.function([d], (a @ a.T).elements, mode="native")
    assert "product_pattern" not in f.explain()
    assert "and_elements" not in f.explain()


@pytest.mark.parametrize("mode", ["native", "reference"])
@pytest.mark.parametrize(
    ("op", "sizes"), [(MergedPattern(), ()), (CommonPattern(), ()), (ProductPattern(), (M, M))]
)
@pytest.mark.parametrize("at", [0, 1, 2, 3])
def test_wrong_patterns_of_two_matrices_are_found(mode, op, sizes, at):
    values = [pattern(seed, (M, M)) for seed in (1, 2)]
    arrays = [array for a in values for array in (a.indices, a.indptr)]
    given = [pt.ivector() for _ in arrays]
    f = phintys.function(given, op(*given, *sizes, return_list=True), mode=mode)
    indices, indptr = f(*arrays)[:2]
    assert (np.diff(indptr) >= 0).all()
    assert indptr[-1] == len(indices)
    arrays[at] = np.where(arrays[at] == arrays[at][9], -7, arrays[at]).astype("int32")
    with pytest.raises(IndexError, match=r"columns of the matrix|from 0 to the number"):
        f(*arrays)


def test_python_only_reads_arguments_and_makes_results():
    a, b, c = sparse.csr_matrix("a"), sparse.csr_matrix("b"), sparse.csc_matrix("c")
    v, x = pt.dvector("v"), pt.dmatrix("x")
    results = [
        *(a @ v, c @ v, a @ x, c @ x, x @ a, v @ c),
        *(a @ b, a @ c, c @ b, c.T @ c, a + b, a + c, a * b, a.tocsc()),
        *phintys.grad(((a @ c) @ x).sum() + (a + b).sum(), [a, c, x]),
    ]
    f = phintys.function([a, b, c, v, x], results, mode="native")
    called = {type(node.op).__name__ for node in f.vm.callback_nodes}
    assert called == {"Parts", "FromParts"}


def test_each_step_of_two_matrices_is_valid():
    a, b = pattern(1), pattern(2, (N, M))
    x, y = sparse.csr_matrix("x"), sparse.csr_matrix("y")
    cost = ((x @ y).elements ** 2).sum() + (x + y.T).sum()
    results = [x @ y, x + y.T, x * y.T, *phintys.grad(cost, [x, y])]
    product, total, common, of_x, of_y = phintys.function([x, y], results, Mode(StepByStep()))(a, b)
    for found, wanted in ((product, a @ b), (total, a + b.T), (common, a.multiply(b.T))):
        np.testing.assert_allclose(found.toarray(), wanted.toarray())
    full = 2 * (a @ b).toarray()
    for found, dense, made in ((of_x, full @ b.toarray().T, a), (of_y, a.toarray().T @ full, b)):
        wanted = np.where(made.toarray() != 0, dense + 1, 0)
        np.testing.assert_allclose(found.toarray(), wanted)
