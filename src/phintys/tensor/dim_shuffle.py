"""DimShuffle: reorder, drop and insert dimensions, as a view."""

from __future__ import annotations

import functools
from operator import index
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from phintys._base.caches import remember
from phintys._base.errors import AxisError, OpContractError, ShapeError
from phintys.graph.apply import Apply
from phintys.graph.identity import is_among
from phintys.graph.variable import Constant
from phintys.scalar.cancelling import is_same
from phintys.tensor.convert import as_tensor_variable, constant
from phintys.tensor.shape_rules import Misfit, S, ShapedOp, Shapes
from phintys.tensor.synonyms import also_named
from phintys.tensor.type import MOST_DIMS, TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.tensor.variable import TensorVariable

_MOST_LEVELS, _AS_DEEP = 6, 3


class SelectsElements:
    """A mixin for Ops whose result has elements of their first input, wherever these are.

    Which ones they are depends on the other inputs alone, so such an Op commutes with elementwise
    functions. Derivatives use this to cancel factors.
    """

    def selected(self: Any, node: Apply, x: Any) -> Any:
        """Return the elements of ``x`` that a node of this Op selects from its first input.

        Parameters
        ----------
        node
            The node.
        x
            A tensor of the shape of the input, or with one element.

        Returns
        -------
        TensorVariable or None
            The elements; ``None`` if ``x`` is broadcast in some dimensions only.
        """
        source: Any = node.inputs[0]
        number = _number(x)
        if number is not None:
            return number
        if x.type.broadcastable == source.type.broadcastable:
            return self(x, *node.inputs[1:])
        return x.dimshuffle() if all(x.type.broadcastable) else None


class JoinsArrays:
    """A mixin for Ops that put arrays together; each input becomes a part of the result."""

    def splitter(self, inputs: Sequence[Any]) -> Callable[[Any], Sequence[Any]]:
        """Return a function that splits an array of the shape of the result into its parts."""
        raise NotImplementedError

    def are_as_long(self, x: Any, y: Any) -> bool:
        """Return whether the parts that two inputs become are known to be equally long."""
        raise NotImplementedError

    def split_moved(self, value: Any, joined: Any, inputs: Sequence[Any]) -> list[Any]:
        """Return the parts of a value, in which parts of ``joined`` are the inputs.

        Parameters
        ----------
        value
            A tensor of the shape of the result.
        joined
            The result for the inputs.
        inputs
            The arrays.
        """
        split = functools.cache(self.splitter(inputs))
        return [
            moved(value, joined, x, lambda v, position=position: split(v)[position])
            for position, x in enumerate(inputs)
        ]

    def pieces(self, node: Apply, other: Any) -> tuple[Any, Any, Any] | None:
        """Return the inputs of a node, the corresponding parts of another array, and the Op.

        ``None`` unless the other array is an elementwise expression of what the same Op makes of
        arrays of the same lengths.
        """
        joined = _found(other, lambda x: x.owner is not None and x.owner.op == self, _MOST_LEVELS)
        if joined is None or len(joined.owner.inputs) != len(node.inputs):
            return None
        inputs = joined.owner.inputs
        pairs = zip(inputs, node.inputs, strict=True)
        unknown = [x for x, y in pairs if not (self.are_as_long(x, y) or _are_of_one_shape(x, y))]
        if len(unknown) > 1 or joined.type.broadcastable != other.type.broadcastable:
            return None
        parts = self.split_moved(other, joined, inputs)
        return node.inputs, parts, lambda values: cast("Any", self)(*values)


