"""Statements before they are fused: without those that nothing reads, and fills first.

A scatter, such as the gradient of ``x[index]``, adds to elements of an array that was filled with
zeros. A fill between the scatter and the statements that compute what it adds would keep them in
separate kernels: fusion moves a statement up only behind those that write the same memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.backends.native.dependence import Accesses, arrays_in_size, arrays_read, needs_of
from phintys.backends.native.expressions import Statement
from phintys.backends.native.values import Array, Place

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from phintys.backends.native.program import Step
    from phintys.backends.native.sizes import Size


def prune(steps: Sequence[Step | Statement], kept: Iterable[Array]) -> list[Step | Statement]:
    """Return the steps without the statements whose results are never read.

    Sizes are known without the arrays that would hold them in the graph, so much of the code that
    computes them is never read.

    Parameters
    ----------
    steps
        The steps and statements made by lowering, in order.
    kept
        The memory that is read after the program has run.
    """
    needed = set(kept)
    seen: set[Size] = set()
    left: list[Step | Statement] = []
    for step in reversed(steps):
        if isinstance(step, Statement):
            memory = step.target.memory
            if memory.place == Place.BUFFER and memory not in needed:
                continue
            needs = needs_of(step)
            needed.update([load.array.memory for load in needs.loads])
            for size in needs.sizes:
                if size not in seen:
                    seen.add(size)
                    needed.update(arrays_in_size(size))
        else:
            needed.update(arrays_read(step))
        left.append(step)
    left.reverse()
    return left


# ---- fills first ---------------------------------------------------------------------------------


def starts_first(steps: Iterable[Step | Statement]) -> list[Step | Statement]:
    """Return the steps with the fills that scatters add to before the statements around them.

    They move up to the last step that is not a statement, such as a library call, and no further
    than memory or sizes allow. What is visible outside of the program, and must not change if
    something fails, stays.
    """
    found: list[Step | Statement] = []
    run: list[Statement] = []
    for step in steps:
        if isinstance(step, Statement):
            run.append(step)
            continue
        found += [*_ordered(run), step]
        run = []
    return [*found, *_ordered(run)]


def _ordered(run: Sequence[Statement]) -> list[Statement]:
    scattered = {one.target.memory for one in run if one.accumulate is not None}
    if not scattered:
        return list(run)
    starts: list[Statement] = []
    others: list[Statement] = []
    before = Accesses()
    for statement in run:
        memory = statement.target.memory
        is_free = memory not in before
        if memory in scattered and is_free and _is_fill(statement, before.written):
            starts.append(statement)
        else:
            others.append(statement)
        before.add(statement)
    return [*starts, *others]


def _is_fill(statement: Statement, written: Collection[Array]) -> bool:
    """Return whether a statement overwrites memory of a call, and needs nothing else for it."""
    return (
        statement.accumulate is None
        and not statement.reduction
        and statement.target.memory.place in {Place.BUFFER, Place.RESULT}
        and not needs_of(statement).loads
        and not any(array in written for array in arrays_read(statement))
    )
