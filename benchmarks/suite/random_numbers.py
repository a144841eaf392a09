"""Time random numbers against NumPy, JAX and PyTensor, in turn in one run.

    python -m benchmarks.suite.random_numbers [count]

Each row is the best time of Phintys, and its ratio to the best time of the others: above 1, Phintys
is faster. The programs of a row run in turn, so that other work on the machine slows all of them.
The last rows are dropout, against the same kernel with a mask that is stored.
"""

# The peers need not be installed.
# pyright: reportMissingImports=false

from __future__ import annotations

import importlib.util
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

import phintys
import phintys.tensor as pt
from benchmarks.suite.in_turn import best_in_turn
from benchmarks.suite.results import save
from phintys import random

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Programs = Mapping[str, Callable[[], Any]]

COUNT = 1_000_000
SECONDS = 1.0  # of each program of a row
LAYER = (1000, 1000)

# Name of the method of Phintys -> its parameters, the method of NumPy's Generator, that of JAX.
DISTRIBUTIONS: dict[str, tuple[tuple[float, ...], str, str]] = {
    "uniform": ((0.0, 1.0), "random", "uniform"),
    "normal": ((0.0, 1.0), "standard_normal", "normal"),
    "exponential": ((1.0,), "standard_exponential", "exponential"),
}

SHARES = np.arange(1.0, 11.0) / 55.0

# What is drawn -> the same draw of a stream of Phintys, of NumPy's Generator, of JAX, of PyTensor.
# Each is a function of the generator (JAX: its module and a key; PyTensor: its module and a state)
# and the count. None: there is none.
FURTHER: dict[str, tuple[Any, Any, Any, Any]] = {
    "gamma(2.5)": (
        lambda r, n: r.gamma(2.5, size=n),
        lambda r, n: r.standard_gamma(2.5, n),
        lambda r, key, n: r.gamma(key, 2.5, (n,), "float64"),
        lambda r, state, n: r.gamma(2.5, scale=1.0, size=n, rng=state),
    ),
    "beta(2, 3)": (
        lambda r, n: r.beta(2.0, 3.0, size=n),
        lambda r, n: r.beta(2.0, 3.0, n),
        lambda r, key, n: r.beta(key, 2.0, 3.0, (n,), "float64"),
        lambda r, state, n: r.beta(2.0, 3.0, size=n, rng=state),
    ),
    "Student's t(5)": (
        lambda r, n: r.t(5.0, size=n),
        lambda r, n: r.standard_t(5.0, n),
        lambda r, key, n: r.t(key, 5.0, (n,), "float64"),
        lambda r, state, n: r.t(5.0, size=n, rng=state),
    ),
    "poisson(3)": (
        lambda r, n: r.poisson(3.0, size=n),
        lambda r, n: r.poisson(3.0, n),
        lambda r, key, n: r.poisson(key, 3.0, (n,)),
        lambda r, state, n: r.poisson(3.0, size=n, rng=state),
    ),
    "poisson(100)": (
        lambda r, n: r.poisson(100.0, size=n),
        lambda r, n: r.poisson(100.0, n),
        lambda r, key, n: r.poisson(key, 100.0, (n,)),
        lambda r, state, n: r.poisson(100.0, size=n, rng=state),
    ),
    "binomial(1000, 0.3)": (
        lambda r, n: r.binomial(1000.0, 0.3, size=n),
        lambda r, n: r.binomial(1000, 0.3, n),
        lambda r, key, n: r.binomial(key, 1000.0, 0.3, (n,)),
        lambda r, state, n: r.binomial(1000, 0.3, size=n, rng=state),
    ),
    "categorical over 10": (
        lambda r, n: r.categorical(SHARES, size=n),
        lambda r, n: r.choice(10, n, p=SHARES),
        lambda r, key, n: r.categorical(key, np.log(SHARES), shape=(n,)),
        lambda r, state, n: r.categorical(SHARES, size=n, rng=state),
    ),
    "permutation": (
        lambda r, n: r.permutation(n),
        lambda r, n: r.permutation(n),
        lambda r, key, n: r.permutation(key, n),
        None,
    ),
    "choice of as many": (
        lambda r, n: r.choice(n, n),
        lambda r, n: r.choice(n, n),
        lambda r, key, n: r.choice(key, n, (n,)),
        None,
    ),
}


