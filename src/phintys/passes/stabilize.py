"""Numerically stable forms of expressions that overflow or cancel.

The values agree up to rounding wherever the original is accurate; elsewhere the new form is the
better one: log(1 + 1e-20) is 0, and log1p(1e-20) is 1e-20. All rules are for real floating dtypes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import phintys.scalar as ps
from phintys.graph.identity import place_of
from phintys.passes._facts import (
    argument,
    as_result,
    as_value,
    kind,
    minus_one,
    operands,
    output_type,
    scalar_node,
    scalar_op,
    sizes_covered,
    sum_without,
    taken_from_one,
    uniform_value,
)
from phintys.passes.arithmetic import negated
from phintys.passes.sigmoids import STABILIZE_SIGMOID
from phintys.passes.softmaxes import STABILIZE_SOFTMAX, summed_powers
from phintys.passes.special import STABILIZE_SPECIAL, log_of_share, log_of_tail
from phintys.rewriting import NOT_CONSTANT, late_rules, node_rewriter
from phintys.tensor import math
from phintys.tensor.dim_shuffle import DimShuffle
from phintys.tensor.elemwise import elemwise
from phintys.tensor.indexing import AdvancedSubtensor, Subtensor
from phintys.tensor.reduce import Reduce
from phintys.tensor.softmaxes import LogSoftmax, LogSumExp, Softmax

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable

# ---- logarithms of sums --------------------------------------------------------------------------


@node_rewriter(
    [math.log],
    operands=[math.add],
    examples=["pt.log(1 + x)", "pt.log(x + 1)", "pt.log(pt.add(x, 1, y))"],
)
def log_of_one_plus(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """log(1 + x) -> log1p(x)"""
    inner = scalar_node(node.inputs[0], ps.add)
    x = None if inner is None else sum_without(inner, 1)
    return None if x is None else as_result(fgraph, node, math.log1p(x))


@node_rewriter([math.log], operands=[math.sub, math.add], examples=["pt.log(1 - u)"])
def log_of_one_minus(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """log(1 - x) -> log1p(-x)"""
    inner = scalar_node(node.inputs[0], ps.sub, ps.add)
    x = None if inner is None else taken_from_one(inner)
    return None if x is None else as_result(fgraph, node, math.log1p(negated(x)))


@node_rewriter([math.log1p], operands=[math.exp], examples=["pt.log1p(pt.exp(x))"])
def log1p_of_exp(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """log1p(exp(x)) -> softplus(x)"""
    x = argument(node.inputs[0], ps.exp)
    return None if x is None else as_result(fgraph, node, math.softplus(x))


@node_rewriter([math.log1p], operands=[math.neg], depth=3, examples=["pt.log1p(-pt.exp(-u))"])
def log1p_of_minus_exp(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """log1p(-exp(x)) -> log1mexp(x)"""
    minus = argument(node.inputs[0], ps.neg)
    x = None if minus is None else argument(minus, ps.exp)
    return None if x is None else as_result(fgraph, node, math.log1mexp(x))


@node_rewriter([math.log], operands=[math.neg], depth=3, examples=["pt.log(-pt.expm1(-u))"])
def log_of_minus_expm1(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """log(-expm1(x)) -> log1mexp(x)"""
    minus = argument(node.inputs[0], ps.neg)
    x = None if minus is None else argument(minus, ps.expm1)
    return None if x is None else as_result(fgraph, node, math.log1mexp(x))


@node_rewriter([math.log], operands=[math.expm1], examples=["pt.log(pt.expm1(u))"])
def log_of_expm1(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """log(expm1(x)) -> x + log1mexp(-x), the inverse of softplus"""
    x = argument(node.inputs[0], ps.expm1)
    if x is None:
        return None
    return as_result(fgraph, node, math.add(x, math.log1mexp(negated(x))))


@node_rewriter(
    [math.log],
    operands=[math.add],
    depth=3,
    examples=["pt.log(pt.exp(x) + pt.exp(y))", "pt.log(pt.add(pt.exp(x), pt.exp(y), pt.exp(z)))"],
)
def log_of_exp_plus_exp(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """log(exp(x) + exp(y)) -> logaddexp(x, y), also of more terms"""
    inner = scalar_node(node.inputs[0], ps.add)
    if inner is None or len(inner.inputs) < 2:
        return None
    terms = [argument(x, ps.exp) for x in inner.inputs]
    if any(x is None or x.dtype != output_type(node).dtype for x in terms):
        return None
    result = terms[0]
    for x in terms[1:]:
        result = math.logaddexp(result, x)
    return as_result(fgraph, node, result)


# ---- exponentials --------------------------------------------------------------------------------


# f -> 1 - f(x), without cancellation
_ONE_MINUS: dict[Any, Any] = {
    math.exp: lambda x: math.neg(math.expm1(x)),
    math.sigmoid: lambda x: math.sigmoid(negated(x)),
    math.erf: math.erfc,
    math.erfc: math.erf,
    math.ndtr: lambda x: math.ndtr(negated(x)),
}


def _one_minus(variable: Any) -> Any:
    """Return 1 - f(x) without cancellation where ``variable`` is f(x), else ``None``."""
    if variable is None:
        return None
    node = variable.owner
    if node is None or node.op not in _ONE_MINUS or argument(variable, scalar_op(node)) is None:
        return None
    return _ONE_MINUS[node.op](node.inputs[0])


def _has_function(node: Apply, depth: int = 1) -> bool:
    """Return whether an operand is one of the functions, or the negative of one."""
    for x in node.inputs:
        inner = x.owner
        if inner is None:
            continue
        if inner.op in _ONE_MINUS or (depth and inner.op == math.neg and _has_function(inner, 0)):
            return True
    return False


@node_rewriter(
    [math.sub, math.add],
    operands=[math.neg, *_ONE_MINUS],
    depth=3,
    examples=[
        "1 - pt.exp(x)",
        "1 + -pt.exp(x)",
        "1 - pt.sigmoid(x)",
        "1 - pt.erf(x)",
        "1 - pt.erfc(x)",
        "1 - pt.ndtr(x)",
    ],
)
def one_minus_function(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """1 - exp(x) -> -expm1(x), 1 - sigmoid(x) -> sigmoid(-x), 1 - erf(x) -> erfc(x), ..."""
    result = _one_minus(taken_from_one(node)) if _has_function(node) else None
    return None if result is None else as_result(fgraph, node, result)


@node_rewriter(
    [math.sub, math.add],
    operands=_ONE_MINUS,
    examples=["pt.exp(x) - 1", "pt.exp(x) + -1", "pt.sigmoid(x) - 1", "pt.erf(x) - 1"],
)
def function_minus_one(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """exp(x) - 1 -> expm1(x), sigmoid(x) - 1 -> -sigmoid(-x), erf(x) - 1 -> -erfc(x), ..."""
    result = _one_minus(minus_one(node)) if _has_function(node, 0) else None
    return None if result is None else as_result(fgraph, node, negated(result))


@node_rewriter([math.add], operands=[math.erf], examples=["1 + pt.erf(x)", "pt.erf(x) + 1"])
def one_plus_erf(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """1 + erf(x) -> erfc(-x)"""
    if len(node.inputs) != 2 or not _has_function(node, 0):
        return None
    inner = sum_without(node, 1)
    x = None if inner is None else argument(inner, ps.erf)
    return None if x is None else as_result(fgraph, node, math.erfc(negated(x)))


_INVERSE: dict[Any, Any] = {ps.log: ps.exp, ps.log2: ps.exp2, ps.log1p: ps.expm1}


@node_rewriter(
    [elemwise(op) for op in _INVERSE],
    operands=[elemwise(op) for op in _INVERSE.values()],
    examples=["pt.log(pt.exp(x))", "pt.log2(pt.exp2(x))", "pt.log1p(pt.expm1(x))"],
)
def log_of_exp(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """log(exp(x)) -> x, log2(exp2(x)) -> x, log1p(expm1(x)) -> x"""
    x = argument(node.inputs[0], _INVERSE[scalar_op(node)])
    return None if x is None else as_result(fgraph, node, x)


_EXP_OF: dict[Any, Any] = {
    ps.log_sigmoid: math.sigmoid,
    ps.log_ndtr: math.ndtr,
    ps.log: lambda x: math.switch(math.ge(x, 0), x, as_value(float("nan"), x.type)),
}


@node_rewriter(
    [math.exp],
    operands=[LogSoftmax, *map(elemwise, _EXP_OF)],
    examples=[
        "pt.exp(pt.log_sigmoid(x))",
        "pt.exp(pt.log(u))",
        "pt.exp(pt.special.log_softmax(X, axis=1))",
        "pt.exp(pt.log_ndtr(x))",
    ],
)
def exp_of_log(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """exp(log(x)) -> x or NaN, exp(log_sigmoid(x)) -> sigmoid(x), ..."""
    inner = node.inputs[0].owner
    if inner is None:
        return None
    if isinstance(inner.op, LogSoftmax):
        return as_result(fgraph, node, Softmax(inner.op.axis)(inner.inputs[0]))
    x = argument(node.inputs[0], *_EXP_OF)
    return None if x is None else as_result(fgraph, node, _EXP_OF[scalar_op(inner)](x))


# ---- logarithms of positive numbers --------------------------------------------------------------


@node_rewriter(
    [math.log],
    operands=[Subtensor, AdvancedSubtensor],
    depth=3,
    examples=["pt.log(pt.special.softmax(X, axis=1)[:, 0])", "pt.log(pt.special.softmax(x)[k])"],
)
def log_of_indexed_softmax(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """log(softmax(x)[i]) -> log_softmax(x)[i]"""
    index = node.inputs[0].owner
    if index is None or not isinstance(index.op, Subtensor | AdvancedSubtensor):
        return None
    x = _log_of(index.inputs[0])
    return None if x is None else as_result(fgraph, node, index.op(x, *index.inputs[1:]))


def _log_of(variable: Variable) -> Any:
    """Return the logarithm of a positive expression, in a form that does not overflow.

    Handles exp(x), sigmoid(x), ndtr(x), erfc(x), c + c * tanh(x), softmax(x) and sum(exp(x)), for
    real x; ``None`` for others.
    """
    node = variable.owner
    if node is None:
        return None
    if isinstance(node.op, Softmax):
        return LogSoftmax(node.op.axis)(node.inputs[0]) if kind(node.inputs[0]) == "f" else None
    x = argument(variable, ps.exp)
    if x is not None:
        return x
    x = argument(variable, ps.sigmoid)
    if x is not None:
        return math.log_sigmoid(x)
    for log_of in (log_of_tail, log_of_share):
        found = log_of(variable)
        if found is not None:
            return found
    found = summed_powers(variable)
    if found is None:
        return None
    power, total, shuffle = found
    result: Any = LogSumExp(total.axis)(argument(power, ps.exp))
    return result if shuffle is None else shuffle(result)


@node_rewriter(
    [math.log],
    operands=[
        Softmax,
        *(math.exp, math.sigmoid, math.ndtr, math.erfc, math.add, math.sub),
        Reduce,
        DimShuffle,
    ],
    depth=4,
    examples=[
        "pt.log(pt.sigmoid(x))",
        "pt.log(0.5 + 0.5 * pt.tanh(x))",
        "pt.log(pt.ndtr(x))",
        "pt.log(pt.erfc(x))",
        "pt.log(pt.special.softmax(X, axis=1))",
        "pt.log(pt.exp(X).sum(axis=1))",
        "pt.log(pt.exp(X).sum(axis=0, keepdims=True))",
    ],
)
def log_of_positive(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """log(sigmoid(x)) -> log_sigmoid(x), log(sum(exp(x))) -> logsumexp(x), of softmax, ndtr ..."""
    result = _log_of(node.inputs[0])
    return None if result is None else as_result(fgraph, node, result)


def _log_of_scaled(variable: Any, levels: int = 2) -> Any:
    """Return the logarithm of a product or quotient with a positive expression, or ``None``."""
    inner = scalar_node(variable, ps.mul, ps.true_div)
    if inner is None or kind(variable) != "f" or not levels:
        return None
    parts = operands(inner)
    if any(x.dtype != variable.dtype for x in parts):
        return None
    logs = [_log_of(x) for x in parts]
    logs = [
        _log_of_scaled(x, levels - 1) if log is None else log
        for x, log in zip(parts, logs, strict=True)
    ]
    if all(log is None for log in logs):
        return None
    if scalar_op(inner) is ps.true_div:
        return math.sub(
            *(math.log(x) if log is None else log for x, log in zip(parts, logs, strict=True))
        )
    rest = [x for x, log in zip(parts, logs, strict=True) if log is None]
    terms = [log for log in logs if log is not None]
    if rest:
        terms.append(math.log(math.mul(*rest) if len(rest) > 1 else rest[0]))
    return math.add(*terms)


@node_rewriter(
    [math.log],
    operands=[math.mul, math.true_div],
    depth=5,
    examples=[
        "pt.log(pt.exp(x) * u)",
        "pt.log(pt.sigmoid(x) / u)",
        "pt.log(u / pt.exp(x))",
        "pt.log(pt.exp(X).mean(axis=1))",
        "pt.log(0.5 * pt.erfc(x))",
        "pt.log(pt.mul(u, pt.ndtr(x), 3.0))",
        "pt.log(u / (0.5 * pt.erfc(x)))",
    ],
)
def log_of_scaled_positive(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """log(exp(x) * y) -> x + log(y), log(exp(x) / y) -> x - log(y), also with sigmoid, ndtr, ..."""
    (x,) = operands(node)
    result = _log_of_scaled(x) if x.dtype == output_type(node).dtype else None
    return None if result is None else as_result(fgraph, node, result)


_OF_E: dict[Any, float] = {ps.log2: np.log2(np.e), ps.log10: np.log10(np.e)}


@node_rewriter(
    [math.log2, math.log10],
    operands=[
        *(math.mul, math.true_div, math.add, math.sub),
        Softmax,
        *(math.exp, math.sigmoid, math.ndtr, math.erfc),
    ],
    depth=5,
    examples=["pt.log2(pt.ndtr(x))", "pt.log10(0.5 * pt.erfc(x))", "pt.log2(pt.sigmoid(x))"],
)
def other_log_of_positive(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """log2(ndtr(x)) -> log2(e) * log_ndtr(x), also log10, and as log_of_scaled_positive"""
    (x,) = operands(node)
    result = None
    if x.dtype == output_type(node).dtype:
        result = _log_of(x)
        result = _log_of_scaled(x) if result is None else result
    if result is None:
        return None
    return as_result(fgraph, node, math.mul(as_value(_OF_E[scalar_op(node)], x.type), result))


@node_rewriter(
    [math.log],
    operands=[math.sqr, math.sqrt, math.pow],
    examples=["pt.log(pt.sqr(x))", "pt.log(pt.sqrt(u))", "pt.log(u**3)", "pt.log(x**4)"],
)
def log_of_power(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """log(x ** c) -> c * log(x), log(sqr(x)) -> 2 * log(abs(x)), log(sqrt(x)) -> 0.5 * log(x)"""
    inner = scalar_node(node.inputs[0], ps.sqr, ps.sqrt, ps.pow)
    dtype = output_type(node)
    if (
        inner is None
        or any(x.dtype != dtype.dtype for x in operands(inner))
        or dtype.numpy_dtype.kind != "f"
    ):
        return None
    x = operands(inner)[0]
    if scalar_op(inner) is ps.pow:
        exponent = operands(inner)[1]
        c = uniform_value(exponent)
        if c is NOT_CONSTANT or not np.isfinite(c) or not c or not sizes_covered(exponent, [x]):
            return None
    else:
        c = 2 if scalar_op(inner) is ps.sqr else 0.5
    base = math.abs(x) if c % 2 == 0 else x
    return as_result(fgraph, node, math.mul(as_value(c, dtype), math.log(base)))


@node_rewriter(
    [math.mul], operands=[math.log], examples=["u * pt.log(u)", "pt.mul(2, u, pt.log(u))"]
)
def number_times_its_log(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """x * log(x) -> xlogy(x, x), which is 0 for x = 0"""
    for position, log in enumerate(node.inputs):
        x = None if log.owner is None else argument(log, ps.log)
        place = None if x is None else place_of(x, node.inputs)
        if x is None or place is None:
            continue
        rest = [y for i, y in enumerate(node.inputs) if i not in (position, place)]
        entropy = math.xlogy(x, x)
        return as_result(fgraph, node, math.mul(entropy, *rest) if rest else entropy)
    return None


STABILIZE = late_rules(
    log_of_exp,
    log_of_one_plus,
    log_of_one_minus,
    log1p_of_exp,
    log1p_of_minus_exp,
    log_of_minus_expm1,
    log_of_expm1,
    log_of_exp_plus_exp,
    log_of_positive,
    log_of_indexed_softmax,
    log_of_scaled_positive,
    other_log_of_positive,
    log_of_power,
    *STABILIZE_SIGMOID,
    *STABILIZE_SOFTMAX,
    one_minus_function,
    function_minus_one,
    one_plus_erf,
    exp_of_log,
    number_times_its_log,
    *STABILIZE_SPECIAL,
    needs=[
        ps.cosh,
        ps.erf,
        ps.erfc,
        ps.exp,
        ps.exp2,
        ps.expm1,
        ps.log,
        ps.log10,
        ps.log1p,
        ps.log2,
        ps.log_ndtr,
        ps.log_sigmoid,
        ps.ndtr,
        ps.sigmoid,
        ps.softplus,
        LogSoftmax,
        LogSumExp,
        Softmax,
    ],
)
"""In the order in which they are tried."""
