"""What programs and the entry call: memory, threads, Ops in Python, results in lists, errors.

:mod:`~phintys.backends.native.emit.layout` says what programs expect of the functions they call.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from phintys.backends.native.emit.builder import Builder
from phintys.backends.native.emit.control import loop, when
from phintys.backends.native.emit.layout import GRAIN_NANOSECONDS
from phintys.backends.native.emit.module import Module
from phintys.backends.native.emit.types import BOOL, INT32, INT64, PTR, VOID
from phintys.backends.native.emit.values import Value
from phintys.backends.native.runtime.arrays import emit_large_array, emit_make_array, emit_take
from phintys.backends.native.runtime.atomics import null
from phintys.backends.native.runtime.capi import CApi
from phintys.backends.native.runtime.protocol import (
    CALL,
    CALLBACK,
    CONTEXT,
    INPUT,
    OBJECT,
    PLACE,
    PLACE_COPY,
    PLACE_ITSELF,
    PLACE_OBJECT,
    PROCESS,
    element,
    is_null,
    not_null,
    zero,
)
from phintys.backends.native.runtime.record import byte_offset

__all__ = ["emit_services", "hold", "with_gil"]


def emit_services(module: Module, api: CApi) -> None:
    """Write the services; the functions of ``blocks`` and ``threads`` are in the same module."""
    emit_take(module, api)
    emit_make_array(module)
    emit_large_array(module, api)
    _emit_arena(module)
    _emit_work(module)
    _emit_parallel_for(module)
    _emit_value(module, api)
    _emit_callback(module)
    _emit_leave(module)
    _emit_outcome(module)
    _emit_failure(module)
    _emit_lock(module)


def _process(b: Builder, call: Value) -> Value:
    return CONTEXT.load(b, CALL.load(b, call, "context"), "process")


def _call_without_arguments(b: Builder, function: Value) -> Value:
    return b.call("PyObject_Vectorcall", PTR, [function, null(b), zero(b), null(b)])


def _drop(b: Builder, thing: Value) -> None:
    """Give back a reference that may be null."""
    with when(b, not_null(b, thing)):
        b.call("Py_DecRef", VOID, [thing])


def hold(b: Builder, thing: Value, place: Value) -> None:
    """Put an object where a call holds its objects, instead of a former one."""
    former = b.load(PTR, place)
    b.store(thing, place)
    _drop(b, former)


@contextmanager
def with_gil(b: Builder, call: Value) -> Generator[None]:
    """Write what needs the GIL, which may be released at this point."""
    state = CALL.load(b, call, "thread_state")
    with when(b, not_null(b, state)):
        b.call("PyEval_RestoreThread", VOID, [state])
    yield
    with when(b, not_null(b, state)):
        CALL.store(b, call, "thread_state", b.call("PyEval_SaveThread", PTR, []))


def _take_gil(b: Builder, call: Value) -> None:
    """Write what takes the GIL, if it is released, until the next long work."""
    state = CALL.load(b, call, "thread_state")
    with when(b, not_null(b, state)):
        b.call("PyEval_RestoreThread", VOID, [state])
        CALL.store(b, call, "thread_state", null(b))


# ---- memory and threads ------------------------------------------------------------------------


def _emit_arena(module: Module) -> None:
    """``arena(call, group, bytes)``: memory for the rest of the call."""
    b = Builder(module.function("phintys_arena", PTR, [PTR, INT64, INT64]))
    call, _, size = b.arguments
    chain = CALL.pointer(b, call, "arena")
    b.ret(b.call("phintys_acquire_chained", PTR, [chain, size]))


def _emit_work(module: Module) -> None:
    """``work(call, nanoseconds)``: decide on threads, and on the GIL."""
    b = Builder(module.function("phintys_work", VOID, [PTR, INT64]))
    call, amount = b.arguments
    context, process = CALL.load(b, call, "context"), _process(b, call)
    ask = CONTEXT.load(b, context, "threads")
    is_held = is_null(b, CALL.load(b, call, "thread_state"))
    is_enough = b.le(PROCESS.load(b, process, "use_threads"), amount)
    is_unknown = b.eq(CALL.load(b, call, "threads"), 0)
    with when(b, is_enough & is_held & is_unknown):
        answer = _call_without_arguments(b, ask)
        CALL.store(b, call, "threads", 1)
        CALL.store(b, call, "interrupted", b.convert(is_null(b, answer), INT64))
        with when(b, not_null(b, answer)):
            CALL.store(b, call, "threads", b.call("PyLong_AsLongLong", INT64, [answer]))
        _drop(b, answer)
    is_long = b.le(PROCESS.load(b, process, "release_gil"), amount)
    with when(b, is_long & is_held):
        CALL.store(b, call, "thread_state", b.call("PyEval_SaveThread", PTR, []))
    b.ret()


def _emit_parallel_for(module: Module) -> None:
    """``parallel_for(call, kernel, arguments, count, grain)``."""
    parameters = [PTR, PTR, PTR, INT64, INT64]
    b = Builder(module.function("phintys_parallel_for", VOID, parameters))
    call, kernel, arguments, count, grain = b.arguments
    amount = b.binary("sdiv", count, grain) * GRAIN_NANOSECONDS
    b.call("phintys_work", VOID, [call, amount])
    threads = CALL.load(b, call, "threads")
    b.call("phintys_run_parallel", VOID, [kernel, arguments, count, grain, threads])
    b.ret()


# ---- values ------------------------------------------------------------------------------------


def _emit_value(module: Module, api: CApi) -> None:
    """``value(place, call)``: the object at a place, a new reference, or null with an error."""
    b = Builder(module.function("phintys_value", PTR, [PTR, PTR], linkage="internal"))
    place, call = b.arguments
    names = ("itself", "other", "numbered", "copied")
    itself, other, numbered, copied = (b.new_block(name) for name in names)
    kind, value = PLACE.load(b, place, "kind"), PLACE.load(b, place, "value")
    b.branch(b.eq(kind, PLACE_ITSELF), itself, other)
    b.begin(itself)
    b.call("Py_IncRef", VOID, [value])
    b.ret(value)

    b.begin(other)
    b.branch(b.eq(kind, PLACE_COPY), copied, numbered)
    b.begin(numbered)
    objects, inputs = CALL.load(b, call, "objects"), CALL.load(b, call, "inputs")
    base = b.select(b.eq(kind, PLACE_OBJECT), objects, inputs)
    number = b.write(INT64, f"ptrtoint {value.typed} to i64")
    thing = b.load(PTR, b.offset(base, number, PTR))
    b.call("Py_IncRef", VOID, [thing])
    b.ret(thing)

    b.begin(copied)
    record = byte_offset(b, CALL.load(b, call, "frame"), PLACE.load(b, place, "record"))
    lengths = b.offset(record, 1, INT64)
    made = b.call("phintys_make_array", PTR, [_process(b, call), value, lengths])
    with when(b, not_null(b, made)):
        start = [OBJECT.load(b, value, "itemsize")]
        with loop(b, 0, OBJECT.load(b, value, "ndim"), carried=start) as axes:
            length = b.load(INT64, b.offset(lengths, axes.index, INT64))
            axes.next(axes.carried[0] * length)
        target = api.array.load(b, made, "data")
        b.call("memcpy", PTR, [target, b.load(PTR, record), axes.results[0]])
    b.ret(made)


# ---- callbacks ---------------------------------------------------------------------------------


def _emit_callback(module: Module) -> None:
    """``callback(call, number)``: let an Op's Python code compute; 0 if all went well."""
    b = Builder(module.function("phintys_callback", INT32, [PTR, INT64]))
    call, number = b.arguments
    _take_gil(b, call)
    names = ("deeper", "started", "ready", "got", "failed", "up")
    deeper, started, ready, got, failed, up = (b.new_block(name) for name in names)
    context = CALL.load(b, call, "context")
    record = element(b, CONTEXT.load(b, context, "callbacks"), number, CALLBACK)
    count = CALLBACK.load(b, record, "inputs")
    vector = b.write(PTR, f"alloca i64, {(count + 2).typed}, align 8")
    where = b.module.table(", ".join(f"i8 {byte}" for byte in b" in a callback\0"), 15, "i8")
    too_deep = b.call("Py_EnterRecursiveCall", INT32, [Value(b, PTR, where)])
    b.branch(b.eq(too_deep, 0), deeper, failed)

    b.begin(deeper)
    with when(b, is_null(b, CALL.load(b, call, "shared"))):
        made = _call_without_arguments(b, CONTEXT.load(b, context, "start"))
        CALL.store(b, call, "shared", made)
    b.branch(not_null(b, CALL.load(b, call, "shared")), started, up)

    b.begin(started)
    b.branch(_collect(b, call, record, vector, count), ready, up)
    b.begin(ready)
    function = CONTEXT.load(b, context, "callback")
    result = b.call("PyObject_Vectorcall", PTR, [function, vector, count + 2, null(b)])
    with loop(b, 0, count) as each:
        b.call("Py_DecRef", VOID, [b.load(PTR, b.offset(vector, each.index + 2, PTR))])
    b.branch(not_null(b, result), got, up)

    b.begin(got)
    fits = _keep_outputs(b, call, record, result)
    b.call("Py_DecRef", VOID, [result])
    b.call("Py_LeaveRecursiveCall", VOID, [])
    b.ret(b.convert(~fits, INT32))

    b.begin(up)
    b.call("Py_LeaveRecursiveCall", VOID, [])
    b.jump(failed)
    b.begin(failed)
    b.ret(b.constant(INT32, 1))


