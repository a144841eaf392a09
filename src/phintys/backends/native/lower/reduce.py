"""Lowering of reductions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from phintys import scalar as ps
from phintys.backends.native.expressions import Conversion, Expression, Operation
from phintys.backends.native.failures import Failure
from phintys.backends.native.lower.lowering import Lowering, NotLowered, lowers
from phintys.backends.native.lower.view import View
from phintys.backends.native.values import LoopVariable
from phintys.graph.apply import Apply
from phintys.tensor.joining import Join
from phintys.tensor.reduce import Reduce

if TYPE_CHECKING:
    from collections.abc import Sequence


_REDUCERS = {"add", "mul", "maximum", "minimum", "and_", "or_", "xor"}
_EXTREMES = {"maximum": ps.maximum, "minimum": ps.minimum}
_WITHOUT_IDENTITY = _EXTREMES.keys()


@lowers(Reduce)
def lower_reduce(op: Reduce, node: Apply, lowering: Lowering) -> None:
    """``out[i] = sum(j) x[i, j]``."""
    name = op.scalar_op.name
    if name not in _REDUCERS:
        msg = f"no native reduction by {name}"
        raise NotLowered(msg)
    view = lowering.view(node.inputs[0])
    dtype = view.array.dtype
    _, acc = op.resolve_dtypes(dtype.name)
    if np.dtype(acc).kind == "c" and name in _WITHOUT_IDENTITY:
        msg = f"no native {name} of complex numbers"
        raise NotLowered(msg)
    axes = op.axes(view.ndim)
    if name in _WITHOUT_IDENTITY:
        parts = _joined_parts(node, axes, lowering)
        if parts:
            _reduce_parts(name, node, parts, axes, lowering)
            return
        require_elements(view, axes, node, lowering)
    loops = lowering.loops(view.sizes)
    value = lowering.load(view, loops)
    if dtype.name != acc:
        value = Conversion(value, np.dtype(acc))
    kept = [axis for axis in range(view.ndim) if axis not in axes]
    target, _ = lowering.compute(node.outputs[0], [view.sizes[axis] for axis in kept])
    reduce_into(target, value, loops, axes, name, node, lowering)


def _joined_parts(node: Apply, axes: Sequence[int], lowering: Lowering) -> list[View]:
    """Return the parts that were joined along the reduced axis, if one has elements for sure.

    So an array with one more element, for the case that it is empty, need not be made.
    """
    owner = node.inputs[0].owner
    if owner is None or not isinstance(owner.op, Join) or list(axes) != [owner.op.axis]:
        return []
    axis = owner.op.axis
    parts = [lowering.view(variable) for variable in owner.inputs]
    has_elements = any(lowering.sizes.canonical(part.sizes[axis]).known for part in parts)
    is_ordered = all(part.array.dtype == parts[0].array.dtype for part in parts)
    return parts if has_elements and is_ordered and parts[0].array.dtype.kind in "iuf" else []


def _reduce_parts(
    name: str, node: Apply, parts: Sequence[View], axes: Sequence[int], lowering: Lowering
) -> None:
    """Combine the extremes of parts; that of nothing is the opposite end of the dtype."""
    kept = [size for axis, size in enumerate(parts[0].sizes) if axis not in axes]
    target, loops = lowering.compute(node.outputs[0], kept)
    dtype = target.array.dtype
    found: list[Expression] = []
    for part in parts:
        extreme = View.of(lowering.array(dtype, kept), lowering.sizes)
        every = lowering.loops(part.sizes)
        reduce_into(extreme, lowering.load(part, every), every, axes, name, node, lowering)
        found.append(extreme.load(loops))
    value = found[0]
    for other in found[1:]:
        value = Operation(_EXTREMES[name], (value, other), dtype)
    lowering.store(target, value, loops, nodes=(node,))


def reduce_into(
    target: View,
    value: Expression,
    loops: Sequence[LoopVariable | None],
    axes: Sequence[int],
    reducer: str,
    node: Apply,
    lowering: Lowering,
) -> None:
    """Store the reduction of ``value`` over the loops of ``axes``."""
    kept = [loop for axis, loop in enumerate(loops) if axis not in axes]
    lowering.store(
        target,
        value,
        loops,
        reduction=[loops[axis] for axis in axes],
        reducer=reducer,
        positions=target.indices(kept),
        nodes=(node,),
    )


def require_elements(view: View, axes: Sequence[int], node: Apply, lowering: Lowering) -> None:
    """Check that the length of each reduced axis is not 0."""
    sizes = lowering.sizes
    for axis in axes:
        there_is = sizes.arithmetic("lt", sizes.fixed(0), view.sizes[axis])
        lowering.require(there_is, Failure(node, "empty", f"axis {axis}"))
