"""Expansions of pseudo-inverses and least-squares solutions to singular values and vectors.

A solution, its gradient and the pseudo-inverse of one matrix then share its decomposition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.passes._facts import as_result, operands
from phintys.passes._matrix_facts import steps_of, without_adjoint
from phintys.rewriting import late_rules, node_rewriter
from phintys.tensor.linear_algebra.least_squares import Lstsq, Pinv

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable

__all__ = ["EXPAND_LEAST_SQUARES"]


@node_rewriter(
    [Lstsq, Pinv],
    tags=["extremes"],
    examples=[
        "pt.linalg.pinv(X3 + 20 * pt.eye(3))",
        "pt.linalg.pinv((X3 + 20 * pt.eye(3)).T)",
        "pt.linalg.pinv(X3 + X3.T + 30 * pt.eye(3), hermitian=True)",
        "pt.linalg.lstsq(X3 + 20 * pt.eye(3), y3).x",
        "pt.linalg.lstsq((X3 + 20 * pt.eye(3)).T, Y3).x",
    ],
)
def least_squares_by_factors(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """lstsq(A, b), pinv(A) -> by the singular values and vectors of A, which others may share"""
    op: Any = node.op
    a, *others = operands(node)
    options: dict[str, Any] = {}
    if not getattr(op, "hermitian", False):
        a, options["turn"] = without_adjoint(a)
    with steps_of(node):
        return as_result(fgraph, node, op.expanded(a, *others, **options))


EXPAND_LEAST_SQUARES = late_rules(least_squares_by_factors, needs=[Lstsq, Pinv])
"""Expansions to singular values."""
