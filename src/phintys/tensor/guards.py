"""Gradients of guarded expressions: branches excluded by a condition contribute nothing.

In ``switch(x > 0, sqrt(x), 0)`` the gradient that flows into the square root is
``switch(x > 0, g, 0)``, zero where the branch is not taken. Multiplied by the derivative, which
is infinite at 0, it would be NaN there. So an elementwise Op whose incoming gradient is known to be
zero outside a condition multiplies inside it: ``switch(c, g, 0)`` times f' is taken as
``switch(c, g * f', 0)``, and the next Op below again finds the condition outermost. The two are
equal wherever f' is finite.

The condition is found at the gradient itself, or below operations that only move, repeat or add
elements: changes of rank and shape, indexing, fills, sums of several gradients, and sums over
broadcast dimensions.
"""

from __future__ import annotations

from functools import reduce as fold
from typing import TYPE_CHECKING, Any, NamedTuple

import phintys.scalar as ps
from phintys._base.late import LateModule, is_imported
from phintys.graph.null_type import DisconnectedType, NullType
from phintys.scalar.casting import Cast
from phintys.scalar.row import Row
from phintys.tensor import math, reduce
from phintys.tensor.creation import is_known_zero
from phintys.tensor.dim_shuffle import DimShuffle
from phintys.tensor.elemwise import Elemwise
from phintys.tensor.indexing.basic import Subtensor
from phintys.tensor.joining import Split
from phintys.tensor.reduce import Reduce
from phintys.tensor.reshaping import Reshape
from phintys.tensor.variable import TensorConstant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.apply import Apply
    from phintys.scalar.op import ScalarOp
    from phintys.tensor.indexing import advanced, update
else:
    advanced = LateModule("phintys.tensor.indexing.advanced")
    update = LateModule("phintys.tensor.indexing.update")

_MOST_STEPS = 8  # from the gradient down to its condition

# Their partials are constant, and pass the gradient on unchanged, with its condition.
_PASS_ON = frozenset({ps.add, ps.second, ps.identity, ps.pos})

# Rows whose derivative is unbounded at finite arguments. Conditions that must be computed first,
# over broadcast or overwritten elements, are looked for here only.
_STEEP = frozenset({
    *(ps.sqrt, ps.cbrt, ps.log, ps.log2, ps.log10, ps.log1p, ps.log1mexp, ps.xlogy, ps.xlog1py),
    *(ps.reciprocal, ps.true_div, ps.pow, ps.hypot),
    *(ps.arcsin, ps.arccos, ps.arccosh, ps.arctanh),
})  # fmt: skip


class Guard(NamedTuple):
    """A gradient that is ``inner`` where a condition holds (or fails), and zero elsewhere."""

    condition: Any
    holds: bool
    inner: Any

    def around(self, x: Any) -> Any:
        """Return ``x`` where the gradient can be nonzero, else 0."""
        return self._choose(x, 0) if self.holds else self._choose(0, x)

    def _choose(self, a: Any, b: Any) -> Any:
        return math.switch(self.condition, a, b)

    def truth(self) -> Any:
        """Return where the gradient can be nonzero, as bools."""
        if self.condition.dtype != "bool":
            return (math.neq if self.holds else math.eq)(self.condition, 0)
        return self.condition if self.holds else math.invert(self.condition)

    def along(self, op: Any, *rest: Any) -> Guard:
        """Return the guard after an Op that moves or repeats elements."""
        return Guard(op(self.condition, *rest), self.holds, op(self.inner, *rest))


def pull_back_guarded(
    scalar_op: ScalarOp,
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    output_grads: Sequence[Any],
) -> list[Any]:
    """Apply a scalar op's ``L_op`` to tensors, inside the condition of its gradient."""
    guard = None
    if len(outputs) == 1 and scalar_op not in _PASS_ON:
        steep = scalar_op in _STEEP or not isinstance(scalar_op, Row)
        guard = _guard_of(output_grads[0], steep)
    if guard is None:
        return list(scalar_op.L_op(inputs, outputs, output_grads))
    gradients = scalar_op.L_op(inputs, outputs, [guard.inner])
    return [_guarded(gradient, guard, output_grads[0]) for gradient in gradients]


def _guarded(gradient: Any, guard: Guard, whole: Any) -> Any:
    if gradient is guard.inner:
        return whole
    if isinstance(gradient.type, NullType | DisconnectedType) or is_known_zero(gradient):
        return gradient
    return guard.around(gradient)


def _is_cast(op: Elemwise) -> bool:
    return isinstance(op.scalar_op, Cast) and not op.inplace_pattern


