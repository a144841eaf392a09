"""The rows of a Jacobian, all at once, where that is cheaper than one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.config import config
from phintys.control.loop_derivatives.residuals import bytes_of
from phintys.graph.inner import HasInnerGraph
from phintys.graph.op import Op
from phintys.graph.traversal import toposort
from phintys.tensor.batching import BATCHING, Blockwise, vectorize_graph
from phintys.tensor.creation import alloc
from phintys.tensor.diagonals import eye
from phintys.tensor.indexing import IncSubtensor, Subtensor
from phintys.tensor.linear_algebra.matrix_op import MatrixOp
from phintys.tensor.make_vectors import MakeVector
from phintys.tensor.products import BatchedDot, Dot
from phintys.tensor.shapes import sizes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.variable import Variable

_GAIN = (Dot, BatchedDot, MatrixOp)
"""Ops that compute several rows at once faster than one after the other."""


def batched_rows(
    expression: Any, n: Any, seed: Any, rows: Sequence[Any], force: bool
) -> list[Any] | None:
    """Return, for each of ``rows``, its values for all unit vectors as ``seed``, stacked.

    The parameters are those of :class:`~phintys.gradient.graph_ops.GraphOps`.
    """
    if not force and not _is_cheap(expression, seed, rows):
        return None
    found = vectorize_graph(rows, {seed: eye(n, dtype=seed.dtype)})
    if not force and any(isinstance(node.op, Blockwise) for node in toposort(found)):
        return None
    return [
        new if new.ndim > row.ndim else alloc(new, n, *sizes_of(new))
        for new, row in zip(found, rows, strict=True)
    ]


def _is_cheap(expression: Any, seed: Variable, rows: Sequence[Variable]) -> bool:
    """Return whether all rows are computed faster together, in memory that is allowed.

    Products of all rows at once, and loops over them, are several times faster than those of one
    row after the other, unless the steps of a loop compute single numbers. Nothing else gains: a
    loop computes a row in the cache, and skips elements that are 0. The price is memory: that of
    the largest intermediate result for a row, times the number of rows.
    """
    item_by_item = BATCHING.find(Op)
    dependent: set[Any] = {seed}
    largest = 0
    gains = False
    for node in toposort(rows):
        if dependent.isdisjoint(node.inputs):
            continue
        if BATCHING.find(type(node.op)) is item_by_item:
            return False
        gains = gains or _gains(node)
        dependent.update(node.outputs)
        largest = max(largest, *map(bytes_of, node.outputs))
    number = bytes_of(expression) // expression.type.numpy_dtype.itemsize
    return gains and number * largest <= config.loop_megabytes << 20


def _gains(node: Apply) -> bool:
    """Return whether a node is computed faster for several rows at once."""
    op = node.op
    if isinstance(op, HasInnerGraph):
        return not _computes_numbers(op.inner_outputs)
    return isinstance(op, _GAIN)


def _computes_numbers(outputs: Sequence[Variable]) -> bool:
    """Return whether a step mainly takes arrays apart into single numbers and computes with these.

    Then a step for one row keeps the numbers in registers, while a batch stores an array for each.
    Sizes need not be known: an array that is read at given places is short, or seldom read.
    """
    numbers = arrays = 0
    takes_apart = has_inner = False
    for node in toposort(outputs):
        if _gains(node):
            return False
        if isinstance(node.op, HasInnerGraph):
            has_inner = True  # most of the work, which is on numbers too
        elif is_of_one_element(node):
            takes_apart = True
        elif any(getattr(output.type, "ndim", 0) for output in node.outputs):
            arrays += 1
        else:
            numbers += 1
    return has_inner or (takes_apart and numbers > arrays)


def is_of_one_element(node: Apply) -> bool:
    """Return whether a node reads or changes one element of an array, or joins single numbers."""
    op: Any = node.op
    if isinstance(op, MakeVector):
        return True
    if not isinstance(op, Subtensor | IncSubtensor):
        return False
    x: Any = node.inputs[0]
    return len(op.idx_list) == x.type.ndim and all(isinstance(one, int) for one in op.idx_list)
