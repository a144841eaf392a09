"""Lowering of products of sparse with dense matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.backends.native.expressions import Literal
from phintys.backends.native.failures import Failure, OwnFailure
from phintys.backends.native.lower.families import lowers
from phintys.backends.native.lower.lowering import Lowering, NotLowered
from phintys.backends.native.routines.sparse_products import (
    BY_COLUMNS,
    BY_ROWS,
    GRADIENTS,
    OF_ROWS,
)
from phintys.backends.native.steps.call import LibraryCall
from phintys.graph.apply import Apply
from phintys.graph.variable import Constant
from phintys.sparse.patterns import problem_of
from phintys.sparse.products import (
    ProductByColumns,
    ProductByRows,
    ProductGradients,
    ProductOfRows,
)
from phintys.tensor.convert import constant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.lower.view import View
    from phintys.backends.native.routines.sparse_products import SparseProduct
    from phintys.backends.native.sizes import Size
    from phintys.graph.variable import Variable


@lowers(ProductByRows)
def lower_product_by_rows(op: ProductByRows, node: Apply, lowering: Lowering) -> None:
    """A call; the columns are the rows of the dense operand."""
    _lower(BY_ROWS, node, lowering)


@lowers(ProductByColumns)
def lower_product_by_columns(op: ProductByColumns, node: Apply, lowering: Lowering) -> None:
    """Zeros, and a call that adds to them."""
    _lower(BY_COLUMNS, node, lowering)


@lowers(ProductOfRows)
def lower_product_of_rows(op: ProductOfRows, node: Apply, lowering: Lowering) -> None:
    """A call."""
    _lower(OF_ROWS, node, lowering)


def _lower(routine: SparseProduct, node: Apply, lowering: Lowering) -> None:
    sizes = lowering.sizes
    first, second, indices, indptr = (lowering.view(variable) for variable in node.inputs[:4])
    check_dtype(second)
    nnz = sizes.canonical(indices.sizes[0])
    one = sizes.fixed(1)
    m = sizes.sub(sizes.canonical(indptr.sizes[0]), one)
    lowering.require_length(m, Failure(node, "starts", "indptr must not be empty"))
    k = one if second.ndim == 1 else sizes.canonical(second.sizes[1])
    if routine is OF_ROWS:
        if second.ndim == 2:
            failure = Failure(node, "columns", "{0} and {1} columns of the operands")
            lowering.require_equal(first.sizes[1], k, failure)
        rows, n, shape = first.sizes[0], second.sizes[0], [nnz]
    else:
        failure = Failure(node, "elements", "{0} elements for {1} indices")
        lowering.require_equal(first.sizes[0], nnz, failure)
        rows, n, shape = m, second.sizes[0], [m, *second.sizes[1:]]
    if routine is BY_COLUMNS:
        rows, n = second.sizes[0], lowering.size_of(node.inputs[4])
        lowering.require_length(n, Failure(node, "columns", "{0} columns"))
        shape = [n, *second.sizes[1:]]
    lowering.require_equal(rows, m, Failure(node, "rows", "{0} rows for {1} of the pattern"))
    arrays = tuple(
        lowering.contiguous(view, node).array for view in (first, second, indices, indptr)
    )
    is_checked = is_right(node.inputs[2:4], sizes.canonical(n))
    is_vector = k.known == 1  # or a matrix of one column, which is the same in memory
    if is_checked and is_vector and routine is not BY_ROWS:
        arrays += (lowering.view(_rows_of_entries(node.inputs[3])).array,)
    options = {"m": m, "n": n, "nnz": nnz, "k": k}
    options |= {"vector": is_vector, "is_checked": is_checked}
    target, loops = lowering.compute(node.outputs[0], shape)
    if routine is BY_COLUMNS:
        dtype = target.array.dtype
        lowering.store(target, Literal(dtype.type(0), dtype), loops, nodes=(node,))
    failure = None if is_checked else OwnFailure(node, "pattern", error=IndexError)
    call = LibraryCall(routine, arrays, (target.array,), options, node, failure=failure)
    lowering.steps.append(call)


@lowers(ProductGradients)
def lower_product_gradients(op: ProductGradients, node: Apply, lowering: Lowering) -> None:
    """A call that writes products, and adds to zeros."""
    sizes = lowering.sizes
    data, x, y, indices, indptr = (lowering.view(variable) for variable in node.inputs[:5])
    check_dtype(data)
    nnz, known = (sizes.canonical(view.sizes[0]) for view in (indices, x))
    n = lowering.size_of(node.inputs[5])
    lowering.require_length(n, Failure(node, "columns", "{0} columns"))
    least = sizes.arithmetic("min", n, known)
    m = sizes.sub(sizes.canonical(indptr.sizes[0]), sizes.fixed(1))
    lowering.require_length(m, Failure(node, "starts", "indptr must not be empty"))
    failure = Failure(node, "elements", "{0} elements for {1} indices")
    lowering.require_equal(data.sizes[0], nnz, failure)
    failure = Failure(node, "rows", "{0} rows for {1} of the pattern")
    lowering.require_equal(y.sizes[0], m, failure)
    views = (data, y, indices, indptr, x)
    arrays = tuple(lowering.contiguous(view, node).array for view in views)
    is_checked = is_right(node.inputs[3:5], least)
    if is_checked:
        arrays += (lowering.view(_rows_of_entries(node.inputs[4])).array,)
    options = {"m": m, "n": least, "nnz": nnz, "k": sizes.fixed(1)}
    options |= {"vector": True, "is_checked": is_checked}
    elements, _ = lowering.compute(node.outputs[0], [nnz])
    sums, loops = lowering.compute(node.outputs[1], [n])
    dtype = sums.array.dtype
    lowering.store(sums, Literal(dtype.type(0), dtype), loops, nodes=(node,))
    failure = None if is_checked else OwnFailure(node, "pattern", error=IndexError)
    outputs = elements.array, sums.array
    call = LibraryCall(GRADIENTS, arrays, outputs, options, node, failure=failure)
    lowering.steps.append(call)


def check_dtype(view: View) -> None:
    """Refuse elements that native code does not add up."""
    if view.array.dtype.kind == "b" or view.array.dtype.name == "float16":
        msg = f"no native products of {view.array.dtype}"
        raise NotLowered(msg)


def is_right(pattern: Sequence[Variable], columns: Size) -> bool:
    """Return whether the pattern is known, and was found to be right."""
    indices, indptr = pattern
    if not isinstance(indices, Constant) or not isinstance(indptr, Constant):
        return False
    known = columns.known
    return known is not None and not problem_of(indices.data, indptr.data, known)


def _rows_of_entries(indptr: Any) -> Any:
    """Return the row of each entry of a known pattern: one constant for all nodes that need it."""
    known = getattr(indptr.tag, "rows_of_entries", None)
    if known is None:
        counts = np.diff(indptr.data)
        known = constant(np.repeat(np.arange(len(counts), dtype="int32"), counts))
        indptr.tag.rows_of_entries = known
    return known
