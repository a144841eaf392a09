"""Eigenvalues and eigenvectors, of Hermitian matrices and of any square ones.

For ``A = V diag(w) V^H``, a direction dA and ``M = V^H dA V``: ``dw = diag(M)`` and ``dV = V (F *
M)``, where ``F[i, j] = 1 / (w[j] - w[i])``, and 0 on the diagonal. Vectors of equal eigenvalues may
be rotated among each other and have no derivative: F is NaN there. Functions of the matrix that are
products of the vectors have one, which :mod:`phintys.gradient.spectral` finds.

For ``A V = V diag(w)``, a direction dA and ``M = V^-1 dA V``: ``dw = diag(M)`` and ``dV = V (F *
M)``, where ``F[i, j] = 1 / (w[j] - w[i])``, and 0 on the diagonal, less the part of each column
along itself, which would change its norm. Where eigenvalues are equal, F is NaN, since their
vectors have no derivative; nor has a matrix without as many vectors as columns.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from phintys.tensor import math
from phintys.tensor.diagonals import diagonal, eye, tril
from phintys.tensor.dim_shuffle import expand_dims
from phintys.tensor.linear_algebra.cholesky import cholesky, from_triangle
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
from phintys.tensor.linear_algebra.solving import solve
from phintys.tensor.linear_algebra.triangular import solve_triangular
from phintys.tensor.products import matmul
from phintys.tensor.reduce import sum
from phintys.tensor.shapes import sizes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.tensor.variable import TensorVariable


def ratios(w: Any) -> Any:
    """Return ``1 / (w[j] - w[i])``, NaN where two of them are equal, and 0 on the diagonal."""
    return reciprocals_beside_diagonal(expand_dims(w, -2) - expand_dims(w, -1))


def reciprocals_beside_diagonal(x: Any) -> Any:
    """Return ``1 / x``, NaN for 0, and 0 on the diagonal."""
    found = math.switch(math.eq(x, 0), np.asarray(np.nan, x.dtype), 1 / x)
    return math.switch(eye(sizes_of(x)[-1], dtype="bool"), 0, found)


class Eigh(FailingMatrixOp):
    """Return the eigenvalues of Hermitian matrices, which ascend, and eigenvectors as columns.

    The elements above the diagonal of the matrices are not read.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.tensor.linear_algebra.eigen import Eigh
    >>> Eigh()([[2.0, 0.0], [0.0, 1.0]])[0].eval()
    array([1., 2.])
    """

    __props__: ClassVar[tuple[str, ...]] = ("on_error",)
    signature = "(n,n)->(n),(n,n)"
    called = "eigh"
    is_decomposition = True
    real_outputs = (0,)

    def compute(self, *matrices: Any) -> Sequence[Any]:
        """Decompose with LAPACK."""
        (a,) = matrices
        if not a.size:
            return np.zeros(0), a
        evd = lapack_function("heevd" if np.iscomplexobj(a) else "syevd", a)
        values, vectors, info = evd(a, lower=1)
        if info > 0:
            raise MatrixError(
                "has no eigenvalues that LAPACK finds: the iteration did not converge"
            )
        return values, vectors

    def adjoint_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], gradients: Sequence[Any]
    ) -> list[Any]:
        """``gA = V (diag(gw) + F * V^H gV) V^H``, of which the lower triangle counts."""
        (w, v), (gw, gv) = outputs, gradients
        found = None
        if gw is not None:
            found = matmul(v * math.cast(expand_dims(gw, -2), v.dtype), adjoint(v))
        if gv is not None:
            own = matmul(matmul(v, ratios(w) * matmul(adjoint(v), gv)), adjoint(v))
            found = own if found is None else found + own
        return [None if found is None else read_triangle(found)]

    def tangent_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]
    ) -> list[Any]:
        """``dw = diag(M)``, ``dV = V (F * M)``, where ``M = V^H dA V``"""
        (w, v), (direction,) = outputs, tangents
        inner = matmul(matmul(adjoint(v), from_triangle(direction)), v)
        entries = diagonal(inner, 0, inner.ndim - 2, inner.ndim - 1)
        return [math.real(entries), matmul(v, ratios(w) * inner)]


@lru_cache(maxsize=2)
def _eigh(on_error: OnError) -> Eigh:
    return Eigh(on_error)


class EighResult(NamedTuple):
    """The result of :func:`eigh`."""

    eigenvalues: Any
    eigenvectors: Any


def eigh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    on_error: OnError = "raise",
    UPLO: str | None = None,
) -> EighResult:
    """Return the eigenvalues and eigenvectors of symmetric or Hermitian matrices.

    Parameters
    ----------
    a
        A symmetric or Hermitian matrix, or a stack of them.
    b
        A positive definite matrix, or a stack of them, for the generalized problem
        ``a v = w b v``. The vectors are such that ``v^H b v`` is the identity.
    lower
        Read the lower triangles; otherwise the upper ones. So is the gradient.
    on_error
        ``"raise"`` an error that names a matrix for which the iteration does not converge, or of
        which ``b`` is not positive definite; or return ``"nan"``.
    UPLO
        NumPy's way to say ``lower``: ``"L"`` or ``"U"``. It may also stand in the place of ``b``.

    Returns
    -------
    EighResult
        ``eigenvalues``, which ascend, and ``eigenvectors``, as columns.

    Notes
    -----
    Vectors of equal eigenvalues are chosen among many, and have no derivatives: those of functions
    of them are NaN there. Products that rebuild a function of the matrix do not depend on the
    choice and have right derivatives: ``(v * f(w)) @ v.T``, in parts such as
    ``v @ (f(w) * (v.T @ b))`` too, where f is made of functions of each value and of reductions
    over all of them. The phase (the sign) of a vector is arbitrary, too.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> w, v = pt.linalg.eigh(pt.constant([[2.0, 1.0], [1.0, 2.0]]))
    >>> w.eval().round(6)
    array([1., 3.])
    """
    a = as_matrices(a, "eigh")
    if isinstance(b, str):
        b, UPLO = None, b
    if UPLO is not None:
        check_choice(UPLO.upper(), ("L", "U"), "UPLO")
        lower = UPLO.upper() == "L"
    if not lower:
        a = adjoint(a)
    if b is None:
        return EighResult(*_eigh(on_error)(a))
    b = as_matrices(b, "eigh")
    factor = cholesky(b if lower else adjoint(b), on_error=on_error)
    whole = from_triangle(tril(a))
    left = solve_triangular(factor, whole, lower=True)
    inner = adjoint(solve_triangular(factor, adjoint(left), lower=True))
    values, vectors = _eigh(on_error)(inner)
    return EighResult(values, solve_triangular(adjoint(factor), vectors, lower=False))


def eigvalsh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    on_error: OnError = "raise",
    UPLO: str | None = None,
) -> TensorVariable:
    """Return the eigenvalues of symmetric or Hermitian matrices, which ascend.

    Parameters
    ----------
    a, b, lower, on_error, UPLO
        As for :func:`eigh`.

    Returns
    -------
    TensorVariable
        Real numbers; the shape of ``a`` without the last dimension.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.linalg.eigvalsh(pt.constant([[2.0, 1.0], [1.0, 2.0]])).eval().round(6)
    array([1., 3.])
    """
    return eigh(a, b, lower=lower, on_error=on_error, UPLO=UPLO).eigenvalues


def _decompose(a: Any, vectors: bool) -> tuple[Any, Any]:
    """Return eigenvalues, and eigenvectors as columns, by LAPACK."""
    if not a.size:
        return np.zeros(0), a
    if not np.isfinite(a).all():
        raise MatrixError("has an element that is not finite")
    geev = lapack_function("geev", a)
    *found, info = geev(a, compute_vl=0, compute_vr=int(vectors))
    if info > 0:
        raise MatrixError("has no eigenvalues that LAPACK finds: the iteration did not converge")
    if np.iscomplexobj(a):
        values, _, right = found
        return values, right
    real, imaginary, _, right = found
    values = real + 1j * imaginary.astype(real.dtype)
    return values.astype(np.result_type(a, np.complex64)), _unpacked(right, imaginary)


def _unpacked(packed: Any, imaginary: Any) -> Any:
    """Return complex vectors; LAPACK stores the parts of the first of a pair in two columns."""
    vectors = packed.astype(np.result_type(packed, np.complex64))
    for at in np.flatnonzero(imaginary > 0):
        if vectors.shape[1] > at + 1:
            vectors[:, at] = packed[:, at] + 1j * packed[:, at + 1]
            vectors[:, at + 1] = vectors[:, at].conj()
    return vectors


def _on_diagonal(values: Any) -> Any:
    """Return matrices with some numbers on the diagonal."""
    is_diagonal = eye(sizes_of(values)[-1], dtype="bool")
    return math.switch(is_diagonal, expand_dims(values, -1), 0)


def _between(v: Any, inner: Any) -> Any:
    """Return ``V^-H inner V^H``."""
    return solve(adjoint(v), matmul(inner, adjoint(v)), on_error="nan")


class Eig(FailingMatrixOp):
    """Return the eigenvalues of matrices, and eigenvectors of norm 1 as columns.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.tensor.linear_algebra.eigen import Eig
    >>> Eig()([[0.0, -1.0], [1.0, 0.0]])[0].eval().imag
    array([ 1., -1.])
    """

    __props__: ClassVar[tuple[str, ...]] = ("on_error",)
    signature = "(n,n)->(n),(n,n)"
    called = "eig"
    complex_outputs = (0, 1)

    def compute(self, *matrices: Any) -> Sequence[Any]:
        """Decompose with LAPACK."""
        return _decompose(matrices[0], vectors=True)

    def adjoint_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], gradients: Sequence[Any]
    ) -> list[Any]:
        """``gA = V^-H (diag(gw) + conj(F) * (N - V^H V Re diag(N))) V^H``, for ``N = V^H gV``"""
        (w, v), (gw, gv) = outputs, gradients
        inner = None if gw is None else _on_diagonal(gw)
        if gv is not None:
            turned = matmul(adjoint(v), gv)
            entries = math.real(diagonal(turned, 0, turned.ndim - 2, turned.ndim - 1))
            along = matmul(adjoint(v), v) * math.cast(expand_dims(entries, -2), v.dtype)
            own = math.conj(ratios(w)) * (turned - along)
            inner = own if inner is None else inner + own
        return [None if inner is None else _between(v, inner)]

    def tangent_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]
    ) -> list[Any]:
        """``dw = diag(M)``, ``dV = D - V Re diag(V^H D)``, where ``D = V (F * M)``"""
        (w, v), (direction,) = outputs, tangents
        inner = solve(v, matmul(direction, v), on_error="nan")
        change = matmul(v, ratios(w) * inner)
        along = math.real(sum(math.conj(v) * change, axis=-2, keepdims=True))
        return [
            diagonal(inner, 0, inner.ndim - 2, inner.ndim - 1),
            change - v * math.cast(along, v.dtype),
        ]


class Eigvals(FailingMatrixOp):
    """Return the eigenvalues of matrices.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.tensor.linear_algebra.eigen import Eigvals
    >>> Eigvals()([[2.0, 1.0], [0.0, 3.0]]).eval().real
    array([2., 3.])
    """

    __props__: ClassVar[tuple[str, ...]] = ("on_error",)
    signature = "(n,n)->(n)"
    called = "eigvals"
    complex_outputs = (0,)

    def compute(self, *matrices: Any) -> Sequence[Any]:
        """Compute with LAPACK, without the vectors."""
        return _decompose(matrices[0], vectors=False)[:1]

    def adjoint_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], gradients: Sequence[Any]
    ) -> list[Any]:
        """``gA = V^-H diag(gw) V^H``"""
        if gradients[0] is None:
            return [None]
        _, v = _eig(self.on_error)(inputs[0])
        return [_between(v, _on_diagonal(gradients[0]))]

    def tangent_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]
    ) -> list[Any]:
        """``dw = diag(V^-1 dA V)``"""
        _, v = _eig(self.on_error)(inputs[0])
        inner = solve(v, matmul(tangents[0], v), on_error="nan")
        return [diagonal(inner, 0, inner.ndim - 2, inner.ndim - 1)]


@lru_cache(maxsize=2)
def _eig(on_error: OnError) -> Eig:
    return Eig(on_error)


class EigResult(NamedTuple):
    """The result of :func:`eig`."""

    eigenvalues: Any
    eigenvectors: Any


def eig(a: Any, *, on_error: OnError = "raise") -> EigResult:
    """Return the eigenvalues and eigenvectors of square matrices.

    Parameters
    ----------
    a
        A square matrix, or a stack of them.
    on_error
        ``"raise"`` an error that names a matrix for which the iteration does not converge, or that
        has NaN or infinities; or return ``"nan"`` for it.

    Returns
    -------
    EigResult
        ``eigenvalues``, in no order, and ``eigenvectors`` of norm 1, as columns. Both are complex,
        also where all of them are real.

    Notes
    -----
    The phase of a vector is arbitrary: functions that depend on it have no right gradient. Where
    eigenvalues are equal, the gradient is right for functions that do not depend on which vectors
    are chosen among theirs, if there are enough of them.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> w, v = pt.linalg.eig(pt.constant([[0.0, -1.0], [1.0, 0.0]]))
    >>> w.eval().imag
    array([ 1., -1.])
    """
    return EigResult(*_eig(on_error)(as_matrices(a, "eig")))


def eigvals(a: Any, *, on_error: OnError = "raise") -> TensorVariable:
    """Return the eigenvalues of square matrices, which are complex.

    Parameters
    ----------
    a, on_error
        As for :func:`eig`.

    Returns
    -------
    TensorVariable
        Complex numbers, in no particular order; the shape of ``a`` without the last dimension.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.linalg.eigvals(pt.constant([[2.0, 1.0], [0.0, 3.0]])).eval().real
    array([2., 3.])
    """
    return Eigvals(on_error)(as_matrices(a, "eigvals"))
