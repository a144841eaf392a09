"""Outlined matrix products: small ones computed here, products with vectors and others by BLAS.

A call of BLAS takes longer than the product of matrices with a few rows and columns. Those are
computed here, in tiles of some rows and one vector of columns, which stay in registers along the
whole inner axis. The function is compiled once for all programs, like vector math.

The size up to which tiles are used is fixed, ``config.product_crossover``, as bits of results must
not depend on a measurement, which depends on the load of the machine. Measured on a CPU with
AVX-512, for vectors of 8, 16 and 4 lanes: up to 64 multiply-adds of vectors (8 x 8 x 8 for 8
lanes), tiles take 0.55 to 1.1 times as long as BLAS (1.4 in the worst case, three columns of few
rows); above, 0.9 to 2.9 times. ``python -m benchmarks.products`` prints the times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys._base.config import config
from phintys._base.records import record
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import ending_if, lane_mask, leaving, loop, when
from phintys.backends.native.assembler.elements import load, store
from phintys.backends.native.assembler.math import OutlinedSymbol, outlined_function
from phintys.backends.native.assembler.types import INT64, PTR, VOID, MachineType, type_of
from phintys.backends.native.assembler.values import Value
from phintys.backends.native.limits import (
    MOST_IN_TILES,
    NARROW_COLUMNS,
    PACKED_ELEMENTS,
    PRODUCT_TILE_ROWS,
    TILED_LENGTH,
)
from phintys.backends.native.routines.blas_functions import Matrix, call_product

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.assembler.module import Module
    from phintys.backends.native.assembler.target import Target


ALL = 1 << 40
"""More multiplications than any product in tiles has."""


def has_tiles(target: Target, type: MachineType) -> bool:
    """Return whether matrix products of a type can be computed in tiles."""
    # Masks are slow without instructions for them.
    is_fit = target.has_fma and target.vector_bytes >= 32
    return is_fit and type.name in {"float32", "float64"}


def crossover(target: Target, type: MachineType) -> int:
    """Return the maximum number of multiplications of products that are computed in tiles."""
    return config.product_crossover * target.lanes(type)


def work_of(lengths: Sequence[int], lanes: int) -> int:
    """Return the multiplications of a product of lengths m, n, k, including inactive lanes."""
    m, n, k = lengths
    return m * -(-n // lanes) * lanes * k


def most_in_tiles(
    target: Target, type: MachineType, lengths: Sequence[int | None], *, is_repeated: bool
) -> int:
    """Return the maximum number of multiplications up to which a product is computed in tiles.

    A decision at run time pays off for many products in a row, but not for a single one: the
    program would need the outlined function, and loading that takes as long as it saves in a few
    100,000 calls.

    Parameters
    ----------
    target, type
        The CPU and the dtype.
    lengths
        m, n and k; ``None`` for one that is known at run time.
    is_repeated
        Whether it is one of many.

    Returns
    -------
    int
        0 if all sizes are left to BLAS.
    """
    if not has_tiles(target, type):
        return 0
    known = [length for length in lengths if length is not None]
    if len(known) < len(lengths):
        return crossover(target, type) if is_repeated else 0
    work = work_of(known, target.lanes(type))
    is_short = max(known) < TILED_LENGTH and known[1] * known[2] <= PACKED_ELEMENTS
    return ALL if is_short and work <= min(crossover(target, type), MOST_IN_TILES) else 0


def product_symbol(target: Target, type: MachineType) -> str:
    """Return the symbol of the function.

    It is ``void (most, m, n, k, a, a_down, a_along, b, b_down, b_along, c, c_down, alpha, adds)``,
    for ``c = alpha a b``, or ``c +=`` it if ``adds`` is 1, with a of m by k and b of k by n;
    ``down`` is how far apart rows are, ``along`` how far apart columns, and the smaller of the two
    is 1. BLAS computes it if it has more than ``most`` multiplications.
    """
    return OutlinedSymbol("product", type.name, target.lanes(type)).symbol


@outlined_function("product")
def write_product(module: Module, key: OutlinedSymbol) -> None:
    """Write the function into a module."""
    type = type_of(key.dtype)
    numbers, matrix = [INT64, INT64], [PTR, INT64, INT64]
    parameters = [INT64, INT64, *numbers, *matrix, *matrix, PTR, INT64, type, INT64]
    _Product(Builder(module.function(key.symbol, VOID, parameters)), type, key.lanes).write()


@record(frozen=True)
class _Width:
    """How many columns a tile has.

    Attributes
    ----------
    lanes
        The lanes of a vector.
    is_exact
        Whether the matrix has as many columns; otherwise the last vector has a mask.
    is_apart
        Whether the elements of a row of the second matrix are not neighbours.
    """

    lanes: int
    is_exact: bool = False
    is_apart: bool = False


class _Product:
    """Writes the function."""

    def __init__(self, b: Builder, type: MachineType, lanes: int) -> None:
        self.b = b
        self.type = type
        self.lanes = lanes
        self.most, self.m, self.n, self.k = b.arguments[:4]
        self.first, self.second = Matrix(*b.arguments[4:7]), Matrix(*b.arguments[7:10])
        self.c, self.c_down, self.alpha, self.adds = b.arguments[10:]

    def write(self) -> None:
        """Write the function."""
        b = self.b
        if has_tiles(b.target, self.type):
            with ending_if(b, self._is_small()):
                self._narrow()
                self._tiles(self._packed(), _Width(self.lanes))
                b.ret()
        self._large()
        b.ret()

    def _is_small(self) -> Value:
        short = (self.m | self.n | self.k) < TILED_LENGTH
        padded = (self.n + (self.lanes - 1)) & -self.lanes
        little_work = self.m * padded * self.k <= self.most
        return short & little_work & (self.n * self.k <= PACKED_ELEMENTS)

    # ---- small products ----------------------------------------------------------------------

    def _narrow(self) -> None:
        """Compute matrices with as many columns as a narrower vector has lanes, without masks.

        What has just been written under a mask, or number by number, is slow to read as a vector.
        """
        b = self.b
        is_apart = b.ne(self.second.along, 1)
        done, others = b.new_block("done"), b.new_block("others")
        for lanes in NARROW_COLUMNS:
            with leaving(b, b.eq(self.n, lanes), done):
                with leaving(b, is_apart, done):
                    self._tiles(self.second, _Width(lanes, is_exact=True, is_apart=True))
                self._tiles(self.second, _Width(lanes, is_exact=True))
        b.jump(others)
        b.begin(done)
        b.ret()
        b.begin(others)

    def _packed(self) -> Matrix:
        """Return the second matrix with contiguous rows."""
        b, second = self.b, self.second
        room = b.slot(self.type, PACKED_ELEMENTS)
        is_apart = b.ne(second.along, 1)
        with when(b, is_apart), loop(b, 0, self.n) as column, loop(b, 0, self.k) as row:
            place = second.at(b, row.index, column.index, self.type)
            target = b.offset(room, row.index * self.n + column.index, self.type)
            b.store(b.load(self.type, place), target)
        return Matrix(
            b.select(is_apart, room, second.pointer),
            b.select(is_apart, self.n, second.down),
            b.constant(INT64, 1),
        )

    def _tiles(self, second: Matrix, width: _Width) -> None:
        """Compute tile by tile; missing rows of a tile repeat the last row."""
        b, type, lanes = self.b, self.type, width.lanes
        wide = type.of(lanes)
        last = self.m - 1
        alpha, adds = b.splat(self.alpha, lanes), b.splat(b.ne(self.adds, 0), lanes)
        zero = b.constant(wide, 0.0)
        with loop(b, 0, lanes if width.is_exact else self.n, lanes) as column:
            mask = None if width.is_exact else lane_mask(b, self.n - column.index, lanes)
            with loop(b, 0, self.m, PRODUCT_TILE_ROWS) as block:
                rows = [b.minimum_number(block.index + at, last) for at in range(PRODUCT_TILE_ROWS)]
                starts = [b.offset(self.first.pointer, row * self.first.down, type) for row in rows]
                carried = [b.constant(INT64, 0), column.index, *[zero] * PRODUCT_TILE_ROWS]
                with loop(b, 0, self.k, carried=carried) as inner:
                    along, at, *totals = inner.carried
                    right = self._right(second, at, width, mask)
                    lefts = [b.load(type, b.offset(start, along, type)) for start in starts]
                    totals = [
                        b.madd(b.splat(left, lanes), right, total)
                        for left, total in zip(lefts, totals, strict=True)
                    ]
                    inner.next(along + self.first.along, at + second.down, *totals)
                results: list[tuple[Value, Value]] = []
                for row, total in zip(rows, inner.results[2:], strict=True):
                    place = b.offset(self.c, row * self.c_down + column.index, type)
                    before = load(b, wide, place, None if mask is None else mask & adds)
                    assert isinstance(before, Value)
                    if mask is None:
                        before = b.select(adds, before, zero)
                    results.append((before + total * alpha, place))
                for result, place in results:
                    store(b, result, place, mask)

    def _right(self, second: Matrix, at: Value, width: _Width, mask: Value | None) -> Value:
        """Return a vector of a row of the second matrix."""
        b, type = self.b, self.type
        place = b.offset(second.pointer, at, type)
        if not width.is_apart:
            row = load(b, type.of(width.lanes), place, mask)
            assert isinstance(row, Value)
            return row
        row = b.undefined(type.of(width.lanes))
        for lane in range(width.lanes):
            element = b.load(type, b.offset(place, second.along * lane, type))
            row = b.insert(row, element, lane)
        return row

    # ---- others ------------------------------------------------------------------------------

    def _large(self) -> None:
        """Call BLAS."""
        b = self.b
        alpha = b.slot(self.type)
        b.store(self.alpha, alpha)
        matrices = (*self.first.parts, *self.second.parts, self.c, self.c_down)
        call_product(b, self.type, self.adds, [self.m, self.n, self.k, *matrices, alpha])
