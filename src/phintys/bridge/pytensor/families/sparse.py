"""Products with sparse matrices whose pattern is constant.

What is made of constant matrices alone is computed when a graph is converted; other Ops of sparse
matrices are callbacks.
"""
# PyTensor need not be installed.
# pyright: reportMissingImports=false

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from pytensor.sparse.basic import CSM
from pytensor.sparse.math import AddSparseDense, Dot, StructuredDot

import phintys.tensor as pt
from phintys.bridge.pytensor.callback import PyTensorOp
from phintys.bridge.pytensor.conversion import convert_sparse, is_sparse
from phintys.graph.variable import Constant

_DENSE = 16
"""A matrix that stores more than one element in this many is multiplied as a dense one: BLAS adds
as many products while one is looked up."""

_MOST_DENSE = 1 << 20
"""Number of elements of the largest such matrix."""


class _Matrix(NamedTuple):
    """A sparse matrix by its elements, whose places are known."""

    elements: Any
    rows: np.ndarray[Any, Any]
    columns: np.ndarray[Any, Any]
    shape: tuple[int, ...]

    @property
    def transposed(self) -> _Matrix:
        """The transpose."""
        return _Matrix(self.elements, self.columns, self.rows, self.shape[::-1])

    def dense(self) -> Any:
        """Return the matrix as a tensor."""
        zeros = pt.zeros(self.shape, dtype=self.elements.dtype)
        return zeros[self.rows, self.columns].inc(self.elements)

    def times(self, x: Any) -> Any:
        """Return the product with a vector or matrix."""
        height, width = self.shape
        if height * width <= min(_MOST_DENSE, _DENSE * self.rows.size):
            return pt.dot(self.dense(), x)
        x = pt.specify_shape(x, (width, *(None,) * (x.ndim - 1)))
        elements = self.elements if x.ndim == 1 else self.elements[:, None]
        return pt.segment_sum(elements * x[self.columns], self.rows, height)


def _matrix(given: Any) -> _Matrix | None:
    """Return a sparse matrix whose pattern is constant."""
    if isinstance(given, Constant):
        found: Any = given.data.tocoo()
        return _Matrix(pt.constant(found.data), found.row, found.col, found.shape)
    node = given.owner
    if node is None or not isinstance(node.op, PyTensorOp) or not isinstance(node.op.op, CSM):
        return None
    elements, *pattern = node.inputs
    if not all(isinstance(one, Constant) for one in pattern):
        return None
    inner, ends, sizes = (np.asarray(one.data) for one in pattern)
    outer = np.repeat(np.arange(ends.size - 1), np.diff(ends))
    shape = tuple(sizes.tolist())
    rows, columns = (outer, inner) if node.op.op.format == "csr" else (inner, outer)
    return _Matrix(elements, rows, columns, shape)


@convert_sparse.register(Dot)
@convert_sparse.register(StructuredDot)
def _product(op: Any, node: Any, x: Any, y: Any) -> Any:
    if not is_sparse(y):
        left = _matrix(x)
        return PyTensorOp(node)(x, y) if left is None else left.times(y)
    right = None if is_sparse(x) else _matrix(y)
    return PyTensorOp(node)(x, y) if right is None else right.transposed.times(x.T).T


@convert_sparse.register(AddSparseDense)
def _sum(op: Any, node: Any, x: Any, y: Any) -> Any:
    matrix = _matrix(x)
    return PyTensorOp(node)(x, y) if matrix is None else matrix.dense() + y
