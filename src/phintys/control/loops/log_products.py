"""Logarithms of sums of exponentials in a step, of which part is the same in all steps.

With ``x[i, j] = u[i] + m[i, j]``, where m does not change, ``logsumexp(x, axis=0)`` is the
logarithm of the product of ``exp(u)`` and the matrix ``exp(m)``, whose exponentials are taken once
for the whole loop. Recursions over the states of hidden Markov models and of conditional random
fields have this form, and so have those of optimal transport. Exponents are shifted so that neither
factor overflows: those of u by the largest, which costs least in a step, and those of m by the
logarithm of their sum, which unlike the largest exists if there are none, so that it can be taken
before a loop without steps. Where a product underflows, or nearly so, the step takes the sum
itself: after infinities and NaN too, whose comparison fails.
"""

from __future__ import annotations

from functools import reduce
from operator import is_
from typing import TYPE_CHECKING, Any

import numpy as np

import phintys.scalar as ps
from phintys._base.origin import inherit_origin
from phintys.control.branches import IfElse
from phintys.control.loop_derivatives.residuals import always_computed
from phintys.gradient.marks import zero_grad
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.traversal import io_toposort
from phintys.graph.variable import Constant
from phintys.tensor import math
from phintys.tensor.contractions.einsum import einsum
from phintys.tensor.dim_shuffle import squeeze
from phintys.tensor.elemwise import Elemwise
from phintys.tensor.reduce import all as all_of
from phintys.tensor.reduce import max as largest_of
from phintys.tensor.softmaxes import LogSumExp, logsumexp

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Sequence

    from phintys.control.loops.loop_op import LoopOp
    from phintys.graph.apply import Apply
    from phintys.graph.variable import Variable

    _Wrap = tuple[Callable[..., Any], tuple[Any, ...]]
    """A function, and its operands after the first."""

_MOST_LOST = 4
"""Products are taken down to this power of the precision. Their logarithm has an error of up to 150
times the precision, which numbers of that size have anyway."""

_REAL = {"float32", "float64"}


def with_log_products(op: LoopOp) -> LoopOp:
    """Return a loop that multiplies in place of sums of exponentials, or the loop itself.

    Parameters
    ----------
    op
        The loop.
    """
    nodes = io_toposort(op.inner_inputs, op.inner_outputs)
    if not any(isinstance(node.op, LogSumExp) for node in nodes):
        return op
    same = set(op.step_inputs.captured)
    always = always_computed(op.inner_outputs)
    new: dict[Variable, Any] = {}
    for node in nodes:
        inputs = [new.get(x, x) for x in node.inputs]
        one = node if all(map(is_, inputs, node.inputs)) else node.clone_with_new_inputs(inputs)
        if all(isinstance(x, Constant) or x in same for x in inputs):
            same.update(one.outputs)
        results: Sequence[Any] = one.outputs
        if isinstance(node.op, LogSumExp) and node.outputs[0] in always:
            results = [_by_product(one, same)]
        new.update((x, y) for x, y in zip(node.outputs, results, strict=True) if x is not y)
    if not new:
        return op
    step = FunctionGraph(op.inner_inputs, [new.get(out, out) for out in op.inner_outputs])
    return op.with_inner(step)


