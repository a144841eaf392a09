"""Special cases of elementwise functions that are cheaper than the general one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import phintys.scalar as ps
from phintys.passes._facts import (
    as_result,
    operands,
    output_type,
    sizes_covered,
    uniform_value,
)
from phintys.rewriting import NOT_CONSTANT, node_rewriter
from phintys.tensor.elemwise import elemwise
from phintys.tensor.math import cast

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable
    from phintys.rewriting import NodeRewriter

__all__ = ["SPECIALIZE"]


@node_rewriter([elemwise(ps.pow)])
def specialize_power(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """x ** 1 -> x, x ** 2 -> sqr(x)"""
    x, exponent = operands(node)
    value = uniform_value(exponent)
    if value is NOT_CONSTANT or value not in {1, 2} or not sizes_covered(exponent, [x]):
        return None
    if value == 1:
        return as_result(fgraph, node, x)
    return as_result(fgraph, node, elemwise(ps.sqr)(cast(x, output_type(node).dtype)))


SPECIALIZE: tuple[NodeRewriter, ...] = (specialize_power,)
"""In the order in which they are tried."""
