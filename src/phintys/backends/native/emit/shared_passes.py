"""Code of loops that threads share.

The passes are a function ``i32 passes(ptr frame, i64 begin, i64 end, ptr parallel)``. If there is
little to do, it is called for all of them, with the frame of the call. Otherwise threads of the
pool call it for ranges, each with a copy of the frame, in which the addresses of memory that passes
write are those of a block of the range's own. Then ``parallel``, which kernels and products in the
passes are handed to, carries them out in order: the bits of results are the same, since those of
kernels do not depend on who computes their parts.

If passes fail, the call fails as the first of them does. A range is not begun if a pass before it
has failed; those before the failure are all carried out, since they may fail too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.backends.native.dependence import arrays_read
from phintys.backends.native.emit.blas_threads import begin_alone, end_alone, threads_of_blas
from phintys.backends.native.emit.builder import Builder
from phintys.backends.native.emit.control import loop, when
from phintys.backends.native.emit.frame import (
    GRAIN_NANOSECONDS,
    OUT_OF_MEMORY,
    PARALLEL_NANOSECONDS,
    STATUS,
)
from phintys.backends.native.emit.range_function import RangeFunction
from phintys.backends.native.emit.types import BOOL, INT8, INT32, INT64, PTR, VOID
from phintys.backends.native.emit.values import Value
from phintys.backends.native.runtime.atomics import atomic_load, call_pointer, unlock, wait_lock
from phintys.backends.native.runtime.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable

    from phintys.backends.native.emit.module import Module
    from phintys.backends.native.emit.shared_loops import SharedLoop
    from phintys.backends.native.emit.step_writer import StepWriter
    from phintys.backends.native.program import Step

__all__ = ["write_shared_loop"]

_FAILURE = Record.packed(
    number=INT64,  # of the first pass that has failed, or _NONE
    status=INT64,  # the three numbers of its status
    first=INT64,
    second=INT64,
    lock=INT32,
)
_NONE = 2**63 - 1
_STATUS = ("status", "first", "second")

_WORK_SHIFT = 6

_MOST_PRIVATE = 1 << 26
"""Bytes that each thread may take for its own passes. Where passes need more, the arrays in them
are so large that threads share each kernel."""

_FEW_PASSES = 8
_LONG_PASS = 500_000
"""So few passes are carried out one after the other if each takes so many nanoseconds, most of them
in kernels and products that threads share: there may be more threads than passes."""

_MOST = 1 << 31
"""A product of two numbers up to this does not wrap around."""

_MOST_GRAINS = 16
"""Grains that one thread carries out between two checks for signals."""


def write_shared_loop(
    writer: StepWriter,
    loop: Step,
    shared: SharedLoop,
    emit_passes: Callable[[StepWriter, Value, Value], None],
) -> None:
    """Write a loop whose passes threads can share.

    Parameters
    ----------
    writer
        Writes the steps around it.
    loop
        The loop.
    shared
        How they share it.
    emit_passes
        Writes the passes from one number up to another.
    """
    _SharedPasses(writer, loop, shared).write(emit_passes)


class _SharedPasses:
    """Writes one loop."""

    def __init__(self, writer: StepWriter, loop: Step, shared: SharedLoop) -> None:
        self.writer = writer
        self.b = writer.b
        self.loop = loop
        self.shared = shared
        self.count = writer.size(shared.count)
        self.symbol = f"passes.{len(self.b.module.functions)}"

    def write(self, emit_passes: Callable[[StepWriter, Value, Value], None]) -> None:
        """Write the loop."""
        b, writer = self.b, self.writer
        self._put_in_memory()
        self._write_passes(emit_passes)
        self._place_private()
        each, is_worth_it = self._estimate()
        alone, several, after = (b.new_block(name) for name in ("alone", "several", "after"))
        b.branch(is_worth_it, several, alone)
        b.begin(alone)
        operands = [writer.frame, b.constant(INT64, 0), self.count, writer.parallel]
        status = b.call(self.symbol, INT32, operands)
        with writer.failing(b.ne(status, 0)):
            pass
        b.jump(after)
        b.begin(several)
        self._write_shared(each)
        b.jump(after)
        b.begin(after)

    def _put_in_memory(self) -> None:
        """Store what the passes read in the frame, and in memory, where it is in registers."""
        writer, main = self.writer, self.writer.main
        writer.save(arrays_read(self.loop))
        for outer in writer.open_loops:
            number = writer.polynomial(main.ring.of(outer.counter))
            self.b.store(number, writer.slot(main.atom_slot(outer.counter)))

    def _write_passes(self, emit_passes: Callable[[StepWriter, Value, Value], None]) -> None:
        """Write the function of the passes."""
        parameters = [PTR, INT64, INT64, PTR]
        function = self.b.module.function(self.symbol, INT32, parameters, linkage="internal")
        with self.writer.aside():
            part = self.writer.apart(function)
            _, begin, end, _ = part.b.arguments
            emit_passes(part, begin, end)
            part.end()

    def _place_private(self) -> None:
        """Compute where in its block a range has its frame and its memory, before loops around."""
        writer, main = self.writer, self.writer.main
        sizes = [main.ring.bytes(array) for array in self.shared.private]
        atoms = [atom for size in sizes for atom in writer.atoms_of(size)]
        values = [writer.polynomial(size) for size in sizes]
        self.frame_bytes = 8 * main.layout.slots
        self.offsets: list[Value] = []
        with writer.before(writer.home(atoms) if writer.open_loops else None):
            end = writer.aligned(self.b.constant(INT64, self.frame_bytes))
            for value in values:
                self.offsets.append(end)
                end = writer.sum(end, writer.aligned(value))
        self.bytes = end

    def _estimate(self) -> tuple[Value, Value]:
        """Return the nanoseconds of a pass, and whether threads should share the passes."""
        b, writer = self.b, self.writer
        divisible, alone = (
            b.minimum_number(writer.polynomial(work) >> _WORK_SHIFT, _MOST)
            for work in (self.shared.divisible, self.shared.alone)
        )
        each = b.minimum_number(b.maximum_number(divisible + alone, 1), _MOST)
        total = each * b.minimum_number(self.count, _MOST)
        is_enough = b.lt(1, self.count) & b.le(PARALLEL_NANOSECONDS, total)
        is_better_inside = (
            b.lt(self.count, _FEW_PASSES) & b.le(_LONG_PASS, each) & b.lt(alone * 4, each)
        )
        return each, is_enough & ~is_better_inside & b.le(self.bytes, _MOST_PRIVATE)

    # ---- shared by threads -----------------------------------------------------------------------

    def _write_shared(self, each: Value) -> None:
        b, writer = self.b, self.writer
        failure = b.slot(INT64, _FAILURE.size // 8)
        _FAILURE.store(b, failure, "number", _NONE)
        _FAILURE.store(b, failure, "lock", 0)
        ranges = RangeFunction(writer)
        self._write_range(ranges, failure)
        function, values = ranges.finish()
        grain = b.binary("sdiv", b.constant(INT64, GRAIN_NANOSECONDS), each)
        # Long passes are ranges of their own.
        grain = b.select(b.lt(grain, 1), b.constant(INT64, -1), grain)
        threads = threads_of_blas(b) if self.shared.calls_library else None
        if threads is not None:
            begin_alone(b, threads)  # not each call for itself
        status = writer.shared(function, values, self.count, grain)
        if threads is not None:
            end_alone(b, threads)
        writer.fail_if_interrupted(status)
        number = _FAILURE.load(b, failure, "number")
        with writer.failing(b.ne(number, _NONE)):
            writer.set_status(*(_FAILURE.load(b, failure, name) for name in _STATUS))

    def _write_range(self, ranges: RangeFunction, failure: Value) -> None:
        """Write the function that a thread calls for a range of passes."""
        b, main = ranges.b, self.writer.main
        frame, failure = ranges.passed(self.writer.frame), ranges.passed(failure)
        bytes_ = ranges.passed(self.bytes)
        offsets = [ranges.passed(offset) for offset in self.offsets]
        go_on, taken, missing, out = map(b.new_block, ("go_on", "taken", "missing", "out"))
        failed = atomic_load(b, INT64, _FAILURE.pointer(b, failure, "number"))
        b.branch(ranges.begin < failed, go_on, out)
        b.begin(go_on)
        memory = b.call("phintys_malloc", PTR, [bytes_])
        is_missing = b.write(BOOL, f"icmp eq ptr {memory.text}, null")
        b.branch(is_missing, missing, taken)
        b.begin(missing)
        number = b.constant(INT64, main.workspace(self.loop))
        reason = [b.constant(INT64, OUT_OF_MEMORY), bytes_, number]
        _report(b, failure, ranges.begin, reason)
        b.jump(out)
        b.begin(taken)
        b.call("memcpy", PTR, [memory, frame, b.constant(INT64, self.frame_bytes)])
        for array, offset in zip(self.shared.private, offsets, strict=True):
            place = b.offset(memory, main.pointer_slot(array), INT64)
            b.store(b.offset(memory, offset, INT8), place, align=8)
        in_order = Value(b, PTR, f"@{_in_order(b.module)}")
        operands = [memory, ranges.begin, ranges.end, in_order]
        status = b.call(self.symbol, INT32, operands)
        with when(b, b.ne(status, 0)):
            counter = main.atom_slot(self.shared.counter)
            words = [b.load(INT64, b.offset(memory, STATUS + at, INT64)) for at in range(3)]
            _report(b, failure, b.load(INT64, b.offset(memory, counter, INT64)), words)
        b.call("phintys_free", VOID, [memory])
        b.jump(out)
        b.begin(out)


def _report(b: Builder, failure: Value, number: Value, status: list[Value]) -> None:
    """Write code that records the failure of a pass, if it is the first one so far."""
    lock, free = _FAILURE.pointer(b, failure, "lock"), b.constant(INT32, 0)
    wait_lock(b, lock, free, b.constant(INT32, 1))
    with when(b, number < _FAILURE.load(b, failure, "number")):
        for name, word in zip(_STATUS, status, strict=True):
            _FAILURE.store(b, failure, name, word)
        place = _FAILURE.pointer(b, failure, "number")
        b.write_void(f"store atomic {number.typed}, {place.typed} seq_cst, align 8")
    unlock(b, lock, free)


def _in_order(module: Module) -> str:
    """Return a function like ``phintys_parallel_for`` that carries out all ranges itself."""
    name = "in_order"
    if all(function.name != name for function in module.functions):
        parameters = [PTR, PTR, PTR, INT64, INT64]
        b = Builder(module.function(name, INT32, parameters, linkage="internal"))
        state, kernel, arguments, count, grain = b.arguments
        longest = b.maximum_number(grain * _MOST_GRAINS, b.constant(INT64, 0) - grain)
        most = b.maximum_number(b.select(b.eq(grain, 0), count, longest), 1)
        stopped = b.new_block("stopped")
        with loop(b, 0, count, most) as piece:
            end = b.minimum_number(piece.index + most, count)
            call_pointer(b, kernel, VOID, [arguments, piece.index, end])
            with when(b, end < count):
                go_on = b.new_block("go_on")
                b.branch(b.ne(b.call("phintys_poll", INT32, [state]), 0), stopped, go_on)
                b.begin(go_on)
        b.ret(b.constant(INT32, 0))
        b.begin(stopped)
        b.ret(b.constant(INT32, 1))
    return name
