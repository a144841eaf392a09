"""One lock for each place that holds a value, for functions that update it.

Two threads that call functions with ``updates`` of the same shared variable take turns, so that no
update is lost. Functions that only read take no lock: an update replaces a value, or it writes into
one that nobody else holds, at a moment when no other thread runs.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import AbstractContextManager
from itertools import count
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from phintys.graph.shared import Container

    # A re-entrant lock and its rank in the order in which locks are taken.
    Ranked = tuple[int, threading.RLock]

__all__ = ["lock_of"]

_RANKS = count()
_LOCKS: WeakKeyDictionary[Container, Ranked] = WeakKeyDictionary()
_GUARD = threading.Lock()


class _Locks:
    """Several locks, always taken in the same order, so that no two threads wait for each other."""

    def __init__(self, locks: list[threading.RLock]) -> None:
        self.locks = locks

    def __enter__(self) -> None:
        taken: list[threading.RLock] = []
        try:
            for lock in self.locks:
                lock.acquire()
                taken.append(lock)
        except BaseException:  # an interrupt while waiting
            for lock in reversed(taken):
                lock.release()
            raise

    def __exit__(self, *_: object) -> None:
        for lock in reversed(self.locks):
            lock.release()


def lock_of(containers: Iterable[Container]) -> AbstractContextManager[Any] | None:
    """Return what must be held while some containers are updated; ``None`` if there are none."""
    ranked: dict[int, threading.RLock] = {}
    with _GUARD:
        for container in containers:
            entry = _LOCKS.get(container)
            if entry is None:
                entry = _LOCKS[container] = (next(_RANKS), threading.RLock())
            ranked[entry[0]] = entry[1]
    locks = [ranked[rank] for rank in sorted(ranked)]
    if not locks:
        return None
    return locks[0] if len(locks) == 1 else _Locks(locks)
