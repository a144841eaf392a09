"""Outlined factors of one small matrix, and triangular systems, for those that a loop repeats.

LAPACK takes longer to begin than they take. They are those of
:mod:`~phintys.backends.native.routines.small_factors`, in a single lane.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.math import OutlinedSymbol, outlined_function
from phintys.backends.native.assembler.types import INT32, INT64, PTR, VOID, MachineType, type_of
from phintys.backends.native.limits import SMALL_SYSTEM_ROWS
from phintys.backends.native.routines.lanes import LaneMatrix, Lanes, Length
from phintys.backends.native.routines.small_factors import lu_factors, solve_triangle

if TYPE_CHECKING:
    from phintys.backends.native.assembler.module import Module


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

    one, many = b.new_block("one"), b.new_block("many")
    b.branch(b.eq(k, 1), one, many)
    b.begin(one)  # without a loop over right sides, which would take an eighth longer at eight rows
    solve(1)
    b.begin(many)
    solve(k)
