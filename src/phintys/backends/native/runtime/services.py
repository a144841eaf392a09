"""Services called by programs and the entry: memory, threads, callbacks, results and errors.

:mod:`~phintys.backends.native.frame` defines what programs expect of these functions.
"""

from __future__ import annotations

from phintys.backends.native.assembler.atomics import call_pointer, fence, null
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import loop, when
from phintys.backends.native.assembler.module import Block, Module
from phintys.backends.native.assembler.records import Record, byte_offset
from phintys.backends.native.assembler.system import has_clock, write_clock
from phintys.backends.native.assembler.types import BOOL, INT32, INT64, PTR, VOID
from phintys.backends.native.assembler.values import Value
from phintys.backends.native.limits import GRAIN_NANOSECONDS, POLLED_BYTES
from phintys.backends.native.runtime.arrays import emit_large_array, emit_make_array, emit_take
from phintys.backends.native.runtime.capi import OWNDATA, WRITEABLE, CApi
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
    CALLBACK,
    CLAIM,
    CONTEXT,
    INPUT,
    OBJECT,
    PHASE_ALONE,
    PHASE_COMMIT,
    PHASE_RUN,
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
from phintys.backends.native.sizes import MOST


def emit_services(module: Module, api: CApi) -> None:
    """Emit the services except ``parallel_for``; those of ``blocks`` are in the same module."""
    if has_clock():
        write_clock(module)
    emit_take(module, api)
    emit_make_array(module)
    emit_large_array(module, api)
    _emit_arena(module)
    _emit_work(module)
    _emit_copy(module)
    _emit_value(module, api)
    _emit_claim(module, api)
    _emit_callback(module)
    _emit_regain(module)
    _emit_outcome(module)
    _emit_commit(module)
    _emit_failure(module)
    _emit_lock(module)
    _emit_publish(module)


def _process(b: Builder, call: Value) -> Value:
    return CONTEXT.load(b, CALL.load(b, call, "context"), "process")


def _emit_publish(module: Module) -> None:
    """``publish()``: called before addresses are written that threads without the GIL read.

    All that they lead to is then in the memory that these threads see.
    """
    b = Builder(module.function("phintys_publish", VOID, []))
    fence(b)
    b.ret()


def _call_without_arguments(b: Builder, function: Value) -> Value:
    return b.call("PyObject_Vectorcall", PTR, [function, null(b), zero(b), null(b)])


def _drop(b: Builder, thing: Value) -> None:
    """Release a reference that may be null."""
    with when(b, not_null(b, thing)):
        b.call("Py_DecRef", VOID, [thing])


def hold(b: Builder, thing: Value, place: Value) -> None:
    """Store an object among those held by a call, releasing the previous one."""
    former = b.load(PTR, place)
    b.store(thing, place)
    _drop(b, former)


def _take_gil(b: Builder, call: Value) -> None:
    """Emit code that acquires the GIL, if it is released, until the next long work."""
    state = CALL.load(b, call, "thread_state")
    with when(b, not_null(b, state)):
        b.call("PyEval_RestoreThread", VOID, [state])
        CALL.store(b, call, "thread_state", null(b))


# ---- memory and threads ------------------------------------------------------------------------


def _emit_arena(module: Module) -> None:
    """``arena(call, group, bytes)``: allocate memory for the rest of the call."""
    b = Builder(module.function("phintys_arena", PTR, [PTR, INT64, INT64]))
    call, _, size = b.arguments
    chain = CALL.pointer(b, call, "arena")
    b.ret(b.call("phintys_acquire_chained", PTR, [chain, size]))


