"""Random graphs, run in every mode and compared.

``python -m tools.fuzz --count 20000 --seed 0`` draws graphs from all families of ops, all
dtypes and many shapes, and compares native code (with all rewrites and with none, with small
kernels, for other CPUs, with the work cut into ranges) with the reference backend without rewrites:
dtypes and shapes must be the same, and values up to rounding; errors must be of the same class;
arguments and results of earlier calls must not change.

``--mode jax`` compares the mode ``"jax"`` instead, which compiles for a second or so a graph.
``--kind matrices`` draws decompositions and solvers among them (:mod:`.matrices`).
``--kind sparse`` draws functions of sparse matrices among them (:mod:`.sparse_matrices`).
``--kind gradients`` compares derivatives with differences where formulas have no value of their own
(:mod:`.gradients`).
``--kind views`` draws pairs of views of one value (:mod:`.views`).
``--kind aliasing`` draws scenarios (:mod:`.scenario`): functions that share variables, over graphs
of pure Ops, views and Ops that overwrite inputs. The reference backend (as the graph was drawn, and
with Ops put in place), native code and DebugMode must give the very numbers of a computation in
which nothing is overwritten; they must refuse a graph if and only if no order of its nodes is right
(:mod:`.oracle` tries all); arguments, shared values and results must be touched only as declared.

A graph is a list of lines of Python (:mod:`.case`), so that what is printed about a disagreement is
a program that shows it. How far rounding may move a result is measured, not guessed
(:mod:`.noise`).

Cases are drawn with ``random`` and made smaller here, not by Hypothesis, although that would take
about as long (7 and 10 ms of 80 ms a case): a seed names a case in every process, also one that
crashed; and a line can be replaced by inputs with the values that it computed (:mod:`.shrinking`),
where Hypothesis only leaves out and changes draws.

Examples
--------
>>> from tools.fuzz import ALIASING, check_seed
>>> print(check_seed(1), check_seed(1, ALIASING))
None None
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from phintys._base.names import public_dir
from tools.fuzz.case import Case
from tools.fuzz.checking import Disagreement, check
from tools.fuzz.kinds import ALIASING, GENERAL, KINDS, Kind
from tools.fuzz.modes import Variant
from tools.fuzz.playing import play
from tools.fuzz.scenario import Scenario
from tools.fuzz.shrinking import shrunk

__all__ = [
    "ALIASING",
    "GENERAL",
    "KINDS",
    "Case",
    "Disagreement",
    "Kind",
    "Scenario",
    "check",
    "check_seed",
    "draw",
    "play",
    "shrunk",
]


def draw(seed: int, kind: Kind = GENERAL, most_steps: int | None = None) -> Any:
    """Return the case of a seed.

    Parameters
    ----------
    seed
        The same seed gives the same case.
    kind
        Of which kind.
    most_steps
        The number of lines that are tried at most.

    Examples
    --------
    >>> draw(3).program("None") == draw(3).program("None")
    True
    """
    return kind.draw(seed, kind.most_steps if most_steps is None else most_steps)


def check_seed(
    seed: int,
    kind: Kind = GENERAL,
    most_steps: int | None = None,
    variants: Sequence[Variant] | None = None,
) -> Disagreement | None:
    """Draw the case of a seed and carry it out; return what disagrees, if anything does."""
    return kind.check(draw(seed, kind, most_steps), variants)


__dir__ = public_dir(__name__)
