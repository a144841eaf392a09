"""Triangular systems of equations."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from phintys._base.errors import ArgumentError, ShapeError
from phintys.tensor._rules import conjugate
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.diagonals import tril, triu
from phintys.tensor.dim_shuffle import expand_dims, matrix_transpose, squeeze
from phintys.tensor.linear_algebra.matrix_op import (
    FailingMatrixOp,
    MatrixError,
    OnError,
    adjoint,
    as_matrices,
    lapack_function,
)
from phintys.tensor.products import matmul

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.tensor.variable import TensorVariable


def singular(position: int) -> str:
    """Return why a system cannot be solved."""
    return f"is singular: element {position} of the diagonal of its triangular factor is 0"


class SolveTriangular(FailingMatrixOp):
    """Solve ``A X = B`` for a triangular A, whose other triangle is not read.

    Parameters
    ----------
    lower
        Whether A is lower triangular.
    unit_diagonal
        Take the diagonal to be 1, and do not read it.
    on_error
        What is done about a zero on the diagonal.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.tensor.linear_algebra.triangular import SolveTriangular
    >>> SolveTriangular()([[2.0, 0.0], [1.0, 1.0]], [[2.0], [3.0]]).eval()
    array([[1.],
           [2.]])
    """

    __props__: ClassVar[tuple[str, ...]] = ("lower", "unit_diagonal", "on_error")
    signature = "(n,n),(n,k)->(n,k)"
    called = "solve_triangular"

    def __init__(
        self, lower: bool = True, unit_diagonal: bool = False, on_error: OnError = "raise"
    ) -> None:
        super().__init__(on_error)
        self.lower = bool(lower)
        self.unit_diagonal = bool(unit_diagonal)

    def compute(self, *matrices: Any) -> Sequence[Any]:
        """Substitute with LAPACK."""
        a, b = matrices
        if not b.size:
            return (b,)
        if not self.unit_diagonal:
            zeros = np.flatnonzero(np.diagonal(a) == 0)
            if zeros.size:
                raise MatrixError(singular(int(zeros[0])))
        trtrs = lapack_function("trtrs", a, b)
        x, _ = trtrs(a, b, lower=self.lower, unitdiag=self.unit_diagonal)
        return (x,)

    def _triangle(self, x: Any) -> Any:
        """Return the part of a matrix that is read."""
        strict = int(self.unit_diagonal)
        return tril(x, -strict) if self.lower else triu(x, strict)

    def adjoint_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], gradients: Sequence[Any]
    ) -> list[Any]:
        """``gB = A^-H gX``, and for A the triangle of ``-gB X^H``."""
        (a, _), (x,), (g,) = inputs, outputs, gradients
        op = _solve_triangular(not self.lower, self.unit_diagonal, self.on_error)
        gradient_b = op(adjoint(a), g)
        return [self._triangle(-matmul(gradient_b, adjoint(x))), gradient_b]

    def tangent_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]
    ) -> list[Any]:
        """``dX = A^-1 (dB - dA X)``"""
        (a, _), (x,), (da, db) = inputs, outputs, tangents
        right = None if da is None else -matmul(self._triangle(da), x)
        if db is not None:
            right = db if right is None else db + right
        return [self(a, right)]


@lru_cache(maxsize=32)
def _solve_triangular(lower: bool, unit_diagonal: bool, on_error: OnError) -> SolveTriangular:
    return SolveTriangular(lower, unit_diagonal, on_error)


def with_columns(
    solve: Callable[[Any, Any], Any], a: Any, b: Any, b_ndim: int | None, function: str
) -> Any:
    """Return ``solve(a, b)`` for right sides that are vectors or matrices.

    Parameters
    ----------
    solve
        Takes stacks of matrices.
    a, b
        The matrices and the right sides.
    b_ndim
        1 for vectors, 2 for matrices; by default 1 if ``b`` has rank 1.
    function
        The name of the caller, for errors.
    """
    a, b = as_matrices(a, function), as_tensor_variable(b)
    if b_ndim not in {None, 1, 2}:
        msg = f"{function}: b_ndim is 1 for vectors or 2 for matrices; got {b_ndim!r}."
        raise ArgumentError(msg)
    if b.ndim < (b_ndim or 1):
        msg = (
            f"{function}: the right side is a vector, a matrix or a stack of them; got {b} of type "
            f"{b.type} with b_ndim={b_ndim}."
        )
        raise ShapeError(msg)
    if b_ndim == 1 or b.ndim == 1:
        return squeeze(solve(a, expand_dims(b, -1)), -1)
    return solve(a, b)


def solve_triangular(
    a: Any,
    b: Any,
    *,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    b_ndim: int | None = None,
    on_error: OnError = "raise",
) -> TensorVariable:
    """Solve ``a x = b`` for triangular matrices.

    Parameters
    ----------
    a
        A triangular matrix, or a stack of them; its other triangle is not read.
    b
        A vector, a matrix, or a stack of them.
    trans
        0 or ``"N"`` for ``a x = b``, 1 or ``"T"`` for ``a.T x = b``, 2 or ``"C"`` for
        ``a.conj().T x = b``.
    lower
        Whether ``a`` is lower triangular.
    unit_diagonal
        Take the diagonal to be 1, and do not read it.
    b_ndim
        1 if ``b`` is a stack of vectors, 2 for one of matrices. By default a vector is one, and all
        else are matrices.
    on_error
        ``"raise"`` an error that names a matrix with a zero on its diagonal, or return ``"nan"``.

    Returns
    -------
    TensorVariable
        x, of the shape of ``b``, where stacks are broadcast against each other.

    Raises
    ------
    ShapeError
        The matrices are not square, or the sizes do not match.
    ArgumentError
        ``trans`` or ``b_ndim`` has another value.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> a = pt.constant([[2.0, 0.0], [1.0, 1.0]])
    >>> pt.linalg.solve_triangular(a, pt.constant([2.0, 3.0]), lower=True).eval()
    array([1., 2.])
    """
    kind = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}.get(trans)
    if kind is None:
        msg = f"trans is 0, 1, 2, 'N', 'T' or 'C'; got {trans!r}."
        raise ArgumentError(msg)
    a = as_matrices(a, "solve_triangular")
    if kind:
        a = matrix_transpose(conjugate(a) if kind == 2 else a)
    op = _solve_triangular(bool(lower) is not bool(kind), bool(unit_diagonal), on_error)
    return with_columns(op, a, b, b_ndim, "solve_triangular")
