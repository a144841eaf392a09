"""Code of loops that threads share.

The passes are a function ``i32 passes(ptr frame, i64 begin, i64 end, ptr parallel)``. If there is
little to do, it is called for all of them, with the frame of the call. Otherwise threads of the
pool call it for ranges, each with a copy of the frame, in which the addresses of memory that passes
write are those of a block of the range's own. Then ``parallel``, which kernels and products in the
passes are handed to, carries them out in order: the bits of results are the same, since those of
kernels do not depend on who computes their parts.

Passes may add to memory. Then they are divided into parts, in a way that depends on their number
alone; each part adds to zeros, and what the parts add up to is added in their order.

If passes fail, the call fails as the first of them does. A range is not begun if a pass before it
has failed; those before the failure are all carried out, since they may fail too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.backends.native.assembler.atomics import call_pointer, unlock, wait_lock
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import divide_up, either, loop, when
from phintys.backends.native.assembler.records import Record
from phintys.backends.native.assembler.types import BOOL, INT8, INT32, INT64, PTR, VOID, type_of
from phintys.backends.native.assembler.values import Value
from phintys.backends.native.dependence import arrays_read
from phintys.backends.native.frame import OUT_OF_MEMORY, STATUS
from phintys.backends.native.limits import (
    ALONE_SHARE,
    FEW_SHARED_STEPS,
    GRAIN_NANOSECONDS,
    GRAINS_A_CHUNK,
    LONG_SHARED_STEP,
    MOST_SUMMED_PARTS,
    PARALLEL_NANOSECONDS,
    PRIVATE_BYTES,
)
from phintys.backends.native.routines.blas_threads import begin_alone, end_alone, threads_of_blas
from phintys.backends.native.routines.ranges import RangeFunction

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.backends.native.assembler.module import Module
    from phintys.backends.native.plan import SharedLoop
    from phintys.backends.native.program import Step
    from phintys.backends.native.values import Array
    from phintys.backends.native.writer.step_writer import StepWriter

_FAILURE = Record.packed(
    number=INT64,  # of the first pass that has failed, or _NONE
    status=INT64,  # the three numbers of its status
    first=INT64,
    second=INT64,
    lock=INT32,
).with_atomic("number")
_NONE = 2**63 - 1
_STATUS = ("status", "first", "second")


_MOST = 1 << 31
"""A product of two numbers up to this does not wrap around."""


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
        self.part = self.parts = self.b.constant(INT64, 0)
        """The number of passes in a part, and of parts, if passes add to memory."""

    def write(self, emit_passes: Callable[[StepWriter, Value, Value], None]) -> None:
        """Write the loop."""
        b, writer = self.b, self.writer
        self._put_in_memory()
        self._write_passes(emit_passes)
        self._place_private()
        self._divide()
        each, is_worth_it = self._estimate()
        with either(b, is_worth_it) as (if_shared, otherwise):
            with otherwise:
                frame, parallel = writer.code.frame, writer.calls.parallel
                operands = [frame, b.constant(INT64, 0), self.count, parallel]
                status = b.call(self.symbol, INT32, operands)
                with writer.code.failing(b.ne(status, 0)):
                    pass
            with if_shared, writer.aside():
                self._write_shared(each)

    def _put_in_memory(self) -> None:
        """Store what the passes read in the frame, and in memory, where it is in registers."""
        writer, main = self.writer, self.writer.main
        writer.registers.save(arrays_read(self.loop))
        for outer in writer.code.open_loops:
            number = writer.sizes.polynomial(main.ring.of(outer.counter))
            self.b.store(number, writer.code.slot(main.atom_slot(outer.counter)))

    def _write_passes(self, emit_passes: Callable[[StepWriter, Value, Value], None]) -> None:
        """Write the function of the passes."""
        parameters = [PTR, INT64, INT64, PTR]
        function = self.b.module.function(self.symbol, INT32, parameters, linkage="internal")
        with self.writer.aside():
            part = self.writer.apart(function)
            _, begin, end, _ = part.b.arguments
            emit_passes(part, begin, end)
            part.code.end()

    def _place_private(self) -> None:
        """Compute where in its block a range has its frame and its memory, and a part its sums."""
        self.frame_bytes = 8 * self.writer.main.layout.slots
        self.offsets, self.bytes = self._placed(self.shared.private, self.frame_bytes)
        self.sum_offsets, self.sum_bytes = self._placed(self.shared.sums, 0)

    def _placed(self, arrays: Sequence[Array], begin: int) -> tuple[list[Value], Value]:
        """Return the places of arrays one after the other, and their end, before loops around."""
        writer, ring = self.writer, self.writer.main.ring
        sizes = [ring.bytes(array) for array in arrays]
        values = [writer.sizes.polynomial(size) for size in sizes]
        atoms = [atom for size in sizes for atom in writer.code.atoms_of(size)]
        offsets: list[Value] = []
        with writer.code.before(writer.code.home(atoms) if writer.code.open_loops else None):
            end = writer.addresses.aligned(self.b.constant(INT64, begin))
            for value in values:
                offsets.append(end)
                end = writer.addresses.sum(end, writer.addresses.aligned(value))
        return offsets, end

    def _divide(self) -> None:
        """Divide the passes into parts if they add to memory."""
        if self.shared.sums:
            b = self.b
            self.part = b.maximum_number(divide_up(b, self.count, MOST_SUMMED_PARTS), 1)
            self.parts = divide_up(b, self.count, self.part)

    def _estimate(self) -> tuple[Value, Value]:
        """Return the nanoseconds of a pass, and whether threads should share the passes."""
        b, writer = self.b, self.writer
        divisible, alone = (
            b.minimum_number(writer.nanoseconds(work), _MOST)
            for work in (self.shared.divisible, self.shared.alone)
        )
        each = b.minimum_number(b.maximum_number(divisible + alone, 1), _MOST)
        total = each * b.minimum_number(self.count, _MOST)
        is_enough = b.lt(1, self.count) & b.le(PARALLEL_NANOSECONDS, total)
        is_better_inside = (
            b.lt(self.count, FEW_SHARED_STEPS)
            & b.le(LONG_SHARED_STEP, each)
            & b.lt(alone * ALONE_SHARE, each)
        )
        is_worth_it = is_enough & ~is_better_inside & b.le(self.bytes, PRIVATE_BYTES)
        if self.shared.sums:  # adding 8 bytes takes about a nanosecond
            most = b.minimum_number(total, PRIVATE_BYTES)
            is_worth_it = is_worth_it & b.le(self.parts * self.sum_bytes, most)
        return each, is_worth_it

    # ---- shared by threads -----------------------------------------------------------------------

    def _write_shared(self, each: Value) -> None:
        """Write the call of a function for ranges, and what is left to do after it."""
        b, writer = self.b, self.writer
        failure = b.slot(INT64, _FAILURE.size // 8)
        _FAILURE.initialize(b, failure, "number", _NONE)
        _FAILURE.store(b, failure, "lock", 0)
        sums = self._room_for_sums() if self.shared.sums else None
        ranges = RangeFunction(writer)
        self._write_range(ranges, failure, sums)
        function, values = ranges.finish()
        count = self.count
        if sums is not None:
            count, each = self.parts, each * b.minimum_number(self.part, _MOST)
        grain = b.binary("sdiv", b.constant(INT64, GRAIN_NANOSECONDS), each)
        # Long passes, or parts, are ranges of their own.
        grain = b.select(b.lt(grain, 1), b.constant(INT64, -1), grain)
        threads = threads_of_blas(b) if self.shared.calls_library else None
        if threads is not None:
            begin_alone(b, threads)  # not each call for itself
        status = writer.calls.shared(function, values, count, grain)
        if threads is not None:
            end_alone(b, threads)
        number = _FAILURE.load(b, failure, "number")
        if sums is not None:
            with when(b, b.eq(status, 0) & b.eq(number, _NONE)):
                self._add_up(sums)
            b.call("phintys_free", VOID, [sums])
        writer.code.fail_if_interrupted(status)
        with writer.code.failing(b.ne(number, _NONE)):
            writer.code.set_status(*(_FAILURE.load(b, failure, name) for name in _STATUS))

    def _room_for_sums(self) -> Value:
        """Return memory for the sums of all parts."""
        bytes_ = self.parts * self.sum_bytes
        memory = self.b.call("phintys_malloc", PTR, [bytes_])
        number = self.writer.main.workspace(self.loop)
        self.writer.code.fail_if_null(memory, OUT_OF_MEMORY, bytes_, number)
        return memory

    def _add_up(self, sums: Value) -> None:
        """Add the sums of all parts, in order."""
        b, writer = self.b, self.writer
        for array, offset in zip(self.shared.sums, self.sum_offsets, strict=True):
            dtype = type_of(array.dtype)
            target, count = (
                writer.pointer(array),
                writer.sizes.polynomial(writer.main.ring.length(array)),
            )
            if dtype.kind == "c":
                dtype, count = dtype.part, count * 2
            with loop(b, 0, self.parts) as part:
                source = b.offset(sums, part.index * self.sum_bytes + offset, INT8)
                with loop(b, 0, count) as each:
                    place = b.offset(target, each.index, dtype)
                    term = b.load(dtype, b.offset(source, each.index, dtype))
                    b.store(b.load(dtype, place) + term, place)

    def _write_range(self, ranges: RangeFunction, failure: Value, sums: Value | None) -> None:
        """Write the function that a thread calls for a range of passes, or of parts."""
        b, main = ranges.b, self.writer.main
        frame, failure = ranges.passed(self.writer.code.frame), ranges.passed(failure)
        bytes_ = ranges.passed(self.bytes)
        offsets = [ranges.passed(offset) for offset in self.offsets]
        go_on, taken, missing, out = map(b.new_block, ("go_on", "taken", "missing", "out"))
        first = ranges.begin if sums is None else ranges.begin * ranges.passed(self.part)
        b.branch(first < _first_failure(b, failure), go_on, out)
        b.begin(go_on)
        memory = b.call("phintys_malloc", PTR, [bytes_])
        is_missing = b.write(BOOL, f"icmp eq ptr {memory.text}, null")
        b.branch(is_missing, missing, taken)
        b.begin(missing)
        number = b.constant(INT64, main.workspace(self.loop))
        reason = [b.constant(INT64, OUT_OF_MEMORY), bytes_, number]
        _report(b, failure, first, reason)
        b.jump(out)
        b.begin(taken)
        b.call("memcpy", PTR, [memory, frame, b.constant(INT64, self.frame_bytes)])
        self._point(b, memory, self.shared.private, [(memory, offset) for offset in offsets])
        if sums is None:
            self._call_passes(b, memory, ranges.begin, ranges.end, failure)
        else:
            self._write_parts(ranges, memory, failure, ranges.passed(sums))
        b.call("phintys_free", VOID, [memory])
        b.jump(out)
        b.begin(out)

    def _write_parts(
        self, ranges: RangeFunction, memory: Value, failure: Value, sums: Value
    ) -> None:
        """Write the passes of a range of parts, each of which adds to zeros."""
        b = ranges.b
        length, count = ranges.passed(self.part), ranges.passed(self.count)
        bytes_ = ranges.passed(self.sum_bytes)
        offsets = [ranges.passed(offset) for offset in self.sum_offsets]
        with loop(b, ranges.begin, ranges.end) as part:
            first = part.index * length
            with when(b, first < _first_failure(b, failure)):
                base = b.offset(sums, part.index * bytes_, INT8)
                b.call("memset", PTR, [base, b.constant(INT32, 0), bytes_])
                self._point(b, memory, self.shared.sums, [(base, offset) for offset in offsets])
                last = b.minimum_number(first + length, count)
                self._call_passes(b, memory, first, last, failure)

    def _point(
        self,
        b: Builder,
        memory: Value,
        arrays: Sequence[Array],
        places: Sequence[tuple[Value, Value]],
    ) -> None:
        """Store the addresses of arrays in a copy of the frame."""
        for array, (base, offset) in zip(arrays, places, strict=True):
            slot = b.offset(memory, self.writer.main.pointer_slot(array), INT64)
            b.store(b.offset(base, offset, INT8), slot, align=8)

    def _call_passes(
        self, b: Builder, memory: Value, begin: Value, end: Value, failure: Value
    ) -> None:
        """Write the call of the passes with a copy of the frame, and report if one fails."""
        main = self.writer.main
        in_order = Value(b, PTR, f"@{_in_order(b.module)}")
        status = b.call(self.symbol, INT32, [memory, begin, end, in_order])
        with when(b, b.ne(status, 0)):
            counter = main.atom_slot(self.shared.counter)
            words = [b.load(INT64, b.offset(memory, STATUS + at, INT64)) for at in range(3)]
            _report(b, failure, b.load(INT64, b.offset(memory, counter, INT64)), words)


def _first_failure(b: Builder, failure: Value) -> Value:
    """Return the number of the first pass that has failed so far."""
    return _FAILURE.load(b, failure, "number")


def _report(b: Builder, failure: Value, number: Value, status: list[Value]) -> None:
    """Write code that records the failure of a pass, if it is the first one so far."""
    lock, free = _FAILURE.pointer(b, failure, "lock"), b.constant(INT32, 0)
    wait_lock(b, lock, free, b.constant(INT32, 1))
    with when(b, number < _FAILURE.load(b, failure, "number")):
        for name, word in zip(_STATUS, status, strict=True):
            _FAILURE.store(b, failure, name, word)
        _FAILURE.store(b, failure, "number", number)
    unlock(b, lock, free)


def _in_order(module: Module) -> str:
    """Return a function like ``phintys_parallel_for`` that carries out all ranges itself."""
    name = "in_order"
    if all(function.name != name for function in module.functions):
        parameters = [PTR, PTR, PTR, INT64, INT64]
        b = Builder(module.function(name, INT32, parameters, linkage="internal"))
        state, kernel, arguments, count, grain = b.arguments
        longest = b.maximum_number(grain * GRAINS_A_CHUNK, b.constant(INT64, 0) - grain)
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
