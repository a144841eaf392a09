"""Stable forms of the sigmoid, and of the gradients of equivalent expressions.

The gradient of ``1 / (1 + exp(-x))``, or of the logarithm of a sigmoid, multiplies by exponentials
that overflow and divides by sigmoids that underflow; the rules here remove both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import phintys.scalar as ps
from phintys.graph.identity import all_same, place_of
from phintys.passes._facts import (
    argument,
    as_result,
    factors,
    is_same,
    is_uniformly,
    kind,
    output_type,
    scalar_node,
    sizes_covered,
    sum_without,
)
from phintys.passes.arithmetic import negated
from phintys.rewriting import node_rewriter
from phintys.tensor import math
from phintys.tensor.variable import TensorConstant

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable
    from phintys.rewriting import NodeRewriter


@node_rewriter(
    [math.true_div, math.reciprocal],
    operands=[math.add],
    depth=4,
    examples=[
        "1 / (1 + pt.exp(-x))",
        "1 / (1 + pt.exp(x))",
        "y / (1 + pt.exp(-x))",
        "pt.exp(x) / (1 + pt.exp(x))",
        "pt.exp(-x) / (1 + pt.exp(-x))",
    ],
)
def quotient_to_sigmoid(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """y / (1 + exp(-x)) -> y * sigmoid(x), exp(x) / (1 + exp(x)) -> sigmoid(x)"""
    denominator = node.inputs[-1]
    inner = None if denominator.owner is None else scalar_node(denominator, ps.add)
    power = None if inner is None else sum_without(inner, 1)
    x = None if power is None else argument(power, ps.exp)
    if x is None:
        return None
    if len(node.inputs) == 1:
        return as_result(fgraph, node, math.sigmoid(negated(x)))
    numerator: Any = node.inputs[0]
    if numerator is power:
        return as_result(fgraph, node, math.sigmoid(x))
    if is_uniformly(numerator, 1) and sizes_covered(numerator, [denominator]):
        return as_result(fgraph, node, math.sigmoid(negated(x)))
    if kind(numerator) != "f" or numerator.dtype != x.dtype:
        return None
    return as_result(fgraph, node, math.mul(numerator, math.sigmoid(negated(x))))


@node_rewriter(
    [math.true_div],
    operands=[math.exp],
    depth=3,
    examples=["pt.exp(x) / (pt.exp(x) + pt.exp(y))", "pt.exp(y) / (pt.exp(x) + pt.exp(y))"],
)
def share_of_exponentials(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """exp(x) / (exp(x) + exp(y)) -> sigmoid(x - y), the gradient of logaddexp"""
    power, denominator = node.inputs
    inner = None if denominator.owner is None else scalar_node(denominator, ps.add)
    place = None if inner is None else place_of(power, inner.inputs)
    if inner is None or place is None or len(inner.inputs) != 2:
        return None
    other = inner.inputs[1 - place]
    x, y = argument(power, ps.exp), argument(other, ps.exp)
    if x is None or y is None or other is power or x.dtype != y.dtype:
        return None
    return as_result(fgraph, node, math.sigmoid(math.sub(x, y)))


@node_rewriter([math.log1p], operands=[math.neg], depth=3, examples=["pt.log1p(-pt.sigmoid(x))"])
def log1p_of_minus_sigmoid(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """log1p(-sigmoid(x)) -> -softplus(x), which is log(1 - sigmoid(x))"""
    minus = argument(node.inputs[0], ps.neg)
    x = None if minus is None else argument(minus, ps.sigmoid)
    return None if x is None else as_result(fgraph, node, math.neg(math.softplus(x)))


# ---- products ------------------------------------------------------------------------------------


def _are_opposite(x: Any, y: Any) -> bool:
    """Return whether y is known to be -x."""
    for one, other in ((x, y), (y, x)):
        node = scalar_node(one, ps.neg)
        if node is not None and is_same(node.inputs[0], other):
            return True
    first, second = scalar_node(x, ps.mul), scalar_node(y, ps.mul)
    if first is None or second is None or len(first.inputs) != len(second.inputs):
        return False
    c, d = first.inputs[0], second.inputs[0]
    return (
        isinstance(c, TensorConstant)
        and isinstance(d, TensorConstant)
        and c.type == d.type
        and np.array_equal(c.data, -d.data)
        and all_same(first.inputs[1:], second.inputs[1:])
    )


@node_rewriter(
    [math.mul],
    operands=[math.exp, math.add, math.mul],
    within=[math.sigmoid],
    depth=4,
    examples=[
        "pt.exp(-x) * pt.sigmoid(x)",
        "pt.mul(y, pt.exp(2 * x), pt.sigmoid(-2 * x))",
        "(pt.sigmoid(x) * y) * pt.exp(-x)",
        "(1 + pt.exp(-x)) * pt.sigmoid(x)",
    ],
)
def exponential_times_sigmoid(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """exp(-x) * sigmoid(x) -> sigmoid(-x), (1 + exp(-x)) * sigmoid(x) -> 1"""
    parts = factors(node)
    sigmoids = [(place, argument(part, ps.sigmoid)) for place, part in enumerate(parts)]
    sigmoids = [(place, x) for place, x in sigmoids if x is not None]
    if not sigmoids:
        return None
    for place, part in enumerate(parts):
        inner = scalar_node(part, ps.add)
        power = part if inner is None else sum_without(inner, 1)
        y = None if power is None else argument(power, ps.exp)
        for other, x in sigmoids if y is not None else ():
            if not _are_opposite(x, y):
                continue
            rest: list[Any] = [z for i, z in enumerate(parts) if i not in (place, other)]
            if inner is None:
                rest.append(math.sigmoid(y))
            elif not rest or not sizes_covered(parts[other], rest):
                rest.append(math.second(parts[other], np.asarray(1, output_type(node).dtype)))
            return as_result(fgraph, node, math.mul(*rest) if len(rest) > 1 else rest[0])
    return None


STABILIZE_SIGMOID: tuple[NodeRewriter, ...] = (
    log1p_of_minus_sigmoid,
    quotient_to_sigmoid,
    share_of_exponentials,
    exponential_times_sigmoid,
)
"""In the order in which they are tried."""
