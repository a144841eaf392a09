"""Factors and triangular systems of small matrices, one in each lane of vector registers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.backends.native.emit.control import when
from phintys.backends.native.routines.lanes import Cell, LaneMatrix, Lanes, Length

if TYPE_CHECKING:
    from phintys.backends.native.emit.values import Value

__all__ = ["cholesky_factor", "lu_factors", "nan_where", "solve_triangle"]


def cholesky_factor(lanes: Lanes, a: LaneMatrix) -> Value:
    """Replace lower triangles by Cholesky factors; return the first minors that are not positive.

    They are counted from 1, and 0 if all are positive.
    """
    b, n = lanes.b, a.rows
    failed = Cell(lanes, lanes.integer(0), a.is_unrolled)

    def eliminate(j: Length) -> None:
        pivot = a.get(j, j)
        is_first = b.le(pivot, 0.0) & b.eq(failed.get(), 0)
        failed.set(b.select(is_first, lanes.integer(j + 1), failed.get()))
        root = b.intrinsic("sqrt", pivot)
        a.set(root, j, j)
        scale = lanes.number(1.0) / root
        lanes.each(j + 1, n, lambda i: a.set(a.get(i, j) * scale, i, j))
        lanes.each(j + 1, n, lambda column: update(j, column))

    def update(j: Length, column: Length) -> None:
        factor = -a.get(column, j)
        lanes.each(
            column,
            n,
            lambda i: a.set(b.madd(a.get(i, j), factor, a.get(i, column)), i, column),
        )

    lanes.each(0, n, eliminate)
    return failed.get()


def solve_triangle(
    lanes: Lanes, a: LaneMatrix, x: LaneMatrix, *, lower: bool, unit: bool
) -> Value | None:
    """Replace right sides by solutions; return where the diagonals have their first zeros.

    These are counted from 1, and 0 if there are none; ``None`` if the diagonals are 1.
    """
    b, n, columns = lanes.b, a.rows, x.columns
    failed = Cell(lanes, lanes.integer(0), a.is_unrolled)

    def eliminate(step: Length) -> None:
        row = step if lower else (n - 1) - step
        if not unit:
            pivot = a.get(row, row)
            is_zero = b.eq(pivot, 0.0)
            number = lanes.integer(row + 1)
            # Rows are solved in either order; the first zero is that with the least number.
            is_first = is_zero & (b.eq(failed.get(), 0) | (number < failed.get()))
            failed.set(b.select(is_first, number, failed.get()))
            scale = lanes.number(1.0) / pivot
            lanes.each(0, columns, lambda c: x.set(x.get(row, c) * scale, row, c))
        start, stop = (row + 1, n) if lower else (0, row)
        lanes.each(start, stop, lambda other: update(row, other))

    def update(row: Length, other: Length) -> None:
        factor = -a.get(other, row)
        lanes.each(
            0,
            columns,
            lambda c: x.set(b.madd(x.get(row, c), factor, x.get(other, c)), other, c),
        )

    lanes.each(0, n, eliminate)
    return None if unit else failed.get()


def lu_factors(lanes: Lanes, a: LaneMatrix, exchanges: LaneMatrix, rows: LaneMatrix) -> None:
    """Replace matrices by their LU factors, with the row exchanges and the order of the rows.

    Rows are chosen as LAPACK does: by the largest element, the first of equal ones.
    """
    b, n = lanes.b, a.rows
    best = Cell(lanes, lanes.number(0.0), a.is_unrolled)
    chosen = Cell(lanes, lanes.integer(0), a.is_unrolled)

    def choose(k: Length, i: Length) -> None:
        size = b.intrinsic("fabs", a.get(i, k))
        is_larger = best.get() < size
        best.set(b.select(is_larger, size, best.get()))
        chosen.set(b.select(is_larger, lanes.integer(i), chosen.get()))

    def exchange(k: Length, i: Length) -> None:
        is_it = b.eq(chosen.get(), lanes.integer(i))
        if a.is_unrolled:
            swap(k, i, is_it)
            return
        with when(b, b.any(is_it)):
            swap(k, i, is_it)

    def swap(k: Length, i: Length, is_it: Value) -> None:
        lanes.each(0, n, lambda j: swap_element(a, (k, j), (i, j), is_it))
        swap_element(rows, (k, 0), (i, 0), is_it)

    def swap_element(
        matrix: LaneMatrix, one: tuple[Length, Length], other: tuple[Length, Length], is_it: Value
    ) -> None:
        upper, under = matrix.get(*one), matrix.get(*other)
        matrix.set(b.select(is_it, under, upper), *one)
        matrix.set(b.select(is_it, upper, under), *other)

    def eliminate(k: Length) -> None:
        best.set(b.intrinsic("fabs", a.get(k, k)))
        chosen.set(lanes.integer(k))
        lanes.each(k + 1, n, lambda i: choose(k, i))
        exchanges.set(chosen.get(), k)
        lanes.each(k + 1, n, lambda i: exchange(k, i))
        top = a.get(k, k)
        # A column of zeros is left as it is.
        scale = b.select(b.eq(top, 0.0), lanes.number(1.0), lanes.number(1.0) / top)
        lanes.each(k + 1, n, lambda i: a.set(a.get(i, k) * scale, i, k))
        lanes.each(k + 1, n, lambda i: update(k, i))

    def update(k: Length, i: Length) -> None:
        factor = -a.get(i, k)
        lanes.each(k + 1, n, lambda j: a.set(b.madd(factor, a.get(k, j), a.get(i, j)), i, j))

    lanes.each(0, n, lambda i: rows.set(lanes.integer(i), i))
    lanes.each(0, n, eliminate)


def nan_where(lanes: Lanes, statuses: Value, matrix: LaneMatrix) -> None:
    """Set matrices to NaN where a status is not 0."""
    b = lanes.b
    fails = b.ne(statuses, 0)

    def fill_row(i: Length) -> None:
        lanes.each(
            0,
            matrix.columns,
            lambda j: matrix.set(
                b.select(fails, lanes.number(float("nan")), matrix.get(i, j)), i, j
            ),
        )

    if matrix.is_unrolled:
        lanes.each(0, matrix.rows, fill_row)
        return
    with when(b, b.any(fails)):
        lanes.each(0, matrix.rows, fill_row)
