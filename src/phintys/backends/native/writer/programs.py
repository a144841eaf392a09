"""Emits a Program as a module of LLVM IR: ``i32 run(ptr frame)`` is its main function.

It computes sizes, runs checks, allocates memory, fills the argument blocks of kernels, and calls
kernels, library routines and callbacks, in order. It returns 0, or 1 if the call failed; the status
in the frame says why. :mod:`~phintys.backends.native.frame` describes the frame, and the
functions that the runtime has to provide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys._base.errors import IntegrityError
from phintys._base.late import LateModule
from phintys._base.records import record
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import ending_if
from phintys.backends.native.assembler.module import Module
from phintys.backends.native.assembler.types import INT32, PTR
from phintys.backends.native.assembler.values import Value
from phintys.backends.native.kernels.functions import KernelWriter
from phintys.backends.native.limits import STEPS_IN_A_PART
from phintys.backends.native.plan import Plan
from phintys.backends.native.program import Program, Step, walk_steps
from phintys.backends.native.steps.kernel import Kernel
from phintys.backends.native.writer import step_rules  # noqa: F401 - registers the rules
from phintys.backends.native.writer.main_function import BEFORE_COMMIT, MainFunction
from phintys.backends.native.writer.step_writer import StepWriter, write_limits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.assembler.target import Target
    from phintys.backends.native.kernels.kernel_code import KernelCode
    from phintys.backends.native.layout import Layout
    from phintys.backends.native.memory import MemoryPlan
    from phintys.backends.native.writer import clock
    from phintys.backends.native.writer.clock import StepClock
else:
    clock = LateModule("phintys.backends.native.writer.clock")


@record(eq=False)
class EmittedProgram:
    """The code of a program.

    Attributes
    ----------
    module
        The code; ``run`` is its main function.
    layout
        The runtime's description of it.
    kernels
        The functions of each kernel.
    memory
        The placement of arrays.
    shared_loops
        The loops of steps that threads can share.
    clock
        The clock that measures the steps, if they are measured.
    """

    module: Module
    layout: Layout
    kernels: dict[Kernel, KernelCode]
    memory: MemoryPlan
    shared_loops: frozenset[Step]
    clock: StepClock | None = None


def emit_program(program: Program, target: Target, *, timed: bool = False) -> EmittedProgram:
    """Return the code of a program.

    Parameters
    ----------
    program
        The program.
    target
        The CPU.
    timed
        Whether it measures its steps.
    """
    return write_program(Plan(program, target), timed=timed)


def write_program(plan: Plan, *, timed: bool = False) -> EmittedProgram:
    """Return the code of a program that has been planned.

    Parameters
    ----------
    plan
        Its plan.
    timed
        Whether it measures its steps.
    """
    module = Module(plan.target)
    kernels = KernelWriter(module, plan.ring).write(plan.kernels)
    step_clock = clock.of_program(plan.program, module, plan.ring) if timed else None
    main = MainFunction(plan, module, kernels)
    _MainWriter(main, step_clock).write()
    main.layout.uses_threads = "phintys_parallel_for" in module.declared
    shared = frozenset(plan.shared_loops)
    return EmittedProgram(module, main.layout, kernels, plan.memory, shared, step_clock)


class _MainWriter:
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
            status = b.call(name, INT32, [b.arguments[0]])
            with ending_if(b, b.ne(status, 0)):
                b.ret(b.constant(INT32, 1))
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
                write_limits(step, writer)
            writer.step(number, step)
            writer.after(number)
            if self.clock is not None and time is not None:
                time = self.clock.lap(writer, number, time)
        if not steps or steps[-1][0] == self.main.commit_start - 1:
            for step in self.main.program.steps[self.main.commit_start :]:
                write_limits(step, writer)
            writer.addresses.take_results(BEFORE_COMMIT)
            for step in self.main.program.steps[self.main.commit_start :]:
                if isinstance(step, Kernel):
                    writer.calls.reserve(step)
            writer.finish()
        if is_last and self.clock is not None:
            self.clock.finish(writer, self._begun)
        writer.code.end()
