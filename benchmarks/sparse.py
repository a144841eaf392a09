"""Time sparse matrices beside SciPy, JAX, PyTensor and CasADi, in one process and in turn.

    python -m benchmarks.sparse [--seconds SECONDS] [--threads N] [--processes N] [PART ...]

Parts are ``products``, ``pairs``, ``systems`` and ``chain``; all by default. Each line is what
programs do: microseconds of the best call of each, also as a multiple of the first one's. Peers
that cannot be imported are left out. With ``--processes``, as many run at once, and the last one is
printed. The last line is the most memory that was used.
"""
# Peers need not be installed.
# pyright: reportMissingImports=false

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

import phintys
import phintys.tensor as pt
from benchmarks import sparse_jacobian
from benchmarks.suite.in_turn import best_in_turn
from phintys import sparse
from phintys.sparse import linalg

if TYPE_CHECKING:
    from collections.abc import Callable

sp: Any = scipy.sparse
splu: Any = scipy.sparse.linalg.splu

N, PER_ROW = 10_000, 10


def compare(title: str, seconds: float, programs: dict[str, Callable[[], Any]]) -> None:
    """Print the times of programs that do the same, and how they compare with the first."""
    for program in programs.values():
        program()  # which may compile it
    best = best_in_turn(programs, seconds)
    first = next(iter(best.values()))
    times = ", ".join(f"{name} {1e6 * t:.0f} us ({t / first:.2f})" for name, t in best.items())
    print(f"{title:34} {times}", flush=True)


# ---- products with dense operands ----------------------------------------------------------------


def products(seconds: float) -> None:
    """Time products with a vector and with 16 columns, and their gradients."""
    rng = np.random.default_rng(1)
    for format in ("csr", "csc"):
        matrix = sp.random_array((N, N), density=PER_ROW / N, format=format, rng=rng)
        for columns in ((), (16,)):
            dense = rng.standard_normal((N, *columns))
            title = f"{format} with {columns[0]} columns" if columns else f"{format} with a vector"
            value, gradient = _of_product(matrix, dense)
            arguments = matrix.data, dense
            programs: dict[str, Any] = {
                "SciPy": lambda a=matrix, b=dense: a @ b,
                "Phintys": partial(value, *arguments),
                "its gradients": partial(gradient, *arguments),
                **_of_jax(matrix, dense),
                **_of_pytensor(matrix, dense),
            }
            compare(title, seconds, programs)


def _of_product(matrix: Any, dense: Any) -> tuple[Any, Any]:
    """Return functions of the elements of a pattern and of a dense operand."""
    d, x = pt.dvector("d"), pt.TensorType("float64", dense.shape)("x")
    pattern = matrix.indices, matrix.indptr, matrix.shape, matrix.format
    product = sparse.from_parts(d, *pattern) @ x
    cost = (product**2).sum() / 2
    gradients = phintys.grad(cost, [d, x])
    return phintys.function([d, x], product), phintys.function([d, x], gradients)


def _of_jax(matrix: Any, dense: Any) -> dict[str, Any]:
    try:
        jax: Any = import_module("jax")
        sparse_of_jax: Any = import_module("jax.experimental.sparse")
    except ImportError:
        return {}
    jax.config.update("jax_enable_x64", True)
    entries = sparse_of_jax.BCOO.from_scipy_sparse(matrix)
    places = entries.indices

    def product(data: Any, x: Any) -> Any:
        return sparse_of_jax.BCOO((data, places), shape=matrix.shape) @ x

    def cost(data: Any, x: Any) -> Any:
        return (product(data, x) ** 2).sum() / 2

    arguments = entries.data, jax.device_put(dense)
    compiled = jax.jit(product)
    gradient = jax.jit(jax.grad(cost, (0, 1)))
    return {
        "BCOO": lambda: compiled(*arguments).block_until_ready(),
        "its gradients ": lambda: [one.block_until_ready() for one in gradient(*arguments)],
    }


def _of_pytensor(matrix: Any, dense: Any) -> dict[str, Any]:
    try:
        pytensor: Any = import_module("pytensor")
        theirs: Any = import_module("pytensor.sparse")
        tensor: Any = import_module("pytensor.tensor")
    except ImportError:
        return {}
    a = theirs.matrix(matrix.format, dtype="float64")
    x = tensor.tensor(dtype="float64", shape=dense.shape)
    f = pytensor.function([a, x], theirs.dot(a, x))
    value = getattr(sp, f"{matrix.format}_matrix")(matrix)
    return {"PyTensor": lambda: f(value, dense)}


