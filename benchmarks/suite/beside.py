"""Measure programs whose kernels are worth sharing beside processes that keep the cores busy.

python -m benchmarks.suite.beside [--only TEXT] [--variants A;B] [--beside 0;2;4]
    [--pauses 0;1;20] [--milliseconds MILLISECONDS] [--rounds ROUNDS] [--write NAME]

A row starts a process for each framework, which compiles and warms up. Then these call their
program in turn, for some milliseconds each, so that whatever else runs disturbs all of them alike:
first beside no busy process, then beside two, and four. With a pause, they sleep so many
milliseconds before each call, and a round is longer. "Phintys alone" uses no other thread:
no call should take longer. Figures are of all calls of a third of the rounds: the median, the mean,
the 99th percentile, and the processors' time of a call. If all programs are measured, and nothing
else is asked for, the data file is ``busy_machine``.
"""

from __future__ import annotations

import argparse
import contextlib
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

from benchmarks.suite.busy import TURNS, Figures, by_figure, table
from benchmarks.suite.results import ROOT, machine, save, search_path
from benchmarks.suite.workloads import BESIDE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

VARIANTS = {
    "Phintys": ("phintys", ""),
    "Phintys alone": ("phintys", "num_threads=1"),
    "JAX": ("jax", ""),
}
COUNTS = (0, 2, 4)
PAUSES = (0, 1, 20)
MILLISECONDS = 50.0
ROUNDS = 42
PAUSES_A_ROUND = 10
WARM_UP = 200
WARM_UP_SECONDS = 1.5
FIGURES = {
    "p50": "Median of a call",
    "mean": "Mean of a call",
    "p99": "99th percentile",
    "busy": "Processors' time of a call",
}


def work(framework: str, name: str) -> None:
    """Compile, say so, and for each line call for so many seconds, and print the times.

    A line has the seconds, and how long to sleep before each call.
    """
    workload = BESIDE[name]
    module = importlib.import_module(f"benchmarks.suite.in_{framework}")
    arrays: list[Any] = workload.inputs(np.random.default_rng(0))
    function = getattr(module, workload.program)(arrays, workload.size)
    warm = time.process_time() + WARM_UP_SECONDS
    latest = time.perf_counter() + 5 * WARM_UP_SECONDS
    while time.process_time() < warm and time.perf_counter() < latest:
        function(*arrays)
    if framework == "phintys":
        importlib.import_module("phintys.backends.native.runtime.background").chores.wait()
    for _ in range(WARM_UP):
        function(*arrays)
    print("ready", flush=True)
    for line in sys.stdin:
        times: list[float] = []
        began = time.process_time()
        seconds, pause = map(float, line.split())
        now = time.perf_counter()
        end = now + seconds
        while now < end:
            if pause:
                time.sleep(pause)
                now = time.perf_counter()
            before = now
            function(*arrays)
            now = time.perf_counter()
            times.append(now - before)
        busy = time.process_time() - began
        print(json.dumps({"busy": busy, "times": times}), flush=True)


@contextlib.contextmanager
def workers(variants: Sequence[str], name: str) -> Iterator[list[subprocess.Popen[str]]]:
    """Start a process for each variant, all of them warm."""
    with tempfile.TemporaryDirectory() as folder:
        started: list[subprocess.Popen[str]] = []
        try:
            for variant in variants:
                framework, flags = VARIANTS[variant]
                options = [flags] if flags else []
                environment = os.environ | {
                    "PHINTYS_FLAGS": ",".join([f"cache_dir={folder}", *options]),
                    "PYTHONPATH": search_path(),
                }
                command = [sys.executable, "-m", "benchmarks.suite.beside"]
                process = subprocess.Popen(
                    [*command, "--work", framework, name],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                    env=environment,
                    cwd=ROOT,
                )
                started.append(process)
            for process in started:
                assert process.stdout is not None
                if process.stdout.readline() != "ready\n":
                    msg = "a process did not begin"
                    raise ValueError(msg)
            yield started
        finally:
            _end(started)


@contextlib.contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """Keep some cores busy."""
    spin = [sys.executable, "-c", "while True: pass"]
    started = [subprocess.Popen(spin) for _ in range(count)]
    try:
        time.sleep(0.3)
        yield
    finally:
        _end(started)


