"""Reshape: the same elements in a different shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ArgumentError, DtypeError, ShapeError
from phintys.graph.apply import Apply
from phintys.graph.null_type import disconnected_type
from phintys.graph.variable import Constant, Variable
from phintys.tensor._rules import is_missing
from phintys.tensor.convert import as_tensor_variable, constant
from phintys.tensor.creation import check_room
from phintys.tensor.dim_shuffle import SelectsElements, moved, transpose
from phintys.tensor.known import known_sizes
from phintys.tensor.scalar_bridge import MakeVector
from phintys.tensor.shape_rules import Misfit, S, ShapedOp, Shapes
from phintys.tensor.shapes import sizes_of
from phintys.tensor.sizes import as_size, multiply_sizes
from phintys.tensor.synonyms import also_named
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.tensor.variable import TensorVariable


_ELEMENTS = Misfit("reshape", "the numbers of elements before and after")


class Reshape(SelectsElements, ShapedOp):
    """Return the elements of an array, in row-major order, in a new shape.

    Takes the array and a vector of sizes, one of which can be -1 and is then inferred. The result
    is a view where the memory layout allows it.

    Parameters
    ----------
    ndim
        Number of dimensions of the result.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.Reshape(2)(pt.vector("x"), [-1, 3]).type
    Matrix(float64, shape=(?, 3))
    """

    __props__ = ("ndim",)

    view_map = {0: [0]}

    def __init__(self, ndim: int) -> None:
        self.ndim = int(ndim)

    def make_node(self, x: Any, shape: Any) -> Apply:
        x = as_tensor_variable(x)
        shape = _as_shape_vector(shape, self)
        known = known_sizes(shape)
        if known is not None and len(known) != self.ndim:
            msg = f"{self} makes {self.ndim} dimensions, got a shape with {len(known)} entries."
            raise ShapeError(msg)
        (static,) = self.static_shapes([x, shape])
        return Apply(self, [x, shape], [TensorType(x.dtype, static)()])

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        wanted = shapes.entries(1, self.ndim)
        return [tuple(shapes.reshaped(wanted, shapes.shapes[0], _ELEMENTS))]

    def misfit_subject(self, misfit: Misfit, shapes: Shapes[Any]) -> str:
        """Name the products of the sizes."""
        return f"{self}: {misfit.detail}"

    def misfit_error(self, misfit: Misfit, shapes: Shapes[Any]) -> ShapeError:
        """Show the shapes."""
        wanted = tuple(shapes.entries(1, self.ndim))
        negative = [size for size in wanted if size is not None and size < 0]
        if len(negative) > 1 or any(size < -1 for size in negative):
            return ShapeError(
                f"{self}: sizes must not be negative, except for one -1, which is inferred; got "
                f"{wanted}."
            )
        return _misfit(self, shapes.inputs[0], shapes.shapes[0], wanted)

    def perform(
        self, node: Any, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        value, shape = inputs
        if len(shape) != self.ndim:
            msg = f"{self} makes {self.ndim} dimensions, got the shape {tuple(shape.tolist())}."
            raise ShapeError(msg)
        try:
            result = value.reshape(shape)
        except ValueError:
            raise _misfit(self, node.inputs[0], value.shape, shape.tolist()) from None
        if not result.size:
            check_room(self, result.shape, result.dtype)
        output_storage[0][0] = result

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        """The sizes do not influence the elements."""
        return [[True], [False]]

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        x = inputs[0]
        gradient = moved(
            output_grads[0], outputs[0], x, lambda g: reshape(g, sizes_of(x), ndim=x.ndim)
        )
        return [gradient, disconnected_type()]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        point, (x, shape) = eval_points[0], inputs
        if is_missing(point):
            return [None]
        return [moved(point, x, self(x, shape), lambda v: self(v, shape))]

    def pieces(self, node: Apply, other: Any) -> tuple[Any, Any, Any] | None:
        """Return the input of a node, another array in its shape, and what reshapes others."""
        x, shape = node.inputs
        if other.type.broadcastable != node.out.type.broadcastable:  # pyright: ignore[reportAttributeAccessIssue]
            return None
        there = reshape(other, sizes_of(x), ndim=x.type.ndim)  # pyright: ignore[reportAttributeAccessIssue]
        return [x], [there], lambda values: self(*values, shape)

    def __str__(self) -> str:
        return f"Reshape{{{self.ndim}}}"


def _as_shape_vector(shape: Any, op: Any) -> Any:
    if not isinstance(shape, Variable):
        return shape_vector(shape, op)
    vector = as_tensor_variable(shape)
    if vector.type.numpy_dtype.kind not in "iu":
        msg = f"{op}: a shape must consist of integers, got {vector} of dtype {vector.dtype}."
        raise DtypeError(msg)
    if vector.ndim != 1:
        msg = f"{op}: a shape is a vector, got {vector} of type {vector.type}."
        raise ShapeError(msg)
    return vector


def _misfit(op: Any, x: Any, old: Sequence[Any], new: Sequence[Any]) -> ShapeError:
    return ShapeError(
        f"{op}: {x} of shape {tuple(old)} cannot take the shape {tuple(new)}. Both must have the "
        "same number of elements; one size can be -1, which is inferred (but not "
        "where another size is 0)."
    )


def shape_vector(shape: Any, what: Any = "A shape") -> Any:
    """Return sizes as one symbolic int64 vector: a constant if all are ints.

    Parameters
    ----------
    shape
        A size, or a sequence of ints and 0-d symbolic integers.
    what
        The subject that takes the shape, for error messages.

    Raises
    ------
    DtypeError
        An entry is not an integer.
    """
    if isinstance(shape, np.ndarray):
        entries = list(shape.reshape(-1)) if shape.ndim <= 1 else [shape]
    else:
        entries = list(shape) if isinstance(shape, list | tuple | range) else [shape]
    if all(type(entry) is int for entry in entries) and max(map(abs, entries), default=0) < 2**63:
        return constant(np.array(entries, dtype=np.int64))
    sizes = [as_size(entry, f"{what}: a size") for entry in entries]
    if all(isinstance(x, Constant) for x in sizes):
        return constant(np.array([int(x.data) for x in sizes], dtype=np.int64))
    return MakeVector("int64")(*sizes)


@also_named
def reshape(
    x: Any,
    shape: Any,
    ndim: int | str | None = None,
    *,
    order: str = "C",
    copy: bool | None = None,
) -> TensorVariable:
    """Return the elements of ``x`` in a new shape.

    Parameters
    ----------
    x
        A tensor.
    shape
        The sizes: ints and symbolic integers, one of which can be -1 (inferred), in a list or
        tuple; a single size; or a symbolic vector.
    ndim
        Number of dimensions of the result; needed only for a vector of unknown length.
        An order may stand in its place, as in NumPy.
    order
        ``"C"``: the last index varies fastest, in ``x`` and in the result; ``"F"``: the first one.
    copy
        Accepted and ignored: a symbolic array never changes, so it makes no difference whether
        memory is shared.

    Returns
    -------
    TensorVariable
        A tensor with the dtype of ``x``; a view where the memory allows it.

    Raises
    ------
    ArgumentError
        ``order`` is unknown.
    ShapeError
        The number of elements differs, or the number of dimensions is unknown.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> x = pt.tensor("x", shape=(None, 4))
    >>> pt.reshape(x, (-1, 2)).type, x.reshape((x.shape[0], 2, 2)).type
    (Matrix(float64, shape=(?, 2)), Tensor3(float64, shape=(?, 2, 2)))
    """
    x = as_tensor_variable(x)
    if isinstance(shape, Variable) and as_tensor_variable(shape).ndim == 0:
        shape = (shape,)
    vector = _as_shape_vector(shape, "reshape")
    if isinstance(ndim, str):  # NumPy's reshape(x, shape, order)
        ndim, order = None, ndim
    if order not in {"C", "F"}:
        msg = f'reshape: order is "C" or "F", got {order!r}.'
        raise ArgumentError(msg)
    if order == "F":
        return transpose(reshape(transpose(x), vector[::-1], ndim))
    known = known_sizes(vector)
    if known is not None:
        if ndim is not None and ndim != len(known):
            msg = f"reshape: ndim is {ndim}, but the shape has {len(known)} entries."
            raise ShapeError(msg)
        ndim = len(known)
    if ndim is None:
        msg = (
            f"reshape: the number of dimensions is not known, since the length of the vector "
            f"{vector} (type {vector.type}) is not. Pass ndim, or the sizes as a tuple."
        )
        raise ShapeError(msg)
    return Reshape(ndim)(x, vector)


def flatten(x: Any, ndim: int = 1) -> TensorVariable:
    """Return ``x`` with ``ndim`` dimensions, all remaining ones being merged into the last.

    Parameters
    ----------
    x
        A tensor.
    ndim
        Number of dimensions of the result, at least 1 and at most that of ``x`` (or 1).

    Returns
    -------
    TensorVariable
        A tensor of rank ``ndim``, with the dtype of ``x``.

    Raises
    ------
    ShapeError
        ``ndim`` is not from 1 to the rank of ``x``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.flatten(pt.tensor("x", shape=(2, 3, 4)), 2).type
    Matrix(float64, shape=(2, 12))
    """
    x = as_tensor_variable(x)
    rank: Any = ndim[()] if isinstance(ndim, np.ndarray) and not ndim.ndim else ndim
    if not isinstance(rank, int | np.integer) or not 1 <= rank <= max(x.ndim, 1):
        msg = (
            f"flatten: the number of dimensions must be from 1 to {max(x.ndim, 1)} for {x} of "
            f"type {x.type}, got {rank!r}."
        )
        raise ShapeError(msg)
    if x.ndim == rank:
        return x
    if rank == 1:
        return reshape(x, (-1,))
    # Not -1: with a leading size of 0, the remaining size could not be inferred.
    sizes = sizes_of(x)
    return reshape(x, (*sizes[: rank - 1], multiply_sizes(sizes[rank - 1 :])))
