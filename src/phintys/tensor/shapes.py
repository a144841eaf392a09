"""The shape of a tensor as an expression, and shape assertions by the user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ShapeError, TypeContractError, add_note
from phintys.graph.apply import Apply
from phintys.graph.null_type import disconnected_type
from phintys.graph.op import Op
from phintys.graph.variable import Constant, Variable
from phintys.tensor import math
from phintys.tensor._rules import is_missing
from phintys.tensor.convert import as_tensor_variable, constant
from phintys.tensor.dim_shuffle import listed_axes, normalize_axis
from phintys.tensor.known import known_int, known_sizes
from phintys.tensor.scalar_bridge import MakeVector
from phintys.tensor.shape_rules import Misfit, S, ShapedOp, Shapes
from phintys.tensor.size_check import unchecked_size
from phintys.tensor.sizes import as_size, fold, multiply_sizes
from phintys.tensor.synonyms import also_named
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.tensor.variable import TensorVariable

_SIZE = TensorType("int64", ())


def _with_shape(x: Any, op: Op) -> Any:
    """Return a variable whose Type has a shape: a tensor, or another Type with a rank."""
    if isinstance(x, Variable) and isinstance(getattr(x.type, "ndim", None), int):
        return x
    try:
        return as_tensor_variable(x)
    except TypeContractError as error:
        add_note(error, f"{op} takes a variable that has a shape.")
        raise


class Shape(ShapedOp):
    """Return the shape of an array as an int64 vector.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.Shape()(pt.matrix("x")).type
    Vector(int64, shape=(2,))
    """

    __props__ = ()
    raises_only_for_shapes = True
    static_value_by_types = True

    def make_node(self, x: Any) -> Apply:
        x = _with_shape(x, self)
        return Apply(self, [x], [TensorType("int64", (x.type.ndim,))()])

    def perform(
        self, node: Any, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        output_storage[0][0] = np.array(inputs[0].shape, dtype=np.int64)

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        return [(shapes.number(shapes.inputs[0].type.ndim),)]

    def static_value(self, node: Apply, known: Any) -> tuple[int | None, ...]:
        """Return the static shape."""
        return _static_shape(node.inputs[0].type)

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        """The elements do not influence the shape."""
        return [[False]]

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        return [disconnected_type()]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return [None]


class ShapeI(ShapedOp):
    """Return the size of one dimension of an array.

    Parameters
    ----------
    i
        The dimension, counted from 0.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.ShapeI(1)(pt.matrix("x")).type
    Scalar(int64)
    """

    __props__ = ("i",)
    raises_only_for_shapes = True
    static_value_by_types = True

    def __init__(self, i: int) -> None:
        self.i = int(i)

    def make_node(self, x: Any) -> Apply:
        x = _with_shape(x, self)
        if not 0 <= self.i < x.type.ndim:
            msg = f"{self}: {x} of type {x.type} has no dimension {self.i}."
            raise ShapeError(msg)
        return Apply(self, [x], [_SIZE()])

    def perform(
        self, node: Any, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        cell = output_storage[0]
        if cell[0] is None or not cell[0].flags.writeable:
            cell[0] = np.array(inputs[0].shape[self.i], dtype=np.int64)
        else:
            cell[0][()] = inputs[0].shape[self.i]

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        return [()]

    def static_value(self, node: Apply, known: Any) -> int | None:
        """Return the static size."""
        return _static_shape(node.inputs[0].type)[self.i]

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        """The elements do not influence the shape."""
        return [[False]]

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        return [disconnected_type()]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return [None]

    def __str__(self) -> str:
        return f"Shape_i{{{self.i}}}"


def _static_shape(type_: Any) -> tuple[int | None, ...]:
    return getattr(type_, "shape", None) or (None,) * type_.ndim


_shape = Shape()


@also_named
def shape(x: Any) -> TensorVariable:
    """Return the shape of ``x`` as a symbolic vector; ``x.type.shape`` is the static shape.

    Parameters
    ----------
    x
        A tensor, or a variable of another type that has a shape.

    Returns
    -------
    TensorVariable
        An int64 vector of length ``x.ndim``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.matrix("x").shape.eval({"x": [[1.0, 2.0, 3.0]]})
    array([1, 3])
    """
    return _shape(x)


def shape_i(x: Any, i: int) -> TensorVariable:
    """Return the size of dimension ``i`` of ``x``, as a constant if it is known.

    Parameters
    ----------
    x
        A tensor, or a variable of another type that has a shape.
    i
        The dimension, an int; negative ones count from the end.

    Returns
    -------
    TensorVariable
        A 0-d int64 tensor.

    Raises
    ------
    AxisError
        ``i`` is out of range.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.shape_i(pt.matrix("x"), -1).eval({"x": [[1.0, 2.0, 3.0]]})
    array(3)
    """
    x = _with_shape(x, _shape)
    i = normalize_axis(i, x.type.ndim)
    known = getattr(x.type, "shape", None)
    if known is not None and known[i] is not None:
        return constant(known[i])  # pyright: ignore[reportReturnType] - a constant is accepted
    return _SHAPE_I[i](x) if i < len(_SHAPE_I) else ShapeI(i)(x)


_SHAPE_I = [ShapeI(dim) for dim in range(8)]


def shape_tuple(x: Any) -> tuple[TensorVariable, ...]:
    """Return all sizes of ``x``, the known ones as constants.

    Parameters
    ----------
    x
        A tensor, or a variable of another type that has a shape.

    Returns
    -------
    tuple of TensorVariable
        ``x.ndim`` 0-d int64 tensors.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.shape_tuple(pt.tensor("x", shape=(None, 3)))
    (Shape_i{0}.0, TensorConstant{3})
    """
    x = _with_shape(x, _shape)
    return tuple(shape_i(x, i) for i in range(x.type.ndim))


def sizes_of(x: Any) -> tuple[Any, ...]:
    """Return all sizes of a tensor: ints where known, otherwise symbolic."""
    return tuple(
        shape_i(x, dim) if known is None else known for dim, known in enumerate(x.type.shape)
    )


@also_named
def size(x: Any, axis: int | Sequence[int] | None = None) -> TensorVariable:
    """Return the number of elements of ``x``, or along some axes.

    Parameters
    ----------
    x
        A tensor.
    axis
        One axis, several, or ``None`` for all.

    Returns
    -------
    TensorVariable
        A 0-d int64 tensor.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.size(pt.matrix("x")).eval({"x": [[1.0, 2.0, 3.0]]})
    array(3)
    """
    x = as_tensor_variable(x)
    sizes = sizes_of(x)
    if axis is None:
        return as_size(multiply_sizes(sizes))
    axes = [normalize_axis(one, x.ndim) for one in listed_axes(axis)]
    return as_size(multiply_sizes([sizes[one] for one in axes]))


_OF_LENGTHS = {math.add, math.mul}


def is_length(size: Any) -> bool:
    """Return whether a size is known not to be negative.

    It is if it is a number, the size of an axis, or a sum or product of these.
    """
    stack = [size]
    while stack:
        part = unchecked_size(fold(stack.pop()))
        if isinstance(part, int):
            if part < 0:
                return False
        elif part.owner is None:
            return False
        elif part.owner.op in _OF_LENGTHS:
            stack.extend(part.owner.inputs)
        elif not isinstance(part.owner.op, ShapeI):
            return False
    return True


def vector_elements(vector: Any) -> list[Any]:
    """Return the elements of a symbolic vector of known length, as a list.

    Raises
    ------
    ShapeError
        The length is unknown.
    """
    node = vector.owner
    if node is not None and isinstance(node.op, MakeVector):
        return list(node.inputs)
    if node is not None and isinstance(node.op, Shape):
        return list(shape_tuple(node.inputs[0]))
    length = vector.type.shape[0]
    if length is None:
        msg = f"The length of {vector} (type {vector.type}) is not known."
        raise ShapeError(msg)
    if isinstance(vector, Constant):
        return [constant(element) for element in vector.data]
    return [vector[position] for position in range(length)]


class SpecifyShape(ShapedOp):
    """Return the array itself, after checking that some of its sizes are as stated.

    Parameters
    ----------
    checked
        For each dimension, whether its size is checked. The op takes the array and one size for
        each checked dimension.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.SpecifyShape((False, True))(pt.matrix("x"), 3).type
    Matrix(float64, shape=(?, 3))
    """

    __props__ = ("checked",)

    view_map = {0: [0]}

    def __init__(self, checked: Sequence[bool]) -> None:
        self.checked = tuple(bool(one) for one in checked)
        self._dims = tuple(dim for dim, one in enumerate(self.checked) if one)

    def make_node(self, x: Any, *sizes: Any) -> Apply:
        x = as_tensor_variable(x)
        if x.ndim != len(self.checked) or len(sizes) != len(self._dims):
            msg = (
                f"{self} takes an array of rank {len(self.checked)} and {len(self._dims)} sizes, "
                f"got {x} of type {x.type} and {len(sizes)} sizes."
            )
            raise ShapeError(msg)
        inputs = [x, *map(as_size, sizes)]
        (shape,) = self.static_shapes(inputs)
        return Apply(self, inputs, [x.type.clone(shape=shape)()])

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        """Return the sizes of the array, to which the stated ones are equal."""
        sizes = list(shapes.shapes[0])
        for position, dim in enumerate(self._dims, 1):
            misfit = Misfit("specify", f"dimension {dim}", dim, position)
            stated = shapes.value(position)
            if sizes[dim] is None:
                shapes.length(stated, misfit)
            sizes[dim] = shapes.equal(stated, sizes[dim], misfit)
        return [tuple(sizes)]

    def misfit_subject(self, misfit: Misfit, shapes: Shapes[Any]) -> str:
        """Name the dimension."""
        return f"{self}: the stated size of dimension {misfit.dim} and the actual one"

    def misfit_error(self, misfit: Misfit, shapes: Shapes[Any]) -> ShapeError:
        """Show the shape."""
        return ShapeError(
            f"{self}: dimension {misfit.dim} of {shapes.inputs[0]} must be of size "
            f"{shapes.value(misfit.position)}, but the shape is {shapes.shapes[0]}. The size is "
            "that of another operand, or stated by specify_shape or a type: pass an array that has "
            "it, or correct the statement."
        )

    def perform(
        self, node: Any, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        value = inputs[0]
        self.shapes_of_results(node.inputs, [value.shape], [value, *map(int, inputs[1:])])
        output_storage[0][0] = value

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        """The stated sizes have no influence on the elements."""
        return [[True], *([False] for _ in node.inputs[1:])]

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        return [output_grads[0], *(disconnected_type() for _ in inputs[1:])]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        point = eval_points[0]
        return [None if is_missing(point) else self(point, *inputs[1:])]


def specify_shape(x: Any, shape: Any) -> TensorVariable:
    """Return ``x`` with a more specific static shape, checked when the value is computed.

    Parameters
    ----------
    x
        A tensor.
    shape
        One entry for each dimension: its size, an int or symbolic, or ``None`` to leave it
        unspecified; or a symbolic vector of sizes.

    Returns
    -------
    TensorVariable
        A view of ``x``, whose type has that shape.

    Raises
    ------
    ShapeError
        The stated shape contradicts the static shape or, at run time, the value.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.specify_shape(pt.matrix("x"), (None, 3)).type
    Matrix(float64, shape=(?, 3))
    """
    x = as_tensor_variable(x)
    if isinstance(shape, Variable):
        shape = as_tensor_variable(shape)
        known = known_sizes(shape)
        if shape.ndim == 1 and (known is None or len(known) != x.ndim):
            msg = (
                f"specify_shape: the shape of {x} (type {x.type}) needs {x.ndim} entries, got "
                f"{shape} of type {shape.type}."
            )
            raise ShapeError(msg)
        shape = vector_elements(shape) if shape.ndim == 1 else (shape,)
    elif not isinstance(shape, list | tuple | np.ndarray):
        shape = (shape,)
    if len(shape) != x.ndim:
        msg = f"specify_shape: {x} has {x.ndim} dimensions, got {len(shape)} sizes: {shape!r}."
        raise ShapeError(msg)
    sizes = [None if entry is None else as_size(entry) for entry in shape]
    # Sizes that the type already guarantees need no check.
    checked = [
        entry is not None and (static is None or known_int(entry) != static)
        for entry, static in zip(sizes, x.type.shape, strict=True)
    ]
    if not any(checked):
        return x
    stated = [entry for entry, one in zip(sizes, checked, strict=True) if one]
    return SpecifyShape(checked)(x, *stated)


def specify_broadcastable(x: Any, *axes: int) -> TensorVariable:
    """Return ``x`` with size 1 specified for some dimensions, so that they broadcast.

    Parameters
    ----------
    x
        A tensor.
    axes
        The dimensions; their sizes are checked to be 1 at run time.

    Returns
    -------
    TensorVariable
        A view of ``x``, whose type says so.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.specify_broadcastable(pt.matrix("x"), 0).type
    Matrix(float64, shape=(1, ?))
    """
    x = as_tensor_variable(x)
    wanted = {normalize_axis(axis, x.ndim) for axis in axes}
    return specify_shape(x, [1 if dim in wanted else None for dim in range(x.ndim)])
