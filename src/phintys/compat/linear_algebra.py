"""Old calls of decompositions, solvers, BLAS and Fourier transforms, as expressions.

Functions of BLAS that overwrote their first operand no longer do so; backends decide where
overwriting is safe. Options that are about Python's part of a call (``check_finite``,
``overwrite_a``) have no effect: NaN goes through.
"""

from __future__ import annotations

from typing import Any

import phintys.tensor as pt
from phintys._base.errors import ArgumentError, ShapeError

__all__ = [
    "cho_solve",
    "cholesky",
    "dot22scalar",
    "eig",
    "eigh",
    "gemm",
    "gemv",
    "ger",
    "irfft",
    "lu",
    "lu_factor",
    "lu_solve",
    "qr",
    "rfft",
    "solve",
    "solve_lower_triangular",
    "solve_triangular",
    "solve_upper_triangular",
    "svd",
]


_NORMS = {None: "backward", "ortho": "ortho"}


def _norm(norm: Any, unscaled: str, function: str) -> str:
    """Return NumPy's name of a norm; ``"no_norm"`` scales neither the transform nor its inverse."""
    if norm == "no_norm":
        return unscaled
    if norm not in _NORMS:
        msg = f"{function}: norm is None, 'ortho' or 'no_norm'; got {norm!r}."
        raise ArgumentError(msg)
    return _NORMS[norm]


def rfft(inp: Any, norm: str | None = None) -> Any:
    """Return the transform of a stack of real arrays, of shape ``(m, ..., n // 2 + 1, 2)``.

    Examples
    --------
    >>> rfft([[1.0, 2.0]]).eval().tolist()
    [[[3.0, 0.0], [-1.0, 0.0]]]
    """
    x = pt.as_tensor_variable(inp)
    if x.ndim < 2:
        msg = f"rfft takes a stack of arrays, of rank 2 or more; got {x} of type {x.type}."
        raise ShapeError(msg)
    found = pt.fft.rfftn(x, axes=tuple(range(1, x.ndim)), norm=_norm(norm, "backward", "rfft"))
    return pt.stack([pt.real(found), pt.imag(found)], axis=-1)


def irfft(inp: Any, norm: str | None = None, is_odd: bool = False) -> Any:
    """Return the inverse of :func:`rfft`, of shape ``(m, ..., n)``; n is even unless stated.

    Examples
    --------
    >>> irfft(rfft([[1.0, 2.0, 3.0]]), is_odd=True).eval().round(6).tolist()
    [[1.0, 2.0, 3.0]]
    """
    if is_odd not in {True, False}:
        msg = f"irfft: is_odd is True or False, got {is_odd!r}."
        raise ArgumentError(msg)
    pairs = pt.as_tensor_variable(inp)
    if pairs.ndim < 3 or pairs.type.shape[-1] not in {None, 2}:
        msg = (
            "irfft takes a stack of transforms with pairs of real and imaginary parts along the "
            f"last axis, of rank 3 or more; got {pairs} of type {pairs.type}."
        )
        raise ShapeError(msg)
    pairs = pt.specify_shape(pairs, [None] * (pairs.ndim - 1) + [2])
    half = pt.complex(pairs[..., 0], pairs[..., 1])
    points = 2 * (half.shape[-1] - 1) + int(is_odd)
    axes = tuple(range(1, half.ndim))
    sizes = (None,) * (len(axes) - 1) + (points,)
    return pt.fft.irfftn(half, s=sizes, axes=axes, norm=_norm(norm, "forward", "irfft"))


_IGNORED = frozenset({"check_finite", "overwrite_a", "overwrite_b"})