# ---- finding the condition -----------------------------------------------------------------------


def _guard_of(g: Any, steep: bool, steps: int = _MOST_STEPS) -> Guard | None:
    """Return the guard of a gradient, if it is known to be zero outside some condition."""
    node = g.owner
    if node is None or steps == 0:
        return None
    op = node.op
    if isinstance(op, Elemwise):
        return _of_elemwise(node, g, steep, steps - 1)
    if isinstance(op, DimShuffle):
        found = _guard_of(node.inputs[0], steep, steps - 1)
        return None if found is None else found.along(op)
    if isinstance(op, Reshape | Subtensor | Split) or _selects(op):
        found = _guard_of(node.inputs[0], steep, steps - 1)
        return None if found is None else _of_places(node, g, found)
    if steep and isinstance(op, Reduce) and op.scalar_op is ps.add:
        found = _guard_of(node.inputs[0], steep, steps - 1)
        if found is None:
            return None
        whole = _filled(node.inputs[0], found.truth())
        return Guard(reduce.any(whole, axis=op.axes(whole.ndim)), True, g)
    if steep and _updates(op):
        return _of_overwritten(node, g)
    return None


def _selects(op: object) -> bool:
    return is_imported(advanced) and isinstance(op, advanced.AdvancedSubtensor)


def _updates(op: object) -> bool:
    return is_imported(update) and isinstance(op, update.AdvancedIncSubtensor | update.IncSubtensor)


def _of_elemwise(node: Apply, g: Any, steep: bool, steps: int) -> Guard | None:
    op: Any = node.op
    scalar_op = op.scalar_op
    if op.inplace_pattern:
        return None
    if scalar_op is ps.switch:
        found = _of_switch(node, g)
        return None if found is None else _merged(found, _guard_of(found.inner, steep, steps))
    if scalar_op is ps.second:
        found = _guard_of(node.inputs[1], steep, steps)
        return None if found is None else found._replace(inner=op(node.inputs[0], found.inner))
    if _is_cast(op) and g.type.numpy_dtype.kind in "fc":
        found = _guard_of(node.inputs[0], steep, steps)
        return None if found is None else found._replace(inner=op(found.inner))
    return _of_sum(node, g, steep, steps) if scalar_op is ps.add else None


def _of_switch(node: Apply, g: Any) -> Guard | None:
    condition, yes, no = node.inputs
    for zero, inner, holds in ((no, yes, True), (yes, no, False)):
        if (
            isinstance(zero, TensorConstant)
            and all(zero.type.broadcastable)
            and not zero.data.any()
            and inner.type.dtype == g.type.dtype  # pyright: ignore[reportAttributeAccessIssue]
        ):
            return Guard(condition, holds, inner)
    return None


def _merged(outer: Guard, inner: Guard | None) -> Guard:
    """Return a single guard for nested guards."""
    if inner is None:
        return outer
    if inner.condition is outer.condition and inner.holds == outer.holds:
        return inner
    return Guard(math.and_(outer.truth(), inner.truth()), True, inner.inner)


def _of_sum(node: Apply, g: Any, steep: bool, steps: int) -> Guard | None:
    """switch(c, x, 0) + switch(d, y, 0) is zero where neither c nor d holds"""
    found: list[Guard] = []
    for term in node.inputs:
        guard = _guard_of(term, steep, steps)
        if guard is None:
            return None
        found.append(guard)
    first = found[0]
    if all(one.condition is first.condition and one.holds == first.holds for one in found):
        return first._replace(inner=g)
    return Guard(fold(math.or_, [one.truth() for one in found]), True, g)


def _of_places(node: Apply, g: Any, found: Guard) -> Guard:
    """Apply the index or reshape that was applied to the gradient to its condition."""
    x, rest, op = node.inputs[0], node.inputs[1:], node.op
    full = Guard(_filled(x, found.condition), found.holds, _filled(x, found.inner))

    def moved(one: Any, *others: Any) -> Any:
        return op(one, *others, return_list=True)[g.index]

    return full.along(moved, *rest)


def _filled(x: Any, part: Any) -> Any:
    """Return a part of an elementwise expression in the shape of the whole."""
    return part if part.type.broadcastable == x.type.broadcastable else math.second(x, part)


def _of_overwritten(node: Apply, g: Any) -> Guard | None:
    """set_subtensor(x[i], 0) is zero at i"""
    op: Any = node.op
    x, y, *indices = node.inputs
    if not op.set_instead_of_inc or op.inplace or not is_known_zero(y):
        return None
    everywhere = math.second(x, True)
    return Guard(op(everywhere, math.cast(y, "bool"), *indices), True, g)
