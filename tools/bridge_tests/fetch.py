"""Downloading a wheel or source distribution, and unpacking its tests."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from tools.bridge_tests.selection import Source

__all__ = ["unpacked"]


def unpacked(source: Source, folder: Path) -> Path:
    """Return a folder that has the ``tests`` of a distribution, and nothing else of it."""
    target = folder / source.label
    if target.exists():
        return target
    archive = _downloaded(source, folder / "downloads")
    whole = folder / "unpacked"
    shutil.rmtree(whole, ignore_errors=True)
    shutil.unpack_archive(archive, whole, "zip" if archive.suffix == ".whl" else None)
    inside = whole if archive.suffix == ".whl" else whole / source.label
    target.mkdir(parents=True)
    (inside / "tests").rename(target / "tests")
    shutil.rmtree(whole)
    return target


def _downloaded(source: Source, folder: Path) -> Path:
    """Download a distribution with pip; check what came."""
    archive = folder / source.file
    if not archive.exists():
        folder.mkdir(parents=True, exist_ok=True)
        kind = "--only-binary" if archive.suffix == ".whl" else "--no-binary"
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--disable-pip-version-check", kind, source.package]
        command += ["--dest", str(folder), f"{source.package}=={source.version}"]
        subprocess.run(command, check=True)  # noqa: S603 - pip, with the names above
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != source.sha256:
        msg = f"{archive} is not the file that was chosen: its SHA-256 is {found}."
        raise ValueError(msg)
    return archive
