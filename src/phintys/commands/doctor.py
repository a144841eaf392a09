"""``phintys doctor``: what is there and whether it works, in words to paste into a report."""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import scipy

import phintys.tensor as pt
from phintys._base.config import thread_limit, usable_cores
from phintys.backends.jax.requirement import library
from phintys.backends.native.assembler.system import has_pool
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.runtime.cache import object_cache
from phintys.commands import cache, configuration
from phintys.compile.build import function
from phintys.control import loop
from phintys.gradient.reverse import grad
from phintys.random import RandomStream

NEEDED = ("numpy", "scipy", "llvmlite", "platformdirs")
OPTIONAL = {
    "jax": "accelerators, functions of JAX",
    "distributed": "tasks on the workers of Dask",
    "joblib": "tasks on processes",
    "pytensor": "graphs of PyTensor",
    "pymc": "models of PyMC",
    "nutpie": "sampling of models",
    "matplotlib": "plots",
    "ziglang": "a C compiler",
    "fissix": "scripts in Python 2",
}
"""Distributions that are used if they are installed -> what for."""


def run(own_version: str) -> int:
    """Print the report; return 1 if a check of the self-test fails."""
    failed = 0
    for title, lines in (
        ("Phintys", _versions(own_version)),
        ("Machine", _machine()),
        ("Optional packages", _packages()),
        ("Options that are not the defaults", _options()),
    ):
        _say(title, lines)
    sys.stdout.write("Self-test\n")
    for name, check in CHECKS.items():
        line, ok = _checked(name, check)
        failed += not ok
        sys.stdout.write(f"  {line}\n")
        sys.stdout.flush()
    verdict = f"{failed} of {len(CHECKS)} checks failed." if failed else "All is well."
    sys.stdout.write(f"{verdict}\n")
    return min(failed, 1)


def _say(title: str, lines: Iterator[str]) -> None:
    sys.stdout.write(f"{title}\n" + "".join(f"  {line}\n" for line in lines))


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _versions(own: str) -> Iterator[str]:
    yield f"phintys {own} in {Path(__file__).parents[1]}"
    yield f"Python {platform.python_version()} ({platform.python_implementation()})"
    yield ", ".join(f"{name} {_installed(name)}" for name in NEEDED)


def _machine() -> Iterator[str]:
    yield f"{platform.system()} {platform.release()}, {platform.machine()}"
    limit = f", of which a call uses at most {thread_limit()}"
    yield f"{usable_cores()} cores{limit if thread_limit() < usable_cores() else ''}"
    if not has_pool():
        yield "native code of a call uses one core: this system has no pthreads"
    try:
        host = Target.host()
    except Exception as error:  # noqa: BLE001 - whatever LLVM says is what is reported
        yield f"LLVM does not work, so that the reference backend computes: {error}"
    else:
        yield f"LLVM for {host.cpu} ({host.triple}), vectors of {host.vector_bytes} bytes"
    blas = scipy.show_config("dicts")["Build Dependencies"]["blas"]
    yield f"BLAS of SciPy: {blas.get('name', 'unknown')} {blas.get('version', '')}".rstrip()
    yield f"cache: {cache.description(object_cache())}"
    problem = object_cache().problem()
    if problem and object_cache().folder is not None:
        yield f"the cache is not used: {problem}"


def _packages() -> Iterator[str]:
    for name, what in OPTIONAL.items():
        yield f"{name} {_installed(name)}: {what}"
    if _installed("jax") != "not installed":
        yield f"devices of JAX: {', '.join(map(str, library().devices()))}"


def _options() -> Iterator[str]:
    changed = configuration.changed()
    yield from (f"{name} = {value!r}" for name, value in changed.items())
    if not changed:
        yield "none"


def _checked(name: str, check: Callable[[], None]) -> tuple[str, bool]:
    """Return the line of a check in the report, and whether it has passed."""
    begun = time.perf_counter()
    try:
        check()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is reported
        return f"FAILED  {name}: {type(error).__name__}: {error}", False
    return f"ok      {name} ({1e3 * (time.perf_counter() - begun):.0f} ms)", True


def _elementwise() -> None:
    x = pt.dvector("x")
    values = np.linspace(-3.0, 3.0, 100_001)
    found = function([x], pt.tanh(x) * pt.exp(-(x**2)))(values)
    np.testing.assert_allclose(found, np.tanh(values) * np.exp(-(values**2)), rtol=1e-12)


def _gradient() -> None:
    x, w = pt.dmatrix("x"), pt.dvector("w")
    cost = pt.softplus(x @ w).sum()
    slope = function([x, w], grad(cost, w))
    data = np.arange(12.0).reshape(4, 3) / 10
    expected = data.T @ (1 / (1 + np.exp(-data @ np.ones(3))))
    np.testing.assert_allclose(slope(data, np.ones(3)), expected, rtol=1e-12)


def _product() -> None:
    a, b = pt.dmatrices("a", "b")
    left = np.arange(90_000.0).reshape(300, 300) % 7
    np.testing.assert_allclose(function([a, b], a @ b)(left, left.T), left @ left.T, rtol=1e-12)


def _decomposition() -> None:
    a = pt.dmatrix("a")
    matrix = np.eye(50) * 60 + np.arange(2500).reshape(50, 50) % 3
    found = function([a], pt.linalg.solve(a, pt.ones(50)))(matrix)
    np.testing.assert_allclose(matrix @ found, np.ones(50), rtol=1e-9)


def _loop() -> None:
    n = pt.lscalar("n")
    (_, last), _ = loop(lambda carry, _: ((carry[1], sum(carry)), None), (0, 1), length=n)
    if function([n], last)(30) != 1346269:
        raise ArithmeticError("a loop has the wrong result")


def _draws() -> None:
    draw = function([], RandomStream(1).normal(size=100_000))
    mean = float(draw().mean())
    if abs(mean) > 0.02:
        msg = f"the mean of 100,000 normal numbers is {mean}"
        raise ArithmeticError(msg)


CHECKS: dict[str, Callable[[], None]] = {
    "elementwise functions on all cores": _elementwise,
    "a gradient": _gradient,
    "a product by BLAS": _product,
    "a solution by LAPACK": _decomposition,
    "a loop": _loop,
    "random numbers": _draws,
}
"""What the self-test says that it checks -> the check, which raises if something is wrong."""
