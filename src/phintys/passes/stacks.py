"""Stacks of one matrix, which become the matrix.

What is known of matrices, and the rules on gradients through their factors, then hold for densities
that are written for stacks of points, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.passes._facts import all_results, operands
from phintys.passes._matrix_facts import only_item
from phintys.rewriting import late_rules, node_rewriter
from phintys.tensor.dim_shuffle import expand_dims
from phintys.tensor.linear_algebra.matrix_op import MatrixOp

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable

__all__ = ["stack_of_one"]


@node_rewriter(
    [MatrixOp],
    tags=["extremes"],
    examples=[
        "pt.linalg.cholesky((X3 @ X3.T + 9 * pt.eye(3))[None])",
        "pt.linalg.solve(X3 + 20 * pt.eye(3), Y3[None])",
        "pt.linalg.slogdet((X3 - 20 * pt.eye(3))[None, None])[1]",
    ],
)
def stack_of_one(fgraph: FunctionGraph, node: Apply) -> list[Variable | None] | None:
    """op(A[None]) -> op(A)[None], so that what is known of matrices holds for a stack of one"""
    op: Any = node.op
    given: list[Any] = operands(node)
    stacked = given[0].ndim - len(op.dims()[0][0])
    count = 0
    while count < stacked and all(x.type.shape[count] == 1 for x in given):
        count += 1
    if not count:
        return None
    results = op(*(only_item(x, count) for x in given), return_list=True)
    return all_results(node, [expand_dims(one, tuple(range(count))) for one in results])


CANONICAL_STACKS = late_rules(stack_of_one, needs=[MatrixOp])
