"""Square tiles of a matrix in vector registers, of which code for one matrix is made.

The matrix is row-major, of any size: the last tiles of rows and columns may be partly outside.
Rows outside repeat the last one when they are read, columns outside are 0, and neither is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import WrittenLoop, lane_mask, loop, when
from phintys.backends.native.assembler.elements import load, store
from phintys.backends.native.assembler.types import INT64, MachineType
from phintys.backends.native.assembler.values import Value
from phintys.backends.native.limits import FACTOR_TILE_LANES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager


class Tiles:
    """The tiles of a square matrix.

    Parameters
    ----------
    b
        The builder.
    type
        The type of the elements: float32 or float64.
    place
        The address of the matrix.
    n
        The number of rows, at least 1.
    """

    def __init__(self, b: Builder, type: MachineType, place: Value, n: Value) -> None:
        self.b = b
        self.type = type
        self.width = min(FACTOR_TILE_LANES, b.target.lanes(type))
        self.vector = type.of(self.width)
        self.n = n
        self._place = place
        self._last = n - 1

    def each(self, stop: Value) -> AbstractContextManager[WrittenLoop]:
        """Return a loop over the first rows or columns of tiles."""
        return loop(self.b, 0, stop, self.width)

    def row(self, row: Value) -> Value:
        """Return the address of a row; one that is outside is the last one."""
        return self.b.offset(
            self._place, self.b.minimum_number(row, self._last) * self.n, self.type
        )

    def rows(self, first: Value) -> list[Value]:
        """Return the addresses of the rows of a tile."""
        return [self.row(first + at) for at in range(self.width)]

    def column(self, column: Value) -> Value:
        """Return the address of the first element of a column; one that is outside is the last."""
        return self.b.offset(self._place, self.b.minimum_number(column, self._last), self.type)

    def inside(self, first: Value) -> Value:
        """Return which of the columns from a first one are inside."""
        return lane_mask(self.b, self.n - first, self.width)

    def read(self, rows: Sequence[Value], column: Value, mask: Value | None = None) -> list[Value]:
        """Return the rows of a tile, given the addresses of its rows."""
        b = self.b
        found = [load(b, self.vector, b.offset(row, column, self.type), mask) for row in rows]
        return [value for value in found if isinstance(value, Value)]

    def write(
        self,
        tile: Sequence[Value],
        rows: Sequence[Value],
        corner: tuple[Value, Value],
        mask: Value | None = None,
    ) -> None:
        """Write the rows of a tile that are inside, given the position of its first element."""
        b, (first, column) = self.b, corner
        for at, (vector, row) in enumerate(zip(tile, rows, strict=True)):
            with when(b, first + at < self.n):
                store(b, vector, b.offset(row, column, self.type), mask)

    def zeros(self) -> list[Value]:
        """Return a tile of zeros."""
        return [self.b.constant(self.vector, 0.0)] * self.width

    def spread(self, pointer: Value, index: Value | int = 0) -> Value:
        """Return a number in memory in all lanes."""
        b = self.b
        return b.splat(b.load(self.type, b.offset(pointer, index, self.type)), self.width)

    def add_products(
        self,
        tile: Sequence[Value],
        numbers: Callable[[Value], Sequence[Value]],
        vector: Callable[[Value], Value],
        steps: tuple[Value | int, Value],
    ) -> list[Value]:
        """Return ``tile[at] + sum(numbers(k)[at] * vector(k))``, summed over a range of steps."""
        b = self.b
        with loop(b, *steps, carried=tile) as one:
            other = vector(one.index)
            pairs = zip(numbers(one.index), one.carried, strict=True)
            one.next(*(b.madd(number, other, value) for number, value in pairs))
        return one.results

    def below(self, tile: Sequence[Value]) -> list[Value]:
        """Return the lower triangle of a tile."""
        b, lanes = self.b, self.b.lane_numbers(INT64.of(self.width))
        zero = b.constant(self.vector, 0.0)
        return [b.select(b.le(lanes, at), row, zero) for at, row in enumerate(tile)]

    def transposed(self, tile: Sequence[Value]) -> list[Value]:
        """Return the columns of a tile."""
        return turned(self.b, tile)


def turned(b: Builder, rows: Sequence[Value]) -> list[Value]:
    """Return the columns of a square of vectors, of a power of two."""
    width = len(rows)
    if width == 1:
        return list(rows)
    half = width // 2
    low = [
        lane for pair in zip(range(half), range(width, width + half), strict=True) for lane in pair
    ]
    high = [lane + half for lane in low]
    vectors = list(rows)
    for _ in range(width.bit_length() - 1):
        pairs = zip(vectors[:half], vectors[half:], strict=True)
        vectors = [b.shuffle(x, y, lanes) for x, y in pairs for lanes in (low, high)]
    return vectors
