"""Stable forms of expressions with erf, erfc and the normal distribution."""

from __future__ import annotations

from math import log, pi, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

import phintys.scalar as ps
from phintys.graph.identity import is_among
from phintys.passes._facts import (
    argument,
    as_result,
    as_value,
    factors,
    is_same,
    kind,
    operands,
    output_type,
    scalar_node,
    scalar_op,
    sizes_covered,
    uniform_value,
)
from phintys.passes._quotients import times
from phintys.rewriting import NOT_CONSTANT, node_rewriter
from phintys.tensor import math
from phintys.tensor.elemwise import elemwise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable
    from phintys.rewriting import NodeRewriter

_ROOT_2 = sqrt(2)


def log_of_tail(variable: Variable) -> Any:
    """Return the logarithm of ndtr(x) or erfc(x), which may underflow; ``None`` for others."""
    found = _number_and_log(variable)
    if found is None:
        return None
    number, logarithm = found
    if number == 1:
        return logarithm
    return math.add(as_value(log(number), logarithm.type), logarithm)


def _number_and_log(variable: Variable) -> tuple[float, Any] | None:
    """Return c and log(ndtr(y)) where ndtr(x) or erfc(x) is c ndtr(y); ``None`` for others."""
    x = argument(variable, ps.ndtr)
    if x is not None:
        return 1.0, math.log_ndtr(x)
    x = argument(variable, ps.erfc)
    if x is None:
        return None
    factor, y = _multiple(x)
    scale = -_ROOT_2 * factor
    # x / sqrt(2), written with rounded numbers, is meant.
    if abs(abs(scale) - 1) < 4 * np.finfo(x.dtype).eps:
        scaled = y if scale > 0 else math.neg(y)
    else:
        scaled = math.mul(as_value(-_ROOT_2, x.type), x)
    return 2.0, math.log_ndtr(scaled)


def log_of_share(variable: Any) -> Any:
    """Return the logarithm of ``c + c * tanh(x)``, which may underflow; ``None`` for others."""
    node = scalar_node(variable, ps.add, ps.sub)
    if node is None or len(node.inputs) != 2 or kind(variable) != "f":
        return None
    pair = operands(node)
    minus = 1 if scalar_op(node) is ps.add else -1
    for number, term, sign in ((*pair, minus), (*reversed(pair), 1)):
        value = uniform_value(number)
        factor, share = _multiple(term)
        x = None if share.owner is None else argument(share, ps.tanh)
        if x is None or value is NOT_CONSTANT or not sizes_covered(number, [term]):
            continue
        number = float(value) * (minus if term is pair[0] else 1)
        factor *= sign
        if not 0 < number < np.inf or abs(factor) != number or x.dtype != variable.dtype:
            return None
        twice = math.mul(as_value(2.0 if factor > 0 else -2.0, x.type), x)
        logarithm = math.log_sigmoid(twice)
        if number == 0.5:
            return logarithm
        return math.add(as_value(log(2 * number), logarithm.type), logarithm)
    return None


# f, a / b -> c, g where a + b f(x) = a c g(x), without cancellation
_WITH_NUMBER: dict[Any, dict[float, tuple[float, Any]]] = {
    math.erf: {
        1.0: (1.0, lambda x: math.erfc(math.neg(x))),
        -1.0: (1.0, math.erfc),
    },
    math.erfc: {
        -2.0: (0.5, lambda x: math.erfc(math.neg(x))),
        -1.0: (1.0, math.erf),
    },
    math.ndtr: {-1.0: (1.0, lambda x: math.ndtr(math.neg(x)))},
}


def _with_number(number: float, term: Any) -> tuple[float, Any] | None:
    """Return c and y where ``number + term`` is c * y without cancellation, else ``None``."""
    factor, function = _multiple(term)
    if function.owner is None or function.owner.op not in _WITH_NUMBER or not factor:
        return None
    found = _WITH_NUMBER[function.owner.op].get(number / factor)
    x = argument(function, scalar_op(function.owner))
    if found is None or x is None or function.dtype != term.dtype:
        return None
    part, op = found
    return number * part, op(x)


