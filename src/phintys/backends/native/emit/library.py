"""Outlined vector math: one function for each (op, dtype, lanes) that kernels call.

A kernel that calls ``phintys_exp_float64_x8`` only declares it. The definitions are compiled once
for all kernels; this makes a kernel's own compilation three times as fast.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from phintys._base.errors import MethodNotDefinedError
from phintys.backends.native.emit.builder import Builder
from phintys.backends.native.emit.math import FLOAT_FUNCTIONS
from phintys.backends.native.emit.module import Module
from phintys.backends.native.emit.target import Target
from phintys.backends.native.emit.types import type_of
from phintys.backends.native.emit.values import Value

__all__ = ["MathSymbol", "float_math", "library"]


class MathSymbol(NamedTuple):
    """Which function an outlined symbol stands for.

    Examples
    --------
    >>> MathSymbol("exp", "float64", 8).symbol
    'phintys_exp_float64_x8'
    >>> MathSymbol.parse("phintys_exp_float64_x8")
    MathSymbol(name='exp', dtype='float64', lanes=8)
    """

    name: str
    dtype: str
    lanes: int

    @property
    def symbol(self) -> str:
        """The symbol."""
        return f"phintys_{self.name}_{self.dtype}_x{self.lanes}"

    @classmethod
    def parse(cls, symbol: str) -> MathSymbol:
        """Return what :attr:`symbol` was made of."""
        rest, _, lanes = symbol.removeprefix("phintys_").rpartition("_x")
        name, _, dtype = rest.rpartition("_")
        return cls(name, dtype, int(lanes))


def float_math(b: Builder, name: str, *values: Value) -> Value:
    """Compute a function of float32 or float64 values, in place or by a call.

    Parameters
    ----------
    b
        The builder; ``b.inline`` decides where the code goes.
    name
        Name of the scalar op.
    values
        Of one type, which is also the result's.

    Raises
    ------
    MethodNotDefinedError
        There is no such function.
    """
    if name not in FLOAT_FUNCTIONS:
        msg = f"There is no native code for {name!r} of floats; it can run as a callback."
        raise MethodNotDefinedError(msg)
    function = FLOAT_FUNCTIONS[name]
    if b.inline or not function.outlined:
        return function.emit(b, *values)
    type = values[0].type
    key = MathSymbol(name, type.name, type.lanes)
    b.module.math_functions.add(key.symbol)
    return b.call(key.symbol, type, values)


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
        function = FLOAT_FUNCTIONS[key.name]
        type = type_of(key.dtype, key.lanes)
        b = Builder(module.function(symbol, type, [type] * function.nin), inline=True)
        b.ret(function.emit(b, *b.arguments))
    return module
