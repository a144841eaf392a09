"""LU factors with row exchanges, and what is solved with them.

For ``A[p] = L U`` and a direction dA, with ``M = L^-1 dA[p] U^-1``: ``dL = L tril(M, -1)`` and
``dU = triu(M) U``. The exchanges are constant around almost all matrices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from phintys._base.errors import ArgumentError, ShapeError
from phintys._base.origin import in_steps
from phintys.tensor import math
from phintys.tensor._rules import conjugate, is_discrete
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.creation import zeros_like
from phintys.tensor.diagonals import eye, tril, triu
from phintys.tensor.dim_shuffle import dimshuffle, expand_dims, matrix_transpose
from phintys.tensor.indexing.setting import set_subtensor
from phintys.tensor.linear_algebra.matrix_op import (
    MatrixOp,
    OnError,
    adjoint,
    as_matrices,
    lapack_function,
)
from phintys.tensor.linear_algebra.triangular import solve_triangular, with_columns
from phintys.tensor.products import matmul
from phintys.tensor.ranges import arange
from phintys.tensor.shapes import sizes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.apply import Apply
    from phintys.tensor.variable import TensorVariable


def _permutation(pivots: Any) -> Any:
    rows = np.arange(len(pivots))
    for row, other in enumerate(pivots):
        rows[[row, other]] = rows[[other, row]]
    return rows


class LUFactor(MatrixOp):
    """Return ``L`` and ``U`` of ``A[p] = L U`` in one matrix, the exchanges of rows, and ``p``.

    The diagonal of L is 1, and is not stored. Row i was exchanged with row ``pivots[i]``, in this
    order. A singular matrix has factors, of which U has a zero on its diagonal.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.tensor.linear_algebra.lu import LUFactor
    >>> factors, pivots, rows = LUFactor()([[1.0, 2.0], [2.0, 2.0]])
    >>> factors.eval()
    array([[2. , 2. ],
           [0.5, 1. ]])
    >>> rows.eval()
    array([1, 0])
    """

    __props__: ClassVar[tuple[str, ...]] = ()
    signature = "(n,n)->(n,n),(n),(n)"
    called = "lu_factor"
    integer_outputs: ClassVar[dict[int, str]] = {1: "int32", 2: "int64"}

    def compute(self, *matrices: Any) -> Sequence[Any]:
        """Factorize with LAPACK."""
        (a,) = matrices
        if not a.size:
            return a, np.zeros(0, "int32"), np.zeros(0, "int64")
        getrf = lapack_function("getrf", a)
        factors, pivots, _ = getrf(a)
        return factors, pivots, _permutation(pivots)

    def adjoint_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], gradients: Sequence[Any]
    ) -> list[Any]:
        """``gA[p] = L^-H (tril(L^H gL, -1) + triu(gU U^H)) U^-H``"""
        (factors, _, rows), (g, *_) = outputs, gradients
        if g is None:
            return [None]
        lower, upper = _unit_lower(factors), triu(factors)
        inner = tril(matmul(adjoint(lower), tril(g, -1)), -1)
        inner = inner + triu(matmul(triu(g), adjoint(upper)))
        left = solve_triangular(adjoint(factors), inner, lower=False, unit_diagonal=True)
        both = adjoint(solve_triangular(factors, adjoint(left), lower=False, on_error="nan"))
        return [_permute_rows(_inverse(rows), both)]

    def tangent_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]
    ) -> list[Any]:
        """``dL = L tril(M, -1)`` and ``dU = triu(M) U``, where ``M = L^-1 dA[p] U^-1``"""
        (factors, *integers), (direction,) = outputs, tangents
        _, rows = integers
        upper = triu(factors)
        left = solve_triangular(
            factors, _permute_rows(rows, direction), lower=True, unit_diagonal=True
        )
        right = solve_triangular(
            matrix_transpose(upper), matrix_transpose(left), lower=True, on_error="nan"
        )
        inner = matrix_transpose(right)
        tangent = matmul(_unit_lower(factors), tril(inner, -1)) + matmul(triu(inner), upper)
        return [tangent, *integers]


class PivotToPermutation(MatrixOp):
    """Return the permutation that exchanges of rows result in.

    Examples
    --------
    >>> import numpy as np
    >>> from phintys.tensor.linear_algebra.lu import PivotToPermutation
    >>> PivotToPermutation()(np.array([1, 1], "int32")).eval()
    array([1, 0])
    """

    __props__: ClassVar[tuple[str, ...]] = ()
    signature = "(n)->(n)"
    called = "pivot_to_permutation"
    integer_inputs = (0,)
    integer_outputs: ClassVar[dict[int, str]] = {0: "int64"}

    def compute(self, *matrices: Any) -> Sequence[Any]:
        """Exchange the numbers of the rows."""
        (pivots,) = matrices
        return (_permutation(pivots),)


class PermuteRows(MatrixOp):
    """Return the rows of matrices in another order.

    Examples
    --------
    >>> from phintys.tensor.linear_algebra.lu import PermuteRows
    >>> PermuteRows()([1, 0], [[1.0, 2.0], [3.0, 4.0]]).eval()
    array([[3., 4.],
           [1., 2.]])
    """

    __props__: ClassVar[tuple[str, ...]] = ()
    signature = "(n),(n,k)->(n,k)"
    integer_inputs = (0,)

    def compute(self, *matrices: Any) -> Sequence[Any]:
        """Gather the rows."""
        rows, x = matrices
        return (x[rows],)

    def misfit(
        self,
        operands: Sequence[Any],
        shapes: Sequence[Any],
        name: str,
        node: Apply | None = None,
    ) -> ShapeError:
        """Return the error for right-hand sides that do not fit a matrix with factors."""
        return ShapeError(
            f"{self.name_for_users(node)}: the right-hand sides {operands[1]}, of the shape "
            f"{tuple(shapes[1])}, do not fit the matrix of the system, which has {shapes[0][-1]} "
            "rows. The last dimension but one of right-hand sides is that of the equations; a "
            "vector becomes a column by b[:, None]."
        )

    def adjoint_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], gradients: Sequence[Any]
    ) -> list[Any]:
        """Permute the gradient back."""
        return [None, self(_inverse(inputs[0]), gradients[0])]

    def tangent_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]
    ) -> list[Any]:
        """Permute the direction."""
        return [self(inputs[0], tangents[1])]


_permute_rows = PermuteRows()
_lu_factor = LUFactor()
_pivot_to_permutation = PivotToPermutation()


def _unit_lower(factors: Any) -> Any:
    is_diagonal = eye(*sizes_of(factors)[-2:], dtype="bool")
    return math.switch(is_diagonal, np.asarray(1, factors.dtype), tril(factors, -1))


def _inverse(rows: Any) -> Any:
    """Return the inverse of permutations."""
    sizes = sizes_of(rows)
    places = (*_positions(sizes[:-1], rows.ndim), rows)
    return set_subtensor(zeros_like(rows)[places], arange(sizes[-1]))


def _positions(sizes: Sequence[Any], ndim: int) -> list[Any]:
    """Return the numbers of the items of a stack, for indices that broadcast."""
    return [
        dimshuffle(arange(size), *("x",) * dim, 0, *("x",) * (ndim - 1 - dim))
        for dim, size in enumerate(sizes)
    ]


def lu_factor(a: Any) -> tuple[TensorVariable, TensorVariable]:
    """Return the LU factors of matrices in one matrix, and the exchanges of rows.

    Parameters
    ----------
    a
        A square matrix, or a stack of them.

    Returns
    -------
    tuple
        U, with L below its diagonal, which is 1; and the row that each row was exchanged with, as
        int32. Together they are the argument of :func:`lu_solve`.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> factors = pt.linalg.lu_factor(pt.constant([[1.0, 2.0], [2.0, 2.0]]))
    >>> pt.linalg.lu_solve(factors, pt.constant([3.0, 4.0])).eval()
    array([1., 1.])
    """
    factors, pivots, _ = _lu_factor(as_matrices(a, "lu_factor"))
    return factors, pivots


def pivot_to_permutation(p: Any, inverse: bool = False) -> TensorVariable:
    """Return the permutation that the exchanges of :func:`lu_factor` result in.

    Parameters
    ----------
    p
        The exchanges.
    inverse
        Return the inverse permutation.

    Returns
    -------
    TensorVariable
        An integer tensor of the shape of ``p``.

    Raises
    ------
    ArgumentError
        ``p`` has no integer dtype.

    Examples
    --------
    >>> import numpy as np, phintys.tensor as pt
    >>> pt.linalg.pivot_to_permutation(pt.constant(np.array([1, 2, 2]))).eval()
    array([1, 2, 0])
    """
    p = as_tensor_variable(p)
    if not is_discrete(p):
        msg = f"pivot_to_permutation takes integers, got {p} of type {p.type}."
        raise ArgumentError(msg)
    rows = _pivot_to_permutation(p)
    return _inverse(rows) if inverse else rows


@in_steps
def lu_solve(
    lu_and_piv: tuple[Any, Any],
    b: Any,
    trans: int | str = 0,
    *,
    b_ndim: int | None = None,
    on_error: OnError = "raise",
) -> TensorVariable:
    """Solve ``A x = b``, given the LU factors of A.

    Parameters
    ----------
    lu_and_piv
        The result of :func:`lu_factor`.
    b
        A vector, a matrix, or a stack of them.
    trans
        0 or ``"N"`` for ``A x = b``, 1 or ``"T"`` for ``A.T x = b``, 2 or ``"C"`` for
        ``A.conj().T x = b``.
    b_ndim
        1 if ``b`` is a stack of vectors, 2 for one of matrices. By default a vector is one, and all
        else are matrices.
    on_error
        ``"raise"`` an error that names a matrix that is singular, or return ``"nan"`` for it.

    Returns
    -------
    TensorVariable
        x, of the shape of ``b``.

    Raises
    ------
    ArgumentError
        ``lu_and_piv`` is not a pair, or ``trans`` is unknown.
    LinAlgError
        At run time: a matrix is singular, and ``on_error`` is ``"raise"``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> factors = pt.linalg.lu_factor(pt.constant([[1.0, 2.0], [2.0, 2.0]]))
    >>> pt.linalg.lu_solve(factors, pt.constant([3.0, 4.0])).eval()
    array([1., 1.])
    """
    if not isinstance(lu_and_piv, tuple | list) or len(lu_and_piv) != 2:
        msg = (
            "lu_solve takes the pair of the factors and the exchanges that lu_factor returns; got "
            f"{lu_and_piv!r}."
        )
        raise ArgumentError(msg)
    factors = as_matrices(lu_and_piv[0], "lu_solve")
    pivots = as_tensor_variable(lu_and_piv[1])
    rows = _rows_of(factors, pivots)
    kind = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}.get(trans)
    if kind is None:
        msg = f"trans is 0, 1, 2, 'N', 'T' or 'C'; got {trans!r}."
        raise ArgumentError(msg)

    def solve(a: Any, right: Any) -> Any:
        return solve_factorized(a, rows, right, kind, on_error)

    return with_columns(solve, factors, b, b_ndim, "lu_solve")


def _rows_of(factors: Any, pivots: Any) -> Any:
    """Return the permutation, from the node that made the exchanges if it is known."""
    node = pivots.owner
    if node is not None and isinstance(node.op, LUFactor) and factors is node.outputs[0]:
        return node.outputs[2]
    return pivot_to_permutation(pivots)


def solve_factorized(
    factors: Any, rows: Any, b: Any, kind: int = 0, on_error: OnError = "raise"
) -> Any:
    """Solve with ``A[rows] = L U``: ``A X = B``, or with the transpose or adjoint of A."""
    batch = max(factors.ndim, b.ndim)
    factors, b = (dimshuffle(x, *("x",) * (batch - x.ndim), *range(x.ndim)) for x in (factors, b))
    rows = dimshuffle(rows, *("x",) * (batch - 1 - rows.ndim), *range(rows.ndim))
    if kind == 0:
        half = solve_triangular(factors, _permute_rows(rows, b), lower=True, unit_diagonal=True)
        return solve_triangular(factors, half, lower=False, on_error=on_error)
    turned = matrix_transpose(conjugate(factors) if kind == 2 else factors)
    half = solve_triangular(turned, b, lower=True, on_error=on_error)
    x = solve_triangular(turned, half, lower=False, unit_diagonal=True)
    return _permute_rows(_inverse(rows), x)


def lu(a: Any, permute_l: bool = False, p_indices: bool = False) -> tuple[TensorVariable, ...]:
    """Return the factors of ``a = P L U``.

    Parameters
    ----------
    a
        A square matrix, or a stack of them.
    permute_l
        Return ``P L`` and U.
    p_indices
        Return P as numbers of rows: ``a = L[p] U``.

    Returns
    -------
    tuple of TensorVariable
        P, L and U. The permutation is a matrix, or a vector of indices if ``p_indices``; with
        ``permute_l`` it is applied to L, and only two are returned.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> p, lower, upper = pt.linalg.lu(pt.constant([[1.0, 2.0], [2.0, 2.0]]), p_indices=True)
    >>> lower.eval()
    array([[1. , 0. ],
           [0.5, 1. ]])
    """
    factors, _, rows = _lu_factor(as_matrices(a, "lu"))
    lower, upper = _unit_lower(factors), triu(factors)
    if permute_l:
        return _permute_rows(_inverse(rows), lower), upper
    if p_indices:
        return _inverse(rows), lower, upper
    # Row i of a is row p[i] of L U.
    n = sizes_of(factors)[-1]
    is_there = math.eq(expand_dims(_inverse(rows), -1), arange(n))
    return math.cast(is_there, factors.dtype), lower, upper
