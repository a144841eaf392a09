"""Patterns of Ops that only move elements: what they do to the numbers of places says it all."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

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
from phintys.tensor.creation import Alloc
from phintys.tensor.diagonals import AllocDiag, ExtractDiag
from phintys.tensor.dim_shuffle import DimShuffle
from phintys.tensor.indexing.advanced import AdvancedSubtensor
from phintys.tensor.indexing.basic import Subtensor
from phintys.tensor.indexing.template import FULL, Slice, count_inputs
from phintys.tensor.indexing.update import AdvancedIncSubtensor, IncSubtensor
from phintys.tensor.joining import Join, Split
from phintys.tensor.make_vectors import MakeVector
from phintys.tensor.reshaping import Reshape

if TYPE_CHECKING:
    from phintys.gradient.patterns.index_sets import Sets
    from phintys.gradient.patterns.rules import Step


@pattern_of(DimShuffle)
def pattern_of_dim_shuffle(step: Step) -> list[Sets]:
    """The elements in another order."""
    return [taken(step.sets[0], _moved(step, 0)[0])]


@pattern_of(Reshape)
def pattern_of_reshape(step: Step) -> list[Sets]:
    """The elements in the same order."""
    return [step.sets[0]]


@pattern_of(Alloc)
def pattern_of_alloc(step: Step) -> list[Sets]:
    """The elements, repeated."""
    return [taken(step.sets[0], np.broadcast_to(places(step.shape(0)), step.output_shape()))]


@pattern_of(ExtractDiag, AllocDiag)
def pattern_of_diagonal(step: Step) -> list[Sets]:
    """The elements on a diagonal; the others of a new matrix are 0."""
    values = step.values(1)
    if values is None:
        return step.dense()
    (moved,) = step.perform(places(step.shape(0)) + 1, *values)
    return [taken(step.sets[0], moved - 1)]


@pattern_of(Subtensor, AdvancedSubtensor)
def pattern_of_subtensor(step: Step) -> list[Sets]:
    """The selected elements; where the index is not known, any element of the array."""
    if step.node.inputs[0] in step.walk.alike:
        return [_of_alike_rows(step)]
    if step.values(1) is None:
        return step.dense()
    return [taken(step.sets[0], _moved(step, 0)[0])]


def _of_alike_rows(step: Step) -> Sets:
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
def pattern_of_join(step: Step) -> list[Sets]:
    """The elements of the parts, one after the other."""
    shapes = [step.shape(at) for at in range(len(step.sets))]
    starts = np.cumsum([0, *map(prod, shapes)])
    numbers = [places(shape) + start for shape, start in zip(shapes, starts, strict=False)]
    whole = stacked(list(zip(step.sets, map(prod, shapes), strict=True)), step.width)
    return [taken(whole, step.perform(*numbers)[0])]


@pattern_of(MakeVector)
def pattern_of_make_vector(step: Step) -> list[Sets]:
    """The elements, one after the other."""
    return [stacked([(sets, 1) for sets in step.sets], step.width)]


@pattern_of(Split)
def pattern_of_split(step: Step) -> list[Sets]:
    """The elements of each part."""
    if step.values(1) is None:
        return step.dense()
    return [taken(step.sets[0], part) for part in _moved(step, 0)]


@pattern_of(IncSubtensor, AdvancedIncSubtensor)
def pattern_of_update(step: Step) -> list[Sets]:
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


def _moved(step: Step, position: int) -> list[Any]:
    """Return the places of the elements of an input in each output."""
    values: list[Any] = step.values(1) or []
    return step.perform(places(step.shape(position)), *values)
