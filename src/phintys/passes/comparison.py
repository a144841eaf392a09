"""Canonical forms of comparisons, conditions and extremes.

A comparison with NaN is false, so ``~(x < y)`` is ``x >= y`` for integers only. Sizes, and sums and
products of sizes, are known to be nonnegative.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import phintys.scalar as ps
from phintys.graph.identity import is_among
from phintys.graph.variable import Constant
from phintys.passes._facts import (
    UNIFORM,
    as_result,
    as_value,
    is_uniformly,
    kind,
    operands,
    output_type,
    scalar_node,
    scalar_op,
    sizes_covered,
    uniform_value,
)
from phintys.rewriting import NOT_CONSTANT, Operand, node_rewriter
from phintys.tensor import math
from phintys.tensor.elemwise import elemwise
from phintys.tensor.shapes import ShapeI
from phintys.tensor.size_check import SizeCheck, unchecked_size
from phintys.tensor.sizes import fold, same_product
from phintys.tensor.variable import TensorConstant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable
    from phintys.rewriting import NodeRewriter

_MOST_LOOKED_AT = 64  # nodes of an expression of sizes


def _everywhere(fgraph: FunctionGraph, node: Apply, value: Any) -> list[Variable] | None:
    """Return one value in the shape of a node whose operands are known to broadcast."""
    whole = next(
        (x for x in operands(node) if all(sizes_covered(y, [x]) for y in operands(node))), None
    )
    if whole is None:
        return None
    return as_result(fgraph, node, math.second(whole, as_value(value, output_type(node))))


# ---- nonnegative integers ------------------------------------------------------------------------


def is_not_negative(variable: Any) -> bool:
    """Return whether an integer is known to be nonnegative for all inputs.

    This holds for sizes, and for their sums and products: these would have to exceed 64 bits.
    """
    stack = [variable]
    for _ in range(_MOST_LOOKED_AT):
        if not stack:
            return True
        x = unchecked_size(stack.pop())
        if isinstance(x, Constant):
            if not (x.data >= 0).all():
                return False
            continue
        if kind(x) in "ub":
            continue
        if x.owner is None or kind(x) != "i":
            return False
        if not isinstance(x.owner.op, ShapeI):
            parts = _signs_that_decide(x.owner)
            if parts is None:
                return False
            stack.extend(parts)
    return False


def _signs_that_decide(node: Apply) -> Iterator[Any] | list[Any] | None:
    """Return operands such that a node's result is nonnegative if they are."""
    op = scalar_op(node) if node.op in _SIGNED else None
    if op in {ps.add, ps.mul, ps.minimum, ps.int_div}:
        return node.inputs if output_type(node).dtype == "int64" else None
    if op is ps.switch:
        return node.inputs[1:]
    if op is ps.maximum:
        return next(([x] for x in node.inputs if isinstance(x, Constant)), node.inputs)
    if op is ps.mod:
        return node.inputs[1:]
    if op is ps.sub:
        return _signs_that_decide_difference(*operands(node))
    if op is ps.neg:  # -(-x // c), which is x / c rounded up
        quotient = scalar_node(node.inputs[0], ps.int_div)
        minus = None if quotient is None else scalar_node(quotient.inputs[0], ps.neg)
        if quotient is None or minus is None or (_constant(quotient.inputs[1]) or 0) <= 0:
            return None
        return minus.inputs
    if op in ps.CASTS.values():
        (x,) = operands(node)
        return (
            [x] if x.type.numpy_dtype.itemsize <= output_type(node).numpy_dtype.itemsize else None
        )
    return None


def _signs_that_decide_difference(x: Any, y: Any) -> list[Any] | None:
    """Return expressions that must be nonnegative for x - y to be; ``None`` if not known."""
    if x.dtype != y.dtype:
        return None
    least = scalar_node(y, ps.minimum)
    if least is not None:  # x - minimum(x, ...)
        return [] if is_among(x, least.inputs) else None
    largest = scalar_node(y, ps.maximum)
    if largest is None:
        return None
    needed: list[Any] = []
    for part in largest.inputs:  # x - maximum(x + c, 0) with c <= 0
        shifted = scalar_node(part, ps.add)
        others = [] if shifted is None else [term for term in shifted.inputs if term is not x]
        by = _constant(others[0]) if shifted is not None and len(others) == 1 else None
        if _constant(part) == 0:
            needed.append(x)
        elif by is None or by > 0 or len(shifted.inputs if shifted else ()) != 2:
            return None
    return needed