class DimShuffle(SelectsElements, ShapedOp):
    """Return a view of the input with its dimensions reordered.

    Parameters
    ----------
    input_ndim
        Rank of the input.
    new_order
        For each dimension of the output, the corresponding dimension of the input, or ``"x"`` for a
        new one of size 1. Dimensions of the input that are not listed are dropped; their size must
        be 1.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.DimShuffle(2, (1, "x", 0))(pt.matrix("a")).type
    Tensor3(float64, shape=(?, 1, ?))
    """

    __props__ = ("input_ndim", "new_order")
    raises_only_for_shapes = True

    view_map = {0: [0]}

    def __init__(self, input_ndim: int, new_order: Sequence[int | str]) -> None:
        if not 0 <= input_ndim <= MOST_DIMS:
            msg = f"DimShuffle: the rank of an array is from 0 to {MOST_DIMS}, got {input_ndim}."
            raise OpContractError(msg)
        self.input_ndim = input_ndim
        self.new_order = tuple([self._checked(entry) for entry in new_order])
        kept = [entry for entry in self.new_order if isinstance(entry, int)]
        if len(set(kept)) != len(kept):
            msg = f"DimShuffle: the order {self.new_order} names a dimension twice."
            raise OpContractError(msg)
        self.shuffle = kept
        self.augment = [i for i, entry in enumerate(self.new_order) if entry == "x"]
        self.drop = [dim for dim in range(input_ndim) if dim not in kept]
        self._numpy_order = kept + self.drop
        self._index = tuple(None if entry == "x" else slice(None) for entry in self.new_order) + (
            0,
        ) * len(self.drop)
        self._is_transposition = self._numpy_order != sorted(self._numpy_order)
        self._output_types: dict[TensorType, TensorType] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.input_ndim, self.new_order))

    def _checked(self, entry: Any) -> int | str:
        """Return an entry of the new order as an int, or ``"x"``."""
        if isinstance(entry, str) and entry == "x":
            return entry
        try:
            dim = index(cast("Any", entry))
        except TypeError:
            dim = -1
        if not 0 <= dim < self.input_ndim:
            msg = f"DimShuffle: {entry!r} is not a dimension of an array of rank {self.input_ndim}."
            raise OpContractError(msg)
        return dim

    def static_value(self, node: Apply, known: Sequence[Any]) -> Any:
        """Return a number as a vector of one entry, or the other way round."""
        (value,) = known
        if self.new_order == ("x",):
            return (value,) if isinstance(value, int) else None
        if self.new_order == () and isinstance(value, tuple):
            entries = cast("tuple[int | None, ...]", value)
            return entries[0] if len(entries) == 1 else None
        return value if self.new_order in {(), (0,)} else None

    def make_node(self, x: Any) -> Apply:
        """Apply to a tensor of the right rank."""
        x = as_tensor_variable(x)
        output_type = self._output_types.get(x.type)
        if output_type is None:
            output_type = remember(self._output_types, x.type, self._infer_type(x))
        return Apply(self, [x], [output_type()])

    def _infer_type(self, x: Any) -> TensorType:
        if x.ndim != self.input_ndim:
            msg = f"{self} takes an array of rank {self.input_ndim}, got {x} of type {x.type}."
            raise ShapeError(msg)
        return TensorType(x.type.dtype, *self.static_shapes([x]))

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        """Take the sizes in the new order; those that are dropped are 1."""
        (given,) = shapes.shapes
        one = shapes.number(1)
        for dim in self.drop:
            shapes.agreed((given[dim], one), Misfit.in_dimension("drop", dim))
        return [tuple([one if entry == "x" else given[entry] for entry in self.new_order])]

    def misfit_error(self, misfit: Misfit, shapes: Shapes[Any]) -> ShapeError:
        """Show the shape."""
        (given,) = shapes.shapes
        return ShapeError(
            f"{self} drops dimension {misfit.dim} of {shapes.inputs[0]}, whose size is "
            f"{given[misfit.dim]}, of shape {given}. Only a dimension of size 1 can be dropped."
        )

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Return the view."""
        (value,) = inputs
        if self.drop:
            self.shapes_of_results(node.inputs, [value.shape])
        if self._is_transposition:
            value = value.transpose(self._numpy_order)
        output_storage[0][0] = value[(*self._index, ...)]

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Apply the inverse permutation to the gradient."""
        (gradient,) = output_grads
        return [moved(gradient, outputs[0], inputs[0], self._inverse())]

    def _inverse(self) -> DimShuffle:
        order: list[int | str] = ["x"] * self.input_ndim
        for position, entry in enumerate(self.new_order):
            if isinstance(entry, int):
                order[entry] = position
        return _dimshuffle_op(len(self.new_order), tuple(order))

    def pieces(self, node: Apply, other: Any) -> tuple[Any, Any, Any] | None:
        """Return the input of a node, the corresponding view of another array, and the Op."""
        if other.type.broadcastable != node.out.type.broadcastable:  # pyright: ignore[reportAttributeAccessIssue]
            return None
        return node.inputs, [self._inverse()(other)], lambda values: self(*values)

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """Apply the op to the tangent."""
        (tangent,), (x,) = eval_points, inputs
        return [None if tangent is None else moved(tangent, x, self(x), self)]

    def __str__(self) -> str:
        order = ",".join(str(entry) for entry in self.new_order)
        if not self.augment and not self.drop:
            return f"Transpose{{{order}}}"
        if not self.drop and not self._is_transposition:
            return f"ExpandDims{{{order}}}"
        return f"DimShuffle{{{order}}}"


