"""Canonical forms of elementwise expressions.

The rules preserve values, with two exceptions: the sign of a zero can change (``x + 0 -> x``), and
errors of intermediate results that are no longer needed are not raised. Mismatched shapes still
raise: an operand is dropped only if its size is known to equal that of another one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import phintys.scalar as ps
from phintys.passes._facts import (
    REPEATING,
    UNIFORM,
    as_result,
    broadcast_source,
    holds_exactly,
    is_pure,
    is_uniformly,
    kind,
    operands,
    output_type,
    scalar_node,
    scalar_op,
    sizes_covered,
    uniform_value,
)
from phintys.rewriting import NOT_CONSTANT, Operand, node_rewriter
from phintys.tensor.creation import alloc
from phintys.tensor.elemwise import Elemwise, elemwise
from phintys.tensor.shapes import shape_i

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable
    from phintys.rewriting import NodeRewriter
    from phintys.tensor.type import TensorType

_SUMS_AND_PRODUCTS = (ps.add, ps.mul)
_WITH_IDENTITY = (*_SUMS_AND_PRODUCTS, ps.and_, ps.or_, ps.xor)
_INVOLUTIONS = (ps.neg, ps.invert, ps.conj)
_MOST_OPERANDS = 32


def _lifted(*ops: Any) -> list[Elemwise]:
    return [elemwise(op) for op in ops]


# ---- sums, products, bit operations --------------------------------------------------------------


@node_rewriter(
    _lifted(*_WITH_IDENTITY),
    operands=UNIFORM,
    tags=["zeros"],
    examples=["x + 0", "x * 1", "b & True", "b | False", "b ^ False", "pt.add(x, 0, y)"],
)
def drop_identity(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """x + 0 -> x, x * 1 -> x, x & ~0 -> x, x | 0 -> x, x ^ 0 -> x"""
    op = scalar_op(node)
    inputs = operands(node)
    for position, operand in enumerate(inputs):
        value = uniform_value(operand)
        if value is NOT_CONSTANT or not _is_identity(op, value, output_type(node)):
            continue
        rest = [*inputs[:position], *inputs[position + 1 :]]
        if not rest or not sizes_covered(operand, rest):
            continue
        if len(rest) == 1:
            return as_result(fgraph, node, rest[0])
        dtype = output_type(node).numpy_dtype
        if np.result_type(*(x.dtype for x in rest)) != dtype:
            # The computation must keep its larger dtype: all operands are cast to it first.
            rest[0] = elemwise(ps.CASTS[dtype.name])(rest[0])
        return as_result(fgraph, node, elemwise(op)(*rest))
    return None


def _is_identity(op: Any, value: Any, result: TensorType) -> bool:
    """Return whether an operand with this value is an identity element of ``op``."""
    if op is ps.add:
        return bool(value == 0)
    if op is ps.mul:
        return bool(value == 1)
    dtype = result.numpy_dtype
    return bool(np.asarray(value).astype(dtype) == op.identity_element(dtype))


@node_rewriter(_lifted(ps.sub), operands=UNIFORM, examples=["x - 0"])
def subtract_zero(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """x - 0 -> x"""
    return _keep_first(fgraph, node, 0)


@node_rewriter(_lifted(ps.true_div), operands=UNIFORM, examples=["x / 1"])
def divide_by_one(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """x / 1 -> x"""
    return _keep_first(fgraph, node, 1)


def _keep_first(fgraph: FunctionGraph, node: Apply, number: float) -> list[Variable] | None:
    x, y = operands(node)
    if not is_uniformly(y, number) or not sizes_covered(y, [x]):
        return None
    return as_result(fgraph, node, x)


@node_rewriter(
    _lifted(*_SUMS_AND_PRODUCTS), operands=[Operand.ALIKE], examples=["(x + y) + z", "x * (y * z)"]
)
def flatten_nested(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """(x + y) + z -> x + y + z, x + (y + z) -> y + z + x; also of products

    Applies if the inner node has no other users. The order of evaluation is preserved, and with it
    rounding. A whole chain is flattened at once, from its end, and split into nodes of at most 32
    operands.
    """
    op = scalar_op(node)
    if _is_absorbed(fgraph, node):
        return None
    position = _nested_operand(fgraph, node)
    if position is None:
        return None
    later: list[Variable] = []  # from last to first
    current = node
    while position is not None:
        inner = current.inputs[position].owner
        assert inner is not None
        later.extend(reversed([x for i, x in enumerate(current.inputs) if i != position]))
        current = inner
        position = _nested_operand(fgraph, current)
    terms = [*current.inputs, *reversed(later)]
    result = elemwise(op)(*terms[:_MOST_OPERANDS])
    step = _MOST_OPERANDS - 1
    for start in range(_MOST_OPERANDS, len(terms), step):
        result = elemwise(op)(result, *terms[start : start + step])
    return as_result(fgraph, node, result)


def _nested_operand(fgraph: FunctionGraph, node: Apply) -> int | None:
    """Return which of the first two operands can be flattened without changing the order."""
    inputs = operands(node)
    for position, operand in enumerate(inputs[:2]):
        inner = scalar_node(operand, scalar_op(node))
        if (
            inner is not None
            and len(fgraph.clients[operand]) == 1
            and operand.type == node.outputs[0].type
            and len(node.inputs) + len(inner.inputs) - 1 <= _MOST_OPERANDS
            and all(x.dtype == operand.dtype for x in (*inputs, *operands(inner)))
        ):
            return position
    return None


def _is_absorbed(fgraph: FunctionGraph, node: Apply) -> bool:
    """Return whether the only node that uses this one will flatten it."""
    clients = fgraph.clients[node.outputs[0]]
    if len(clients) != 1:
        return False
    client, position = clients[0]
    return (
        client != "output"
        and is_pure(client)
        and scalar_op(client) == scalar_op(node)
        and _nested_operand(fgraph, client) == position
    )


# ---- one operand ---------------------------------------------------------------------------------


@node_rewriter(
    _lifted(*_INVOLUTIONS),
    operands=[Operand.ALIKE],
    examples=["-(-x)", "~~b", "pt.conj(pt.conj(x))"],
)
def undo_involution(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """-(-x) -> x, ~(~x) -> x, conj(conj(x)) -> x"""
    inner = scalar_node(node.inputs[0], scalar_op(node))
    return None if inner is None else as_result(fgraph, node, inner.inputs[0])


@node_rewriter(_lifted(ps.identity, ps.pos), examples=["pt.pos(x)", "pt.tensor_copy(x)"])
def drop_identity_function(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """identity(x) -> x, +x -> x"""
    return as_result(fgraph, node, node.inputs[0])


@node_rewriter(_lifted(ps.conj, ps.real), examples=["pt.conj(x)", "pt.real(x)"])
def drop_complex_part_of_real(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """conj(x) -> x, real(x) -> x, for real x"""
    (x,) = operands(node)
    return as_result(fgraph, node, x) if kind(x) != "c" else None


@node_rewriter(_lifted(*ps.CASTS.values()), examples=["elemwise(ps.CASTS[x.dtype])(x)"])
def drop_useless_cast(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """cast(x, dtype) -> x, where x has that dtype"""
    (x,) = operands(node)
    return as_result(fgraph, node, x) if x.dtype == output_type(node).dtype else None


@node_rewriter(
    _lifted(*ps.CASTS.values()),
    operands=_lifted(*ps.CASTS.values()),
    examples=[
        "b.astype('int8').astype('int64')",
        "x.astype('float64').astype('complex128')",
    ],
)
def merge_casts(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """cast(cast(x, a), b) -> cast(x, b), where a holds each value of x exactly"""
    inner = scalar_node(node.inputs[0], *ps.CASTS.values())
    if inner is None:
        return None
    (x,) = operands(inner)
    if not holds_exactly(x.dtype, output_type(inner).dtype):
        return None
    if kind(x) == "f" and output_type(node).numpy_dtype.kind in "iu":
        return None  # the cast of an out-of-range float depends on the source dtype
    return as_result(fgraph, node, x)


# ---- choices -------------------------------------------------------------------------------------


@node_rewriter(
    _lifted(ps.switch),
    operands=[Operand.REPEATED, *UNIFORM],
    examples=[
        "pt.switch(True, x, s)",
        "pt.switch(False, s, x)",
        "pt.switch(b[0], x, x)",
        "pt.switch(False, x3, s)",
    ],
)
def decide_switch(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """switch(True, x, y) -> x, switch(False, x, y) -> y, switch(c, x, x) -> x

    The result is repeated to the node's shape where it is smaller and all sizes are known.
    """
    condition, x, y = operands(node)
    if x is y:
        chosen, dropped = x, [condition]
    else:
        value = uniform_value(condition)
        if value is NOT_CONSTANT:
            return None
        chosen, other = (x, y) if value else (y, x)
        dropped = [condition, other]
    if not all(sizes_covered(operand, [chosen]) for operand in dropped):
        # Those of the operands: they may be known better now than when the node was made.
        shapes = [operand.type.shape for operand in operands(node)]
        if any(None in shape for shape in shapes):
            return None
        chosen = alloc(chosen, *np.broadcast_shapes(*shapes))
    return as_result(fgraph, node, chosen)


# ---- fills ---------------------------------------------------------------------------------------


@node_rewriter(_lifted(ps.second), examples=["pt.fill(x, pt.exp(x))", "pt.fill(s, x)"])
def drop_useless_fill(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """fill(x, y) -> y, where y has the shape of x"""
    x, y = operands(node)
    return as_result(fgraph, node, y) if sizes_covered(x, [y]) else None


@node_rewriter(_lifted(ps.second), examples=["pt.fill(pt.exp(x), 2)"])
def fill_to_alloc(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """fill(f(x), y) -> alloc(y, *shape(f(x)))

    Only the shape of the first operand is needed, which can be computed without its value.
    """
    x, y = operands(node)
    if x.owner is None:
        return None
    sizes = [
        size if size is not None else shape_i(x if x.type.shape[dim] != 1 else y, dim)
        for dim, size in enumerate(output_type(node).shape)
    ]
    return as_result(fgraph, node, alloc(y, *sizes))


@node_rewriter(
    [Elemwise], operands=REPEATING, examples=["x * pt.fill(x, s)", "x + pt.alloc(s, x.shape[0])"]
)
def drop_fill_of_operand(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """f(x, fill(x, y)) -> f(x, y), f(x, alloc(y, *shape(x))) -> f(x, y)"""
    if len(node.inputs) < 2 or len(node.outputs) > 1 or not is_pure(node):
        return None
    for position, operand in enumerate(operands(node)):
        source = broadcast_source(operand)
        if source is None or source.type == operand.type:
            continue
        inputs = list(operands(node))
        inputs[position] = source
        if sizes_covered(operand, inputs):
            return as_result(fgraph, node, node.op(*inputs))
    return None


@node_rewriter(
    [Elemwise],
    operands=REPEATING,
    examples=["pt.exp(pt.alloc(s, n))", "2 * pt.alloc(s, n, 2) + 1", "pt.sin(pt.fill(x, s))"],
)
def elemwise_before_fill(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """exp(alloc(x, n)) -> alloc(exp(x), n), where all operands are repeated so"""
    if not is_pure(node) or len(node.outputs) > 1 or scalar_op(node) is ps.second:
        return None
    whole: Any = None
    sources: list[Any] = []
    for x in operands(node):
        source = None if x.owner is None else broadcast_source(x)
        if source is not None and source.type.broadcastable != x.type.broadcastable:
            whole = x if whole is None or sizes_covered(whole, [x]) else whole
        sources.append(x if source is None else source)
    if whole is None or not all(sizes_covered(x, [whole]) for x in operands(node)):
        return None
    value = node.op(*sources)
    if value.type.broadcastable == output_type(node).broadcastable:
        return None  # drop_fill_of_operand does it
    if is_pure(whole.owner):
        return as_result(fgraph, node, elemwise(ps.second)(whole.owner.inputs[0], value))
    return as_result(fgraph, node, alloc(value, *whole.owner.inputs[1:]))


CANONICAL_ELEMWISE: tuple[NodeRewriter, ...] = (
    drop_useless_cast,
    merge_casts,
    drop_identity_function,
    drop_complex_part_of_real,
    undo_involution,
    drop_identity,
    subtract_zero,
    divide_by_one,
    decide_switch,
    drop_useless_fill,
    drop_fill_of_operand,
    elemwise_before_fill,
    fill_to_alloc,
    flatten_nested,
)
"""In the order in which they are tried."""
