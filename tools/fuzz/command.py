"""The command: many random graphs, in processes that may end in any way."""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import sys
import time
from multiprocessing.connection import wait
from typing import Any

from tools.fuzz import KINDS, check_seed, draw, shrunk
from tools.fuzz.modes import JAX, NATIVE, Variant

__all__ = ["main"]

_ALONE: dict[str | None, tuple[Variant, ...] | None] = {None: None, "jax": (JAX,)}
"""The ways of running graphs that can be chosen; without a choice, the usual ones."""

_REPORT_EVERY = 1000
_DESCRIPTION = "Run random graphs in all modes, and compare the results."


def main(arguments: list[str] | None = None) -> int:
    """Run random graphs; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description=_DESCRIPTION)
    parser.add_argument("--kind", choices=KINDS, default="general", help="of which kind")
    parser.add_argument("--mode", choices=["jax"], help="compare this mode, not the usual ones")
    parser.add_argument("--count", type=int, default=1000, help="how many graphs")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the first")
    parser.add_argument("--steps", type=int, help="lines that a graph has at most")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes")
    parser.add_argument("--most", type=int, default=20, help="stop after so many disagreements")
    parser.add_argument("--as-drawn", action="store_true", help="do not make cases smaller")
    options = parser.parse_args(arguments)
    start = time.perf_counter()
    drawn, wrong = _Run(options).through()
    first, last = options.seed, options.seed + drawn - 1
    seconds = time.perf_counter() - start
    _say(f"{drawn} graphs, {wrong} disagreements; seeds {first} to {last}, {seconds:.0f} s")
    return 1 if wrong else 0


class _Run:
    """All processes of a command."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.context = multiprocessing.get_context("spawn")
        self.next = self.context.Value("q", options.seed)
        self.wrong = self.context.Value("q", 0)
        self.running: dict[Any, Any] = {}  # process -> the seed that it is at

    def through(self) -> tuple[int, int]:
        """Run all graphs; return how many there were, and how many disagreements."""
        for _ in range(max(1, self.options.jobs)):
            self._begin()
        while self.running:
            wait([process.sentinel for process in self.running])
            for process in [one for one in self.running if one.exitcode is not None]:
                at = self.running.pop(process)
                if process.exitcode:  # what no process should do is found all the same
                    self._crashed(at.value, process.exitcode)
        return min(self.next.value, _end(self.options)) - self.options.seed, self.wrong.value

    def _begin(self) -> None:
        at = self.context.Value("q", self.options.seed)
        arguments = (self.next, at, self.wrong, self.options)
        process = self.context.Process(target=_work, args=arguments)
        process.start()
        self.running[process] = at

    def _crashed(self, seed: int, status: int) -> None:
        options = self.options
        _say("-" * 80)
        _say(f"seed {seed}: the process ended with status {status}")
        _say(draw(seed, KINDS[options.kind], options.steps).program(NATIVE.text))
        with self.wrong.get_lock():
            self.wrong.value += 1
        self._begin()


def _end(options: argparse.Namespace) -> int:
    return options.seed + options.count


def _work(next_seed: Any, at: Any, wrong: Any, options: argparse.Namespace) -> None:
    """Run graphs in a process of its own."""
    start, kind = time.perf_counter(), KINDS[options.kind]
    gc.freeze()  # what was imported stays: looking through it took a sixth of the time
    gc.set_threshold(20_000, 20, 50)
    while wrong.value < options.most:
        with next_seed.get_lock():
            at.value = next_seed.value
            if at.value >= _end(options):
                return
            next_seed.value += 1
        found = check_seed(at.value, kind, options.steps, _ALONE[options.mode])
        if found is not None:
            with wrong.get_lock():
                wrong.value += 1
            _say("-" * 80)
            _say(str(found if options.as_drawn else shrunk(found, kind)))
        if (at.value + 1 - options.seed) % _REPORT_EVERY == 0:
            _say(f"... seed {at.value}, {time.perf_counter() - start:.0f} s")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
