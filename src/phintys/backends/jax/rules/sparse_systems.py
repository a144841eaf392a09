"""Systems, determinants and factors of sparse matrices, by dense matrices of as many rows.

JAX has no sparse factors. A dense matrix of :data:`_MOST_ROWS` rows has a size that every device
takes, and its factors are computed there in the time of a few products.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.linalg import LinAlgError

from phintys._base.records import record
from phintys.backends.jax.arrays import jnp, lax
from phintys.backends.jax.rules.linear_algebra import triangular
from phintys.backends.jax.rules.sparse import entries
from phintys.backends.jax.tracing import (
    MisfitError,
    NeedsKnownError,
    NotConvertedError,
    Trace,
    converts,
    is_known,
    makes_large,
)
from phintys.sparse.determinants import (
    InverseAtEntries,
    LogDet,
    LowerFactor,
    RootFactor,
    RootFactorGradient,
    SelectedInverse,
    lower_factor,
)
from phintys.sparse.factors import ROUNDING, Factorize, Factors
from phintys.sparse.solving import SolveByFactors, SolveTriangularMatrix

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.op import Op

_MOST_ROWS = 2048
"""The most rows of a matrix that is made dense: 32 MiB of float64."""


@record()
class DenseFactors:
    """What :class:`~phintys.sparse.factors.Factors` are in a program of JAX.

    Attributes
    ----------
    matrix
        The dense matrix.
    pattern
        The indices and ``indptr`` of the sparse one.
    factor
        The LU factors, or that of Cholesky of a positive definite matrix.
    exchanges, order
        The exchanges of rows, and the order of rows in which they result; ``None`` of a positive
        definite matrix.
    has_failed
        Whether there are no factors with which to solve.
    """

    matrix: Any
    pattern: tuple[Any, Any]
    factor: Any
    exchanges: Any
    order: Any
    has_failed: Any

    @property
    def is_positive(self) -> bool:
        """Whether the matrix is positive definite."""
        return self.order is None

    def check(self, node: Apply, trace: Trace) -> None:
        """State that there are factors."""
        problem = "not symmetric or not positive definite" if self.is_positive else "singular"
        trace.check(~self.has_failed, node, lambda: LinAlgError(f"The sparse matrix is {problem}."))

    def solve(self, b: Any, *, transposed: bool) -> Any:
        """Return the solutions for columns."""
        if self.is_positive:
            half = triangular(self.factor, b, lower=True)
            found = triangular(self.factor, half, lower=True, adjoint=True)
            return jnp.conj(found) if transposed else found
        if not transposed:
            half = triangular(self.factor, b[self.order], lower=True, unit=True)
            return triangular(self.factor, half, lower=False)
        half = triangular(self.factor, jnp.conj(b), lower=False, adjoint=True)
        rows = triangular(self.factor, half, lower=True, unit=True, adjoint=True)
        return jnp.conj(rows[jnp.argsort(self.order)])


def _dense(op: Op, node: Apply, trace: Trace, data: Any, indices: Any, indptr: Any) -> Any:
    """Return a square matrix of the format csc as a dense one."""
    size = np.shape(indptr)[0] - 1
    if size > _MOST_ROWS:
        raise NotConvertedError(f"its rule makes matrices of at most {_MOST_ROWS} rows dense")
    rows, columns, _ = entries(op, node, trace, indices, indptr, size)
    if np.shape(data) != rows.shape:
        raise MisfitError(node)
    data = jnp.asarray(data)
    return jnp.zeros((size, size), data.dtype).at[rows, columns].add(data)


def _at(op: Op, node: Apply, trace: Trace, x: Any, indices: Any, indptr: Any, order: Any) -> Any:
    """Return the elements of a symmetric matrix at entries, which an order numbers anew."""
    rows, columns, _ = entries(op, node, trace, indices, indptr, x.shape[0])
    order = jnp.asarray(order)
    if order.shape[0] != x.shape[0]:
        raise MisfitError(node)
    return x[order[rows], order[columns]]


@converts(Factorize)
@makes_large
def factorize(
    op: Any, node: Apply, trace: Trace, data: Any, indices: Any, indptr: Any, rows: Any
) -> DenseFactors:
    """Those who use the factors check them, as a singular matrix has a determinant."""
    if trace.sizes(node, [rows]) != (np.shape(indptr)[0] - 1,):
        raise MisfitError(node)
    matrix = _dense(op, node, trace, data, indices, indptr)
    return _factors(matrix, (indices, indptr), op.is_positive)


def _factors(matrix: Any, pattern: tuple[Any, Any], is_positive: bool) -> DenseFactors:
    if not matrix.shape[0]:
        order = None if is_positive else np.zeros(0, "int32")
        return DenseFactors(matrix, pattern, matrix, order, order, np.zeros((), bool))
    if not is_positive:
        factor, exchanges, order = lax.linalg.lu(matrix)
        pivots = jnp.diagonal(factor)
        has_failed = ((pivots == 0) | jnp.isnan(pivots)).any()
        return DenseFactors(matrix, pattern, factor, exchanges, order, has_failed)
    factor = lax.linalg.cholesky(matrix, symmetrize_input=False)
    away = jnp.abs(matrix - jnp.conj(matrix.T)).max()
    is_symmetric = away <= ROUNDING * jnp.abs(matrix).max()
    has_failed = ~jnp.isfinite(factor[-1, -1]) | ~is_symmetric
    return DenseFactors(matrix, pattern, factor, None, None, has_failed)


def _made(op: Op, node: Apply, trace: Trace, factors: Any) -> DenseFactors:
    """Return factors; those of constant matrices are objects of SciPy."""
    if isinstance(factors, DenseFactors):
        return factors
    constant = factors if isinstance(factors, Factors) else np.asarray(factors).item()
    data, *pattern = constant.arrays
    return _factors(_dense(op, node, trace, data, *pattern), (*pattern,), constant.is_positive)


@converts(SolveByFactors)
@makes_large
def solve_by_factors(
    op: Any, node: Apply, trace: Trace, factors: Any, data: Any, indices: Any, indptr: Any, b: Any
) -> Any:
    """Substitute in dense factors."""
    made = _made(op, node, trace, factors)
    if np.shape(b)[0] != made.matrix.shape[0]:
        raise MisfitError(node)
    made.check(node, trace)
    b = jnp.asarray(b)
    if not b.size:
        return b
    columns = b.reshape(b.shape[0], -1).astype(jnp.result_type(b, made.matrix))
    found = made.solve(columns, transposed=op.transposed)
    return found.reshape(b.shape).astype(b.dtype)


@converts(LogDet)
@makes_large
def log_det(op: Any, node: Apply, trace: Trace, factors: Any, data: Any, *pattern: Any) -> Any:
    """Multiply the pivots and the signs of the exchanges."""
    made = _made(op, node, trace, factors)
    pivots = jnp.diagonal(made.factor)
    logarithm = jnp.log(jnp.abs(pivots)).sum()
    if made.is_positive:
        made.check(node, trace)
        return [jnp.ones((), data.dtype), 2 * logarithm]
    count = (made.exchanges != jnp.arange(pivots.shape[0])).sum()
    sign = jnp.prod(pivots / jnp.abs(pivots)) * (1 - 2 * (count % 2))
    return [
        jnp.where(made.has_failed, 0, sign).astype(data.dtype),
        jnp.where(made.has_failed, -jnp.inf, logarithm),
    ]


@converts(InverseAtEntries)
@makes_large
def inverse_at_entries(
    op: Any, node: Apply, trace: Trace, factors: Any, data: Any, indices: Any, indptr: Any
) -> Any:
    """Read the dense inverse."""
    made = _made(op, node, trace, factors)
    size = made.matrix.shape[0]
    made.check(node, trace)
    rows, columns, count = entries(op, node, trace, indices, indptr, size)
    if count != size or np.shape(data) != rows.shape:
        raise MisfitError(node)
    if not size:
        return jnp.asarray(data)
    inverse = made.solve(jnp.eye(size, dtype=made.matrix.dtype), transposed=False)
    return inverse[columns, rows]


def _in_order(node: Apply, made: DenseFactors) -> tuple[Any, Any, Any]:
    """Return the Cholesky factor in the order of SciPy's factors, its pattern, and the order.

    The pattern and the order follow from the pattern of the matrix, which must be known.
    """
    indices, indptr = made.pattern
    if not (is_known(indices) and is_known(indptr)):
        factorized = node.inputs[0].owner
        variables = factorized.inputs[1:3] if factorized is not None else ()
        raise NeedsKnownError(node, "the pattern of a sparse matrix", variables)
    size = len(indptr) - 1
    columns = np.repeat(np.arange(size), np.diff(indptr))
    # Diagonally dominant, so that no element of the factor is 0 by chance.
    numbers = np.where(indices == columns, size + 1.0, -1.0)
    lower, _, order = lower_factor(Factors(numbers, indices, indptr, is_positive=True))
    order = np.asarray(order, "int64")
    old = np.argsort(order)
    factor = made.factor
    if size:
        factor = lax.linalg.cholesky(made.matrix[old][:, old], symmetrize_input=False)
    return factor, lower, order


@converts(RootFactor)
@makes_large
def root_factor(
    op: Any, node: Apply, trace: Trace, factors: Any, data: Any, *pattern: Any
) -> list[Any]:
    """Read the dense factor at the entries of the sparse one."""
    made = _made(op, node, trace, factors)
    made.check(node, trace)
    factor, lower, order = _in_order(node, made)
    columns = np.repeat(np.arange(len(order)), np.diff(lower.indptr))
    return _as_outputs(node, [factor[lower.indices, columns], lower.indices, lower.indptr, order])


@converts(LowerFactor)
@makes_large
def lower_factor_of(op: Any, node: Apply, trace: Trace, factors: Any, data: Any) -> list[Any]:
    """Scale the columns of the dense factor, and read it at the entries of the sparse one."""
    made = _made(op, node, trace, factors)
    made.check(node, trace)
    factor, lower, order = _in_order(node, made)
    roots = jnp.diagonal(factor)
    columns = np.repeat(np.arange(len(order)), np.diff(lower.indptr))
    elements = factor[lower.indices, columns] / roots[columns]
    found = [elements, lower.indices, lower.indptr, roots * roots, order]
    return _as_outputs(node, found)


def _as_outputs(node: Apply, values: list[Any]) -> list[Any]:
    types: list[Any] = [output.type for output in node.outputs]
    return [value.astype(type_.dtype) for value, type_ in zip(values, types, strict=True)]


@converts(SelectedInverse)
@makes_large
def selected_inverse(op: Any, node: Apply, trace: Trace, *inputs: Any) -> Any:
    """Invert the dense factor."""
    elements, rows, starts, pivots, order, indices, indptr = inputs
    factor = _dense(op, node, trace, elements, rows, starts)
    if np.shape(pivots)[0] != factor.shape[0]:
        raise MisfitError(node)
    if not factor.shape[0]:
        return jnp.asarray(elements)
    inverse = triangular(factor, jnp.eye(factor.shape[0], dtype=factor.dtype), lower=True)
    product = jnp.matmul(inverse.T / pivots, inverse, precision="highest")
    return _at(op, node, trace, product, indices, indptr, order)


@converts(RootFactorGradient)
@makes_large
def root_factor_gradient(op: Any, node: Apply, trace: Trace, *inputs: Any) -> Any:
    """The adjoint of the dense factorization (Murray, 2016)."""
    gradient, elements, rows, starts, order, indices, indptr = inputs
    factor = _dense(op, node, trace, elements, rows, starts)
    if not factor.shape[0]:
        return jnp.zeros(np.shape(indices), factor.dtype)
    slope = _dense(op, node, trace, gradient, rows, starts)
    moved = jnp.matmul(factor.T, slope, precision="highest")
    moved = jnp.tril(moved) - jnp.diag(jnp.diagonal(moved)) / 2
    half = triangular(factor, moved, lower=True, adjoint=True)
    found = triangular(factor, half.T, lower=True, adjoint=True)
    return _at(op, node, trace, (found + found.T) / 2, indices, indptr, order)


@converts(SolveTriangularMatrix)
@makes_large
def solve_triangular_matrix(
    op: Any, node: Apply, trace: Trace, data: Any, indices: Any, indptr: Any, b: Any
) -> Any:
    """Substitute in a dense triangle."""
    matrix = _dense(op, node, trace, data, indices, indptr)
    if np.shape(b)[0] != matrix.shape[0]:
        raise MisfitError(node)
    if not op.unit_diagonal:
        message = "The triangular sparse matrix is singular: its diagonal has a zero."
        trace.check(jnp.diagonal(matrix) != 0, node, lambda: LinAlgError(message))
    b = jnp.asarray(b)
    if not b.size:
        return b
    columns = b.reshape(b.shape[0], -1).astype(jnp.result_type(b, matrix))
    if op.transposed:
        matrix = matrix.T
    is_lower = op.lower != op.transposed
    found = triangular(matrix, columns, lower=is_lower, unit=op.unit_diagonal)
    return found.reshape(b.shape).astype(b.dtype)
