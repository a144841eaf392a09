"""Patterns of Ops that are elementwise, move elements, or work along axes."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.gradient.marks import DisconnectedGrad, GradientMark, ZeroGrad
from phintys.gradient.patterns.index_sets import (
    NOTHING,
    gathered,
    places,
    related,
    stacked,
    taken,
    union,
    without,
)
from phintys.gradient.patterns.rules import pattern_of
from phintys.graph import contract
from phintys.scalar.op import ScalarOp
from phintys.tensor.creation import Alloc
from phintys.tensor.cumulative import CumOp, LinearRecurrence
from phintys.tensor.diagonals import AllocDiag, ExtractDiag
from phintys.tensor.dim_shuffle import DimShuffle
from phintys.tensor.elemwise import Elemwise
from phintys.tensor.extremes import ArgExtremeAlong
from phintys.tensor.fourier import FFT, IRFFT, RFFT
from phintys.tensor.indexing.advanced import AdvancedSubtensor
from phintys.tensor.indexing.basic import Subtensor
from phintys.tensor.indexing.template import FULL, Slice, count_inputs
from phintys.tensor.indexing.update import AdvancedIncSubtensor, IncSubtensor
from phintys.tensor.joining import Join, Split
from phintys.tensor.linear_algebra.assumptions import Assume
from phintys.tensor.observing import CheckAndRaise, Print
from phintys.tensor.partitioning import PartitionOp
from phintys.tensor.reduce import Reduce
from phintys.tensor.reshaping import Reshape
from phintys.tensor.running_extremes import RunningExtreme
from phintys.tensor.scalar_bridge import MakeVector, ScalarFromTensor, TensorFromScalar
from phintys.tensor.segments import SegmentReduce
from phintys.tensor.shapes import SpecifyShape
from phintys.tensor.sharding import WithSharding
from phintys.tensor.softmaxes import LogSoftmax, LogSumExp, Softmax
from phintys.tensor.sorting import SortOp

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from phintys.gradient.patterns.index_sets import Sets
    from phintys.gradient.patterns.rules import PatternStep


@pattern_of(Elemwise)
def pattern_of_elemwise(step: PatternStep) -> list[Sets]:
    """The union over the operands, broadcast; known factors of 0 and known choices count."""
    shape = step.output_shape()
    connected = contract.connection_pattern(step.node)
    parts = [
        _broadcast(sets, step.shape(at), shape) if sets is not None and any(row) else None
        for at, (sets, row) in enumerate(zip(step.sets, connected, strict=True))
    ]
    name = step.op.scalar_op.name
    if name == "mul":
        is_zero = np.zeros(shape, bool)
        for at in range(len(parts)):
            value = step.value(at)
            if value is not None:
                is_zero |= value == 0
        return [without(union(parts), is_zero)]
    if name == "switch":
        condition = step.value(0)
        if condition is not None:
            chosen = np.broadcast_to(condition != 0, shape)
            return [union([without(parts[1], ~chosen), without(parts[2], chosen)])]
    return [union(parts)] * len(step.node.outputs)


def _broadcast(sets: Sets, shape: Any, target: Any) -> Sets:
    return sets if shape == target else taken(sets, np.broadcast_to(places(shape), target))


@pattern_of(ScalarOp)
def pattern_of_scalar(step: PatternStep) -> list[Sets]:
    """The union over the operands."""
    return [union(step.sets)] * len(step.node.outputs)


@pattern_of(
    Assume,
    CheckAndRaise,
    GradientMark,
    Print,
    ScalarFromTensor,
    SpecifyShape,
    TensorFromScalar,
    WithSharding,
)
def pattern_of_first(step: PatternStep) -> list[Sets]:
    """The result is the first input."""
    return [step.sets[0]]


@pattern_of(DisconnectedGrad, ZeroGrad)
def pattern_of_zero_grad(step: PatternStep) -> list[Sets]:
    """The derivative is 0."""
    return [None]


@pattern_of(DimShuffle)
def pattern_of_dim_shuffle(step: PatternStep) -> list[Sets]:
    """The elements in another order."""
    return [taken(step.sets[0], _moved(step, 0)[0])]


@pattern_of(Reshape)
def pattern_of_reshape(step: PatternStep) -> list[Sets]:
    """The elements in the same order."""
    return [step.sets[0]]


@pattern_of(Alloc)
def pattern_of_alloc(step: PatternStep) -> list[Sets]:
    """The elements, repeated."""
    return [taken(step.sets[0], np.broadcast_to(places(step.shape(0)), step.output_shape()))]


@pattern_of(ExtractDiag, AllocDiag)
def pattern_of_diagonal(step: PatternStep) -> list[Sets]:
    """The elements on a diagonal; the others of a new matrix are 0."""
    values = step.values(1)
    if values is None:
        return step.dense()
    (moved,) = step.perform(places(step.shape(0)) + 1, *values)
    return [taken(step.sets[0], moved - 1)]


@pattern_of(Subtensor, AdvancedSubtensor)
def pattern_of_subtensor(step: PatternStep) -> list[Sets]:
    """The selected elements; where the index is not known, any element of the array."""
    if step.node.inputs[0] in step.walk.alike:
        return [_of_alike_rows(step)]
    if step.values(1) is None:
        return step.dense()
    return [taken(step.sets[0], _moved(step, 0)[0])]


def _of_alike_rows(step: PatternStep) -> Sets:
    """Return the sets of a part of one row, or of a slice of rows, where all are alike."""
    first, *rest = step.op.idx_list or (FULL,)
    given: Any = step.node.inputs[0].type
    shape = given.shape[1:]
    values = step.values(1 + count_inputs((first,))) or []
    if None in shape or len(values) < count_inputs(tuple(rest)):
        step.shape(0)  # raises the error: it is not known
    cells = [[None]]
    Subtensor([0, *rest]).perform(step.node, [places((1, *shape)), *values], cells)
    row = taken(step.sets[0], cells[0][0])
    return step.walk.repeat(row, step.node.outputs[0]) if isinstance(first, Slice) else row


@pattern_of(Join)
def pattern_of_join(step: PatternStep) -> list[Sets]:
    """The elements of the parts, one after the other."""
    shapes = [step.shape(at) for at in range(len(step.sets))]
    starts = np.cumsum([0, *map(prod, shapes)])
    numbers = [places(shape) + start for shape, start in zip(shapes, starts, strict=False)]
    whole = stacked(list(zip(step.sets, map(prod, shapes), strict=True)), step.width)
    return [taken(whole, step.perform(*numbers)[0])]


@pattern_of(MakeVector)
def pattern_of_make_vector(step: PatternStep) -> list[Sets]:
    """The elements, one after the other."""
    return [stacked([(sets, 1) for sets in step.sets], step.width)]


@pattern_of(Split)
def pattern_of_split(step: PatternStep) -> list[Sets]:
    """The elements of each part."""
    if step.values(1) is None:
        return step.dense()
    return [taken(step.sets[0], part) for part in _moved(step, 0)]


@pattern_of(IncSubtensor, AdvancedIncSubtensor)
def pattern_of_update(step: PatternStep) -> list[Sets]:
    """The elements of the array, except where they are replaced, and those written there."""
    x, y = step.sets[:2]
    shape = step.shape(0)
    values = step.values(2)
    if values is None:
        written = None if y is None else gathered(y, np.zeros(y.shape[0], int), 1, _zeros(shape))
        return [union([x, written])]
    reader = step.op._reader()
    node: Any = reader(step.node.inputs[0], *step.node.inputs[2:]).owner
    cell = [[None]]
    node.op.perform(node, [places(shape), *values], cell)
    targets: Any = cell[0][0]
    sources = np.broadcast_to(places(step.shape(1)), targets.shape)
    written = np.full(prod(shape), NOTHING)
    written[targets.ravel()] = sources.ravel()  # the last one of several, as the Op does
    if step.op.set_instead_of_inc:
        x = without(x, written != NOTHING)
    elif y is not None and np.count_nonzero(written != NOTHING) < targets.size:
        return [union([x, related(sources, targets, (prod(shape), y.shape[0]), y)])]
    return [union([x, taken(y, written)])]


def _zeros(shape: tuple[int, ...]) -> Any:
    return np.zeros(prod(shape), int)


def _moved(step: PatternStep, position: int) -> list[Any]:
    """Return the places of the elements of an input in each output."""
    values: list[Any] = step.values(1) or []
    return step.perform(places(step.shape(position)), *values)


def lines(shape: Sequence[int], axes: Iterable[int]) -> Any:
    """Return the number of the line along some axes on which each element of an array is.

    Examples
    --------
    >>> from phintys.gradient.patterns.arrays import lines
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
def pattern_of_reduce(step: PatternStep) -> list[Sets]:
    """The elements on the line that is reduced."""
    shape = step.shape(0)
    return [over(step.sets[0], shape, step.op.axes(len(shape)))]


