"""Convolutions of vectors, in tiles of registers.

Each element is the sum of products in the same order, wherever it is in a tile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from phintys.backends.native.assembler.control import divide_up, either, loop, when
from phintys.backends.native.assembler.types import type_of
from phintys.backends.native.limits import CONVOLUTION_NANOSECONDS, CONVOLUTION_VECTORS
from phintys.backends.native.routines.ranges import RangeFunction
from phintys.backends.native.steps.call import CallWriter, LibraryCall, Routine

if TYPE_CHECKING:
    from phintys.backends.native.assembler.values import Value
    from phintys.backends.native.polynomials import Costs, Polynomial


class _Convolve(Routine):
    """``out[k] = sum(long[k - j] * short[j])``, of two vectors of integers or floats.

    The options ``n`` and ``m`` are their lengths, at least 1, in any order.
    """

    name = "convolve"
    shares_work: ClassVar[bool] = True

    def work(self, call: LibraryCall[Any], costs: Costs) -> Polynomial:
        """Return a rough estimate of its time."""
        return call.time(costs, CONVOLUTION_NANOSECONDS, "n", "m")

    def emit(self, call: LibraryCall[Any], writer: CallWriter) -> None:
        """Write a function for a range of the tiles, and its call."""
        ranges = RangeFunction(writer)
        tiles = _Tiles(call, ranges)
        with loop(ranges.b, ranges.begin, ranges.end) as each:
            tiles.write(each.index * tiles.length)
        nanoseconds = writer.nanoseconds(self.work(call, writer.costs))
        total = writer.size(call.options["n"]) + writer.size(call.options["m"]) - 1
        count = divide_up(writer.b, total, tiles.length)
        ranges.call(count, nanoseconds, is_serial=False)


class _Tiles:
    """Writes the code for neighbouring elements of the result.

    Attributes
    ----------
    length
        The number of elements of a tile.
    """

    def __init__(self, call: LibraryCall[Any], ranges: RangeFunction) -> None:
        b = self._b = ranges.b
        self._type = type_of(call.outputs[0].dtype)
        self._lanes = b.target.lanes(self._type)
        self.length = self._lanes * CONVOLUTION_VECTORS
        first, second = (ranges.pointer(array) for array in call.inputs)
        n, m = (ranges.size(call.options[name]) for name in "nm")
        is_longer = m <= n
        self._long = b.select(is_longer, first, second)
        self._short = b.select(is_longer, second, first)
        self._n, self._m = b.select(is_longer, n, m), b.select(is_longer, m, n)
        self._out = ranges.pointer(call.outputs[0])

    def write(self, start: Value) -> None:
        """Write the tile from an element on.

        All elements of it have products with the same part of the short vector. At the ends of the
        long one some have products with more of it, before or behind that part.
        """
        b, total = self._b, self._n + self._m - 1
        end = start + self.length
        first = b.maximum_number(end - self._n, 0)
        last = b.minimum_number(start + 1, self._m)
        with either(b, b.le(end, total) & (first < last)) as (if_whole, if_part):
            with if_whole:
                self._clear(start)
                with when(b, first > 0):
                    self._one_by_one(start, end, lambda k: (self._first(k), first))
                self._common(start, first, last)
                with when(b, last < self._m):
                    self._one_by_one(start, end, lambda k: (last, self._last(k)))
            with if_part:
                end = b.minimum_number(end, total)
                with loop(b, start, end) as each:
                    b.store(b.constant(self._type, 0), b.offset(self._out, each.index, self._type))
                self._one_by_one(start, end, lambda k: (self._first(k), self._last(k)))

    def _first(self, k: Value) -> Value:
        """Return where the part of the short vector begins that an element has products with."""
        return self._b.maximum_number(k - self._n + 1, 0)

    def _last(self, k: Value) -> Value:
        """Return where it ends."""
        return self._b.minimum_number(k + 1, self._m)

    def _places(self, pointer: Value, start: Value) -> list[Value]:
        """Return the addresses of the vectors of a tile."""
        first = self._b.offset(pointer, start, self._type)
        return [
            self._b.offset(first, at * self._lanes, self._type) for at in range(CONVOLUTION_VECTORS)
        ]

    def _clear(self, start: Value) -> None:
        b, wide = self._b, self._type.of(self._lanes)
        for place in self._places(self._out, start):
            b.store(b.constant(wide, 0), place, align=1)

    def _common(self, start: Value, first: Value, last: Value) -> None:
        """Add the products with a part of the short vector to all elements of a tile."""
        b, wide = self._b, self._type.of(self._lanes)
        places = self._places(self._out, start)
        sums = [b.load(wide, place, align=1) for place in places]
        with loop(b, first, last, carried=sums, runs=True) as each:
            factor = b.load(self._type, b.offset(self._short, each.index, self._type))
            factors = b.splat(factor, self._lanes)
            sources = self._places(self._long, start - each.index)
            values = [b.load(wide, source, align=1) for source in sources]
            each.next(*map(self._plus, each.carried, values, [factors] * CONVOLUTION_VECTORS))
        for result, place in zip(each.results, places, strict=True):
            b.store(result, place, align=1)

    def _one_by_one(self, start: Value, end: Value, part: Any) -> None:
        """Add the products with a part of the short vector, which depends on the element."""
        b, type_ = self._b, self._type
        with loop(b, start, end) as element:
            k = element.index
            place = b.offset(self._out, k, type_)
            with loop(b, *part(k), carried=[b.load(type_, place)]) as each:
                value = b.load(type_, b.offset(self._long, k - each.index, type_))
                factor = b.load(type_, b.offset(self._short, each.index, type_))
                each.next(self._plus(each.carried[0], value, factor))
            b.store(each.results[0], place)

    def _plus(self, before: Value, value: Value, factor: Value) -> Value:
        if self._type.kind == "f":
            return self._b.madd(value, factor, before)
        return before + value * factor


CONVOLVE = _Convolve()
