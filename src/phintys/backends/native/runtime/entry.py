"""The entry into native code: a builtin function that checks its arguments itself.

One function, ``phintys_entry``, serves all programs. The differences between programs are data: a
context, found through the builtin's ``self``, with the address of the program's main function, the
expected properties of each argument, where in the frame its address and lengths are stored, and
what is returned.

An array of exactly the right type, aligned and contiguous, is used directly. Otherwise the whole
call is passed to a Python function, the slow path, before any work is done.

Code needed by every call is here; the rest is in :mod:`.services`, compiled on demand. All state of
a call is on its stack, so calls can run concurrently and recursively.
"""

from __future__ import annotations

from phintys.backends.native.assembler.atomics import call_pointer, null
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import loop, when
from phintys.backends.native.assembler.module import Module
from phintys.backends.native.assembler.records import byte_offset
from phintys.backends.native.assembler.system import has_clock, write_clock
from phintys.backends.native.assembler.types import BOOL, INT32, INT64, PTR, VOID
from phintys.backends.native.assembler.values import Value
from phintys.backends.native.frame import CONSTANTS, STATE, STATUS
from phintys.backends.native.limits import FRAME_BYTES, TRIAL_CALL_NANOSECONDS
from phintys.backends.native.runtime.arrays import emit_make_array, emit_take
from phintys.backends.native.runtime.capi import CApi
from phintys.backends.native.runtime.interrupts import (
    emit_poll,
    is_interrupted,
    now,
    put_aside,
    raise_kept,
    with_gil,
)
from phintys.backends.native.runtime.protocol import (
    CALL,
    CONTEXT,
    INPUT,
    OBJECT,
    PHASE_RUN,
    element,
    is_null,
    not_null,
    zero,
)
from phintys.backends.native.runtime.services import hold
from phintys.backends.native.runtime.stubs import call_service, emit_stubs


def emit_entry(module: Module, api: CApi) -> None:
    """Emit the entry, and the function that creates arrays for programs."""
    if has_clock():
        write_clock(module)
    emit_poll(module)
    emit_stubs(module)
    emit_take(module, api)
    emit_make_array(module)
    _emit_new_array(module, api)
    _emit_trial(module)
    _Entry(module, api).write()


def _emit_new_array(module: Module, api: CApi) -> None:
    """``new_array(call, number, lengths)``: create an array, and return its data's address."""
    b = Builder(module.function("phintys_new_array", PTR, [PTR, INT64, PTR]))
    call, number, lengths = b.arguments
    context = CALL.load(b, call, "context")
    record = element(b, CONTEXT.load(b, context, "object_records"), number, OBJECT)
    place = b.offset(CALL.load(b, call, "objects"), number, PTR)
    with with_gil(b, call):
        made = b.call("phintys_make_array", PTR, [call, record, lengths])
        hold(b, made, place)
        with when(b, is_null(b, made)):
            b.call("PyErr_Clear", VOID, [])  # the status reports it; Python adds the message
    got, failed = b.new_block("got"), b.new_block("failed")
    b.branch(not_null(b, made), got, failed)
    b.begin(got)
    b.ret(api.array.load(b, made, "data"))
    b.begin(failed)
    b.ret(null(b))


def _emit_trial(module: Module) -> None:
    """``trial(frame)``: run a program compiled at -O0, until its calls repay recompiling."""
    b = Builder(module.function("phintys_trial", INT32, [PTR]))
    (frame,) = b.arguments
    call = b.load(PTR, b.offset(frame, STATE, INT64))
    context = CALL.load(b, call, "context")
    begin = now(b)
    status = call_pointer(b, CONTEXT.load(b, context, "on_trial"), INT32, [frame])
    spent = now(b) - begin + TRIAL_CALL_NANOSECONDS
    left = CONTEXT.load(b, context, "patience") - spent
    CONTEXT.store(b, context, "patience", left)
    # No Python code may run while an exception is pending.
    went_well = b.eq(status, 0) & ~is_interrupted(b, call)
    with when(b, b.le(left, 0) & went_well), with_gil(b, call):
        improve = CONTEXT.load(b, context, "improve")
        answer = b.call("PyObject_Vectorcall", PTR, [improve, null(b), zero(b), null(b)])
        with when(b, is_null(b, answer)):
            put_aside(b, call)
        with when(b, not_null(b, answer)):
            b.call("Py_DecRef", VOID, [answer])
    b.ret(status)


