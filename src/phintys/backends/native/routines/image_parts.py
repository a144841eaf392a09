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

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import divide_up, ending_if, lane_mask, loop
from phintys.backends.native.assembler.elements import load, store
from phintys.backends.native.assembler.math import OutlinedSymbol, outlined_function
from phintys.backends.native.assembler.types import INT32, INT64, PTR, VOID, MachineType, type_of
from phintys.backends.native.assembler.values import Value
from phintys.backends.native.limits import SHARED_IMAGE_WORK
from phintys.backends.native.routines.image_panels import (
    CALL,
    Fields,
    panel_function,
    panel_width,
    product_function,
)
from phintys.backends.native.routines.ranges import run_ranges, runtime_of
from phintys.backends.native.routines.tiles import turned

if TYPE_CHECKING:
    from phintys.backends.native.assembler.module import Module


def image_symbol(name: str, type: MachineType) -> str:
    """Return the symbol of ``i32 (state, parallel_for, poll, call)``.

    ``image_sums`` computes results, ``image_filters`` the gradient with respect to filters. Both
    return what ``parallel_for`` does.
    """
    return OutlinedSymbol(name, type.name, 1).symbol


# ---- results -----------------------------------------------------------------------------------


@outlined_function("image_sums")
def write_sums(module: Module, key: OutlinedSymbol) -> None:
    """Write the function that computes results."""
    type = type_of(key.dtype)
    kernel = _write_items(module, type)
    b = Builder(module.function(key.symbol, INT32, [PTR, PTR, PTR, PTR]))
    call = b.arguments[3]
    fields = Fields(b, call)
    panels = divide_up(b, fields.volume("m"), panel_width(type.itemsize))
    CALL.store(b, call, "panels", panels)
    count = fields["images"] * fields["groups"] * panels
    b.ret(_shared(b, kernel, fields, _if_any(b, fields["filters"], count)))


def _if_any(b: Builder, size: Value, count: Value) -> Value:
    """Return a number of items, zero if they are empty: there may be any number of these."""
    return b.select(b.eq(size, 0), b.constant(INT64, 0), count)


def _shared(b: Builder, kernel: str, fields: Fields, count: Value) -> Value:
    """Write the call of a kernel for a number of items, by threads if there is enough work."""
    call = b.arguments[3]
    length = b.maximum_number(divide_up(b, count, fields["ranges"]), 1)
    CALL.store(b, call, "length", length)
    work = fields["images"] * fields["groups"] * fields["filters"] * fields["channels"]
    work = work * fields.volume("k") * fields.volume("m")
    runtime = runtime_of(b)
    # A single range is not shared.
    grain = b.select(work < SHARED_IMAGE_WORK, b.maximum_number(count, 1), 0 - length)
    run_ranges(b, kernel, runtime, call, count, grain)
    return b.load(INT32, runtime.status)


def _scratch(b: Builder, type: MachineType, fields: Fields, begin: Value) -> Value:
    """Return the scratch memory of a range."""
    number = b.binary("sdiv", begin, fields["length"])
    return b.offset(fields["scratch"], number * fields["room"], type)


def _write_items(module: Module, type: MachineType) -> str:
    """``(call, begin, end)``: the panels of a range, of one image and group after the other."""
    name, panel, product = (
        f"image_sums.{type.name}",
        panel_function(module, type, adds=False),
        product_function(module, type),
    )
    b = Builder(module.function(name, VOID, [PTR, INT64, INT64], linkage="internal"))
    call, begin, end = b.arguments
    fields, width = Fields(b, call), panel_width(type.itemsize)
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


@outlined_function("image_spread")
def write_spread(module: Module, key: OutlinedSymbol) -> None:
    """Write the function that computes the gradient with respect to images."""
    type = type_of(key.dtype)
    kernel = _write_images(module, type)
    b = Builder(module.function(key.symbol, INT32, [PTR, PTR, PTR, PTR]))
    fields = Fields(b, b.arguments[3])
    blocks = divide_up(b, fields["channels"], fields["block"])
    b.ret(_shared(b, kernel, fields, fields["images"] * fields["groups"] * blocks))


def _write_images(module: Module, type: MachineType) -> str:
    """``(call, begin, end)``: blocks of channels of images, of one image after the other.

    The products of filters and a panel of the gradient are the terms that its places add to the
    image. The filters have the axes group, channel, element, filter.
    """
    name, spread, product = (
        f"image_spread.{type.name}",
        panel_function(module, type, adds=True),
        product_function(module, type),
    )
    b = Builder(module.function(name, VOID, [PTR, INT64, INT64], linkage="internal"))
    call, begin, end = b.arguments
    fields, width = Fields(b, call), panel_width(type.itemsize)
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
    b: Builder, type: MachineType, gradient: tuple[Value, Value, Value], panel: Value, count: Value
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


