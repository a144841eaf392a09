"""``python -m tools.arm``: tests of Phintys on 64-bit ARM, which qemu plays on this machine.

    python -m tools.arm                                   what `make arm` runs (an hour)
    python -m tools.arm -m tools.fuzz --count 100         a program, by that Python

Debian's Python for arm64 and wheels of the packages for it are unpacked into a folder, once, from
where this machine gets its packages; nothing is installed on it. A script there starts Python by
``qemu-aarch64``; processes that tests start with ``sys.executable`` go through it as well. It needs
qemu-user, and apt and dpkg of Debian.

What qemu shows: code for ARM computes and is loaded as it should. What it cannot show: its threads
see memory in the order of this machine, stricter than that of ARM; and times.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
FOLDER = PROJECT / "build" / "arm"

DEBS = ("python3", "libstdc++6", "libgomp1")
WHEELS = ("numpy", "scipy", "llvmlite", "platformdirs", "mpmath")
TOOLS = ("pytest", "pytest-xdist", "pytest-timeout", "hypothesis")
PLATFORMS = ("manylinux_2_17_aarch64", "manylinux_2_27_aarch64", "manylinux_2_28_aarch64")

STEPS = (
    ("records", ["-m", "pytest", "tests/records/test_native.py"]),
    ("graphs", ["-m", "tools.fuzz", "--count", "100"]),
    ("pool, cache, entry", ["-m", "pytest", "tests/backends/native/runtime"]),
    ("signals, forks, caches", ["-m", "pytest", "tests/backends/native/stress"]),
)
"""What `make arm` runs: a title, and the arguments of Python."""

LEFT_OUT = (
    *("without_memory", "little_memory", "memory_stays_flat"),
    *("forks", "eight_threads_compile"),
)
"""qemu does not limit memory, or takes too long for a test of it; and it ends itself, by a failed
assertion, in some children of processes with threads."""

PYTEST = ["-n", "0", "-q", "-p", "no:cacheprovider", "--timeout", "900"]
PYTEST += ["-k", " and ".join(f"not {name}" for name in LEFT_OUT)]

APT = """
APT::Architecture "arm64";
APT::Architectures {{ "arm64"; }};
APT::Sandbox::User "";
Debug::NoLocking "true";
Dir::State "{apt}/state";
Dir::State::status "{apt}/state/status";
Dir::Cache "{apt}/cache";
Dir::Etc::parts "{apt}/none";
"""

LAUNCHER = """#!/bin/sh
export PHINTYS_ARM_PYTHON="$0" PYTHONHASHSEED=0
export XDG_CACHE_HOME="{folder}/cache" PYTHONPATH="{project}/src:{project}:{folder}/site"
exec "{qemu}" -L "{folder}/root" "{folder}/root/usr/bin/{python}" "$@"
"""

CUSTOMIZE = """import os, sys
sys.executable = os.environ["PHINTYS_ARM_PYTHON"]  # the kernel cannot start Python for ARM itself
"""


class NotHereError(Exception):
    """Something that this machine lacks."""


def main(arguments: list[str]) -> int:
    """Run what is asked for on ARM; return the exit status."""
    try:
        python = set_up(FOLDER)
    except NotHereError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    if arguments:
        return run(python, arguments)
    failed = [title for title, command in STEPS if _step(python, title, command)]
    _say(f"failed: {', '.join(failed)}" if failed else "all passed")
    return 1 if failed else 0


def _step(python: Path, title: str, command: list[str]) -> int:
    _say(f"== {title}")
    return run(python, command + (PYTEST if "pytest" in command else []))


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def run(python: Path, arguments: list[str]) -> int:
    """Run Python for ARM in the project's folder; return its exit status."""
    command = [str(python), *arguments]
    return subprocess.run(command, cwd=PROJECT, check=False).returncode  # noqa: S603 - that script


def set_up(folder: Path) -> Path:
    """Return the script that starts Python for ARM, after unpacking what it needs.

    Raises
    ------
    NotHereError
        If a program is missing, or a package cannot be fetched.
    """
    python = folder / "python"
    if python.exists():
        return python
    found = {name: shutil.which(name) for name in ("apt-get", "dpkg")}
    found["qemu-aarch64"] = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
    missing = [name for name, path in found.items() if path is None]
    if missing:
        msg = f"`make arm` needs {', '.join(missing)} (Debian: apt install qemu-user)."
        raise NotHereError(msg)
    name = _unpack_debs(folder)
    _unpack_wheels(folder, name.removeprefix("python"))
    (folder / "site" / "sitecustomize.py").write_text(CUSTOMIZE)
    text = LAUNCHER.format(folder=folder, project=PROJECT, qemu=found["qemu-aarch64"], python=name)
    fresh = folder / "python.new"
    fresh.write_text(text)
    fresh.chmod(0o755)
    fresh.replace(python)
    return python


def _unpack_debs(folder: Path) -> str:
    """Fetch Python and all that it depends on, by apt in a folder; return its name there."""
    apt = folder / "apt"
    for part in ("state/lists/partial", "cache/archives/partial", "none"):
        (apt / part).mkdir(parents=True, exist_ok=True)
    (apt / "state" / "status").touch()
    settings = apt / "apt.conf"
    settings.write_text(APT.format(apt=apt))
    start = ["apt-get", "-qq", "-c", str(settings)]
    _fetch([*start, "update"])
    _fetch([*start, "install", "-y", "--download-only", "--no-install-recommends", *DEBS])
    for package in sorted((apt / "cache" / "archives").glob("*.deb")):
        _fetch(["dpkg", "-x", str(package), str(folder / "root")])
    return (folder / "root" / "usr" / "bin" / "python3").readlink().name


def _unpack_wheels(folder: Path, version: str) -> None:
    """Fetch wheels for ARM, and unpack them into one folder."""
    wheels = folder / "wheels"
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet"]
    command += ["--only-binary", ":all:", "--python-version", version, "--dest", str(wheels)]
    command += [f"--platform={name}" for name in PLATFORMS]
    _fetch([*command, *WHEELS, *TOOLS])
    for wheel in sorted(wheels.glob("*.whl")):
        with zipfile.ZipFile(wheel) as packed:
            packed.extractall(folder / "site")


def _fetch(command: list[str]) -> None:
    done = subprocess.run(  # noqa: S603 - apt, dpkg and pip, with the names above
        command, capture_output=True, text=True, check=False
    )
    if done.returncode:
        msg = f"{' '.join(command)} failed:\n{done.stderr.strip()}"
        raise NotHereError(msg)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
