"""Eigenvalues and eigenvectors of any square matrices, which are complex.

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
from phintys.tensor.diagonals import diagonal, eye
from phintys.tensor.dim_shuffle import expand_dims
from phintys.tensor.linear_algebra.eigen import ratios
from phintys.tensor.linear_algebra.matrix_op import (
    FailingMatrixOp,
    MatrixError,
    OnError,
    adjoint,
    as_matrices,
    lapack_function,
)
from phintys.tensor.linear_algebra.solving import solve
from phintys.tensor.products import matmul
from phintys.tensor.reduce import sum
from phintys.tensor.shapes import sizes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.tensor.variable import TensorVariable


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
    >>> from phintys.tensor.linear_algebra.general_eigen import Eig
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
    >>> from phintys.tensor.linear_algebra.general_eigen import Eigvals
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
