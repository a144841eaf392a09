"""Lowering of the nodes of a graph, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.backends.base import is_copy
from phintys.backends.native.lower.creation import lower_copy
from phintys.backends.native.lower.families import LOWERINGS
from phintys.backends.native.lower.lowering import Lowering, NotLowered
from phintys.graph.aliasing import execution_order

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.op import Op

__all__ = ["lower_node", "lower_nodes"]


def lower_node(op: Op, node: Apply, lowering: Lowering) -> None:
    """Add the steps for one node, by the rule for its Op.

    Raises
    ------
    NotLowered
        If there is no rule, or it does not cover the node.
    """
    rule = LOWERINGS.find(type(op))
    if rule is None:
        msg = f"{type(op).__name__} has no lowering"
        raise NotLowered(msg)
    rule(op, node, lowering)


def lower_nodes(fgraph: FunctionGraph, lowering: Lowering) -> None:
    """Lower all nodes, in an order in which every value is read before it is overwritten.

    Nodes without a lowering become callbacks.
    """
    lowering.bases.enter(fgraph)
    for node in execution_order(fgraph):
        try:
            if is_copy(node.op):
                lower_copy(node, lowering)
            else:
                lower_node(node.op, node, lowering)
        except NotLowered as reason:
            lowering.callback(node, str(reason))
        lowering.bases.leave(node)
