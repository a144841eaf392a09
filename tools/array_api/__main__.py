"""``python -m tools.array_api``: fetch the published tests of the standard, and run them."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
FOLDER = PROJECT / "build" / "array-api-tests"
SKIPS = Path(__file__).with_name("skips.txt")
REPOSITORY = "https://github.com/data-apis/array-api-tests"
NAMESPACE = "phintys.testing.eager"

NOT_FETCHED = 3
"""The exit status if the tests are neither there nor can be fetched."""


def main(arguments: list[str]) -> int:
    """Fetch the tests if need be, and run them; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.array_api", description=__doc__)
    parser.add_argument("--suite", type=Path, default=FOLDER, help="a clone of the tests")
    parser.add_argument("--examples", type=int, default=5, help="for each test; 20 in their CI")
    parser.add_argument("--only", help="pytest -k")
    parser.add_argument("--mode", default="reference", help="that arrays are computed in")
    options = parser.parse_args(arguments)
    suite: Path = options.suite
    if not (suite / "array_api_tests").is_dir() and not _fetched(suite):
        sys.stderr.write(
            f"The tests are not in {suite}, and could not be fetched. Clone {REPOSITORY} with its "
            "submodules, and name the clone: python -m tools.array_api --suite FOLDER\n"
        )
        return NOT_FETCHED
    return subprocess.run(  # noqa: S603 - pytest, on the tests
        command(suite.resolve(), options.examples, options.only),
        cwd=suite,
        env=os.environ | environment(options.mode),
        check=False,
    ).returncode


def _fetched(suite: Path) -> bool:
    """Clone the tests; return whether that was possible."""
    suite.parent.mkdir(parents=True, exist_ok=True)
    clone = ["git", "clone", "--quiet", "--depth=1", "--recurse-submodules", "--shallow-submodules"]
    return not subprocess.run([*clone, REPOSITORY, str(suite)], check=False).returncode  # noqa: S603 - git


def command(suite: Path, examples: int, only: str | None = None) -> list[str]:
    """Return the command that runs the tests in a folder.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tools.array_api.__main__ import command
    >>> command(Path("suite"), 5)[1:4]
    ['-m', 'pytest', '-q']
    """
    pytest = [sys.executable, "-m", "pytest", "-q", "-rxXfE", "-p", "no:cacheprovider"]
    # Their settings, and not those of this project: warnings are not errors there.
    options = ["-c", str(suite / "pytest.ini"), "--rootdir", str(suite)]
    options += ["--skips-file", str(SKIPS), "--max-examples", str(examples), "--disable-deadline"]
    return [*pytest, *options, *(["-k", only] if only else []), str(suite / "array_api_tests")]


def environment(mode: str) -> dict[str, str]:
    """Return the variables that name the namespace to the tests.

    Examples
    --------
    >>> from tools.array_api.__main__ import environment
    >>> environment("reference")["ARRAY_API_TESTS_MODULE"]
    'phintys.testing.eager'
    """
    return {
        "ARRAY_API_TESTS_MODULE": NAMESPACE,
        "ARRAY_API_TESTS_VERSION": "2025.12",
        "PHINTYS_FLAGS": f"mode={mode}",
        "PYTHONPATH": os.pathsep.join(
            [str(PROJECT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
        ),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
