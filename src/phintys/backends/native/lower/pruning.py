"""Leave out what nobody reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.backends.native.dependence import arrays_read
from phintys.backends.native.program import Place, Statement

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from phintys.backends.native.program import Array, Step

__all__ = ["prune"]


def prune(steps: Sequence[Step | Statement], kept: Iterable[Array]) -> list[Step | Statement]:
    """Return the steps without the statements whose results nobody reads.

    Sizes are known without the memory that the graph would keep them in, so much of what computes
    them is never read.

    Parameters
    ----------
    steps
        What lowering made, in order.
    kept
        The memory that is read after the program has run.
    """
    needed = set(kept)
    left: list[Step | Statement] = []
    for step in reversed(steps):
        if isinstance(step, Statement):
            memory = step.target.memory
            if memory.place == Place.BUFFER and memory not in needed:
                continue
        needed.update(array.memory for array in arrays_read(step))
        left.append(step)
    left.reverse()
    return left
