"""Batches of Ops that make, join and reshape arrays, and of those that look at shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.tensor.batching.rules import batches
from phintys.tensor.creation import Alloc
from phintys.tensor.diagonals import AllocDiag, ExtractDiag
from phintys.tensor.dim_shuffle import shape_padright
from phintys.tensor.joining import Join, Split
from phintys.tensor.linear_algebra.assumptions import Assume
from phintys.tensor.make_vectors import MakeVector
from phintys.tensor.observing import Breakpoint, CheckAndRaise, Print
from phintys.tensor.reshaping import Reshape, reshape
from phintys.tensor.shapes import Shape, ShapeI, SpecifyShape, shape_i, sizes_of
from phintys.tensor.sharding import WithSharding
from phintys.tensor.size_check import unchecked_size

if TYPE_CHECKING:
    from phintys.tensor.batching.engine import Batch


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