def _kept(function: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that are supported; raise for unknown ones."""
    kept = {name: value for name, value in options.items() if name not in _IGNORED}
    unknown = kept.keys() - {"on_error", "b_ndim", "lower", "unit_diagonal", "trans", "transposed"}
    if unknown:
        msg = f"{function} has no argument {min(unknown)!r}."
        raise ArgumentError(msg)
    return kept


def cholesky(x: Any, lower: bool = True, **options: Any) -> Any:
    """Return the Cholesky factor.

    Examples
    --------
    >>> cholesky([[4.0, 2.0], [2.0, 2.0]], check_finite=False).eval()
    array([[2., 0.],
           [1., 1.]])
    """
    return pt.linalg.cholesky(x, lower, **_kept("cholesky", options))


def solve(a: Any, b: Any, assume_a: str = "gen", lower: bool = False, **options: Any) -> Any:
    """Solve ``a x = b``."""
    return pt.linalg.solve(a, b, assume_a=assume_a, lower=lower, **_kept("solve", options))


def solve_triangular(
    a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False, **options: Any
) -> Any:
    """Solve a triangular system."""
    return pt.linalg.solve_triangular(
        a,
        b,
        trans=trans,
        lower=lower,
        unit_diagonal=unit_diagonal,
        **_kept("solve_triangular", options),
    )


def solve_lower_triangular(a: Any, b: Any) -> Any:
    """Solve a system with a lower triangular matrix."""
    return pt.linalg.solve_triangular(a, b, lower=True)


def solve_upper_triangular(a: Any, b: Any) -> Any:
    """Solve a system with an upper triangular matrix."""
    return pt.linalg.solve_triangular(a, b, lower=False)


def cho_solve(c_and_lower: Any, b: Any, **options: Any) -> Any:
    """Solve with a Cholesky factor."""
    return pt.linalg.cho_solve(c_and_lower, b, **_kept("cho_solve", options))


def lu(
    a: Any, permute_l: bool = False, check_finite: bool = True, p_indices: bool = False, **_: Any
) -> Any:
    """Return LU factors."""
    return list(pt.linalg.lu(a, permute_l, p_indices))


def lu_factor(a: Any, **options: Any) -> Any:
    """Return LU factors in one matrix, and the exchanges of rows."""
    _kept("lu_factor", options)
    return pt.linalg.lu_factor(a)


def lu_solve(lu_and_piv: Any, b: Any, trans: Any = False, **options: Any) -> Any:
    """Solve with LU factors."""
    return pt.linalg.lu_solve(lu_and_piv, b, int(trans), **_kept("lu_solve", options))


def eig(a: Any) -> Any:
    """Return eigenvalues and eigenvectors as a list."""
    return list(pt.linalg.eig(a))


def eigh(a: Any, b: Any = None, UPLO: str = "L", lower: bool | None = None, **_: Any) -> Any:
    """Return eigenvalues and eigenvectors as a list; the second argument may be the triangle."""
    if isinstance(b, str):
        b, UPLO = None, b
    return list(pt.linalg.eigh(a, b, lower=UPLO == "L" if lower is None else lower))


def svd(a: Any, full_matrices: Any = True, compute_uv: Any = True) -> Any:
    """Return the singular value decomposition, as a list."""
    found = pt.linalg.svd(a, bool(full_matrices), bool(compute_uv))
    return list(found) if compute_uv else found


def qr(a: Any, mode: str = "reduced", **options: Any) -> Any:
    """Return QR factors, as a list."""
    _kept("qr", options)
    found = pt.linalg.qr(a, mode)
    return found if mode == "r" else list(found)


def gemm(z: Any, a: Any, x: Any, y: Any, b: Any) -> Any:
    """Return ``b * z + a * dot(x, y)``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> one = pt.ones((2, 2))
    >>> gemm(one, 10.0, one, one, 3.0).eval()
    array([[23., 23.],
           [23., 23.]])
    """
    return b * pt.as_tensor_variable(z) + a * pt.dot(x, y)


def gemv(y: Any, alpha: Any, A: Any, x: Any, beta: Any) -> Any:
    """Return ``beta * y + alpha * dot(A, x)``."""
    return gemm(y, alpha, A, x, beta)


def ger(A: Any, alpha: Any, x: Any, y: Any) -> Any:
    """Return ``A + alpha * outer(x, y)``."""
    return pt.as_tensor_variable(A) + alpha * pt.outer(x, y)


def dot22scalar(x: Any, y: Any, a: Any) -> Any:
    """Return ``a * dot(x, y)``."""
    return a * pt.dot(x, y)
