"""Removal of statements whose results are not read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.backends.native.dependence import arrays_in_size, arrays_read, needs_of
from phintys.backends.native.expressions import Statement
from phintys.backends.native.values import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from phintys.backends.native.program import Step
    from phintys.backends.native.sizes import Size
    from phintys.backends.native.values import Array


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
