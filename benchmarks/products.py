"""Time products of small matrices: in tiles, by BLAS, and as functions against NumPy.

    python -m benchmarks.products [target]

The first tables are nanoseconds a product, without what a call of a function costs; above each
stands up to where programs use tiles. The last ones are
microseconds a call of compiled functions: products against NumPy, and forms that BLAS computes in
one go against the same without the pass ``blas``.
"""

from __future__ import annotations

import ctypes
import sys
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

import phintys
import phintys.tensor as pt
from benchmarks.suite.worker import best_time
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import loop
from phintys.backends.native.assembler.module import Module
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.assembler.types import INT64, PTR, VOID, MachineType, type_of
from phintys.backends.native.routines.outlined_products import (
    ALL,
    crossover,
    product_symbol,
    work_of,
)
from phintys.backends.native.runtime.engine import check_runs_here, load

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = (2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 28, 32, 40, 48)
UNEVEN = ((1, 8, 8), (4, 4, 64), (64, 4, 4), (4, 64, 4), (3, 100, 3), (100, 3, 5), (16, 8, 32))
ROUNDS, PASSES = 50, 500


class TimedProduct:
    """Matrix products for timing, computed as in programs.

    Parameters
    ----------
    target, type
        The CPU and the dtype.

    Raises
    ------
    ConfigError
        If this CPU cannot run code for the target.
    """

    def __init__(self, target: Target, type: MachineType) -> None:
        check_runs_here(target)
        self.dtype = np.dtype(type.name)
        module = Module(target)
        symbol = product_symbol(target, type)
        module.math_functions.add(symbol)
        words, matrix = [INT64] * 5, [PTR, INT64, INT64]
        b = Builder(module.function("repeat", VOID, [*words, PTR, *matrix, PTR]))
        passes, most, m, n, k, first, second, down, along, c = b.arguments
        one, factors = b.constant(INT64, 1), (b.constant(type, 1.0), b.constant(type, 0.0))
        with loop(b, 0, passes):
            given = (most, m, n, k, first, k, one, second, down, along, c, n, *factors)
            b.call(symbol, VOID, given)
        b.ret()
        self._code = load(module)
        word, pointer = ctypes.c_int64, ctypes.c_void_p
        types = [*[word] * 5, pointer, pointer, word, word, pointer]
        self._repeat = ctypes.CFUNCTYPE(None, *types)(self._code.address("repeat"))

    def nanoseconds(
        self,
        lengths: tuple[int, int, int],
        *,
        transposed: bool = False,
        rounds: int = ROUNDS,
        passes: int = PASSES,
    ) -> tuple[float, float]:
        """Return the times of a product in tiles and by BLAS, the best of many alternating rounds.

        Parameters
        ----------
        lengths
            m, n and k, of an m by k and a k by n matrix.
        transposed
            Whether the second matrix is stored transposed.
        rounds, passes
            Number of timings, and number of products per timing.
        """
        m, n, k = lengths
        rng = np.random.default_rng(0)
        arrays = [np.asarray(rng.normal(size=size), self.dtype) for size in (m * k, k * n, m * n)]
        a, b, c = (array.ctypes.data for array in arrays)
        strides = (1, k) if transposed else (n, 1)
        best = [float("inf")] * 2
        for _ in range(rounds):
            for at, most in enumerate((ALL, 0)):
                start = perf_counter()
                self._repeat(passes, most, m, n, k, a, b, *strides, c)
                best[at] = min(best[at], (perf_counter() - start) / passes * 1e9)
        return best[0], best[1]


def in_tiles(target: Target, dtype: str) -> None:
    """Print the times of products in tiles and by BLAS, and up to where tiles are used."""
    type = type_of(dtype)
    timed = TimedProduct(target, type)
    most = crossover(target, type)
    sys.stdout.write(f"\n{dtype}, {target.name}: tiles up to {most} multiplications\n")
    sys.stdout.write(f"{'m n k':<12}{'work':>8}{'tiles':>9}{'BLAS':>9}")
    sys.stdout.write(f"{'b.T tiles':>12}{'b.T BLAS':>10}\n")
    for lengths in (*((size, size, size) for size in SIZES), *UNEVEN):
        times: list[float] = []
        for transposed in (False, True):
            times += timed.nanoseconds(lengths, transposed=transposed)
        work = work_of(lengths, target.lanes(type))
        sys.stdout.write(f"{' '.join(map(str, lengths)):<12}{work:>8}")
        sys.stdout.write(f"{times[0]:>9.0f}{times[1]:>9.0f}{times[2]:>12.0f}{times[3]:>10.0f}\n")
        sys.stdout.flush()


