"""Lowering of reductions, and of the softmax family, which is built from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys import scalar as ps
from phintys.backends.native.expressions import Cast, Expression, Literal, Operation
from phintys.backends.native.failures import Failure
from phintys.backends.native.lower.families import lowers
from phintys.backends.native.lower.integers import when
from phintys.backends.native.lower.lowering import Lowering, NotLowered
from phintys.backends.native.lower.shapes import alias
from phintys.backends.native.lower.view import View
from phintys.backends.native.values import LoopVariable
from phintys.graph.apply import Apply
from phintys.tensor.extremes import ArgExtremeAlong, Argmax, Argmin
from phintys.tensor.joining import Join
from phintys.tensor.reduce import Reduce
from phintys.tensor.softmaxes import LogSoftmax, LogSumExp, Softmax

if TYPE_CHECKING:
    from collections.abc import Sequence


__all__: list[str] = []

_REDUCERS = {"add", "mul", "maximum", "minimum", "and_", "or_", "xor"}
_EXTREMES = {"maximum": ps.maximum, "minimum": ps.minimum}
_WITHOUT_IDENTITY = _EXTREMES.keys()


@lowers(Reduce)
def lower_reduce(op: Reduce, node: Apply, lowering: Lowering) -> None:
    """``out[i] = sum(j) x[i, j]``."""
    name = op.scalar_op.name
    if name not in _REDUCERS:
        msg = f"no native reduction by {name}"
        raise NotLowered(msg)
    view = lowering.view(node.inputs[0])
    dtype = view.array.dtype
    _, acc = op.resolve_dtypes(dtype.name)
    if np.dtype(acc).kind == "c" and name in _WITHOUT_IDENTITY:
        msg = f"no native {name} of complex numbers"
        raise NotLowered(msg)
    axes = op.axes(view.ndim)
    if name in _WITHOUT_IDENTITY:
        parts = _joined_parts(node, axes, lowering)
        if parts:
            _reduce_parts(name, node, parts, axes, lowering)
            return
        require_elements(view, axes, node, lowering)
    loops = lowering.loops(view.sizes)
    value = lowering.load(view, loops)
    if dtype.name != acc:
        value = Cast(value, np.dtype(acc))
    kept = [axis for axis in range(view.ndim) if axis not in axes]
    target, _ = lowering.compute(node.outputs[0], [view.sizes[axis] for axis in kept])
    reduce_into(target, value, loops, axes, name, node, lowering)


def _joined_parts(node: Apply, axes: Sequence[int], lowering: Lowering) -> list[View]:
    """Return the parts that were joined along the reduced axis, if one has elements for sure.

    So an array with one more element, for the case that it is empty, need not be made.
    """
    owner = node.inputs[0].owner
    if owner is None or not isinstance(owner.op, Join) or list(axes) != [owner.op.axis]:
        return []
    axis = owner.op.axis
    parts = [lowering.view(variable) for variable in owner.inputs]
    has_elements = any(lowering.sizes.canonical(part.sizes[axis]).known for part in parts)
    is_ordered = all(part.array.dtype == parts[0].array.dtype for part in parts)
    return parts if has_elements and is_ordered and parts[0].array.dtype.kind in "iuf" else []


def _reduce_parts(
    name: str, node: Apply, parts: Sequence[View], axes: Sequence[int], lowering: Lowering
) -> None:
    """Combine the extremes of parts; that of nothing is the opposite end of the dtype."""
    kept = [size for axis, size in enumerate(parts[0].sizes) if axis not in axes]
    target, loops = lowering.compute(node.outputs[0], kept)
    dtype = target.array.dtype
    found: list[Expression] = []
    for part in parts:
        extreme = View.of(lowering.array(dtype, kept), lowering.sizes)
        every = lowering.loops(part.sizes)
        reduce_into(extreme, lowering.load(part, every), every, axes, name, node, lowering)
        found.append(extreme.load(loops))
    value = found[0]
    for other in found[1:]:
        value = Operation(_EXTREMES[name], (value, other), dtype)
    lowering.store(target, value, loops, nodes=(node,))


def reduce_into(
    target: View,
    value: Expression,
    loops: Sequence[LoopVariable | None],
    axes: Sequence[int],
    reducer: str,
    node: Apply,
    lowering: Lowering,
) -> None:
    """Store the reduction of ``value`` over the loops of ``axes``."""
    kept = [loop for axis, loop in enumerate(loops) if axis not in axes]
    lowering.store(
        target,
        value,
        loops,
        reduction=[loops[axis] for axis in axes],
        reducer=reducer,
        positions=target.indices(kept),
        nodes=(node,),
    )


def require_elements(view: View, axes: Sequence[int], node: Apply, lowering: Lowering) -> None:
    """Check that the length of each reduced axis is not 0."""
    sizes = lowering.sizes
    for axis in axes:
        there_is = sizes.arithmetic("lt", sizes.fixed(0), view.sizes[axis])
        lowering.require(there_is, Failure(node, "empty", f"axis {axis}"))


@lowers(Argmax, Argmin)
def lower_argmax(op: Argmax | Argmin, node: Apply, lowering: Lowering) -> None:
    """``out[i] = argmax(j) x[i, j]``."""
    view = lowering.view(node.inputs[0])
    _expect_order(view)
    axes = op.axes(view.ndim)
    require_elements(view, axes, node, lowering)
    loops = lowering.loops(view.sizes)
    kept = [axis for axis in range(view.ndim) if axis not in axes]
    target, _ = lowering.compute(node.outputs[0], [view.sizes[axis] for axis in kept])
    if all(loops[axis] is None for axis in axes):
        value: Expression = Literal(np.int64(0), np.dtype("int64"))
    else:
        value = lowering.load(view, loops)
    reduce_into(target, value, loops, axes, f"arg{op.which}", node, lowering)


def _expect_order(view: View) -> None:
    if view.array.dtype.kind == "c":
        msg = "no native order of complex numbers"
        raise NotLowered(msg)


@lowers(ArgExtremeAlong)
def lower_arg_extreme_along(op: ArgExtremeAlong, node: Apply, lowering: Lowering) -> None:
    """``out[i, k] = argmax(j) x[i, j, k]``, with x as an array of three axes.

    Their lengths depend on the axis; the memory is the same for each axis.
    """
    sizes = lowering.sizes
    x = lowering.view(node.inputs[0])
    _expect_order(x)
    ndim = x.ndim
    axis = lowering.size_of(node.inputs[1])
    if axis.known is not None and not -ndim <= axis.known < ndim:
        msg = f"there is no axis {axis}"
        raise NotLowered(msg)
    zero, one = sizes.fixed(0), sizes.fixed(1)
    is_there = sizes.mul(
        sizes.arithmetic("lt", sizes.fixed(-ndim - 1), axis),
        sizes.arithmetic("lt", axis, sizes.fixed(ndim)),
    )
    lowering.require(is_there, Failure(node, "axis", "the axis"))
    axis = when(sizes, sizes.arithmetic("lt", axis, zero), sizes.add(axis, sizes.fixed(ndim)), axis)
    is_after = [sizes.arithmetic("lt", axis, sizes.fixed(dim)) for dim in range(ndim)]
    is_before = [sizes.arithmetic("lt", sizes.fixed(dim), axis) for dim in range(ndim)]
    before, after = (
        sizes.product(
            [when(sizes, flag, size, one) for flag, size in zip(flags, x.sizes, strict=True)]
        )
        for flags in (is_before, is_after)
    )
    length = zero
    for first, last, size in zip(is_before, is_after, x.sizes, strict=True):
        is_it = sizes.sub(one, sizes.add(first, last))
        length = sizes.add(length, sizes.mul(is_it, size))
    there_is = sizes.arithmetic("lt", zero, length)
    lowering.require(there_is, Failure(node, "empty", "the axis"))
    shown = alias(lowering.contiguous(x, node).array, [before, length, after], lowering)
    source = View.of(shown, sizes)
    found = View.of(lowering.array("int64", [before, after]), sizes)
    loops = lowering.loops(source.sizes)
    value: Expression = lowering.load(source, loops)
    if loops[1] is None:
        value = Literal(np.int64(0), np.dtype("int64"))
    reduce_into(found, value, loops, (1,), f"arg{op.which}", node, lowering)
    kept = [
        when(sizes, is_after[dim + 1], x.sizes[dim + 1], x.sizes[dim]) for dim in range(ndim - 1)
    ]
    lowering.bind(node.outputs[0], View.of(alias(found.array, kept, lowering), sizes))


# ---- softmax -----------------------------------------------------------------------------------


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
    rows, x, largest = _rows_of(op, node, lowering)
    top = largest.load(rows.kept)
    powers = rows.elements(rows.call(ps.exp, rows.elements(rows.call(ps.sub, x, top))))
    total = rows.reduced(powers, "add").load(rows.kept)
    target, _ = lowering.compute(node.outputs[0], rows.x.sizes)
    value: Expression = rows.call(ps.true_div, powers, total)
    if target.array.dtype != rows.dtype:
        value = Cast(rows.elements(value), target.array.dtype)
    rows.elements(value, target)


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
