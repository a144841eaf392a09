"""The few rows of a Jacobian of single numbers, written out one after the other.

A loop over rows reads its unit vector from memory, so that nothing in it is simplified. Where a few
numbers are differentiated, each row is the gradient of its own number instead: it has no part for
the other numbers, and what several rows have in common is computed once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from phintys import scalar as ps
from phintys.control.rows.row_batches import is_of_one_element
from phintys.gradient.reverse import grad
from phintys.graph.inner import HasInnerGraph
from phintys.graph.traversal import toposort
from phintys.graph.variable import Constant
from phintys.tensor.convert import constant
from phintys.tensor.creation import Alloc
from phintys.tensor.elemwise import elemwise
from phintys.tensor.indexing import IncSubtensor
from phintys.tensor.joining import stack
from phintys.tensor.make_vectors import MakeVector

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

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
