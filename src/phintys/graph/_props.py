"""The values of ``__props__``: compared and hashed wherever Ops and Types are looked up."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["values_getter"]


def values_getter(props: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that gives the values of some attributes as a tuple, in C where it can."""
    if len(props) > 1:
        return attrgetter(*props)
    if not props:
        return lambda _thing: ()
    only = attrgetter(props[0])
    return lambda thing: (only(thing),)
