"""The command: what has changed, and the checks of it."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from tools.check.choosing import Choice, choose
from tools.check.durations import read_durations
from tools.check.nearness import distances
from tools.imports import PACKAGE

__all__ = ["main"]

ROOT = Path(__file__).resolve().parents[2]
_SECONDS = 50.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Check what has changed; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.check", description=__doc__)
    parser.add_argument("--since", help="the commit or branch to compare with")
    parser.add_argument("--seconds", type=float, default=_SECONDS, help="of tests, on all cores")
    parser.add_argument("--list", action="store_true", help="name the tests, and do not run them")
    options = parser.parse_args(arguments)
    changed = _changed(options.since)
    if not changed:
        _say("Nothing has changed.")
        return 0
    cores = os.cpu_count() or 1
    choice = choose(_near(changed), read_durations(ROOT), options.seconds * cores)
    _report(changed, choice, cores)
    if options.list:
        _say("\n".join(choice.chosen))
        return 0
    commands = [*_linters(changed), *_runs(changed, choice.chosen)]
    return max(map(_status, commands))


def _status(command: Sequence[str]) -> int:
    return subprocess.run(command, cwd=ROOT, check=False).returncode  # noqa: S603 - our programs


def _changed(since: str | None) -> list[Path]:
    """Return the files that differ from a commit: by default the last one, or the one before."""
    new = _git("ls-files", "--others", "--exclude-standard")
    base = since or ("HEAD" if new or _git("diff", "--name-only", "HEAD") else "HEAD~1")
    named = dict.fromkeys([*_git("diff", "--name-only", base), *new])
    return [ROOT / name for name in named if (ROOT / name).is_file()]


def _git(*arguments: str) -> list[str]:
    command = ["git", *arguments]
    run = subprocess.run(  # noqa: S603 - git
        command, cwd=ROOT, check=True, capture_output=True, text=True
    )
    return run.stdout.splitlines()


def _near(changed: Iterable[Path]) -> dict[str, int]:
    return {
        path.relative_to(ROOT).as_posix(): steps for path, steps in distances(ROOT, changed).items()
    }


def _report(changed: Sequence[Path], choice: Choice, cores: int) -> None:
    left = f"; {len(choice.left)} more are near it: make test runs all" if choice.left else ""
    seconds = choice.seconds / cores
    _say(
        f"{len(changed)} files have changed: {len(choice.chosen)} files of tests, about "
        f"{seconds:.0f} s{left}."
    )


def _linters(changed: Iterable[Path]) -> list[list[str]]:
    programs = [str(path) for path in changed if path.suffix in {".py", ".pyi"}]
    if not programs:
        return []
    ruff = [sys.executable, "-m", "ruff"]
    return [
        [*ruff, "check", *programs],
        [*ruff, "format", "--check", *programs],
        [sys.executable, "-m", "basedpyright", *programs],
    ]


def _runs(changed: Iterable[Path], chosen: Iterable[str]) -> list[list[str]]:
    """Return the runs of pytest: files of tests and examples, and families of records."""
    pytest = [sys.executable, "-m", "pytest", "-q", "-n", "auto"]
    records = "tests/records/"
    families = [
        Path(path).stem
        for path in chosen
        if path.startswith(records) and not Path(path).stem.startswith("test_")
    ]
    files = [path for path in chosen if not path.startswith(records) or "/test_" in path]
    files = [path for path in files if path != f"{records}test_records.py"]
    targets = [*files, *_examples(changed)]
    runs = [[*pytest, *targets]] if targets else []
    if families:
        picked = " or ".join(f"{family}-" for family in families)
        runs.append([*pytest, f"{records}test_records.py", "-k", picked])
    return runs


def _examples(changed: Iterable[Path]) -> list[str]:
    """Return the tests of the examples in changed documents and docstrings."""
    found: list[str] = []
    for path in changed:
        inside = path.relative_to(ROOT)
        if inside.parts[0] == "docs" and path.suffix == ".md":
            found.append(f"tests/test_docs.py::test_programs_run[{path.name}]")
        elif inside.parts[:2] == ("src", PACKAGE) and path.suffix == ".py":
            name = ".".join(inside.with_suffix("").parts[1:]).removesuffix(".__init__")
            has_test = not name.startswith((f"{PACKAGE}.backends.native", f"{PACKAGE}.bridge."))
            if has_test and ">>> " in path.read_text(encoding="utf-8"):
                found.append(f"tests/test_doctests.py::test_the_examples_of[{name}]")
    return found


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - what the command is for
