"""Batches of elementwise Ops, reductions, and others that work along given axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.scalar.op import ScalarOp
from phintys.tensor.batching.rules import batches
from phintys.tensor.cumulative import CumOp, LinearRecurrence
from phintys.tensor.dim_shuffle import DimShuffle
from phintys.tensor.elemwise import Elemwise
from phintys.tensor.extremes import ArgExtremeAlong, Argmax, Argmin
from phintys.tensor.math import cast, lt, switch
from phintys.tensor.reduce import Reduce
from phintys.tensor.running_extremes import RunningArgExtreme, RunningExtreme
from phintys.tensor.scalar_bridge import ScalarFromTensor, TensorFromScalar
from phintys.tensor.softmaxes import LogSoftmax, LogSumExp, Softmax
from phintys.tensor.sorting import ArgSortOp, SortOp

if TYPE_CHECKING:
    from phintys.tensor.batching.engine import Batch


@batches(Elemwise)
def batch_elemwise(node: Any, batch: Batch) -> list[Any]:
    """The operands have equal ranks, so that axes of a batch line up."""
    op: Any = node.op if not node.op.inplace_pattern else Elemwise(node.op.scalar_op)
    return op(*batch.inputs, return_list=True)


@batches(ScalarOp)
def batch_scalar(node: Any, batch: Batch) -> list[Any]:
    """Scalars of a batch are a tensor."""
    op: Any = Elemwise(node.op)
    return op(*batch.inputs, return_list=True)


@batches(ScalarFromTensor, TensorFromScalar)
def batch_bridge(node: Any, batch: Batch) -> list[Any]:
    """A batch of scalars is a tensor already."""
    return [batch.inputs[0]]


@batches(DimShuffle)
def batch_dimshuffle(node: Any, batch: Batch) -> list[Any]:
    """The order of the axes of an item, after those of the batch."""
    first = batch.ndim
    order = [entry if entry == "x" else entry + first for entry in node.op.new_order]
    x = batch.inputs[0]
    return [DimShuffle(x.ndim, (*range(first), *order))(x)]


@batches(Reduce)
def batch_reduce(node: Any, batch: Batch) -> list[Any]:
    """Reduce along the axes of an item."""
    op = node.op
    return [Reduce(op.scalar_op, _axes(node, batch), op.dtype, op.acc_dtype)(batch.inputs[0])]


@batches(Argmax, Argmin, LogSoftmax, LogSumExp, Softmax)
def batch_over_axes(node: Any, batch: Batch) -> list[Any]:
    """Look along the axes of an item."""
    return [type(node.op)(_axes(node, batch))(batch.inputs[0])]


def _axes(node: Any, batch: Batch) -> tuple[int, ...]:
    return tuple(axis + batch.ndim for axis in node.op.axes(node.inputs[0].ndim))


@batches(ArgExtremeAlong)
def batch_along(node: Any, batch: Batch) -> list[Any] | None:
    """An axis that is counted from the end stays the same."""
    x, axis = batch.inputs
    if batch.ranks[1]:
        return None
    number = cast(axis, "int64")
    return [node.op(x, switch(lt(number, 0), number, number + batch.ndim))]


@batches(CumOp)
def batch_cumulative(node: Any, batch: Batch) -> list[Any]:
    """Accumulate along the axis of an item."""
    op = node.op
    return [CumOp(op.axis + batch.ndim, op.mode, op.exclusive, op.reverse)(batch.inputs[0])]


@batches(RunningArgExtreme, RunningExtreme)
def batch_running(node: Any, batch: Batch) -> list[Any]:
    """Look along the axis of an item; places count from its front in an item, too."""
    op = node.op
    return [type(op)(op.axis + batch.ndim, op.mode)(batch.inputs[0])]


@batches(LinearRecurrence)
def batch_recurrence(node: Any, batch: Batch) -> list[Any]:
    """Factors and terms have one shape, so both are needed for each item."""
    op = node.op
    return [LinearRecurrence(op.axis + batch.ndim, op.reverse)(batch.whole(0), batch.whole(1))]


@batches(SortOp, ArgSortOp)
def batch_sort(node: Any, batch: Batch) -> list[Any]:
    """Sort along the axis of an item."""
    op = node.op
    return [type(op)(op.axis + batch.ndim, op.kind)(batch.inputs[0])]
