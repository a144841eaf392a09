"""Calls of kernels: their arguments, and whether threads share the work."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING, TypeGuard

from phintys._base.records import record
from phintys.backends.native.assembler.atomics import call_pointer
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import divide_up, either, loop, when
from phintys.backends.native.assembler.module import Module, signature
from phintys.backends.native.assembler.types import INT32, INT64, PTR, VOID, type_of
from phintys.backends.native.assembler.values import Value
from phintys.backends.native.frame import OUT_OF_MEMORY, STATUS
from phintys.backends.native.kernels.arguments import (
    Chunk,
    FailureBase,
    KernelNumbers,
    Number,
    Partials,
    Pointer,
    ScratchBytes,
    ScratchOffset,
    Slot,
    State,
    Status,
    Width,
)
from phintys.backends.native.limits import (
    CHUNK_COLUMNS,
    CHUNK_UNIT,
    GRAIN_NANOSECONDS,
    LEAST_COST,
    LONG_RUN,
    PARALLEL_NANOSECONDS,
    POLLED_WORK,
    REDUCTION_CHUNKS,
    SHORTEST_CHUNK,
    SMALLEST_CHUNK,
)
from phintys.backends.native.values import Place
from phintys.backends.native.writer.address_code import MOST_BYTES, AddressCode

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from phintys.backends.native.kernels.kernel_code import KernelCode
    from phintys.backends.native.kernels.plans import KernelPlan, NestPlan
    from phintys.backends.native.steps.kernel import Kernel
    from phintys.backends.native.writer.function_code import FunctionCode
    from phintys.backends.native.writer.size_code import SizeCode


_COPIER = "copy_slots"


Scratch = dict[bool, dict[object, Value]]


def _is_held(slot: Slot) -> TypeGuard[Pointer]:
    """Return whether the frame contains an argument in the form in which kernels take it."""
    return (
        isinstance(slot, Pointer)
        and not slot.offset.terms
        and slot.array.memory.place != Place.CONSTANT
    )


@record(eq=False)
class _Cut:
    """How a reduction is divided into parts.

    Attributes
    ----------
    chunk, width
        Rows and columns of a part; without columns, iterations of the outermost loop.
    parts
        How many there are.
    down
        How many there are of each column.
    totals
        How many times there are totals, at most.
    partials
        Where they are.
    """

    chunk: Value
    width: Value | None
    parts: Value
    down: Value
    totals: Value | int
    partials: Value | None = None

    def argument(self, slot: Slot) -> Value:
        """Return the numbers that are passed to the kernel."""
        value = {Chunk: self.chunk, Width: self.width, Partials: self.partials}[type(slot)]
        assert value is not None
        return value


class KernelCallCode:
    """Writes calls of kernels.

    Parameters
    ----------
    code
        The function. If it has several parameters, the last one is the function that shares
        iterations among threads; otherwise that is the runtime's.
    sizes
        The sizes in it.
    addresses
        The addresses in it.
    """

    def __init__(self, code: FunctionCode, sizes: SizeCode, addresses: AddressCode) -> None:
        self.code = code
        self.main = code.main
        self.b = code.b
        self.sizes = sizes
        self.addresses = addresses
        *others, last = self.b.arguments
        self._parallel = last if others else None

    def call(self, kernel: Kernel) -> None:
        """Write the call of the function of a kernel."""
        b, code = self.b, self.main.kernels[kernel]
        plan = code.plan
        if plan.is_chunked:
            self._chunked(kernel, code)
        else:
            block = self._block(code)
            level = plan.parallel
            n = b.constant(INT64, 1) if level is None else self.sizes.polynomial(level.extent)
            self._dispatch(self._function(code, n), plan, block, n)
        if code.failures or plan.rooms or State() in code.slots:
            status = b.load(INT64, self.code.status())
            with self.code.failing(b.ne(status, 0)):
                if plan.rooms:
                    with when(b, b.eq(status, OUT_OF_MEMORY)):
                        number = b.constant(INT64, self.main.workspace(kernel))
                        b.store(number, self.code.slot(STATUS + 2))

    # ---- arguments ---------------------------------------------------------------------------

    def _block(self, code: KernelCode, cut: _Cut | None = None) -> Value:
        """Store the arguments of a kernel; many that are in the frame are copied together."""
        b = self.b
        block = b.slot(INT64, max(1, len(code.slots)))
        plans = [code.plan]
        if code.for_short_rows is not None:
            plans.append(code.for_short_rows.plan)
        scratch = {plan.is_across: self._scratch(plan) for plan in plans}
        for is_held, run in groupby(enumerate(code.slots), key=lambda item: _is_held(item[1])):
            places = list(run)
            if is_held and len(places) >= LONG_RUN:
                self._copy(b.offset(block, places[0][0], INT64), [slot for _, slot in places])
                continue
            for at, slot in places:
                value = self._argument(code, slot, scratch, cut)
                b.store(value, b.offset(block, at, INT64), align=8)
        return block

    def _copy(self, target: Value, slots: Sequence[Slot]) -> None:
        """Copy addresses from the frame."""
        numbers = [self.main.pointer_slot(slot.array) for slot in slots if _is_held(slot)]
        text = ", ".join(f"i32 {number}" for number in numbers)
        table = Value(self.b, PTR, self.b.module.table(text, len(numbers), "i32"))
        count = self.b.constant(INT64, len(numbers))
        if not self.main.has_copier:
            self.main.has_copier = True
            _write_copier(self.b.module)
        self.b.call(_COPIER, VOID, [target, self.code.frame, table, count])

    def _argument(self, code: KernelCode, slot: Slot, scratch: Scratch, cut: _Cut | None) -> Value:
        b = self.b
        if isinstance(slot, Pointer):
            base = self.addresses.pointer(slot.array)
            if not slot.offset.terms:
                return base
            return b.offset(base, self.sizes.polynomial(slot.offset), type_of(slot.array.dtype))
        if isinstance(slot, Number):
            return self.sizes.polynomial(slot.value)
        if isinstance(slot, KernelNumbers):
            return self._numbers(code.numbers)
        if isinstance(slot, Status):
            return self.code.status()
        if isinstance(slot, State):
            return self.code.state()
        if isinstance(slot, FailureBase):
            return b.constant(INT64, self.main.failures(code.failures))
        if isinstance(slot, ScratchBytes):
            return scratch[slot.is_across][None]
        if isinstance(slot, ScratchOffset):
            return scratch[slot.is_across][slot.room]
        assert cut is not None
        return cut.argument(slot)

    def _numbers(self, numbers: Sequence[bytes]) -> Value:
        """Return the address of a table of numbers, each in the first bytes of 8."""
        words = [int.from_bytes(number.ljust(8, b"\0"), sys.byteorder) for number in numbers]
        text = ", ".join(f"i64 {word}" for word in words)
        return Value(self.b, PTR, self.b.module.table(text, len(words), "i64"))

    def _scratch(self, plan: KernelPlan) -> dict[object, Value]:
        """Return where the rooms in a kernel's own memory begin, and (``None``) where it ends."""
        end = self.b.constant(INT64, 0)
        found: dict[object, Value] = {}
        for room, bytes_ in plan.rooms.items():
            found[room] = end
            size = self.addresses.aligned(self.sizes.polynomial(bytes_))
            if bytes_.known is None:  # larger than memory, but the sum must not wrap
                size = self.b.minimum_number(size, MOST_BYTES)
            end = self.addresses.sum(end, size)
        found[None] = end
        return found

    # ---- one thread or several ---------------------------------------------------------------

    def _function(self, code: KernelCode, n: Value) -> Value:
        """Return the function of a kernel: the one for short rows if the rows are short."""
        b = self.b
        usual, rows = Value(b, PTR, f"@{code.symbol}"), code.for_short_rows
        if rows is None:
            return usual
        lanes = rows.plan.nests[0].lanes
        is_short = b.le(lanes, n)
        for length in rows.lengths:
            is_short &= self.sizes.polynomial(length) <= rows.most
        return b.select(is_short, Value(b, PTR, f"@{rows.symbol}"), usual)

    def _dispatch(self, function: Value, plan: KernelPlan, block: Value, n: Value) -> None:
        """Call a kernel: directly, or by several threads if there is enough work."""
        b = self.b
        nanoseconds = max(plan.cost, LEAST_COST)
        least = int(PARALLEL_NANOSECONDS / nanoseconds)
        inside = plan.work_inside()
        number = int(n.text) if n.text.isdigit() else None
        is_small = number is not None and inside.known is not None and number * inside.known < least
        if plan.parallel is None or is_small or number == 1:
            self._call(function, block, n)
            return
        work = self.sizes.estimate(inside)
        total = n if work.text == "1" else self.sizes.saturating("mul", n, work)
        with either(b, total < least) as (if_short, otherwise):
            with if_short:
                self._call(function, block, n)
            with otherwise:
                most = POLLED_WORK if plan.is_serial else GRAIN_NANOSECONDS
                run = self.in_order if plan.is_serial else self.parallel_for
                run(function, block, n, self._grain(int(most / nanoseconds), work))

    def in_order(self, function: Value, block: Value, n: Value, most: Value) -> None:
        """Call a kernel for several ranges, in order, with signal checks in between."""
        b = self.b
        with loop(b, 0, n, most, runs=True) as piece:
            end = b.minimum_number(piece.index + most, n)
            b.write_void(
                f"call void {function.text}({block.typed}, {piece.index.typed}, {end.typed})"
            )
            with when(b, end < n):
                with self.code.failing(b.ne(b.load(INT64, self.code.status()), 0)):
                    pass
                self.poll()

    def parallel_for(self, function: Value, block: Value, n: Value, grain: Value) -> None:
        """Let threads share the iterations of a kernel; a signal may end the call meanwhile."""
        self.code.fail_if_interrupted(self.shared(function, block, n, grain))

    def shared(self, function: Value, block: Value, n: Value, grain: Value) -> Value:
        """Let threads share the iterations of a kernel, and return whether the call must end."""
        operands = [self.code.state(), function, block, n, grain]
        return call_pointer(self.b, self.parallel, INT32, operands)

    @property
    def parallel(self) -> Value:
        """The function that shares iterations among threads, or carries them out in order."""
        if self._parallel is not None:
            return self._parallel
        name = "phintys_parallel_for"
        head = signature(name, INT32, [PTR, PTR, PTR, INT64, INT64])
        self.b.module.declare(name, head)
        return Value(self.b, PTR, f"@{name}")

    def poll(self) -> None:
        """Check for signals if it is time; they may end the call."""
        self.code.fail_if_interrupted(self.b.call("phintys_poll", INT32, [self.code.state()]))

    def _grain(self, elements: int, work: Value) -> Value:
        """Return the number of iterations that have a given number of elements."""
        b = self.b
        if work.text.isdigit():
            return b.constant(INT64, max(1, elements // max(1, int(work.text))))
        share = b.binary("sdiv", b.constant(INT64, elements), b.maximum_number(work, 1))
        return b.maximum_number(share, 1)

    def _call(self, function: Value, block: Value, n: Value) -> None:
        """Call a kernel for its whole range."""
        self.b.write_void(f"call void {function.text}({block.typed}, i64 0, {n.typed})")

    # ---- reductions in parts -----------------------------------------------------------------

    def _chunked(self, kernel: Kernel, code: KernelCode) -> None:
        """Reduce parts, in order or in parallel, and merge them in order."""
        b, plan = self.b, code.plan
        cut = self._cut(plan.nests[0])
        function = Value(b, PTR, f"@{code.symbol}")
        least = int(PARALLEL_NANOSECONDS / max(plan.cost, LEAST_COST))
        is_small = self.sizes.estimate(plan.work_inside()) < least
        with self._totals(kernel, code, cut) as cut.partials:
            block = self._block(code, cut)
            with either(b, is_small) as (if_small, otherwise):
                with if_small:
                    self._call(function, block, cut.parts)
                with otherwise:
                    self.parallel_for(function, block, cut.parts, b.constant(INT64, 1))
            self._combine(code, block, cut)

    def reserve(self, kernel: Kernel) -> None:
        """Allocate the memory for a kernel's partial results before the commit, which cannot fail.

        That of a single result is on the stack.
        """
        code = self.main.kernels[kernel]
        if not code.plan.is_chunked or not code.plan.nests[0].kept:
            return
        b = self.b
        totals = self._cut(code.plan.nests[0]).totals
        bytes_ = b.value(INT64, totals * (8 * code.partials))
        slot = self.main.reserve(kernel)
        block = b.constant(INT64, self.main.block_of(slot))
        base = b.call("phintys_arena", PTR, [self.code.state(), block, bytes_])
        self.code.fail_if_null(base, OUT_OF_MEMORY, bytes_, self.main.workspace(kernel))
        b.store(base, self.code.slot(slot), align=8)

    @contextmanager
    def _totals(self, kernel: Kernel, code: KernelCode, cut: _Cut) -> Generator[Value]:
        """Provide memory for partial results: what was reserved, or temporary memory."""
        slot = self.main.reserved(kernel)
        if slot is not None:
            yield self.b.load(PTR, self.code.slot(slot))
            return
        with self.code.room(cut.totals * (8 * code.partials), kernel) as memory:
            yield memory

    def _combine(self, code: KernelCode, block: Value, cut: _Cut) -> None:
        """Merge parts: all of them, or those of each column if it has several."""
        b = self.b
        function = Value(b, PTR, f"@{code.combiner}")
        if cut.width is None:
            self._call(function, block, cut.down)
            return
        with when(b, b.lt(1, cut.down)):
            self._call(function, block, cut.down)

    def _cut(self, nest: NestPlan) -> _Cut:
        """Return the parts of a reduction, which depend on lengths alone.

        They are found before the first pass of a loop whose passes do not change these: for a few
        elements, the divisions take longer than the reduction.
        """
        levels = [*nest.reduced, *nest.kept[:1]]
        atoms = [atom for level in levels for atom in self.code.atoms_of(level.extent)]
        with self.code.before(self.code.home(atoms)):
            return self._parts_of(nest)

    def _parts_of(self, nest: NestPlan) -> _Cut:
        b = self.b
        extent = self.sizes.polynomial(nest.reduced[0].extent)
        if not nest.kept:
            chunk = self._chunk(nest, extent)
            parts = divide_up(b, extent, chunk)
            return _Cut(chunk, None, parts, parts, REDUCTION_CHUNKS)
        columns = self.sizes.polynomial(nest.kept[0].extent)
        enough = b.binary("sdiv", b.constant(INT64, SMALLEST_CHUNK), b.maximum_number(columns, 1))
        least = b.maximum_number(divide_up(b, extent, REDUCTION_CHUNKS), enough)
        chunk = b.maximum_number(divide_up(b, least, SHORTEST_CHUNK), 1) * SHORTEST_CHUNK
        down = b.maximum_number(divide_up(b, extent, chunk), 1)
        width = (
            b.maximum_number(divide_up(b, columns * down, REDUCTION_CHUNKS * CHUNK_COLUMNS), 1)
            * CHUNK_COLUMNS
        )
        across = divide_up(b, columns, width)
        return _Cut(chunk, width, down * across, down, down * columns)

    def _chunk(self, nest: NestPlan, extent: Value) -> Value:
        """Return the iterations of the outermost loop in one part of a reduction of everything."""
        b = self.b
        others = nest.reduced[1:]
        if not others:
            share = divide_up(b, extent, REDUCTION_CHUNKS * CHUNK_UNIT) * CHUNK_UNIT
            return b.maximum_number(share, SMALLEST_CHUNK)
        ring = self.main.ring
        inside = ring.one
        for level in others:
            inside = ring.mul(inside, level.extent)
        inner = b.maximum_number(self.sizes.estimate(inside), 1)
        least = b.binary("sdiv", b.constant(INT64, SMALLEST_CHUNK), inner) + 1
        return b.maximum_number(divide_up(b, extent, REDUCTION_CHUNKS), least)


def _write_copier(module: Module) -> None:
    """Write ``void copy_slots(target, frame, numbers, count)``: copy the slots of these numbers."""
    b = Builder(module.function(_COPIER, VOID, [PTR, PTR, PTR, INT64], linkage="internal"))
    target, frame, numbers, count = b.arguments
    with loop(b, 0, count, runs=True) as each:
        number = b.load(INT32, b.offset(numbers, each.index, INT32))
        value = b.load(INT64, b.offset(frame, b.convert(number, INT64), INT64))
        b.store(value, b.offset(target, each.index, INT64))
    b.ret()
