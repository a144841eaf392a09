"""Rules for matrices made of smaller ones: Kronecker products, and blocks along a diagonal."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import phintys.scalar as ps
from phintys.passes._facts import all_results, as_result, is_uniformly, kind, operands, scalar_node
from phintys.passes._matrix_facts import Fact
from phintys.passes._structure import structure
from phintys.rewriting import node_rewriter
from phintys.tensor import math
from phintys.tensor.dim_shuffle import DimShuffle
from phintys.tensor.indexing.template import Slice
from phintys.tensor.indexing.update import IncSubtensor
from phintys.tensor.joining import concatenate
from phintys.tensor.linear_algebra.cholesky import Cholesky
from phintys.tensor.linear_algebra.determinants import Det, SlogDet
from phintys.tensor.linear_algebra.patterned import block_diag
from phintys.tensor.linear_algebra.solving import Inv, Solve
from phintys.tensor.reshaping import Reshape, reshape
from phintys.tensor.shapes import sizes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable
    from phintys.rewriting import NodeRewriter

# ---- Kronecker products --------------------------------------------------------------------------


def _kronecker(fgraph: FunctionGraph, x: Any) -> tuple[Any, Any] | None:
    """Return two square matrices, given their Kronecker product."""
    node = x.owner
    if node is None or not isinstance(node.op, Reshape) or x.ndim != 2:
        return None
    inner = scalar_node(node.inputs[0], ps.mul)
    if inner is None or len(inner.inputs) != 2 or node.inputs[0].type.ndim != 4:
        return None
    parts: dict[Any, Any] = {}
    for one in inner.inputs:
        if one.owner is None or not isinstance(one.owner.op, DimShuffle):
            return None
        parts[one.owner.op.new_order] = one.owner.inputs[0]
    a, b = parts.get((0, "x", 1, "x")), parts.get(("x", 0, "x", 1))
    if a is None or b is None or a.dtype != x.dtype or b.dtype != x.dtype:
        return None
    if not structure(fgraph, a) & structure(fgraph, b) & Fact.SQUARE:
        return None
    return a, b


def _kron(a: Any, b: Any, shape: Any) -> Any:
    product = math.mul(a.dimshuffle(0, "x", 1, "x"), b.dimshuffle("x", 0, "x", 1))
    return reshape(product, shape)


@node_rewriter(
    [Inv],
    operands=[Reshape],
    depth=4,
    tags=["extremes"],
    examples=["pt.linalg.inv(pt.kron(X3 + 9 * pt.eye(3), Y3 + 9 * pt.eye(3)))"],
)
def inv_of_kron(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """inv(kron(A, B)) -> kron(inv(A), inv(B))"""
    op: Any = node.op
    (x,) = operands(node)
    found = _kronecker(fgraph, x)
    if found is None:
        return None
    return as_result(fgraph, node, _kron(op(found[0]), op(found[1]), tuple(sizes_of(x))))


@node_rewriter(
    [Det, SlogDet],
    operands=[Reshape],
    depth=4,
    tags=["extremes"],
    examples=[
        "pt.linalg.det(pt.kron(X3 + 9 * pt.eye(3), Y3 + 9 * pt.eye(3)))",
        "pt.linalg.slogdet(pt.kron(X3 + 9 * pt.eye(3), Y3 + 9 * pt.eye(3)))[1]",
    ],
)
def det_of_kron(fgraph: FunctionGraph, node: Apply) -> list[Variable | None] | None:
    """det(kron(A, B)) -> det(A)**m * det(B)**n, for A of size n and B of size m"""
    op: Any = node.op
    found = _kronecker(fgraph, operands(node)[0])
    if found is None or kind(found[0]) == "c":
        return None
    a, b = found
    n, m = (sizes_of(x)[0] for x in (a, b))
    if isinstance(op, Det):
        value = math.pow(op(a), math.cast(m, a.dtype)) * math.pow(op(b), math.cast(n, a.dtype))
        return as_result(fgraph, node, value)  # pyright: ignore[reportReturnType]
    (sign, logarithm), (other, more) = op(a), op(b)
    m, n = (math.cast(size, a.dtype) for size in (m, n))
    return all_results(node, [math.pow(sign, m) * math.pow(other, n), m * logarithm + n * more])


@node_rewriter(
    [Solve],
    operands=[Reshape],
    depth=4,
    tags=["extremes"],
    examples=[
        "pt.linalg.solve(pt.kron(X3 + 9 * pt.eye(3), Y3 + 9 * pt.eye(3)), pt.kron(X3, Y3))",
        "pt.linalg.solve(pt.kron(X3 + 9 * pt.eye(3), Y3 + 9 * pt.eye(3)), pt.kron(x3, y3))",
    ],
)
def solve_with_kron(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """solve(kron(A, B), b) -> two solutions, with A and with B"""
    op: Any = node.op
    x, right = operands(node)
    found = _kronecker(fgraph, x)
    if found is None or not _are_assumed(fgraph, found, op.assume_a):
        return None
    a, b = found
    (n, _), (m, _), (_, k) = (sizes_of(one) for one in (a, b, right))
    half = reshape(op(a, reshape(right, (n, m * k))), (n, m, k)).dimshuffle(1, 0, 2)
    whole = reshape(op(b, reshape(half, (m, n * k))), (m, n, k)).dimshuffle(1, 0, 2)
    return as_result(fgraph, node, reshape(whole, (n * m, k)))


_FACTS = {"gen": Fact.SQUARE, "sym": Fact.SYMMETRIC, "her": Fact.HERMITIAN, "pos": Fact.DEFINITE}


def _are_assumed(fgraph: FunctionGraph, matrices: Sequence[Any], assumed: str) -> bool:
    """Return whether matrices are known to be what a solver assumes of their product."""
    wanted = _FACTS[assumed]
    return all(structure(fgraph, one) & wanted == wanted for one in matrices)


@node_rewriter(
    [Cholesky],
    operands=[Reshape],
    depth=4,
    tags=["extremes"],
    examples=["pt.linalg.cholesky(pt.kron(X3 @ X3.T + pt.eye(3), Y3 @ Y3.T + pt.eye(3)))"],
)
def cholesky_of_kron(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """cholesky(kron(A, B)) -> kron(cholesky(A), cholesky(B)), for positive definite A and B"""
    op: Any = node.op
    (x,) = operands(node)
    found = _kronecker(fgraph, x)
    if found is None or not _are_assumed(fgraph, found, "pos"):
        return None
    return as_result(fgraph, node, _kron(op(found[0]), op(found[1]), tuple(sizes_of(x))))


# ---- blocks along a diagonal ---------------------------------------------------------------------

_WHOLE = Slice(None, None, None)


def _blocks(x: Any) -> list[Any] | None:
    """Return the square blocks of ``block_diag``, from first to last; their sizes are known."""
    shape, found = x.type.shape, []
    end = shape[-1]
    while end and x.owner is not None and isinstance(x.owner.op, IncSubtensor):
        op, (before, block) = x.owner.op, x.owner.inputs[:2]
        *leading, rows, columns = (*op.idx_list, *[_WHOLE] * (x.ndim - len(op.idx_list)))
        if not op.set_instead_of_inc or rows != columns or any(one != _WHOLE for one in leading):
            return None
        start = _start(rows, end, shape[-1])
        if start is None or block.type.dtype != x.type.dtype:
            return None
        if (
            block.type.shape[-2:] != (end - start, end - start)
            or block.type.broadcastable[:-2] != x.type.broadcastable[:-2]
        ):
            return None
        found.insert(0, block)
        x, end = before, start
    return found if found and end == 0 and is_uniformly(x, 0) else None


def _start(rows: Any, end: int, last: int) -> int | None:
    """Return the first row of a slice of ints that ends at a given row."""
    if not isinstance(rows, Slice) or rows.step not in {None, 1}:
        return None
    stop = last if rows.stop is None else rows.stop
    start = 0 if rows.start is None else rows.start
    return start if stop == end and isinstance(start, int) and 0 <= start < end else None


@node_rewriter(
    [Inv, Cholesky],
    operands=[IncSubtensor],
    depth=4,
    tags=["extremes"],
    examples=[
        "pt.linalg.inv(pt.linalg.block_diag(X3 + 9 * pt.eye(3), Y3 + 9 * pt.eye(3)))",
        "pt.linalg.cholesky(pt.linalg.block_diag(X3 + X3.T + 30 * pt.eye(3), 4.0 * pt.eye(3)))",
    ],
)
def factors_of_blocks(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """inv(block_diag(A, B)) -> block_diag(inv(A), inv(B)); cholesky, too"""
    op: Any = node.op
    # Otherwise the whole matrix is NaN if one of the blocks has no result.
    blocks = _blocks(operands(node)[0]) if op.on_error == "raise" else None
    if blocks is None:
        return None
    return as_result(fgraph, node, block_diag(*map(op, blocks)))


@node_rewriter(
    [Det, SlogDet],
    operands=[IncSubtensor],
    depth=4,
    tags=["extremes"],
    examples=[
        "pt.linalg.det(pt.linalg.block_diag(X3 + 9 * pt.eye(3), Y3 + 9 * pt.eye(3)))",
        "pt.linalg.slogdet(pt.linalg.block_diag(X3 + 9 * pt.eye(3), Y3 + 9 * pt.eye(3)))[1]",
    ],
)
def det_of_blocks(fgraph: FunctionGraph, node: Apply) -> list[Variable | None] | None:
    """det(block_diag(A, B)) -> det(A) * det(B)"""
    op: Any = node.op
    blocks = _blocks(operands(node)[0])
    if blocks is None or len(blocks) < 2:
        return None
    if isinstance(op, Det):
        return as_result(fgraph, node, math.mul(*map(op, blocks)))  # pyright: ignore[reportReturnType]
    signs, logarithms = zip(*map(op, blocks), strict=True)
    return all_results(node, [math.mul(*signs), math.add(*logarithms)])


@node_rewriter(
    [Solve],
    operands=[IncSubtensor],
    depth=4,
    tags=["extremes"],
    examples=[
        "pt.linalg.solve(pt.linalg.block_diag(X3 + 9 * pt.eye(3), 5 * pt.eye(3)), pt.ones(6))",
    ],
)
def solve_with_blocks(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """solve(block_diag(A, B), b) -> the solutions with A and B, below each other"""
    op: Any = node.op
    x, right = operands(node)
    blocks = _blocks(x) if op.on_error == "raise" else None
    if blocks is None:
        return None
    ends = list(accumulate((block.type.shape[-1] for block in blocks), initial=0))
    ends[-1] = None  # a right side of another length is an error there
    parts = [
        op(block, right[..., start:end, :])
        for block, (start, end) in zip(blocks, pairwise(ends), strict=True)
    ]
    return as_result(fgraph, node, concatenate(parts, axis=-2))


PATTERNED: tuple[NodeRewriter, ...] = (
    inv_of_kron,
    det_of_kron,
    solve_with_kron,
    cholesky_of_kron,
    factors_of_blocks,
    det_of_blocks,
    solve_with_blocks,
)
"""Cheaper forms, by the parts that a matrix is made of."""
