"""Uniform numbers of random bits, in exact steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from phintys.tensor import math

__all__ = ["half_open_uniform", "open_uniform"]


def half_open_uniform(bits: Any, dtype: str) -> Any:
    """Return numbers in [0, 1): multiples of 2**-53, or of 2**-24 in float32; all steps exact."""
    digits = {"float64": 53, "float32": 24}[dtype]
    return math.mul(_leading(bits, digits, dtype), np.dtype(dtype).type(2.0**-digits))


def open_uniform(bits: Any, dtype: str) -> Any:
    """Return numbers in (0, 1): odd multiples of 2**-53, or of 2**-24 in float32.

    All steps are exact, and the numbers lie symmetrically about 1/2.
    """
    digits = {"float64": 52, "float32": 23}[dtype]
    kind = np.dtype(dtype).type
    middle = math.add(_leading(bits, digits, dtype), kind(0.5))
    return math.mul(middle, kind(2.0**-digits))


def _leading(bits: Any, digits: int, dtype: str) -> Any:
    width = 8 * np.dtype(bits.dtype).itemsize
    whole = math.right_shift(bits, np.dtype(bits.dtype).type(width - digits))
    signed = "int64" if width == 64 else "int32"  # processors convert signed integers faster
    return math.cast(math.cast(whole, signed), dtype)
