"""Systems of equations, by what is known of the matrix, and inverses."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from phintys._base.errors import ArgumentError
from phintys._base.origin import in_steps
from phintys.tensor import math
from phintys.tensor.diagonals import diagonal, eye, tril
from phintys.tensor.dim_shuffle import expand_dims, matrix_transpose
from phintys.tensor.linear_algebra.banded import checked_bands, solve_with_bands, square_size
from phintys.tensor.linear_algebra.cholesky import cho_solve, cholesky, from_triangle, not_positive
from phintys.tensor.linear_algebra.lu import LUFactor, solve_factorized
from phintys.tensor.linear_algebra.matrix_op import (
    FailingMatrixOp,
    MatrixError,
    OnError,
    adjoint,
    as_matrices,
    check_choice,
    lapack_function,
    read_triangle,
)
from phintys.tensor.linear_algebra.triangular import singular, solve_triangular, with_columns
from phintys.tensor.observing import CheckAndRaise
from phintys.tensor.products import matmul
from phintys.tensor.reduce import all, any
from phintys.tensor.shapes import sizes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.tensor.variable import TensorVariable

Assumed = Literal["gen", "sym", "her", "pos"]

_KINDS = ("gen", "sym", "her", "pos")

_NAMES = {
    **{kind: kind for kind in _KINDS},
    "general": "gen",
    "symmetric": "sym",
    "hermitian": "her",
    "positive definite": "pos",
    "diagonal": "diagonal",
    "tridiagonal": "tridiagonal",
    "banded": "banded",
    "upper triangular": "upper triangular",
    "lower triangular": "lower triangular",
}


class Solve(FailingMatrixOp):
    """Solve ``A X = B``.

    Parameters
    ----------
    assume_a
        ``"gen"`` for any matrix; ``"sym"``, ``"her"`` and ``"pos"`` for symmetric, Hermitian and
        positive definite ones, of which the lower triangle is read.
    on_error
        What is done about a matrix that is singular, or not positive definite.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.tensor.linear_algebra.solving import Solve
    >>> Solve()([[2.0, 0.0], [0.0, 4.0]], [[2.0], [2.0]]).eval()
    array([[1. ],
           [0.5]])
    """

    __props__: ClassVar[tuple[str, ...]] = ("assume_a", "on_error")
    signature = "(n,n),(n,k)->(n,k)"
    called = "solve"

    def __init__(self, assume_a: Assumed = "gen", on_error: OnError = "raise") -> None:
        check_choice(assume_a, _KINDS, "assume_a")
        super().__init__(on_error)
        self.assume_a: Assumed = assume_a

    def compute(self, *matrices: Any) -> Sequence[Any]:
        """Factorize and substitute with LAPACK."""
        a, b = matrices
        if not b.size:
            return (b,)
        is_complex = np.iscomplexobj(a)
        kind = "sym" if self.assume_a == "her" and not is_complex else self.assume_a
        name = {"gen": "gesv", "sym": "sysv", "her": "hesv", "pos": "posv"}[kind]
        routine = lapack_function(name, a, b)
        results = routine(a, b) if kind == "gen" else routine(a, b, lower=True)
        x, info = results[-2:]
        if info > 0:
            raise MatrixError(not_positive(info) if kind == "pos" else singular(info - 1))
        return (x,)

    def _own_part(self, gradient: Any) -> Any:
        """Return the gradient for the elements that are read, given that for the whole matrix."""
        if self.assume_a == "gen":
            return gradient
        return read_triangle(gradient, matrix_transpose if self.assume_a == "sym" else adjoint)

    def whole(self, x: Any) -> Any:
        """Return the matrix that the elements that are read stand for."""
        if self.assume_a == "gen":
            return x
        if self.assume_a == "sym":
            return tril(x) + matrix_transpose(tril(x, -1))
        return from_triangle(x)

    def expanded(self, a: Any, b: Any, kind: int = 0) -> Any:
        """Return the solution by factors, which other expressions of the matrix may share.

        A general system may be that of the transpose (kind 1) or adjoint (kind 2).
        """
        if self.assume_a == "pos":
            return cho_solve((cholesky(a, on_error=self.on_error), True), b)
        factors, _, rows = LUFactor()(self.whole(a))
        return solve_factorized(factors, rows, b, kind, self.on_error)

    def adjoint_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], gradients: Sequence[Any]
    ) -> list[Any]:
        """``gB = A^-H gX`` and ``gA = -gB X^H``"""
        (a, _), (x,), (g,) = inputs, outputs, gradients
        gradient_b = self.with_adjoint(a, g)
        return [self._own_part(-matmul(gradient_b, adjoint(x))), gradient_b]

    def with_adjoint(self, a: Any, b: Any) -> Any:
        """Solve ``A^H X = B``."""
        if self.assume_a == "gen":
            return self(adjoint(a), b)
        if self.assume_a == "sym":
            return math.conj(self(a, math.conj(b))) if b.dtype.startswith("c") else self(a, b)
        return self(a, b)

    def tangent_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]
    ) -> list[Any]:
        """``dX = A^-1 (dB - dA X)``"""
        (a, _), (x,), (da, db) = inputs, outputs, tangents
        right = None if da is None else -matmul(self.whole(da), x)
        if db is not None:
            right = db if right is None else db + right
        return [self(a, right)]


class Inv(FailingMatrixOp):
    """Return inverses.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.tensor.linear_algebra.solving import Inv
    >>> Inv()([[1.0, 2.0], [3.0, 4.0]]).eval().round(6)
    array([[-2. ,  1. ],
           [ 1.5, -0.5]])
    """

    __props__: ClassVar[tuple[str, ...]] = ("on_error",)
    signature = "(n,n)->(n,n)"
    called = "inv"

    def compute(self, *matrices: Any) -> Sequence[Any]:
        """Factorize and invert with LAPACK."""
        (a,) = matrices
        if not a.size:
            return (a,)
        getrf, getri = lapack_function("getrf", a), lapack_function("getri", a)
        factors, pivots, info = getrf(a)
        if info > 0:
            raise MatrixError(singular(info - 1))
        inverse, _ = getri(factors, pivots)
        return (inverse,)

    def expanded(self, a: Any) -> Any:
        """Return the inverse by factors, which other expressions of the matrix may share."""
        return Solve("gen", self.on_error).expanded(a, eye(sizes_of(a)[-1], dtype=a.dtype))

    def adjoint_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], gradients: Sequence[Any]
    ) -> list[Any]:
        """``gA = -X^H gX X^H``"""
        (x,), (g,) = outputs, gradients
        turned = adjoint(x)
        return [-matmul(matmul(turned, g), turned)]

    def tangent_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]
    ) -> list[Any]:
        """``dX = -X dA X``"""
        (x,), (direction,) = outputs, tangents
        return [-matmul(matmul(x, direction), x)]


@lru_cache(maxsize=16)
def _solve(assume_a: Assumed, on_error: OnError) -> Solve:
    return Solve(assume_a, on_error)


@lru_cache(maxsize=2)
def _inv(on_error: OnError) -> Inv:
    return Inv(on_error)


@in_steps
def solve(
    a: Any,
    b: Any,
    *,
    assume_a: str = "gen",
    lower: bool = True,
    transposed: bool = False,
    bands: tuple[int, int] | None = None,
    b_ndim: int | None = None,
    on_error: OnError = "raise",
) -> TensorVariable:
    """Solve ``a x = b``.

    Parameters
    ----------
    a
        A square matrix, or a stack of them.
    b
        A vector, a matrix, or a stack of them.
    assume_a
        What is known of ``a``: ``"gen"`` (nothing), ``"sym"`` (symmetric), ``"her"`` (Hermitian),
        ``"pos"`` (positive definite), ``"diagonal"``, ``"tridiagonal"``, ``"banded"``,
        ``"lower triangular"`` or ``"upper triangular"``. SciPy's long names, such as ``"positive
        definite"``, are taken too. Elements that follow from others are not read.
    lower
        Read the lower triangle of a symmetric, Hermitian or positive definite matrix; otherwise
        the upper one.
    transposed
        Solve ``a.T x = b``.
    bands
        The numbers of diagonals of a banded matrix below and above the main one.
    b_ndim
        1 if ``b`` is a stack of vectors, 2 for one of matrices. By default a vector is one, and all
        else are matrices.
    on_error
        ``"raise"`` an error that names a matrix that is singular (or not positive definite, if it
        should be), or return ``"nan"`` for it.

    Returns
    -------
    TensorVariable
        x, of the shape of ``b``, where stacks are broadcast against each other.

    Raises
    ------
    ShapeError
        The matrices are not square, or the sizes do not match.
    ArgumentError
        ``assume_a``, ``b_ndim`` or ``on_error`` has another value.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> a = pt.constant([[2.0, 1.0], [1.0, 3.0]])
    >>> pt.linalg.solve(a, pt.constant([3.0, 4.0]), assume_a="pos").eval()
    array([1., 1.])
    """
    check_choice(assume_a, tuple(_NAMES), "assume_a")
    a = as_matrices(a, "solve")
    kind: Any = _NAMES[assume_a]
    if (bands is not None) is not (kind == "banded"):
        msg = (
            'solve: bands=(below, above) goes with assume_a="banded"; got '
            f"assume_a={assume_a!r} and bands={bands!r}."
        )
        raise ArgumentError(msg)
    if kind in {"lower triangular", "upper triangular"}:
        return solve_triangular(
            a,
            b,
            trans=int(transposed),
            lower=kind == "lower triangular",
            b_ndim=b_ndim,
            on_error=on_error,
        )
    if kind == "diagonal":
        return with_columns(_diagonal_solver(on_error), a, b, b_ndim, "solve")
    if kind in {"banded", "tridiagonal"}:
        pair = (1, 1) if kind == "tridiagonal" else checked_bands(bands, "solve: bands")
        return solve_with_bands(a, b, pair, transposed=transposed, b_ndim=b_ndim, on_error=on_error)
    if kind == "gen":
        a = matrix_transpose(a) if transposed else a
    else:
        if not lower:
            a = matrix_transpose(a) if kind == "sym" else adjoint(a)
        if transposed and kind != "sym":  # the transpose of a Hermitian matrix is its conjugate
            a = math.conj(a)
    return with_columns(_solve(kind, on_error), a, b, b_ndim, "solve")


def _diagonal_solver(on_error: OnError) -> Any:
    check_choice(on_error, ("raise", "nan"), "on_error")

    def divide(a: Any, b: Any) -> Any:
        entries = diagonal(a, 0, a.ndim - 2, a.ndim - 1)
        return divided(b, entries[..., : square_size(a)], on_error)

    return divide


def divided(b: Any, entries: Any, on_error: OnError) -> Any:
    """Return the solution for diagonal matrices, given their diagonals."""
    is_zero = math.eq(entries, 0)
    if on_error == "raise":
        msg = 'solve: a diagonal matrix is singular. With on_error="nan" its result is NaN.'
        check = CheckAndRaise(np.linalg.LinAlgError, msg)
        return b / expand_dims(check(entries, all(math.invert(is_zero))), -1)
    nan = np.asarray(np.nan, "float32")
    fails = any(is_zero, axis=-1, keepdims=True)
    return b / expand_dims(math.switch(fails, nan, entries), -1)


def inv(a: Any, *, on_error: OnError = "raise") -> TensorVariable:
    """Return the inverse of matrices.

    ``solve(a, b)`` is faster and more accurate than ``inv(a) @ b``; the compiler makes the former
    of the latter.

    Parameters
    ----------
    a
        A square matrix, or a stack of them.
    on_error
        ``"raise"`` an error that names a matrix that is singular, or return ``"nan"`` for it.

    Returns
    -------
    TensorVariable
        Matrices of the shape of ``a``.

    Raises
    ------
    ShapeError
        The matrices are not square.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.linalg.inv(pt.constant([[1.0, 2.0], [3.0, 4.0]])).eval().round(6)
    array([[-2. ,  1. ],
           [ 1.5, -0.5]])
    """
    return _inv(on_error)(as_matrices(a, "inv"))


matrix_inverse = inv
