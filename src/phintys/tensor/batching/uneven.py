"""Rows of loops that ended at different steps for the items of a batch.

An item of such a result has its own number of rows, the first ones; what comes after them is not
part of it. Few Ops know that: indexing of the rows, and loops that read them. All others are given
the rows only if all items have as many, which is checked when the rows are there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.errors import ShapeError
from phintys.tensor.batching.rules import batches
from phintys.tensor.dim_shuffle import shape_padright
from phintys.tensor.indexing.basic import Subtensor
from phintys.tensor.indexing.setting import take_along_axis
from phintys.tensor.indexing.template import FULL, Slice
from phintys.tensor.math import cast, eq, ge, lt, maximum, switch
from phintys.tensor.observing import CheckAndRaise
from phintys.tensor.ranges import arange
from phintys.tensor.reduce import all
from phintys.tensor.shapes import sizes_of
from phintys.tensor.size_check import with_check

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph

_UNEVEN = (
    "The items of a batch end their loop at different steps, and the program reads their rows. "
    "Reduce the rows in the loop, or read the last one only"
)


class EvenRows(CheckAndRaise):
    """Return rows after a check, which remains where only their shape is read.

    Parameters
    ----------
    axis
        The axis of the rows.
    """

    __props__ = (*CheckAndRaise.__props__, "axis")

    def __init__(self, axis: int) -> None:
        super().__init__(ShapeError, _UNEVEN + ".")
        self.axis = axis

    def infer_shape(
        self, fgraph: FunctionGraph | None, node: Any, input_shapes: Sequence[Any]
    ) -> list[Any]:
        sizes = list(input_shapes[0])
        holds = cast(node.inputs[1], "int64")
        sizes[self.axis] = with_check(
            [sizes[self.axis]], "equal", holds, 1, f"{_UNEVEN}: whether they have as many rows"
        )[0]
        return [tuple(sizes)]


@batches(EvenRows)
def batch_even_rows(node: Any, batch: Any) -> list[Any]:
    """Check all items of all batches together."""
    return [EvenRows(node.op.axis + batch.ranks[0])(batch.inputs[0], all(batch.inputs[1]))]


def even(x: Any, lengths: Any) -> Any:
    """Return rows after a check that all items have as many.

    Parameters
    ----------
    x
        Rows of all items: the axes of the batch, that of the rows, and others.
    lengths
        The number of rows of each item.
    """
    rows = sizes_of(x)[lengths.ndim]
    return EvenRows(lengths.ndim)(x, all(eq(lengths, rows)))


def zero_beyond(x: Any, lengths: Any) -> Any:
    """Return rows of which those that an item does not have are 0."""
    first = lengths.ndim
    has = lt(arange(sizes_of(x)[first]), shape_padright(lengths))
    return switch(shape_padright(has, x.ndim - first - 1), x, x.zeros_like())


def index_rows(node: Apply, batch: Any, lengths: Any) -> tuple[Any, Any] | None:
    """Return an index of rows, and the numbers of rows of the result if they are rows.

    ``None`` is returned for an index that has no rule: other rows than the first, the last, all but
    some at the ends, or all in reverse order.
    """
    op: Any = node.op
    if not isinstance(op, Subtensor) or any(rank for rank in batch.ranks[1:]):
        return None
    x, *indices = batch.inputs
    first = lengths.ndim
    rows, *others = op.idx_list or (FULL,)
    rest = Subtensor((FULL,) * first + (FULL, *others))
    if isinstance(rows, int):
        at = lengths * 0 + rows if rows >= 0 else lengths + rows
        enough = all(ge(lengths, rows + 1 if rows >= 0 else -rows))
        x = CheckAndRaise(ShapeError, "an item of a batch has no such row")(x, enough)
        one = take_along_axis(x, _positions(shape_padright(at), x, first), first)
        return Subtensor((FULL,) * first + (0, *others))(one, *indices), None
    if not isinstance(rows, Slice):
        return None
    start, stop, step = rows
    if (start, stop, step) == (None, None, -1):
        backwards = shape_padright(lengths) - 1 - arange(sizes_of(x)[first])
        x = take_along_axis(x, _positions(maximum(backwards, 0), x, first), first)
        return rest(x, *indices), lengths
    before, after = start or 0, stop or 0
    if not (isinstance(before, int) and isinstance(after, int)) or step not in (None, 1):
        return None
    if before < 0 or after > 0 or stop == 0:
        return None
    found = Subtensor((FULL,) * first + tuple(op.idx_list))(x, *indices)
    return found, maximum(lengths - before + after, 0)


def _positions(positions: Any, x: Any, first: int) -> Any:
    """Return positions of rows with an axis of size 1 for each further axis of the rows."""
    missing = x.ndim - first - 1
    return shape_padright(positions, missing) if missing else positions
