"""The code of each kind of step: the rules of :func:`write_step` and :func:`write_limits`."""

from __future__ import annotations

from contextlib import nullcontext
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from phintys._base.errors import OutOfBoundsError
from phintys._base.late import LateModule
from phintys.backends.native.assembler.control import when
from phintys.backends.native.assembler.types import INT32, INT64, PTR
from phintys.backends.native.dependence import arrays_written
from phintys.backends.native.failures import LimitFailure
from phintys.backends.native.frame import EXCEPTION, NO_RESULT
from phintys.backends.native.limits import LONG_STEP_NANOSECONDS, POLLED_QUICK_STEPS, POLLED_STEPS
from phintys.backends.native.routines.blas_threads import one_thread
from phintys.backends.native.steps.branch import Branch
from phintys.backends.native.steps.call import LARGEST, LibraryCall
from phintys.backends.native.steps.callback import Callback
from phintys.backends.native.steps.check import Check, FenceStep
from phintys.backends.native.steps.claim import Claim
from phintys.backends.native.steps.kernel import Kernel
from phintys.backends.native.steps.loop import Loop
from phintys.backends.native.writer.step_writer import StepWriter, write_limits, write_step

if TYPE_CHECKING:
    from phintys.backends.native.assembler.values import Value
    from phintys.backends.native.kernels.short_vectors import ShortVectors
    from phintys.backends.native.writer import shared_passes
else:
    shared_passes = LateModule("phintys.backends.native.writer.shared_passes")


@write_step.register(Kernel)
def write_kernel(step: Kernel, writer: StepWriter) -> None:
    """Write the call of its function, or what it computes."""
    writer.kernel(step)


@write_step.register(FenceStep)
def write_fence(step: FenceStep, writer: StepWriter) -> None:
    """Write nothing: steps run in order."""


@write_step.register(Check)
def write_check(step: Check, writer: StepWriter) -> None:
    """Compare the sizes as they were before checks merged them with others."""
    left, right = (writer.sizes.size_as_given(size) for size in step.sizes())
    with writer.code.failing(writer.b.ne(left, right)):
        writer.code.set_status(writer.main.failure(step.failure), left, right)


@write_step.register(Claim)
def write_claim(step: Claim, writer: StepWriter) -> None:
    """Let the runtime turn the argument's memory, or a copy, into that of the result."""
    b = writer.b
    writer.addresses.record_sizes(step.target)
    record = writer.main.record(step.target)
    number = b.constant(INT64, writer.main.claim(step))
    data = b.call("phintys_claim", PTR, [writer.code.state(), number, writer.code.slot(record + 1)])
    writer.code.fail_if_null(data, NO_RESULT, writer.main.new_array(step.target))
    writer.addresses.set_pointer(record, data)


@write_step.register(Callback)
def write_callback(step: Callback, writer: StepWriter) -> None:
    """Fill the records of the inputs, and let the runtime execute the Op."""
    b = writer.b
    for value in step.reads():
        if not writer.main.is_argument(value):
            writer.addresses.fill_record(value)
    number = b.constant(INT64, writer.main.callback(step))
    status = b.call("phintys_callback", INT32, [writer.code.state(), number])
    with writer.code.failing(b.ne(status, 0)):
        writer.code.set_status(EXCEPTION)
    for value in step.outputs:
        writer.addresses.forget_pointer(writer.main.record(value))


# ---- calls -----------------------------------------------------------------------------------


@write_limits.register(LibraryCall)
def write_limits_of_call(step: LibraryCall[Any], writer: StepWriter) -> None:
    """Make the call fail if a size is too large for the routine."""
    sizes = {
        name: writer.size(size)
        for name, size in step.routine.narrow(step).items()
        if size.known is None or size.known > LARGEST
    }
    if not sizes:
        return
    b = writer.b
    with writer.code.failing(reduce(or_, sizes.values()) > LARGEST):
        for name, size in sizes.items():
            detail = f"{name} is {{0}}, and the library takes {{1}} at most"
            failure = LimitFailure(step.node, step.routine.name, detail, OutOfBoundsError)
            with when(b, size > LARGEST):
                writer.code.set_status(writer.main.failure(failure), size, LARGEST)


