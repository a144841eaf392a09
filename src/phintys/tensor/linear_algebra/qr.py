"""QR factors."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from phintys.tensor.linear_algebra.matrix_op import as_matrices, check_choice
from phintys.tensor.linear_algebra.pivoted_qr import (
    PackedQRResult,
    PivotedQRResult,
    packed_qr,
    pivoted_qr,
)
from phintys.tensor.linear_algebra.qr_op import QR


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
