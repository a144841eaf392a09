"""What the programs of the gallery need."""

from __future__ import annotations

import ast
import shutil
from importlib.util import find_spec
from pathlib import Path

__all__ = ["GALLERY", "missing", "programs"]

GALLERY = Path(__file__).resolve().parents[2] / "examples" / "gallery"


def programs() -> list[Path]:
    """Return the programs, by name."""
    return sorted(GALLERY.glob("plot_*.py"))


def missing(program: Path) -> str:
    """Return the names of packages that a program needs and that are not installed, or "".

    The packages that it imports are read off its text, which is not run.
    """
    tree = ast.parse(program.read_text(encoding="utf-8"))
    packages: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            packages.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            packages.add(node.module.partition(".")[0])
        elif isinstance(node, ast.keyword) and node.arg == "kind" and not _has_linker():
            return "a linker"
    return ", ".join(sorted(name for name in packages if find_spec(name) is None))


def _has_linker() -> bool:
    return shutil.which("cc") is not None or find_spec("ziglang") is not None
