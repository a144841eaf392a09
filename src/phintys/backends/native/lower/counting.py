"""Lowering of Ops whose result lengths depend on the values of their inputs.

Nonzero elements of an array are found in two passes: the first counts them, and stores for each
element how many precede it; the second writes the index of each element to that place. A zero
element is written there too, and overwritten by the next nonzero one; the last ones are written
past the end, where there is room for one more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from phintys import scalar as ps
from phintys.backends.native.expressions import (
    Conversion,
    Expression,
    Index,
    Literal,
    Load,
    Operation,
    Position,
)
from phintys.backends.native.failures import Failure
from phintys.backends.native.lower.cumulative import run_along
from phintys.backends.native.lower.lowering import Loops, Lowering, lowers
from phintys.backends.native.lower.view import View
from phintys.backends.native.values import Array
from phintys.graph.apply import Apply
from phintys.tensor.nonzeros import Nonzero
from phintys.tensor.tiling import RepeatIndex

if TYPE_CHECKING:
    from phintys.backends.native.sizes import Size

_INT64 = np.dtype("int64")


class _Starts:
    """For each element of an array, in order, the sum of the numbers of all previous elements.

    Attributes
    ----------
    total
        The sum of all numbers.
    place
        The place of an element's sum: an index into the vector of sums.
    sum
        The sum up to and including an element.
    """

    def __init__(
        self, lengths: Sequence[Size], number: Expression, loops: Loops, node: Apply, low: Lowering
    ) -> None:
        sizes = low.sizes
        one, count = sizes.fixed(1), sizes.product(list(lengths))
        self.sums = low.array(_INT64, [sizes.add(count, one)])
        whole = View.of(self.sums, sizes)
        first = whole.picked(0, sizes.fixed(0), sizes)
        low.store(first, Literal(np.int64(0), _INT64), (), nodes=(node,))
        terms: list[tuple[Loops, Size]] = []
        step = one
        for loop, length in zip(reversed(loops), reversed(lengths), strict=True):
            terms.append(((loop,), step))
            step = sizes.mul(step, length)
        flat = tuple((loop, step) for (loop,), step in reversed(terms) if loop is not None)
        self.place = Load(self.sums, (Index(flat),))
        value = Operation(ps.add, (self.place, number), _INT64)
        following = Index(flat, one)
        low.store(whole, value, loops, positions=[following], nodes=(node,), sequential=list(loops))
        self.sum = Load(self.sums, (following,))
        last = View.of(low.array(_INT64, ()), sizes)
        end = Load(self.sums, (Index((), None if count.known == 0 else count),))
        low.store(last, end, (), nodes=(node,))
        self.total = sizes.element(last.array)

    def write(
        self, target: Array, value: Expression, loops: Loops, node: Apply, low: Lowering
    ) -> None:
        """Write a value for each element to its place; if several share one, the last one stays."""
        where = [Index((), None, self.place)]
        low.store(View.of(target, low.sizes), value, loops, positions=where, nodes=(node,))


def nonzero_views(view: View, node: Apply, lowering: Lowering) -> list[View]:
    """Return, for each axis, the indices of nonzero elements: vectors of int64."""
    sizes = lowering.sizes
    loops = lowering.loops(view.sizes)
    flag = lowering.load(view, loops)
    dtype = flag.dtype
    if dtype != np.bool_:
        flag = Operation(ps.ne, (flag, Literal(dtype.type(0), dtype)), np.dtype("bool"))
    starts = _Starts(view.sizes, Conversion(flag, _INT64), loops, node, lowering)
    lowering.require_lengths([starts.total], node)
    zero, one = sizes.fixed(0), sizes.fixed(1)
    found: list[View] = []
    for loop in loops:
        array = lowering.array(_INT64, [sizes.add(starts.total, one)])
        position = Position(Index(() if loop is None else ((loop, one),)))
        starts.write(array, position, loops, node, lowering)
        found.append(View.of(array, sizes).sliced(0, zero, one, starts.total, sizes))
    return found


@lowers(Nonzero)
def lower_nonzero(op: Nonzero, node: Apply, lowering: Lowering) -> None:
    """Find the nonzero elements of ``x``."""
    views = nonzero_views(lowering.view(node.inputs[0]), node, lowering)
    for variable, view in zip(node.outputs, views, strict=True):
        lowering.bind(variable, view)


@lowers(RepeatIndex)
def lower_repeat_index(op: RepeatIndex, node: Apply, lowering: Lowering) -> None:
    """Write each index where its repetitions begin; then take a running maximum."""
    sizes = lowering.sizes
    counts = lowering.view(node.inputs[0])
    loops = lowering.loops(counts.sizes)
    number = lowering.load(counts, loops)
    if number.dtype != _INT64:
        number = Conversion(number, _INT64)
    _require_no_negative(number, loops, node, lowering)
    starts = _Starts(counts.sizes, number, loops, node, lowering)
    # The numbers are not negative, so the first sum that is out of range is negative.
    _require_no_negative(starts.sum, loops, node, lowering)
    lowering.require_lengths([starts.total], node)
    one = sizes.fixed(1)
    marks = lowering.array(_INT64, [sizes.add(starts.total, one)])
    everywhere = lowering.loops(marks.sizes)
    shown = View.of(marks, sizes)
    lowering.store(shown, Literal(np.int64(0), _INT64), everywhere, nodes=(node,))
    (loop,) = loops
    position = Position(Index(() if loop is None else ((loop, one),)))
    starts.write(marks, position, loops, node, lowering)
    target, _ = lowering.compute(node.outputs[0], [starts.total])
    left = sizes.at_least_zero(sizes.sub(starts.total, one))
    rest = shown.sliced(0, one, one, left, sizes)

    def following(before: Expression, loops: Loops) -> Expression:
        return Operation(ps.maximum, (before, rest.load(loops)), _INT64)

    run_along(target, 0, shown.load, following, node, lowering)


def _require_no_negative(number: Expression, loops: Loops, node: Apply, low: Lowering) -> None:
    """Check that no count is negative."""
    flag = Operation(ps.lt, (number, Literal(np.int64(0), _INT64)), np.dtype("bool"))
    found = View.of(low.array(_INT64, ()), low.sizes)
    low.store(
        found,
        Conversion(flag, _INT64),
        loops,
        reduction=loops,
        reducer="add",
        positions=(),
        nodes=(node,),
    )
    negative = low.sizes.element(found.array)
    low.require_equal(negative, low.sizes.fixed(0), Failure(node, "negative", "{0} of the counts"))
