"""Convolutions of images, their gradients, and the largest elements under windows.

:mod:`~phintys.backends.native.routines.image_parts` says how convolutions are computed. The largest
elements under windows are found for a line of windows at a time, some side by side: the windows of
a line differ in their place along the last axis. Those in the lanes of a vector are compared
element by element: with neighbouring elements where the distance of windows is 1, with every second
one where it is 2. Where all of these windows are on the image, nothing is masked, and the last
vector of a line begins so early that it is full: it computes some results again. At other distances
all is masked: elements are read one by one, which takes longer than to mask them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import either, ending_if, lane_mask, loop
from phintys.backends.native.assembler.elements import gather, load, store
from phintys.backends.native.assembler.math import OutlinedSymbol, outlined_function
from phintys.backends.native.assembler.records import Record
from phintys.backends.native.assembler.types import INT32, INT64, PTR, VOID, MachineType, type_of
from phintys.backends.native.assembler.values import Value
from phintys.backends.native.limits import (
    IMAGE_PRODUCT_NANOSECONDS,
    POOLED_LANES,
    POOLING_NANOSECONDS,
    POOLING_RANGE,
    SHARED_POOLING,
)
from phintys.backends.native.routines.image_panels import CALL
from phintys.backends.native.routines.image_parts import image_symbol
from phintys.backends.native.routines.ranges import call_with_record, run_ranges, runtime_of
from phintys.backends.native.steps.call import CallExplainer, CallWriter, LibraryCall, Routine

if TYPE_CHECKING:
    from collections.abc import Callable

    from phintys.backends.native.assembler.module import Module
    from phintys.backends.native.polynomials import Costs, Polynomial

    Places = tuple[Value, Value]
    Reader = Callable[[Value, Value, Value | None], Value]


# ---- outlined ------------------------------------------------------------------------------------


_AXES = range(3)


POOL = Record.packed(
    source=PTR,
    values=PTR,
    places=PTR,
    images=INT64,
    **{f"n{axis}": INT64 for axis in _AXES},  # sizes of images
    **{f"m{axis}": INT64 for axis in _AXES},  # of results
    **{f"w{axis}": INT64 for axis in _AXES},  # of windows
    **{f"s{axis}": INT64 for axis in _AXES},  # distances of windows
    **{f"p{axis}": INT64 for axis in _AXES},  # elements in front of images
)
"""What the function is passed. Images have three spatial axes, the first may have size 1."""


def pool_symbol(type: MachineType) -> str:
    """Return the symbol of ``i32 (state, parallel_for, poll, pool)``."""
    return OutlinedSymbol("max_pooled", type.name, 1).symbol


@outlined_function("max_pooled")
def write_max_pool(module: Module, key: OutlinedSymbol) -> None:
    """Write the function into a module."""
    type = type_of(key.dtype)
    kernel = f"lines.{type.name}"
    lines = Builder(module.function(kernel, VOID, [PTR, INT64, INT64], linkage="internal"))
    _write_lines(lines, type)
    b = Builder(module.function(key.symbol, INT32, [PTR, PTR, PTR, PTR]))
    pool = b.arguments[3]
    m0, m1, m2, w0, w1, w2, images = (
        POOL.load(b, pool, name) for name in ("m0", "m1", "m2", "w0", "w1", "w2", "images")
    )
    count = images * m0 * m1
    work = b.maximum_number(m2 * w0 * w1 * w2, 1)
    grain = b.maximum_number(b.binary("sdiv", b.constant(INT64, POOLING_RANGE), work), 1)
    grain = b.select(work * count < SHARED_POOLING, b.maximum_number(count, 1), grain)
    runtime = runtime_of(b)
    run_ranges(b, kernel, runtime, pool, count, grain)
    b.ret(b.load(INT32, runtime.status))


def _write_lines(b: Builder, type: MachineType) -> None:
    """Write a loop for each way to read the elements of several windows."""
    pool = b.arguments[0]
    stride, columns = (POOL.load(b, pool, name) for name in ("s2", "m2"))
    widths = _widths(b.target.lanes(type))
    with ending_if(b, stride > 2):
        _Lines(b, type, widths[0]).apart()
        b.ret()
    for lanes in widths[:-1]:
        with ending_if(b, b.le(lanes, columns)):
            _Lines(b, type, lanes).side_by_side()
            b.ret()
    _Lines(b, type, widths[-1]).side_by_side()
    b.ret()


def _widths(lanes: int) -> list[int]:
    """Return how many windows may be compared at once, for lines that have as many."""
    return [lanes, *_widths(lanes // 2)] if lanes > POOLED_LANES else [lanes]


class _Lines:
    """Writes ``(pool, begin, end)``: a range of the lines of all images, in vectors of a width."""

    def __init__(self, b: Builder, type: MachineType, lanes: int) -> None:
        self.b = b
        self.type = type
        self.lanes = lanes
        self.wide = type.of(lanes)
        pool, self.begin, self.end = b.arguments
        self.pool = {name: POOL.load(b, pool, name) for name in POOL.fields}

    def three(self, letter: str) -> list[Value]:
        """Return the values of the three axes."""
        return [self.pool[f"{letter}{axis}"] for axis in _AXES]

    def side_by_side(self) -> None:
        """Write loops for windows at a distance of 1 and of 2."""
        b = self.b
        with either(b, b.eq(self.pool["s2"], 1)) as (neighbours, every_second):
            with neighbours:
                self._lines(self._shifted, self._neighbours)
            with every_second:
                self._lines(self._shifted, self._every_second)

    def apart(self) -> None:
        """Write a loop for windows at other distances."""
        self._lines(self._masked, self._apart)

    def _lines(self, write: Callable[..., None], read: Reader) -> None:
        b = self.b
        m0, m1, m2 = self.three("m")
        n0, n1, n2 = self.three("n")
        with loop(b, self.begin, self.end) as line:
            plane = b.binary("sdiv", line.index, m1)
            image = b.binary("sdiv", plane, m0)
            places = (plane - image * m0, line.index - plane * m1)
            source = b.offset(self.pool["source"], image * n0 * n1 * n2, self.type)
            target = line.index * m2
            with loop(b, 0, m2, self.lanes) as some:
                write(source, places, some.index, target, read)

    def _masked(
        self, source: Value, places: Places, column: Value, target: Value, read: Reader
    ) -> None:
        self._vector(source, places, column, target, read, is_whole=False)

    def _shifted(
        self, source: Value, places: Places, column: Value, target: Value, read: Reader
    ) -> None:
        """Write a full vector, without masks if its windows are on the image."""
        b = self.b
        column = b.minimum_number(column, b.maximum_number(self.pool["m2"] - self.lanes, 0))
        with either(b, self._is_whole(column)) as (whole, partial):
            with whole:
                self._vector(source, places, column, target, read, is_whole=True)
            with partial:
                self._vector(source, places, column, target, read, is_whole=False)

    def _rows(self, axis: int, place: Value) -> tuple[Value, Value]:
        """Return the elements of an axis that a window at a place has on the image."""
        b = self.b
        start = place * self.pool[f"s{axis}"] - self.pool[f"p{axis}"]
        end = b.minimum_number(start + self.pool[f"w{axis}"], self.pool[f"n{axis}"])
        return b.maximum_number(start, 0), end

    def _is_whole(self, column: Value) -> Value:
        """Return whether all lanes have a window, and all their elements are on the image."""
        b, pool = self.b, self.pool
        start = column * pool["s2"] - pool["p2"]
        end = start + pool["s2"] * (self.lanes - 1) + pool["w2"]
        is_full = b.le(self.lanes, pool["m2"])
        return is_full & b.le(0, start) & b.le(end, pool["n2"])

    def _vector(
        self,
        source: Value,
        places: Places,
        column: Value,
        line: Value,
        read: Reader,
        *,
        is_whole: bool,
    ) -> None:
        """Write neighbouring results of a line."""
        b, lanes = self.b, self.lanes
        numbers = INT64.of(lanes)
        _, n1, n2 = self.three("n")
        stride, before = self.pool["s2"], self.pool["p2"]
        (top, bottom), (left, right) = (self._rows(at, place) for at, place in enumerate(places))
        start = column * stride - before
        ramp = b.lane_numbers(numbers) * b.splat(stride, lanes)
        first = b.splat(start, lanes) + ramp
        inside = None if is_whole else lane_mask(b, self.pool["m2"] - column, lanes)
        on_image = first if is_whole else b.select(first < 0, b.constant(numbers, 0), first)
        best = b.constant(self.wide, -float("inf"))
        # If all elements are -inf, the first one is chosen.
        found = on_image + b.splat((top * n1 + left) * n2, lanes)
        with loop(b, top, bottom, carried=[best, found]) as plane:
            with loop(b, left, right, carried=plane.carried) as row:
                base = (plane.index * n1 + row.index) * n2
                with loop(b, 0, self.pool["w2"], carried=row.carried) as element:
                    at = first + b.splat(element.index, lanes)
                    there = self._there(inside, at)
                    value = read(b.offset(source, base, self.type), start + element.index, there)
                    best, found = element.carried
                    # Larger or NaN, but the first NaN stays.
                    is_better = b.compare("ugt", value, best) & b.compare("ord", best, best)
                    is_better = is_better if there is None else is_better & there
                    element.next(
                        b.select(is_better, value, best),
                        b.select(is_better, at + b.splat(base, lanes), found),
                    )
                row.next(*element.results)
            plane.next(*row.results)
        best, found = plane.results
        target = line + column
        store(b, best, b.offset(self.pool["values"], target, self.type), inside)
        store(b, found, b.offset(self.pool["places"], target, INT64), inside)

    def _there(self, inside: Value | None, at: Value) -> Value | None:
        """Return the mask of lanes that have an element on the image, if not all have one."""
        if inside is None:
            return None
        b = self.b
        return inside & b.le(0, at) & (at < b.splat(self.pool["n2"], self.lanes))

    def _neighbours(self, row: Value, at: Value, mask: Value | None) -> Value:
        value = load(self.b, self.wide, self.b.offset(row, at, self.type), mask)
        assert isinstance(value, Value)
        return value

    def _every_second(self, row: Value, at: Value, mask: Value | None) -> Value:
        """Read two vectors, of which every second element is used."""
        b, lanes = self.b, self.lanes
        if mask is None:
            # The second one ends with the last element that is used: there may be none after it.
            first, second = (self._neighbours(row, at + begin, None) for begin in (0, lanes - 1))
            used = [2 * lane if 2 * lane < lanes else 2 * lane + 1 for lane in range(lanes)]
            return b.shuffle(first, second, used)
        size = self.pool["n2"]
        halves: list[Value] = []
        numbers = INT64.of(lanes)
        for half in range(2):
            start = at + half * lanes
            places = b.lane_numbers(numbers) + b.splat(start, lanes)
            there = b.le(0, places) & (places < b.splat(size, lanes))
            halves.append(self._neighbours(row, start, there))
        return b.shuffle(halves[0], halves[1], range(0, 2 * lanes, 2))

    def _apart(self, row: Value, at: Value, mask: Value | None) -> Value:
        """Read elements one by one."""
        b, lanes = self.b, self.lanes
        ramp = b.lane_numbers(INT64.of(lanes)) * b.splat(self.pool["s2"], lanes)
        value = gather(b, self.wide, b.offset(row, ramp + b.splat(at, lanes), self.type), mask)
        assert isinstance(value, Value)
        return value


# ---- routines ------------------------------------------------------------------------------------


class _Images(Routine):
    """Sums of products of images with filters, or with the gradient of such sums.

    The inputs are the images, and the filters or the gradient. The options are the sizes of
    :data:`~phintys.backends.native.routines.image_panels.CALL`. The first workspace is that of
    ranges, the second one has the sums of all parts.
    """

    shares_work: ClassVar[bool] = True

    def __init__(self, name: str, function: str) -> None:
        self.name = name
        self._function = function

    def work(self, call: LibraryCall[Any], costs: Costs) -> Polynomial:
        """Return the time of the products."""
        names = (
            "images",
            "groups",
            "channels",
            "filters",
            *(f"{x}{at}" for x in "km" for at in range(3)),
        )
        return call.time(costs, IMAGE_PRODUCT_NANOSECONDS, *names)

    def line(self, call: LibraryCall[Any], explainer: CallExplainer) -> str:
        """Return the arrays, and the sizes of filters."""
        given, made = (
            ", ".join(map(explainer.name, arrays)) for arrays in (call.inputs, call.outputs)
        )
        sizes = [explainer.size(call.options[f"k{axis}"]) for axis in range(3)]
        return f"call {self.name}({given}) -> {made}    [{' x '.join(sizes)} elements of filters]"

    def emit(self, call: LibraryCall[Any], writer: CallWriter) -> None:
        """Write the call of the outlined function."""
        source, factor = call.inputs
        arrays = {"source": source, "factor": factor, "out": call.outputs[0]}
        arrays |= dict(zip(("scratch", "sums"), call.workspace, strict=False))
        symbol = image_symbol(self._function, type_of(call.outputs[0].dtype))
        call_with_record(CALL, arrays, call, writer, symbol)


class _MaxPool(Routine):
    """The largest elements under windows, and their places.

    The options are the sizes of :data:`~phintys.backends.native.routines.images.POOL`.
    """

    name = "max_pool"
    shares_work: ClassVar[bool] = True

    def work(self, call: LibraryCall[Any], costs: Costs) -> Polynomial:
        """Return the time of the comparisons."""
        names = ("images", *(f"{letter}{axis}" for letter in "wm" for axis in range(3)))
        return call.time(costs, POOLING_NANOSECONDS, *names)

    def line(self, call: LibraryCall[Any], explainer: CallExplainer) -> str:
        """Return the arrays, and the size of windows."""
        source, values, places = map(explainer.name, (*call.inputs, *call.outputs))
        sizes = [explainer.size(call.options[f"w{axis}"]) for axis in range(3)]
        return f"call {self.name}({source}) -> {values}, {places}    [windows {' x '.join(sizes)}]"

    def emit(self, call: LibraryCall[Any], writer: CallWriter) -> None:
        """Write the call of the outlined function."""
        values, places = call.outputs
        arrays = {"source": call.inputs[0], "values": values, "places": places}
        call_with_record(POOL, arrays, call, writer, pool_symbol(type_of(values.dtype)))


MAX_POOL = _MaxPool()
SUMS_OF_IMAGES = _Images("conv", "image_sums")
SPREAD_OVER_IMAGES = _Images("conv_by_images", "image_spread")
FILTERS_OF_IMAGES = _Images("conv_by_filters", "image_filters")
