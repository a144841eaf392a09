"""Values under suspicion: copies, comparisons, and how much of a difference rounding explains."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.backends.reference.diagnosis import describe_value
from phintys.graph.variable import Variable

if TYPE_CHECKING:
    from phintys.graph.type import Type

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
    """Return a copy that may be changed; what cannot be copied is returned as it is."""
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return value.copy(order="K")
    if isinstance(value, _IMMUTABLE):
        return value
    try:
        return copy.deepcopy(value)
    except Exception:  # noqa: BLE001 - an open file, say: then nobody can tell whether it changed
        return value


def may_be_compared(value: Any) -> bool:
    """Return whether values of this kind are equal when they look equal.

    Objects that only equal themselves say nothing about a copy.
    """
    return type(value).__eq__ is not object.__eq__


def is_unchanged(value: Any, before: Any) -> bool:
    """Return whether a value is what its copy, made before, still is, bit by bit."""
    if isinstance(value, np.ndarray) and isinstance(before, np.ndarray):
        return (
            value.dtype == before.dtype
            and value.shape == before.shape
            and value.tobytes() == before.tobytes()
        )
    if isinstance(value, _IMMUTABLE) or not may_be_compared(value):
        return True
    return _equal(value, before)


def _equal(a: Any, b: Any) -> bool:
    try:
        return bool(a == b)
    except Exception:  # noqa: BLE001 - such as the truth of a list of arrays: it says nothing
        return True


def agree(type_: Type, a: Any, b: Any) -> bool:
    """Return whether two values are the same up to rounding, as their Type sees it."""
    if a is b:
        return True
    if not may_be_compared(a) and type(a) is type(b):
        return True
    try:
        return bool(type_.values_eq_approx(a, b))
    except Exception:  # noqa: BLE001 - values that a Type cannot compare say nothing
        return True


def share_memory(a: Any, b: Any, type_: Type) -> bool:
    """Return whether two values lie in the same memory, so that changing one changes the other."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return bool(np.may_share_memory(a, b)) and bool(np.shares_memory(a, b))
    # Numbers, strings and the like are shared by Python, and cannot be changed.
    if isinstance(a, (*_IMMUTABLE, tuple, type, Variable)):
        return False
    return bool(type_.may_share_memory(a, b))


def describe_difference(a: Any, b: Any, first: str, second: str) -> str:
    """Return lines that show two values, and where arrays differ most.

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
