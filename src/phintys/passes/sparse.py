"""What is sparse only inside of a graph never becomes an object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from phintys.rewriting import late_rules, node_rewriter
from phintys.sparse.determinants import InverseAtEntries, LowerFactor, SelectedInverse
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


@node_rewriter([InverseAtEntries])
def inverse_of_positive(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """InverseAtEntries(A) -> SelectedInverse(LowerFactor(A)), if A is positive definite"""
    factors, data, *pattern = node.inputs
    kind = cast("Any", data.type).numpy_dtype.kind
    if not cast("Any", node.op).is_positive or kind == "c":
        return None
    lower = LowerFactor()(factors, data, return_list=True)
    return [SelectedInverse()(*lower, *pattern)]


CANONICAL_SPARSE = late_rules(parts_of_parts, inverse_of_positive, needs=[Parts, InverseAtEntries])
