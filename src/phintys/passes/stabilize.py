"""Forms that keep their precision where the straightforward ones overflow or cancel.

The values agree up to rounding wherever the original has precision; elsewhere the new form is the
better one: log(1 + 1e-20) is 0, and log1p(1e-20) is 1e-20. All rules are for real floating dtypes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import phintys.scalar as ps
from phintys.passes._facts import (
    as_result,
    is_uniformly,
    kind,
    operands,
    output_type,
    scalar_node,
    sizes_covered,
)
from phintys.rewriting import node_rewriter
from phintys.tensor.dimshuffle import DimShuffle
from phintys.tensor.elemwise import elemwise
from phintys.tensor.math import cast
from phintys.tensor.reduce import Reduce
from phintys.tensor.softmaxes import LogSoftmax, LogSumExp, Softmax

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable
    from phintys.rewriting import NodeRewriter

__all__ = ["STABILIZE"]


def _argument(variable: Variable, op: ps.ScalarOp) -> Any:
    """Return x where ``variable`` is op(x) and real, computed in the dtype of x; else ``None``."""
    node = scalar_node(variable, op)
    if node is None:
        return None
    (x,) = operands(node)
    return x if kind(x) == "f" and x.dtype == output_type(node).dtype else None


def _sum_without(node: Apply, number: float) -> Any:
    """Return the sum of a node's operands but for one that is ``number``; ``None`` if none is."""
    inputs = operands(node)
    for position, operand in enumerate(inputs):
        rest = [*inputs[:position], *inputs[position + 1 :]]
        if (
            rest
            and is_uniformly(operand, number)
            and sizes_covered(operand, rest)
            and all(kind(x) == "f" for x in rest)
        ):
            rest[0] = cast(rest[0], output_type(node).dtype)
            return rest[0] if len(rest) == 1 else elemwise(ps.add)(*rest)
    return None


def _minus_one(node: Apply) -> Any:
    """Return x where an elementwise node computes x - 1 or x + -1, else ``None``."""
    if node.op == elemwise(ps.add):
        return _sum_without(node, -1) if len(node.inputs) == 2 else None
    x, y = operands(node)
    return x if is_uniformly(y, 1) and sizes_covered(y, [x]) else None


def _taken_from_one(variable: Variable) -> Any:
    """Return x where ``variable`` is 1 - x or 1 + -x, else ``None``."""
    node = scalar_node(variable, ps.sub)
    if node is not None:
        one, x = operands(node)
        fits = is_uniformly(one, 1) and sizes_covered(one, [x])
        return cast(x, output_type(node).dtype) if fits and kind(x) == "f" else None
    node = scalar_node(variable, ps.add)
    rest = None if node is None else _sum_without(node, 1)
    return None if rest is None else _argument(rest, ps.neg)


# ---- logarithms of sums --------------------------------------------------------------------------


