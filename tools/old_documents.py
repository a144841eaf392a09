"""``python -m tools.old_documents PACKAGE FOLDER``: run the examples of an old package's documents.

Each file with ``>>>`` in it is a doctest of its own, run in a process of its own by the compat
module; ``testsetup`` and ``testcode`` blocks run too. It prints how many examples of each file
print what they should, by which class of reasons the others do not, and with ``--failures`` what
differs.
"""

from __future__ import annotations

import argparse
import contextlib
import doctest
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from collections import Counter
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from phintys.compat import PACKAGES, install
from phintys.compat.printed import print_as

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 300
"""That one file may take."""

_Found = tuple[int, int, str, dict[str, int]]

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


CLASSES: tuple[tuple[str, str, str], ...] = (
    ("needs an example that failed, or a name that is not imported", "", r"NameError"),
    ("the document's own error", "", r"SyntaxError|numpy\.exceptions|Cannot interpret '784'"),
    ("the document's own error", r"# (T|at|pt)\.\w+\(|b\.owner\.inputs\[1\]$|sp\[4, 0\] = 20", ""),
    ("the document's own error", r"numpy\.max|^c$|^mytype = at\.|^print\(state\.get_value", ""),
    ("needs a package that is not installed", "", r"ModuleNotFoundError|not installed"),
    ("numbers and states of generators", r"rng_?val|x_val|x1 == x2|^(f|f1|f2)\(\)|_fn\(\)", ""),
    ("numbers and states of generators", r"jax_rng|rng\.[sg]et_|^print\(f\(", ""),
    ("the words or the class of an error", r"illegal|str\(err\)", ""),
    ("dtypes of Python numbers", r"^x\.type\.dtype$", r"'(int|float)64'"),
    ("nodes of a graph", r"print\(|^pp\(|^e$|owner|\.rewrite\(|\.optimize\(|verbose", ""),
    ("nodes of a graph", r"shape_padaxis|InplaceUniform|in_same_class", ""),
    ("names and texts of classes", r"^type\(|\.type$|filter_variable|^irow|^pt\.dscalar", ""),
    ("an error, where there was none", r"f\(xv, yv\)", "ShapeError"),
    ("a copied function returns an array, not a list of one", r"_accumulator\(", ""),
)
"""Why an example does not print what it should: the reason, its source, and what it printed."""

_NUMPY = "arrays as another version of NumPy prints them"
_UNKNOWN = "not explained"


def reason_for(source: str, wanted: str, found: str) -> str:
    """Return the class of reasons for which an example differs.

    Examples
    --------
    >>> from tools.old_documents import reason_for
    >>> reason_for("f(4)", "array(8.0)", "array(8.)")
    'arrays as another version of NumPy prints them'
    """
    if wanted and _bare(wanted) == _bare(found):
        return _NUMPY
    for reason, of_source, of_found in CLASSES:
        if re.search(of_source, source.strip(), re.MULTILINE) and re.search(of_found, found):
            return reason
    return _UNKNOWN


def _bare(text: str) -> str:
    """Return a text without white space, and without the zero behind a point."""
    return re.sub(r"(\d\.)0\b", r"\1", "".join(text.split()))


class _Runner(doctest.DocTestRunner):
    """Counts the reasons for failures."""

    def __init__(self) -> None:
        super().__init__(verbose=False, optionflags=_FLAGS)
        self.reasons = Counter[str]()

    def report_failure(self, out: Any, test: Any, example: doctest.Example, got: str) -> None:
        self.reasons[reason_for(example.source, example.want, got)] += 1
        super().report_failure(out, test, example, got)

    def report_unexpected_exception(
        self, out: Any, test: Any, example: doctest.Example, exc_info: Any
    ) -> None:
        error = f"{exc_info[0].__name__}: {exc_info[1]}"
        self.reasons[reason_for(example.source, example.want, error)] += 1
        super().report_unexpected_exception(out, test, example, exc_info)


def run_file(package: str, path: Path, plain: bool = False) -> tuple[int, int, str, dict[str, int]]:
    """Return how many examples there are, how many fail, the report of these, and the reasons."""
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
    runner = _Runner()
    runner.run(test, out=report.write)
    failed = min(runner.failures, examples)
    return examples, failed, report.getvalue(), dict(runner.reasons)


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

    def outcome(path: Path) -> _Found | None:
        return _in_process(options.package, path, options.plain)

    with ThreadPoolExecutor(options.jobs) as pool:
        outcomes = dict(zip(files, pool.map(outcome, files), strict=True))
    total = passed = 0
    reasons = Counter[str]()
    for path, found in outcomes.items():
        name = path.relative_to(options.folder)
        if found is None:
            _write(f"{name}: not run")
            continue
        total += found[0]
        passed += found[0] - found[1]
        reasons.update(found[3])
        _write(f"{name}: {found[0] - found[1]} of {found[0]}")
        if options.failures and found[2]:
            _write(textwrap.indent(found[2], "    "))
    _write(f"{passed} of {total} examples print what they should")
    for reason, number in reasons.most_common():
        _write(f"{number}: {reason}")
    return 0


def _in_process(package: str, path: Path, plain: bool) -> _Found | None:
    command = [sys.executable, "-W", "ignore", "-m", "tools.old_documents", package]
    command += [str(path.resolve()), *(["--plain"] if plain else [])]
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    try:
        with tempfile.TemporaryDirectory() as folder:  # where examples write their files
            done = subprocess.run(  # noqa: S603 - this program
                command,
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=False,
                cwd=folder,
                env=os.environ | {"PYTHONPATH": paths},
            )
        total, failed, report, reasons = json.loads(done.stdout.splitlines()[-1])
    except (subprocess.TimeoutExpired, json.JSONDecodeError, IndexError):
        return None
    return total, failed, report, reasons


def _write(text: str) -> None:
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
