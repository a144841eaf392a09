"""Measure everything on this machine, and draw it: ``python -m benchmarks``.

``--minutes 15`` measures as much as fits: building and calling functions, then the programs beside
PyTensor, JAX and NumPy, in rounds until the time is over. Without it everything is measured, three
times, which takes some hours. Peers that are not installed are left out: ``make bench`` installs
them. Data go to ``benchmarks/data``, whose first lines name the machine, and plots of them to
``docs/images/numbers``.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

from benchmarks.plots import draw
from benchmarks.suite.results import ROOT, joined, load, save

SHORT = ("run", "building", "reference_vm", "gradient")
TIMES = 3
WHOLE = (
    ("run",),
    ("suite.run", "--times", f"{TIMES}"),
    ("suite.busy",),
    ("suite.beside",),
)
"""The programs that write data files with several values of each figure."""
ONE_PROCESS = {
    "mode_jax": "suite.mode_jax",
    "random_numbers": "suite.random_numbers",
    "array_language": "suite.array_language",
    "images": "suite.images",
}
"""Data file -> the program that writes it, with one value of each figure."""


def run(module: str, *options: str) -> None:
    """Run one of the programs of this folder."""
    command = [sys.executable, "-m", f"benchmarks.{module}", *options]
    subprocess.run(command, cwd=ROOT, check=True)


def run_repeatedly(data: str, module: str) -> None:
    """Run a program in several processes, and write the values of all into its data file."""
    found = []
    for _ in range(TIMES):
        run(module)
        found.append(load(data)[1])
    save(data, joined(found))


def main() -> None:
    """Measure all, or what fits into some minutes."""
    parser = argparse.ArgumentParser(description="Measure Phintys on this machine.")
    parser.add_argument("--minutes", type=float, help="how long it may take, 5 or more")
    parser.add_argument("--draw", action="store_true", help="only draw what has been measured")
    options = parser.parse_args()
    if options.draw:
        pass
    elif options.minutes is None:
        for module, *arguments in WHOLE:
            run(module, *arguments)
        for data, module in ONE_PROCESS.items():
            run_repeatedly(data, module)
    else:
        end = time.monotonic() + 60 * options.minutes
        run(*SHORT)
        left = (end - time.monotonic()) / 60
        run("suite.run", "--times", "5", "--timeout", "60", "--minutes", f"{left:.1f}")
    for path in draw():
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