@outlined_function("image_filters")
def write_filters(module: Module, key: OutlinedSymbol) -> None:
    """Write the function that computes the gradient with respect to filters."""
    type = type_of(key.dtype)
    parts, total = _write_parts(module, type), _write_total(module, type)
    b = Builder(module.function(key.symbol, INT32, [PTR, PTR, PTR, PTR]))
    call = b.arguments[3]
    fields = Fields(b, call)
    CALL.store(b, call, "panels", divide_up(b, fields.volume("m"), panel_width(type.itemsize)))
    groups = fields["groups"]
    rows, filters = fields["channels"] * fields.volume("k"), fields["filters"]
    items = _if_any(b, rows * filters, groups * fields["parts"])
    status = _shared(b, parts, fields, items)
    with ending_if(b, b.ne(status, 0)):
        b.ret(status)
    b.ret(_shared(b, total, fields, _if_any(b, filters, groups * rows)))


def _wide(b: Builder, type: MachineType, filters: Value) -> Value:
    """Return the number of filters, rounded up to whole panels."""
    width = panel_width(type.itemsize)
    return divide_up(b, filters, width) * width


def _write_parts(module: Module, type: MachineType) -> str:
    """``(call, begin, end)``: the sums of products for some parts of all panels.

    They are matrices with a row for each element of a filter, and a column for each filter.
    """
    name, panel, product = (
        f"image_filters.{type.name}",
        panel_function(module, type, adds=False),
        product_function(module, type),
    )
    b = Builder(module.function(name, VOID, [PTR, INT64, INT64], linkage="internal"))
    call, begin, end = b.arguments
    fields, width = Fields(b, call), panel_width(type.itemsize)
    right_panels = _scratch(b, type, fields, begin)
    elements, places = fields.volume("k"), fields.volume("m")
    channels, filters, groups = fields["channels"], fields["filters"], fields["groups"]
    size, wide = fields.volume("n"), _wide(b, type, filters)
    panels = fields["panels"]
    scratch = b.offset(right_panels, wide * width, type)
    with loop(b, begin, end) as item:
        part = b.binary("sdiv", item.index, groups)
        group = item.index - part * groups
        length = channels * elements * wide
        sums = b.offset(fields["sums"], item.index * length, type)
        _clear(b, type, sums, length)
        first, last = (
            b.binary("sdiv", fields["images"] * panels * number, fields["parts"])
            for number in (part, part + 1)
        )
        with loop(b, first, last) as one:
            image = b.binary("sdiv", one.index, panels)
            column = (one.index - image * panels) * width
            stack = image * groups + group
            count = b.minimum_number(places - column, width)
            gradient = b.offset(fields["factor"], stack * filters * places + column, type)
            _turn(b, type, (gradient, places, filters), right_panels, count)
            source = b.offset(fields["source"], stack * channels * size, type)
            with loop(b, 0, channels, fields["block"]) as block:
                here = b.minimum_number(channels - block.index, fields["block"])
                start = b.offset(source, block.index * size, type)
                b.call(panel, VOID, [call, start, scratch, column, count, here])
                with loop(b, 0, filters, width) as across:
                    right = b.offset(right_panels, across.index * width, type)
                    at = block.index * elements * wide + across.index
                    columns = b.minimum_number(filters - across.index, width)
                    arguments = [here * elements, count, scratch, b.constant(INT64, width)]
                    arguments += [right, b.offset(sums, at, type), wide, columns]
                    b.call(product, VOID, [*arguments, b.constant(INT64, 1)])
    b.ret()
    return name


def _clear(b: Builder, type: MachineType, target: Value, length: Value) -> None:
    """Set elements to 0."""
    lanes = b.target.lanes(type)
    with loop(b, 0, length, lanes) as each:
        mask = lane_mask(b, length - each.index, lanes)
        store(b, b.constant(type.of(lanes), 0.0), b.offset(target, each.index, type), mask)


def _turn(
    b: Builder, type: MachineType, gradient: tuple[Value, Value, Value], panels: Value, count: Value
) -> None:
    """Copy some columns of the gradient, as rows of panels with as many filters as these are wide.

    The gradient is given by its address, the distance of its rows, and their number. Squares of a
    register's lanes are turned at once; what is behind the last filter or column is not used.
    """
    width, lanes = panel_width(type.itemsize), b.target.lanes(type)
    place, down, filters = gradient
    last = filters - 1
    with loop(b, 0, filters, lanes) as some:
        panel = b.binary("sdiv", some.index, b.constant(INT64, width))
        corner = panel * (width * width) + (some.index - panel * width)
        rows = [b.minimum_number(some.index + at, last) * down for at in range(lanes)]
        with loop(b, 0, count, lanes) as columns:
            mask = lane_mask(b, count - columns.index, lanes)
            start = b.offset(place, columns.index, type)
            square: list[Value] = []
            for row in rows:
                value = load(b, type.of(lanes), b.offset(start, row, type), mask)
                assert isinstance(value, Value)
                square.append(value)
            target = b.offset(panels, corner + columns.index * width, type)
            for at, line in enumerate(turned(b, square)):
                b.store(line, b.offset(target, at * width, type), align=type.itemsize)


def _write_total(module: Module, type: MachineType) -> str:
    """``(call, begin, end)``: the sums of all parts, for some elements of the filters."""
    name = f"image_total.{type.name}"
    b = Builder(module.function(name, VOID, [PTR, INT64, INT64], linkage="internal"))
    call, begin, end = b.arguments
    fields, lanes = Fields(b, call), b.target.lanes(type)
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
