"""Run the suite and write the table.

python -m benchmarks.suite.run [--only TEXT] [--variants A;B] [--timeout SECONDS] [--times N]
                               [--minutes M] [--write NAME]

Each figure is measured in N processes: the times of an import and of a first result differ by half
from one process to the next. Tables show the least of them, and the data file has all. No process
begins after ``--minutes``. Without ``--only`` the data files are ``peers``, ``loops``, ``matrices``
and ``einsum``.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from benchmarks.suite.results import (
    ROOT,
    Results,
    machine,
    save,
    search_path,
    seconds_text,
)
from benchmarks.suite.workloads import WORKLOADS

TIMEOUT = 300
LONGEST_REPEATED = 10  # seconds to the first result, above which a program is measured once

# column: (framework, environment, arguments, run twice to warm the cache)
VARIANTS: dict[str, tuple[str, dict[str, str], list[str], bool]] = {
    "Phintys": ("phintys", {}, [], False),
    "Phintys, warm cache": ("phintys", {}, [], True),
    "NumPy": ("numpy", {}, [], False),
    "PyTensor": ("pytensor", {}, [], False),
    "PyTensor, warm cache": ("pytensor", {}, [], True),
    "PyTensor C": ("pytensor", {"PYTENSOR_FLAGS": "linker=cvm"}, [], False),
    "JAX": ("jax", {}, [], False),
    "JAX, device arrays": ("jax", {}, ["--device-arrays"], False),
}
PEERS = ("PyTensor", "PyTensor C", "JAX", "JAX, device arrays")

# title of the table: the figure that it shows
FIGURES = {
    "Time of a call": "call",
    "Time to the first result": "first",
    "Import": "import",
    "Import and first result": "start",
    "Peak memory": "peak_mib",
}

DATA_FILES = {"loops": "loop", "matrices": "matrix", "einsum": "einsum", "peers": ""}
"""Data file -> how the names of its programs begin. A program goes into the first that fits."""

Figures = dict[str, Any]


def measure(variant: str, workload: str, timeout: float = TIMEOUT) -> Figures | None:
    """Return the figures of one program in one variant, ``None`` if it failed or took too long."""
    framework, extra, arguments, warm = VARIANTS[variant]
    with tempfile.TemporaryDirectory() as folder:
        flags = [extra.get("PYTENSOR_FLAGS", ""), f"base_compiledir={folder}"]
        environment = os.environ | {
            "PYTENSOR_FLAGS": ",".join(filter(None, flags)),
            "PHINTYS_FLAGS": f"cache_dir={folder}",
            "NUMBA_CACHE_DIR": folder,
            "PYTHONPATH": search_path(),
        }
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        command = [sys.executable, "-m", "benchmarks.suite.worker", framework, workload]
        figures = None
        for _ in range(2 if warm else 1):
            try:
                done = subprocess.run(
                    [*command, *arguments],
                    capture_output=True,
                    text=True,
                    timeout=timeout,
                    env=environment,
                    cwd=ROOT,
                    check=True,
                )
            except subprocess.CalledProcessError as error:
                sys.stderr.write(f"{variant}, {workload}: {error.stderr[-300:]}\n")
                return None
            except subprocess.TimeoutExpired:
                sys.stderr.write(f"{variant}, {workload}: more than {timeout} s\n")
                return None
            figures = json.loads(done.stdout.splitlines()[-1])
            figures["start"] = figures["import"] + figures["first"]
    return figures


def jobs(variants: list[str], workloads: list[str], times: int) -> Iterator[tuple[str, str]]:
    """Return what is measured, in order: rounds, in each of which the slow PyTensor comes last."""
    for _ in range(times):
        for slow in (False, True):
            for workload in workloads:
                for variant in variants:
                    if variant.startswith("PyTensor") == slow:
                        yield workload, variant


def measured(
    variants: list[str], workloads: list[str], timeout: float, times: int, minutes: float
) -> dict[str, dict[str, list[Figures]]]:
    """Return the figures of each process, by program and variant."""
    end = time.monotonic() + 60 * minutes
    results = {workload: {variant: [] for variant in variants} for workload in workloads}
    tried: set[tuple[str, str]] = set()
    for workload, variant in jobs(variants, workloads, times):
        left = end - time.monotonic()
        row: list[Figures] = results[workload][variant]
        again = (workload, variant) in tried
        if left <= 0 or (again and (not row or row[0]["start"] > LONGEST_REPEATED)):
            continue
        tried.add((workload, variant))
        figures = measure(variant, workload, min(timeout, left))
        call = first = "failed"
        if figures:
            row.append(figures)
            call, first = seconds_text(figures["call"]), seconds_text(figures["first"])
        sys.stdout.write(f"{workload:<42} {variant:<22} {call:>10} {first:>10}\n")
        sys.stdout.flush()
    return results


def by_figure(results: dict[str, dict[str, list[Figures]]]) -> Results:
    """Return the same as a table of ``benchmarks/data``."""
    return {
        key: {
            workload: {
                variant: [figures[key] for figures in found] for variant, found in row.items()
            }
            for workload, row in results.items()
        }
        for key in FIGURES.values()
    }


def part(results: Results, name: str) -> Results:
    """Return the rows of a table that go into a data file."""
    return {
        key: {
            program: row
            for program, row in programs.items()
            if name == next(file for file, start in DATA_FILES.items() if program.startswith(start))
        }
        for key, programs in results.items()
    }


def geometric_mean(values: list[float]) -> float:
    """Return the geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def table(title: str, key: str, results: Results) -> list[str]:
    """Return a table of one figure, with the ratio to the best peer."""
    variants = list(next(iter(results[key].values())))
    lines = [f"### {title}", "", f"| | {' | '.join(variants)} | Phintys / best peer |"]
    lines.append("|---" * (len(variants) + 2) + "|")
    ratios = []
    for workload, row in results[key].items():
        values = {name: min(found, default=None) for name, found in row.items()}
        best = min(filter(None, (values.get(name) for name in PEERS)), default=None)
        ours = values.get("Phintys")
        ratio = ours / best if ours and best else None
        if ratio:
            ratios.append(ratio)
        shown = (
            [f"{value:.0f} MiB" if value else "–" for value in values.values()]
            if key.endswith("mib")
            else [seconds_text(value) for value in values.values()]
        )
        lines.append(f"| {workload} | {' | '.join(shown)} | {f'{ratio:.3f}' if ratio else '–'} |")
    lines += ["", f"Geometric mean of the ratios: {geometric_mean(ratios):.3f}", ""]
    return lines


