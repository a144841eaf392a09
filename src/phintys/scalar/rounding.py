"""Rounding to integers. All derivatives are 0, as they are everywhere except at the jumps."""

from __future__ import annotations

from typing import Any

import numpy as np

from phintys.scalar.row_kinds import FloatRow, UfuncRow

_NO_COMPLEX = "Round the real and the imaginary part one by one."


def _flat(x: Any, out: Any) -> tuple[int]:
    return (0,)


ceil = UfuncRow(
    "ceil",
    np.ceil,
    doc="The least integer that is not below x.",
    example="[1.2, -1.2]",
    hint=_NO_COMPLEX,
    derivative=_flat,
)

floor = UfuncRow(
    "floor",
    np.floor,
    doc="The greatest integer that is not above x.",
    example="[1.2, -1.2]",
    hint=_NO_COMPLEX,
    derivative=_flat,
)

trunc = UfuncRow(
    "trunc",
    np.trunc,
    doc="x without its fraction: rounded towards 0.",
    example="[1.7, -1.7]",
    hint=_NO_COMPLEX,
    derivative=_flat,
)

rint = UfuncRow(
    "rint",
    np.rint,
    doc="The nearest integer, and the even one of two: NumPy's ``round`` without decimals.",
    example="[0.5, 1.5, 2.4]",
    derivative=_flat,
)


def _round_half_away(x: Any) -> Any:
    # The fraction is exact, so that of 0.49999999999999994 stays below one half.
    fraction, whole = np.modf(x)
    return np.where(np.abs(fraction) >= 0.5, whole + np.copysign(1, x), whole)


round_half_away = FloatRow(
    "round_half_away",
    _round_half_away,
    special=False,
    doc="The nearest integer, and of two the one farther from 0, as C's ``round``.",
    source="ISO C99, 1999: round.",
    example="[0.5, 1.5, -2.5]",
    derivative=_flat,
    cost=4,
)
