"""Time sparse Jacobians and Hessians of chains, and the patterns and colours that they rest on.

    python -m benchmarks.sparse_jacobian [n]

Each line is a chain of n unknowns, by default 10,000: milliseconds for the pattern, and for it with
colours and graphs of the compressed derivative; the number of sweeps; microseconds a call of the
function, and of the derivative as a multiple of it. If CasADi can be imported, its function and its
sparse Jacobian of the same chain follow, in its virtual machine, called with preallocated memory.
"""

from __future__ import annotations

import sys
from importlib import import_module
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

import phintys
import phintys.tensor as pt
from benchmarks.suite.worker import best_time
from phintys.gradient import compressed_hessian, compressed_jacobian, sparsity

if TYPE_CHECKING:
    from collections.abc import Callable

CHAINS = {
    "exponential": lambda x, exp, sin: exp(x[:-2]) * x[1:-1] - x[2:] ** 2,
    "pendulums": lambda x, exp, sin: sin(x[2:] - x[1:-1]) - sin(x[1:-1] - x[:-2]),
    "Broyden's": lambda x, exp, sin: (3 - 2 * x[1:-1]) * x[1:-1] - x[:-2] - 2 * x[2:] + 1,
}


def milliseconds(function: Callable[[], Any]) -> float:
    """Return the shortest time of a few calls."""
    spent: list[float] = []
    for _ in range(5):
        start = perf_counter()
        function()
        spent.append(perf_counter() - start)
    return 1e3 * min(spent)


def measure(name: str, n: int) -> None:
    """Print the times of a chain."""
    x: Any = pt.tensor("x", shape=(n,))
    y: Any = CHAINS[name](x, pt.exp, pt.sin)
    cost = (y**2).sum()
    point = np.random.default_rng(0).uniform(0, 1, n)
    pattern = milliseconds(lambda: sparsity(y, x))
    for kind, value, derivative in (
        ("Jacobian", y, lambda: compressed_jacobian(y, x)),
        ("Hessian", cost, lambda: compressed_hessian(cost, x)),
    ):
        made = milliseconds(derivative)
        record = derivative()
        own = best_time(phintys.function([x], value), [point])
        spent = best_time(phintys.function([x], record.data), [point])
        print(
            f"{name:12} {kind:9} pattern {pattern:6.1f} ms, whole {made:6.1f} ms, "
            f"{record.sweeps} sweeps, function {1e6 * own:7.1f} us, {spent / own:5.2f} of it"
        )


def measure_casadi(name: str, n: int) -> None:
    """Print CasADi's times of a chain, if it is there."""
    try:
        casadi: Any = import_module("casadi")
    except ImportError:
        return
    point = np.random.default_rng(0).uniform(0, 1, n)
    for kind in ("SX", "MX"):
        x = getattr(casadi, kind).sym("x", n)
        y = CHAINS[name](x, casadi.exp, casadi.sin)
        start = perf_counter()
        jacobian = casadi.jacobian(y, x)
        made = perf_counter() - start
        times: list[float] = []
        for output in (y, jacobian):
            function = casadi.Function("f", [x], [output])
            buffer, call = function.buffer()
            result = np.zeros(output.nnz())
            buffer.set_arg(0, point.data)
            buffer.set_res(0, result.data)
            times.append(best_time(call, []))
        own, spent = times
        print(
            f"{name:12} CasADi {kind}: whole {1e3 * made:6.1f} ms, function {1e6 * own:7.1f} us, "
            f"Jacobian {1e6 * spent:7.1f} us, {spent / own:5.2f} of it"
        )


def main() -> None:
    """Print the times of all chains."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    for name in CHAINS:
        measure(name, n)
        measure_casadi(name, n)


if __name__ == "__main__":
    main()
