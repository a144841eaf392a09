"""Lowering of shapes, and of Ops that only change how memory is seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.backends.native.lower.lowering import Lowering, NotLowered, lower
from phintys.backends.native.lower.view import View
from phintys.backends.native.program import Array, Cast, Failure, SizeValue
from phintys.gradient.marks import GradientMark
from phintys.graph.apply import Apply
from phintys.tensor.make_vector import MakeVector
from phintys.tensor.reshape import Reshape
from phintys.tensor.shape import Shape, ShapeI, SpecifyShape
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.sizes import Size
    from phintys.graph.variable import Variable

__all__ = ["store_sizes"]


def store_sizes(variable: Variable, sizes: Sequence[Size], node: Apply, lowering: Lowering) -> None:
    """Make a variable, 0-d or a vector, of sizes, and remember them."""
    ndim = variable.type.ndim  # pyright: ignore[reportAttributeAccessIssue]
    lengths = [lowering.sizes.fixed(len(sizes))] if ndim else []
    target, _ = lowering.compute(variable, lengths)
    for position, size in enumerate(sizes):
        lowering.remember(target.array, position, size)
        place = (
            target if not ndim else target.picked(0, lowering.sizes.fixed(position), lowering.sizes)
        )
        lowering.store(place, SizeValue(size), (), nodes=(node,))


@lower.register
def lower_shape(op: Shape, node: Apply, lowering: Lowering) -> None:
    """``out = (n, m)``."""
    store_sizes(node.outputs[0], lowering.view(node.inputs[0]).sizes, node, lowering)


@lower.register
def lower_shape_i(op: ShapeI, node: Apply, lowering: Lowering) -> None:
    """``out = n``."""
    size = lowering.view(node.inputs[0]).sizes[op.i]
    store_sizes(node.outputs[0], [size], node, lowering)


@lower.register
def lower_specify_shape(op: SpecifyShape, node: Apply, lowering: Lowering) -> None:
    """The same memory, after checks."""
    view = lowering.view(node.inputs[0])
    dims = [dim for dim, checked in enumerate(op.checked) if checked]
    wanted = [lowering.size_of(variable) for variable in node.inputs[1:]]
    for dim, size in zip(dims, wanted, strict=True):
        failure = Failure(node, "specify", f"dimension {dim}")
        lowering.require_equal(view.sizes[dim], size, failure)
    lengths = tuple(lowering.sizes.canonical(size) for size in view.sizes)
    lowering.bind(node.outputs[0], View(view.array, view.maps, lengths))


@lower.register
def lower_make_vector(op: MakeVector, node: Apply, lowering: Lowering) -> None:
    """``out = (a, b, c)``: one statement for each element."""
    sizes = lowering.sizes
    views = [lowering.view(variable) for variable in node.inputs]
    target, _ = lowering.compute(node.outputs[0], [sizes.fixed(len(views))])
    for position, view in enumerate(views):
        if op.dtype == "int64":
            lowering.remember(target.array, position, lowering.element(view, ()))
        value: Any = view.load(())
        if value.dtype != target.array.dtype:
            value = Cast(value, target.array.dtype)
        place = target.picked(0, sizes.fixed(position), sizes)
        lowering.store(place, value, (), nodes=(node,))


@lower.register
def lower_reshape(op: Reshape, node: Apply, lowering: Lowering) -> None:
    """The same memory with other sizes; copied first if it is not contiguous."""
    sizes = lowering.sizes
    view = lowering.view(node.inputs[0])
    wanted = [_wanted_size(op, position, node, lowering) for position in range(op.ndim)]
    total = sizes.product(view.sizes)
    open_places = [position for position, size in enumerate(wanted) if size.known == -1]
    if len(open_places) > 1:
        msg = "a shape with several sizes of -1"
        raise NotLowered(msg)
    if any(size.known is None for size in wanted) and not _sure(node, wanted):
        msg = "a shape of which a size may be -1 at run time"
        raise NotLowered(msg)
    if open_places:
        (place,) = open_places
        rest = sizes.product([size for position, size in enumerate(wanted) if position != place])
        if rest.known == 0:
            msg = "a size of -1 beside a size of 0"
            raise NotLowered(msg)
        wanted[place] = sizes.arithmetic("floordiv", total, rest)
    lowering.require_equal(
        sizes.product(wanted), total, Failure(node, "reshape", "number of elements")
    )
    source = lowering.contiguous(view, node).array
    lowering.bind(node.outputs[0], View.of(_alias(source, wanted, node, lowering), sizes))


def _wanted_size(op: Reshape, position: int, node: Apply, lowering: Lowering) -> Size:
    known = node.outputs[0].type.shape[position]  # pyright: ignore[reportAttributeAccessIssue]
    if known is not None:
        return lowering.sizes.fixed(known)
    return lowering.element(lowering.view(node.inputs[1]), (position,))


def _sure(node: Apply, wanted: Sequence[Size]) -> bool:
    """Tell whether sizes that are known only at run time are lengths of something."""
    return all(size.known is not None or _is_length(size) for size in wanted)


def _is_length(size: Size) -> bool:
    from_lengths = getattr(size, "arguments", None)
    if from_lengths is not None:
        operation = getattr(size, "operation", "")
        return operation in {"add", "mul", "max", "min", "floordiv"} and all(
            (part.known or 0) >= 0 if part.known is not None else _is_length(part)
            for part in from_lengths
        )
    return hasattr(size, "axis")


def _alias(source: Array, wanted: Sequence[Size], node: Apply, lowering: Lowering) -> Array:
    alias = lowering.array(source.dtype, wanted, source.place, node.outputs[0], source.data)
    alias.alias = source if source.alias is None else source.alias
    return alias


@lower.register
def lower_gradient_mark(op: GradientMark, node: Apply, lowering: Lowering) -> None:
    """The same memory."""
    if not isinstance(node.inputs[0].type, TensorType):
        msg = f"a value of type {node.inputs[0].type}"
        raise NotLowered(msg)
    lowering.bind(node.outputs[0], lowering.view(node.inputs[0]))
