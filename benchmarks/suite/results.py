"""Data files of what was measured, and the machine on which it was.

A file of ``benchmarks/data`` begins with a line about the machine. Tables are CSV, with a row for
each figure, program and column; a row has a value from each process that measured it. Seconds, MiB,
and calls in a second are the units.
"""

from __future__ import annotations

import csv
import os
import platform
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "benchmarks" / "data"

Results = dict[str, dict[str, dict[str, list[float]]]]
"""Figure -> program -> column -> values."""


def seconds_text(seconds: float | None) -> str:
    """Return a duration with a unit and three digits."""
    if seconds is None:
        return "–"
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6), ("ns", 1e9)):
        if seconds * factor >= 1 or unit == "ns":
            return f"{seconds * factor:.3g} {unit}"
    return "–"


def processor() -> str:
    """Return the processor's name, as far as it can be found, and how wide its vectors are."""
    try:
        text = Path("/proc/cpuinfo").read_text("utf-8")
    except OSError:
        text = ""
    found = re.search(r"model name\s*:\s*(.*)", text)
    name = found[1] if found else platform.processor() or platform.machine()
    if platform.machine() != "x86_64" or "flags" not in text:
        return name
    return f"{name} {'with' if 'avx512f' in text else 'without'} AVX-512"


def machine() -> str:
    """Return a line on when, where and with what this was measured."""
    today = datetime.now(UTC).date().isoformat()
    parts = [today, processor(), f"{os.cpu_count()} logical processors"]
    parts.append(f"Python {platform.python_version()}")
    for name in ("phintys", "numpy", "scipy", "llvmlite", "pytensor", "numba", "jax"):
        try:
            parts.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(parts)


def search_path() -> str:
    """Return the ``PYTHONPATH`` of measured processes: the package of this checkout comes first."""
    given = os.environ.get("PYTHONPATH")
    return os.pathsep.join(filter(None, [str(ROOT), str(ROOT / "src"), given]))


def save(name: str, results: Results) -> None:
    """Write a table to ``benchmarks/data``."""
    DATA.mkdir(exist_ok=True)
    with (DATA / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        file.write(f"# {machine()}\n")
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["figure", "program", "column", "values"])
        for figure, programs in results.items():
            for program, columns in programs.items():
                for column, values in columns.items():
                    if values:
                        text = " ".join(f"{value:.4g}" for value in values)
                        rows.writerow([figure, program, column, text])


def load(name: str) -> tuple[str, Results]:
    """Return the line on the machine, and a table, from ``benchmarks/data``."""
    with (DATA / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        measured_on = file.readline().removeprefix("#").strip()
        results: Results = {}
        for row in csv.DictReader(file):
            programs = results.setdefault(row["figure"], {})
            columns = programs.setdefault(row["program"], {})
            columns[row["column"]] = [float(value) for value in row["values"].split()]
    return measured_on, results


def joined(parts: Sequence[Results]) -> Results:
    """Return the values of several tables, one after the other, in one."""
    found: Results = {}
    for part in parts:
        for figure, programs in part.items():
            for program, columns in programs.items():
                for column, values in columns.items():
                    row = found.setdefault(figure, {}).setdefault(program, {})
                    row[column] = row.get(column, []) + values
    return found
