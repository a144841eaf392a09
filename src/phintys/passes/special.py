"""Stable forms of expressions with erf, erfc and the normal distribution."""

from __future__ import annotations

from math import log, sqrt
from typing import TYPE_CHECKING, Any

import phintys.scalar as ps
from phintys.graph.identity import is_among
from phintys.passes._facts import (
    as_result,
    as_value,
    operands,
    output_type,
    scalar_node,
    sizes_covered,
)
from phintys.passes._forms import argument, factors, is_same
from phintys.passes._quotients import times
from phintys.rewriting import node_rewriter
from phintys.tensor import math
from phintys.tensor.elemwise import elemwise

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable
    from phintys.rewriting import NodeRewriter

__all__ = ["STABILIZE_SPECIAL"]

_LOG_2, _ROOT_2 = log(2), sqrt(2)


@node_rewriter(
    [math.log],
    operands=[math.ndtr, math.erfc],
    examples=["pt.log(pt.erfc(x))", "pt.log(pt.ndtr(x))"],
)
def log_of_erfc(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """log(ndtr(x)) -> log_ndtr(x), log(erfc(x)) -> log(2) + log_ndtr(-sqrt(2) * x)"""
    x = argument(node.inputs[0], ps.ndtr)
    if x is not None:
        return as_result(fgraph, node, math.log_ndtr(x))
    x = argument(node.inputs[0], ps.erfc)
    if x is None:
        return None
    dtype = output_type(node)
    scaled = math.mul(as_value(-_ROOT_2, dtype), x)
    return as_result(fgraph, node, math.add(as_value(_LOG_2, dtype), math.log_ndtr(scaled)))


def _squared_in_exp(variable: Variable, negative: bool) -> Any:
    """Return x where ``variable`` is exp(sqr(x)), or exp(-sqr(x)) if ``negative``.

    Derivatives have exp_of_product(-x, x).
    """
    product = scalar_node(variable, ps.exp_of_product) if negative else None
    if product is not None:
        left, right = product.inputs
        return next(
            (x for y, x in ((left, right), (right, left)) if argument(y, ps.neg) is x), None
        )
    power = None if variable.owner is None else argument(variable, ps.exp)
    if power is not None and negative:
        power = argument(power, ps.neg)
    return None if power is None else argument(power, ps.sqr)


@node_rewriter(
    [math.mul], operands=[math.erfc], depth=4, examples=["pt.exp(pt.sqr(x)) * pt.erfc(x)"]
)
def scaled_erfc(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """exp(sqr(x)) * erfc(x) -> erfcx(x)"""
    if len(node.inputs) != 2:
        return None
    for power, tail in (node.inputs, reversed(node.inputs)):
        x = argument(tail, ps.erfc)
        if x is not None and _squared_in_exp(power, negative=False) is x:
            return as_result(fgraph, node, math.erfcx(x))
    return None


@node_rewriter(
    [math.true_div],
    operands=[math.erfc],
    depth=5,
    examples=["pt.exp(-pt.sqr(x)) / pt.erfc(x)", "(2 * pt.exp(-pt.sqr(x))) / pt.erfc(x)"],
)
def density_by_erfc(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """exp(-sqr(x)) / erfc(x) -> 1 / erfcx(x), the derivative of log(erfc(x)); also with factors"""
    power, tail = operands(node)
    x = None if tail.owner is None else argument(tail, ps.erfc)
    if x is None:
        return None
    product = scalar_node(power, ps.mul)
    factors = list(product.inputs) if product is not None else [power]
    for position, factor in enumerate(factors):
        if _squared_in_exp(factor, negative=True) is x:
            rest = [y for i, y in enumerate(factors) if i != position]
            above = as_value(1, output_type(node)) if not rest else rest[0]
            above = math.mul(*rest) if len(rest) > 1 else above
            return as_result(fgraph, node, math.true_div(above, math.erfcx(x)))
    return None


def _position(factors: Sequence[Variable], wanted: Callable[[Variable], bool]) -> int | None:
    return next((place for place, factor in enumerate(factors) if wanted(factor)), None)


@node_rewriter(
    [math.mul],
    operands=[math.true_div],
    depth=5,
    examples=["pt.mul(y, pt.exp(-pt.sqr(x)), 2 / pt.erfc(x))"],
)
def density_times_reciprocal(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """exp(-sqr(x)) * (y / erfc(x)) -> y / erfcx(x), also with factors"""
    for place, quotient in enumerate(node.inputs):
        inner = scalar_node(quotient, ps.true_div)
        x = None if inner is None else argument(inner.inputs[1], ps.erfc)
        if x is None or inner is None:
            continue
        density = _position(node.inputs, lambda y, x=x: _squared_in_exp(y, negative=True) is x)
        if density is None:
            continue
        rest = [y for i, y in enumerate(node.inputs) if i not in (place, density)]
        tail = math.true_div(inner.inputs[0], math.erfcx(x))
        return as_result(fgraph, node, math.mul(*rest, tail) if rest else tail)
    return None


_POSITIVE = (ps.exp, ps.exp2, ps.sigmoid, ps.softplus, ps.cosh, ps.erfc, ps.ndtr)


@node_rewriter(
    [math.mul],
    operands=[math.true_div, math.mul],
    within=[elemwise(op) for op in _POSITIVE],
    depth=3,
    examples=[
        "pt.mul(pt.sigmoid(x), y, 1 / pt.sigmoid(x))",
        "pt.exp(x) * (y / pt.exp(x))",
        "(pt.sigmoid(x) * y) * (1 / pt.sigmoid(x))",
    ],
)
def cancel_positive(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """sigmoid(x) * (y / sigmoid(x)) -> y, also of exp, softplus, ..., which are never 0"""
    parts = factors(node)
    for place, quotient in enumerate(parts):
        inner = scalar_node(quotient, ps.true_div)
        if inner is None or argument(inner.inputs[1], *_POSITIVE) is None:
            continue
        same = _position(parts, lambda y, below=inner.inputs[1]: is_same(y, below))
        if same is None or any(x.dtype != output_type(node).dtype for x in operands(inner)):
            continue
        # The shape is that of the function, unless the remaining operand has it.
        rest = [y for i, y in enumerate(parts) if i not in (place, same)]
        left = [*rest, inner.inputs[0]]
        whole = math.mul(*left) if rest else left[0]
        if not sizes_covered(parts[same], left):
            whole = math.second(parts[same], whole)
        return as_result(fgraph, node, whole)
    return None


@node_rewriter(
    [math.mul],
    operands=[math.add, math.sub],
    within=[elemwise(op) for op in _POSITIVE],
    depth=5,
    examples=[
        "pt.sigmoid(x) * (y / pt.sigmoid(x) - z)",
        "pt.mul(pt.sigmoid(x), pt.sigmoid(-x), y / pt.sigmoid(x) - z * (1 / pt.sigmoid(-x)))",
    ],
)
def distribute_over_quotients(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """sigmoid(x) * (y / sigmoid(x) + z) -> y + sigmoid(x) * z, also of exp, softplus, ..."""
    parts = factors(node)
    positive = [part for part in parts if argument(part, *_POSITIVE) is not None]
    for place, part in enumerate(parts) if positive else ():
        inner = scalar_node(part, ps.add, ps.sub)
        if inner is None or part.dtype != output_type(node).dtype:
            continue
        terms = [_times_all(term, positive) for term in inner.inputs]
        if all(term is None for term in terms):
            continue
        products = (
            math.mul(old, *positive) if new is None else new
            for old, new in zip(inner.inputs, terms, strict=True)
        )
        rest = [x for i, x in enumerate(parts) if i != place and not is_among(x, positive)]
        whole = math.mul(inner.op(*products), *rest) if rest else inner.op(*products)
        for x in positive:
            whole = whole if sizes_covered(x, [whole]) else math.second(x, whole)
        return as_result(fgraph, node, whole)
    return None


def _times_all(term: Any, positive: Sequence[Any]) -> Any:
    """Return the product of some values and a quotient by one of them; else ``None``."""
    for place, x in enumerate(positive):
        product = times(term, x)
        if product is not None:
            others = [y for i, y in enumerate(positive) if i != place]
            return math.mul(product, *others) if others else product
    return None


STABILIZE_SPECIAL: tuple[NodeRewriter, ...] = (
    log_of_erfc,
    scaled_erfc,
    density_by_erfc,
    density_times_reciprocal,
    cancel_positive,
    distribute_over_quotients,
)
"""In the order in which they are tried."""
