"""Convolutions of images, outlined: products of matrices that are made panel by panel.

A result is a matrix of filters and places, the product of the filters and a matrix of the elements
under each filter, which has a row for each element of a filter. That matrix is as many times larger
than the images as filters have elements. So only a *panel* of it is made at a time, for some places
and channels, and multiplied while it is in the cache: by code of our own, as it is narrower than
what libraries are fast for. The gradient with respect to images goes the other way: a panel is the
product of the filters and the gradient at some places, and is added to the elements under the
filters. That with respect to filters sums the products of panels and parts of the gradient.

Results must not depend on threads. What is computed together, and in which order, depends on sizes
alone; sums of several images are those of a fixed number of parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.backends.native.emit.builder import Builder
from phintys.backends.native.emit.control import divide_up, lane_mask, loop, when
from phintys.backends.native.emit.math import MathSymbol
from phintys.backends.native.emit.memory import load, store
from phintys.backends.native.emit.shared_ranges import run_ranges, runtime_of
from phintys.backends.native.emit.types import INT32, INT64, PTR, VOID, Type, type_of
from phintys.backends.native.emit.values import Value
from phintys.backends.native.runtime.record import Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.emit.module import Module

__all__ = [
    "CALL",
    "RANGES",
    "image_symbol",
    "panel_width",
    "write_filters",
    "write_spread",
    "write_sums",
]

_AXES = range(3)

_PANEL_BYTES = 256

RANGES = 32
"""The number of ranges that threads share; each has scratch memory of its own."""

_SHARED_FROM = 1 << 19
"""Multiplications from which threads share a call."""

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
    parts=INT64,  # into which the images are divided for sums
    length=INT64,  # of a range; set here
    panels=INT64,  # of an image; set here
)
"""What a function is passed. Images have three spatial axes, of which the first may have size 1."""


def panel_width(itemsize: int) -> int:
    """Return the number of places of a panel, for elements of a size in bytes."""
    return _PANEL_BYTES // itemsize


def image_symbol(name: str, type: Type) -> str:
    """Return the symbol of ``i32 (state, parallel_for, poll, call)``.

    ``image_sums`` computes results, ``image_filters`` the gradient with respect to filters. Both
    return what ``parallel_for`` does.
    """
    return MathSymbol(name, type.name, 1).symbol


class _Fields:
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


def _panel_function(module: Module, type: Type, *, adds: bool) -> str:
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

    def __init__(self, b: Builder, type: Type, *, adds: bool) -> None:
        self.b = b
        self.type = type
        self.adds = adds
        self.width = panel_width(type.itemsize)
        self.lanes = b.target.lanes(type)
        call, self.image, self.panel, self.first, self.count, self.channels = b.arguments
        self.call = _Fields(b, call)
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
            plain, other, after = (b.new_block(name) for name in ("plain", "other", "after"))
            b.branch(is_plain, plain, other)
            for block in (plain, other):
                b.begin(block)
                self._find(starts, is_plain=block is plain)
                self._move(row, is_plain=block is plain)
                b.jump(after)
            b.begin(after)
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
        b, call = self.b, self.call
        runs, covered = (b.load(INT64, b.offset(self._found, at, INT64)) for at in range(2))
        size, elements = call.volume("n"), call.volume("k")
        with loop(b, 0, self.channels) as channel:
            place = (channel.index * elements + row) * self.width
            line = b.offset(self.panel, place, self.type)
            image = b.offset(self.image, channel.index * size, self.type)
            if not self.adds:
                with when(b, covered < self.width):
                    self._clear(line)
            with loop(b, 0, runs) as run:
                column, element, length = (
                    b.load(INT64, b.offset(places, run.index, INT64))
                    for places in (self._columns, self._elements, self._lengths)
                )
                line_at = b.offset(line, column, self.type)
                image_at = b.offset(image, element, self.type)
                if is_plain:
                    self._move_neighbours(line_at, image_at, length)
                else:
                    self._move_apart(line_at, image_at, length)

    def _clear(self, target: Value) -> None:
        b, wide = self.b, self.type.of(self.lanes)
        for at in range(0, self.width, self.lanes):
            b.store(b.constant(wide, 0), b.offset(target, at, self.type), align=self.type.itemsize)

    def _move_neighbours(self, line: Value, image: Value, length: Value) -> None:
        b, wide = self.b, self.type.of(self.lanes)
        with loop(b, 0, length, self.lanes, runs=True) as each:
            mask = lane_mask(b, length - each.index, self.lanes)
            places = [b.offset(start, each.index, self.type) for start in (line, image)]
            value = load(b, wide, places[0 if self.adds else 1], mask)
            if self.adds:
                before = load(b, wide, places[1], mask)
                assert isinstance(before, Value)
                assert isinstance(value, Value)
                value = before + value
            store(b, value, places[1 if self.adds else 0], mask)

    def _move_apart(self, line: Value, image: Value, length: Value) -> None:
        b, type, stride = self.b, self.type, self.call["s2"]
        with loop(b, 0, length, runs=True) as each:
            mine = b.offset(line, each.index, type)
            its = b.offset(image, each.index * stride, type)
            if self.adds:
                b.store(b.load(type, its) + b.load(type, mine), its)
            else:
                b.store(b.load(type, its), mine)


# ---- products ----------------------------------------------------------------------------------


def _product_function(module: Module, type: Type) -> str:
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

    def __init__(self, b: Builder, type: Type) -> None:
        self.b = b
        self.type = type
        self.lanes = b.target.lanes(type)
        # Sums, vectors of the panel, and a number of the other matrix fill the registers.
        self.rows, self.vectors = (6, 4) if b.target.has_avx512 else (4, 2)
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
        for at in range(rows):
            start = b.offset(self.c, (row + at) * self.c_down + column, type)
            for vector in range(vectors):
                place = b.offset(start, vector * lanes, type)
                mask = lane_mask(b, self.count - column - vector * lanes, lanes)
                before = load(b, wide, place, mask & b.splat(self.adds, lanes))
                assert isinstance(before, Value)
                store(b, before + sums[at * vectors + vector], place, mask)


# ---- results -----------------------------------------------------------------------------------


def write_sums(module: Module, key: MathSymbol) -> None:
    """Write the function that computes results."""
    type = type_of(key.dtype)
    kernel = _write_items(module, type)
    b = Builder(module.function(key.symbol, INT32, [PTR, PTR, PTR, PTR]))
    call = b.arguments[3]
    fields = _Fields(b, call)
    panels = divide_up(b, fields.volume("m"), panel_width(type.itemsize))
    CALL.store(b, call, "panels", panels)
    count = fields["images"] * fields["groups"] * panels
    b.ret(_shared(b, kernel, fields, count))


def _shared(b: Builder, kernel: str, fields: _Fields, count: Value) -> Value:
    """Write the call of a kernel for a number of items, by threads if there is enough work."""
    call = b.arguments[3]
    length = b.maximum_number(divide_up(b, count, RANGES), 1)
    CALL.store(b, call, "length", length)
    work = fields["images"] * fields["groups"] * fields["filters"] * fields["channels"]
    work = work * fields.volume("k") * fields.volume("m")
    runtime = runtime_of(b)
    # A single range is not shared.
    grain = b.select(work < _SHARED_FROM, b.maximum_number(count, 1), 0 - length)
    run_ranges(b, kernel, runtime, call, count, grain)
    return b.load(INT32, runtime.status)


def _scratch(b: Builder, type: Type, fields: _Fields, begin: Value) -> Value:
    """Return the scratch memory of a range."""
    number = b.binary("sdiv", begin, fields["length"])
    return b.offset(fields["scratch"], number * fields["room"], type)


def _write_items(module: Module, type: Type) -> str:
    """``(call, begin, end)``: the panels of a range, of one image and group after the other."""
    name, panel, product = (
        f"image_sums.{type.name}",
        _panel_function(module, type, adds=False),
        _product_function(module, type),
    )
    b = Builder(module.function(name, VOID, [PTR, INT64, INT64], linkage="internal"))
    call, begin, end = b.arguments
    fields, width = _Fields(b, call), panel_width(type.itemsize)
    scratch = _scratch(b, type, fields, begin)
    elements, places = fields.volume("k"), fields.volume("m")
    channels, filters, block = fields["channels"], fields["filters"], fields["block"]
    size, inner = fields.volume("n"), channels * elements
    with loop(b, begin, end) as item:
        stack = b.binary("sdiv", item.index, fields["panels"])
        first = (item.index - stack * fields["panels"]) * width
        group = b.binary("srem", stack, fields["groups"])
        count = b.minimum_number(places - first, width)
        source = b.offset(fields["source"], stack * channels * size, type)
        weights = b.offset(fields["factor"], group * filters * inner, type)
        target = b.offset(fields["out"], stack * filters * places + first, type)
        # Without channels, sums are 0.
        with loop(b, 0, b.maximum_number(channels, 1), block) as some:
            here = b.minimum_number(channels - some.index, block)
            start = b.offset(source, some.index * size, type)
            b.call(panel, VOID, [call, start, scratch, first, count, here])
            left = b.offset(weights, some.index * elements, type)
            adds = b.minimum_number(some.index, 1)
            arguments = [
                filters,
                here * elements,
                left,
                inner,
                scratch,
                target,
                places,
                count,
                adds,
            ]
            b.call(product, VOID, arguments)
    b.ret()
    return name


# ---- gradients with respect to images ------------------------------------------------------------


def write_spread(module: Module, key: MathSymbol) -> None:
    """Write the function that computes the gradient with respect to images."""
    type = type_of(key.dtype)
    kernel = _write_images(module, type)
    b = Builder(module.function(key.symbol, INT32, [PTR, PTR, PTR, PTR]))
    fields = _Fields(b, b.arguments[3])
    blocks = divide_up(b, fields["channels"], fields["block"])
    b.ret(_shared(b, kernel, fields, fields["images"] * fields["groups"] * blocks))


def _write_images(module: Module, type: Type) -> str:
    """``(call, begin, end)``: blocks of channels of images, of one image after the other.

    The products of filters and a panel of the gradient are the terms that its places add to the
    image. The filters have the axes group, channel, element, filter.
    """
    name, spread, product = (
        f"image_spread.{type.name}",
        _panel_function(module, type, adds=True),
        _product_function(module, type),
    )
    b = Builder(module.function(name, VOID, [PTR, INT64, INT64], linkage="internal"))
    call, begin, end = b.arguments
    fields, width = _Fields(b, call), panel_width(type.itemsize)
    gradient_panel = _scratch(b, type, fields, begin)
    elements, places, size = (fields.volume(letter) for letter in "kmn")
    channels, filters, block = fields["channels"], fields["filters"], fields["block"]
    terms = b.offset(gradient_panel, filters * width, type)
    blocks = divide_up(b, channels, block)
    with loop(b, begin, end) as item:
        stack = b.binary("sdiv", item.index, blocks)
        channel = (item.index - stack * blocks) * block
        here = b.minimum_number(channels - channel, block)
        group = b.binary("srem", stack, fields["groups"])
        image = b.offset(fields["out"], (stack * channels + channel) * size, type)
        _clear(b, type, image, here * size)
        left = b.offset(fields["factor"], (group * channels + channel) * elements * filters, type)
        with loop(b, 0, places, width) as some:
            count = b.minimum_number(places - some.index, width)
            gradient = b.offset(fields["source"], stack * filters * places + some.index, type)
            _copy_panel(b, type, (gradient, places, filters), gradient_panel, count)
            arguments = [here * elements, filters, left, filters, gradient_panel]
            arguments += [terms, *(b.constant(INT64, number) for number in (width, width, 0))]
            b.call(product, VOID, arguments)
            b.call(spread, VOID, [call, image, terms, some.index, count, here])
    b.ret()
    return name


def _copy_panel(
    b: Builder, type: Type, gradient: tuple[Value, Value, Value], panel: Value, count: Value
) -> None:
    """Copy some columns of the gradient, given as in :func:`_turn`; zeros follow."""
    width, lanes = panel_width(type.itemsize), b.target.lanes(type)
    place, down, filters = gradient
    with loop(b, 0, filters) as row:
        source = b.offset(place, row.index * down, type)
        target = b.offset(panel, row.index * width, type)
        with loop(b, 0, width, lanes, runs=True) as each:
            mask = lane_mask(b, count - each.index, lanes)
            value = load(b, type.of(lanes), b.offset(source, each.index, type), mask)
            assert isinstance(value, Value)
            b.store(value, b.offset(target, each.index, type), align=type.itemsize)


# ---- gradients with respect to filters -----------------------------------------------------------


def write_filters(module: Module, key: MathSymbol) -> None:
    """Write the function that computes the gradient with respect to filters."""
    type = type_of(key.dtype)
    parts, total = _write_parts(module, type), _write_total(module, type)
    b = Builder(module.function(key.symbol, INT32, [PTR, PTR, PTR, PTR]))
    call = b.arguments[3]
    fields = _Fields(b, call)
    CALL.store(b, call, "panels", divide_up(b, fields.volume("m"), panel_width(type.itemsize)))
    groups = fields["groups"]
    status = _shared(b, parts, fields, groups * fields["parts"])
    stopped, summed = b.new_block("stopped"), b.new_block("summed")
    b.branch(b.ne(status, 0), stopped, summed)
    b.begin(stopped)
    b.ret(status)
    b.begin(summed)
    count = groups * fields["channels"] * fields.volume("k")
    b.ret(_shared(b, total, fields, count))


def _wide(b: Builder, type: Type, filters: Value) -> Value:
    """Return the number of filters, rounded up to whole panels."""
    width = panel_width(type.itemsize)
    return divide_up(b, filters, width) * width


def _write_parts(module: Module, type: Type) -> str:
    """``(call, begin, end)``: the sums of products for some parts of the images.

    They are matrices with a row for each element of a filter, and a column for each filter.
    """
    name, panel, product = (
        f"image_filters.{type.name}",
        _panel_function(module, type, adds=False),
        _product_function(module, type),
    )
    b = Builder(module.function(name, VOID, [PTR, INT64, INT64], linkage="internal"))
    call, begin, end = b.arguments
    fields, width = _Fields(b, call), panel_width(type.itemsize)
    turned = _scratch(b, type, fields, begin)
    elements, places = fields.volume("k"), fields.volume("m")
    channels, filters, groups = fields["channels"], fields["filters"], fields["groups"]
    size, wide = fields.volume("n"), _wide(b, type, filters)
    scratch = b.offset(turned, wide * width, type)
    with loop(b, begin, end) as item:
        part = b.binary("sdiv", item.index, groups)
        group = item.index - part * groups
        length = channels * elements * wide
        sums = b.offset(fields["sums"], item.index * length, type)
        _clear(b, type, sums, length)
        from_, to = (
            b.binary("sdiv", fields["images"] * number, fields["parts"])
            for number in (part, part + 1)
        )
        with loop(b, from_, to) as image, loop(b, 0, places, width) as some:
            stack = image.index * groups + group
            count = b.minimum_number(places - some.index, width)
            gradient = b.offset(fields["factor"], stack * filters * places + some.index, type)
            _turn(b, type, (gradient, places, filters), turned, count)
            source = b.offset(fields["source"], stack * channels * size, type)
            with loop(b, 0, channels, fields["block"]) as block:
                here = b.minimum_number(channels - block.index, fields["block"])
                start = b.offset(source, block.index * size, type)
                b.call(panel, VOID, [call, start, scratch, some.index, count, here])
                with loop(b, 0, filters, width) as across:
                    right = b.offset(turned, across.index * width, type)
                    at = block.index * elements * wide + across.index
                    columns = b.minimum_number(filters - across.index, width)
                    arguments = [here * elements, count, scratch, b.constant(INT64, width)]
                    arguments += [right, b.offset(sums, at, type), wide, columns]
                    b.call(product, VOID, [*arguments, b.constant(INT64, 1)])
    b.ret()
    return name


def _clear(b: Builder, type: Type, target: Value, length: Value) -> None:
    """Set elements to 0."""
    lanes = b.target.lanes(type)
    with loop(b, 0, length, lanes) as each:
        mask = lane_mask(b, length - each.index, lanes)
        store(b, b.constant(type.of(lanes), 0.0), b.offset(target, each.index, type), mask)


def _turn(
    b: Builder, type: Type, gradient: tuple[Value, Value, Value], turned: Value, count: Value
) -> None:
    """Copy some columns of the gradient, as rows of panels with as many filters as these are wide.

    The gradient is given by its address, the distance of its rows, and their number.
    """
    width = panel_width(type.itemsize)
    place, down, filters = gradient
    with loop(b, 0, filters) as row:
        panel = b.binary("sdiv", row.index, b.constant(INT64, width))
        column = row.index - panel * width
        source = b.offset(place, row.index * down, type)
        target = b.offset(turned, panel * (width * width) + column, type)
        with loop(b, 0, count) as each:
            value = b.load(type, b.offset(source, each.index, type))
            b.store(value, b.offset(target, each.index * width, type))


def _write_total(module: Module, type: Type) -> str:
    """``(call, begin, end)``: the sums of all parts, for some elements of the filters."""
    name = f"image_total.{type.name}"
    b = Builder(module.function(name, VOID, [PTR, INT64, INT64], linkage="internal"))
    call, begin, end = b.arguments
    fields, lanes = _Fields(b, call), b.target.lanes(type)
    filters, groups = fields["filters"], fields["groups"]
    inner, wide = fields["channels"] * fields.volume("k"), _wide(b, type, filters)
    vector = type.of(lanes)
    room = b.slot(vector)
    with loop(b, begin, end) as item:
        group = b.binary("sdiv", item.index, inner)
        element = item.index - group * inner
        start = b.offset(fields["sums"], item.index * wide, type)
        out = b.offset(fields["out"], group * filters * inner + element, type)
        move = groups * inner * wide
        with loop(b, 0, filters, lanes) as some:
            place = b.offset(start, some.index, type)
            zero = b.constant(vector, 0.0)
            with loop(b, 0, fields["parts"], carried=[zero]) as part:
                term = b.load(vector, b.offset(place, part.index * move, type), align=type.itemsize)
                part.next(part.carried[0] + term)
            b.store(part.results[0], room, align=type.itemsize)
            here = b.minimum_number(filters - some.index, lanes)
            with loop(b, 0, here) as each:
                value = b.load(type, b.offset(room, each.index, type))
                b.store(value, b.offset(out, (some.index + each.index) * inner, type))
    b.ret()
    return name
