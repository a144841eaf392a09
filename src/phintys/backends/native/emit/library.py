"""Outlined functions: vector math, one per (op, dtype, lanes) that kernels call, products, bits.

A kernel that calls ``phintys_exp_float64_x8`` only declares it. The definitions are compiled once
for all kernels, which makes compiling a kernel several times as fast.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from phintys._base.late import LateModule
from phintys.backends.native.emit.builder import Builder
from phintys.backends.native.emit.columns import COLUMNS, write_columns
from phintys.backends.native.emit.math import FLOAT_FUNCTIONS, MathSymbol
from phintys.backends.native.emit.math.calls import RANDOM_BITS
from phintys.backends.native.emit.module import Module
from phintys.backends.native.emit.product_parts import (
    PRODUCT_PARTS,
    VECTOR_PARTS,
    write_product_parts,
    write_vector_parts,
)
from phintys.backends.native.emit.products import PRODUCT, write_product
from phintys.backends.native.emit.target import Target
from phintys.backends.native.emit.types import type_of

if TYPE_CHECKING:
    from phintys.backends.native.emit import random
else:
    random = LateModule("phintys.backends.native.emit.random")

__all__ = ["is_outlined", "library"]


def _write_random_bits(module: Module, symbol: MathSymbol) -> None:
    random.write_random_bits(module, symbol)


_OTHERS = {
    COLUMNS: write_columns,
    PRODUCT: write_product,
    PRODUCT_PARTS: write_product_parts,
    RANDOM_BITS: _write_random_bits,
    VECTOR_PARTS: write_vector_parts,
}


def is_outlined(symbol: str) -> bool:
    """Return whether a symbol is that of an outlined function."""
    if not symbol.startswith("phintys_"):
        return False
    try:
        name = MathSymbol.parse(symbol).name
    except ValueError:
        return False
    return name in _OTHERS or name in FLOAT_FUNCTIONS


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
        key = MathSymbol.parse(symbol)
        if key.name in _OTHERS:
            _OTHERS[key.name](module, key)
            continue
        function = FLOAT_FUNCTIONS[key.name]
        type = type_of(key.dtype, key.lanes)
        parameters = [type] * function.nin
        written = module.function(symbol, type, parameters, convention=target.convention)
        b = Builder(written, inline=True)
        b.ret(function.emit(b, *b.arguments))
    return module
