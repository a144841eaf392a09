"""Simplification of choices of which only the chosen side is computed."""

from __future__ import annotations

from operator import is_
from typing import TYPE_CHECKING, Any

from phintys.control.branches.if_else import IfElse
from phintys.graph.variable import Constant
from phintys.rewriting import late_rules, node_rewriter

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable

__all__ = ["CANONICAL_CHOICES"]


def _sides(node: Apply) -> tuple[list[Variable], list[Variable]]:
    op: Any = node.op
    then, otherwise = ([node.inputs[position] for position in side] for side in op.sides(node))
    return then, otherwise


@node_rewriter([IfElse], examples=["phintys.ifelse(True, x, y)", "phintys.ifelse(0, x, y)"])
def known_condition(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """ifelse(True, x, y) -> x, ifelse(False, x, y) -> y"""
    condition = node.inputs[0]
    if not isinstance(condition, Constant):
        return None
    return _sides(node)[0 if condition.data else 1]


@node_rewriter(
    [IfElse],
    examples=["phintys.ifelse(x.any(), phintys.ifelse(x.any(), x, y), y)"],
    depth=2,
)
def known_inner_condition(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """ifelse(c, ifelse(c, x, y), z) -> ifelse(c, x, z), and likewise for the other side"""
    sides = _sides(node)
    former = [variable for side in sides for variable in side]
    simpler = [
        _if_known(variable, node.inputs[0], number)
        for number, side in enumerate(sides)
        for variable in side
    ]
    if all(map(is_, simpler, former)):
        return None
    return node.op(node.inputs[0], *simpler, return_list=True)


def _if_known(variable: Variable, condition: Variable, side: int) -> Variable:
    """Return what a choice by a known condition returns, and other variables as they are."""
    node = variable.owner
    while node is not None and isinstance(node.op, IfElse) and node.inputs[0] is condition:
        assert variable.index is not None
        variable = _sides(node)[side][variable.index]
        node = variable.owner
    return variable


@node_rewriter([IfElse], examples=["phintys.ifelse(x.any(), x, x)"])
def same_sides(fgraph: FunctionGraph, node: Apply) -> list[Variable | None] | None:
    """ifelse(c, x, x) -> x"""
    pairs = zip(*_sides(node), strict=True)
    found = [then if then is otherwise else None for then, otherwise in pairs]
    return found if any(one is not None for one in found) else None


@node_rewriter([IfElse], examples=["phintys.ifelse(x.any(), [x, x + 1], [y, y * 2])[0]"])
def unused_outputs(fgraph: FunctionGraph, node: Apply) -> list[Variable | None] | None:
    """ifelse(c, [x, y], [z, w])[0] -> ifelse(c, x, z), where the other output has no readers"""
    used = [bool(fgraph.clients.get(output)) for output in node.outputs]
    if all(used):
        return None
    then, otherwise = (
        [variable for variable, keep in zip(side, used, strict=True) if keep]
        for side in _sides(node)
    )
    op: Any = node.op
    kept = iter(IfElse(len(then), op.name)(node.inputs[0], *then, *otherwise, return_list=True))
    return [next(kept) if keep else None for keep in used]


CANONICAL_CHOICES = late_rules(
    known_condition, known_inner_condition, same_sides, unused_outputs, needs=[IfElse]
)
"""In the order in which they are tried."""
