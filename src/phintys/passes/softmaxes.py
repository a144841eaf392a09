"""Stable forms of softmax, its logarithm, and the gradients of both.

Expressions with exponentials and their sums are replaced by Ops that do not overflow. The gradient
of such an expression divides by the softmax and multiplies by it again, which gives NaN where the
softmax has underflowed to 0; the rules here remove both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import phintys.scalar as ps
from phintys.graph.identity import all_same, place_of
from phintys.passes._facts import (
    argument,
    as_result,
    kind,
    operands,
    output_type,
    scalar_node,
)
from phintys.passes._quotients import times
from phintys.rewriting import node_rewriter
from phintys.tensor import math
from phintys.tensor.dim_shuffle import DimShuffle
from phintys.tensor.reduce import Reduce
from phintys.tensor.softmaxes import LogSoftmax, LogSumExp, Softmax

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable
    from phintys.rewriting import NodeRewriter


def _shuffled(variable: Variable) -> tuple[Apply | None, DimShuffle | None]:
    """Return the node that computes a variable up to a dimshuffle, and the dimshuffle."""
    node = variable.owner
    if node is None or not isinstance(node.op, DimShuffle):
        return node, None
    return node.inputs[0].owner, node.op


def _keeps_axes(shuffle: DimShuffle | None, axes: tuple[int, ...], ndim: int) -> bool:
    """Return whether a reduction with a dimshuffle amounts to ``keepdims=True``."""
    kept = iter(range(ndim))
    wanted = tuple("x" if dim in axes else next(kept) for dim in range(ndim))
    return (() if shuffle is None else shuffle.new_order) == wanted


def summed_powers(variable: Variable) -> tuple[Any, Reduce, DimShuffle | None] | None:
    """Return (exp(x), the sum, the dimshuffle after it) where ``variable`` is sum(exp(x))."""
    inner, shuffle = _shuffled(variable)
    if inner is None or not isinstance(inner.op, Reduce) or inner.op.scalar_op is not ps.add:
        return None
    power = inner.inputs[0]
    x = argument(power, ps.exp)
    if x is None or x.dtype != output_type(inner).dtype:
        return None
    return power, inner.op, shuffle


# ---- from exponentials ---------------------------------------------------------------------------


@node_rewriter(
    [math.true_div],
    operands=[math.exp],
    depth=4,
    examples=["pt.exp(X) / pt.exp(X).sum(axis=1, keepdims=True)", "pt.exp(x) / pt.exp(x).sum()"],
)
def quotient_to_softmax(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """exp(x) / sum(exp(x), axis, keepdims=True) -> softmax(x, axis)"""
    numerator, denominator = node.inputs
    found = None if denominator.owner is None else summed_powers(denominator)
    if found is None or found[0] is not numerator:
        return None
    _, total, shuffle = found
    ndim = output_type(node).ndim
    if not _keeps_axes(shuffle, total.axes(ndim), ndim):
        return None
    return as_result(fgraph, node, Softmax(total.axis)(argument(numerator, ps.exp)))


@node_rewriter(
    [math.mul],
    operands=[math.exp],
    depth=5,
    examples=[
        "pt.exp(x) * (1 / pt.exp(x).sum())[None]",
        "pt.mul(Y, pt.exp(X), (2 / pt.exp(X).sum(axis=1))[:, None])",
    ],
)
def product_to_softmax(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """exp(x) * (y / sum(exp(x))) -> y * softmax(x), the gradient of logsumexp"""
    for place, factor in enumerate(operands(node)):
        outer = factor.owner
        shuffle = None if outer is None or not isinstance(outer.op, DimShuffle) else outer.op
        quotient = factor if outer is None or shuffle is None else outer.inputs[0]
        inner = scalar_node(quotient, ps.true_div)
        found = None if inner is None else summed_powers(inner.inputs[1])
        same = None if found is None else place_of(found[0], node.inputs)
        if found is None or inner is None or same is None:
            continue
        power, total, inner_shuffle = found
        ndim = output_type(node).ndim
        if shuffle is not None and inner_shuffle is not None:
            continue
        if not _keeps_axes(shuffle or inner_shuffle, total.axes(ndim), ndim):
            continue
        rest: list[Any] = [y for i, y in enumerate(node.inputs) if i not in (place, same)]
        above: Any = inner.inputs[0]
        rest.append(above if shuffle is None else shuffle(above))
        softmax: Any = Softmax(total.axis)(argument(power, ps.exp))
        return as_result(fgraph, node, math.mul(*rest, softmax))
    return None


@node_rewriter(
    [math.sub],
    operands=[DimShuffle, LogSumExp],
    depth=3,
    examples=["X - pt.logsumexp(X, axis=1, keepdims=True)", "x - pt.logsumexp(x)"],
)
def minus_logsumexp(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """x - logsumexp(x, axis, keepdims=True) -> log_softmax(x, axis)"""
    x, y = operands(node)
    inner, shuffle = _shuffled(y)
    if inner is None or not isinstance(inner.op, LogSumExp) or inner.inputs[0] is not x:
        return None
    if kind(x) != "f" or not _keeps_axes(shuffle, inner.op.axes(x.ndim), x.ndim):
        return None
    return as_result(fgraph, node, LogSoftmax(inner.op.axis)(x))


# ---- gradients -----------------------------------------------------------------------------------


@node_rewriter(
    [math.mul],
    operands=[Softmax],
    depth=5,
    examples=[
        "(lambda s: s * (Y / s - (Y / s * s).sum(1, keepdims=True)))(pt.softmax(X, axis=1))",
        "(lambda s: s * (-y / s - (-y / s * s).sum()))(pt.softmax(x))",
        (
            "(s := pt.softmax(x)) * "
            "((u := pt.inc_subtensor(pt.zeros_like(x)[i], 1 / s[i])) - (u * s).sum())"
        ),
    ],
)
def gradient_of_log_softmax(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """s * (y / s - sum(y / s * s, axis)) -> y - s * sum(y, axis), where s is softmax(x, axis)"""
    for place, s in enumerate(operands(node)):
        if s.owner is None or not isinstance(s.owner.op, Softmax) or kind(s) != "f":
            continue
        for other, difference in enumerate(node.inputs):
            gradient = _centred(difference, s) if other != place else None
            if gradient is not None:
                rest = [x for i, x in enumerate(node.inputs) if i not in (place, other)]
                return as_result(fgraph, node, math.mul(*rest, gradient) if rest else gradient)
    return None


def _centred(difference: Any, s: Any) -> Any:
    """Return y - s * sum(y) where a variable is y / s - sum(y / s * s), else ``None``."""
    outer = scalar_node(difference, ps.sub)
    if outer is None:
        return None
    u, subtracted = operands(outer)
    inner, shuffle = _shuffled(subtracted)
    if inner is None or not isinstance(inner.op, Reduce) or inner.op.scalar_op is not ps.add:
        return None
    axes = s.owner.op.axes(s.ndim)
    if inner.op.axes(s.ndim) != axes or not _keeps_axes(shuffle, axes, s.ndim):
        return None
    weighted = scalar_node(inner.inputs[0], ps.mul)
    if weighted is None or not _same_factors(weighted.inputs, u, s):
        return None
    y = times(u, s)
    if y is None:
        return None
    if y.type.broadcastable != s.type.broadcastable:
        y = math.second(s, y)
    total: Any = inner.op(y)
    return math.sub(y, math.mul(s, total if shuffle is None else shuffle(total)))


def _same_factors(factors: list[Variable], u: Any, s: Any) -> bool:
    """Return whether some factors are those of u * s."""
    place = place_of(s, factors)
    if place is None:
        return False
    rest = [x for i, x in enumerate(factors) if i != place]
    if all_same(rest, [u]):
        return True
    product = scalar_node(u, ps.mul)
    return product is not None and len(rest) > 1 and all_same(rest, product.inputs)


STABILIZE_SOFTMAX: tuple[NodeRewriter, ...] = (
    quotient_to_softmax,
    product_to_softmax,
    minus_logsumexp,
    gradient_of_log_softmax,
)
"""In the order in which they are tried."""
