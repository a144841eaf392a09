"""Products of a sparse matrix with dense vectors and matrices, row by row of its pattern.

Three Ops are the derivatives of each other. With the elements ``d`` and the pattern of a csr matrix
``A``, and dense ``x`` and ``y``, which are vectors or matrices:

- ``ProductByRows``: ``A @ x``, a sum for each row;
- ``ProductByColumns``: ``A.T @ y``, to which each row adds;
- ``ProductOfRows``: ``(y @ x.T)[i, j]`` for the entries of A alone.

``ProductGradients`` computes the last two in one pass over the pattern. :class:`EntryProduct` has
three such Ops for the product of two sparse matrices, whose pattern is known before.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

import phintys.tensor as pt
from phintys._base.errors import ShapeError
from phintys.graph.apply import Apply
from phintys.graph.null_type import disconnected_type
from phintys.graph.op import Op
from phintys.sparse.patterns import ProductPattern, check_pattern, keys, places, wrong_pattern
from phintys.sparse.type import INDEX, sp
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.creation import check_room
from phintys.tensor.known import known_int
from phintys.tensor.shape_rules import ShapedOp
from phintys.tensor.sizes import as_size
from phintys.tensor.type import TensorType

_SUMMED_AS = {"bool": "int64", "float16": "float32"}


class PatternProduct(Op):
    """An Op on a pattern, ``(indices, indptr)``, and two operands of one dtype.

    Inputs are two operands, the indices, ``indptr``, and further sizes.
    """

    __props__ = ()
    dense: ClassVar[tuple[int, ...]]
    """The positions of the dense operands, of one rank, 1 or 2."""

    def make_node(self, first: Any, second: Any, indices: Any, indptr: Any, *sizes: Any) -> Apply:
        """Build a node; operands are cast to their common dtype."""
        operands = [as_tensor_variable(v) for v in (first, second)]
        dtype = pt.promote_types(operands[0].dtype, operands[1].dtype)
        operands = [v if v.dtype == dtype else pt.cast(v, dtype) for v in operands]
        pattern = [pt.cast(as_tensor_variable(v), INDEX) for v in (indices, indptr)]
        dense = [operands[at] for at in self.dense]
        ranks = {v.ndim for v in dense}
        if not ranks <= {1, 2} or len(ranks) > 1:
            msg = f"{self}: dense operands must be vectors or matrices, got {dense}."
            raise ShapeError(msg)
        inputs = [*operands, *pattern, *(as_size(size, "A size") for size in sizes)]
        shape = self.shape_of([v.type.shape for v in inputs], [known_int(v) for v in inputs[4:]])
        return Apply(self, inputs, [TensorType(dtype, shape)()])

    def shape_of(self, shapes: Any, sizes: Any) -> tuple[Any, ...]:
        """Return the shape of the result, given those of the inputs and the further sizes."""
        raise NotImplementedError

    def infer_shape(self, fgraph: Any, node: Apply, input_shapes: Any) -> list[Any]:
        """Return the shape of the result."""
        return [self.shape_of(input_shapes, node.inputs[4:])]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """The operands have derivatives, the pattern has none."""
        return [[at < 2] for at in range(len(node.inputs))]

    def L_op(self, inputs: Any, outputs: Any, output_grads: Any) -> list[Any]:
        """Return the gradients of both operands, by the other two Ops."""
        return [
            *self.gradients(inputs, output_grads[0]),
            *(disconnected_type() for _ in inputs[2:]),
        ]

    def gradients(self, inputs: Any, gradient: Any) -> list[Any]:
        """Return the gradients of the two operands."""
        raise NotImplementedError

    def R_op(self, inputs: Any, eval_points: Any) -> list[Any]:
        """Return the sum over the operands: it is linear in each of them."""
        first, second, *rest = inputs
        terms = [
            self(*operands, *rest)
            for tangent, operands in (
                (eval_points[0], (eval_points[0], second)),
                (eval_points[1], (first, eval_points[1])),
            )
            if tangent is not None
        ]
        return [pt.add(*terms) if len(terms) > 1 else terms[0] if terms else None]

    def error(self, number: int, _: int) -> Exception:
        """Return the error of a pattern that native code found to be wrong."""
        return wrong_pattern(self, number)

    def check_rows(self, dense: Any, indptr: Any) -> None:
        """Check that a dense operand has as many rows as the pattern."""
        if len(dense) != len(indptr) - 1:
            msg = f"{self}: {len(dense)} rows of the operand for {len(indptr) - 1} of the pattern."
            raise ShapeError(msg)


class ProductByRows(PatternProduct):
    """``(data, x, indices, indptr)``: the product ``A @ x`` of a csr matrix.

    Examples
    --------
    >>> from phintys.sparse.products import ProductByRows
    >>> ProductByRows()([1.0, 2.0], [3.0, 4.0], [1, 0], [0, 1, 2]).eval()
    array([4., 6.])
    """

    dense = (1,)

    def shape_of(self, shapes: Any, sizes: Any) -> tuple[Any, ...]:
        """Return a row for each row of the pattern."""
        starts = shapes[3][0]
        return (None if starts is None else starts - 1, *shapes[1][1:])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        """Multiply with SciPy."""
        data, x, indices, indptr = inputs
        result = matrix(self, data, indices, indptr, len(x)) @ x
        output_storage[0][0] = np.asarray(result, inputs[1].dtype)

    def gradients(self, inputs: Any, gradient: Any) -> list[Any]:
        """Return products of rows at the entries, and the product with the transpose."""
        data, x, *pattern = inputs
        return [
            ProductOfRows()(gradient, conj(x), *pattern),
            ProductByColumns()(conj(data), gradient, *pattern, x.shape[0]),
        ]


class ProductByColumns(PatternProduct):
    """``(data, y, indices, indptr, columns)``: the product ``A.T @ y`` of a csr matrix.

    Examples
    --------
    >>> from phintys.sparse.products import ProductByColumns
    >>> ProductByColumns()([1.0, 2.0], [3.0, 4.0], [1, 1], [0, 1, 2], 3).eval()
    array([ 0., 11.,  0.])
    """

    dense = (1,)

    def shape_of(self, shapes: Any, sizes: Any) -> tuple[Any, ...]:
        """Return a row for each column of the matrix."""
        return (sizes[0], *shapes[1][1:])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        """Multiply with SciPy."""
        data, y, indices, indptr, columns = inputs
        self.check_rows(y, indptr)
        check_room(self, (int(columns), *y.shape[1:]), y.dtype)
        result = matrix(self, data, indices, indptr, int(columns)).T @ y
        output_storage[0][0] = np.asarray(result, inputs[1].dtype)

    def gradients(self, inputs: Any, gradient: Any) -> list[Any]:
        """Return products of rows at the entries, and the product itself."""
        data, y, *pattern, _ = inputs
        return [
            ProductOfRows()(conj(y), gradient, *pattern),
            ProductByRows()(conj(data), gradient, *pattern),
        ]


class ProductOfRows(PatternProduct):
    """``(y, x, indices, indptr)``: ``sum(y[i] * x[j])`` for each entry, of row i and column j.

    Examples
    --------
    >>> from phintys.sparse.products import ProductOfRows
    >>> ProductOfRows()([3.0, 4.0], [5.0, 6.0], [1, 0], [0, 1, 2]).eval()
    array([18., 20.])
    """

    dense = (0, 1)

    def shape_of(self, shapes: Any, sizes: Any) -> tuple[Any, ...]:
        """Return an element for each entry."""
        return (shapes[2][0],)

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        """Multiply rows."""
        y, x, indices, indptr = inputs
        self.check_rows(y, indptr)
        matrix(self, indices, indices, indptr, len(x))
        rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        products = y[rows] * x[indices]
        result = products if y.ndim == 1 else products.sum(axis=1)
        output_storage[0][0] = np.asarray(result, inputs[1].dtype)

    def gradients(self, inputs: Any, gradient: Any) -> list[Any]:
        """Return the products of a matrix with the gradients as elements."""
        y, x, *pattern = inputs
        return [
            ProductByRows()(gradient, conj(x), *pattern),
            ProductByColumns()(gradient, conj(y), *pattern, x.shape[0]),
        ]


class ProductGradients(ShapedOp):
    """``(data, x, y, indices, indptr, columns)``: the gradients of ``A @ x``, by elements and x.

    All operands are vectors of one dtype; ``y`` is the gradient of the product. The results are
    those of :class:`ProductOfRows` for ``(y, x)`` and of :class:`ProductByColumns` for
    ``(data, y)``. It replaces both once all derivatives have been taken, and has none.

    Examples
    --------
    >>> from phintys.sparse.products import ProductGradients
    >>> pattern = [1, 0], [0, 1, 2], 2
    >>> of_data, of_x = ProductGradients()([1.0, 2.0], [5.0, 6.0], [3.0, 4.0], *pattern)
    >>> of_data.eval(), of_x.eval()
    (array([18., 20.]), array([8., 3.]))
    """

    __props__ = ()

    def make_node(
        self, data: Any, x: Any, y: Any, indices: Any, indptr: Any, columns: Any
    ) -> Apply:
        """Build a node."""
        data, x, y = (as_tensor_variable(v) for v in (data, x, y))
        if len({(v.ndim, v.dtype) for v in (data, x, y)}) > 1 or data.ndim != 1:
            msg = f"{self}: the operands must be vectors of one dtype, got {data}, {x} and {y}."
            raise ShapeError(msg)
        pattern = [pt.cast(as_tensor_variable(v), INDEX) for v in (indices, indptr)]
        inputs = [data, x, y, *pattern, as_size(columns, "A size")]
        types = [TensorType(data.dtype, shape) for shape in self.static_shapes(inputs)]
        return Apply(self, inputs, [type_() for type_ in types])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        """Compute one after the other."""
        data, x, y, *pattern, columns = inputs
        ProductOfRows().perform(node, [y, x, *pattern], output_storage[:1])
        ProductByColumns().perform(node, [data, y, *pattern, columns], output_storage[1:])

    def output_shapes(self, shapes: Any) -> list[tuple[Any, ...]]:
        """Return an element for each entry, and one for each column."""
        return [shapes.shapes[3], (shapes.value(5),)]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """It comes after differentiation."""
        return [[False, False] for _ in node.inputs]

    def L_op(self, inputs: Any, outputs: Any, output_grads: Any) -> list[Any]:
        """Return nothing."""
        return [disconnected_type() for _ in inputs]

    def error(self, number: int, _: int) -> Exception:
        """Return the error of a pattern that native code found to be wrong."""
        return wrong_pattern(self, number)


class EntryProduct(ShapedOp):
    """An Op on the entries of two csr matrices X and Y, and of a pattern P of their product.

    Each goes through the terms of the product, and adds up one of three from the other two:
    elements of X, of Y, and at P. They are the derivatives of each other. Inputs are the two
    operands, of one dtype, the indices and ``indptr`` of X, Y and P, and the columns of Y.
    """

    __props__ = ()
    operands: ClassVar[tuple[int, int]]
    """Which patterns the operands have: 0 is that of X, 1 of Y, 2 is P."""
    result: ClassVar[int]
    """Which pattern the result has."""

    def make_node(self, x: Any, y: Any, *arrays: Any) -> Apply:
        """Build a node; elements are cast to their common dtype."""
        elements = [as_tensor_variable(v) for v in (x, y)]
        dtype = pt.promote_types(elements[0].dtype, elements[1].dtype)
        elements = [v if v.dtype == dtype else pt.cast(v, dtype) for v in elements]
        *patterns, width = arrays
        patterns = [pt.cast(as_tensor_variable(v), INDEX) for v in patterns]
        inputs = [*elements, *patterns, as_size(width, "A size")]
        return Apply(self, inputs, [TensorType(dtype, *self.static_shapes(inputs))()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        """Multiply with SciPy, and look up the entries."""
        *operands, indices, indptr, others, other_indptr, wanted, wanted_indptr, width = inputs
        if len(indptr) != len(wanted_indptr):
            msg = (
                f"{self}: the first matrix and the pattern of the product must have equally many "
                f"rows, got {len(indptr) - 1} and {len(wanted_indptr) - 1}."
            )
            raise ShapeError(msg)
        check_room(self, (int(width) + 1,), "int64")
        patterns = [
            (indices, indptr, len(other_indptr) - 1),
            (others, other_indptr, int(width)),
            (wanted, wanted_indptr, int(width)),
        ]
        for pattern in patterns:
            check_pattern(self, *pattern)
        pairs = zip(self.operands, operands, strict=True)
        full = {number: matrix(self, data, *patterns[number]) for number, data in pairs}
        found = sp.csr_array(self.product(full))
        found.sort_indices()
        at = places(keys(*patterns[self.result][:2]), keys(found.indices, found.indptr))
        elements = np.append(found.data, np.zeros(1, found.dtype))[at]
        output_storage[0][0] = elements.astype(operands[0].dtype, copy=False)

    def product(self, full: Any) -> Any:
        """Return the product of matrices, by the numbers of their patterns."""
        raise NotImplementedError

    def output_shapes(self, shapes: Any) -> list[tuple[Any, ...]]:
        """Return an element for each entry of the pattern."""
        return [shapes.shapes[2 + 2 * self.result]]

    def L_op(self, inputs: Any, outputs: Any, output_grads: Any) -> list[Any]:
        """Return the gradients of both operands, by the other two Ops."""
        pairs = zip(self.operands, inputs[:2], strict=True)
        known = {number: conj(value) for number, value in pairs} | {self.result: output_grads[0]}
        found: list[Any] = []
        for number in self.operands:
            op = next(cls for cls in _ENTRY_PRODUCTS if cls.result == number)
            found.append(op()(*(known[one] for one in op.operands), *inputs[2:]))
        return [*found, *(disconnected_type() for _ in inputs[2:])]

    def R_op(self, inputs: Any, eval_points: Any) -> list[Any]:
        """Return the sum over both operands: it is linear in each of them."""
        x, y, *arrays = inputs
        dx, dy = eval_points[:2]
        pairs = [(dx, y)] * (dx is not None) + [(x, dy)] * (dy is not None)
        terms = [self(*pair, *arrays) for pair in pairs]
        return [pt.add(*terms) if len(terms) > 1 else terms[0] if terms else None]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """The elements have derivatives, patterns have none."""
        return [[at < 2] for at in range(len(node.inputs))]

    def error(self, number: int, _: int) -> Exception:
        """Return the error of a pattern that native code found to be wrong."""
        return wrong_pattern(self, number)


class ProductAtEntries(EntryProduct):
    """``(x, y, ...)``: the elements of ``X @ Y`` at the entries of P.

    Examples
    --------
    >>> from phintys.sparse.products import ProductAtEntries
    >>> diagonal = [0, 1], [0, 1, 2]
    >>> ProductAtEntries()([2.0, 3.0], [4.0, 5.0], *3 * diagonal, 2).eval()
    array([ 8., 15.])
    """

    operands = (0, 1)
    result = 2

    def product(self, full: Any) -> Any:
        """Return ``X @ Y``."""
        return full[0] @ full[1]


class FirstAtEntries(EntryProduct):
    """``(g, y, ...)``: the elements of ``G @ Y.T`` at the entries of X; those of G are at P.

    Examples
    --------
    >>> from phintys.sparse.products import FirstAtEntries
    >>> diagonal = [0, 1], [0, 1, 2]
    >>> FirstAtEntries()([2.0, 3.0], [4.0, 5.0], *3 * diagonal, 2).eval()
    array([ 8., 15.])
    """

    operands = (2, 1)
    result = 0

    def product(self, full: Any) -> Any:
        """Return ``G @ Y.T``."""
        return full[2] @ full[1].T


class SecondAtEntries(EntryProduct):
    """``(x, g, ...)``: the elements of ``X.T @ G`` at the entries of Y; those of G are at P.

    Examples
    --------
    >>> from phintys.sparse.products import SecondAtEntries
    >>> diagonal = [0, 1], [0, 1, 2]
    >>> SecondAtEntries()([2.0, 3.0], [4.0, 5.0], *3 * diagonal, 2).eval()
    array([ 8., 15.])
    """

    operands = (0, 2)
    result = 1

    def product(self, full: Any) -> Any:
        """Return ``X.T @ G``."""
        return full[0].T @ full[2]


class ProductWithPattern(Op):
    """``(x, y, indices, indptr, indices, indptr, columns, width)``: ``X @ Y`` of csr matrices.

    The results are those of :class:`~phintys.sparse.patterns.ProductPattern`, and the elements at
    them, of :class:`ProductAtEntries`. It replaces both once all derivatives have been taken, and
    has none.

    Examples
    --------
    >>> from phintys.sparse.products import ProductWithPattern
    >>> diagonal = [0, 1], [0, 1, 2]
    >>> indices, indptr, elements = ProductWithPattern()(
    ...     [2.0, 3.0], [4.0, 5.0], *2 * diagonal, 2, 2
    ... )
    >>> indices.eval(), elements.eval()
    (array([0, 1], dtype=int32), array([ 8., 15.]))
    """

    __props__ = ()
    pattern_at = 0

    def make_node(self, x: Any, y: Any, *arrays: Any) -> Apply:
        """Build a node for elements of one dtype."""
        x, y = as_tensor_variable(x), as_tensor_variable(y)
        if x.dtype != y.dtype or x.ndim != 1 or y.ndim != 1:
            msg = f"{self}: the elements must be vectors of one dtype, got {x} and {y}."
            raise ShapeError(msg)
        *patterns, columns, width = arrays
        patterns = [pt.cast(as_tensor_variable(v), INDEX) for v in patterns]
        sizes = [as_size(size, "A size") for size in (columns, width)]
        types = [TensorType(dtype, (None,)) for dtype in (INDEX, INDEX, x.dtype)]
        return Apply(self, [x, y, *patterns, *sizes], [type_() for type_ in types])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        """Compute one after the other."""
        x, y, *patterns, columns, width = inputs
        of_pattern = [*patterns, columns, width]
        ProductPattern().perform(node, of_pattern, output_storage[:2])
        found = [cell[0] for cell in output_storage[:2]]
        ProductAtEntries().perform(node, [x, y, *patterns, *found, width], output_storage[2:])

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """It comes after differentiation."""
        return [[False] * 3 for _ in node.inputs]

    def L_op(self, inputs: Any, outputs: Any, output_grads: Any) -> list[Any]:
        """Return nothing."""
        return [disconnected_type() for _ in inputs]

    def error(self, number: int, _: int) -> Exception:
        """Return the error of a pattern that native code found to be wrong."""
        return wrong_pattern(self, number)


_ENTRY_PRODUCTS = (ProductAtEntries, FirstAtEntries, SecondAtEntries)


def matrix(op: Op, data: Any, indices: Any, indptr: Any, columns: int) -> Any:
    """Return a csr matrix of SciPy, in a dtype that SciPy has; its pattern is checked."""
    check_pattern(op, indices, indptr, columns)
    if len(data) != len(indices):
        msg = f"{op}: there must be an index for each element, got {len(data)} elements and "
        msg += f"{len(indices)} indices."
        raise ShapeError(msg)
    data = data.astype(_SUMMED_AS.get(data.dtype.name, data.dtype), copy=False)
    return sp.csr_array((data, indices, indptr), shape=(len(indptr) - 1, columns))


def conj(x: Any) -> Any:
    """Return the conjugate of complex numbers; others as they are."""
    return pt.conj(x) if x.type.numpy_dtype.kind == "c" else x
