"""QR factors, with exchanges of columns too."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from phintys._base.errors import MethodNotDefinedError
from phintys.tensor import math
from phintys.tensor.diagonals import eye, tril
from phintys.tensor.dim_shuffle import matrix_transpose
from phintys.tensor.joining import concatenate
from phintys.tensor.linear_algebra.cholesky import from_triangle
from phintys.tensor.linear_algebra.lu import PermuteRows
from phintys.tensor.linear_algebra.matrix_op import (
    MatrixOp,
    adjoint,
    as_matrices,
    check_choice,
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
    >>> from phintys.tensor.linear_algebra.qr import QR
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


@lru_cache(maxsize=2)
def _qr(full: bool) -> QR:
    return QR(full)


class QRResult(NamedTuple):
    """The result of :func:`qr`."""

    Q: Any
    R: Any


def qr(x: Any, mode: str = "reduced", *, pivoting: bool = False) -> Any:
    """Return the factors of ``x = Q R``: orthonormal columns, and an upper triangular matrix.

    Parameters
    ----------
    x
        A matrix, or a stack of them.
    mode
        ``"reduced"`` (also ``"economic"``): Q has as many columns as x has, or rows if these are
        fewer. ``"complete"`` (also ``"full"``): Q is square; it has no gradient. ``"r"``: only R.
        ``"raw"``: the packed form of LAPACK, R with the reflectors that Q consists of below it, and
        their factors; it has no gradient.
    pivoting
        Exchange columns, such that the diagonal of R does not increase: ``x[:, P] = Q R``.

    Returns
    -------
    tuple or TensorVariable
        ``Q`` and ``R``, R alone, or ``H`` and ``tau``; with pivoting, and P.

    Notes
    -----
    The gradient needs the first columns to be independent, as many as there are rows; otherwise it
    is NaN.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> q, r = pt.linalg.qr(pt.constant([[3.0, 1.0], [4.0, 2.0]]))
    >>> (q @ r).eval().round(6)
    array([[3., 1.],
           [4., 2.]])
    """
    check_choice(mode, ("reduced", "economic", "complete", "full", "r", "raw"), "mode")
    x = as_matrices(x, "qr")
    if mode == "raw":
        packed, tau, order = packed_qr(bool(pivoting))(x)
        return (packed, tau, order) if pivoting else PackedQRResult(packed, tau)
    is_full = mode in {"complete", "full"}
    results = pivoted_qr(is_full)(x) if pivoting else _qr(is_full)(x)
    if mode == "r":
        return results[1:] if pivoting else results[1]
    return PivotedQRResult(*results) if pivoting else QRResult(*results)


class PivotedQR(MatrixOp):
    """Return ``Q``, ``R`` and p of ``A[:, p] = Q R``, where the diagonal of R does not increase.

    Parameters
    ----------
    full
        Whether Q is square.

    Examples
    --------
    >>> from phintys.tensor.linear_algebra.qr import PivotedQR
    >>> q, r, p = PivotedQR()([[1.0, 3.0], [0.0, 4.0]])
    >>> p.eval()
    array([1, 0])
    """

    __props__: ClassVar[tuple[str, ...]] = ("full",)
    called = "qr"
    least: ClassVar[dict[str, tuple[str, str]]] = {"k": ("m", "n")}
    integer_outputs: ClassVar[dict[int, str]] = {2: "int64"}

    def __init__(self, full: bool = False) -> None:
        self.full = bool(full)
        self._plain = QR(full)

    @property
    def signature(self) -> str:
        """The core signature, by whether Q is square."""
        return self._plain.signature + ",(n)"

    def compute(self, *matrices: Any) -> Sequence[Any]:
        """Choose the columns with LAPACK, and factorize."""
        (a,) = matrices
        order = np.arange(a.shape[1])
        if a.size:
            order = lapack_function("geqp3", a)(a)[1] - 1
        return *self._plain.compute(a[:, order]), order

    def adjoint_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], gradients: Sequence[Any]
    ) -> list[Any]:
        """The gradient for ``A[:, p]``, with the columns where they were."""
        (a,), (q, r, order) = inputs, outputs
        columns = _columns(order, a)
        (gradient,) = self._plain.adjoint_rule([columns], [q, r], gradients[:2])
        turned = matrix_transpose(gradient)
        _, back = _permute_rows.adjoint_rule([order, turned], [], [turned])
        return [matrix_transpose(back)]

    def tangent_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]
    ) -> list[Any]:
        """The derivative for ``A[:, p]``: the order is constant around almost all matrices."""
        q, r, order = outputs
        columns = [_columns(order, x) for x in (inputs[0], tangents[0])]
        return [*self._plain.tangent_rule(columns[:1], [q, r], columns[1:]), order]


_permute_rows = PermuteRows()


def _columns(order: Any, x: Any) -> Any:
    return matrix_transpose(_permute_rows(order, matrix_transpose(x)))


class PackedQR(MatrixOp):
    """Return reflectors below ``R`` and their factors, as LAPACK does; and the order of columns.

    Parameters
    ----------
    pivoting
        Whether columns are exchanged; otherwise their order is that of the matrix.

    Examples
    --------
    >>> from phintys.tensor.linear_algebra.qr import PackedQR
    >>> h, tau, p = PackedQR()([[3.0, 1.0], [4.0, 2.0]])
    >>> h.eval().shape, tau.eval().shape
    ((2, 2), (2,))
    """

    __props__: ClassVar[tuple[str, ...]] = ("pivoting",)
    signature = "(m,n)->(m,n),(k),(n)"
    called = "qr"
    least: ClassVar[dict[str, tuple[str, str]]] = {"k": ("m", "n")}
    integer_outputs: ClassVar[dict[int, str]] = {2: "int64"}

    def __init__(self, pivoting: bool = False) -> None:
        self.pivoting = bool(pivoting)

    def compute(self, *matrices: Any) -> Sequence[Any]:
        """Factorize with LAPACK."""
        (a,) = matrices
        order = np.arange(a.shape[1])
        if not a.size:
            return a, np.zeros(0, a.dtype), order
        if self.pivoting:
            packed, order, tau, *_ = lapack_function("geqp3", a)(a)
            return packed, tau, order - 1
        packed, tau, *_ = lapack_function("geqrf", a)(a)
        return packed, tau, order

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


_NO_GRADIENT = (
    'The gradient of qr(mode="raw") is not defined: use the factors Q and R of another mode.'
)


class PivotedQRResult(NamedTuple):
    """The result of :func:`~phintys.tensor.linalg.qr` with pivoting: ``x[:, P] = Q R``."""

    Q: Any
    R: Any
    P: Any


class PackedQRResult(NamedTuple):
    """The result of :func:`~phintys.tensor.linalg.qr` in the mode ``"raw"``."""

    H: Any
    tau: Any


@lru_cache(maxsize=2)
def pivoted_qr(full: bool) -> PivotedQR:
    """Return the Op of QR factors with exchanges of columns, full or reduced."""
    return PivotedQR(full)


@lru_cache(maxsize=2)
def packed_qr(pivoting: bool) -> PackedQR:
    """Return the Op of QR factors as LAPACK stores them, with or without pivoting."""
    return PackedQR(pivoting)
