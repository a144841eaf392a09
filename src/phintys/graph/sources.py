"""The variables that a variable was derived from, where its graph no longer shows them.

``zeros_like(x)`` of a scalar is a constant, and so may be a gradient: 3 for ``3 * x``. Nothing is
computed from x, although the program uses x. The check for unused inputs finds such uses here.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from phintys._base.dropped import when_dropped
from phintys.graph.traversal import ancestors

if TYPE_CHECKING:
    from collections.abc import Iterable

    from phintys.graph.variable import Variable

# Keyed by id, since variables are not compared; an entry is removed with its variable. The sources
# must be older than the variable: otherwise they would keep it, and thereby their entry, alive.
_SOURCES: dict[int, tuple[Variable, ...]] = {}


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
        if key not in _SOURCES:
            when_dropped(variable, partial(_SOURCES.pop, key, None))
        _SOURCES[key] = kept


def made_from(variable: Variable) -> tuple[Variable, ...]:
    """Return the variables that a variable was derived from, as recorded."""
    return _SOURCES.get(id(variable), ())


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
