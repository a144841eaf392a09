"""LU factors of matrices with three diagonals, and what is solved with them."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from phintys._base.errors import ArgumentError, MethodNotDefinedError, ShapeError
from phintys.graph.null_type import grad_not_implemented
from phintys.tensor._rules import conjugate
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.creation import zeros_like
from phintys.tensor.diagonals import diagonal
from phintys.tensor.dim_shuffle import expand_dims
from phintys.tensor.joining import concatenate
from phintys.tensor.linear_algebra.banded import square_size
from phintys.tensor.linear_algebra.matrix_op import (
    FailingMatrixOp,
    MatrixError,
    MatrixOp,
    OnError,
    as_matrices,
)
from phintys.tensor.linear_algebra.triangular import singular, with_columns
from phintys.tensor.shapes import sizes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.tensor.variable import TensorVariable

_NO_GRADIENT = (
    "Gradients through tridiagonal_lu_factor are not defined. Write "
    'solve(a, b, assume_a="tridiagonal"), which has them.'
)


def _require_diagonals(n: int, *others: Any) -> None:
    for other in others:
        if len(other) != max(n - 1, 0):
            msg = f"The diagonals beside a main one of {n} elements have {n - 1}; got {len(other)}."
            raise ShapeError(msg)


def _size(x: Any) -> Any:
    """Return the absolute value by which LAPACK chooses rows."""
    return abs(x.real) + abs(x.imag)


class TridiagonalLU(MatrixOp):
    """Return the LU factors of matrices, given their lower, main and upper diagonals.

    The outputs are the multipliers, three diagonals of U, and the row (counted from 1) that each
    row was exchanged with. The third diagonal of U has room for one element more than it has.

    Examples
    --------
    >>> from phintys.tensor.linear_algebra.tridiagonal import TridiagonalLU
    >>> factors = TridiagonalLU()([1.0, 1.0], [2.0, 2.0, 2.0], [0.0, 0.0])
    >>> factors[0].eval()
    array([0.5, 0.5])
    """

    __props__: ClassVar[tuple[str, ...]] = ()
    signature = "(p),(n),(p)->(p),(n),(p),(p),(n)"
    called = "tridiagonal_lu_factor"
    integer_outputs: ClassVar[dict[int, str]] = {4: "int32"}

    def compute(self, *matrices: Any) -> Sequence[Any]:
        """Eliminate one row after the other."""
        lower, main, upper = (x.copy() for x in matrices)
        n = len(main)
        _require_diagonals(n, lower, upper)
        second, rows = np.zeros_like(upper), np.arange(1, n + 1, dtype="int32")
        for i in range(n - 1):
            if _size(main[i]) >= _size(lower[i]):
                if main[i] != 0:
                    lower[i] /= main[i]
                    main[i + 1] -= lower[i] * upper[i]
                continue
            rows[i] += 1
            main[i], lower[i] = lower[i], main[i] / lower[i]
            upper[i], main[i + 1] = main[i + 1], upper[i] - lower[i] * main[i + 1]
            if i < n - 2:
                second[i], upper[i + 1] = upper[i + 1], -lower[i] * upper[i + 1]
        return lower, main, upper, second, rows

    def adjoint_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], gradients: Sequence[Any]
    ) -> list[Any]:
        """Raise an error: the gradient is not defined."""
        raise MethodNotDefinedError(_NO_GRADIENT)

    def tangent_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]
    ) -> list[Any]:
        """Raise an error: the R-operator is not defined."""
        raise MethodNotDefinedError(_NO_GRADIENT)


class SolveTridiagonalLU(FailingMatrixOp):
    """Solve ``A X = B``, given what :class:`TridiagonalLU` returns for A, and B.

    Parameters
    ----------
    transposed
        Solve ``A.T X = B``.
    on_error
        What is done about a singular matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from phintys.tensor.linear_algebra.tridiagonal import SolveTridiagonalLU
    >>> rows = np.array([1, 2], "int32")
    >>> SolveTridiagonalLU()([0.5], [2.0, 2.0], [0.0], [0.0], rows, [[2.0], [5.0]]).eval()
    array([[1.],
           [2.]])
    """

    __props__: ClassVar[tuple[str, ...]] = ("transposed", "on_error")
    signature = "(p),(n),(p),(p),(n),(n,k)->(n,k)"
    called = "tridiagonal_lu_solve"
    integer_inputs = (4,)

    def __init__(self, transposed: bool = False, on_error: OnError = "raise") -> None:
        super().__init__(on_error)
        self.transposed = bool(transposed)

    def compute(self, *matrices: Any) -> Sequence[Any]:
        """Substitute one row after the other."""
        lower, main, upper, second, rows, b = matrices
        n, x = len(main), b.copy()
        _require_diagonals(n, lower, upper, second)
        if not main.all():
            raise MatrixError(singular(int(np.argmin(main != 0))))
        is_exchanged = rows != np.arange(1, n + 1)
        if self.transposed:
            for i in range(n):
                x[i] -= upper[i - 1] * x[i - 1] if i > 0 else 0
                x[i] -= second[i - 2] * x[i - 2] if i > 1 else 0
                x[i] /= main[i]
            for i in reversed(range(n - 1)):
                x[i] -= lower[i] * x[i + 1]
                if is_exchanged[i]:
                    x[[i, i + 1]] = x[[i + 1, i]]
            return (x,)
        for i in range(n - 1):
            if is_exchanged[i]:
                x[[i, i + 1]] = x[[i + 1, i]]
            x[i + 1] -= lower[i] * x[i]
        for i in reversed(range(n)):
            x[i] -= upper[i] * x[i + 1] if i < n - 1 else 0
            x[i] -= second[i] * x[i + 2] if i < n - 2 else 0
            x[i] /= main[i]
        return (x,)

    def adjoint_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], gradients: Sequence[Any]
    ) -> list[Any]:
        """``gB = A^-H gX``"""
        turned = _solver(not self.transposed, self.on_error)
        factors = [conjugate(x) for x in inputs[:4]]
        return [*[None] * 5, turned(*factors, inputs[4], gradients[0])]

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Return the gradient for the right sides; those for the factors are not defined."""
        found = super().L_op(inputs, outputs, output_grads)
        missing = (
            grad_not_implemented(self, at, x, _NO_GRADIENT) for at, x in enumerate(inputs[:4])
        )
        return [*missing, *found[4:]]

    def tangent_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]
    ) -> list[Any]:
        """``dX = A^-1 dB``"""
        if any(one is not None for one in tangents[:4]):
            raise MethodNotDefinedError(_NO_GRADIENT)
        return [self(*inputs[:5], tangents[5])]


