"""The command: many random graphs, in a process that may end in any way."""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from typing import Any

from phintys.testing.fuzz import check_seed, draw, shrunk
from phintys.testing.fuzz.modes import NATIVE

__all__ = ["main"]

_REPORT_EVERY = 1000
_DESCRIPTION = "Carry out random graphs in the native and in the reference backend."


def main(arguments: list[str] | None = None) -> int:
    """Carry out random graphs; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m phintys.testing.fuzz", description=_DESCRIPTION
    )
    parser.add_argument("--count", type=int, default=1000, help="how many graphs")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the first")
    parser.add_argument("--steps", type=int, default=16, help="lines that a graph has at most")
    parser.add_argument("--most", type=int, default=20, help="stop after so many disagreements")
    parser.add_argument("--as-drawn", action="store_true", help="do not make cases smaller")
    options = parser.parse_args(arguments)
    context = multiprocessing.get_context("spawn")
    at, wrong = context.Value("q", options.seed), context.Value("q", 0)
    end, crashes = options.seed + options.count, 0
    while at.value < end and wrong.value + crashes < options.most:
        worker = context.Process(target=_work, args=(at, wrong, end, options, crashes))
        worker.start()
        worker.join()
        if worker.exitcode:  # what no process should do is found all the same
            crashes += 1
            _say(f"seed {at.value}: the process ended with status {worker.exitcode}")
            _say(draw(at.value, options.steps).program(NATIVE.text))
            at.value += 1
    _say(f"{at.value - options.seed} graphs, {wrong.value + crashes} disagreements")
    return 1 if wrong.value or crashes else 0


def _work(at: Any, wrong: Any, end: int, options: argparse.Namespace, crashes: int) -> None:
    """Carry out graphs in a process of its own."""
    start, first = time.perf_counter(), at.value
    while at.value < end and wrong.value + crashes < options.most:
        found = check_seed(at.value, options.steps)
        if found is not None:
            wrong.value += 1
            _say("-" * 80)
            _say(str(found if options.as_drawn else shrunk(found)))
        at.value += 1
        if (at.value - first) % _REPORT_EVERY == 0:
            _say(f"... seed {at.value}, {time.perf_counter() - start:.0f} s")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
