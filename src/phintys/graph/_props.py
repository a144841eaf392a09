"""The values of ``__props__``: compared and hashed wherever Ops and Types are looked up."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["missing_prop", "values_getter"]


def values_getter(props: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that gives the values of some attributes as a tuple, in C where it can."""
    if len(props) > 1:
        return attrgetter(*props)
    if not props:
        return lambda _thing: ()
    only = attrgetter(props[0])
    return lambda thing: (only(thing),)


def missing_prop(thing: Any, error: AttributeError) -> AttributeError:
    """Return what to raise when an attribute that ``__props__`` names is not there."""
    if error.obj is not thing:
        return error
    return AttributeError(
        f"{type(thing).__name__}.__props__ names {error.name!r}, but this instance has no such "
        f"attribute. Set self.{error.name} in __init__, or take it out of __props__.",
        name=error.name,
        obj=thing,
    )
