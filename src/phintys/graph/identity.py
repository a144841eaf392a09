"""Comparing variables by identity.

The meaning of ``==`` for two variables depends on their class: for tensors it is an expression. The
library itself compares variables by identity, with these functions and ``is``.

Examples
--------
>>> from phintys.graph import Type
>>> from phintys.graph.identity import all_same, is_among, place_of
>>> anything = Type()
>>> x, y = anything("x"), anything("y")
>>> is_among(x, [y, x]), place_of(x, [y, x]), all_same([x, y], [x, y])
(True, 1, True)
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def is_among(thing: object, things: Iterable[object]) -> bool:
    """Return whether ``thing`` itself is one of ``things``."""
    return any([one is thing for one in things])  # noqa: C419 - a list is faster for a few


def place_of(thing: object, things: Iterable[object]) -> int | None:
    """Return the first position of ``thing`` itself in ``things``, or ``None``."""
    for position, one in enumerate(things):
        if one is thing:
            return position
    return None


def all_same(ones: Sequence[object], others: Sequence[object]) -> bool:
    """Return whether two sequences hold the same objects in the same order."""
    return len(ones) == len(others) and all(map(operator.is_, ones, others))
