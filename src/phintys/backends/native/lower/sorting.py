"""Lowering of sorting, and of the indices that sort: own code for short rows, NumPy's for others.

Own code sorts by one number after the other, NumPy's by several at once in the lanes of vectors,
but it is called by way of Python. An exported program has no Python: own code sorts all rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from phintys._base.errors import IndexingError
from phintys.backends.native.failures import Failure
from phintys.backends.native.limits import SHORT_SORTED_ROW
from phintys.backends.native.lower.lowering import Lowering, NotLowered, lowers
from phintys.backends.native.lower.own_or_python import check_own, copy_view, own_or_python
from phintys.backends.native.lower.view import View
from phintys.backends.native.routines.ordering import ORDER, key_dtype
from phintys.backends.native.steps.call import LibraryCall
from phintys.graph.apply import Apply
from phintys.tensor.partitioning import ArgPartitionOp, PartitionOp
from phintys.tensor.sorting import LONG, ArgSortOp, RowOrder, SortOp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.sizes import Size
    from phintys.backends.native.values import Array

_INT64 = np.dtype("int64")

_WHY = "NumPy sorts long rows faster"
_PARTITIONS = "NumPy divides rows without sorting them"


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


@lowers(PartitionOp, ArgPartitionOp)
def lower_partition(op: PartitionOp | ArgPartitionOp, node: Apply, lowering: Lowering) -> None:
    """Sorted numbers are a partition at all places."""
    if not lowering.is_exported:
        raise NotLowered(_PARTITIONS)
    x = lowering.view(node.inputs[0])
    n = lowering.sizes.canonical(x.sizes[op.axis])
    least = max((-place if place < 0 else place + 1 for place in op.kth), default=0)
    is_enough = lowering.sizes.arithmetic("lt", lowering.sizes.fixed(least - 1), n)
    detail = f"a row has fewer than {least} elements"
    failure = Failure(node, "index", detail, IndexingError, "{op}: {detail}.")
    lowering.require(is_enough, failure)
    target, _ = lowering.compute(node.outputs[0], x.sizes)
    _sort_rows(op, node, lowering, target, n)


def _lower_along(op: SortOp | ArgSortOp, node: Apply, lowering: Lowering, most: int) -> None:
    """Sort along an axis by own code where there are no more numbers than ``most``."""
    sizes = lowering.sizes
    x = lowering.view(node.inputs[0])
    n = sizes.canonical(x.sizes[op.axis])
    check_own(lowering, n, most, _WHY)
    is_bounded = lowering.is_exported or n.known is not None
    room = n if is_bounded else sizes.arithmetic("min", n, sizes.fixed(most))

    def own(target: View) -> None:
        _sort_rows(op, node, lowering, target, room)

    own_or_python(node, lowering, x.sizes, (n, most, _WHY), own)


def _sort_rows(
    op: SortOp | ArgSortOp | PartitionOp | ArgPartitionOp,
    node: Apply,
    lowering: Lowering,
    target: View,
    room: Size,
) -> None:
    """Sort by own code, in rows along the axis, of no more numbers than there is room for."""
    sizes = lowering.sizes
    x = lowering.view(node.inputs[0])
    order = [*(axis for axis in range(x.ndim) if axis != op.axis), op.axis]
    rows = lowering.contiguous(x.rearranged(order, sizes), node)
    is_last = op.axis == x.ndim - 1
    found = target.array if is_last else lowering.array(target.array.dtype, rows.sizes)
    outputs = [found]
    if isinstance(op, SortOp | PartitionOp):
        outputs.insert(0, lowering.array(_INT64, (*rows.sizes[:-1], room)))
    _add_order(node, lowering, rows.array, outputs, rows.sizes, sizes.fixed(1), room)
    if not is_last:
        back = [order.index(axis) for axis in range(x.ndim)]
        copy_view(View.of(found, sizes).rearranged(back, sizes), target, node, lowering)


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