@lru_cache(maxsize=4)
def _solver(transposed: bool, on_error: OnError) -> SolveTridiagonalLU:
    return SolveTridiagonalLU(transposed, on_error)


_factor = TridiagonalLU()


def tridiagonal_lu_factor(a: Any) -> tuple[TensorVariable, ...]:
    """Return the LU factors of matrices, of which three diagonals are read, as LAPACK's ``gttrf``.

    Parameters
    ----------
    a
        A square matrix, or a stack of them.

    Returns
    -------
    tuple
        The multipliers, the main diagonal of U and two above it, and the row, counted from 1, that
        each row was exchanged with: the argument of :func:`tridiagonal_lu_solve`. A singular matrix
        has factors, with a zero on the main diagonal.

    Notes
    -----
    There are no gradients for the matrix: those of ``solve(a, b, assume_a="tridiagonal")`` are.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> a = pt.constant([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]])
    >>> factors = pt.linalg.tridiagonal_lu_factor(a)
    >>> pt.linalg.tridiagonal_lu_solve(factors, pt.constant([3.0, 4.0, 3.0])).eval().round(6)
    array([1., 1., 1.])
    """
    a = as_matrices(a, "tridiagonal_lu_factor")
    n = square_size(a)
    last = a.ndim - 1
    lower, main, upper = (diagonal(a, offset, last - 1, last) for offset in (-1, 0, 1))
    *factors, second, rows = _factor(lower, main[..., :n], upper)
    return (*factors, second[..., :-1], rows)


def tridiagonal_lu_solve(
    a_diagonals: tuple[Any, Any, Any, Any, Any],
    b: Any,
    *,
    b_ndim: int | None = None,
    transposed: bool = False,
    on_error: OnError = "raise",
) -> TensorVariable:
    """Solve ``a x = b``, given the result of :func:`tridiagonal_lu_factor`.

    Parameters
    ----------
    a_diagonals
        The factors.
    b
        A vector, a matrix, or a stack of them.
    b_ndim
        1 if ``b`` is a stack of vectors, 2 for one of matrices. By default a vector is one, and all
        else are matrices.
    transposed
        Solve ``a.T x = b``.
    on_error
        ``"raise"`` an error that names a matrix that is singular, or return ``"nan"`` for it.

    Returns
    -------
    TensorVariable
        x, of the shape of ``b``.

    Raises
    ------
    ArgumentError
        ``a_diagonals`` are not five factors.
    ShapeError
        The sizes of the factors and of ``b`` do not match.
    numpy.linalg.LinAlgError
        When it is computed: a matrix is singular.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> factors = pt.linalg.tridiagonal_lu_factor(pt.constant([[2.0, 1.0], [0.0, 4.0]]))
    >>> pt.linalg.tridiagonal_lu_solve(factors, pt.constant([2.0, 4.0]), transposed=True).eval()
    array([1.  , 0.75])
    """
    if not isinstance(a_diagonals, tuple | list) or len(a_diagonals) != 5:
        msg = (
            "tridiagonal_lu_solve takes the five factors that tridiagonal_lu_factor returns; got "
            f"{a_diagonals!r}."
        )
        raise ArgumentError(msg)
    lower, main, upper, second, rows = map(as_tensor_variable, a_diagonals)
    # Above the second diagonal of U there is room for one element more.
    padded = concatenate([second, zeros_like(lower)], axis=-1)[..., : sizes_of(lower)[-1]]

    def solve(columns: Any, right: Any) -> Any:
        return _solver(bool(transposed), on_error)(lower, main, upper, padded, rows, right)

    return with_columns(solve, expand_dims(main, -1), b, b_ndim, "tridiagonal_lu_solve")
