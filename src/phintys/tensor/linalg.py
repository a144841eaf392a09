"""``phintys.tensor.linalg``: decompositions and solvers, norms, products and traces.

The names are NumPy's and SciPy's. Decompositions and solvers are defined in
:mod:`phintys.tensor.linear_algebra`.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import MethodNotDefinedError, OpContractError, ShapeError
from phintys._base.late import late_names
from phintys.tensor import diagonals, math
from phintys.tensor._rules import Axis, is_discrete
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.dim_shuffle import matrix_transpose, normalize_axes, normalize_axis, squeeze
from phintys.tensor.products import dot, inner, kron, matmul, outer, tensordot, vdot
from phintys.tensor.reduce import max, min, sum

if TYPE_CHECKING:
    from phintys.tensor.linear_algebra.cholesky import cho_factor, cho_solve, cholesky
    from phintys.tensor.linear_algebra.determinants import det, slogdet
    from phintys.tensor.linear_algebra.lu import lu, lu_factor, lu_solve, pivot_to_permutation
    from phintys.tensor.linear_algebra.solving import inv, solve
    from phintys.tensor.linear_algebra.triangular import solve_triangular
    from phintys.tensor.variable import TensorVariable
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "phintys.tensor.linear_algebra.cholesky": ("cho_factor", "cho_solve", "cholesky"),
            "phintys.tensor.linear_algebra.determinants": ("det", "slogdet"),
            "phintys.tensor.linear_algebra.lu": (
                "lu",
                "lu_factor",
                "lu_solve",
                "pivot_to_permutation",
            ),
            "phintys.tensor.linear_algebra.solving": ("inv", "solve"),
            "phintys.tensor.linear_algebra.triangular": ("solve_triangular",),
        },
    )

__all__ = [
    "cho_factor",
    "cho_solve",
    "cholesky",
    "det",
    "diagonal",
    "dot",
    "inner",
    "inv",
    "kron",
    "lu",
    "lu_factor",
    "lu_solve",
    "matmul",
    "matrix_norm",
    "matrix_transpose",
    "norm",
    "outer",
    "pivot_to_permutation",
    "slogdet",
    "solve",
    "solve_triangular",
    "tensordot",
    "trace",
    "vdot",
    "vector_norm",
]


# ---- parts of matrices ---------------------------------------------------------------------------


def diagonal(x: Any, offset: int = 0, axis1: int = -2, axis2: int = -1) -> TensorVariable:
    """Return diagonals of matrices, by default of those in the last two axes.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.linalg.diagonal(pt.constant([[1, 2], [3, 4]])).eval()
    array([1, 4])
    """
    return diagonals.diagonal(x, offset, axis1, axis2)


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

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.linalg.trace(pt.constant([[1, 2], [3, 4]])).eval()
    array(5)
    """
    return sum(diagonal(x, offset, axis1, axis2), -1, dtype)


# ---- norms ---------------------------------------------------------------------------------------


def _magnitudes(x: Any) -> Any:
    """Return absolute values; those of integers and bools as float64."""
    x = as_tensor_variable(x)
    return math.abs(math.cast(x, "float64") if is_discrete(x) else x)


def _order(ord: Any, function: str) -> float:
    if isinstance(ord, bool) or not isinstance(ord, Real):
        msg = f"The order of a {function} is a number, or inf or -inf; got {ord!r}."
        raise OpContractError(msg)
    return float(ord)


def vector_norm(x: Any, ord: Any = 2, axis: Axis = None, keepdims: bool = False) -> TensorVariable:
    """Return the vector norm of the elements along some axes.

    Parameters
    ----------
    x
        A tensor; integers and bools are cast to float64.
    ord
        p, for ``sum(abs(x)**p)**(1/p)``; ``inf`` for the largest and ``-inf`` for the smallest
        absolute value; 0 for the number of nonzero elements.
    axis
        One axis, several, or ``None`` for all.
    keepdims
        Keep the axes, with size 1.

    Raises
    ------
    ShapeError
        ``axis`` is out of range.
    OpContractError
        ``ord`` is not a number.

    Notes
    -----
    The gradient of the 2-norm at 0 is NaN.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.linalg.vector_norm(pt.constant([3.0, 4.0])).eval()
    array(5.)
    """
    order = _order(ord, "vector norm")
    magnitudes = _magnitudes(x)
    if order == np.inf:
        return max(magnitudes, axis, keepdims)
    if order == -np.inf:
        return min(magnitudes, axis, keepdims)
    if order == 0:
        nonzero = math.cast(math.neq(magnitudes, 0), magnitudes.dtype)
        return sum(nonzero, axis, keepdims=keepdims)
    if order == 1:
        return sum(magnitudes, axis, keepdims=keepdims)
    if order == 2:
        return math.sqrt(sum(_squares(x), axis, keepdims=keepdims))
    return sum(magnitudes**order, axis, keepdims=keepdims) ** (1 / order)


