"""Outlined functions: vector math, one per (op, dtype, lanes) that kernels call, products, bits.

A kernel that calls ``phintys_exp_float64_x8`` only declares it. The definitions are compiled once
for all kernels, which makes compiling a kernel several times as fast.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from phintys._base.late import LateModule
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.externals import EXTERNALS
from phintys.backends.native.assembler.math import FLOAT_FUNCTIONS, OutlinedSymbol
from phintys.backends.native.assembler.math.calls import (
    BLOCKED_CHOLESKY,
    BLOCKED_INVERSE,
    BY_ROWS,
    CHOLESKY,
    CHOLESKY_INVERSE,
    COLUMNS,
    FOURIER,
    FOURIER_OF_REAL,
    FOURIER_TO_REAL,
    IMAGE_FILTERS,
    IMAGE_SPREAD,
    IMAGE_SUMS,
    LU,
    MAX_POOLED,
    PRODUCT,
    PRODUCT_PARTS,
    RANDOM_BITS,
    SORTING_ORDER,
    TRIANGLE,
    VECTOR_PARTS,
)
from phintys.backends.native.assembler.module import Module
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.assembler.types import type_of

if TYPE_CHECKING:
    from phintys.backends.native.assembler import random
    from phintys.backends.native.routines import (
        blocked_factors,
        fourier,
        image_parts,
        ordering,
        outlined_products,
        pool_parts,
        product_parts,
        products_by_columns,
        products_by_rows,
        small_systems,
        tiled_factors,
    )
else:
    blocked_factors = LateModule("phintys.backends.native.routines.blocked_factors")
    products_by_columns = LateModule("phintys.backends.native.routines.products_by_columns")
    fourier = LateModule("phintys.backends.native.routines.fourier")
    image_parts = LateModule("phintys.backends.native.routines.image_parts")
    ordering = LateModule("phintys.backends.native.routines.ordering")
    pool_parts = LateModule("phintys.backends.native.routines.pool_parts")
    product_parts = LateModule("phintys.backends.native.routines.product_parts")
    outlined_products = LateModule("phintys.backends.native.routines.outlined_products")
    random = LateModule("phintys.backends.native.assembler.random")
    products_by_rows = LateModule("phintys.backends.native.routines.products_by_rows")
    small_systems = LateModule("phintys.backends.native.routines.small_systems")
    tiled_factors = LateModule("phintys.backends.native.routines.tiled_factors")

_OTHERS = {
    BLOCKED_CHOLESKY: (blocked_factors, "write_blocked_factor"),
    BLOCKED_INVERSE: (blocked_factors, "write_blocked_inverse"),
    BY_ROWS: (products_by_rows, "write_rows"),
    CHOLESKY: (tiled_factors, "write_factor"),
    CHOLESKY_INVERSE: (tiled_factors, "write_inverse"),
    COLUMNS: (products_by_columns, "write_columns"),
    FOURIER: (fourier, "write_fourier"),
    FOURIER_OF_REAL: (fourier, "write_fourier"),
    FOURIER_TO_REAL: (fourier, "write_fourier"),
    IMAGE_FILTERS: (image_parts, "write_filters"),
    IMAGE_SPREAD: (image_parts, "write_spread"),
    IMAGE_SUMS: (image_parts, "write_sums"),
    LU: (small_systems, "write_lu"),
    MAX_POOLED: (pool_parts, "write_max_pool"),
    PRODUCT: (outlined_products, "write_product"),
    PRODUCT_PARTS: (product_parts, "write_product_parts"),
    RANDOM_BITS: (random, "write_random_bits"),
    SORTING_ORDER: (ordering, "write_order"),
    TRIANGLE: (small_systems, "write_triangle"),
    VECTOR_PARTS: (product_parts, "write_vector_parts"),
}
"""Where the functions are written that are not vector math."""


def is_outlined(symbol: str) -> bool:
    """Return whether a symbol is that of an outlined function."""
    if not symbol.startswith("phintys_"):
        return False
    try:
        name = OutlinedSymbol.parse(symbol).name
    except ValueError:
        return False
    return name in _OTHERS or name in FLOAT_FUNCTIONS


def has_loops(symbol: str) -> bool:
    """Return whether an outlined function is more than vector math: it spends its time in loops."""
    return OutlinedSymbol.parse(symbol).name in _OTHERS


def is_convolution(symbol: str) -> bool:
    """Return whether an outlined function convolves images: its calls take milliseconds."""
    return OutlinedSymbol.parse(symbol).name in {IMAGE_FILTERS, IMAGE_SPREAD, IMAGE_SUMS}


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
        if key.name in _OTHERS:
            home, write = _OTHERS[key.name]
            getattr(home, write)(module, key)
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
