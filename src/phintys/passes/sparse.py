"""What is sparse only inside of a graph never becomes an object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from phintys.rewriting import late_rules, node_rewriter
from phintys.sparse.determinants import InverseAtEntries, LowerFactor, SelectedInverse
from phintys.sparse.factors import Factorize
from phintys.sparse.parts import FromParts, Parts

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable


@node_rewriter(
    [Parts],
    examples=[
        "phintys.sparse.parts.Parts()(phintys.sparse.from_parts(x, [0, 1, 2], [0, 3], (1, 3)))[0]",
    ],
)
def parts_of_parts(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """Parts(FromParts(x)) -> x"""
    inner = node.inputs[0].owner
    if inner is None or not isinstance(inner.op, FromParts):
        return None
    return list(inner.inputs)


@node_rewriter(
    [InverseAtEntries],
    tags=["extremes"],
    examples=[
        (
            "phintys.sparse.determinants.InverseAtEntries(True)("
            "phintys.sparse.factors.Factorize(True)(pt.sqr(x) + 1, [0, 1, 2], [0, 1, 2, 3], 3), "
            "pt.sqr(x) + 1, [0, 1, 2], [0, 1, 2, 3])"
        ),
    ],
)
def inverse_of_positive(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """InverseAtEntries(A) -> SelectedInverse(LowerFactor(A)), if A is positive definite"""
    factors, data, *pattern = node.inputs
    kind = cast("Any", data.type).numpy_dtype.kind
    if not cast("Any", node.op).is_positive or kind == "c":
        return None
    made = factors.owner
    if made is None or not isinstance(made.op, Factorize):
        return None
    if any(a is not b for a, b in zip(made.inputs[1:3], pattern, strict=True)):
        return None  # native code reads by a pattern that the factorization has checked
    lower = LowerFactor()(factors, data, return_list=True)
    return [SelectedInverse()(*lower, *pattern)]


CANONICAL_SPARSE = late_rules(parts_of_parts, needs=[Parts])

EXPAND_SPARSE = late_rules(inverse_of_positive, needs=[InverseAtEntries])
"""What has no derivative, and comes after differentiation."""
