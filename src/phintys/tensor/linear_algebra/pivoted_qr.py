"""QR factors with exchanges of columns, and in the packed form of LAPACK."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from phintys._base.errors import MethodNotDefinedError
from phintys.tensor.dim_shuffle import matrix_transpose
from phintys.tensor.linear_algebra.lu import PermuteRows
from phintys.tensor.linear_algebra.matrix_op import MatrixOp, lapack_function
from phintys.tensor.linear_algebra.qr_op import QR

if TYPE_CHECKING:
    from collections.abc import Sequence


class PivotedQR(MatrixOp):
    """Return ``Q``, ``R`` and p of ``A[:, p] = Q R``, where the diagonal of R does not increase.

    Parameters
    ----------
    full
        Whether Q is square.

    Examples
    --------
    >>> from phintys.tensor.linear_algebra.pivoted_qr import PivotedQR
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
    >>> from phintys.tensor.linear_algebra.pivoted_qr import PackedQR
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
