"""Reductions, running reductions, products, and sorting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.backends.jax.arrays import converted, jax, jnp, jsp, lax
from phintys.backends.jax.tracing import (
    MisfitError,
    NeedsKnownError,
    NotConvertedError,
    Trace,
    converts,
    is_known,
)
from phintys.tensor.cumulative import CumOp, LinearRecurrence
from phintys.tensor.extremes import ArgExtremeAlong, _ArgExtreme
from phintys.tensor.partitioning import ArgPartitionOp, PartitionOp
from phintys.tensor.reduce import Reduce
from phintys.tensor.running_extremes import RunningArgExtreme, RunningExtreme
from phintys.tensor.searching import SearchSorted
from phintys.tensor.segments import SegmentReduce
from phintys.tensor.softmaxes import LogSoftmax, LogSumExp, Softmax, SoftmaxOrZero
from phintys.tensor.sorting import ArgSortOp, RowOrder, SortOp

if TYPE_CHECKING:
    from collections.abc import Callable

    from phintys.graph.apply import Apply

_REDUCTIONS: dict[str, Callable[..., Any]] = {
    "add": jnp.sum,
    "mul": jnp.prod,
    "maximum": jnp.max,
    "minimum": jnp.min,
}
_LOGICAL: dict[str, Callable[..., Any]] = {
    "add": jnp.any,
    "or_": jnp.any,
    "logical_or": jnp.any,
    "maximum": jnp.any,
    "mul": jnp.all,
    "and_": jnp.all,
    "logical_and": jnp.all,
    "minimum": jnp.all,
}
_BITWISE = {"and_": lax.bitwise_and, "or_": lax.bitwise_or, "xor": lax.bitwise_xor}


@converts(Reduce)
def reduce(op: Any, node: Apply, trace: Trace, x: Any) -> Any:
    """Reduce in the dtype in which the library accumulates."""
    x = jnp.asarray(x)
    result, accumulator = op._types_for(node.inputs[0].type)
    axes = tuple(op.axes(x.ndim))
    name = op.scalar_op.name
    if name in ("maximum", "minimum") and any(x.shape[axis] == 0 for axis in axes):
        raise MisfitError(node)
    if accumulator.kind == "c" and name in ("maximum", "minimum"):
        return converted(_extreme_of_complex(name, x, axes), result.numpy_dtype)
    if accumulator.kind == "b":
        found = _reduce_logical(name, x != 0, axes)
    elif name in _REDUCTIONS:
        options = {"dtype": accumulator} if name in ("add", "mul") else {}
        found = _REDUCTIONS[name](converted(x, accumulator), axes, **options)
    elif name in _BITWISE:
        start = np.asarray(-1 if name == "and_" else 0).astype(accumulator)
        found = lax.reduce(converted(x, accumulator), start, _BITWISE[name], axes)
    else:
        raise NotConvertedError
    return converted(found, result.numpy_dtype)


def _extreme_of_complex(name: str, x: Any, axes: tuple[int, ...]) -> Any:
    """Return an extreme by the parts, or the first number with NaN: JAX may overlook that."""
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    items = x.transpose(*kept, *sorted(axes)).reshape(*(x.shape[axis] for axis in kept), -1)
    is_nan = jnp.isnan(items)
    first = jnp.take_along_axis(items, is_nan.argmax(-1, keepdims=True), -1)[..., 0]
    return jnp.where(is_nan.any(-1), first, _REDUCTIONS[name](items, -1))


def _reduce_logical(name: str, x: Any, axes: tuple[int, ...]) -> Any:
    if name == "xor":
        return jnp.sum(x, axes, dtype="int32") % 2 == 1
    if name not in _LOGICAL:
        raise NotConvertedError
    return _LOGICAL[name](x, axes)


def _wide(x: Any) -> Any:
    return x.astype("float32") if x.dtype == np.float16 else x


def _softmax_or_zero(x: Any, axes: tuple[int, ...]) -> Any:
    """Return the softmax, but zeros where all elements are minus infinity."""
    largest = jnp.maximum(x.max(axes, keepdims=True), jnp.finfo(x.dtype).min)
    powers = jnp.exp(x - lax.stop_gradient(largest))
    return powers / jnp.maximum(powers.sum(axes, keepdims=True), 1)  # the largest power is 1


_OF_EXPONENTIALS: dict[type, Callable[..., Any]] = {
    Softmax: jax.nn.softmax,
    SoftmaxOrZero: _softmax_or_zero,
    LogSoftmax: jax.nn.log_softmax,
    LogSumExp: jsp.logsumexp,
}


@converts(LogSoftmax, LogSumExp, Softmax, SoftmaxOrZero)
def of_exponentials(op: Any, node: Apply, trace: Trace, x: Any) -> Any:
    """JAX subtracts the maximum, too."""
    x = jnp.asarray(x)
    if x.dtype.kind == "c" or 0 in x.shape:
        raise NotConvertedError
    return _OF_EXPONENTIALS[type(op)](_wide(x), op.axes(x.ndim)).astype(x.dtype)


@converts(CumOp)
def cumulative(op: Any, node: Apply, trace: Trace, x: Any) -> Any:
    """Running sums and products, also from the end and without the element itself."""
    x = jnp.asarray(x)
    is_sum = op.mode == "add"
    if op.reverse:
        x = jnp.flip(x, op.axis)
    if op.exclusive and x.shape[op.axis]:
        pads = [(0, 0, 0)] * x.ndim
        pads[op.axis] = (1, -1, 0)
        x = lax.pad(x, np.asarray(0 if is_sum else 1, x.dtype), pads)
    if x.dtype == bool:
        running = lax.cummax if is_sum else lax.cummin
        found = running(x.astype("int8"), op.axis).astype(bool)
    else:
        found = (jnp.cumsum if is_sum else jnp.cumprod)(x, op.axis, dtype=x.dtype)
    return jnp.flip(found, op.axis) if op.reverse else found


@converts(LinearRecurrence)
def linear_recurrence(op: Any, node: Apply, trace: Trace, a: Any, b: Any) -> Any:
    """An associative scan of affine maps (Blelloch, 1990)."""
    if np.shape(a) != np.shape(b):
        raise MisfitError(node)
    a, b = (jnp.moveaxis(jnp.asarray(v), op.axis, 0) for v in (a, b))
    if op.reverse:
        a, b = a[::-1], b[::-1]

    def after(first: Any, then: Any) -> Any:
        return first[0] * then[0], then[0] * first[1] + then[1]

    found = jnp.zeros_like(a)
    if len(a) > 1:
        _, states = lax.associative_scan(after, (a[:-1], b[:-1]))
        found = jnp.concatenate([jnp.zeros_like(a[:1]), states])
    if op.reverse:
        found = found[::-1]
    return jnp.moveaxis(found, 0, op.axis)


@converts(_ArgExtreme)
def arg_extreme(op: Any, node: Apply, trace: Trace, x: Any) -> Any:
    """Positions along several axes are those of these axes as one."""
    x = jnp.asarray(x)
    if x.dtype.kind == "c":
        raise NotConvertedError
    axes = tuple(op.axes(x.ndim))
    if any(x.shape[axis] == 0 for axis in axes):
        raise MisfitError(node)
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    count = int(np.prod([x.shape[axis] for axis in axes]))
    moved = jnp.transpose(x, (*kept, *axes)).reshape((*(x.shape[axis] for axis in kept), count))
    return (jnp.argmax if op.which == "max" else jnp.argmin)(moved, -1).astype("int64")


@converts(ArgExtremeAlong)
def arg_extreme_along(op: Any, node: Apply, trace: Trace, x: Any, axis: Any) -> Any:
    """The axis must be known."""
    if not is_known(axis):
        raise NeedsKnownError(node, "the axis", [node.inputs[1]])
    number = int(axis)
    if not -np.ndim(x) <= number < np.ndim(x) or not np.shape(x)[number]:
        raise MisfitError(node)
    return (jnp.argmax if op.which == "max" else jnp.argmin)(jnp.asarray(x), number).astype("int64")


@converts(RunningArgExtreme)
def running_arg_extreme(op: Any, node: Apply, trace: Trace, x: Any) -> Any:
    """A scan of pairs of a value and its place; the first of equal ones stays, NaN above all."""
    x = jnp.asarray(x)
    is_beyond = jnp.greater if op.mode == "max" else jnp.less
    places = jnp.broadcast_to(
        jnp.expand_dims(
            lax.iota("int64", x.shape[op.axis]), tuple(a for a in range(x.ndim) if a != op.axis)
        ),
        x.shape,
    )

    def later(first: Any, then: Any) -> Any:
        (a, i), (b, j) = first, then
        moves = is_beyond(b, a)
        if x.dtype.kind == "f":
            moves = (moves | jnp.isnan(b)) & ~jnp.isnan(a)
        return jnp.where(moves, b, a), jnp.where(moves, j, i)

    return lax.associative_scan(later, (x, places), axis=op.axis)[1] if x.size else places


@converts(RunningExtreme)
def running_extreme(op: Any, node: Apply, trace: Trace, x: Any) -> Any:
    """Running maxima and minima."""
    if x.dtype.kind in "cb":
        raise NotConvertedError
    return (lax.cummax if op.mode.startswith("max") else lax.cummin)(jnp.asarray(x), op.axis)


@converts(SearchSorted)
def search_sorted(op: Any, node: Apply, trace: Trace, x: Any, v: Any, *sorter: Any) -> Any:
    """Places in a sorted vector."""
    if x.dtype.kind == "c":
        raise NotConvertedError("JAX does not search for complex numbers")
    if sorter:
        x = jnp.asarray(x)[sorter[0]]
    return jnp.searchsorted(jnp.asarray(x), jnp.asarray(v), side=op.side).astype("int64")


@converts(SegmentReduce)
def segment_reduce(op: Any, node: Apply, trace: Trace, data: Any, ids: Any, count: Any) -> Any:
    """Scatter rows to their segments."""
    (n,) = trace.sizes(node, [count], "the number of segments")
    data, ids = jnp.asarray(data), jnp.asarray(ids)
    if len(data) != len(ids) or n < 0:
        raise MisfitError(node)

    def error() -> Exception:
        return IndexError(f"{op}: the number of a segment is out of range")

    trace.check((ids >= 0) & (ids < n), node, error)
    at = jnp.full((n, *data.shape[1:]), op.value_without_rows(data.dtype)).at[ids]
    names = {"add": "add", "sum": "add", "mul": "multiply", "prod": "multiply"}
    names |= {"max": "max", "maximum": "max", "min": "min", "minimum": "min"}
    return getattr(at, names[op.mode])(data)


@converts(SortOp)
def sort(op: Any, node: Apply, trace: Trace, x: Any) -> Any:
    """Sort along an axis."""
    return jnp.sort(x, op.axis)


@converts(ArgSortOp)
def arg_sort(op: Any, node: Apply, trace: Trace, x: Any) -> Any:
    """Positions of sorted elements; equal ones keep their order."""
    return jnp.argsort(x, op.axis, stable=True).astype("int64")


@converts(PartitionOp)
def partition(op: Any, node: Apply, trace: Trace, x: Any) -> Any:
    """A sort is a partition."""
    op._check_places(np.broadcast_to(np.zeros((), x.dtype), np.shape(x)))
    return jnp.sort(jnp.asarray(x), op.axis)


@converts(ArgPartitionOp)
def arg_partition(op: Any, node: Apply, trace: Trace, x: Any) -> Any:
    """A sort is a partition."""
    op._check_places(np.broadcast_to(np.zeros((), x.dtype), np.shape(x)))
    return jnp.argsort(jnp.asarray(x), op.axis).astype("int64")


@converts(RowOrder)
def row_order(op: Any, node: Apply, trace: Trace, x: Any) -> Any:
    """The last key comes first, here as in NumPy."""
    rows, columns = np.shape(x)
    if not columns:
        return lax.iota("int64", rows)
    return jnp.lexsort(jnp.asarray(x).T[::-1]).astype("int64")