def _emit_work(module: Module) -> None:
    """``work(call, nanoseconds)``: decide about threads and the GIL, and note when work begins.

    The GIL is held while shared values are overwritten: other threads must not see a partial
    update.
    """
    b = Builder(module.function("phintys_work", VOID, [PTR, INT64]))
    call, amount = b.arguments
    alone, going = b.new_block("alone"), b.new_block("going")
    phase = CALL.load(b, call, "phase")
    b.branch(b.eq(phase, PHASE_ALONE), alone, going)
    b.begin(alone)
    b.ret()
    b.begin(going)
    with when(b, b.eq(CALL.load(b, call, "polled"), 0)):
        CALL.store(b, call, "polled", now(b))
    context, process = CALL.load(b, call, "context"), _process(b, call)
    ask = CONTEXT.load(b, context, "threads")
    is_held = is_null(b, CALL.load(b, call, "thread_state"))
    is_enough = b.le(PROCESS.load(b, process, "use_threads"), amount)
    is_unknown = b.eq(CALL.load(b, call, "threads"), 0) & b.eq(phase, PHASE_RUN)
    is_unknown &= not_null(b, ask) & ~is_interrupted(b, call)
    with when(b, is_enough & is_held & is_unknown):
        answer = _call_without_arguments(b, ask)
        CALL.store(b, call, "threads", 1)
        with when(b, is_null(b, answer)):
            put_aside(b, call)
        with when(b, not_null(b, answer)):
            CALL.store(b, call, "threads", b.call("PyLong_AsLongLong", INT64, [answer]))
        _drop(b, answer)
    is_long = b.le(PROCESS.load(b, process, "release_gil"), amount)
    with when(b, is_long & is_held):
        CALL.store(b, call, "thread_state", b.call("PyEval_SaveThread", PTR, []))
    b.ret()


