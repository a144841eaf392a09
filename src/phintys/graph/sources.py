"""The variables that a variable was derived from, where its graph no longer shows them.

``zeros_like(x)`` of a scalar is a constant, and so may be a gradient: 3 for ``3 * x``. Nothing is
computed from x, although the program uses x. The check for unused inputs finds such uses here.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from phintys.graph.traversal import ancestors

if TYPE_CHECKING:
    from collections.abc import Iterable

    from phintys.graph.variable import Variable

__all__ = ["made_from", "note_sources", "variables_used"]

# Keyed by id, since variables are not compared; an entry is removed with its variable. The sources
# must be older than the variable: otherwise they would keep it, and thereby their entry, alive.
_SOURCES: dict[int, tuple[Any, tuple[Variable, ...]]] = {}


def note_sources(variable: Variable, sources: Iterable[Variable]) -> None:
    """Record the variables that a variable was derived from.

    Examples
    --------
    >>> from phintys.graph import Type
    >>> from phintys.graph.sources import made_from, note_sources
    >>> x, zero = Type()("x"), Type()("zero")
    >>> note_sources(zero, [x])
    >>> made_from(zero)
    (x,)
    """
    key = id(variable)
    kept = tuple(one for one in sources if one is not variable)
    if kept:
        _SOURCES[key] = (weakref.ref(variable, lambda _: _SOURCES.pop(key, None)), kept)


def made_from(variable: Variable) -> tuple[Variable, ...]:
    """Return the variables that a variable was derived from, as recorded."""
    found = _SOURCES.get(id(variable))
    return () if found is None else found[1]


def variables_used(outputs: Iterable[Variable]) -> set[Variable]:
    """Return the variables that a program used to derive some outputs, as far as is known."""
    used: set[Variable] = set()
    waiting = list(outputs)
    while waiting:
        new = [variable for variable in ancestors(waiting) if variable not in used]
        used.update(new)
        waiting = [source for variable in new for source in made_from(variable)]
        waiting = [source for source in waiting if source not in used]
    return used
