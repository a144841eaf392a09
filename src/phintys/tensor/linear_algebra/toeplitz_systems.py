"""Systems of equations with Toeplitz matrices."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from phintys._base.late import LateModule
from phintys.tensor._rules import conjugate
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.creation import zeros
from phintys.tensor.dim_shuffle import expand_dims, squeeze
from phintys.tensor.joining import concatenate
from phintys.tensor.linear_algebra.matrix_op import (
    FailingMatrixOp,
    MatrixError,
    OnError,
    adjoint,
)
from phintys.tensor.products import matmul
from phintys.tensor.reduce import sum
from phintys.tensor.reshaping import reshape
from phintys.tensor.shapes import sizes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scipy import linalg

    from phintys.tensor.variable import TensorVariable
else:
    linalg = LateModule("scipy.linalg")


class SolveToeplitz(FailingMatrixOp):
    """Solve ``T X = B`` for Toeplitz matrices, of which the first columns and rows are given.

    The first element of a row is not read.

    Examples
    --------
    >>> from phintys.tensor.linear_algebra.toeplitz_systems import SolveToeplitz
    >>> SolveToeplitz()([2.0, 1.0], [0.0, 0.0], [[2.0], [3.0]]).eval()
    array([[1.],
           [1.]])
    """

    __props__: ClassVar[tuple[str, ...]] = ("on_error",)
    signature = "(n),(n),(n,k)->(n,k)"
    called = "solve_toeplitz"

    def compute(self, *matrices: Any) -> Sequence[Any]:
        """Solve with SciPy, by Levinson's recursion."""
        column, row, b = matrices
        if not b.size:
            return (b,)
        if not all(np.isfinite(x).all() for x in matrices):
            return (np.full_like(b, np.nan),)
        try:
            # A copy, for old releases of SciPy want to be able to write to it.
            return (linalg.solve_toeplitz((column, row), b.copy()).astype(b.dtype),)
        except np.linalg.LinAlgError as error:
            raise MatrixError(
                "is the first column of a Toeplitz matrix with a leading minor of 0, which the "
                "recursion divides by; solve(toeplitz(c, r), b) does not"
            ) from error

    def adjoint_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], gradients: Sequence[Any]
    ) -> list[Any]:
        """``gB = T^-H gX``, and for T the sums along the diagonals of ``-gB X^H``."""
        (column, row, _), (x,), (g,) = inputs, outputs, gradients
        first = column[..., :1]
        down, across = (conjugate(one) for one in (column, row))
        turned_column = concatenate([conjugate(first), across[..., 1:]], axis=-1)
        gradient_b = self(turned_column, down, g)
        sums = _along_diagonals(-matmul(gradient_b, adjoint(x)))
        n = sizes_of(column)[-1]
        unread = row[..., :1] * 0
        gradient_column = sums[..., :n][..., ::-1]
        return [gradient_column, concatenate([unread, sums[..., n:]], axis=-1)[..., :n], gradient_b]

    def tangent_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]
    ) -> list[Any]:
        """``dX = T^-1 (dB - dT X)``"""
        (column, row, _), (x,), (d_column, d_row, db) = inputs, outputs, tangents
        right = db
        if d_column is not None or d_row is not None:
            d_column = column * 0 if d_column is None else d_column
            d_row = row * 0 if d_row is None else d_row
            product = -matmul(_toeplitz(d_column, d_row), x)
            right = product if db is None else db + product
        return [self(column, row, right)]


def _toeplitz(column: Any, row: Any) -> Any:
    """Return the Toeplitz matrices with some first columns and rows."""
    *leading, n = sizes_of(column)
    values = concatenate([column[..., ::-1], row[..., 1:]], axis=-1)
    rows = expand_dims(values, -2) + zeros((n, 1), dtype=column.dtype)
    flat = reshape(rows, (*leading, n * (2 * n - 1)))
    padded = concatenate([flat, zeros((*leading, n), dtype=column.dtype)], axis=-1)
    return reshape(padded, (*leading, n, 2 * n))[..., ::-1, :n]


def _along_diagonals(x: Any) -> Any:
    """Return the sums of the diagonals of square matrices, from the lowest to the highest."""
    *leading, n, _ = sizes_of(x)
    padded = concatenate([x[..., ::-1, :], zeros((*leading, n, n), dtype=x.dtype)], axis=-1)
    # In rows that are one element shorter, each row begins one place further to the right.
    flat = reshape(padded, (*leading, 2 * n * n))[..., : n * (2 * n - 1)]
    return sum(reshape(flat, (*leading, n, 2 * n - 1)), axis=-2)


@lru_cache(maxsize=2)
def _solver(on_error: OnError) -> SolveToeplitz:
    return SolveToeplitz(on_error)


def solve_toeplitz(
    c_or_cr: Any, b: Any, *, b_ndim: int | None = None, on_error: OnError = "raise"
) -> TensorVariable:
    """Solve ``T x = b`` for Toeplitz matrices, in time proportional to the square of their size.

    Parameters
    ----------
    c_or_cr
        The first column of T, a vector or a stack of them; or a pair of it and the first row, whose
        first element is not read. Without a row, it is the conjugate of the column.
    b
        A vector, a matrix, or a stack of them.
    b_ndim
        1 if ``b`` is a stack of vectors, 2 for one of matrices. By default a vector is one, and all
        else are matrices.
    on_error
        ``"raise"`` an error that names a matrix with a leading minor of 0, or return ``"nan"``.

    Returns
    -------
    TensorVariable
        x, of the shape of ``b``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.linalg.solve_toeplitz(pt.constant([2.0, 1.0]), pt.constant([3.0, 3.0])).eval()
    array([1., 1.])
    """
    if isinstance(c_or_cr, tuple):
        column, row = (as_tensor_variable(one) for one in c_or_cr)
    else:
        column = as_tensor_variable(c_or_cr)
        row = conjugate(column)
    b = as_tensor_variable(b)
    op = _solver(on_error)
    if b_ndim == 1 or b.ndim == 1:
        return squeeze(op(column, row, expand_dims(b, -1)), -1)
    return op(column, row, b)
