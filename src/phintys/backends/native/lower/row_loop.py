"""Lowering of RowLoop, the rows of a Jacobian: a loop of steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys import scalar as ps
from phintys.backends.native.dependence import arrays_written, varies
from phintys.backends.native.expressions import (
    Conversion,
    Expression,
    Literal,
    Operation,
    SizeValue,
)
from phintys.backends.native.failures import Failure
from phintys.backends.native.kernels.fusion import fuse
from phintys.backends.native.kernels.statements import prune
from phintys.backends.native.lower.graph import lower_nodes
from phintys.backends.native.lower.lowering import Lowering, NotLowered, lowers
from phintys.backends.native.lower.view import View
from phintys.backends.native.steps.loop import Loop
from phintys.backends.native.values import LoopVariable, Place
from phintys.control.rows.row_loop import RowLoop
from phintys.graph.apply import Apply
from phintys.graph.fgraph import FunctionGraph

if TYPE_CHECKING:
    from phintys.backends.native.sizes import Size


@lowers(RowLoop)
def lower_row_loop(op: RowLoop, node: Apply, lowering: Lowering) -> None:
    """``for i < n: out[i] = row(i)``, or ``out += row(i)``."""
    count = lowering.size_of(node.inputs[0])
    captured = [lowering.view(variable) for variable in node.inputs[1:]]
    # A copy, since variables are bound to values once, and other nodes may have the same Op.
    fgraph = FunctionGraph(op.inner_inputs, op.inner_outputs)
    lowering.require_length(count, Failure(node, "negative", "the number of rows"))
    targets = [
        _target(variable, captured[like].sizes, count if stack else None, node, lowering)
        for variable, like, stack in zip(node.outputs, op.like, op.stacked, strict=True)
    ]
    counter = LoopVariable(count, "row")
    with lowering.body() as steps:
        index, *leaves = fgraph.inputs
        for variable, view in zip(leaves, captured, strict=True):
            lowering.bind(variable, view)
        _bind_counter(index, counter, lowering)
        lower_nodes(fgraph, lowering)
        for variable, target, stack in zip(fgraph.outputs, targets, op.stacked, strict=True):
            _store_row(variable, target, counter if stack else None, node, lowering)
    kept = {target.array for target in targets}
    body = fuse(prune(steps, kept), lowering.sizes, kept)
    pairs = list(zip((target.array for target in targets), op.stacked, strict=True))
    rows = tuple([array for array, stack in pairs if stack])
    sums = tuple([array for array, stack in pairs if not stack])
    are_floats = all(array.dtype.kind in "fc" for array in sums)
    loop = Loop(count, counter, body, node=node, own_rows=rows if are_floats else None, sums=sums)
    written = set(arrays_written(loop))
    for array in written:
        if array.place == Place.BUFFER and any(varies(size, written) for size in array.sizes):
            msg = "the sizes of what is computed for a row are not known before"
            raise NotLowered(msg)
    lowering.steps.append(loop)
    for variable, target in zip(node.outputs, targets, strict=True):
        lowering.bind(variable, target)


def _target(
    variable: Any, row: tuple[Size, ...], count: Size | None, node: Apply, lowering: Lowering
) -> View:
    """Return memory for the rows, or for their sum, which is initialized with 0."""
    lengths = row if count is None else (count, *row)
    dtype = variable.type.numpy_dtype
    view = View.of(lowering.array(dtype, lengths, variable=variable), lowering.sizes)
    if count is None:
        zero = Literal(dtype.type(0), dtype)
        lowering.store(view, zero, lowering.loops(lengths), nodes=(node,))
    return view


def _bind_counter(variable: Any, counter: LoopVariable, lowering: Lowering) -> None:
    """Bind a variable to the number of the row."""
    size = lowering.sizes.counter(counter)
    view = View.of(lowering.array(np.int64, ()), lowering.sizes)
    lowering.remember(view.array, 0, size)
    lowering.store(view, SizeValue(size), ())
    lowering.bind(variable, view)


def _store_row(
    variable: Any, target: View, counter: LoopVariable | None, node: Apply, lowering: Lowering
) -> None:
    """Store a row at its place, or add it to the sum."""
    sizes = lowering.sizes
    place = target if counter is None else target.picked(0, sizes.counter(counter), sizes)
    row = lowering.view(variable)
    for dim, (given, wanted) in enumerate(zip(row.sizes, place.sizes, strict=True)):
        failure = Failure(node, "row", f"dimension {dim}: {{0}} and {{1}}")
        lowering.require_equal(given, wanted, failure)
    loops = lowering.loops(place.sizes)
    value: Expression = lowering.load(row, loops)
    dtype = place.array.dtype
    if counter is None:
        value = value if value.dtype == dtype else Conversion(value, dtype)
        add = ps.or_ if dtype == np.bool_ else ps.add
        value = Operation(add, (place.load(loops), value), dtype)
    lowering.store(place, value, loops, nodes=(node,))