def disagreements(results: dict[str, dict[str, list[Figures]]]) -> list[str]:
    """Return the programs of which the frameworks compute different results."""
    found = []
    for workload, row in results.items():
        checks = {name: figures[0]["check"] for name, figures in row.items() if figures}
        ours = checks.get("Phintys")
        for name, theirs in checks.items():
            if ours and not all(
                math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-9)
                for a, b in zip(ours, theirs, strict=True)
            ):
                found.append(f"{workload}: Phintys {ours[:3]}, {name} {theirs[:3]}")
    return found


def main() -> None:
    """Run all variants that are installed on all programs."""
    parser = argparse.ArgumentParser(description="Compare Phintys with its peers.")
    parser.add_argument("--only", default="", help="only programs whose name contains this")
    parser.add_argument("--variants", default="", help="only these columns, separated by ';'")
    parser.add_argument("--timeout", type=float, default=TIMEOUT, help="seconds for a program")
    parser.add_argument("--times", type=int, default=1, help="processes for each figure")
    parser.add_argument("--minutes", type=float, default=math.inf, help="when to stop")
    parser.add_argument("--write", help="the name of the data file")
    options = parser.parse_args()

    wanted = [name.strip() for name in options.variants.split(";") if name.strip()]
    variants = [
        name
        for name, (framework, *_) in VARIANTS.items()
        if find_spec(framework) and (not wanted or name in wanted)
    ]
    chosen = [workload for workload in WORKLOADS if options.only in workload]
    if not chosen:
        parser.error(
            f"no program has {options.only!r} in its name; there are: {'; '.join(WORKLOADS)}"
        )
    if not variants:
        parser.error(f"none of the columns is installed; there are: {'; '.join(VARIANTS)}")
    results = measured(variants, chosen, options.timeout, options.times, options.minutes)
    figures = by_figure(results)
    lines = [machine(), ""]
    for title, key in FIGURES.items():
        lines += table(title, key, figures)
    wrong = disagreements(results)
    lines += ["Results agree." if not wrong else "Results that differ:", *wrong, ""]
    sys.stdout.write("\n".join(lines))
    if options.write:
        save(options.write, figures)
    elif not options.only:
        for name in DATA_FILES:
            save(name, part(figures, name))


if __name__ == "__main__":
    main()
