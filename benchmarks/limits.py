"""Times on both sides of a limit of the native backend.

Run ``python -m benchmarks.limits SHORT_COLUMN``: programs that the limit decides about are compiled
with it as it is, and with other values, each in two processes of its own, since where memory lies
matters, too. Calls are timed in turn, and the least times are printed, relative to those of the
limit as it is; so is the time of the first call with compiling. Several names may be given, or
``all``; ``--rounds 40`` for more turns.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from contextlib import ExitStack

MEASURED = {
    "MOST_STATEMENTS": ([12, 24, 96], ["many_statements"]),
    "MOST_NUMBERS": ([48, 384], ["many_numbers"]),
    "MOST_NESTS": ([2, 3, 12], ["many_nests"]),
    "STRIDED_TILE": ([8, 16, 64, 256], ["transposed"]),
    "LONG_NEST": ([1, 100], ["long_nest"]),
    "SHORT_COLUMN": ([8, 64], ["short_columns", "wide_known_columns"]),
    "SHORT_ROW": ([1, 8], ["short_rows", "longer_rows"]),
    "SHORT_COPY": ([1, 16], ["short_copies", "longer_copies"]),
    "LIGHT_COST": ([0.0], ["light"]),
    "MEDIUM_COST": ([6.0, 100.0], ["medium"]),
    "FEW_DRAWS": ([0], ["few_draws"]),
    "ATTEMPTS_COST": ([1e9], ["attempts"]),
    "SUMMED_IN_ROW": ([128, 8192], ["long_row"]),
    "SUMMED_IN_COLUMN": ([16, 1024], ["narrow_columns"]),
    "SUMMED_IN_WIDE_COLUMNS": ([4, 128], ["many_columns"]),
    "POLLED_ITERATIONS": ([1 << 5, 1 << 20], ["rows_in_order"]),
    "POLLED_ELEMENTS": ([1 << 10, 1 << 30], ["elements"]),
    "POLLED_STEPS": ([1, 1 << 20], ["steps"]),
    "POLLED_QUICK_STEPS": ([64, 1 << 20], ["quick_steps"]),
    "LATEST_IN_REGISTERS": ([1], ["lags"]),
    "PRODUCT_TILE_ROWS": ([2, 6, 8], ["product_in_tiles"]),
    "MOST_BY_COLUMNS": ([0, 1 << 20], ["products_by_columns", "larger_products_by_columns"]),
    "VECTORS_BY_COLUMNS": ([1, 4], ["products_by_columns"]),
    "COLUMNS_SIDE_BY_SIDE": ([2, 8], ["products_by_columns"]),
    "MOST_BY_ROWS": ([0, 1 << 10], ["products_by_rows", "larger_products_by_rows"]),
    "ROWS_SIDE_BY_SIDE": ([2, 8], ["products_by_rows"]),
    "SYMMETRIC_BLOCK": ([64, 256], ["symmetric"]),
    "SYMMETRIC_ROWS": ([128, 1024], ["small_symmetric", "symmetric"]),
    "SYMMETRIC_STEPS": ([16, 1024], ["thin_symmetric", "symmetric"]),
    "MIRRORED_ROWS": ([1, 4, 16], ["symmetric"]),
    "EXPRESSED_ROWS": ([2, 6], ["expressed", "larger_expressed"]),
    "SMALL_SYSTEM_ROWS": ([8, 16], ["systems", "many_right_sides"]),
    "LANE_ROWS": ([8, 32], ["stack", "stack_of_larger"]),
    "UNROLLED_ROWS": ([2, 6], ["unrolled_stack", "larger_unrolled_stack"]),
    "UNROLLED_AT_RUN_TIME": ([(), (2,), (4, 3, 2)], ["stack_of_three"]),
    "LANE_CHUNK": ([2, 4, 16], ["stack"]),
    "TILED_FACTOR_ROWS": ([64, 1024], ["factor", "larger_factor"]),
    "BLOCKED_ROWS_A_BYTE": ([4, 16], ["factor", "factor_and_inverse"]),
    "FACTOR_TILE_LANES": ([4], ["factor"]),
    "FACTOR_BLOCK": ([96, 384], ["larger_factor"]),
    "FACTOR_BLOCK_TILE": ([48, 192], ["larger_factor"]),
    "CONVOLUTION_VECTORS": ([2, 4, 16], ["convolved"]),
    "POOLED_LANES": ([2, 8, 16], ["pooled"]),
    "PANEL_ROWS": ([128, 256, 4096], ["images", "image_gradients"]),
    "PANEL_BYTES": ([64, 128, 1024], ["images", "image_gradients"]),
    "IMAGE_ITEMS": ([1, 64], ["image_gradients"]),
    "IMAGE_SUMS": ([1, 64], ["image_gradients"]),
    "SEARCHED_VECTORS": ([1, 2, 8], ["searches"]),
    "OWN_FOURIER_NUMBERS": ([0, 1 << 20], ["transforms", "long_transform", "large_transforms"]),
    "FOURIER_BLOCK": ([4, 16, 64], ["short_transforms", "transforms", "single_transforms"]),
    "FOURIER_BLOCK_POINTS": ([1024, 4096, 32_768], ["transforms", "longer_transforms"]),
    "LARGE_RESULT_BYTES": ([1 << 14, 1 << 20], ["results", "larger_results"]),
    "STEPS_IN_A_PART": ([8, 128, 1000], ["many_steps_of_program"]),
    "PARALLEL_NANOSECONDS": ([3_000, 300_000], ["shared_small_kernels"]),
    "GRAIN_NANOSECONDS": ([1_000, 100_000], ["shared_kernel", "shared_small_kernels"]),
    "CHUNKS_A_THREAD": ([1, 16], ["shared_kernel"]),
    "WAITING_SPINS": ([0, 50_000], ["shared_small_kernels"]),
    "SHARED_PRODUCT": ([0, 1 << 28], ["shared_product"]),
    "SHARED_VECTOR_PRODUCT": ([0, 1 << 28], ["shared_vector_product"]),
    "PRODUCT_PART_WORK": ([1 << 18, 1 << 28], ["shared_product"]),
    "VECTOR_PART_ELEMENTS": ([1 << 13, 1 << 21], ["shared_vector_product"]),
    "BLAS_TILE_ROWS": ([96, 2016], ["large_product"]),
    "BLAS_TILE_COLUMNS": ([256, 4096], ["large_product"]),
    "BLAS_TILED_ELEMENTS": ([1 << 10, 1 << 40], ["large_product"]),
}
"""For each limit other values, and the programs that it decides about."""

PROCESSES = 2

WORKER = """
from phintys.backends.native import limits
limits.{name} = {value}
from benchmarks.limit_programs import serve
serve({program!r})
"""


class Worker:
    """A process that calls a program with a limit of some value."""

    def __init__(self, stack, name, value, program):
        code = WORKER.format(name=name, value=value, program=program)
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self._process = stack.enter_context(subprocess.Popen([sys.executable, "-c", code], **pipes))
        self.first = self._read()
        self.times = []

    def time(self):
        """Time some calls."""
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        self.times.append(self._read())

    def _read(self):
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("a process has failed")
        return float(line)


def current(name):
    """Return the value of a limit, without loading what depends on it."""
    code = f"from phintys.backends.native import limits; print(limits.{name})"
    return subprocess.check_output([sys.executable, "-c", code], text=True).strip()


def measure(name, rounds):
    """Print the times of the programs of a limit."""
    others, programs = MEASURED[name]
    now = current(name)
    for program in programs:
        with ExitStack() as stack:
            workers = {
                str(value): [Worker(stack, name, value, program) for _ in range(PROCESSES)]
                for value in (now, *others)
            }
            for _ in range(rounds):
                for some in workers.values():
                    for worker in some:
                        worker.time()
        best = {value: min(min(w.times) for w in some) for value, some in workers.items()}
        compiled = {value: min(w.first for w in some) for value, some in workers.items()}
        relative = ", ".join(f"{value}: {best[value] / best[now]:.2f}" for value in best)
        first = ", ".join(f"{seconds / compiled[now]:.1f}" for seconds in compiled.values())
        print(f"{name} {program} {best[now] * 1e6:.1f} us: {relative}; first {first}", flush=True)


def main():
    """Measure the limits that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+", choices=[*MEASURED, "all"], metavar="NAME")
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    for name in MEASURED if "all" in options.names else options.names:
        measure(name, options.rounds)


if __name__ == "__main__":
    main()
