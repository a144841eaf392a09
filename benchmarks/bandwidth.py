"""Compare the memory traffic of programs with that of a plain triad.

    python -m benchmarks.bandwidth [program ...]

Those programs of the suite of which the bytes are known. The triad ``x + 2.5 * y`` is compiled by
the same code generator, into results that are used again, and moves as many bytes. A program that
is bound by memory should reach 80 % of its bandwidth. Others are bound by what they compute: the
column "computing" is the time that all threads would take together if memory were as fast as the
cache, from the time of a piece of the program that fits it.
"""

from __future__ import annotations

import math
import os
import sys
from typing import Any

import numpy as np

import phintys
import phintys.tensor as pt
from benchmarks.suite import in_phintys
from benchmarks.suite.worker import best_time
from benchmarks.suite.workloads import WORKLOADS, Workload
from phintys import config

CACHED_BYTES = 256 * 1024
"""What fits the cache of a core, with room for results."""


def triad_bandwidth(bytes_moved: int) -> float:
    """Return the bytes a second of ``x + 2.5 * y`` that moves so many bytes."""
    count = bytes_moved // 24
    x, y = np.ones(count), np.ones(count)
    x_symbol, y_symbol = pt.dvector("x"), pt.dvector("y")
    function = phintys.function([x_symbol, y_symbol], x_symbol + 2.5 * y_symbol)
    return 24 * count / best_time(function, [x, y])


def seconds_computing(workload: Workload, function: Any, arrays: list[Any]) -> float:
    """Return how long a program would take if memory were as fast as the cache."""
    pieces = max(1, workload.bytes_moved // CACHED_BYTES)
    if all(array.ndim == 1 for array in arrays) and np.ndim(function(*arrays)) == 2:
        pieces = math.isqrt(pieces)  # of both axes
    part = [array[: len(array) // pieces].copy() for array in arrays]
    share = elements(part, function(*part)) / elements(arrays, function(*arrays))
    threads = config.num_threads
    config.num_threads = 1
    seconds = best_time(function, part)
    config.num_threads = threads
    return seconds / share / (threads or len(os.sched_getaffinity(0)))


def elements(arrays: list[Any], result: Any) -> int:
    """Return how many elements the largest of arrays and a result has."""
    return max(np.size(array) for array in [*arrays, result])


def main(names: list[str]) -> None:
    """Print a line for each program."""
    title = f"{'program':<32}{'time':>10}{'GB/s':>8}{'triad':>8}{'share':>8}{'computing':>12}"
    sys.stdout.write(title + "\n")
    for name, workload in WORKLOADS.items():
        if not workload.bytes_moved or (names and name not in names):
            continue
        arrays = workload.inputs(np.random.default_rng(0))
        function = getattr(in_phintys, workload.program)(arrays, workload.size)
        seconds = best_time(function, arrays)
        rate, triad = workload.bytes_moved / seconds, triad_bandwidth(workload.bytes_moved)
        computing = seconds_computing(workload, function, arrays)
        sys.stdout.write(
            f"{name:<32}{seconds * 1e6:>8.0f}us{rate / 1e9:>8.1f}{triad / 1e9:>8.1f}"
            f"{rate / triad:>8.0%}{computing * 1e6:>10.0f}us\n"
        )
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
