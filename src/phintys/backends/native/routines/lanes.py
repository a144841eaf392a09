"""Stacks of small matrices, computed side by side: one in each lane of vector registers.

Matrices of a known size of up to ``UNROLLED_ROWS`` are numbers in registers, and what is written
for them has no loops. Others are in memory of the function, where the same element of all lanes is
one vector. A single lane has its matrix where the caller has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys._base.errors import IntegrityError
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import either, loop
from phintys.backends.native.assembler.types import INT64, MachineType
from phintys.backends.native.assembler.values import Value
from phintys.backends.native.limits import LANE_CHUNK, LANE_ROWS
from phintys.backends.native.routines.tiles import turned

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


Length = int | Value
"""A length or a position: a number if the code is written out, otherwise an int64."""


class Lanes:
    """The matrices of a group, and what is common to all code for them.

    Parameters
    ----------
    b
        The builder.
    type
        The type of the elements: float32 or float64.
    count
        The number of lanes; by default, those of a vector register.
    """

    def __init__(self, b: Builder, type: MachineType, count: int = 0) -> None:
        self.b = b
        self.type = type
        self.count = count or b.target.lanes(type)
        self.wide = type.of(self.count)
        self.integers = INT64.of(self.count)
        self.positions: list[Value] = []

    def take(self, first: Value, last: Value) -> None:
        """Begin with the matrices from a first one; lanes after the last one repeat it."""
        b = self.b
        self.positions = [b.minimum_number(first + lane, last) for lane in range(self.count)]

    def number(self, value: float) -> Value:
        """Return a number in all lanes."""
        return self.b.constant(self.wide, value)

    def integer(self, value: Length) -> Value:
        """Return an integer in all lanes."""
        if isinstance(value, int):
            return self.b.constant(self.integers, value)
        return self.b.splat(value, self.count)

    def each(self, start: Length, stop: Length, body: Callable[[Length], None]) -> None:
        """Write code for each number of a range: a loop, unless the code is written out."""
        if isinstance(start, int) and isinstance(stop, int):
            for number in range(start, stop):
                body(number)
            return
        with loop(self.b, start, stop) as one:
            body(one.index)

    def fold(
        self,
        start: Length,
        stop: Length,
        values: Sequence[Value],
        body: Callable[..., Sequence[Value]],
    ) -> Sequence[Value]:
        """Write code for each number of a range, given what that for the one before returned."""
        if isinstance(start, int) and isinstance(stop, int):
            for number in range(start, stop):
                values = body(number, *values)
            return values
        with loop(self.b, start, stop, carried=values) as one:
            one.next(*body(one.index, *one.carried))
        return one.results

    def either(self, condition: bool | Value, x: Length, y: Length) -> Length:
        """Return a length if a condition holds, or else another one."""
        if isinstance(condition, bool):
            return x if condition else y
        return self.b.select(condition, self.b.value(INT64, x), y)


class LaneMatrix:
    """A matrix in each lane, without values at first.

    Parameters
    ----------
    lanes
        The lanes.
    rows, columns
        Its lengths: numbers if the code is written out.
    room
        How many elements it has, at most.
    type
        The type of a vector of elements; by default that of the lanes.
    is_turned
        Whether its columns are contiguous in memory, not its rows.
    memory
        Where the matrix of a single lane is; by default, memory of the function.
    strides
        How far apart its rows are there, and its columns; by default it is contiguous.
    """

    def __init__(
        self,
        lanes: Lanes,
        rows: Length,
        columns: Length,
        *,
        room: int = LANE_ROWS * LANE_ROWS,
        type: MachineType | None = None,
        is_turned: bool = False,
        memory: Value | None = None,
        strides: tuple[Length, Length] | None = None,
    ) -> None:
        self._lanes = lanes
        self._b = lanes.b
        self.rows, self.columns = rows, columns
        self.type = lanes.wide if type is None else type
        self._strides = strides or ((1, rows) if is_turned else (columns, 1))
        self.is_unrolled = isinstance(rows, int) and isinstance(columns, int)
        self._known: dict[Length, Value] = {}
        self._memory = memory
        if memory is None and not self.is_unrolled:
            self._memory = lanes.b.slot(self.type, room)

    def transposed(self) -> LaneMatrix:
        """Return the transpose, in the same memory."""
        other = object.__new__(LaneMatrix)
        other.__dict__ |= self.__dict__
        other.rows, other.columns = self.columns, self.rows
        other._strides = self._strides[::-1]
        return other

    def row(self, row: Length) -> Line:
        """Return a row, whose elements are numbered from 0."""
        down, along = self._strides
        return Line(self, row * down, along)

    def column(self, column: Length) -> Line:
        """Return a column."""
        return self.transposed().row(column)

    def get(self, position: Length) -> Value:
        """Return the element at a position in memory."""
        if self._memory is None:
            return self._known[position]
        return self._b.load(self.type, self.place(position))

    def set(self, value: Value, position: Length) -> None:
        """Set the element at a position in memory."""
        if self._memory is None:
            self._known[position] = value
        else:
            self._b.store(value, self.place(position))

    def place(self, position: Length) -> Value:
        """Return the address of an element, given its position in memory."""
        if self._memory is None:
            msg = "A matrix in registers has no addresses."
            raise IntegrityError(msg)
        return self._b.offset(self._memory, position * self.type.lanes, self.type)

    @property
    def builder(self) -> Builder:
        """The builder."""
        return self._b

    # ---- memory of the matrices

    @property
    def _total(self) -> Length:
        return self.rows * self.columns

    def read(self, addresses: Sequence[Value]) -> None:
        """Read contiguous matrices, given the address of that of each lane."""
        self._chunks(self._read_chunk, self._read_one, addresses)

    def write(self, addresses: Sequence[Value]) -> None:
        """Write contiguous matrices."""
        self._chunks(self._write_chunk, self._write_one, addresses)

    def read_apart(self, addresses: Sequence[Value], down: Value, along: Value) -> None:
        """Read matrices whose neighbouring elements have given distances."""
        lanes = self._lanes

        def read_row(row: Length) -> None:
            line, start = self.row(row), down * row

            def read(column: Length) -> None:
                line.set(self._gathered(addresses, start + along * column), column)

            lanes.each(0, self.columns, read)

        lanes.each(0, self.rows, read_row)

    def write_integers(self, addresses: Sequence[Value], type: MachineType) -> None:
        """Write a matrix of one row, of integers, as another type."""
        b = self._b

        def write(at: Length) -> None:
            vector = self.get(at)
            for lane, place in enumerate(addresses):
                b.store(b.convert(b.extract(vector, lane), type), b.offset(place, at, type))

        self._lanes.each(0, self.columns, write)

    def _chunks(
        self,
        chunk: Callable[[Sequence[Value], Length, int], None],
        one: Callable[[Sequence[Value], Length], None],
        addresses: Sequence[Value],
    ) -> None:
        """Write code for all elements: chunks, the last of which may overlap, or one by one."""
        b, total = self._b, self._total
        width = min(self._lanes.count, LANE_CHUNK)
        if isinstance(total, int):
            while width > total:
                width //= 2
            for start in range(0, total, max(width, 1)):
                chunk(addresses, min(start, total - width), width)
            return
        with either(b, b.le(width, total)) as (if_long, if_short):
            with if_long, loop(b, 0, total, width) as several:
                chunk(addresses, b.minimum_number(several.index, total - width), width)
            with if_short, loop(b, 0, total) as single:
                one(addresses, single.index)

    def _read_chunk(self, addresses: Sequence[Value], start: Length, width: int) -> None:
        b, type_ = self._b, self.type.of(1)
        rows = [b.load(type_.of(width), b.offset(place, start, type_)) for place in addresses]
        for at, vector in enumerate(_across(b, rows)):
            self.set(vector, start + at)

    def _write_chunk(self, addresses: Sequence[Value], start: Length, width: int) -> None:
        b, type_ = self._b, self.type.of(1)
        vectors = [self.get(start + at) for at in range(width)]
        for place, vector in zip(addresses, _along(b, vectors), strict=True):
            b.store(vector, b.offset(place, start, type_))

    def _gathered(self, addresses: Sequence[Value], position: Length) -> Value:
        b, type_ = self._b, self.type.of(1)
        vector = b.undefined(self.type)
        for lane, place in enumerate(addresses):
            vector = b.insert(vector, b.load(type_, b.offset(place, position, type_)), lane)
        return vector

    def _read_one(self, addresses: Sequence[Value], position: Length) -> None:
        self.set(self._gathered(addresses, position), position)

    def _write_one(self, addresses: Sequence[Value], position: Length) -> None:
        b, type_ = self._b, self.type.of(1)
        vector = self.get(position)
        for lane, place in enumerate(addresses):
            b.store(b.extract(vector, lane), b.offset(place, position, type_))


class Line:
    """A row or a column of a matrix: what its addresses have in common is computed once.

    Parameters
    ----------
    matrix
        The matrix.
    start
        The position of its first element in memory.
    step
        The distance between neighbours.
    """

    def __init__(self, matrix: LaneMatrix, start: Length, step: Length) -> None:
        self._matrix = matrix
        self._start, self._step = start, step
        self._b, self._type = matrix.builder, matrix.type
        self._base = None if matrix.is_unrolled else matrix.place(start)

    def _place(self, base: Value, at: Length) -> Value:
        position = at if self._step == 1 else at * self._step
        return self._b.offset(base, position * self._type.lanes, self._type)

    def get(self, at: Length) -> Value:
        """Return an element."""
        if self._base is None:
            return self._matrix.get(self._start + at * self._step)
        return self._b.load(self._type, self._place(self._base, at))

    def set(self, value: Value, at: Length) -> None:
        """Set an element."""
        if self._base is None:
            self._matrix.set(value, self._start + at * self._step)
        else:
            self._b.store(value, self._place(self._base, at))


# ---- transposes of vectors -----------------------------------------------------------------------


def _across(b: Builder, rows: Sequence[Value]) -> list[Value]:
    """Return a vector of all lanes for each element, given some elements of each lane."""
    width = rows[0].type.lanes
    if width == 1:
        vector = b.undefined(rows[0].type.of(len(rows)))
        for lane, element in enumerate(rows):
            vector = b.insert(vector, element, lane)
        return [vector]
    squares = [turned(b, rows[at : at + width]) for at in range(0, len(rows), width)]
    return [b.join(parts) for parts in zip(*squares, strict=True)]


def _along(b: Builder, vectors: Sequence[Value]) -> list[Value]:
    """Return some elements of each lane, given a vector of all lanes for each of them."""
    width, count = len(vectors), vectors[0].type.lanes
    if width == 1:
        return [b.extract(vectors[0], lane) for lane in range(count)]
    rows: list[Value] = []
    for start in range(0, count, width):
        rows += turned(b, [b.part(vector, start, width) for vector in vectors])
    return rows
