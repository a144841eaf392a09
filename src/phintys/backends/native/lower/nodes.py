"""Lowering of the nodes of a graph, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.backends.native.lower.branch_sides import Sides
from phintys.backends.native.lower.families import LOWERINGS
from phintys.backends.native.lower.lowering import Lowering, NotLowered
from phintys.graph.aliasing import execution_order
from phintys.graph.inner import require_calls

if TYPE_CHECKING:
    from collections.abc import Iterable

    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.op import Op


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
    require_calls(op)
    rule(op, node, lowering)


def lower_nodes(fgraph: FunctionGraph, lowering: Lowering) -> None:
    """Lower all nodes, in an order in which every value is read before it is overwritten.

    Nodes without a lowering become callbacks. Nodes that are needed only if something is chosen are
    lowered with what chooses.
    """
    lowering.bases.enter(fgraph)
    order = execution_order(fgraph)
    outer, lowering.sides = lowering.sides, Sides(fgraph, order)
    clients, lowering.clients = lowering.clients, fgraph.clients
    has_sides = not lowering.sides.is_empty
    for node in order:
        if has_sides and not lowering.sides.is_certain(node):
            continue
        _lower(node, lowering)
        lowering.bases.leave(node)
    lowering.sides, lowering.clients = outer, clients


def lower_each(nodes: Iterable[Apply], lowering: Lowering) -> None:
    """Lower nodes in order; those without a lowering become callbacks."""
    for node in nodes:
        _lower(node, lowering)


def _lower(node: Apply, lowering: Lowering) -> None:
    try:
        if node.op.is_copy:
            _lower_copy(node, lowering)
        else:
            lower_node(node.op, node, lowering)
    except NotLowered as reason:
        lowering.callback(node, str(reason))


def _lower_copy(node: Apply, lowering: Lowering) -> None:
    """``out = x``, in new memory."""
    if not node.inputs[0].type.holds_arrays:
        msg = f"a value of type {node.inputs[0].type}"
        raise NotLowered(msg)
    view = lowering.view(node.inputs[0])
    lowering.bind(node.outputs[0], lowering.copied(view, node))
