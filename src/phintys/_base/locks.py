"""Locks that a signal does not leave behind, and that a forked process finds free."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar
from weakref import WeakSet

__all__ = ["ProcessLock", "while_held"]

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

_ALIVE: WeakSet[ProcessLock] = WeakSet()

# The class of re-entrant locks: what threading.RLock, a function, returns.
_RLock: Any = type(threading.RLock())


class ProcessLock(_RLock):
    """A re-entrant lock for threads of one process.

    ``with lock`` is safe from signals: a handler that raises does so before the lock is taken, in
    the block, or after the lock is free. That holds because taking and releasing it is one builtin
    each, which Python code (an ``__enter__``, ``acquire()`` before ``try``) could not promise.

    Where a process forks, a thread that holds a lock is not there in the new process, and nobody
    would ever let go of it; so there the lock is free, unless the thread that forks holds it.

    Examples
    --------
    >>> from phintys._base.locks import ProcessLock
    >>> lock = ProcessLock()
    >>> with lock, lock:
    ...     print("held twice")
    held twice
    """

    def __init__(self) -> None:
        _ALIVE.add(self)


def _renew_locks() -> None:
    """Free, in a new process, the locks of threads that are not there."""
    for lock in list(_ALIVE):
        if not lock._is_owned():
            lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)


def while_held(
    locks: Sequence[ProcessLock],
    function: Callable[_Parameters, _Result],
    /,
    *args: _Parameters.args,
    **kwargs: _Parameters.kwargs,
) -> _Result:
    """Call a function while several locks are held, taken in their order.

    No signal leaves one of them behind: nested ``with`` statements are all there is to it.

    Examples
    --------
    >>> from phintys._base.locks import ProcessLock, while_held
    >>> while_held([ProcessLock(), ProcessLock()], max, 2, 3)
    3
    """
    if not locks:
        return function(*args, **kwargs)
    if len(locks) < _AT_ONCE:
        with locks[0]:
            return while_held(locks[1:], function, *args, **kwargs)
    # So that hundreds of locks do not take hundreds of frames.
    first, second, third, fourth, fifth, sixth, seventh, eighth = locks[:_AT_ONCE]
    with first, second, third, fourth, fifth, sixth, seventh, eighth:
        return while_held(locks[_AT_ONCE:], function, *args, **kwargs)


_AT_ONCE = 8
