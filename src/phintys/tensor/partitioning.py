"""Partitions: some elements are where sorting puts them, and divide all others."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.copies import LARGE, copied
from phintys._base.errors import IndexingError, OpContractError
from phintys._base.uninterrupted import run_whole
from phintys.graph.apply import Apply
from phintys.tensor._rules import is_discrete, is_missing, zero_gradient
from phintys.tensor.batching.rules import batches
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.indexing.setting import take_along_axis
from phintys.tensor.shape_rules import TakesShape
from phintys.tensor.sorting import argsort
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence


class _PartitioningOp(TakesShape):
    """Base class of :class:`PartitionOp` and :class:`ArgPartitionOp`."""

    __props__ = ("axis", "kth")

    def __init__(self, axis: int, kth: tuple[int, ...]) -> None:
        if axis < 0:
            msg = f"The axis of {type(self).__name__} counts from the front, got {axis}."
            raise OpContractError(msg)
        self.axis = int(axis)
        self.kth = tuple(int(place) for place in kth)

    def _check_places(self, x: Any) -> None:
        length = x.shape[self.axis]
        for place in self.kth:
            if not -length <= place < length:
                msg = f"{self} of {length} elements has no element {place}."
                raise IndexingError(msg)

    def flops(self, input_shapes: Sequence[Any], output_shapes: Sequence[Any]) -> int:
        """Return a few comparisons for each element."""
        return 3 * int(np.prod(input_shapes[0], dtype=int))


class PartitionOp(_PartitioningOp):
    """Put some elements along an axis where sorting puts them, smaller ones before them.

    Parameters
    ----------
    axis
        The axis, counted from the front.
    kth
        The places, negative ones counted from the end. There must be elements at them.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.tensor.partitioning import PartitionOp
    >>> PartitionOp(0, (2,))(pt.constant([7, 1, 9, 3])).eval()[2]
    np.int64(7)
    """

    def make_node(self, x: Any) -> Apply:
        """Apply to a tensor that has the axis."""
        x = as_tensor_variable(x)
        return Apply(self, [x], [x.type()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Partition with NumPy."""
        (x,) = inputs
        self._check_places(x)
        if x.size <= LARGE:
            output_storage[0][0] = np.partition(x, self.kth, self.axis)
            return
        # As for sorts: NumPy does not look at signals, so it works in another thread.
        own = copied(x, x.dtype)
        run_whole(partial(own.partition, self.kth, self.axis))
        output_storage[0][0] = own

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Move the gradient of the element of each rank to the element that has it."""
        (x,), (y,), (g,) = inputs, outputs, output_grads
        if is_discrete(x):
            return [zero_gradient(x)]
        return [self._moved(g, y, x)]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """Move the tangents in the same way."""
        (x,), (v,) = inputs, eval_points
        if is_missing(v):
            return [None]
        if is_discrete(x):
            return [zero_gradient(x)]
        return [self._moved(v, x, self(x))]

    def _moved(self, values: Any, source: Any, target: Any) -> Any:
        """Return values in the order of ``target`` that are in that of ``source``."""
        ranks = argsort(argsort(target, self.axis, stable=True), self.axis)
        order = take_along_axis(argsort(source, self.axis, stable=True), ranks, self.axis)
        return take_along_axis(values, order, self.axis)


class ArgPartitionOp(_PartitioningOp):
    """Return indices that partition along an axis; see :class:`PartitionOp`.

    Parameters
    ----------
    axis
        The axis, counted from the front.
    kth
        The places, negative ones counted from the end. There must be elements at them.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.tensor.partitioning import ArgPartitionOp
    >>> ArgPartitionOp(0, (2,))(pt.constant([7, 1, 9, 3])).eval()[2]
    np.int64(0)
    """

    def make_node(self, x: Any) -> Apply:
        """Apply to a tensor that has the axis."""
        x = as_tensor_variable(x)
        return Apply(self, [x], [TensorType("int64", x.type.shape)()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Partition indices with NumPy."""
        (x,) = inputs
        self._check_places(x)
        if x.size <= LARGE:
            order = np.argpartition(x, self.kth, self.axis)
        else:
            order = run_whole(np.argpartition, copied(x, x.dtype), self.kth, self.axis)
        output_storage[0][0] = order.astype(np.int64, copy=False)

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Return zeros, as :class:`~phintys.tensor.sorting.ArgSortOp` does."""
        return [zero_gradient(inputs[0])]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """Return zeros."""
        return [None if is_missing(eval_points[0]) else zero_gradient(self(*inputs))]


@batches(PartitionOp, ArgPartitionOp)
def batch_partition(node: Any, batch: Any) -> list[Any]:
    """Partition along the axis of an item."""
    op = node.op
    return [type(op)(op.axis + batch.ndim, op.kth)(batch.inputs[0])]
