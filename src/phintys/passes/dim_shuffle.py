"""Canonical forms of dimshuffles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.graph.variable import Constant
from phintys.passes._facts import as_result, has_one_client, is_pure, operands
from phintys.rewriting import Operand, late_rules, node_rewriter
from phintys.tensor.creation import Alloc, alloc
from phintys.tensor.dim_shuffle import DimShuffle
from phintys.tensor.elemwise import Elemwise

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable

__all__ = ["CANONICAL_DIMSHUFFLE"]


@node_rewriter([DimShuffle], examples=["pt.DimShuffle(2, (0, 1))(X)", "pt.DimShuffle(0, ())(s)"])
def drop_useless_dimshuffle(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """dimshuffle(x, 0, 1, ...) -> x"""
    assert isinstance(node.op, DimShuffle)
    if node.op.new_order != tuple(range(node.op.input_ndim)):
        return None
    return as_result(fgraph, node, node.inputs[0])


@node_rewriter(
    [DimShuffle], examples=["pt.DimShuffle(2, ('x', 1))(r)", "pt.DimShuffle(2, ('x', 0))(c)"]
)
def keep_dropped_dimensions(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """dimshuffle(x, "x", 1) -> dimshuffle(x, 0, 1), where what was left out has size 1"""
    op = node.op
    assert isinstance(op, DimShuffle)
    (x,) = operands(node)
    dropped = iter([dim for dim in op.drop if x.type.shape[dim] == 1])
    order = [next(dropped, "x") if entry == "x" else entry for entry in op.new_order]
    if not op.drop or tuple(order) == op.new_order:
        return None
    return as_result(fgraph, node, DimShuffle(op.input_ndim, order)(x))


def _order_after(first: DimShuffle, second: DimShuffle) -> tuple[int | str, ...]:
    order = first.new_order
    return tuple(order[entry] if isinstance(entry, int) else entry for entry in second.new_order)


@node_rewriter(
    [DimShuffle],
    operands=[Operand.ALIKE],
    examples=["X.T.T", "X.T.dimshuffle(0, 'x', 1)", "x[:, None].T"],
)
def merge_dimshuffles(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """dimshuffle(dimshuffle(x, first), second) -> dimshuffle(x, first[second])"""
    inner = node.inputs[0].owner
    if inner is None or not isinstance(inner.op, DimShuffle):
        return None
    assert isinstance(node.op, DimShuffle)
    order = _order_after(inner.op, node.op)
    return as_result(fgraph, node, DimShuffle(inner.op.input_ndim, order)(inner.inputs[0]))


@node_rewriter(
    [DimShuffle],
    operands=[Elemwise],
    depth=3,
    examples=["pt.exp(X.T).T", "(X.T * 2).T", "(X.T + Y.T).T"],
)
def dimshuffle_before_elemwise(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """exp(x.T).T -> exp(x), where each operand is a dimshuffle that is undone, or a constant"""
    whole = node.inputs[0]
    inner = whole.owner
    op = node.op
    assert isinstance(op, DimShuffle)
    if inner is None or not is_pure(inner) or len(inner.outputs) > 1 or op.drop:
        return None
    undone = 0
    operands_after: list[Any] = []
    for x in operands(inner):
        first = x.owner
        if first is not None and isinstance(first.op, DimShuffle):
            if _order_after(first.op, op) != tuple(range(first.op.input_ndim)):
                return None
            undone += 1
            operands_after.append(first.inputs[0])
        elif isinstance(x, Constant) and all(size == 1 for size in x.data.shape):
            operands_after.append(op(x))
        else:
            return None
    if not undone or not has_one_client(fgraph, whole):
        return None
    return as_result(fgraph, node, inner.op(*operands_after))


@node_rewriter(
    [DimShuffle],
    operands=[Alloc],
    examples=["pt.alloc(s, 2, n).T", "pt.alloc(s, n).dimshuffle(0, 'x')"],
)
def dimshuffle_of_alloc(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """dimshuffle(alloc(x, *sizes), order) -> alloc(x, *sizes[order]), for x without dimensions"""
    inner = node.inputs[0].owner
    op = node.op
    if inner is None or not isinstance(inner.op, Alloc) or inner.inputs[0].type.ndim:  # pyright: ignore[reportAttributeAccessIssue]
        return None
    assert isinstance(op, DimShuffle)
    value, *sizes = operands(inner)
    if op.drop:
        return None
    order = [sizes[entry] if isinstance(entry, int) else 1 for entry in op.new_order]
    return as_result(fgraph, node, alloc(value, *order))


CANONICAL_DIMSHUFFLE = late_rules(
    merge_dimshuffles,
    keep_dropped_dimensions,
    drop_useless_dimshuffle,
    dimshuffle_before_elemwise,
    dimshuffle_of_alloc,
    needs=[DimShuffle],
)
"""In the order in which they are tried."""
