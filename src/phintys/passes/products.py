"""Canonical forms of products of vectors and matrices, and the order of the products of a chain.

The native backend passes transposes and slices of operands to BLAS directly, and fuses scaling of
and addition to a product with the operations that follow. The rules here therefore only make
products smaller.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

import phintys.scalar as ps
from phintys.graph.apply import Apply
from phintys.passes._facts import (
    as_result,
    as_value,
    has_one_client,
    is_moderate,
    kind,
    operands,
    output_type,
    scalar_node,
    scalar_op,
    uniform_value,
)
from phintys.passes._matrix_facts import only_item
from phintys.rewriting import NOT_CONSTANT, late_rules, node_rewriter
from phintys.tensor import math
from phintys.tensor.dim_shuffle import DimShuffle, expand_dims
from phintys.tensor.products import BatchedDot, Dot, matmul
from phintys.tensor.reduce import Reduce

if TYPE_CHECKING:
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable


@node_rewriter([Dot], tags=["zeros"], examples=["pt.dot(c, r)"])
def outer_to_product(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """dot(x, y) -> x * y, where x is a column and y a row"""
    x, y = operands(node)
    if x.ndim != 2 or y.ndim != 2 or x.type.shape[1] != 1 or y.type.shape[0] != 1:
        return None
    return as_result(fgraph, node, math.mul(x, y))


def _as_vector(x: Any, dim: int) -> Any:
    """Return a vector of which x is a dimshuffle, with a dimension of size 1 at ``dim``."""
    node = x.owner
    if node is None or not isinstance(node.op, DimShuffle) or node.inputs[0].type.ndim != 1:
        return None
    order = ("x", 0) if dim == 0 else (0, "x")
    return node.inputs[0] if node.op.new_order == order else None


@node_rewriter(
    [Dot], operands=[DimShuffle], examples=["pt.dot(x[None, :], Y)", "pt.dot(X, y[:, None])"]
)
def row_to_vector(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """dot(row(x), y) -> row(dot(x, y)), dot(x, column(y)) -> column(dot(x, y))"""
    x, y = operands(node)
    if x.ndim != 2 or y.ndim != 2:
        return None
    vector = _as_vector(x, 0)
    if vector is not None:
        return as_result(fgraph, node, node.op(vector, y).dimshuffle("x", 0))
    vector = _as_vector(y, 1)
    if vector is None:
        return None
    return as_result(fgraph, node, node.op(x, vector).dimshuffle(0, "x"))


def _without_factor(fgraph: FunctionGraph, x: Any) -> tuple[Any, Any]:
    """Return (c, y) if x is c * y and not used elsewhere; otherwise c is ``None``."""
    node = None if x.owner is None else scalar_node(x, ps.neg, ps.mul)
    if node is None or not has_one_client(fgraph, x):
        return None, x
    if scalar_op(node) is ps.neg:
        return -1, node.inputs[0]
    value = uniform_value(node.inputs[0])
    if len(node.inputs) != 2 or value is NOT_CONSTANT or not is_moderate(value):
        return None, x
    y = operands(node)[1]
    return (value, y) if y.type == x.type else (None, x)


@node_rewriter(
    [Dot],
    operands=[math.neg, math.mul],
    tags=["zeros"],
    examples=["pt.dot(-X, y)", "pt.dot(2 * x, Y)", "pt.dot(-x, 3 * y)"],
)
def factor_out_of_dot(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """dot(2 * x, y) -> 2 * dot(x, y), dot(-x, y) -> -dot(x, y), for floating numbers"""
    if all(x.owner is None for x in node.inputs) or kind(node.outputs[0]) not in "fc":
        return None
    if any(x.dtype != output_type(node).dtype for x in operands(node)):
        return None
    (c, x), (d, y) = (_without_factor(fgraph, operand) for operand in node.inputs)
    if c is None and d is None:
        return None
    product = node.op(x, y)
    with np.errstate(over="ignore"):
        factor = output_type(node).numpy_dtype.type(
            (1 if c is None else c) * (1 if d is None else d)
        )
    if not np.isfinite(factor):
        return None
    if factor == -1:
        return as_result(fgraph, node, math.neg(product))
    return as_result(fgraph, node, math.mul(as_value(factor, output_type(node)), product))


@node_rewriter(
    [Reduce],
    operands=[Dot],
    tags=["extremes"],
    examples=["pt.dot(X, Y).sum()", "pt.dot(X, Y).sum(axis=0)", "pt.dot(X, y).sum()"],
)
def sum_of_dot(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """sum(dot(x, y)) -> dot(sum(x, 0), sum(y, 1)), where the product has no other users"""
    inner = node.inputs[0].owner
    op = node.op
    if inner is None or not isinstance(inner.op, Dot) or not has_one_client(fgraph, node.inputs[0]):
        return None
    assert isinstance(op, Reduce)
    dtype = output_type(inner).dtype
    x, y = operands(inner)
    if op.scalar_op is not ps.add or kind(inner.outputs[0]) not in "fc" or dtype == "float16":
        return None
    if op.resolve_dtypes(dtype) != (dtype, dtype) or x.dtype != dtype or y.dtype != dtype:
        return None
    axes = op.axes(output_type(inner).ndim)
    columns = x.ndim - 1
    if x.ndim == 2 and 0 in axes:
        x = x.sum(axis=0)
    if y.ndim == 2 and columns in axes:
        y = y.sum(axis=1)
    return as_result(fgraph, node, inner.op(x, y))


def _transposed(x: Any) -> Any:
    """Return y where x is the transpose of a matrix y; else ``None``."""
    node = x.owner
    if node is None or not isinstance(node.op, DimShuffle) or node.op.new_order != (1, 0):
        return None
    return node.inputs[0]


@node_rewriter([DimShuffle], operands=[Dot], depth=3, examples=["pt.dot(X.T, Y.T).T"])
def transpose_of_dot(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """dot(x.T, y.T).T -> dot(y, x), where the product has no other users"""
    product = node.inputs[0]
    inner = product.owner
    if inner is None or not isinstance(inner.op, Dot) or not has_one_client(fgraph, product):
        return None
    if _transposed(node.outputs[0]) is None:
        return None
    x, y = (_transposed(operand) for operand in inner.inputs)
    return None if x is None or y is None else as_result(fgraph, node, inner.op(y, x))


@node_rewriter(
    [BatchedDot],
    examples=["pt.matmul(X[None], Y[None])", "pt.matmul(X[None, None], Y[None, None])"],
)
def product_of_one(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """matmul(x[None], y[None]) -> matmul(x, y)[None]"""
    x, y = operands(node)
    count = 0
    while count < x.ndim - 2 and x.type.shape[count] == y.type.shape[count] == 1:
        count += 1
    if not count:
        return None
    product = matmul(only_item(x, count), only_item(y, count))
    return as_result(fgraph, node, expand_dims(product, tuple(range(count))))


CANONICAL_DOT = late_rules(
    product_of_one,
    outer_to_product,
    row_to_vector,
    factor_out_of_dot,
    sum_of_dot,
    transpose_of_dot,
    needs=[BatchedDot, Dot],
)
"""In the order in which they are tried."""


_LARGE = 1 << 20


def _chain(fgraph: FunctionGraph, node: Apply) -> list[Any]:
    """Return the factors of a product of products that are not used elsewhere."""
    factors: list[Any] = []
    stack: list[Any] = [node.outputs[0]]
    while stack:
        x = stack.pop()
        inner = x.owner
        is_part = x is node.outputs[0] or (has_one_client(fgraph, x) and x.ndim)
        if inner is None or not isinstance(inner.op, Dot) or not is_part:
            factors.append(x)
            continue
        left, right = inner.inputs
        stack += [right, left]
    return factors


def _cheapest(sizes: list[float]) -> tuple[float, dict[tuple[int, int], int]]:
    """Return the cost of a chain of products, and where each part of it is split."""
    count = len(sizes) - 1
    costs = {(i, i): 0.0 for i in range(count)}
    splits: dict[tuple[int, int], int] = {}
    for length in range(2, count + 1):
        for first in range(count - length + 1):
            last = first + length - 1
            options = [
                (
                    costs[first, at]
                    + costs[at + 1, last]
                    + sizes[first] * sizes[at + 1] * sizes[last + 1],
                    at,
                )
                for at in range(first, last)
            ]
            costs[first, last], splits[first, last] = min(options)
    return costs[0, count - 1], splits


def _present_cost(node: Apply, factors: list[Any], sizes: list[float]) -> float:
    """Return the cost of a product of products as it is."""
    places = iter(range(len(factors)))
    parts = {id(x) for x in factors}
    total = 0.0
    results: list[tuple[int, int]] = []
    stack: list[tuple[Any, bool]] = [(node.outputs[0], False)]
    while stack:
        x, is_done = stack.pop()
        if is_done:
            (_, last), (first, split) = results.pop(), results.pop()
            total += sizes[first] * sizes[split + 1] * sizes[last + 1]
            results.append((first, last))
        elif id(x) in parts:
            at = next(places)
            results.append((at, at))
        else:
            left, right = x.owner.inputs
            stack += [(x, True), (right, False), (left, False)]
    return total


@node_rewriter(
    [Dot],
    operands=[Dot],
    depth=6,
    tags=["extremes"],
    examples=[
        "X3 @ Y3 @ x3",
        "x3 @ (Y3 @ X3)",
        "X @ Y @ x",
        "X3 @ Y3 @ x3[:, None]",
    ],
)
def order_of_products(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """A @ B @ x -> A @ (B @ x), the order of least work, by known sizes and vectors at the ends"""
    ((client, _), *others) = fgraph.clients[node.outputs[0]]
    if not others and isinstance(client, Apply) and isinstance(client.op, Dot):
        return None  # a part of a longer chain
    factors = _chain(fgraph, node)
    if len(factors) < 3 or kind(node.outputs[0]) not in "fc":
        return None
    dtype: Any = node.outputs[0].type.dtype  # pyright: ignore[reportAttributeAccessIssue]
    if dtype == "float16" or any(x.dtype != dtype for x in factors):
        return None
    if any(x.ndim != 2 for x in factors[1:-1]):
        return None  # a dot product of vectors within
    shapes = [list(x.type.shape) for x in factors]
    if factors[0].ndim == 1:
        shapes[0] = [1, *shapes[0]]
    if factors[-1].ndim == 1:
        shapes[-1] = [*shapes[-1], 1]
    sizes: list[int | None] = [shapes[0][0]]
    for left, right in pairwise(shapes):
        sizes.append(left[1] if left[1] is not None else right[0])
    sizes.append(shapes[-1][1])
    if None in sizes and 1 not in {sizes[0], sizes[-1]}:
        return None
    known = [float(_LARGE if size is None else size) for size in sizes]
    if None in sizes:
        # The vector is multiplied first: never more work than any other order, whatever the sizes.
        known = [1.0 if size == 1 else float(_LARGE) for size in sizes]
    least, splits = _cheapest(known)
    if least >= _present_cost(node, factors, known):
        return None
    return as_result(fgraph, node, _joined(factors, splits))


def _joined(factors: list[Any], splits: dict[tuple[int, int], int]) -> Any:
    results: list[Any] = []
    stack: list[tuple[int, int, bool]] = [(0, len(factors) - 1, False)]
    while stack:
        first, last, is_done = stack.pop()
        if first == last:
            results.append(factors[first])
        elif is_done:
            right, left = results.pop(), results.pop()
            results.append(Dot()(left, right))
        else:
            at = splits[first, last]
            stack += [(first, last, True), (at + 1, last, False), (first, at, False)]
    return results[0]


STABILIZE_PRODUCTS = late_rules(order_of_products, needs=[Dot])