@node_rewriter(
    [math.add, math.sub],
    operands=[math.mul, math.neg, *_WITH_NUMBER],
    within=_WITH_NUMBER,
    depth=4,
    examples=[
        "0.5 + 0.5 * pt.erf(x)",
        "0.5 - 0.5 * pt.erf(x)",
        "1 - 0.5 * pt.erfc(x)",
        "2 - pt.erfc(x)",
        "0.5 * pt.erfc(x) - 1",
        "3 - 3 * pt.ndtr(x)",
        "-0.5 * pt.erf(x) + 0.5",
    ],
)
def number_and_tail(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """0.5 + 0.5 * erf(x) -> 0.5 * erfc(-x), 2 - erfc(x) -> erfc(-x), c - c * ndtr(x) -> ..."""
    if len(node.inputs) != 2 or output_type(node).numpy_dtype.kind != "f":
        return None
    first, second = operands(node)
    is_sum = scalar_op(node) is ps.add
    for number, term, sign in ((first, second, 1), (second, first, 1 if is_sum else -1)):
        value = uniform_value(number)
        if value is NOT_CONSTANT or not sizes_covered(number, [term]):
            continue
        # ``term - number`` is ``-number + term``, and ``number - term`` is ``-(-number + term)``.
        is_negated = not is_sum and term is second
        found = _with_number(float(value) * (-1 if is_negated else sign), term)
        if found is not None:
            factor, y = found
            factor = -factor if is_negated else factor
            whole = y if factor == 1 else math.mul(as_value(factor, y.type), y)
            return as_result(fgraph, node, whole)
    return None


@node_rewriter(
    [math.log1p],
    operands=[math.mul, math.neg, *_WITH_NUMBER],
    within=_WITH_NUMBER,
    depth=4,
    examples=[
        "pt.log1p(-pt.ndtr(x))",
        "pt.log1p(-0.5 * pt.erfc(x))",
    ],
)
def log1p_of_tail(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """log1p(-ndtr(x)) -> log_ndtr(-x), log1p(-erfc(x) / 2) -> log_ndtr(sqrt(2) x)"""
    (x,) = operands(node)
    found = _with_number(1.0, x) if x.dtype == output_type(node).dtype else None
    if found is None:
        return None
    factor, y = found
    tail = _number_and_log(y)
    # Other multiples have sums of logarithms, which lose what log1p keeps where they are near 0.
    if tail is None or factor * tail[0] != 1:
        return None
    return as_result(fgraph, node, tail[1])


@node_rewriter(
    [math.log1p],
    operands=[math.tanh, math.neg],
    depth=3,
    examples=["pt.log1p(pt.tanh(x))", "pt.log1p(-pt.tanh(x))"],
)
def log1p_of_tanh(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """log1p(tanh(x)) -> x - abs(x) - log1p(expm1(-2 * abs(x)) / 2): 2 * x + log(2) far below 0"""
    (inner,) = operands(node)
    minus = argument(inner, ps.neg)
    x = argument(inner if minus is None else minus, ps.tanh)
    if x is None or x.dtype != output_type(node).dtype:
        return None
    x = x if minus is None else math.neg(x)
    size = math.abs(x)
    half = math.mul(as_value(0.5, x.type), math.expm1(math.mul(as_value(-2.0, x.type), size)))
    return as_result(fgraph, node, math.sub(math.sub(x, size), math.log1p(half)))


def _squared_in_exp(variable: Variable) -> Any:
    """Return x where ``variable`` is exp(sqr(x))."""
    power = None if variable.owner is None else argument(variable, ps.exp)
    return None if power is None else argument(power, ps.sqr)


def _multiple(x: Any) -> tuple[float, Any]:
    """Return c and y where x is ``c * y`` or ``-y``, real, for a number c; otherwise 1 and x."""
    if kind(x) != "f":
        return 1.0, x
    minus = argument(x, ps.neg)
    if minus is not None:
        factor, y = _multiple(minus)
        return -factor, y
    product = scalar_node(x, ps.mul)
    if product is None or len(product.inputs) != 2:
        return 1.0, x
    for number, y in (operands(product), reversed(operands(product))):
        value = uniform_value(number) if all(number.type.broadcastable) else NOT_CONSTANT
        if value is not NOT_CONSTANT and y.dtype == x.dtype:
            return float(value), y
    return 1.0, x


def _gaussian(variable: Any) -> tuple[float, Any] | None:
    """Return c and x where ``variable`` is ``exp(c * x**2)``, as derivatives write it or users."""
    product = scalar_node(variable, ps.exp_of_product)
    if product is not None:
        (factor, x), (other, y) = map(_multiple, product.inputs)
        return (factor * other, x) if x is y else None
    power = argument(variable, ps.exp)
    if power is None:
        return None
    factor, square = _multiple(power)
    x = argument(square, ps.sqr)
    if x is None:
        return None
    other, y = _multiple(x)
    return factor * other * other, y


def _argument_of_tail(variable: Any) -> Any:
    """Return x where ``variable`` is erfc(x) or ndtr(x), or a multiple of one; else ``None``."""
    _, tail = _multiple(variable)
    return None if tail.owner is None else argument(tail, ps.erfc, ps.ndtr)


def _density_by_tail(above: Sequence[Any], density: Any, tail: Any) -> Any:
    """Return the product of ``above`` and ``density / tail``, where the quotient is known.

    It is known for ``exp(-x**2) / erfc(x)`` and ``exp(-x**2 / 2) / ndtr(x)``, and for multiples.
    """
    multiple, tail = _multiple(tail)
    if multiple not in (0, 1):
        above = [*above, as_value(1 / multiple, tail.type)]
    x = _argument_of_tail(tail)
    gaussian = None if x is None else _gaussian(density)
    if gaussian is None or density.dtype != tail.dtype:
        return None
    factor, y = _multiple(x)
    is_erfc = scalar_node(tail, ps.erfc) is not None
    if gaussian[1] is not y or gaussian[0] != -factor * factor * (1.0 if is_erfc else 0.5):
        return None
    if is_erfc:
        whole = math.mul(*above) if len(above) > 1 else (*above, as_value(1, tail.type))[0]
        return math.true_div(whole, math.erfcx(x))
    (slope,) = ps.log_ndtr.partials([x], math.log_ndtr(x))
    return math.mul(*above, as_value(sqrt(2 * pi), tail.type), slope)


@node_rewriter(
    [math.mul], operands=[math.erfc], depth=4, examples=["pt.exp(pt.sqr(x)) * pt.erfc(x)"]
)
def scaled_erfc(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """exp(sqr(x)) * erfc(x) -> erfcx(x)"""
    if len(node.inputs) != 2:
        return None
    for power, tail in (node.inputs, reversed(node.inputs)):
        x = argument(tail, ps.erfc)
        if x is not None and _squared_in_exp(power) is x:
            return as_result(fgraph, node, math.erfcx(x))
    return None


@node_rewriter(
    [math.true_div],
    operands=[math.erfc, math.ndtr],
    depth=5,
    examples=[
        "pt.exp(-pt.sqr(x)) / pt.erfc(x)",
        "(2 * pt.exp(-pt.sqr(x))) / pt.erfc(x)",
        "pt.exp(-0.5 * pt.sqr(x)) / pt.ndtr(-x)",
    ],
)
def density_by_tail(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """exp(-sqr(x)) / erfc(x) -> 1 / erfcx(x), the derivative of log(erfc(x)); also of ndtr"""
    power, tail = operands(node)
    product = scalar_node(power, ps.mul)
    parts = [power] if product is None else factors(product)
    for position, factor in enumerate(parts):
        whole = _density_by_tail([y for i, y in enumerate(parts) if i != position], factor, tail)
        if whole is not None:
            return as_result(fgraph, node, whole)
    return None


@node_rewriter(
    [math.mul],
    operands=[math.true_div],
    depth=5,
    examples=[
        "pt.mul(y, pt.exp(-pt.sqr(x)), 2 / pt.erfc(x))",
        "pt.exp(-0.5 * pt.sqr(x)) * (y / pt.ndtr(x))",
    ],
)
def density_times_reciprocal(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """exp(-sqr(x)) * (y / erfc(x)) -> y / erfcx(x), also with factors; also of ndtr"""
    parts = factors(node)
    for place, quotient in enumerate(parts):
        inner = scalar_node(quotient, ps.true_div)
        if inner is None or _argument_of_tail(inner.inputs[1]) is None:
            continue
        for other, factor in enumerate(parts):
            rest = [y for i, y in enumerate(parts) if i not in (place, other)]
            whole = _density_by_tail([*rest, inner.inputs[0]], factor, inner.inputs[1])
            if whole is not None:
                return as_result(fgraph, node, whole)
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
        same = next((i for i, y in enumerate(parts) if is_same(y, inner.inputs[1])), None)
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
    log1p_of_tail,
    log1p_of_tanh,
    number_and_tail,
    scaled_erfc,
    density_by_tail,
    density_times_reciprocal,
    cancel_positive,
    distribute_over_quotients,
)
"""In the order in which they are tried."""
