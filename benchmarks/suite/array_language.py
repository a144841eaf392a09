"""Time functions of the array language against NumPy, PyTensor and JAX, in turn in one run.

    python -m benchmarks.suite.array_language [part of a row's name]

Each row is the best time of a call of Phintys, and how many times as long the others take, with the
time to the first result behind it: the graph is built, compiled (from no cache) and called. The
programs of a row run in turn, so that other work on the machine slows all of them.
"""

# The peers need not be installed.
# pyright: reportMissingImports=false

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.suite.in_turn import best_in_turn
from benchmarks.suite.results import Results, save

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

SECONDS = 1.0  # of each program of a row
COUNT = 1_000_000
SEGMENTS = 1_000


@dataclass(frozen=True)
class Row:
    """A function, and its arguments.

    Attributes
    ----------
    name
        What the row says.
    arrays
        The arguments.
    program
        The function, written for a module with NumPy's names.
    own
        The names of frameworks that have another spelling, with it; ``None``: they have none.
    """

    name: str
    arrays: Sequence[np.ndarray[Any, Any]]
    program: Callable[..., Any]
    own: dict[str, Callable[..., Any] | None]

    def is_in(self, framework: str) -> bool:
        """Return whether a framework has the function."""
        return self.own.get(framework, self.program) is not None

    def written_for(self, framework: str) -> Callable[..., Any]:
        """Return the function in the spelling of a framework."""
        return self.own.get(framework) or self.program


