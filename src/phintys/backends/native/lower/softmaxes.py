"""Lowering of the softmax family, which is built from reductions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys import scalar as ps
from phintys.backends.native.expressions import Cast, Expression, Literal, Operation
from phintys.backends.native.lower.families import lowers
from phintys.backends.native.lower.lowering import Lowering, NotLowered
from phintys.backends.native.lower.reduce import reduce_into
from phintys.backends.native.lower.view import View
from phintys.graph.apply import Apply
from phintys.tensor.softmaxes import LogSoftmax, LogSumExp, Softmax, SoftmaxOrZero

if TYPE_CHECKING:
    from collections.abc import Sequence


class _Rows:
    """Statements over the elements of ``x``, and over its rows, with ``axes`` reduced."""

    def __init__(self, node: Apply, axes: Sequence[int], lowering: Lowering) -> None:
        self.node = node
        self.lowering = lowering
        self.x = lowering.view(node.inputs[0])
        dtype = self.x.array.dtype
        if dtype.kind != "f":
            msg = f"no native code for dtype {dtype}"
            raise NotLowered(msg)
        self.dtype = np.dtype("float32") if dtype == np.float16 else dtype
        self.axes = axes
        self.loops = lowering.loops(self.x.sizes)
        self.kept = [loop for axis, loop in enumerate(self.loops) if axis not in axes]
        self.kept_sizes = [size for axis, size in enumerate(self.x.sizes) if axis not in axes]
        self.row_loops = lowering.loops(self.kept_sizes)

    def elements(self, value: Expression, target: View | None = None) -> Expression:
        """Store a value for each element; return the expression that reads it."""
        if target is None:
            array = self.lowering.array(self.dtype, self.x.sizes)
            target = View.of(array, self.lowering.sizes)
        self.lowering.store(target, value, self.loops, nodes=(self.node,))
        return target.load(self.loops)

    def reduced(self, value: Expression, reducer: str) -> View:
        """Store a reduction of a value; return the view that holds it."""
        array = self.lowering.array(self.dtype, self.kept_sizes)
        target = View.of(array, self.lowering.sizes)
        reduce_into(target, value, self.loops, self.axes, reducer, self.node, self.lowering)
        return target

    def rows(self, value: Expression, target: View | None = None) -> View:
        """Store a value for each row."""
        if target is None:
            array = self.lowering.array(self.dtype, self.kept_sizes)
            target = View.of(array, self.lowering.sizes)
        self.lowering.store(target, value, self.row_loops, nodes=(self.node,))
        return target

    def call(self, op: Any, *arguments: Expression) -> Operation:
        """Return a scalar op in the dtype of the computation."""
        return Operation(op, arguments, self.dtype)

    def number(self, value: float) -> Literal:
        """Return a constant in the dtype of the computation."""
        return Literal(self.dtype.type(value), self.dtype)


def _rows_of(
    op: Softmax | LogSoftmax | LogSumExp, node: Apply, lowering: Lowering
) -> tuple[_Rows, Expression, View]:
    """Return the rows of a node's input, its elements as they are computed with, and the maxima."""
    rows = _Rows(node, op.axes(lowering.view(node.inputs[0]).ndim), lowering)
    value = lowering.load(rows.x, rows.loops)
    x = value if value.dtype == rows.dtype else Cast(value, rows.dtype)
    return rows, x, rows.reduced(x, "maximum")


@lowers(Softmax)
def lower_softmax(op: Softmax, node: Apply, lowering: Lowering) -> None:
    """``m = max(x); e = exp(x - m); out = e / sum(e)``."""
    _lower_shares(node, lowering, *_rows_of(op, node, lowering), is_empty_zero=False)


@lowers(SoftmaxOrZero)
def lower_softmax_or_zero(op: SoftmaxOrZero, node: Apply, lowering: Lowering) -> None:
    """``m = max(max(x), lowest); e = exp(x - m); out = e / max(sum(e), 1)``."""
    _lower_shares(node, lowering, *_rows_of(op, node, lowering), is_empty_zero=True)


