"""Time programs in turn, so that other work on the machine slows all of them."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["best_in_turn"]


def best_in_turn(programs: Mapping[str, Callable[[], Any]], seconds: float) -> dict[str, float]:
    """Return the best time of a call of each program, in seconds.

    Each program is called until its calls have taken ``seconds``: a slow one does not end the
    timing of a fast one, whose code may be compiled again in the background after its first calls.
    """
    best = dict.fromkeys(programs, float("inf"))
    left = dict.fromkeys(programs, seconds)
    while left:
        for name in list(left):
            start = perf_counter()
            programs[name]()
            spent = perf_counter() - start
            best[name] = min(best[name], spent)
            left[name] -= spent
            if left[name] < 0:
                del left[name]
    return best
