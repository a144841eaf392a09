"""Canonical forms of reductions."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

import phintys.scalar as ps
from phintys.passes._facts import (
    as_result,
    as_value,
    broadcast_source,
    has_one_client,
    is_moderate,
    kind,
    operands,
    output_type,
    scalar_node,
    scalar_op,
    uniform_value,
)
from phintys.rewriting import NOT_CONSTANT, Operand, late_rules, node_rewriter
from phintys.tensor import math
from phintys.tensor.creation import Alloc, alloc
from phintys.tensor.dim_shuffle import DimShuffle
from phintys.tensor.elemwise import elemwise
from phintys.tensor.math import cast
from phintys.tensor.reduce import Reduce
from phintys.tensor.scalar_bridge import MakeVector
from phintys.tensor.sizes import as_size, multiply_sizes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable


def _with_axes(op: Reduce, axes: Sequence[int], x: Any) -> Any:
    """Return a reduction like ``op`` over other axes; without axes, just its cast."""
    if axes:
        return Reduce(op.scalar_op, axes, op.dtype, op.acc_dtype)(x)
    dtype, computed_in = op.resolve_dtypes(x.dtype)
    result = cast(cast(x, computed_in), dtype)
    return math.abs(result) if op.scalar_op is ps.hypot else result


@node_rewriter(
    [Reduce],
    tags=["zeros"],
    examples=[
        "r.sum(axis=0)",
        "r.max()",
        "c.prod(axis=1)",
        "b[None].all(axis=0)",
    ],
)
def drop_axes_of_size_one(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """sum(x, axes) -> x, where all axes are of size 1 or there are none; also prod, max, all ...

    Where only some are of size 1, these are dropped first. Of hypot, abs(x) is left.
    """
    (x,) = operands(node)
    op = node.op
    assert isinstance(op, Reduce)
    axes = op.axes(x.ndim)
    ones = [axis for axis in axes if x.type.shape[axis] == 1]
    if axes and not ones:
        return None
    kept = [dim for dim in range(x.ndim) if dim not in ones]
    rest = [kept.index(axis) for axis in axes if axis not in ones]
    return as_result(fgraph, node, _with_axes(op, rest, x.dimshuffle(kept) if ones else x))


@node_rewriter(
    [Reduce], operands=[DimShuffle], examples=["X.T.sum()", "x[None].sum()", "X.T.max(axis=0)"]
)
def reduce_before_dimshuffle(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """sum(dimshuffle(x)) -> sum(x), where the dimensions that remain keep their order"""
    shuffled = node.inputs[0].owner
    if shuffled is None or not isinstance(shuffled.op, DimShuffle) or shuffled.op.drop:
        return None
    op, order = node.op, shuffled.op.new_order
    assert isinstance(op, Reduce)
    axes = op.axes(len(order))
    remaining = [entry for dim, entry in enumerate(order) if dim not in axes]
    numbers = [entry for entry in remaining if isinstance(entry, int)]
    if numbers != remaining or numbers != sorted(numbers):
        return None
    (x,) = operands(shuffled)
    reduced = [entry for dim in axes if isinstance(entry := order[dim], int)]
    return as_result(fgraph, node, _with_axes(op, sorted(reduced), x))


def has_plain_dtype(node: Apply) -> bool:
    """Return whether a reduction computes and returns in the dtype of its input."""
    op = node.op
    assert isinstance(op, Reduce)
    dtype = operands(node)[0].dtype
    return op.resolve_dtypes(dtype) == (dtype, dtype)


@node_rewriter(
    [Reduce],
    operands=[Operand.ALIKE],
    examples=["X.sum(axis=0).sum()", "T.max(axis=2).max(axis=0)", "X.prod(axis=1).prod()"],
)
def merge_reductions(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """sum(sum(x, axis=0)) -> sum(x), also max, min, prod, all, any"""
    inner = node.inputs[0].owner
    op = node.op
    assert isinstance(op, Reduce)
    if inner is None or not isinstance(inner.op, Reduce) or inner.op.scalar_op is not op.scalar_op:
        return None
    if not has_one_client(fgraph, node.inputs[0]) or not has_plain_dtype(node):
        return None
    (x,) = operands(inner)
    dtype = output_type(inner).dtype
    if inner.op.resolve_dtypes(x.dtype) != (dtype, dtype):
        return None
    first = inner.op.axes(x.ndim)
    kept = [dim for dim in range(x.ndim) if dim not in first]
    axes = sorted({*first, *(kept[axis] for axis in op.axes(len(kept)))})
    merged = Reduce(op.scalar_op, axes, inner.op.dtype, inner.op.acc_dtype)
    return as_result(fgraph, node, merged(x))


@node_rewriter(
    [Reduce],
    operands=[math.mul, math.neg, math.true_div],
    tags=["zeros"],
    examples=["(2 * x).sum()", "(-X).sum(axis=0)", "(X / 3).sum(axis=1)"],
)
def factor_out_of_sum(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """sum(2 * x) -> 2 * sum(x), sum(-x) -> -sum(x), sum(x / 3) -> sum(x) / 3"""
    op = node.op
    assert isinstance(op, Reduce)
    if op.scalar_op is not ps.add:
        return None
    scaled = operands(node)[0]
    inner = None if scaled.owner is None else scalar_node(scaled, ps.mul, ps.neg, ps.true_div)
    if inner is None or not has_plain_dtype(node):
        return None
    if scalar_op(inner) is not ps.neg and not has_one_client(fgraph, scaled):
        return None
    if any(x.dtype != scaled.dtype for x in operands(inner)):
        return None
    if scalar_op(inner) is ps.neg:
        return as_result(fgraph, node, math.neg(op(inner.inputs[0])))
    divides = scalar_op(inner) is ps.true_div
    x, c = operands(inner)[:: 1 if divides else -1][:2]
    value = uniform_value(c)
    if len(inner.inputs) != 2 or x.type != scaled.type or value is NOT_CONSTANT:
        return None
    if kind(scaled) in "fc" and not is_moderate(value):
        return None
    factor = as_value(value, scaled.type)
    total = op(x)
    return as_result(
        fgraph, node, math.true_div(total, factor) if divides else math.mul(factor, total)
    )


_OF_TRUTHS: dict[Any, Any] = {ps.and_: math.and_, ps.or_: math.or_}
_MOST_TRUTHS = 32


@node_rewriter(
    [Reduce],
    operands=[MakeVector],
    examples=["pt.stack([x[0] > 0, s > 0]).all()", "pt.stack([s > 0, s < 1, b[0]]).any()"],
)
def combine_few_truths(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """all([a, b]) -> a & b, any([a, b]) -> a | b, without the vector, for bools"""
    op, maker = node.op, node.inputs[0].owner
    assert isinstance(op, Reduce)
    if maker is None or not isinstance(maker.op, MakeVector) or not has_plain_dtype(node):
        return None
    combine = _OF_TRUTHS.get(op.scalar_op)
    truths = maker.inputs
    if combine is None or not truths or len(truths) > _MOST_TRUTHS:
        return None
    if op.axes(1) != (0,) or any(kind(truth) != "b" for truth in truths):
        return None
    return as_result(fgraph, node, reduce(combine, truths))


_INCREASING = (
    *(ps.exp, ps.exp2, ps.expm1, ps.sigmoid, ps.softplus, ps.log_sigmoid, ps.tanh, ps.sinh),
    *(ps.arctan, ps.arcsinh, ps.cbrt, ps.erf, ps.ndtr, ps.floor, ps.ceil, ps.rint, ps.trunc),
)


@node_rewriter(
    [Reduce],
    operands=[math.neg, *map(elemwise, _INCREASING)],
    examples=["pt.exp(x).max()", "(-X).min(axis=0)", "pt.tanh(X).min(axis=1)", "pt.max(-x)"],
)
def extreme_before_increasing(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """max(exp(x)) -> exp(max(x)), also of other increasing functions; max(-x) -> -min(x)"""
    op = node.op
    assert isinstance(op, Reduce)
    if op.scalar_op not in {ps.maximum, ps.minimum}:
        return None
    y = operands(node)[0]
    inner = None if y.owner is None else scalar_node(y, ps.neg, *_INCREASING)
    if inner is None or not has_one_client(fgraph, y) or not has_plain_dtype(node):
        return None
    (x,) = operands(inner)
    if x.dtype != y.dtype or kind(x) != "f":
        return None
    if scalar_op(inner) is ps.neg:
        other = ps.minimum if op.scalar_op is ps.maximum else ps.maximum
        return as_result(fgraph, node, math.neg(Reduce(other, op.axis, op.dtype, op.acc_dtype)(x)))
    return as_result(fgraph, node, elemwise(scalar_op(inner))(op(x)))


@node_rewriter(
    [Reduce],
    operands=[Alloc],
    tags=["zeros"],
    examples=[
        "pt.alloc(2, n).sum()",
        "pt.alloc(3, 2, n).prod(axis=1)",
        "pt.alloc(x, 4, n).sum(axis=0)",
    ],
)
def reduce_alloc(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """sum(alloc(x, n)) -> n * x, prod(alloc(x, n)) -> x ** n, max(alloc(x, 3)) -> x"""
    op = node.op
    assert isinstance(op, Reduce)
    (whole,) = operands(node)
    if whole.owner is None or not isinstance(whole.owner.op, Alloc):
        return None
    dtype, computed_in = op.resolve_dtypes(whole.dtype)
    sizes = operands(whole.owner)[1:]
    axes = op.axes(whole.ndim)
    source = broadcast_source(whole)
    if dtype != computed_in or any(source.type.shape[axis] != 1 for axis in axes):
        return None
    known = [whole.type.shape[axis] for axis in axes]
    never_empty = None not in known and 0 not in known
    kept = [dim for dim in range(whole.ndim) if dim not in axes]
    value = cast(source.dimshuffle(kept), dtype)
    if op.scalar_op is ps.add:
        finite = uniform_value(value)
        if not never_empty and (finite is NOT_CONSTANT or not np.isfinite(finite)):
            return None  # the sum of no infinities is 0
        count = as_size(multiply_sizes([sizes[axis] for axis in axes]))
        if dtype == "bool":
            return None
        value = math.mul(cast(count, dtype), value)
    elif op.scalar_op is ps.mul:
        if dtype == "bool" or kind(value) not in "fiu":
            return None
        count = as_size(multiply_sizes([sizes[axis] for axis in axes]))
        value = math.pow(value, cast(count, dtype))
    elif not never_empty:
        return None
    return as_result(fgraph, node, alloc(value, *(sizes[dim] for dim in kept)))


@node_rewriter([math.log], operands=[Reduce], depth=3, examples=["pt.log(pt.exp(x).prod())"])
def log_of_product_of_exp(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """log(prod(exp(x))) -> sum(x)"""
    inner = node.inputs[0].owner
    if inner is None or not isinstance(inner.op, Reduce) or inner.op.scalar_op is not ps.mul:
        return None
    power = scalar_node(inner.inputs[0], ps.exp)
    dtype = output_type(node).dtype
    if power is None or operands(power)[0].dtype != dtype or dtype != output_type(inner).dtype:
        return None
    if kind(inner.inputs[0]) != "f" or not has_plain_dtype(inner):
        return None
    total = Reduce(ps.add, inner.op.axis, inner.op.dtype, inner.op.acc_dtype)
    return as_result(fgraph, node, total(power.inputs[0]))


CANONICAL_REDUCE = late_rules(
    drop_axes_of_size_one,
    reduce_before_dimshuffle,
    merge_reductions,
    factor_out_of_sum,
    combine_few_truths,
    extreme_before_increasing,
    reduce_alloc,
    needs=[Reduce],
)
"""In the order in which they are tried."""

STABILIZE_REDUCE = late_rules(log_of_product_of_exp, needs=[Reduce])
"""In the order in which they are tried."""
