"""Panels of the matrix of the elements under filters, and their products.

:mod:`~phintys.backends.native.routines.image_parts` says what they are for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import (
    WrittenLoop,
    divide_up,
    either,
    lane_mask,
    loop,
    when,
)
from phintys.backends.native.assembler.elements import load, store
from phintys.backends.native.assembler.records import Record
from phintys.backends.native.assembler.types import INT64, PTR, VOID, MachineType
from phintys.backends.native.assembler.values import Value
from phintys.backends.native.limits import PANEL_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from phintys.backends.native.assembler.module import Module

_AXES = range(3)


CALL = Record.packed(
    source=PTR,  # images; or the gradient of the result
    factor=PTR,  # filters; or the gradient of the result, together with images
    out=PTR,
    scratch=PTR,  # a panel for each range, and a turned part of the gradient
    sums=PTR,  # sums of each part of the images
    images=INT64,
    groups=INT64,
    channels=INT64,  # of a group
    filters=INT64,  # of a group
    **{f"n{axis}": INT64 for axis in _AXES},  # sizes of images
    **{f"k{axis}": INT64 for axis in _AXES},  # of filters
    **{f"m{axis}": INT64 for axis in _AXES},  # of results
    **{f"s{axis}": INT64 for axis in _AXES},  # strides
    **{f"d{axis}": INT64 for axis in _AXES},  # dilations
    **{f"f{axis}": INT64 for axis in _AXES},  # elements in front of images
    block=INT64,  # channels of a panel
    room=INT64,  # elements of the scratch memory of a range
    ranges=INT64,  # for which there is such memory
    parts=INT64,  # into which the panels of all images are divided for sums
    length=INT64,  # of a range; set here
    panels=INT64,  # of an image; set here
)
"""What a function is passed. Images have three spatial axes, of which the first may have size 1."""


def panel_width(itemsize: int) -> int:
    """Return the number of places of a panel, for elements of a size in bytes."""
    return PANEL_BYTES // itemsize


class Fields:
    """The numbers and addresses of a call, each read once at the start of a function."""

    def __init__(self, b: Builder, call: Value) -> None:
        self._values = {name: CALL.load(b, call, name) for name in CALL.fields}

    def __getitem__(self, name: str) -> Value:
        return self._values[name]

    def three(self, letter: str) -> list[Value]:
        """Return the values of the three axes."""
        return [self[f"{letter}{axis}"] for axis in _AXES]

    def volume(self, letter: str) -> Value:
        """Return their product."""
        first, second, third = self.three(letter)
        return first * second * third


# ---- panels ------------------------------------------------------------------------------------


def panel_function(module: Module, type: MachineType, *, adds: bool) -> str:
    """Return ``void (call, image, panel, first, count, channels)``, which makes a panel.

    Row ``(c, k)`` of it has the elements of channel c of an image under element k of a filter, at a
    number of places from the first on; elsewhere it is 0. With ``adds``, the elements of the panel
    are added to those of the image instead.
    """
    name = f"{'spread' if adds else 'panel'}.{type.name}"
    if all(function.name != name for function in module.functions):
        parameters = [PTR, PTR, PTR, INT64, INT64, INT64]
        b = Builder(module.function(name, VOID, parameters, linkage="internal"))
        _Panel(b, type, adds=adds).write()
    return name


class _Panel:
    """Writes the function.

    The places are cut into *runs*: neighbours in the panel, which are neighbours on the image too,
    or as far apart as the stride says. They are the same for all channels.
    """

    def __init__(self, b: Builder, type: MachineType, *, adds: bool) -> None:
        self.b = b
        self.type = type
        self.adds = adds
        self.width = panel_width(type.itemsize)
        self.lanes = b.target.lanes(type)
        call, self.image, self.panel, self.first, self.count, self.channels = b.arguments
        self.call = Fields(b, call)
        self._columns, self._elements, self._lengths = (b.slot(INT64, self.width) for _ in range(3))
        self._found = b.slot(INT64, 2)

    def write(self) -> None:
        """Write the loops over the elements of a filter."""
        b, call = self.b, self.call
        _, k1, k2 = sizes = call.three("k")
        is_plain = b.eq(call["s2"], 1)
        with loop(b, 0, sizes[0]) as first, loop(b, 0, k1) as second, loop(b, 0, k2) as third:
            axes = zip((first, second, third), call.three("d"), call.three("f"), strict=True)
            starts = [one.index * dilation - before for one, dilation, before in axes]
            row = (first.index * k1 + second.index) * k2 + third.index
            with either(b, is_plain) as (then, otherwise):
                for side in (then, otherwise):
                    with side:
                        self._find(starts, is_plain=side is then)
                        self._move(row, is_plain=side is then)
        b.ret()

    def _find(self, starts: Sequence[Value], *, is_plain: bool) -> None:
        """Write code that lists the runs, and stores their number and that of their elements.

        ``starts`` is where an element of the filter lies on the image at its first place. If
        ``is_plain``, the stride along the last axis is 1.
        """
        b, call = self.b, self.call
        (_, m1, m2), (s0, s1, s2), (n0, n1, n2) = (call.three(letter) for letter in "msn")
        line = b.binary("sdiv", self.first, m2)
        column = self.first - line * m2
        plane = b.binary("sdiv", line, m1)
        lines = divide_up(b, column + self.count, m2)
        zero, one = b.constant(INT64, 0), b.constant(INT64, 1)
        stride = one if is_plain else s2
        carried = [zero, column, plane, line - plane * m1, zero, zero]
        with loop(b, 0, lines, carried=carried) as each:
            at, begin, plane, line, runs, covered = each.carried
            end = b.minimum_number(m2, begin + (self.count - at))
            first, second = plane * s0 + starts[0], line * s1 + starts[1]
            low, high = self._on_image(begin, end, starts[2], stride, n2, is_plain=is_plain)
            is_there = b.le(0, first) & (first < n0) & b.le(0, second) & (second < n1)
            length = b.select(is_there & (low < high), high - low, 0)
            for place, value in (
                (self._columns, at + (low - begin)),
                (self._elements, (first * n1 + second) * n2 + (low * stride + starts[2])),
                (self._lengths, length),
            ):
                b.store(value, b.offset(place, runs, INT64))
            wraps = b.le(m1, line + 1)
            each.next(
                at + (end - begin),
                zero,
                b.select(wraps, plane + 1, plane),
                b.select(wraps, zero, line + 1),
                runs + b.select(length > 0, one, 0),
                covered + length,
            )
        for at, value in enumerate(each.results[4:]):
            b.store(value, b.offset(self._found, at, INT64))

    def _on_image(
        self,
        begin: Value,
        end: Value,
        start: Value,
        stride: Value,
        size: Value,
        *,
        is_plain: bool,
    ) -> tuple[Value, Value]:
        """Return which places of a range are on the last axis of an image, given the first one."""
        b = self.b
        before, room = b.maximum_number(0 - start, 0), b.maximum_number(size - start, 0)
        if not is_plain:
            before, room = divide_up(b, before, stride), divide_up(b, room, stride)
        return b.maximum_number(begin, before), b.minimum_number(end, room)

    def _move(self, row: Value, *, is_plain: bool) -> None:
        """Write code that copies the runs of all channels, or adds them."""
        b, type, width = self.b, self.type, self.width
        runs, covered = (b.load(INT64, b.offset(self._found, at, INT64)) for at in range(2))
        line = b.offset(self.panel, row * width, type)
        if not self.adds:
            with when(b, covered < width):
                self._clear(line)
        lanes = self.lanes if is_plain else 1
        with loop(b, 0, runs) as run:
            column, element, length = (
                b.load(INT64, b.offset(places, run.index, INT64))
                for places in (self._columns, self._elements, self._lengths)
            )
            starts = b.offset(line, column, type), b.offset(self.image, element, type)
            # Processors with vectors of 32 bytes may take several cycles for a masked store.
            whole = length & -lanes if is_plain else length
            with loop(b, 0, whole, lanes) as some:
                moved = some.index if is_plain else some.index * self.call["s2"]
                places = b.offset(starts[0], some.index, type), b.offset(starts[1], moved, type)
                self._move_channels(places, type.of(lanes), None)
            if lanes > 1:
                with when(b, whole < length):
                    ends = b.offset(starts[0], whole, type), b.offset(starts[1], whole, type)
                    self._move_channels(ends, type.of(lanes), lane_mask(b, length - whole, lanes))

    def _each_channel(self, line: Value, image: Value) -> AbstractContextManager[WrittenLoop]:
        """Return a loop over channels that carries two addresses; :meth:`_step` moves them."""
        return loop(self.b, 0, self.channels, carried=[line, image])

    def _step(self, channel: WrittenLoop) -> None:
        b, call = self.b, self.call
        line, image = channel.carried
        channel.next(
            b.offset(line, call.volume("k") * self.width, self.type),
            b.offset(image, call.volume("n"), self.type),
        )

    def _clear(self, line: Value) -> None:
        b, type, wide = self.b, self.type, self.type.of(self.lanes)
        with self._each_channel(line, self.image) as channel:
            for at in range(0, self.width, self.lanes):
                place = b.offset(channel.carried[0], at, type)
                b.store(b.constant(wide, 0), place, align=type.itemsize)
            self._step(channel)

    def _move_channels(
        self, starts: tuple[Value, Value], wide: MachineType, mask: Value | None
    ) -> None:
        """Write code that copies or adds neighbouring elements of each channel."""
        b = self.b
        with self._each_channel(*starts) as channel:
            line, image = channel.carried
            value = load(b, wide, line if self.adds else image, mask)
            if self.adds:
                before = load(b, wide, image, mask)
                assert isinstance(before, Value)
                assert isinstance(value, Value)
                value = before + value
            store(b, value, image if self.adds else line, mask)
            self._step(channel)


# ---- products ----------------------------------------------------------------------------------


def product_function(module: Module, type: MachineType) -> str:
    """Return ``void (m, inner, a, a_down, panel, c, c_down, count, adds)``: ``c = a panel``.

    With ``adds``, the product is added. a has m rows; the panel has ``inner`` rows as far apart as
    it is wide, of which a number of columns count.
    """
    name = f"panel_product.{type.name}"
    if all(function.name != name for function in module.functions):
        parameters = [INT64, INT64, PTR, INT64, PTR, PTR, INT64, INT64, INT64]
        _Tiles(Builder(module.function(name, VOID, parameters, linkage="internal")), type).write()
    return name


class _Tiles:
    """Writes the function: tiles of rows and vectors of columns stay in registers."""

    def __init__(self, b: Builder, type: MachineType) -> None:
        self.b = b
        self.type = type
        self.lanes = b.target.lanes(type)
        # Sums, vectors of the panel, and a number of the other matrix fill the registers.
        self.rows, self.vectors = (6, 4) if b.target.has_avx512 else (6, 2)
        (
            self.m,
            self.inner,
            self.a,
            self.a_down,
            self.panel,
            self.c,
            self.c_down,
            self.count,
            adds,
        ) = b.arguments
        self.adds = b.ne(adds, 0)

    def write(self) -> None:
        """Write loops over vectors of columns, and rows."""
        b = self.b
        whole = self.vectors * self.lanes
        with loop(b, 0, self.count, whole) as columns:
            left = divide_up(b, self.count - columns.index, self.lanes)
            after = b.new_block("after")
            for vectors in range(self.vectors, 0, -1):
                these, others = b.new_block("these"), b.new_block("others")
                is_last = vectors == 1
                if not is_last:
                    b.branch(b.le(vectors, left), these, others)
                else:
                    b.jump(these)
                b.begin(these)
                self._all_rows(columns.index, vectors)
                b.jump(after)
                if not is_last:
                    b.begin(others)
            b.begin(after)
        b.ret()

    def _all_rows(self, column: Value, vectors: int) -> None:
        b = self.b
        done = b.constant(INT64, 0)
        for rows in (self.rows, 2, 1):
            count = b.binary("sdiv", self.m - done, b.constant(INT64, rows))
            with loop(b, done, done + count * rows, rows) as block:
                self._tile(block.index, column, rows, vectors)
            done = done + count * rows

    def _tile(self, row: Value, column: Value, rows: int, vectors: int) -> None:
        b, type, lanes = self.b, self.type, self.lanes
        wide, width = type.of(lanes), panel_width(type.itemsize)
        starts = [b.offset(self.a, (row + at) * self.a_down, type) for at in range(rows)]
        panel = b.offset(self.panel, column, type)
        zeros = [b.constant(wide, 0.0)] * (rows * vectors)
        with loop(b, 0, self.inner, carried=[panel, *zeros]) as each:
            place, *sums = each.carried
            right = [
                b.load(wide, b.offset(place, at * lanes, type), align=type.itemsize)
                for at in range(vectors)
            ]
            following: list[Value] = []
            for at, start in enumerate(starts):
                left = b.splat(b.load(type, b.offset(start, each.index, type)), lanes)
                mine = sums[at * vectors : (at + 1) * vectors]
                following += [
                    b.madd(left, one, total) for one, total in zip(right, mine, strict=True)
                ]
            each.next(b.offset(place, width, type), *following)
        sums = each.results[1:]
        starts = [b.offset(self.c, (row + at) * self.c_down + column, type) for at in range(rows)]
        is_whole = b.le(vectors * lanes, self.count - column)
        with either(b, is_whole & b.eq(self.adds, 0)) as (if_whole, otherwise):
            with if_whole:
                for at, start in enumerate(starts):
                    for vector in range(vectors):
                        place = b.offset(start, vector * lanes, type)
                        b.store(sums[at * vectors + vector], place, align=type.itemsize)
            with otherwise:
                self._add_tile(starts, sums, column, vectors)

    def _add_tile(
        self, starts: Sequence[Value], sums: Sequence[Value], column: Value, vectors: int
    ) -> None:
        """Store a tile that the other matrix ends in, or add it to what is there."""
        b, type, lanes = self.b, self.type, self.lanes
        for at, start in enumerate(starts):
            for vector in range(vectors):
                place = b.offset(start, vector * lanes, type)
                mask = lane_mask(b, self.count - column - vector * lanes, lanes)
                before = load(b, type.of(lanes), place, mask & b.splat(self.adds, lanes))
                assert isinstance(before, Value)
                store(b, before + sums[at * vectors + vector], place, mask)
