"""Linear algebra; leading axes are batches here as there. JAX marks failures by NaN."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numpy.linalg import LinAlgError

from phintys.backends.jax.arrays import jnp, jsl, lax
from phintys.backends.jax.tracing import NotConvertedError, Trace, converts
from phintys.tensor.linear_algebra.cholesky import Cholesky
from phintys.tensor.linear_algebra.cholesky_adjoint import CholeskyInverse
from phintys.tensor.linear_algebra.determinants import Det, SlogDet
from phintys.tensor.linear_algebra.eigen import Eigh
from phintys.tensor.linear_algebra.powers import Expm
from phintys.tensor.linear_algebra.qr_op import QR
from phintys.tensor.linear_algebra.singular_values import SVD
from phintys.tensor.linear_algebra.solving import Inv, Solve
from phintys.tensor.linear_algebra.triangular import SolveTriangular

if TYPE_CHECKING:
    from phintys.graph.apply import Apply


def _matrices(op: Any, node: Apply, inputs: Sequence[Any]) -> list[Any]:
    """Return the inputs with one batch; sizes that do not fit raise the library's error."""
    op._run_time_sizes(node, inputs)
    batch = op._run_time_batch(node, inputs)
    core, _ = op.dims()
    found: list[Any] = []
    for value, dims in zip(inputs, core, strict=True):
        x = jnp.asarray(value)
        if 0 in x.shape:
            raise NotConvertedError("JAX has no decompositions of empty matrices")
        found.append(jnp.broadcast_to(x, (*batch, *x.shape[x.ndim - len(dims) :])))
    return found


def _check(op: Any, node: Apply, trace: Trace, holds: Any, text: str) -> None:
    if getattr(op, "on_error", "nan") == "raise":
        name = op.name_for_users(node)
        trace.check(holds, node, lambda: LinAlgError(f"{name}: {text}"))


def _check_finite(op: Any, node: Apply, trace: Trace, x: Any, text: str) -> None:
    _check(op, node, trace, jnp.isfinite(x), text)


@converts(Cholesky)
def cholesky(op: Any, node: Apply, trace: Trace, x: Any) -> Any:
    """Read the triangle that the Op reads."""
    (x,) = _matrices(op, node, [x])
    if not getattr(op, "lower", True):
        raise NotConvertedError
    found = lax.linalg.cholesky(jnp.tril(x), symmetrize_input=False)
    _check_finite(op, node, trace, found, "the matrix is not positive definite")
    return found


def _triangular(a: Any, b: Any, *, lower: bool, unit: bool = False, adjoint: bool = False) -> Any:
    return lax.linalg.triangular_solve(
        a,
        b,
        left_side=True,
        lower=lower,
        unit_diagonal=unit,
        transpose_a=adjoint,
        conjugate_a=adjoint,
    )


@converts(SolveTriangular)
def solve_triangular(op: Any, node: Apply, trace: Trace, a: Any, b: Any) -> Any:
    """Zeros on the diagonal are failures."""
    a, b = _of_result(node, _matrices(op, node, [a, b]))
    found = _triangular(a, b, lower=op.lower, unit=op.unit_diagonal)
    if op.unit_diagonal:
        return found
    diagonal = jnp.diagonal(a, 0, -2, -1)
    _check(op, node, trace, diagonal != 0, "the matrix is singular")
    return jnp.where(jnp.any(diagonal == 0, -1)[..., None, None], jnp.nan, found)


@converts(Solve)
def solve(op: Any, node: Apply, trace: Trace, a: Any, b: Any) -> Any:
    """By the factors of a general or a positive definite matrix; others by the expansion."""
    a, b = _of_result(node, _matrices(op, node, [a, b]))
    if op.assume_a == "pos":
        factor = lax.linalg.cholesky(jnp.tril(a), symmetrize_input=False)
        half = _triangular(factor, b, lower=True)
        found = _triangular(factor, half, lower=True, adjoint=True)
        _check_finite(op, node, trace, factor, "the matrix is not positive definite")
        return found
    if op.assume_a != "gen":
        raise NotConvertedError("JAX has no solver for matrices that are only symmetric")
    factors, _, order = lax.linalg.lu(a)
    rows = jnp.take_along_axis(b, order[..., None].astype("int64"), -2)
    half = _triangular(factors, rows, lower=True, unit=True)
    is_singular = jnp.diagonal(factors, 0, -2, -1) == 0
    _check(op, node, trace, ~is_singular, "the matrix is singular")
    found = _triangular(factors, half, lower=False)
    return jnp.where(jnp.any(is_singular, -1)[..., None, None], jnp.nan, found)


def _of_result(node: Apply, matrices: Sequence[Any]) -> list[Any]:
    dtype = node.outputs[0].type.dtype  # pyright: ignore[reportAttributeAccessIssue]
    return [matrix.astype(dtype) for matrix in matrices]


@converts(Expm)
def expm(op: Any, node: Apply, trace: Trace, x: Any) -> Any:
    """The exponential of a matrix."""
    (x,) = _matrices(op, node, [x])
    if x.ndim != 2:
        raise NotConvertedError
    return jsl.expm(x)


@converts(Inv)
def inv(op: Any, node: Apply, trace: Trace, a: Any) -> Any:
    """The inverse, checked by the pivots."""
    (a,) = _matrices(op, node, [a])
    found = jnp.linalg.inv(a)
    _check_finite(op, node, trace, found, "the matrix is singular")
    return found


@converts(Det)
def det(op: Any, node: Apply, trace: Trace, a: Any) -> Any:
    """The determinant."""
    (a,) = _matrices(op, node, [a])
    return jnp.linalg.det(a)


@converts(SlogDet)
def slogdet(op: Any, node: Apply, trace: Trace, a: Any) -> list[Any]:
    """Sign and logarithm of the determinant."""
    (a,) = _matrices(op, node, [a])
    return list(jnp.linalg.slogdet(a))


@converts(Eigh)
def eigh(op: Any, node: Apply, trace: Trace, a: Any) -> list[Any]:
    """Read the lower triangle."""
    (a,) = _matrices(op, node, [a])
    values, vectors = jnp.linalg.eigh(a, UPLO="L", symmetrize_input=False)
    _check_finite(op, node, trace, values, "the matrix has no decomposition")
    return [values, vectors]


@converts(QR)
def qr(op: Any, node: Apply, trace: Trace, a: Any) -> list[Any]:
    """Orthogonal times triangular."""
    (a,) = _matrices(op, node, [a])
    return list(jnp.linalg.qr(a, mode="complete" if op.full else "reduced"))


@converts(SVD)
def svd(op: Any, node: Apply, trace: Trace, a: Any) -> list[Any]:
    """Singular values and vectors."""
    (a,) = _matrices(op, node, [a])
    found = list(jnp.linalg.svd(a, full_matrices=op.full_matrices))
    _check_finite(op, node, trace, found[1], "the matrix has no decomposition")
    return found


@converts(CholeskyInverse)
def cholesky_inverse(op: Any, node: Apply, trace: Trace, factor: Any) -> Any:
    """The inverse of a matrix by its factor; NaN where that is singular."""
    (factor,) = _matrices(op, node, [factor])
    eye = jnp.broadcast_to(jnp.eye(factor.shape[-1], dtype=factor.dtype), factor.shape)
    half = _triangular(factor, eye, lower=True)
    found = jnp.tril(_triangular(factor, half, lower=True, adjoint=True))
    is_singular = jnp.any(jnp.diagonal(factor, 0, -2, -1) == 0, -1)[..., None, None]
    return jnp.where(is_singular, jnp.nan, found)
