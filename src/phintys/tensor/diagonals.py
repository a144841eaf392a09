"""Diagonals, identity matrices and triangular matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ShapeError
from phintys.graph.apply import Apply
from phintys.graph.null_type import disconnected_type
from phintys.tensor import math
from phintys.tensor._operators import operators
from phintys.tensor._rules import is_discrete, is_missing, zero_gradient
from phintys.tensor.convert import as_tensor_variable, constant
from phintys.tensor.creation import alloc, as_sizes, check_room, check_sizes
from phintys.tensor.devices import takes_device
from phintys.tensor.dim_shuffle import moveaxis, normalize_axis, shape_padleft, shape_padright
from phintys.tensor.known import known_int
from phintys.tensor.ranges import arange
from phintys.tensor.shape_rules import Misfit, S, ShapedOp, Shapes, lengths_at
from phintys.tensor.shapes import sizes_of
from phintys.tensor.sizes import add_sizes, as_size, clip_size, fold
from phintys.tensor.synonyms import also_named
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.tensor.variable import TensorVariable


def diagonal_length(shapes: Shapes[S], rows: S, columns: S, offset: int) -> S:
    """Return the length of a diagonal."""
    down = shapes.add(rows, min(offset, 0))
    right = shapes.add(columns, -max(offset, 0))
    return shapes.greatest(shapes.least(down, right), 0)


_DIAGONAL = Misfit("diagonal", "{0} elements, not {1}")


def _checked_offset(offset: Any) -> int:
    if not -(2**63) <= int(offset) < 2**63:
        msg = f"The offset of a diagonal must fit into 64 bits, got {offset}."
        raise ShapeError(msg)
    return int(offset)


class ExtractDiag(ShapedOp):
    """Return a diagonal of the last two dimensions, as a view.

    Parameters
    ----------
    offset
        Offset from the main diagonal: positive is above it, negative below.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.ExtractDiag(1)(pt.tensor("x", shape=(None, 4, 3))).type
    Matrix(float64, shape=(?, 2))
    """

    __props__ = ("offset",)

    view_map = {0: [0]}

    def __init__(self, offset: int = 0) -> None:
        self.offset = _checked_offset(offset)

    def make_node(self, x: Any) -> Apply:
        x = as_tensor_variable(x)
        if x.ndim < 2:
            msg = f"{self}: a diagonal needs 2 dimensions, got {x} of type {x.type}."
            raise ShapeError(msg)
        return Apply(self, [x], [TensorType(x.dtype, *self.static_shapes([x]))()])

    def perform(
        self, node: Any, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        value = inputs[0]
        rows, columns = value.shape[-2:]
        offset = min(max(self.offset, -rows), columns)  # NumPy accepts at most 32 bits
        view = value.diagonal(offset, -2, -1)
        view.flags.writeable = value.flags.writeable  # NumPy makes it read-only
        output_storage[0][0] = view

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        *batch, rows, columns = shapes.shapes[0]
        return [(*batch, diagonal_length(shapes, rows, columns, self.offset))]

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        x = inputs[0]
        if is_discrete(x):
            return [zero_gradient(x)]
        return [AllocDiag(self.offset)(output_grads[0], *sizes_of(x)[-2:])]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return [None if is_missing(eval_points[0]) else self(eval_points[0])]


class AllocDiag(ShapedOp):
    """Return new matrices with the last dimension of the input on a diagonal and zeros elsewhere.

    Takes the diagonals, the number of rows and the number of columns.

    Parameters
    ----------
    offset
        Offset from the main diagonal: positive is above it, negative below.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.AllocDiag(1)(pt.constant([1, 2]), 2, 3).eval()
    array([[0, 1, 0],
           [0, 0, 2]])
    """

    __props__ = ("offset",)

    def __init__(self, offset: int = 0) -> None:
        self.offset = _checked_offset(offset)

    def make_node(self, diagonals: Any, rows: Any, columns: Any) -> Apply:
        diagonals = as_tensor_variable(diagonals)
        if diagonals.ndim < 1:
            msg = f"{self}: a diagonal is a vector, got {diagonals} of type {diagonals.type}."
            raise ShapeError(msg)
        inputs = [diagonals, *as_sizes((rows, columns), "AllocDiag: a size")]
        return Apply(self, inputs, [TensorType(diagonals.dtype, *self.static_shapes(inputs))()])

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        """Take the sizes given; the diagonal is as long as that of such a matrix."""
        *batch, length = shapes.shapes[0]
        rows, columns = lengths_at(shapes, 1)
        shapes.agreed((diagonal_length(shapes, rows, columns, self.offset), length), _DIAGONAL)
        return [(*batch, rows, columns)]

    def misfit_error(self, misfit: Misfit, shapes: Shapes[Any]) -> Exception:
        """Show the sizes."""
        if misfit is not _DIAGONAL:
            return super().misfit_error(misfit, shapes)
        sizes = shapes.value(1), shapes.value(2)
        wanted = diagonal_length(shapes, *sizes, self.offset)
        return ShapeError(
            f"{self}: the diagonal of a matrix of shape {sizes} has {wanted} elements, got "
            f"{shapes.shapes[0][-1]}."
        )

    def perform(
        self, node: Any, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        diagonals = inputs[0]
        values = (diagonals, *map(int, inputs[1:]))
        (shape,) = self.shapes_of_results(node.inputs, (diagonals.shape, (), ()), values)
        check_room(self, shape, diagonals.dtype)
        length = diagonals.shape[-1]
        result = np.zeros(shape, diagonals.dtype)
        if length:
            along = np.arange(length)
            result[..., along + max(-self.offset, 0), along + max(self.offset, 0)] = diagonals
        output_storage[0][0] = result

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        """The sizes do not influence the elements."""
        return [[True], [False], [False]]

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        if is_discrete(inputs[0]):
            gradient = zero_gradient(inputs[0])
        else:
            gradient = ExtractDiag(self.offset)(output_grads[0])
        return [gradient, disconnected_type(), disconnected_type()]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        point = eval_points[0]
        return [None if is_missing(point) else self(point, *inputs[1:])]


@also_named
def diagonal(x: Any, offset: Any = 0, axis1: int = 0, axis2: int = 1) -> TensorVariable:
    """Return a diagonal over two dimensions, as the last dimension of the result.

    Parameters
    ----------
    x
        A tensor with at least 2 dimensions.
    offset
        Offset from the main diagonal, an int or symbolic: positive is above it, negative below.
    axis1, axis2
        The dimensions that serve as rows and as columns.

    Returns
    -------
    TensorVariable
        A tensor whose rank is less by one.

    Raises
    ------
    ShapeError
        The two dimensions are the same.
    AxisError
        One of them is out of range.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.diagonal([[1, 2, 3], [4, 5, 6]], 1).eval()
    array([2, 6])
    """
    x = as_tensor_variable(x)
    axes = (normalize_axis(axis1, x.ndim), normalize_axis(axis2, x.ndim))
    if axes[0] == axes[1]:
        msg = f"diagonal: the two axes must differ, got {axis1} and {axis2}."
        raise ShapeError(msg)
    return _diagonal_of(moveaxis(x, axes, (-2, -1)), offset)


def _diagonal_of(x: Any, offset: Any) -> Any:
    """Return a diagonal over the last two dimensions, whose offset may be symbolic."""
    known = known_int(as_size(offset, "The offset of a diagonal"))
    if known is not None:
        return ExtractDiag(known)(x)
    offset = as_tensor_variable(offset)
    return ExtractDiag(0)(x[..., math.maximum(-offset, 0) :, math.maximum(offset, 0) :])


@also_named
def trace(
    x: Any, offset: Any = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None
) -> TensorVariable:
    """Return the sum of a diagonal; see :func:`diagonal`.

    Parameters
    ----------
    x
        A tensor with at least 2 dimensions.
    offset
        Offset from the main diagonal, an int or symbolic: positive is above it, negative below.
    axis1, axis2
        The dimensions that serve as rows and as columns.
    dtype
        Dtype of the result. By default that of ``x``, or int64 or uint64 for integers and bools.

    Returns
    -------
    TensorVariable
        The sums, with the shape of ``x`` without the two dimensions.

    Raises
    ------
    ShapeError
        The two dimensions are the same.
    AxisError
        One of them is out of range.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.trace([[1, 2], [3, 4]]).eval()
    array(5)
    """
    return operators.sum(diagonal(x, offset, axis1, axis2), axis=-1, dtype=dtype)


def diag(v: Any, k: Any = 0) -> TensorVariable:
    """Return the diagonal of a matrix, or the matrix with a vector on its diagonal.

    Parameters
    ----------
    v
        A matrix or a vector.
    k
        Offset from the main diagonal, an int or symbolic: positive is above it, negative below.

    Returns
    -------
    TensorVariable
        The diagonal of a matrix as a vector, or of a vector a square matrix.

    Raises
    ------
    ShapeError
        ``v`` is neither a vector nor a matrix.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.diag([1, 2]).eval()
    array([[1, 0],
           [0, 2]])
    """
    v = as_tensor_variable(v)
    if v.ndim == 2:
        return _diagonal_of(v, k)
    if v.ndim != 1:
        msg = (
            f"diag takes a vector or a matrix, got {v} of type {v.type}. For more dimensions use "
            "pt.diagonal, or pt.AllocDiag."
        )
        raise ShapeError(msg)
    known = known_int(as_size(k, "diag: the offset"))
    if known is not None:
        size = add_sizes(sizes_of(v)[0], abs(known))
        return AllocDiag(known)(v, size, size)
    k = as_tensor_variable(k)
    size = add_sizes(sizes_of(v)[0], math.abs(k))
    row, column = math.maximum(-k, 0), math.maximum(k, 0)
    length = sizes_of(v)[0]
    part = alloc(_zero(v), size, size)[row : row + length, column : column + length]
    return operators.set_subtensor(part, diag(v))


@takes_device
@also_named
def eye(n: Any, m: Any = None, k: Any = 0, dtype: Any = None) -> TensorVariable:
    """Return a matrix with ones on a diagonal and zeros elsewhere.

    Parameters
    ----------
    n, m
        Number of rows and of columns (equal by default), ints or symbolic.
    k
        Offset of the ones from the main diagonal, an int or symbolic: positive is above it.
    dtype
        ``floatX`` by default.

    Returns
    -------
    TensorVariable
        An ``n`` by ``m`` matrix.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.eye(2, 3, 1).eval()
    array([[0., 1., 0.],
           [0., 0., 1.]])
    """
    rows, columns = _row_and_column_numbers(n, m, k)
    return math.cast(math.eq(rows, columns), "floatX" if dtype is None else dtype)


_FAR = 2**62  # no matrix has so many rows or columns


def nearby_diagonal(k: Any, before: int = 0) -> Any:
    """Return the number of a diagonal, less ``before``, as an int64 that can be added to rows.

    Diagonals that are outside of any matrix are replaced by nearer ones that are, too.

    Parameters
    ----------
    k
        An int, or a 0-d integer variable.
    before
        How many diagonals below it.

    Raises
    ------
    DtypeError, ShapeError
        ``k`` is not the number of a diagonal.

    Examples
    --------
    >>> from phintys.tensor.diagonals import nearby_diagonal
    >>> nearby_diagonal(3, before=1).eval(), nearby_diagonal(-(2**63)).eval() == -(2**62)
    (array(2), np.True_)
    """
    if type(k) is int:  # of any size
        k = max(-_FAR, min(k, _FAR))
    near = clip_size(fold(as_size(k, "A diagonal")), -_FAR, _FAR)
    return as_size(add_sizes(near, -before))


def _row_and_column_numbers(n: Any, m: Any, k: Any) -> tuple[Any, Any]:
    """Return the row numbers, shifted by ``k``, as a column, and the column numbers as a row."""
    rows, columns = sizes = as_sizes((n, n if m is None else m))
    check_sizes([known_int(size) for size in sizes], "A size")
    shift = nearby_diagonal(k)
    counted = shape_padright(arange(rows))
    if known_int(shift) != 0:
        counted = math.add(counted, shift)
    return counted, shape_padleft(arange(columns))


def identity(n: Any, dtype: Any = None) -> TensorVariable:
    """Return the ``n`` by ``n`` identity matrix.

    Parameters
    ----------
    n
        Number of rows and columns, an int or symbolic.
    dtype
        ``config.floatX`` by default.

    Returns
    -------
    TensorVariable
        A square matrix.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.identity(2, "int64").eval()
    array([[1, 0],
           [0, 1]])
    """
    return eye(n, dtype=dtype)


def identity_like(x: Any, dtype: Any = None) -> TensorVariable:
    """Return a matrix with ones on the main diagonal, by default of the dtype of ``x``.

    Parameters
    ----------
    x
        A matrix, which gives the shape.
    dtype
        Another dtype.

    Returns
    -------
    TensorVariable
        A matrix of the shape of ``x``.

    Raises
    ------
    ShapeError
        ``x`` is not a matrix.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.identity_like([[5, 6, 7], [8, 9, 10]]).eval()
    array([[1, 0, 0],
           [0, 1, 0]])
    """
    x = as_tensor_variable(x)
    if x.ndim != 2:
        msg = f"identity_like takes a matrix, got {x} of type {x.type}."
        raise ShapeError(msg)
    return eye(*sizes_of(x), dtype=x.dtype if dtype is None else dtype)


@also_named
def tri(n: Any, m: Any = None, k: Any = 0, dtype: Any = None) -> TensorVariable:
    """Return a matrix with ones on and below a diagonal and zeros above it.

    Parameters
    ----------
    n, m
        Number of rows and of columns (equal by default), ints or symbolic.
    k
        Offset of the diagonal from the main one, an int or symbolic: positive is above it.
    dtype
        ``floatX`` by default.

    Returns
    -------
    TensorVariable
        An ``n`` by ``m`` matrix.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.tri(2, 3).eval()
    array([[1., 0., 0.],
           [1., 1., 0.]])
    """
    rows, columns = _row_and_column_numbers(n, m, k)
    return math.cast(math.ge(rows, columns), "floatX" if dtype is None else dtype)


@also_named
def tril(x: Any, k: Any = 0) -> TensorVariable:
    """Return ``x`` with the elements above a diagonal of its last two dimensions set to zero.

    Parameters
    ----------
    x
        A tensor with at least 2 dimensions.
    k
        Offset of the diagonal from the main one, an int or symbolic: positive is above it.

    Returns
    -------
    TensorVariable
        A tensor with the shape and dtype of ``x``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.tril([[1, 2], [3, 4]]).eval()
    array([[1, 0],
           [3, 4]])
    """
    x = _with_two_dims(x, "tril")
    return math.switch(tri(*sizes_of(x)[-2:], k=k, dtype="bool"), x, _zero(x))


@also_named
def triu(x: Any, k: Any = 0) -> TensorVariable:
    """Return ``x`` with the elements below a diagonal of its last two dimensions set to zero.

    Parameters
    ----------
    x
        A tensor with at least 2 dimensions.
    k
        Offset of the diagonal from the main one, an int or symbolic: positive is above it.

    Returns
    -------
    TensorVariable
        A tensor with the shape and dtype of ``x``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.triu([[1, 2], [3, 4]]).eval()
    array([[1, 2],
           [0, 4]])
    """
    x = _with_two_dims(x, "triu")
    below = nearby_diagonal(k, before=1)
    return math.switch(tri(*sizes_of(x)[-2:], k=below, dtype="bool"), _zero(x), x)


def _with_two_dims(x: Any, name: str) -> Any:
    x = as_tensor_variable(x)
    if x.ndim < 2:
        msg = f"{name} needs at least 2 dimensions, got {x} of type {x.type}."
        raise ShapeError(msg)
    return x


def _zero(x: Any) -> Any:
    return constant(np.zeros((), x.type.numpy_dtype))
