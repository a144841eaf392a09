"""Patterns of products, convolutions, and Ops on the items of a stack."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.gradient.patterns.arrays import lines, over
from phintys.gradient.patterns.index_sets import places, related, union
from phintys.gradient.patterns.rules import pattern_of
from phintys.graph import contract
from phintys.tensor.batching.blockwise import Blockwise
from phintys.tensor.convolution import Convolve
from phintys.tensor.images.convolutions import (
    FILTERS,
    IMAGES,
    RESULT,
    Conv,
    ConvByFilters,
    ConvByImages,
)
from phintys.tensor.images.geometry import extent_of, pads_of
from phintys.tensor.linear_algebra.matrix_op import MatrixOp
from phintys.tensor.products import BatchedDot, Dot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.gradient.patterns.index_sets import Sets
    from phintys.gradient.patterns.rules import PatternStep


# ---- products ------------------------------------------------------------------------------------


@pattern_of(Dot)
def pattern_of_dot(step: PatternStep) -> list[Sets]:
    """The row of one operand and the column of the other; zeros of constants do not count."""
    x, y = step.shape(0), step.shape(1)
    rows, columns = (x[0] if len(x) == 2 else 1), (y[1] if len(y) == 2 else 1)
    left = _of_rows(step.sets[0], (rows, x[-1]), columns, step.value(1))
    right = step.sets[1]
    if right is not None:  # x @ y is the transpose of y.T @ x.T
        factor = step.value(0)
        right = right[places((y[0], columns)).T.ravel()]
        right = _of_rows(right, (columns, y[0]), rows, None if factor is None else factor.T)
        right = right[places((columns, rows)).T.ravel()]
    return [union([left, right])]


def _of_rows(sets: Sets, shape: tuple[int, int], columns: int, factor: Any) -> Sets:
    """Return the sets of ``x @ factor``, as far as they come from x."""
    if sets is None:
        return None
    m, k = shape
    if factor is None:
        return over(sets, shape, [1], lines((m, columns), [1]))
    inner, outer = np.nonzero(factor.reshape(k, columns))
    first = np.arange(m)[:, None]
    return related(first * k + inner, first * columns + outer, (m * columns, m * k), sets)


@pattern_of(BatchedDot)
def pattern_of_batched_dot(step: PatternStep) -> list[Sets]:
    """The row of one operand and the column of the other, for each matrix of the stack."""
    x, y, shape = step.shape(0), step.shape(1), step.output_shape()
    rows = np.broadcast_to(places(x[:-1])[..., None], shape)
    columns = np.broadcast_to(places((*y[:-2], y[-1]))[..., None, :], shape)
    left = over(step.sets[0], x, [len(x) - 1], rows)
    return [union([left, over(step.sets[1], y, [len(y) - 2], columns)])]


# ---- convolutions --------------------------------------------------------------------------------


@pattern_of(Convolve)
def pattern_of_convolve(step: PatternStep) -> list[Sets]:
    """As many elements of one vector as the other one has; zeros of constants do not count."""
    (count,) = step.output_shape()
    parts: list[Sets] = []
    for at, sets in enumerate(step.sets):
        other = step.value(1 - at)
        used = np.arange(step.shape(1 - at)[0]) if other is None else np.flatnonzero(other)
        sources, shifts = np.meshgrid(np.arange(step.shape(at)[0]), used)
        parts.append(related(sources, sources + shifts, (count, step.shape(at)[0]), sets))
    return [union(parts)]


@pattern_of(Conv, ConvByFilters, ConvByImages)
def pattern_of_images(step: PatternStep) -> list[Sets]:
    """What meets under a filter: images, filters and results are related by one sum of products."""
    op = step.op
    shapes: dict[int, Sequence[int]] = {op.computes: step.output_shape()}
    shapes.update(zip(op.given, (step.shape(0), step.shape(1)), strict=True))
    meeting = _meeting(op, shapes)
    rows = prod(shapes[op.computes])
    parts = [
        related(meeting[role], meeting[op.computes], (rows, prod(shapes[role])), sets)
        for role, sets in zip(op.given, step.sets, strict=False)
    ]
    return [union(parts)]


def _meeting(op: Any, shapes: dict[int, Sequence[int]]) -> dict[int, Any]:
    """Return the places in all three arrays for each term of the sum."""
    images, filters, result = shapes[IMAGES], shapes[FILTERS], shapes[RESULT]
    # n, o, j..., c (of a group), k...: the term of x[n, c, j * stride + k * dilation - padding]
    n, o, *rest = np.indices((*result, *filters[1:]), sparse=True)
    j, c, k = rest[: op.ndim], rest[op.ndim], rest[op.ndim + 1 :]
    group = o // max(filters[0] // op.groups, 1)
    whole = (*result, *filters[1:])
    at: list[Any] = [n, group * filters[1] + c]
    is_inside = np.ones((1,) * len(whole), bool)
    for axis in range(op.ndim):
        extent = extent_of(filters[2 + axis], op.dilation[axis])
        before = pads_of(op.padding[axis], extent)[0]
        place = j[axis] * op.stride[axis] + k[axis] * op.dilation[axis] - before
        is_inside = is_inside & (place >= 0) & (place < images[2 + axis])
        at.append(np.clip(place, 0, max(images[2 + axis] - 1, 0)))
    mask = np.broadcast_to(is_inside, whole)
    found = {IMAGES: _number(at, images), FILTERS: _number([o, c, *k], filters)}
    found[RESULT] = _number([n, o, *j], result)
    return {role: np.broadcast_to(number, whole)[mask] for role, number in found.items()}


def _number(indices: Sequence[Any], shape: Sequence[int]) -> Any:
    """Return the numbers of elements in C order, from their indices."""
    number: Any = 0
    for index, size in zip(indices, shape, strict=True):
        number = number * size + index
    return number


# ---- stacks --------------------------------------------------------------------------------------


@pattern_of(Blockwise, MatrixOp)
def pattern_of_items(step: PatternStep) -> list[Sets]:
    """All elements of the item of the stack."""
    op = step.op
    inner, outer = op.dims() if isinstance(op, MatrixOp) else (op.dims.inputs, op.dims.outputs)
    connected = contract.connection_pattern(step.node)
    found: list[Sets] = []
    for o, names in enumerate(outer):
        shape = step.output_shape(o)
        batch = shape[: len(shape) - len(names)]
        parts: list[Sets] = []
        for at, (sets, core) in enumerate(zip(step.sets, inner, strict=True)):
            if sets is None or not connected[at][o]:
                continue
            own = step.shape(at)
            first = len(own) - len(core)
            items = np.broadcast_to(places(own[:first]), batch)
            wanted = np.broadcast_to(items.reshape((*batch, *(1,) * len(names))), shape)
            parts.append(over(sets, own, range(first, len(own)), wanted))
        found.append(union(parts))
    return found
