"""Code for the steps of a program in its main function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.backends.native.emit.control import when
from phintys.backends.native.emit.frame import NOTED_NANOSECONDS
from phintys.backends.native.emit.kernel_calls import KernelCaller
from phintys.backends.native.emit.memory import load
from phintys.backends.native.emit.module import signature
from phintys.backends.native.emit.types import BOOL, INT32, INT64, PTR, VOID
from phintys.backends.native.emit.values import Value
from phintys.backends.native.program import Array, Place, Step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.polynomials import Polynomial

__all__ = ["StepWriter"]

_WORK_SHIFT = 6

_LONG_CALL = 1_000_000
"""Nanoseconds of a library call after which signals are checked."""


class StepWriter(KernelCaller):
    """Emits the steps of a program into one function of its main function."""

    def step(self, number: int, step: Step) -> None:
        """Emit a step at the top level, whose number is given."""
        self.take_results(number)
        step.emit(self)

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

    # ---- for kinds of steps ----------------------------------------------------------------

    def inside(self, steps: Sequence[Step]) -> None:
        """Emit steps of a branch or loop; sizes that they compute are known right after each."""
        for step in steps:
            step.check_limits(self)
            step.emit(self)
            elements = self.main.elements_of(step)
            self.forget_sizes({element.array.memory for element in elements})
            for element in elements:
                self.keep_element(element)

    def truth(self, condition: Array) -> Value:
        """Return whether a 0-d array of bools is true."""
        value = load(self.b, BOOL, self.pointer(condition))
        assert isinstance(value, Value)
        return value

    def share(self, symbol: str, arguments: Sequence[Value]) -> None:
        """Emit the call of a function that shares its work, and can be interrupted."""
        b = self.b
        parallel, poll = "phintys_parallel_for", "phintys_poll"
        b.module.declare(parallel, signature(parallel, INT32, [PTR, PTR, PTR, INT64, INT64]))
        b.module.declare(poll, signature(poll, INT32, [PTR]))
        functions = [Value(b, PTR, f"@{name}") for name in (parallel, poll)]
        self.fail_if_interrupted(b.call(symbol, INT32, [self.state(), *functions, *arguments]))

    def poll_after(self, step: Step) -> None:
        """Check for signals after a step that takes long, and does not do so itself."""
        work = step.work(self.main)
        if work is None or (work.known is not None and work.known < _LONG_CALL << _WORK_SHIFT):
            return
        with when(self.b, self.b.le(_LONG_CALL, self.polynomial(work) >> _WORK_SHIFT)):
            self.poll()
