"""Rules about inverses, determinants, solvers, and least-squares solutions.

Programs are written in terms of what is wanted (`solve`, `inv`, `det`). The first rules replace it
by something that is cheaper or more accurate; the last ones expand it to factors of matrices, which
are then merged: a solution, its gradient and a determinant of one matrix share its factors.

A solution, its gradient and the pseudo-inverse of one matrix then share its decomposition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import phintys.scalar as ps
from phintys.passes._facts import as_result, fits, has_one_client, kind, operands, scalar_node
from phintys.passes._matrix_facts import steps_of, turned, unturned, without_adjoint
from phintys.passes._structure import triangle_of
from phintys.passes.matrices import LATE_MATRICES, MATRICES, SHARED_FACTORS
from phintys.rewriting import late_rules, node_rewriter
from phintys.tensor import math
from phintys.tensor.diagonals import AllocDiag, ExtractDiag, diagonal, eye
from phintys.tensor.dim_shuffle import DimShuffle, expand_dims, matrix_transpose, squeeze
from phintys.tensor.linear_algebra.assumptions import Assume
from phintys.tensor.linear_algebra.cholesky import Cholesky
from phintys.tensor.linear_algebra.determinants import Det, SlogDet
from phintys.tensor.linear_algebra.least_squares import Lstsq, Pinv
from phintys.tensor.linear_algebra.schur import Sylvester
from phintys.tensor.linear_algebra.solving import Inv, Solve
from phintys.tensor.linear_algebra.triangular import SolveTriangular
from phintys.tensor.products import BatchedDot, Dot
from phintys.tensor.ranges import ARange
from phintys.tensor.reduce import prod, sum
from phintys.tensor.shapes import sizes_of

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable


# ---- facts ---------------------------------------------------------------------------------------


def _factor_of(fgraph: FunctionGraph, x: Any) -> Any:
    """Return L if x is ``L L^H`` for a triangular L; else ``None``."""
    node = x.owner
    if node is None or not isinstance(node.op, Dot | BatchedDot) or kind(x) == "c":
        return None
    left, right = node.inputs
    same = turned(right) is left or turned(left) is right
    return left if same and triangle_of(fgraph, left) is not None else None


def _diagonal(x: Any) -> Any:
    return diagonal(x, 0, x.ndim - 2, x.ndim - 1)


# ---- inverses and systems ------------------------------------------------------------------------


@node_rewriter(
    [Dot, BatchedDot],
    operands=[Inv],
    tags=["extremes"],
    examples=["pt.linalg.inv(X3 + 20 * pt.eye(3)) @ y3", "pt.linalg.inv(X3 + 20 * pt.eye(3)) @ Y3"],
)
def inv_times(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """inv(A) @ b -> solve(A, b), where the inverse has no other users"""
    inverse, b = operands(node)
    inner = inverse.owner
    if inner is None or not isinstance(inner.op, Inv) or not has_one_client(fgraph, inverse):
        return None
    solve = Solve("gen", inner.op.on_error)
    with steps_of(inner):
        if b.ndim == 1:
            return as_result(fgraph, node, squeeze(solve(inner.inputs[0], expand_dims(b, -1)), -1))
        return as_result(fgraph, node, solve(inner.inputs[0], b))


@node_rewriter(
    [Dot, BatchedDot],
    operands=[Inv],
    tags=["extremes"],
    examples=["y3 @ pt.linalg.inv(X3 + 20 * pt.eye(3))", "Y3 @ pt.linalg.inv(X3 + 20 * pt.eye(3))"],
)
def times_inv(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """b @ inv(A) -> solve(A.T, b.T).T, where the inverse has no other users"""
    b, inverse = operands(node)
    inner = inverse.owner
    if inner is None or not isinstance(inner.op, Inv) or not has_one_client(fgraph, inverse):
        return None
    solve = Solve("gen", inner.op.on_error)
    a: Any = matrix_transpose(inner.inputs[0])
    with steps_of(inner):
        if b.ndim == 1:
            return as_result(fgraph, node, squeeze(solve(a, expand_dims(b, -1)), -1))
        return as_result(fgraph, node, matrix_transpose(solve(a, matrix_transpose(b))))


@node_rewriter(
    [Solve, Inv],
    depth=4,
    tags=["extremes"],
    examples=[
        "pt.linalg.solve(pt.linalg.cholesky(X3 + X3.T + 30 * pt.eye(3)), y3)",
        "pt.linalg.solve(pt.linalg.cholesky(X3 + X3.T + 30 * pt.eye(3)).T, Y3)",
        "pt.linalg.inv(pt.linalg.cholesky(X3 + X3.T + 30 * pt.eye(3)))",
        "pt.linalg.solve(pt.tril(X3) + 9 * pt.eye(3), Y3)",
    ],
)
def solve_with_triangle(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """solve(L, b) -> solve_triangular(L, b), inv(L) -> solve_triangular(L, I), for triangular L"""
    op: Any = node.op
    a = operands(node)[0]
    found = triangle_of(fgraph, a)
    if found is None or (isinstance(op, Solve) and op.assume_a != "gen"):
        return None
    b: Any = node.inputs[1] if isinstance(op, Solve) else eye(sizes_of(a)[-1], dtype=a.dtype)
    if isinstance(op, Inv) and a.ndim > 2:
        b = expand_dims(b, tuple(range(a.ndim - 2)))
    solve = SolveTriangular(found != "upper", unit_diagonal=False, on_error=op.on_error)
    with steps_of(node):
        return as_result(fgraph, node, solve(a, b))


@node_rewriter(
    [Solve],
    operands=[Dot, BatchedDot],
    tags=["extremes"],
    examples=[
        "(lambda c: pt.linalg.solve(c @ c.T, y3))(pt.linalg.cholesky(X3 + X3.T + 30 * pt.eye(3)))",
    ],
)
def solve_with_product(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """solve(L @ L.T, b) -> solve_triangular(L.T, solve_triangular(L, b)), for triangular L"""
    op: Any = node.op
    a, b = operands(node)
    factor = _factor_of(fgraph, a)
    if factor is None:
        return None
    is_lower = triangle_of(fgraph, factor) != "upper"
    first, second = (
        SolveTriangular(lower, unit_diagonal=False, on_error=op.on_error)
        for lower in (is_lower, not is_lower)
    )
    half = first(factor, b)
    return as_result(fgraph, node, second(matrix_transpose(factor), half))


# ---- determinants --------------------------------------------------------------------------------


@node_rewriter(
    [math.log],
    operands=[Det],
    tags=["extremes"],
    examples=["pt.log(pt.linalg.det(X3 + 20 * pt.eye(3)))"],
)
def log_of_det(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """log(det(A)) -> slogdet(A)[1] where the determinant is not negative, else NaN"""
    value = operands(node)[0]
    inner = value.owner
    if inner is None or not isinstance(inner.op, Det) or kind(value) != "f":
        return None
    sign, logarithm = SlogDet()(inner.inputs[0])
    nan = np.asarray(np.nan, logarithm.dtype)
    return as_result(fgraph, node, math.switch(math.lt(sign, 0), nan, logarithm))


@node_rewriter(
    [math.log],
    operands=[math.abs],
    within=[Det],
    tags=["extremes"],
    examples=["pt.log(abs(pt.linalg.det(X3 - 9 * pt.eye(3))))"],
)
def log_of_abs_det(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """log(abs(det(A))) -> slogdet(A)[1]"""
    size = scalar_node(node.inputs[0], ps.abs)
    inner = None if size is None else size.inputs[0].owner
    if inner is None or not isinstance(inner.op, Det):
        return None
    return as_result(fgraph, node, SlogDet()(inner.inputs[0])[1])


@node_rewriter(
    [Det],
    depth=4,
    tags=["extremes"],
    examples=[
        "pt.linalg.det(pt.linalg.cholesky(X3 + X3.T + 30 * pt.eye(3)))",
        "pt.linalg.det(pt.diag(x3))",
        "pt.linalg.det(pt.diag(x3) @ pt.diag(y3))",
        "(lambda c: pt.linalg.det(c @ c.T))(pt.linalg.cholesky(X3 + X3.T + 30 * pt.eye(3)))",
    ],
)
def det_of_triangle(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """det(L) -> prod(diag(L)), det(L @ L.T) -> prod(diag(L))**2, for triangular L"""
    (a,) = operands(node)
    if triangle_of(fgraph, a) is not None:
        return as_result(fgraph, node, prod(_diagonal(a), axis=-1))
    factor = _factor_of(fgraph, a)
    if factor is None:
        return None
    return as_result(fgraph, node, math.sqr(prod(_diagonal(factor), axis=-1)))


@node_rewriter(
    [SlogDet],
    depth=4,
    tags=["extremes"],
    examples=[
        "pt.linalg.slogdet(pt.linalg.cholesky(X3 + X3.T + 30 * pt.eye(3)))[1]",
        "pt.linalg.slogdet(pt.diag(x3))[0]",
        "(lambda c: pt.linalg.slogdet(c @ c.T))(pt.linalg.cholesky(X3 + X3.T + 30 * pt.eye(3)))[1]",
    ],
)
def slogdet_of_triangle(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """slogdet(L) -> prod(sign(diag(L))), sum(log(abs(diag(L)))), for triangular L; or L @ L.T"""
    (a,) = operands(node)
    factor = a if triangle_of(fgraph, a) is not None else _factor_of(fgraph, a)
    if factor is None or kind(factor) == "c":
        return None
    entries = _diagonal(factor)
    sign = prod(math.sign(entries), axis=-1)
    logarithm = sum(math.log(math.abs(entries)), axis=-1)
    if factor is not a:
        sign, logarithm = math.sqr(sign), 2 * logarithm
    return _both(node, [sign, logarithm])


@node_rewriter(
    [Det],
    operands=[DimShuffle],
    tags=["extremes"],
    examples=["pt.linalg.det((X3 + 9 * pt.eye(3)).T)"],
)
def det_of_transpose(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """det(A.T) -> det(A)"""
    a = turned(node.inputs[0])
    return None if a is None else as_result(fgraph, node, node.op(a))


# ---- factors -------------------------------------------------------------------------------------


def _both(node: Apply, values: list[Any]) -> list[Variable] | None:
    types: list[Any] = [variable.type for variable in node.outputs]
    fit = all(fits(type_, value.type) for type_, value in zip(types, values, strict=True))
    return values if fit else None


@node_rewriter(
    [Solve],
    tags=["extremes"],
    examples=[
        "pt.linalg.solve(X3 + 20 * pt.eye(3), y3)",
        "pt.linalg.solve((X3 + 20 * pt.eye(3)).T, Y3)",
        "pt.linalg.solve(X3 + X3.T + 30 * pt.eye(3), y3, assume_a='pos')",
    ],
)
def solve_by_factors(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """solve(A, b) -> b solved with the LU or Cholesky factors of A, which others may share"""
    op: Any = node.op
    a, b = operands(node)
    kind = 0
    if op.assume_a == "gen":
        a, kind = unturned(a)
    with steps_of(node):
        return as_result(fgraph, node, op.expanded(a, b, kind))


@node_rewriter([Inv], tags=["extremes"], examples=["pt.linalg.inv(X3 + 20 * pt.eye(3))"])
def inv_by_factors(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """inv(A) -> the identity solved with the LU factors of A, which others may share"""
    op: Any = node.op
    with steps_of(node):
        return as_result(fgraph, node, op.expanded(operands(node)[0]))


@node_rewriter([Det], tags=["extremes"], examples=["pt.linalg.det(X3 + 20 * pt.eye(3))"])
def det_by_factors(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """det(A) -> prod(diag(U)) and its sign, by the LU factors of A, which others may share"""
    op: Any = node.op
    with steps_of(node):
        return as_result(fgraph, node, op.expanded(operands(node)[0]))


@node_rewriter([SlogDet], tags=["extremes"], examples=["pt.linalg.slogdet(X3 - 20 * pt.eye(3))[1]"])
def slogdet_by_factors(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """slogdet(A) -> signs and logarithms of diag(U), by the LU factors of A"""
    op: Any = node.op
    with steps_of(node):
        return _both(node, list(op.expanded(operands(node)[0])))


@node_rewriter(
    [Sylvester],
    tags=["extremes"],
    examples=[
        "pt.linalg.solve_sylvester(X3 + 20 * pt.eye(3), X3.T + 9 * pt.eye(3), Y3)",
        "pt.linalg.solve_continuous_lyapunov(X3 + 20 * pt.eye(3), Y3)",
    ],
)
def sylvester_by_schur_forms(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """solve_sylvester(A, B, Q) -> by the Schur forms of A and B, which others may share"""
    op: Any = node.op
    *matrices, q = operands(node)
    (a, turn_a), (b, turn_b) = (without_adjoint(matrix) for matrix in matrices)
    with steps_of(node):
        return as_result(fgraph, node, op.expanded(a, b, q, turn_a=turn_a, turn_b=turn_b))


_MATRICES = [Cholesky, Det, Inv, SlogDet, Solve]

STABILIZE_LINEAR_ALGEBRA = late_rules(
    *MATRICES,
    inv_times,
    times_inv,
    solve_with_triangle,
    solve_with_product,
    log_of_abs_det,
    log_of_det,
    det_of_triangle,
    slogdet_of_triangle,
    det_of_transpose,
    *LATE_MATRICES,
    needs=[*_MATRICES, ARange, AllocDiag, Assume, ExtractDiag],
)
"""Cheaper or more accurate forms."""

EXPAND_LINEAR_ALGEBRA = late_rules(
    solve_by_factors,
    inv_by_factors,
    det_by_factors,
    slogdet_by_factors,
    sylvester_by_schur_forms,
    *SHARED_FACTORS,
    needs=[*_MATRICES, Sylvester],
)
"""Expansions to factors."""


@node_rewriter(
    [Lstsq, Pinv],
    tags=["extremes"],
    examples=[
        "pt.linalg.pinv(X3 + 20 * pt.eye(3))",
        "pt.linalg.pinv((X3 + 20 * pt.eye(3)).T)",
        "pt.linalg.pinv(X3 + X3.T + 30 * pt.eye(3), hermitian=True)",
        "pt.linalg.lstsq(X3 + 20 * pt.eye(3), y3).x",
        "pt.linalg.lstsq((X3 + 20 * pt.eye(3)).T, Y3).x",
    ],
)
def least_squares_by_factors(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """lstsq(A, b), pinv(A) -> by the singular values and vectors of A, which others may share"""
    op: Any = node.op
    a, *others = operands(node)
    options: dict[str, Any] = {}
    if not getattr(op, "hermitian", False):
        a, options["turn"] = without_adjoint(a)
    with steps_of(node):
        return as_result(fgraph, node, op.expanded(a, *others, **options))


EXPAND_LEAST_SQUARES = late_rules(least_squares_by_factors, needs=[Lstsq, Pinv])
"""Expansions to singular values."""
