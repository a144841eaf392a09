"""The elementwise functions: one for each row of :mod:`phintys.scalar`, and NumPy's other names.

The rows define the dtype rules, derivatives and NumPy functions, and what is written about them.
For type checkers, ``make stubs`` writes the names into ``functions.pyi``.
"""

from __future__ import annotations

from phintys.scalar.casting import Cast
from phintys.scalar.table import SCALAR_OPS
from phintys.tensor.elemwise import Elemwise, elemwise, name_functions

_OTHER_NAMES = {"identity": "tensor_copy", "ne": "neq"}

ELEMENTWISE: dict[str, Elemwise] = {
    _OTHER_NAMES.get(name, name): elemwise(row)
    for name, row in SCALAR_OPS.items()
    if not isinstance(row, Cast)
}
"""The function of each row."""

_ALIASES = {
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "absolute": "abs",
    "bitwise_and": "and_",
    "bitwise_invert": "invert",
    "bitwise_left_shift": "left_shift",
    "bitwise_not": "invert",
    "bitwise_or": "or_",
    "bitwise_right_shift": "right_shift",
    "bitwise_xor": "xor",
    "conjugate": "conj",
    "degrees": "rad2deg",
    "divide": "true_div",
    "equal": "eq",
    "fill": "second",
    "fix": "trunc",
    "floor_div": "int_div",
    "floor_divide": "int_div",
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
    "multiply": "mul",
    "ne": "neq",
    "negative": "neg",
    "not_equal": "neq",
    "positive": "pos",
    "power": "pow",
    "psi": "digamma",
    "radians": "deg2rad",
    "remainder": "mod",
    "square": "sqr",
    "subtract": "sub",
    "true_divide": "true_div",
}

_WITH_ARGUMENTS = {"angle", "clip", "logaddexp"}
"""Rows whose functions, in :mod:`phintys.tensor.math`, take more than the row does."""

_NAMED = ELEMENTWISE | {alias: ELEMENTWISE[name] for alias, name in _ALIASES.items()}
_NAMED = {name: op for name, op in _NAMED.items() if name not in _WITH_ARGUMENTS}
globals().update(_NAMED)

__all__ = list(_NAMED)  # pyright: ignore[reportUnsupportedDunderAll] - see functions.pyi

name_functions(_NAMED, "phintys.tensor")