@write_step.register(LibraryCall)
def write_call(step: LibraryCall[Any], writer: StepWriter) -> None:
    """Write the call; a long one is followed by a check for signals."""
    b = writer.b
    in_one_thread = step.routine.calls_blas and not step.routine.shares_work
    with one_thread(b) if in_one_thread else nullcontext():
        status = step.routine.emit(step, writer)
    if step.failure is not None and status is not None:
        first, second = status if isinstance(status, tuple) else (status, 0)
        number = b.convert(first, INT64)
        with writer.code.failing(b.ne(number, 0)):
            writer.code.set_status(writer.main.failure(step.failure), number, second)
    writer.poll_after(step)


# ---- branches and loops ----------------------------------------------------------------------


@write_step.register(Branch)
def write_branch(step: Branch, writer: StepWriter) -> None:
    """Write both cases; sizes computed in one of them are not known afterwards."""
    writer.either(
        writer.registers.truth(step.condition),
        lambda: writer.inside(step.then),
        lambda: writer.inside(step.otherwise),
    )


@write_step.register(Loop)
def write_loop(step: Loop, writer: StepWriter) -> None:
    """Write a loop, or a function of its passes that threads can share."""
    shared = writer.main.shared_loops.get(step)
    if shared is None or writer.registers.short is not None:
        _write_passes(step, writer, 0, writer.size(step.count))
        return
    shared_passes.write_shared_loop(
        writer, step, shared, lambda part, begin, end: _write_passes(step, part, begin, end)
    )


def _write_passes(loop: Loop, writer: StepWriter, begin: Value | int, end: Value) -> None:
    """Write some passes; twice, if it is faster for vectors that turn out to be short."""
    short = writer.main.short_vectors.get(loop)
    if short is None:
        _write_body(loop, writer, begin, end)
    elif short.is_certain:
        _write_short(loop, writer, short, begin, end)
    else:
        writer.either(
            writer.registers.is_short(short),
            lambda: _write_short(loop, writer, short, begin, end),
            lambda: _write_body(loop, writer, begin, end),
        )


def _write_short(
    loop: Loop, writer: StepWriter, short: ShortVectors, begin: Value | int, end: Value
) -> None:
    with writer.registers.for_short(short):
        _write_body(loop, writer, begin, end)


def _write_body(loop: Loop, writer: StepWriter, begin: Value | int, end: Value) -> None:
    """Write the body of a loop, and what is the same in all passes before it."""
    b, main = writer.b, writer.main
    with writer.passes(loop, loop.counter, begin, end) as passes:
        counter = passes.counter.value
        writer.sizes.forget(set(arrays_written(loop)))
        writer.sizes.hold(loop.counter, counter)
        writer.sizes.hold(main.program.sizes.counter(loop.counter), counter)
        if loop in main.shared_loops:  # a failure is that of the first pass that fails
            b.store(counter, writer.code.slot(main.atom_slot(loop.counter)))
        slot = main.layout.counters.get(loop.counter)
        if slot is not None:
            b.store(counter, writer.code.slot(slot))
        for element in main.carried_into(loop):
            writer.keep_element(element)
        main.loops.append(loop)
        writer.inside(loop.body)
        main.loops.pop()
        last = _last_of_some(loop, writer)
        if last is not None:
            with when(b, b.eq(counter & last, last)):
                writer.poll()
        if loop.until is not None:
            passes.until = writer.registers.truth(loop.until)


def _last_of_some(loop: Loop, writer: StepWriter) -> Value | None:
    """Return the number of passes between two signal checks, less one.

    ``None`` if the whole loop is quick.
    """
    b = writer.b
    if all(writer.is_inline(step) or step.only_checks for step in loop.body):
        known = writer.main.ring.of(loop.count).known
        if known is not None and known < POLLED_QUICK_STEPS:
            return None
        return b.constant(INT64, POLLED_QUICK_STEPS - 1)
    is_long = writer.takes_long(loop.work_of_some(writer.costs), LONG_STEP_NANOSECONDS)
    return b.select(is_long, b.constant(INT64, 0), POLLED_STEPS - 1)
