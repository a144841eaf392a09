"""Linear algebra; leading axes are batches here as there. JAX marks failures by NaN."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.linalg import LinAlgError

from phintys.backends.jax.arrays import jax, jnp, jsl, lax
from phintys.backends.jax.tracing import NotConvertedError, Trace, converts, perform
from phintys.tensor.dim_shuffle import DimShuffle
from phintys.tensor.linear_algebra.cholesky import Cholesky, CholeskyInverse, CholeskyUpdate
from phintys.tensor.linear_algebra.determinants import Det, SlogDet
from phintys.tensor.linear_algebra.eigen import Eig, Eigh, Eigvals
from phintys.tensor.linear_algebra.lu import LUFactor, PermuteRows, PivotToPermutation
from phintys.tensor.linear_algebra.powers import Expm, ExpmDerivative
from phintys.tensor.linear_algebra.qr import QR, PackedQR, PivotedQR
from phintys.tensor.linear_algebra.singular_values import SVD
from phintys.tensor.linear_algebra.solving import Inv, Solve
from phintys.tensor.linear_algebra.triangular import SolveTriangular

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.variable import Variable


_MOST_NORM = {"float64": 5.371920351148152, "float32": 3.925724783138660}
"""The norms up to which JAX's approximants have all digits (Higham, 2005)."""
_MOST_SQUARINGS = 16