def emit_parallel_for(module: Module) -> None:
    """``parallel_for(call, kernel, arguments, count, grain)``, in the module of the threads.

    Returns 0 if all iterations are done.
    """
    parameters = [PTR, PTR, PTR, INT64, INT64]
    b = Builder(module.function("phintys_parallel_for", INT32, parameters))
    call, kernel, arguments, count, grain = b.arguments
    # Without a grain, an iteration takes longer than one.
    grains = b.binary("sdiv", count, b.maximum_number(grain, 1))
    amount = b.minimum_number(grains, MOST // GRAIN_NANOSECONDS) * GRAIN_NANOSECONDS
    b.call("phintys_work", VOID, [call, amount])
    threads = CALL.load(b, call, "threads")
    operands = [call, kernel, arguments, count, grain, threads]
    b.ret(b.call("phintys_run_parallel", INT32, operands))


# ---- values ------------------------------------------------------------------------------------


def _emit_value(module: Module, api: CApi) -> None:
    """``value(place, call)``: the object at a place, a new reference.

    Null with an error set, or if a signal ends the call.
    """
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
    go_on, got, ended, off = (b.new_block(name) for name in ("go_on", "got", "ended", "off"))
    b.branch(is_interrupted(b, call), off, go_on)
    b.begin(go_on)
    record = byte_offset(b, CALL.load(b, call, "frame"), PLACE.load(b, place, "record"))
    lengths = b.offset(record, 1, INT64)
    made = b.call("phintys_make_array", PTR, [call, value, lengths])
    b.branch(not_null(b, made), got, off)
    b.begin(got)
    target, size = api.array.load(b, made, "data"), _bytes_of(b, value, lengths)
    whole = b.new_block("whole")
    is_whole = b.call("phintys_copy", BOOL, [call, target, b.load(PTR, record), size])
    b.branch(is_whole, whole, ended)
    b.begin(whole)
    b.ret(made)
    b.begin(ended)
    b.call("Py_DecRef", VOID, [made])
    b.jump(off)
    b.begin(off)
    b.ret(null(b))


def _emit_copy(module: Module) -> None:
    """``copy(call, target, source, bytes)``: copy memory; return whether no signal ended the call.

    A large copy is made in pieces, between which other threads and signal handlers can run, unless
    a shared value is about to be overwritten.
    """
    poll = "phintys_poll_copy"
    emit_poll(module, until=PHASE_ALONE, name=poll)
    b = Builder(module.function("phintys_copy", BOOL, [PTR, PTR, PTR, INT64], linkage="internal"))
    call, target, source, size = b.arguments
    is_open = b.lt(CALL.load(b, call, "phase"), PHASE_ALONE)
    is_held = is_null(b, CALL.load(b, call, "thread_state"))
    status = b.slot(INT32)
    b.store(b.constant(INT32, 0), status)
    with when(b, b.lt(POLLED_BYTES, size) & is_open & is_held):
        CALL.store(b, call, "thread_state", b.call("PyEval_SaveThread", PTR, []))
    with loop(b, 0, size, POLLED_BYTES, carried=[b.constant(BOOL, 1)]) as each:
        (going,) = each.carried
        end = b.minimum_number(each.index + POLLED_BYTES, size)
        with when(b, going):
            places = [byte_offset(b, one, each.index) for one in (target, source)]
            b.call("memcpy", PTR, [*places, end - each.index])
        with when(b, going & b.lt(end, size)):
            b.store(b.call(poll, INT32, [call]), status)
        each.next(b.eq(b.load(INT32, status), 0))
    with when(b, is_held):
        _take_gil(b, call)
    b.ret(each.results[0])


def _emit_claim(module: Module, api: CApi) -> None:
    """``claim(call, number, lengths)``: make an input an object of the call, to be overwritten.

    Returns the address of its data, or that of a copy; null if there is no memory for one. A shared
    value is copied unless only this call and its cell refer to it; a signal may end the call
    meanwhile, and null is returned. The GIL is held while one is
    overwritten, so if there are other threads, a value that takes long to compute is written to
    other memory.
    """
    b = Builder(module.function("phintys_claim", PTR, [PTR, INT64, PTR]))
    call, number, lengths = b.arguments
    context = CALL.load(b, call, "context")
    claim = element(b, CONTEXT.load(b, context, "claims"), number, CLAIM)
    at = CLAIM.load(b, claim, "object")
    thing = b.load(PTR, b.offset(CALL.load(b, call, "inputs"), CLAIM.load(b, claim, "input"), PTR))
    place = b.offset(CALL.load(b, call, "objects"), at, PTR)
    record = element(b, CONTEXT.load(b, context, "object_records"), at, OBJECT)
    with with_gil(b, call):
        size = _bytes_of(b, record, lengths)
        is_kept = b.ne(CLAIM.load(b, claim, "is_kept"), 0)
        itself = _may_be_overwritten(b, api, call, claim, thing, size)
        is_short = b.le(size, CLAIM.load(b, claim, "most_bytes"))
        itself = itself & (is_short | _is_only_thread(b))
        with when(b, itself):
            with when(b, b.ne(CLAIM.load(b, claim, "is_shared"), 0)):
                CALL.store(b, call, "phase", b.constant(INT64, PHASE_ALONE))
            b.call("Py_IncRef", VOID, [thing])
            hold(b, thing, place)
        with when(b, ~itself):
            made = b.call("phintys_make_array", PTR, [call, record, lengths])
            hold(b, made, place)
            with when(b, is_null(b, made)):
                b.call("PyErr_Clear", VOID, [])  # the status reports it; Python adds the message
    taken = b.load(PTR, place)
    got, failed = b.new_block("got"), b.new_block("failed")
    b.branch(not_null(b, taken), got, failed)
    b.begin(failed)
    b.ret(null(b))
    b.begin(got)
    data = api.array.load(b, taken, "data")
    copy, done = b.new_block("copy"), b.new_block("done")
    b.branch(~itself & is_kept, copy, done)
    b.begin(copy)
    source = api.array.load(b, thing, "data")
    b.branch(b.call("phintys_copy", BOOL, [call, data, source, size]), done, failed)
    b.begin(done)
    b.ret(data)


def _is_only_thread(b: Builder) -> Value:
    """Return whether Python has no other thread, which holding the GIL would block."""
    interpreter = b.call("PyInterpreterState_Get", PTR, [])
    first = b.call("PyInterpreterState_ThreadHead", PTR, [interpreter])
    return is_null(b, b.call("PyThreadState_Next", PTR, [first]))


def _is_apart(
    b: Builder, api: CApi, call: Value, number: Value, thing: Value, size: Value
) -> Value:
    """Return whether no other input shares memory with an input."""
    array = api.array
    context, inputs = CALL.load(b, call, "context"), CALL.load(b, call, "inputs")
    records = CONTEXT.load(b, context, "inputs")
    begin = array.load(b, thing, "data")
    end = byte_offset(b, begin, size)
    count = CONTEXT.load(b, context, "explicit") + CONTEXT.load(b, context, "hidden")
    with loop(b, 0, count, carried=[b.constant(BOOL, 1)]) as each:
        record = element(b, records, each.index, INPUT)
        is_array = not_null(b, INPUT.load(b, record, "dtype"))
        other = b.select(is_array, b.load(PTR, b.offset(inputs, each.index, PTR)), thing)
        start = array.load(b, other, "data")
        lengths = array.load(b, other, "dimensions")
        last = byte_offset(b, start, _bytes_of(b, record, lengths, INPUT))
        meets = b.compare("ult", start, end) & b.compare("ult", begin, last)
        each.next(each.carried[0] & ~(is_array & b.ne(each.index, number) & meets))
    return each.results[0]


def _may_be_overwritten(
    b: Builder, api: CApi, call: Value, claim: Value, thing: Value, size: Value
) -> Value:
    """Return whether an input is an array that is not referenced elsewhere."""
    array = api.array
    flags = array.load(b, thing, "flags")
    is_writeable = b.ne(flags & WRITEABLE, 0)
    is_own = is_null(b, array.load(b, thing, "base")) & b.ne(flags & OWNDATA, 0)
    cell = CLAIM.load(b, claim, "cell")
    known, unknown, after = map(b.new_block, ("known", "unknown", "after"))
    b.branch(not_null(b, cell), known, unknown)
    b.begin(known)
    kept = b.load(PTR, b.load(PTR, byte_offset(b, cell, api.list_items)))
    # It is referenced by this call, and by the cell unless another thread has replaced its value.
    expected = b.convert(b.compare("eq", kept, thing), INT32) + 1
    is_ours = b.eq(array.load(b, thing, "references"), expected) & is_own
    b.jump(after)
    b.begin(unknown)
    is_allowed = b.eq(CLAIM.load(b, claim, "is_shared"), 0)
    is_allowed = is_allowed & _is_apart(b, api, call, CLAIM.load(b, claim, "input"), thing, size)
    unknown = b.block
    b.jump(after)
    b.begin(after)
    phi = b.phi(BOOL)
    phi.add(is_ours, known)
    phi.add(is_allowed, unknown)
    return phi.value & is_writeable


def _bytes_of(b: Builder, described: Value, lengths: Value, record: Record = OBJECT) -> Value:
    """Return the size of an array in bytes, given the record of its kind."""
    start = [record.load(b, described, "itemsize")]
    with loop(b, 0, record.load(b, described, "ndim"), carried=start) as axes:
        length = b.load(INT64, b.offset(lengths, axes.index, INT64))
        axes.next(axes.carried[0] * length)
    return axes.results[0]


# ---- callbacks ---------------------------------------------------------------------------------


def _emit_callback(module: Module) -> None:
    """``callback(call, number)``: run an Op's Python code; returns 0 on success."""
    b = Builder(module.function("phintys_callback", INT32, [PTR, INT64]))
    call, number = b.arguments
    _take_gil(b, call)
    names = ("begin", "deeper", "started", "ready", "got", "failed", "up")
    begin, deeper, started, ready, got, failed, up = (b.new_block(name) for name in names)
    b.branch(is_interrupted(b, call), failed, begin)
    b.begin(begin)
    context = CALL.load(b, call, "context")
    record = element(b, CONTEXT.load(b, context, "callbacks"), number, CALLBACK)
    count = CALLBACK.load(b, record, "inputs")
    vector = b.write(PTR, f"alloca i64, {(count + 2).typed}, align 8")
    python = b.new_block("python")
    _emit_c_call(b, call, record, vector, count, python)
    b.begin(python)
    where = b.module.table(", ".join(f"i8 {byte}" for byte in b" in a callback\0"), 15, "i8")
    too_deep = b.call("Py_EnterRecursiveCall", INT32, [Value(b, PTR, where)])
    b.branch(b.eq(too_deep, 0), deeper, failed)

    b.begin(deeper)
    with when(b, is_null(b, CALL.load(b, call, "shared"))):
        address = b.write(INT64, f"ptrtoint {call.typed} to i64")
        given = b.call("PyLong_FromLongLong", PTR, [address])
        b.store(given, vector)
        start = CONTEXT.load(b, context, "start")
        one = b.constant(INT64, 1)
        made = b.call("PyObject_Vectorcall", PTR, [start, vector, one, null(b)])
        b.call("Py_DecRef", VOID, [given])
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


def _emit_c_call(
    b: Builder, call: Value, record: Value, vector: Value, count: Value, python: Block
) -> None:
    """Call the C code of an Op and return; jump to another block if it has none.

    It has no state that calls share, and its results have the form that native code accepts.
    """
    names = ("direct", "ready", "got", "failed")
    direct, ready, got, failed = (b.new_block(name) for name in names)
    function = CALLBACK.load(b, record, "function")
    b.branch(not_null(b, function), direct, python)
    b.begin(direct)
    b.branch(_collect(b, call, record, vector, count), ready, failed)
    b.begin(ready)
    inputs = b.offset(vector, 2, PTR)
    result = b.call("PyObject_Vectorcall", PTR, [function, inputs, count, null(b)])
    with when(b, is_null(b, result)):
        _explain(b, call, record, vector, count)
    with loop(b, 0, count) as each:
        b.call("Py_DecRef", VOID, [b.load(PTR, b.offset(inputs, each.index, PTR))])
    b.branch(not_null(b, result), got, failed)
    b.begin(got)
    fits = _keep_outputs(b, call, record, result)
    b.call("Py_DecRef", VOID, [result])
    b.ret(b.convert(~fits, INT32))
    b.begin(failed)
    b.ret(b.constant(INT32, 1))


def _explain(b: Builder, call: Value, record: Value, vector: Value, count: Value) -> None:
    """Let Python add notes to the exception that is set; it is ours if that fails."""
    kind, error, trace = (b.slot(PTR) for _ in range(3))
    b.call("PyErr_Fetch", VOID, [kind, error, trace])
    b.call("PyErr_NormalizeException", VOID, [kind, error, trace])
    address = b.write(INT64, f"ptrtoint {call.typed} to i64")
    given = b.call("PyLong_FromLongLong", PTR, [address])
    b.store(given, vector)
    b.store(b.load(PTR, error), b.offset(vector, 1, PTR))
    explain = CALLBACK.load(b, record, "explain")
    with when(b, not_null(b, given)):
        done = b.call("PyObject_Vectorcall", PTR, [explain, vector, count + 2, null(b)])
        _drop(b, done)
        b.call("Py_DecRef", VOID, [given])
    b.call("PyErr_Clear", VOID, [])
    b.call("PyErr_Restore", VOID, [b.load(PTR, one) for one in (kind, error, trace)])


def _collect(b: Builder, call: Value, record: Value, vector: Value, count: Value) -> Value:
    """Store ``shared, label, *inputs`` in a vector; return whether that succeeded."""
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
    """Hold the outputs of an Op, and record their addresses; return whether they are valid."""
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
        taken = b.call("phintys_take", BOOL, [_process(b, call), wanted, shown, frame, null(b)])
        outputs.next(outputs.carried[0] & taken)
    return outputs.results[0]


def _hold_item(b: Builder, result: Value, number: Value, place: Value) -> None:
    thing = b.call("PyTuple_GetItem", PTR, [result, number])
    b.call("Py_IncRef", VOID, [thing])
    hold(b, thing, place)


# ---- committing, and the end of a call ---------------------------------------------------------


def _emit_regain(module: Module) -> None:
    """``regain(call)``: acquire the GIL again."""
    b = Builder(module.function("phintys_regain", VOID, [PTR]))
    (call,) = b.arguments
    _take_gil(b, call)
    b.ret()


def _emit_outcome(module: Module) -> None:
    """``outcome(call)``: the result of a call, a new reference; updates are made along the way.

    Shared values are overwritten last. Without cells nothing is overwritten, and the values that
    would have been are among the results.
    """
    b = Builder(module.function("phintys_outcome", PTR, [PTR]))
    (call,) = b.arguments
    names = ("copied", "begin", "several", "single", "made", "out", "update", "failed", "bad")
    copied, begin, several, single, made, out, update, failed, bad = map(b.new_block, names)
    context = CALL.load(b, call, "context")
    has_updates = b.ne(CONTEXT.load(b, context, "updates"), 0)
    b.branch(has_updates, begin, copied)
    b.begin(copied)
    b.branch(b.call("phintys_commit", BOOL, [call]), begin, bad)
    b.begin(bad)
    b.ret(null(b))

    b.begin(begin)
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
    with when(b, is_interrupted(b, call)):
        raise_kept(b, call)
    _finish_callbacks(b, context, call)
    # Nothing is updated if there was no memory for a copy, or if an exception arrived at the last
    # moment.
    b.branch(is_null(b, b.call("PyErr_Occurred", PTR, [])), out, failed)
    b.begin(failed)
    _drop(b, result.value)
    b.ret(null(b))
    b.begin(out)
    done = b.new_block("done")
    b.branch(has_updates, update, done)
    b.begin(update)
    updated = b.new_block("updated")
    b.branch(b.call("phintys_commit", BOOL, [call]), updated, failed)
    b.begin(updated)
    _update(b, context, call, b.offset(places, count * (PLACE.size // 8), INT64))
    b.jump(done)
    b.begin(done)
    b.ret(result.value)


def _update(b: Builder, context: Value, call: Value, places: Value) -> None:
    """Store new values in cells; they are objects of the call, so nothing can fail."""
    cells = CONTEXT.load(b, context, "updated_cells")
    with loop(b, 0, CONTEXT.load(b, context, "updates")) as each:
        value = b.call("phintys_value", PTR, [element(b, places, each.index, PLACE), call])
        cell = b.load(PTR, b.offset(cells, each.index, PTR))
        b.call("PyList_SetItem", INT32, [cell, zero(b), value])


def _emit_commit(module: Module) -> None:
    """``commit(call)``: run the commit of a program, if it has one; return whether it succeeded.

    No Python code runs from here on until new values are in their cells.
    """
    b = Builder(module.function("phintys_commit", BOOL, [PTR], linkage="internal"))
    (call,) = b.arguments
    context = CALL.load(b, call, "context")
    commit = CONTEXT.load(b, context, "commit")
    there, missing, failed, fine = map(b.new_block, ("there", "missing", "failed", "fine"))
    b.branch(is_null(b, commit), missing, there)
    b.begin(missing)
    b.ret(b.constant(BOOL, 1))
    b.begin(there)
    CALL.store(b, call, "phase", b.constant(INT64, PHASE_COMMIT))
    status = call_pointer(b, commit, INT32, [CALL.load(b, call, "frame")])
    _take_gil(b, call)
    b.branch(b.eq(status, 0), fine, failed)
    b.begin(fine)
    b.ret(b.constant(BOOL, 1))
    b.begin(failed)
    with when(b, is_interrupted(b, call)):
        raise_kept(b, call)
    inputs = CONTEXT.load(b, context, "explicit") + CONTEXT.load(b, context, "hidden")
    vector = b.offset(CALL.load(b, call, "inputs"), -1, PTR)
    b.call("phintys_failure", VOID, [call, vector, inputs])
    b.ret(b.constant(BOOL, 0))


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
    """``failure(call, vector, count)``: raise the error of a call, unless already raised.

    The vector holds the inputs, with one free slot in front.
    """
    b = Builder(module.function("phintys_failure", VOID, [PTR, PTR, INT64]))
    call, vector, count = b.arguments
    with when(b, is_null(b, b.call("PyErr_Occurred", PTR, []))):
        address = b.write(INT64, f"ptrtoint {call.typed} to i64")
        number = b.call("PyLong_FromLongLong", PTR, [address])
        b.store(number, vector)
        failed = CONTEXT.load(b, CALL.load(b, call, "context"), "failed")
        operands = [failed, vector, count + 1, null(b)]
        _drop(b, b.call("PyObject_Vectorcall", PTR, operands))
        _drop(b, number)
    b.ret()


def _emit_lock(module: Module) -> None:
    """``lock(context)`` and ``unlock(context)``: acquire and release the locks of updated cells.

    The builtins are called one after the other, with no point in between that could be interrupted.
    ``lock`` returns whether it acquired all of them; if an exception arrived while it waited, it
    holds none.
    """
    _emit_release(module)
    _emit_acquire(module)
    _emit_wait(module)
    b = Builder(module.function("phintys_lock", BOOL, [PTR]))
    (context,) = b.arguments
    count = CONTEXT.load(b, context, "locks")
    at_once, true = (CONTEXT.load(b, context, name) for name in ("at_once", "true"))
    with loop(b, 0, count, carried=[b.constant(INT64, 0)]) as each:
        (held,) = each.carried
        go_on, attempt, after = b.new_block("go_on"), b.new_block("attempt"), b.new_block("after")
        b.jump(go_on)
        b.begin(go_on)
        b.branch(b.eq(held, each.index), attempt, after)
        b.begin(attempt)
        answer = b.call("phintys_acquire_lock", PTR, [context, each.index, at_once])
        b.call("Py_DecRef", VOID, [answer])  # with these arguments, it never raises
        is_held = b.eq(answer, true)
        free, busy, done = b.new_block("free"), b.new_block("busy"), b.new_block("done")
        b.branch(is_held, free, busy)
        b.begin(free)
        b.jump(done)
        b.begin(busy)
        got = b.call("phintys_wait_for_lock", INT64, [context, each.index])
        b.jump(done)
        b.begin(done)
        one = b.phi(INT64)
        one.add(b.constant(INT64, 1), free)
        one.add(got, busy)
        more = held + one.value
        last = b.block
        b.jump(after)
        b.begin(after)
        phi = b.phi(INT64)
        phi.add(held, go_on)
        phi.add(more, last)
        each.next(phi.value)
    (held,) = each.results
    is_complete = b.eq(held, count)
    with when(b, ~is_complete):
        b.call("phintys_release_locks", VOID, [context, held])
    b.ret(is_complete)

    b = Builder(module.function("phintys_unlock", VOID, [PTR]))
    (context,) = b.arguments
    b.call("phintys_release_locks", VOID, [context, CONTEXT.load(b, context, "locks")])
    b.ret()


def _item(b: Builder, context: Value, table: str, number: Value) -> Value:
    return b.load(PTR, b.offset(CONTEXT.load(b, context, table), number, PTR))


def _emit_acquire(module: Module) -> None:
    """``acquire_lock(context, number, arguments)``: what ``acquire`` of a lock returns."""
    parameters = [PTR, INT64, PTR]
    b = Builder(module.function("phintys_acquire_lock", PTR, parameters, linkage="internal"))
    context, number, arguments = b.arguments
    direct = CONTEXT.load(b, context, "acquire_directly")
    directly, otherwise = b.new_block("directly"), b.new_block("otherwise")
    b.branch(not_null(b, direct), directly, otherwise)
    b.begin(directly)
    lock = _item(b, context, "lock_objects", number)
    b.ret(call_pointer(b, direct, PTR, [lock, arguments, null(b)]))
    b.begin(otherwise)
    acquire = _item(b, context, "acquire", number)
    b.ret(b.call("PyObject_Call", PTR, [acquire, arguments, null(b)]))


def _emit_wait(module: Module) -> None:
    """``wait_for_lock(context, number)``: acquire a lock that is not free; return 1, else 0.

    Now and then, Python code looks for a deadlock. It raises an error if it finds one.
    """
    b = Builder(module.function("phintys_wait_for_lock", INT64, [PTR, INT64], linkage="internal"))
    context, number = b.arguments
    check = _item(b, context, "check", number)
    wait = b.slot(PTR)
    b.store(null(b), wait)
    attempt, look, done = b.new_block("attempt"), b.new_block("look"), b.new_block("done")
    b.jump(attempt)
    b.begin(attempt)
    soon = CONTEXT.load(b, context, "soon")
    answer = b.call("phintys_acquire_lock", PTR, [context, number, soon])
    _drop(b, answer)
    is_held = b.eq(answer, CONTEXT.load(b, context, "true"))
    tried = b.block
    b.branch(is_held | is_null(b, answer), done, look)
    b.begin(look)
    before = b.load(PTR, wait)
    count = b.convert(not_null(b, before), INT64)
    record = b.call("PyObject_Vectorcall", PTR, [check, wait, count, null(b)])
    _drop(b, before)
    b.store(record, wait)
    looked = b.block
    b.branch(not_null(b, record), attempt, done)
    b.begin(done)
    got = b.phi(BOOL)
    got.add(is_held, tried)
    got.add(b.constant(BOOL, 0), looked)
    _drop(b, b.load(PTR, wait))
    b.ret(b.convert(got.value, INT64))


def _emit_release(module: Module) -> None:
    """``release_locks(context, count)``: release ``count`` locks, the last one first.

    A pending exception is saved meanwhile.
    """
    name = "phintys_release_locks"
    b = Builder(module.function(name, VOID, [PTR, INT64], linkage="internal"))
    context, count = b.arguments
    release = CONTEXT.load(b, context, "release")
    kind, value, trace = (b.slot(PTR) for _ in range(3))
    is_pending = not_null(b, b.call("PyErr_Occurred", PTR, []))
    with when(b, is_pending):
        b.call("PyErr_Fetch", VOID, [kind, value, trace])
    with loop(b, 0, count) as each:
        function = b.load(PTR, b.offset(release, count - 1 - each.index, PTR))
        answer = _call_without_arguments(b, function)
        with when(b, is_null(b, answer)):  # the lock is not held: nothing can be done about it
            b.call("PyErr_WriteUnraisable", VOID, [function])
        _drop(b, answer)
    with when(b, is_pending):
        b.call("PyErr_Restore", VOID, [b.load(PTR, one) for one in (kind, value, trace)])
    b.ret()
