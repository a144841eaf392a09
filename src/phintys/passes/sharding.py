"""Removal of shardings, for backends that use one device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.rewriting import late_rules, node_rewriter
from phintys.tensor.sharding import WithSharding

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable


@node_rewriter(
    [WithSharding],
    examples=["pt.with_sharding(x, phintys.graph.sharding.Mesh(('data',), (1,))('data'))"],
)
def drop_sharding(fgraph: FunctionGraph, node: Apply) -> list[Variable]:
    """with_sharding(x, sharding) -> x"""
    return [node.inputs[0]]


CANONICAL_SHARDING = late_rules(drop_sharding, needs=[WithSharding])
"""In the order in which they are tried."""
