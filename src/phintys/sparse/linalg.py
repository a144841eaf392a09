"""Linear algebra with sparse matrices: systems of equations, and determinants.

Derivatives with respect to matrices are those by their stored elements, as everywhere in
:mod:`phintys.sparse`. A matrix is factorized once for all that a function computes with it. The
factors are SciPy's (SuperLU), which runs on one thread, so calls of it are callbacks of a compiled
function.
"""

from __future__ import annotations

from typing import Any

import phintys.tensor as pt
from phintys._base.errors import ArgumentError, ShapeError, TypeContractError
from phintys._base.names import public_dir
from phintys.sparse.determinants import InverseAtEntries, LogDet, RootFactor
from phintys.sparse.exponentials import expm_multiply
from phintys.sparse.factors import Factorize
from phintys.sparse.operations import as_sparse_variable, dense_from_sparse, is_sparse
from phintys.sparse.parts import Form, parts
from phintys.sparse.products import conj
from phintys.sparse.solving import (
    SolveByFactors,
    SolveByIteration,
    SolveTriangularMatrix,
    preconditioned,
)
from phintys.tensor.convert import as_tensor_variable

__all__ = [
    "cg",
    "expm_multiply",
    "gmres",
    "inverse_on_pattern",
    "logdet",
    "slogdet",
    "solve",
    "solve_root",
    "solve_triangular",
    "spsolve",
    "spsolve_triangular",
]

_ASSUMED = ("gen", "pos")


def solve(A: Any, b: Any, assume_a: str = "gen") -> Any:
    """Return the solution x of ``A @ x = b``.

    Parameters
    ----------
    A
        A square sparse matrix.
    b
        A vector, or a matrix whose columns are several right sides. A sparse one is made dense.
    assume_a
        ``"gen"``: rows are exchanged for stability. ``"pos"``: A is symmetric and positive
        definite, which needs half of the work.

    Returns
    -------
    TensorVariable
        A dense solution, of the shape of b.

    Raises
    ------
    ShapeError
        A is not square, or b has another number of rows.
    numpy.linalg.LinAlgError
        The matrix is singular, or not symmetric and positive definite though ``assume_a="pos"``.

    Examples
    --------
    >>> import scipy.sparse
    >>> from phintys import sparse
    >>> A = scipy.sparse.csc_array([[2.0, 0.0], [1.0, 4.0]])
    >>> sparse.linalg.solve(A, [2.0, 9.0]).eval()
    array([1., 2.])
    """
    _check(assume_a)
    form, transposed = _square(A, "solve")
    b = dense_from_sparse(b) if is_sparse(b) else as_tensor_variable(b)
    form, b = _in_one_dtype(form, b)
    solution = SolveByFactors(transposed)
    return solution(_factors(form, assume_a), form.data, form.indices, form.indptr, b)


def spsolve(A: Any, b: Any) -> Any:
    """Return the solution of ``A @ x = b``: :func:`solve` by SciPy's name."""
    return solve(A, b)


def solve_triangular(A: Any, b: Any, lower: bool = True, unit_diagonal: bool = False) -> Any:
    """Return the solution of a system with a triangle of a sparse matrix; the other is not read.

    Parameters
    ----------
    A, b
        As for :func:`solve`.
    lower
        Which triangle.
    unit_diagonal
        Take 1 for the elements of the diagonal, whatever they are.

    Raises
    ------
    ShapeError
        A is not square, or b has another number of rows.
    numpy.linalg.LinAlgError
        The diagonal has a zero.

    Examples
    --------
    >>> import scipy.sparse
    >>> from phintys import sparse
    >>> A = scipy.sparse.csr_array([[2.0, 7.0], [1.0, 4.0]])
    >>> sparse.linalg.solve_triangular(A, [2.0, 9.0]).eval()
    array([1., 2.])
    """
    form, transposed = _square(A, "solve_triangular")
    form, b = _in_one_dtype(form, as_tensor_variable(b))
    solution = SolveTriangularMatrix(lower != transposed, unit_diagonal, transposed)
    return solution(form.data, form.indices, form.indptr, b)


def spsolve_triangular(A: Any, b: Any, lower: bool = True, unit_diagonal: bool = False) -> Any:
    """Return the solution of a triangular system: :func:`solve_triangular` by SciPy's name."""
    return solve_triangular(A, b, lower, unit_diagonal)


