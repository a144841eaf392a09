"""Simplification of checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from phintys.graph.variable import Constant
from phintys.rewriting import late_rules, node_rewriter
from phintys.tensor.observing import CheckAndRaise

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable

__all__ = ["CANONICAL_CHECKS"]


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