_SIGNED = {
    elemwise(op)
    for op in (
        *(ps.add, ps.mul, ps.minimum, ps.maximum, ps.int_div, ps.switch, ps.mod, ps.sub, ps.neg),
        *(op for name, op in ps.CASTS.items() if name.startswith("int")),
    )
}


def _constant(variable: Any) -> Any:
    """Return the value of a 0-d constant integer; else ``None``."""
    if not isinstance(variable, TensorConstant) or variable.data.size != 1:
        return None
    return variable.data.item() if kind(variable) in "iu" else None


# (comparison, side of the constant) -> the constants for which it is decided, and the result
_DECIDED: dict[Any, tuple[Any, bool]] = {
    (ps.lt, 1): (lambda c: c <= 0, False),
    (ps.ge, 1): (lambda c: c <= 0, True),
    (ps.le, 1): (lambda c: c < 0, False),
    (ps.gt, 1): (lambda c: c < 0, True),
    (ps.gt, 0): (lambda c: c <= 0, False),
    (ps.le, 0): (lambda c: c <= 0, True),
    (ps.ge, 0): (lambda c: c < 0, False),
    (ps.lt, 0): (lambda c: c < 0, True),
    (ps.eq, 0): (lambda c: c < 0, False),
    (ps.eq, 1): (lambda c: c < 0, False),
    (ps.ne, 0): (lambda c: c < 0, True),
    (ps.ne, 1): (lambda c: c < 0, True),
}
_COMPARISONS = (math.lt, math.le, math.gt, math.ge, math.eq, math.neq)


