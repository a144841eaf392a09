"""Code for the steps of a program in its main function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.backends.native.dependence import arrays_written
from phintys.backends.native.emit.blas import BlasCall
from phintys.backends.native.emit.control import when
from phintys.backends.native.emit.kernel_calls import KernelCaller
from phintys.backends.native.emit.layout import EXCEPTION, NO_RESULT, NOTED_NANOSECONDS
from phintys.backends.native.emit.memory import load
from phintys.backends.native.emit.module import signature
from phintys.backends.native.emit.types import BOOL, INT32, INT64, PTR, VOID
from phintys.backends.native.emit.values import Value
from phintys.backends.native.program import (
    Array,
    Branch,
    Call,
    Callback,
    Check,
    Claim,
    Kernel,
    Loop,
    Place,
    Step,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.polynomials import Polynomial

__all__ = ["StepWriter"]

_WORK_SHIFT = 6

_LONG_CALL = 1_000_000
"""Nanoseconds of a library call after which signals are checked."""

_POLLED_PASSES = 64
"""Passes of a loop of steps between checks for signals: long passes check themselves."""


class StepWriter(KernelCaller):
    """Emits the steps of a program into one function of its main function."""

    def step(self, number: int, step: Step) -> None:
        """Emit a step; ``number`` is that of the top-level step that contains it."""
        self.take_results(number)
        self._step(number, step)

    def _step(self, number: int, step: Step) -> None:
        if isinstance(step, Check):
            self._check(step)
        elif isinstance(step, Kernel):
            self.kernel(self.main.kernels[step])
        elif isinstance(step, Call):
            BlasCall(self.b, step, self.pointer, self.size, self._share, self.poll).write()
            self._poll_after(step)
        elif isinstance(step, Callback):
            self._callback(step)
        elif isinstance(step, Claim):
            self._claim(step)
        elif isinstance(step, Branch):
            self._branch(number, step)
        else:
            self._loop(number, step)

    def after(self, number: int) -> None:
        """Read sizes that are known after a step, and allocate memory whose size is now known."""
        for element in self.main.elements_after(number):
            self.keep_element(element)
        for group in self.main.groups_after(number):
            self.take_group(group)
        work = self.main.work_after(number)
        if work is not None:
            self._note_work(work)

    def finish(self) -> None:
        """Fill the records of results that have no memory of their own."""
        for value in self.main.program.results:
            if not isinstance(value, Array) or self.main.is_argument(value):
                continue
            if value.memory is not value or value.place not in {Place.RESULT, Place.CALLBACK}:
                self.fill_record(value)

    def _note_work(self, work: Polynomial) -> None:
        nanoseconds = self.polynomial(work) >> _WORK_SHIFT
        with when(self.b, self.b.le(NOTED_NANOSECONDS, nanoseconds)):
            self.b.call("phintys_work", VOID, [self.state(), nanoseconds])

    def _share(self, symbol: str, arguments: Sequence[Value]) -> None:
        """Emit the call of a function that shares its work, and can be interrupted."""
        b = self.b
        parallel = "phintys_parallel_for"
        b.module.declare(parallel, signature(parallel, INT32, [PTR, PTR, PTR, INT64, INT64]))
        given = [self.state(), Value(b, PTR, f"@{parallel}"), *arguments]
        self.fail_if_interrupted(b.call(symbol, INT32, given))

    def _poll_after(self, step: Call) -> None:
        """Check for signals after a library call that takes long."""
        work = self.main.work_of(step)
        if work is None or (work.known is not None and work.known < _LONG_CALL << _WORK_SHIFT):
            return
        with when(self.b, self.b.le(_LONG_CALL, self.polynomial(work) >> _WORK_SHIFT)):
            self.poll()

    # ---- steps -------------------------------------------------------------------------------

    def _check(self, step: Check) -> None:
        left, right = self.size_as_given(step.left), self.size_as_given(step.right)
        with self.failing(self.b.ne(left, right)):
            self.set_status(self.main.failure(step.failure), left, right)

    def _callback(self, step: Callback) -> None:
        b = self.b
        for value in step.inputs:
            if isinstance(value, Array) and not self.main.is_argument(value):
                self.fill_record(value)
        number = b.constant(INT64, self.main.callback(step))
        status = b.call("phintys_callback", INT32, [self.state(), number])
        with self.failing(b.ne(status, 0)):
            self.set_status(EXCEPTION)
        for value in step.outputs:
            self.forget_pointer(self.main.record(value))

    def _claim(self, step: Claim) -> None:
        """Emit the call that turns an argument's memory, or a copy, into that of a result."""
        b = self.b
        self.record_sizes(step.target)
        record = self.main.record(step.target)
        number = b.constant(INT64, self.main.claim(step))
        data = b.call("phintys_claim", PTR, [self.state(), number, self.slot(record + 1)])
        self.fail_if_null(data, NO_RESULT, self.main.new_array(step.target))
        self.set_pointer(record, data)

    def _branch(self, number: int, step: Branch) -> None:
        """Emit both branches; sizes computed in one of them are not known afterwards."""
        b = self.b
        then, otherwise, after = b.new_block("then"), b.new_block("else"), b.new_block("after")
        b.branch(self._truth(step.condition), then, otherwise)
        for block, steps in ((then, step.then), (otherwise, step.otherwise)):
            b.begin(block)
            with self.aside():
                self._steps(number, steps)
            b.jump(after)
        b.begin(after)

    def _loop(self, number: int, step: Loop) -> None:
        """Emit steps that are repeated; they read the counter from the frame."""
        b = self.b
        count = self.size(step.count)
        body, after = b.new_block("body"), b.new_block("after")
        before = b.block
        b.branch(b.lt(0, count), body, after)
        b.begin(body)
        counter = b.phi(INT64)
        counter.add(b.constant(INT64, 0), before)
        with self.aside():
            self.forget_sizes(set(arrays_written(step)))
            self.keep(step.counter, counter.value)
            for element in self.main.carried_into(step):
                self.keep_element(element)
            self._steps(number, step.body)
            with when(b, b.eq(counter.value & (_POLLED_PASSES - 1), _POLLED_PASSES - 1)):
                self.poll()
            following = counter.value + 1
            again = following < count
            if step.until is not None:
                again = again & ~self._truth(step.until)
        counter.add(following, b.block)
        b.branch(again, body, after)
        b.begin(after)

    def _steps(self, number: int, steps: Sequence[Step]) -> None:
        """Emit steps of a branch or loop; sizes that they compute are known right after each."""
        for step in steps:
            self._step(number, step)
            elements = self.main.elements_of(step)
            self.forget_sizes({element.array.memory for element in elements})
            for element in elements:
                self.keep_element(element)

    def _truth(self, condition: Array) -> Value:
        """Return whether a 0-d array of bools is true."""
        value = load(self.b, BOOL, self.pointer(condition))
        assert isinstance(value, Value)
        return value
