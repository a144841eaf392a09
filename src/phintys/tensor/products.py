"""Products of vectors, matrices, and batches of them.

Two ops do the work: :class:`Dot` for ranks 1 and 2, and :class:`BatchedDot` for stacks of matrices.
The functions reduce other ranks to these cases.

For a cost C and ``Z = X Y`` with gradient G with respect to Z, ``dC = Re sum(conj(G) dZ)`` gives
the gradients ``G Y^H`` for X and ``X^H G`` for Y.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.caches import remember
from phintys._base.errors import OpContractError, ShapeError
from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.graph.pretty import pprint
from phintys.tensor import math
from phintys.tensor._rules import (
    add_all,
    conjugate,
    fit_gradient,
    is_discrete,
    is_missing,
    zero_gradient,
)
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.dim_shuffle import (
    dimshuffle,
    listed_axes,
    matrix_transpose,
    normalize_axis,
    squeeze,
)
from phintys.tensor.hints import broadcast_hint
from phintys.tensor.reduce import sum
from phintys.tensor.reshaping import flatten, reshape
from phintys.tensor.shape_rules import Misfit, S, ShapedOp, Shapes
from phintys.tensor.shapes import sizes_of, specify_shape
from phintys.tensor.sizes import multiply_sizes
from phintys.tensor.synonyms import also_named
from phintys.tensor.type import TensorType, promote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.tensor.variable import TensorVariable

    Axes = int | tuple[int | Sequence[int], int | Sequence[int]]


def _disagree(a: int | None, b: int | None) -> bool:
    return a is not None and b is not None and a != b


_SUMMED_OVER = Misfit("dot", "{0} columns and {1} rows")


def misfit_of(op: Op, operands: Sequence[Any], shapes: Sequence[Any]) -> ShapeError:
    """Return the error for two operands whose sizes in the axes summed over differ."""
    lines = "\n".join(
        f"  {pprint.brief(operand)}: shape {shape}"
        for operand, shape in zip(operands, shapes, strict=True)
    )
    hint = (
        "The last size of the first must equal the last but one of the second, or its only one. "
        "Transpose an operand with .T or .mT, or name the axes with pt.tensordot."
    )
    return ShapeError(f"{op}: the operands do not fit together.\n{lines}\n{hint}")


class _Product(ShapedOp):
    """Base class of both products, which are linear in each operand."""

    __props__ = ()

    def __init__(self) -> None:
        self._types: dict[tuple[TensorType, TensorType], TensorType] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), ())

    def make_node(self, x: Any, y: Any) -> Apply:
        """Apply to tensors whose ranks and sizes match."""
        x, y = as_tensor_variable(x), as_tensor_variable(y)
        key = (x.type, y.type)
        output = self._types.get(key)
        if output is None:
            self._check_ranks(x, y)
            (shape,) = self.static_shapes([x, y])
            output = remember(self._types, key, TensorType(promote(x.dtype, y.dtype), shape))
        return Apply(self, [x, y], [output()])

    @abstractmethod
    def _check_ranks(self, x: Any, y: Any) -> None:
        """Raise if the ranks of the operands do not match."""

    def misfit_subject(self, misfit: Misfit, shapes: Shapes[Any]) -> str:
        """Name the operands."""
        x, y = shapes.inputs[:2]
        return (
            f"{self}: the operands do not fit together: the sizes of {x} (type {x.type}) and {y} "
            f"(type {y.type}) in the axes summed over"
        )

    def misfit_error(self, misfit: Misfit, shapes: Shapes[Any]) -> Exception:
        """Show the operands."""
        return misfit_of(self, shapes.inputs, shapes.shapes)

    @abstractmethod
    def _adjoint(self, inputs: Sequence[Any], g: Any) -> list[Any]:
        """Return the gradient for each operand, possibly still broadcast and promoted."""

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Multiply the gradient by the other operand; zeros for a product of integers."""
        if is_discrete(outputs[0]):
            return [zero_gradient(x) for x in inputs]
        gradients = self._adjoint(inputs, output_grads[0])
        return [fit_gradient(g, x) for g, x in zip(gradients, inputs, strict=True)]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """d(XY) = dX Y + X dY"""
        (x, y), (dx, dy) = inputs, eval_points
        terms = [] if is_missing(dx) else [self(dx, y)]
        if not is_missing(dy):
            terms.append(self(x, dy))
        if not terms:
            return [None]
        out = self(x, y)
        if is_discrete(out):
            return [zero_gradient(out)]
        return [math.cast(add_all(terms), out.dtype)]

    def flops(self, input_shapes: Sequence[Any], output_shapes: Sequence[Any]) -> int:
        """Return one multiplication and one addition for each term of each result."""
        return 2 * int(np.prod(output_shapes[0], dtype=int)) * input_shapes[0][-1]


