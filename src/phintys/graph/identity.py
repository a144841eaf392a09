"""Identity: comparing variables by identity, and Ops and Types by their ``__props__``.

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
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


def values_getter(props: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that gets some attributes as a tuple, in C where possible."""
    if len(props) > 1:
        return attrgetter(*props)
    if not props:
        return lambda _thing: ()
    only = attrgetter(props[0])
    return lambda thing: (only(thing),)


def props_eq(self: Any, other: Any) -> bool:
    """Return whether two instances have the same class and equal ``__props__``."""
    return self is other or (
        type(self) is type(other) and self._props_key(self) == other._props_key(other)
    )


def missing_prop(thing: Any, error: AttributeError) -> AttributeError:
    """Return the error for an attribute that ``__props__`` names and the instance lacks."""
    if error.obj is not thing:
        return error
    return AttributeError(
        f"{type(thing).__name__}.__props__ names {error.name!r}, but this instance has no such "
        f"attribute. Set self.{error.name} in __init__, or take it out of __props__.",
        name=error.name,
        obj=thing,
    )


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
