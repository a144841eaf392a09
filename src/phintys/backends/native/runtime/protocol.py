"""The data that native code and Python exchange, as records in memory.

Python writes a CONTEXT for each builtin, and the records that it points to; native code reads them.
A CALL belongs to one call and is used by native code only.
"""

from __future__ import annotations

from phintys.backends.native.assembler.atomics import null
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.records import Record, byte_offset
from phintys.backends.native.assembler.types import BOOL, INT32, INT64, PTR, VOID, MachineType
from phintys.backends.native.assembler.values import Value

CONTEXT = Record.packed(
    process=PTR,  # PROCESS
    main=PTR,  # i32 run(ptr frame), or the function that runs it on trial
    on_trial=PTR,  # i32 run(ptr frame), compiled at -O0
    patience=INT64,  # nanoseconds of calls after which to recompile
    improve=PTR,  # improve() recompiles
    frame_bytes=INT64,
    constants=PTR,  # the table of addresses that the program uses
    explicit=INT64,  # number of inputs that are arguments
    hidden=INT64,  # number of inputs read from cells: shared variables
    inputs=PTR,  # INPUT for each
    cells=PTR,  # address of a list of length 1, for each hidden input
    objects=INT64,  # number of objects that a call creates
    object_records=PTR,  # OBJECT for each
    returned=INT64,  # number of values that are returned
    places=PTR,  # PLACE for each, then for each update
    returns_list=INT64,  # 0: the first value is returned itself
    only_object=INT64,  # number of the object if it is the only value returned; else -1
    updates=INT64,  # number of cells that get new values
    updated_cells=PTR,  # the address of a list of length 1, for each
    locks=INT64,  # number of locks held during a call with updates
    acquire=PTR,  # acquire(*arguments) and release() of each, builtins that run no Python code
    release=PTR,
    acquire_directly=PTR,  # the C function of acquire, called with one of lock_objects; may be null
    lock_objects=PTR,
    at_once=PTR,  # the arguments for one that is free
    soon=PTR,  # those for one that is not, of which acquire may then return false
    check=PTR,  # check(wait) of each is called when it did; ``wait`` is what it last returned
    true=PTR,  # True
    callbacks=PTR,  # CALLBACK for each
    claims=PTR,  # CLAIM for each
    commit=PTR,  # i32 commit(ptr frame), called last, after success; null if there is none
    slow=PTR,  # slow(*args, **kwargs) handles unusual calls
    failed=PTR,  # failed(address of the frame, *inputs) raises the error
    start=PTR,  # start(address of the call) returns the state shared by the callbacks of a call
    callback=PTR,  # callback(shared, number, *inputs) returns a tuple, see CALLBACK
    finish=PTR,  # finish(shared) releases it
    threads=PTR,  # threads() returns the limit; null if nothing runs in parallel
)
"""The description of a program."""

INPUT = Record.packed(
    dtype=PTR,  # the dtype object; null accepts any object
    ndim=INT64,
    pointer=INT64,  # offset in the frame for the address of the data
    axes=PTR,  # AXIS for each
    itemsize=INT64,
    scalar=PTR,  # the type of NumPy's scalars that are accepted too; null: only arrays are
    number=PTR,  # Python's type of numbers that have the same form, or the same as scalar
    integer=PTR,  # Python's int, if it is accepted
    converts=INT64,  # 1: integers become float64, 0: int64
)
AXIS = Record.packed(length=INT64, target=INT64)
"""The only length that is accepted (-1: any), and the offset in the frame for the length."""

OBJECT = Record.packed(dtype=PTR, ndim=INT64, itemsize=INT64)
"""An array that a call creates."""

PLACE = Record.packed(kind=INT64, value=PTR, record=INT64)
"""The source of a value: an object of the call or an input, with its number; an object itself; or
memory of the program, which is copied, described by an OBJECT and a record in the frame."""

PLACE_OBJECT, PLACE_INPUT, PLACE_ITSELF, PLACE_COPY = range(4)

CLAIM = Record.packed(
    input=INT64,  # the number of the input
    object=INT64,  # the number of the object of the call that replaces it
    is_shared=INT64,  # 0: the caller permits overwriting it
    most_bytes=INT64,  # a larger one is not overwritten while other threads wait
    is_kept=INT64,  # 0: any content will do, if it is not the input itself
    cell=PTR,  # the list of length 1 that holds a shared value; null if unknown
)
"""An array of the call whose initial value is an input."""

CALLBACK = Record.packed(
    label=PTR,  # its number, as an object
    inputs=INT64,
    input_places=PTR,  # PLACE for each
    outputs=INT64,
    output_objects=PTR,  # the number of the object, for each
    output_inputs=PTR,  # INPUT for each
    function=PTR,  # function(*inputs), the Op's C code; null if it has Python code
    explain=PTR,  # explain(address of the call, error, *inputs) adds notes to its error
)
"""An Op's Python or C code. It returns its outputs; after them, if native code does not accept some
of them, all of them in an accepted form. The latter are objects of the call too, each next to the
output.
"""

SERVICES: dict[str, tuple[MachineType, tuple[MachineType, ...]]] = {
    "acquire": (PTR, (INT64,)),
    "arena": (PTR, (PTR, INT64, INT64)),
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
"""Functions that few calls need, with their result and parameter types. They are compiled when a
program first needs one of them."""

PROCESS = Record.packed(
    array_type=PTR,  # numpy.ndarray
    handler=PTR,  # NumPy's memory handler for large arrays; null if there is none
    large=INT64,  # minimum size of a large array in bytes
    release_gil=INT64,  # nanoseconds of work from which the GIL is released
    use_threads=INT64,  # nanoseconds of work from which threads are used
    main=INT64,  # the main thread, the only one in which Python runs handlers of signals
    prepare_services=PTR,  # compiles them
    prepare_threads=PTR,  # and those that run in parallel
    **dict.fromkeys(SERVICES, PTR),  # their addresses; null before they are compiled
).with_atomic(*SERVICES)  # threads without the GIL look for them while another one writes them
"""Data shared by the whole process."""

CALL = Record.packed(
    context=PTR,
    frame=PTR,
    inputs=PTR,  # the objects
    objects=PTR,
    shared=PTR,  # the state shared by callbacks
    thread_state=PTR,  # not null while the GIL is released
    arena=PTR,  # first of the blocks of memory that the call has allocated
    threads=INT64,  # limit on their number; 0: not determined yet
    interrupted=INT64,  # 1: an exception was raised while the program was running
    error_kind=PTR,  # and is kept here until native code returns
    error_value=PTR,
    error_trace=PTR,
    polled=INT64,  # time of the last check for signals, or when long work began; 0: not yet
    phase=INT64,  # PHASE_RUN ...
).with_atomic("interrupted")  # all threads that work for the call look whether it must end
"""One call, on the stack of the entry."""


PHASE_RUN, PHASE_COMMIT, PHASE_ALONE = range(3)
"""The phase of a call: running; committing, which cannot fail; or a commit that overwrites shared
values, during which no other thread may run Python."""


# ---- emitting code that reads them -------------------------------------------------------------


def element(b: Builder, base: Value, number: Value, record: Record) -> Value:
    """Return the address of an element of an array of records."""
    return byte_offset(b, base, number * record.size)


def is_null(b: Builder, pointer: Value) -> Value:
    """Return whether a pointer is null."""
    return b.compare("eq", pointer, null(b))


def not_null(b: Builder, pointer: Value) -> Value:
    """Return whether a pointer is not null."""
    return b.compare("ne", pointer, null(b))


def zero(b: Builder) -> Value:
    """Return the number 0."""
    return b.constant(INT64, 0)
