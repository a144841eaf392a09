"""Simplification of fences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.control.fences import Fence
from phintys.rewriting import late_rules, node_rewriter

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable

__all__ = ["CANONICAL_FENCES"]


@node_rewriter([Fence], examples=["phintys.control.fences.fence([x, y * 2], [z])[0]"])
def unread_values(fgraph: FunctionGraph, node: Apply) -> list[Variable | None] | None:
    """fence(x, y, z)[0] -> fence(x, z), where the other value, y, has no readers"""
    used = [bool(fgraph.clients.get(output)) for output in node.outputs]
    if all(used):
        return None
    values = [value for value, keep in zip(node.inputs, used, strict=False) if keep]
    others = node.inputs[len(used) :]
    kept = iter(Fence(len(values))(*values, *others, return_list=True))
    return [next(kept) if keep else None for keep in used]


CANONICAL_FENCES = late_rules(unread_values, needs=[Fence])
"""In the order in which they are tried."""