def moved(value: Any, view: Any, viewed: Any, move: Callable[[Any], Any]) -> Any:
    """Return ``move(value)``, in which a view is what it is a view of.

    The gradient of ``sqrt(x)[:, None] ** 2`` by the root has the root as a factor, but in the shape
    of the view. Were it only brought back to the shape of the root, divisors of the derivative of
    the root could not cancel it, and the gradient would be NaN at 0.

    Parameters
    ----------
    value
        A gradient, of the shape of the view.
    view, viewed
        A value, and the one that ``move`` makes of it.
    move
        A function that reorders the elements of an array of the shape of the view.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> from phintys.tensor.dim_shuffle import moved
    >>> x = pt.dvector("x")
    >>> root = pt.sqrt(x)
    >>> column = root[:, None]
    >>> phintys.pprint(moved(column * 2.0, column, root, lambda y: y[:, 0]))
    'sqrt(x) * 2.0'
    """
    is_apart = view.type.dtype != viewed.type.dtype or not _is_elementwise(viewed)
    if is_apart or not _is_made_of(value, view, _MOST_LEVELS):
        return move(value)
    if is_same(value, view, _AS_DEEP):
        return viewed
    node = value.owner
    shape = value.type.shape
    operands: list[Any] = []
    for x in node.inputs:
        number = _number(x)
        if number is not None:
            operands.append(number)
        elif all(x.type.broadcastable) and not all(value.type.broadcastable):
            operands.append(x.dimshuffle())
        elif x.type.shape == shape and x.type.broadcastable == value.type.broadcastable:
            operands.append(moved(x, view, viewed, move))
        else:  # it is repeated along dimensions that may not remain
            return move(value)
    return node.op(*operands)


def _number(x: Any) -> Any:
    """Return a constant of one element as a 0-d constant, ``None`` for other variables."""
    is_number = isinstance(x, Constant) and x.data.size == 1
    return constant(x.data.reshape(())) if is_number else None


def _is_elementwise(x: Any) -> bool:
    """Return whether a value has elements of an elementwise function.

    Only derivatives of these have divisors.
    """
    while x.owner is not None and (isinstance(x.owner.op, SelectsElements) or x.owner.op.view_map):
        x = x.owner.inputs[0]
    return x.owner is not None and hasattr(x.owner.op, "inplace_pattern")


def _is_made_of(value: Any, view: Any, levels: int) -> bool:
    """Return whether a value is an elementwise expression of a view, or the view itself."""
    return _found(value, lambda x: is_same(x, view, _AS_DEEP), levels) is not None


def _found(value: Any, is_wanted: Callable[[Any], bool], levels: int) -> Any:
    """Return the variable that is wanted in an elementwise expression, or ``None``."""
    if is_wanted(value):
        return value
    node = value.owner
    if node is None or not levels or not hasattr(node.op, "inplace_pattern"):
        return None
    if len(node.outputs) != 1:
        return None
    found = (_found(x, is_wanted, levels - 1) for x in node.inputs)
    return next((x for x in found if x is not None), None)


def _are_of_one_shape(x: Any, y: Any) -> bool:
    """Return whether two elementwise expressions have a common operand of the shape of both."""
    of_x: list[Any] = []

    def enter(part: Any) -> bool:
        of_x.extend([part] if part.type.broadcastable == x.type.broadcastable else [])
        return False

    _found(x, enter, _MOST_LEVELS)
    return x.type.broadcastable == y.type.broadcastable and (
        _found(y, lambda part: is_among(part, of_x), _MOST_LEVELS) is not None
    )


def normalize_axis(axis: Any, ndim: int) -> int:
    """Return ``axis`` counted from the front; raise if it is out of range.

    Raises
    ------
    AxisError
        ``axis`` is out of range for an array of rank ``ndim``.
    """
    try:
        position = axis if type(axis) is int else axis.__index__()
    except (AttributeError, TypeError):
        value = getattr(axis, "data", None)  # a constant
        if value is None or np.ndim(value) != 0:
            msg = f"An axis is an int, got {axis!r} of type {type(axis).__name__}."
            raise OpContractError(msg) from None
        position = int(value)
    if not -ndim <= position < ndim:
        there = f"it is from {-ndim} to {ndim - 1}" if ndim else "there is none"
        msg = f"Axis {position} is out of range for an array of rank {ndim}: {there}."
        raise AxisError(msg)
    return position % ndim


def listed_axes(axis: Any) -> tuple[Any, ...]:
    """Return one axis, or a sequence of axes, as a tuple of what may be axes.

    One axis is all that an array has room for where it has no dimensions: ``np.array(1)``.
    """
    if isinstance(axis, list | tuple | range):
        return tuple(cast("Sequence[Any]", axis))
    return tuple(axis) if isinstance(axis, np.ndarray) and axis.ndim else (axis,)