def _lower_shares(
    node: Apply,
    lowering: Lowering,
    rows: _Rows,
    x: Expression,
    largest: View,
    *,
    is_empty_zero: bool,
) -> None:
    if is_empty_zero:
        largest = _at_least(rows, largest, np.finfo(rows.dtype).min)
    top = largest.load(rows.kept)
    powers = rows.elements(rows.call(ps.exp, rows.elements(rows.call(ps.sub, x, top))))
    sums = rows.reduced(powers, "add")
    if is_empty_zero:
        sums = _at_least(rows, sums, 1)
    total = sums.load(rows.kept)
    target, _ = lowering.compute(node.outputs[0], rows.x.sizes)
    value: Expression = rows.call(ps.true_div, powers, total)
    if target.array.dtype != rows.dtype:
        value = Cast(rows.elements(value), target.array.dtype)
    rows.elements(value, target)


def _at_least(rows: _Rows, view: View, least: Any) -> View:
    return rows.rows(rows.call(ps.maximum, view.load(rows.row_loops), rows.number(least)))


def _log_sum(rows: _Rows, x: Expression, largest: View) -> View:
    """Return ``log(sum(exp(x - largest)))`` of each row.

    Terms equal to 1 are counted, not added, so that the sum of the others is not rounded away:
    ``log1p(others / count) + log(count)``.
    """
    top = largest.load(rows.kept)
    is_top = Operation(ps.eq, (x, top), np.dtype("bool"))
    flag = View.of(rows.lowering.array("bool", rows.x.sizes), rows.lowering.sizes)
    rows.lowering.store(flag, is_top, rows.loops, nodes=(rows.node,))
    here = flag.load(rows.loops)
    one, zero = rows.number(1), rows.number(0)
    count = rows.reduced(rows.elements(rows.call(ps.switch, here, one, zero)), "add")
    power = rows.elements(rows.call(ps.exp, rows.elements(rows.call(ps.sub, x, top))))
    others = rows.reduced(rows.elements(rows.call(ps.switch, here, zero, power)), "add")
    at_least_one = rows.rows(rows.call(ps.maximum, count.load(rows.row_loops), one))
    n = at_least_one.load(rows.row_loops)
    share = rows.rows(rows.call(ps.true_div, others.load(rows.row_loops), n))
    left = rows.rows(rows.call(ps.log1p, share.load(rows.row_loops)))
    right = rows.rows(rows.call(ps.log, n))
    return rows.rows(rows.call(ps.add, left.load(rows.row_loops), right.load(rows.row_loops)))


@lowers(LogSoftmax)
def lower_log_softmax(op: LogSoftmax, node: Apply, lowering: Lowering) -> None:
    """``out = (x - m) - log(sum(exp(x - m)))``."""
    rows, x, largest = _rows_of(op, node, lowering)
    log_sum = _log_sum(rows, x, largest)
    shifted = rows.elements(rows.call(ps.sub, x, largest.load(rows.kept)))
    target, _ = lowering.compute(node.outputs[0], rows.x.sizes)
    value: Expression = rows.call(ps.sub, shifted, log_sum.load(rows.kept))
    if target.array.dtype != rows.dtype:
        value = Cast(rows.elements(value), target.array.dtype)
    rows.elements(value, target)


@lowers(LogSumExp)
def lower_log_sum_exp(op: LogSumExp, node: Apply, lowering: Lowering) -> None:
    """``out = m + log(sum(exp(x - m)))``."""
    rows, x, largest = _rows_of(op, node, lowering)
    log_sum = _log_sum(rows, x, largest)
    target, _ = lowering.compute(node.outputs[0], rows.kept_sizes)
    value: Expression = rows.call(
        ps.add, log_sum.load(rows.row_loops), largest.load(rows.row_loops)
    )
    if target.array.dtype != rows.dtype:
        value = Cast(rows.rows(value).load(rows.row_loops), target.array.dtype)
    rows.rows(value, target)
