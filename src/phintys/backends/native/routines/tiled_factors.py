"""Outlined Cholesky factors of one matrix of medium size, and inverses by them, in tiles.

For up to ``TILED_FACTOR_ROWS`` rows this takes a fraction of LAPACK's time, which goes into
products of narrow panels there. Matrices are row-major, and worked on in place: the lower
triangles are read and written, and the upper ones are zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import when
from phintys.backends.native.assembler.elements import load
from phintys.backends.native.assembler.math import OutlinedSymbol, outlined_function
from phintys.backends.native.assembler.types import INT64, PTR, VOID, MachineType, type_of
from phintys.backends.native.assembler.values import Value
from phintys.backends.native.limits import TILED_FACTOR_ROWS
from phintys.backends.native.routines.tiles import Tiles

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.backends.native.assembler.module import Module


def factor_symbol(type: MachineType) -> str:
    """Return the symbol of the function that replaces a matrix by its Cholesky factor.

    It is ``int64 (a, n)``: a has n rows. The result is the order of the first leading minor that is
    not positive, 0 if there is none.
    """
    return OutlinedSymbol("cholesky", type.name, 1).symbol


def inverse_symbol(type: MachineType) -> str:
    """Return the symbol of the function that replaces a Cholesky factor L by ``(L L^T)^-1``.

    It is ``void (l, n)``: l has n rows. There must be no zero on the diagonal.
    """
    return OutlinedSymbol("cholesky_inverse", type.name, 1).symbol


# ---- Cholesky factors ----------------------------------------------------------------------------


@outlined_function("cholesky")
def write_factor(module: Module, key: OutlinedSymbol) -> None:
    """``L[i, j] = (a[i, j] - sum(L[i, k] * L[j, k])) / L[j, j]``, in panels of rows i.

    The columns of the panel at hand are kept as vectors, a row in each lane.
    """
    type = type_of(key.dtype)
    b = Builder(module.function(key.symbol, INT64, [PTR, INT64]))
    place, n = b.arguments
    tiles = Tiles(b, type, place, n)
    panel, scales = b.slot(tiles.vector, TILED_FACTOR_ROWS), b.slot(type, TILED_FACTOR_ROWS)
    failed = b.slot(INT64)
    b.store(b.constant(INT64, 0), failed)

    def kept(column: Value) -> Value:
        return b.offset(panel, column * tiles.width, type)

    def minus(column: Value) -> Value:
        return -b.load(tiles.vector, kept(column))

    with tiles.each(n) as panels:
        first = panels.index
        rows = tiles.rows(first)
        with tiles.each(first) as before:
            column = before.index
            others = tiles.rows(column)
            tile = tiles.transposed(tiles.read(rows, column))
            tile = tiles.add_products(tile, _each_of(tiles, others), minus, (0, column))
            for at, other in enumerate(others):
                value = tile[at]
                for by in range(at):
                    value = b.madd(-tiles.spread(other, column + by), tile[by], value)
                tile[at] = value * tiles.spread(scales, column + at)
                b.store(tile[at], kept(column + at))
            tiles.write(tiles.transposed(tile), rows, (first, column))
        inside = tiles.inside(first)
        tile = tiles.transposed(tiles.read(rows, first, inside))

        def own(column: Value) -> Sequence[Value]:
            return [tiles.spread(kept(column), at) for at in range(tiles.width)]

        tile = tiles.add_products(tile, own, minus, (0, first))
        tile = _factor_of_tile(tiles, tile, first, scales, failed)
        tiles.write(tiles.below(tiles.transposed(tile)), rows, (first, first), inside)
    b.ret(b.load(INT64, failed))


def _factor_of_tile(
    tiles: Tiles, columns: Sequence[Value], first: Value, scales: Value, failed: Value
) -> list[Value]:
    """Return the columns of the factor of a tile, above whose diagonal are any numbers.

    The inverses of its diagonal are stored, and the first minor that is not positive.
    """
    b, found = tiles.b, list(columns)
    for at in range(tiles.width):
        pivot = b.extract(found[at], at)
        minor = first + (at + 1)
        is_bad = b.le(pivot, 0.0) & b.le(minor, tiles.n) & b.eq(b.load(INT64, failed), 0)
        with when(b, is_bad):
            b.store(minor, failed)
        root = b.intrinsic("sqrt", pivot)
        scale = b.constant(tiles.type, 1.0) / root
        b.store(scale, b.offset(scales, minor - 1, tiles.type))
        column = found[at] * b.splat(scale, tiles.width)
        for other in range(at + 1, tiles.width):
            factor = b.splat(b.extract(column, other), tiles.width)
            found[other] = b.madd(-factor, column, found[other])
        found[at] = b.insert(column, root, at)
    return found


# ---- inverses ------------------------------------------------------------------------------------


@outlined_function("cholesky_inverse")
def write_inverse(module: Module, key: OutlinedSymbol) -> None:
    """``L^-1``, and then its product with its transpose."""
    b = Builder(module.function(key.symbol, VOID, [PTR, INT64]))
    place, n = b.arguments
    tiles = Tiles(b, type_of(key.dtype), place, n)
    _invert_triangle(tiles)
    _multiply_triangle(tiles)
    b.ret()


def _invert_triangle(tiles: Tiles) -> None:
    """``X[i] = -L[i, i]^-1 sum(L[i, k] X[k], k < i)`` for panels i of rows; a lane is a column."""
    b, type_, width = tiles.b, tiles.type, tiles.width
    corner, scales = b.slot(tiles.vector, width), b.slot(type_, width)

    def divided(tile: Sequence[Value]) -> list[Value]:
        """Return the solution for the triangle in the corner of a panel."""
        found: list[Value] = []
        for at, value in enumerate(tile):
            for by, other in enumerate(found):
                value = b.madd(-tiles.spread(corner, at * width + by), other, value)
            found.append(value * tiles.spread(scales, at))
        return found

    with tiles.each(tiles.n) as panels:
        first = panels.index
        rows, inside = tiles.rows(first), tiles.inside(first)
        own = tiles.read(rows, first, inside)
        for at, row in enumerate(own):
            b.store(row, b.offset(corner, at * width, type_))
            scale = b.constant(type_, 1.0) / b.extract(row, at)
            b.store(scale, b.offset(scales, at, type_))
        with tiles.each(first) as before:
            column = before.index
            tile = tiles.add_products(
                tiles.zeros(), _each_of(tiles, rows), _rows_at(tiles, column), (column, first)
            )
            tiles.write([-row for row in divided(tile)], rows, (first, column))
        lanes = b.lane_numbers(INT64.of(width))
        one, zero = (b.constant(tiles.vector, number) for number in (1.0, 0.0))
        tile = divided([b.select(b.eq(lanes, at), one, zero) for at in range(width)])
        tiles.write(tiles.below(tile), rows, (first, first), inside)


def _multiply_triangle(tiles: Tiles) -> None:
    """``P[i, j] = sum(X[k, i] X[k, j], k >= i)`` for lower triangular X."""
    with tiles.each(tiles.n) as panels:
        first = panels.index
        rows, inside = tiles.rows(first), tiles.inside(first)
        columns = [tiles.column(first + at) for at in range(tiles.width)]

        def numbers(row: Value) -> list[Value]:
            return [tiles.spread(column, row * tiles.n) for column in columns]

        steps = (first, tiles.n)
        with tiles.each(first) as before:
            vector = _rows_at(tiles, before.index)
            tile = tiles.add_products(tiles.zeros(), numbers, vector, steps)
            tiles.write(tile, rows, (first, before.index))
        vector = _rows_at(tiles, first, inside)
        tile = tiles.add_products(tiles.zeros(), numbers, vector, steps)
        tiles.write(tiles.below(tile), rows, (first, first), inside)


def _each_of(tiles: Tiles, rows: Sequence[Value]) -> Callable[[Value], list[Value]]:
    """Return a function from a column to its elements in some rows, each in all lanes."""
    return lambda column: [tiles.spread(row, column) for row in rows]


def _rows_at(tiles: Tiles, column: Value, mask: Value | None = None) -> Callable[[Value], Value]:
    """Return a function from the number of a row to its elements from a column on."""
    start = tiles.column(column)

    def vector(row: Value) -> Value:
        found = load(tiles.b, tiles.vector, tiles.b.offset(start, row * tiles.n, tiles.type), mask)
        assert isinstance(found, Value)
        return found

    return vector
