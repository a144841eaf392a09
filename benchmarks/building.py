"""What it costs to build nodes, and to import Phintys.

Run ``python benchmarks/building.py``. Node costs are microseconds of CPU, the best of several runs,
with the user's line found for each node; import times are beyond NumPy's own, the median of fresh
processes.
"""

from __future__ import annotations

import gc
import os
import statistics
import subprocess
import sys
import time
import timeit

import phintys.tensor as pt

IMPORT = """
import time, numpy
start = time.perf_counter()
import phintys
print(time.perf_counter() - start)
"""


def microseconds(statement, number=20_000):
    """Return the CPU time of a call; the garbage collector is on, as it is in programs."""
    runs = timeit.repeat(
        statement,
        number=number,
        repeat=7,
        timer=time.process_time,
        setup="gc.enable()",
        globals={"gc": gc},
    )
    return min(runs) / number * 1e6


def expressions():
    """Yield what is built, and a function that builds it."""
    x, y = pt.dvectors("x", "y")
    matrix, index = pt.dmatrix("m"), pt.lvector("i")
    yield "x + y", lambda: x + y
    yield "x * 2", lambda: x * 2
    yield "exp(x)", lambda: pt.exp(x)
    yield "x.sum()", x.sum
    yield "m.sum(axis=1)", lambda: matrix.sum(axis=1)
    yield "m @ x", lambda: matrix @ x
    yield "m.T", lambda: matrix.T
    yield "m + x (and a DimShuffle)", lambda: matrix + x
    yield "x[1:]", lambda: x[1:]
    yield "x[i]", lambda: x[index]
    yield "x.shape", lambda: x.shape
    yield "dvector('x')", lambda: pt.dvector("x")


def import_seconds(runs=9):
    """Return the median time that ``import phintys`` takes in a process with NumPy."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", IMPORT]
    times = [
        float(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)
        for _ in range(runs + 1)
    ]
    return statistics.median(times[1:])  # the first may have had to compile


def main():
    print("µs of CPU to build")
    for name, build in expressions():
        build()
        print(f"  {name:<28}{microseconds(build):>7.2f}")
    print(f"import phintys, beyond numpy: {import_seconds() * 1e3:.0f} ms")


if __name__ == "__main__":
    main()
