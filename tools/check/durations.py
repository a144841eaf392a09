"""How long the tests of each file took, as data: what ``make check`` plans with.

``make durations`` measures them: see :mod:`tools.check.measuring`. The times are sums over the
tests of a file, in seconds of one process.
"""

from __future__ import annotations

import json
from pathlib import Path

__all__ = ["BUDGETS", "FILE", "UNKNOWN", "read_durations", "room_of"]

FILE = Path("tests") / "durations.json"

UNKNOWN = 2.0
"""Seconds that a file of tests is taken to need which has no entry."""

BUDGETS: dict[str, float] = {
    "": 130,
    "_base": 20,
    "backends": 840,
    "compat": 50,
    "compile": 50,
    "contrib": 10,
    "control": 170,
    "examples": 30,
    "gradient": 100,
    "graph": 50,
    "optimize": 10,
    "passes": 130,
    "random": 280,
    "records": 830,
    "rewriting": 20,
    "scalar": 130,
    "tensor": 210,
    "testing": 30,
    "tools": 130,
}
"""Seconds that the tests of each room may take together; ``""`` for those of no room."""


def read_durations(root: Path) -> dict[str, float]:
    """Return the seconds of each file of tests, by its path in the checkout."""
    return json.loads((root / FILE).read_text(encoding="utf-8"))


def room_of(path: str) -> str:
    """Return the room whose tests a file has, ``""`` for files of none.

    Examples
    --------
    >>> room_of("tests/tensor/linear_algebra/test_norms.py"), room_of("tests/test_docs.py")
    ('tensor', '')
    """
    parts = Path(path).parts
    return parts[1] if len(parts) > 2 else ""