def _end(started: Sequence[subprocess.Popen[Any]]) -> None:
    for process in started:
        process.kill()
        process.wait()


def measure(
    started: Sequence[subprocess.Popen[str]],
    beside: int,
    seconds: float,
    rounds: int,
    pause: float = 0.0,
) -> list[Figures]:
    """Let processes call their programs in turn, and return the figures of each."""
    seconds += PAUSES_A_ROUND * pause
    found: list[Figures] = [{key: [] for key in FIGURES} for _ in started]
    with busy_processes(beside):
        for _ in range(TURNS):
            times, busy = _rounds(started, seconds, rounds // TURNS, pause)
            for figures, of_one, spent in zip(found, times, busy, strict=True):
                figures["p50"].append(float(np.median(of_one)))
                figures["mean"].append(float(np.mean(of_one)))
                figures["p99"].append(float(np.percentile(of_one, 99)))
                figures["busy"].append(spent / len(of_one))
    return found


def _rounds(
    started: Sequence[subprocess.Popen[str]], seconds: float, rounds: int, pause: float
) -> tuple[list[list[float]], list[float]]:
    """Return the times of the calls of each process, and the processors' time of all."""
    times: list[list[float]] = [[] for _ in started]
    busy = [0.0] * len(started)
    for one in range(rounds):
        order = list(enumerate(started))
        for at, process in order if one % 2 else reversed(order):
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(f"{seconds} {pause}\n")
            process.stdin.flush()
            answer = json.loads(process.stdout.readline())
            times[at] += answer["times"]
            busy[at] += answer["busy"]
    return times, busy


def main() -> None:
    """Run all variants that are installed on all programs."""
    parser = argparse.ArgumentParser(description="Measure programs beside busy processes.")
    parser.add_argument("--work", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--only", default="", help="only programs whose name contains this")
    parser.add_argument("--variants", default="", help="only these columns, separated by ';'")
    parser.add_argument("--beside", default="", help="only these numbers, separated by ';'")
    parser.add_argument("--pauses", default="", help="only these, in milliseconds")
    parser.add_argument("--milliseconds", type=float, default=MILLISECONDS, help="of a round")
    parser.add_argument(
        "--rounds", type=int, default=ROUNDS, help=f"of each program, {TURNS} or more"
    )
    parser.add_argument("--write", help="the name of the data file")
    options = parser.parse_args()
    if options.work:
        work(*options.work)
        return

    wanted = [name.strip() for name in options.variants.split(";") if name.strip()]
    variants = [
        name
        for name, (framework, _) in VARIANTS.items()
        if find_spec(framework) and (not wanted or name in wanted)
    ]
    counts = [int(count) for count in options.beside.split(";") if count] or COUNTS
    pauses = [int(pause) for pause in options.pauses.split(";") if pause] or PAUSES
    columns = {
        f"{count} after {pause} ms" if pause else f"{count}": (count, pause)
        for pause in pauses
        for count in counts
    }
    results: dict[str, dict[str, list[Figures | None]]] = {}
    for name in BESIDE:
        if options.only not in name:
            continue
        row = results[name] = {variant: [] for variant in variants}
        with workers(variants, name) as started:
            for column, (count, pause) in columns.items():
                seconds, between = options.milliseconds / 1000, pause / 1000
                found = measure(started, count, seconds, options.rounds, between)
                for variant, figures in zip(variants, found, strict=True):
                    row[variant].append(figures)
                    shown = " ".join(f"{key} {median(figures[key]) * 1e6:9.1f}" for key in FIGURES)
                    print(f"{name:<34} {column:<14} {variant:<14} {shown} us", flush=True)

    lines = [machine(), ""]
    lines += [
        "Columns: the framework, and how many busy processes run beside it, after what pause.",
        "",
    ]
    for key, title in FIGURES.items():
        lines += table(title, key, list(columns), results)
    print("\n".join(lines))
    some = options.only or wanted or options.beside or options.pauses
    name = options.write or ("" if some else "busy_machine")
    if name:
        save(name, by_figure(tuple(FIGURES), list(columns), results))


if __name__ == "__main__":
    main()
