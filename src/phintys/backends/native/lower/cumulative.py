"""Lowering of running sums, products and extremes, and of linear recurrences.

Each element of such a result is computed from the previous one: ``t[i + 1] = t[i] + x[i + 1]``. The
loop along the axis runs in order; other axes can be vectorized.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from phintys import scalar as ps
from phintys.backends.native.expressions import Expression, Index, Literal, Operation, Position
from phintys.backends.native.failures import Failure, Given
from phintys.backends.native.lower.lowering import Loops, Lowering, lowers
from phintys.backends.native.lower.view import View
from phintys.graph.apply import Apply
from phintys.tensor.cumulative import CumOp, LinearRecurrence
from phintys.tensor.running_extremes import RunningArgExtreme, RunningExtreme

if TYPE_CHECKING:
    from phintys.backends.native.sizes import Size

_BOOL, _INT64 = np.dtype("bool"), np.dtype("int64")

_OPS = {"add": ps.add, "mul": ps.mul}
_OPS_OF_BOOLS = {"add": ps.or_, "mul": ps.and_}

First = Callable[[Loops], Expression]
"""Returns the first element along the axis."""

Next = Callable[[Expression, Loops], Expression]
"""Returns an element, given the previous one; the loop along the axis counts from 0."""


def run_along(
    target: View, axis: int, first: First, following: Next, node: Apply, lowering: Lowering
) -> None:
    """Store ``target[0] = first``, then ``target[i + 1] = following(target[i], i)``, along an axis.

    The axis may be empty.
    """
    sizes = lowering.sizes
    zero, one = sizes.fixed(0), sizes.fixed(1)
    count = target.sizes[axis]

    def lengths(along: Size) -> Sequence[Size]:
        return [*target.sizes[:axis], along, *target.sizes[axis + 1 :]]

    is_there = sizes.arithmetic("min", count, one)
    begin = target.sliced(axis, zero, one, is_there, sizes)
    loops = lowering.loops(lengths(is_there))
    lowering.store(begin, first(loops), loops, nodes=(node,))
    left = sizes.at_least_zero(sizes.sub(count, one))
    before = target.sliced(axis, zero, one, left, sizes)
    after = target.sliced(axis, one, one, left, sizes)
    loops = lowering.loops(lengths(left))
    value = following(before.load(loops), loops)
    lowering.store(after, value, loops, nodes=(node,), sequential=[loops[axis]])


def _tail(view: View, axis: int, lowering: Lowering) -> View:
    """Return the elements along an axis from the second one on."""
    sizes = lowering.sizes
    left = sizes.at_least_zero(sizes.sub(view.sizes[axis], sizes.fixed(1)))
    return view.sliced(axis, sizes.fixed(1), sizes.fixed(1), left, sizes)


def _backwards(view: View, axis: int, lowering: Lowering) -> View:
    """Return the elements in reverse order along an axis."""
    sizes = lowering.sizes
    size = view.sizes[axis]
    last = sizes.sub(size, sizes.fixed(1))
    return view.sliced(axis, last, sizes.fixed(-1), size, sizes)


@lowers(CumOp)
def lower_cum_op(op: CumOp, node: Apply, lowering: Lowering) -> None:
    """``out[0] = x[0]; out[i + 1] = out[i] + x[i + 1]``, in the order and dtype of NumPy."""
    x = lowering.view(node.inputs[0])
    dtype = x.array.dtype
    target, _ = lowering.compute(node.outputs[0], x.sizes)
    scalar_op = (_OPS_OF_BOOLS if dtype == np.bool_ else _OPS)[op.mode]
    if op.reverse:
        x, target = (_backwards(view, op.axis, lowering) for view in (x, target))
    start = x
    rest = x if op.exclusive else _tail(x, op.axis, lowering)

    def first(loops: Loops) -> Expression:
        if op.exclusive:
            return Literal(dtype.type(0 if op.mode == "add" else 1), dtype)
        return lowering.load(start, loops)

    def following(before: Expression, loops: Loops) -> Expression:
        return Operation(scalar_op, (before, lowering.load(rest, loops)), dtype)

    run_along(target, op.axis, first, following, node, lowering)


@lowers(LinearRecurrence)
def lower_linear_recurrence(op: LinearRecurrence, node: Apply, lowering: Lowering) -> None:
    """``out[0] = 0; out[i + 1] = b[i] + a[i] * out[i]``."""
    a, b = (lowering.view(variable) for variable in node.inputs)
    lowering.begin_rule(node, Given([a.sizes, b.sizes]))
    for dim, (left, right) in enumerate(zip(a.sizes, b.sizes, strict=True)):
        failure = Failure(node, "recurrence", f"dimension {dim}: {{0}} and {{1}}")
        lowering.require_equal(left, right, failure)
    target, _ = lowering.compute(node.outputs[0], a.sizes)
    dtype = target.array.dtype
    if op.reverse:
        a, b, target = (_backwards(view, op.axis, lowering) for view in (a, b, target))
    times, plus = (ps.and_, ps.or_) if dtype == np.bool_ else (ps.mul, ps.add)

    def following(before: Expression, loops: Loops) -> Expression:
        product = Operation(times, (lowering.load(a, loops), before), dtype)
        return Operation(plus, (lowering.load(b, loops), product), dtype)

    run_along(target, op.axis, lambda _: Literal(dtype.type(0), dtype), following, node, lowering)


@lowers(RunningExtreme)
def lower_running_extreme(op: RunningExtreme, node: Apply, lowering: Lowering) -> None:
    """``out[0] = x[0]; out[i + 1] = max(out[i], x[i + 1])``."""
    x = lowering.view(node.inputs[0])
    target, _ = lowering.compute(node.outputs[0], x.sizes)
    _run_extreme(op, x, target, node, lowering)


def _run_extreme(
    op: RunningExtreme | RunningArgExtreme, x: View, target: View, node: Apply, lowering: Lowering
) -> None:
    extreme = ps.maximum if op.mode == "max" else ps.minimum
    later = _tail(x, op.axis, lowering)

    def following(before: Expression, loops: Loops) -> Expression:
        return Operation(extreme, (before, lowering.load(later, loops)), x.array.dtype)

    run_along(target, op.axis, lambda loops: lowering.load(x, loops), following, node, lowering)


@lowers(RunningArgExtreme)
def lower_running_arg_extreme(op: RunningArgExtreme, node: Apply, lowering: Lowering) -> None:
    """``best[i + 1] = max(best[i], x[i + 1])``; ``out[i + 1] = i + 1`` where that is new.

    A NaN is new unless there was one before.
    """
    sizes, axis = lowering.sizes, op.axis
    x = lowering.view(node.inputs[0])
    dtype = x.array.dtype
    best, later = View.of(lowering.array(dtype, x.sizes), sizes), _tail(x, axis, lowering)
    _run_extreme(op, x, best, node, lowering)
    is_beyond = ps.gt if op.mode == "max" else ps.lt
    target, _ = lowering.compute(node.outputs[0], x.sizes)

    def following(before: Expression, loops: Loops) -> Expression:
        former, value = best.load(loops), lowering.load(later, loops)
        is_new: Expression = Operation(is_beyond, (value, former), _BOOL)
        if dtype.kind == "f":
            was_number, is_nan = (
                Operation(compare, (one, one), _BOOL)
                for compare, one in ((ps.eq, former), (ps.ne, value))
            )
            first_nan = Operation(ps.and_, (was_number, is_nan), _BOOL)
            is_new = Operation(ps.or_, (is_new, first_nan), _BOOL)
        loop = loops[axis]
        terms = () if loop is None else ((loop, sizes.fixed(1)),)
        place = Position(Index(terms, sizes.fixed(1)))
        return Operation(ps.switch, (is_new, place, before), _INT64)

    run_along(target, axis, lambda _: Literal(np.int64(0), _INT64), following, node, lowering)
