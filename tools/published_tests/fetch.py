"""Downloading a source distribution, and unpacking its tests."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from typing import TYPE_CHECKING

from tools.tests_of_others import downloaded

if TYPE_CHECKING:
    from pathlib import Path

    from tools.published_tests.selection import Release

__all__ = ["unpacked_tests"]


def unpacked_tests(release: Release, folder: Path, repository: Path | None = None) -> Path:
    """Return a folder that has the ``tests`` of a release, and nothing else of it.

    Parameters
    ----------
    release
        What is wanted.
    folder
        Where releases are unpacked.
    repository
        A clone, for a release whose tests are in a repository only.
    """
    target = folder / f"{release.package}-{release.version}"
    if (target / "complete").exists():
        return target
    if repository is None:
        file = folder / "downloads" / f"{release.package}-{release.version}.tar.gz"
        archive = downloaded(release.package, release.version, release.sha256, file)
    else:
        archive = _archived(release, folder / "downloads", repository)
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    with tarfile.open(archive) as tar:
        for member in tar:
            inside = member.name.partition("/")[2] if repository is None else member.name
            if inside.startswith("tests/") and (member.isfile() or member.isdir()):
                member.name = inside
                tar.extract(member, target, filter="data")
    (target / "complete").touch()
    return target


def _archived(release: Release, folder: Path, repository: Path) -> Path:
    """Write the tests of a commit into an archive."""
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / f"{release.package}-{release.commit}.tar"
    command = ["git", "-C", str(repository), "archive", "--output", str(archive.resolve())]
    subprocess.run([*command, release.commit, "tests"], check=True)  # noqa: S603 - git
    return archive
