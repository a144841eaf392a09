"""The values of ``__props__``, by which Ops and Types are compared and hashed."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


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