@node_rewriter(
    _COMPARISONS,
    operands=[Operand.CONSTANT],
    depth=3,
    examples=["pt.ShapeI(0)(x) < 0", "0 <= pt.ShapeI(0)(x)", "pt.eq(pt.ShapeI(0)(x), -1)"],
)
def compare_size_with_negative(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """shape_i(x, i) < 0 -> False, 0 <= shape_i(x, i) -> True, also of sums and products of sizes"""
    for side in (0, 1):
        c = _constant(node.inputs[side])
        if c is None:
            continue
        decides, answer = _DECIDED[scalar_op(node), side]
        if decides(c) and is_not_negative(node.inputs[1 - side]):
            return _everywhere(fgraph, node, answer)
    return None


@node_rewriter(
    [math.maximum, math.minimum],
    operands=[Operand.CONSTANT],
    depth=3,
    examples=["pt.maximum(pt.ShapeI(0)(x), 0)", "pt.minimum(pt.ShapeI(0)(x) * 2, 0)"],
)
def bound_of_size(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """maximum(shape_i(x, i), 0) -> shape_i(x, i), minimum(shape_i(x, i), 0) -> 0"""
    for position, x in enumerate(operands(node)):
        c, other = _constant(x), operands(node)[1 - position]
        if c is None or c > 0 or not is_not_negative(other):
            continue
        if scalar_op(node) is ps.maximum:
            return as_result(fgraph, node, other) if sizes_covered(x, [other]) else None
        return as_result(fgraph, node, x) if sizes_covered(other, [x]) else None
    return None


@node_rewriter(
    [math.maximum, math.minimum],
    operands=[math.maximum, math.minimum],
    examples=["pt.minimum(pt.maximum(i, j), i)"],
)
def absorbed_extreme(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """minimum(x, maximum(x, y)) -> x, maximum(x, minimum(x, y)) -> x, for integers"""
    other = ps.minimum if scalar_op(node) is ps.maximum else ps.maximum
    for position, outer in enumerate(node.inputs):
        inner = None if outer.owner is None else scalar_node(outer, other)
        x = operands(node)[1 - position]
        if inner is None or not is_among(x, inner.inputs) or kind(outer) not in "biu":
            continue
        if all(sizes_covered(y, [x]) for y in inner.inputs):
            return as_result(fgraph, node, x)
    return None


@node_rewriter(
    [math.maximum, math.minimum],
    operands=[Operand.ALIKE],
    examples=["pt.maximum(pt.maximum(x, 1), 2)", "pt.minimum(3, pt.minimum(2, x))"],
)
def merge_bounds(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """maximum(maximum(x, 1), 2) -> maximum(x, 2), minimum(minimum(x, 1), 2) -> minimum(x, 1)"""
    op = scalar_op(node)
    for position, outer in enumerate(node.inputs):
        c = node.inputs[1 - position]
        inner = None if outer.owner is None else scalar_node(outer, op)
        if inner is None or not isinstance(c, TensorConstant):
            continue
        if len({x.dtype for x in (*operands(node), *operands(inner))}) > 1:
            return None
        for place, d in enumerate(inner.inputs):
            x = inner.inputs[1 - place]
            if isinstance(x, TensorConstant):  # the constants of both places are folded
                continue
            if isinstance(d, TensorConstant) and c.data.size == d.data.size == 1:
                return as_result(fgraph, node, node.op(x, node.op(c, d)))
    return None


# ---- comparisons ---------------------------------------------------------------------------------

_OPPOSITE: dict[Any, Any] = {
    ps.lt: ps.ge,
    ps.ge: ps.lt,
    ps.gt: ps.le,
    ps.le: ps.gt,
    ps.eq: ps.ne,
    ps.ne: ps.eq,
}


@node_rewriter(
    [math.invert, math.logical_not],
    operands=_COMPARISONS,
    examples=[
        "~pt.eq(x, y)",
        "~pt.neq(x, y)",
        "~pt.lt(x, y)",
        "~pt.ge(i, j)",
        "pt.logical_not(i > j)",
    ],
)
def negated_comparison(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """~(x == y) -> x != y; ~(x < y) -> x >= y for integers"""
    inner = scalar_node(node.inputs[0], *_OPPOSITE)
    if inner is None:
        return None
    x, y = inner.inputs
    exact = kind(x) in "biu" and kind(y) in "biu"
    if not exact and scalar_op(inner) not in {ps.eq, ps.ne}:
        return None
    return as_result(fgraph, node, elemwise(_OPPOSITE[scalar_op(inner)])(x, y))


@node_rewriter(
    [math.logical_not, math.invert],
    operands=[math.logical_not, math.invert],
    examples=[
        "pt.logical_not(pt.logical_not(b))",
        "pt.logical_not(~b)",
        "pt.invert(pt.logical_not(b))",
    ],
)
def double_not(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """not(not(x)) -> x, for bools"""
    inner = scalar_node(node.inputs[0], ps.logical_not, ps.invert)
    if inner is None or kind(inner.inputs[0]) != "b":
        return None
    return as_result(fgraph, node, inner.inputs[0])


_OF_ITSELF: dict[Any, bool] = {
    ps.lt: False,
    ps.gt: False,
    ps.le: True,
    ps.ge: True,
    ps.eq: True,
    ps.ne: False,
}


@node_rewriter(
    _COMPARISONS,
    operands=[Operand.REPEATED],
    examples=["x < x", "x > x", "pt.eq(i, i)", "pt.neq(b, b)", "i <= i"],
)
def compare_with_itself(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """x < x -> False, x > x -> False; x == x -> True and the like for integers and bools"""
    x, y = node.inputs
    op = scalar_op(node)
    if x is not y or (op not in {ps.lt, ps.gt} and kind(x) not in "biu"):
        return None
    return _everywhere(fgraph, node, _OF_ITSELF[op])


@node_rewriter(
    [math.eq, math.neq],
    operands=UNIFORM,
    examples=["pt.eq(b, True)", "pt.eq(False, b)", "pt.neq(b, False)"],
)
def compare_with_truth(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """b == True -> b, b == False -> ~b, b != False -> b, b != True -> ~b"""
    for position, c in enumerate(node.inputs):
        b = operands(node)[1 - position]
        if kind(b) != "b" or kind(c) != "b" or uniform_value(c) is NOT_CONSTANT:
            continue
        if sizes_covered(c, [b]):
            same = bool(uniform_value(c)) == (scalar_op(node) is ps.eq)
            return as_result(fgraph, node, b if same else math.invert(b))
    return None


@node_rewriter(
    [math.isnan, math.isinf, math.isfinite],
    examples=["pt.isnan(i)", "pt.isinf(b)", "pt.isfinite(k)", "pt.isfinite(x)"],
)
def integers_are_finite(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """isnan(x) -> False, isinf(x) -> False, isfinite(x) -> True, for integers and bools"""
    (x,) = node.inputs
    if kind(x) not in "biu":
        return None
    return _everywhere(fgraph, node, scalar_op(node) is ps.isfinite)


# ---- choices -------------------------------------------------------------------------------------


@node_rewriter(
    [math.switch],
    operands=[math.invert, math.logical_not],
    examples=["pt.switch(~b, x, y)", "pt.switch(pt.logical_not(x), y, z)"],
)
def switch_on_negation(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """switch(~c, x, y) -> switch(c, y, x)"""
    condition, x, y = operands(node)
    inner = scalar_node(condition, ps.invert, ps.logical_not)
    if inner is None or (scalar_op(inner) is ps.invert and kind(condition) != "b"):
        return None
    return as_result(fgraph, node, math.switch(inner.inputs[0], y, x))


@node_rewriter(
    [math.switch],
    operands=[Operand.ALIKE],
    examples=[
        "pt.switch(x3 > 0, pt.switch(x3 > 0, y3, x3), s)",
        "pt.switch(x3 > 0, s, pt.switch(x3 > 0, x3, y3))",
    ],
)
def switch_twice(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """switch(c, switch(c, x, z), y) -> switch(c, x, y), and likewise for the other branch"""
    condition, *branches = operands(node)
    changed = False
    for position, branch in enumerate(branches):
        inner = None if branch.owner is None else scalar_node(branch, ps.switch)
        if inner is None or inner.inputs[0] is not condition:
            continue
        dropped, kept = operands(inner)[2 - position], operands(inner)[1 + position]
        if sizes_covered(dropped, [condition, kept]) and kept.dtype == branch.dtype:
            branches[position] = kept
            changed = True
    return as_result(fgraph, node, math.switch(condition, *branches)) if changed else None


@node_rewriter(
    [math.switch],
    operands=UNIFORM,
    examples=["pt.switch(b, True, False)", "pt.switch(b, False, True)"],
)
def switch_of_truths(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """switch(c, True, False) -> c, switch(c, False, True) -> ~c, for bools"""
    condition, x, y = operands(node)
    if kind(x) != "b" or kind(y) != "b" or kind(condition) != "b":
        return None
    if not sizes_covered(x, [condition]) or not sizes_covered(y, [condition]):
        return None
    if is_uniformly(x, True) and is_uniformly(y, False):
        return as_result(fgraph, node, condition)
    if is_uniformly(x, False) and is_uniformly(y, True):
        return as_result(fgraph, node, math.invert(condition))
    return None


@node_rewriter(
    [SizeCheck],
    examples=[
        "pt.SizeCheck('equal', 'n')(n, pt.ShapeI(0)(x) * n, n * pt.ShapeI(0)(x))",
        "pt.SizeCheck('at least', 'n')(n, pt.ShapeI(0)(x), 0)",
    ],
)
def drop_useless_size_check(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """size_check(n, a, b) -> n, where the relation of a and b is known to hold"""
    assert isinstance(node.op, SizeCheck)
    size, a, b = operands(node)
    if node.op.relation == "equal":
        holds = same_product([unchecked_size(a)], [unchecked_size(b)])
    else:
        least = fold(b)
        holds = (
            node.op.relation == "at least"
            and isinstance(least, int)
            and least <= 0
            and is_not_negative(a)
        )
    return [size] if holds else None


CANONICAL_COMPARISON: tuple[NodeRewriter, ...] = (
    compare_with_itself,
    compare_with_truth,
    compare_size_with_negative,
    bound_of_size,
    absorbed_extreme,
    merge_bounds,
    negated_comparison,
    double_not,
    integers_are_finite,
    switch_on_negation,
    switch_twice,
    switch_of_truths,
)
"""In the order in which they are tried."""

SIZES: tuple[NodeRewriter, ...] = (
    drop_useless_size_check,
    compare_size_with_negative,
    bound_of_size,
    absorbed_extreme,
    merge_bounds,
)
"""Rules about sizes, for the expressions that shape inference builds."""
