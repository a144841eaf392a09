"""Indexing, updates of indexed parts, and what has as many rows as values say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from phintys.backends.jax.arrays import jax, jnp, lax
from phintys.backends.jax.tracing import (
    MisfitError,
    NeedsKnownError,
    NotConvertedError,
    Trace,
    converts,
    is_known,
)
from phintys.graph.variable import Constant, Variable
from phintys.scalar.comparison import ne
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.creation import Alloc
from phintys.tensor.elemwise import elemwise
from phintys.tensor.indexing import template as entries
from phintys.tensor.indexing.advanced import (
    AdvancedSubtensor,
    check_index_shapes,
    may_repeat,
)
from phintys.tensor.indexing.basic import Subtensor
from phintys.tensor.indexing.update import AdvancedIncSubtensor, IncSubtensor
from phintys.tensor.nonzeros import Nonzero
from phintys.tensor.reduce import sum as sum_of
from phintys.tensor.shapes import ShapeI
from phintys.tensor.tiling import RepeatIndex

if TYPE_CHECKING:
    from phintys.graph.apply import Apply


_MOST_PADDED = 4096
"""Of small arrays, XLA fuses increments of several parts into one kernel if the parts are padded;
of large ones, it increments the parts in place."""


class Window(NamedTuple):
    """A slice of known length that begins where the device says."""

    start: Any
    length: int


class _Reader:
    """Reads the index of a node: its template and the values of its inputs."""

    def __init__(self, op: Any, node: Apply, trace: Trace, x: Any, values: Sequence[Any]) -> None:
        self.op, self.node, self.trace = op, node, trace
        self.shape = np.shape(x)
        self.first = len(node.inputs) - len(values)
        self.values = values

    def read(self) -> tuple[Any, ...]:
        """Return an index for arrays of JAX; a slice may be a :class:`Window`.

        Positions count from the start of their axis.
        """
        index: list[Any] = []
        values = iter(self.values)
        dim = 0
        for number, entry in enumerate(self.op.idx_list):
            match entry:
                case entries.Slice():
                    bounds = [next(values) if b is entries.SCALAR else b for b in entry]
                    index.append(self._slice(number, dim, bounds))
                    dim += 1
                case entries.SCALAR | entries.ARRAY | int():
                    value = np.asarray(entry) if isinstance(entry, int) else next(values)
                    index.append(self._checked(value, dim, is_array=entry is entries.ARRAY))
                    dim += 1
                case entries.Mask():
                    index += self._mask(next(values), dim, entry.ndim)
                    dim += entry.ndim
                case entries.NEWAXIS:
                    index.append(None)
                case _:
                    raise NotConvertedError("its index has a form without a rule")
        return tuple(index)

    def _checked(self, value: Any, dim: int, *, is_array: bool) -> Any:
        size = self.shape[dim]
        if is_known(value):
            if np.size(value) and (np.min(value) < -size or np.max(value) >= size):
                raise MisfitError(self.node)
            whole = value.astype("int64")
            return np.where(whole < 0, whole + size, whole) if is_array else int(whole) % size

        def error() -> Exception:
            return IndexError(f"{self.op}: an index is out of range for axis {dim} of size {size}")

        numbers = self.trace.ranges.get(value)
        if numbers is not None and self._is_alone() and numbers[0] >= 0 and numbers[1] < size:
            return slice(numbers[0], numbers[1] + 1)
        return self.trace.positions(value, size, self.node, error)

    def _is_alone(self) -> bool:
        """Return whether an index has one array, beside slices."""
        return sum(not isinstance(entry, entries.Slice) for entry in self.op.idx_list) == 1

    def _mask(self, value: Any, dim: int, ndim: int) -> Sequence[Any]:
        """Return the positions that a mask selects; their number is computed first."""
        if np.shape(value) != tuple(self.shape[dim : dim + ndim]):
            raise MisfitError(self.node)
        if is_known(value):
            return np.nonzero(value)
        place = next(i for i, other in enumerate(self.values) if other is value)
        mask = self.node.inputs[self.first + place]
        what = "the number of elements that a mask selects"
        count = self.trace.size(
            self.node, ("mask", place), what, lambda: sum_of(mask, dtype="int64")
        )
        return jnp.nonzero(value, size=count)

    def _slice(self, number: int, dim: int, bounds: Sequence[Any]) -> slice | Window:
        """x[a:b] whose length alone is computed first: one program for a length, not for each a."""
        if all(bound is None or isinstance(bound, int) or is_known(bound) for bound in bounds):
            return slice(*(None if bound is None else int(bound) for bound in bounds))
        start, _, step = bounds
        if step is not None and not (isinstance(step, int) or is_known(step)):
            raise NeedsKnownError(self.node, "the step of a slice", self.node.inputs[self.first :])
        if step is not None and int(step) != 1:
            raise NeedsKnownError(self.node, "a bound of a slice", self.node.inputs[self.first :])

        def make() -> Variable:
            symbolic: Any = list(entries.fill(self.op.idx_list, self.node.inputs[self.first :]))
            size = as_tensor_variable(ShapeI(dim)(self.node.inputs[0]))
            return as_tensor_variable(entries.slice_length(size, symbolic[number]))

        what = "the length of a slice"
        length = self.trace.size(self.node, ("length", number), what, make)
        size = self.shape[dim]
        start = jnp.asarray(0 if start is None else start).astype("int64")
        begin = jnp.where(start < 0, jnp.maximum(start + size, 0), jnp.minimum(start, size))
        return Window(begin, length)


def _read(op: Any, node: Apply, trace: Trace, x: Any, values: Sequence[Any]) -> tuple[Any, ...]:
    return _Reader(op, node, trace, x, values).read()


@converts(Subtensor)
def subtensor(op: Any, node: Apply, trace: Trace, x: Any, *values: Any) -> Any:
    """Static slices at once, others one axis after the other."""
    x = jnp.asarray(x)
    index = _read(op, node, trace, x, values)
    if all(isinstance(part, (int, slice)) or part is None for part in index):
        found = x[index]
        if index == (slice(None, None, -1),):
            trace.reversals[found] = x, 1
        return found
    dim = 0
    for part in index:
        match part:
            case Window():
                x = lax.dynamic_slice_in_dim(x, part.start, part.length, dim)
            case slice():
                x = x[(slice(None),) * dim + (part,)]
            case None:
                x = jnp.expand_dims(x, dim)
            case int():
                x = lax.index_in_dim(x, part, dim, keepdims=False)
                continue
            case _:
                x = lax.dynamic_index_in_dim(x, part, dim, keepdims=False)
                continue
        dim += 1
    return x


@converts(AdvancedSubtensor)
def advanced_subtensor(op: Any, node: Apply, trace: Trace, x: Any, *values: Any) -> Any:
    """A gather; indices have been checked."""
    x = jnp.asarray(x)
    index = _as_arrays(_read(op, node, trace, x, values), x)
    _check_broadcast(op, node, values)
    mode = "promise_in_bounds" if trace.session.checks else "fill"
    return x.at[index].get(mode=mode, wrap_negative_indices=False)


def _as_arrays(index: tuple[Any, ...], x: Any) -> tuple[Any, ...]:
    """Return an index without windows; the positions of one stay on their axis."""
    windows = [number for number, part in enumerate(index) if isinstance(part, Window)]
    if not windows:
        return index
    plain = all(isinstance(part, slice) for part in index if not isinstance(part, Window))
    if len(windows) > 1 or not plain:
        raise NotConvertedError("a slice of traced bounds beside other indices has no rule")
    return tuple(
        part.start + lax.iota("int64", part.length) if isinstance(part, Window) else part
        for part in index
    )


def _check_broadcast(op: Any, node: Apply, values: Sequence[Any]) -> None:
    """Index arrays broadcast only where their size is statically 1."""
    zeros = [np.broadcast_to(np.zeros((), value.dtype), np.shape(value)) for value in values]
    given = [value if is_known(value) else zero for value, zero in zip(values, zeros, strict=True)]
    check_index_shapes(op, node.inputs[len(node.inputs) - len(values) :], given, op.idx_list)


def _selected(x: Any, index: tuple[Any, ...]) -> tuple[int, ...]:
    return jax.eval_shape(lambda array: array[index], x).shape


@converts(IncSubtensor)
def inc_subtensor(op: Any, node: Apply, trace: Trace, x: Any, y: Any, *values: Any) -> Any:
    """Update a box as a whole: XLA would run a scatter element by element."""
    x = jnp.asarray(x)
    index = _read(op, node, trace, x, values)
    box = None if x.dtype == bool else _box(index, x.shape)
    plain = index if box is not None else _as_arrays(index, x)
    wanted = _selected(x, tuple(_slice_like(part) for part in index))
    if np.shape(y) != wanted:
        op._check_value(node, np.zeros(np.shape(y), np.asarray(0).dtype), wanted)
    y = jnp.broadcast_to(jnp.asarray(y).astype(x.dtype), wanted)
    if box is None:
        return _updated(op, x.at[plain], y, mode="promise_in_bounds")
    return _updated_box(op, node, x, y, box)


def _updated_box(op: Any, node: Apply, x: Any, y: Any, box: Any) -> Any:
    starts, lengths = box
    y = y.reshape(lengths)
    if not op.set_instead_of_inc:
        is_new = _is_zeros(node.inputs[0])
        if (is_new or x.size <= _MOST_PADDED) and all(is_known(start) for start in starts):
            zero = np.zeros((), x.dtype)
            edges = zip(starts, lengths, x.shape, strict=True)
            edge = zero if is_new else -zero  # -0.0 is added without effect, also to -0.0
            padded = lax.pad(y, edge, [(int(a), n - int(a) - k, 0) for a, k, n in edges])
            return padded if is_new else x + padded
        y = lax.dynamic_slice(x, starts, lengths) + y
    return lax.dynamic_update_slice(x, y, starts)


def _slice_like(part: Any) -> Any:
    return slice(0, part.length) if isinstance(part, Window) else part


def _updated(op: Any, at: Any, y: Any, **options: Any) -> Any:
    options["wrap_negative_indices"] = False
    if op.set_instead_of_inc:
        return at.set(y, **options)
    return at.max(y, **options) if y.dtype == bool else at.add(y, **options)


def _box(
    index: tuple[Any, ...], shape: Sequence[int]
) -> tuple[tuple[Any, ...], tuple[int, ...]] | None:
    """Return starts and lengths of an index that selects a box, else ``None``."""
    starts: list[Any] = []
    lengths: list[int] = []
    if any(part is None for part in index):
        return None
    whole = (*index, *(slice(None),) * (len(shape) - len(index)))
    for part, size in zip(whole, shape, strict=True):
        match part:
            case slice():
                begin, end, step = part.indices(size)
                if step != 1:
                    return None
                starts.append(np.int64(begin))
                lengths.append(max(end - begin, 0))
            case Window():
                starts.append(part.start)
                lengths.append(part.length)
            case int():
                starts.append(np.int64(part))
                lengths.append(1)
            case _ if np.ndim(part) == 0:
                starts.append(part)
                lengths.append(1)
            case _:
                return None
    return tuple(starts), tuple(lengths)


def _is_zeros(variable: Variable) -> bool:
    node = variable.owner
    if node is None or not isinstance(node.op, Alloc):
        return False
    value = node.inputs[0]
    return isinstance(value, Constant) and not np.any(value.data)


@converts(AdvancedIncSubtensor)
def advanced_inc_subtensor(op: Any, node: Apply, trace: Trace, x: Any, y: Any, *values: Any) -> Any:
    """A scatter. Where an element is set twice, the last value stays."""
    x, y = jnp.asarray(x), jnp.asarray(y)
    index = _as_arrays(_read(op, node, trace, x, values), x)
    _check_broadcast(op, node, values)
    wanted = _selected(x, index)
    if y.ndim:
        op._check_value(node, np.zeros(y.shape, y.dtype), wanted)
    y = y.astype(x.dtype)
    box = None if x.dtype == bool else _box(index, x.shape)
    if box is not None:
        return _updated_box(op, node, x, jnp.broadcast_to(y, wanted), box)
    repeats = may_repeat(op.idx_list, node.inputs[2:])
    if op.ignore_duplicates and repeats and not op.set_instead_of_inc:
        raise NotConvertedError("increments of elements that may repeat, of which one counts")
    if not op.set_instead_of_inc or not repeats or not y.ndim or not all(wanted):
        return _updated(op, x.at[index], y)
    numbers = lax.iota("int64", int(np.prod(wanted))).reshape(wanted)
    last = jnp.full(x.shape, -1, "int64").at[index].max(numbers)
    flat = jnp.broadcast_to(y, wanted).reshape(-1)
    return jnp.where(last >= 0, flat[jnp.maximum(last, 0)], x)


@converts(RepeatIndex)
def repeat_index(op: Any, node: Apply, trace: Trace, counts: Any) -> Any:
    """The length of the result is computed first."""
    what = "the length of a repetition"
    total = trace.size(node, "total", what, lambda: sum_of(node.inputs[0], dtype="int64"))
    trace.check(counts >= 0, node, lambda: op._negative([]))
    numbers = lax.iota("int64", np.shape(counts)[0])
    return jnp.repeat(numbers, jnp.asarray(counts), total_repeat_length=max(total, 0))


@converts(Nonzero)
def nonzero(op: Any, node: Apply, trace: Trace, x: Any) -> list[Any]:
    """The number of elements that are not zero is computed first."""

    def make() -> Variable:
        return sum_of(elemwise(ne)(node.inputs[0], 0), dtype="int64")

    count = trace.size(node, "count", "the number of elements that are not zero", make)
    return [found.astype("int64") for found in jnp.nonzero(jnp.asarray(x), size=count)]
