"""Measure one program in one framework, in a process of its own; print the figures as JSON."""
# Peers need not be installed.
# pyright: reportMissingImports=false

from __future__ import annotations

import argparse
import importlib
import json
import resource
import sys
import time
from typing import Any

import numpy as np

from benchmarks.suite.workloads import WORKLOADS

LONGEST = 1.5  # seconds spent on timing calls


def best_time(function: Any, arguments: list[Any]) -> float:
    """Return the seconds of a call: the best of many rounds."""
    calls = 1
    while True:
        start = time.perf_counter()
        for _ in range(calls):
            function(*arguments)
        spent = time.perf_counter() - start
        if spent > 2e-3 or calls >= 1 << 20:
            break
        calls *= 4
    best = spent / calls
    deadline = time.perf_counter() + LONGEST
    while time.perf_counter() < deadline:
        start = time.perf_counter()
        for _ in range(calls):
            function(*arguments)
        best = min(best, (time.perf_counter() - start) / calls)
    return best


def flattened(results: Any) -> list[float]:
    """Return a few numbers by which results of several frameworks can be compared."""
    values = results if isinstance(results, list | tuple) else [results]
    return [float(np.abs(np.asarray(value, dtype="float64")).mean()) for value in values]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("framework")
    parser.add_argument("workload")
    parser.add_argument("--device-arrays", action="store_true")
    options = parser.parse_args()

    workload = WORKLOADS[options.workload]
    sys.setrecursionlimit(100_000)  # some peers recurse over the graph
    start = time.perf_counter()
    module = importlib.import_module(f"benchmarks.suite.in_{options.framework}")
    import_seconds = time.perf_counter() - start
    arrays: list[Any] = workload.inputs(np.random.default_rng(0))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    start = time.perf_counter()
    function = getattr(module, workload.program)(arrays, workload.size)
    results = function(*arrays)
    first_seconds = time.perf_counter() - start

    if options.device_arrays:
        import jax

        arrays = [jax.device_put(array) for array in arrays]
    seconds = best_time(function, arrays)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    figures = {
        "import": import_seconds,
        "first": first_seconds,
        "call": seconds,
        "peak_mib": peak / 1024,
        "grown_mib": (peak - before) / 1024,
        "check": flattened(results),
    }
    sys.stdout.write(json.dumps(figures) + "\n")


if __name__ == "__main__":
    main()
