"""Signals during native code: they are polled, and exceptions of their handlers are kept.

Only Python can run signal handlers, and only in its main thread, between two instructions of Python
code. A long call executes none, so native code in that thread asks Python to run handlers every
``POLL_NANOSECONDS``. A handler that raises ends the call: the exception is saved, no more
Python code runs, and the exception is raised after native code has returned as after any failure. A
call that has begun to store its updates does not poll, and completes; copies that it makes before
it overwrites anything still do.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import when
from phintys.backends.native.assembler.module import Module
from phintys.backends.native.assembler.system import has_clock
from phintys.backends.native.assembler.types import INT32, INT64, PTR, VOID
from phintys.backends.native.assembler.values import Value
from phintys.backends.native.limits import POLL_NANOSECONDS
from phintys.backends.native.runtime.protocol import CALL, CONTEXT, PHASE_COMMIT, PROCESS, not_null

_KEPT = ("error_kind", "error_value", "error_trace")


@contextmanager
def with_gil(b: Builder, call: Value) -> Generator[None]:
    """Emit code that needs the GIL, which may be released at this point."""
    state = CALL.load(b, call, "thread_state")
    with when(b, not_null(b, state)):
        b.call("PyEval_RestoreThread", VOID, [state])
    yield
    with when(b, not_null(b, state)):
        CALL.store(b, call, "thread_state", b.call("PyEval_SaveThread", PTR, []))


def now(b: Builder) -> Value:
    """Return the time in nanoseconds; 0 if there is no clock."""
    return b.call("clock", INT64, []) if has_clock() else b.constant(INT64, 0)


def is_interrupted(b: Builder, call: Value) -> Value:
    """Return whether an exception was saved."""
    return b.ne(CALL.load(b, call, "interrupted"), 0)


def put_aside(b: Builder, call: Value) -> None:
    """Save the current exception until native code returns. Needs the GIL."""
    b.call("PyErr_Fetch", VOID, [CALL.pointer(b, call, name) for name in _KEPT])
    CALL.store(b, call, "interrupted", 1)


def raise_kept(b: Builder, call: Value) -> None:
    """Raise the saved exception. Needs the GIL."""
    b.call("PyErr_Restore", VOID, [CALL.load(b, call, name) for name in _KEPT])


def emit_poll(module: Module, *, until: int = PHASE_COMMIT, name: str = "phintys_poll") -> None:
    """``poll(call)``: check for signals if it is time; returns 0 if the call continues.

    Any thread that works for the call can poll. It does nothing from the given phase on.
    """
    linkage = "" if name == "phintys_poll" else "internal"
    b = Builder(module.function(name, INT32, [PTR], linkage=linkage))
    (call,) = b.arguments
    names = ("going", "here", "first", "later", "due", "on", "off")
    going, here, first, later, due, on, off = (b.new_block(name) for name in names)
    b.branch(is_interrupted(b, call), off, going)

    b.begin(going)
    process = CONTEXT.load(b, CALL.load(b, call, "context"), "process")
    is_main = b.eq(b.call("PyThread_get_thread_ident", INT64, []), PROCESS.load(b, process, "main"))
    b.branch(is_main & b.lt(CALL.load(b, call, "phase"), until), here, on)
    b.begin(here)
    time, before = now(b), CALL.load(b, call, "polled")
    b.branch(b.eq(before, 0), first, later)
    b.begin(first)
    CALL.store(b, call, "polled", time)
    b.jump(on)
    b.begin(later)
    b.branch(b.le(POLL_NANOSECONDS, time - before), due, on)

    b.begin(due)
    CALL.store(b, call, "polled", time)
    with with_gil(b, call):
        status = b.call("PyErr_CheckSignals", INT32, [])
        with when(b, b.ne(status, 0)):
            put_aside(b, call)
    b.branch(b.eq(status, 0), on, off)

    b.begin(on)
    b.ret(b.constant(INT32, 0))
    b.begin(off)
    b.ret(b.constant(INT32, 1))
