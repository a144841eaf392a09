"""Self-measuring programs: after each step the elapsed time is added to a table.

The table is memory of the program that the profile reads: 8-byte numbers,

- how many events there have been;
- for the whole call and for each step how often it ran, and its nanoseconds;
- the sizes of the last call;
- the first events: number of the step (-1: the call), begin and end in nanoseconds, address of the
  frame.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from phintys.backends.measurements import MOST_EVENTS
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import when
from phintys.backends.native.assembler.system import write_clock
from phintys.backends.native.assembler.types import INT64, PTR
from phintys.backends.native.assembler.values import Value
from phintys.backends.native.sizes import Size
from phintys.backends.native.values import Array, Place

if TYPE_CHECKING:
    from phintys.backends.native.assembler.module import Module
    from phintys.backends.native.polynomials import Polynomials
    from phintys.backends.native.program import Program
    from phintys.backends.native.writer.step_writer import StepWriter

FIRST_STEP, EVENT_WORDS = 1, 4


class StepClock:
    """Emits code into a main function that measures it.

    Parameters
    ----------
    module
        The module of the main function.
    steps
        The number of steps of the program.
    polynomials
        Those of the program.

    Attributes
    ----------
    table
        The table, a global array of the program.
    ring
        The polynomials.
    sizes
        The sizes recorded in the table.
    first_size, first_event
        Start of these parts of the table.
    """

    def __init__(self, module: Module, steps: int, polynomials: Polynomials) -> None:
        self.ring = polynomials
        self.sizes = [atom for atom in polynomials.atoms if isinstance(atom, Size)]
        self.first_size = FIRST_STEP + 2 * (steps + 1)
        self.first_event = self.first_size + len(self.sizes)
        numbers = np.zeros(self.first_event + EVENT_WORDS * MOST_EVENTS, np.int64)
        self.table = Array(Place.CONSTANT, numbers.dtype, (), "times", data=numbers)
        write_clock(module)
        self._write_lap(module)

    def start(self, writer: StepWriter, slot: int, *, is_first: bool) -> Value:
        """Read the clock, and store the start time of the call in a slot of the frame."""
        now = writer.b.call("clock", INT64, [])
        if is_first:
            writer.b.store(now, writer.code.slot(slot))
        return now

    def lap(self, writer: StepWriter, step: int, before: Value) -> Value:
        """Record that a step has ended, and return the time."""
        b = writer.b
        number = b.constant(INT64, step)
        return b.call("lap", INT64, [writer.pointer(self.table), number, before, writer.code.frame])

    def finish(self, writer: StepWriter, slot: int) -> None:
        """Record that the call has ended, and its sizes."""
        self.lap(writer, -1, writer.b.load(INT64, writer.code.slot(slot)))
        table = writer.pointer(self.table)
        for at, size in enumerate(self.sizes):
            writer.b.store(writer.size(size), writer.b.offset(table, self.first_size + at, INT64))

    def _write_lap(self, module: Module) -> None:
        """``i64 lap(table, step, before, frame)``: record a step, return the time."""
        b = Builder(module.function("lap", INT64, [PTR, INT64, INT64, PTR], linkage="internal"))
        table, step, before, frame = b.arguments
        now = b.call("clock", INT64, [])
        entry = step * 2 + (FIRST_STEP + 2)
        _add(b, b.offset(table, entry, INT64), b.constant(INT64, 1))
        _add(b, b.offset(table, entry + 1, INT64), now - before)
        event = _add(b, table, b.constant(INT64, 1))
        with when(b, event < MOST_EVENTS):
            place = b.offset(table, event * EVENT_WORDS + self.first_event, INT64)
            number = b.write(INT64, f"ptrtoint {frame.typed} to i64")
            for at, word in enumerate((step, before, now, number)):
                b.store(word, b.offset(place, at, INT64))
        b.ret(now)


def of_program(program: Program, module: Module, polynomials: Polynomials) -> StepClock:
    """Return a clock for the steps of a program that records the sizes of all its tensors."""
    for sizes in program.shapes.values():
        for size in sizes:
            polynomials.of(size)
    return StepClock(module, len(program.steps), polynomials)


def _add(b: Builder, pointer: Value, amount: Value) -> Value:
    """Add to a number atomically, and return its previous value."""
    return b.write(INT64, f"atomicrmw add {pointer.typed}, {amount.typed} monotonic")
