"""What exported programs ask their runtime for, written as code: memory and places for results.

A call has a record on the stack of its caller, so calls can run side by side. All work is left to
the calling thread, and nothing looks for signals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.backends.native.assembler.atomics import null
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import loop, when
from phintys.backends.native.assembler.records import Record, byte_offset
from phintys.backends.native.assembler.types import INT32, INT64, PTR, VOID
from phintys.backends.native.assembler.values import Value
from phintys.backends.native.export.interface import NO_MEMORY, TOO_SMALL
from phintys.backends.native.memory import ALIGNMENT
from phintys.backends.native.runtime.one_thread import write_one_thread
from phintys.backends.native.writer.size_code import saturating

if TYPE_CHECKING:
    from phintys.backends.native.assembler.module import Module
    from phintys.backends.native.layout import Layout

CALL = Record.packed(
    work=PTR,  # memory of the caller that has not been used yet
    left=INT64,  # how many bytes of it
    blocks=PTR,  # the last block from malloc; each begins with the address of the one before
    problem=INT64,  # a return code
    results=PTR,  # for each new array its memory; null if it is to be found here
    capacities=PTR,  # for each of these how many elements it holds
    claims=PTR,  # for each claim the memory of its target
    sources=PTR,  # and that of its source
)
"""The record of a call."""

_MOST_BYTES = 1 << 62


class RuntimeWriter:
    """Writes the functions that a program calls.

    Parameters
    ----------
    module
        Where they are written.
    layout
        The layout of the program.
    allocates
        Whether they may call ``malloc``.
    """

    def __init__(self, module: Module, layout: Layout, *, allocates: bool) -> None:
        self.module = module
        self.layout = layout
        self.allocates = allocates
        self.size_type = INT32 if module.target.pointer_bytes == 4 else INT64

    def write(self) -> None:
        """Write all of them."""
        self._arena()
        self._new_array()
        self._claim()
        write_one_thread(self.module)
        if self.allocates:
            self._memory()
        else:
            self._no_memory()

    # ---- memory

    def _memory(self) -> None:
        """``malloc``, ``free``, and ``release``, which frees the blocks of a call."""
        b = Builder(self.module.function("phintys_malloc", PTR, [INT64]))
        b.ret(self._malloc(b, b.arguments[0]))
        b = Builder(self.module.function("phintys_free", VOID, [PTR]))
        b.call("free", VOID, [b.arguments[0]])
        b.ret()
        b = Builder(self.module.function("phintys_release", VOID, [PTR], linkage="internal"))
        head, more, done = (b.new_block(name) for name in ("head", "more", "done"))
        start = b.block
        first = CALL.load(b, b.arguments[0], "blocks")
        b.jump(head)
        b.begin(head)
        block = b.phi(PTR)
        block.add(first, start)
        b.branch(_is_null(b, block.value), done, more)
        b.begin(more)
        following = b.load(PTR, block.value)
        b.call("free", VOID, [block.value])
        block.add(following, more)
        b.jump(head)
        b.begin(done)
        b.ret()

    def _no_memory(self) -> None:
        """``malloc`` and ``free`` of steps that have no memory but the stack."""
        b = Builder(self.module.function("phintys_malloc", PTR, [INT64]))
        b.ret(null(b))
        Builder(self.module.function("phintys_free", VOID, [PTR])).ret()

    def _malloc(self, b: Builder, bytes_: Value) -> Value:
        size = bytes_ if self.size_type is INT64 else b.convert(bytes_, INT32)
        return b.call("malloc", PTR, [size])

    def _arena(self) -> None:
        """``arena(call, group, bytes)``: memory that is valid until the call ends."""
        b = Builder(self.module.function("phintys_arena", PTR, [PTR, INT64, INT64]))
        call, _, bytes_ = b.arguments
        fits, full = b.new_block("fits"), b.new_block("full")
        wanted = saturating(b, "add", b.maximum_number(bytes_, 1), b.constant(INT64, ALIGNMENT - 1))
        wanted = wanted & -ALIGNMENT
        left = CALL.load(b, call, "left")
        b.branch(b.le(wanted, left), fits, full)
        b.begin(fits)
        place = CALL.load(b, call, "work")
        CALL.store(b, call, "work", byte_offset(b, place, wanted))
        CALL.store(b, call, "left", left - wanted)
        b.ret(place)
        b.begin(full)
        if self.allocates:
            self._block(b, call, wanted)
        CALL.store(b, call, "problem", NO_MEMORY)
        b.ret(null(b))

    def _block(self, b: Builder, call: Value, wanted: Value) -> None:
        """Return a block of ``malloc`` if there is one."""
        sound, none, got = b.new_block("sound"), b.new_block("none"), b.new_block("got")
        most = (1 << 31) - 4 * ALIGNMENT if self.size_type is INT32 else _MOST_BYTES
        b.branch(b.le(wanted, most), sound, none)
        b.begin(sound)
        block = self._malloc(b, wanted + 2 * ALIGNMENT)
        b.branch(_is_null(b, block), none, got)
        b.begin(got)
        b.store(CALL.load(b, call, "blocks"), block)
        CALL.store(b, call, "blocks", block)
        b.ret(aligned_pointer(b, byte_offset(b, block, 8)))
        b.begin(none)

    # ---- results

    def _new_array(self) -> None:
        """``new_array(call, number, lengths)``: the caller's memory, or some of the arena."""
        arrays = self.layout.new_arrays
        ndims = self._table([array.ndim for array in arrays])
        items = self._table([array.dtype.itemsize for array in arrays])
        b = Builder(self.module.function("phintys_new_array", PTR, [PTR, INT64, PTR]))
        call, number, lengths = b.arguments
        given, own = b.new_block("given"), b.new_block("own")
        ndim = b.load(INT64, b.offset(Value(b, PTR, ndims), number, INT64))
        with loop(b, 0, ndim, carried=[b.constant(INT64, 1)]) as axis:
            length = b.load(INT64, b.offset(lengths, axis.index, INT64))
            axis.next(saturating(b, "mul", axis.carried[0], length))
        (count,) = axis.results
        memory = b.load(PTR, b.offset(CALL.load(b, call, "results"), number, INT64))
        b.branch(_is_null(b, memory), own, given)
        b.begin(own)
        item = b.load(INT64, b.offset(Value(b, PTR, items), number, INT64))
        bytes_ = saturating(b, "mul", count, item)
        b.ret(b.call("phintys_arena", PTR, [call, number, bytes_]))
        b.begin(given)
        capacity = b.load(INT64, b.offset(CALL.load(b, call, "capacities"), number, INT64))
        large, fits = b.new_block("large"), b.new_block("fits")
        b.branch(b.le(count, capacity), fits, large)
        b.begin(large)
        CALL.store(b, call, "problem", TOO_SMALL)
        b.ret(null(b))
        b.begin(fits)
        b.ret(memory)

    def _claim(self) -> None:
        """``claim(call, number, lengths)``: memory that begins as that of the source."""
        items = self._table([claim.target.dtype.itemsize for claim in self.layout.claims])
        ndims = self._table([claim.target.ndim for claim in self.layout.claims])
        b = Builder(self.module.function("phintys_claim", PTR, [PTR, INT64, PTR]))
        call, number, lengths = b.arguments
        target = b.load(PTR, b.offset(CALL.load(b, call, "claims"), number, INT64))
        source = b.load(PTR, b.offset(CALL.load(b, call, "sources"), number, INT64))
        with when(b, b.compare("ne", target, source)):
            ndim = b.load(INT64, b.offset(Value(b, PTR, ndims), number, INT64))
            item = b.load(INT64, b.offset(Value(b, PTR, items), number, INT64))
            with loop(b, 0, ndim, carried=[item]) as axis:
                length = b.load(INT64, b.offset(lengths, axis.index, INT64))
                axis.next(axis.carried[0] * length)
            copy_bytes(b, target, source, axis.results[0])
        b.ret(target)

    def _table(self, numbers: list[int]) -> str:
        numbers = numbers or [0]
        return self.module.table(", ".join(f"i64 {n}" for n in numbers), len(numbers), "i64")


def _is_null(b: Builder, pointer: Value) -> Value:
    return b.compare("eq", pointer, null(b))


def aligned_pointer(b: Builder, pointer: Value) -> Value:
    """Return an address rounded up to the alignment of buffers."""
    number = b.write(INT64, f"ptrtoint ptr {pointer.text} to i64")
    missing = (b.constant(INT64, 0) - number) & (ALIGNMENT - 1)
    return byte_offset(b, pointer, missing)


def copy_bytes(b: Builder, target: Value, source: Value, bytes_: Value) -> None:
    """Copy memory that does not overlap."""
    name = "llvm.memcpy.p0.p0.i64"
    b.module.declare(name, f"void @{name}(ptr, ptr, i64, i1)")
    operands = f"ptr {target.text}, ptr {source.text}, i64 {bytes_.text}, i1 false"
    b.write_void(f"call void @{name}({operands})")
