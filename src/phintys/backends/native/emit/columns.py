"""Outlined products of a small matrix and a vector, for those that a loop of steps repeats.

BLAS takes longer to begin than such a product takes. The matrix is read column by column, each of
which is contiguous; sums of several columns are computed side by side, since a single chain of
additions would wait for each of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.backends.native.emit.builder import Builder
from phintys.backends.native.emit.control import lane_mask, loop
from phintys.backends.native.emit.math import MathSymbol
from phintys.backends.native.emit.math.calls import COLUMNS
from phintys.backends.native.emit.memory import load, store
from phintys.backends.native.emit.types import INT64, PTR, VOID, Type, type_of
from phintys.backends.native.emit.values import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.emit.module import Module
    from phintys.backends.native.emit.target import Target

__all__ = ["MOST_BY_COLUMNS", "columns_symbol", "write_columns"]

MOST_BY_COLUMNS = 1 << 12
"""Elements of the largest matrix; BLAS is as fast for larger ones."""

_VECTORS = 2
_SIDE_BY_SIDE = 4

_NARROW = (4, 2)
"""Rows for which there is code without masks."""


def columns_symbol(target: Target, type: Type) -> str:
    """Return the symbol of the function.

    It is ``void (m, n, a, a_along, x, x_step, y, alpha, beta)``, for ``y = alpha a x + beta y``
    with a of m by n. Columns of a are contiguous, and ``a_along`` elements apart; so is y.
    """
    return MathSymbol(COLUMNS, type.name, target.lanes(type)).symbol


def write_columns(module: Module, key: MathSymbol) -> None:
    """Write the function into a module."""
    type = type_of(key.dtype)
    parameters = [INT64, INT64, PTR, INT64, PTR, INT64, PTR, type, type]
    b = Builder(module.function(key.symbol, VOID, parameters))
    for rows in _NARROW:
        _write_narrow(b, type, rows)
    m, n, a, along, x, x_step, y, alpha, beta = b.arguments
    wide = type.of(key.lanes)
    zero = b.constant(wide, 0.0)
    factor, kept = b.splat(alpha, key.lanes), b.splat(beta, key.lanes)
    adds = b.splat(b.ne(beta, 0.0), key.lanes)

    def column(
        at: Value, place: Value, totals: Sequence[Value], masks: Sequence[Value]
    ) -> list[Value]:
        """Add a column, times its element of x, to the sums of some rows."""
        element = b.splat(b.load(type, b.offset(x, at * x_step, type)), key.lanes)
        found: list[Value] = []
        for vector, (total, mask) in enumerate(zip(totals, masks, strict=True)):
            part = load(b, wide, b.offset(place, vector * key.lanes, type), mask)
            assert isinstance(part, Value)
            found.append(b.madd(element, part, total))
        return found

    with loop(b, 0, m, _VECTORS * key.lanes) as rows:
        masks = [
            lane_mask(b, m - rows.index - vector * key.lanes, key.lanes)
            for vector in range(_VECTORS)
        ]
        start = b.offset(a, rows.index, type)
        whole = n & -_SIDE_BY_SIDE
        with loop(b, 0, whole, _SIDE_BY_SIDE, carried=[zero] * (_VECTORS * _SIDE_BY_SIDE)) as some:
            totals: list[Value] = []
            for side in range(_SIDE_BY_SIDE):
                at = some.index + side
                mine = some.carried[side * _VECTORS : (side + 1) * _VECTORS]
                totals += column(at, b.offset(start, at * along, type), mine, masks)
            some.next(*totals)
        sums = some.results
        while len(sums) > _VECTORS:
            half = len(sums) // 2
            sums = [one + other for one, other in zip(sums[:half], sums[half:], strict=True)]
        with loop(b, whole, n, carried=sums) as rest:
            place = b.offset(start, rest.index * along, type)
            rest.next(*column(rest.index, place, rest.carried, masks))
        for vector, (total, mask) in enumerate(zip(rest.results, masks, strict=True)):
            place = b.offset(y, rows.index + vector * key.lanes, type)
            before = load(b, wide, place, mask & adds)
            assert isinstance(before, Value)
            store(b, b.madd(before, kept, total * factor), place, mask)
    b.ret()


def _write_narrow(b: Builder, type: Type, rows: int) -> None:
    """Write the product for as many rows as a narrow vector has lanes.

    What has just been written under a mask is slow to read.
    """
    m, n, a, along, x, x_step, y, alpha, beta = b.arguments
    wide = type.of(rows)
    zero = b.constant(wide, 0.0)
    others = b.new_block("others")
    is_it = b.new_block("narrow")
    b.branch(b.eq(m, rows), is_it, others)
    b.begin(is_it)
    with loop(b, 0, n, carried=[zero]) as column:
        element = b.splat(b.load(type, b.offset(x, column.index * x_step, type)), rows)
        part = b.load(wide, b.offset(a, column.index * along, type))
        column.next(b.madd(element, part, column.carried[0]))
    before = b.select(b.splat(b.ne(beta, 0.0), rows), b.load(wide, y), zero)
    factor, kept = b.splat(alpha, rows), b.splat(beta, rows)
    b.store(b.madd(before, kept, column.results[0] * factor), y)
    b.ret()
    b.begin(others)
