"""Rules by the structure of matrices: what is diagonal, orthogonal, symmetric or a product.

What is known of a matrix is found by :func:`~phintys.passes._structure.structure`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import phintys.scalar as ps
from phintys.control.branches import IfElse
from phintys.graph.apply import Apply
from phintys.graph.variable import Constant
from phintys.passes._facts import (
    all_results,
    as_result,
    has_one_client,
    kind,
    operands,
    same_size,
    scalar_node,
)
from phintys.passes._matrix_facts import OF_NAME, Fact, turned
from phintys.passes._structure import structure, structure_of
from phintys.passes.patterned_matrices import PATTERNED
from phintys.rewriting import node_rewriter
from phintys.tensor import math
from phintys.tensor.diagonals import AllocDiag, ExtractDiag, diagonal, eye
from phintys.tensor.dim_shuffle import DimShuffle, expand_dims, matrix_transpose, squeeze
from phintys.tensor.linear_algebra.assumptions import Assume
from phintys.tensor.linear_algebra.cholesky import Cholesky
from phintys.tensor.linear_algebra.determinants import Det, SlogDet
from phintys.tensor.linear_algebra.matrix_op import adjoint
from phintys.tensor.linear_algebra.solving import Inv, Solve, divided
from phintys.tensor.products import BatchedDot, Dot, matmul
from phintys.tensor.ranges import ARange
from phintys.tensor.reduce import prod, sum
from phintys.tensor.shapes import sizes_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.op import Op
    from phintys.graph.variable import Variable
    from phintys.rewriting import NodeRewriter


def _main_diagonal(x: Any) -> Any:
    """Return the diagonals of matrices."""
    node = x.owner
    if node is not None and isinstance(node.op, AllocDiag) and node.op.offset == 0:
        return node.inputs[0]
    return diagonal(x, 0, x.ndim - 2, x.ndim - 1)


def _is_definite(fgraph: FunctionGraph, a: Any) -> bool:
    """Return whether a matrix is positive definite, or an error otherwise raised elsewhere."""
    facts = structure(fgraph, a)
    if facts & Fact.DEFINITE:
        return True
    return bool(facts & Fact.HERMITIAN) and _factor_there(fgraph, a) is not None


def _factor_there(fgraph: FunctionGraph, a: Any) -> Any:
    """Return the Cholesky factor of a matrix, if it is computed at every call."""
    for client, _ in fgraph.clients.get(a, ()):
        if isinstance(client, Apply) and client.op == Cholesky("raise"):
            return client.outputs[0] if not _is_lazy(fgraph) else None
    return None


def _is_lazy(fgraph: FunctionGraph) -> bool:
    """Return whether some nodes may not be computed, whose errors would then not be raised."""
    return any(isinstance(node.op, IfElse) for node in fgraph.apply_nodes)


def _has(fgraph: FunctionGraph, ops: tuple[type[Op], ...]) -> bool:
    """Return whether a graph has one of some Ops, without which rules are not tried."""
    return any(isinstance(node.op, ops) for node in fgraph.apply_nodes)


def is_known(variable: Any, name: str, found: dict[Variable, int]) -> bool:
    """Return whether a property of matrices, which ``assume`` can state, is known to hold.

    Parameters
    ----------
    variable
        A matrix, or a stack of them.
    name
        Such as ``"symmetric"``.
    found
        What is known of other variables, which is added to.
    """
    return structure_of(variable, found) & OF_NAME[name] == OF_NAME[name]


# ---- transposes and products ---------------------------------------------------------------------


_SOLVERS = (Assume, Cholesky, Solve, Inv, Det, SlogDet)
_DIAGONALS = (AllocDiag, Assume, ARange)


@node_rewriter(
    [DimShuffle],
    within=_SOLVERS,
    depth=4,
    tags=["extremes"],
    examples=["pt.assume(X3 + X3.T, 'symmetric').T"],
)
def transpose_of_symmetric(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """A.T -> A, for a symmetric A; conj(A).T -> A, for a Hermitian one"""
    a = turned(node.outputs[0])
    if a is None or isinstance(a, Constant):  # its transpose is computed while compiling
        return None
    if structure(fgraph, a) & Fact.SYMMETRIC:
        return as_result(fgraph, node, a) if _has(fgraph, _SOLVERS) else None
    inner = scalar_node(a, ps.conj)
    if inner is None or not structure(fgraph, inner.inputs[0]) & Fact.HERMITIAN:
        return None
    if not _has(fgraph, _SOLVERS):
        return None
    return as_result(fgraph, node, inner.inputs[0])


@node_rewriter(
    [Dot, BatchedDot],
    within=_DIAGONALS,
    depth=4,
    tags=["extremes"],
    examples=[
        "pt.diag(x3) @ Y3",
        "Y3 @ pt.diag(x3)",
        "pt.diag(x3) @ y3",
        "y3 @ (2 * pt.diag(x3))",
        "Y3 @ pt.eye(Y3.shape[1])",
    ],
)
def product_with_diagonal(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """diag(d) @ X -> d[:, None] * X, X @ diag(d) -> X * d, X @ eye(n) -> X"""
    x, y = operands(node)
    needed = Fact.DIAGONAL | Fact.SQUARE
    dtype: Any = node.outputs[0].type.dtype  # pyright: ignore[reportAttributeAccessIssue]
    if kind(node.outputs[0]) not in "fc":
        return None
    for scales, other, is_left in ((x, y, True), (y, x, False)):
        if scales.ndim < 2 or scales.dtype != dtype or other.dtype != dtype:
            continue
        facts = structure(fgraph, scales)
        if facts & needed != needed or not _has(fgraph, _DIAGONALS):
            continue
        if facts & Fact.IDENTITY:
            if other.ndim == scales.ndim == 2 and is_left and same_size(scales, other, 0):
                return as_result(fgraph, node, other)
            if other.ndim == scales.ndim == 2 and not is_left and same_size(scales, other, 1):
                return as_result(fgraph, node, other)
        entries = _main_diagonal(scales)
        if is_left and other.ndim > 1:
            entries = expand_dims(entries, -1)
        elif other.ndim > 1:
            entries = expand_dims(entries, -2)
        return as_result(fgraph, node, math.mul(entries, other))
    return None


@node_rewriter(
    [ExtractDiag],
    operands=[Dot],
    tags=["extremes"],
    examples=["pt.diagonal(X3 @ Y3)", "pt.linalg.trace(X3 @ Y3)"],
)
def diagonal_of_product(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """diagonal(A @ B) -> sum(A * B.T, axis=1), where the product has no other users"""
    op: Any = node.op
    product = node.inputs[0]
    inner = product.owner
    if op.offset or inner is None or not isinstance(inner.op, Dot):
        return None
    a, b = operands(inner)
    if not has_one_client(fgraph, product) or kind(product) not in "fc" or a.ndim < 2 or b.ndim < 2:
        return None
    if a.dtype != b.dtype or a.dtype not in {"float32", "float64", "complex64", "complex128"}:
        return None
    other = matrix_transpose(b)
    if not (same_size(a, other, 0) or structure(fgraph, product) & Fact.SQUARE):
        least = math.minimum(sizes_of(a)[0], sizes_of(b)[1])
        a, other = a[:least], other[:least]
    return as_result(fgraph, node, sum(a * other, axis=1))


# ---- systems and inverses ------------------------------------------------------------------------


def _times(a: Any, b: Any) -> Any:
    if a.ndim == b.ndim == 2 and b.type.shape[1] == 1:
        return expand_dims(matmul(a, squeeze(b, 1)), 1)
    return matmul(a, b)


@node_rewriter(
    [Solve],
    depth=4,
    tags=["extremes"],
    examples=[
        "pt.linalg.solve(pt.diag(y3 + 20), Y3)",
        "pt.linalg.solve(pt.diag(y3 + 20), x3)",
        "pt.linalg.solve(pt.assume(pt.eye(3)[::-1] * 1.0, 'orthogonal'), Y3)",
        "(lambda a: pt.linalg.solve(a @ a.T + 2.0 * pt.eye(3), Y3))(pt.abs(X3))",
    ],
)
def solve_with_structure(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """solve(A, b) -> b / diag(A), A.T @ b or by Cholesky: for diagonal, orthogonal, definite A"""
    op: Any = node.op
    a, b = operands(node)
    facts = structure(fgraph, a)
    if facts & Fact.DIAGONAL:
        return as_result(fgraph, node, divided(b, _main_diagonal(a), op.on_error))
    if op.assume_a == "gen" and facts & Fact.ORTHOGONAL:
        return as_result(fgraph, node, _times(matrix_transpose(a), b))
    if op.assume_a == "gen" and facts & Fact.UNITARY:
        return as_result(fgraph, node, _times(adjoint(a), b))
    if op.assume_a != "pos" and not facts & (Fact.LOWER | Fact.UPPER) and _is_definite(fgraph, a):
        if op.assume_a == "sym" and kind(a) == "c":
            return None
        return as_result(fgraph, node, Solve("pos", op.on_error)(a, b))
    return None


@node_rewriter(
    [Inv],
    depth=4,
    tags=["extremes"],
    examples=[
        "pt.linalg.inv(pt.diag(y3 + 20))",
        "pt.linalg.inv(pt.assume(pt.eye(3)[::-1] * 1.0, 'orthogonal')) * Y3",
        "pt.linalg.inv(pt.linalg.inv(X3 + 20 * pt.eye(3)))",
        "(lambda a: pt.linalg.inv(a @ a.T + 2.0 * pt.eye(3)))(pt.abs(X3))",
    ],
)
def inv_with_structure(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """inv(A) -> diag(1 / diag(A)), A.T or by Cholesky: for diagonal, orthogonal, definite A"""
    op: Any = node.op
    (a,) = operands(node)
    if a.owner is not None and isinstance(a.owner.op, Inv):
        return as_result(fgraph, node, a.owner.inputs[0])
    facts = structure(fgraph, a)
    n = sizes_of(a)[-1]
    if facts & Fact.DIAGONAL:
        entries = _main_diagonal(a)
        ones = math.second(entries, np.ones((), a.dtype))
        value: Any = squeeze(divided(expand_dims(ones, -1), entries, op.on_error), -1)
        return as_result(fgraph, node, AllocDiag()(value, n, n))
    if facts & Fact.ORTHOGONAL:
        return as_result(fgraph, node, matrix_transpose(a))
    if facts & Fact.UNITARY:
        return as_result(fgraph, node, adjoint(a))
    if facts & (Fact.LOWER | Fact.UPPER) or not _is_definite(fgraph, a):
        return None
    ones = eye(n, dtype=a.dtype)
    if a.ndim > 2:
        ones = expand_dims(ones, tuple(range(a.ndim - 2)))
    return as_result(fgraph, node, Solve("pos", op.on_error)(a, ones))


_EASY = Fact.DIAGONAL | Fact.ORTHOGONAL | Fact.UNITARY | Fact.LOWER | Fact.UPPER


def _factors(fgraph: FunctionGraph, product: Any) -> tuple[Any, Any] | None:
    """Return two square matrices, one of them easy to invert, given their product."""
    inner = product.owner
    if inner is None or not isinstance(inner.op, Dot | BatchedDot) or product.ndim < 2:
        return None
    a, b = operands(inner)
    if a.ndim < 2 or b.ndim < 2 or a.dtype != product.dtype or b.dtype != product.dtype:
        return None
    left, right = structure(fgraph, a), structure(fgraph, b)
    if not left & right & Fact.SQUARE or not (left | right) & _EASY:
        return None
    return a, b


@node_rewriter(
    [Inv],
    operands=[Dot, BatchedDot],
    tags=["extremes"],
    examples=["pt.linalg.inv((pt.tril(X3) + 9 * pt.eye(3)) @ (Y3 + 20 * pt.eye(3)))"],
)
def inv_of_product(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """inv(A @ B) -> inv(B) @ inv(A), for a diagonal, orthogonal or triangular A or B"""
    op: Any = node.op
    found = _factors(fgraph, node.inputs[0])
    if found is None:
        return None
    a, b = found
    return as_result(fgraph, node, matmul(op(b), op(a)))


# ---- determinants --------------------------------------------------------------------------------


@node_rewriter(
    [Det, SlogDet],
    operands=[Dot, BatchedDot],
    tags=["extremes"],
    examples=[
        "pt.linalg.det((pt.tril(X3) + 2 * pt.eye(3)) @ (Y3 / 8 + pt.eye(3)))",
        "pt.linalg.slogdet((pt.tril(X3) + 9 * pt.eye(3)) @ (Y3 + 20 * pt.eye(3)))[1]",
    ],
)
def det_of_product(fgraph: FunctionGraph, node: Apply) -> list[Variable | None] | None:
    """det(A @ B) -> det(A) * det(B), for a diagonal, orthogonal or triangular A or B"""
    op: Any = node.op
    found = _factors(fgraph, node.inputs[0])
    if found is None:
        return None
    if isinstance(op, Det):
        return as_result(fgraph, node, op(found[0]) * op(found[1]))  # pyright: ignore[reportReturnType]
    (sign, logarithm), (other, more) = op(found[0]), op(found[1])
    return all_results(node, [sign * other, logarithm + more])


@node_rewriter(
    [Det, SlogDet],
    operands=[Inv],
    tags=["extremes"],
    examples=[
        "pt.linalg.det(pt.linalg.inv(X3 + 20 * pt.eye(3)))",
        "pt.linalg.slogdet(pt.linalg.inv(X3 + 20 * pt.eye(3)))[1]",
    ],
)
def det_of_inv(fgraph: FunctionGraph, node: Apply) -> list[Variable | None] | None:
    """det(inv(A)) -> 1 / det(A), where the inverse has no other users"""
    op: Any = node.op
    inverse = node.inputs[0]
    if inverse.owner is None or not isinstance(inverse.owner.op, Inv):
        return None
    if not has_one_client(fgraph, inverse):
        return None
    a = inverse.owner.inputs[0]
    if isinstance(op, Det):
        return as_result(fgraph, node, math.true_div(1, op(a)))  # pyright: ignore[reportReturnType]
    sign, logarithm = op(a)
    return all_results(node, [math.conj(sign) if kind(sign) == "c" else sign, -logarithm])


@node_rewriter(
    [Det, SlogDet],
    depth=4,
    tags=["extremes"],
    examples=[
        "(lambda a: pt.linalg.det(a @ a.T + 2.0 * pt.eye(3)))(pt.abs(X3))",
        "(lambda a: pt.linalg.slogdet(a @ a.T + 2.0 * pt.eye(3))[1])(pt.abs(X3))",
    ],
)
def det_of_definite(fgraph: FunctionGraph, node: Apply) -> list[Variable | None] | None:
    """det(A) -> prod(diag(L))**2, slogdet(A) -> 1, 2 * sum(log(diag(L))), for A = L @ L.T"""
    op: Any = node.op
    (a,) = operands(node)
    if structure(fgraph, a) & (Fact.LOWER | Fact.UPPER) or not _is_definite(fgraph, a):
        return None
    entries = diagonal(Cholesky("nan")(a), 0, a.ndim - 2, a.ndim - 1)
    if isinstance(op, Det):
        return as_result(fgraph, node, math.sqr(prod(entries, axis=-1)))  # pyright: ignore[reportReturnType]
    size = math.real(entries) if kind(entries) == "c" else entries
    logarithm = 2 * sum(math.log(size), axis=-1)
    # NaN where the assumption is wrong.
    sign = math.cast(math.switch(math.isnan(logarithm), np.nan, 1.0), a.dtype)
    return all_results(node, [sign, logarithm])


@node_rewriter(
    [Cholesky],
    operands=[Dot, BatchedDot],
    tags=["extremes"],
    examples=[
        "(lambda c: pt.linalg.cholesky(c @ c.T))(pt.linalg.cholesky(pt.abs(X3) + 30 * pt.eye(3)))"
    ],
)
def cholesky_of_product(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """cholesky(L @ L.T) -> L, for a Cholesky factor L"""
    inner = node.inputs[0].owner
    if inner is None or not isinstance(inner.op, Dot | BatchedDot) or kind(node.inputs[0]) == "c":
        return None
    left, right = inner.inputs
    if left.owner is None or not isinstance(left.owner.op, Cholesky) or turned(right) is not left:
        return None
    return as_result(fgraph, node, left)


@node_rewriter(
    [Cholesky],
    tags=["extremes"],
    examples=["sum(pt.linalg.cholesky(X3 + 30 * pt.eye(3), on_error=e) for e in ('nan', 'raise'))"],
)
def one_cholesky(fgraph: FunctionGraph, node: Apply) -> Mapping[Variable, Variable] | None:
    """cholesky(A, on_error="nan") -> cholesky(A), where that is computed at every call"""
    (a,) = node.inputs
    found = _factor_there(fgraph, a)
    if found is None:
        return None
    replaced: dict[Variable, Variable] = {}
    for client, _ in fgraph.clients[a]:
        if isinstance(client, Apply) and client.op == Cholesky("nan"):
            replaced[client.outputs[0]] = found
    return replaced or None


MATRICES: tuple[NodeRewriter, ...] = (
    transpose_of_symmetric,
    product_with_diagonal,
    diagonal_of_product,
    solve_with_structure,
    inv_with_structure,
    inv_of_product,
    det_of_product,
    det_of_inv,
    *PATTERNED,
    cholesky_of_product,
)
"""Cheaper forms, tried before those of ``linear_algebra.py``."""

LATE_MATRICES: tuple[NodeRewriter, ...] = (det_of_definite,)
"""Forms by factors, tried after those."""

SHARED_FACTORS: tuple[NodeRewriter, ...] = (one_cholesky,)
"""What makes factors equal that differ in what is done about failures only."""
