"""Bitwise and logical operations.

``and_``, ``or_``, ``xor`` and ``invert`` work on the bits of integers and on bools. The
``logical_`` ones accept any number, with nonzero numbers being true, and return a bool.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from phintys.graph.pretty import PRECEDENCE
from phintys.scalar.row_kinds import UfuncRow

_BITS_OF_FLOAT = "Floats have no bits to combine: cast them to an integer dtype, or compare first."


def _all_ones(dtype: np.dtype[Any]) -> Any:
    return np.invert(np.zeros((), dtype))[()] if dtype.kind in "biu" else None


def _zero(dtype: np.dtype[Any]) -> Any:
    return 0 if dtype.kind in "biu" else None


and_ = UfuncRow(
    "and_",
    np.bitwise_and,
    doc="x1 & x2, bit by bit.",
    example="[12, 10], 6",
    hint=_BITS_OF_FLOAT,
    symbol="&",
    precedence=PRECEDENCE["&"],
    commutative=True,
    associative=True,
    identity=_all_ones,
    absorbing=_zero,
)

or_ = UfuncRow(
    "or_",
    np.bitwise_or,
    doc="x1 | x2, bit by bit.",
    example="[12, 10], 6",
    hint=_BITS_OF_FLOAT,
    symbol="|",
    precedence=PRECEDENCE["|"],
    commutative=True,
    associative=True,
    identity=_zero,
    absorbing=_all_ones,
)

xor = UfuncRow(
    "xor",
    np.bitwise_xor,
    doc="x1 ^ x2, bit by bit.",
    example="[12, 10], 6",
    hint=_BITS_OF_FLOAT,
    symbol="^",
    precedence=PRECEDENCE["^"],
    commutative=True,
    associative=True,
    identity=_zero,
)

bitwise_count = UfuncRow(
    "bitwise_count",
    np.bitwise_count,
    doc="The number of bits that are 1 in \\|x\\|.",
    example="[5, -7, 255]",
    hint=_BITS_OF_FLOAT,
    cost=2,
)

invert = UfuncRow(
    "invert",
    np.invert,
    doc="~x, bit by bit; of a bool, not.",
    example="[0, 5]",
    hint=_BITS_OF_FLOAT,
    symbol="~",
    precedence=PRECEDENCE["unary"],
)

left_shift = UfuncRow(
    "left_shift",
    np.left_shift,
    doc="x1 << x2: x1 with its bits moved to the left.",
    example="[1, 3], 2",
    hint=_BITS_OF_FLOAT,
    symbol="<<",
    precedence=PRECEDENCE["shift"],
)

right_shift = UfuncRow(
    "right_shift",
    np.right_shift,
    doc="x1 >> x2: x1 with its bits moved to the right, keeping the sign.",
    example="[8, -8], 2",
    hint=_BITS_OF_FLOAT,
    symbol=">>",
    precedence=PRECEDENCE["shift"],
)

logical_and = UfuncRow(
    "logical_and",
    np.logical_and,
    doc="Whether x1 and x2 are both not 0.",
    example="[True, False], True",
    commutative=True,
    associative=True,
    identity=lambda dtype: True if dtype.kind == "b" else None,
    absorbing=lambda dtype: False if dtype.kind == "b" else None,
)

logical_or = UfuncRow(
    "logical_or",
    np.logical_or,
    doc="Whether x1 or x2 is not 0.",
    example="[True, False], False",
    commutative=True,
    associative=True,
    identity=lambda dtype: False if dtype.kind == "b" else None,
    absorbing=lambda dtype: True if dtype.kind == "b" else None,
)

logical_xor = UfuncRow(
    "logical_xor",
    np.logical_xor,
    doc="Whether exactly one of x1 and x2 is not 0.",
    example="[True, False], True",
    commutative=True,
    associative=True,
    identity=lambda dtype: False if dtype.kind == "b" else None,
)

logical_not = UfuncRow(
    "logical_not", np.logical_not, doc="Whether x is 0.", example="[True, False]"
)
