"""Time random numbers against NumPy, JAX and PyTensor, in turn in one run.

    python -m benchmarks.suite.random_numbers [count]

Each row is the best time of Phintys, and its ratio to the best time of the others: above 1, Phintys
is faster. The programs of a row run in turn, so that other work on the machine slows all of them.
The last rows are dropout, against the same kernel with a mask that is stored.
"""

from __future__ import annotations

import importlib.util
import sys
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

import phintys
import phintys.tensor as pt
from phintys import random

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Programs = Mapping[str, Callable[[], Any]]

COUNT = 1_000_000
SECONDS = 1.5  # of each row
LAYER = (1000, 1000)

# Name of the method of Phintys -> its parameters, the method of NumPy's Generator, that of JAX.
DISTRIBUTIONS: dict[str, tuple[tuple[float, ...], str, str]] = {
    "uniform": ((0.0, 1.0), "random", "uniform"),
    "normal": ((0.0, 1.0), "standard_normal", "normal"),
    "exponential": ((1.0,), "standard_exponential", "exponential"),
}


def timed(programs: Programs) -> dict[str, float]:
    """Return the best time of each program, in seconds."""
    best = dict.fromkeys(programs, float("inf"))
    end = perf_counter() + SECONDS
    while perf_counter() < end:
        for name, program in programs.items():
            start = perf_counter()
            program()
            best[name] = min(best[name], perf_counter() - start)
    return best


def draws(name: str, dtype: str, count: int) -> Programs:
    """Return the programs that draw numbers of a distribution."""
    values, in_numpy, in_jax = DISTRIBUTIONS[name]
    kind = np.dtype(dtype).type
    stream = random.RandomStream(1)
    drawn = getattr(stream, name)(*map(kind, values), size=count)
    generator = np.random.default_rng(1)
    method = getattr(generator, in_numpy)
    programs: dict[str, Callable[[], Any]] = {
        "phintys": phintys.function([], drawn),
        "numpy": lambda: method(count, dtype=dtype),
    }
    if importlib.util.find_spec("jax") is not None:
        programs["jax"] = _in_jax(in_jax, dtype, count)
    if importlib.util.find_spec("pytensor") is not None:
        programs["pytensor"] = _in_pytensor(name, values, dtype, count)
    return programs


def _in_jax(name: str, dtype: str, count: int) -> Callable[[], Any]:
    import jax

    jax.config.update("jax_enable_x64", True)
    draw = jax.jit(lambda key: getattr(jax.random, name)(key, (count,), dtype))
    key = jax.random.PRNGKey(1)
    draw(key).block_until_ready()
    return lambda: draw(key).block_until_ready()


def _in_pytensor(name: str, values: tuple[float, ...], dtype: str, count: int) -> Callable[[], Any]:
    import pytensor

    shared = pytensor.shared(np.random.default_rng(1))
    after, drawn = getattr(pytensor.tensor.random, name)(
        *values, size=count, dtype=dtype, rng=shared
    ).owner.outputs
    function = pytensor.function([], drawn, updates={shared: after})
    function()
    return function


def scalar_draw() -> Programs:
    """Return the programs that draw one number, 1,000 times."""
    one = phintys.function([], random.RandomStream(1).normal(0.0, 1.0))
    normal = np.random.default_rng(1).standard_normal

    def thousand(draw: Callable[[], Any]) -> Callable[[], None]:
        def program() -> None:
            for _ in range(1000):
                draw()

        return program

    return {"phintys": thousand(one), "numpy": thousand(normal)}


def dropout(dtype: str) -> Programs:
    """Return dropout of a layer, and the same kernel with a mask that is stored."""
    x, mask = pt.matrix("x", dtype=dtype), pt.matrix("mask", dtype="bool")
    kind = np.dtype(dtype).type
    values = np.random.default_rng(1).random(LAYER).astype(dtype)
    r, state = random.rng("r"), random.state(1)
    _, uniform = r.uniform(kind(0), kind(1), size=x.shape)
    drawn = phintys.function([r, x], pt.switch(uniform < kind(0.5), x * kind(2), kind(0)))
    stored = phintys.function([mask, x], pt.switch(mask, x * kind(2), kind(0)))
    keep = values < kind(0.5)
    return {"phintys": lambda: drawn(state, values), "stored mask": lambda: stored(keep, values)}


def report(what: str, programs: Programs) -> None:
    """Print the time of Phintys, and how much longer the others take."""
    times = timed(programs)
    ours = times.pop("phintys")
    ratios = "  ".join(f"{name} {other / ours:6.2f}" for name, other in times.items())
    print(f"{what:28}{1e3 * ours:9.3f} ms   {ratios}", flush=True)


def main(count: int) -> None:
    """Print all rows."""
    for dtype in ("float64", "float32"):
        for name in DISTRIBUTIONS:
            report(f"{count} {name}, {dtype}", draws(name, dtype, count))
    report("1000 calls for one number", scalar_draw())
    for dtype in ("float64", "float32"):
        report(f"dropout {LAYER}, {dtype}", dropout(dtype))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else COUNT)
