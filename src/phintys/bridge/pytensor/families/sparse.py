"""Ops of sparse matrices."""
# PyTensor need not be installed.
# pyright: reportMissingImports=false

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from pytensor.sparse import basic, math
from pytensor.sparse.linalg import SparseBlockDiagonal

import phintys.tensor as pt
from phintys import sparse
from phintys.bridge.pytensor.conversion import convert_op
from phintys.graph.variable import Constant
from phintys.sparse.parts import ElementsAt, from_arrays
from phintys.sparse.patterns import keys, problem_of
from phintys.sparse.products import ProductOfRows
from phintys.sparse.type import LIMIT


def _same_inputs(function: Any, op: Any, node: Any, *inputs: Any) -> Any:
    return function(*inputs)


def _registered(function: Any, *classes: Any) -> None:
    """Convert Ops by a function that takes the same inputs."""
    convert = partial(_same_inputs, function)
    convert.__module__ = __name__  # by which tools.bridge_ops tells what is converted
    for cls in classes:
        convert_op.register(cls, convert)


_registered(sparse.csm_properties, basic.CSMProperties)
_registered(sparse.dense_from_sparse, basic.DenseFromSparse)
_registered(sparse.get_item_list, basic.GetItemList)
_registered(sparse.get_item_2lists, basic.GetItem2Lists)
_registered(sparse.transpose, basic.Transpose)
_registered(sparse.col_scale, basic.ColScaleCSC, math.MultiplySparseDenseVector)
_registered(sparse.row_scale, basic.RowScaleCSC)
_registered(sparse.diag, basic.Diag)
_registered(sparse.ensure_sorted_indices, basic.EnsureSortedIndices)
_registered(sparse.remove0, basic.Remove0)
_registered(sparse.add, math.AddSparseSparse, math.AddSparseDense)
_registered(sparse.add_s_s_data, math.AddSparseSparseData)
_registered(sparse.structured_add_s_v, math.StructuredAddSparseDenseVector)
_registered(sparse.mul, math.MultiplySparseSparse, math.MultiplySparseDense)
_registered(sparse.dot, math.StructuredDot)
_registered(sparse.sampling_dot, math.SamplingDot)
_registered(sparse.usmm, math.Usmm)
_registered(sparse.eq, math.EqualSparseSparse, math.EqualSparseDense)
_registered(sparse.neq, math.NotEqualSparseSparse, math.NotEqualSparseDense)
_registered(sparse.lt, math.LessThanSparseSparse, math.LessThanSparseDense)
_registered(sparse.gt, math.GreaterThanSparseSparse, math.GreaterThanSparseDense)
_registered(sparse.le, math.LessEqualSparseSparse, math.LessEqualSparseDense)
_registered(sparse.ge, math.GreaterEqualSparseSparse, math.GreaterEqualSparseDense)


# ---- between sparse matrices and tensors ---------------------------------------------------------


@convert_op.register(basic.CSM)
def _from_parts(op: Any, node: Any, data: Any, indices: Any, indptr: Any, shape: Any) -> Any:
    order = _order_of(indices, indptr)
    if order is not None:
        data, indices = data[order], pt.constant(indices.data[order])
    return sparse.from_parts(data, indices, indptr, shape, op.format)


@convert_op.register(basic.CSMGrad)
def _elements_of_gradient(op: Any, node: Any, *inputs: Any) -> Any:
    _, indices, indptr, _, gradient, of_indices, of_indptr, _ = inputs
    order = _order_of(indices, indptr)
    if order is not None:
        indices = pt.constant(indices.data[order])
    found = ElementsAt()(gradient, of_indices, of_indptr, indices, indptr)
    return found if order is None else found[np.argsort(order)]


def _order_of(indices: Any, indptr: Any) -> Any:
    """Return the order that sorts the entries of a constant pattern, if they are not sorted."""
    if not isinstance(indices, Constant) or not isinstance(indptr, Constant):
        return None
    if problem_of(indices.data, indptr.data, LIMIT):
        return None
    order = np.argsort(keys(indices.data, indptr.data), kind="stable")
    return None if (order == np.arange(order.size)).all() else order


@convert_op.register(basic.SparseFromDense)
def _from_dense(op: Any, node: Any, x: Any) -> Any:
    return _made_sparse(x, op.format)


