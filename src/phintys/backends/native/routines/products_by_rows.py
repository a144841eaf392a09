"""Outlined products of a small matrix and a vector, row by row, for those that a loop repeats.

BLAS takes longer to begin than such a product takes. Rows are contiguous, as those of a matrix that
a step of the loop has made, so there are no vectors of neighbours to add. Sums of several rows are
computed side by side, number by number: what has just been written in part is slow to read as a
vector.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import loop
from phintys.backends.native.assembler.math import OutlinedSymbol, outlined_function
from phintys.backends.native.assembler.types import INT64, PTR, VOID, MachineType, type_of
from phintys.backends.native.limits import ROWS_SIDE_BY_SIDE

if TYPE_CHECKING:
    from phintys.backends.native.assembler.module import Module


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
