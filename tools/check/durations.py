"""How long the tests of each file took, as data: what ``make check`` plans with.

    python -m tools.check.durations build/durations.xml

reads the report of a whole run (``make durations`` makes it) and writes ``tests/durations.json``.
The times are sums over the tests of a file, in seconds of one process.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree as ET

__all__ = ["BUDGETS", "UNKNOWN", "read_durations", "room_of"]

_FILE = Path("tests") / "durations.json"

UNKNOWN = 2.0
"""Seconds that a file of tests is taken to need which has no entry."""

BUDGETS: dict[str, float] = {}
"""Seconds that the tests of each room may take together; ``""`` for those of no room."""


def read_durations(root: Path) -> dict[str, float]:
    """Return the seconds of each file of tests, by its path in the checkout."""
    return json.loads((root / _FILE).read_text(encoding="utf-8"))


def room_of(path: str) -> str:
    """Return the room whose tests a file has, ``""`` for files of none.

    Examples
    --------
    >>> room_of("tests/tensor/linear_algebra/test_norms.py"), room_of("tests/test_docs.py")
    ('tensor', '')
    """
    parts = Path(path).parts
    return parts[1] if len(parts) > 2 else ""


def _summed(report: Path) -> dict[str, float]:
    """Return the seconds of each file in a report in JUnit's format."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for case in ET.parse(report).iter("testcase"):  # noqa: S314 - a file that we wrote
        name = case.get("classname", "").split(".")
        # A class of tests follows the module in its name.
        while name and not Path(*name).with_suffix(".py").exists():
            name.pop()
        seconds[Path(*name).with_suffix(".py").as_posix()] += float(case.get("time", 0))
    return dict(sorted(seconds.items()))


def main(arguments: list[str]) -> int:
    """Write the file of durations; return the exit status."""
    rounded = {path: round(seconds, 1) for path, seconds in _summed(Path(arguments[0])).items()}
    _FILE.write_text(json.dumps(rounded, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
