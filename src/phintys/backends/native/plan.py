"""The plan of a program: all that is decided before its code is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys._base.caches import kept_property
from phintys._base.records import record
from phintys.backends.native.dependence import arrays_written, touches
from phintys.backends.native.kernels.code_sharing import PlannedKernel, plan_kernels
from phintys.backends.native.kernels.inlining import inline_kernels
from phintys.backends.native.kernels.short_vectors import short_vectors_of
from phintys.backends.native.limits import PARALLEL_NANOSECONDS
from phintys.backends.native.memory import plan_memory
from phintys.backends.native.polynomials import Costs, Polynomial, Polynomials
from phintys.backends.native.program import Program, Step, walk_steps
from phintys.backends.native.steps.kernel import Kernel
from phintys.backends.native.steps.loop import Loop
from phintys.backends.native.values import Array, LoopVariable, Place

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Sequence

    from phintys.backends.native.assembler.target import Target
    from phintys.backends.native.sizes import Size


@record(eq=False)
class SharedLoop:
    """A loop of steps that threads can share, since its passes are independent of each other.

    A pass of such a loop writes rows of its own, and memory that nothing reads after it, or in
    another pass. So passes can run at once if each thread has such memory of its own. Kernels and
    products inside are then computed by one thread.

    Attributes
    ----------
    count, counter
        The number of passes, and that of a pass.
    private
        The memory that a thread needs for its own passes.
    sums
        The memory to which passes add.
    divisible, alone
        The work of a pass that threads could share as well, and the rest.
    calls_library
        Whether passes call a library.
    """

    count: Size
    counter: LoopVariable
    private: list[Array]
    sums: list[Array]
    divisible: Polynomial
    alone: Polynomial
    calls_library: bool


class Plan:
    """The plan of a program.

    Parameters
    ----------
    program
        The program.
    target
        The CPU.

    Attributes
    ----------
    ring
        The polynomials of the program.
    short_vectors
        The loops that can be carried out on short vectors.
    kernels
        The plan of each kernel; some have no function, but are written where they run.
    memory
        The placement of arrays.
    costs
        What steps ask when they estimate their time.
    shared_loops
        The loops that threads can share; of loops in loops, the outermost.
    """

    def __init__(self, program: Program, target: Target) -> None:
        self.program = program
        self.target = target
        self.ring = Polynomials(program.sizes)
        self.short_vectors = short_vectors_of(program.steps, self.ring, target)
        self.kernels = self._kernels()
        self.memory = plan_memory(program, self.ring, self.kernels)
        self.costs = Costs(self.ring, {one: planned.plan for one, planned in self.kernels.items()})
        self.shared_loops = dict(self._shared_loops(program.steps[: program.commit_start]))

    def _kernels(self) -> dict[Kernel, PlannedKernel]:
        steps = self.program.steps
        kernels = [step for step in walk_steps(steps) if isinstance(step, Kernel)]
        certain = (one for one in self.short_vectors.values() if one.is_certain)
        short = {kernel: plan for one in certain for kernel, plan in one.plans.items()}
        inline = inline_kernels(steps) | short.keys()
        return plan_kernels(kernels, short, inline, self.ring, self.target)

    @kept_property
    def inline(self) -> set[Kernel]:
        """The kernels that are written where they run."""
        return {kernel for kernel, planned in self.kernels.items() if planned.form is None}

    @kept_property
    def touches(self) -> Counter[Array]:
        """How often steps access each array."""
        return touches(self.program.steps)

    def _shared_loops(self, steps: Sequence[Step]) -> Iterator[tuple[Step, SharedLoop]]:
        """Yield the loops that threads can share; of loops in loops, the outermost."""
        for step in steps:
            shared = self._shared_loop(step) if isinstance(step, Loop) else None
            if shared is not None:
                yield step, shared
                continue
            short = self.short_vectors.get(step)
            if short is None or not short.is_certain:  # where all vectors are in registers
                for body in step.bodies():
                    yield from self._shared_loops(body)

    def _shared_loop(self, loop: Loop) -> SharedLoop | None:
        """Return how threads share a loop if its passes are independent, and may take long."""
        rows, inside = loop.own_rows, list(walk_steps(loop.body))
        if rows is None or any(step.needs_caller for step in inside):
            return None
        outside = {*rows, *loop.sums}
        private = list(dict.fromkeys(a for a in arrays_written(loop) if a not in outside))
        touched = touches([loop])
        if any(a.place != Place.BUFFER or touched[a] != self.touches[a] for a in private):
            return None
        short = self.short_vectors.get(loop)
        if short is not None and short.latest.get(loop):
            return None
        divisible, alone = loop.work_of_pass(self.costs)
        work = self.ring.mul(self.ring.of(loop.count), self.ring.add(divisible, alone))
        least = self.costs.scaled(self.ring.one, PARALLEL_NANOSECONDS)
        if work.known is not None and work.known < (least.known or 0):
            return None
        calls = any(step.calls_library for step in inside)
        sums = list(loop.sums)
        return SharedLoop(loop.count, loop.counter, private, sums, divisible, alone, calls)