def normalize_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return axes in ascending order; ``None`` means all of them.

    Raises
    ------
    ShapeError
        An axis is out of range or repeated.
    """
    if axis is None:
        return tuple(range(ndim))
    axes = sorted(normalize_axis(entry, ndim) for entry in listed_axes(axis))
    if len(set(axes)) != len(axes):
        msg = f"An axis is named twice in {axis!r} (of an array of rank {ndim}). Name it once."
        raise ShapeError(msg)
    return tuple(axes)


def dimshuffle(x: Any, *pattern: Any) -> TensorVariable:
    """Return ``x`` with its dimensions reordered, and with new ones of size 1 inserted.

    Parameters
    ----------
    x
        A tensor.
    pattern
        For each dimension of the result, a dimension of ``x`` (negative ones count from the end),
        or ``"x"`` for a new one of size 1; or all of these in one list.

    Returns
    -------
    TensorVariable
        A view of ``x``, with one dimension for each entry of the pattern.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.dimshuffle(pt.matrix("a"), 1, 0, "x").type
    Tensor3(float64, shape=(?, ?, 1))
    """
    x = as_tensor_variable(x)
    if len(pattern) == 1 and isinstance(pattern[0], list | tuple):
        pattern = tuple(pattern[0])
    order = tuple(["x" if entry == "x" else normalize_axis(entry, x.ndim) for entry in pattern])
    if order == tuple(range(x.ndim)):
        return x
    return _dimshuffle_op(x.ndim, order)(x)


@functools.lru_cache(maxsize=4096)
def _dimshuffle_op(input_ndim: int, new_order: tuple[int | str, ...]) -> DimShuffle:
    return DimShuffle(input_ndim, new_order)


@also_named
def transpose(x: Any, axes: Sequence[int] | None = None) -> TensorVariable:
    """Return ``x`` with its dimensions in another order.

    Parameters
    ----------
    x
        A tensor.
    axes
        The dimensions in their new order; reversed by default.

    Returns
    -------
    TensorVariable
        A view of ``x``.

    Raises
    ------
    ShapeError
        There are not as many axes as dimensions.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> x = pt.tensor("x", shape=(2, 3, 4))
    >>> pt.transpose(x).type.shape, pt.transpose(x, (0, 2, 1)).type.shape
    ((4, 3, 2), (2, 4, 3))
    """
    x = as_tensor_variable(x)
    order = tuple(reversed(range(x.ndim))) if axes is None else listed_axes(axes)
    if len(order) != x.ndim:
        msg = f"transpose: {x} has {x.ndim} dimensions, got the order {order}."
        raise ShapeError(msg)
    return dimshuffle(x, *order)


def matrix_transpose(x: Any) -> TensorVariable:
    """Return ``x`` with its last two dimensions swapped.

    Parameters
    ----------
    x
        A matrix, or a stack of them.

    Returns
    -------
    TensorVariable
        A view of ``x``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.matrix_transpose([[1, 2], [3, 4]]).eval()
    array([[1, 3],
           [2, 4]])
    """
    return swapaxes(x, -1, -2)


@also_named
def swapaxes(x: Any, axis1: int, axis2: int) -> TensorVariable:
    """Return ``x`` with two dimensions swapped.

    Parameters
    ----------
    x
        A tensor.
    axis1, axis2
        The dimensions. Negative ones count from the end.

    Returns
    -------
    TensorVariable
        A view of ``x``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.swapaxes(pt.tensor("x", shape=(2, 3, 4)), 0, 2).type.shape
    (4, 3, 2)
    """
    x = as_tensor_variable(x)
    first, second = normalize_axis(axis1, x.ndim), normalize_axis(axis2, x.ndim)
    order = list(range(x.ndim))
    order[first], order[second] = second, first
    return dimshuffle(x, *order)


@also_named
def moveaxis(
    x: Any, source: int | Sequence[int], destination: int | Sequence[int]
) -> TensorVariable:
    """Return ``x`` with dimensions moved to new positions; the others keep their order.

    Parameters
    ----------
    x
        A tensor.
    source
        One dimension or several.
    destination
        As many positions of the result.

    Returns
    -------
    TensorVariable
        A view of ``x``.

    Raises
    ------
    ShapeError
        There are not as many sources as destinations, or one is given twice.
    AxisError
        One is out of range.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.moveaxis(pt.tensor("x", shape=(2, 3, 4)), 0, -1).type.shape
    (3, 4, 2)
    """
    x = as_tensor_variable(x)
    sources, targets = list(listed_axes(source)), list(listed_axes(destination))
    if len(sources) != len(targets):
        msg = f"moveaxis: {len(sources)} sources and {len(targets)} destinations."
        raise ShapeError(msg)
    sources = [normalize_axis(axis, x.ndim) for axis in sources]
    targets = [normalize_axis(axis, x.ndim) for axis in targets]
    normalize_axes(sources, x.ndim)
    normalize_axes(targets, x.ndim)
    order = [dim for dim in range(x.ndim) if dim not in sources]
    for target, axis in sorted(zip(targets, sources, strict=True)):
        order.insert(target, axis)
    return dimshuffle(x, *order)


@also_named
def squeeze(x: Any, axis: Any = None) -> TensorVariable:
    """Return ``x`` with dimensions of size 1 removed.

    Parameters
    ----------
    x
        A tensor.
    axis
        The dimensions to drop; by default all whose size is known to be 1.

    Returns
    -------
    TensorVariable
        A view of ``x``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> x = pt.tensor("x", shape=(1, None, 1))
    >>> pt.squeeze(x).type.shape, pt.squeeze(x, 0).type.shape
    ((None,), (None, 1))
    """
    x = as_tensor_variable(x)
    if axis is None:
        drop = tuple(dim for dim, size in enumerate(x.type.shape) if size == 1)
    else:
        drop = normalize_axes(axis, x.ndim)
    return dimshuffle(x, *(dim for dim in range(x.ndim) if dim not in drop))


@also_named
def expand_dims(x: Any, axis: int | Sequence[int]) -> TensorVariable:
    """Return ``x`` with new dimensions of size 1.

    Parameters
    ----------
    x
        A tensor.
    axis
        One position or several, of the result. Negative ones count from its end.

    Returns
    -------
    TensorVariable
        A view of ``x``.

    Raises
    ------
    AxisError
        A position is out of range.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.expand_dims(pt.vector("x", shape=(3,)), (0, -1)).type
    Tensor3(float64, shape=(1, 3, 1))
    """
    x = as_tensor_variable(x)
    given = listed_axes(axis)
    new = normalize_axes(given, x.ndim + len(given))
    old = iter(range(x.ndim))
    return dimshuffle(x, *("x" if d in new else next(old) for d in range(x.ndim + len(new))))


@also_named
def shape_padleft(x: Any, n_ones: int = 1) -> TensorVariable:
    """Return ``x`` with ``n_ones`` new dimensions of size 1 in front.

    Parameters
    ----------
    x
        A tensor.
    n_ones
        How many dimensions to add, an int.

    Returns
    -------
    TensorVariable
        A view of ``x``, of rank ``x.ndim + n_ones``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> x = pt.vector("x", shape=(3,))
    >>> pt.shape_padleft(x, 2).type.shape
    (1, 1, 3)
    """
    x = as_tensor_variable(x)
    return dimshuffle(x, *_new_axes(x, n_ones), *range(x.ndim))


def _new_axes(x: Any, count: int) -> tuple[str, ...]:
    if x.ndim + count > MOST_DIMS:
        msg = (
            f"An array has at most {MOST_DIMS} dimensions; {x} has {x.ndim}, and {count:,} more "
            "were asked for."
        )
        raise ShapeError(msg)
    return ("x",) * max(count, 0)


@also_named
def shape_padright(x: Any, n_ones: int = 1) -> TensorVariable:
    """Return ``x`` with ``n_ones`` new dimensions of size 1 at the end.

    Parameters
    ----------
    x
        A tensor.
    n_ones
        How many dimensions to add, an int.

    Returns
    -------
    TensorVariable
        A view of ``x``, of rank ``x.ndim + n_ones``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> x = pt.vector("x", shape=(3,))
    >>> pt.shape_padright(x, 2).type.shape
    (3, 1, 1)
    """
    x = as_tensor_variable(x)
    return dimshuffle(x, *range(x.ndim), *_new_axes(x, n_ones))


@also_named
def shape_padaxis(x: Any, axis: int) -> TensorVariable:
    """Return ``x`` with one new dimension of size 1 at ``axis``.

    Parameters
    ----------
    x
        A tensor.
    axis
        The position of the new dimension in the result, an int; negative ones count from the end.

    Returns
    -------
    TensorVariable
        A view of ``x``, of rank ``x.ndim + 1``.

    Raises
    ------
    AxisError
        ``axis`` is out of range.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.shape_padaxis(pt.vector("x", shape=(3,)), 1).type.shape
    (3, 1)
    """
    return expand_dims(x, axis)