def against_numpy() -> None:
    """Print the times of whole calls."""
    rng = np.random.default_rng(0)
    shapes = [((n, n), (n, n)) for n in (4, 8, 16, 32, 64, 128, 512)]
    shapes += [((100, 8, 8), (100, 8, 8)), ((1000, 3, 3), (1000, 3, 3)), ((64, 64), (64,))]
    shapes += [((1, 100), (100, 10_000)), ((10_000, 100), (100, 1)), ((1000,), (1000,))]
    sys.stdout.write(f"\n{'x @ y':<28}{'Phintys':>10}{'NumPy':>10}\n")
    for left, right in shapes:
        arrays = [rng.normal(size=left), rng.normal(size=right)]
        x, y = (pt.tensor(shape=(None,) * array.ndim, dtype="float64") for array in arrays)
        function = phintys.function([x, y], x @ y)
        ours, theirs = (best_time(call, arrays) * 1e6 for call in (function, np.matmul))
        sys.stdout.write(f"{f'{left} @ {right}':<28}{ours:>8.2f}us{theirs:>8.2f}us\n")
        sys.stdout.flush()


def in_one_go() -> None:
    """Print the times of BLAS forms, and of the same in several steps."""
    rng = np.random.default_rng(0)
    sys.stdout.write(f"\n{'':<32}{'one go':>10}{'steps':>12}\n")
    for name, make, arguments in _forms(rng):
        modes = phintys.get_mode("native"), phintys.get_mode("native").excluding("blas")
        functions = [make(mode) for mode in modes]
        best = [float("inf")] * 2
        for _ in range(ROUNDS):
            for at, function in enumerate(functions):
                start = perf_counter()
                function(*arguments)
                best[at] = min(best[at], (perf_counter() - start) * 1e6)
        sys.stdout.write(f"{name:<32}{best[0]:>8.2f}us{best[1]:>10.2f}us\n")
        sys.stdout.flush()


def _forms(rng: np.random.Generator) -> list[tuple[str, Callable[[Any], Any], list[Any]]]:
    """Return names, functions of a mode that compile, and what is called with."""
    x, y, z = pt.dmatrices("x", "y", "z")
    v, w = pt.dvectors("v", "w")

    def step(mode: Any) -> Any:
        weights = phintys.shared(rng.normal(size=(1000, 1000)))
        cost = pt.sqr(x @ weights - y).sum()
        updates = [(weights, weights - 1e-3 * phintys.grad(cost, weights))]
        return phintys.function([x, y], [], updates=updates, mode=mode)

    def compiled(inputs: list[Any], output: Any) -> Callable[[Any], Any]:
        return lambda mode: phintys.function(inputs, output, mode=mode)

    found: list[tuple[str, Callable[[Any], Any], list[Any]]] = []
    for rows in (1, 10, 100):
        batch = [rng.normal(size=(rows, 1000)) for _ in range(2)]
        found.append((f"1000 x 1000 SGD step, {rows} rows", step, batch))
    for size in (4, 30, 1000):
        square, line = rng.normal(size=(size, size)), rng.normal(size=size)
        forms = (
            ("w + 0.5 * (x @ v)", compiled([x, v, w], w + 0.5 * (x @ v)), [square, line, line]),
            ("z + 0.5 * (x @ y)", compiled([x, y, z], z + 0.5 * (x @ y)), [square] * 3),
            ("x @ y + v", compiled([x, y, v], x @ y + v), [square, square, line]),
        )
        found += [(f"{name}, {size}", make, given) for name, make, given in forms]
    return found


def main(target: str = "host") -> None:
    """Print all tables."""
    for dtype in ("float64", "float32"):
        in_tiles(Target.named(target), dtype)
    if target == "host":
        against_numpy()
        in_one_go()


if __name__ == "__main__":
    main(*sys.argv[1:])
