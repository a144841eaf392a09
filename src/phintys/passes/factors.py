"""Rules about gradients through Cholesky factors.

The log-density of a normal distribution is made of ``log(diag(L))`` and ``x = L^-1 b``. The
gradients for L are a diagonal matrix ``diag(c / diag(L))`` and the triangle of an outer product
``(L^-T w) x^T``; through the factorization, they become a multiple of the inverse and, where w is a
multiple of x, an outer product again. Neither needs a product or a system of full matrices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import phintys.scalar as ps
from phintys.graph.variable import Constant
from phintys.passes._facts import as_result, kind, operands, scalar_node
from phintys.passes._matrix_facts import only_item, turned
from phintys.passes._structure import triangle_of
from phintys.rewriting import late_rules, node_rewriter
from phintys.tensor import math
from phintys.tensor.diagonals import AllocDiag, ExtractDiag, tril
from phintys.tensor.dim_shuffle import DimShuffle, expand_dims, matrix_transpose
from phintys.tensor.known import known_int
from phintys.tensor.linear_algebra.cholesky import (
    Cholesky,
    CholeskyAdjoint,
    CholeskyInverse,
    half_lower,
)
from phintys.tensor.linear_algebra.triangular import SolveTriangular
from phintys.tensor.products import BatchedDot, Dot, matmul
from phintys.tensor.ranges import ARange

if TYPE_CHECKING:
    from collections.abc import Iterator

    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable

_MOST_STEPS = 8


def _counted(x: Any) -> int | None:
    """Return the axis, from the end, along which x is 0, 1, 2 ..., and constant along others."""
    node = x.owner
    if node is None or not isinstance(node.op, DimShuffle):
        return None
    axes = [axis for axis, source in enumerate(node.op.new_order) if source != "x"]
    inner: Any = node.inputs[0]
    if len(axes) != 1 or inner.owner is None or not isinstance(inner.owner.op, ARange):
        return None
    start, _, step = inner.owner.inputs
    return axes[0] - x.ndim if (known_int(start), known_int(step)) == (0, 1) else None


def _read(x: Any) -> Any:
    """Return y if x is ``tril(y)`` (as :func:`~phintys.tensor.tril` writes it), else x."""
    node = scalar_node(x, ps.switch)
    if node is None:
        return x
    condition, inside, _ = operands(node)
    if inside.type.broadcastable != x.type.broadcastable:
        return x
    if isinstance(condition, Constant):
        return inside if _is_lower(condition.data) else x
    padded = condition.owner
    if padded is not None and isinstance(padded.op, DimShuffle):  # for stacks
        (condition,) = operands(padded)
        if padded.op.new_order != (*"x" * (x.ndim - 2), 0, 1) or condition.ndim != 2:
            return x
    test = scalar_node(condition, ps.ge)
    if test is None or [_counted(one) for one in test.inputs] != [-2, -1]:
        return x
    return inside


def _is_lower(mask: Any) -> bool:
    """Return whether a mask, or each of a stack of them, is that of a lower triangle."""
    return mask.ndim >= 2 and bool(np.all(mask == np.tri(*mask.shape[-2:], dtype="bool")))


def _stack_of_one(x: Any) -> Any:
    """Return y if x is ``y[0]`` for a stack y of one matrix, else ``None``."""
    node = x.owner
    if node is None or not isinstance(node.op, DimShuffle) or node.op.drop != [0]:
        return None
    return node.inputs[0] if node.op.new_order == tuple(range(1, x.ndim + 1)) else None


def _terms(x: Any, sign: int = 1) -> Iterator[tuple[int, Any]]:
    """Yield the signs and terms of a sum of matrices, of which the lower triangles are read."""
    x = _read(x)
    stack = _stack_of_one(x)
    if stack is not None:
        yield from ((its, only_item(term)) for its, term in _terms(stack, sign))
        return
    node = scalar_node(x, ps.add, ps.sub, ps.neg)
    if node is None or any(one.type.ndim != x.ndim for one in operands(node)):
        yield sign, x
        return
    is_sum = scalar_node(x, ps.add) is not None
    for at, one in enumerate(node.inputs):
        is_less = not is_sum and at == len(node.inputs) - 1
        yield from _terms(one, -sign if is_less else sign)


def _scale_of_inverse(x: Any, factor: Any) -> Any:
    """Return c, for each matrix, if x is ``diag(c / diag(L))`` for the factor L; else ``None``."""
    node = x.owner
    if node is None or not isinstance(node.op, AllocDiag) or node.op.offset != 0:
        return None
    less = scalar_node(node.inputs[0], ps.neg)
    ratio = scalar_node(node.inputs[0] if less is None else less.inputs[0], ps.true_div)
    if ratio is None:
        return None
    c, entries = operands(ratio)
    own = entries.owner
    if own is None or own.op != ExtractDiag() or own.inputs[0] is not factor:
        return None
    if c.ndim != x.ndim - 1 or c.type.shape[-1] != 1:
        return None
    return expand_dims(c if less is None else -c, -1)


def _outer(x: Any) -> tuple[Any, Any] | None:
    """Return u and v if x is ``u v^T``; else ``None``."""
    node = x.owner
    if node is not None and isinstance(node.op, Dot | BatchedDot) and x.ndim >= 2:
        u, v = operands(node)[0], turned(node.inputs[1])
        return None if v is None or u.ndim != x.ndim else (u, v)
    node = scalar_node(x, ps.mul)
    if node is None or len(node.inputs) != 2:
        return None
    left, right = operands(node)
    pairs = [(left, turned(right)), (right, turned(left))]
    for u, v in pairs:
        if v is not None and u.type.shape[-1] == 1 and v.type.shape[-1] == 1:
            return u, v
    return None


def _ratio(x: Any, y: Any) -> int | None:
    """Return 1 or -1 if x is y times that, 0 if it is y times another number; else ``None``.

    Axes of length 1 may come and go.
    """
    sign = 1
    for _ in range(_MOST_STEPS):
        if x is y:
            return sign
        node = x.owner
        if node is None:
            return None
        if isinstance(node.op, DimShuffle):
            sizes = node.inputs[0].type.shape
            kept = [axis for axis in node.op.new_order if axis != "x" and sizes[axis] != 1]
            if kept != sorted(kept):
                return None
            x = node.inputs[0]
            continue
        if scalar_node(x, ps.neg, ps.mul) is None:
            return None
        wide = [one for one in operands(node) if not all(size == 1 for size in one.type.shape)]
        if len(wide) != 1:
            return None
        sign = -sign if scalar_node(x, ps.neg) is not None else 0
        x = wide[0]
    return None


def _outer_gradient(x: Any, factor: Any) -> tuple[int, Any] | None:
    """Return the gradient for ``L L^T``, and its sign, if the gradient for L is an outer product.

    For ``u v'^T`` it is ``u v^T``, if ``u = L^-T w`` for a multiple w of v'; ``v = L^-T v'``.
    """
    found = _outer(x)
    if found is None:
        return None
    u, right = found
    node = u.owner
    if node is None or not isinstance(node.op, SolveTriangular) or node.op.unit_diagonal:
        return None
    matrix, mine = node.inputs
    if node.op.lower or turned(matrix) is not factor:
        return None
    ratio = _ratio(mine, right)
    if ratio is None:
        return None
    v = node.op(matrix, right) if ratio == 0 else u
    turned_v = matrix_transpose(v)
    product = math.mul(u, turned_v) if u.type.shape[-1] == 1 else matmul(u, turned_v)
    return -1 if ratio == -1 else 1, product


@node_rewriter(
    [CholeskyAdjoint],
    tags=["extremes"],
    examples=[
        (
            "phintys.tensor.linear_algebra.cholesky.CholeskyAdjoint()("
            "pt.linalg.cholesky(X3 @ X3.T + 9 * pt.eye(3)), Y3)"
        ),
    ],
)
def gradient_by_factors(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """The gradients of log(diag(L)) and of (L^-1 b)^2 for L L^T are its inverse and a a^T.

    What else there is becomes a product and triangular systems, which large matrices need. Those of
    a stack are left to the Op.
    """
    op: Any = node.op
    factor, g = operands(node)
    known: Any = None
    rest: Any = None
    for sign, term in _terms(g):
        pair: tuple[int, Any] | None = None
        if kind(factor) != "c":
            scale = _scale_of_inverse(term, factor)
            if scale is not None:
                pair = 1, scale * CholeskyInverse()(factor)
            else:
                pair = _outer_gradient(term, factor)
        if pair is None:
            term = term if sign > 0 else -term
            rest = term if rest is None else rest + term
        elif known is None:
            known = pair[1] if pair[0] == sign else -pair[1]
        else:
            known = known + pair[1] if pair[0] == sign else known - pair[1]
    clean = factor if triangle_of(fgraph, factor) == "lower" else tril(factor)
    is_stack = factor.ndim > 2 and kind(factor) != "c"
    if known is None and is_stack:
        return None
    if known is None:
        return as_result(fgraph, node, op.expanded(clean, g))
    own = factor.owner
    if own is not None and isinstance(own.op, Cholesky):
        known = half_lower(known, own.inputs[0])
    else:
        known = half_lower(known, factor)
    if rest is None:
        return as_result(fgraph, node, known)
    return as_result(fgraph, node, known + (op if is_stack else op.expanded)(clean, rest))


EXPAND_FACTORS = late_rules(gradient_by_factors, needs=[CholeskyAdjoint])
"""Expansions of gradients."""
