"""What a variable was made from where its graph no longer shows it.

``zeros_like(x)`` of a scalar is a constant, and so may be a gradient: 3 for ``3 * x``. Nothing is
computed from x, and yet the program says x. Who asks which variables a program uses, as the check
for unused inputs does, finds those here.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from phintys.graph.traversal import ancestors

if TYPE_CHECKING:
    from collections.abc import Iterable

    from phintys.graph.variable import Variable

__all__ = ["made_from", "note_sources", "variables_used"]

# By id, as variables are not compared; an entry goes with its variable. What a variable was made
# from must be older than the variable: it would keep the variable, and its own entry with it.
_SOURCES: dict[int, tuple[Any, tuple[Variable, ...]]] = {}


def note_sources(variable: Variable, sources: Iterable[Variable]) -> None:
    """Note what a variable was made from.

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
    """Return what was noted for a variable."""
    found = _SOURCES.get(id(variable))
    return () if found is None else found[1]


def variables_used(outputs: Iterable[Variable]) -> set[Variable]:
    """Return the variables that a program used to make some outputs, as far as is known."""
    used: set[Variable] = set()
    waiting = list(outputs)
    while waiting:
        new = [variable for variable in ancestors(waiting) if variable not in used]
        used.update(new)
        waiting = [source for variable in new for source in made_from(variable)]
        waiting = [source for source in waiting if source not in used]
    return used
