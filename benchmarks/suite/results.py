"""What the tables of benchmarks/RESULTS.md have in common."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "RESULTS.md"


def seconds_text(seconds: float | None) -> str:
    """Return a duration with a unit and three digits."""
    if seconds is None:
        return "–"
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6), ("ns", 1e9)):
        if seconds * factor >= 1 or unit == "ns":
            return f"{seconds * factor:.3g} {unit}"
    return "–"


def versions() -> str:
    """Return the versions of all packages that take part."""
    parts = [f"Python {platform.python_version()}"]
    for name in ("phintys", "numpy", "scipy", "llvmlite", "pytensor", "numba", "jax"):
        try:
            parts.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(parts) + f"; {os.cpu_count()} cores, {platform.machine()}"


def search_path() -> str:
    """Return the ``PYTHONPATH`` of measured processes: the package of this checkout comes first."""
    given = os.environ.get("PYTHONPATH")
    return os.pathsep.join(filter(None, [str(ROOT), str(ROOT / "src"), given]))


def write_chapter(chapter: str, text: str) -> None:
    """Put the tables in the place of those that are in the file with all results."""
    before, _, rest = RESULTS.read_text("utf-8").partition(f"{chapter}\n")
    _, mark, after = rest.partition("\n## ")
    RESULTS.write_text(f"{before.rstrip()}\n\n{text.rstrip()}\n{mark}{after}", "utf-8")
