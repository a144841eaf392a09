"""Random whole graphs, carried out by the native backend and by the reference backend.

``python -m phintys.testing.fuzz --count 20000 --seed 0`` draws graphs from all families of ops, all
dtypes and many shapes, and holds native code (with all rewrites and with none, with small kernels,
for other CPUs, with the work cut into ranges) against the reference backend without rewrites:
dtypes, shapes and values must be the same, but for what rounding explains; errors must be of the
same class; arguments must not change, and results of an earlier call neither.

A graph is a list of lines of Python (:mod:`.case`), so that what is printed about a disagreement is
a program that shows it. How far rounding may move a result is measured, not guessed
(:mod:`.noise`).

Examples
--------
>>> from phintys.testing.fuzz import check_seed
>>> print(check_seed(1))
None
"""

from __future__ import annotations

from phintys.testing.fuzz.case import Case
from phintys.testing.fuzz.checking import Disagreement, check
from phintys.testing.fuzz.drawing import draw_case
from phintys.testing.fuzz.shrinking import shrunk
from phintys.testing.fuzz.whole import RULES

__all__ = ["Case", "Disagreement", "check", "check_seed", "draw", "shrunk"]


def draw(seed: int, most_steps: int = 16) -> Case:
    """Return the case of a seed.

    Parameters
    ----------
    seed
        The same seed gives the same case.
    most_steps
        The number of lines that are tried at most.

    Examples
    --------
    >>> draw(3).program("None") == draw(3).program("None")
    True
    """
    return draw_case(seed, RULES, most_steps)


def check_seed(seed: int, most_steps: int = 16) -> Disagreement | None:
    """Draw the case of a seed and carry it out; return what disagrees, if anything does."""
    return check(draw(seed, most_steps))