def _by_product(node: Apply, same: Container[Variable]) -> Any:
    """Return a logsumexp by a product, or the output of the node if there is none."""
    x: Any = node.inputs[0]
    op: Any = node.op
    axes = op.axes(x.ndim)
    if x.owner is None or x.type.dtype not in _REAL or any(x.type.broadcastable):
        return node.outputs[0]
    with inherit_origin(x.owner.origin):
        moving: list[Any] = []
        fixed: list[Any] = []
        outside: list[Any] = []
        for term, is_same in _terms(x, same):
            is_outside = all(term.type.broadcastable[dim] for dim in axes)
            (outside if is_outside else fixed if is_same else moving).append(term)
        factors = [reduce(math.add, terms) for terms in (moving, fixed) if terms]
        if not _is_product(factors, axes):
            return node.outputs[0]
        shifts = _shifts(factors[0], factors[1], axes)
        labelled: list[Any] = []
        for factor, shift in zip(factors, shifts, strict=True):
            dims = [dim for dim in range(x.ndim) if not factor.type.broadcastable[dim]]
            others = [dim for dim in range(x.ndim) if factor.type.broadcastable[dim]]
            labelled += [squeeze(math.exp(math.sub(factor, shift)), others), dims]
        total = einsum(*labelled, [dim for dim in range(x.ndim) if dim not in axes])
        least = np.asarray(np.finfo(x.type.dtype).eps ** _MOST_LOST, x.type.dtype)
        is_safe = all_of(math.gt(total, least))
        # Bounded, so that its derivative is finite, times 0, where the sum itself is taken.
        product = math.log(math.maximum(total, least))
        by_product = math.add(product, squeeze(reduce(math.add, (*outside, *shifts)), axes))
    with inherit_origin(node.origin):
        return IfElse(1)(is_safe, by_product, node.outputs[0])


def _shifts(moving: Any, fixed: Any, axes: tuple[int, ...]) -> list[Any]:
    """Return the shifts of exponents; finite, even where all of these are minus infinity.

    No gradient flows through them: the sum does not depend on them.
    """
    lowest = np.asarray(np.finfo(moving.type.dtype).min, moving.type.dtype)
    largest = largest_of(moving, axes, keepdims=True, initial=lowest)
    total = math.maximum(logsumexp(fixed, axes, keepdims=True), lowest)
    return [zero_grad(largest), zero_grad(total)]


def _is_product(factors: Sequence[Any], axes: Sequence[int]) -> bool:
    """Return whether two factors have all axes, and the first, which moves, lacks one that is kept.

    Where both lack it, only a term outside of the sum has it.
    """
    if len(factors) < 2:
        return False
    moving, fixed = (factor.type.broadcastable for factor in factors)
    if any(moving[dim] or fixed[dim] for dim in axes):
        return False
    kept = [dim for dim in range(len(moving)) if dim not in axes]
    return any(moving[dim] for dim in kept) and not any(moving[d] and fixed[d] for d in kept)


def _terms(x: Any, same: Container[Variable]) -> Iterator[tuple[Any, bool]]:
    """Yield the terms of a sum or difference, or of its multiple, and whether each is the same."""
    stack: list[tuple[Any, tuple[_Wrap, ...]]] = [(x, ())]
    while stack:
        term, wraps = stack.pop()
        is_same = term in same or isinstance(term, Constant)
        parts = None if is_same else _parts(term)
        if parts is not None:
            stack += [(part, (*wraps, *wrap)) for part, wrap in reversed(parts)]
            continue
        for function, others in reversed(wraps):
            term = function(term, *others)
            is_same = is_same and all(one in same or isinstance(one, Constant) for one in others)
        yield term, is_same


def _parts(x: Any) -> list[tuple[Any, tuple[_Wrap, ...]]] | None:
    """Return the terms that a variable is computed from, and what is done with each."""
    node = x.owner
    if node is None or not isinstance(node.op, Elemwise):
        return None
    function, inputs = node.op.scalar_op, node.inputs
    if function is ps.add:
        return [(term, ()) for term in inputs]
    if function is ps.sub:
        return [(inputs[0], ()), (inputs[1], ((math.neg, ()),))]
    if function is ps.neg:
        return [(inputs[0], ((math.neg, ()),))]
    if function not in {ps.mul, ps.true_div}:
        return None
    sums = [term for term in inputs if not all(term.type.broadcastable)]
    if len(sums) != 1 or (function is ps.true_div and sums[0] is not inputs[0]):
        return None
    scales = tuple(term for term in inputs if term is not sums[0])
    return [(sums[0], ((math.mul if function is ps.mul else math.true_div, scales),))]