@pattern_of(Softmax, LogSoftmax)
def pattern_of_softmax(step: PatternStep) -> list[Sets]:
    """All elements on the line."""
    shape = step.shape(0)
    return _whole_lines(step, step.op.axes(len(shape)))


@pattern_of(SortOp, PartitionOp)
def pattern_of_sort(step: PatternStep) -> list[Sets]:
    """All elements on the line: any of them can be at any place."""
    return _whole_lines(step, [step.op.axis])


def _whole_lines(step: PatternStep, axes: Sequence[int]) -> list[Sets]:
    shape = step.shape(0)
    return [over(step.sets[0], shape, axes, lines(shape, axes))]


@pattern_of(FFT, RFFT, IRFFT)
def pattern_of_fourier(step: PatternStep) -> list[Sets]:
    """All elements on the line; lines get another length, but their order stays."""
    axes = step.op.axes
    return [over(step.sets[0], step.shape(0), axes, lines(step.output_shape(), axes))]


@pattern_of(ArgExtremeAlong, SegmentReduce)
def pattern_over_all(step: PatternStep) -> list[Sets]:
    """Any element."""
    return step.dense()


@pattern_of(CumOp, RunningExtreme)
def pattern_of_cumulative(step: PatternStep) -> list[Sets]:
    """The element and those before it, or behind it in reverse."""
    op, shape = step.op, step.shape(0)
    reverse, exclusive = getattr(op, "reverse", False), getattr(op, "exclusive", False)
    found = _running(step.sets[0], shape, op.axis, reverse)
    return [taken(found, _shifted(shape, op.axis, 1, reverse)) if exclusive else found]


@pattern_of(LinearRecurrence)
def pattern_of_recurrence(step: PatternStep) -> list[Sets]:
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
