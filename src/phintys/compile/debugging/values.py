"""Copies and comparisons of values for DebugMode."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from phintys.backends.reference.diagnosis import describe_value
from phintys.graph.type import Type
from phintys.graph.variable import Variable

__all__ = [
    "agree",
    "describe_difference",
    "duplicate",
    "is_unchanged",
    "may_be_compared",
    "share_memory",
]

_IMMUTABLE = (bool, int, float, complex, str, bytes, frozenset, np.generic, type(None))


def duplicate(value: Any) -> Any:
    """Return an independent copy; a value that cannot be copied is returned itself."""
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return value.copy(order="K")
    if isinstance(value, _IMMUTABLE):
        return value
    try:
        return copy.deepcopy(value)
    except Exception:  # noqa: BLE001 - e.g. an open file; changes cannot be detected
        return value


def may_be_compared(value: Any) -> bool:
    """Return whether a value can be compared with a copy of it.

    It cannot if it compares equal only to itself.
    """
    return type(value).__eq__ is not object.__eq__


def is_unchanged(value: Any, before: Any, type_: Type) -> bool:
    """Return whether a value is bitwise equal to a copy made before; others, by their Type."""
    if isinstance(value, np.ndarray) and isinstance(before, np.ndarray):
        return (
            value.dtype == before.dtype
            and value.shape == before.shape
            and value.tobytes() == before.tobytes()
        )
    if isinstance(value, _IMMUTABLE):
        return True
    by_type = getattr(type_.values_eq, "__func__", None) is not Type.values_eq
    return not (by_type or may_be_compared(value)) or _equal(value, before, type_)


def _equal(a: Any, b: Any, type_: Type) -> bool:
    try:
        return bool(type_.values_eq(a, b))
    except Exception:  # noqa: BLE001 - e.g. the truth value of a list of arrays is undefined
        return True


def agree(type_: Type, a: Any, b: Any) -> bool:
    """Return whether two values are equal up to rounding, according to their Type."""
    if a is b:
        return True
    if not may_be_compared(a) and type(a) is type(b):
        return True
    try:
        return bool(type_.values_eq_approx(a, b))
    except Exception:  # noqa: BLE001 - the Type cannot compare the values
        return True


def share_memory(a: Any, b: Any, type_: Type) -> bool:
    """Return whether two values share memory, so that changing one changes the other."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return bool(np.may_share_memory(a, b)) and bool(np.shares_memory(a, b))
    # Numbers, strings and the like are shared by Python, and cannot be changed.
    if isinstance(a, (*_IMMUTABLE, tuple, type, Variable)):
        return False
    return bool(type_.may_share_memory(a, b))


def describe_difference(a: Any, b: Any, first: str, second: str) -> str:
    """Return a description of two values, and of where arrays differ most.

    Parameters
    ----------
    a, b
        The values.
    first, second
        What to call them.
    """
    width = max(len(first), len(second)) + 1
    lines = [
        f"  {first + ':':<{width}} {describe_value(a)}",
        f"  {second + ':':<{width}} {describe_value(b)}",
    ]
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and a.shape == b.shape and a.size:
        lines.extend(_where_they_differ(a, b))
    return "\n".join(lines)


def _where_they_differ(a: Any, b: Any) -> list[str]:
    with np.errstate(all="ignore"):
        unequal = np.asarray((a != b) & ~((a != a) & (b != b)))  # noqa: PLR0124 - NaN
        if not unequal.any():
            return []
        size = np.abs(a.astype("complex128") - b.astype("complex128")).real
    size = np.where(unequal, np.where(np.isnan(size), np.inf, size), -1.0)
    place = np.unravel_index(int(size.argmax()), size.shape)
    index = [int(position) for position in place]
    count = f"{int(unequal.sum())} of {a.size} elements differ"
    return [f"  {count}; element {index} is {a[place]} and {b[place]}"]
