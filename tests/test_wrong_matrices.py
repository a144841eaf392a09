"""Common mistakes with decompositions and solvers of matrices, and what the errors say."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError, DtypeError, MethodNotDefinedError, ShapeError
from tests.test_wrong_inputs import Case, check

WHEN_BUILT = {
    "a vector in place of a matrix": Case(
        'pt.linalg.cholesky(pt.vector("x"))', ShapeError, ["x", "rank 2 or more", "x[:, None]"]
    ),
    "a matrix that is not square": Case(
        'pt.linalg.cholesky(pt.tensor("x", shape=(2, 3)))', ShapeError, ["square", "x", "(2, 3)"]
    ),
    "the inverse of a matrix that is not square": Case(
        'pt.linalg.inv(pt.tensor("a", shape=(2, 3)))', ShapeError, ["inv takes square", "(2, 3)"]
    ),
    "another way to treat errors": Case(
        'pt.linalg.cholesky(pt.matrix("x"), on_error="ignore")',
        ArgumentError,
        ["'raise', 'nan'", "'ignore'"],
    ),
    "half precision": Case(
        'pt.linalg.det(pt.tensor("x", dtype="float16", shape=(2, 2)))',
        DtypeError,
        ["float16", "float32, float64", 'astype("float32")'],
    ),
    "an unknown assumption": Case(
        'pt.linalg.solve(pt.matrix("a"), pt.vector("b"), assume_a="positive")',
        ArgumentError,
        ["'pos'", "'positive definite'", "got 'positive'"],
    ),
    "a right side of another length": Case(
        'pt.linalg.solve(pt.tensor("a", shape=(2, 2)), pt.tensor("b", shape=(3,)))',
        ShapeError,
        ["(n,n),(n,k)->(n,k)", "a: shape (2, 2)", "(3, 1)"],
    ),
    "stacks of different lengths": Case(
        'pt.linalg.solve(pt.tensor("a", shape=(2, 3, 3)), pt.tensor("b", shape=(4, 3, 1)))',
        ShapeError,
        ["stacks", "a: shape (2, 3, 3)", "b: shape (4, 3, 1)", "dimension 0"],
    ),
    "neither vectors nor matrices": Case(
        'pt.linalg.solve(pt.matrix("a"), pt.vector("b"), b_ndim=3)',
        ArgumentError,
        ["b_ndim is 1 for vectors or 2", "3"],
    ),
    "a banded matrix of which the diagonals are not named": Case(
        'pt.linalg.solve(pt.matrix("a"), pt.vector("b"), assume_a="banded")',
        ArgumentError,
        ["bands=(below, above)", "None"],
    ),
    "diagonals of a matrix that is not banded": Case(
        'pt.linalg.solve(pt.matrix("a"), pt.vector("b"), bands=(1, 1))',
        ArgumentError,
        ['assume_a="banded"', "'gen'", "(1, 1)"],
    ),
    "another transpose": Case(
        'pt.linalg.solve_triangular(pt.matrix("a"), pt.vector("b"), trans="X")',
        ArgumentError,
        ["'N', 'T' or 'C'", "'X'"],
    ),
    "a matrix in place of LU factors": Case(
        'pt.linalg.lu_solve(pt.matrix("a"), pt.vector("b"))',
        ArgumentError,
        ["pair", "lu_factor returns", "a"],
    ),
    "a matrix in place of a Cholesky factor": Case(
        'pt.linalg.cho_solve(pt.matrix("a"), pt.vector("b"))', ArgumentError, ["pair", "cho_factor"]
    ),
    "exchanges that are no integers": Case(
        'pt.linalg.pivot_to_permutation(pt.vector("p"))', ArgumentError, ["integers", "p", "float"]
    ),
    "an unknown mode of QR": Case(
        'pt.linalg.qr(pt.matrix("a"), "thin")', ArgumentError, ["'reduced'", "got 'thin'"]
    ),
    "the gradient of arbitrary columns": Case(
        'a = pt.dmatrix("a"); phintys.grad(pt.linalg.qr(a, "complete")[0].sum(), a)',
        MethodNotDefinedError,
        ["arbitrary", 'mode="economic"'],
    ),
    "the gradient of a Schur form": Case(
        'a = pt.dmatrix("a"); phintys.grad(pt.linalg.schur(a).T.sum(), a)',
        MethodNotDefinedError,
        ["Schur", "not unique", "eigvals"],
    ),
    "an unknown region of eigenvalues": Case(
        'pt.linalg.schur(pt.matrix("a"), sort="left")', ArgumentError, ["'lhp'", "'left'"]
    ),
    "a matrix in place of factors of three diagonals": Case(
        'pt.linalg.tridiagonal_lu_solve(pt.matrix("a"), pt.vector("b"))',
        ArgumentError,
        ["five factors", "tridiagonal_lu_factor returns", "a"],
    ),
    "one number of diagonals": Case(
        'pt.linalg.solve_banded((1,), pt.matrix("ab"), pt.vector("b"))',
        ArgumentError,
        ["l_and_u", "pair", "(1,)"],
    ),
    "a negative number of diagonals": Case(
        'pt.linalg.solve_banded((1, -1), pt.matrix("ab"), pt.vector("b"))',
        ArgumentError,
        ["ints from 0", "-1 above"],
    ),
    "too few diagonals": Case(
        'pt.linalg.solve_banded((1, 1), pt.tensor("ab", shape=(2, None)), pt.vector("b"))',
        ShapeError,
        ["3 rows", "ab", "(2, ?)"],
    ),
    "an unknown number of diagonals": Case(
        'pt.linalg.solveh_banded(pt.matrix("ab"), pt.vector("b"))',
        ShapeError,
        ["must be known", "ab", "specify_shape"],
    ),
    "half of a power": Case(
        'pt.linalg.matrix_power(pt.matrix("a"), 1.5)', ArgumentError, ["integer", "1.5"]
    ),
    "an update of a complex factor": Case(
        'pt.linalg.cholesky_update(pt.zmatrix("l"), pt.vector("x"))',
        DtypeError,
        ["real factors", "l", "complex128"],
    ),
    "an unknown structure": Case(
        'pt.assume(pt.matrix("a"), "posdef")', ArgumentError, ["positive_definite", "'posdef'"]
    ),
    "matrices of an equation that do not fit": Case(
        "pt.linalg.solve_sylvester(*(pt.tensor(shape=s) for s in [(2, 2), (3, 3), (3, 2)]))",
        ShapeError,
        ["(m,m),(n,n),(m,n)", "(3, 2)"],
    ),
}

WHEN_CALLED = {
    "a matrix that turns out not to be square": Case(
        """
        x = pt.dmatrix("x")
        f = phintys.function([x], pt.linalg.cholesky(x))
        f([[1.0, 2.0]])
        """,
        ShapeError,
        ["square", "x", "(1, 2)", "line 2"],
    ),
    "a stack with one that is not positive definite": Case(
        """
        x = pt.dtensor3("x")
        f = phintys.function([x], pt.linalg.cholesky(x))
        f([[[1.0]], [[-1.0]]])
        """,
        np.linalg.LinAlgError,
        ["position [1] of the stack x", "minor of order 1", 'on_error="nan"', "line 2"],
    ),
    "a right side that turns out to be longer": Case(
        """
        a, b = pt.dmatrix("a"), pt.dvector("b")
        f = phintys.function([a, b], pt.linalg.solve(a, b))
        f([[1.0]], [1.0, 2.0])
        """,
        ShapeError,
        ["do not fit", "shape (1", "(2, 1)", "line 2"],
    ),
    "a singular matrix": Case(
        """
        a = pt.dmatrix("a")
        f = phintys.function([a], pt.linalg.inv(a))
        f([[1.0, 1.0], [1.0, 1.0]])
        """,
        np.linalg.LinAlgError,
        ["singular", "element 1", "line 2"],
    ),
    "a negative eigenvalue": Case(
        """
        a = pt.dmatrix("a")
        f = phintys.function([a], pt.linalg.logm(a))
        f([[-1.0]])
        """,
        np.linalg.LinAlgError,
        ["matrix a", "no real logarithm", 'astype("complex128")', "line 2"],
    ),
    "a factor that is not one after its update": Case(
        """
        l, x = pt.dmatrix("l"), pt.dvector("x")
        f = phintys.function([l, x], pt.linalg.cholesky_update(l, x, downdate=True))
        f([[1.0]], [2.0])
        """,
        np.linalg.LinAlgError,
        ["matrix l", "not positive definite after the update", "line 2"],
    ),
}

MATRICES = {**WHEN_BUILT, **WHEN_CALLED}


@pytest.mark.parametrize("name", MATRICES)
def test_a_mistake_is_explained(name):
    check(MATRICES[name])


def test_large_integers_are_rounded_once_and_products_of_them_wrap_as_in_numpy():
    """NumPy reports neither: factors and solutions are in float64, products in the integers."""
    a, b = pt.lmatrices("a", "b")
    values = np.array([[2**62 + 1, 1], [3, 2**60 + 1]]), np.array([[5, 2**40], [1, 2**33]])
    linalg = pt.linalg
    results = [linalg.inv(a), linalg.norm(a), linalg.det(a @ b), linalg.det(linalg.kron(a, b))]
    found = phintys.function([a, b], [*results, a @ b])(*values)
    x, y = values
    assert np.linalg.det(x @ y) != pytest.approx(np.linalg.det(x * 1.0) * np.linalg.det(y * 1.0))
    expected = [np.linalg.inv(x * 1.0), np.linalg.norm(x * 1.0)]
    expected += [np.linalg.det(x @ y), np.linalg.det(np.kron(x, y)), x @ y]
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, 1e-12)


def _square(name, **options):
    return lambda a, b: getattr(pt.linalg, name)(a, **options)


def _system(**options):
    return lambda a, b: pt.linalg.solve(a, b, **options)


CALLS = {
    **{name: _square(name) for name in ("cholesky", "det", "expm", "inv", "logm", "sqrtm")},
    **{name: lambda a, b, name=name: _square(name)(a, b)[0] for name in ("eigh", "slogdet")},
    "eig": lambda a, b: abs(pt.linalg.eig(a)[0]),
    "lu_factor": lambda a, b: pt.linalg.lu_factor(a)[0],
    "schur": lambda a, b: pt.linalg.schur(a)[0],
    "matrix_power": _square("matrix_power", n=-2),
    "cho_solve": lambda a, b: pt.linalg.cho_solve((a, True), b),
    "solve_triangular": pt.linalg.solve_triangular,
    "solve_sylvester": lambda a, b: pt.linalg.solve_sylvester(a, a, a),
    "solve_continuous_lyapunov": lambda a, b: pt.linalg.solve_continuous_lyapunov(a, a),
    "solve_continuous_are": lambda a, b: pt.linalg.solve_continuous_are(a, a, a, a),
    "solve_discrete_are": lambda a, b: pt.linalg.solve_discrete_are(a, a, a, a),
    "solve": _system(),
    "solve, positive definite": _system(assume_a="pos"),
    "solve, lower triangular": _system(assume_a="lower triangular"),
    "solve, diagonal": _system(assume_a="diagonal"),
    "solve, tridiagonal": _system(assume_a="tridiagonal"),
}


def _error_of_a_call(build, matrix, mode):
    a, b = pt.dmatrix("a"), pt.dvector("b")
    f = phintys.function([a, b], build(a, b), mode=mode, on_unused_input="ignore")
    with pytest.raises((ValueError, np.linalg.LinAlgError)) as caught:
        f(matrix, np.ones(len(matrix)))
    return caught.value


@pytest.mark.parametrize("mode", [None, "reference"])
@pytest.mark.parametrize("name", CALLS)
def test_errors_name_the_function_that_was_called(name, mode):
    error = _error_of_a_call(CALLS[name], np.ones((3, 4)), mode)
    assert isinstance(error, ShapeError)
    assert str(error).startswith(name.split(",")[0])


@pytest.mark.parametrize("mode", [None, "reference"])
@pytest.mark.parametrize("name", ["inv", "solve", "solve_triangular", "solve, positive definite"])
def test_errors_name_the_matrix_that_was_given(name, mode):
    error = _error_of_a_call(CALLS[name], np.zeros((3, 3)), mode)
    assert str(error).startswith(f"{name.split(',')[0]}: the matrix a is ")


def test_a_step_says_what_it_is_a_step_of():
    error = _error_of_a_call(CALLS["solve, positive definite"], np.ones((3, 4)), "native")
    assert "While computing Cholesky{on_error=raise}(a), a step of solve" in error.__notes__[0]
    error = _error_of_a_call(CALLS["solve"], np.ones((3, 4)), "reference")
    assert "a step of" not in error.__notes__[0]