class _Entry:
    """Writes ``entry(self, arguments, count, names)``, which Python calls."""

    def __init__(self, module: Module, api: CApi) -> None:
        parameters = [PTR, PTR, INT64, PTR]
        self.b = b = Builder(module.function("phintys_entry", PTR, parameters))
        self.list_items = api.list_items
        self.self, self.arguments, self.count, self.names = b.arguments
        self.context = api.array.load(b, self.self, "data")
        self.explicit = self._field("explicit")
        self.hidden = self._field("hidden")
        self.everything = self.explicit + self.hidden
        self.frame_bytes = self._field("frame_bytes")
        self.has_locks = b.lt(0, self._field("locks"))

    def _field(self, name: str) -> Value:
        return CONTEXT.load(self.b, self.context, name)

    def _service(self, name: str, *values: Value) -> Value:
        """Call a service; it has been compiled for all programs that can get here."""
        return call_service(self.b, self._field("process"), name, *values)

    def write(self) -> None:
        """Write the function."""
        b = self.b
        names = ("unusual", "usual", "begin", "interrupted", "run", "reject")
        unusual, usual, begin, interrupted, run, reject = (b.new_block(name) for name in names)
        b.branch(b.eq(self.count, self.explicit) & is_null(b, self.names), usual, unusual)

        b.begin(unusual)
        operands = [self._field("slow"), self.arguments, self.count, self.names]
        b.ret(b.call("PyObject_Vectorcall", PTR, operands))

        b.begin(usual)
        b.branch(self._locked(), begin, interrupted)
        b.begin(interrupted)
        b.ret(null(b))

        b.begin(begin)
        # One extra word in front, which ``failure`` needs; behind, one for the value of each input.
        self.vector = self._room(self.everything + self.everything + 1)
        self.inputs = b.offset(self.vector, 1, PTR)
        self.frame = self._frame()
        b.branch(self._take_inputs(), run, reject)
        b.begin(reject)
        self._drop_inputs()
        self._unlock()
        b.jump(unusual)

        b.begin(run)
        self._begin_call()
        status = call_pointer(b, self._field("main"), INT32, [self.frame])
        self._regain()
        result = self._result(b.eq(status, 0))
        self._drop_arena()
        self._drop_objects()
        self._drop_inputs()
        self._unlock()
        b.ret(result)

    def _room(self, words: Value) -> Value:
        """Return the address of memory on the stack."""
        return self.b.write(PTR, f"alloca i64, {words.typed}, align 16")

    # ---- the lock of cells that are updated

    def _locked(self) -> Value:
        b = self.b
        attempt, after = b.new_block("attempt"), b.new_block("after")
        before = b.block
        b.branch(self.has_locks, attempt, after)
        b.begin(attempt)
        got = self._service("lock", self.context)
        b.jump(after)
        b.begin(after)
        phi = b.phi(BOOL)
        phi.add(b.constant(BOOL, 1), before)
        phi.add(got, attempt)
        return phi.value

    def _unlock(self) -> None:
        with when(self.b, self.has_locks):
            self._service("unlock", self.context)

    # ---- inputs

    def _frame(self) -> Value:
        """Return memory for the frame: on the stack if it is small."""
        b = self.b
        small, large, after = b.new_block("small"), b.new_block("large"), b.new_block("after")
        b.branch(b.le(self.frame_bytes, FRAME_BYTES), small, large)
        b.begin(small)
        on_stack = self._room(self.frame_bytes >> 3)
        b.jump(after)
        b.begin(large)
        allocated = self._service("acquire", self.frame_bytes)
        b.jump(after)
        b.begin(after)
        phi = b.phi(PTR)
        phi.add(on_stack, small)
        phi.add(allocated, large)
        return phi.value

    def _take_inputs(self) -> Value:
        """Store all inputs in the vector, and return whether the program accepts them.

        Inputs from cells are referenced, because other threads may replace them meanwhile.
        """
        b = self.b
        records, process = self._field("inputs"), self._field("process")
        start = not_null(b, self.frame)
        # If there is no memory for a frame, the slow path reports it.
        frame = b.select(start, self.frame, self.vector)
        with loop(b, 0, self.explicit, carried=[start]) as each:
            thing = b.load(PTR, b.offset(self.arguments, each.index, PTR))
            b.store(thing, b.offset(self.inputs, each.index, PTR))
            each.next(each.carried[0] & self._taken(records, each.index, process, thing, frame))
        cells = self._field("cells")
        with loop(b, 0, self.hidden, carried=each.results) as each:
            cell = b.load(PTR, b.offset(cells, each.index, PTR))
            thing = b.load(PTR, b.load(PTR, byte_offset(b, cell, self.list_items)))
            b.call("Py_IncRef", VOID, [thing])
            number = self.explicit + each.index
            b.store(thing, b.offset(self.inputs, number, PTR))
            each.next(each.carried[0] & self._taken(records, number, process, thing, frame))
        return each.results[0]

    def _taken(
        self, records: Value, number: Value, process: Value, thing: Value, frame: Value
    ) -> Value:
        record = element(self.b, records, number, INPUT)
        place = self.b.offset(self.inputs, self.everything + number, PTR)
        return self.b.call("phintys_take", BOOL, [process, record, thing, frame, place])

    def _drop_inputs(self) -> None:
        """Release the inputs from cells, and a frame that is not on the stack."""
        b = self.b
        with loop(b, 0, self.hidden) as each:
            place = b.offset(self.inputs, self.explicit + each.index, PTR)
            b.call("Py_DecRef", VOID, [b.load(PTR, place)])
        with when(b, (self.frame_bytes > FRAME_BYTES) & not_null(b, self.frame)):
            self._service("release", self.frame)

    # ---- the call

    def _begin_call(self) -> None:
        b = self.b
        count = self._field("objects")
        self.objects = self._room(count)
        with loop(b, 0, count) as each:
            b.store(null(b), b.offset(self.objects, each.index, PTR))
        self.call = b.slot(INT64, CALL.size // 8)
        fields = {
            "context": self.context,
            "frame": self.frame,
            "inputs": self.inputs,
            "objects": self.objects,
            "shared": null(b),
            "thread_state": null(b),
            "arena": null(b),
            "threads": zero(b),
            "interrupted": zero(b),
            "polled": zero(b),
            "phase": b.constant(INT64, PHASE_RUN),
        }
        for name, value in fields.items():
            CALL.initialize(b, self.call, name, value)
        b.store(self.call, b.offset(self.frame, STATE, INT64))
        b.store(zero(b), b.offset(self.frame, STATUS, INT64))
        b.store(self._field("constants"), b.offset(self.frame, CONSTANTS, INT64))

    def _regain(self) -> None:
        """Acquire the GIL again."""
        b, call = self.b, self.call
        with when(b, not_null(b, CALL.load(b, call, "thread_state"))):
            self._service("regain", call)

    def _drop_arena(self) -> None:
        """Release the arena's memory."""
        b = self.b
        arena = CALL.load(b, self.call, "arena")
        with when(b, not_null(b, arena)):
            self._service("release_chain", arena)

    def _result(self, is_good: Value) -> Value:
        """Return the value of the call, or null with an error."""
        b = self.b
        names = ("on", "good", "simple", "other", "stopped", "failed", "after")
        on, good, simple, other, stopped, failed, after = (b.new_block(name) for name in names)
        b.branch(is_interrupted(b, self.call), stopped, on)
        b.begin(on)
        b.branch(is_good, good, failed)
        b.begin(good)
        only = self._field("only_object")
        b.branch(b.le(0, only), simple, other)

        b.begin(simple)
        # The reference held by the call is passed on.
        place = b.offset(self.objects, only, PTR)
        thing = b.load(PTR, place)
        b.store(null(b), place)
        b.jump(after)
        b.begin(other)
        outcome = self._service("outcome", self.call)
        b.jump(after)
        b.begin(stopped)
        raise_kept(b, self.call)
        b.jump(after)
        b.begin(failed)
        b.call("phintys_failure", VOID, [self.call, self.vector, self.everything])
        # If not even the error could be created, memory has run out.
        with when(b, is_null(b, b.call("PyErr_Occurred", PTR, []))):
            b.call("PyErr_NoMemory", PTR, [])
        failed = b.block
        b.jump(after)

        b.begin(after)
        phi = b.phi(PTR)
        phi.add(thing, simple)
        phi.add(outcome, other)
        phi.add(null(b), stopped)
        phi.add(null(b), failed)
        return phi.value

    def _drop_objects(self) -> None:
        b = self.b
        with loop(b, 0, self._field("objects")) as each:
            thing = b.load(PTR, b.offset(self.objects, each.index, PTR))
            with when(b, not_null(b, thing)):
                b.call("Py_DecRef", VOID, [thing])
        shared = CALL.load(b, self.call, "shared")
        with when(b, not_null(b, shared)):
            b.call("Py_DecRef", VOID, [shared])
