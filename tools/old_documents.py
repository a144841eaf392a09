"""``python -m tools.old_documents PACKAGE FOLDER``: run the examples of an old package's documents.

Each file with ``>>>`` in it is a doctest of its own, run in a process of its own by the compat
module; ``testsetup`` and ``testcode`` blocks run too. It prints how many examples of each file
print what they should, and with ``--failures`` what differs.
"""

from __future__ import annotations

import argparse
import contextlib
import doctest
import io
import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from phintys.compat import PACKAGES, install
from phintys.compat.printed import print_as

SECONDS = 300
"""That one file may take."""

_BLOCK = re.compile(
    r"^([ \t]*)\.\. (?:testsetup|testcode)::[^\n]*\n"  # the directive
    r"((?:\1[ \t]+:[^\n]*\n)*)"  # its options
    r"((?:\1[ \t]+[^\n]*\n|[ \t]*\n)+)",  # the lines in it
    re.MULTILINE,
)
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL


_PRELUDE = """
import numpy, numpy as np, {package}
from {package} import function, grad, tensor, tensor as T, tensor as at, tensor as pt
"""
"""What the documents are set up with: names that their examples use without an import."""


def run_file(package: str, path: Path, plain: bool = False) -> tuple[int, int, str]:
    """Return how many examples there are, how many fail, and the report of these."""
    text = path.read_text(encoding="utf-8")
    install(package)
    if not plain:
        print_as(package)
    names: dict[str, object] = {"__name__": "__main__", "_quiet": _quiet}
    exec(_PRELUDE.format(package=package), names)  # noqa: S102 - the imports of their documents
    test = doctest.DocTestParser().get_doctest(text, names, path.name, str(path), 0)
    examples = len(test.examples)
    test.examples = sorted(
        [*test.examples, *map(_as_example(text), _BLOCK.finditer(text))], key=lambda one: one.lineno
    )
    report = io.StringIO()
    runner = doctest.DocTestRunner(verbose=False, optionflags=_FLAGS)
    runner.run(test, out=report.write)
    return examples, min(runner.failures, examples), report.getvalue()


def _as_example(text: str) -> Callable[[re.Match[str]], doctest.Example]:
    """Return a function that makes an example of a block: one that may print anything."""

    def example(block: re.Match[str]) -> doctest.Example:
        code = textwrap.dedent(block[3]).strip()
        quiet = f"with _quiet():\n    exec({code!r}, globals())\n"
        line = text.count("\n", 0, block.start())
        return doctest.Example(quiet, "", lineno=line)

    return example


@contextlib.contextmanager
def _quiet() -> Generator[None]:
    """Ignore what a block prints, and its errors: what it should have made is missed later."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception):
        yield


def main(arguments: list[str]) -> int:
    """Run the files of a folder, or one file; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.old_documents", description=__doc__)
    parser.add_argument("package", choices=PACKAGES)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--failures", action="store_true", help="print what differs")
    parser.add_argument("--plain", action="store_true", help="print as Phintys does")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args(arguments)
    if options.folder.is_file():
        sys.stdout.write(json.dumps(run_file(options.package, options.folder, options.plain)))
        return 0
    files = sorted(
        one
        for one in options.folder.rglob("*")
        if one.suffix in {".txt", ".rst", ".md"} and ">>>" in one.read_text(errors="ignore")
    )

    def outcome(path: Path) -> tuple[int, int, str] | None:
        return _in_process(options.package, path, options.plain)

    with ThreadPoolExecutor(options.jobs) as pool:
        outcomes = dict(zip(files, pool.map(outcome, files), strict=True))
    total = passed = 0
    for path, found in outcomes.items():
        name = path.relative_to(options.folder)
        if found is None:
            _write(f"{name}: not run")
            continue
        total += found[0]
        passed += found[0] - found[1]
        _write(f"{name}: {found[0] - found[1]} of {found[0]}")
        if options.failures and found[2]:
            _write(textwrap.indent(found[2], "    "))
    _write(f"{passed} of {total} examples print what they should")
    return 0


def _in_process(package: str, path: Path, plain: bool) -> tuple[int, int, str] | None:
    command = [sys.executable, "-W", "ignore", "-m", "tools.old_documents", package, str(path)]
    command += ["--plain"] if plain else []
    try:
        done = subprocess.run(  # noqa: S603 - this program
            command, capture_output=True, text=True, timeout=SECONDS, check=False
        )
        total, failed, report = json.loads(done.stdout.splitlines()[-1])
    except (subprocess.TimeoutExpired, json.JSONDecodeError, IndexError):
        return None
    return total, failed, report


def _write(text: str) -> None:
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
