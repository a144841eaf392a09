"""Write how long the tests of each file took.

    python -m tools.check.measuring build/durations.xml

reads the report of a whole run, and writes ``tests/durations.json``.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree as ET

from tools.check.durations import FILE

__all__ = ["main", "summed"]


def summed(report: Path) -> dict[str, float]:
    """Return the seconds of each file of tests in a report in JUnit's format."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for case in ET.parse(report).iter("testcase"):  # noqa: S314 - a file that we wrote
        path = _file_of(case.get("classname", ""))
        if path is not None:
            seconds[path.as_posix()] += float(case.get("time", 0))
    return dict(sorted(seconds.items()))


def _file_of(name: str) -> Path | None:
    """Return the file of a module of tests, whose name a class of tests may follow."""
    parts = name.split(".") if name else []
    while parts:
        path = Path(*parts).with_suffix(".py")
        if path.exists():
            return path
        parts.pop()
    return None


def main(arguments: list[str]) -> int:
    """Write the file of durations; return the exit status."""
    rounded = {path: round(seconds, 1) for path, seconds in summed(Path(arguments[0])).items()}
    FILE.write_text(json.dumps(rounded, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
