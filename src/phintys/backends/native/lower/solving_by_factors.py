"""Lowering of solutions, inverses, determinants and equations that no rule has replaced by factors.

The full pipeline replaces them, so that factors are shared. In other modes they are computed by
the same expressions, each by factors of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.origin import inherit_origin
from phintys.backends.native.lower.graph import lower_nodes
from phintys.backends.native.lower.lowering import Lowering, lowers
from phintys.graph.apply import Apply
from phintys.graph.fgraph import FunctionGraph
from phintys.tensor import math
from phintys.tensor.linear_algebra.determinants import Det, SlogDet
from phintys.tensor.linear_algebra.least_squares import Lstsq, Pinv
from phintys.tensor.linear_algebra.schur import Sylvester
from phintys.tensor.linear_algebra.solving import Inv, Solve

if TYPE_CHECKING:
    from phintys.graph.variable import Variable


@lowers(Solve)
@lowers(Inv)
@lowers(Det)
@lowers(SlogDet)
@lowers(Sylvester)
@lowers(Pinv)
@lowers(Lstsq)
def lower_by_factors(op: Any, node: Apply, lowering: Lowering) -> None:
    """The steps of the expression by factors."""
    views = [lowering.view(variable) for variable in node.inputs]
    inputs = [variable.type() for variable in node.inputs]
    with inherit_origin(node.origin):
        found: Any = op.expanded(*inputs)
        outputs: list[Variable] = [
            value if value.dtype == variable.type.dtype else math.cast(value, variable.type.dtype)  # pyright: ignore[reportAttributeAccessIssue]
            for value, variable in zip(
                found if isinstance(found, tuple) else (found,), node.outputs, strict=True
            )
        ]
    fgraph = FunctionGraph(inputs, outputs)
    for variable, view in zip(fgraph.inputs, views, strict=True):
        lowering.bind(variable, view)
    lower_nodes(fgraph, lowering)
    for variable, inner in zip(node.outputs, fgraph.outputs, strict=True):
        lowering.bind(variable, lowering.view(inner))
