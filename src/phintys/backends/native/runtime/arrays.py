"""Arrays in native code: checking input arrays and creating output arrays."""

from __future__ import annotations

from phintys.backends.native.assembler.atomics import null
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import loop
from phintys.backends.native.assembler.module import Module
from phintys.backends.native.assembler.records import byte_offset
from phintys.backends.native.assembler.types import BOOL, FLOAT64, INT32, INT64, PTR, VOID
from phintys.backends.native.assembler.values import Value
from phintys.backends.native.runtime.capi import (
    ALIGNED,
    C_CONTIGUOUS,
    NUMBER_AT,
    OWNDATA,
    WRITEABLE,
    CApi,
)
from phintys.backends.native.runtime.protocol import (
    AXIS,
    CALL,
    CONTEXT,
    INPUT,
    OBJECT,
    PROCESS,
    element,
    is_null,
    not_null,
)

_FLAGS = ALIGNED | C_CONTIGUOUS


def emit_take(module: Module, api: CApi) -> None:
    """``take(process, input, object, frame, place)``: check an array, and store where it is.

    Returns whether native code accepts it: exactly an ndarray, with the expected dtype, rank and
    known lengths, aligned and contiguous; or a number, where numbers are accepted. The value of an
    integer of Python, which has a form of its own, is stored at the place.
    """
    array = api.array
    b = Builder(module.function("phintys_take", BOOL, [PTR] * 5, linkage="internal"))
    state, record, thing, frame, place = b.arguments
    names = ("exact", "typed", "axes", "axis", "fits", "note", "other", "good", "bad")
    exact, typed, axes, axis, fits, note, other, good, bad = map(b.new_block, names)
    dtype = INPUT.load(b, record, "dtype")
    b.branch(is_null(b, dtype), good, exact)

    b.begin(exact)
    type_ = array.load(b, thing, "type")
    b.branch(b.compare("eq", type_, PROCESS.load(b, state, "array_type")), typed, other)

    b.begin(other)
    _take_number(b, record, type_, thing, frame, place)

    b.begin(typed)
    same = b.compare("eq", array.load(b, thing, "descr"), dtype)
    flags = array.load(b, thing, "flags") & _FLAGS
    ndim = INPUT.load(b, record, "ndim")
    rank = b.convert(array.load(b, thing, "ndim"), INT64)
    lengths, wanted = array.load(b, thing, "dimensions"), INPUT.load(b, record, "axes")
    b.branch(same & b.eq(flags, _FLAGS) & b.eq(rank, ndim), axes, bad)

    b.begin(axes)
    index = b.phi(INT64)
    index.add(b.constant(INT64, 0), typed)
    b.branch(index.value < ndim, axis, note)
    b.begin(axis)
    length = b.load(INT64, b.offset(lengths, index.value, INT64))
    one = element(b, wanted, index.value, AXIS)
    only = AXIS.load(b, one, "length")
    b.branch(b.eq(only, length) | (only < 0), fits, bad)
    b.begin(fits)
    b.store(length, byte_offset(b, frame, AXIS.load(b, one, "target")))
    index.add(index.value + 1, fits)
    b.jump(axes)

    b.begin(note)
    target = byte_offset(b, frame, INPUT.load(b, record, "pointer"))
    b.store(array.load(b, thing, "data"), target)
    b.jump(good)
    b.begin(good)
    b.ret(b.constant(BOOL, 1))
    b.begin(bad)
    b.ret(b.constant(BOOL, 0))


