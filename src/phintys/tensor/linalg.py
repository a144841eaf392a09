"""``phintys.tensor.linalg``: decompositions and solvers, norms, products and traces.

The names are NumPy's and SciPy's. Decompositions and solvers are defined in
:mod:`phintys.tensor.linear_algebra`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.late import LateModule, late_names
from phintys.tensor import diagonals
from phintys.tensor.dim_shuffle import matrix_transpose
from phintys.tensor.products import dot, inner, kron, matmul, outer, tensordot, vdot
from phintys.tensor.reduce import sum
from phintys.tensor.synonyms import also_named

if TYPE_CHECKING:
    from phintys.tensor.linear_algebra import vectors
    from phintys.tensor.linear_algebra.banded import solve_banded, solveh_banded
    from phintys.tensor.linear_algebra.cholesky import (
        cho_factor,
        cho_solve,
        cholesky,
        cholesky_update,
    )
    from phintys.tensor.linear_algebra.determinants import det, slogdet
    from phintys.tensor.linear_algebra.eigen import eig, eigh, eigvals, eigvalsh
    from phintys.tensor.linear_algebra.least_squares import lstsq, pinv
    from phintys.tensor.linear_algebra.lu import lu, lu_factor, lu_solve, pivot_to_permutation
    from phintys.tensor.linear_algebra.matrix_equations import (
        solve_continuous_are,
        solve_continuous_lyapunov,
        solve_discrete_are,
        solve_discrete_lyapunov,
    )
    from phintys.tensor.linear_algebra.matrix_functions import logm, sqrtm
    from phintys.tensor.linear_algebra.norms import cond, matrix_norm, norm, vector_norm
    from phintys.tensor.linear_algebra.patterned import (
        block_diag,
        circulant,
        hankel,
        tensorinv,
        tensorsolve,
        toeplitz,
    )
    from phintys.tensor.linear_algebra.powers import expm, matrix_dot, matrix_power, multi_dot
    from phintys.tensor.linear_algebra.qr import qr
    from phintys.tensor.linear_algebra.schur import ordqz, qz, schur, solve_sylvester
    from phintys.tensor.linear_algebra.singular_values import matrix_rank, svd, svdvals
    from phintys.tensor.linear_algebra.solving import inv, matrix_inverse, solve
    from phintys.tensor.linear_algebra.toeplitz_systems import solve_toeplitz
    from phintys.tensor.linear_algebra.triangular import solve_triangular
    from phintys.tensor.linear_algebra.tridiagonal import (
        tridiagonal_lu_factor,
        tridiagonal_lu_solve,
    )
    from phintys.tensor.linear_algebra.vectors import matvec, vecdot, vecmat
    from phintys.tensor.variable import TensorVariable
else:
    vectors = LateModule("phintys.tensor.linear_algebra.vectors")
    __getattr__, __dir__ = late_names(__name__)

__all__ = [
    "block_diag",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "cholesky_update",
    "circulant",
    "cond",
    "cross",
    "det",
    "diagonal",
    "dot",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "expm",
    "hankel",
    "inner",
    "inv",
    "kron",
    "logm",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_solve",
    "matmul",
    "matrix_dot",
    "matrix_inverse",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "matvec",
    "multi_dot",
    "norm",
    "ordqz",
    "outer",
    "pinv",
    "pivot_to_permutation",
    "qr",
    "qz",
    "schur",
    "slogdet",
    "solve",
    "solve_banded",
    "solve_continuous_are",
    "solve_continuous_lyapunov",
    "solve_discrete_are",
    "solve_discrete_lyapunov",
    "solve_sylvester",
    "solve_toeplitz",
    "solve_triangular",
    "solveh_banded",
    "sqrtm",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "toeplitz",
    "trace",
    "tridiagonal_lu_factor",
    "tridiagonal_lu_solve",
    "vdot",
    "vecdot",
    "vecmat",
    "vector_norm",
]


@also_named
def cross(x1: Any, x2: Any, axis: int = -1) -> TensorVariable:
    """Return the cross products of vectors of three elements, as the array API defines them.

    Parameters
    ----------
    x1, x2
        Vectors, or stacks of them that broadcast.
    axis
        The axis of the vectors, in both operands and in the result. :func:`phintys.tensor.cross`
        takes one for each of them, too.

    Returns
    -------
    TensorVariable
        The common shape of ``x1`` and ``x2``.

    Raises
    ------
    ShapeError
        The vectors do not have three elements.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.linalg.cross([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]).eval()
    array([0., 0., 1.])
    """
    return vectors.cross(x1, x2, axis=axis)


# ---- parts of matrices ---------------------------------------------------------------------------


def diagonal(x: Any, offset: int = 0, axis1: int = -2, axis2: int = -1) -> TensorVariable:
    """Return diagonals of matrices, by default of those in the last two axes.

    Parameters
    ----------
    x
        A tensor with at least 2 dimensions.
    offset
        Offset from the main diagonal: positive is above it, negative below.
    axis1, axis2
        The dimensions that serve as rows and as columns; those of :func:`numpy.diagonal` are the
        first two by default.

    Returns
    -------
    TensorVariable
        The diagonals, as the last dimension of the result.

    Raises
    ------
    ShapeError
        The two dimensions are the same.
    AxisError
        One of them is out of range.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.linalg.diagonal(pt.constant([[1, 2], [3, 4]])).eval()
    array([1, 4])
    """
    return diagonals.diagonal(x, offset, axis1, axis2)


@also_named
def trace(
    x: Any, offset: int = 0, axis1: int = -2, axis2: int = -1, dtype: Any = None
) -> TensorVariable:
    """Return the sums of diagonals of matrices, by default of those in the last two axes.

    Parameters
    ----------
    x
        A tensor of rank 2 or more.
    offset
        Offset from the main diagonal: positive is above it, negative below.
    axis1, axis2
        The axes of the rows and columns.
    dtype
        As for :func:`phintys.tensor.sum`.

    Returns
    -------
    TensorVariable
        The sums, with the shape of ``x`` without the two dimensions.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.linalg.trace(pt.constant([[1, 2], [3, 4]])).eval()
    array(5)
    """
    return sum(diagonal(x, offset, axis1, axis2), -1, dtype)
