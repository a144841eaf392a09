"""Loops whose passes are independent of each other: those that threads can share.

A pass of such a loop writes rows of its own, and memory that nothing reads after it, or in another
pass. So passes can run at once if each thread has such memory of its own. Kernels and products
inside are then computed by one thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys._base.records import record
from phintys.backends.native.dependence import arrays_written
from phintys.backends.native.emit.frame import PARALLEL_NANOSECONDS
from phintys.backends.native.emit.registers import touches
from phintys.backends.native.program import walk_steps
from phintys.backends.native.steps.loop import Loop
from phintys.backends.native.values import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from phintys.backends.native.emit.main import MainFunction
    from phintys.backends.native.polynomials import Polynomial
    from phintys.backends.native.program import Step
    from phintys.backends.native.values import Array

__all__ = ["SharedLoop", "shared_loops_of"]


@record(eq=False)
class SharedLoop:
    """How threads share a loop.

    Attributes
    ----------
    private
        The memory that a thread needs for its own passes.
    divisible, alone
        The work of a pass that threads could share as well, and the rest, as long as it is the same
        in all passes.
    """

    private: list[Array]
    divisible: Polynomial
    alone: Polynomial


def shared_loops_of(main: MainFunction) -> dict[Step, SharedLoop]:
    """Return the loops of a program that threads can share; of loops in loops, the outermost.

    Parameters
    ----------
    main
        The main function of the program.
    """
    steps = main.program.steps[: main.commit_start]
    if not any(step.repeats for step in walk_steps(steps)):
        return {}
    return dict(_found(steps, main))


def _found(steps: Sequence[Step], main: MainFunction) -> Iterator[tuple[Step, SharedLoop]]:
    for step in steps:
        shared = _shared(step, main) if isinstance(step, Loop) else None
        if shared is not None:
            yield step, shared
            continue
        short = main.short_vectors.get(step)
        if short is None or not short.is_certain:  # where all vectors are in registers
            for body in step.bodies():
                yield from _found(body, main)


def _shared(loop: Loop, main: MainFunction) -> SharedLoop | None:
    rows = loop.own_rows
    if rows is None or any(step.needs_caller for step in walk_steps(loop.body)):
        return None
    private = list(dict.fromkeys(a for a in arrays_written(loop) if a not in rows))
    inside = touches([loop])
    if any(a.place != Place.BUFFER or inside[a] != main.touches[a] for a in private):
        return None
    short = main.short_vectors.get(loop)
    if short is not None and short.latest.get(loop):
        return None
    divisible, alone = loop.work_of_pass(main)
    work = main.ring.mul(main.ring.of(loop.count), main.ring.add(divisible, alone))
    least = main.scaled(main.ring.one, PARALLEL_NANOSECONDS)
    if work.known is not None and work.known < (least.known or 0):
        return None
    return SharedLoop(private, divisible, alone)
