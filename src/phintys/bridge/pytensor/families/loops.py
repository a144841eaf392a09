"""PyTensor's Scan as ours: its buffers, which steps write to, as the rows that steps make.

PyTensor hands a loop buffers that have room for the results, and that begin with the rows before
the first step. A buffer can be shorter than the results, and is then written in circles, so that
the last rows are left; or longer, and then ends with zeros. Buffers of which steps both read and
write several rows ("mit-mot", in gradients that PyTensor made) are seen through a window of these
rows, which moves by one row a step: what leaves the window has its final value.
"""
# PyTensor need not be installed.
# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

from pytensor.scan.op import Scan

import phintys.tensor as pt
from phintys.bridge.pytensor.conversion import convert_op, converted_graph
from phintys.control.loop_forms.builder import LoopBuilder
from phintys.control.loops.arguments import StepOutputs
from phintys.tensor.creation import AllocEmpty
from phintys.tensor.indexing import IncSubtensor, Slice, Subtensor
from phintys.tensor.known import known_int
from phintys.tensor.math import add
from phintys.tensor.shapes import Shape
from phintys.tensor.sizes import add_sizes, clip_size, fold, same_size, subtract_sizes


@convert_op.register(Scan)
def _scan(op: Any, node: Any, *given: Any) -> list[Any]:
    info, n, builder = op.info, given[0], LoopBuilder()
    sequences = [builder.add_sequence(x, None) for x in op.outer_seqs(given)]
    windows = [
        _Window(builder, *buffer)
        for buffer in zip(
            op.outer_mitmot(given), info.mit_mot_in_slices, info.mit_mot_out_slices, strict=True
        )
    ]
    traces = [
        _Trace(builder, n, *buffer)
        for buffer in zip(
            (*op.outer_mitsot(given), *op.outer_sitsot(given)),
            (*info.mit_sot_in_slices, *info.sit_sot_in_slices),
            strict=True,
        )
    ]
    values = [builder.add_untraced(x, None) for x in op.outer_untraced_sit_sot(given)]
    rows = chain.from_iterable(one.rows for one in (*windows, *traces, *values))
    made = converted_graph(op.fgraph, [*sequences, *rows, *op.outer_non_seqs(given)])
    moved = [
        window.moved(written)
        for window, written in zip(windows, op.inner_mitmot_outs_grouped(made), strict=True)
    ]
    step = StepOutputs[Any](
        [*op.inner_mitsot_outs(made), *op.inner_sitsot_outs(made)],
        [*chain.from_iterable(rest for _, rest in moved), *op.inner_untraced_sit_sot_outs(made)],
        [*(left for left, _ in moved), *op.inner_nitsot_outs(made)],
        made[-1] if info.as_while else None,
    )
    found = builder.build(n, step, op.name, op.truncate_gradient)
    ran = fold(n if found.ran is None else found.ran)
    untraced, stacked = iter(found.untraced), iter(found.stacked)
    pads = not info.as_while
    return [
        *[window.whole(ran, next(stacked), untraced) for window in windows],
        *[trace.kept(rows, ran, pads) for trace, rows in zip(traces, found.carried, strict=True)],
        *[
            _kept(rows, size, ran, pads)
            for rows, size in zip(stacked, op.outer_nitsot(given), strict=True)
        ],
        *untraced,
    ]


class _Trace:
    """A buffer for the rows of a state.

    Parameters
    ----------
    builder
        The loop.
    n
        The number of steps.
    buffer
        The buffer, which begins with the rows before the first step.
    taps
        The rows that a step reads, as negative numbers in any order.

    Attributes
    ----------
    rows
        What a step reads, in the order of the taps.
    """

    def __init__(self, builder: LoopBuilder, n: Any, buffer: Any, taps: Sequence[int]) -> None:
        ordered = tuple(sorted(taps))
        self._depth = -ordered[0]
        self._size = None if _has_room(buffer, n, self._depth) else _size(buffer)
        first = _first_rows(buffer, self._depth)
        state = builder.add_carried(first, ordered, [None] * len(ordered))
        at_tap = dict(zip(ordered, state.rows, strict=True))
        self.rows = [at_tap[tap] for tap in taps]

    def kept(self, rows: Any, ran: Any, pads: bool) -> Any:
        """Return the rows that the buffer has room for."""
        if self._size is None:
            return rows
        return _kept(rows, self._size, add_sizes(ran, self._depth), pads)


