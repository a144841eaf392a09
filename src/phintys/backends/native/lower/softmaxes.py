"""Lowering of the softmax family, which is built from reductions.

Nodes of the same input and axes share the largest elements and the exponentials: a logarithm of a
sum and its gradient, the softmax, take them once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys import scalar as ps
from phintys.backends.native.expressions import Conversion, Expression, Literal, Operation
from phintys.backends.native.lower.lowering import Lowering, NotLowered, lowers
from phintys.backends.native.lower.reduce import reduce_into
from phintys.backends.native.lower.view import View
from phintys.graph.apply import Apply
from phintys.tensor.softmaxes import LogSoftmax, LogSumExp, Softmax, SoftmaxOrZero

if TYPE_CHECKING:
    from collections.abc import Callable


class _Rows:
    """Statements over the elements of ``x``, and over its rows, with the axes reduced."""

    def __init__(
        self, op: Softmax | LogSoftmax | LogSumExp, node: Apply, lowering: Lowering
    ) -> None:
        self.op = op
        self.node = node
        self.lowering = lowering
        self.view = lowering.view(node.inputs[0])
        dtype = self.view.array.dtype
        if dtype.kind != "f":
            msg = f"no native code for dtype {dtype}"
            raise NotLowered(msg)
        self.dtype = np.dtype("float32") if dtype == np.float16 else dtype
        self.axes = axes = op.axes(self.view.ndim)
        self.loops = lowering.loops(self.view.sizes)
        self.kept = [loop for axis, loop in enumerate(self.loops) if axis not in axes]
        self.kept_sizes = [size for axis, size in enumerate(self.view.sizes) if axis not in axes]
        self.row_loops = lowering.loops(self.kept_sizes)

    def elements(self, value: Expression, target: View | None = None) -> View:
        """Store a value for each element; return the view that holds it."""
        if target is None:
            array = self.lowering.array(value.dtype, self.view.sizes)
            target = View.of(array, self.lowering.sizes)
        self.lowering.store(target, value, self.loops, nodes=(self.node,))
        return target

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

    def at_least(self, value: Expression, least: Any) -> Operation:
        """Return a value, or a number where that is larger."""
        return self.call(ps.maximum, value, self.number(least))

    # ---- what nodes share --------------------------------------------------------------------

    @property
    def x(self) -> Expression:
        """The elements, as they are computed with."""
        value = self.lowering.load(self.view, self.loops)
        return value if value.dtype == self.dtype else Conversion(value, self.dtype)

    @property
    def largest(self) -> View:
        """The largest elements."""
        return self._shared("largest", lambda: self.reduced(self.x, "maximum"))

    def shifted(self, *, is_empty_zero: bool) -> View:
        """``x - m`` of the largest elements m; with ``is_empty_zero`` these are finite at least."""

        def compute() -> View:
            top: Expression = self.largest.load(self.kept)
            if is_empty_zero:
                top = self.at_least(top, np.finfo(self.dtype).min)
            return self.elements(self.call(ps.sub, self.x, top))

        return self._shared(("shifted", is_empty_zero), compute)

    def powers(self, *, is_empty_zero: bool) -> View:
        """``exp(x - m)`` of the same."""

        def compute() -> View:
            power = self.shifted(is_empty_zero=is_empty_zero).load(self.loops)
            return self.elements(self.call(ps.exp, power))

        return self._shared(("powers", is_empty_zero), compute)

    @property
    def has_shares(self) -> bool:
        """Whether a :class:`SoftmaxOrZero` of the same elements is computed as well."""
        clients = self.lowering.clients.get(self.node.inputs[0], ())
        ops = [node.op for node, _ in clients if isinstance(node, Apply)]
        return any(isinstance(op, SoftmaxOrZero) and op.axis == self.op.axis for op in ops)

    def _shared(self, what: Any, compute: Callable[[], View]) -> View:
        key = self.node.inputs[0], self.axes, what
        found = self.lowering.shared.get(key)
        if found is None:
            found = self.lowering.shared[key] = compute()
        return found


@lowers(Softmax)
def lower_softmax(op: Softmax, node: Apply, lowering: Lowering) -> None:
    """``m = max(x); e = exp(x - m); out = e / sum(e)``."""
    _lower_shares(_Rows(op, node, lowering), is_empty_zero=False)


@lowers(SoftmaxOrZero)
def lower_softmax_or_zero(op: SoftmaxOrZero, node: Apply, lowering: Lowering) -> None:
    """``m = max(max(x), lowest); e = exp(x - m); out = e / max(sum(e), 1)``."""
    _lower_shares(_Rows(op, node, lowering), is_empty_zero=True)


def _lower_shares(rows: _Rows, *, is_empty_zero: bool) -> None:
    powers = rows.powers(is_empty_zero=is_empty_zero).load(rows.loops)
    total: Expression = rows.reduced(powers, "add").load(rows.kept)
    if is_empty_zero:
        total = rows.at_least(total, 1)
    _store_elements(rows, rows.call(ps.true_div, powers, total))


def _store_elements(rows: _Rows, value: Expression) -> None:
    """Store the elements of the result."""
    target, _ = rows.lowering.compute(rows.node.outputs[0], rows.view.sizes)
    if target.array.dtype != rows.dtype:
        value = Conversion(rows.elements(value).load(rows.loops), target.array.dtype)
    rows.elements(value, target)


def _log_sum(rows: _Rows, *, is_empty_zero: bool) -> View:
    """Return ``log(sum(exp(x - largest)))`` of each row.

    Terms equal to 1 are counted, not added, so that the sum of the others is not rounded away:
    ``log1p(others / count) + log(count)``.
    """
    top = rows.largest.load(rows.kept)
    here = rows.elements(Operation(ps.eq, (rows.x, top), np.dtype("bool"))).load(rows.loops)
    one, zero = rows.number(1), rows.number(0)
    ones = rows.elements(rows.call(ps.switch, here, one, zero))
    count = rows.reduced(ones.load(rows.loops), "add")
    power = rows.powers(is_empty_zero=is_empty_zero).load(rows.loops)
    less = rows.elements(rows.call(ps.switch, here, zero, power))
    others = rows.reduced(less.load(rows.loops), "add")
    n = rows.rows(rows.at_least(count.load(rows.row_loops), 1)).load(rows.row_loops)
    share = rows.rows(rows.call(ps.true_div, others.load(rows.row_loops), n))
    left = rows.rows(rows.call(ps.log1p, share.load(rows.row_loops)))
    right = rows.rows(rows.call(ps.log, n))
    return rows.rows(rows.call(ps.add, left.load(rows.row_loops), right.load(rows.row_loops)))


@lowers(LogSoftmax)
def lower_log_softmax(op: LogSoftmax, node: Apply, lowering: Lowering) -> None:
    """``out = (x - m) - log(sum(exp(x - m)))``."""
    rows = _Rows(op, node, lowering)
    log_sum = _log_sum(rows, is_empty_zero=False)
    shifted = rows.shifted(is_empty_zero=False).load(rows.loops)
    _store_elements(rows, rows.call(ps.sub, shifted, log_sum.load(rows.kept)))


@lowers(LogSumExp)
def lower_log_sum_exp(op: LogSumExp, node: Apply, lowering: Lowering) -> None:
    """``out = m + log(sum(exp(x - m)))``."""
    rows = _Rows(op, node, lowering)
    log_sum = _log_sum(rows, is_empty_zero=rows.has_shares)
    target, _ = lowering.compute(node.outputs[0], rows.kept_sizes)
    value: Expression = rows.call(
        ps.add, log_sum.load(rows.row_loops), rows.largest.load(rows.row_loops)
    )
    if target.array.dtype != rows.dtype:
        value = Conversion(rows.rows(value).load(rows.row_loops), target.array.dtype)
    rows.rows(value, target)
