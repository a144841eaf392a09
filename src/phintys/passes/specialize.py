"""Cheaper special cases of elementwise functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import phintys.scalar as ps
from phintys.graph.identity import is_among
from phintys.passes._facts import (
    UNIFORM,
    argument,
    as_result,
    has_one_client,
    is_uniformly,
    operands,
    output_type,
    scalar_node,
    scalar_op,
    sizes_covered,
    uniform_value,
)
from phintys.rewriting import NOT_CONSTANT, node_rewriter
from phintys.tensor import math
from phintys.tensor.elemwise import elemwise

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable
    from phintys.rewriting import NodeRewriter

_LARGEST_EXPANDED = 16


def _multiplied_out(x: Any, n: int) -> Any:
    """Return x ** n expanded into products and squares."""
    if n == 1:
        return x
    half = math.sqr(_multiplied_out(x, n // 2))
    return half if n % 2 == 0 else math.mul(x, half)


_ROOTS: dict[float, Callable[[Any], Any]] = {
    0.5: math.sqrt,
    -0.5: lambda x: math.true_div(1, math.sqrt(x)),
}


@node_rewriter(
    [math.pow],
    operands=UNIFORM,
    tags=["extremes"],
    examples=["x**3", "x**5.0", "x**12", "u**0.5", "u**-1.0", "u**-2.0", "u**-0.5", "u**-3.0"],
)
def expand_power(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """x ** 3 -> x * sqr(x), x ** 0.5 -> sqrt(x), x ** -1 -> 1 / x, x ** -2 -> 1 / sqr(x), ..."""
    x, exponent = operands(node)
    value = uniform_value(exponent)
    dtype = output_type(node)
    if value is NOT_CONSTANT or dtype.dtype == "float16" or not sizes_covered(exponent, [x]):
        return None
    if np.imag(value) or not np.isfinite(value):
        return None
    base = math.cast(x, dtype.dtype)
    value = float(np.real(value))
    if value in _ROOTS and dtype.numpy_dtype.kind == "f":
        return as_result(fgraph, node, _ROOTS[value](base))
    if value != int(value) or not 0 < abs(value) <= _LARGEST_EXPANDED:
        return None
    if value > 0:
        return as_result(fgraph, node, _multiplied_out(base, int(value)))
    if dtype.numpy_dtype.kind != "f":
        return None
    return as_result(fgraph, node, math.true_div(1, _multiplied_out(base, -int(value))))


@node_rewriter([math.pow], operands=UNIFORM, examples=["2.0**x"])
def power_of_two(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """2 ** x -> exp2(x)"""
    two, x = operands(node)
    dtype = output_type(node)
    if not is_uniformly(two, 2) or dtype.numpy_dtype.kind != "f" or not sizes_covered(two, [x]):
        return None
    return as_result(fgraph, node, math.exp2(math.cast(x, dtype.dtype)))


@node_rewriter([math.sqrt], operands=[math.sqr], tags=["extremes"], examples=["pt.sqrt(pt.sqr(x))"])
def root_of_square(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """sqrt(sqr(x)) -> abs(x)"""
    x = argument(node.inputs[0], ps.sqr)
    return None if x is None else as_result(fgraph, node, math.abs(x))


def _is_only_for(fgraph: FunctionGraph, variable: Any, *users: Apply | None) -> bool:
    return all(any(client is user for user in users) for client, _ in fgraph.clients[variable])


def _exponents(fgraph: FunctionGraph, node: Apply, variable: Any) -> tuple[list[Any], list[Any]]:
    """Return x, ... and y, ... where an operand of a node is exp(x) * ... * y * ..."""
    powers: list[Any] = []
    rest: list[Any] = []
    product = scalar_node(variable, ps.mul) if has_one_client(fgraph, variable) else None
    for factor in [variable] if product is None else operands(product):
        x = None if factor.owner is None else argument(factor, ps.exp)
        if (
            x is not None
            and x.dtype == variable.dtype
            and _is_only_for(fgraph, factor, node, product)
        ):
            powers.append(x)
        else:
            rest.append(factor)
    return powers, rest


def _logarithms(powers: Sequence[Any]) -> list[Any]:
    """Return log(x), ... where the powers are multiples of logarithms, or sums of such."""
    found: list[Any] = []
    for power in powers:
        total = scalar_node(power, ps.add, ps.sub)
        for term in operands(total) if total is not None else [power]:
            product = scalar_node(term, ps.mul, ps.neg)
            factors = operands(product) if product is not None else [term]
            found += [x for x in factors if scalar_node(x, ps.log) is not None]
    return found


def _take_bases(powers: Sequence[Any], rest: list[Any]) -> list[Any]:
    """Take x out of ``rest`` if exp(n * log(x)) is a factor too; return log(x)."""
    taken: list[Any] = []
    for logarithm in _logarithms(powers):
        x = logarithm.owner.inputs[0]
        if x.dtype == logarithm.dtype and is_among(x, rest):
            rest[:] = [one for one in rest if one is not x]
            taken.append(logarithm)
    return taken


def _product(factors: Sequence[Any]) -> Any:
    return math.mul(*factors) if len(factors) > 1 else factors[0]


def _sum(terms: Sequence[Any]) -> Any:
    return math.add(*terms) if len(terms) > 1 else terms[0]


@node_rewriter(
    [math.mul],
    operands=[math.exp],
    tags=["extremes"],
    examples=["pt.exp(x) * pt.exp(y)", "pt.exp(-2 * pt.log(x)) * x"],
)
def merge_exponentials(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """exp(x) * exp(y) -> exp(x + y), exp(n * log(x)) * x -> exp(n * log(x) + log(x))

    Where the exponentials have no other users.
    """
    powers: list[Any] = []
    rest: list[Any] = []
    for factor in operands(node):
        x = None if factor.owner is None else argument(factor, ps.exp)
        if x is not None and x.dtype == output_type(node).dtype and has_one_client(fgraph, factor):
            powers.append(x)
        else:
            rest.append(factor)
    powers += _take_bases(powers, rest)
    if len(powers) < 2:
        return None
    return as_result(fgraph, node, _product([math.exp(_sum(powers)), *rest]))


@node_rewriter(
    [math.true_div],
    operands=[math.exp, math.mul],
    within=[math.exp],
    depth=3,
    tags=["extremes"],
    examples=[
        "pt.exp(x) / pt.exp(y)",
        "1 / pt.exp(x)",
        "y / pt.exp(x)",
        "(2 * pt.exp(x)) / (y * pt.exp(z))",
        "pt.exp(2 * pt.log(x)) / x",
    ],
)
def divide_exponentials(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """exp(x) / exp(y) -> exp(x - y), y / exp(x) -> y * exp(-x), where they have no other users"""
    above, below = operands(node)
    dtype = output_type(node)
    if above.dtype != dtype.dtype or below.dtype != dtype.dtype:
        return None
    powers, over = _exponents(fgraph, node, above)
    divisors, under = _exponents(fgraph, node, below)
    divisors += _take_bases(powers, under)
    powers += _take_bases(divisors, over)
    if not divisors or not any(
        x.type.broadcastable == dtype.broadcastable for x in (*powers, *divisors)
    ):
        return None  # an exponential of each pair of elements is slower than their quotient
    power = math.sub(_sum(powers), _sum(divisors)) if powers else math.neg(_sum(divisors))
    whole = _product([*over, math.exp(power)])
    return as_result(fgraph, node, math.true_div(whole, _product(under)) if under else whole)


_SCALES: dict[Any, Callable[[Any], Any]] = {
    ps.sqrt: lambda x: math.mul(0.5, x),
    ps.cbrt: lambda x: math.true_div(x, 3),
    ps.sqr: lambda x: math.mul(2, x),
    ps.reciprocal: math.neg,
}


@node_rewriter(
    [math.pow, *(elemwise(op) for op in _SCALES)],
    operands=[math.exp],
    tags=["extremes"],
    examples=[
        "pt.sqrt(pt.exp(x))",
        "pt.cbrt(pt.exp(x))",
        "pt.sqr(pt.exp(x))",
        "pt.reciprocal(pt.exp(x))",
        "pt.exp(x)**1.5",
        "pt.exp(x)**y",
    ],
)
def power_of_exponential(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """sqrt(exp(x)) -> exp(0.5 * x), exp(x) ** y -> exp(x * y), where exp(x) has no other users"""
    base, *exponent = operands(node)
    x = None if base.owner is None else argument(base, ps.exp)
    dtype = output_type(node)
    if x is None or x.dtype != dtype.dtype or not has_one_client(fgraph, base):
        return None
    if exponent:
        power = math.mul(x, math.cast(exponent[0], dtype.dtype))
    else:
        power = _SCALES[scalar_op(node)](x)
    return as_result(fgraph, node, math.exp(power))


_RATIOS = {(ps.sin, ps.cos): math.tan, (ps.sinh, ps.cosh): math.tanh}


@node_rewriter(
    [math.true_div],
    operands=[math.cos, math.cosh],
    tags=["extremes"],
    examples=["pt.sin(x) / pt.cos(x)", "pt.sinh(x) / pt.cosh(x)"],
)
def ratio_to_tangent(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """sin(x) / cos(x) -> tan(x), sinh(x) / cosh(x) -> tanh(x)"""
    above, below = node.inputs
    if above.owner is None or below.owner is None:
        return None
    for (sine, cosine), tangent in _RATIOS.items():
        if scalar_node(above, sine) is None or scalar_node(below, cosine) is None:
            continue
        x = above.owner.inputs[0]
        if below.owner.inputs[0] is x:
            return as_result(fgraph, node, tangent(x))
    return None


@node_rewriter([math.neg], operands=[math.softplus], depth=3, examples=["-pt.softplus(-x)"])
def minus_softplus(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """-softplus(-x) -> log_sigmoid(x)"""
    minus = argument(node.inputs[0], ps.softplus)
    x = None if minus is None else argument(minus, ps.neg)
    return None if x is None else as_result(fgraph, node, math.log_sigmoid(x))


@node_rewriter([math.exp], operands=[math.softplus], examples=["pt.exp(pt.softplus(x))"])
def exp_of_softplus(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """exp(softplus(x)) -> 1 + exp(x)"""
    x = argument(node.inputs[0], ps.softplus)
    return None if x is None else as_result(fgraph, node, math.add(1, math.exp(x)))


def _in_own_dtype(node: Apply) -> Sequence[Any]:
    """Return the operands in the dtype of the result; none for float16: it is left to float32."""
    dtype = output_type(node).dtype
    return () if dtype == "float16" else [math.cast(x, dtype) for x in operands(node)]


@node_rewriter([elemwise(ps.hypot_slope)], examples=["elemwise(ps.hypot_slope)(x, y)"])
def expand_slope_of_hypot(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """hypot_slope(x, y) -> x / where(hypot(x, y) == 0, inf, hypot(x, y))

    So all slopes share the distance.
    """
    found = _in_own_dtype(node)
    if not found:
        return None
    x, y = found
    distance = math.hypot(x, y)
    return as_result(fgraph, node, x / math.switch(math.eq(distance, 0), np.inf, distance))


@node_rewriter([elemwise(ps.arctan2_slope)], examples=["elemwise(ps.arctan2_slope)(x, y, z)"])
def expand_slope_of_arctan2(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """arctan2_slope(x, y, g) -> x / hypot(x, y) * g / hypot(x, y)

    So both slopes share the distance.
    """
    found = _in_own_dtype(node)
    if not found:
        return None
    x, y, g = found
    distance = math.hypot(x, y)
    return as_result(fgraph, node, x / distance * g / distance)


SPECIALIZE: tuple[NodeRewriter, ...] = (
    power_of_exponential,
    expand_power,
    expand_slope_of_arctan2,
    expand_slope_of_hypot,
    power_of_two,
    root_of_square,
    merge_exponentials,
    divide_exponentials,
    ratio_to_tangent,
    minus_softplus,
    exp_of_softplus,
)
"""In the order in which they are tried."""