def draws(name: str, dtype: str, count: int) -> Programs:
    """Return the programs that draw numbers of a distribution."""
    values, in_numpy, in_jax = DISTRIBUTIONS[name]
    kind = np.dtype(dtype).type
    stream = random.RandomStream(1)
    drawn = getattr(stream, name)(*map(kind, values), size=count)
    generator = np.random.default_rng(1)
    method = getattr(generator, in_numpy)
    programs: dict[str, Callable[[], Any]] = {
        "Phintys": phintys.function([], drawn),
        "NumPy": lambda: method(count, dtype=dtype),
    }
    if importlib.util.find_spec("jax") is not None:
        programs["JAX"] = _in_jax(in_jax, dtype, count)
    if importlib.util.find_spec("pytensor") is not None:
        programs["PyTensor"] = _in_pytensor(name, values, dtype, count)
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


def further_draws(what: str, count: int) -> Programs:
    """Return the programs of one row of the table of further draws."""
    ours, in_numpy, in_jax, in_pytensor = FURTHER[what]
    generator = np.random.default_rng(1)
    programs: dict[str, Callable[[], Any]] = {
        "Phintys": phintys.function([], ours(random.RandomStream(1), count)),
        "NumPy": lambda: in_numpy(generator, count),
    }
    if importlib.util.find_spec("jax") is not None:
        import jax

        jax.config.update("jax_enable_x64", True)
        draw = jax.jit(lambda key: in_jax(jax.random, key, count))
        key = jax.random.PRNGKey(1)
        programs["JAX"] = lambda: draw(key).block_until_ready()
        programs["JAX"]()
    if in_pytensor is not None and importlib.util.find_spec("pytensor") is not None:
        import pytensor

        shared = pytensor.shared(np.random.default_rng(1))
        drawn = in_pytensor(pytensor.tensor.random, shared, count)
        after = drawn.owner.outputs[0]
        programs["PyTensor"] = pytensor.function([], drawn, updates={shared: after})
        programs["PyTensor"]()
    return programs


def scalar_draw() -> Programs:
    """Return the programs that draw one number, 1,000 times."""
    one = phintys.function([], random.RandomStream(1).normal(0.0, 1.0))
    normal = np.random.default_rng(1).standard_normal

    def thousand(draw: Callable[[], Any]) -> Callable[[], None]:
        def program() -> None:
            for _ in range(1000):
                draw()

        return program

    return {"Phintys": thousand(one), "NumPy": thousand(normal)}


def dropout(dtype: str) -> Programs:
    """Return dropout of a layer, and the same kernel with a mask that is stored."""
    x, mask = pt.matrix("x", dtype=dtype), pt.matrix("mask", dtype="bool")
    kind = np.dtype(dtype).type
    values = np.random.default_rng(1).random(LAYER).astype(dtype)
    r, state = random.rng("r"), random.state(1)
    _, kept = r.bernoulli(0.5, size=x.shape, dtype="bool")
    drawn = phintys.function([r, x], pt.switch(kept, x * kind(2), kind(0)))
    stored = phintys.function([mask, x], pt.switch(mask, x * kind(2), kind(0)))
    keep = values < kind(0.5)
    return {"Phintys": lambda: drawn(state, values), "stored mask": lambda: stored(keep, values)}


def report(what: str, programs: Programs) -> dict[str, list[float]]:
    """Print the time of Phintys, and how much longer the others take; return all times."""
    times = best_in_turn(programs, SECONDS)
    ours = times["Phintys"]
    ratios = "  ".join(
        f"{name} {other / ours:6.2f}" for name, other in times.items() if name != "Phintys"
    )
    print(f"{what:28}{1e3 * ours:9.3f} ms   {ratios}", flush=True)
    return {name: [seconds] for name, seconds in times.items()}


def main(count: int) -> None:
    """Print all rows, and write those of a million numbers to ``benchmarks/data``."""
    calls = {
        f"{name}, {dtype}": report(f"{count} {name}, {dtype}", draws(name, dtype, count))
        for dtype in ("float64", "float32")
        for name in DISTRIBUTIONS
    }
    for what in FURTHER:
        calls[what] = report(f"{count} {what}", further_draws(what, count))
    report("1000 calls for one number", scalar_draw())
    for dtype in ("float64", "float32"):
        report(f"dropout {LAYER}, {dtype}", dropout(dtype))
    if count == COUNT:
        save("random_numbers", {"call": calls})


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else COUNT)
