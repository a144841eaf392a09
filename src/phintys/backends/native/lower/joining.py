"""Lowering of Join and Split."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.backends.native.failures import Failure
from phintys.backends.native.lower.families import lowers
from phintys.backends.native.lower.lowering import Lowering
from phintys.graph.apply import Apply
from phintys.tensor.joining import Join, Split

if TYPE_CHECKING:
    from phintys.backends.native.sizes import Size

__all__: list[str] = []


@lowers(Join)
def lower_join(op: Join, node: Apply, lowering: Lowering) -> None:
    """``out[i] = x[i]; out[n + j] = y[j]``: one statement for each piece."""
    sizes = lowering.sizes
    views = [lowering.view(variable) for variable in node.inputs]
    lengths = list(views[0].sizes)
    for view in views[1:]:
        for axis, size in enumerate(view.sizes):
            if axis != op.axis:
                failure = Failure(node, "join", f"dimension {axis}: {{0}} and {{1}}")
                lowering.require_equal(lengths[axis], size, failure)
    lowering.require_total([view.sizes[op.axis] for view in views], node)
    total = sizes.fixed(0)
    starts: list[Size] = []
    for view in views:
        starts.append(total)
        total = sizes.add(total, view.sizes[op.axis])
    lengths[op.axis] = total
    target, _ = lowering.compute(node.outputs[0], lengths)
    for view, start in zip(views, starts, strict=True):
        length = view.sizes[op.axis]
        place = target.sliced(op.axis, start, sizes.fixed(1), length, sizes)
        loops = lowering.loops([*lengths[: op.axis], length, *lengths[op.axis + 1 :]])
        lowering.store(place, lowering.load(view, loops), loops, nodes=(node,))


@lowers(Split)
def lower_split(op: Split, node: Apply, lowering: Lowering) -> None:
    """``out0[i] = x[i]; out1[i] = x[n + i]``: views of the same memory."""
    sizes = lowering.sizes
    view, vector = (lowering.view(variable) for variable in node.inputs)
    count = Failure(node, "split", "{0} sizes for {1} parts")
    lowering.require_equal(vector.sizes[0], sizes.fixed(op.n_splits), count)
    lengths = [lowering.element(vector, (part,)) for part in range(op.n_splits)]
    total = sizes.fixed(0)
    starts: list[Size] = []
    for part, length in enumerate(lengths):
        lowering.require_length(length, Failure(node, "negative", f"the size of part {part}"))
        starts.append(total)
        total = sizes.add(total, length)
    lowering.require_total(lengths, node)
    lowering.require_equal(
        total, view.sizes[op.axis], Failure(node, "split", "parts of {0} elements, not {1}")
    )
    for variable, start, length in zip(node.outputs, starts, lengths, strict=True):
        part = view.sliced(op.axis, start, sizes.fixed(1), sizes.canonical(length), sizes)
        lowering.bind(variable, part, is_part=True)
