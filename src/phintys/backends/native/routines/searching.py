"""Searches in sorted vectors: one for each value, several at once in the lanes of a vector."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from phintys.backends.native.assembler.control import either, loop
from phintys.backends.native.assembler.elements import gather
from phintys.backends.native.assembler.types import BOOL, INT64, type_of
from phintys.backends.native.limits import SEARCH_NANOSECONDS, SEARCHED_VECTORS
from phintys.backends.native.routines.ranges import RangeFunction
from phintys.backends.native.steps.call import CallWriter, LibraryCall, Routine

if TYPE_CHECKING:
    from phintys.backends.native.assembler.values import Value
    from phintys.backends.native.polynomials import Costs, Polynomial


class _SearchSorted(Routine):
    """Where to insert values in a sorted vector: the inputs are both, of one dtype.

    The options are their lengths, ``n`` and ``count``, and whether ``right`` is the side.
    """

    name = "search_sorted"
    shares_work: ClassVar[bool] = True

    def work(self, call: LibraryCall[Any], costs: Costs) -> Polynomial:
        """Return a rough estimate of its time."""
        return call.time(costs, SEARCH_NANOSECONDS, "count")

    def emit(self, call: LibraryCall[Any], writer: CallWriter) -> None:
        """Write a function for a range of the values, and its call."""
        ranges = RangeFunction(writer)
        _Search(call, ranges).write()
        nanoseconds = writer.nanoseconds(self.work(call, writer.costs))
        ranges.call(writer.size(call.options["count"]), nanoseconds, is_serial=False)


class _Search:
    """Writes the code for a range of values."""

    def __init__(self, call: LibraryCall[Any], ranges: RangeFunction) -> None:
        self._b = ranges.b
        self._ranges = ranges
        self._vector, self._values = (ranges.pointer(array) for array in call.inputs)
        self._found = ranges.pointer(call.outputs[0])
        self._n = ranges.size(call.options["n"])
        self._is_right = call.options["right"]
        self._type = type_of(call.inputs[0].dtype)
        self._place_of_nan: Value | None = None

    def write(self) -> None:
        """Search for whole vectors of values, and then for those that are left."""
        b, begin, end = self._b, self._ranges.begin, self._ranges.end
        with either(b, b.eq(self._n, 0)) as (if_empty, otherwise):
            with if_empty, loop(b, begin, end) as each:
                b.store(b.constant(INT64, 0), b.offset(self._found, each.index, INT64))
            with otherwise:
                self._search_all(begin, end)

    def _search_all(self, begin: Value, end: Value) -> None:
        b = self._b
        steps = 64 - b.call("llvm.ctlz.i64", INT64, [self._n - 1, b.constant(BOOL, 0)])
        if self._type.kind == "f":
            self._place_of_nan = self._n if self._is_right else self._count_of_numbers(steps)
        lanes = b.target.lanes(INT64)
        whole = begin + ((end - begin) & -(lanes * SEARCHED_VECTORS))
        with loop(b, begin, whole, lanes * SEARCHED_VECTORS) as each:
            self._search([each.index + lanes * at for at in range(SEARCHED_VECTORS)], lanes, steps)
        with loop(b, whole, end) as each:
            self._search([each.index], 1, steps)

    def _search(self, places: list[Value], lanes: int, steps: Value) -> None:
        """Halve what is left of the vector, without branches: some elements precede the values."""
        b, integers = self._b, INT64.of(lanes)
        values = [
            b.load(self._type.of(lanes), b.offset(self._values, place, self._type), align=1)
            for place in places
        ]
        nothing = [b.constant(integers, 0)] * len(values)
        with loop(b, 0, steps, carried=[self._n, *nothing]) as halving:
            left, *before = halving.carried
            half = left >> 1
            many = b.splat(half, lanes)
            moved = [
                b.select(self._precedes(one + (many - 1), value), one + many, one)
                for one, value in zip(before, values, strict=True)
            ]
            halving.next(left - half, *moved)
        for place, value, before in zip(places, values, halving.results[1:], strict=True):
            is_behind = self._precedes(before, value)
            found = b.select(is_behind, before + 1, before)
            if self._place_of_nan is not None:
                found = b.select(b.isnan(value), b.splat(self._place_of_nan, lanes), found)
            b.store(found, b.offset(self._found, place, INT64), align=8)

    def _count_of_numbers(self, steps: Value) -> Value:
        """Return how many elements come before the first NaN."""
        b = self._b
        with loop(b, 0, steps, carried=[self._n, b.constant(INT64, 0)]) as halving:
            left, before = halving.carried
            half = left >> 1
            is_number = ~b.isnan(self._element(before + (half - 1)))
            halving.next(left - half, b.select(is_number, before + half, before))
        before = halving.results[1]
        return b.select(b.isnan(self._element(before)), before, before + 1)

    def _precedes(self, place: Value, value: Value) -> Value:
        """Return whether elements come before values that are numbers."""
        element = self._element(place)
        return element <= value if self._is_right else element < value

    def _element(self, place: Value) -> Any:
        pointers = self._b.offset(self._vector, place, self._type)
        return gather(self._b, self._type.of(place.type.lanes), pointers)


SEARCH_SORTED = _SearchSorted()
