"""Ranges of iterations, which threads of the pool share."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from phintys._base.records import record
from phintys.backends.native.assembler.atomics import call_pointer
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import either, loop, when
from phintys.backends.native.assembler.types import INT32, INT64, PTR, VOID
from phintys.backends.native.assembler.values import Value
from phintys.backends.native.limits import ALIGNED_RANGE, GRAIN_NANOSECONDS, PARALLEL_NANOSECONDS

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from phintys.backends.native.assembler.records import Record
    from phintys.backends.native.sizes import Size
    from phintys.backends.native.steps.call import CallWriter, LibraryCall
    from phintys.backends.native.values import Array


# ---- ranges of the work of a call ----------------------------------------------------------------


class RangeFunction:
    """A function for a range of iterations, such as those over a stack.

    It is ``void (values, begin, end)``.

    It stands in for the writer of the code that calls it, from which it is passed what it asks for.

    Parameters
    ----------
    writer
        Writes the code of the caller.
    """

    def __init__(self, writer: CallWriter) -> None:
        module = writer.b.module
        self._name = f"range.{len(module.functions)}"
        parameters = [PTR, INT64, INT64]
        self.b = Builder(module.function(self._name, VOID, parameters, linkage="internal"))
        self._writer = writer
        self._values, self.begin, self.end = self.b.arguments
        self._given: list[Value] = []
        self._taken: dict[str, Value] = {}
        self._entry, self._body = self.b.block, self.b.new_block("body")
        self.b.begin(self._body)

    @property
    def is_repeated(self) -> bool:
        """Whether a loop of steps repeats the call."""
        return self._writer.is_repeated

    def size(self, size: Size) -> Value:
        """Return the value of a size."""
        return self.passed(self._writer.size(size))

    def pointer(self, array: Array) -> Value:
        """Return the address of an array."""
        return self.passed(self._writer.pointer(array))

    def passed(self, value: Value) -> Value:
        """Return a value of the caller."""
        if not value.text.startswith("%"):
            return Value(self.b, value.type, value.text)
        if value.text not in self._taken:
            with self.b.inside(self._entry):
                place = self.b.offset(self._values, len(self._given), INT64)
                self._taken[value.text] = self.b.load(value.type, place)
            self._given.append(value)
        return self._taken[value.text]

    @contextmanager
    def each(self) -> Generator[Value]:
        """Write code that runs for each iteration; yield its number."""
        with loop(self.b, self.begin, self.end) as one:
            yield one.index

    def finish(self) -> tuple[Value, Value]:
        """End the function; return it, and the address of the values that it is passed."""
        self.b.ret()
        with self.b.inside(self._entry):
            self.b.jump(self._body)
        b = self._writer.b
        values = b.slot(INT64, max(1, len(self._given)))
        for at, value in enumerate(self._given):
            b.store(value, b.offset(values, at, INT64), align=8)
        return Value(b, PTR, f"@{self._name}"), values

    def call(self, count: Value, nanoseconds: Value, *, is_serial: bool) -> None:
        """End the function, and write its call for a whole stack, given an estimate of the time.

        Threads share the stack if it takes long enough, unless ranges must not run at once.
        """
        writer, b = self._writer, self._writer.b
        function, values = self.finish()
        zero = b.constant(INT64, 0)
        is_short = (nanoseconds < PARALLEL_NANOSECONDS) | b.le(count, 1)
        with either(b, is_short) as (if_short, otherwise):
            with if_short:
                b.call(self._name, VOID, [values, zero, count])
            with otherwise:
                each = b.binary("sdiv", nanoseconds, b.maximum_number(count, 1))
                grain = b.binary(
                    "sdiv", b.constant(INT64, GRAIN_NANOSECONDS), b.maximum_number(each, 1)
                )
                least = b.maximum_number(grain, 1)
                grain = b.select(grain < ALIGNED_RANGE, least, grain & -ALIGNED_RANGE)
                run = writer.in_order if is_serial else writer.parallel_for
                run(function, values, count, grain)


class OneIteration:
    """Takes the place of a :class:`RangeFunction` where there is one iteration.

    It needs no function: the code is part of that which would call it.

    Parameters
    ----------
    writer
        Writes the code.
    """

    def __init__(self, writer: CallWriter) -> None:
        self.b = writer.b
        self._writer = writer
        self.begin, self.end = (self.b.constant(INT64, number) for number in (0, 1))

    @property
    def is_repeated(self) -> bool:
        """Whether a loop of steps repeats the code."""
        return self._writer.is_repeated

    def size(self, size: Size) -> Value:
        """Return the value of a size."""
        return self._writer.size(size)

    def pointer(self, array: Array) -> Value:
        """Return the address of an array."""
        return self._writer.pointer(array)

    def passed(self, value: Value) -> Value:
        """Return a value, as it is."""
        return value

    def share(self, symbol: str, arguments: Sequence[Value]) -> None:
        """Write the call of a function that shares its work, and can be interrupted."""
        self._writer.share(symbol, arguments)

    @contextmanager
    def each(self) -> Generator[Value]:
        """Write the code; yield 0."""
        yield self.begin


# ---- ranges of the work of outlined functions ----------------------------------------------------


@record(frozen=True, eq=False)
class Runtime:
    """The functions of the runtime that a function was passed, and the address of its status."""

    state: Value
    parallel: Value
    poll: Value
    status: Value

    def is_going(self, b: Builder) -> Value:
        """Return whether the call continues."""
        return b.eq(b.load(INT32, self.status), 0)

    def look(self, b: Builder) -> None:
        """Emit a signal check, which may end the call, unless the call has ended."""
        with when(b, self.is_going(b)):
            b.store(call_pointer(b, self.poll, INT32, [self.state]), self.status)


def runtime_of(b: Builder) -> Runtime:
    """Return it for the first arguments of a function."""
    status = b.slot(INT32)
    b.store(b.constant(INT32, 0), status)
    state, parallel, poll = b.arguments[:3]
    return Runtime(state, parallel, poll, status)


def run_ranges(
    b: Builder, kernel: str, runtime: Runtime, block: Value, count: Value, grain: Value
) -> None:
    """Call a kernel for a range: on threads of the pool, if there is more than one part."""
    state, parallel, status = runtime.state, runtime.parallel, runtime.status
    function = Value(b, PTR, f"@{kernel}")
    with either(b, b.le(count, b.maximum_number(grain, 1))) as (if_single, if_several):
        with if_single:
            call_pointer(b, function, VOID, [block, b.constant(INT64, 0), count])
            b.store(b.constant(INT32, 0), status)
        with if_several:
            result = call_pointer(b, parallel, INT32, [state, function, block, count, grain])
            b.store(result, status)


def call_with_record(
    record: Record,
    arrays: Mapping[str, Array],
    call: LibraryCall[Any],
    writer: CallWriter,
    symbol: str,
) -> None:
    """Write the call of an outlined function that is passed a record, and can be interrupted."""
    b = writer.b
    block = b.slot(INT64, record.size // 8)
    for name, array in arrays.items():
        record.store(b, block, name, writer.pointer(array))
    for name, size in call.lengths.items():
        record.store(b, block, name, writer.size(size))
    b.module.math_functions.add(symbol)
    writer.share(symbol, [block])