def of_matrices(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Give a rule its inputs with one batch; sizes that do not fit raise the library's error.

    Results for empty matrices do not depend on values, and JAX has no decompositions of them.
    """

    def checked(op: Any, node: Apply, trace: Trace, *inputs: Any) -> Any:
        op._run_time_sizes(node, inputs)
        batch = op._run_time_batch(node, inputs)
        if any(0 in np.shape(value) for value in inputs):
            return perform(node, [_harmless(value) for value in inputs])
        core, _ = op.dims()
        arrays = [jnp.asarray(value) for value in inputs]
        return rule(
            op,
            node,
            trace,
            *(
                jnp.broadcast_to(x, (*batch, *x.shape[x.ndim - len(dims) :]))
                for x, dims in zip(arrays, core, strict=True)
            ),
        )

    return checked


def _harmless(value: Any) -> np.ndarray[Any, Any]:
    """Return matrices of a shape that have all decompositions."""
    shape = np.shape(value)
    if len(shape) < 2:
        return np.zeros(shape, value.dtype)
    return np.broadcast_to(np.eye(*shape[-2:], dtype=value.dtype), shape)


def _raises(op: Any) -> bool:
    return getattr(op, "on_error", "nan") == "raise"


def _check(op: Any, node: Apply, trace: Trace, holds: Any, text: str) -> None:
    if _raises(op):
        name = op.name_for_users(node)
        trace.check(holds, node, lambda: LinAlgError(f"{name}: {text}"))


def _check_finite(op: Any, node: Apply, trace: Trace, x: Any, text: str) -> None:
    _check(op, node, trace, jnp.isfinite(x), text)


@converts(Cholesky)
@of_matrices
def cholesky(op: Any, node: Apply, trace: Trace, x: Any) -> Any:
    """Read the triangle that the Op reads."""
    found = lax.linalg.cholesky(x, symmetrize_input=False)
    _check_factor(op, node, trace, found)
    return found


def _check_factor(op: Any, node: Apply, trace: Trace, factor: Any) -> None:
    """Look at one element, since all of a failing factor are NaN."""
    last = factor[..., -1, -1]
    _check_finite(op, node, trace, last, "the matrix is not positive definite")


def triangular(a: Any, b: Any, *, lower: bool, unit: bool = False, adjoint: bool = False) -> Any:
    """Return the solutions of triangular systems, or of those of the adjoint matrices."""
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
@of_matrices
def solve_triangular(op: Any, node: Apply, trace: Trace, a: Any, b: Any) -> Any:
    """Zeros on the diagonal are failures."""
    a, b = _of_result(node, [a, b])
    found = triangular(a, b, lower=op.lower, unit=op.unit_diagonal)
    if op.unit_diagonal or _is_factor(node.inputs[0]):
        return found
    return _unless_singular(op, node, trace, jnp.diagonal(a, 0, -2, -1), found)


def _is_factor(variable: Variable) -> bool:
    """Return whether a matrix is a Cholesky factor, which has no zeros on its diagonal."""
    node = variable.owner
    if node is not None and isinstance(node.op, DimShuffle):
        node = node.inputs[0].owner
    return node is not None and isinstance(node.op, Cholesky)


def _unless_singular(op: Any, node: Apply, trace: Trace, pivots: Any, found: Any) -> Any:
    """Return a solution; if a pivot is 0, that is an error, or all of the solution is NaN."""
    is_singular = pivots == 0
    _check(op, node, trace, ~is_singular, "the matrix is singular")
    if _raises(op) and trace.session.checks:
        return found
    return jnp.where(jnp.any(is_singular, -1)[..., None, None], jnp.nan, found)


@converts(Solve)
@of_matrices
def solve(op: Any, node: Apply, trace: Trace, a: Any, b: Any) -> Any:
    """By the factors of a general or a positive definite matrix; others by the expansion."""
    a, b = _of_result(node, [a, b])
    if op.assume_a == "pos":
        factor = lax.linalg.cholesky(a, symmetrize_input=False)
        half = triangular(factor, b, lower=True)
        found = triangular(factor, half, lower=True, adjoint=True)
        _check_factor(op, node, trace, factor)
        return found
    if op.assume_a != "gen":
        raise NotConvertedError("JAX has no solver for matrices that are only symmetric")
    factors, _, order = lax.linalg.lu(a)
    rows = jnp.take_along_axis(b, order[..., None].astype("int64"), -2)
    half = triangular(factors, rows, lower=True, unit=True)
    found = triangular(factors, half, lower=False)
    return _unless_singular(op, node, trace, jnp.diagonal(factors, 0, -2, -1), found)


def _of_result(node: Apply, matrices: Sequence[Any]) -> list[Any]:
    dtype = node.outputs[0].type.dtype  # pyright: ignore[reportAttributeAccessIssue]
    return [matrix.astype(dtype) for matrix in matrices]


@converts(Expm)
@of_matrices
def expm(op: Any, node: Apply, trace: Trace, x: Any) -> Any:
    """Exponentials, by Padé approximants (Higham, 2005)."""
    return _expm(x)


def _expm(x: Any) -> Any:
    """Return exponentials.

    JAX halves matrices until their norms are below twice the one for which the approximant has all
    digits; so they are halved before.
    """
    most = _MOST_NORM[np.dtype(x.dtype).type(0).real.dtype.name]
    norm = jnp.abs(x).sum(-2).max(-1)
    count = jnp.ceil(jnp.log2(jnp.maximum(lax.stop_gradient(norm) / most, 1)))
    count = jnp.where(count <= _MOST_SQUARINGS, count, 0)[..., None, None]
    found = jsl.expm(x * jnp.exp2(-count).astype(x.dtype))

    def square(number: Any, found: Any) -> Any:
        squared = lax.cond(
            number < count.max(),
            lambda y: jnp.matmul(y, y, precision="highest"),
            lambda y: y,
            found,
        )
        return jnp.where(number < count, squared, found)

    return lax.fori_loop(0, _MOST_SQUARINGS, square, found)


@converts(ExpmDerivative)
@of_matrices
def expm_derivative(op: Any, node: Apply, trace: Trace, x: Any, direction: Any) -> Any:
    """The derivative of the approximant."""
    return jax.jvp(_expm, (x,), (direction,))[1]


@converts(Inv)
@of_matrices
def inv(op: Any, node: Apply, trace: Trace, a: Any) -> Any:
    """The inverse, checked by the pivots."""
    factors, _, _ = lax.linalg.lu(a)
    pivots = jnp.diagonal(factors, 0, -2, -1)
    return _unless_singular(op, node, trace, pivots, jnp.linalg.inv(a))


@converts(Det)
@of_matrices
def det(op: Any, node: Apply, trace: Trace, a: Any) -> Any:
    """The determinant."""
    return jnp.linalg.det(a)


@converts(SlogDet)
@of_matrices
def slogdet(op: Any, node: Apply, trace: Trace, a: Any) -> list[Any]:
    """Sign and logarithm of the determinant."""
    return list(jnp.linalg.slogdet(a))


@converts(Eigh)
@of_matrices
def eigh(op: Any, node: Apply, trace: Trace, a: Any) -> list[Any]:
    """Read the lower triangle."""
    values, vectors = jnp.linalg.eigh(a, UPLO="L", symmetrize_input=False)
    _check_finite(op, node, trace, values, "the matrix has no decomposition")
    return [values, vectors]


@converts(Eig, Eigvals)
@of_matrices
def eig(op: Any, node: Apply, trace: Trace, a: Any) -> list[Any]:
    """Values, and perhaps vectors; NaN where the iteration has not converged."""
    has_vectors = isinstance(op, Eig)
    found = lax.linalg.eig(
        a, compute_left_eigenvectors=False, compute_right_eigenvectors=has_vectors
    )
    _check_finite(op, node, trace, found[0], "the matrix has no decomposition")
    return found


@converts(QR)
@of_matrices
def qr(op: Any, node: Apply, trace: Trace, a: Any) -> list[Any]:
    """Orthogonal times triangular."""
    return list(jnp.linalg.qr(a, mode="complete" if op.full else "reduced"))


@converts(PivotedQR)
@of_matrices
def pivoted_qr(op: Any, node: Apply, trace: Trace, a: Any) -> list[Any]:
    """Choose the order of columns, and factorize."""
    order = _order_of_columns(a)
    mode = "complete" if op.full else "reduced"
    return [*jnp.linalg.qr(_with_columns(a, order), mode=mode), order]


@converts(PackedQR)
@of_matrices
def packed_qr(op: Any, node: Apply, trace: Trace, a: Any) -> list[Any]:
    """Reflections as LAPACK stores them."""
    order = jnp.broadcast_to(jnp.arange(a.shape[-1]), (*a.shape[:-2], a.shape[-1]))
    if op.pivoting:
        order = _order_of_columns(a)
    transposed, scales = jnp.linalg.qr(_with_columns(a, order), mode="raw")
    return [transposed.mT, scales, order]


def _order_of_columns(a: Any) -> Any:
    return lax.linalg.qr(a, pivoting=True, full_matrices=False)[2].astype("int64")


def _with_columns(a: Any, order: Any) -> Any:
    return jnp.take_along_axis(a, order[..., None, :], -1)


@converts(SVD)
@of_matrices
def svd(op: Any, node: Apply, trace: Trace, a: Any) -> list[Any]:
    """Singular values and vectors."""
    found = list(jnp.linalg.svd(a, full_matrices=op.full_matrices))
    _check_finite(op, node, trace, found[1], "the matrix has no decomposition")
    return found


@converts(CholeskyInverse)
@of_matrices
def cholesky_inverse(op: Any, node: Apply, trace: Trace, factor: Any) -> Any:
    """The inverse of a matrix by its factor; NaN where that is singular."""
    eye = jnp.broadcast_to(jnp.eye(factor.shape[-1], dtype=factor.dtype), factor.shape)
    half = triangular(factor, eye, lower=True)
    found = jnp.tril(triangular(factor, half, lower=True, adjoint=True))
    if _is_factor(node.inputs[0]):
        return found
    is_singular = jnp.any(jnp.diagonal(factor, 0, -2, -1) == 0, -1)[..., None, None]
    return jnp.where(is_singular, jnp.nan, found)


@converts(CholeskyUpdate)
@of_matrices
def cholesky_update(op: Any, node: Apply, trace: Trace, factor: Any, x: Any) -> Any:
    """Rotate the vector into one column after the other."""
    numbers = lax.iota("int64", x.shape[-1])

    def rotate(x: Any, given: tuple[Any, Any]) -> tuple[Any, tuple[Any, Any]]:
        number, column = given
        pivot = lax.dynamic_index_in_dim(column, number, -1)
        element = lax.dynamic_index_in_dim(x, number, -1)
        square = pivot * pivot + op.sign * element * element
        root = jnp.sqrt(square)
        below = (column + op.sign * (element / pivot) * x) / (root / pivot)
        rest = (root / pivot) * x - (element / pivot) * below
        turned = jnp.where(numbers > number, below, jnp.where(numbers == number, root, 0))
        return jnp.where(numbers > number, rest, x), (turned, square[..., 0])

    columns = jnp.moveaxis(jnp.tril(factor), -1, 0)
    _, (turned, squares) = lax.scan(rotate, x, (numbers, columns))
    are_positive = (squares > 0).all(0)
    _check(op, node, trace, are_positive, "the matrix is not positive definite after the update")
    return jnp.where(are_positive[..., None, None], jnp.moveaxis(turned, 0, -1), jnp.nan)


@converts(LUFactor)
@of_matrices
def lu_factor(op: Any, node: Apply, trace: Trace, a: Any) -> list[Any]:
    """The factors of a singular matrix are a result as well."""
    factors, pivots, order = lax.linalg.lu(a)
    return [factors, pivots.astype("int32"), order.astype("int64")]


@converts(PivotToPermutation)
@of_matrices
def pivot_to_permutation(op: Any, node: Apply, trace: Trace, pivots: Any) -> Any:
    """Exchanges as a permutation."""
    size = pivots.shape[-1]
    return lax.linalg.lu_pivots_to_permutation(pivots.astype("int32"), size).astype("int64")


@converts(PermuteRows)
@of_matrices
def permute_rows(op: Any, node: Apply, trace: Trace, rows: Any, x: Any) -> Any:
    """A gather of rows."""
    size = x.shape[-2]
    trace.check(
        (rows >= -size) & (rows < size),
        node,
        lambda: IndexError(f"{op}: the number of a row is out of range"),
    )
    return jnp.take_along_axis(x, jnp.where(rows < 0, rows + size, rows)[..., None], -2)
