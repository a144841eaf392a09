"""BLAS forms: scaling of a matrix product and addition to it are merged into the BLAS call.

BLAS scales the product and adds to its output at no extra cost, whereas a separate loop would read
and write the whole product again. Two cases are left to loops: a product that is read by another
loop, which can scale and add at no extra cost as well; and ``c + outer(x, y)``, for which BLAS does
the same as the loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import phintys.scalar as ps
from phintys.graph.apply import Apply
from phintys.passes._facts import (
    as_result,
    as_value,
    has_one_client,
    is_uniformly,
    operands,
    output_type,
    scalar_node,
    scalar_op,
    uniform_value,
)
from phintys.rewriting import NOT_CONSTANT, late_rules, node_rewriter
from phintys.tensor import math
from phintys.tensor.blas import BLAS_LETTERS, Gemm
from phintys.tensor.dim_shuffle import DimShuffle
from phintys.tensor.elemwise import Elemwise
from phintys.tensor.products import Dot
from phintys.tensor.reduce import Reduce

if TYPE_CHECKING:
    from collections.abc import Mapping

    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable
    from phintys.tensor.type import TensorType

    Product = tuple[Any, Any, Any]
    """``(x, y, alpha)``, for ``alpha * dot(x, y)``"""

_dot, _gemm = Dot(), Gemm()


def _is_stored(fgraph: FunctionGraph, variable: Variable) -> bool:
    """Return whether a variable is used outside of loops, and must therefore be stored."""
    return not all(
        isinstance(client, Apply) and isinstance(client.op, Elemwise | Reduce)
        for client, _ in fgraph.clients[variable]
    )


def _as_factor(x: Any) -> Any:
    """Return the only element of a tensor; ``None`` if it may have more, or BLAS may ignore it."""
    if any(size != 1 for size in x.type.shape):
        return None
    value = uniform_value(x)
    if value is not NOT_CONSTANT:
        return as_value(value, x.type) if np.isfinite(value) and value else None
    node = x.owner
    if node is not None and isinstance(node.op, DimShuffle) and not operands(node)[0].ndim:
        return node.inputs[0]
    return x.dimshuffle()


def _product(fgraph: FunctionGraph, variable: Any) -> Product | None:
    """Return a variable as a scaled product, if no part of it is used elsewhere."""
    dtype = variable.dtype
    factors: list[Any] = []
    if dtype not in BLAS_LETTERS:
        return None
    while variable.owner is not None and variable.dtype == dtype:
        node = variable.owner
        if isinstance(node.op, Dot):
            return _scaled(node, factors)
        if scalar_node(variable, ps.neg) is not None:
            factors.append(as_value(-1, variable.type))
            variable = node.inputs[0]
        elif scalar_node(variable, ps.mul) is not None:
            found = [(x, _as_factor(x)) for x in operands(node)]
            others = [x for x, factor in found if factor is None]
            if len(others) != 1:
                return None
            factors += [factor for _, factor in found if factor is not None]
            variable = others[0]
        else:
            return None
        if not has_one_client(fgraph, variable):
            return None
    return None


def _scaled(node: Apply, factors: list[Any]) -> Product | None:
    x, y = operands(node)
    dtype = output_type(node).dtype
    if not output_type(node).ndim or not x.dtype == y.dtype == dtype:
        return None
    factors = [math.cast(factor, dtype) for factor in factors]
    if not factors:
        return x, y, as_value(1, output_type(node))
    return x, y, factors[0] if len(factors) == 1 else math.mul(*factors)


def _negated(product: Product) -> Product:
    x, y, alpha = product
    value = uniform_value(alpha)
    return x, y, math.neg(alpha) if value is NOT_CONSTANT else as_value(-value, alpha.type)


def _alone(product: Product) -> Any:
    """Return a scaled product as a variable."""
    x, y, alpha = product
    return _dot(x, y) if is_uniformly(alpha, 1) else _gemm(x, y, alpha)


def _are_alike(type_: TensorType, other: TensorType) -> bool:
    return type_.dtype == other.dtype and type_.broadcastable == other.broadcastable


def _terms(fgraph: FunctionGraph, node: Apply) -> tuple[list[Product], list[Any]]:
    """Return the terms of a sum: products of its type not used elsewhere, and the others."""
    wanted = output_type(node)
    products: list[Product] = []
    others: list[Any] = []
    stack: list[tuple[Apply, bool]] = [(node, False)]
    while stack:
        total, is_negative = stack.pop()
        for position, term in enumerate(operands(total)):
            is_minus = is_negative ^ (position > 0 and scalar_op(total) is ps.sub)
            is_ours = _are_alike(term.type, wanted) and has_one_client(fgraph, term)
            inner = scalar_node(term, ps.add, ps.sub) if is_ours else None
            product = _product(fgraph, term) if is_ours else None
            if inner is not None:
                stack.append((inner, is_minus))
            elif product is not None:
                products.append(_negated(product) if is_minus else product)
            else:
                others.append(math.neg(math.cast(term, wanted.dtype)) if is_minus else term)
    return products, others


def _last(fgraph: FunctionGraph, variable: Any, *ops: ps.ScalarOp) -> Apply | None:
    """Return the end of a chain of nodes of some ops, each the only user of the one before."""
    found: Apply | None = None
    clients = fgraph.clients[variable]
    while len(clients) == 1:
        ((client, _),) = clients
        if not isinstance(client, Apply) or scalar_node(client.outputs[0], *ops) is None:
            break
        if not _are_alike(output_type(client), variable.type):
            break
        found = client
        clients = fgraph.clients[client.outputs[0]]
    return found


def _last_scaling(fgraph: FunctionGraph, node: Apply) -> Apply | None:
    """Return the last of the nodes that scale a product, if any."""
    return _last(fgraph, node.outputs[0], ps.mul, ps.neg)


@node_rewriter(
    [Dot],
    depth=4,
    tags=["extremes"],
    examples=[
        "Z + pt.dot(X, Y)",
        "z + s * pt.dot(X, y)",
        "Z - 0.1 * pt.dot(X.T, Y)",
        "pt.dot(x, Y) - z",
        "pt.dot(X, Y) + z",
        "pt.dot(X, Y) + Z + z",
        "pt.exp(pt.dot(X, Y) - pt.dot(Y, Z) + z)",
    ],
)
def add_within_blas(fgraph: FunctionGraph, node: Apply) -> Mapping[Variable, Variable] | None:
    """c + a * dot(x, y) -> gemm(x, y, a, c), where it is stored or c is another product"""
    scaled = _last_scaling(fgraph, node) or node
    total = _last(fgraph, scaled.outputs[0], ps.add, ps.sub)
    if total is None or output_type(node).dtype not in BLAS_LETTERS:
        return None
    products, others = _terms(fgraph, total)
    out: Any
    if others and products and _is_stored(fgraph, total.outputs[0]):
        out = others[0] if len(others) == 1 else math.add(*others)
        out, others = math.cast(out, output_type(total).dtype), []
    elif len(products) > 1:
        out = _alone(products.pop(0))
    else:
        return None
    for product in products:
        out = _gemm(*product, out)
    return _replaced(fgraph, total, math.add(out, *others) if others else out)


@node_rewriter(
    [Dot],
    tags=["extremes"],
    examples=["2 * pt.dot(X, Y)", "-pt.dot(X, y)", "s * pt.dot(x, Y)", "-(s * pt.dot(X, Y))"],
)
def scale_within_blas(fgraph: FunctionGraph, node: Apply) -> Mapping[Variable, Variable] | None:
    """a * dot(x, y) -> gemm(x, y, a), where it is stored"""
    scaled = _last_scaling(fgraph, node)
    if scaled is None or not _is_stored(fgraph, scaled.outputs[0]):
        return None
    product = _product(fgraph, scaled.outputs[0])
    return None if product is None else _replaced(fgraph, scaled, _gemm(*product))


def _replaced(fgraph: FunctionGraph, node: Apply, value: Any) -> Mapping[Variable, Variable] | None:
    found = as_result(fgraph, node, value)
    return None if found is None else {node.outputs[0]: found[0]}


BLAS = late_rules(add_within_blas, scale_within_blas, needs=[Dot])
"""In the order in which they are tried."""
