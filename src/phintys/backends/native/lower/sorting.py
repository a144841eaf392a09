"""Lowering of sorting, and of the indices that sort: own code for short rows, NumPy's for others.

Own code sorts by one number after the other, NumPy's by several at once in the lanes of vectors,
but it is called by way of Python. An exported program has no Python: own code sorts all rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from phintys import scalar as ps
from phintys.backends.native.expressions import Literal, Operation, SizeValue
from phintys.backends.native.kernels.fusion import fuse
from phintys.backends.native.limits import SHORT_SORTED_ROW
from phintys.backends.native.lower.families import lowers
from phintys.backends.native.lower.lowering import Lowering, NotLowered
from phintys.backends.native.lower.pruning import prune
from phintys.backends.native.lower.view import View
from phintys.backends.native.routines.ordering import ORDER, key_dtype
from phintys.backends.native.steps.branch import Branch
from phintys.backends.native.steps.call import LibraryCall
from phintys.graph.apply import Apply
from phintys.tensor.sorting import LONG, ArgSortOp, RowOrder, SortOp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.program import Step
    from phintys.backends.native.sizes import Size
    from phintys.backends.native.values import Array

_BOOL, _INT64 = np.dtype("bool"), np.dtype("int64")

_WHY = "NumPy sorts long rows faster"


@lowers(SortOp)
def lower_sort(op: SortOp, node: Apply, lowering: Lowering) -> None:
    """``out = x[order]``, along an axis."""
    _lower_along(op, node, lowering, SHORT_SORTED_ROW)


@lowers(ArgSortOp)
def lower_arg_sort(op: ArgSortOp, node: Apply, lowering: Lowering) -> None:
    """The order of a stable sort, along an axis."""
    _lower_along(op, node, lowering, LONG)


@lowers(RowOrder)
def lower_row_order(op: RowOrder, node: Apply, lowering: Lowering) -> None:
    """The order by the last column, then by the one before it, and so on."""
    if not lowering.is_exported:
        raise NotLowered(_WHY)
    x = lowering.contiguous(lowering.view(node.inputs[0]), node)
    target, _ = lowering.compute(node.outputs[0], x.sizes[:1])
    rows, columns = x.sizes
    _add_order(node, lowering, x.array, [target.array], (rows,), columns, rows)


def _lower_along(op: SortOp | ArgSortOp, node: Apply, lowering: Lowering, most: int) -> None:
    """Sort along an axis by own code where there are no more numbers than ``most``."""
    sizes = lowering.sizes
    x = lowering.view(node.inputs[0])
    n = sizes.canonical(x.sizes[op.axis])
    is_own = lowering.is_exported or (n.known is not None and n.known < most)
    if n.known is not None and not is_own:
        raise NotLowered(_WHY)
    target, _ = lowering.compute(node.outputs[0], x.sizes)
    if is_own:
        _sort_rows(op, node, lowering, target, n)
        return
    condition = _is_less(n, most, node, lowering)
    with lowering.body() as own:
        short = sizes.arithmetic("min", n, sizes.fixed(most))
        _sort_rows(op, node, lowering, target, short)
    with lowering.body() as others:
        lowering.callback(node, _WHY)
        _copy(lowering.view(node.outputs[0]), target, node, lowering)
    kept = {target.array}
    bodies: list[list[Step]] = [fuse(prune(body, kept), sizes, kept) for body in (own, others)]
    lowering.steps.append(Branch(condition, *bodies, node=node))


def _is_less(size: Size, most: int, node: Apply, lowering: Lowering) -> Array:
    """Return whether a size is less than a number, as a single bool."""
    array = lowering.array(_BOOL, ())
    is_less = Operation(ps.lt, (SizeValue(size), Literal(np.int64(most), _INT64)), _BOOL)
    lowering.store(View.of(array, lowering.sizes), is_less, (), nodes=(node,))
    return array


def _copy(source: View, target: View, node: Apply, lowering: Lowering) -> None:
    loops = lowering.loops(target.sizes)
    lowering.store(target, lowering.load(source, loops), loops, nodes=(node,))


def _sort_rows(
    op: SortOp | ArgSortOp, node: Apply, lowering: Lowering, target: View, room: Size
) -> None:
    """Sort by own code, in rows along the axis, of no more numbers than there is room for."""
    sizes = lowering.sizes
    x = lowering.view(node.inputs[0])
    order = [*(axis for axis in range(x.ndim) if axis != op.axis), op.axis]
    rows = lowering.contiguous(x.rearranged(order, sizes), node)
    is_last = op.axis == x.ndim - 1
    found = target.array if is_last else lowering.array(target.array.dtype, rows.sizes)
    outputs = [found]
    if isinstance(op, SortOp):
        outputs.insert(0, lowering.array(_INT64, (*rows.sizes[:-1], room)))
    _add_order(node, lowering, rows.array, outputs, rows.sizes, sizes.fixed(1), room)
    if not is_last:
        back = [order.index(axis) for axis in range(x.ndim)]
        _copy(View.of(found, sizes).rearranged(back, sizes), target, node, lowering)


def _add_order(
    node: Apply,
    lowering: Lowering,
    source: Array,
    outputs: Sequence[Array],
    shape: Sequence[Size],
    columns: Size,
    room: Size,
) -> None:
    """Add the call that sorts along the last axis of a shape, with a row of workspace."""
    sizes = lowering.sizes
    key = key_dtype(source.dtype)
    n = sizes.canonical(shape[-1])
    options = {
        "count": sizes.product(list(shape[:-1])),
        "n": n,
        "columns": sizes.canonical(columns),
        "taken": n if len(outputs) > 1 else sizes.fixed(0),
    }
    workspace = tuple(lowering.array(dtype, (room,)) for dtype in (key, key, _INT64))
    lowering.steps.append(LibraryCall(ORDER, (source,), tuple(outputs), options, node, workspace))
