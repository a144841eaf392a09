"""The reference: a page for each family of functions, from docstrings."""

from __future__ import annotations

from pathlib import Path

__all__ = ["write_reference"]


def write_reference(source: Path) -> list[Path]:
    """Write the pages; return their paths."""
    return []
