"""Downloading a wheel or source distribution, and unpacking its tests."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from tools.tests_of_others import downloaded

if TYPE_CHECKING:
    from pathlib import Path

    from tools.bridge_tests.selection import Source

__all__ = ["unpacked"]


def unpacked(source: Source, folder: Path) -> Path:
    """Return a folder that has the ``tests`` of a distribution, and nothing else of it."""
    target = folder / source.label
    if target.exists():
        return target
    file = folder / "downloads" / source.file
    archive = downloaded(source.package, source.version, source.sha256, file)
    whole = folder / "unpacked"
    shutil.rmtree(whole, ignore_errors=True)
    shutil.unpack_archive(archive, whole, "zip" if archive.suffix == ".whl" else None)
    inside = whole if archive.suffix == ".whl" else whole / source.label
    target.mkdir(parents=True)
    (inside / "tests").rename(target / "tests")
    shutil.rmtree(whole)
    return target
