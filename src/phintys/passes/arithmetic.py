"""Canonical forms of sums, products, quotients and powers.

Constants are combined and moved to the front, signs are moved out of products and quotients, equal
terms and equal factors are collected. These rules change only rounding: constants are combined only
if the result neither overflows nor loses digits to underflow, and terms cancel only for integers,
since ``x - x`` is not 0 if x is infinite.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

import phintys.scalar as ps
from phintys.graph.identity import is_among
from phintys.passes._facts import (
    UNIFORM,
    as_result,
    as_value,
    has_one_client,
    is_moderate,
    is_uniformly,
    keeps_digits,
    kind,
    operands,
    output_type,
    scalar_node,
    scalar_op,
    sizes_covered,
    uniform_value,
)
from phintys.passes.folding import compute_constants
from phintys.rewriting import NOT_CONSTANT, Operand, node_rewriter
from phintys.tensor import math
from phintys.tensor.elemwise import elemwise
from phintys.tensor.variable import TensorConstant

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable
    from phintys.rewriting import NodeRewriter


def _of_one_dtype(node: Apply) -> bool:
    """Return whether a node's operands have the dtype of its result."""
    dtype = output_type(node).dtype
    return all(x.dtype == dtype for x in operands(node))


def _combined(op: ps.ScalarOp, *constants: Any) -> Any:
    """Return op(constants) as a constant; ``None`` if that loses digits or is larger."""
    node = elemwise(op).make_node(*constants)
    (result,) = compute_constants(node)
    assert isinstance(result, TensorConstant)
    if result.data.size > max(constant.data.size for constant in constants):
        return None
    values = [constant.data for constant in constants]
    if op in {ps.mul, ps.true_div} and not result.data.all() and all(v.all() for v in values):
        return None  # underflow to 0
    return result if keeps_digits(result.data, values) else None


def negated(x: Any) -> Any:
    """Return -x, cancelling a sign of x or absorbing it into a constant factor."""
    node = scalar_node(x, ps.neg)
    if node is not None:
        return node.inputs[0]
    node = scalar_node(x, ps.mul)
    if node is not None and isinstance(node.inputs[0], TensorConstant) and _of_one_dtype(node):
        minus = _combined(ps.neg, node.inputs[0])
        return math.mul(minus, *node.inputs[1:]) if minus is not None else math.neg(x)
    return math.neg(x)


# ---- constants -----------------------------------------------------------------------------------