@node_rewriter([elemwise(ps.log)])
def log_of_one_plus(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """log(1 + x) -> log1p(x)"""
    inner = scalar_node(node.inputs[0], ps.add)
    x = None if inner is None else _sum_without(inner, 1)
    return None if x is None else as_result(fgraph, node, elemwise(ps.log1p)(x))


@node_rewriter([elemwise(ps.log)])
def log_of_one_minus(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """log(1 - x) -> log1p(-x)"""
    x = _taken_from_one(node.inputs[0])
    if x is None:
        return None
    return as_result(fgraph, node, elemwise(ps.log1p)(elemwise(ps.neg)(x)))


@node_rewriter([elemwise(ps.log1p)])
def log1p_of_exp(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """log1p(exp(x)) -> softplus(x)"""
    x = _argument(node.inputs[0], ps.exp)
    return None if x is None else as_result(fgraph, node, elemwise(ps.softplus)(x))


@node_rewriter([elemwise(ps.log1p)], depth=3)
def log1p_of_minus_exp(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """log1p(-exp(x)) -> log1mexp(x)"""
    negated = _argument(node.inputs[0], ps.neg)
    x = None if negated is None else _argument(negated, ps.exp)
    return None if x is None else as_result(fgraph, node, elemwise(ps.log1mexp)(x))


# ---- sigmoids ------------------------------------------------------------------------------------


@node_rewriter([elemwise(ps.true_div), elemwise(ps.reciprocal)], depth=4)
def quotient_to_sigmoid(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """1 / (1 + exp(-x)) -> sigmoid(x)"""
    if len(node.inputs) == 2:
        one, denominator = operands(node)
        if not is_uniformly(one, 1) or not sizes_covered(one, [denominator]):
            return None
    else:
        (denominator,) = operands(node)
    inner = scalar_node(denominator, ps.add)
    power = None if inner is None else _sum_without(inner, 1)
    negated = None if power is None else _argument(power, ps.exp)
    x = None if negated is None else _argument(negated, ps.neg)
    return None if x is None else as_result(fgraph, node, elemwise(ps.sigmoid)(x))


@node_rewriter([elemwise(ps.log)])
def log_of_sigmoid(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """log(sigmoid(x)) -> log_sigmoid(x), which is -softplus(-x)"""
    x = _argument(node.inputs[0], ps.sigmoid)
    return None if x is None else as_result(fgraph, node, elemwise(ps.log_sigmoid)(x))


@node_rewriter([elemwise(ps.log1p)], depth=3)
def log1p_of_minus_sigmoid(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """log1p(-sigmoid(x)) -> -softplus(x), which is log(1 - sigmoid(x))"""
    negated = _argument(node.inputs[0], ps.neg)
    x = None if negated is None else _argument(negated, ps.sigmoid)
    if x is None:
        return None
    return as_result(fgraph, node, elemwise(ps.neg)(elemwise(ps.softplus)(x)))


# ---- softmax -------------------------------------------------------------------------------------


@node_rewriter([elemwise(ps.log)])
def log_of_softmax(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """log(softmax(x)) -> log_softmax(x)"""
    inner = node.inputs[0].owner
    if inner is None or not isinstance(inner.op, Softmax):
        return None
    (x,) = operands(inner)
    return as_result(fgraph, node, LogSoftmax(inner.op.axis)(x)) if kind(x) == "f" else None


@node_rewriter([elemwise(ps.log)], depth=4)
def log_of_sum_of_exp(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """log(sum(exp(x))) -> logsumexp(x), also where the sum keeps dimensions"""
    inner = node.inputs[0].owner
    shuffle = None if inner is None or not isinstance(inner.op, DimShuffle) else inner.op
    if inner is not None and shuffle is not None:
        inner = inner.inputs[0].owner
    if inner is None or not isinstance(inner.op, Reduce) or inner.op.scalar_op != ps.add:
        return None
    x = _argument(inner.inputs[0], ps.exp)
    if x is None or x.dtype != output_type(inner).dtype:
        return None
    total: Any = LogSumExp(inner.op.axis)(x)
    return as_result(fgraph, node, total if shuffle is None else shuffle(total))


# ---- exponentials --------------------------------------------------------------------------------


@node_rewriter([elemwise(ps.sub), elemwise(ps.add)])
def exp_minus_one(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """exp(x) - 1 -> expm1(x)"""
    power = _minus_one(node)
    x = None if power is None else _argument(power, ps.exp)
    return None if x is None else as_result(fgraph, node, elemwise(ps.expm1)(x))


STABILIZE: tuple[NodeRewriter, ...] = (
    log_of_one_plus,
    log_of_one_minus,
    log1p_of_exp,
    log1p_of_minus_exp,
    quotient_to_sigmoid,
    log_of_sigmoid,
    log1p_of_minus_sigmoid,
    log_of_softmax,
    log_of_sum_of_exp,
    exp_minus_one,
)
"""In the order in which they are tried."""
