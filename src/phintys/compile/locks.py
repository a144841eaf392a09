"""One lock for each container, for functions that update its value.

Calls in several threads of functions that update the same shared variable are serialized, so that
no update is lost. Functions that only read take no lock: an update either replaces a value, or
writes into one that is not referenced elsewhere, while no other thread runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from phintys._base.dropped import when_dropped
from phintys._base.locks import CallLock, ProcessLock

if TYPE_CHECKING:
    from phintys.graph.shared_variable import Container

    # A lock and its rank in the order in which locks are taken.
    Ranked = tuple[int, CallLock]

__all__ = ["locks_of"]

_RANKS = count()
_LOCKS: dict[int, Ranked] = {}  # by the id of the container
_GUARD = ProcessLock()


def locks_of(containers: Iterable[Container]) -> tuple[CallLock, ...]:
    """Return the locks to hold while some containers are updated.

    They are in the order in which they must be acquired, which is the same for all functions, so
    that deadlocks cannot occur, unless functions with updates call each other. Then one of the
    calls raises a ``DeadlockError``.
    """
    ranked: dict[int, CallLock] = {}
    with _GUARD:
        for container in containers:
            key = id(container)
            entry = _LOCKS.get(key)
            if entry is None:
                entry = _LOCKS[key] = (next(_RANKS), CallLock(container.name))
                when_dropped(container, partial(_LOCKS.pop, key, None))
            ranked[entry[0]] = entry[1]
    return tuple(ranked[rank] for rank in sorted(ranked))
