"""Solutions and determinants of sparse systems are NumPy's; so are their derivatives."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import phintys
import phintys.tensor as pt
from phintys import sparse
from phintys._base.errors import ArgumentError, ShapeError
from phintys.sparse import linalg
from phintys.sparse.factors import Factorize, Factors
from phintys.testing import verify_grad

N = 7


def general(seed=0, n=N, dtype="float64"):
    rng = np.random.default_rng(seed)
    full = np.where(rng.random((n, n)) < 0.3, rng.standard_normal((n, n)), 0)
    if np.dtype(dtype).kind == "c":
        full = full * np.exp(1j * rng.random((n, n)))
    return (full + np.diag(rng.random(n) + 2)).astype(dtype)


def positive(seed=0, n=N, dtype="float64"):
    full = general(seed, n)
    return (full @ full.T + np.eye(n)).astype(dtype)


# name -> (solution, the matrix that it solves with, of a dense one)
SOLUTIONS = {
    "solve": (linalg.solve, lambda a: a),
    "spsolve": (linalg.spsolve, lambda a: a),
    "solve_triangular": (linalg.solve_triangular, np.tril),
    "upper, unit": (
        lambda a, b: linalg.solve_triangular(a, b, False, True),
        lambda a: np.triu(a, 1) + np.eye(len(a)),
    ),
    "spsolve_triangular": (linalg.spsolve_triangular, np.tril),
    "gmres": (linalg.gmres, lambda a: a),
}


@pytest.mark.parametrize("format", ["csr", "csc"])
@pytest.mark.parametrize("name", SOLUTIONS)
def test_solutions_and_their_gradients(name, format):
    solve, used = SOLUTIONS[name]
    rng = np.random.default_rng(1)
    full = general()
    a = sp.csr_array(full).asformat(format)
    s, v, m = sparse.matrix(format), pt.dvector(), pt.dmatrix()
    b, several = rng.standard_normal(N), rng.standard_normal((N, 3))
    f = phintys.function([s, v, m], [solve(s, v), solve(s, m)])
    for ours, right in zip(f(a, b, several), (b, several), strict=True):
        np.testing.assert_allclose(ours, np.linalg.solve(used(full), right), rtol=1e-8)
    given = (a.indices, a.indptr, a.shape, format)
    verify_grad(
        lambda d, b: solve(sparse.from_parts(d, *given), b), [a.data, several], rng=rng, n_tests=1
    )


@pytest.mark.parametrize("format", ["csr", "csc"])
def test_tangents_of_solutions(format):
    a = sp.csr_array(general()).asformat(format)
    rng = np.random.default_rng(2)
    b, moved, moved_b = rng.standard_normal(N), rng.standard_normal(a.nnz), rng.standard_normal(N)
    d, v, d_, v_ = (pt.dvector() for _ in range(4))
    x = linalg.solve(sparse.from_parts(d, a.indices, a.indptr, a.shape, format), v)
    f = phintys.function([d, v, d_, v_], phintys.Rop(x, [d, v], [d_, v_]))
    change = type(a)((moved, a.indices, a.indptr), shape=a.shape)
    solution = np.linalg.solve(a.toarray(), b)
    wanted = np.linalg.solve(a.toarray(), moved_b - change @ solution)
    np.testing.assert_allclose(f(a.data, b, moved, moved_b), wanted)


@pytest.mark.parametrize("dtype", ["float32", "complex128", "int64"])
def test_dtypes_are_promoted_to_floating_ones(dtype):
    full = general(3, dtype="complex128" if dtype == "complex128" else "float64") * 4
    full = full.astype(dtype)
    s = sparse.csr_matrix(dtype=dtype)
    b = np.arange(N) + 1
    v = pt.vector(dtype=dtype if dtype != "int64" else "float32")
    x = linalg.solve(s, v)
    cost = pt.real((x * pt.conj(x)).sum()) if dtype == "complex128" else (x**2).sum()
    assert x.dtype == {"int64": "float64"}.get(dtype, dtype)
    f = phintys.function([s, v], [x, phintys.grad(cost, v)])
    ours, slope = f(sp.csr_array(full), b.astype(v.dtype))
    np.testing.assert_allclose(ours, np.linalg.solve(full, b), rtol=1e-4)
    wanted = np.linalg.solve(full.conj().T, 2 * np.linalg.solve(full, b))
    np.testing.assert_allclose(slope, wanted, rtol=1e-3)


@pytest.mark.parametrize("format", ["csr", "csc"])
def test_determinants_and_their_gradients(format):
    for full in (general(), general(5), general(6)[[1, 0, *range(2, N)]]):
        a = sp.csr_array(full).asformat(format)
        s = sparse.matrix(format)
        outputs = linalg.slogdet(s)
        f = phintys.function([s], [*outputs, phintys.grad(outputs[1], s)])
        sign, logarithm, slope = f(a)
        np.testing.assert_allclose([sign, logarithm], np.linalg.slogdet(full))
        wanted = np.where(full != 0, np.linalg.inv(full).T, 0)
        np.testing.assert_allclose(slope.toarray(), wanted, atol=1e-12)


def test_second_derivatives_of_determinants():
    a = sp.csr_array(general())
    rng = np.random.default_rng(4)

    def slope(d):
        matrix = sparse.from_parts(d, a.indices, a.indptr, a.shape)
        return phintys.grad(linalg.slogdet(matrix)[1], d)

    verify_grad(slope, [a.data], rng=rng, n_tests=1)


def test_the_determinant_of_a_complex_matrix():
    a = sp.csc_array(general(7, dtype="complex128"))
    s = sparse.csc_matrix(dtype="complex128")
    sign, logarithm = phintys.function([s], list(linalg.slogdet(s)))(a)
    wanted = np.linalg.slogdet(a.toarray())
    np.testing.assert_allclose(sign, wanted[0])
    np.testing.assert_allclose(logarithm, wanted[1])


@pytest.mark.parametrize("mode", ["native", "reference"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_gradient_of_a_positive_definite_determinant_is_the_inverse_on_the_pattern(mode, dtype):
    s = sparse.csr_matrix(dtype=dtype)
    cost = linalg.logdet(s)
    f = phintys.function([s], [cost, phintys.grad(cost, s)], mode=mode)
    if mode == "native":
        assert "call selected_inverse" in f.explain()
    # In the last one, an element of the factor is 0 although its pattern has it.
    cancelling = np.array([[1.0, 1, 1, 0], [1, 2, 1, 0], [1, 1, 3, 1], [0, 0, 1, 5]])
    for full in (positive(), positive(1, 60), np.eye(1), np.zeros((0, 0)), cancelling):
        value, slope = f(sp.csr_array(full.astype(dtype)))
        np.testing.assert_allclose(value, np.linalg.slogdet(full)[1], rtol=1e-5, atol=1e-6)
        inverse = np.where(full != 0, np.linalg.inv(full), 0)
        atol = 1e-12 if dtype == "float64" else 1e-5
        np.testing.assert_allclose(slope.toarray(), inverse, atol=atol)


def test_cg_solves_positive_definite_systems():
    full, b = positive(), np.arange(N) + 1.0
    s, v = sparse.csr_matrix(), pt.dvector()
    x, y = linalg.cg(s, v), linalg.solve(s, v, assume_a="pos")
    slopes = [phintys.grad((z**2).sum(), [s, v]) for z in (x, y)]
    f = phintys.function([s, v], [x, y, *slopes[0], *slopes[1]])
    x, y, dx, bx, dy, by = f(sp.csr_array(full), b)
    np.testing.assert_allclose(x, np.linalg.solve(full, b))
    np.testing.assert_allclose(y, x)
    np.testing.assert_allclose(dx.toarray(), dy.toarray())
    np.testing.assert_allclose(bx, by)


def test_one_factor_serves_all_that_a_function_computes():
    s, v = sparse.csr_matrix(), pt.dvector()
    x = linalg.solve(s, v)
    cost = (x**2).sum() + linalg.slogdet(s)[1]
    f = phintys.function([s, v], [cost, *phintys.grad(cost, [s, v])])
    nodes = [node for node in f.maker.fgraph.toposort() if isinstance(node.op, Factorize)]
    assert len(nodes) == 1
    assert "Factorize" in f.explain()


def test_the_factors_of_a_constant_are_computed_when_compiling():
    v = pt.dvector()
    full = general()
    f = phintys.function([v], linalg.solve(sp.csr_array(full), v))
    assert not [node for node in f.maker.fgraph.toposort() if isinstance(node.op, Factorize)]
    b = np.arange(N) + 1.0
    np.testing.assert_allclose(pickle.loads(pickle.dumps(f))(b), np.linalg.solve(full, b))


def test_debug_mode_finds_nothing():
    s, v = sparse.csc_matrix(), pt.dvector()
    cost = (linalg.solve(s, v, "pos") ** 2).sum() + linalg.logdet(s)
    f = phintys.function([s, v], [cost, *phintys.grad(cost, [s, v])], mode=phintys.DebugMode())
    f(sp.csc_array(positive()), np.ones(N))


SINGULAR = np.array([[1.0, 2, 0], [2, 4, 0], [0, 0, 1]])
INDEFINITE = np.array([[1.0, 2, 0], [2, 1, 0], [0, 0, 1]])
ONES = np.ones(3)

# what is wrong -> (function of A and b, the matrix, the right side, error, what it says)
WRONG = {
    "singular": (linalg.solve, SINGULAR, ONES, np.linalg.LinAlgError, "singular"),
    "not numbers": (linalg.solve, SINGULAR * np.nan, ONES, np.linalg.LinAlgError, "singular"),
    "indefinite": (
        lambda a, b: linalg.solve(a, b, "pos"),
        INDEFINITE,
        ONES,
        np.linalg.LinAlgError,
        "not positive definite",
    ),
    "logdet": (
        lambda a, b: linalg.logdet(a),
        INDEFINITE,
        ONES,
        np.linalg.LinAlgError,
        "not positive definite",
    ),
    "a triangle": (
        lambda a, b: linalg.logdet(a),
        np.tril(np.ones((3, 3))),
        ONES,
        np.linalg.LinAlgError,
        "not symmetric",
    ),
    "negative": (
        lambda a, b: linalg.logdet(a),
        -np.eye(3),
        ONES,
        np.linalg.LinAlgError,
        "not positive definite",
    ),
    "slope of slogdet": (
        lambda a, b: phintys.grad(linalg.slogdet(a)[1], a),
        SINGULAR,
        ONES,
        np.linalg.LinAlgError,
        "singular",
    ),
    "triangular": (
        linalg.solve_triangular,
        np.tril(np.ones((3, 3)), -1),
        ONES,
        np.linalg.LinAlgError,
        "zero",
    ),
    "cg": (
        lambda a, b: linalg.cg(a, b, maxiter=1),
        positive(n=3),
        np.arange(3.0),
        np.linalg.LinAlgError,
        "not converged",
    ),
    "not square": (linalg.solve, np.ones((3, 2)), ONES, ShapeError, "square"),
    "rows of b": (linalg.solve, np.eye(3), np.ones(2), ShapeError, "3 rows"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named(name):
    build, full, b, error, said = WRONG[name]
    s, v = sparse.csc_matrix(), pt.dvector()
    f = phintys.function([s, v], build(s, v), on_unused_input="ignore")
    with pytest.raises(error, match=said):
        f(sp.csc_array(full), b)


def test_what_is_wrong_is_named_when_the_graph_is_built():
    with pytest.raises(ShapeError, match="square"):
        linalg.solve(sparse.csr_matrix(shape=(3, 2)), ONES)
    with pytest.raises(ArgumentError, match="assume_a"):
        linalg.solve(np.eye(3), ONES, "symmetric")
    with pytest.raises(ShapeError, match="vector or a matrix"):
        linalg.solve(sparse.csr_matrix(), 1.0)


def test_the_determinant_of_a_singular_matrix_is_0():
    s = sparse.csr_matrix()
    sign, logarithm = phintys.function([s], list(linalg.slogdet(s)))(sp.csr_array(SINGULAR))
    assert (sign, logarithm) == (0, -np.inf)


def test_factors_are_pickled_by_their_matrix():
    a = sp.csc_array(general())
    factors = pickle.loads(pickle.dumps(Factors(a.data, a.indices, a.indptr, False)))
    np.testing.assert_allclose(
        factors.solve(np.ones(N), False), np.linalg.solve(general(), np.ones(N))
    )


@pytest.mark.parametrize(
    ("full", "is_positive", "said"),
    [
        (general(), False, "of 7 rows with {} entries"),
        (SINGULAR, False, "of 3 rows with {} entries, which is singular"),
        (INDEFINITE, True, "of 3 rows with {} entries, which is not positive definite"),
    ],
)
def test_factors_say_what_they_are(full, is_positive, said):
    a = sp.csc_array(full)
    factors = Factors(a.data, a.indices, a.indptr, is_positive)
    assert said.format(a.nnz) in repr(factors)
    assert "0x" not in repr(factors)


def test_zeros_may_be_stored_on_one_side_of_a_symmetric_matrix():
    a = sp.csc_array(positive())
    row, column = np.argwhere(a.toarray() == 0)[0]
    entries = a.tocoo()
    coordinates = np.append(entries.row, row), np.append(entries.col, column)
    uneven = sp.csc_array((np.append(entries.data, 0.0), coordinates), shape=a.shape)
    for matrix, problem in ((uneven, ""), (sp.csc_array(np.tril(positive())), "not symmetric")):
        factors = Factors(matrix.data, matrix.indices, matrix.indptr, True)
        assert problem in factors.problem
        assert bool(factors.problem) == bool(problem)
