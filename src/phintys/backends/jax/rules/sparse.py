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
from phintys.sparse.indexing import EntryPlaces
from phintys.sparse.parts import PlacesIn
from phintys.sparse.patterns import (
    PatternOp,
    ProductPattern,
    check_pattern,
    keys,
    multiplications,
    places,
    wrong_pattern,
)
from phintys.sparse.products import (
    EntryProduct,
    PatternProduct,
    ProductAtEntries,
    ProductByColumns,
    ProductByRows,
    ProductGradients,
    ProductOfRows,
    ProductWithPattern,
)
from phintys.sparse.type import INDEX

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.op import Op


@converts(PatternOp, EntryPlaces, PlacesIn)
def pattern(
    op: PatternOp | EntryPlaces | PlacesIn, node: Apply, trace: Trace, *inputs: Any
) -> list[Any]:
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


@converts(EntryProduct)
def entry_product(op: Any, node: Apply, trace: Trace, *inputs: Any) -> Any:
    """Add up the terms of each entry; which those are is found on the host."""
    *operands, indices, indptr, others, other_indptr, wanted, wanted_indptr, width = inputs
    if not all(is_known(value) for value in inputs[2:8]):
        raise NeedsKnownError(node, "the pattern of a sparse matrix", node.inputs[2:])
    _agree(node, len(indptr), len(wanted_indptr))
    counts = [len(indices), len(others), len(wanted)]
    for data, number in zip(operands, op.operands, strict=True):
        _agree(node, np.shape(data)[0], counts[number])
    output: Any = node.outputs[-1].type
    if output.dtype in {"bool", "float16"}:
        raise NotConvertedError
    (columns,) = trace.sizes(node, [width])
    first, second = (np.asarray(indices), np.asarray(indptr)), (others, other_indptr)
    check_pattern(op, *first, len(other_indptr) - 1)
    check_pattern(op, *second, columns)
    check_pattern(op, wanted, wanted_indptr, columns)
    left, right, into = multiplications(*first, *map(np.asarray, second))
    at = places(into, keys(np.asarray(wanted), np.asarray(wanted_indptr)))
    used = at < counts[2]
    terms = [numbers[used] for numbers in (left, right, at)]
    x, y = (
        jnp.asarray(data)[terms[number]] for data, number in zip(operands, op.operands, strict=True)
    )
    return jax.ops.segment_sum(x * y, terms[op.result], counts[op.result])


@converts(ProductWithPattern)
def product_with_pattern(
    op: ProductWithPattern, node: Apply, trace: Trace, x: Any, y: Any, *arrays: Any
) -> list[Any]:
    """Find the pattern on the host, and add up the terms of each entry."""
    *factors, _, width = arrays
    if not all(is_known(value) for value in arrays):
        raise NeedsKnownError(node, "the pattern of a sparse matrix", node.inputs[2:])
    found = ProductPattern().pattern(*arrays)
    made = [value.astype(INDEX) for value in found]
    elements = entry_product(ProductAtEntries(), node, trace, x, y, *factors, *made, width)
    return [*made, elements]


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
    return entries(op, node, trace, indices, indptr, columns)


def entries(
    op: Op, node: Apply, trace: Trace, indices: Any, indptr: Any, columns: int
) -> tuple[Any, Any, int]:
    """Return the column and the row of each entry of a pattern, and the number of rows."""
    indices, indptr = jnp.asarray(indices), jnp.asarray(indptr)
    if not indptr.shape[0]:
        raise MisfitError(node)
    rises = (indptr[0] == 0) & (indptr[-1] == indices.shape[0]) & (jnp.diff(indptr) >= 0).all()
    trace.check(rises, node, lambda: wrong_pattern(op, 1))
    trace.check((indices >= 0) & (indices < columns), node, lambda: wrong_pattern(op, 2))
    rows = jnp.searchsorted(indptr, jnp.arange(indices.shape[0]), side="right") - 1
    return indices, rows, indptr.shape[0] - 1


def _along_rows(data: Any, dense: Any) -> Any:
    data = jnp.asarray(data)
    return (data[:, None] if dense.ndim > 1 else data) * dense


def _agree(node: Apply, a: Any, b: Any) -> None:
    if a != b:
        raise MisfitError(node)
