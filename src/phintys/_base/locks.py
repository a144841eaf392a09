"""Locks that signals never leave held, and that are released in forked processes."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from phintys._base.dropped import WeakValues

__all__ = ["ProcessLock", "while_held"]

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

_ALIVE: WeakValues[int, ProcessLock] = WeakValues()

# The class of re-entrant locks; threading.RLock is a function.
_RLock: Any = type(threading.RLock())


class ProcessLock(_RLock):
    """A re-entrant lock for the threads of one process.

    ``with lock`` is safe with respect to signals: an exception of a handler is raised before the
    lock is acquired, inside the block, or after the lock is released. This holds because acquiring
    and releasing are single built-in operations, unlike Python code (an ``__enter__`` method, or
    ``acquire()`` before ``try``).

    When a process forks, the other threads do not exist in the child process, so their locks would
    never be released. Therefore all locks are free there, except those held by the forking thread.

    Examples
    --------
    >>> from phintys._base.locks import ProcessLock
    >>> lock = ProcessLock()
    >>> with lock, lock:
    ...     print("held twice")
    held twice
    """

    def __init__(self) -> None:
        _ALIVE.setdefault(id(self), self)


def _renew_locks() -> None:
    """In a forked process, release the locks of threads that do not exist there."""
    for lock in _ALIVE.values():
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
    """Call a function while holding several locks, acquired in the given order.

    Only nested ``with`` statements are used, so that a signal never leaves a lock held.

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
    # Several locks per frame, so that hundreds of locks do not need hundreds of frames.
    first, second, third, fourth, fifth, sixth, seventh, eighth = locks[:_AT_ONCE]
    with first, second, third, fourth, fifth, sixth, seventh, eighth:
        return while_held(locks[_AT_ONCE:], function, *args, **kwargs)


_AT_ONCE = 8
