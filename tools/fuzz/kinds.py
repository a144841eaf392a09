"""The kinds of random graphs: how they are drawn, checked and made smaller."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tools.fuzz.aliasing import draw_scenario
from tools.fuzz.checking import Disagreement, check
from tools.fuzz.drawing import draw_case
from tools.fuzz.gradients import check_gradients, draw_gradients, smaller_gradients
from tools.fuzz.matrices import MATRIX_RULES
from tools.fuzz.modes import Variant
from tools.fuzz.playing import play
from tools.fuzz.rules import RULES
from tools.fuzz.scenario import Scenario
from tools.fuzz.shrinking import smaller
from tools.fuzz.sparse_matrices import SPARSE_RULES
from tools.fuzz.views import check_views, draw_views

__all__ = ["ALIASING", "GENERAL", "GRADIENTS", "KINDS", "MATRICES", "SPARSE", "VIEWS", "Kind"]


@dataclass(frozen=True)
class Kind:
    """A kind of random graphs.

    Attributes
    ----------
    draw
        Takes a seed and the number of lines that are tried at most; returns a case.
    check
        Takes a case and the ways of running it, ``None`` for the usual ones; returns what
        disagrees, if anything does.
    smaller
        Yields smaller cases.
    most_steps
        The usual number of lines.
    """

    draw: Callable[[int, int], Any]
    check: Callable[[Any, Sequence[Variant] | None], Disagreement | None]
    smaller: Callable[[Any], Iterator[Any]]
    most_steps: int


GENERAL = Kind(lambda seed, steps: draw_case(seed, RULES, steps), check, smaller, 16)
"""All families of ops, dtypes and shapes."""

ALIASING = Kind(draw_scenario, play, Scenario.smaller, 14)
"""Pure, view and overwriting Ops, and functions that share variables."""

MATRICES = Kind(lambda seed, steps: draw_case(seed, MATRIX_RULES, steps), check, smaller, 10)
"""Decompositions and solvers of matrices, between ops of all families."""

SPARSE = Kind(lambda seed, steps: draw_case(seed, SPARSE_RULES, steps), check, smaller, 6)
"""Sparse matrices of dense ones, between ops of all families."""

VIEWS = Kind(draw_views, check_views, smaller, 3)
"""Pairs of views of one value; here a line makes a value, its views, and what reads them."""

GRADIENTS = Kind(draw_gradients, check_gradients, smaller_gradients, 5)
"""Derivatives where matrices have equal values, norms are 0, bounds infinite, shapes change."""

KINDS = {
    "general": GENERAL,
    "aliasing": ALIASING,
    "matrices": MATRICES,
    "sparse": SPARSE,
    "views": VIEWS,
    "gradients": GRADIENTS,
}
"""By name."""
