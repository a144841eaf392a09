"""How code uses the functions of floats: in place, or by calling an outlined copy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys._base.errors import MethodNotDefinedError
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.math.registry import FLOAT_FUNCTIONS, OutlinedSymbol
from phintys.backends.native.assembler.values import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.assembler.types import MachineType


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
    function = FLOAT_FUNCTIONS.get(name)
    if function is None:
        msg = f"There is no native code for {name!r} of floats; it can run as a callback."
        raise MethodNotDefinedError(msg)
    if b.inline or not function.outlined:
        return function.emit(b, *values)
    return outlined(b, name, values[0].type, values)


def outlined(b: Builder, name: str, returns: MachineType, values: Sequence[Value]) -> Value:
    """Call an outlined function, once for each part of the lanes that fills a vector register.

    Parameters
    ----------
    b
        The builder.
    name
        Name of the function.
    returns
        The type of all results.
    values
        The arguments, of as many lanes.
    """
    # Arguments of up to twice the width stay in registers.
    widest = max(x.type.itemsize for x in values)
    lanes = min(returns.lanes, b.target.lanes(returns), 2 * b.target.vector_bytes // widest)
    symbol = OutlinedSymbol(name, returns.name, lanes).symbol
    b.module.math_functions.add(symbol)
    type, convention = returns.of(lanes), b.target.convention
    parts = [[b.part(x, at, lanes) for x in values] for at in range(0, returns.lanes, lanes)]
    return b.join([b.call(symbol, type, part, convention=convention) for part in parts])
