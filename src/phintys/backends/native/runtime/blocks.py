"""A pool of large memory blocks, in native code.

Fresh pages take the operating system twice the time of writing to them. So large results and arenas
are allocated here and returned here when the array dies or the call ends: the next call of about
the same size gets warm pages. Blocks are kept by size class, four classes per power of two, so at
most a quarter of a block is unused; the total number of bytes kept is limited.

Arrays release their memory through NumPy's own interface (NEP 49, ``PyDataMem_Handler``): to the
user they are ordinary arrays, which own their data.
"""

from __future__ import annotations

import ctypes

from phintys.backends.native.assembler.atomics import null, unlock, wait_lock
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import loop, when
from phintys.backends.native.assembler.module import Module
from phintys.backends.native.assembler.records import Record, byte_offset
from phintys.backends.native.assembler.system import has_huge_pages
from phintys.backends.native.assembler.types import BOOL, INT32, INT64, PTR, VOID
from phintys.backends.native.assembler.values import Value
from phintys.backends.native.limits import HUGE_PAGE_BYTES, KEPT_BLOCKS, SMALLEST_BLOCK_BITS

_ALIGNMENT = 64
_LARGEST_PAGE = 1 << 16
"""Bytes: addresses that the kernel takes are multiples of its pages. They have 4 kB on x86-64, and
4, 16 or 64 kB on ARM, all of which divide huge pages."""
_CLASSES = 4 * (48 - SMALLEST_BLOCK_BITS)
_CLASS_BYTES = 8 + 8 * KEPT_BLOCKS

BLOCKS = Record(
    {
        "lock": (INT32, 0),
        "kept": (INT64, 8),  # bytes of idle blocks
        "limit": (INT64, 16),
        "classes": (PTR, 64),
    }
)
_BLOCKS_BYTES = 64 + _CLASS_BYTES * _CLASSES
_CLASS = Record({"count": (INT64, 0), "slots": (PTR, 8)})
_HEADER = Record({"raw": (PTR, 0), "size": (INT64, 8), "next": (PTR, 16)})
"""The header of each block: the pointer from the C library, the size of the class, and a link for
the user of the block."""

_SYMBOL = "phintys_blocks"


def emit_blocks(module: Module) -> None:
    """Emit the memory pool.

    ``phintys_acquire(bytes)`` returns memory aligned to 64 bytes, or null;
    ``phintys_release(memory)`` returns it to the pool; ``phintys_trim()`` returns all idle blocks
    to the system. ``phintys_acquire_chained(first, bytes)`` prepends the block to a chain that
    begins at ``*first``, which ``phintys_release_chain`` releases as a whole. NumPy calls
    ``phintys_numpy_malloc`` and the three related functions.
    """
    module.memory(_SYMBOL, _BLOCKS_BYTES)
    _emit_acquire(module)
    _emit_release(module)
    _emit_trim(module)
    _emit_chain(module)
    _emit_numpy(module)


def _blocks(b: Builder) -> Value:
    return Value(b, PTR, f"@{_SYMBOL}")


def _take_lock(b: Builder) -> None:
    lock = BLOCKS.pointer(b, _blocks(b), "lock")
    wait_lock(b, lock, b.constant(INT32, 0), b.constant(INT32, 1))


def _drop_lock(b: Builder) -> None:
    unlock(b, BLOCKS.pointer(b, _blocks(b), "lock"), b.constant(INT32, 0))


def _floor_log2(b: Builder, x: Value) -> Value:
    zeros = b.call("llvm.ctlz.i64", INT64, [x, b.constant(BOOL, 0)])
    return 63 - zeros


def _class_of(b: Builder, size: Value) -> Value:
    """Return the class of a size, which must be the size of a class."""
    log = _floor_log2(b, size)
    return (log - SMALLEST_BLOCK_BITS) * 4 + ((size >> (log - 2)) - 4)


def _rounded(b: Builder, size: Value) -> Value:
    """Return the size of the smallest class that holds ``size`` bytes."""
    size = b.maximum_number(size, 1 << SMALLEST_BLOCK_BITS)
    quarter = b.constant(INT64, 1) << (_floor_log2(b, size) - 2)
    return (size + quarter - 1) & (0 - quarter)


def _class_record(b: Builder, size: Value) -> Value:
    first = BLOCKS.pointer(b, _blocks(b), "classes")
    return byte_offset(b, first, _class_of(b, size) * _CLASS_BYTES)


def _emit_acquire(module: Module) -> None:
    b = Builder(module.function("phintys_acquire", PTR, [INT64]))
    (wanted,) = b.arguments
    possible, idle, fresh, got, failed = (
        b.new_block(name) for name in ("possible", "idle", "fresh", "got", "failed")
    )
    b.branch(wanted < (1 << 46), possible, failed)
    b.begin(possible)
    size = _rounded(b, wanted)
    kind = _class_record(b, size)
    _take_lock(b)
    count = _CLASS.load(b, kind, "count")
    b.branch(count > 0, idle, fresh)

    b.begin(idle)
    found = b.load(PTR, b.offset(_CLASS.pointer(b, kind, "slots"), count - 1, PTR))
    _CLASS.store(b, kind, "count", count - 1)
    kept = BLOCKS.load(b, _blocks(b), "kept")
    BLOCKS.store(b, _blocks(b), "kept", kept - size)
    _drop_lock(b)
    b.ret(found)

    b.begin(fresh)
    _drop_lock(b)
    raw = b.call("malloc", PTR, [size + 2 * _ALIGNMENT])
    b.branch(b.compare("ne", raw, null(b)), got, failed)
    b.begin(got)
    end = b.write(INT64, f"ptrtoint {raw.typed} to i64") + (2 * _ALIGNMENT - 1)
    block = b.write(PTR, f"inttoptr i64 {(end & -_ALIGNMENT).text} to ptr")
    header = byte_offset(b, block, -_ALIGNMENT)
    _HEADER.store(b, header, "raw", raw)
    _HEADER.store(b, header, "size", size)
    _advise_huge_pages(b, block, size)
    b.ret(block)

    b.begin(failed)
    b.ret(null(b))


