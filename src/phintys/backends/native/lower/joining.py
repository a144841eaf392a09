"""Lowering of Join and Split."""

from __future__ import annotations

from phintys.backends.native.lower.families import lowers
from phintys.backends.native.lower.lowering import Lowering
from phintys.backends.native.lower.shape_rules import NativeShapes
from phintys.graph.apply import Apply
from phintys.tensor.joining import Join, Split

__all__: list[str] = []


@lowers(Join)
def lower_join(op: Join, node: Apply, lowering: Lowering) -> None:
    """``out[i] = x[i]; out[n + j] = y[j]``: one statement for each piece."""
    sizes = lowering.sizes
    shapes = NativeShapes(node, lowering)
    (lengths,) = op.output_shapes(shapes)
    target, _ = lowering.compute(node.outputs[0], lengths)
    start = sizes.fixed(0)
    for view in shapes.views:
        length = view.sizes[op.axis]
        place = target.sliced(op.axis, start, sizes.fixed(1), length, sizes)
        loops = lowering.loops([*lengths[: op.axis], length, *lengths[op.axis + 1 :]])
        lowering.store(place, lowering.load(view, loops), loops, nodes=(node,))
        start = sizes.add(start, length)


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
