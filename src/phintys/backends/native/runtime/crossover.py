"""The size up to which matrix products are faster without BLAS: measured here and cached.

It is measured when a program for which it matters is compiled, by timing both ways on a few sizes:
this takes about ten milliseconds, mostly to compile the timed code and to start the library's
threads. The result is kept in the object cache, under the names of the CPU and of the library, so
that it is measured once on each machine, and all processes use the same value.
"""

from __future__ import annotations

import ctypes
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from phintys._base.errors import ConfigError
from phintys.backends.native.emit.builder import Builder
from phintys.backends.native.emit.control import loop
from phintys.backends.native.emit.module import Module
from phintys.backends.native.emit.products import (
    ALL,
    FEW,
    MANY,
    product_symbol,
    work_of,
)
from phintys.backends.native.emit.types import INT64, PTR, VOID, Type
from phintys.backends.native.runtime.blas import blas_version
from phintys.backends.native.runtime.cache import CacheKey, object_cache
from phintys.backends.native.runtime.engine import check_runs_here, load

if TYPE_CHECKING:
    from phintys.backends.native.emit.target import Target

__all__ = ["TimedProduct", "measure", "measured_crossover"]

_SIZES = (10, 12, 14, 16, 20, 24, 28, 32)
"""Sizes of the square matrices that are tried; see ``FEW`` and ``MANY``."""

_ROUNDS, _PASSES = 12, 10

_MARGIN = 1.05
"""Minimum slowdown of tiles that counts: otherwise noise would decide between equals."""

_KIND = "crossover of products 1"

_known: dict[tuple[Target, str, str], int] = {}


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

    def __init__(self, target: Target, type: Type) -> None:
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
        rounds: int = _ROUNDS,
        passes: int = _PASSES,
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


def measure(target: Target, type: Type) -> int:
    """Measure up to how many multiplications tiles are faster than BLAS.

    Parameters
    ----------
    target, type
        The CPU and the dtype.

    Raises
    ------
    ConfigError
        If this CPU cannot run code for the target.
    """
    timed = TimedProduct(target, type)
    lanes = target.lanes(type)
    found, lost = FEW, 0
    for size in _SIZES:
        lengths = (size, size, size)
        tiles, blas = timed.nanoseconds(lengths)
        if tiles <= _MARGIN * blas:
            found, lost = work_of(lengths, lanes), 0
        elif lost:
            break
        else:
            lost = 1  # libraries are faster for some sizes than for those on either side
    return found


def measured_crossover(target: Target, type: Type) -> int:
    """Return up to how many multiplications tiles are faster than BLAS.

    Measured the first time; for a CPU other than this one, a safe lower bound is returned.

    Parameters
    ----------
    target, type
        The CPU and the dtype.
    """
    cache = object_cache()
    key = (target, type.name, str(cache.folder))
    found = _known.get(key)
    if found is None:
        name = CacheKey.of(f"{_KIND}, {type.name}", target, blas_version())
        found = _read(cache.get(name))
        if found is None:
            try:
                found = measure(target, type)
            except ConfigError:
                return FEW
            cache.put(name, str(found).encode())
        _known[key] = found
    return found


def _read(content: bytes | None) -> int | None:
    """Return the cached number, if it is valid."""
    if content is None or not content.isdigit():
        return None
    number = int(content)
    return number if FEW <= number <= MANY else None
