"""Lowering of shapes, and of Ops that only change how memory is seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.backends.native.lower.integers import when
from phintys.backends.native.lower.lowering import Lowering, NotLowered, lower
from phintys.backends.native.lower.view import View
from phintys.backends.native.program import Array, Failure, SizeValue
from phintys.backends.native.sizes import is_length
from phintys.gradient.marks import GradientMark
from phintys.graph.apply import Apply
from phintys.tensor.make_vector import MakeVector
from phintys.tensor.reshape import Reshape
from phintys.tensor.shape import Shape, ShapeI, SpecifyShape
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.sizes import Size, Sizes
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
        size = lowering.known_element(view, ()) if op.dtype == "int64" else None
        if size is not None:
            lowering.remember(target.array, position, size)
        else:
            lowering.remember_source(target.array, position, view)
        place = target.picked(0, sizes.fixed(position), sizes)
        lowering.store(place, lowering.load(view, ()), (), nodes=(node,))


@lower.register
def lower_reshape(op: Reshape, node: Apply, lowering: Lowering) -> None:
    """The same memory with other sizes; copied first if it is not contiguous."""
    sizes = lowering.sizes
    view = lowering.view(node.inputs[0])
    wanted = _wanted_sizes(op, node, view, lowering)
    failure = Failure(node, "reshape", "{0} and {1} elements")
    lowering.require_equal(sizes.product(wanted), sizes.product(view.sizes), failure)
    order = _same_but_for_ones(view.sizes, wanted, sizes)
    if order is not None:
        lowering.bind(node.outputs[0], view.rearranged(order, sizes))
        return
    if not any(map_.terms for map_ in view.maps):  # one number everywhere
        lowering.bind(node.outputs[0], View(view.array, view.maps, tuple(wanted)))
        return
    source = lowering.contiguous(view, node).array
    lowering.bind(node.outputs[0], View.of(_alias(source, wanted, node, lowering), sizes))


def _wanted_sizes(op: Reshape, node: Apply, view: View, lowering: Lowering) -> list[Size]:
    """Return the sizes of the result, in which no -1 is left."""
    sizes = lowering.sizes
    vector = lowering.view(node.inputs[1])
    given = Failure(node, "reshape", "a shape of {0} entries for {1} dimensions")
    lowering.require_equal(vector.sizes[0], sizes.fixed(op.ndim), given)
    known: Sequence[int | None] = node.outputs[0].type.shape  # pyright: ignore[reportAttributeAccessIssue]
    wanted = [
        lowering.element(vector, (position,)) if length is None else sizes.fixed(length)
        for position, length in enumerate(known)
    ]
    numbers = [position for position, size in enumerate(wanted) if (size.known or 0) < 0]
    unsure = [
        position
        for position, size in enumerate(wanted)
        if size.known is None and not is_length(size)
    ]
    if len(numbers) > 1 or (not numbers and len(unsure) > 1):
        msg = "a shape of which several sizes may be -1"
        raise NotLowered(msg)
    if numbers:
        for position in unsure:
            lowering.require_length(wanted[position], Failure(node, "reshape", "a size below 0"))
    for place in numbers or unsure:
        total = sizes.product(view.sizes)
        rest = sizes.product([size for at, size in enumerate(wanted) if at != place])
        if rest.known == 0:
            msg = "a size of -1 beside a size of 0"
            raise NotLowered(msg)
        is_open = sizes.arithmetic("lt", wanted[place], sizes.fixed(0))
        is_wrong = sizes.mul(is_open, sizes.arithmetic("lt", rest, sizes.fixed(1)))
        failure = Failure(node, "reshape", "a size of -1 beside one of 0")
        lowering.require_equal(is_wrong, sizes.fixed(0), failure)
        divisor = sizes.arithmetic("max", rest, sizes.fixed(1))
        what_remains = sizes.arithmetic("floordiv", total, divisor)
        wanted[place] = when(sizes, is_open, what_remains, wanted[place])
    return wanted


def _same_but_for_ones(
    before: Sequence[Size], after: Sequence[Size], sizes: Sizes
) -> list[int | None] | None:
    """Return where the dimensions were, ``None`` for new ones of size 1; else ``None``."""
    axes = [axis for axis, size in enumerate(before) if sizes.canonical(size).known != 1]
    order: list[int | None] = []
    for size in after:
        size = sizes.canonical(size)
        if size.known == 1:
            order.append(None)
        elif axes and sizes.canonical(before[axes[0]]) is size:
            order.append(axes.pop(0))
        else:
            return None
    return None if axes else order


def _alias(source: Array, wanted: Sequence[Size], node: Apply, lowering: Lowering) -> Array:
    alias = lowering.array(source.dtype, wanted, source.place, node.outputs[0])
    alias.alias = source.memory
    alias.data = source.data
    return alias


@lower.register
def lower_gradient_mark(op: GradientMark, node: Apply, lowering: Lowering) -> None:
    """The same memory."""
    if not isinstance(node.inputs[0].type, TensorType):
        msg = f"a value of type {node.inputs[0].type}"
        raise NotLowered(msg)
    lowering.bind(node.outputs[0], lowering.view(node.inputs[0]))
