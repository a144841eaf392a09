"""Arithmetic on sizes, each of which is a Python int or a 0-d symbolic int64.

Known values are computed at once, which keeps shape expressions small.
"""

from __future__ import annotations

from collections import Counter
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import DtypeError, ShapeError
from phintys.graph.variable import Variable
from phintys.tensor import math
from phintys.tensor.convert import as_tensor_variable, constant
from phintys.tensor.known import known_int

if TYPE_CHECKING:
    from collections.abc import Iterable

    Size = int | Any

_INT64 = np.iinfo(np.int64)


def as_size(x: Any, what: str = "A size") -> Any:
    """Return ``x`` as a 0-d symbolic int64.

    Parameters
    ----------
    x
        An int, or a 0-d integer variable.
    what
        What ``x`` means, as the subject of the error message.

    Raises
    ------
    DtypeError
        ``x`` is not an integer.
    ShapeError
        ``x`` has dimensions, or does not fit into 64 bits.
    """
    if not isinstance(x, Variable):
        return constant(_as_int(x, what))
    variable = as_tensor_variable(x)
    if variable.type.numpy_dtype.kind not in "iu":
        msg = f"{what} is an integer, got {variable} of dtype {variable.dtype}."
        raise DtypeError(msg)
    if variable.ndim != 0:
        msg = f"{what} has no dimensions, got {variable} of type {variable.type}."
        raise ShapeError(msg)
    return variable if variable.dtype == "int64" else math.cast(variable, "int64")


def _as_int(x: Any, what: str) -> int:
    try:
        if isinstance(x, bool | np.bool_):
            raise TypeError
        number = x.__index__()
    except (AttributeError, TypeError):
        msg = f"{what} is an integer, got {x!r} of type {type(x).__name__}."
        raise DtypeError(msg) from None
    if not _INT64.min <= number <= _INT64.max:
        msg = f"{what} must fit into 64 bits, got {number}."
        raise ShapeError(msg)
    return number


def fold(x: Any) -> Size:
    """Return a size as an int if its value is known, otherwise unchanged."""
    if not isinstance(x, Variable):
        return int(x)
    known = known_int(x)
    return x if known is None else known


def add_sizes(a: Size, b: Size) -> Size:
    """a + b"""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    if isinstance(a, int) and a == 0:
        return b
    return a if isinstance(b, int) and b == 0 else math.add(a, b)


def subtract_sizes(a: Size, b: Size) -> Size:
    """a - b"""
    if isinstance(a, int) and isinstance(b, int):
        return a - b
    if isinstance(b, int) and b == 0:
        return a
    return 0 if a is b else math.sub(a, b)


def negate_size(a: Size) -> Size:
    """-a"""
    return -a if isinstance(a, int) else math.neg(a)


def multiply_sizes(sizes: Iterable[Size]) -> Size:
    """Return the product; 1 for no sizes."""
    sizes = list(sizes)
    known = prod(size for size in sizes if isinstance(size, int))
    symbolic = [size for size in sizes if not isinstance(size, int)]
    if not symbolic or known == 0:
        return known
    factors = symbolic if known == 1 else [constant(known), *symbolic]
    return factors[0] if len(factors) == 1 else math.mul(*factors)


def floor_div_sizes(a: Size, b: Size) -> Size:
    """a // b"""
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    return a if isinstance(b, int) and b == 1 else math.floor_div(a, b)


def ceil_div_sizes(a: Size, b: Size) -> Size:
    """Return a / b, rounded up; ``b`` is nonzero."""
    if isinstance(a, int) and isinstance(b, int):
        return -(-a // b)
    if isinstance(b, int) and b == 1:
        return a
    if isinstance(b, int) and b == -1:
        return negate_size(a)
    return math.neg(math.floor_div(negate_size(a), b))


def clip_size(a: Size, lower: Size | None, upper: Size | None) -> Size:
    """Return ``a`` clipped to its bounds."""
    if lower is not None:
        both = isinstance(a, int) and isinstance(lower, int)
        a = max(a, lower) if both else math.maximum(a, lower)
    if upper is not None:
        both = isinstance(a, int) and isinstance(upper, int)
        a = min(a, upper) if both else math.minimum(a, upper)
    return a


def same_size(a: Size, b: Size) -> bool:
    """Return whether two sizes are known to be equal."""
    if a is b:
        return True
    return isinstance(a, int) and isinstance(b, int) and a == b


def same_product(a: Iterable[Size], b: Iterable[Size]) -> bool:
    """Return whether the products of some sizes are known to be equal, in any order."""
    return _factors(a) == _factors(b)


def _factors(sizes: Iterable[Size]) -> tuple[int, Counter[Any]]:
    """Return the factors of a product: a number, and keys of variables."""
    known, symbolic = 1, Counter[Any]()
    stack = list(sizes)
    while stack:
        size = fold(stack.pop())
        if isinstance(size, int):
            known *= size
        elif size.owner is None:
            symbolic[id(size)] += 1
        elif size.owner.op is math.mul:
            stack.extend(size.owner.inputs)
        else:
            symbolic[(size.owner.op, size.index, *map(id, size.owner.inputs))] += 1
    return known, symbolic
