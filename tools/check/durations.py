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
    "": 105,
    "_base": 16,
    "backends": 560,
    "commands": 10,
    "compat": 65,
    "compile": 40,
    "contrib": 10,
    "control": 115,
    "examples": 28,
    "gradient": 60,
    "graph": 45,
    "inspect": 22,
    "native": 10,
    "optimize": 10,
    "parallel": 20,
    "passes": 65,
    "random": 130,
    "records": 140,
    "rewriting": 10,
    "scalar": 95,
    "sparse": 32,
    "tensor": 140,
    "testing": 35,
    "tools": 60,
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