class _Window:
    """The rows of a buffer that a step reads or writes: a window that moves by one row a step.

    Parameters
    ----------
    builder
        The loop.
    buffer
        The buffer.
    reads, writes
        The places of the rows that a step reads, and of those that it writes.

    Attributes
    ----------
    rows
        What a step reads, in the order of ``reads``.
    """

    def __init__(
        self, builder: LoopBuilder, buffer: Any, reads: Sequence[int], writes: Sequence[int]
    ) -> None:
        first, last = min(*reads, *writes), max(*reads, *writes)
        staying = last - first
        self._buffer, self._staying = buffer, staying
        self._begin = begin = max(0, -min(reads)) + first  # before the first step
        self._writes = [place - first for place in writes]
        states = [builder.add_untraced(buffer[begin + at], None) for at in range(staying)]
        entering = builder.add_sequence(buffer[begin + staying :], None)
        self._seen = [*(state.rows[0] for state in states), entering]
        self.rows = [self._seen[place - first] for place in reads]

    def moved(self, written: Sequence[Any]) -> tuple[Any, list[Any]]:
        """Return the row that leaves the window after a step, and those that stay in it."""
        rows = list(self._seen)
        for place, row in zip(self._writes, written, strict=True):
            rows[place] = row
        return rows[0], rows[1:]

    def whole(self, ran: Any, left: Any, untraced: Iterator[Any]) -> Any:
        """Return the buffer after all steps.

        Parameters
        ----------
        ran
            The number of steps.
        left
            The rows that left the window.
        untraced
            The rows that stay in it, followed by other values.
        """
        end = add_sizes(ran, self._begin + self._staying)
        inside = [row[None] for row in islice(untraced, self._staying)]
        parts = [self._buffer[: self._begin], left, *inside, self._buffer[end:]]
        return pt.concatenate([part for part in parts if part.type.shape[0] != 0])


def _kept(rows: Any, size: Any, count: Any, pads: bool) -> Any:
    """Return the content of a buffer after the steps, given all rows that they made.

    Parameters
    ----------
    rows
        The rows.
    size
        The number of rows that the buffer has room for.
    count
        The number of rows that there are.
    pads
        Whether zeros follow where there is room for more.
    """
    size = fold(size)
    if same_size(count, size):
        return rows
    are_known = isinstance(count, int) and isinstance(size, int)
    if not are_known or count > size:
        rows = rows[clip_size(subtract_sizes(count, size), 0, None) :]
    if pads and (not are_known or count < size):
        missing = clip_size(subtract_sizes(size, count), 0, None)
        shape = [missing, *(rows.shape[axis] for axis in range(1, rows.ndim))]
        rows = pt.concatenate([rows, pt.zeros(shape, rows.dtype)])
    return rows


# ---- new buffers: ``AllocEmpty(n + first.shape[0], ...)[: first.shape[0]] = first`` --------------


def _first_rows(buffer: Any, depth: int) -> Any:
    """Return the rows before the first step: of a new buffer, those that it was given."""
    new = _new_buffer(buffer)
    if new is not None and _count(new.first) == depth:
        return new.first
    return buffer[:depth]


def _has_room(buffer: Any, n: Any, depth: int) -> bool:
    """Return whether a buffer is known to have a row for each step, after the first ones."""
    size, steps = _size(buffer), fold(n)
    if isinstance(size, int) and isinstance(steps, int):
        return size == steps + depth
    new = _new_buffer(buffer)
    if new is None or new.size.owner is None or new.size.owner.op is not add:
        return False
    terms = list(new.size.owner.inputs)
    return n in terms and [_known_size(one) for one in terms if one is not n] == [depth]


class _NewBuffer(NamedTuple):
    """How many rows a new buffer has, and those that were written to its beginning."""

    size: Any
    first: Any


def _new_buffer(buffer: Any) -> _NewBuffer | None:
    node = buffer.owner
    if node is None or not isinstance(node.op, IncSubtensor) or not node.op.set_instead_of_inc:
        return None
    empty, first = node.inputs[:2]
    if empty.owner is None or not isinstance(empty.owner.op, AllocEmpty):
        return None
    if not _is_beginning(node.op.idx_list) or first.ndim != buffer.ndim:
        return None
    return _NewBuffer(empty.owner.inputs[0], first)


def _is_beginning(index: Sequence[Any]) -> bool:
    """Return whether an index selects rows from the first one on."""
    if len(index) != 1 or not isinstance(index[0], Slice):
        return False
    return index[0].start is index[0].step is None


def _known_size(size: Any) -> int | None:
    """Return a size, if it is a number, or that of rows which can be counted."""
    node = size.owner
    if node is not None and isinstance(node.op, Subtensor) and node.op.idx_list == (0,):
        shape = node.inputs[0].owner
        if shape is not None and isinstance(shape.op, Shape):
            return _count(shape.inputs[0])
    return known_int(size)


def _count(rows: Any) -> int | None:
    """Return how many rows there are; a slice ``x[:k]`` has k, which the loop checks."""
    node = rows.owner
    if rows.type.shape[0] is not None or node is None or not isinstance(node.op, Subtensor):
        return rows.type.shape[0]
    if not _is_beginning(node.op.idx_list):
        return None
    stop = getattr(node.op.idx_list[0], "stop", None)
    return stop if isinstance(stop, int) else None


def _size(x: Any) -> Any:
    """Return how many rows there are, as a number if that is known."""
    return x.shape[0] if x.type.shape[0] is None else x.type.shape[0]
