"""Products along patterns of sparse matrices, and patterns, which are computed beforehand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.backends.jax.arrays import jax, jnp
from phintys.backends.jax.tracing import (
    MisfitError,
    NeedsKnownError,
    NotConvertedError,
    Trace,
    converts,
    is_known,
    makes_large,
    perform,
)
from phintys.sparse.parts import keys, places
from phintys.sparse.patterns import PatternOp, check_pattern, multiplications
from phintys.sparse.products import (
    PatternProduct,
    ProductAtEntries,
    ProductByColumns,
    ProductByRows,
    ProductGradients,
    ProductOfRows,
)

if TYPE_CHECKING:
    from phintys.graph.apply import Apply


@converts(PatternOp)
def pattern(op: PatternOp, node: Apply, trace: Trace, *inputs: Any) -> list[Any]:
    """Known patterns give known ones: how many entries a result has depends on all of them."""
    if not all(is_known(value) for value in inputs):
        raise NeedsKnownError(node, "the pattern of a sparse matrix", node.inputs)
    return perform(node, inputs)


@converts(ProductByRows)
@makes_large
def product_by_rows(op: Any, node: Apply, trace: Trace, data: Any, x: Any, *arrays: Any) -> Any:
    """Sum the products of each row."""
    indices, rows, count = _pattern(op, node, trace, *arrays, columns=np.shape(x)[0])
    _agree(node, np.shape(data)[0], np.shape(indices)[0])
    terms = _along_rows(data, jnp.asarray(x)[indices])
    return jax.ops.segment_sum(terms, rows, count, indices_are_sorted=True)


@converts(ProductByColumns)
@makes_large
def product_by_columns(op: Any, node: Apply, trace: Trace, data: Any, y: Any, *arrays: Any) -> Any:
    """Sum the products of each column."""
    (columns,) = trace.sizes(node, arrays[2:])
    indices, rows, count = _pattern(op, node, trace, *arrays[:2], columns=columns)
    _agree(node, np.shape(y)[0], count)
    _agree(node, np.shape(data)[0], np.shape(indices)[0])
    return jax.ops.segment_sum(_along_rows(data, jnp.asarray(y)[rows]), indices, columns)


@converts(ProductOfRows)
@makes_large
def product_of_rows(op: Any, node: Apply, trace: Trace, y: Any, x: Any, *arrays: Any) -> Any:
    """Multiply rows at the entries."""
    indices, rows, count = _pattern(op, node, trace, *arrays, columns=np.shape(x)[0])
    _agree(node, np.shape(y)[0], count)
    _agree(node, np.shape(y)[1:], np.shape(x)[1:])
    products = jnp.asarray(y)[rows] * jnp.asarray(x)[indices]
    return products if products.ndim == 1 else products.sum(axis=1)


@converts(ProductGradients)
@makes_large
def product_gradients(
    op: Any, node: Apply, trace: Trace, data: Any, x: Any, y: Any, *arrays: Any
) -> list[Any]:
    """Multiply at the entries, and sum the products of each column."""
    (columns,) = trace.sizes(node, arrays[2:])
    least = min(columns, np.shape(x)[0])
    indices, rows, count = _pattern(op, node, trace, *arrays[:2], columns=least)
    _agree(node, np.shape(y)[0], count)
    _agree(node, np.shape(data)[0], np.shape(indices)[0])
    factors = jnp.asarray(y)[rows]
    return [
        factors * jnp.asarray(x)[indices],
        jax.ops.segment_sum(jnp.asarray(data) * factors, indices, columns),
    ]


@converts(ProductAtEntries)
def product_at_entries(op: Any, node: Apply, trace: Trace, x: Any, y: Any, *arrays: Any) -> Any:
    """Add up the terms of each entry; which those are is found on the host."""
    *patterns, width = arrays
    if not all(is_known(value) for value in patterns):
        raise NeedsKnownError(node, "the pattern of a sparse matrix", node.inputs[2:])
    indices, indptr, others, other_indptr, wanted, wanted_indptr = map(np.asarray, patterns)
    _agree(node, len(indptr), len(wanted_indptr))
    for data, pattern in ((x, indices), (y, others)):
        _agree(node, np.shape(data)[0], len(pattern))
    if node.outputs[0].type.dtype in {"bool", "float16"}:
        raise NotConvertedError
    (columns,) = trace.sizes(node, [width])
    check_pattern(op, indices, indptr, len(other_indptr) - 1)
    check_pattern(op, others, other_indptr, columns)
    check_pattern(op, wanted, wanted_indptr, columns)
    left, right, into = multiplications(indices, indptr, others, other_indptr)
    at = places(into, keys(wanted, wanted_indptr))
    terms = jnp.asarray(x)[left] * jnp.asarray(y)[right]
    return jax.ops.segment_sum(terms, at, len(wanted) + 1)[: len(wanted)]


def _pattern(
    op: PatternProduct | ProductGradients,
    node: Apply,
    trace: Trace,
    indices: Any,
    indptr: Any,
    columns: int,
) -> tuple[Any, Any, int]:
    """Return the column and the row of each entry, and the number of rows."""
    output: Any = node.outputs[0].type
    if output.dtype in {"bool", "float16"}:
        raise NotConvertedError
    indices, indptr = jnp.asarray(indices), jnp.asarray(indptr)
    if not indptr.shape[0]:
        raise MisfitError(node)
    rises = (indptr[0] == 0) & (indptr[-1] == indices.shape[0]) & (jnp.diff(indptr) >= 0).all()
    trace.check(rises, node, lambda: op.error(1, 0))
    trace.check((indices >= 0) & (indices < columns), node, lambda: op.error(2, 0))
    rows = jnp.searchsorted(indptr, jnp.arange(indices.shape[0]), side="right") - 1
    return indices, rows, indptr.shape[0] - 1


def _along_rows(data: Any, dense: Any) -> Any:
    data = jnp.asarray(data)
    return (data[:, None] if dense.ndim > 1 else data) * dense


def _agree(node: Apply, a: Any, b: Any) -> None:
    if a != b:
        raise MisfitError(node)
