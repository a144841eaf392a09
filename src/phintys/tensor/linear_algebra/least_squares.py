"""Pseudo-inverses, and the least-squares solutions that they give.

They are computed by singular values, but their derivatives are not those of singular vectors, which
have no value where singular values are equal. For a matrix A of constant rank with P as its
pseudo-inverse (G. H. Golub and V. Pereyra, "The differentiation of pseudo-inverses and nonlinear
least squares problems whose variables separate", SIAM J. Numer. Anal. 10, 1973)::

    dP = -P dA P + P P^H dA^H (I - A P) + (I - P A) dA^H P^H P

It is an expression in A and P, and so are its own derivatives.

Singular values that a caller's cutoff drops may be more than rounding. With E for the part of A
that they make up, the last two terms are then the solutions X and Y of::

    (A - E)^H (A - E) X - X E E^H = P A dA^H (I - A P) + P dA E^H
    Y (A - E) (A - E)^H - E^H E Y = (I - P A) dA^H A P + E^H dA P
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from phintys._base.origin import in_steps
from phintys.tensor import math
from phintys.tensor._rules import conjugate
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.diagonals import eye
from phintys.tensor.dim_shuffle import expand_dims, squeeze
from phintys.tensor.linear_algebra.cholesky import from_triangle
from phintys.tensor.linear_algebra.eigen import Eigh, eigh
from phintys.tensor.linear_algebra.matrix_op import (
    FailingMatrixOp,
    adjoint,
    as_matrices,
    is_complex,
    matrix_dtype,
    read_triangle,
)
from phintys.tensor.linear_algebra.schur import solve_sylvester
from phintys.tensor.linear_algebra.singular_values import (
    SVD,
    default_fraction,
    epsilon_of,
    svd,
    svdvals,
    threshold,
)
from phintys.tensor.products import matmul
from phintys.tensor.reduce import sum
from phintys.tensor.shapes import sizes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.tensor.variable import TensorVariable

# ---- singular values -----------------------------------------------------------------------------


def _reciprocals(values: Any, rcond: Any) -> Any:
    """Return reciprocals of singular or Hermitian eigenvalues, 0 for those that do not count."""
    fraction = math.real(rcond) if is_complex(rcond) else rcond
    sizes = math.abs(values)
    counts = math.gt(sizes, threshold(sizes, fraction))
    return math.switch(counts, 1 / math.switch(counts, values, 1), 0)


def _known_reciprocals(values: Any, rcond: Any) -> Any:
    """Return the same in NumPy."""
    sizes = np.abs(values)
    counts = sizes > np.real(rcond) * sizes.max(initial=0.0)
    return np.where(counts, 1 / np.where(counts, values, 1), 0).astype(values.dtype)


def _factors(a: Any, *, hermitian: bool = False, turn: bool = False) -> tuple[Any, Any, Any]:
    """Return U, s and V of ``a = U diag(s) V^H``; of the adjoint of ``a`` to ``turn`` it."""
    if hermitian:
        values, vectors = eigh(a)
        return vectors, values, vectors
    u, s, vh = svd(a, full_matrices=False)
    return (adjoint(vh), s, u) if turn else (u, s, adjoint(vh))


# ---- derivatives ---------------------------------------------------------------------------------


class _Parts:
    """The parts of a matrix that a cutoff keeps and drops.

    Parameters
    ----------
    a
        The matrix.
    p
        The pseudo-inverse of what is kept.
    """

    def __init__(self, a: Any, p: Any) -> None:
        self.p = p
        self.left, self.right = matmul(a, p), matmul(p, a)
        kept = matmul(a, self.right)
        self.dropped = a - kept
        # Both sides of an equation are 0 where a projection is, whatever is added there.
        squares = math.real(a * conjugate(a)) if is_complex(a) else math.sqr(a)
        total = sum(squares, axis=(-2, -1), keepdims=True)
        shift = math.cast(math.switch(math.gt(total, 0), total, 1), a.dtype)
        self._rows = matmul(kept, adjoint(kept)) + shift * _rest(self.left)
        self._columns = matmul(adjoint(kept), kept) + shift * _rest(self.right)

    def right_of(self, x: Any) -> Any:
        """Solve ``(A - E)^H (A - E) X - X E E^H = x``."""
        given = -matmul(self.dropped, adjoint(self.dropped))
        return solve_sylvester(self._columns, given, x, on_error="nan")

    def left_of(self, x: Any) -> Any:
        """Solve ``Y (A - E) (A - E)^H - E^H E Y = x``."""
        given = -matmul(adjoint(self.dropped), self.dropped)
        return solve_sylvester(given, self._rows, x, on_error="nan")


def _rest(projection: Any) -> Any:
    """Return ``I - projection``."""
    return eye(sizes_of(projection)[-1], dtype=projection.dtype) - projection


def _slope(a: Any, p: Any, g: Any, drops: bool) -> Any:
    """Return the gradient for a matrix, given that for its pseudo-inverse.

    Each term is the adjoint of one of the derivative.
    """
    if not drops:
        rows, columns = a.type.shape[-2:]
        if None in {rows, columns} or rows >= columns:
            return _slope_of_tall(a, p, g)
        return adjoint(_slope_of_tall(adjoint(a), adjoint(p), adjoint(g)))
    turned = adjoint(p)
    first = matmul(matmul(turned, g), turned)
    parts = _Parts(a, p)
    left, right, dropped = parts.left, parts.right, parts.dropped
    second = parts.right_of(matmul(matmul(right, g), _rest(left)))
    third = parts.left_of(matmul(matmul(_rest(right), g), left))
    second = adjoint(second) + matmul(matmul(turned, second), dropped)
    third = adjoint(third) + matmul(matmul(dropped, third), turned)
    return second + third - first


def _slope_of_tall(a: Any, p: Any, g: Any) -> Any:
    """Return :func:`_slope` by products that are cheap where there are more rows than columns."""
    turned, flow = adjoint(p), adjoint(g)
    inner, square = matmul(g, turned), matmul(p, turned)
    other = adjoint(inner)
    second = matmul(flow, square) - matmul(a, matmul(other, square))
    return second + matmul(turned, other - matmul(other, matmul(p, a)) - inner)


def _tangent(a: Any, p: Any, direction: Any, drops: bool) -> Any:
    """Return the derivative of the pseudo-inverse of a matrix in a direction."""
    turned, flow = adjoint(p), adjoint(direction)
    first = matmul(matmul(p, direction), p)
    if not drops:
        second = matmul(matmul(p, turned), flow)
        third = matmul(flow, matmul(turned, p))
        second = second - matmul(matmul(second, a), p)
        return second + (third - matmul(p, matmul(a, third))) - first
    parts = _Parts(a, p)
    left, right, dropped = parts.left, parts.right, adjoint(parts.dropped)
    second = matmul(matmul(right, flow), _rest(left)) + matmul(matmul(p, direction), dropped)
    third = matmul(matmul(_rest(right), flow), left) + matmul(matmul(dropped, direction), p)
    return parts.right_of(second) + parts.left_of(third) - first


# ---- Ops -----------------------------------------------------------------------------------------


class Pinv(FailingMatrixOp):
    """Return pseudo-inverses; the second input is the fraction up to which singular values are 0.

    Parameters
    ----------
    hermitian
        Whether the matrices are Hermitian, of which the lower triangle is read.
    drops
        Whether what is dropped may be more than rounding.

    Examples
    --------
    >>> from phintys.tensor.linear_algebra.least_squares import Pinv
    >>> Pinv()([[2.0, 0.0], [0.0, 4.0]], 1e-15).eval()
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """

    __props__: ClassVar[tuple[str, ...]] = ("hermitian", "drops")
    called = "pinv"

    def __init__(self, hermitian: bool = False, drops: bool = False) -> None:
        super().__init__("raise")
        self.hermitian = bool(hermitian)
        self.drops = bool(drops)

    @property
    def signature(self) -> str:
        """The core signature."""
        return "(n,n),()->(n,n)" if self.hermitian else "(m,n),()->(n,m)"

    def compute(self, *matrices: Any) -> Sequence[Any]:
        """Decompose with LAPACK, and invert the values that count."""
        a, rcond = matrices
        u, s, v = _known_factors(a, hermitian=self.hermitian)
        return ((v * _known_reciprocals(s, rcond)) @ u.conj().T,)

    def expanded(self, a: Any, rcond: Any, *, turn: bool = False) -> Any:
        """Return the inverse by factors, which other expressions of the matrix may share.

        It may be that of the adjoint.
        """
        u, s, v = _factors(a, hermitian=self.hermitian, turn=turn)
        inverse = expand_dims(_reciprocals(s, rcond), -2)
        return matmul(v * math.cast(inverse, u.dtype), adjoint(u))

    def adjoint_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], gradients: Sequence[Any]
    ) -> list[Any]:
        """``gA = (I - A P) gP^H P P^H + P^H P gP^H (I - P A) - P^H gP P^H``"""
        (a, _), (p,), (g,) = inputs, outputs, gradients
        if not self.hermitian:
            return [_slope(a, p, g, self.drops), None]
        return [read_triangle(_slope(from_triangle(a), p, g, self.drops)), None]

    def tangent_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]
    ) -> list[Any]:
        """``dP = P P^H dA^H (I - A P) + (I - P A) dA^H P^H P - P dA P``"""
        (a, _), (p,), (direction, _) = inputs, outputs, tangents
        if direction is None:
            return [p * 0]
        if self.hermitian:
            a, direction = from_triangle(a), from_triangle(direction)
        return [_tangent(a, p, direction, self.drops)]


class Lstsq(FailingMatrixOp):
    """Return least-squares solutions of the least norm: products of pseudo-inverses and matrices.

    The third input is the fraction up to which singular values are 0.

    Parameters
    ----------
    drops
        Whether what is dropped may be more than rounding.

    Examples
    --------
    >>> from phintys.tensor.linear_algebra.least_squares import Lstsq
    >>> Lstsq()([[1.0], [1.0]], [[1.0], [3.0]], 1e-15).eval().round(6)
    array([[2.]])
    """

    __props__: ClassVar[tuple[str, ...]] = ("drops",)
    signature = "(m,n),(m,k),()->(n,k)"
    called = "lstsq"

    def __init__(self, drops: bool = False) -> None:
        super().__init__("raise")
        self.drops = bool(drops)

    def compute(self, *matrices: Any) -> Sequence[Any]:
        """Decompose with LAPACK, and divide by the singular values that count."""
        a, b, rcond = matrices
        u, s, v = _known_factors(a)
        return (v @ (_known_reciprocals(s, rcond)[:, None] * (u.conj().T @ b)),)

    def expanded(self, a: Any, b: Any, rcond: Any, *, turn: bool = False) -> Any:
        """Return the solution by factors, which other expressions of the matrix may share.

        The system may be that of the adjoint.
        """
        u, s, v = _factors(a, turn=turn)
        inverse = expand_dims(_reciprocals(s, rcond), -1)
        return matmul(v, math.cast(inverse, u.dtype) * matmul(adjoint(u), b))

    def adjoint_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], gradients: Sequence[Any]
    ) -> list[Any]:
        """``gB = P^H gX, gA = R (P gB)^H + P^H X (gX - A^H gB)^H - gB X^H`` for ``R = B - A X``"""
        (a, b, rcond), (x,), (g,) = inputs, outputs, gradients
        if self.drops:
            p = _pinv(hermitian=False, drops=True)(a, rcond)
            slope = _slope(a, p, matmul(g, adjoint(b)), drops=True)
            return [slope, matmul(adjoint(p), g), None]
        turned = adjoint(a)
        own = self(turned, g, rcond)
        slope = matmul(b - matmul(a, x), adjoint(self(a, own, rcond))) - matmul(own, adjoint(x))
        beyond = g - matmul(turned, own)
        return [slope + matmul(self(turned, x, rcond), adjoint(beyond)), own, None]

    def tangent_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]
    ) -> list[Any]:
        """``dX = P (dB - dA X + P^H dA^H R) + (I - P A) dA^H P^H X`` for ``R = B - A X``"""
        (a, b, rcond), (x,), (da, db, _) = inputs, outputs, tangents
        if da is None:
            return [x * 0 if db is None else self(a, db, rcond)]
        if self.drops:
            p = _pinv(hermitian=False, drops=True)(a, rcond)
            change = matmul(_tangent(a, p, da, drops=True), b)
            return [change if db is None else change + matmul(p, db)]
        turned, flow = adjoint(a), adjoint(da)
        beyond = matmul(flow, self(turned, x, rcond))
        right = self(turned, matmul(flow, b - matmul(a, x)), rcond)
        right = right - matmul(da, x) - matmul(a, beyond)
        return [self(a, right if db is None else right + db, rcond) + beyond]


def _known_factors(a: Any, *, hermitian: bool = False) -> tuple[Any, Any, Any]:
    """Return :func:`_factors` in NumPy."""
    if hermitian:
        values, vectors = Eigh().compute(a)
        return vectors, values, vectors
    u, s, vh = SVD().compute(a)
    return u, s, vh.conj().T


@lru_cache(maxsize=4)
def _pinv(hermitian: bool, drops: bool) -> Pinv:
    return Pinv(hermitian, drops)


@lru_cache(maxsize=2)
def _lstsq(drops: bool) -> Lstsq:
    return Lstsq(drops)


# ---- functions -----------------------------------------------------------------------------------


def _real_dtype(dtype: str) -> str:
    return np.dtype(dtype).type(0).real.dtype.name


@in_steps
def pinv(x: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> TensorVariable:
    """Return the Moore-Penrose inverse of matrices.

    Parameters
    ----------
    x
        A matrix, or a stack of them.
    rcond
        Singular values up to this fraction of the largest one count as 0. By default it is the
        larger size times the machine epsilon.
    hermitian
        Take the matrices to be Hermitian, of which the lower triangle is read.
    rtol
        Another name of ``rcond``, that of the array API.

    Returns
    -------
    TensorVariable
        Matrices of the shape of ``x``, transposed.

    Notes
    -----
    Derivatives assume that the rank is constant, that is, how many singular values count. They do
    not depend on the differences of singular values, which may be equal.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.linalg.pinv(pt.constant([[2.0, 0.0], [0.0, 0.0]])).eval() + 0.0
    array([[0.5, 0. ],
           [0. , 0. ]])
    """
    x = as_matrices(x, "pinv")
    dtype = _real_dtype(matrix_dtype([x], "pinv"))
    rcond = rtol if rcond is None else rcond
    fraction = default_fraction(x, dtype) if rcond is None else rcond
    fraction = math.cast(as_tensor_variable(fraction), dtype)
    return _pinv(bool(hermitian), drops=rcond is not None)(x, fraction)


class LstsqResult(NamedTuple):
    """The result of :func:`lstsq`."""

    x: Any
    residuals: Any
    rank: Any
    s: Any


@in_steps
def lstsq(a: Any, b: Any, rcond: Any = None, *, b_ndim: int | None = None) -> LstsqResult:
    """Return the least-squares solution of ``a x = b`` that has the least norm.

    Parameters
    ----------
    a
        A matrix, or a stack of them.
    b
        A vector, a matrix, or a stack of them.
    rcond
        Singular values up to this fraction of the largest one count as 0. By default it is the
        larger size times the machine epsilon. As in LAPACK, a fraction of
        0 or less, or of 1 or more, is the unit roundoff.
    b_ndim
        1 if ``b`` is a stack of vectors, 2 for one of matrices. By default a vector is one, and all
        else are matrices.

    Returns
    -------
    LstsqResult
        The solution ``x``; ``residuals``, the sums of squares of ``b - a x`` (also where the rank
        is not full, where NumPy returns nothing); the ``rank``, and the singular values ``s``.

    Notes
    -----
    Derivatives assume that the rank is constant, that is, how many singular values count. They do
    not depend on the differences of singular values, which may be equal.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> a = pt.constant([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> pt.linalg.lstsq(a, pt.constant([1.0, 3.0, 5.0])).x.eval().round(6)
    array([1., 2.])
    """
    a, b = as_matrices(a, "lstsq"), as_tensor_variable(b)
    is_vector = b_ndim == 1 or b.ndim == 1
    right = expand_dims(b, -1) if is_vector else b
    s = svdvals(a)
    if rcond is None:
        fraction = as_tensor_variable(default_fraction(a, s.dtype))
    else:
        fraction = as_tensor_variable(rcond)
        is_fraction = math.gt(fraction, 0) & math.lt(fraction, 1)
        fraction = math.switch(is_fraction, fraction, epsilon_of(s.dtype) / 2)
    fraction = math.cast(fraction, s.dtype)
    rank = sum(math.gt(s, threshold(s, fraction)), axis=-1)
    x = _lstsq(drops=rcond is not None)(a, right, fraction)
    rest = right - matmul(a, x)
    squares = math.real(rest * conjugate(rest)) if is_complex(rest) else math.sqr(rest)
    residuals = sum(squares, axis=-2)
    if is_vector:
        x, residuals = squeeze(x, -1), squeeze(residuals, -1)
    return LstsqResult(x, residuals, rank, s)
