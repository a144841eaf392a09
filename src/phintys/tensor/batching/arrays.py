"""Batches of elementwise Ops, reductions, products, and Ops that make, join and reshape arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.scalar.op import ScalarOp
from phintys.tensor.batching.rules import batches
from phintys.tensor.creation import Alloc
from phintys.tensor.cumulative import CumOp, LinearRecurrence
from phintys.tensor.diagonals import AllocDiag, ExtractDiag
from phintys.tensor.dim_shuffle import DimShuffle, dimshuffle, matrix_transpose, shape_padright
from phintys.tensor.elemwise import Elemwise
from phintys.tensor.extremes import ArgExtremeAlong, Argmax, Argmin
from phintys.tensor.joining import Join, Split
from phintys.tensor.linear_algebra.assumptions import Assume
from phintys.tensor.linear_algebra.matrix_op import MatrixOp
from phintys.tensor.math import cast, lt, switch
from phintys.tensor.observing import Breakpoint, CheckAndRaise, Print
from phintys.tensor.products import BatchedDot, Dot, matmul
from phintys.tensor.reduce import Reduce, sum
from phintys.tensor.reshaping import Reshape, reshape
from phintys.tensor.running_extremes import RunningArgExtreme, RunningExtreme
from phintys.tensor.scalar_bridge import MakeVector, ScalarFromTensor, TensorFromScalar
from phintys.tensor.shapes import Shape, ShapeI, SpecifyShape, shape_i, sizes_of
from phintys.tensor.sharding import WithSharding
from phintys.tensor.size_check import unchecked_size
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


_SUMMED_AS_THEY_ARE = {"float32", "float64", "complex64", "complex128", "int64", "uint64"}
"""Dtypes that a sum keeps and accumulates in."""


@batches(BatchedDot, MatrixOp)
def batch_stacks(node: Any, batch: Batch) -> list[Any]:
    """The Ops take stacks of matrices, so that axes of a batch are further axes of the stack."""
    return node.op(*(batch.padded(at) for at in range(len(batch.inputs))), return_list=True)


@batches(Dot)
def batch_dot(node: Any, batch: Batch) -> list[Any]:
    """One large product if one operand is the same for all items, else a stack of products."""
    x, y = batch.inputs
    ranks = tuple(operand.ndim for operand in node.inputs)
    if not batch.ranks[1]:
        return [matmul(x, y) if ranks[0] == 2 or x.ndim > 1 else Dot()(x, y)]
    if not batch.ranks[0] and ranks[1] == 1:
        # The items of y are rows: x @ y[i] is row i of y @ x.T.
        return [matmul(y, x if ranks[0] == 1 else matrix_transpose(x))]
    if ranks == (1, 1) and node.outputs[0].dtype in _SUMMED_AS_THEY_ARE:
        return [sum(x * y, axis=-1)]
    first = batch.ndim
    left = batch.padded(0, 2)
    right = batch.padded(1) if ranks[1] == 2 else _columns(batch.padded(1))
    product = BatchedDot()(left, right)
    kept = [*range(first), *([first] if ranks[0] == 2 else [])]
    kept += [first + 1] if ranks[1] == 2 else []
    return [product if len(kept) == product.ndim else dimshuffle(product, *kept)]


def _columns(x: Any) -> Any:
    return dimshuffle(x, *range(x.ndim), "x")


@batches(Shape)
def batch_shape(node: Any, batch: Batch) -> list[Any]:
    """All items have the same shape, that of the last axes."""
    return [Shape()(batch.inputs[0])[batch.ndim :]]


@batches(ShapeI)
def batch_shape_i(node: Any, batch: Batch) -> list[Any]:
    """All items have the same sizes."""
    return [shape_i(batch.inputs[0], batch.ndim + node.op.i)]


@batches(SpecifyShape)
def batch_specify_shape(node: Any, batch: Batch) -> list[Any] | None:
    """Check the last axes."""
    x, *sizes = batch.inputs
    if any(batch.ranks[1:]):
        return None
    return [SpecifyShape((*(False,) * batch.ndim, *node.op.checked))(x, *sizes)]


@batches(Reshape)
def batch_reshape(node: Any, batch: Batch) -> list[Any] | None:
    """Keep the axes of the batch before the new shape of an item."""
    x, shape = batch.inputs
    if batch.ranks[1]:
        return None
    # An entry of -1 is computed for the item: the whole batch can be empty.
    item = node.op.make_node(node.inputs[0].type(), shape)
    (sizes,) = node.op.infer_shape(None, item, [sizes_of(x)[batch.ndim :], None])
    wanted = [*batch.sizes, *map(unchecked_size, sizes)]
    return [reshape(x, wanted, ndim=batch.ndim + node.op.ndim)]


@batches(Alloc)
def batch_alloc(node: Any, batch: Batch) -> list[Any] | None:
    """A value for each item, repeated along the axes of the item."""
    _, *sizes = batch.inputs
    if any(batch.ranks[1:]):
        return None
    return [Alloc()(batch.padded(0, len(sizes)), *batch.sizes, *sizes)]


@batches(Join)
def batch_join(node: Any, batch: Batch) -> list[Any]:
    """All parts are needed for each item."""
    parts = [batch.whole(at) for at in range(len(batch.inputs))]
    return [Join(node.op.axis + batch.ndim)(*parts)]


@batches(Split)
def batch_split(node: Any, batch: Batch) -> list[Any] | None:
    """Split along the axis of an item."""
    x, sizes = batch.inputs
    if batch.ranks[1]:
        return None
    return Split(node.op.n_splits, node.op.axis + batch.ndim)(x, sizes, return_list=True)


@batches(MakeVector)
def batch_make_vector(node: Any, batch: Batch) -> list[Any]:
    """Put the elements along a last axis."""
    parts = [shape_padright(batch.whole(at)) for at in range(len(batch.inputs))]
    return [Join(batch.ndim)(*parts)]


@batches(Assume, ExtractDiag)
def batch_of_matrices(node: Any, batch: Batch) -> list[Any]:
    """The Ops take stacks of matrices."""
    return [node.op(batch.inputs[0])]


@batches(AllocDiag)
def batch_alloc_diag(node: Any, batch: Batch) -> list[Any] | None:
    """The Op takes stacks of diagonals."""
    return None if any(batch.ranks[1:]) else [node.op(*batch.inputs)]


@batches(CheckAndRaise, Print)
def batch_observer(node: Any, batch: Batch) -> list[Any]:
    """Observe the whole batch at once: a condition must hold for all items."""
    x, *conditions = batch.inputs
    if not batch.ranks[0]:
        x = batch.whole(0)
    return [node.op(x, *conditions)]


@batches(WithSharding)
def batch_with_sharding(node: Any, batch: Batch) -> list[Any]:
    """Items are divided; the axes of the batch are not."""
    return [WithSharding(node.op.sharding.batched(batch.ndim))(batch.inputs[0])]


@batches(Breakpoint)
def batch_breakpoint(node: Any, batch: Batch) -> list[Any]:
    """Stop once, if the condition is true for all items."""
    condition, *_ = batch.inputs
    values = [batch.whole(at) for at in range(1, len(batch.inputs))]
    return node.op(condition, *values, return_list=True)
