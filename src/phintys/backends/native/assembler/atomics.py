"""Atomic instructions and calls through pointers, which only the runtime emits."""

from __future__ import annotations

from collections.abc import Sequence

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.types import BOOL, INT32, PTR, VOID, MachineType
from phintys.backends.native.assembler.values import Value

_WHOLE_SYSTEM = 15
"""The only operand that ARM defines for its instruction barrier."""


def null(b: Builder) -> Value:
    """Return the null pointer."""
    return Value(b, PTR, "null")


def atomic_load(b: Builder, type: MachineType, pointer: Value) -> Value:
    """Read memory that other threads write."""
    return b.write(type, f"load atomic {type.text}, {pointer.typed} seq_cst, align {type.itemsize}")


def atomic_store(b: Builder, x: Value, pointer: Value) -> None:
    """Write memory that other threads read."""
    b.write_void(f"store atomic {x.typed}, {pointer.typed} seq_cst, align {x.type.itemsize}")


def compare_exchange(b: Builder, pointer: Value, expected: Value, new: Value) -> Value:
    """Replace a value if it is the expected one; return whether it was replaced."""
    pair = b.function.fresh_name()
    b.write_void(
        f"%p{pair} = cmpxchg {pointer.typed}, {expected.typed}, {new.typed} seq_cst seq_cst"
    )
    return b.write(BOOL, f"extractvalue {{ {expected.type.text}, i1 }} %p{pair}, 1")


def fetch_add(b: Builder, pointer: Value, amount: Value) -> Value:
    """Add to a number and return the previous value."""
    return b.write(amount.type, f"atomicrmw add {pointer.typed}, {amount.typed} seq_cst")


def fence(b: Builder) -> None:
    """Let other threads see all that was written so far before what is written from now on."""
    b.write_void("fence seq_cst")


def pause(b: Builder) -> None:
    """Wait for a moment in a spin loop, of which the CPU is told.

    On ARM, the hint ``yield`` does nothing on most CPUs; an instruction barrier takes about as long
    as the pause of x86-64.
    """
    triple = b.target.triple
    if triple.startswith(("x86_64", "amd64")):
        b.call("llvm.x86.sse2.pause", VOID, [])
    elif triple.startswith(("aarch64", "arm64")):
        b.call("llvm.aarch64.isb", VOID, [b.constant(INT32, _WHOLE_SYSTEM)])


def call_pointer(
    b: Builder, function: Value, returns: MachineType, values: Sequence[Value]
) -> Value:
    """Call the function at an address."""
    operands = ", ".join(value.typed for value in values)
    instruction = f"call {returns.text} {function.text}({operands})"
    if returns is VOID:
        b.write_void(instruction)
        return Value(b, VOID, "")
    return b.write(returns, instruction)


def wait_lock(b: Builder, pointer: Value, free: Value, taken: Value) -> None:
    """Spin until a lock is free, and acquire it: for locks that are held for nanoseconds."""
    attempt, again, after = b.new_block("lock"), b.new_block("wait"), b.new_block("locked")
    b.jump(attempt)
    b.begin(attempt)
    b.branch(compare_exchange(b, pointer, free, taken), after, again)
    b.begin(again)
    pause(b)
    b.jump(attempt)
    b.begin(after)


def unlock(b: Builder, pointer: Value, free: Value) -> None:
    """Release a lock."""
    atomic_store(b, free, pointer)
