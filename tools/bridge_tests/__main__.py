"""``python -m tools.bridge_tests``: fetch, run with both modes, and print a table."""

from __future__ import annotations

import argparse
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.bridge_tests.fetch import unpacked
from tools.bridge_tests.report import Outcome, compare, read_notes, table
from tools.bridge_tests.selection import SOURCES, Source
from tools.tests_of_others import PROJECT, run_pytest

FOLDER = PROJECT / "build" / "bridge-tests"
MODES = ("FAST_COMPILE", "PHINTYS")
"""PyTensor's mode that compiles in the least time, and ours."""


def main(arguments: list[str]) -> int:
    """Run what is asked for; return the exit status, 0 if nothing fails with Phintys alone."""
    parser = argparse.ArgumentParser(prog="python -m tools.bridge_tests", description=__doc__)
    parser.add_argument("modules", nargs="*", help="parts of the names of modules; all without one")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--seconds", type=int, default=1800, help="that one module may take")
    parser.add_argument(
        "--failed",
        action="store_true",
        help="run only what fails with Phintys with PyTensor's mode",
    )
    parser.add_argument("--report", action="store_true", help="print the last run's notes again")
    options = parser.parse_args(arguments)
    chosen = [
        (source, module)
        for source in SOURCES
        for module in source.modules
        if not options.modules
        or any(part in f"{source.label}/{module}" for part in options.modules)
    ]
    if not options.report:
        for source in SOURCES:
            unpacked(source, FOLDER)

    def run(task: tuple[Source, str]) -> Outcome:
        return _outcome(*task, options)

    with ThreadPoolExecutor(options.jobs) as pool:
        outcomes = list(pool.map(run, chosen))
    for outcome in outcomes:
        for test, error in outcome.failures.items():
            sys.stdout.write(f"{test}\t{(error.splitlines() or [''])[0]}\n")
    sys.stdout.write(f"{table(outcomes)}\n")
    return int(any(outcome.failures for outcome in outcomes))


def _outcome(source: Source, module: str, options: argparse.Namespace) -> Outcome:
    """Run one module with both modes, unless the last run's notes are asked for."""
    label = f"{source.label}/{module}"
    notes = {mode: FOLDER / "notes" / f"{label.replace('/', '-')}-{mode}.jsonl" for mode in MODES}
    their_mode, our_mode = MODES
    home = FOLDER / source.label
    if not options.report:
        _run(home, [f"tests/{module}"], our_mode, notes[our_mode], options.seconds)
    ours = read_notes(notes[our_mode])
    passed = {name: one for name, one in ours.items() if one["outcome"] == "passed"}
    if not options.report:
        tests = sorted(set(ours) - set(passed)) if options.failed else [f"tests/{module}"]
        notes[their_mode].unlink(missing_ok=True)
        if tests:
            _run(home, tests, their_mode, notes[their_mode], options.seconds)
    theirs = read_notes(notes[their_mode])
    if options.failed:
        theirs = passed | theirs
    return compare(label, theirs, ours)


def _run(home: Path, tests: list[str], mode: str, notes: Path, seconds: int) -> None:
    """Run a module, or some tests of one, with one mode, in a process of its own."""
    run_pytest(
        home,
        ["--tb=line", *tests],
        plugin="tools.bridge_tests.plugin",
        notes=notes,
        environment={
            "BRIDGE_TESTS_MODE": mode,
            "BRIDGE_TESTS_NOTES": str(notes),
            "PYTENSOR_FLAGS": "cxx=",
        },
        seconds=seconds,
    )


if __name__ == "__main__":
    os.nice(2)
    sys.exit(main(sys.argv[1:]))
