"""``python -m benchmarks.old_imports``: what importing an old package costs more than Phintys.

The least seconds of the processor of several processes, which take turns.
"""

from __future__ import annotations

import subprocess
import sys

from phintys.compat import PACKAGES

PROCESSES = 9

_USE = "import resource\nused = resource.getrusage(resource.RUSAGE_SELF)\n"
_USE += "print(used.ru_utime + used.ru_stime)\n"


def programs() -> dict[str, str]:
    """Return a program that imports Phintys, and one for each old package, with common names."""
    found = {"phintys": "import phintys, phintys.tensor\n"}
    for package in PACKAGES:
        found[package] = (
            f"import phintys.compat\nphintys.compat.install({package!r})\n"
            f"import {package}, {package}.tensor as T\n"
            f"T.dvector, T.exp, {package}.function, {package}.shared, {package}.grad\n"
        )
    return found


def main() -> None:
    """Print the seconds of each package."""
    seconds = dict.fromkeys(programs(), float("inf"))
    for _ in range(PROCESSES):
        for name, source in programs().items():
            command = [sys.executable, "-c", source + _USE]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            seconds[name] = min(seconds[name], float(done.stdout))
    for name, least in seconds.items():
        more = least - seconds["phintys"]
        sys.stdout.write(f"{name}: {least:.3f} s, {more:.3f} s more than phintys\n")


if __name__ == "__main__":
    main()