def fitting(former: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """Return a former result if it can store a new one, in the layout that NumPy requires."""
    is_fit = (
        former is not None
        and former.shape == shape
        and former.dtype == dtype
        and former.flags.c_contiguous
        and former.flags.writeable
    )
    return former if is_fit else None


class Dot(_Product):
    """Multiply vectors and matrices: the sum of products over the last axis of the first operand
    and the first axis of the second.

    Operands have rank 1 or 2 and any dtypes, which are promoted. Products of integers can overflow,
    and those of bools are ``any(x & y)``, as in NumPy.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.Dot()(pt.fmatrix("x"), pt.dvector("y")).type
    Vector(float64, shape=(?,))
    """

    is_bilinear = True
    raises_only_for_shapes = True

    def _check_ranks(self, x: Any, y: Any) -> None:
        if x.ndim not in {1, 2} or y.ndim not in {1, 2}:
            msg = (
                f"{self} takes vectors and matrices, got {x} of type {x.type} and {y} of type "
                f"{y.type}. For other ranks use pt.dot, pt.matmul or pt.tensordot."
            )
            raise ShapeError(msg)

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        """Drop the axis that the operands share."""
        x, y = shapes.shapes[:2]
        shapes.equal(x[-1], y[0], _SUMMED_OVER)
        return [(*x[:-1], *y[1:])]

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Multiply with NumPy, which calls BLAS."""
        x, y = inputs
        (shape,) = self.shapes_of_results(node.inputs, (x.shape, y.shape))
        cell = output_storage[0]
        output_type: Any = node.outputs[0].type
        out = fitting(cell[0], shape, output_type.numpy_dtype)
        cell[0] = np.asarray(np.dot(x, y, out=out))

    def _adjoint(self, inputs: Sequence[Any], g: Any) -> list[Any]:
        x, y = (conjugate(operand) for operand in inputs)
        if x.ndim == 1 and y.ndim == 1:
            return [g * y, x * g]
        if y.ndim == 1:
            return [outer(g, y), self(x.T, g)]
        if x.ndim == 1:
            return [self(y, g), outer(x, g)]
        return [self(g, y.T), self(x.T, g)]


class BatchedDot(_Product):
    """Multiply stacks of matrices: the matrix product over the last two axes.

    Both operands have the same rank, at least 3. A leading dimension broadcasts if its static size
    is 1; sizes that differ at run time raise :class:`ShapeError`.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> x = pt.tensor("x", shape=(5, 2, 3), dtype="float64")
    >>> y = pt.tensor("y", shape=(1, 3, 4), dtype="float64")
    >>> pt.BatchedDot()(x, y).type
    Tensor3(float64, shape=(5, 2, 4))
    """

    raises_only_for_shapes = True

    def _check_ranks(self, x: Any, y: Any) -> None:
        if x.ndim != y.ndim or x.ndim < 3:
            msg = (
                f"{self} takes two stacks of matrices of the same rank, 3 or more, got {x} of type "
                f"{x.type} and {y} of type {y.type}. For other ranks use pt.matmul."
            )
            raise ShapeError(msg)

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        """Take each size of the stack from an operand that does not broadcast."""
        x, y = shapes.shapes
        shapes.equal(x[-1], y[-2], _SUMMED_OVER)
        batch: list[S] = []
        for dim, (m, n) in enumerate(zip(x[:-2], y[:-2], strict=True)):
            if shapes.broadcasts(0, dim):
                batch.append(n)
            elif shapes.broadcasts(1, dim):
                batch.append(m)
            else:
                batch.append(shapes.equal(m, n, Misfit.in_dimension("broadcast", dim)))
        return [(*batch, x[-2], y[-1])]

    def misfit_subject(self, misfit: Misfit, shapes: Shapes[Any]) -> str:
        """Name the operands, or the dimension of the stacks."""
        if misfit is _SUMMED_OVER:
            return super().misfit_subject(misfit, shapes)
        return f"{self}: the sizes of dimension {misfit.dim} of the stacks"

    def misfit_error(self, misfit: Misfit, shapes: Shapes[Any]) -> Exception:
        """Show the operands."""
        if misfit is _SUMMED_OVER:
            return super().misfit_error(misfit, shapes)
        return self._batches_misfit(shapes.inputs, shapes.shapes, misfit.dim)

    def _batches_misfit(
        self, operands: Sequence[Any], shapes: Sequence[Any], dim: int
    ) -> ShapeError:
        (x, y), (x_shape, y_shape) = operands, shapes
        return ShapeError(
            f"{self}: the stacks do not fit together.\n  {x}: shape {x_shape}\n  {y}: shape "
            f"{y_shape}\n{broadcast_hint(operands, shapes, dim)}"
        )

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Multiply with NumPy."""
        x, y = inputs
        (shape,) = self.shapes_of_results(node.inputs, (x.shape, y.shape))
        cell = output_storage[0]
        output_type: Any = node.outputs[0].type
        cell[0] = np.matmul(x, y, out=fitting(cell[0], shape, output_type.numpy_dtype))

    def _adjoint(self, inputs: Sequence[Any], g: Any) -> list[Any]:
        x, y = (conjugate(operand) for operand in inputs)
        gradients = [self(g, matrix_transpose(y)), self(matrix_transpose(x), g)]
        return [
            _sum_over_batch(gradient, operand)
            for gradient, operand in zip(gradients, inputs, strict=True)
        ]


def _sum_over_batch(gradient: Any, operand: Any) -> Any:
    """Sum over the leading dimensions in which the operand was broadcast."""
    axes = tuple(
        dim
        for dim in range(operand.ndim - 2)
        if operand.type.shape[dim] == 1 and gradient.type.shape[dim] != 1
    )
    return sum(gradient, axes, keepdims=True) if axes else gradient


_dot = Dot()
_batched_dot = BatchedDot()


# ---- functions -----------------------------------------------------------------------------------


def _operands(function: str, x: Any, y: Any, least_rank: int) -> tuple[Any, Any]:
    x, y = as_tensor_variable(x), as_tensor_variable(y)
    for operand in (x, y):
        if operand.ndim < least_rank:
            msg = (
                f"{function} takes tensors of rank {least_rank} or more, got {operand} of type "
                f"{operand.type}. To multiply by a number write *."
            )
            raise ShapeError(msg)
    return x, y


@also_named
def dot(x: Any, y: Any) -> TensorVariable:
    """Return the dot product.

    Parameters
    ----------
    x, y
        Tensors of any rank. For vectors it is the inner product, for matrices the matrix product,
        and with an operand of rank 0 the elementwise product. With higher ranks the sum is over the
        last axis of ``x`` and the second-to-last of ``y``, and the result has the other axes of
        ``x``, then those of ``y``.

    Returns
    -------
    TensorVariable
        The shape of ``x`` without the last dimension, then that of ``y`` without the one before the
        last, or without the only one.

    Raises
    ------
    ShapeError
        The sizes of the axes to be summed over differ.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.dot(pt.constant([1, 2, 3]), pt.constant([4, 5, 6])).eval()
    array(32)
    """
    x, y = as_tensor_variable(x), as_tensor_variable(y)
    if x.ndim == 0 or y.ndim == 0:
        return math.mul(x, y)
    if x.ndim <= 2 and y.ndim <= 2:
        return _dot(x, y)
    return tensordot(x, y, (x.ndim - 1, max(y.ndim - 2, 0)))


@also_named
def matmul(x: Any, y: Any, dtype: Any = None) -> TensorVariable:
    """Return the matrix product ``x @ y``, of stacks of matrices if the ranks are above 2.

    Parameters
    ----------
    x, y
        Tensors of rank 1 or more. A vector is treated as a row on the left and as a column on the
        right, and its axis does not appear in the result. The axes before the last two are those of
        the stack; they broadcast where their size is known to be 1 or where they are missing.
    dtype
        Dtype to which the operands are cast, and of the result; the common one by default.

    Returns
    -------
    TensorVariable
        The broadcast shape of the stacks, followed by rows of ``x`` and columns of ``y``; a
        vector's own dimension is left out.

    Raises
    ------
    ShapeError
        An operand has rank 0, or the sizes do not match.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.matmul(pt.tensor3("x"), pt.matrix("y")).type
    Tensor3(float64, shape=(?, ?, ?))
    """
    if dtype is not None:
        x, y = math.cast(x, dtype), math.cast(y, dtype)
    x, y = _operands("matmul", x, y, 1)
    if y.ndim <= 2:
        if x.ndim <= 2:
            return _dot(x, y)
        # One large product instead of a stack of small ones.
        *batch, last = sizes_of(x)
        rows = _dot(reshape(x, (multiply_sizes(batch), last)), y)
        return reshape(rows, (*batch, *sizes_of(y)[1:]))
    if x.ndim == 1:
        row = dimshuffle(x, *("x",) * (y.ndim - 1), 0)
        return squeeze(_batched_dot(row, y), -2)
    ndim = max(x.ndim, y.ndim)
    x, y = (dimshuffle(z, *("x",) * (ndim - z.ndim), *range(z.ndim)) for z in (x, y))
    return _batched_dot(x, y)


def _contracted_axes(x: Any, y: Any, axes: Any) -> tuple[list[int], list[int]]:
    """Return the axes of both operands over which tensordot sums."""
    if isinstance(axes, int | np.integer) or (isinstance(axes, np.ndarray) and not axes.ndim):
        count = int(axes)
        if not 0 <= count <= min(x.ndim, y.ndim):
            msg = (
                f"tensordot cannot sum over {count} axes of {x} (type {x.type}) and {y} (type "
                f"{y.type})."
            )
            raise ShapeError(msg)
        return list(range(x.ndim - count, x.ndim)), list(range(count))
    if not isinstance(axes, list | tuple | np.ndarray) or len(axes) != 2:
        msg = (
            f"The axes of tensordot are a number of axes, or a pair of axes or sequences of axes, "
            f"one for each operand; got {axes!r}."
        )
        raise OpContractError(msg)
    both: list[list[int]] = []
    for operand, given in zip((x, y), axes, strict=True):
        found = [normalize_axis(axis, operand.ndim) for axis in listed_axes(given)]
        if len(set(found)) != len(found):
            msg = f"tensordot: an axis of {operand} is named twice in {given!r}."
            raise ShapeError(msg)
        both.append(found)
    if len(both[0]) != len(both[1]):
        msg = f"tensordot: {len(both[0])} axes of {x} cannot be paired with {len(both[1])} of {y}."
        raise ShapeError(msg)
    return both[0], both[1]


def _check_contracted(x: Any, y: Any, x_axes: list[int], y_axes: list[int]) -> Any:
    """Return ``y`` with the sizes of its summed axes known, or checked, to match those of ``x``."""
    stated: list[Any] = [None] * y.ndim
    for i, j in zip(x_axes, y_axes, strict=True):
        if _disagree(x.type.shape[i], y.type.shape[j]):
            msg = (
                f"tensordot: axis {i} of {x}, of shape {x.type.shape}, and axis {j} of {y}, of "
                f"shape {y.type.shape}, are summed over together, so their sizes must be equal."
            )
            raise ShapeError(msg)
        if x.type.shape[i] is None or y.type.shape[j] is None:
            stated[j] = sizes_of(x)[i]
    # A single axis is checked by the product itself; the product of several could agree by chance.
    return specify_shape(y, stated) if len(x_axes) > 1 else y


def _as_ndim(x: Any, ndim: int, sizes: Sequence[Any]) -> Any:
    """Reshape ``x`` unless it already has this rank."""
    return x if x.ndim == ndim else reshape(x, tuple(sizes))


@also_named
def tensordot(x: Any, y: Any, axes: Axes = 2) -> TensorVariable:
    """Return the sum of products over some axes of both operands.

    Parameters
    ----------
    x, y
        Tensors.
    axes
        The axes of ``x`` and the axes of ``y``, paired in the order given; or a number n, for the
        last n axes of ``x`` and the first n of ``y``.

    Returns
    -------
    TensorVariable
        Has the remaining axes of ``x``, then those of ``y``.

    Raises
    ------
    ShapeError
        An axis is out of range, or the sizes of paired axes differ.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> x = pt.tensor("x", shape=(2, 3, 4), dtype="float64")
    >>> y = pt.tensor("y", shape=(4, 5, 2), dtype="float64")
    >>> pt.tensordot(x, y, axes=[[0, 2], [2, 0]]).type
    Matrix(float64, shape=(3, 5))
    """
    x, y = as_tensor_variable(x), as_tensor_variable(y)
    x_axes, y_axes = _contracted_axes(x, y, axes)
    y = _check_contracted(x, y, x_axes, y_axes)
    x_free = [dim for dim in range(x.ndim) if dim not in x_axes]
    y_free = [dim for dim in range(y.ndim) if dim not in y_axes]
    if not x_axes:
        return math.mul(dimshuffle(x, *x_free, *("x",) * y.ndim), y)
    x_sizes, y_sizes = sizes_of(x), sizes_of(y)
    summed = multiply_sizes(x_sizes[axis] for axis in x_axes)
    rows = [multiply_sizes(x_sizes[dim] for dim in x_free)] if x_free else []
    columns = [multiply_sizes(y_sizes[dim] for dim in y_free)] if y_free else []
    left = _as_ndim(dimshuffle(x, *x_free, *x_axes), len(rows) + 1, (*rows, summed))
    right = _as_ndim(dimshuffle(y, *y_axes, *y_free), len(columns) + 1, (summed, *columns))
    sizes = [x_sizes[dim] for dim in x_free] + [y_sizes[dim] for dim in y_free]
    return _as_ndim(_dot(left, right), len(sizes), sizes)


def batched_tensordot(x: Any, y: Any, axes: Axes = 2) -> TensorVariable:
    """Return the tensordot of each element of ``x`` with the same element of ``y``.

    Parameters
    ----------
    x, y
        Tensors of rank 1 or more; the first axis of both is the batch axis.
    axes
        The axes of ``x`` and the axes of ``y`` to sum over, numbered with the batch axis included,
        though it cannot be among them; or a number n, for the last n axes of ``x`` and the first n
        of ``y`` after the batch axis.

    Returns
    -------
    TensorVariable
        The first dimension is that of both; the others are those of :func:`tensordot`.

    Raises
    ------
    ShapeError
        An axis is out of range, or sizes differ.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> x = pt.tensor("x", shape=(8, 3, 4), dtype="float64")
    >>> pt.batched_tensordot(x, x, axes=[2, 2]).type
    Tensor3(float64, shape=(8, 3, 3))
    """
    x, y = _operands("batched_tensordot", x, y, 1)
    if isinstance(axes, int | np.integer):
        if not 0 <= axes < min(x.ndim, y.ndim):
            msg = (
                "batched_tensordot: the number of axes must not be negative, and must be less than "
                f"the ranks {x.ndim} and {y.ndim}, which count the batch axis; got {axes}."
            )
            raise ShapeError(msg)
        axes = (list(range(x.ndim - axes, x.ndim)), list(range(1, axes + 1)))
    x_axes, y_axes = _contracted_axes(x, y, axes)
    if 0 in x_axes or 0 in y_axes:
        msg = "batched_tensordot: the first axis counts the elements and cannot be summed over."
        raise ShapeError(msg)
    y = _check_contracted(x, y, x_axes, y_axes)
    x_free = [dim for dim in range(1, x.ndim) if dim not in x_axes]
    y_free = [dim for dim in range(1, y.ndim) if dim not in y_axes]
    x_sizes, y_sizes = sizes_of(x), sizes_of(y)
    summed = multiply_sizes(x_sizes[axis] for axis in x_axes)
    rows = multiply_sizes(x_sizes[dim] for dim in x_free)
    columns = multiply_sizes(y_sizes[dim] for dim in y_free)
    left, right = dimshuffle(x, 0, *x_free, *x_axes), dimshuffle(y, 0, *y_axes, *y_free)
    if len(x_free) != 1 or len(x_axes) != 1:
        left = reshape(left, (x_sizes[0], rows, summed))
    if len(y_free) != 1 or len(y_axes) != 1:
        right = reshape(right, (y_sizes[0], summed, columns))
    product = _batched_dot(left, right)
    if len(x_free) == len(y_free) == 1:
        return product
    first = y_sizes[0] if x.type.shape[0] == 1 else x_sizes[0]
    return reshape(
        product, (first, *(x_sizes[dim] for dim in x_free), *(y_sizes[dim] for dim in y_free))
    )


def batched_dot(x: Any, y: Any) -> TensorVariable:
    """Return the dot product of each element of ``x`` with the same element of ``y``.

    Parameters
    ----------
    x, y
        Tensors of rank 1 or more; the first axis of both is the batch axis.

    Returns
    -------
    TensorVariable
        The first dimension is that of both; the others are those of :func:`dot`.

    Raises
    ------
    ShapeError
        The sizes do not match.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> x = pt.tensor("x", shape=(8, 2, 3), dtype="float64")
    >>> y = pt.tensor("y", shape=(8, 3), dtype="float64")
    >>> pt.batched_dot(x, y).type
    Matrix(float64, shape=(8, 2))
    """
    x, y = _operands("batched_dot", x, y, 1)
    if x.ndim == 1:
        return math.mul(dimshuffle(x, 0, *("x",) * (y.ndim - 1)), y)
    if y.ndim == 1:
        return math.mul(x, dimshuffle(y, 0, *("x",) * (x.ndim - 1)))
    return batched_tensordot(x, y, (x.ndim - 1, max(1, y.ndim - 2)))


def _as_vector(x: Any) -> Any:
    x = as_tensor_variable(x)
    return x if x.ndim == 1 else flatten(x)


@also_named
def outer(x: Any, y: Any) -> TensorVariable:
    """Return the outer product of ``x`` and ``y``, both flattened.

    Parameters
    ----------
    x, y
        Tensors of any shapes and dtypes.

    Returns
    -------
    TensorVariable
        A matrix of ``x.size`` rows and ``y.size`` columns, with the dtype to which both promote.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.outer(pt.constant([1, 2]), pt.constant([3, 4])).eval()
    array([[3, 4],
           [6, 8]])
    """
    x, y = _as_vector(x), _as_vector(y)
    return math.mul(dimshuffle(x, 0, "x"), dimshuffle(y, "x", 0))


@also_named
def inner(x: Any, y: Any) -> TensorVariable:
    """Return the sum of products over the last axis of both operands.

    Parameters
    ----------
    x, y
        Tensors; if one of them has no dimensions, the result is their product.

    Returns
    -------
    TensorVariable
        Its shape is that of ``x`` without the last size, followed by that of ``y`` without the
        last. Complex numbers are not conjugated; see :func:`vdot`.

    Raises
    ------
    ShapeError
        The sizes of the last axes differ.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.inner(pt.matrix("x"), pt.tensor3("y")).type
    Tensor3(float64, shape=(?, ?, ?))
    """
    x, y = as_tensor_variable(x), as_tensor_variable(y)
    if x.ndim == 0 or y.ndim == 0:
        return math.mul(x, y)
    return tensordot(x, y, (-1, -1))


@also_named
def vdot(x: Any, y: Any) -> TensorVariable:
    """Return the dot product of the conjugate of ``x`` with ``y``, both flattened.

    Parameters
    ----------
    x, y
        Tensors with the same number of elements.

    Returns
    -------
    TensorVariable
        A 0-d tensor with the dtype to which both promote.

    Raises
    ------
    ShapeError
        The operands have different numbers of elements.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.vdot(pt.constant([1j, 2]), pt.constant([1j, 3])).eval()
    array(7.+0.j)
    """
    return _dot(conjugate(_as_vector(x)), _as_vector(y))


@also_named
def kron(x: Any, y: Any) -> TensorVariable:
    """Return the Kronecker product: a block of ``y``, scaled, for each element of ``x``.

    Parameters
    ----------
    x, y
        Tensors; the one of lower rank has dimensions of size 1 added in front.

    Returns
    -------
    TensorVariable
        Its sizes are the products of those of ``x`` and ``y``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.kron(pt.constant([1, 10]), pt.constant([1, 2])).eval()
    array([ 1,  2, 10, 20])
    """
    x, y = as_tensor_variable(x), as_tensor_variable(y)
    ndim = max(x.ndim, y.ndim)
    x, y = (dimshuffle(z, *("x",) * (ndim - z.ndim), *range(z.ndim)) for z in (x, y))
    if ndim == 0:
        return math.mul(x, y)
    left = dimshuffle(x, *(entry for dim in range(ndim) for entry in (dim, "x")))
    right = dimshuffle(y, *(entry for dim in range(ndim) for entry in ("x", dim)))
    sizes = [multiply_sizes(pair) for pair in zip(sizes_of(x), sizes_of(y), strict=True)]
    return reshape(math.mul(left, right), tuple(sizes))