def rows() -> Iterator[Row]:
    """Yield all rows."""
    draw = np.random.default_rng(1)
    values = draw.random(COUNT)
    nearly = np.sort(values)
    swapped = draw.integers(0, COUNT, (2, COUNT // 100))
    nearly[swapped[0]], nearly[swapped[1]] = nearly[swapped[1]], nearly[swapped[0]]
    few = draw.integers(0, 10, COUNT)
    for kind, array in {"random": values, "nearly sorted": nearly, "ten values": few * 0.1}.items():
        yield Row(f"sort, {kind}", [array], lambda np, x: np.sort(x), {})
        yield Row(f"argsort, {kind}", [array], lambda np, x: np.argsort(x), {})
    knots = np.linspace(0.0, 1.0, 10_000)
    yield Row("searchsorted in 10,000", [knots, values], lambda np, a, v: np.searchsorted(a, v), {})
    whole = draw.integers(0, SEGMENTS, COUNT)
    # JAX and PyTensor compile nothing whose size depends on data without a bound or a callback.
    many = draw.integers(0, COUNT, COUNT)
    yield Row("unique", [many], lambda np, x: np.unique(x), {"JAX": _unique_of(COUNT)})
    yield Row(
        "unique, 1,000 values", [whole], lambda np, x: np.unique(x), {"JAX": _unique_of(1000)}
    )
    yield Row(
        "bincount, 1,000 bins",
        [whole],
        lambda np, x: np.bincount(x, minlength=SEGMENTS),
        {"JAX": lambda np, x: np.bincount(x, length=SEGMENTS)},
    )
    yield Row(
        "histogram, 100 bins",
        [values],
        lambda np, x: np.histogram(x, 100, (0.0, 1.0))[0],
        {"PyTensor": None},
    )
    matrix = values.reshape(1000, 1000)
    parts = (0.1, 0.5, 0.9)
    for axis in (0, 1):
        yield Row(
            f"three quantiles, axis {axis}",
            [matrix],
            lambda np, x, axis=axis: np.quantile(x, _asarray(np, parts), axis=axis),
            {"PyTensor": None},
        )
    yield Row("median of rows", [matrix], lambda np, x: np.median(x, axis=1), {})
    yield Row("pad + sum", [matrix], lambda np, x: np.pad(x, 3).sum(), {})
    order = np.argsort(matrix, axis=1)
    yield Row(
        "take_along_axis",
        [matrix, order],
        lambda np, x, index: np.take_along_axis(x, index, axis=1),
        {},
    )
    yield Row(
        "segment_sum into 1,000",
        [values, whole],
        lambda pt, x, ids: pt.segment_sum(x, ids, SEGMENTS),
        {
            "NumPy": lambda np, x, ids: np.bincount(ids, x, SEGMENTS),
            "PyTensor": lambda pt, x, ids: pt.bincount(ids, x, SEGMENTS),
            "JAX": lambda jnp, x, ids: _segment("sum", x, ids),
        },
    )
    yield Row(
        "segment_max into 1,000",
        [values, whole],
        lambda pt, x, ids: pt.segment_max(x, ids, SEGMENTS),
        {
            "NumPy": _maxima,
            "PyTensor": None,
            "JAX": lambda jnp, x, ids: _segment("max", x, ids),
        },
    )
    heights = np.sin(9 * knots)
    yield Row(
        "interp in 10,000", [values, knots, heights], lambda np, x, xp, fp: np.interp(x, xp, fp), {}
    )
    observed = draw.random((1000, 100))
    yield Row("cov of 1000 x 100", [observed], lambda np, x: np.cov(x, rowvar=False), {})
    yield Row(
        "convolve with 100",
        [values, observed[0]],
        lambda np, x, kernel: np.convolve(x, kernel, mode="valid"),
        {"PyTensor": lambda pt, x, kernel: pt.signal.convolve1d(x, kernel, mode="valid")},
    )
    yield Row(
        "running maximum",
        [values],
        lambda pt, x: pt.cummax(x),
        {
            "NumPy": lambda np, x: np.maximum.accumulate(x),
            "PyTensor": None,
            "JAX": lambda jnp, x: _running_maximum(x),
        },
    )


def _asarray(module: Any, numbers: Sequence[float]) -> Any:
    return np.array(numbers) if module is np else module.asarray(numbers)


def _unique_of(size: int) -> Callable[..., Any]:
    return lambda jnp, x: jnp.unique(x, size=size)


def _maxima(module: Any, x: Any, ids: Any) -> Any:
    found = np.full(SEGMENTS, -np.inf)
    np.maximum.at(found, ids, x)
    return found


def _segment(name: str, x: Any, ids: Any) -> Any:
    import jax.ops

    return getattr(jax.ops, f"segment_{name}")(x, ids, SEGMENTS)


def _running_maximum(x: Any) -> Any:
    import jax.lax

    return jax.lax.cummax(x)


# ---- frameworks


def in_phintys(row: Row) -> Callable[[], Any]:
    """Return the compiled program of Phintys."""
    import phintys
    import phintys.tensor as pt

    inputs = [pt.tensor(dtype=a.dtype.name, shape=(None,) * a.ndim) for a in row.arrays]
    function = phintys.function(inputs, row.written_for("Phintys")(pt, *inputs))
    return partial(function, *row.arrays)


def in_numpy(row: Row) -> Callable[[], Any]:
    """Return NumPy's program."""
    return partial(row.written_for("NumPy"), np, *row.arrays)


def in_jax(row: Row) -> Callable[[], Any]:
    """Return JAX's program, which is given arrays of its own."""
    import jax
    import jax.numpy as jnp

    program = jax.jit(partial(row.written_for("JAX"), jnp))
    arrays = [jnp.asarray(array) for array in row.arrays]
    return lambda: jax.block_until_ready(program(*arrays))


def in_pytensor(row: Row) -> Callable[[], Any]:
    """Return the compiled program of PyTensor."""
    import pytensor
    import pytensor.tensor as pt

    inputs = [pt.tensor(dtype=a.dtype.name, shape=(None,) * a.ndim) for a in row.arrays]
    result = row.written_for("PyTensor")(pt, *inputs)
    function = pytensor.function(inputs, result, trust_input=True)
    return partial(function, *row.arrays)


FRAMEWORKS: dict[str, tuple[str, Callable[[Row], Callable[[], Any]]]] = {
    "Phintys": ("phintys", in_phintys),
    "NumPy": ("numpy", in_numpy),
    "PyTensor": ("pytensor", in_pytensor),
    "JAX": ("jax", in_jax),
}


def import_all(folder: str) -> list[str]:
    """Import the frameworks that are installed, with empty caches, and return their names."""
    os.environ["PHINTYS_FLAGS"] = f"cache_dir={folder}"
    os.environ["PYTENSOR_FLAGS"] = f"base_compiledir={folder}"
    names = [name for name, (module, _) in FRAMEWORKS.items() if importlib.util.find_spec(module)]
    if "JAX" in names:
        import jax

        jax.config.update("jax_enable_x64", True)
        jax.jit(lambda x: x + 1)(1.0).block_until_ready()
    if "PyTensor" in names:
        import pytensor.tensor.signal

        x = pytensor.tensor.dvector()
        pytensor.function([x], x + 1)(np.zeros(1))
    import phintys
    import phintys.tensor as pt

    y = pt.dvector()
    phintys.function([y], y + 1)(np.zeros(1))
    return names


def measured(row: Row, names: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Return the best time of a call, and the time to the first result, by framework."""
    first, programs = {}, {}
    for name in names:
        if not row.is_in(name):
            continue
        start = perf_counter()
        program = FRAMEWORKS[name][1](row)
        program()
        first[name] = perf_counter() - start
        programs[name] = program
    best = best_in_turn(programs, SECONDS)
    return {name: (best[name], first[name]) for name in programs}


def line(row: Row, times: dict[str, tuple[float, float]]) -> str:
    """Return a row of the table."""
    (ours, our_first), others = times["Phintys"], [name for name in FRAMEWORKS if name != "Phintys"]
    ratios = [f"{times[name][0] / ours:.2f}" if name in times else "" for name in others]
    firsts = [f"{1e3 * times[name][1]:.0f}" if name in times else "" for name in others]
    cells = [row.name, f"{1e3 * ours:.2f}", *ratios, f"{1e3 * our_first:.0f}", *firsts]
    return f"| {' | '.join(cells)} |"


def main(wanted: str = "") -> None:
    """Print the table, and write all of it to ``benchmarks/data``."""
    others = " | ".join(name for name in FRAMEWORKS if name != "Phintys")
    print(f"| | Phintys (ms) | {others} | first: Phintys (ms) | {others} |")
    print("|---" * (2 * len(FRAMEWORKS) + 1) + "|")
    results: Results = {"call": {}, "first": {}}
    with tempfile.TemporaryDirectory() as folder:
        names = import_all(folder)
        for row in rows():
            if wanted in row.name:
                times = measured(row, names)
                print(line(row, times), flush=True)
                results["call"][row.name] = {name: [call] for name, (call, _) in times.items()}
                results["first"][row.name] = {name: [first] for name, (_, first) in times.items()}
    if not wanted:
        save("array_language", results)


if __name__ == "__main__":
    main(*sys.argv[1:2])
