"""Canonical forms of dimshuffles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.passes._facts import as_result
from phintys.rewriting import node_rewriter
from phintys.tensor.dimshuffle import DimShuffle

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable
    from phintys.rewriting import NodeRewriter

__all__ = ["CANONICAL_DIMSHUFFLE"]


@node_rewriter([DimShuffle])
def drop_useless_dimshuffle(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """dimshuffle(x, 0, 1, ...) -> x"""
    assert isinstance(node.op, DimShuffle)
    if node.op.new_order != tuple(range(node.op.input_ndim)):
        return None
    return as_result(fgraph, node, node.inputs[0])


@node_rewriter([DimShuffle])
def merge_dimshuffles(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """dimshuffle(dimshuffle(x, first), second) -> dimshuffle(x, first[second])"""
    inner = node.inputs[0].owner
    if inner is None or not isinstance(inner.op, DimShuffle):
        return None
    assert isinstance(node.op, DimShuffle)
    first = inner.op.new_order
    order = tuple(first[entry] if isinstance(entry, int) else entry for entry in node.op.new_order)
    return as_result(fgraph, node, DimShuffle(inner.op.input_ndim, order)(inner.inputs[0]))


CANONICAL_DIMSHUFFLE: tuple[NodeRewriter, ...] = (merge_dimshuffles, drop_useless_dimshuffle)
"""In the order in which they are tried."""