def _advise_huge_pages(b: Builder, block: Value, size: Value) -> None:
    if not has_huge_pages():
        return
    with when(b, b.le(b.constant(INT64, HUGE_PAGE_BYTES), size)):
        advice = 14  # MADV_HUGEPAGE
        address = b.write(INT64, f"ptrtoint {block.typed} to i64")
        skipped = (0 - address) & (_LARGEST_PAGE - 1)
        start, length = byte_offset(b, block, skipped), size - skipped
        b.call("madvise", INT32, [start, length, b.constant(INT32, advice)])


def _emit_release(module: Module) -> None:
    b = Builder(module.function("phintys_release", VOID, [PTR]))
    (block,) = b.arguments
    keep, drop = b.new_block("keep"), b.new_block("drop")
    header = byte_offset(b, block, -_ALIGNMENT)
    size = _HEADER.load(b, header, "size")
    kind = _class_record(b, size)
    _take_lock(b)
    count = _CLASS.load(b, kind, "count")
    kept = BLOCKS.load(b, _blocks(b), "kept") + size
    fits = b.le(kept, BLOCKS.load(b, _blocks(b), "limit"))
    b.branch((count < KEPT_BLOCKS) & fits, keep, drop)
    b.begin(keep)
    b.store(block, b.offset(_CLASS.pointer(b, kind, "slots"), count, PTR))
    _CLASS.store(b, kind, "count", count + 1)
    BLOCKS.store(b, _blocks(b), "kept", kept)
    _drop_lock(b)
    b.ret()
    b.begin(drop)
    _drop_lock(b)
    b.call("free", VOID, [_HEADER.load(b, header, "raw")])
    b.ret()


def _emit_trim(module: Module) -> None:
    b = Builder(module.function("phintys_trim", VOID, []))
    first = BLOCKS.pointer(b, _blocks(b), "classes")
    _take_lock(b)
    with loop(b, 0, _CLASSES) as number:
        kind = byte_offset(b, first, number.index * _CLASS_BYTES)
        with loop(b, 0, _CLASS.load(b, kind, "count")) as slot:
            place = b.offset(_CLASS.pointer(b, kind, "slots"), slot.index, PTR)
            header = byte_offset(b, b.load(PTR, place), -_ALIGNMENT)
            b.call("free", VOID, [_HEADER.load(b, header, "raw")])
        _CLASS.store(b, kind, "count", 0)
    BLOCKS.store(b, _blocks(b), "kept", 0)
    _drop_lock(b)
    b.ret()


def header_of(b: Builder, block: Value) -> Value:
    """Return the address of a block's header."""
    return byte_offset(b, block, -_ALIGNMENT)


def _emit_chain(module: Module) -> None:
    b = Builder(module.function("phintys_acquire_chained", PTR, [PTR, INT64]))
    chain, size = b.arguments
    block = b.call("phintys_acquire", PTR, [size])
    with when(b, b.compare("ne", block, null(b))):
        _HEADER.store(b, header_of(b, block), "next", b.load(PTR, chain))
        b.store(block, chain)
    b.ret(block)

    b = Builder(module.function("phintys_release_chain", VOID, [PTR]))
    look, drop, out = b.new_block("look"), b.new_block("drop"), b.new_block("out")
    (first,) = b.arguments
    before = b.block
    b.jump(look)
    b.begin(look)
    block = b.phi(PTR)
    block.add(first, before)
    b.branch(b.compare("ne", block.value, null(b)), drop, out)
    b.begin(drop)
    block.add(_HEADER.load(b, header_of(b, block.value), "next"), drop)
    b.call("phintys_release", VOID, [block.value])
    b.jump(look)
    b.begin(out)
    b.ret()


# ---- NumPy's interface -------------------------------------------------------------------------


def _emit_numpy(module: Module) -> None:
    b = Builder(module.function("phintys_numpy_malloc", PTR, [PTR, INT64]))
    b.ret(b.call("phintys_acquire", PTR, [b.arguments[1]]))

    b = Builder(module.function("phintys_numpy_calloc", PTR, [PTR, INT64, INT64]))
    size = b.arguments[1] * b.arguments[2]
    block = b.call("phintys_acquire", PTR, [size])
    with when(b, b.compare("ne", block, null(b))):
        b.call("memset", PTR, [block, b.constant(INT32, 0), size])
    b.ret(block)

    b = Builder(module.function("phintys_numpy_realloc", PTR, [PTR, PTR, INT64]))
    _, old, size = b.arguments
    block = b.call("phintys_acquire", PTR, [size])
    both = b.compare("ne", block, null(b)) & b.compare("ne", old, null(b))
    with when(b, both):
        room = _HEADER.load(b, byte_offset(b, old, -_ALIGNMENT), "size")
        b.call("memcpy", PTR, [block, old, b.minimum_number(room, size)])
        b.call("phintys_release", VOID, [old])
    b.ret(block)

    b = Builder(module.function("phintys_numpy_free", VOID, [PTR, PTR, INT64]))
    b.call("phintys_release", VOID, [b.arguments[1]])
    b.ret()


class NumPyHandler(ctypes.Structure):
    """``PyDataMem_Handler`` (numpy/ndarraytypes.h), version 1."""

    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("context", ctypes.c_void_p),
        ("malloc", ctypes.c_void_p),
        ("calloc", ctypes.c_void_p),
        ("realloc", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
    )
