"""What runs tests that other packages publish: downloads, processes with a time limit, tables."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping, Sequence

PROJECT = Path(__file__).resolve().parents[1]

SECONDS = 60
"""Of the processor that one test may take: a busy machine does not fail a test."""


def downloaded(package: str, version: str, sha256: str, archive: Path) -> Path:
    """Download a wheel or source distribution with pip, unless it is there; check what came.

    Raises
    ------
    ValueError
        The file is not the one that was chosen.
    """
    if not archive.exists():
        archive.parent.mkdir(parents=True, exist_ok=True)
        kind = "--only-binary" if archive.suffix == ".whl" else "--no-binary"
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--disable-pip-version-check", kind, package]
        command += ["--dest", str(archive.parent), f"{package}=={version}"]
        subprocess.run(command, check=True)  # noqa: S603 - pip, with the names above
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != sha256:
        msg = f"{archive} is not the file that was chosen: its SHA-256 is {found}."
        raise ValueError(msg)
    return archive


def run_pytest(
    home: Path,
    arguments: Sequence[str],
    *,
    plugin: str,
    notes: Path,
    environment: Mapping[str, str],
    seconds: int,
    source: Path = PROJECT / "src",
) -> None:
    """Run tests in a process of its own; what it prints goes beside the notes of the plugin.

    Parameters
    ----------
    home
        The folder that has the ``tests``.
    arguments
        Of pytest: options and tests.
    plugin
        A module, which writes the notes.
    notes
        Where they go; those of an earlier run are removed.
    environment
        Variables besides those of this process.
    seconds
        How long the process may take.
    source
        The Phintys to run.
    """
    notes.parent.mkdir(parents=True, exist_ok=True)
    notes.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-W", "ignore"]
    command += ["-p", plugin, "-p", "no:cacheprovider"]
    command += ["-c", os.devnull, "--rootdir", str(home), *arguments]
    path = os.pathsep.join(map(str, (source.resolve(), PROJECT, home)))
    given = {"PHINTYS_FLAGS": "num_threads=1", "PYTHONPATH": path}
    with notes.with_suffix(".txt").open("w") as stream:
        try:
            subprocess.run(  # noqa: S603 - pytest, on what was unpacked
                command,
                cwd=home,
                env={**os.environ, **given, **environment},
                timeout=seconds,
                stdout=stream,
                stderr=subprocess.STDOUT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            sys.stderr.write(f"{notes.stem}: not done after {seconds} s\n")


def _too_long(*_: Any) -> NoReturn:
    msg = f"The test took more than {SECONDS} s of the processor."
    raise TimeoutError(msg)


@contextmanager
def limited_time() -> Generator[None]:
    """Bound the time of what runs inside, which a plugin does for each test."""
    before = signal.signal(signal.SIGPROF, _too_long)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def markdown_table(heads: Sequence[str], rows: Iterable[tuple[str, Sequence[int]]]) -> str:
    """Return a table of a name and numbers a row, with the sums in the last one."""
    shown = [(name, list(numbers)) for name, numbers in rows]
    sums = [sum(column) for column in zip(*(numbers for _, numbers in shown), strict=True)]
    shown.append(("**all**", sums or [0] * (len(heads) - 1)))
    lines = [heads, ["---", *["--:"] * (len(heads) - 1)]]
    lines += [[name, *map(str, numbers)] for name, numbers in shown]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
