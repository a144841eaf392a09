"""Run the benchmarks of Phintys by itself, and write them into ``benchmarks/RESULTS.md``.

``python benchmarks/run.py`` runs all; ``python benchmarks/run.py building gradient`` some, and
leaves the rest of the file as it is.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
RESULTS = HERE / "RESULTS.md"

HEAD = """\
# Measured

Written by `make bench`, which runs the programs in this folder. Figures depend on the machine;
what should be read off them is said with each.
"""

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


def processor():
    """Return the processor's name, as far as it can be found."""
    try:
        found = re.search(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text("utf-8"))
    except OSError:
        found = None
    return found[1] if found else platform.processor() or platform.machine()


def machine():
    """Return a line on where and when this was measured."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("phintys", "numpy"))
    today = datetime.now(UTC).date().isoformat()
    return (
        f"{today}, {processor()}, {os.cpu_count()} logical processors, "
        f"Python {platform.python_version()}, {packages}."
    )


def measure(name):
    """Run one program, and return what it printed."""
    print(f"--- {name}", flush=True)
    command = [sys.executable, "-m", f"benchmarks.{name}"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=HERE.parent)
    print(done.stdout, flush=True)
    return done.stdout.rstrip()


def section(name, output):
    return f"### {name}\n\n{BENCHMARKS[name]}\n\n{machine()}\n\n```text\n{output}\n```\n"


def read_sections():
    """Return the sections of the file by name, and what follows the foundation's chapter."""
    if not RESULTS.exists():
        return {}, ""
    text = RESULTS.read_text("utf-8")
    _, _, foundation = text.partition("## Foundation\n")
    foundation, mark, rest = foundation.partition("\n## ")
    parts = re.split(r"^### (\w+)$", foundation, flags=re.MULTILINE)[1:]
    named = dict(zip(parts[::2], parts[1::2], strict=True))
    return {name: f"### {name}{body.rstrip()}\n" for name, body in named.items()}, mark + rest


def main(names):
    unknown = set(names) - set(BENCHMARKS)
    if unknown:
        sys.exit(f"There are no benchmarks {sorted(unknown)}; there are {', '.join(BENCHMARKS)}.")
    sections, rest = read_sections()
    for name in names or BENCHMARKS:
        sections[name] = section(name, measure(name))
    chapter = "\n".join(sections[name] for name in BENCHMARKS if name in sections)
    RESULTS.write_text(f"{HEAD}\n## Foundation\n\n{chapter}{rest}", "utf-8")
    print(f"written to {RESULTS}")


if __name__ == "__main__":
    main(sys.argv[1:])
