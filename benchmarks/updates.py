"""Time what can be overwritten: updates of shared values, and chains of ``set_subtensor``.

    python -m benchmarks.updates

Microseconds a call, beside what NumPy takes in place with arrays made beforehand, and PyTensor
where it is installed.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

import phintys
import phintys.tensor as pt
from benchmarks.suite.worker import best_time

if TYPE_CHECKING:
    from collections.abc import Callable

    Case = tuple[Callable[..., Any], list[Any], Callable[..., Any]]

LARGE, MEDIUM, SMALL = 10_000_000, 1_000_000, 10_000


def one_element(lib: Any, tensor: Any, size: int) -> Case:
    """``s[i] = v``"""
    s = lib.shared(np.zeros(size))
    i, v = tensor.lscalar("i"), tensor.dscalar("v")
    f = lib.function([i, v], updates={s: tensor.set_subtensor(s[i], v)})
    own = np.zeros(size)

    def in_numpy(at: Any, value: Any) -> None:
        own[at] = value

    return f, [np.array(size // 2), np.array(3.0)], in_numpy


def hundred_elements(lib: Any, tensor: Any, size: int) -> Case:
    """``s[index] += v``, 100 elements"""
    s = lib.shared(np.zeros(size))
    index, v = tensor.lvector("index"), tensor.dvector("v")
    f = lib.function([index, v], updates={s: tensor.inc_subtensor(s[index], v)})
    own = np.zeros(size)
    at = np.random.default_rng(0).integers(0, size, 100)
    return f, [at, np.ones(100)], lambda index, v: np.add.at(own, index, v)


def rows_of_a_table(lib: Any, tensor: Any, size: int) -> Case:
    """``table[index] += v``, 256 rows of 64"""
    shape = (size // 64, 64)
    s = lib.shared(np.zeros(shape))
    index, v = tensor.lvector("index"), tensor.dmatrix("v")
    f = lib.function([index, v], updates={s: tensor.inc_subtensor(s[index], v)})
    own = np.zeros(shape)
    at = np.random.default_rng(0).integers(0, shape[0], 256)
    return f, [at, np.ones((256, 64))], lambda index, v: np.add.at(own, index, v)


def adagrad(lib: Any, tensor: Any, size: int) -> Case:
    """AdaGrad: ``s[index] += g**2``, ``t[index] -= g / sqrt(s[index])``, 100 elements"""
    s, t = (lib.shared(np.ones(size)) for _ in range(2))
    index, g = tensor.lvector("index"), tensor.dvector("g")
    new = tensor.inc_subtensor(s[index], g**2)
    step = tensor.inc_subtensor(t[index], -g / tensor.sqrt(new[index]))
    own, others = np.ones(size), np.ones(size)

    def in_numpy(index: Any, g: Any) -> None:
        np.add.at(own, index, g**2)
        np.subtract.at(others, index, g / np.sqrt(own[index]))

    at = np.random.default_rng(0).integers(0, size, 100)
    return lib.function([index, g], updates={s: new, t: step}), [at, np.ones(100)], in_numpy


def counter(lib: Any, tensor: Any, size: int) -> Case:
    """``s += 1``"""
    s = lib.shared(np.zeros(size))
    own = np.zeros(size)
    return lib.function([], updates={s: s + 1}), [], lambda: np.add(own, 1.0, out=own)


def descent(lib: Any, tensor: Any, size: int) -> Case:
    """``s -= rate * g``"""
    s, g = lib.shared(np.zeros(size)), lib.shared(np.ones(size))
    rate = tensor.dscalar("rate")
    f = lib.function([rate], updates={s: s - rate * g})
    own, gradient, room = np.zeros(size), np.ones(size), np.empty(size)

    def in_numpy(rate: Any) -> None:
        np.multiply(gradient, rate, out=room)
        np.subtract(own, room, out=own)

    return f, [np.array(0.1)], in_numpy


def adam(lib: Any, tensor: Any, size: int) -> Case:
    """Adam: three values"""
    p, m, v = (lib.shared(np.zeros(size)) for _ in range(3))
    g = lib.shared(np.ones(size))
    rate = tensor.dscalar("rate")
    first, second = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g**2
    step = rate * first / (tensor.sqrt(second) + 1e-8)
    f = lib.function([rate], updates={p: p - step, m: first, v: second})
    own, mean, spread = (np.zeros(size) for _ in range(3))
    gradient, room, other = np.ones(size), np.empty(size), np.empty(size)

    def in_numpy(rate: Any) -> None:
        np.multiply(mean, 0.9, out=mean)
        np.multiply(gradient, 0.1, out=room)
        np.add(mean, room, out=mean)
        np.multiply(spread, 0.99, out=spread)
        np.square(gradient, out=room)
        np.multiply(room, 0.01, out=room)
        np.add(spread, room, out=spread)
        np.sqrt(spread, out=room)
        np.add(room, 1e-8, out=room)
        np.multiply(mean, rate, out=other)
        np.divide(other, room, out=room)
        np.subtract(own, room, out=own)

    return f, [np.array(0.1)], in_numpy


def chain(lib: Any, tensor: Any, size: int) -> Case:
    """``y = 2 * x``, then ten times ``y[k] = k``"""
    x = tensor.dvector("x")
    y = x * 2
    for k in range(10):
        y = tensor.set_subtensor(y[k], float(k))

    def in_numpy(x: Any) -> Any:
        made = x * 2
        for k in range(10):
            made[k] = k
        return made

    return lib.function([x], y), [np.ones(size)], in_numpy


def into_zeros(lib: Any, tensor: Any, size: int) -> Case:
    """``z = 0``, then ``z[index] += v``, 100 elements"""
    index, v = tensor.lvector("index"), tensor.dvector("v")
    z = tensor.inc_subtensor(tensor.zeros((size,))[index], v)
    at = np.random.default_rng(0).integers(0, size, 100)

    def in_numpy(index: Any, v: Any) -> Any:
        made = np.zeros(size)
        np.add.at(made, index, v)
        return made

    return lib.function([index, v], z), [at, np.ones(100)], in_numpy


ROWS = (
    (one_element, LARGE),
    (hundred_elements, LARGE),
    (rows_of_a_table, LARGE),
    (adagrad, SMALL),
    (adagrad, MEDIUM),
    (adagrad, LARGE),
    (counter, MEDIUM),
    (counter, LARGE),
    (descent, MEDIUM),
    (descent, LARGE),
    (adam, MEDIUM),
    (adam, LARGE),
    (chain, MEDIUM),
    (into_zeros, MEDIUM),
)


def main() -> None:
    """Print the table."""
    peers: list[tuple[str, Any, Any]] = [("Phintys", phintys, pt)]
    if importlib.util.find_spec("pytensor"):
        tensor = importlib.import_module("pytensor.tensor")
        peers.append(("PyTensor", importlib.import_module("pytensor"), tensor))
    names = [name for name, _, _ in peers]
    head = "".join(f"{name:>14}" for name in [*names, "NumPy"])
    sys.stdout.write(f"{'':<70}{'elements':>12}{head}\n")
    for build, size in ROWS:
        times: list[float] = []
        for _, lib, tensor in peers:
            f, arguments, in_numpy = build(lib, tensor, size)
            times.append(best_time(f, arguments))
            if lib is peers[-1][1]:
                times.append(best_time(in_numpy, arguments))
        label = (build.__doc__ or "").replace("``", "")
        cells = "".join(f"{seconds * 1e6:>12.2f}us" for seconds in times)
        sys.stdout.write(f"{label:<70}{size:>12,}{cells}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
