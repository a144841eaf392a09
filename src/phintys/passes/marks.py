"""Removal of what only passes values on: gradient marks, shardings, fences, checks that hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from phintys.control.fences import Fence
from phintys.gradient.marks import GradientMark
from phintys.graph.variable import Constant
from phintys.rewriting import late_rules, node_rewriter
from phintys.tensor.observing import CheckAndRaise
from phintys.tensor.sharding import WithSharding

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable


@node_rewriter(
    [GradientMark],
    examples=["phintys.gradient.zero_grad(x)", "phintys.gradient.grad_clip(x, -1, 1)"],
)
def drop_gradient_mark(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """zero_grad(x) -> x, grad_clip(x, lower, upper) -> x, and likewise for every mark"""
    return [node.inputs[0]] if cast("GradientMark", node.op).is_identity else None


CANONICAL_GRADIENT = late_rules(drop_gradient_mark, needs=[GradientMark])
"""In the order in which they are tried."""


@node_rewriter(
    [WithSharding],
    examples=["pt.with_sharding(x, phintys.graph.sharding.Mesh(('data',), (1,))('data'))"],
)
def drop_sharding(fgraph: FunctionGraph, node: Apply) -> list[Variable]:
    """with_sharding(x, sharding) -> x"""
    return [node.inputs[0]]


CANONICAL_SHARDING = late_rules(drop_sharding, needs=[WithSharding])
"""In the order in which they are tried."""


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


def _holds(condition: Variable) -> bool:
    return isinstance(condition, Constant) and bool(np.all(condition.data))


@node_rewriter(
    [CheckAndRaise],
    examples=["pt.Assert()(x, True)", "pt.Assert()(x, np.array([1, 2]), x.shape[0] >= 0)"],
)
def drop_true_conditions(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """check(x, True) -> x, check(x, True, c) -> check(x, c)"""
    value, *conditions = node.inputs
    open_ones = [condition for condition in conditions if not _holds(condition)]
    if len(open_ones) == len(conditions) and conditions:
        return None
    return [node.op(value, *open_ones)] if open_ones else [value]


CANONICAL_CHECKS = late_rules(drop_true_conditions, needs=[CheckAndRaise])
"""In the order in which they are tried."""
