"""How each kind of step is carried out: the rules of :func:`carry_out`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.backends.native.dependence import arrays_written
from phintys.backends.native.steps.branch import Branch
from phintys.backends.native.steps.call import LibraryCall
from phintys.backends.native.steps.callback import Callback
from phintys.backends.native.steps.check import Check, FenceStep
from phintys.backends.native.steps.claim import Claim
from phintys.backends.native.steps.kernel import Kernel
from phintys.backends.native.steps.loop import Loop
from phintys.backends.native.stepwise.faults import CheckFailed, expect
from phintys.backends.native.stepwise.interpreter import Interpreter, carry_out
from phintys.backends.native.stepwise.storage import Memory
from phintys.backends.native.values import Array

if TYPE_CHECKING:
    from phintys.backends.native.program import Step


@carry_out.register(Kernel)
def carry_out_kernel(step: Kernel, interpreter: Interpreter) -> None:
    """Carry out its nests."""
    interpreter.kernel(step)


@carry_out.register(FenceStep)
def carry_out_fence(step: FenceStep, interpreter: Interpreter) -> None:
    """Compute nothing, but what it waits for is there."""
    for array in step.reads():
        interpreter.memory(array)


@carry_out.register(Check)
def carry_out_check(step: Check, interpreter: Interpreter) -> None:
    """Compare two sizes, as they were before checks merged them with others."""
    left, right = interpreter.size_as_given(step.left), interpreter.size_as_given(step.right)
    if left != right:
        raise CheckFailed(step.failure, left, right)


@carry_out.register(Claim)
def carry_out_claim(step: Claim, interpreter: Interpreter) -> None:
    """Let a result begin as an argument: in its memory, if memory is shared at all."""
    source = interpreter.memory(step.source)
    interpreter.shapes[step.target] = interpreter.shape(step.source)
    if interpreter.plan is None:
        memory = Memory.alone(step.target.dtype, source.data.size)
        if step.is_kept:
            memory.put(..., source.data)
    else:
        heirs_of = source.known.tolist() if step.is_kept else ()
        length = source.data.size
        memory = Memory(source.storage, step.target.dtype, length, source.start, heirs_of)
    interpreter.memories[step.target] = memory


@carry_out.register(LibraryCall)
def carry_out_call(step: LibraryCall, interpreter: Interpreter) -> None:
    """Call a routine."""
    _expect_apart(step, interpreter)
    interpreter.calls.carry_out(step, interpreter)


def _expect_apart(step: Step, interpreter: Interpreter) -> None:
    """Check that what a step reads is not in the memory that it writes."""
    written = {array.memory: interpreter.memory(array) for array in step.writes()}
    for array in step.reads():
        memory = interpreter.memory(array)
        for other, place in written.items():
            if other is not array.memory and place.storage is memory.storage:
                reach = min(place.owners.size, memory.owners.size)
                expect(not reach, f"{step.title} reads {array!r}, where it writes {other!r}")


@carry_out.register(Callback)
def carry_out_callback(step: Callback, interpreter: Interpreter) -> None:
    """Execute an Op, on the memory itself if memory is shared at all, but for copies to keep."""
    is_shared = interpreter.plan is not None
    values = [
        interpreter.value(value, itself=is_shared and not step.is_copied(position))
        for position, value in enumerate(step.inputs)
    ]
    made = interpreter.calls.perform(step, values)
    if is_shared:
        interpreter.forget([array.memory for array in step.overwrites()])
    for value, result in zip(step.outputs, made, strict=True):
        interpreter.give(value, result)
        if isinstance(value, Array):
            interpreter.memories[value].inherit()


@carry_out.register(Branch)
def carry_out_branch(step: Branch, interpreter: Interpreter) -> None:
    """Carry out one side of a choice."""
    for inner in step.then if interpreter.truth(step.condition) else step.otherwise:
        interpreter.inner(inner)


@carry_out.register(Loop)
def carry_out_loop(step: Loop, interpreter: Interpreter) -> None:
    """Carry out a loop; iterations that are independent of each other run backwards."""
    iterations = range(interpreter.size(step.count))
    private: list[Array] = []
    if step.own_rows is not None:
        iterations = iterations[::-1]
        outside = {*step.own_rows, *step.sums}
        private = [array for array in dict.fromkeys(arrays_written(step)) if array not in outside]
    for number in iterations:
        interpreter.spend(1)
        interpreter.counters[step.counter] = number
        interpreter.forget(private)
        for inner in step.body:
            interpreter.inner(inner)
        if step.until is not None and interpreter.truth(step.until):
            break
    interpreter.forget(private)
    interpreter.counters.pop(step.counter, None)
