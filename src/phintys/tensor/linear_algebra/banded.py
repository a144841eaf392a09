"""Systems of equations with banded and tridiagonal matrices."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from phintys._base.errors import ArgumentError, ShapeError
from phintys.tensor import math
from phintys.tensor._rules import conjugate
from phintys.tensor.creation import zeros
from phintys.tensor.diagonals import ExtractDiag
from phintys.tensor.dim_shuffle import expand_dims, matrix_transpose
from phintys.tensor.joining import concatenate, stack
from phintys.tensor.linear_algebra.matrix_op import (
    FailingMatrixOp,
    MatrixError,
    OnError,
    as_matrices,
    check_choice,
    lapack_function,
)
from phintys.tensor.linear_algebra.triangular import singular, with_columns
from phintys.tensor.reduce import sum
from phintys.tensor.shape_rules import Misfit, Shapes
from phintys.tensor.shapes import sizes_of
from phintys.tensor.size_check import SizeCheck

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.tensor.variable import TensorVariable


class SolveBanded(FailingMatrixOp):
    """Solve ``A X = B`` for matrices with few diagonals.

    Takes, for each matrix, the columns of its band as rows, in the layout of LAPACK: row ``j`` has
    ``below`` elements of space for the factorization, and then ``a[j - above, j]`` to
    ``a[j + below, j]``; positions outside of the matrix are not read.

    Parameters
    ----------
    below, above
        The number of diagonals below and above the main one.
    transposed
        Solve ``A.T X = B``.
    on_error
        What is done about a singular matrix.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.tensor.linear_algebra.banded import SolveBanded
    >>> SolveBanded(0, 1)([[0.0, 2.0], [2.0, 4.0]], [[4.0], [4.0]]).eval()
    array([[1.],
           [1.]])
    """

    __props__: ClassVar[tuple[str, ...]] = ("below", "above", "transposed", "on_error")
    signature = "(n,r),(n,k)->(n,k)"
    called = "solve_banded"

    def __init__(
        self, below: int, above: int, transposed: bool = False, on_error: OnError = "raise"
    ) -> None:
        super().__init__(on_error)
        self.below, self.above = int(below), int(above)
        self.transposed = bool(transposed)

    def fixed_sizes(self) -> dict[str, int]:
        """Return the number of elements of a column: the diagonals, and room for exchanges."""
        return {"r": 2 * self.below + self.above + 1}

    def misfit_error(self, misfit: Misfit, shapes: Shapes[Any]) -> ShapeError:
        """Say how many elements a column has."""
        if misfit.kind != "r":
            return super().misfit_error(misfit, shapes)
        return ShapeError(
            f"{self}: bands must have {self.fixed_sizes()['r']} elements for each column, got "
            f"{shapes.inputs[0]} of shape {tuple(shapes.shapes[0])}."
        )

    def compute(self, *matrices: Any) -> Sequence[Any]:
        """Factorize and substitute with LAPACK."""
        bands, b = matrices
        if not b.size:
            return (b,)
        gbtrf, gbtrs = (lapack_function(name, bands, b) for name in ("gbtrf", "gbtrs"))
        factors, pivots, info = gbtrf(bands.T, self.below, self.above)
        if info > 0:
            raise MatrixError(singular(info - 1))
        x, _ = gbtrs(factors, self.below, self.above, b, pivots, trans=int(self.transposed))
        return (x,)

    def _shifted(self, x: Any, before: int, after: int) -> list[Any]:
        """Return x moved by each of the diagonals, with zeros where there is nothing."""
        *leading, n, k = sizes_of(x)

        def space(count: int) -> list[Any]:
            return [zeros((*leading, count, k), dtype=x.dtype)] if count else []

        padded = concatenate([*space(before), x, *space(after)], axis=-2)
        return [padded[..., at : at + n, :] for at in range(before + after + 1)]

    def adjoint_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], gradients: Sequence[Any]
    ) -> list[Any]:
        """``gB = A^-H gX``, and for A the band of ``-gB X^H``."""
        (bands, _), (x,), (g,) = inputs, outputs, gradients
        turned = _solver(self.below, self.above, not self.transposed, self.on_error)
        gradient_b = turned(conjugate(bands), g)
        rows, columns = gradient_b, conjugate(x)
        if self.transposed:
            rows, columns = columns, rows
        parts = [
            -sum(one * columns, axis=-1) for one in self._shifted(rows, self.above, self.below)
        ]
        unread = [math.mul(parts[0], 0)] * self.below
        return [stack([*unread, *parts], axis=-1), gradient_b]

    def tangent_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]
    ) -> list[Any]:
        """``dX = A^-1 (dB - dA X)``"""
        (bands, _), (x,), (da, db) = inputs, outputs, tangents
        right = None if da is None else -self._times(da, x)
        if db is not None:
            right = db if right is None else db + right
        return [self(bands, right)]

    def _times(self, bands: Any, x: Any) -> Any:
        """Return ``A X``, or ``A.T X``."""
        rows = [expand_dims(bands[..., self.below + at], -1) for at in range(self.width)]
        if self.transposed:
            moved = self._shifted(x, self.above, self.below)
            products = [row * one for row, one in zip(rows, moved, strict=True)]
        else:
            products = [
                self._shifted(row * x, self.below, self.above)[self.width - 1 - at]
                for at, row in enumerate(rows)
            ]
        return products[0] if len(products) == 1 else math.add(*products)

    @property
    def width(self) -> int:
        """The number of diagonals."""
        return self.below + self.above + 1


@lru_cache(maxsize=64)
def _solver(below: int, above: int, transposed: bool, on_error: OnError) -> SolveBanded:
    return SolveBanded(below, above, transposed, on_error)


def checked_bands(bands: Any, name: str) -> tuple[int, int]:
    """Return the numbers of diagonals below and above the main one."""
    if not isinstance(bands, tuple | list) or len(bands) != 2:
        msg = f"{name} is a pair of numbers of diagonals; got {bands!r}."
        raise ArgumentError(msg)
    below, above = (
        _count(n, what, name) for n, what in zip(bands, ("below", "above"), strict=True)
    )
    return below, above


def _count(value: Any, what: str, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        msg = (
            f"{name} is a pair of numbers of diagonals, which are ints from 0; got "
            f"{value!r} {what} the main diagonal."
        )
        raise ArgumentError(msg)
    return int(value)


def solve_banded(
    l_and_u: tuple[int, int],
    ab: Any,
    b: Any,
    *,
    transposed: bool = False,
    b_ndim: int | None = None,
    on_error: OnError = "raise",
) -> TensorVariable:
    """Solve ``a x = b`` for banded matrices, of which the diagonals are given.

    Parameters
    ----------
    l_and_u
        The numbers of diagonals below and above the main one.
    ab
        The diagonals from the highest to the lowest, as rows: ``ab[u + i - j, j] == a[i, j]``; or a
        stack of such matrices. Elements outside of ``a`` are not read.
    b
        A vector, a matrix, or a stack of them.
    transposed
        Solve ``a.T x = b``.
    b_ndim
        1 if ``b`` is a stack of vectors, 2 for one of matrices. By default a vector is one, and all
        else are matrices.
    on_error
        ``"raise"`` an error that names a matrix that is singular, or return ``"nan"`` for it.

    Returns
    -------
    TensorVariable
        x, of the shape of ``b``; floating or complex.

    Raises
    ------
    ShapeError
        ``ab`` has another number of rows, or the sizes do not match.
    ArgumentError
        ``l_and_u`` is not a pair of ints from 0, or another argument has a wrong value.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> ab = pt.constant([[0.0, 1.0, 1.0], [2.0, 2.0, 2.0], [1.0, 1.0, 0.0]])
    >>> pt.linalg.solve_banded((1, 1), ab, pt.constant([3.0, 4.0, 3.0])).eval()
    array([1., 1., 1.])
    """
    below, above = checked_bands(l_and_u, "solve_banded: l_and_u")
    check_choice(on_error, ("raise", "nan"), "on_error")
    ab = as_matrices(ab, "solve_banded", "the diagonals of a matrix")
    rows = ab.type.shape[-2]
    if rows not in {None, below + above + 1}:
        msg = (
            f"solve_banded: {below} diagonals below and {above} above the main one are "
            f"{below + above + 1} rows of ab; got {ab} of type {ab.type}."
        )
        raise ShapeError(msg)
    *leading, _, n = sizes_of(ab)
    columns = matrix_transpose(ab)
    if below:
        space = zeros((*leading, n, below), dtype=ab.dtype)
        columns = concatenate([space, columns], axis=-1)
    op = _solver(below, above, bool(transposed), on_error)
    return with_columns(op, columns, b, b_ndim, "solve_banded")


def square_size(a: Any) -> Any:
    """Return the size of matrices, which are checked to be square."""
    rows, columns = a.type.shape[-2:]
    if None not in {rows, columns}:
        if rows != columns:
            msg = f"solve takes square matrices; got {a} of type {a.type}."
            raise ShapeError(msg)
        return rows
    down, across = sizes_of(a)[-2:]
    return SizeCheck("equal", "solve: the numbers of rows and columns of a matrix")(
        math.minimum(down, across), down, across
    )


def solve_with_bands(
    a: Any,
    b: Any,
    bands: tuple[int, int],
    *,
    transposed: bool,
    b_ndim: int | None,
    on_error: OnError,
) -> TensorVariable:
    """Solve ``a x = b``, reading some diagonals of ``a`` below and above the main one."""
    below, above = bands
    n = square_size(a)
    leading = sizes_of(a)[:-2]

    def of_columns(offset: int) -> Any:
        """Return the elements of a diagonal by their columns; others are 0."""
        entries, end = ExtractDiag(offset)(a), zeros((*leading, abs(offset)), dtype=a.dtype)
        if offset == 0:
            return entries
        parts = [end, entries] if offset > 0 else [entries, end]
        return concatenate(parts, axis=-1)[..., :n]  # it may be outside of a small matrix

    unread = [zeros((*leading, n), dtype=a.dtype)] * below
    rows = [of_columns(offset) for offset in range(above, -below - 1, -1)]
    op = _solver(below, above, bool(transposed), on_error)
    return with_columns(op, stack([*unread, *rows], axis=-1), b, b_ndim, "solve")


def solveh_banded(
    ab: Any,
    b: Any,
    *,
    lower: bool = False,
    b_ndim: int | None = None,
    on_error: OnError = "raise",
) -> TensorVariable:
    """Solve ``a x = b`` for banded symmetric or Hermitian matrices, by half of their diagonals.

    Parameters
    ----------
    ab
        The diagonals from the highest to the main one, as rows: ``ab[u + i - j, j] == a[i, j]``;
        with ``lower=True``, those from the main to the lowest one: ``ab[i - j, j] == a[i, j]``. Or
        a stack of such matrices. The number of rows must be known.
    b
        A vector, a matrix, or a stack of them.
    lower
        Which diagonals are given.
    b_ndim, on_error
        As for :func:`solve_banded`. The matrices need not be positive definite.

    Returns
    -------
    TensorVariable
        x, of the shape of ``b``; floating or complex.

    Raises
    ------
    ShapeError
        The number of rows of ``ab`` is not known, or the sizes do not match.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> ab = pt.constant([[0.0, 1.0, 1.0], [2.0, 2.0, 2.0]])
    >>> pt.linalg.solveh_banded(ab, pt.constant([3.0, 4.0, 3.0])).eval()
    array([1., 1., 1.])
    """
    ab = as_matrices(ab, "solveh_banded", "the diagonals of a matrix")
    rows = ab.type.shape[-2]
    if not rows:
        msg = (
            "solveh_banded: the number of diagonals, which are the rows of ab, must be known, and "
            f"at least 1; got {ab} of type {ab.type}. pt.specify_shape(ab, (2, None)) states it."
        )
        raise ShapeError(msg)
    *leading, _, n = sizes_of(ab)

    def mirrored(distance: int) -> Any:
        """Return the diagonal at a distance on the other side."""
        end = zeros((*leading, distance), dtype=ab.dtype)
        own = conjugate(ab[..., distance if lower else rows - 1 - distance, :])
        parts = [end, own] if lower else [own[..., distance:], end]
        return concatenate(parts, axis=-1)[..., :n]

    given = [ab[..., row, :] for row in range(rows)]
    if lower:
        whole = [*map(mirrored, range(rows - 1, 0, -1)), *given]
    else:
        whole = [*given, *map(mirrored, range(1, rows))]
    whole_ab = stack(whole, axis=-2)
    return solve_banded((rows - 1, rows - 1), whole_ab, b, b_ndim=b_ndim, on_error=on_error)
