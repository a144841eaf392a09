"""The way into native code: a builtin function that checks its arguments itself.

One function, ``phintys_entry``, serves all programs. What is different between them is data: a
context, found through the builtin's ``self``, with the address of the program's main function, what
each argument must be, where the main function wants its address and lengths, and what is returned.

An array of exactly the right type, aligned and contiguous, is taken as it is. Anything else sends the
whole call to a Python function, the slow path, before any work is done.

While a program runs, it calls the functions that :mod:`~phintys.backends.native.emit.frame` lists:
for new arrays, memory, Ops in Python, and threads. They get the address of what belongs to this one
call, so any number of calls may run at once, and inside one another.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from phintys.backends.native.emit.builder import Builder
from phintys.backends.native.emit.control import loop, when
from phintys.backends.native.emit.frame import CONSTANTS, GRAIN_NANOSECONDS, STATE, STATUS
from phintys.backends.native.emit.module import Module
from phintys.backends.native.emit.types import BOOL, INT32, INT64, PTR, VOID
from phintys.backends.native.emit.values import Value
from phintys.backends.native.runtime.atomics import call_pointer, null
from phintys.backends.native.runtime.capi import (
    ALIGNED,
    C_CONTIGUOUS,
    OWNDATA,
    WRITEABLE,
    CApi,
)
from phintys.backends.native.runtime.record import Record, byte_offset

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = [
    "AXIS",
    "CALLBACK",
    "CONTEXT",
    "INPUT",
    "MACHINE_STATE",
    "OBJECT",
    "PLACE",
    "emit_entry",
]

# ---- what native code reads, and Python writes -----------------------------------------------------

CONTEXT = Record.packed(
    main=PTR,  # i32 run(ptr frame)
    frame_bytes=INT64,
    constants=PTR,  # the table of addresses that the program wants
    explicit=INT64,  # how many inputs are arguments
    hidden=INT64,  # and how many are read from cells: shared variables
    inputs=PTR,  # INPUT for each
    cells=PTR,  # address of a list of length 1, for each hidden input
    objects=INT64,  # how many objects a call makes
    object_records=PTR,  # OBJECT for each
    returned=INT64,  # how many values are returned
    places=PTR,  # PLACE for each, then for each update
    returns_list=INT64,  # 0: the first value is returned itself
    updates=INT64,  # how many cells get new values
    updated_cells=PTR,  # the address of a list of length 1, for each
    lock=PTR,  # lock() and unlock() around a call with updates; null if there are none
    unlock=PTR,
    callbacks=PTR,  # CALLBACK for each
    slow=PTR,  # slow(*args, **kwargs) takes calls that are unusual
    failed=PTR,  # failed(status, *inputs) raises the error
    start=PTR,  # start() returns what callbacks of one call share
    callback=PTR,  # callback(shared, number, *inputs) returns a tuple, see CALLBACK
    finish=PTR,  # finish(shared) takes it back
    threads=PTR,  # threads() returns how many there may be; null if nothing runs in parallel
    keeps_gil=INT64,
)
"""All that is known of a program."""

INPUT = Record.packed(
    dtype=PTR,  # the dtype object; null takes any object
    ndim=INT64,
    pointer=INT64,  # where in the frame the address of the data goes; -1 for nowhere
    axes=PTR,  # AXIS for each
)
AXIS = Record.packed(length=INT64, target=INT64)
"""The only length that is taken (-1: any), and where in the frame it goes (-1: nowhere)."""

OBJECT = Record.packed(dtype=PTR, ndim=INT64, itemsize=INT64)
"""An array that a call makes."""

PLACE = Record.packed(kind=INT64, value=PTR, record=INT64)
"""Where a value is: an object of the call or an input, with its number; an object itself; or memory
of the program, of which a copy is made, described by an OBJECT and a record in the frame."""

PLACE_OBJECT, PLACE_INPUT, PLACE_ITSELF, PLACE_COPY = range(4)

CALLBACK = Record.packed(
    label=PTR,  # its number, as an object
    inputs=INT64,
    input_places=PTR,  # PLACE for each
    outputs=INT64,
    output_objects=PTR,  # the number of the object, for each
    output_inputs=PTR,  # INPUT for each
)
"""An Op's Python code. It returns its outputs; after them, if some are not as native code takes them,
all of them in such a form. The latter are objects of the call too, each next to the output."""

MACHINE_STATE = Record.packed(
    array_type=PTR,  # numpy.ndarray
    handler=PTR,  # NumPy's handler of memory for large arrays; null if there is none
    large=INT64,  # bytes from which an array is large
    release_gil=INT64,  # nanoseconds of work from which the GIL is released
    use_threads=INT64,  # nanoseconds of work from which threads are used
)
"""What holds for the whole process."""

_CALL = Record.packed(
    context=PTR,
    frame=PTR,
    inputs=PTR,  # the objects
    objects=PTR,
    shared=PTR,  # what callbacks share
    thread_state=PTR,  # not null while the GIL is released
    arena=PTR,  # first of the blocks of memory that the call has taken
    threads=INT64,
)
"""One call, on the stack."""

_STATE = "phintys_state"
_FRAME_ON_STACK = 16384
_FLAGS = ALIGNED | C_CONTIGUOUS


def emit_entry(module: Module, api: CApi) -> None:
    """Write the entry and what programs call."""
    module.memory(_STATE, MACHINE_STATE.size)
    writer = _Entry(module, api)
    writer.emit_take()
    writer.emit_make_array()
    writer.emit_new_array()
    writer.emit_arena()
    writer.emit_work()
    writer.emit_parallel_for()
    writer.emit_value()
    writer.emit_callback()
    writer.emit_finish()
    writer.emit_entry()


def _state(b: Builder) -> Value:
    return Value(b, PTR, f"@{_STATE}")


def _is_null(b: Builder, pointer: Value) -> Value:
    return b.compare("eq", pointer, null(b))


def _not_null(b: Builder, pointer: Value) -> Value:
    return b.compare("ne", pointer, null(b))


def _element(b: Builder, base: Value, number: Value, record: Record) -> Value:
    """Return the address of one of several records that lie side by side."""
    return byte_offset(b, base, number * record.size)


def _room(b: Builder, words: Value) -> Value:
    """Return the address of memory on the stack; once a call, not in loops."""
    return b.write(PTR, f"alloca i64, {words.typed}, align 64")


def _slot(b: Builder, frame: Value, number: int) -> Value:
    return b.offset(frame, number, INT64)


class _Entry:
    """Writes the functions; they need to know where objects keep their fields."""

    def __init__(self, module: Module, api: CApi) -> None:
        self.module = module
        self.array = api.array
        self.list_items = api.list_items

    def _internal(self, name: str, returns: object, parameters: list[object]) -> Builder:
        function = self.module.function(
            name,
            returns,  # pyright: ignore[reportArgumentType]
            parameters,  # pyright: ignore[reportArgumentType]
            linkage="internal",
            attributes="noinline",
        )
        return Builder(function)

    # ---- arguments

    def emit_take(self) -> None:
        """``take(input, object, frame)``: check an array and note its address and lengths."""
        b = self._internal("phintys_take", BOOL, [PTR, PTR, PTR])
        record, thing, frame = b.arguments
        array, typed, sized, axes, good, bad = (
            b.new_block(name) for name in ("array", "typed", "sized", "axes", "good", "bad")
        )
        dtype = INPUT.load(b, record, "dtype")
        b.branch(_is_null(b, dtype), good, array)
        b.begin(array)
        exact = self.array.load(b, thing, "type")
        wanted = MACHINE_STATE.load(b, _state(b), "array_type")
        b.branch(b.compare("eq", exact, wanted), typed, bad)
        b.begin(typed)
        same = b.compare("eq", self.array.load(b, thing, "descr"), dtype)
        flags = self.array.load(b, thing, "flags") & _FLAGS
        ndim = INPUT.load(b, record, "ndim")
        rank = b.convert(self.array.load(b, thing, "ndim"), INT64)
        b.branch(same & b.eq(flags, _FLAGS) & b.eq(rank, ndim), sized, bad)
        b.begin(sized)
        lengths = self.array.load(b, thing, "dimensions")
        first = INPUT.load(b, record, "axes")
        before = b.block
        following = b.new_block("following")
        step = b.new_block("step")
        b.jump(following)
        b.begin(following)
        index = b.phi(INT64)
        index.add(b.constant(INT64, 0), before)
        b.branch(index.value < ndim, axes, step)
        b.begin(axes)
        axis = _element(b, first, index.value, AXIS)
        length = b.load(INT64, b.offset(lengths, index.value, INT64))
        only, target = AXIS.load(b, axis, "length"), AXIS.load(b, axis, "target")
        with when(b, b.le(0, target)):
            b.store(length, byte_offset(b, frame, target))
        index.add(index.value + 1, b.block)
        b.branch(b.eq(only, length) | (only < 0), following, bad)
        b.begin(step)
        pointer = INPUT.load(b, record, "pointer")
        with when(b, b.le(0, pointer)):
            b.store(self.array.load(b, thing, "data"), byte_offset(b, frame, pointer))
        b.jump(good)
        b.begin(good)
        b.ret(b.constant(BOOL, 1))
        b.begin(bad)
        b.ret(b.constant(BOOL, 0))

    # ---- what programs call

    @contextmanager
    def _with_gil(self, b: Builder, call: Value) -> Generator[None]:
        """Write what needs the GIL, which may be released at this point."""
        state = _CALL.load(b, call, "thread_state")
        with when(b, _not_null(b, state)):
            b.call("PyEval_RestoreThread", VOID, [state])
        yield
        with when(b, _not_null(b, state)):
            _CALL.store(b, call, "thread_state", b.call("PyEval_SaveThread", PTR, []))

    def emit_new_array(self) -> None:
        """``new_array(call, number, lengths)``: make an array, and return its data's address."""
        b = Builder(self.module.function("phintys_new_array", PTR, [PTR, INT64, PTR]))
        call, number, lengths = b.arguments
        context = _CALL.load(b, call, "context")
        record = _element(b, CONTEXT.load(b, context, "object_records"), number, OBJECT)
        place = b.offset(_CALL.load(b, call, "objects"), number, PTR)
        with self._with_gil(b, call):
            made = b.call("phintys_make_array", PTR, [record, lengths])
            self._hold(b, made, place)
        got, failed = b.new_block("got"), b.new_block("failed")
        b.branch(_not_null(b, made), got, failed)
        b.begin(got)
        b.ret(self.array.load(b, made, "data"))
        b.begin(failed)
        b.ret(null(b))

    def emit_make_array(self) -> None:
        """``make_array(object, lengths)``: an array, its memory recycled if it is large."""
        b = self._internal("phintys_make_array", PTR, [PTR, PTR])
        record, lengths = b.arguments
        dtype, ndim = OBJECT.load(b, record, "dtype"), OBJECT.load(b, record, "ndim")
        large, small = b.new_block("large"), b.new_block("small")
        with loop(b, 0, ndim, carried=[OBJECT.load(b, record, "itemsize"), _false(b)]) as axes:
            total, overflow = axes.carried
            length = b.load(INT64, b.offset(lengths, axes.index, INT64))
            product, more = _checked_product(b, total, length)
            axes.next(product, overflow | more | (length < 0))
        size, overflow = axes.results
        has_handler = _not_null(b, MACHINE_STATE.load(b, _state(b), "handler"))
        is_large = b.le(MACHINE_STATE.load(b, _state(b), "large"), size)
        b.branch(is_large & has_handler & ~overflow, large, small)

        b.begin(small)
        # NumPy raises where the array would be too large, or lengths are negative.
        b.call("Py_IncRef", VOID, [dtype])
        rank = b.convert(ndim, INT32)
        b.ret(b.call("PyArray_Empty", PTR, [rank, lengths, dtype, b.constant(INT32, 0)]))

        b.begin(large)
        self._large_array(b, dtype, ndim, lengths, size)

    def _large_array(
        self, b: Builder, dtype: Value, ndim: Value, lengths: Value, size: Value
    ) -> None:
        memory = b.call("phintys_acquire", PTR, [size])
        got, none = b.new_block("got"), b.new_block("none")
        b.branch(_not_null(b, memory), got, none)
        b.begin(none)
        b.ret(b.call("PyErr_NoMemory", PTR, []))
        b.begin(got)
        b.call("Py_IncRef", VOID, [dtype])
        flags = b.constant(INT32, ALIGNED | C_CONTIGUOUS | WRITEABLE)
        array = b.call(
            "PyArray_NewFromDescr",
            PTR,
            [
                MACHINE_STATE.load(b, _state(b), "array_type"),
                dtype,
                b.convert(ndim, INT32),
                lengths,
                null(b),
                memory,
                flags,
                null(b),
            ],
        )
        made, failed = b.new_block("made"), b.new_block("failed")
        b.branch(_not_null(b, array), made, failed)
        b.begin(failed)
        b.call("phintys_release", VOID, [memory])
        b.ret(null(b))
        b.begin(made)
        # The array owns its memory from here on, and gives it back to the handler.
        handler = MACHINE_STATE.load(b, _state(b), "handler")
        b.call("Py_IncRef", VOID, [handler])
        self.array.store(b, array, "handler", handler)
        flags = self.array.load(b, array, "flags") | OWNDATA
        self.array.store(b, array, "flags", flags)
        b.ret(array)

    def emit_arena(self) -> None:
        """``arena(call, group, bytes)``: memory for the rest of the call, aligned to 64 bytes."""
        b = Builder(self.module.function("phintys_arena", PTR, [PTR, INT64, INT64]))
        call, _, size = b.arguments
        chain = _CALL.pointer(b, call, "arena")
        b.ret(b.call("phintys_acquire_chained", PTR, [chain, size]))

    def emit_work(self) -> None:
        """``work(call, nanoseconds)``: decide on threads, and on the GIL."""
        b = Builder(self.module.function("phintys_work", VOID, [PTR, INT64]))
        call, amount = b.arguments
        context = _CALL.load(b, call, "context")
        ask = CONTEXT.load(b, context, "threads")
        enough = b.le(MACHINE_STATE.load(b, _state(b), "use_threads"), amount)
        held = _is_null(b, _CALL.load(b, call, "thread_state"))
        with when(b, enough & held & _not_null(b, ask)):
            answer = b.call("PyObject_Vectorcall", PTR, [ask, null(b), _zero(b), null(b)])
            with when(b, _not_null(b, answer)):
                _CALL.store(b, call, "threads", b.call("PyLong_AsLongLong", INT64, [answer]))
                b.call("Py_DecRef", VOID, [answer])
        long = b.le(MACHINE_STATE.load(b, _state(b), "release_gil"), amount)
        allowed = b.eq(CONTEXT.load(b, context, "keeps_gil"), 0)
        with when(b, long & held & allowed):
            _CALL.store(b, call, "thread_state", b.call("PyEval_SaveThread", PTR, []))
        b.ret()

    def emit_parallel_for(self) -> None:
        """``parallel_for(call, kernel, arguments, count, grain)``."""
        parameters = [PTR, PTR, PTR, INT64, INT64]
        b = Builder(self.module.function("phintys_parallel_for", VOID, parameters))
        call, kernel, arguments, count, grain = b.arguments
        amount = b.binary("sdiv", count, grain) * GRAIN_NANOSECONDS
        b.call("phintys_work", VOID, [call, amount])
        threads = _CALL.load(b, call, "threads")
        b.call("phintys_run_parallel", VOID, [kernel, arguments, count, grain, threads])
        b.ret()

    # ---- callbacks

    def emit_value(self) -> None:
        """``value(place, call)``: the object at a place, a new reference."""
        b = self._internal("phintys_value", PTR, [PTR, PTR])
        place, call = b.arguments
        itself, other, numbered, copied = (
            b.new_block(name) for name in ("itself", "other", "numbered", "copied")
        )
        kind, value = PLACE.load(b, place, "kind"), PLACE.load(b, place, "value")
        b.branch(b.eq(kind, PLACE_ITSELF), itself, other)
        b.begin(itself)
        b.call("Py_IncRef", VOID, [value])
        b.ret(value)

        b.begin(other)
        b.branch(b.eq(kind, PLACE_COPY), copied, numbered)
        b.begin(numbered)
        objects, inputs = _CALL.load(b, call, "objects"), _CALL.load(b, call, "inputs")
        base = b.select(b.eq(kind, PLACE_OBJECT), objects, inputs)
        number = b.write(INT64, f"ptrtoint {value.typed} to i64")
        thing = b.load(PTR, b.offset(base, number, PTR))
        b.call("Py_IncRef", VOID, [thing])
        b.ret(thing)

        b.begin(copied)
        record = byte_offset(b, _CALL.load(b, call, "frame"), PLACE.load(b, place, "record"))
        lengths = b.offset(record, 1, INT64)
        made = b.call("phintys_make_array", PTR, [value, lengths])
        with when(b, _not_null(b, made)):
            with loop(
                b, 0, OBJECT.load(b, value, "ndim"), carried=[OBJECT.load(b, value, "itemsize")]
            ) as axes:
                length = b.load(INT64, b.offset(lengths, axes.index, INT64))
                axes.next(axes.carried[0] * length)
            source, target = b.load(PTR, record), self.array.load(b, made, "data")
            b.call("memcpy", PTR, [target, source, axes.results[0]])
        b.ret(made)

    def emit_callback(self) -> None:
        """``callback(call, number)``: let an Op's Python code compute; 0 if all went well."""
        b = Builder(self.module.function("phintys_callback", INT32, [PTR, INT64]))
        call, number = b.arguments
        record = _element(
            b, CONTEXT.load(b, _CALL.load(b, call, "context"), "callbacks"), number, CALLBACK
        )
        count = CALLBACK.load(b, record, "inputs")
        vector = _room(b, count + 2)
        started, run, got, failed = (
            b.new_block(name) for name in ("started", "run", "got", "failed")
        )
        self._start(b, call)
        b.branch(_not_null(b, _CALL.load(b, call, "shared")), started, failed)
        b.begin(started)
        complete = self._collect(b, call, record, vector, count)
        b.branch(complete, run, failed)
        b.begin(run)
        function = CONTEXT.load(b, _CALL.load(b, call, "context"), "callback")
        result = b.call("PyObject_Vectorcall", PTR, [function, vector, count + 2, null(b)])
        with loop(b, 0, count) as each:
            b.call("Py_DecRef", VOID, [b.load(PTR, b.offset(vector, each.index + 2, PTR))])
        b.branch(_not_null(b, result), got, failed)
        b.begin(failed)
        b.ret(b.constant(INT32, 1))
        b.begin(got)
        fits = self._keep_outputs(b, call, record, result)
        b.call("Py_DecRef", VOID, [result])
        b.ret(b.convert(~fits, INT32))

    def _start(self, b: Builder, call: Value) -> None:
        """Make what the callbacks of this call share, before the first of them."""
        with when(b, _is_null(b, _CALL.load(b, call, "shared"))):
            start = CONTEXT.load(b, _CALL.load(b, call, "context"), "start")
            made = b.call("PyObject_Vectorcall", PTR, [start, null(b), _zero(b), null(b)])
            _CALL.store(b, call, "shared", made)

    def _collect(
        self, b: Builder, call: Value, record: Value, vector: Value, count: Value
    ) -> Value:
        """Write ``shared, label, *inputs`` side by side; return whether that worked."""
        b.store(_CALL.load(b, call, "shared"), vector)
        b.store(CALLBACK.load(b, record, "label"), b.offset(vector, 1, PTR))
        places = CALLBACK.load(b, record, "input_places")
        with loop(b, 0, count, carried=[b.constant(BOOL, 1)]) as each:
            place = _element(b, places, each.index, PLACE)
            thing = b.call("phintys_value", PTR, [place, call])
            b.store(thing, b.offset(vector, each.index + 2, PTR))
            each.next(each.carried[0] & _not_null(b, thing))
        (complete,) = each.results
        with when(b, ~complete), loop(b, 0, count) as each:
            thing = b.load(PTR, b.offset(vector, each.index + 2, PTR))
            with when(b, _not_null(b, thing)):
                b.call("Py_DecRef", VOID, [thing])
        return complete

    def _keep_outputs(self, b: Builder, call: Value, record: Value, result: Value) -> Value:
        """Hold the outputs of an Op, and note where they are; return whether they fit."""
        objects, frame = _CALL.load(b, call, "objects"), _CALL.load(b, call, "frame")
        numbers = CALLBACK.load(b, record, "output_objects")
        inputs = CALLBACK.load(b, record, "output_inputs")
        count = CALLBACK.load(b, record, "outputs")
        has_both = b.call("PyTuple_Size", INT64, [result]) > count
        with loop(b, 0, count, carried=[b.constant(BOOL, 1)]) as outputs:
            number = b.load(INT64, b.offset(numbers, outputs.index, INT64))
            place = b.offset(objects, number, PTR)
            self._hold_item(b, result, outputs.index, place)
            with when(b, has_both):
                self._hold_item(b, result, count + outputs.index, b.offset(place, 1, PTR))
            shown = b.load(PTR, b.offset(place, b.convert(has_both, INT64), PTR))
            wanted = _element(b, inputs, outputs.index, INPUT)
            taken = b.call("phintys_take", BOOL, [wanted, shown, frame])
            outputs.next(outputs.carried[0] & taken)
        return outputs.results[0]

    def _hold_item(self, b: Builder, result: Value, number: Value, place: Value) -> None:
        thing = b.call("PyTuple_GetItem", PTR, [result, number])
        b.call("Py_IncRef", VOID, [thing])
        self._hold(b, thing, place)

    @staticmethod
    def _hold(b: Builder, thing: Value, place: Value) -> None:
        """Put an object where the call holds its objects, in place of a former one."""
        former = b.load(PTR, place)
        b.store(thing, place)
        with when(b, _not_null(b, former)):
            b.call("Py_DecRef", VOID, [former])

    # ---- the end of a call

    def emit_finish(self) -> None:
        """``finish(call)``: give back all that the call holds, apart from its inputs."""
        b = self._internal("phintys_finish", VOID, [PTR])
        (call,) = b.arguments
        state = _CALL.load(b, call, "thread_state")
        with when(b, _not_null(b, state)):
            b.call("PyEval_RestoreThread", VOID, [state])
        arena = _CALL.load(b, call, "arena")
        with when(b, _not_null(b, arena)):
            b.call("phintys_release_chain", VOID, [arena])
        b.ret()

    def emit_entry(self) -> None:
        """``entry(self, arguments, count, names)``: what Python calls."""
        b = Builder(self.module.function("phintys_entry", PTR, [PTR, PTR, INT64, PTR]))
        self_, arguments, count, names = b.arguments
        unusual, usual = b.new_block("unusual"), b.new_block("usual")
        context = self.array.load(b, self_, "data")
        explicit = CONTEXT.load(b, context, "explicit")
        b.branch(b.eq(count, explicit) & _is_null(b, names), usual, unusual)

        b.begin(unusual)
        slow = CONTEXT.load(b, context, "slow")
        b.ret(b.call("PyObject_Vectorcall", PTR, [slow, arguments, count, names]))

        b.begin(usual)
        begin, interrupted = b.new_block("begin"), b.new_block("interrupted")
        b.branch(self._locked(b, context), begin, interrupted)
        b.begin(interrupted)
        b.ret(null(b))
        b.begin(begin)
        hidden = CONTEXT.load(b, context, "hidden")
        everything = explicit + hidden
        # One word more in front: the slot that a call of ``failed`` needs for the status.
        vector = _room(b, everything + 1)
        inputs = b.offset(vector, 1, PTR)
        frame = self._frame(b, context)
        self._gather(b, context, arguments, explicit, hidden, inputs)
        fits = self._take_all(b, context, everything, inputs, frame)
        run, reject = b.new_block("run"), b.new_block("reject")
        b.branch(fits, run, reject)

        b.begin(reject)
        self._drop_hidden(b, explicit, hidden, inputs)
        self._free_frame(b, context, frame)
        self._unlock(b, context)
        b.jump(unusual)

        b.begin(run)
        call, objects = self._begin_call(b, context, inputs, frame)
        main = CONTEXT.load(b, context, "main")
        status = call_pointer(b, main, INT32, [frame])
        b.call("phintys_finish", VOID, [call])
        good, failed, done = b.new_block("good"), b.new_block("failed"), b.new_block("done")
        b.branch(b.eq(status, 0), good, failed)

        b.begin(good)
        given = self._returned(b, context, call)
        self._update(b, context, call)
        self._finish_callbacks(b, context, call)
        good_end = b.block
        b.jump(done)

        b.begin(failed)
        reason = b.load(INT64, _slot(b, frame, STATUS))
        self._raise(b, context, reason, vector, everything)
        failed_end = b.block
        b.jump(done)

        b.begin(done)
        result = b.phi(PTR)
        result.add(given, good_end)
        result.add(null(b), failed_end)
        self._drop_objects(b, context, call, objects)
        self._drop_hidden(b, explicit, hidden, inputs)
        self._free_frame(b, context, frame)
        self._unlock(b, context)
        b.ret(result.value)

    def _locked(self, b: Builder, context: Value) -> Value:
        """Take the lock of the cells that are updated, if any; return whether that worked."""
        lock = CONTEXT.load(b, context, "lock")
        attempt, after = b.new_block("attempt"), b.new_block("after")
        before = b.block
        b.branch(_is_null(b, lock), after, attempt)
        b.begin(attempt)
        answer = b.call("PyObject_Vectorcall", PTR, [lock, null(b), _zero(b), null(b)])
        got = _not_null(b, answer)
        with when(b, got):
            b.call("Py_DecRef", VOID, [answer])
        last = b.block
        b.jump(after)
        b.begin(after)
        phi = b.phi(BOOL)
        phi.add(b.constant(BOOL, 1), before)
        phi.add(got, last)
        return phi.value

    def _unlock(self, b: Builder, context: Value) -> None:
        """Let go of the lock, without a word about an error that is on its way."""
        unlock = CONTEXT.load(b, context, "unlock")
        with when(b, _not_null(b, unlock)):
            kind, value, trace = (b.slot(PTR) for _ in range(3))
            b.call("PyErr_Fetch", VOID, [kind, value, trace])
            answer = b.call("PyObject_Vectorcall", PTR, [unlock, null(b), _zero(b), null(b)])
            with when(b, _not_null(b, answer)):
                b.call("Py_DecRef", VOID, [answer])
            b.call("PyErr_Restore", VOID, [b.load(PTR, one) for one in (kind, value, trace)])

    def _update(self, b: Builder, context: Value, call: Value) -> None:
        """Put new values into cells; nothing can fail any more."""
        cells = CONTEXT.load(b, context, "updated_cells")
        first = CONTEXT.load(b, context, "returned")
        places = CONTEXT.load(b, context, "places")
        with loop(b, 0, CONTEXT.load(b, context, "updates")) as each:
            place = _element(b, places, first + each.index, PLACE)
            value = b.call("phintys_value", PTR, [place, call])
            cell = b.load(PTR, b.offset(cells, each.index, PTR))
            b.call("PyList_SetItem", INT32, [cell, _zero(b), value])

    def _frame(self, b: Builder, context: Value) -> Value:
        """Return memory for the frame: on the stack if it is small."""
        size = CONTEXT.load(b, context, "frame_bytes")
        small, large, after = b.new_block("small"), b.new_block("large"), b.new_block("after")
        b.branch(b.le(size, _FRAME_ON_STACK), small, large)
        b.begin(small)
        on_stack = _room(b, size >> 3)
        b.jump(after)
        b.begin(large)
        allocated = b.call("phintys_acquire", PTR, [size])
        b.jump(after)
        b.begin(after)
        phi = b.phi(PTR)
        phi.add(on_stack, small)
        phi.add(allocated, large)
        return phi.value

    def _free_frame(self, b: Builder, context: Value, frame: Value) -> None:
        size = CONTEXT.load(b, context, "frame_bytes")
        with when(b, (size > _FRAME_ON_STACK) & _not_null(b, frame)):
            b.call("phintys_release", VOID, [frame])

    def _gather(
        self,
        b: Builder,
        context: Value,
        arguments: Value,
        explicit: Value,
        hidden: Value,
        inputs: Value,
    ) -> None:
        """Put all inputs side by side; those from cells are held, as others may replace them."""
        with loop(b, 0, explicit) as each:
            b.store(
                b.load(PTR, b.offset(arguments, each.index, PTR)),
                b.offset(inputs, each.index, PTR),
            )
        cells = CONTEXT.load(b, context, "cells")
        with loop(b, 0, hidden) as each:
            cell = b.load(PTR, b.offset(cells, each.index, PTR))
            value = b.load(PTR, b.load(PTR, byte_offset(b, cell, self.list_items)))
            b.call("Py_IncRef", VOID, [value])
            b.store(value, b.offset(inputs, explicit + each.index, PTR))

    def _drop_hidden(self, b: Builder, explicit: Value, hidden: Value, inputs: Value) -> None:
        with loop(b, 0, hidden) as each:
            place = b.offset(inputs, explicit + each.index, PTR)
            b.call("Py_DecRef", VOID, [b.load(PTR, place)])

    def _take_all(
        self, b: Builder, context: Value, count: Value, inputs: Value, frame: Value
    ) -> Value:
        """Return whether all inputs are as the program wants them."""
        records = CONTEXT.load(b, context, "inputs")
        check, each, good, bad, after = (
            b.new_block(name) for name in ("check", "each", "good", "bad", "after")
        )
        before = b.block
        # Without memory for a frame the slow path raises MemoryError sooner or later.
        b.branch(_not_null(b, frame), check, bad)
        b.begin(check)
        index = b.phi(INT64)
        index.add(b.constant(INT64, 0), before)
        b.branch(index.value < count, each, good)
        b.begin(each)
        record = _element(b, records, index.value, INPUT)
        thing = b.load(PTR, b.offset(inputs, index.value, PTR))
        taken = b.call("phintys_take", BOOL, [record, thing, frame])
        index.add(index.value + 1, each)
        b.branch(taken, check, bad)
        b.begin(good)
        b.jump(after)
        b.begin(bad)
        b.jump(after)
        b.begin(after)
        phi = b.phi(BOOL)
        phi.add(b.constant(BOOL, 1), good)
        phi.add(b.constant(BOOL, 0), bad)
        return phi.value

    def _begin_call(
        self, b: Builder, context: Value, inputs: Value, frame: Value
    ) -> tuple[Value, Value]:
        """Return the call, which the frame leads to, and its objects."""
        count = CONTEXT.load(b, context, "objects")
        objects = _room(b, count)
        with loop(b, 0, count) as each:
            b.store(null(b), b.offset(objects, each.index, PTR))
        call = b.slot(INT64, _CALL.size // 8)
        fields = {
            "context": context,
            "frame": frame,
            "inputs": inputs,
            "objects": objects,
            "shared": null(b),
            "thread_state": null(b),
            "arena": null(b),
            "threads": b.constant(INT64, 1),
        }
        for name, value in fields.items():
            _CALL.store(b, call, name, value)
        b.store(call, _slot(b, frame, STATE))
        b.store(_zero(b), _slot(b, frame, STATUS))
        b.store(CONTEXT.load(b, context, "constants"), _slot(b, frame, CONSTANTS))
        return call, objects

    def _returned(self, b: Builder, context: Value, call: Value) -> Value:
        """Return the value of the call, a new reference."""
        places = CONTEXT.load(b, context, "places")
        several, single, after = (b.new_block(name) for name in ("several", "single", "after"))
        b.branch(b.ne(CONTEXT.load(b, context, "returns_list"), 0), several, single)

        b.begin(single)
        thing = b.call("phintys_value", PTR, [places, call])
        single_end = b.block
        b.jump(after)

        b.begin(several)
        count = CONTEXT.load(b, context, "returned")
        made = b.call("PyList_New", PTR, [count])
        with when(b, _not_null(b, made)), loop(b, 0, count) as each:
            place = _element(b, places, each.index, PLACE)
            item = b.call("phintys_value", PTR, [place, call])
            b.call("PyList_SetItem", INT32, [made, each.index, item])
        several_end = b.block
        b.jump(after)

        b.begin(after)
        phi = b.phi(PTR)
        phi.add(thing, single_end)
        phi.add(made, several_end)
        return phi.value

    def _finish_callbacks(self, b: Builder, context: Value, call: Value) -> None:
        shared = _CALL.load(b, call, "shared")
        with when(b, _not_null(b, shared)):
            finish = CONTEXT.load(b, context, "finish")
            vector = b.slot(PTR)
            b.store(shared, vector)
            one = b.constant(INT64, 1)
            answer = b.call("PyObject_Vectorcall", PTR, [finish, vector, one, null(b)])
            with when(b, _not_null(b, answer)):
                b.call("Py_DecRef", VOID, [answer])

    def _raise(
        self, b: Builder, context: Value, status: Value, vector: Value, count: Value
    ) -> None:
        """Let Python find out what went wrong, unless an error is there already."""
        with when(b, _is_null(b, b.call("PyErr_Occurred", PTR, []))):
            number = b.call("PyLong_FromLongLong", PTR, [status])
            b.store(number, vector)
            failed = CONTEXT.load(b, context, "failed")
            answer = b.call("PyObject_Vectorcall", PTR, [failed, vector, count + 1, null(b)])
            with when(b, _not_null(b, answer)):
                b.call("Py_DecRef", VOID, [answer])
            b.call("Py_DecRef", VOID, [number])

    def _drop_objects(self, b: Builder, context: Value, call: Value, objects: Value) -> None:
        with loop(b, 0, CONTEXT.load(b, context, "objects")) as each:
            thing = b.load(PTR, b.offset(objects, each.index, PTR))
            with when(b, _not_null(b, thing)):
                b.call("Py_DecRef", VOID, [thing])
        shared = _CALL.load(b, call, "shared")
        with when(b, _not_null(b, shared)):
            b.call("Py_DecRef", VOID, [shared])


def _zero(b: Builder) -> Value:
    return b.constant(INT64, 0)


def _false(b: Builder) -> Value:
    return b.constant(BOOL, 0)


def _checked_product(b: Builder, x: Value, y: Value) -> tuple[Value, Value]:
    """Return x * y and whether it is out of range."""
    b.module.declare(
        "llvm.smul.with.overflow.i64", "{ i64, i1 } @llvm.smul.with.overflow.i64(i64, i64)"
    )
    pair = b.function.fresh_name()
    b.write_void(
        f"%p{pair} = call {{ i64, i1 }} @llvm.smul.with.overflow.i64({x.typed}, {y.typed})"
    )
    product = b.write(INT64, f"extractvalue {{ i64, i1 }} %p{pair}, 0")
    return product, b.write(BOOL, f"extractvalue {{ i64, i1 }} %p{pair}, 1")
