"""``python -m tools.published_tests``: fetch, run, and print a table."""

from __future__ import annotations

import argparse
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.published_tests.fetch import unpacked_tests
from tools.published_tests.report import CLASSES, Outcome, read_notes, table
from tools.published_tests.selection import RELEASES, TODAY, Release
from tools.tests_of_others import PROJECT, run_pytest

FOLDER = PROJECT / "build" / "published-tests"


def main(arguments: list[str]) -> int:
    """Run what is asked for; return the exit status, 0 if all tests could be run."""
    parser = argparse.ArgumentParser(prog="python -m tools.published_tests", description=__doc__)
    parser.add_argument("modules", nargs="*", help="parts of the names of modules; all without one")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--seconds", type=int, default=900, help="that one module may take")
    parser.add_argument("--source", type=Path, default=PROJECT / "src", help="Phintys to run")
    parser.add_argument("--failures", choices=[*CLASSES, "all"], help="print failures of a class")
    parser.add_argument("--only", help="pytest -k")
    parser.add_argument("--notation", action="store_true", help="print as the package does")
    parser.add_argument("--notes", type=Path, default=FOLDER / "notes", help="where they go")
    parser.add_argument("--report", action="store_true", help="print the last run's notes again")
    parser.add_argument("--repository", type=Path, help="a clone of PyTensor: its newest tests too")
    options = parser.parse_args(arguments)
    releases = RELEASES if options.repository is None else (*RELEASES, TODAY)
    chosen = [
        (release, module)
        for release in releases
        for module in release.modules
        if not options.modules
        or any(part in f"{_label(release)}/{module}" for part in options.modules)
    ]
    if not options.report:
        for release in releases:
            repository = options.repository if release.commit else None
            unpacked_tests(release, FOLDER, repository)

    def run(task: tuple[Release, str]) -> Outcome:
        return _run(*task, options)

    with ThreadPoolExecutor(options.jobs) as pool:
        outcomes = list(pool.map(run, chosen))
    for outcome in outcomes:
        for failure in outcome.failures:
            if options.failures in {failure.kind, "all"}:
                first = failure.error.splitlines()[0] if failure.error else ""
                write(f"{failure.kind}\t{failure.test}\t{first}\t{failure.where}")
    write(table(outcomes))
    write("\n" + "\n".join(f"{kind}: {text}" for kind, text in CLASSES.items()))
    return 1 if any(outcome.not_run for outcome in outcomes) else 0


def _label(release: Release) -> str:
    return f"{release.package}-of-today" if release.commit else release.package


def write(text: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{text}\n")


def _run(release: Release, module: str, options: argparse.Namespace) -> Outcome:
    """Run one module in a process of its own."""
    home = FOLDER / f"{release.package}-{release.version}"
    label = f"{_label(release)}/{module}"
    notes = options.notes.resolve() / f"{label.replace('/', '-')}.jsonl"
    if options.report:
        return read_notes(label, notes)
    environment = {"PUBLISHED_TESTS_PACKAGE": release.package, "PUBLISHED_TESTS_NOTES": str(notes)}
    if options.notation:
        environment["PUBLISHED_TESTS_NOTATION"] = "1"
    run_pytest(
        home,
        [
            *("--tb=no", "--continue-on-collection-errors", f"tests/{module}"),
            *(("-k", options.only) if options.only else ()),
        ],
        plugin="tools.published_tests.plugin",
        notes=notes,
        environment=environment,
        seconds=options.seconds,
        source=options.source,
    )
    return read_notes(label, notes)


if __name__ == "__main__":
    os.nice(2)
    sys.exit(main(sys.argv[1:]))
