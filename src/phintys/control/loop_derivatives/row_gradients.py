"""Gradients for the rows of a trace or stack, taken apart where only the last row has one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.records import record
from phintys.gradient.arithmetic import is_known_zero, sum_of, zero_like
from phintys.scalar.arithmetic import add
from phintys.tensor.elemwise import Elemwise
from phintys.tensor.indexing import FULL, IncSubtensor, Slice

if TYPE_CHECKING:
    from phintys.graph.variable import Variable


@record()
class RowGradients:
    """The gradient for a tensor of rows, as a sum.

    Attributes
    ----------
    rows
        A gradient of the tensor's shape, or ``None``.
    last
        A gradient for the last row alone, or ``None``.
    """

    rows: Variable | None = None
    last: Variable | None = None


def split_gradient(gradient: Variable) -> RowGradients:
    """Return a gradient as a sum, without zeros for all other rows if only the last one is read.

    What was indexed with ``x[-1]``, ``x[-1, i]`` or ``x[k:][-1]`` has a gradient that is set into
    zeros of the shape of x. A loop of many steps over a large state must not build these.
    """
    node = gradient.owner
    if node is None:
        return RowGradients(gradient)
    op: Any = node.op
    if isinstance(op, Elemwise) and op.scalar_op == add:
        if any(_broadcastable(term) != _broadcastable(gradient) for term in node.inputs):
            return RowGradients(gradient)
        parts = [split_gradient(term) for term in node.inputs]
        if all(part.last is None for part in parts):
            return RowGradients(gradient)
        return RowGradients(_sum([p.rows for p in parts]), _sum([p.last for p in parts]))
    if not isinstance(op, IncSubtensor) or not is_known_zero(node.inputs[0]):
        return RowGradients(gradient)
    zeros: Any = node.inputs[0]
    value: Any = node.inputs[1]
    # x[:] and x[...] are the whole x, as an index without entries.
    first, *others = op.idx_list or (FULL,)
    if first == -1:
        return RowGradients(last=_set(op, zeros[-1], value, others, node.inputs[2:]))
    if not _is_tail(first) or any(entry != FULL for entry in others):
        return RowGradients(gradient)
    if value.type.ndim != zeros.type.ndim:
        return RowGradients(gradient)
    part = split_gradient(value)
    if part.last is None:
        return RowGradients(gradient)
    if part.rows is not None:
        part.rows = op(zeros, part.rows, *node.inputs[2:])
    return part


def _set(op: Any, row: Any, value: Any, others: Any, indices: Any) -> Variable:
    """Return the gradient for the last row."""
    if not others and _broadcastable(value) == _broadcastable(row):
        return value
    zeros = zero_like(row)
    if not others:
        return zeros + value
    return type(op)(tuple(others), set_instead_of_inc=op.set_instead_of_inc)(zeros, value, *indices)


def _broadcastable(variable: Any) -> tuple[bool, ...]:
    return variable.type.broadcastable


def _is_tail(entry: Any) -> bool:
    """Return whether an entry of an index is a slice that ends with the last row."""
    return isinstance(entry, Slice) and entry.stop is None and entry.step in {None, 1}


def _sum(terms: list[Variable | None]) -> Variable | None:
    given = [term for term in terms if term is not None]
    return sum_of(given) if given else None