def _collect(b: Builder, call: Value, record: Value, vector: Value, count: Value) -> Value:
    """Write ``shared, label, *inputs`` side by side; return whether that worked."""
    b.store(CALL.load(b, call, "shared"), vector)
    b.store(CALLBACK.load(b, record, "label"), b.offset(vector, 1, PTR))
    places = CALLBACK.load(b, record, "input_places")
    with loop(b, 0, count, carried=[b.constant(BOOL, 1)]) as each:
        thing = b.call("phintys_value", PTR, [element(b, places, each.index, PLACE), call])
        b.store(thing, b.offset(vector, each.index + 2, PTR))
        each.next(each.carried[0] & not_null(b, thing))
    (is_complete,) = each.results
    with when(b, ~is_complete), loop(b, 0, count) as each:
        _drop(b, b.load(PTR, b.offset(vector, each.index + 2, PTR)))
    return is_complete


def _keep_outputs(b: Builder, call: Value, record: Value, result: Value) -> Value:
    """Hold the outputs of an Op, and note where they are; return whether they fit."""
    objects, frame = CALL.load(b, call, "objects"), CALL.load(b, call, "frame")
    numbers = CALLBACK.load(b, record, "output_objects")
    inputs = CALLBACK.load(b, record, "output_inputs")
    count = CALLBACK.load(b, record, "outputs")
    has_both = b.call("PyTuple_Size", INT64, [result]) > count
    with loop(b, 0, count, carried=[b.constant(BOOL, 1)]) as outputs:
        number = b.load(INT64, b.offset(numbers, outputs.index, INT64))
        place = b.offset(objects, number, PTR)
        _hold_item(b, result, outputs.index, place)
        with when(b, has_both):
            _hold_item(b, result, count + outputs.index, b.offset(place, 1, PTR))
        shown = b.load(PTR, b.offset(place, b.convert(has_both, INT64), PTR))
        wanted = element(b, inputs, outputs.index, INPUT)
        taken = b.call("phintys_take", BOOL, [_process(b, call), wanted, shown, frame])
        outputs.next(outputs.carried[0] & taken)
    return outputs.results[0]


