"""What native code and Python tell each other, as records in memory.

Python writes a CONTEXT for each builtin, and all that it points to; native code reads it. A CALL
belongs to one call and is native code's own.
"""

from __future__ import annotations

from phintys.backends.native.emit.builder import Builder
from phintys.backends.native.emit.types import BOOL, INT32, INT64, PTR, VOID, Type
from phintys.backends.native.emit.values import Value
from phintys.backends.native.runtime.atomics import null
from phintys.backends.native.runtime.record import Record, byte_offset

__all__ = [
    "AXIS",
    "CALL",
    "CALLBACK",
    "CLAIM",
    "CONTEXT",
    "INPUT",
    "OBJECT",
    "PHASE_ALONE",
    "PHASE_END",
    "PHASE_RUN",
    "PLACE",
    "PLACE_COPY",
    "PLACE_INPUT",
    "PLACE_ITSELF",
    "PLACE_OBJECT",
    "PROCESS",
    "SERVICES",
    "element",
    "is_null",
    "not_null",
    "zero",
]

CONTEXT = Record.packed(
    process=PTR,  # PROCESS
    main=PTR,  # i32 run(ptr frame), or the function that runs it on trial
    on_trial=PTR,  # i32 run(ptr frame), compiled quickly
    patience=INT64,  # nanoseconds of calls after which it is worth compiling well
    improve=PTR,  # improve() sees to that
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
    only_object=INT64,  # the number of the object that is all there is to return; -1: otherwise
    updates=INT64,  # how many cells get new values
    updated_cells=PTR,  # the address of a list of length 1, for each
    locks=INT64,  # how many locks are held during a call with updates
    acquire=PTR,  # acquire() and release() of each, builtins that run no Python code
    release=PTR,
    callbacks=PTR,  # CALLBACK for each
    claims=PTR,  # CLAIM for each
    end=PTR,  # i32 finish(ptr frame), called when all else went well; null if there is none
    slow=PTR,  # slow(*args, **kwargs) takes calls that are unusual
    failed=PTR,  # failed(address of the frame, *inputs) raises the error
    start=PTR,  # start() returns what callbacks of one call share
    callback=PTR,  # callback(shared, number, *inputs) returns a tuple, see CALLBACK
    finish=PTR,  # finish(shared) takes it back
    threads=PTR,  # threads() returns how many there may be; null if nothing runs in parallel
)
"""All that is known of a program."""

INPUT = Record.packed(
    dtype=PTR,  # the dtype object; null takes any object
    ndim=INT64,
    pointer=INT64,  # where in the frame the address of the data goes
    axes=PTR,  # AXIS for each
    itemsize=INT64,
)
AXIS = Record.packed(length=INT64, target=INT64)
"""The only length that is taken (-1: any), and where in the frame it goes."""

OBJECT = Record.packed(dtype=PTR, ndim=INT64, itemsize=INT64)
"""An array that a call makes."""

PLACE = Record.packed(kind=INT64, value=PTR, record=INT64)
"""Where a value is: an object of the call or an input, with its number; an object itself; or memory
of the program, of which a copy is made, described by an OBJECT and a record in the frame."""

PLACE_OBJECT, PLACE_INPUT, PLACE_ITSELF, PLACE_COPY = range(4)

CLAIM = Record.packed(
    input=INT64,  # the number of the input
    object=INT64,  # the number of the object of the call that takes its place
    is_shared=INT64,  # 0: the caller lets it be overwritten
    is_long=INT64,  # 0: writing takes no longer than the bytes tell
    is_kept=INT64,  # 0: whatever is there will do, if it is not the input itself
    cell=PTR,  # of a shared value: the list of length 1 that keeps it; null if it is not known
)
"""An array of the call that begins as an input."""

CALLBACK = Record.packed(
    label=PTR,  # its number, as an object
    inputs=INT64,
    input_places=PTR,  # PLACE for each
    outputs=INT64,
    output_objects=PTR,  # the number of the object, for each
    output_inputs=PTR,  # INPUT for each
)
"""An Op's Python code. It returns its outputs; after them, if some are not as native code takes
them, all of them in such a form. The latter are objects of the call too, each next to the output.
"""

SERVICES: dict[str, tuple[Type, tuple[Type, ...]]] = {
    "acquire": (PTR, (INT64,)),
    "failure": (VOID, (PTR, PTR, INT64)),
    "large_array": (PTR, (PTR, PTR, PTR, INT64)),
    "lock": (BOOL, (PTR,)),
    "outcome": (PTR, (PTR,)),
    "parallel_for": (INT32, (PTR, PTR, PTR, INT64, INT64)),
    "regain": (VOID, (PTR,)),
    "release": (VOID, (PTR,)),
    "release_chain": (VOID, (PTR,)),
    "unlock": (VOID, (PTR,)),
    "work": (VOID, (PTR, INT64)),
}
"""Functions that few calls need, with what they return and take. They are compiled when a program
first needs one of them."""

PROCESS = Record.packed(
    array_type=PTR,  # numpy.ndarray
    handler=PTR,  # NumPy's handler of memory for large arrays; null if there is none
    large=INT64,  # bytes from which an array is large
    release_gil=INT64,  # nanoseconds of work from which the GIL is released
    use_threads=INT64,  # nanoseconds of work from which threads are used
    main=INT64,  # the main thread, the only one in which Python runs handlers of signals
    prepare_services=PTR,  # compiles them
    prepare_threads=PTR,  # and those that run in parallel
    **dict.fromkeys(SERVICES, PTR),  # their addresses; null before they are compiled
)
"""What holds for the whole process."""

CALL = Record.packed(
    context=PTR,
    frame=PTR,
    inputs=PTR,  # the objects
    objects=PTR,
    shared=PTR,  # what callbacks share
    thread_state=PTR,  # not null while the GIL is released
    arena=PTR,  # first of the blocks of memory that the call has taken
    threads=INT64,  # how many there may be; 0: not asked yet
    interrupted=INT64,  # 1: an exception came while the program was running
    error_kind=PTR,  # and is kept here until native code has been left
    error_value=PTR,
    error_trace=PTR,
    polled=INT64,  # when signals were looked for last; 0: not yet
    phase=INT64,  # PHASE_RUN ...
)
"""One call, on the stack of the entry."""


PHASE_RUN, PHASE_END, PHASE_ALONE = range(3)
"""Where a call is: at its work, at its end, in which nothing may fail, or at an end that overwrites
shared values: nobody else may run meanwhile."""


# ---- writing code that reads them --------------------------------------------------------------


def element(b: Builder, base: Value, number: Value, record: Record) -> Value:
    """Return the address of one of several records that lie side by side."""
    return byte_offset(b, base, number * record.size)


def is_null(b: Builder, pointer: Value) -> Value:
    """Whether a pointer is null."""
    return b.compare("eq", pointer, null(b))


def not_null(b: Builder, pointer: Value) -> Value:
    """Whether a pointer is not null."""
    return b.compare("ne", pointer, null(b))


def zero(b: Builder) -> Value:
    """Return the number 0."""
    return b.constant(INT64, 0)
