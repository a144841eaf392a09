"""Factors and triangular systems of small matrices: one in each lane of vector registers, or one.

Inner loops run along what is contiguous in memory. Loops that repeat them for one matrix call
outlined functions, in a single lane: LAPACK takes longer to begin than they take.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import ending_if, when
from phintys.backends.native.assembler.math import OutlinedSymbol, outlined_function
from phintys.backends.native.assembler.types import INT32, INT64, PTR, VOID, MachineType, type_of
from phintys.backends.native.assembler.values import Value
from phintys.backends.native.limits import LANE_ROWS, SMALL_SYSTEM_ROWS
from phintys.backends.native.routines.lanes import LaneMatrix, Lanes, Length, Line

if TYPE_CHECKING:
    from phintys.backends.native.assembler.module import Module


def _vector(lanes: Lanes, n: Length) -> Line:
    """Return room for n numbers."""
    return LaneMatrix(lanes, 1, n, room=LANE_ROWS).row(0)


def _scale(lanes: Lanes, line: Line, factor: Value, start: Length, stop: Length) -> None:
    """``line[start:stop] *= factor``"""
    lanes.each(start, stop, lambda at: line.set(line.get(at) * factor, at))


def _add(lanes: Lanes, factor: Value, one: Line, to: Line, start: Length, stop: Length) -> None:
    """``to[start:stop] += factor * one[start:stop]``"""
    b = lanes.b
    lanes.each(start, stop, lambda at: to.set(b.madd(factor, one.get(at), to.get(at)), at))


# ---- Cholesky factors ----------------------------------------------------------------------------


def cholesky_factor(lanes: Lanes, a: LaneMatrix) -> Value:
    """Replace lower triangles by Cholesky factors; return the first minors that are not positive.

    They are counted from 1, and 0 if all are positive.
    """
    b, n = lanes.b, a.rows
    found = _vector(lanes, n)

    def eliminate(j: Length, failed: Value) -> list[Value]:
        column = a.column(j)
        pivot = column.get(j)
        is_first = b.le(pivot, 0.0) & b.eq(failed, 0)
        root = b.intrinsic("sqrt", pivot)
        column.set(root, j)
        _scale(lanes, column, lanes.number(1.0) / root, j + 1, n)
        lanes.each(j + 1, n, lambda i: found.set(column.get(i), i))
        lanes.each(j + 1, n, lambda i: _add(lanes, -found.get(i), found, a.row(i), j + 1, i + 1))
        return [b.select(is_first, lanes.integer(j + 1), failed)]

    (failed,) = lanes.fold(0, n, [lanes.integer(0)], eliminate)
    return failed


def cholesky_adjoint(lanes: Lanes, factor: LaneMatrix, x: LaneMatrix) -> None:
    """Replace the lower triangle of a gradient for a factor L by that for ``L L^T``."""
    n = factor.rows
    zero, half = lanes.number(0.0), lanes.number(0.5)

    def multiply(i: Length) -> None:
        """Row i of ``L^T x``, of which the lower triangle and half of the diagonal count."""
        row, column = x.row(i), factor.column(i)
        _scale(lanes, row, column.get(i), 0, i + 1)
        lanes.each(i + 1, n, lambda p: _add(lanes, column.get(p), x.row(p), row, 0, i + 1))
        row.set(row.get(i) * half, i)
        lanes.each(i + 1, n, lambda j: row.set(zero, j))

    def fold(i: Length) -> None:
        """Add the upper triangle to the lower one."""
        row, column = x.row(i), x.column(i)

        def add(j: Length) -> None:
            column.set(column.get(j) + row.get(j), j)
            row.set(zero, j)

        lanes.each(i + 1, n, add)

    lanes.each(0, n, multiply)
    solve_triangle(lanes, factor.transposed(), x, lower=False, unit=False)
    _divide_rows(lanes, x, factor)
    lanes.each(0, n, fold)


def _divide_rows(lanes: Lanes, x: LaneMatrix, factor: LaneMatrix) -> None:
    """``x = x L^-1`` for lower triangular L."""
    n = factor.rows
    scales = _vector(lanes, n)

    def divide(i: Length) -> None:
        row = x.row(i)

        def eliminate(step: Length) -> None:
            j = (n - 1) - step
            value = row.get(j) * scales.get(j)
            row.set(value, j)
            _add(lanes, -value, factor.row(j), row, 0, j)

        lanes.each(0, n, eliminate)

    lanes.each(0, n, lambda j: scales.set(lanes.number(1.0) / factor.row(j).get(j), j))
    lanes.each(0, x.rows, divide)


# ---- triangular systems --------------------------------------------------------------------------


def solve_triangle(
    lanes: Lanes, a: LaneMatrix, x: LaneMatrix, *, lower: bool | Value, unit: bool | Value
) -> Value | None:
    """Replace right sides by solutions; return where the diagonals have their first zeros.

    These are counted from 1, and 0 if there are none; ``None`` if the diagonals are known to be 1.
    """
    b, n, width = lanes.b, a.rows, x.columns

    def eliminate(step: Length, failed: Value) -> list[Value]:
        at = lanes.either(lower, step, (n - 1) - step)
        column, row = a.column(at), x.row(at)
        if unit is not True:
            pivot, one = column.get(at), lanes.number(1.0)
            number = lanes.integer(at + 1)
            # Rows are solved in either order; the first zero is that with the least number.
            is_first = b.eq(failed, 0) | (number < failed)
            failed = b.select(b.eq(pivot, 0.0) & is_first, number, failed)
            scale = one / pivot
            _scale(lanes, row, b.select(unit, one, scale) if unit else scale, 0, width)
        start, stop = lanes.either(lower, at + 1, 0), lanes.either(lower, n, at)
        lanes.each(start, stop, lambda i: _add(lanes, -column.get(i), row, x.row(i), 0, width))
        return [failed]

    (failed,) = lanes.fold(0, n, [lanes.integer(0)], eliminate)
    return None if unit is True else failed


# ---- LU factors ----------------------------------------------------------------------------------


def lu_factors(lanes: Lanes, a: LaneMatrix, exchanges: Line, rows: Line) -> None:
    """Replace matrices by their LU factors, with the row exchanges and the order of the rows.

    Rows are chosen as LAPACK does: by the largest element, the first of equal ones. The columns of
    the matrices are contiguous.
    """
    b, n = lanes.b, a.rows

    def choose(column: Line, k: Length) -> Value:
        def larger(i: Length, best: Value, chosen: Value) -> list[Value]:
            size = b.intrinsic("fabs", column.get(i))
            is_larger = best < size
            return [
                b.select(is_larger, size, best),
                b.select(is_larger, lanes.integer(i), chosen),
            ]

        first = [b.intrinsic("fabs", column.get(k)), lanes.integer(k)]
        return lanes.fold(k + 1, n, first, larger)[1]

    def exchange(k: Length, chosen: Value) -> None:
        """Exchange row k and the chosen one: in lanes, each of those below where it is that."""
        if lanes.count == 1:
            with when(b, b.ne(chosen, k)):
                swap_rows(k, chosen, None)
            return

        def exchange_with(i: Length) -> None:
            is_it = b.eq(chosen, lanes.integer(i))
            if a.is_unrolled:
                swap_rows(k, i, is_it)
                return
            with when(b, b.any(is_it)):
                swap_rows(k, i, is_it)

        lanes.each(k + 1, n, exchange_with)

    def swap_rows(k: Length, i: Length, is_it: Value | None) -> None:
        one, other = a.row(k), a.row(i)
        lanes.each(0, n, lambda j: swap(one, j, other, j, is_it))
        swap(rows, k, rows, i, is_it)

    def swap(one: Line, at: Length, other: Line, to: Length, is_it: Value | None) -> None:
        upper, under = one.get(at), other.get(to)
        one.set(under if is_it is None else b.select(is_it, under, upper), at)
        other.set(upper if is_it is None else b.select(is_it, upper, under), to)

    def eliminate(k: Length) -> None:
        column = a.column(k)
        chosen = choose(column, k)
        exchanges.set(chosen, k)
        exchange(k, chosen)
        top = column.get(k)
        # A column of zeros is left as it is.
        scale = b.select(b.eq(top, 0.0), lanes.number(1.0), lanes.number(1.0) / top)
        _scale(lanes, column, scale, k + 1, n)
        lanes.each(k + 1, n, lambda j: update(k, column, a.column(j)))

    def update(k: Length, column: Line, other: Line) -> None:
        _add(lanes, -other.get(k), column, other, k + 1, n)

    lanes.each(0, n, lambda i: rows.set(lanes.integer(i), i))
    lanes.each(0, n, eliminate)


# ---- failures ------------------------------------------------------------------------------------


def nan_where(lanes: Lanes, statuses: Value, matrix: LaneMatrix) -> None:
    """Set matrices to NaN where a status is not 0."""
    b = lanes.b
    fails, nan = b.ne(statuses, 0), lanes.number(float("nan"))

    def fill(i: Length) -> None:
        row = matrix.row(i)
        lanes.each(0, matrix.columns, lambda j: row.set(b.select(fails, nan, row.get(j)), j))

    if matrix.is_unrolled:
        lanes.each(0, matrix.rows, fill)
        return
    with when(b, b.any(fails)):
        lanes.each(0, matrix.rows, fill)


# ---- outlined ------------------------------------------------------------------------------------


def lu_symbol(type: MachineType) -> str:
    """Return the symbol of the function that factorizes.

    It is ``void (n, a, exchanges, rows)``: a, of n by n with contiguous columns, becomes its LU
    factors; int32 ``exchanges`` and int64 ``rows`` are the row exchanges and the order of the rows,
    from 0.
    """
    return OutlinedSymbol("lu", type.name, 1).symbol


def triangle_symbol(type: MachineType) -> str:
    """Return the symbol of the function that solves triangular systems.

    It is ``int64 (n, k, a, a_down, a_along, x, is_lower, is_unit)``: x, of n by k and contiguous,
    becomes the solution. The result is the number of the first zero on the diagonal, from 1, or 0.
    """
    return OutlinedSymbol("triangle", type.name, 1).symbol


@outlined_function("lu")
def write_lu(module: Module, key: OutlinedSymbol) -> None:
    """Write the function into a module."""
    b = Builder(module.function(key.symbol, VOID, [INT64, PTR, PTR, PTR]))
    n, a, exchanges, rows = b.arguments
    lane = Lanes(b, type_of(key.dtype), count=1)
    matrix = LaneMatrix(lane, n, n, is_turned=True, memory=a)
    chosen = LaneMatrix(lane, 1, n, type=INT64, room=SMALL_SYSTEM_ROWS)
    order = LaneMatrix(lane, 1, n, type=INT64, memory=rows)
    lu_factors(lane, matrix, chosen.row(0), order.row(0))
    chosen.write_integers([exchanges], INT32)
    b.ret()


@outlined_function("triangle")
def write_triangle(module: Module, key: OutlinedSymbol) -> None:
    """Write the function into a module: row by row, from the top or from the bottom."""
    parameters = [INT64, INT64, PTR, INT64, INT64, PTR, INT64, INT64]
    b = Builder(module.function(key.symbol, INT64, parameters))
    n, k, a, down, along, x, is_lower, is_unit = b.arguments
    lane = Lanes(b, type_of(key.dtype), count=1)
    matrix = LaneMatrix(lane, n, n, memory=a, strides=(down, along))
    from_top, has_ones = b.ne(is_lower, 0), b.ne(is_unit, 0)

    def solve(columns: Length) -> None:
        right = LaneMatrix(lane, n, columns, memory=x)
        found = solve_triangle(lane, matrix, right, lower=from_top, unit=has_ones)
        b.ret(b.select(has_ones, b.constant(INT64, 0), found or 0))

    with ending_if(b, b.eq(k, 1)):
        solve(1)  # the loop over right sides would take an eighth longer at eight rows
    solve(k)
