"""Lowering of shapes, and of Ops that only place elements: fills, joins and diagonals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.backends.native.expressions import Literal, SizeValue
from phintys.backends.native.failures import Failure, OwnFailure
from phintys.backends.native.lower.lowering import Loops, Lowering, NotLowered, lowers
from phintys.backends.native.lower.shape_rules import NativeShapes
from phintys.backends.native.lower.slices import position_in
from phintys.backends.native.lower.view import View
from phintys.backends.native.sizes import Sizes, is_length
from phintys.backends.native.values import Array, Place, Size
from phintys.gradient.marks import GradientMark
from phintys.graph.apply import Apply
from phintys.tensor.creation import Alloc, AllocEmpty
from phintys.tensor.diagonals import AllocDiag, ExtractDiag
from phintys.tensor.dim_shuffle import DimShuffle
from phintys.tensor.joining import Join, Split
from phintys.tensor.reshaping import Reshape
from phintys.tensor.scalar_bridge import MakeVector
from phintys.tensor.shapes import Shape, ShapeI, SpecifyShape
from phintys.tensor.size_check import SizeCheck

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.variable import Variable


def store_sizes(variable: Variable, sizes: Sequence[Size], node: Apply, lowering: Lowering) -> None:
    """Store sizes in a 0-d or 1-d variable, and remember them."""
    ndim = variable.type.ndim  # pyright: ignore[reportAttributeAccessIssue]
    lengths = [lowering.sizes.fixed(len(sizes))] if ndim else []
    target, loops = lowering.compute(variable, lengths)
    if not sizes:
        _store_nothing(target, loops, lowering)
    for position, size in enumerate(sizes):
        lowering.remember(target.array, position, size)
        place = (
            target if not ndim else target.picked(0, lowering.sizes.fixed(position), lowering.sizes)
        )
        lowering.store(place, SizeValue(size), (), nodes=(node,))


@lowers(Shape)
def lower_shape(op: Shape, node: Apply, lowering: Lowering) -> None:
    """``out = (n, m)``."""
    store_sizes(node.outputs[0], lowering.view(node.inputs[0]).sizes, node, lowering)


@lowers(ShapeI)
def lower_shape_i(op: ShapeI, node: Apply, lowering: Lowering) -> None:
    """``out = n``."""
    size = lowering.view(node.inputs[0]).sizes[op.i]
    store_sizes(node.outputs[0], [size], node, lowering)


@lowers(SizeCheck)
def lower_size_check(op: SizeCheck, node: Apply, lowering: Lowering) -> None:
    """The same size, after a check of two others."""
    sizes = lowering.sizes
    view = lowering.view(node.inputs[0])
    a, b = (lowering.size_of(variable) for variable in node.inputs[1:])
    if op.relation == "equal":
        lowering.require_equal(a, b, OwnFailure(node, "size", "{0} and {1}"))
    elif op.relation == "index":
        position_in(b, a, 0, node, lowering)
    elif b.known != 0 or not is_length(a):
        failure = Failure(node, op.subject, f"less than {b}", text="{kind}: {detail}.")
        lowering.require(sizes.arithmetic("lt", sizes.add(b, sizes.fixed(-1)), a), failure)
    lowering.bind(node.outputs[0], view)


@lowers(SpecifyShape)
def lower_specify_shape(op: SpecifyShape, node: Apply, lowering: Lowering) -> None:
    """The same memory, after checks."""
    shapes = NativeShapes(node, lowering)
    (sizes,) = op.output_shapes(shapes)
    view = shapes.views[0]
    lengths = tuple(map(lowering.sizes.canonical, sizes))
    lowering.bind(node.outputs[0], View(view.array, view.maps, lengths))


def _store_nothing(target: View, loops: Loops, lowering: Lowering) -> None:
    """Write to an empty vector: memory that is never written is not created."""
    dtype = target.array.dtype
    lowering.store(target, Literal(dtype.type(0), dtype), loops)


@lowers(MakeVector)
def lower_make_vector(op: MakeVector, node: Apply, lowering: Lowering) -> None:
    """``out = (a, b, c)``: one statement for each element."""
    sizes = lowering.sizes
    views = [lowering.view(variable) for variable in node.inputs]
    target, loops = lowering.compute(node.outputs[0], [sizes.fixed(len(views))])
    if not views:
        _store_nothing(target, loops, lowering)
    for position, view in enumerate(views):
        size = lowering.known_element(view, ()) if op.dtype == "int64" else None
        if size is not None:
            lowering.remember(target.array, position, size)
        else:
            lowering.remember_source(target.array, position, view)
        place = target.picked(0, sizes.fixed(position), sizes)
        lowering.store(place, lowering.load(view, ()), (), nodes=(node,))


@lowers(Reshape)
def lower_reshape(op: Reshape, node: Apply, lowering: Lowering) -> None:
    """The same memory with different sizes; copied first if it is not contiguous."""
    sizes = lowering.sizes
    view = lowering.view(node.inputs[0])
    vector = lowering.view(node.inputs[1])
    given = Failure(node, "reshape", "a shape of {0} entries for {1} dimensions")
    lowering.require_equal(vector.sizes[0], sizes.fixed(op.ndim), given)
    (wanted,) = op.output_shapes(NativeShapes(node, lowering))
    order = _same_but_for_ones(view.sizes, wanted, sizes)
    if order is not None:
        lowering.bind(node.outputs[0], view.rearranged(order, sizes))
        return
    if not any(map_.terms for map_ in view.maps):  # one number everywhere
        lowering.bind(node.outputs[0], View(view.array, view.maps, tuple(wanted)))
        return
    source = lowering.contiguous(view, node).array
    lowering.bind(node.outputs[0], View.of(alias(source, wanted, lowering), sizes))


def _same_but_for_ones(
    before: Sequence[Size], after: Sequence[Size], sizes: Sizes
) -> list[int | None] | None:
    """Return the former dimensions, ``None`` for new ones of size 1; ``None`` if they differ."""
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


def alias(source: Array, wanted: Sequence[Size], lowering: Lowering) -> Array:
    """Return an alias of an array with different sizes."""
    shown = lowering.array(source.dtype, wanted, source.place)
    shown.alias = source.memory
    shown.data = source.data
    return shown


@lowers(GradientMark)
def lower_gradient_mark(op: GradientMark, node: Apply, lowering: Lowering) -> None:
    """``y = x``, in the same memory."""
    if not node.inputs[0].type.holds_arrays:
        msg = f"a value of type {node.inputs[0].type}"
        raise NotLowered(msg)
    if not op.is_identity:
        msg = f"{op} has a perform of its own"
        raise NotLowered(msg)
    lowering.bind(node.outputs[0], lowering.view(node.inputs[0]))


# ---- filled arrays -------------------------------------------------------------------------------


def number(value: Any, dtype: Any, lowering: Lowering) -> View:
    """Return a 0-d constant."""
    data = np.array(value, dtype)
    array = lowering.array(data.dtype, (), Place.CONSTANT, data=data)
    return View.of(array, lowering.sizes)


@lowers(Alloc)
def lower_alloc(op: Alloc, node: Apply, lowering: Lowering) -> None:
    """``out[i, j] = value[0, j]``: no memory, just a view of the value."""
    sizes = lowering.sizes
    shapes = NativeShapes(node, lowering)
    (found,) = op.output_shapes(shapes)
    lengths = [sizes.canonical(size) for size in found]
    view = shapes.views[0]
    missing = len(lengths) - view.ndim
    whole = view.rearranged([*[None] * missing, *range(view.ndim)], sizes)
    whole = whole.broadcast(lengths, sizes)
    # For the graph this is new memory; without any repetition, it must not be passed through.
    lowering.bind(node.outputs[0], lowering.copied(whole) if whole.is_whole(sizes) else whole)


@lowers(AllocEmpty)
def lower_alloc_empty(op: AllocEmpty, node: Apply, lowering: Lowering) -> None:
    """The content is undefined: zeros, which take no memory."""
    (lengths,) = op.output_shapes(NativeShapes(node, lowering))
    view = View(number(0, op.dtype, lowering).array, (), lengths)
    lowering.bind(node.outputs[0], view if lengths else lowering.copied(view))


# ---- joins ---------------------------------------------------------------------------------------


@lowers(Join)
def lower_join(op: Join, node: Apply, lowering: Lowering) -> None:
    """``out[i] = x[i]; out[n + j] = y[j]``: one statement for each piece or new number."""
    sizes = lowering.sizes
    shapes = NativeShapes(node, lowering)
    (lengths,) = op.output_shapes(shapes)
    target, _ = lowering.compute(node.outputs[0], lengths)
    start = sizes.fixed(0)
    for variable, view in zip(node.inputs, shapes.views, strict=True):
        length = view.sizes[op.axis]
        place = target.sliced(op.axis, start, sizes.fixed(1), length, sizes)
        start = sizes.add(start, length)
        numbers = _numbers(variable, lowering)
        if numbers is None:
            loops = lowering.loops([*lengths[: op.axis], length, *lengths[op.axis + 1 :]])
            lowering.store(place, lowering.load(view, loops), loops, nodes=(node,))
            continue
        for position, number in enumerate(numbers):
            cell = place.picked(place.ndim - 1, sizes.fixed(position), sizes)
            if cell.ndim:  # of a row
                cell = cell.picked(0, sizes.fixed(0), sizes)
            lowering.store(cell, lowering.load(lowering.view(number), ()), (), nodes=(node,))


def _numbers(x: Any, lowering: Lowering) -> list[Any] | None:
    """Return the numbers of a vector, or of a matrix of one row, that is made for this node only.

    Written at once, they need no memory in between.
    """
    if len(lowering.clients.get(x, ())) != 1:
        return None
    node = x.owner
    if node is not None and isinstance(node.op, DimShuffle) and node.op.new_order == ("x", 0):
        vector = node.inputs[0]
        node = vector.owner if len(lowering.clients.get(vector, ())) == 1 else None
    return node.inputs if node is not None and isinstance(node.op, MakeVector) else None


@lowers(Split)
def lower_split(op: Split, node: Apply, lowering: Lowering) -> None:
    """``out0[i] = x[i]; out1[i] = x[n + i]``: views of the same memory."""
    sizes = lowering.sizes
    shapes = NativeShapes(node, lowering)
    view = shapes.views[0]
    start = sizes.fixed(0)
    for variable, shape in zip(node.outputs, op.output_shapes(shapes), strict=True):
        length = shape[op.axis]
        part = view.sliced(op.axis, start, sizes.fixed(1), length, sizes)
        lowering.bind(variable, part, is_part=True)
        start = sizes.add(start, length)


# ---- diagonals -----------------------------------------------------------------------------------


def _diagonal(view: View, offset: int, length: Size, lowering: Lowering) -> View:
    """Return the diagonal of the last two axes."""
    sizes = lowering.sizes
    down, right = max(-offset, 0), max(offset, 0)
    one = sizes.fixed(1)
    cut = view.sliced(view.ndim - 2, sizes.fixed(down), one, length, sizes)
    cut = cut.sliced(view.ndim - 1, sizes.fixed(right), one, length, sizes)
    return cut.diagonal(sizes)


@lowers(ExtractDiag)
def lower_extract_diag(op: ExtractDiag, node: Apply, lowering: Lowering) -> None:
    """``out[i, k] = x[i, k, k]``: a view of the same memory."""
    shapes = NativeShapes(node, lowering)
    ((*_, length),) = op.output_shapes(shapes)
    diagonal = _diagonal(shapes.views[0], op.offset, length, lowering)
    lowering.bind(node.outputs[0], diagonal, is_part=True)


@lowers(AllocDiag)
def lower_alloc_diag(op: AllocDiag, node: Apply, lowering: Lowering) -> None:
    """``out = 0``; then ``out[i, k, k] = x[i, k]``."""
    shapes = NativeShapes(node, lowering)
    (lengths,) = op.output_shapes(shapes)
    x = shapes.views[0]
    target, loops = lowering.compute(node.outputs[0], lengths)
    dtype = target.array.dtype
    lowering.store(target, Literal(dtype.type(0), dtype), loops, nodes=(node,))
    diagonal = _diagonal(target, op.offset, x.sizes[-1], lowering)
    loops = lowering.loops(x.sizes)
    lowering.store(diagonal, lowering.load(x, loops), loops, nodes=(node,))
