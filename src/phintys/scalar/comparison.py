"""Comparisons and tests: the output is a bool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from phintys.graph.pretty import PRECEDENCE
from phintys.scalar.op import Dtypes
from phintys.scalar.row_kinds import UfuncRow

_INT64, _UINT64, _FLOAT16 = np.dtype(np.int64), np.dtype(np.uint64), np.dtype(np.float16)


def _holds(dtype: np.dtype[Any], number: int) -> bool:
    if dtype.kind not in "iu":
        return True
    info = np.iinfo(dtype)
    return bool(info.min <= number <= info.max)


class Comparison(UfuncRow):
    """A comparison. Complex numbers are ordered by real, then imaginary part, as in NumPy.

    A Python int that does not fit the other operand's dtype is not an error, as in NumPy:
    ``x < 300`` is true for every int8.
    """

    def __init__(
        self, name: str, ufunc: np.ufunc, symbol: str, commutative: bool = False, **facts: Any
    ) -> None:
        super().__init__(
            name,
            ufunc,
            symbol=symbol,
            precedence=PRECEDENCE["comparison"],
            commutative=commutative,
            **facts,
        )

    def literal_dtypes(self, operands: Sequence[Any]) -> Dtypes:
        return tuple(
            _wide_enough(operand, dtype) if type(operand) is int else dtype
            for operand, dtype in zip(operands, super().literal_dtypes(operands), strict=True)
        )

    def literal(self, value: complex, dtype: np.dtype[Any]) -> Any:
        if isinstance(value, int) and dtype == _FLOAT16 and abs(value) >= 2**16:
            value = float("inf") if value > 0 else float("-inf")
        return super().literal(value, dtype)


def _wide_enough(number: int, dtype: np.dtype[Any]) -> np.dtype[Any]:
    # A number beyond every integer dtype is infinite in float16, and compares correctly.
    return next((d for d in (dtype, _INT64, _UINT64) if _holds(d, number)), _FLOAT16)


lt = Comparison("lt", np.less, "<", doc="Whether x1 < x2.", example="[1.0, 5.0], 3.0")

le = Comparison("le", np.less_equal, "<=", doc="Whether x1 <= x2.", example="[1.0, 3.0], 3.0")

gt = Comparison("gt", np.greater, ">", doc="Whether x1 > x2.", example="[1.0, 5.0], 3.0")

ge = Comparison("ge", np.greater_equal, ">=", doc="Whether x1 >= x2.", example="[1.0, 3.0], 3.0")

eq = Comparison(
    "eq",
    np.equal,
    "==",
    doc="Whether x1 equals x2; false for NaN.",
    example="[1, 2], [1, 3]",
    commutative=True,
)

ne = Comparison(
    "ne",
    np.not_equal,
    "!=",
    doc="Whether x1 differs from x2; true for NaN.",
    example="[1, 2], [1, 3]",
    commutative=True,
)

isnan = UfuncRow(
    "isnan", np.isnan, doc="Whether x, or a part of it, is NaN.", example='[1.0, float("nan")]'
)

isinf = UfuncRow(
    "isinf", np.isinf, doc="Whether x, or a part of it, is infinite.", example='[1.0, float("inf")]'
)

isfinite = UfuncRow(
    "isfinite",
    np.isfinite,
    doc="Whether x is neither infinite nor NaN.",
    example='[1.0, float("inf")]',
)

signbit = UfuncRow(
    "signbit",
    np.signbit,
    doc="Whether x is negative, or -0.0.",
    example="[1.0, -0.0]",
    hint="A complex number has two signs.",
)