@node_rewriter(
    [math.add, math.mul],
    operands=[Operand.CONSTANT],
    examples=["pt.add(x, 2, y, 3)", "pt.mul(2, x, 3)", "pt.add(1, x, 2)", "pt.mul(3, x, y, 5)"],
)
def merge_constants(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """2 + x + 3 -> 5 + x, 2 * x * 3 -> 6 * x, x + 2 -> 2 + x"""
    constants = [x for x in node.inputs if isinstance(x, TensorConstant)]
    if not constants or (len(constants) == 1 and node.inputs[0] is constants[0]):
        return None
    others = [x for x in node.inputs if not isinstance(x, TensorConstant)]
    if not others:
        return None  # constant folding does it
    op = scalar_op(node)
    moved = constants
    if len(constants) > 1:
        constant = _combined(op, *constants) if _of_one_dtype(node) else None
        if constant is None:
            return None
        moved = [constant]
    # A factor that compensates an extreme one must still be multiplied with it first.
    rounds = op is ps.mul and len(others) > 1 and output_type(node).numpy_dtype.kind in "fc"
    if rounds and not all(is_moderate(constant.data) for constant in (*constants, *moved)):
        return None
    return as_result(fgraph, node, elemwise(op)(*moved, *others))


@node_rewriter(
    [math.sub], operands=[Operand.CONSTANT], examples=["x - 2", "x - np.array([1.0, 2.0, 3.0])"]
)
def subtract_constant(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """x - 2 -> -2 + x"""
    x, y = node.inputs
    if (
        not isinstance(y, TensorConstant)
        or isinstance(x, TensorConstant)
        or not _of_one_dtype(node)
    ):
        return None
    minus = _combined(ps.neg, y)
    return None if minus is None else as_result(fgraph, node, math.add(minus, x))


@node_rewriter(
    [math.sub],
    operands=[math.add, math.sub],
    examples=["1 - pt.add(2, x)", "1 - (2 - x)", "2 - pt.add(2, x)"],
)
def constant_out_of_difference(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """1 - (2 + x) -> -1 - x, 1 - (2 - x) -> -1 + x"""
    first, y = node.inputs
    inner = scalar_node(y, ps.add, ps.sub) if isinstance(first, TensorConstant) else None
    if (
        inner is None
        or len(inner.inputs) != 2
        or not (_of_one_dtype(node) and _of_one_dtype(inner))
    ):
        return None
    second, x = inner.inputs
    if not isinstance(second, TensorConstant):
        return None
    difference = _combined(ps.sub, first, second)
    if difference is None:
        return None
    op = math.sub if inner.op == math.add else math.add
    return as_result(fgraph, node, op(difference, x))


def _scaled(variable: Any) -> tuple[str, Any, Any]:
    """Return how a constant scales x in ``variable``: (how, constant, x).

    ``"times"``: c * x; ``"over"``: x / c; ``"by"``: c / x; ``""``: not at all.
    """
    node = scalar_node(variable, ps.mul, ps.true_div)
    if node is None or len(node.inputs) != 2 or not _of_one_dtype(node):
        return "", None, variable
    a, b = node.inputs
    if scalar_op(node) is ps.mul:
        if isinstance(a, TensorConstant):
            return "times", a, b
        return ("times", b, a) if isinstance(b, TensorConstant) else ("", None, variable)
    if isinstance(b, TensorConstant):
        return "over", b, a
    return ("by", a, b) if isinstance(a, TensorConstant) else ("", None, variable)


# What becomes of "c (how) (d (how) x)": (op of the constants c and d, how the result scales x).
_NESTED = {
    ("times", "over"): (ps.true_div, "times"),
    ("times", "by"): (ps.mul, "by"),
    ("over", "times"): (lambda c, d: (ps.true_div, d, c), "times"),
    ("over", "over"): (ps.mul, "over"),
    ("over", "by"): (lambda c, d: (ps.true_div, d, c), "by"),
    ("by", "times"): (ps.true_div, "by"),
    ("by", "over"): (ps.mul, "by"),
    ("by", "by"): (ps.true_div, "times"),
}


@node_rewriter(
    [math.mul, math.true_div],
    operands=[math.mul, math.true_div],
    examples=[
        "2 * (x / 3)",
        "2 * (3 / x)",
        "(2 * x) / 3",
        "(x / 2) / 3",
        "(2 / x) / 3",
        "2 / (3 * x)",
        "2 / (x / 3)",
        "2 / (3 / x)",
    ],
)
def merge_scales(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """2 * (x / 3) -> (2/3) * x, (x / 2) / 3 -> x / 6, 2 / (3 / x) -> (2/3) * x, ..."""
    if len(node.inputs) != 2 or not any(isinstance(x, TensorConstant) for x in node.inputs):
        return None
    if output_type(node).numpy_dtype.kind not in "fc":
        return None
    outer, c, inner = _scaled(node.outputs[0])
    if not outer or inner.owner is None:
        return None
    how, d, x = _scaled(inner)
    if (outer, how) not in _NESTED:
        return None
    rule, result = _NESTED[outer, how]
    op, *constants = rule(c, d) if not isinstance(rule, ps.ScalarOp) else (rule, c, d)
    constant = _combined(op, *constants)
    if constant is None:
        return None
    if result == "over":
        return as_result(fgraph, node, math.true_div(x, constant))
    return as_result(fgraph, node, (math.mul if result == "times" else math.true_div)(constant, x))


@node_rewriter(
    [math.true_div],
    operands=[Operand.CONSTANT],
    examples=["x / 4", "x / -0.5", "X / np.array([[2.0, 4.0, 8.0]])"],
)
def divide_by_power_of_two(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """x / 4 -> 0.25 * x, where the reciprocal is exact"""
    x, y = node.inputs
    if not isinstance(y, TensorConstant) or not _of_one_dtype(node) or kind(y) != "f":
        return None
    mantissa, exponent = np.frexp(y.data)
    if not np.all(np.abs(mantissa) == 0.5) or np.any(np.abs(exponent) > 14):
        return None
    return as_result(fgraph, node, math.mul(TensorConstant(y.type, 1 / y.data), x))


# ---- signs ---------------------------------------------------------------------------------------


@node_rewriter(
    [math.mul],
    operands=[math.neg, Operand.CONSTANT],
    examples=["(-x) * (-y)", "(-x) * y", "(-x) * 2", "-1 * x", "pt.mul(-x, y, -s)"],
)
def sign_out_of_product(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """-x * -y -> x * y, -x * y -> -(x * y), -x * 2 -> -2 * x, -1 * x -> -x"""
    dtype = output_type(node).dtype
    minus = False
    rest: list[Any] = list(node.inputs)
    for position, x in enumerate(rest):
        inner = scalar_node(x, ps.neg)
        if inner is not None and x.dtype == dtype:
            minus = not minus
            rest[position] = inner.inputs[0]
    first = rest[0]
    if isinstance(first, TensorConstant) and len(rest) > 1 and dtype == first.dtype:
        signed = is_uniformly(first, -1) and kind(first) in "ifc" and _of_one_dtype(node)
        if signed and sizes_covered(first, rest[1:]):
            product = rest[1] if len(rest) == 2 else math.mul(*rest[1:])
            return as_result(fgraph, node, product if minus else math.neg(product))
        constant = _combined(ps.neg, first) if minus else None
        if constant is not None:
            return as_result(fgraph, node, math.mul(constant, *rest[1:]))
    if all(x is y for x, y in zip(rest, node.inputs, strict=True)):
        return None
    if not minus:
        return as_result(fgraph, node, math.mul(*rest))
    if not all(
        _leaves_sign(fgraph, x) for x, y in zip(node.inputs, rest, strict=True) if x is not y
    ):
        return None
    return as_result(fgraph, node, math.neg(math.mul(*rest)))


@node_rewriter(
    [math.true_div],
    operands=[math.neg],
    examples=["(-x) / (-y)", "(-x) / y", "x / (-y)", "2 / (-y)", "(-x) / 3"],
)
def sign_out_of_quotient(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """-x / -y -> x / y, -x / y -> -(x / y), x / -y -> -(x / y), 2 / -x -> -2 / x"""
    x, y = node.inputs
    if (x.owner is None and y.owner is None) or not _of_one_dtype(node):
        return None
    above, below = scalar_node(x, ps.neg), scalar_node(y, ps.neg)
    if above is not None and below is not None:
        return as_result(fgraph, node, math.true_div(above.inputs[0], below.inputs[0]))
    if above is not None:
        x, signed = above.inputs[0], x
    elif below is not None:
        y, signed = below.inputs[0], y
    else:
        return None
    for constant in (x, y):
        if isinstance(constant, TensorConstant):
            minus = _combined(ps.neg, constant)
            if minus is None:
                return None
            quotient = math.true_div(minus, y) if constant is x else math.true_div(x, minus)
            return as_result(fgraph, node, quotient)
    if not _leaves_sign(fgraph, signed):
        return None
    return as_result(fgraph, node, math.neg(math.true_div(x, y)))


def _leaves_sign(fgraph: FunctionGraph, signed: Variable) -> bool:
    """Return whether nothing but products and quotients uses a negative: all move the sign out."""
    return all(
        not isinstance(client, str) and client.op in {math.mul, math.true_div}
        for client, _ in fgraph.clients[signed]
    )


@node_rewriter(
    [math.neg],
    operands=[math.mul, math.true_div],
    examples=["-(2 * x)", "-(x / 3)", "-(3 / x)", "-pt.mul(2, x, y)"],
)
def sign_into_constant(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """-(2 * x) -> -2 * x, -(x / 3) -> x / -3, -(3 / x) -> -3 / x"""
    inner = scalar_node(node.inputs[0], ps.mul, ps.true_div)
    if inner is None or not has_one_client(fgraph, node.inputs[0]) or not _of_one_dtype(inner):
        return None
    inputs = list(inner.inputs)
    for position, x in enumerate(inputs):
        if isinstance(x, TensorConstant):
            minus = _combined(ps.neg, x)
            if minus is not None:
                inputs[position] = minus
                return as_result(fgraph, node, elemwise(scalar_op(inner))(*inputs))
    return None


@node_rewriter(
    [math.add], operands=[math.neg], tags=["zeros"], examples=["x + -y", "(-x) + y", "(-x) + (-y)"]
)
def add_negative(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """x + -y -> x - y, -x + -y -> -(x + y)"""
    if len(node.inputs) != 2:
        return None
    x, y = node.inputs
    first, second = scalar_node(x, ps.neg), scalar_node(y, ps.neg)
    if (first is None and second is None) or not _of_one_dtype(node):
        return None
    if first is not None and second is not None:
        if not has_one_client(fgraph, x) and not has_one_client(fgraph, y):
            return None
        return as_result(fgraph, node, math.neg(math.add(first.inputs[0], second.inputs[0])))
    if second is not None:
        return as_result(fgraph, node, math.sub(x, second.inputs[0]))
    return None if first is None else as_result(fgraph, node, math.sub(y, first.inputs[0]))


@node_rewriter(
    [math.sub],
    operands=[math.neg, Operand.CONSTANT],
    tags=["zeros"],
    examples=["x - -y", "(-x) - y", "0 - x", "(-x) - (-y)"],
)
def subtract_negative(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """x - -y -> x + y, -x - y -> -(x + y), 0 - x -> -x"""
    x, y = node.inputs
    if not _of_one_dtype(node):
        return None
    if isinstance(x, TensorConstant) and is_uniformly(x, 0) and sizes_covered(x, [y]):
        return as_result(fgraph, node, negated(y))
    second = scalar_node(y, ps.neg)
    if second is not None:
        return as_result(fgraph, node, math.add(x, second.inputs[0]))
    first = scalar_node(x, ps.neg)
    if first is None or not has_one_client(fgraph, x):
        return None
    return as_result(fgraph, node, math.neg(math.add(first.inputs[0], y)))


@node_rewriter([math.neg], operands=[math.sub], tags=["zeros"], examples=["-(x - y)"])
def negative_difference(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """-(x - y) -> y - x"""
    inner = scalar_node(node.inputs[0], ps.sub)
    if inner is None or not has_one_client(fgraph, node.inputs[0]):
        return None
    x, y = operands(inner)
    return as_result(fgraph, node, math.sub(y, x)) if x.dtype == y.dtype else None


# ---- equal terms and factors ---------------------------------------------------------------------


def _term(variable: Any, dtype: str) -> tuple[Any, Any]:
    """Return (c, x) where ``variable`` is c * x; c is 1 or -1 without a constant factor."""
    node = scalar_node(variable, ps.mul, ps.neg)
    if node is None:
        return 1, variable
    first = node.inputs[0]
    minus = scalar_op(node) is ps.neg
    if not minus and (len(node.inputs) != 2 or not isinstance(first, TensorConstant)):
        return 1, variable
    if variable.dtype != dtype or not _of_one_dtype(node):
        return 1, variable
    if minus:
        return -1, first
    value = uniform_value(first)
    x = node.inputs[1]
    return (1, variable) if value is NOT_CONSTANT or not sizes_covered(first, [x]) else (value, x)


@node_rewriter(
    [math.add],
    operands=[Operand.REPEATED, math.mul, math.neg],
    examples=["x + x", "x + 2 * x", "pt.add(x, y, x)", "2 * x + 3 * x"],
)
def collect_terms(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """x + x -> 2 * x, 2 * x + 3 * x -> 5 * x, where the signs of real numbers are the same"""
    dtype = output_type(node)
    letter = dtype.numpy_dtype.kind
    if letter == "b":
        return None
    terms = [_term(x, dtype.dtype) for x in node.inputs]
    if len({x for _, x in terms}) == len(terms):
        return None
    groups: dict[Any, list[Any]] = {}
    for c, x in terms:
        groups.setdefault(x, []).append(c)
    if not _of_one_dtype(node):
        return None
    result: list[Any] = []
    for x, coefficients in groups.items():
        with np.errstate(all="ignore"):
            total = np.sum(np.asarray(coefficients).astype(dtype.numpy_dtype), dtype=dtype.dtype)
        if letter == "c" and any(np.imag(c) for c in coefficients):
            return None
        if letter == "c" and len(coefficients) > 1 and all(abs(c) == 1 for c in coefficients):
            return None  # a product with an infinite number is NaN, their sum is not
        if letter in "fc" and len({bool(np.real(c) > 0) for c in coefficients}) > 1:
            return None
        result.append(x if total == 1 else math.mul(as_value(total, dtype), x))
    return as_result(fgraph, node, result[0] if len(result) == 1 else math.add(*result))


def _factor(variable: Any, dtype: str) -> tuple[int, Any]:
    """Return (n, x) where ``variable`` is x ** n with a positive n."""
    node = None if variable.owner is None else scalar_node(variable, ps.sqr, ps.pow)
    if node is None or variable.dtype != dtype or not _of_one_dtype(node):
        return 1, variable
    if scalar_op(node) is ps.sqr:
        return 2, node.inputs[0]
    x, exponent = node.inputs
    value = uniform_value(exponent)
    if value is NOT_CONSTANT or not sizes_covered(exponent, [x]) or kind(exponent) == "c":
        return 1, variable
    return (int(value), x) if 0 < value < 64 and value == int(value) else (1, variable)


@node_rewriter(
    [math.mul],
    operands=[Operand.REPEATED, math.sqr, math.pow],
    examples=["x * x", "pt.mul(x, x, y)", "x * x**2", "pt.sqr(x) * x**3"],
)
def collect_factors(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """x * x -> sqr(x), x * x ** 2 -> x ** 3, where they are the first of the factors"""
    dtype = output_type(node)
    if dtype.numpy_dtype.kind == "b":
        return None
    factors = [_factor(x, dtype.dtype) for x in node.inputs]
    if len({x for _, x in factors}) == len(factors):
        return None
    groups: dict[Any, int] = {}
    for n, x in factors:
        groups[x] = groups.get(x, 0) + n
    if not _of_one_dtype(node) or (dtype.numpy_dtype.kind in "fc" and not _starts_with_all(node)):
        return None
    result = [_power(x, n, dtype) for x, n in groups.items()]
    return as_result(fgraph, node, result[0] if len(result) == 1 else math.mul(*result))


def _starts_with_all(node: Apply) -> bool:
    """Return whether all powers of one variable come first, so that they are multiplied anyway.

    ``y * x * x`` can be finite where sqr(x) is not.
    """
    dtype = output_type(node).dtype
    bases = [_factor(x, dtype)[1] for x in node.inputs]
    rest = list(itertools.dropwhile(lambda x: x is bases[0], bases))
    return len(set(rest)) == len(rest) and not is_among(bases[0], rest)


def _power(x: Any, n: int, dtype: Any) -> Any:
    if n == 1:
        return x
    return math.sqr(x) if n == 2 else math.pow(x, as_value(n, dtype))


@node_rewriter(
    [math.pow, math.sqr],
    operands=[math.sqr, math.pow],
    examples=["(x**2)**3", "pt.sqr(x**3)", "pt.sqr(x)**2", "pt.sqr(pt.sqr(x))"],
)
def merge_powers(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """(x ** 2) ** 3 -> x ** 6, for positive whole exponents"""
    dtype = output_type(node)
    if dtype.numpy_dtype.kind == "b" or node.inputs[0].owner is None:
        return None
    outer, inner = _factor(node.outputs[0], dtype.dtype)
    within, x = _factor(inner, dtype.dtype)
    if outer == 1 or within == 1 or outer * within >= 64:
        return None
    return as_result(fgraph, node, _power(x, outer * within, dtype))


@node_rewriter(
    [math.pow], operands=UNIFORM, examples=["x**0", "x**1", "x**2", "X**np.zeros((1, 1))"]
)
def simple_power(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """x ** 0 -> 1, x ** 1 -> x, x ** 2 -> sqr(x)"""
    x, exponent = operands(node)
    value = uniform_value(exponent)
    if value is NOT_CONSTANT or value not in {0, 1, 2} or not sizes_covered(exponent, [x]):
        return None
    dtype = output_type(node)
    if value == 0:
        return as_result(fgraph, node, math.second(x, as_value(1, dtype)))
    if dtype.numpy_dtype.kind == "b":
        return None
    x = math.cast(x, dtype.dtype)
    return as_result(fgraph, node, x if value == 1 else math.sqr(x))


# ---- quotients of quotients ----------------------------------------------------------------------


def _denominator(variable: Any) -> Any:
    """Return y where ``variable`` is 1 / y in the dtype of y; else ``None``."""
    node = scalar_node(variable, ps.true_div, ps.reciprocal)
    if node is None or kind(variable) not in "fc" or not _of_one_dtype(node):
        return None
    if scalar_op(node) is ps.reciprocal:
        return node.inputs[0]
    one, y = node.inputs
    return y if is_uniformly(one, 1) and sizes_covered(one, [y]) else None


@node_rewriter(
    [math.true_div, math.reciprocal],
    operands=[math.true_div, math.reciprocal],
    examples=["1 / (1 / x)", "1 / (x / y)"],
)
def flip_quotient(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """1 / (x / y) -> y / x, 1 / (1 / x) -> x"""
    inner = _denominator(node.outputs[0])
    if inner is None or inner.owner is None:
        return None
    y = _denominator(inner)
    if y is not None:
        return as_result(fgraph, node, y)
    quotient = scalar_node(inner, ps.true_div)
    if quotient is None or not _of_one_dtype(quotient):
        return None
    return as_result(fgraph, node, math.true_div(quotient.inputs[1], quotient.inputs[0]))


@node_rewriter(
    [math.mul], operands=[math.true_div, math.reciprocal], examples=["x * (1 / y)", "(1 / x) * y"]
)
def multiply_by_reciprocal(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """x * (1 / y) -> x / y"""
    if len(node.inputs) != 2:
        return None
    for x, reciprocal in (node.inputs, reversed(node.inputs)):
        y = _denominator(reciprocal)
        if y is not None and not isinstance(x, TensorConstant) and _of_one_dtype(node):
            return as_result(fgraph, node, math.true_div(x, y))
    return None


# ---- functions that make others superfluous ------------------------------------------------------

_EVEN: dict[Any, tuple[Any, ...]] = {
    ps.abs: (ps.neg, ps.abs),
    ps.sqr: (ps.neg, ps.abs),
    ps.cos: (ps.neg, ps.abs),
}
_EVEN[ps.cosh] = _EVEN[ps.cos]
_ROUNDINGS = (ps.floor, ps.ceil, ps.rint, ps.trunc, ps.round_half_away)
_ALREADY: dict[Any, tuple[Any, ...]] = {
    ps.abs: (ps.abs, ps.sqr, ps.exp, ps.exp2, ps.sqrt, ps.sigmoid, ps.softplus, ps.cosh),
    ps.sign: (ps.sign,),
    **dict.fromkeys(_ROUNDINGS, (*_ROUNDINGS, ps.sign)),
}


@node_rewriter(
    [elemwise(op) for op in _EVEN],
    operands=[math.neg, math.abs],
    examples=[
        "abs(-x)",
        "pt.sqr(-x)",
        "pt.cos(-x)",
        "pt.cosh(-x)",
        "pt.sqr(abs(x))",
        "abs(abs(x))",
    ],
)
def drop_sign_of_argument(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """abs(-x) -> abs(x), also sqr, cos, cosh; f(abs(x)) -> f(x)"""
    (x,) = node.inputs
    inner = scalar_node(x, *_EVEN[scalar_op(node)])
    if inner is None or kind(inner.inputs[0]) not in "fic":
        return None
    if kind(inner.inputs[0]) != "f" and scalar_op(inner) is not ps.neg:
        return None
    return as_result(fgraph, node, node.op(inner.inputs[0]))


@node_rewriter(
    [elemwise(op) for op in _ALREADY],
    examples=["abs(pt.exp(x))", "abs(pt.sqr(x))", "pt.floor(pt.ceil(x))", "pt.sign(pt.sign(x))"],
)
def drop_needless_function(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """abs(exp(x)) -> exp(x), floor(ceil(x)) -> ceil(x), sign(sign(x)) -> sign(x), ..."""
    (x,) = node.inputs
    if x.owner is None or kind(x) != "f" or scalar_node(x, *_ALREADY[scalar_op(node)]) is None:
        return None
    return as_result(fgraph, node, x)


# ---- integers ------------------------------------------------------------------------------------

_ABSORBING = (math.mul, math.and_, math.or_, math.maximum, math.minimum)


@node_rewriter(
    _ABSORBING,
    operands=UNIFORM,
    examples=["x * 0", "b & False", "b | True", "i & 0", "pt.mul(x, 0, x)"],
)
def absorb(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """x * 0 -> 0, x & 0 -> 0, b | True -> True, for integers and bools"""
    dtype = output_type(node)
    if dtype.numpy_dtype.kind not in "biu":
        return None
    element = scalar_op(node).absorbing_element(dtype.numpy_dtype)
    if element is None:
        return None
    for position, x in enumerate(operands(node)):
        value = uniform_value(x)
        if value is NOT_CONSTANT or np.asarray(value).astype(dtype.numpy_dtype) != element:
            continue
        rest = [y for i, y in enumerate(operands(node)) if i != position]
        whole = next(
            (y for y in (x, *rest) if all(sizes_covered(z, [y]) for z in node.inputs)), None
        )
        if whole is not None:
            return as_result(fgraph, node, math.second(whole, as_value(element, dtype)))
    return None


_IDEMPOTENT = (math.and_, math.or_, math.maximum, math.minimum, math.fmax, math.fmin)


@node_rewriter(
    _IDEMPOTENT,
    operands=[Operand.REPEATED],
    examples=["b & b", "i | i", "pt.maximum(x, x)", "pt.fmin(x, x)"],
)
def drop_repeated_operand(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """x & x -> x, x | x -> x, maximum(x, x) -> x, minimum(x, x) -> x"""
    x, y = node.inputs
    return as_result(fgraph, node, x) if x is y else None


@node_rewriter(
    [math.sub, math.xor], operands=[Operand.REPEATED], examples=["x - x", "b ^ b", "X - X"]
)
def cancel_integers(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """x - x -> 0, x ^ x -> 0, for integers and bools"""
    x, y = node.inputs
    if x is not y or kind(x) not in "biu":
        return None
    return as_result(fgraph, node, math.second(x, as_value(0, output_type(node))))


CANONICAL_ARITHMETIC: tuple[NodeRewriter, ...] = (
    absorb,
    drop_repeated_operand,
    cancel_integers,
    merge_constants,
    subtract_constant,
    constant_out_of_difference,
    subtract_negative,
    add_negative,
    negative_difference,
    sign_into_constant,
    sign_out_of_product,
    sign_out_of_quotient,
    merge_scales,
    divide_by_power_of_two,
    flip_quotient,
    multiply_by_reciprocal,
    collect_terms,
    collect_factors,
    simple_power,
    merge_powers,
    drop_sign_of_argument,
    drop_needless_function,
)
"""In the order in which they are tried."""
