"""Functions of users on arrays, called for each item of a stack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from phintys.backends.native.assembler.control import when
from phintys.backends.native.assembler.types import INT32, INT64, VOID, type_of
from phintys.backends.native.limits import UNKNOWN_NANOSECONDS
from phintys.backends.native.routines.ranges import OneIteration, RangeFunction
from phintys.backends.native.routines.stacks import _NO_FAILURE, _STATUS_BITS
from phintys.backends.native.steps.call import CallExplainer, CallWriter, LibraryCall, Routine

if TYPE_CHECKING:
    from phintys.backends.native.assembler.values import Value
    from phintys.backends.native.polynomials import Costs, Polynomial


class UserFunction(Routine):
    """A function that takes the addresses of arrays, and sizes.

    The options are ``count``, the number of items; ``moves``, how many elements each array has for
    an item; and ``passed``, the sizes.

    Parameters
    ----------
    name
        Its name, for people.
    symbol
        Its symbol in code.
    has_status
        Whether it returns an int32 that is 0 if all is well.
    """

    shares_work: ClassVar[bool] = True

    def __init__(self, name: str, symbol: str, has_status: bool) -> None:
        self.name = name
        self.symbol = symbol
        self.has_status = has_status

    def divides(self, call: LibraryCall[Any]) -> bool:
        """Return whether there may be several items."""
        return call.options["count"].known != 1

    def work(self, call: LibraryCall[Any], costs: Costs) -> Polynomial:
        """Return a guess."""
        return call.time(costs, UNKNOWN_NANOSECONDS, "count")

    def line(self, call: LibraryCall[Any], explainer: CallExplainer) -> str:
        """Return a call with the sizes that it is passed."""
        given, made = (
            ", ".join(map(explainer.name, arrays)) for arrays in (call.inputs, call.outputs)
        )
        sizes = [
            f"{name} = {explainer.size(call.options[name])}" for name in call.options["passed"]
        ]
        count = call.options["count"]
        times = "" if count.known == 1 else f", {explainer.size(count)} times"
        return f"call {self.name}({', '.join([given, *sizes])}) -> {made}{times}"

    def emit(self, call: LibraryCall[Any], writer: CallWriter) -> Value | None:
        """Write a call for each item, and return the status of the first that failed."""
        b, count = writer.b, call.options["count"]
        failures = b.slot(INT64)
        b.store(b.constant(INT64, _NO_FAILURE), failures)
        if count.known == 1:
            self._write(call, OneIteration(writer), failures)
        else:
            ranges = RangeFunction(writer)
            self._write(call, ranges, failures)
            nanoseconds = writer.nanoseconds(self.work(call, writer.costs))
            ranges.call(writer.size(count), nanoseconds, is_serial=False)
        if not self.has_status:
            return None
        first = b.load(INT64, failures)
        half = 1 << (_STATUS_BITS - 1)
        status = ((first & ((1 << _STATUS_BITS) - 1)) ^ half) - half  # with its sign
        return b.select(b.eq(first, _NO_FAILURE), 0, status)

    def _write(
        self, call: LibraryCall[Any], ranges: RangeFunction | OneIteration, failures: Value
    ) -> None:
        b = ranges.b
        arrays = (*call.inputs, *call.outputs)
        starts = [ranges.pointer(array) for array in arrays]
        moves = [ranges.size(call.options[f"items {at}"]) for at in range(len(arrays))]
        passed = [ranges.size(call.options[name]) for name in call.options["passed"]]
        with ranges.each() as index:
            items = [
                b.offset(start, index * move, type_of(array.dtype))
                for start, move, array in zip(starts, moves, arrays, strict=True)
            ]
            if not self.has_status:
                b.call(self.symbol, VOID, [*items, *passed])
                return
            status = b.call(self.symbol, INT32, [*items, *passed])
            with when(b, b.ne(status, 0)):
                kept = b.convert(status, INT64) & ((1 << _STATUS_BITS) - 1)
                failure = (index << _STATUS_BITS) | kept
                place = ranges.passed(failures)
                b.write_void(f"atomicrmw min {place.typed}, {failure.typed} monotonic")