def solve_root(A: Any, z: Any) -> Any:
    """Return x with ``x.T @ A @ x = z.T @ z``, by a Cholesky factor of a positive definite matrix.

    Where the elements of z are independent normal numbers, x are draws of a Gaussian Markov random
    field with the precision A: ``inv(A)`` is their covariance (H. Rue, 2001). Which x it is depends
    on the order in which A is factorized.

    Parameters
    ----------
    A
        A real symmetric positive definite sparse matrix. Its gradient is symmetric.
    z
        A vector, or a matrix of several right sides.

    Returns
    -------
    TensorVariable
        A dense solution of ``C.T @ P @ x = z``, where ``C @ C.T = P @ A @ P.T`` and P is the order,
        of the shape of z.

    Raises
    ------
    ShapeError
        A is not square, or z has another number of rows.
    TypeContractError
        A or z is complex.
    numpy.linalg.LinAlgError
        A is not symmetric and positive definite.

    Examples
    --------
    >>> import scipy.sparse
    >>> from phintys import sparse
    >>> sparse.linalg.solve_root(scipy.sparse.diags_array([4.0, 25.0]), [1.0, 1.0]).eval()
    array([0.5, 0.2])
    """
    form, _ = _square(A, "solve_root")
    form, z = _in_one_dtype(form, as_tensor_variable(z))
    if z.dtype.startswith("complex"):
        msg = f"solve_root: the matrix and the right side must be real, got {z.dtype}."
        raise TypeContractError(msg)
    factors = _factors(form, "pos")
    *root, order = RootFactor()(factors, form.data, form.indices, form.indptr, return_list=True)
    return SolveTriangularMatrix(transposed=True)(*root, z)[order]


def logdet(A: Any) -> Any:
    """Return the logarithm of the determinant of a symmetric positive definite sparse matrix.

    Its gradient is the inverse at the stored elements. It is computed from the factor, without
    other elements of the inverse than those in the pattern of the factor (Takahashi, Fagan, Chen,
    1973).

    Raises
    ------
    ShapeError
        A is not square.
    numpy.linalg.LinAlgError
        A is not symmetric and positive definite.

    Examples
    --------
    >>> import numpy as np, scipy.sparse
    >>> from phintys import sparse
    >>> float(sparse.linalg.logdet(scipy.sparse.diags_array([1.0, 2.0, 4.0])).eval() / np.log(2))
    3.0
    """
    form, _ = _square(A, "logdet")
    form, _ = _in_one_dtype(form, pt.constant(0.0, dtype="float32"))
    factors = _factors(form, "pos")
    return LogDet(True)(factors, form.data, form.indices, form.indptr)[1]


def inverse_on_pattern(A: Any) -> Any:
    """Return the inverse of a symmetric positive definite sparse matrix at its stored elements.

    It is the gradient of :func:`logdet`. The others are not computed, but those in the pattern of
    the factor (Takahashi, Fagan, Chen, 1973). Where A is the precision of a Gaussian Markov random
    field, they are variances, and covariances of neighbours.

    Returns
    -------
    SparseVariable
        A matrix with the pattern of A.

    Raises
    ------
    ShapeError
        A is not square.
    numpy.linalg.LinAlgError
        A is not symmetric and positive definite.

    Examples
    --------
    >>> import scipy.sparse
    >>> from phintys import sparse
    >>> A = scipy.sparse.csr_array([[2.0, 0.0], [0.0, 4.0]])
    >>> sparse.linalg.inverse_on_pattern(A).diagonal().eval()
    array([0.5 , 0.25])
    """
    form, transposed = _square(A, "inverse_on_pattern")
    form, _ = _in_one_dtype(form, pt.constant(0.0, dtype="float32"))
    pattern = form.indices, form.indptr
    found = InverseAtEntries(True)(_factors(form, "pos"), form.data, *pattern)
    # Element (i, j) of the inverse is found at the entry (j, i) of the csc matrix.
    result = form.with_data(conj(found)).variable
    return result.T if transposed else result


def slogdet(A: Any) -> tuple[Any, Any]:
    """Return the sign of the determinant of a sparse matrix, and the log of its absolute value.

    The gradient of the logarithm is the inverse at the stored elements, which takes a solution for
    each column; :func:`logdet` needs less for positive definite matrices.

    Returns
    -------
    tuple
        The sign (0 for a singular matrix; a number of absolute value 1 for a complex one), and the
        logarithm (-inf for a singular matrix, which has no gradient).

    Raises
    ------
    ShapeError
        A is not square.

    Examples
    --------
    >>> import numpy as np, scipy.sparse
    >>> from phintys import sparse
    >>> sign, logarithm = sparse.linalg.slogdet(scipy.sparse.csc_array([[0.0, 2.0], [4.0, 0.0]]))
    >>> float(sign.eval()), float(logarithm.eval() / np.log(2))
    (-1.0, 3.0)
    """
    form, _ = _square(A, "slogdet")
    form, _ = _in_one_dtype(form, pt.constant(0.0, dtype="float32"))
    sign, logarithm = LogDet()(_factors(form, "gen"), form.data, form.indices, form.indptr)
    return sign, logarithm


