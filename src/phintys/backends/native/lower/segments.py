"""Lowering of reductions of segments."""

from __future__ import annotations

import numpy as np

from phintys._base.errors import IndexingError
from phintys.backends.native.expressions import Conversion, Index, IndexCheck, Literal
from phintys.backends.native.failures import Failure
from phintys.backends.native.lower.lowering import Lowering, lowers
from phintys.backends.native.lower.shape_rules import NativeShapes
from phintys.graph.apply import Apply
from phintys.tensor.segments import SegmentReduce

_INT64 = np.dtype("int64")

_OPS = {"max": "maximum", "min": "minimum", "prod": "mul"}


@lowers(SegmentReduce)
def lower_segment_reduce(op: SegmentReduce, node: Apply, lowering: Lowering) -> None:
    """``out[:] = start``; then ``out[ids[i], j] = max(out[ids[i], j], data[i, j])``, in order."""
    sizes = lowering.sizes
    shapes = NativeShapes(node, lowering)
    (lengths,) = op.output_shapes(shapes)
    data, ids = shapes.views[:2]
    failure = Failure(node, "rows", "{0} numbers of segments for {1} rows")
    lowering.require_equal(ids.sizes[0], data.sizes[0], failure)
    target, loops = lowering.compute(node.outputs[0], lengths)
    dtype = target.array.dtype
    start = Literal(op.value_without_rows(dtype), dtype)
    lowering.store(target, start, loops, nodes=(node,))
    loops = lowering.loops(data.sizes)
    number = lowering.load(ids, loops[:1])
    if number.dtype != _INT64:
        number = Conversion(number, _INT64)
    detail = "number {0} is out of range for {1} segments"
    failure = Failure(node, "index", detail, IndexingError, "{op}: {detail}.")
    places = [Index() if loop is None else Index(((loop, sizes.fixed(1)),)) for loop in loops]
    places[0] = Index((), None, IndexCheck(number, lengths[0], failure))
    lowering.store(
        target,
        lowering.load(data, loops),
        loops,
        positions=places,
        accumulate=_OPS[op.mode],
        nodes=(node,),
    )
