"""Bits and truth values.

``and_``, ``or_``, ``xor`` and ``invert`` work on the bits of integers and on bools. The
``logical_`` ones take any number, true where it is not 0, and return a bool.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from phintys.graph.pretty import PRECEDENCE
from phintys.scalar.row_kinds import UfuncRow

__all__ = [
    "and_",
    "invert",
    "left_shift",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "or_",
    "right_shift",
    "xor",
]

_BITS_OF_FLOAT = "Floats have no bits to combine: cast them to an integer dtype, or compare first."


def _all_ones(dtype: np.dtype[Any]) -> Any:
    return np.invert(np.zeros((), dtype))[()] if dtype.kind in "biu" else None


def _zero(dtype: np.dtype[Any]) -> Any:
    return 0 if dtype.kind in "biu" else None


and_ = UfuncRow(
    "and_",
    np.bitwise_and,
    hint=_BITS_OF_FLOAT,
    symbol="&",
    precedence=PRECEDENCE["&"],
    commutative=True,
    associative=True,
    identity=_all_ones,
    absorbing=_zero,
)
"""x & y, bit by bit."""

or_ = UfuncRow(
    "or_",
    np.bitwise_or,
    hint=_BITS_OF_FLOAT,
    symbol="|",
    precedence=PRECEDENCE["|"],
    commutative=True,
    associative=True,
    identity=_zero,
    absorbing=_all_ones,
)
"""x | y, bit by bit."""

xor = UfuncRow(
    "xor",
    np.bitwise_xor,
    hint=_BITS_OF_FLOAT,
    symbol="^",
    precedence=PRECEDENCE["^"],
    commutative=True,
    associative=True,
    identity=_zero,
)
"""x ^ y, bit by bit."""

invert = UfuncRow(
    "invert",
    np.invert,
    hint=_BITS_OF_FLOAT,
    symbol="~",
    precedence=PRECEDENCE["unary"],
)
"""~x, bit by bit; of a bool, not."""

left_shift = UfuncRow(
    "left_shift",
    np.left_shift,
    hint=_BITS_OF_FLOAT,
    symbol="<<",
    precedence=PRECEDENCE["shift"],
)
"""x << y."""

right_shift = UfuncRow(
    "right_shift",
    np.right_shift,
    hint=_BITS_OF_FLOAT,
    symbol=">>",
    precedence=PRECEDENCE["shift"],
)
"""x >> y, keeping the sign."""

logical_and = UfuncRow(
    "logical_and",
    np.logical_and,
    commutative=True,
    associative=True,
    identity=lambda dtype: True if dtype.kind == "b" else None,
    absorbing=lambda dtype: False if dtype.kind == "b" else None,
)
"""Whether both are not 0."""

logical_or = UfuncRow(
    "logical_or",
    np.logical_or,
    commutative=True,
    associative=True,
    identity=lambda dtype: False if dtype.kind == "b" else None,
    absorbing=lambda dtype: True if dtype.kind == "b" else None,
)
"""Whether one of both is not 0."""

logical_xor = UfuncRow(
    "logical_xor",
    np.logical_xor,
    commutative=True,
    associative=True,
    identity=lambda dtype: False if dtype.kind == "b" else None,
)
"""Whether exactly one is not 0."""

logical_not = UfuncRow("logical_not", np.logical_not)
"""Whether x is 0."""
