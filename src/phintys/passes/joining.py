"""Canonical forms of joins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.passes._facts import as_result, has_one_client, operands, output_type
from phintys.rewriting import Operand, late_rules, node_rewriter
from phintys.tensor.joining import Join

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable

__all__ = ["CANONICAL_JOIN"]

_MOST_PARTS = 256


@node_rewriter([Join], examples=["pt.Join(0)(x)", "pt.Join(1)(X)"])
def join_of_one(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """concatenate([x]) -> x"""
    return as_result(fgraph, node, node.inputs[0]) if len(node.inputs) == 1 else None


@node_rewriter(
    [Join], operands=[Operand.ALIKE], examples=["pt.concatenate([pt.concatenate([x, y]), z])"]
)
def merge_joins(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """concatenate([concatenate([x, y]), z]) -> concatenate([x, y, z])"""
    dtype = output_type(node).dtype
    parts: list[Any] = []
    for x in operands(node):
        inner = x.owner
        if (
            inner is not None
            and inner.op == node.op
            and x.dtype == dtype
            and has_one_client(fgraph, x)
            and len(inner.inputs) < _MOST_PARTS
        ):
            parts.extend(inner.inputs)
        else:
            parts.append(x)
    if len(parts) == len(node.inputs) or len(parts) > _MOST_PARTS:
        return None
    return as_result(fgraph, node, node.op(*parts))


@node_rewriter([Join], examples=["pt.concatenate([x, x3[:0]])", "pt.concatenate([x3[2:2], x, y])"])
def drop_empty_parts(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """concatenate([x, y]) -> x, where y is known to be empty, and to fit"""
    assert isinstance(node.op, Join)
    axis, wanted = node.op.axis, output_type(node)
    parts = [x for x in operands(node) if x.type.shape[axis] != 0]
    if not parts or len(parts) == len(node.inputs) or all(x.dtype != wanted.dtype for x in parts):
        return None
    if any(
        None in {size for dim, size in enumerate(x.type.shape) if dim != axis}
        for x in operands(node)
    ):
        return None
    return as_result(fgraph, node, node.op(*parts))


CANONICAL_JOIN = late_rules(join_of_one, merge_joins, drop_empty_parts, needs=[Join])
"""In the order in which they are tried."""
