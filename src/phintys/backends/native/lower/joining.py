"""Lowering of Join and Split."""

from __future__ import annotations

from typing import Any

from phintys.backends.native.lower.families import lowers
from phintys.backends.native.lower.lowering import Lowering
from phintys.backends.native.lower.shape_rules import NativeShapes
from phintys.graph.apply import Apply
from phintys.tensor.dim_shuffle import DimShuffle
from phintys.tensor.joining import Join, Split
from phintys.tensor.scalar_bridge import MakeVector


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
