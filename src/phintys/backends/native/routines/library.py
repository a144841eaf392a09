"""Outlined functions: vector math, one per (op, dtype, lanes) that kernels call, products, bits.

A kernel that calls ``phintys_exp_float64_x8`` only declares it. The definitions are compiled once
for all kernels, which makes compiling a kernel several times as fast.
"""

from __future__ import annotations

from collections.abc import Iterable

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.externals import EXTERNALS
from phintys.backends.native.assembler.math import FLOAT_FUNCTIONS, OutlinedSymbol
from phintys.backends.native.assembler.math.registry import OUTLINED_FUNCTIONS
from phintys.backends.native.assembler.module import Module
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.assembler.types import type_of


def is_outlined(symbol: str) -> bool:
    """Return whether a symbol is that of an outlined function."""
    if not symbol.startswith("phintys_"):
        return False
    try:
        name = OutlinedSymbol.parse(symbol).name
    except ValueError:
        return False
    return name in OUTLINED_FUNCTIONS or name in FLOAT_FUNCTIONS


def has_loops(symbol: str) -> bool:
    """Return whether an outlined function is more than vector math: it spends its time in loops."""
    return OutlinedSymbol.parse(symbol).name in OUTLINED_FUNCTIONS


def is_convolution(symbol: str) -> bool:
    """Return whether an outlined function convolves images: its calls take milliseconds."""
    return OutlinedSymbol.parse(symbol).name in {"image_filters", "image_spread", "image_sums"}


def library(target: Target, symbols: Iterable[str]) -> Module:
    """Return a module that defines outlined functions.

    Parameters
    ----------
    target
        The CPU, the same as that of the callers.
    symbols
        The functions' symbols, as collected in :attr:`Module.math_functions`.
    """
    module = Module(target)
    for symbol in sorted(set(symbols)):
        key = OutlinedSymbol.parse(symbol)
        if key.name in OUTLINED_FUNCTIONS:
            OUTLINED_FUNCTIONS[key.name](module, key)
            continue
        function = FLOAT_FUNCTIONS[key.name]
        type = type_of(key.dtype, key.lanes)
        parameters = [type] * function.nin
        written = module.function(symbol, type, parameters, convention=target.convention)
        b = Builder(written, inline=True)
        b.ret(function.emit(b, *b.arguments))
    return module


def with_outlined(module: Module) -> list[Module]:
    """Return a module, and those with the outlined functions that it needs, and theirs in turn."""
    found = [module]
    done: set[str] = set()
    for one in found:
        for symbol in sorted(one.declared - done):
            if symbol not in EXTERNALS and is_outlined(symbol):
                done.add(symbol)
                found.append(library(module.target, [symbol]))
    return found