def _hold_item(b: Builder, result: Value, number: Value, place: Value) -> None:
    thing = b.call("PyTuple_GetItem", PTR, [result, number])
    b.call("Py_IncRef", VOID, [thing])
    hold(b, thing, place)


# ---- the end of a call -------------------------------------------------------------------------


def _emit_leave(module: Module) -> None:
    """``leave(call)``: take the GIL again, and give back memory."""
    b = Builder(module.function("phintys_leave", VOID, [PTR]))
    (call,) = b.arguments
    state = CALL.load(b, call, "thread_state")
    with when(b, not_null(b, state)):
        b.call("PyEval_RestoreThread", VOID, [state])
    arena = CALL.load(b, call, "arena")
    with when(b, not_null(b, arena)):
        b.call("phintys_release_chain", VOID, [arena])
    b.ret()


def _emit_outcome(module: Module) -> None:
    """``outcome(call)``: what a call returns, a new reference; updates are made by the way."""
    b = Builder(module.function("phintys_outcome", PTR, [PTR]))
    (call,) = b.arguments
    names = ("several", "single", "made", "out", "failed")
    several, single, made, out, failed = (b.new_block(name) for name in names)
    context = CALL.load(b, call, "context")
    places, count = CONTEXT.load(b, context, "places"), CONTEXT.load(b, context, "returned")
    b.branch(b.ne(CONTEXT.load(b, context, "returns_list"), 0), several, single)

    b.begin(single)
    thing = b.call("phintys_value", PTR, [places, call])
    b.jump(made)

    b.begin(several)
    items = b.call("PyList_New", PTR, [count])
    with when(b, not_null(b, items)), loop(b, 0, count) as each:
        item = b.call("phintys_value", PTR, [element(b, places, each.index, PLACE), call])
        b.call("PyList_SetItem", INT32, [items, each.index, item])
    several_end = b.block
    b.jump(made)

    b.begin(made)
    result = b.phi(PTR)
    result.add(thing, single)
    result.add(items, several_end)
    _finish_callbacks(b, context, call)
    # Nothing is updated if there was no memory for a copy, or an exception came at the last moment.
    b.branch(is_null(b, b.call("PyErr_Occurred", PTR, [])), out, failed)
    b.begin(failed)
    _drop(b, result.value)
    b.ret(null(b))
    b.begin(out)
    _update(b, context, call, b.offset(places, count * (PLACE.size // 8), INT64))
    b.ret(result.value)


def _update(b: Builder, context: Value, call: Value, places: Value) -> None:
    """Put new values into cells; they are objects of the call, so nothing can fail."""
    cells = CONTEXT.load(b, context, "updated_cells")
    with loop(b, 0, CONTEXT.load(b, context, "updates")) as each:
        value = b.call("phintys_value", PTR, [element(b, places, each.index, PLACE), call])
        cell = b.load(PTR, b.offset(cells, each.index, PTR))
        b.call("PyList_SetItem", INT32, [cell, zero(b), value])


def _finish_callbacks(b: Builder, context: Value, call: Value) -> None:
    shared = CALL.load(b, call, "shared")
    is_wanted = not_null(b, shared) & is_null(b, b.call("PyErr_Occurred", PTR, []))
    with when(b, is_wanted):
        vector = b.slot(PTR)
        b.store(shared, vector)
        finish = CONTEXT.load(b, context, "finish")
        one = b.constant(INT64, 1)
        _drop(b, b.call("PyObject_Vectorcall", PTR, [finish, vector, one, null(b)]))


def _emit_failure(module: Module) -> None:
    """``failure(call, vector, count)``: raise the error of a call, if it has not been raised.

    The vector holds the inputs, with room for one more object in front.
    """
    b = Builder(module.function("phintys_failure", VOID, [PTR, PTR, INT64]))
    call, vector, count = b.arguments
    with when(b, is_null(b, b.call("PyErr_Occurred", PTR, []))):
        frame = CALL.load(b, call, "frame")
        address = b.write(INT64, f"ptrtoint {frame.typed} to i64")
        number = b.call("PyLong_FromLongLong", PTR, [address])
        b.store(number, vector)
        failed = CONTEXT.load(b, CALL.load(b, call, "context"), "failed")
        operands = [failed, vector, count + 1, null(b)]
        _drop(b, b.call("PyObject_Vectorcall", PTR, operands))
        _drop(b, number)
    b.ret()


def _emit_lock(module: Module) -> None:
    """``lock(context)`` returns whether it got the lock of the cells that are updated."""
    b = Builder(module.function("phintys_lock", BOOL, [PTR]))
    (context,) = b.arguments
    answer = _call_without_arguments(b, CONTEXT.load(b, context, "lock"))
    _drop(b, answer)
    b.ret(not_null(b, answer))

    # An error that is on its way is put aside meanwhile.
    b = Builder(module.function("phintys_unlock", VOID, [PTR]))
    (context,) = b.arguments
    kind, value, trace = (b.slot(PTR) for _ in range(3))
    b.call("PyErr_Fetch", VOID, [kind, value, trace])
    _drop(b, _call_without_arguments(b, CONTEXT.load(b, context, "unlock")))
    b.call("PyErr_Restore", VOID, [b.load(PTR, one) for one in (kind, value, trace)])
    b.ret()
