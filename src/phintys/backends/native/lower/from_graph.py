"""Lowering of OpFromGraph: the steps of its inner graph."""

from __future__ import annotations

from phintys.backends.native.lower.graph import lower_nodes
from phintys.backends.native.lower.lowering import Lowering, NotLowered, lowers
from phintys.control.graph_ops.from_graph import OpFromGraph
from phintys.graph.apply import Apply
from phintys.graph.fgraph import FunctionGraph


@lowers(OpFromGraph)
def lower_from_graph(op: OpFromGraph, node: Apply, lowering: Lowering) -> None:
    """The steps of the inner graph, as if it were part of the outer one."""
    if op.destroy_map:
        msg = "it overwrites inputs"
        raise NotLowered(msg)
    if not all(v.type.holds_arrays for v in (*node.inputs, *node.outputs)):
        msg = "it takes or returns objects that are not arrays"
        raise NotLowered(msg)
    views = [lowering.view(variable) for variable in node.inputs]
    # A copy, since variables are bound to values once, and other nodes may have the same Op.
    fgraph = FunctionGraph(op.inner_inputs, op.inner_outputs)
    for variable, view in zip(fgraph.inputs, views, strict=True):
        lowering.bind(variable, view)
    lower_nodes(fgraph, lowering)
    for variable, inner in zip(node.outputs, fgraph.outputs, strict=True):
        lowering.bind(variable, lowering.view(inner))
