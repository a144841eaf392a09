"""Emits a Program as a module of LLVM IR: ``i32 run(ptr frame)`` is its main function.

It computes sizes, runs checks, allocates memory, fills the argument blocks of kernels, and calls
kernels, library routines and callbacks, in order. It returns 0, or 1 if the call failed; the status
in the frame says why. :mod:`~phintys.backends.native.frame` describes the frame, and the
functions that the runtime has to provide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys._base.late import LateModule
from phintys._base.records import record
from phintys.backends.native.assembler.module import Module
from phintys.backends.native.kernels.functions import KernelWriter
from phintys.backends.native.kernels.inlining import inline_kernels
from phintys.backends.native.kernels.short_vectors import short_vectors_of
from phintys.backends.native.memory import plan_memory
from phintys.backends.native.polynomials import Polynomials
from phintys.backends.native.program import walk_steps
from phintys.backends.native.steps.kernel import Kernel
from phintys.backends.native.writer.main_function import MainFunction
from phintys.backends.native.writer.main_writer import MainWriter

if TYPE_CHECKING:
    from phintys.backends.native.assembler.target import Target
    from phintys.backends.native.kernels.kernel_code import KernelCode
    from phintys.backends.native.layout import Layout
    from phintys.backends.native.memory import MemoryPlan
    from phintys.backends.native.program import Program, Step
    from phintys.backends.native.writer import clock
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
    clock: clock.StepClock | None = None


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
    module = Module(target)
    polynomials = Polynomials(program.sizes)
    steps = [step for step in walk_steps(program.steps) if isinstance(step, Kernel)]
    short = short_vectors_of(program.steps, polynomials, target)
    plans = {
        kernel: plan
        for one in short.values()
        if one.is_certain
        for kernel, plan in one.plans.items()
    }
    inline = inline_kernels(program.steps) | plans.keys()
    kernels = KernelWriter(module, polynomials).write(steps, inline, plans)
    memory = plan_memory(program, polynomials, kernels)
    step_clock = clock.of_program(program, module, polynomials) if timed else None
    main = MainFunction(program, module, polynomials, kernels, memory, short)
    MainWriter(main, step_clock).write()
    main.layout.uses_threads = "phintys_parallel_for" in module.declared
    shared = frozenset(main.shared_loops)
    return EmittedProgram(module, main.layout, kernels, memory, shared, step_clock)
