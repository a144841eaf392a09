"""Time products of small matrices: in tiles, by BLAS, and as functions against NumPy.

    python -m benchmarks.products [target]

The first tables are nanoseconds a product, without what a call of a function costs; they say up to
which size tiles are better (``_MOST_WORK`` in ``emit/products.py``). The last one is microseconds a
call of a compiled function.
"""

from __future__ import annotations

import ctypes
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

import phintys
import phintys.tensor as pt
from benchmarks.suite.worker import best_time
from phintys.backends.native.emit import products
from phintys.backends.native.emit.builder import Builder
from phintys.backends.native.emit.control import loop
from phintys.backends.native.emit.math import MathSymbol
from phintys.backends.native.emit.module import Module
from phintys.backends.native.emit.target import Target
from phintys.backends.native.emit.types import INT64, PTR, VOID, type_of
from phintys.backends.native.runtime.engine import load

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = (2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 28, 32, 40, 48)
UNEVEN = ((1, 8, 8), (4, 4, 64), (64, 4, 4), (4, 64, 4), (3, 100, 3), (100, 3, 5), (16, 8, 32))
ROUNDS, PASSES = 50, 500


def repeated(target: Target, dtype: str, most: int) -> Any:
    """Return native code ``repeat(passes, m, n, k, a, b, b_down, b_along, c)``.

    Products of ``most`` multiplications and less are computed in tiles.
    """
    type = type_of(dtype)
    key = MathSymbol(products.PRODUCT, dtype, target.lanes(type))
    module = Module(target)
    limits, products._MOST_WORK = products._MOST_WORK, {target.vector_bytes: most}
    products.write_product(module, key)
    products._MOST_WORK = limits
    sizes, matrix = [INT64] * 4, [PTR, INT64, INT64]
    b = Builder(module.function("repeat", VOID, [*sizes, PTR, *matrix, PTR]))
    passes, m, n, k, first, second, down, along, c = b.arguments
    one, factors = b.constant(INT64, 1), (b.constant(type, 1.0), b.constant(type, 0.0))
    with loop(b, 0, passes):
        b.call(key.symbol, VOID, (m, n, k, first, k, one, second, down, along, c, n, *factors))
    b.ret()
    code = load(module)
    words = [ctypes.c_int64] * 4
    pointer, word = ctypes.c_void_p, ctypes.c_int64
    function = ctypes.CFUNCTYPE(None, *words, pointer, pointer, word, word, pointer)(
        code.address("repeat")
    )
    function.code = code  # pyright: ignore[reportAttributeAccessIssue] - keeps it alive
    return function


def nanoseconds(functions: list[Callable[..., None]], arguments: tuple[Any, ...]) -> list[float]:
    """Return how long a product takes in each, taken in turns: the best of many rounds."""
    best = [float("inf")] * len(functions)
    for _ in range(ROUNDS):
        for at, function in enumerate(functions):
            start = time.perf_counter()
            function(PASSES, *arguments)
            best[at] = min(best[at], (time.perf_counter() - start) / PASSES * 1e9)
    return best


def crossover(target: Target, dtype: str) -> None:
    """Print the times of products in tiles and by BLAS."""
    tiles, blas = repeated(target, dtype, 1 << 40), repeated(target, dtype, 0)
    sys.stdout.write(f"\n{dtype}, {target.name}\n{'m n k':<12}{'tiles':>9}{'BLAS':>9}")
    sys.stdout.write(f"{'b.T tiles':>12}{'b.T BLAS':>10}\n")
    rng = np.random.default_rng(0)
    for m, n, k in (*((size,) * 3 for size in SIZES), *UNEVEN):
        a, b, c = (np.asarray(rng.normal(size=s), dtype) for s in ((m, k), (k, n), (m, n)))
        pointers = [array.ctypes.data for array in (a, b, c)]
        times: list[float] = []
        for strides in ((n, 1), (1, k)):
            arguments = (m, n, k, *pointers[:2], *strides, pointers[2])
            times += nanoseconds([tiles, blas], arguments)
        sizes = f"{m} {n} {k}"
        sys.stdout.write(f"{sizes:<12}{times[0]:>9.0f}{times[1]:>9.0f}")
        sys.stdout.write(f"{times[2]:>12.0f}{times[3]:>10.0f}\n")
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


def main(target: str = "host") -> None:
    """Print all tables."""
    for dtype in ("float64", "float32"):
        crossover(Target.named(target), dtype)
    if target == "host":
        against_numpy()


if __name__ == "__main__":
    main(*sys.argv[1:])
