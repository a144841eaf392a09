"""Services that are compiled when a call first needs them: large arrays, threads, errors.

Most functions never need them, and the first function that is compiled on a machine would have to
wait for their compilation. So what calls them calls a stub, which calls ``PROCESS.prepare`` if they
are not there yet. Should they not come into being, a call goes on without them: Python has reported
why, and results are the same.
"""

from __future__ import annotations

from collections.abc import Callable

from phintys.backends.native.emit.builder import Builder
from phintys.backends.native.emit.control import when
from phintys.backends.native.emit.module import Module
from phintys.backends.native.emit.types import INT64, PTR, VOID
from phintys.backends.native.emit.values import Value
from phintys.backends.native.runtime.arrays import empty_array
from phintys.backends.native.runtime.atomics import call_pointer
from phintys.backends.native.runtime.protocol import (
    CALL,
    CONTEXT,
    PROCESS,
    SERVICES,
    is_null,
    not_null,
)

__all__ = ["call_service", "emit_stubs"]

_PREPARE = "phintys_prepare"


def call_service(b: Builder, process: Value, name: str, *values: Value) -> Value:
    """Call a service that has been compiled."""
    returns, _ = SERVICES[name]
    return call_pointer(b, PROCESS.load(b, process, name), returns, values)


def emit_stubs(module: Module) -> None:
    """Write ``phintys_large_array``, ``phintys_work``, ``phintys_parallel_for`` and so on."""
    _emit_prepare(module)
    _emit_stub(module, "large_array", _process_itself, _small_array)
    _emit_stub(module, "work", _process_of_call, _nothing)
    _emit_stub(module, "parallel_for", _process_of_call, _alone)
    _emit_stub(module, "failure", _process_of_call, _nothing)


def _emit_stub(
    module: Module,
    name: str,
    process_of: Callable[[Builder], Value],
    without: Callable[[Builder], Value | None],
) -> None:
    returns, parameters = SERVICES[name]
    # Rarely called, so LLVM is to spend no time on it.
    attributes = "noinline optnone"
    b = Builder(module.function(f"phintys_{name}", returns, parameters, attributes=attributes))
    process = process_of(b)
    is_wanted = is_null(b, PROCESS.load(b, process, name))
    wants_threads = name == "parallel_for"
    if wants_threads:  # no Python code must run while an exception is on its way
        is_wanted &= b.eq(CALL.load(b, b.arguments[0], "interrupted"), 0)
    with when(b, is_wanted):
        b.call(_PREPARE, VOID, [process, b.constant(INT64, int(wants_threads))])
    there, missing = b.new_block("there"), b.new_block("missing")
    b.branch(not_null(b, PROCESS.load(b, process, name)), there, missing)
    b.begin(there)
    result = call_service(b, process, name, *b.arguments)
    b.ret(None if returns is VOID else result)
    b.begin(missing)
    b.ret(without(b))


def _emit_prepare(module: Module) -> None:
    parameters = [PTR, INT64]
    b = Builder(module.function(_PREPARE, VOID, parameters, linkage="internal"))
    process, wants_threads = b.arguments
    call_pointer(b, PROCESS.load(b, process, "prepare"), VOID, [wants_threads])
    with when(b, b.ne(PROCESS.load(b, process, "interrupted"), 0)):
        PROCESS.store(b, process, "interrupted", 0)
        b.call("PyErr_SetInterrupt", VOID, [])
    b.ret()


def _process_itself(b: Builder) -> Value:
    return b.arguments[0]


def _process_of_call(b: Builder) -> Value:
    return CONTEXT.load(b, CALL.load(b, b.arguments[0], "context"), "process")


def _nothing(b: Builder) -> None:
    """Do without."""


def _small_array(b: Builder) -> Value:
    _, record, lengths, _ = b.arguments
    return empty_array(b, record, lengths)


def _alone(b: Builder) -> None:
    """Do in this thread what others would have helped with."""
    _, kernel, arguments, count, _ = b.arguments
    call_pointer(b, kernel, VOID, [arguments, b.constant(INT64, 0), count])
