"""Stubs of services that are compiled on first use: large memory, threads, errors.

Most functions never need them, and would delay the first function that is compiled on a machine. So
callers call a stub, which has the services compiled if they are not yet. If that raises an
exception, the call raises it.
"""

from __future__ import annotations

from collections.abc import Callable

from phintys.backends.native.assembler.atomics import call_pointer, null
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import when
from phintys.backends.native.assembler.module import Module
from phintys.backends.native.assembler.types import INT32, INT64, PTR, VOID
from phintys.backends.native.assembler.values import Value
from phintys.backends.native.runtime.arrays import empty_array
from phintys.backends.native.runtime.interrupts import is_interrupted, put_aside, with_gil
from phintys.backends.native.runtime.protocol import (
    CALL,
    CONTEXT,
    PHASE_RUN,
    PROCESS,
    SERVICES,
    is_null,
    not_null,
)

_PREPARE = "phintys_prepare"


def call_service(b: Builder, process: Value, name: str, *values: Value) -> Value:
    """Call a service that has been compiled."""
    returns, _ = SERVICES[name]
    return call_pointer(b, PROCESS.load(b, process, name), returns, values)


def emit_stubs(module: Module) -> None:
    """Emit ``phintys_arena``, ``phintys_large_array``, ``phintys_work`` and so on."""
    _emit_prepare(module)
    _emit_stub(module, "arena", null)
    _emit_stub(module, "large_array", _small_array)
    _emit_stub(module, "work", _nothing)
    _emit_stub(module, "parallel_for", _alone)
    _emit_stub(module, "failure", _nothing)


def _emit_stub(module: Module, name: str, without: Callable[[Builder], Value | None]) -> None:
    returns, parameters = SERVICES[name]
    # Rarely called, so LLVM should not spend time on optimizing it.
    attributes = "noinline optnone"
    b = Builder(module.function(f"phintys_{name}", returns, parameters, attributes=attributes))
    call = b.arguments[0]
    process = CONTEXT.load(b, CALL.load(b, call, "context"), "process")
    is_wanted = is_null(b, PROCESS.load(b, process, name)) & ~is_interrupted(b, call)
    wants_threads = name == "parallel_for"
    if wants_threads:  # no Python code may run while shared values are overwritten
        is_wanted &= b.eq(CALL.load(b, call, "phase"), PHASE_RUN)
    if name == "work":
        is_wanted &= _has_choices(b, call, process)
    with when(b, is_wanted):
        which = "prepare_threads" if wants_threads else "prepare_services"
        b.call(_PREPARE, VOID, [call, PROCESS.load(b, process, which)])
    there, missing = b.new_block("there"), b.new_block("missing")
    b.branch(not_null(b, PROCESS.load(b, process, name)), there, missing)
    b.begin(there)
    result = call_service(b, process, name, *b.arguments)
    b.ret(None if returns is VOID else result)
    b.begin(missing)
    b.ret(without(b))


def _has_choices(b: Builder, call: Value, process: Value) -> Value:
    """Return whether the announced work is to be divided among threads, or to release the GIL."""
    uses_threads = not_null(b, CONTEXT.load(b, CALL.load(b, call, "context"), "threads"))
    return uses_threads | b.le(PROCESS.load(b, process, "release_gil"), b.arguments[1])


def _emit_prepare(module: Module) -> None:
    """``prepare(call, function)``: have services compiled; an exception is saved for later."""
    b = Builder(module.function(_PREPARE, VOID, [PTR, PTR], linkage="internal"))
    call, function = b.arguments
    with with_gil(b, call):
        operands = [function, null(b), b.constant(INT64, 0), null(b)]
        answer = b.call("PyObject_Vectorcall", PTR, operands)
        with when(b, is_null(b, answer)):
            put_aside(b, call)
        with when(b, not_null(b, answer)):
            b.call("Py_DecRef", VOID, [answer])
    b.ret()


def _nothing(b: Builder) -> None:
    """Do nothing instead."""


def _small_array(b: Builder) -> Value:
    _, record, lengths, _ = b.arguments
    return empty_array(b, record, lengths)


def _alone(b: Builder) -> Value:
    """Run all iterations in this thread."""
    call, kernel, arguments, count, _ = b.arguments
    go_on, leave = b.new_block("go_on"), b.new_block("leave")
    b.branch(is_interrupted(b, call), leave, go_on)
    b.begin(leave)
    b.ret(b.constant(INT32, 1))
    b.begin(go_on)
    call_pointer(b, kernel, VOID, [arguments, b.constant(INT64, 0), count])
    return b.constant(INT32, 0)
