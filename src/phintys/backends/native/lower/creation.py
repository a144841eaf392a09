"""Lowering of Ops that create filled arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from phintys.backends.native.lower.families import lowers
from phintys.backends.native.lower.lowering import Lowering
from phintys.backends.native.lower.shape_rules import NativeShapes
from phintys.backends.native.lower.view import View
from phintys.backends.native.values import Place
from phintys.graph.apply import Apply
from phintys.tensor.creation import Alloc, AllocEmpty


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
