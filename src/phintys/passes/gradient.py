"""Removal of gradient marks, which have no effect once the gradients have been built."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from phintys.gradient.marks import GradientMark
from phintys.rewriting import late_rules, node_rewriter

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable

__all__ = ["CANONICAL_GRADIENT"]


@node_rewriter(
    [GradientMark],
    examples=["phintys.gradient.zero_grad(x)", "phintys.gradient.grad_clip(x, -1, 1)"],
)
def drop_gradient_mark(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """zero_grad(x) -> x, grad_clip(x, lower, upper) -> x, and likewise for every mark"""
    return [node.inputs[0]] if cast("GradientMark", node.op).is_identity else None


CANONICAL_GRADIENT = late_rules(drop_gradient_mark, needs=[GradientMark])
"""In the order in which they are tried."""
