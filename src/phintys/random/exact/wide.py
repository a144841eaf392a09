"""128-bit products of 64-bit integers, of arrays and of tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def high_product(a: Any, b: Any) -> Any:
    """Return the upper 64 bits of the products of uint64.

    Examples
    --------
    >>> import numpy as np
    >>> from phintys.random.exact.wide import high_product
    >>> high_product(np.array([1 << 63], "uint64"), np.uint64(10))
    array([5], dtype=uint64)
    """
    a_low, a_high = a & _LOW, a >> _HALF
    b_low, b_high = b & _LOW, b >> _HALF
    middle = a_high * b_low + (a_low * b_low >> _HALF)
    return a_high * b_high + (middle >> _HALF) + (a_low * b_high + (middle & _LOW) >> _HALF)


def wide_product(a: Any, b: Any) -> tuple[Any, Any]:
    """Return the upper and the lower 64 bits of the products of uint64."""
    return high_product(a, b), a * b
