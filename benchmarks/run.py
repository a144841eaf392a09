"""Run the benchmarks of Phintys by itself, and write what they print into ``benchmarks/data``.

``python -m benchmarks.run`` runs all; ``python -m benchmarks.run building gradient`` some.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.suite.results import DATA, machine

HERE = Path(__file__).parent

BENCHMARKS = {
    "building": "A node should take at most 5 µs, `import phintys` at most 150 ms beyond NumPy.",
    "reference_vm": "The reference VM should add at most 2 µs to each node's own work.",
    "gradient": "Linear cost shows as `µs/node` that does not grow with the graph.",
    "compiling": "Linear cost shows as figures that do not grow from row to row.",
    "sharing": "Linear cost shows as figures that do not grow from row to row.",
    "passes": "Linear cost shows as equal figures along a row.",
    "graph": "Linear cost shows as equal figures along a row; finding a node's line should take at "
    "most 1 µs.",
    "rewriting": "The largest relative error near dangerous values, and the nodes that are left: "
    "at least as good as PyTensor on every line, or with a reason.",
    "products": "Tiles should be faster than BLAS up to the border, which was measured on this "
    "machine and kept.",
    "updates": "Updates of a few elements should cost what is written, whatever the size; those of "
    "whole values no more than NumPy takes in place.",
    "bandwidth": "Programs that take longer than `computing` are bound by memory: their share of "
    "the triad's bandwidth should be 80 % or more.",
}


def measure(name):
    """Run one program, and return what it printed."""
    print(f"--- {name}", flush=True)
    command = [sys.executable, "-m", f"benchmarks.{name}"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=HERE.parent)
    print(done.stdout, flush=True)
    return done.stdout.rstrip()


def main(names):
    unknown = set(names) - set(BENCHMARKS)
    if unknown:
        sys.exit(f"There are no benchmarks {sorted(unknown)}; there are {', '.join(BENCHMARKS)}.")
    for name in names or BENCHMARKS:
        output = measure(name)
        (DATA / f"{name}.txt").write_text(f"# {machine()}\n{output}\n", "utf-8")
    print(f"written to {DATA}")


if __name__ == "__main__":
    main(sys.argv[1:])
