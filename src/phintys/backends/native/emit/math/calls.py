"""How code uses the functions of floats: in place, or by calling an outlined copy."""

from __future__ import annotations

from typing import NamedTuple

from phintys._base.errors import MethodNotDefinedError
from phintys.backends.native.emit.builder import Builder
from phintys.backends.native.emit.math.registry import FLOAT_FUNCTIONS
from phintys.backends.native.emit.values import Value

__all__ = [
    "BY_ROWS",
    "COLUMNS",
    "LU",
    "PRODUCT",
    "PRODUCT_PARTS",
    "RANDOM_BITS",
    "TRIANGLE",
    "VECTOR_PARTS",
    "MathSymbol",
    "float_math",
]

BY_ROWS, COLUMNS = "rows", "columns"
"""Names of the outlined functions that multiply small matrices by vectors, in place of names of
vector math."""

LU, TRIANGLE = "lu", "triangle"
"""The same for factors of small matrices, and for their systems."""

PRODUCT = "product"
"""The same for small products."""

PRODUCT_PARTS, VECTOR_PARTS = "product_parts", "vector_parts"
"""The same for products that threads share."""

RANDOM_BITS = "random_bits"
"""The same for random bits."""


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
        """Return the function that a :attr:`symbol` stands for."""
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
    function = FLOAT_FUNCTIONS.get(name)
    if function is None:
        msg = f"There is no native code for {name!r} of floats; it can run as a callback."
        raise MethodNotDefinedError(msg)
    if b.inline or not function.outlined:
        return function.emit(b, *values)
    type = values[0].type
    symbol = MathSymbol(name, type.name, type.lanes).symbol
    b.module.math_functions.add(symbol)
    return b.call(symbol, type, values, convention=b.target.convention)
