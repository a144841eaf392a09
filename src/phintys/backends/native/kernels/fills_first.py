"""What scatters start from comes first, so that they share a kernel with what they add.

A scatter, such as the gradient of ``x[index]``, adds to elements of an array that was filled with
zeros. A fill between the scatter and the statements that compute what it adds would keep them in
separate kernels: fusion moves a statement up only behind those that write the same memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.backends.native.dependence import Accesses, arrays_read, needs_of
from phintys.backends.native.expressions import Statement
from phintys.backends.native.values import Array, Place

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from phintys.backends.native.program import Step

__all__ = ["starts_first"]


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
