"""Compare functions in mode jax with hand-written JAX, in turn in one run.

python -m benchmarks.suite.mode_jax [--only TEXT] [--seconds SECONDS]

All figures are the best of calls, or of compilations, in turn. A row has

- the time of the compiled program, whose arguments are on the device, beside that by hand;
- how long a call with arrays of NumPy takes beyond one by hand, whose results are copied as well;
- the time that JAX takes to trace and compile; that of the rewrites of Phintys is a column of its
  own, since it does not depend on sizes;
- the memory that XLA plans: of arguments, results and values in between;
- instructions of the compiled programs;
- what JAX compiles in calls with other values of equal sizes, which must be nothing;
- the largest error beside the function by hand, relative to the largest element of each result; for
  draws, which JAX makes by another algorithm, beside the native backend.

If all programs are measured, seconds and MiB become the data file ``mode_jax``.
"""

# The peers need not be installed.
# pyright: reportMissingImports=false

from __future__ import annotations

import argparse
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

import phintys
from benchmarks.suite.in_turn import best_in_turn
from benchmarks.suite.jax_programs import PROGRAMS, Program
from benchmarks.suite.results import Results, machine, save

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NAMES = ("JAX", "Phintys, mode jax")
SECONDS = 2.5
COMPILATIONS = 3
REPEATED = 3
COLUMNS = (
    "call, us",
    "ratio",
    "NumPy, us",
    "compile, ms",
    "ratio",
    "rewrites, ms",
    "memory, kB",
    "ratio",
    "instructions",
    "compiled again",
    "error",
)


@dataclass
class Compiled:
    """A program of JAX, how long it took and what XLA says of it."""

    call: Callable[..., Any]
    seconds: float
    memory: int
    instructions: int


class _Compilations:
    """How often JAX has compiled."""

    EVENT = "/jax/core/compile/backend_compile_duration"

    def __init__(self) -> None:
        import jax

        self.count = 0
        jax.monitoring.register_event_duration_secs_listener(self._listen)

    def _listen(self, event: str, duration_secs: float, **kwargs: Any) -> None:
        self.count += event == self.EVENT


@contextmanager
def _with_64_bits() -> Iterator[None]:
    import jax

    with jax.enable_x64(True):
        yield


def compiled(function: Callable[..., Any], arrays: list[Any]) -> Compiled:
    """Trace and compile a function anew."""
    import jax

    jax.clear_caches()
    start = perf_counter()
    call: Any = jax.jit(function).lower(*arrays).compile()
    seconds = perf_counter() - start
    plan = call.memory_analysis()
    memory = plan.argument_size_in_bytes + plan.output_size_in_bytes + plan.temp_size_in_bytes
    return Compiled(call, seconds, memory, call.as_text().count(" = "))


def _traced(f: Any, arrays: list[Any]) -> Callable[..., Any]:
    """Return the function of JAX that a function in mode jax compiles, with its checks."""
    f(*arrays)
    ((_, program),) = f.vm._programs.items()
    return program.call.__wrapped__


def _relative_error(found: Any, expected: Any) -> float:
    found, expected = np.asarray(found), np.asarray(expected)
    return float(np.abs(found - expected).max() / (np.abs(expected).max() or 1.0))


def _recompiled(f: Any, arrays: list[Any], compilations: _Compilations) -> int:
    """Return how often JAX compiles in calls with other values."""
    before = compilations.count
    for _ in range(REPEATED):
        f(*[a * 0.5 if a.dtype.kind == "f" else a.copy() for a in arrays])
    return compilations.count - before


def _alternated(functions: dict[str, Callable[..., Any]], arrays: Any) -> dict[str, Compiled]:
    """Compile functions in turn, and return of each the one that took the shortest."""
    best: dict[str, Compiled] = {}
    for _ in range(COMPILATIONS):
        for name, function in functions.items():
            found = compiled(function, arrays)
            if name not in best or found.seconds < best[name].seconds:
                best[name] = found
    return best


def measure(
    program: Program, seconds: float, compilations: _Compilations
) -> tuple[list[str], dict[str, tuple[float, float]]]:
    """Return the cells of a row, and pairs of figures: by hand, ours."""
    import jax

    start = perf_counter()
    f: Any = phintys.function(program.inputs, program.outputs, mode="jax")
    rewrites = perf_counter() - start
    arrays = program.arrays
    again = (f(*arrays), _recompiled(f, arrays, compilations))[1]
    with _with_64_bits():
        both = _alternated({"hand": program.by_hand, "ours": _traced(f, arrays)}, arrays)
        hand, ours = both["hand"], both["ours"]
        placed = [jax.device_put(a) for a in arrays]
        by_hand = jax.jit(program.by_hand)
        calls: dict[str, Callable[[], Any]] = {
            "hand": lambda: jax.block_until_ready(hand.call(*placed)),
            "ours": lambda: jax.block_until_ready(ours.call(*placed)),
            "hand, NumPy": lambda: [np.array(one) for one in by_hand(*arrays)],
            "ours, NumPy": lambda: f(*arrays),
        }
        for call in calls.values():
            call()
        best = best_in_turn(calls, seconds)
        if program.is_equal:
            expected = [np.asarray(one) for one in by_hand(*arrays)]
        else:
            expected = phintys.function(program.inputs, program.outputs)(*arrays)
    errors = map(_relative_error, f(*arrays), expected)
    figures = {
        "call": (best["hand"], best["ours"]),
        "call with NumPy": (best["hand, NumPy"], best["ours, NumPy"]),
        "compile": (hand.seconds, ours.seconds),
        "memory": (hand.memory / 2**20, ours.memory / 2**20),
    }
    cells = [
        f"{best['hand'] * 1e6:.0f}, {best['ours'] * 1e6:.0f}",
        f"{best['ours'] / best['hand']:.2f}",
        f"{(best['ours, NumPy'] - best['hand, NumPy']) * 1e6:+.0f}",
        f"{hand.seconds * 1e3:.0f}, {ours.seconds * 1e3:.0f}",
        f"{ours.seconds / hand.seconds:.2f}",
        f"{rewrites * 1e3:.0f}",
        f"{hand.memory / 1e3:.0f}, {ours.memory / 1e3:.0f}",
        f"{ours.memory / hand.memory:.2f}",
        f"{hand.instructions}, {ours.instructions}",
        f"{again}",
        f"{max(errors):.0e}",
    ]
    return cells, figures


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description="Compare mode jax with hand-written JAX.")
    parser.add_argument("--only", default="", help="only programs whose name contains this")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of calls of each kind")
    options = parser.parse_args()

    compilations = _Compilations()
    lines = [machine(), "", "Pairs are: by hand, ours.", "", f"| | {' | '.join(COLUMNS)} |"]
    print(*lines, "|---" * (len(COLUMNS) + 1) + "|", sep="\n")
    results: Results = {}
    for name, make in PROGRAMS.items():
        if options.only not in name:
            continue
        cells, figures = measure(make(np.random.default_rng(0)), options.seconds, compilations)
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
        for figure, pair in figures.items():
            columns = {column: [value] for column, value in zip(NAMES, pair, strict=True)}
            results.setdefault(figure, {})[name] = columns
    if not options.only:
        save("mode_jax", results)


if __name__ == "__main__":
    main()
