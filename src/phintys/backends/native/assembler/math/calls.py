"""How code uses the functions of floats: in place, or by calling an outlined copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from phintys._base.errors import MethodNotDefinedError
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.math.registry import FLOAT_FUNCTIONS
from phintys.backends.native.assembler.values import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.assembler.types import MachineType

BY_ROWS, COLUMNS = "rows", "columns"
"""Names of the outlined functions that multiply small matrices by vectors, in place of names of
vector math."""

LU, TRIANGLE = "lu", "triangle"
"""The same for factors of small matrices, and for their systems."""

CHOLESKY, CHOLESKY_INVERSE = "cholesky", "cholesky_inverse"
"""The same for factors of matrices of medium size, and for inverses by them."""

BLOCKED_CHOLESKY, BLOCKED_INVERSE = "blocked_cholesky", "blocked_inverse"
"""The same for those of large matrices."""

PRODUCT = "product"
"""The same for small products."""

PRODUCT_PARTS, VECTOR_PARTS = "product_parts", "vector_parts"
"""The same for products that threads share."""

IMAGE_FILTERS, IMAGE_SPREAD, IMAGE_SUMS = "image_filters", "image_spread", "image_sums"
"""The same for convolutions of images, and their gradients with respect to filters and images."""

MAX_POOLED = "max_pooled"
"""The same for the largest elements under windows."""

RANDOM_BITS = "random_bits"
"""The same for random bits."""

SORTING_ORDER = "sorting_order"
"""The same for the indices that sort."""

FOURIER, FOURIER_OF_REAL, FOURIER_TO_REAL = "fourier", "fourier_of_real", "fourier_to_real"
"""The same for Fourier transforms, of complex numbers, of real ones, and back to real ones."""


class OutlinedSymbol(NamedTuple):
    """Which function an outlined symbol stands for.

    Examples
    --------
    >>> OutlinedSymbol("exp", "float64", 8).symbol
    'phintys_exp_float64_x8'
    >>> OutlinedSymbol.parse("phintys_exp_float64_x8")
    OutlinedSymbol(name='exp', dtype='float64', lanes=8)
    """

    name: str
    dtype: str
    lanes: int

    @property
    def symbol(self) -> str:
        """The symbol."""
        return f"phintys_{self.name}_{self.dtype}_x{self.lanes}"

    @classmethod
    def parse(cls, symbol: str) -> OutlinedSymbol:
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
