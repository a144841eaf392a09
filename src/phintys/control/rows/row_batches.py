"""The rows of a Jacobian, all at once or written out, where that is cheaper than a loop.

A loop over rows reads its unit vector from memory, so that nothing in it is simplified. Where a few
numbers are differentiated, each row is the gradient of its own number instead: it has no part for
the other numbers, and what several rows have in common is computed once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from phintys import scalar as ps
from phintys._base.config import config
from phintys.control.loop_derivatives.residuals import bytes_of
from phintys.gradient.reverse import grad
from phintys.graph.inner import HasInnerGraph
from phintys.graph.op import Op
from phintys.graph.traversal import toposort
from phintys.graph.variable import Constant
from phintys.tensor.batching import BATCHING, Blockwise, vectorize_graph
from phintys.tensor.convert import constant
from phintys.tensor.creation import Alloc, alloc
from phintys.tensor.diagonals import eye
from phintys.tensor.elemwise import elemwise
from phintys.tensor.indexing import IncSubtensor, Subtensor
from phintys.tensor.joining import stack
from phintys.tensor.linear_algebra.matrix_op import MatrixOp
from phintys.tensor.products import BatchedDot, Dot
from phintys.tensor.scalar_bridge import MakeVector
from phintys.tensor.shapes import sizes_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.variable import Variable


_MOST_ROWS = 8
_MOST_NODES = 3_000  # in all rows together: half the time of a loop, 1.5 times its compilation
_MOST_NUMBERS = 32  # in a vector


def few_rows(
    vector: Any,
    seed: Variable,
    rows: Sequence[Variable],
    wrt: Sequence[Any],
    constants: Sequence[Any],
) -> list[Any] | None:
    """Return the gradients of the elements of a vector, stacked; ``None`` if a loop is better.

    The parameters are those of :class:`~phintys.gradient.graph_ops.GraphOps`.
    """
    n = vector.type.shape[0]
    if n is None or not 0 < n <= _MOST_ROWS or not _are_of_few_numbers(seed, rows, n):
        return None
    whole = {*wrt, *constants}
    zero = constant(np.zeros((), vector.dtype))
    gradients: list[Sequence[Any]] = []
    for place in range(n):
        element = _element(vector, place, whole)
        cost = zero if element is None else element
        gradients.append(grad(cost, list(wrt), constants, "ignore", add_names=False))
    return [stack(list(column)) for column in zip(*gradients, strict=True)]


def _are_of_few_numbers(seed: Variable, rows: Sequence[Variable], n: int) -> bool:
    """Return whether a row is computed mainly from single numbers, and all rows by few nodes."""
    dependent: set[Variable] = {seed}
    numbers = arrays = others = 0
    for node in toposort(rows):
        if dependent.isdisjoint(node.inputs):
            continue
        dependent.update(node.outputs)
        if isinstance(node.op, HasInnerGraph) or not all(map(_is_short, node.outputs)):
            return False
        if is_of_one_element(node):
            others += 1
        elif any(output.ndim for output in cast("list[Any]", node.outputs)):
            arrays += 1
        else:
            numbers += 1
    return arrays < numbers and (numbers + arrays + others) * n <= _MOST_NODES


def _is_short(x: Any) -> bool:
    """Return whether a variable is a number, or a vector of a few of them."""
    shape = getattr(x.type, "shape", None)
    if shape is None or len(shape) > 1:
        return False
    return not shape or (shape[0] is not None and shape[0] <= _MOST_NUMBERS)


def _element(vector: Any, place: int, whole: Collection[Any]) -> Any:
    """Return an element of a vector, of the numbers that it is made of; ``None`` if it is 0.

    No derivative passes through the vectors on the way, so they must be none of ``whole``.
    """
    node = vector.owner
    if _is_zeros(vector):
        return None
    if vector in whole or node is None:
        return vector[place]
    if isinstance(node.op, MakeVector):
        return node.inputs[place]
    if node.op == elemwise(ps.add) and all(_are_alike(x, vector) for x in node.inputs):
        terms = [_element(x, place, whole) for x in node.inputs]
        nonzero = [term for term in terms if term is not None]
        return elemwise(ps.add)(*nonzero) if len(nonzero) > 1 else next(iter(nonzero), None)
    if _is_number_in_zeros(node):
        return node.inputs[1] if place == node.op.idx_list[0] else None
    return vector[place]


def _are_alike(x: Any, y: Any) -> bool:
    """Return whether two vectors have the same dtype and length."""
    return x.dtype == y.dtype and x.type.shape == y.type.shape


def _is_number_in_zeros(node: Any) -> bool:
    """Return whether a node writes a number into a vector of zeros, at a known place."""
    if not isinstance(node.op, IncSubtensor) or not is_of_one_element(node):
        return False
    (zeros, number), place = node.inputs[:2], cast("int", node.op.idx_list[0])
    inside = 0 <= place < zeros.type.shape[0]
    return inside and _is_zeros(zeros) and number.type.ndim == 0 and number.dtype == zeros.dtype


def _is_zeros(x: Any) -> bool:
    """Return whether a variable is known to be zeros."""
    if x.owner is not None and isinstance(x.owner.op, Alloc):
        return _is_zeros(x.owner.inputs[0])
    return isinstance(x, Constant) and not np.any(x.data)


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
