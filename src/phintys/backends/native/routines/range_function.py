"""Functions for ranges of iterations, which threads of the pool share."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import loop
from phintys.backends.native.assembler.types import INT64, PTR, VOID
from phintys.backends.native.assembler.values import Value
from phintys.backends.native.limits import ALIGNED_RANGE, GRAIN_NANOSECONDS, PARALLEL_NANOSECONDS

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from phintys.backends.native.sizes import Size
    from phintys.backends.native.steps.call import CallWriter
    from phintys.backends.native.values import Array


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
        alone, shared, after = (b.new_block(name) for name in ("alone", "shared", "after"))
        b.branch((nanoseconds < PARALLEL_NANOSECONDS) | b.le(count, 1), alone, shared)
        b.begin(alone)
        b.call(self._name, VOID, [values, zero, count])
        b.jump(after)
        b.begin(shared)
        each = b.maximum_number(b.binary("sdiv", nanoseconds, b.maximum_number(count, 1)), 1)
        grain = b.binary("sdiv", b.constant(INT64, GRAIN_NANOSECONDS), each)
        grain = b.select(grain < ALIGNED_RANGE, b.maximum_number(grain, 1), grain & -ALIGNED_RANGE)
        if is_serial:
            writer.in_order(function, values, count, grain)
        else:
            writer.parallel_for(function, values, count, grain)
        b.jump(after)
        b.begin(after)


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
