"""Outlined products of a small matrix and a vector, for those that a loop of steps repeats.

BLAS takes longer to begin than such a product takes. A matrix is read along what is contiguous.

Row by row, as those of a matrix that a step of the loop has made, there are no vectors of
neighbours to add. Sums of several rows are computed side by side, number by number: what has just
been written in part is slow to read as a vector. Column by column, sums of several columns are
computed side by side, since a single chain of additions would wait for each of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import either, lane_mask, loop, when
from phintys.backends.native.assembler.elements import load, store
from phintys.backends.native.assembler.math import OutlinedSymbol, outlined_function
from phintys.backends.native.assembler.types import INT64, PTR, VOID, MachineType, type_of
from phintys.backends.native.assembler.values import Value
from phintys.backends.native.limits import (
    COLUMNS_SIDE_BY_SIDE,
    ROWS_SIDE_BY_SIDE,
    VECTORS_BY_COLUMNS,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.assembler.module import Module
    from phintys.backends.native.assembler.target import Target


# ---- row by row ----------------------------------------------------------------------------------


def rows_symbol(type: MachineType) -> str:
    """Return the symbol of the function.

    It is ``void (m, n, a, a_down, x, x_step, y, y_step, alpha, beta)``, for ``y = alpha a x +
    beta y`` with a of m by n. Rows of a are contiguous, and ``a_down`` elements apart. If ``beta``
    is 0, y is not read.
    """
    return OutlinedSymbol("rows", type.name, 1).symbol


@outlined_function("rows")
def write_rows(module: Module, key: OutlinedSymbol) -> None:
    """Write the function into a module; missing rows of a group repeat the last row."""
    type = type_of(key.dtype)
    parameters = [INT64, INT64, PTR, INT64, PTR, INT64, PTR, INT64, type, type]
    b = Builder(module.function(key.symbol, VOID, parameters))
    m, n, a, down, x, x_step, y, y_step, alpha, beta = b.arguments
    zero, last = b.constant(type, 0.0), m - 1
    adds = b.ne(beta, 0.0)
    with loop(b, 0, m, ROWS_SIDE_BY_SIDE) as rows:
        numbers = [b.minimum_number(rows.index + at, last) for at in range(ROWS_SIDE_BY_SIDE)]
        starts = [b.offset(a, number * down, type) for number in numbers]
        with loop(b, 0, n, carried=[zero] * ROWS_SIDE_BY_SIDE) as along:
            element = b.load(type, b.offset(x, along.index * x_step, type))
            along.next(
                *[
                    b.madd(b.load(type, b.offset(start, along.index, type)), element, total)
                    for start, total in zip(starts, along.carried, strict=True)
                ]
            )
        places = [b.offset(y, number * y_step, type) for number in numbers]
        # All are read before one is written: the last row may be there several times.
        before = [b.load(type, place) for place in places]
        for total, place, former in zip(along.results, places, before, strict=True):
            kept = b.select(adds, former, zero)
            b.store(b.madd(total, alpha, kept * beta), place)
    b.ret()


# ---- column by column ----------------------------------------------------------------------------


def columns_symbol(target: Target, type: MachineType) -> str:
    """Return the symbol of the function.

    It is ``void (m, n, a, a_along, x, x_step, y, alpha, beta)``, for ``y = alpha a x + beta y``
    with a of m by n. Columns of a are contiguous, and ``a_along`` elements apart; so is y.
    """
    return OutlinedSymbol("columns", type.name, target.lanes(type)).symbol


@outlined_function("columns")
def write_columns(module: Module, key: OutlinedSymbol) -> None:
    """Write the function into a module."""
    type = type_of(key.dtype)
    parameters = [INT64, INT64, PTR, INT64, PTR, INT64, PTR, type, type]
    _Columns(Builder(module.function(key.symbol, VOID, parameters)), type, key.lanes).write()


class _Columns:
    """Writes the function: some rows at a time, as many as fit into vectors.

    There is a mask only for what fills neither a vector, nor half or a quarter of one: what has
    just been written under a mask is slow to read.
    """

    def __init__(self, b: Builder, type: MachineType, lanes: int) -> None:
        self.b = b
        self.type = type
        self.lanes = lanes
        self.m, self.n, self.a, self.along, self.x, self.x_step, self.y, *factors = b.arguments
        self.alpha, self.beta = factors

    def write(self) -> None:
        """Write all rows."""
        b, lanes = self.b, self.lanes
        whole = self.m & -(VECTORS_BY_COLUMNS * lanes)
        with loop(b, 0, whole, VECTORS_BY_COLUMNS * lanes) as rows:
            self._rows(rows.index, lanes, VECTORS_BY_COLUMNS)
        end = self.m & -lanes
        with when(b, whole < end):
            self._rows(whole, lanes, 1)
        left = self.m - end
        widths = [wide for wide in (lanes // 2, lanes // 4) if wide > 1]
        for wide in widths:
            with when(b, b.eq(left, wide)):
                self._rows(end, wide, 1)
        is_odd = b.lt(0, left)
        for wide in widths:
            is_odd = is_odd & b.ne(left, wide)
        with when(b, is_odd):
            self._rows(end, lanes, 1, lane_mask(b, left, lanes))
        b.ret()

    def _rows(self, first: Value, lanes: int, vectors: int, mask: Value | None = None) -> None:
        """Write some vectors of rows."""
        b, wide = self.b, self.type.of(lanes)
        zero = b.constant(wide, 0.0)
        start = b.offset(self.a, first, self.type)
        whole = self.n & -COLUMNS_SIDE_BY_SIDE
        with loop(
            b, 0, whole, COLUMNS_SIDE_BY_SIDE, carried=[zero] * (vectors * COLUMNS_SIDE_BY_SIDE)
        ) as some:
            totals: list[Value] = []
            for side in range(COLUMNS_SIDE_BY_SIDE):
                mine = some.carried[side * vectors : (side + 1) * vectors]
                totals += self._column(some.index + side, start, mine, mask)
            some.next(*totals)
        sums = some.results
        while len(sums) > vectors:
            half = len(sums) // 2
            sums = [one + other for one, other in zip(sums[:half], sums[half:], strict=True)]
        with loop(b, whole, self.n, carried=sums) as rest:
            rest.next(*self._column(rest.index, start, rest.carried, mask))
        for vector, total in enumerate(rest.results):
            self._store(total, b.offset(self.y, first + vector * lanes, self.type), mask)

    def _column(
        self, at: Value, start: Value, totals: Sequence[Value], mask: Value | None
    ) -> list[Value]:
        """Add a column, times its element of x, to the sums of some rows."""
        b, wide = self.b, totals[0].type
        element = b.load(self.type, b.offset(self.x, at * self.x_step, self.type))
        place = b.offset(start, at * self.along, self.type)
        found: list[Value] = []
        for vector, total in enumerate(totals):
            part = load(b, wide, b.offset(place, vector * wide.lanes, self.type), mask)
            assert isinstance(part, Value)
            found.append(b.madd(b.splat(element, wide.lanes), part, total))
        return found

    def _store(self, total: Value, place: Value, mask: Value | None) -> None:
        b, wide = self.b, total.type
        scaled = total * b.splat(self.alpha, wide.lanes)
        with either(b, b.eq(self.beta, 0.0)) as (if_fresh, otherwise):
            with if_fresh:
                store(b, scaled, place, mask)
            with otherwise:
                before = load(b, wide, place, mask)
                assert isinstance(before, Value)
                store(b, b.madd(before, b.splat(self.beta, wide.lanes), scaled), place, mask)
