"""``phintys bench``: how fast this machine runs some programs, beside NumPy."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import phintys.tensor as pt
from phintys._base.records import record
from phintys.compile.build import function
from phintys.gradient.reverse import grad

_SECONDS = 0.3  # of each measurement


@record(frozen=True)
class PairedProgram:
    """A program in two languages.

    Attributes
    ----------
    name
        What it computes.
    compiled, plain
        Functions of the arguments, by Phintys and by NumPy; ``None`` where NumPy has no word for
        it.
    arguments
        What both are called with.
    """

    name: str
    compiled: Callable[..., Any]
    plain: Callable[..., Any] | None
    arguments: tuple[Any, ...]


def programs() -> list[PairedProgram]:
    """Return the programs, compiled."""
    x, y, a, w = pt.dvector("x"), pt.dvector("y"), pt.dmatrix("a"), pt.dvector("w")
    source = np.random.default_rng(0)
    long, matrix = source.normal(size=1_000_000), source.normal(size=(1000, 1000))
    weights, targets = source.normal(size=1000), source.normal(size=1000)
    cost = ((pt.tanh(a @ w) - y) ** 2).mean()

    def plain_softmax(a: Any) -> Any:
        powers = np.exp(a - a.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)

    def gaussian(x: Any) -> Any:
        return (np.exp(-(x**2) / 2) * x).sum()

    return [
        PairedProgram(
            "a call: x + 1, two numbers", function([x], x + 1), lambda x: x + 1, (long[:2],)
        ),
        PairedProgram(
            "exp(-x**2 / 2) * x, summed, 1,000,000", function([x], gaussian(x)), gaussian, (long,)
        ),
        PairedProgram(
            "softmax, 1000 x 1000", function([a], pt.softmax(a, axis=1)), plain_softmax, (matrix,)
        ),
        PairedProgram("a product, 1000 x 1000", function([a], a @ a), lambda a: a @ a, (matrix,)),
        PairedProgram(
            "cost and gradient of a layer, 1000 x 1000",
            function([a, w, y], [cost, grad(cost, w)]),
            None,
            (matrix, weights, targets),
        ),
    ]


def run() -> int:
    """Print a table of times; return the exit status."""
    sys.stdout.write(f"{'':44}{'Phintys':>12}{'NumPy':>12}\n")
    for program in programs():
        ours = _shown(_best(program.compiled, program.arguments))
        theirs = _shown(_best(program.plain, program.arguments)) if program.plain else ""
        sys.stdout.write(f"{program.name:44}{ours:>12}{theirs:>12}\n")
        sys.stdout.flush()
    sys.stdout.write(
        "The shortest time of a call. Other programs on this machine make it longer.\n"
    )
    return 0


def _best(call: Callable[..., Any], arguments: tuple[Any, ...]) -> float:
    """Return the shortest time of a call, in seconds."""
    end = time.perf_counter() + _SECONDS
    best = float("inf")
    while time.perf_counter() < end or best == float("inf"):
        begun = time.perf_counter()
        call(*arguments)
        best = min(best, time.perf_counter() - begun)
    return best


def _shown(seconds: float) -> str:
    unit, factor = ("ms", 1e3) if seconds >= 1e-3 else ("us", 1e6)
    return f"{seconds * factor:.2f} {unit}"
