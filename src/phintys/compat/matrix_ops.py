"""Classes of matrix Ops: an instance is a function, and ``isinstance(node.op, Det)`` works."""

from __future__ import annotations

from typing import Any

import phintys.tensor as pt
from phintys.compat import linear_algebra
from phintys.compat.old_classes import stands_for
from phintys.tensor.linear_algebra import (
    cholesky,
    determinants,
    eigen,
    general_eigen,
    least_squares,
    powers,
    qr_op,
    singular_values,
    solving,
    triangular,
)

__all__ = [
    "SVD",
    "Cholesky",
    "Det",
    "Eig",
    "Eigh",
    "Eigvalsh",
    "Expm",
    "Kron",
    "MatrixInverse",
    "MatrixPinv",
    "QRFull",
    "QRIncomplete",
    "Solve",
    "SolveTriangular",
    "lstsq",
]


def _cholesky(lower: bool = True, on_error: Any = "raise", **_: Any) -> Any:
    """``Cholesky(lower)(x)``: the Cholesky factor."""
    return lambda x: pt.linalg.cholesky(x, lower, on_error=on_error)


def _det() -> Any:
    """``Det()(x)``: the determinant."""
    return pt.linalg.det


def _eig() -> Any:
    """``Eig()(x)``: eigenvalues and eigenvectors."""
    return linear_algebra.eig


def _eigh(UPLO: str = "L") -> Any:
    """``Eigh(UPLO)(x)``: eigenvalues and eigenvectors of a symmetric matrix."""
    return lambda x: linear_algebra.eigh(x, UPLO=UPLO)


def _eigvalsh(lower: bool = True) -> Any:
    """``Eigvalsh(lower)(a, b)``: eigenvalues of a symmetric matrix, or of a pair."""
    return lambda a, b=None: pt.linalg.eigvalsh(a, b, lower=lower)


def _expm() -> Any:
    """``Expm()(x)``: the matrix exponential."""
    return pt.linalg.expm


def _inverse() -> Any:
    """``MatrixInverse()(x)``: the inverse."""
    return pt.linalg.inv


def _pinv(hermitian: bool = False) -> Any:
    """``MatrixPinv(hermitian)(x)``: the pseudo-inverse."""
    return lambda x: pt.linalg.pinv(x, hermitian=hermitian)


def _qr(mode: str = "reduced") -> Any:
    """``QRFull(mode)(x)``: QR factors, or R alone."""
    return lambda x: linear_algebra.qr(x, mode)


def _solve(A_structure: str = "general", lower: bool = False, **options: Any) -> Any:
    """``Solve(A_structure, lower)(a, b)``: the solution of ``a x = b``."""
    assumed = A_structure.replace("_", " ")
    given = options.get("assume_a", assumed)
    if given in {"lower triangular", "upper triangular"}:
        return lambda a, b: linear_algebra.solve(a, b, given)
    return lambda a, b: linear_algebra.solve(a, b, given, lower)


def _solve_triangular(**options: Any) -> Any:
    """``SolveTriangular(lower=True)(a, b)``: the solution of a triangular system."""
    return lambda a, b: linear_algebra.solve_triangular(a, b, **options)


def _svd(full_matrices: Any = True, compute_uv: Any = True) -> Any:
    """``SVD(full_matrices, compute_uv)(x)``: the singular value decomposition."""
    return lambda x: linear_algebra.svd(x, full_matrices, compute_uv)


Cholesky = stands_for("Cholesky", cholesky.Cholesky, _cholesky)
Det = stands_for("Det", determinants.Det, _det)
Eig = stands_for("Eig", general_eigen.Eig, _eig)
Eigh = stands_for("Eigh", eigen.Eigh, _eigh)
Eigvalsh = stands_for("Eigvalsh", eigen.Eigh, _eigvalsh)
Expm = stands_for("Expm", powers.Expm, _expm)
MatrixInverse = stands_for("MatrixInverse", solving.Inv, _inverse)
MatrixPinv = stands_for("MatrixPinv", least_squares.Pinv, _pinv)
QRFull = stands_for("QRFull", qr_op.QR, _qr)
QRIncomplete = stands_for("QRIncomplete", qr_op.QR, _qr)
SVD = stands_for("SVD", singular_values.SVD, _svd)
Solve = stands_for("Solve", solving.Solve, _solve)
SolveTriangular = stands_for("SolveTriangular", triangular.SolveTriangular, _solve_triangular)


def lstsq(*arguments: Any, **options: Any) -> Any:
    """Return the least-squares solution; ``lstsq()`` is this function, once an Op."""
    return pt.linalg.lstsq(*arguments, **options) if arguments or options else lstsq


def Kron() -> Any:
    """``Kron()(a, b)``: the Kronecker product, which is no Op here."""
    return pt.linalg.kron
