"""The functions of a main function: its parts, if it is long, and the commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys._base.errors import IntegrityError
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.types import INT32, PTR
from phintys.backends.native.limits import STEPS_IN_A_PART
from phintys.backends.native.program import walk_steps
from phintys.backends.native.steps.kernel import Kernel
from phintys.backends.native.writer.main_function import BEFORE_COMMIT
from phintys.backends.native.writer.step_writer import StepWriter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.assembler.values import Value
    from phintys.backends.native.program import Step
    from phintys.backends.native.writer.clock import StepClock
    from phintys.backends.native.writer.main_function import MainFunction


class MainWriter:
    """Emits the functions of a main function.

    Parameters
    ----------
    main
        The main function as a whole.
    clock
        The clock that measures the steps, if they are measured.
    """

    def __init__(self, main: MainFunction, clock: StepClock | None) -> None:
        self.main = main
        self.clock = clock
        self._begun = main.layout.room(0 if clock is None else 1)

    def write(self) -> None:
        """Emit the main function, in parts if it is long, and the commit."""
        steps = list(enumerate(self.main.program.steps))
        start = self.main.commit_start
        self.main.layout.has_commit = has_commit = start < len(steps)
        self._function("run", steps[:start], is_first=True, is_last=not has_commit)
        if has_commit:
            self._check_commit(steps[start:])
            self._function("commit", steps[start:], is_first=False, is_last=True)

    def _check_commit(self, steps: Sequence[tuple[int, Step]]) -> None:
        """Check that nothing can fail once a shared value has been overwritten."""
        for _, step in steps:
            code = self.main.kernels.get(step) if isinstance(step, Kernel) else None
            has_failures = code is not None and (code.failures or code.plan.rooms)
            if step.may_fail or has_failures:
                msg = f"In the commit of a program, {step.title} may fail: a bug in Phintys."
                raise IntegrityError(msg)
        if any(after >= self.main.commit_start for after in self.main.memory.groups):
            msg = "Memory would be allocated in the commit of a program: a bug in Phintys."
            raise IntegrityError(msg)

    def _function(
        self, whole: str, steps: Sequence[tuple[int, Step]], *, is_first: bool, is_last: bool
    ) -> None:
        """Emit a function, in parts if it is long."""
        parts = [
            steps[at : at + STEPS_IN_A_PART] for at in range(0, max(1, len(steps)), STEPS_IN_A_PART)
        ]
        if len(parts) == 1:
            self._part(whole, "", parts[0], is_first=is_first, is_last=is_last)
            return
        names = [f"{whole}.part{number}" for number in range(len(parts))]
        for name, part in zip(names, parts, strict=True):
            self._part(
                name,
                "internal",
                part,
                is_first=is_first and part is parts[0],
                is_last=is_last and part is parts[-1],
            )
        b = Builder(self.main.module.function(whole, INT32, [PTR]))
        for name in names:
            failed, after = b.new_block("failed"), b.new_block("fine")
            status = b.call(name, INT32, [b.arguments[0]])
            b.branch(b.eq(status, 0), after, failed)
            b.begin(failed)
            b.ret(b.constant(INT32, 1))
            b.begin(after)
        b.ret(b.constant(INT32, 0))

    def _part(
        self,
        name: str,
        linkage: str,
        steps: Sequence[tuple[int, Step]],
        *,
        is_first: bool,
        is_last: bool,
    ) -> None:
        # A part without loops only calls kernels: optimizing it is not worth LLVM's time.
        is_plain = bool(linkage) and not any(
            step.repeats for step in walk_steps([step for _, step in steps])
        )
        attributes = "noinline optnone" if is_plain else ""
        function = self.main.module.function(
            name, INT32, [PTR], linkage=linkage, attributes=attributes
        )
        writer = StepWriter(self.main, function)
        if is_first:
            writer.after(-1)
        time: Value | None = None
        if self.clock is not None:
            time = self.clock.start(writer, self._begun, is_first=is_first)
        for number, step in steps:
            if number < self.main.commit_start:
                step.check_limits(writer)
            writer.step(number, step)
            writer.after(number)
            if self.clock is not None and time is not None:
                time = self.clock.lap(writer, number, time)
        if not steps or steps[-1][0] == self.main.commit_start - 1:
            for step in self.main.program.steps[self.main.commit_start :]:
                step.check_limits(writer)
            writer.take_results(BEFORE_COMMIT)
            for step in self.main.program.steps[self.main.commit_start :]:
                if isinstance(step, Kernel):
                    writer.reserve(step)
            writer.finish()
        if is_last and self.clock is not None:
            self.clock.finish(writer, self._begun)
        writer.end()
