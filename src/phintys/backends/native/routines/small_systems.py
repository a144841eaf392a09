"""Outlined factors of one small matrix, and triangular systems, for those that a loop repeats.

LAPACK takes longer to begin than they take. :mod:`~phintys.backends.native.routines.lanes` has the
same for stacks, with one matrix in each lane.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import loop, when
from phintys.backends.native.assembler.math import MathSymbol
from phintys.backends.native.assembler.math.calls import LU, TRIANGLE
from phintys.backends.native.assembler.types import INT32, INT64, PTR, VOID, Type, type_of

if TYPE_CHECKING:
    from phintys.backends.native.assembler.module import Module
    from phintys.backends.native.assembler.values import Value


def lu_symbol(type: Type) -> str:
    """Return the symbol of the function that factorizes.

    It is ``void (n, a, exchanges, rows)``: a, of n by n with contiguous columns, becomes its LU
    factors; int32 ``exchanges`` and int64 ``rows`` are the row exchanges and the order of the rows,
    from 0.
    """
    return MathSymbol(LU, type.name, 1).symbol


def triangle_symbol(type: Type) -> str:
    """Return the symbol of the function that solves triangular systems.

    It is ``int64 (n, k, a, a_down, a_along, x, is_lower, is_unit)``: x, of n by k and contiguous,
    becomes the solution. The result is the number of the first zero on the diagonal, from 1, or 0.
    """
    return MathSymbol(TRIANGLE, type.name, 1).symbol


def write_lu(module: Module, key: MathSymbol) -> None:
    """Write the function into a module.

    Rows are chosen as LAPACK does: by the largest element, the first of equal ones.
    """
    type = type_of(key.dtype)
    b = Builder(module.function(key.symbol, VOID, [INT64, PTR, PTR, PTR]))
    n, a, exchanges, rows = b.arguments
    one = b.constant(type, 1.0)
    with loop(b, 0, n) as each:
        b.store(each.index, b.offset(rows, each.index, INT64))
    with loop(b, 0, n) as step:
        k = step.index
        column = b.offset(a, k * n, type)
        first = b.intrinsic("fabs", b.load(type, b.offset(column, k, type)))
        with loop(b, k + 1, n, carried=[first, k]) as below:
            best, chosen = below.carried
            size = b.intrinsic("fabs", b.load(type, b.offset(column, below.index, type)))
            is_larger = best < size
            below.next(b.select(is_larger, size, best), b.select(is_larger, below.index, chosen))
        chosen = below.results[1]
        b.store(b.convert(chosen, INT32), b.offset(exchanges, k, INT32))
        with when(b, b.ne(chosen, k)):
            _swap(b, rows, k, chosen, INT64)
            with loop(b, 0, n) as other:
                _swap(b, b.offset(a, other.index * n, type), k, chosen, type)
        top = b.load(type, b.offset(column, k, type))
        # A column of zeros is left as it is.
        scale = b.select(b.eq(top, 0.0), one, one / top)
        with loop(b, k + 1, n) as below:
            place = b.offset(column, below.index, type)
            b.store(b.load(type, place) * scale, place)
        with loop(b, k + 1, n) as other:
            start = b.offset(a, other.index * n, type)
            factor = -b.load(type, b.offset(start, k, type))
            with loop(b, k + 1, n) as below:
                place = b.offset(start, below.index, type)
                left = b.load(type, b.offset(column, below.index, type))
                b.store(b.madd(factor, left, b.load(type, place)), place)
    b.ret()


def _swap(b: Builder, start: Value, one: Value, other: Value, type: Type) -> None:
    """Exchange two elements."""
    here, there = b.offset(start, one, type), b.offset(start, other, type)
    mine, its = b.load(type, here), b.load(type, there)
    b.store(its, here)
    b.store(mine, there)


def write_triangle(module: Module, key: MathSymbol) -> None:
    """Write the function into a module: row by row, from the top or from the bottom."""
    type = type_of(key.dtype)
    parameters = [INT64, INT64, PTR, INT64, INT64, PTR, INT64, INT64]
    b = Builder(module.function(key.symbol, INT64, parameters))
    n, k, a, down, along, x, is_lower, is_unit = b.arguments
    zero, one = b.constant(INT64, 0), b.constant(type, 1.0)
    from_top, has_ones = b.ne(is_lower, 0), b.ne(is_unit, 0)
    last = n - 1
    with loop(b, 0, n, carried=[zero]) as step:
        (failed,) = step.carried
        at = b.select(from_top, step.index, last - step.index)
        line = b.offset(a, at * down, type)
        pivot = b.load(type, b.offset(line, at * along, type))
        number = at + 1
        # Rows are solved in either order; the first zero is that with the least number.
        is_first = b.eq(failed, 0) | (number < failed)
        is_zero = b.eq(pivot, 0.0) & is_first
        scale = b.select(has_ones, one, one / pivot)
        begin = b.select(from_top, zero, number)
        end = b.select(from_top, at, n)
        with loop(b, 0, k) as side:
            place = b.offset(x, at * k + side.index, type)
            with loop(b, begin, end, carried=[b.load(type, place)]) as known:
                (rest,) = known.carried
                factor = b.load(type, b.offset(line, known.index * along, type))
                value = b.load(type, b.offset(x, known.index * k + side.index, type))
                known.next(b.madd(-factor, value, rest))
            b.store(known.results[0] * scale, place)
        step.next(b.select(is_zero, number, failed))
    b.ret(b.select(has_ones, zero, step.results[0]))
