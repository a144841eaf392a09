"""One lock for each place that holds a value, for functions that update it.

Two threads that call functions with ``updates`` of the same shared variable take turns, so that no
update is lost. Functions that only read take no lock: an update replaces a value, or it writes into
one that nobody else holds, at a moment when no other thread runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from phintys._base.locks import ProcessLock

if TYPE_CHECKING:
    from phintys.graph.shared import Container

    # A lock and its rank in the order in which locks are taken.
    Ranked = tuple[int, ProcessLock]

__all__ = ["locks_of"]

_RANKS = count()
_LOCKS: WeakKeyDictionary[Container, Ranked] = WeakKeyDictionary()
_GUARD = ProcessLock()


def locks_of(containers: Iterable[Container]) -> tuple[ProcessLock, ...]:
    """Return what must be held while some containers are updated.

    The locks are in the order in which they must be taken, the same for all functions, so that no
    two threads wait for each other.
    """
    ranked: dict[int, ProcessLock] = {}
    with _GUARD:
        for container in containers:
            entry = _LOCKS.get(container)
            if entry is None:
                entry = _LOCKS[container] = (next(_RANKS), ProcessLock())
            ranked[entry[0]] = entry[1]
    return tuple(ranked[rank] for rank in sorted(ranked))
