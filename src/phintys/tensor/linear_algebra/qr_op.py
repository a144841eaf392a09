"""QR factors: the Op and its derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from phintys._base.errors import MethodNotDefinedError
from phintys.tensor import math
from phintys.tensor.diagonals import eye, tril
from phintys.tensor.joining import concatenate
from phintys.tensor.linear_algebra.cholesky_adjoint import from_triangle
from phintys.tensor.linear_algebra.matrix_op import (
    MatrixOp,
    adjoint,
    is_complex,
    lapack_function,
)
from phintys.tensor.linear_algebra.triangular import solve_triangular
from phintys.tensor.products import matmul
from phintys.tensor.shapes import sizes_of

if TYPE_CHECKING:
    from collections.abc import Sequence


def _right_divided(x: Any, r: Any) -> Any:
    """Return ``x r^-H`` for an upper triangular r."""
    return adjoint(solve_triangular(r, adjoint(x), lower=False, on_error="nan"))


class QR(MatrixOp):
    """Return ``Q`` and ``R`` of ``A = Q R``.

    Parameters
    ----------
    full
        Whether Q is square.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.tensor.linear_algebra.qr_op import QR
    >>> q, r = QR()([[3.0, 1.0], [4.0, 2.0]])
    >>> (q @ r).eval().round(6)
    array([[3., 1.],
           [4., 2.]])
    """

    __props__: ClassVar[tuple[str, ...]] = ("full",)
    called = "qr"
    least: ClassVar[dict[str, tuple[str, str]]] = {"k": ("m", "n")}

    def __init__(self, full: bool = False) -> None:
        self.full = bool(full)

    @property
    def signature(self) -> str:
        """The core signature, by whether Q is square."""
        return "(m,n)->(m,m),(m,n)" if self.full else "(m,n)->(m,k),(k,n)"

    def compute(self, *matrices: Any) -> Sequence[Any]:
        """Factorize with LAPACK."""
        (a,) = matrices
        if not a.size:
            return np.linalg.qr(a, "complete" if self.full else "reduced")
        m, n = a.shape
        name = "ungqr" if np.iscomplexobj(a) else "orgqr"
        geqrf, make = lapack_function("geqrf", a), lapack_function(name, a)
        packed, tau, *_ = geqrf(a)
        if not self.full or m <= n:
            q = make(packed[:, : min(m, n)], tau)[0]
            return q, np.triu(packed[: min(m, n)])
        whole = np.zeros((m, m), a.dtype)
        whole[:, :n] = packed
        return make(whole, tau)[0], np.triu(packed)

    def _require_thin(self) -> None:
        if self.full:
            msg = (
                'The gradient of qr(mode="full") is not defined: the columns of Q beyond those of '
                'A are arbitrary. Use mode="economic".'
            )
            raise MethodNotDefinedError(msg)

    def adjoint_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], gradients: Sequence[Any]
    ) -> list[Any]:
        """``gA = (gQ + Q copied_down(R gR^H - gQ^H Q)) R^-H``

        For more columns than rows, the first ones determine Q, and the others follow from it.
        """
        self._require_thin()
        (a,), (q, r), (gq, gr) = inputs, outputs, gradients
        m, n = a.type.shape[-2:]
        if m is None or n is None:
            return [self._of_any_shape(q, r, gq, gr)]
        if m >= n:
            return [_thin(q, r, gq, gr)]
        return [_wide(q, r, gq, gr, m)]

    def _of_any_shape(self, q: Any, r: Any, gq: Any, gr: Any) -> Any:
        """Treat the columns beyond the rows apart; there may be none."""
        return _wide(q, r, gq, gr, sizes_of(r)[-2])

    def tangent_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]
    ) -> list[Any]:
        """``dQ = Q skew + (I - Q Q^H) dA R^-1``, ``dR = Q^H dA - skew R``"""
        self._require_thin()
        (q, r), (direction,) = outputs, tangents
        k = sizes_of(r)[-2]
        first, own = direction[..., :k], r[..., :k]
        ratio = adjoint(solve_triangular(adjoint(own), adjoint(first), lower=True, on_error="nan"))
        product = matmul(adjoint(q), ratio)
        lower = tril(product, -1)
        skew = lower - adjoint(lower)
        if is_complex(q):
            is_diagonal = eye(k, dtype="bool")
            phase = math.cast(math.imag(product), q.dtype) * np.asarray(1j, q.dtype)
            skew = math.switch(is_diagonal, phase, skew)
        dq = matmul(q, skew) + ratio - matmul(q, product)
        return [dq, matmul(adjoint(q), direction) - matmul(skew, r)]


def _thin(q: Any, r: Any, gq: Any, gr: Any) -> Any:
    inner = None
    if gr is not None:
        inner = matmul(r, adjoint(gr))
    if gq is not None:
        product = matmul(adjoint(gq), q)
        inner = -product if inner is None else inner - product
    total = matmul(q, from_triangle(inner))
    return _right_divided(total if gq is None else gq + total, r)


def _wide(q: Any, r: Any, gq: Any, gr: Any, rows: Any) -> Any:
    first, rest = r[..., :rows], r[..., rows:]
    if gr is None:
        return _padded(_thin(q, first, gq, None), matmul(q, rest * 0))
    ahead, behind = gr[..., :rows], gr[..., rows:]
    turned = matmul(q, matmul(rest, adjoint(behind)))
    # Y = Q V: the columns that follow have a part in the gradient of Q.
    own = turned if gq is None else gq + turned
    return _padded(_thin(q, first, own, ahead), matmul(q, behind))


def _padded(left: Any, right: Any) -> Any:
    return concatenate([left, right], axis=-1)