def _take_number(
    b: Builder, record: Value, type_: Value, thing: Value, frame: Value, place: Value
) -> None:
    """End ``take`` for what is not an array.

    Types are not null, so they are not equal to those that a record lacks.
    """
    names = ("same", "unlike", "integer", "doubtful", "large", "exact", "real", "good", "bad")
    same, unlike, integer, doubtful, large, exact, real, good, bad = map(b.new_block, names)
    target = byte_offset(b, frame, INPUT.load(b, record, "pointer"))
    is_scalar = b.compare("eq", type_, INPUT.load(b, record, "scalar"))
    is_number = b.compare("eq", type_, INPUT.load(b, record, "number"))
    b.branch(is_scalar | is_number, same, unlike)
    b.begin(same)
    b.store(byte_offset(b, thing, NUMBER_AT), target)
    b.jump(good)

    b.begin(unlike)
    b.branch(b.compare("eq", type_, INPUT.load(b, record, "integer")), integer, bad)
    b.begin(integer)
    value = b.call("PyLong_AsLongLong", INT64, [thing])
    b.branch(b.eq(value, -1), doubtful, exact)
    b.begin(doubtful)
    b.branch(is_null(b, b.call("PyErr_Occurred", PTR, [])), exact, large)
    b.begin(large)
    b.call("PyErr_Clear", VOID, [])
    b.jump(bad)
    b.begin(exact)
    b.store(value, place)
    b.store(place, target)
    b.branch(b.eq(INPUT.load(b, record, "converts"), 0), good, real)
    b.begin(real)
    b.store(b.convert(value, FLOAT64), place)
    b.jump(good)

    b.begin(good)
    b.ret(b.constant(BOOL, 1))
    b.begin(bad)
    b.ret(b.constant(BOOL, 0))


def emit_make_array(module: Module) -> None:
    """``make_array(call, object, lengths)``: a new array, in recycled memory if it is large."""
    b = Builder(module.function("phintys_make_array", PTR, [PTR] * 3, linkage="internal"))
    call, record, lengths = b.arguments
    process = CONTEXT.load(b, CALL.load(b, call, "context"), "process")
    ndim = OBJECT.load(b, record, "ndim")
    large, small = b.new_block("large"), b.new_block("small")
    start = [OBJECT.load(b, record, "itemsize"), b.constant(BOOL, 0)]
    with loop(b, 0, ndim, carried=start) as axes:
        size, is_wrong = axes.carried
        length = b.load(INT64, b.offset(lengths, axes.index, INT64))
        product, overflows = b.checked("mul", size, length)
        axes.next(product, is_wrong | overflows | (length < 0))
    size, is_wrong = axes.results
    is_large = b.le(PROCESS.load(b, process, "large"), size) & ~is_wrong
    b.branch(is_large, large, small)

    b.begin(small)
    # NumPy raises if lengths are negative, or if the array would be too large.
    b.ret(empty_array(b, record, lengths))
    b.begin(large)
    b.ret(b.call("phintys_large_array", PTR, [call, record, lengths, size]))


def empty_array(b: Builder, record: Value, lengths: Value) -> Value:
    """Return a new array in memory allocated by NumPy."""
    dtype = OBJECT.load(b, record, "dtype")
    b.call("Py_IncRef", VOID, [dtype])
    rank = b.convert(OBJECT.load(b, record, "ndim"), INT32)
    return b.call("PyArray_Empty", PTR, [rank, lengths, dtype, b.constant(INT32, 0)])


def emit_large_array(module: Module, api: CApi) -> None:
    """``large_array(call, object, lengths, bytes)``: an array in recycled memory.

    It owns that memory and releases it through its handler, as NumPy's arrays do.
    """
    b = Builder(module.function("phintys_large_array", PTR, [PTR, PTR, PTR, INT64]))
    call, record, lengths, size = b.arguments
    process = CONTEXT.load(b, CALL.load(b, call, "context"), "process")
    names = ("got", "none", "made", "failed")
    got, none, made, failed = (b.new_block(name) for name in names)
    memory = b.call("phintys_acquire", PTR, [size])
    b.branch(not_null(b, memory), got, none)
    b.begin(none)
    b.ret(b.call("PyErr_NoMemory", PTR, []))

    b.begin(got)
    dtype = OBJECT.load(b, record, "dtype")
    b.call("Py_IncRef", VOID, [dtype])
    rank = b.convert(OBJECT.load(b, record, "ndim"), INT32)
    type_ = PROCESS.load(b, process, "array_type")
    flags = b.constant(INT32, ALIGNED | C_CONTIGUOUS | WRITEABLE)
    operands = [type_, dtype, rank, lengths, null(b), memory, flags, null(b)]
    array = b.call("PyArray_NewFromDescr", PTR, operands)
    b.branch(not_null(b, array), made, failed)
    b.begin(failed)
    b.call("phintys_release", VOID, [memory])
    b.ret(null(b))

    b.begin(made)
    handler = PROCESS.load(b, process, "handler")
    b.call("Py_IncRef", VOID, [handler])
    api.array.store(b, array, "handler", handler)
    api.array.store(b, array, "flags", api.array.load(b, array, "flags") | OWNDATA)
    b.ret(array)
