"""Overwritten variables, for rules that would replace one buffer by another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.graph.aliasing import destroyed_inputs
from phintys.graph.apply import Apply

if TYPE_CHECKING:
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable

__all__ = ["is_overwritten", "overwritten_variables"]


def overwritten_variables(fgraph: FunctionGraph) -> set[Variable]:
    """Return the variables whose memory is overwritten, directly or through views."""
    stack = [
        node.inputs[position]
        for node in fgraph.apply_nodes
        if node.op.destroy_map
        for position in destroyed_inputs(node)
    ]
    found: set[Variable] = set()
    while stack:
        variable = stack.pop()
        if variable in found:
            continue
        found.add(variable)
        node = variable.owner
        if node is not None and variable.index is not None:
            stack.extend(node.inputs[i] for i in node.op.view_map.get(variable.index, ()))
    return found


def is_overwritten(fgraph: FunctionGraph, variable: Variable) -> bool:
    """Return whether the memory of a variable is overwritten, directly or through views."""
    stack, seen = [variable], {variable}
    while stack:
        for client, position in fgraph.clients.get(stack.pop(), ()):
            if not isinstance(client, Apply):
                continue
            if client.op.destroy_map and position in destroyed_inputs(client):
                return True
            for index, viewed in client.op.view_map.items():
                if position in viewed and client.outputs[index] not in seen:
                    seen.add(client.outputs[index])
                    stack.append(client.outputs[index])
    return False