# ---- two sparse matrices -------------------------------------------------------------------------


def pairs(seconds: float) -> None:
    """Time products, sums and transposes of sparse matrices."""
    rng = np.random.default_rng(2)
    a, b = (sp.random_array((N, N), density=PER_ROW / N, format="csr", rng=rng) for _ in range(2))
    x, y = sparse.csr_matrix("x"), sparse.csr_matrix("y")
    product = phintys.function([x, y], x @ y)
    cost = ((x @ y).elements ** 2).sum()
    gradients = phintys.function([x, y], phintys.grad(cost, [x, y]))
    total, common = phintys.function([x, y], x + y), phintys.function([x, y], x * y)
    turned = phintys.function([x], x.tocsc())

    def in_order() -> Any:
        found = a @ b
        found.sort_indices()
        return found

    compare(
        "sparse by sparse",
        seconds,
        {
            "SciPy": lambda: a @ b,
            "in order": in_order,
            "Phintys": lambda: product(a, b),
            "its gradients": lambda: gradients(a, b),
        },
    )
    compare("sum", seconds, {"SciPy": lambda: a + b, "Phintys": lambda: total(a, b)})
    both = {"SciPy": lambda: a.multiply(b), "Phintys": lambda: common(a, b)}
    compare("elementwise product", seconds, both)
    compare("csr to csc", seconds, {"SciPy": a.tocsc, "Phintys": lambda: turned(a)})


# ---- systems of equations ------------------------------------------------------------------------


def five_points(side: int) -> Any:
    """Return the matrix of a grid, which is symmetric and positive definite, in the format csc."""
    line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(side, side))
    one = sp.eye_array(side)
    grid = sp.kron(line, one) + sp.kron(one, line) + 0.1 * sp.eye_array(side**2)
    return sp.csc_array(grid)


def systems(seconds: float) -> None:
    """Time solutions and determinants with their gradients, beside ``splu`` alone."""
    for side in (30, 100, 200):
        matrix = five_points(side)
        n = side**2
        right = np.random.default_rng(3).standard_normal(n)
        d, b = pt.dvector("d"), pt.dvector("b")
        a = sparse.from_parts(d, matrix.indices, matrix.indptr, matrix.shape, "csc")
        solved = (linalg.solve(a, b) ** 2).sum()
        positive = (linalg.solve(a, b, assume_a="pos") ** 2).sum()
        solve, symmetric = (
            phintys.function([d, b], [cost, *phintys.grad(cost, [d, b])])
            for cost in (solved, positive)
        )
        determinant = linalg.logdet(a)
        logdet = phintys.function([d], [determinant, phintys.grad(determinant, d)])
        programs: dict[str, Any] = {
            "splu": lambda m=matrix: splu(m),
            "solve": lambda f=solve, m=matrix, r=right: f(m.data, r),
            "symmetric": lambda f=symmetric, m=matrix, r=right: f(m.data, r),
            "logdet": lambda f=logdet, m=matrix: f(m.data),
        }
        compare(f"grid of {n}, with gradients", seconds, programs)


# ---- a sparse Jacobian ---------------------------------------------------------------------------


def chain(seconds: float) -> None:
    """Time the Jacobian of a chain of 10,000 unknowns by three colours, and CasADi's."""
    sparse_jacobian.measure("exponential", N)
    sparse_jacobian.measure_casadi("exponential", N)


PARTS = {one.__name__: one for one in (products, pairs, systems, chain)}


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sparse", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="all without one")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each program")
    parser.add_argument("--threads", type=int, default=0, help="of Phintys; 0 for all cores")
    parser.add_argument("--processes", type=int, default=1, help="at once")
    options = parser.parse_args()
    if options.processes > 1:
        command = [sys.executable, "-m", "benchmarks.sparse", *options.parts]
        command += ["--seconds", str(options.seconds), "--threads", str(options.threads)]
        silent = [
            subprocess.Popen(command, stdout=subprocess.DEVNULL)
            for _ in range(options.processes - 1)
        ]
        subprocess.run(command, check=True)
        for one in silent:
            one.wait()
        return
    phintys.config.num_threads = options.threads
    for part in options.parts or PARTS:
        PARTS[part](options.seconds)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{phintys.config.num_threads or 'all'} threads, at most {peak:.0f} MB")


if __name__ == "__main__":
    main()
