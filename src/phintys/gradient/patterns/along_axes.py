"""Patterns of Ops that work along axes: an element depends on those on its line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.gradient.patterns.index_sets import NOTHING, gathered, places, taken, union, without
from phintys.gradient.patterns.rules import pattern_of
from phintys.tensor.cumulative import CumOp, LinearRecurrence
from phintys.tensor.extremes import ArgExtremeAlong
from phintys.tensor.fourier.ops import FFT, IRFFT, RFFT
from phintys.tensor.partitioning import PartitionOp
from phintys.tensor.reduce import Reduce
from phintys.tensor.running_extremes import RunningExtreme
from phintys.tensor.segments import SegmentReduce
from phintys.tensor.softmaxes import LogSoftmax, LogSumExp, Softmax
from phintys.tensor.sorting import SortOp

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from phintys.gradient.patterns.index_sets import Sets
    from phintys.gradient.patterns.rules import Step


def lines(shape: Sequence[int], axes: Iterable[int]) -> Any:
    """Return the number of the line along some axes on which each element of an array is.

    Examples
    --------
    >>> from phintys.gradient.patterns.along_axes import lines
    >>> lines((2, 3), [1])
    array([[0, 0, 0],
           [1, 1, 1]])
    """
    crossed = tuple(axes)
    kept = [1 if axis in crossed else size for axis, size in enumerate(shape)]
    return np.broadcast_to(places(kept), shape)


def over(sets: Sets, shape: Sequence[int], axes: Iterable[int], wanted: Any = None) -> Sets:
    """Return the unions over the lines along some axes.

    Parameters
    ----------
    sets
        The sets of the elements of an array.
    shape
        Its shape.
    axes
        Where the lines run.
    wanted
        The line of each new element; by default there is one element for each line.
    """
    numbers = lines(shape, axes)
    crossed = tuple(axes)
    kept = [size for axis, size in enumerate(shape) if axis not in crossed]
    count = int(np.prod(kept, dtype=int))
    return gathered(sets, numbers, count, np.arange(count) if wanted is None else wanted)


@pattern_of(Reduce, LogSumExp)
def pattern_of_reduce(step: Step) -> list[Sets]:
    """The elements on the line that is reduced."""
    shape = step.shape(0)
    return [over(step.sets[0], shape, step.op.axes(len(shape)))]


@pattern_of(Softmax, LogSoftmax)
def pattern_of_softmax(step: Step) -> list[Sets]:
    """All elements on the line."""
    shape = step.shape(0)
    return _whole_lines(step, step.op.axes(len(shape)))


@pattern_of(SortOp, PartitionOp)
def pattern_of_sort(step: Step) -> list[Sets]:
    """All elements on the line: any of them can be at any place."""
    return _whole_lines(step, [step.op.axis])


def _whole_lines(step: Step, axes: Sequence[int]) -> list[Sets]:
    shape = step.shape(0)
    return [over(step.sets[0], shape, axes, lines(shape, axes))]


@pattern_of(FFT, RFFT, IRFFT)
def pattern_of_fourier(step: Step) -> list[Sets]:
    """All elements on the line; lines get another length, but their order stays."""
    axes = step.op.axes
    return [over(step.sets[0], step.shape(0), axes, lines(step.output_shape(), axes))]


@pattern_of(ArgExtremeAlong, SegmentReduce)
def pattern_over_all(step: Step) -> list[Sets]:
    """Any element."""
    return step.dense()


@pattern_of(CumOp, RunningExtreme)
def pattern_of_cumulative(step: Step) -> list[Sets]:
    """The element and those before it, or behind it in reverse."""
    op, shape = step.op, step.shape(0)
    reverse, exclusive = getattr(op, "reverse", False), getattr(op, "exclusive", False)
    found = _running(step.sets[0], shape, op.axis, reverse)
    return [taken(found, _shifted(shape, op.axis, 1, reverse)) if exclusive else found]


@pattern_of(LinearRecurrence)
def pattern_of_recurrence(step: Step) -> list[Sets]:
    """The factors but the first one, and terms before the element, or behind it in reverse."""
    op, shape = step.op, step.shape(0)
    factors, terms = step.sets
    first = _shifted(shape, op.axis, 1, op.reverse) == NOTHING
    found = _running(union([without(factors, first), terms]), shape, op.axis, op.reverse)
    return [taken(found, _shifted(shape, op.axis, 1, op.reverse))]


def _running(sets: Sets, shape: Sequence[int], axis: int, reverse: bool) -> Sets:
    """Return the unions over all elements up to each one, by steps of twice the length."""
    distance = 1
    while distance < shape[axis]:
        sets = union([sets, taken(sets, _shifted(shape, axis, distance, reverse))])
        distance *= 2
    return sets


def _shifted(shape: Sequence[int], axis: int, distance: int, reverse: bool) -> Any:
    """Return for each element the place of that some steps before it, or behind it in reverse."""
    found = np.full(shape, NOTHING)
    before = [slice(None)] * len(shape)
    behind = [slice(None)] * len(shape)
    before[axis], behind[axis] = slice(None, -distance), slice(distance, None)
    target, source = (before, behind) if reverse else (behind, before)
    found[tuple(target)] = places(shape)[tuple(source)]
    return found