def cg(
    A: Any,
    b: Any,
    rtol: float = 1e-10,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
) -> Any:
    """Return the solution of ``A @ x = b`` by conjugate gradients (Hestenes, Stiefel, 1952).

    The gradient is that of the solution, by the same method; no iterations are differentiated.

    Parameters
    ----------
    A
        A symmetric positive definite sparse matrix.
    b
        A vector, or a matrix of several right sides.
    rtol, atol
        The norm of the residual is at most ``max(rtol * norm(b), atol)``.
    maxiter
        The most iterations, by default ten for each row.
    M
        A preconditioner: a linear function of a symbolic vector, or a sparse or dense matrix, which
        multiplies with about the inverse of A; or ``"jacobi"``, the inverse of the diagonal. It
        must be symmetric and positive definite, and A and b real. It has no derivative, since the
        solution does not depend on it.

    Raises
    ------
    ShapeError
        A is not square, or b has another number of rows.
    numpy.linalg.LinAlgError
        The method has not converged.

    Examples
    --------
    >>> import scipy.sparse
    >>> from phintys import sparse
    >>> A = scipy.sparse.csc_array([[2.0, 1.0], [1.0, 4.0]])
    >>> sparse.linalg.cg(A, [4.0, 9.0], M="jacobi").eval().round(6)
    array([1., 2.])
    """
    return _by_iteration(A, b, M, "cg", rtol, atol, maxiter, None)


def gmres(
    A: Any,
    b: Any,
    rtol: float = 1e-10,
    atol: float = 0.0,
    restart: int | None = None,
    maxiter: int | None = None,
    M: Any = None,
) -> Any:
    """Return the solution of ``A @ x = b`` by minimal residuals (Saad, Schultz, 1986).

    Parameters
    ----------
    A
        A square sparse matrix.
    b, rtol, atol, maxiter
        As for :func:`cg`.
    restart
        After how many iterations the method begins again, by default 20.
    M
        As for :func:`cg`; it need not be symmetric. Gradients take the transposed function.

    Raises
    ------
    ShapeError
        A is not square, or b has another number of rows.
    numpy.linalg.LinAlgError
        The method has not converged.

    Examples
    --------
    >>> import scipy.sparse
    >>> from phintys import sparse
    >>> A = scipy.sparse.csc_array([[2.0, 1.0], [0.0, 4.0]])
    >>> sparse.linalg.gmres(A, [4.0, 8.0]).eval().round(6)
    array([1., 2.])
    """
    return _by_iteration(A, b, M, "gmres", rtol, atol, maxiter, restart)


def _by_iteration(A: Any, b: Any, M: Any, *settings: Any) -> Any:
    form, transposed = _square(A, settings[0])
    form, b = _in_one_dtype(form, as_tensor_variable(b))
    settings = (*settings, transposed)
    captured: list[Any] = []
    if M is None:
        op: Any = SolveByIteration(*settings)
    else:
        op, captured = preconditioned(settings, M, form, b)
    return op(*captured, form.data, form.indices, form.indptr, b)


def _check(assume_a: str) -> None:
    if assume_a not in _ASSUMED:
        msg = f"assume_a must be 'gen' or 'pos', got {assume_a!r}."
        raise ArgumentError(msg)


def _square(A: Any, name: str) -> tuple[Form, bool]:
    """Return a matrix as a csc one, and whether it is the transpose of the given one."""
    form = parts(as_sparse_variable(A))
    if None not in form.static and form.static[0] != form.static[1]:
        msg = f"{name}: the sparse matrix must be square, got shape {form.static}."
        raise ShapeError(msg)
    return (form.transposed, True) if form.is_csr else (form, False)


def _in_one_dtype(form: Form, b: Any) -> tuple[Form, Any]:
    """Return both operands in the floating dtype of the solution."""
    dtype = pt.promote_types(form.data.dtype, b.dtype)
    if dtype not in {"float32", "float64", "complex64", "complex128"}:
        dtype = "float32" if dtype == "float16" else "float64"
    data, b = (v if v.dtype == dtype else pt.cast(v, dtype) for v in (form.data, b))
    return form.with_data(data), b


def _factors(form: Form, assume_a: str) -> Any:
    op = Factorize(assume_a == "pos")
    return op(form.data, form.indices, form.indptr, form.minor_size)


__dir__ = public_dir(__name__)