def _made_sparse(x: Any, format: str) -> Any:
    return sparse.csr_from_dense(x) if format == "csr" else sparse.csc_from_dense(x)


@convert_op.register(basic.Cast)
def _cast(op: Any, node: Any, x: Any) -> Any:
    return sparse.cast(x, op.out_type)


@convert_op.register(basic.ConstructSparseFromList)
def _from_list(op: Any, node: Any, shape: Any, values: Any, rows: Any) -> Any:
    return sparse.construct_sparse_from_list(pt.zeros((shape[0], shape[1])), values, rows)


@convert_op.register(basic.HStack)
def _beside(op: Any, node: Any, *blocks: Any) -> Any:
    return sparse.hstack(blocks, op.format, op.dtype)


@convert_op.register(basic.VStack)
def _on_top(op: Any, node: Any, *blocks: Any) -> Any:
    return sparse.vstack(blocks, op.format, op.dtype)


@convert_op.register(SparseBlockDiagonal)
def _block_diagonal(op: Any, node: Any, *blocks: Any) -> Any:
    made = [one if sparse.is_sparse(one) else sparse.csr_from_dense(one) for one in blocks]
    return sparse.block_diag(*made, format=op.format)


# ---- elements and parts --------------------------------------------------------------------------


@convert_op.register(basic.GetItem2d)
def _part(op: Any, node: Any, x: Any, *bounds: Any) -> Any:
    return sparse.get_item_2d(x, (slice(*bounds[:3]), slice(*bounds[3:])))


@convert_op.register(basic.GetItemScalar)
def _element(op: Any, node: Any, x: Any, row: Any, column: Any) -> Any:
    return sparse.get_item_scalar(x, (row, column))


@convert_op.register(basic.GetItemListGrad)
def _of_rows(op: Any, node: Any, x: Any, rows: Any, gradient: Any) -> Any:
    size, count = x.shape[0], rows.shape[0]
    # A matrix with a 1 in each column puts rows in their places; those named twice are added up.
    ones = pt.ones((count,), dtype=gradient.dtype)
    chosen = (_from_the_front(rows, size), pt.arange(count + 1))
    return sparse.dot(from_arrays(ones, *chosen, (size, count), "csc").variable, gradient)


@convert_op.register(basic.GetItem2ListsGrad)
def _of_elements(op: Any, node: Any, x: Any, rows: Any, columns: Any, gradient: Any) -> Any:
    height, width = x.shape
    at = _from_the_front(rows, height) * width + _from_the_front(columns, width)
    places, into = pt.unique(at, return_inverse=True)
    sums = pt.segment_sum(gradient, into, places.shape[0])
    starts = pt.searchsorted(places // width, pt.arange(height + 1))
    return from_arrays(sums, places % width, starts, (height, width)).variable


def _from_the_front(places: Any, size: Any) -> Any:
    places = pt.cast(places, "int64")
    return pt.switch(places < 0, places + size, places)


# ---- sums and products ---------------------------------------------------------------------------


@convert_op.register(math.SpSum)
def _sum(op: Any, node: Any, x: Any) -> Any:
    return sparse.sp_sum(x, op.axis)


@convert_op.register(math.Dot)
def _dense_product(op: Any, node: Any, x: Any, y: Any) -> Any:
    return _made_dense(sparse.dot(x, y))


def _made_dense(x: Any) -> Any:
    return sparse.dense_from_sparse(x) if sparse.is_sparse(x) else x


@convert_op.register(math.TrueDot)
def _sparse_product(op: Any, node: Any, x: Any, y: Any) -> Any:
    product = sparse.dot(x, y)
    return product if sparse.is_sparse(product) else _made_sparse(product, x.format)


@convert_op.register(math.StructuredDotGradCSR)
def _gradient_of_csr(op: Any, node: Any, indices: Any, indptr: Any, y: Any, gradient: Any) -> Any:
    return ProductOfRows()(_made_dense(gradient), _made_dense(y), indices, indptr)


@convert_op.register(math.StructuredDotGradCSC)
def _gradient_of_csc(op: Any, node: Any, indices: Any, indptr: Any, y: Any, gradient: Any) -> Any:
    return ProductOfRows()(_made_dense(y), _made_dense(gradient), indices, indptr)