def _squares(x: Any) -> Any:
    """Return ``abs(x)**2`` without an intermediate root, whose derivative at 0 is not finite."""
    x = as_tensor_variable(x)
    if x.type.numpy_dtype.kind == "c":
        return math.sqr(math.real(x)) + math.sqr(math.imag(x))
    return math.sqr(math.cast(x, "float64") if is_discrete(x) else x)


def matrix_norm(
    x: Any, ord: Any = "fro", axis: tuple[int, int] = (-2, -1), keepdims: bool = False
) -> TensorVariable:
    """Return the norm of matrices.

    Parameters
    ----------
    x
        A tensor of rank 2 or more; integers and bools are cast to float64.
    ord
        ``"fro"`` for the root of the sum of squares; 1 and -1 for the largest and smallest absolute
        column sum, ``inf`` and ``-inf`` for the largest and smallest absolute row sum.
    axis
        The axes of the rows and columns.
    keepdims
        Keep the axes, with size 1.

    Raises
    ------
    ShapeError
        ``x`` does not have these two axes.
    MethodNotDefinedError
        ``ord`` is 2, -2 or ``"nuc"``, which need singular values.
    OpContractError
        ``ord`` has any other value.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.linalg.matrix_norm(pt.constant([[1.0, -2.0], [3.0, 4.0]]), 1).eval()
    array(6.)
    """
    x = as_tensor_variable(x)
    if not isinstance(axis, tuple | list) or len(axis) != 2:
        msg = f"A matrix norm has two axes, that of the rows and that of the columns; got {axis!r}."
        raise OpContractError(msg)
    rows, columns = (normalize_axis(one, x.ndim) for one in axis)
    axes = normalize_axes((rows, columns), x.ndim)
    if ord == "fro":
        return vector_norm(x, 2, axes, keepdims)
    if ord in {2, -2, "nuc"}:
        msg = (
            f"The matrix norm of order {ord!r} needs singular values, which there are no ops for "
            "yet. Use 'fro', 1, -1, inf or -inf."
        )
        raise MethodNotDefinedError(msg)
    reduce_sums = {1: max, -1: min, np.inf: max, -np.inf: min}.get(ord)
    if reduce_sums is None:
        msg = f"The order of a matrix norm is 'fro', 1, -1, inf or -inf; got {ord!r}."
        raise OpContractError(msg)
    summed, kept = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = sum(_magnitudes(x), summed, keepdims=True)
    extreme = reduce_sums(sums, kept, keepdims=True)
    return extreme if keepdims else squeeze(extreme, axes)


def norm(x: Any, ord: Any = None, axis: Axis = None, keepdims: bool = False) -> TensorVariable:
    """Return a norm of vectors or matrices, as ``numpy.linalg.norm`` does.

    Parameters
    ----------
    x
        A tensor; integers and bools are cast to float64.
    ord
        ``None`` for the root of the sum of squares; otherwise an order of :func:`vector_norm` for
        one axis, or of :func:`matrix_norm` for two.
    axis
        One axis, or two. ``None`` treats a vector or a matrix, or without ``ord`` a tensor of any
        rank, as a whole.
    keepdims
        Keep the axes, with size 1.

    Raises
    ------
    ShapeError
        An axis is out of range; or ``ord`` is given with neither one nor two axes.
    MethodNotDefinedError
        The matrix norm needs singular values.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.linalg.norm(pt.constant([[1.0, 2.0], [2.0, 4.0]])).eval()
    array(5.)
    """
    x = as_tensor_variable(x)
    whole = range(x.ndim) if axis is None else axis
    given = tuple(whole) if isinstance(whole, Sequence) else (whole,)
    if ord is None and (axis is None or len(given) in {1, 2}):
        return vector_norm(x, 2, given, keepdims)
    if len(given) == 1:
        return vector_norm(x, ord, given[0], keepdims)
    if len(given) == 2:
        return matrix_norm(x, ord, (given[0], given[1]), keepdims)
    msg = (
        f"norm: an order is defined for one axis or for two; {x} is of type {x.type} and axis is "
        f"{axis!r}. For more axes use pt.linalg.vector_norm."
    )
    raise ShapeError(msg)
