"""Measure programs in 1, 2 and 4 processes at once, as samplers run chains.

python -m benchmarks.suite.busy [--only TEXT] [--variants A;B] [--processes 1;4]
    [--seconds SECONDS] [--write NAME]

All processes compile and warm up, since some code is compiled again in the background, then wait
for each other, then call for some seconds, three times. Figures are of all their calls of one time:
the median, the 99th percentile, the calls in a second, and the processors' time of a call, which
depends least on what else runs. If all programs are measured, and nothing else is asked for, the
data file is ``processes``.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.suite.results import ROOT, Results, machine, save, search_path, seconds_text
from benchmarks.suite.workloads import SIDE_BY_SIDE

if TYPE_CHECKING:
    from collections.abc import Sequence

VARIANTS = {"Phintys": "phintys", "JAX": "jax", "PyTensor": "pytensor", "NumPy": "numpy"}
PROCESSES = (1, 2, 4)
SECONDS = 1.5
TURNS = 3
WARM_UP = 20
WARM_UP_SECONDS = 2.0
MOST_TIMES = 200_000
FIGURES = {
    "p50": "Median of a call",
    "p99": "99th percentile",
    "rate": "Calls in a second, of all processes",
    "busy": "Processors' time of a call",
}

Figures = dict[str, list[float]]
"""Figure -> its values, one of each turn."""


def work(framework: str, name: str, seconds: float) -> None:
    """Compile, say so, and for each line call for some seconds, and print how long calls took."""
    workload = SIDE_BY_SIDE[name]
    module = importlib.import_module(f"benchmarks.suite.in_{framework}")
    arrays: list[Any] = workload.inputs(np.random.default_rng(0))
    function = getattr(module, workload.program)(arrays, workload.size)
    warm = time.process_time() + WARM_UP_SECONDS
    latest = time.perf_counter() + 5 * WARM_UP_SECONDS
    for _ in range(WARM_UP):
        function(*arrays)
    while time.process_time() < warm and time.perf_counter() < latest:
        function(*arrays)
    print("ready", flush=True)
    for _ in sys.stdin:
        times: list[float] = []
        began = time.process_time()
        now = time.perf_counter()
        end = now + seconds
        while now < end:
            before = now
            function(*arrays)
            now = time.perf_counter()
            times.append(now - before)
        busy = time.process_time() - began
        every = -(-len(times) // MOST_TIMES)
        found = {"calls": len(times), "busy": busy, "times": times[::every]}
        print(json.dumps(found), flush=True)


def measure(framework: str, name: str, processes: int, seconds: float) -> Figures | None:
    """Return the figures of a program in several processes, ``None`` if one of them failed."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {
            "PYTENSOR_FLAGS": f"base_compiledir={folder}",
            "PHINTYS_FLAGS": f"cache_dir={folder}",
            "NUMBA_CACHE_DIR": folder,
            "PYTHONPATH": search_path(),
        }
        command = [sys.executable, "-m", "benchmarks.suite.busy", "--work", framework, name]
        started = [
            subprocess.Popen(
                [*command, "--seconds", str(seconds)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=environment,
                cwd=ROOT,
            )
            for _ in range(processes)
        ]
        try:
            _await_all(started)
            turns = [_turn(started) for _ in range(TURNS)]
        except (OSError, ValueError) as error:
            sys.stderr.write(f"{framework}, {name}, {processes} processes: {error}\n")
            return None
        finally:
            for process in started:
                process.kill()
                process.wait()
    found: Figures = {key: [] for key in FIGURES}
    for answers in turns:
        times = np.concatenate([answer["times"] for answer in answers])
        calls = sum(answer["calls"] for answer in answers)
        found["p50"].append(float(np.median(times)))
        found["p99"].append(float(np.percentile(times, 99)))
        found["rate"].append(calls / seconds)
        found["busy"].append(sum(answer["busy"] for answer in answers) / calls)
    return found


def _await_all(started: list[subprocess.Popen[str]]) -> None:
    """Wait until all processes are warm."""
    for process in started:
        assert process.stdout is not None
        if process.stdout.readline() != "ready\n":
            msg = "a process did not begin"
            raise ValueError(msg)


def _turn(started: list[subprocess.Popen[str]]) -> list[dict[str, Any]]:
    """Let processes begin together, and return what they print."""
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    answers: list[dict[str, Any]] = []
    for process in started:
        assert process.stdout is not None
        answers.append(json.loads(process.stdout.readline()))
    return answers


def _line(figures: Figures | None) -> str:
    if figures is None:
        return "failed"
    p50, p99, rate, busy = (median(figures[key]) for key in FIGURES)
    return f"{seconds_text(p50):>10} {seconds_text(p99):>10} {rate:12,.0f} {seconds_text(busy):>10}"


def table(
    title: str,
    key: str,
    counts: Sequence[object],
    results: dict[str, dict[str, list[Figures | None]]],
) -> list[str]:
    """Return a table of one figure: for each framework a column for each number of processes."""
    variants = list(next(iter(results.values())))
    columns = [f"{variant}, {count}" for variant in variants for count in counts]
    lines = [f"### {title}", "", f"| | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for name, row in results.items():
        cells = [figures for variant in variants for figures in row[variant]]
        found = [None if figures is None else median(figures[key]) for figures in cells]
        shown = [
            ("–" if value is None else f"{value:,.0f}") if key == "rate" else seconds_text(value)
            for value in found
        ]
        lines.append(f"| {name} | {' | '.join(shown)} |")
    return [*lines, ""]


def by_figure(
    keys: Sequence[str],
    counts: Sequence[object],
    results: dict[str, dict[str, list[Figures | None]]],
) -> Results:
    """Return the same as a table of ``benchmarks/data``: columns are frameworks with numbers."""
    return {
        key: {
            name: {
                f"{variant}, {count}": [] if figures is None else figures[key]
                for variant, cells in row.items()
                for count, figures in zip(counts, cells, strict=True)
            }
            for name, row in results.items()
        }
        for key in keys
    }


def main() -> None:
    """Run all variants that are installed on all programs."""
    parser = argparse.ArgumentParser(description="Measure several processes at once.")
    parser.add_argument("--work", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--only", default="", help="only programs whose name contains this")
    parser.add_argument("--variants", default="", help="only these columns, separated by ';'")
    parser.add_argument("--processes", default="", help="only these numbers, separated by ';'")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long each is called")
    parser.add_argument("--write", help="the name of the data file")
    options = parser.parse_args()
    if options.work:
        framework, name = options.work
        work(framework, name, options.seconds)
        return

    wanted = [name.strip() for name in options.variants.split(";") if name.strip()]
    variants = {
        name: framework
        for name, framework in VARIANTS.items()
        if find_spec(framework) and (not wanted or name in wanted)
    }
    counts = [int(count) for count in options.processes.split(";") if count] or PROCESSES
    results: dict[str, dict[str, list[Figures | None]]] = {}
    for name in SIDE_BY_SIDE:
        if options.only not in name:
            continue
        results[name] = {}
        for variant, framework in variants.items():
            row = results[name][variant] = []
            for count in counts:
                figures = measure(framework, name, count, options.seconds)
                row.append(figures)
                print(f"{name:<34} {variant:<10} {count} {_line(figures)}", flush=True)

    lines = [machine(), "", "Columns: the framework, and how many processes.", ""]
    for key, title in FIGURES.items():
        lines += table(title, key, counts, results)
    sys.stdout.write("\n".join(lines))
    some = options.only or wanted or options.processes
    name = options.write or ("" if some else "processes")
    if name:
        save(name, by_figure(tuple(FIGURES), counts, results))


if __name__ == "__main__":
    main()
