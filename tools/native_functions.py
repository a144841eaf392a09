"""Compile emitted native code, and call it on arrays: for tests and benchmarks.

The backend's runtime does this with a cache, threads and checks; here it is done plainly.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import lane_mask, loop, when
from phintys.backends.native.assembler.elements import load, store
from phintys.backends.native.assembler.externals import address_of
from phintys.backends.native.assembler.llvm_library import Engine, llvm
from phintys.backends.native.assembler.module import Module
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.assembler.types import INT64, PTR, VOID, type_of
from phintys.backends.native.assembler.values import Value
from phintys.backends.native.routines.library import library

__all__ = [
    "Compiled",
    "Elementwise",
    "compile_module",
    "elementwise",
    "elementwise_functions",
    "elementwise_module",
    "vector_loop",
]


class Compiled:
    """Machine code of a module; addresses are valid while this object lives."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def function(self, name: str, *argtypes: Any) -> Callable[..., None]:
        """Return a function as a Python callable that keeps the code alive."""
        function = ctypes.CFUNCTYPE(None, *argtypes)(self._engine.address(name))
        function.code = self  # pyright: ignore[reportAttributeAccessIssue] - any name is fine
        return function


def compile_module(module: Module, level: int = 1) -> Compiled:
    """Compile a module with the outlined math that it needs, and bind its externals."""
    parts = [module]
    if module.math_functions:
        parts.append(library(module.target, module.math_functions))
    symbols = {symbol: address_of(symbol) for part in parts for symbol in part.externals}
    machine = module.target.machine(level)
    objects = [llvm().compile(str(part), machine) for part in parts]
    return Compiled(llvm().link(objects, symbols, module.target.machine()))


def vector_loop(b: Builder, count: Value, lanes: int, body: Callable[[Value, Any], None]) -> None:
    """Emit a loop over vectors of elements; ``body(index, mask)`` has a mask for the last ones."""
    whole = count & -lanes
    with loop(b, 0, whole, lanes) as each:
        body(each.index, None)
    if lanes > 1:
        with when(b, whole < count):
            body(whole, lane_mask(b, count - whole, lanes))


@dataclass(frozen=True)
class Elementwise:
    """What is computed for each element of contiguous arrays of equal length."""

    compute: Callable[..., Any]
    """Writes the result of one element, or of a vector of them: ``compute(b, *values)``."""
    dtypes: Sequence[Any]
    """The dtypes of the inputs."""
    out: Any
    """The dtype of the result."""

    def write(self, module: Module, name: str, lanes: int | None, inline: bool) -> None:
        """Add a function ``name(n, out, *inputs)`` to a module."""
        types = [type_of(dtype) for dtype in [self.out, *self.dtypes]]
        count = min(map(module.target.lanes, types)) if lanes is None else lanes
        function = module.function(name, VOID, [INT64, *[(PTR, "noalias")] * len(types)])
        b = Builder(function, inline=inline)
        n, target_array, *sources = b.arguments

        def body(index: Any, mask: Any) -> None:
            values = [
                load(b, type.of(count), b.offset(source, index, type), mask)
                for type, source in zip(types[1:], sources, strict=True)
            ]
            result = self.compute(b, *values)
            store(b, result, b.offset(target_array, index, types[0]), mask)

        vector_loop(b, n, count, body)
        b.ret()

    def bound(self, compiled: Compiled, name: str) -> Callable[..., np.ndarray[Any, Any]]:
        """Return the function of that name as one of arrays."""
        arguments = [ctypes.c_int64, *[ctypes.c_void_p] * (len(self.dtypes) + 1)]
        kernel = compiled.function(name, *arguments)

        def call(*arrays: Any, result: Any = None) -> np.ndarray[Any, Any]:
            inputs = [
                np.ascontiguousarray(array, dtype)
                for array, dtype in zip(arrays, self.dtypes, strict=True)
            ]
            result = np.empty(inputs[0].shape, self.out) if result is None else result
            kernel(result.size, result.ctypes.data, *(array.ctypes.data for array in inputs))
            return result

        return call


def elementwise_module(
    target: Target,
    compute: Callable[..., Any],
    dtypes: Sequence[Any],
    out: Any,
    *,
    lanes: int | None = None,
    inline: bool = False,
) -> Module:
    """Return a module with a function ``kernel(n, out, *inputs)`` over contiguous arrays."""
    module = Module(target)
    Elementwise(compute, dtypes, out).write(module, "kernel", lanes, inline)
    return module


def elementwise(
    compute: Callable[..., Any],
    dtypes: Sequence[Any],
    out: Any,
    *,
    target: Target | None = None,
    lanes: int | None = None,
    inline: bool = False,
    level: int = 1,
) -> Callable[..., np.ndarray[Any, Any]]:
    """Compile ``compute(b, *values)`` to a function of contiguous arrays of equal length.

    Parameters
    ----------
    compute, dtypes, out
        As those of :class:`Elementwise`.
    target, lanes, inline, level
        The CPU, how many lanes, whether vector math is written in place, LLVM's effort.
    """
    kernel = Elementwise(compute, dtypes, out)
    (function,) = elementwise_functions([kernel], target, lanes=lanes, inline=inline, level=level)
    return function


def elementwise_functions(
    kernels: Sequence[Elementwise],
    target: Target | None = None,
    *,
    lanes: int | None = None,
    inline: bool = False,
    level: int = 1,
) -> list[Callable[..., np.ndarray[Any, Any]]]:
    """Compile several functions as one module: what they share is compiled once."""
    module = Module(Target.host() if target is None else target)
    names = [f"kernel{place}" for place in range(len(kernels))]
    for name, kernel in zip(names, kernels, strict=True):
        kernel.write(module, name, lanes, inline)
    compiled = compile_module(module, level)
    return [kernel.bound(compiled, name) for name, kernel in zip(names, kernels, strict=True)]
