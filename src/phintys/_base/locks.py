"""Locks that signals never leave held, and that are released in forked processes."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from functools import partial
from itertools import repeat
from typing import Any, ParamSpec, TypeVar

from phintys._base.dropped import WeakValues
from phintys._base.errors import DeadlockError

__all__ = ["AT_ONCE", "SOON", "CallLock", "ProcessLock", "while_held"]

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


class CallLock:
    """A lock for calls of functions, in which threads that wait for each other get an error.

    A call may run another one while it holds its locks, so no order of the locks rules out that
    each of two threads needs what the other one holds. A thread that has waited for a while looks
    for this. Acquiring a lock that is free costs nothing more.

    Parameters
    ----------
    name
        The name of what it protects, for errors.

    Attributes
    ----------
    acquire, release
        Those of a re-entrant lock.
    at_once, soon
        Context managers that hold it if it is free, or becomes free within ``SOON``. Otherwise
        entering them raises ``KeyError(False)``.

    Examples
    --------
    >>> from phintys._base.locks import CallLock
    >>> with CallLock("w").at_once:
    ...     print("held")
    held
    """

    __slots__ = ("_lock", "acquire", "at_once", "name", "release", "soon")

    def __init__(self, name: str | None = None) -> None:
        self._lock = lock = ProcessLock()
        self.name = "a variable without a name" if name is None else name
        self.acquire: Any = lock.acquire
        self.release: Callable[[], None] = lock.release
        self.at_once: Any = _Holding(lock, AT_ONCE)
        self.soon: Any = _Holding(lock, SOON)

    def check(self, wait: _Wait | None = None) -> _Wait:
        """Look for a deadlock, while this thread waits for the lock; return a record of the wait.

        Parameters
        ----------
        wait
            The record that the previous check of this wait returned.

        Raises
        ------
        DeadlockError
            This thread is one of several that wait for each other.
        """
        thread = threading.get_ident()
        with _GUARD:
            if wait is None:
                owned = frozenset(lock for lock in _ALIVE.values() if lock._is_owned())
                wait = _Wait(self._lock, self.name, owned)
            wait.checks += 1
            _WAITS[thread] = wait
            circle = wait.circle()
            if not wait.stays(circle):
                return wait
            del _WAITS[thread]  # the others go on
        needed = ", and that one for ".join(each.name for each in circle)
        raise DeadlockError(_DEADLOCK.format(needed=needed, threads=len(circle)))


AT_ONCE: tuple[Any, ...] = (False,)
SOON: tuple[Any, ...] = (True, 0.05)
"""Arguments of ``acquire``; the second are for a wait of so many seconds."""

_DEADLOCK = (
    "Functions that update shared variables, and are called while other functions with updates "
    "run, must not wait for each other. Here {threads} threads do: this call needs {needed}, which "
    "this thread holds. The call was given up, and updates nothing. Update all these variables in "
    "the function that is called first, or give the function that it calls no updates: let it "
    "return the new values, and store them afterwards (docs/running.md)."
)


class _Holding:
    """Holds a lock in a ``with`` statement, by built-in operations only, as ``ProcessLock`` does.

    Python looks up both methods on the class, where it finds descriptors of these slots.
    """

    __slots__ = ("__enter__", "__exit__")

    def __init__(self, lock: ProcessLock, arguments: tuple[Any, ...]) -> None:
        answers = map(lock.acquire, *map(repeat, arguments))
        self.__enter__ = map(_IF_HELD.__getitem__, answers).__next__
        self.__exit__ = lock.__exit__


_IF_HELD = {True: True}


class _Wait:
    """The wait of a thread for a lock, while it holds others."""

    __slots__ = ("checks", "held", "name", "seen", "wanted")

    def __init__(self, wanted: ProcessLock, name: str, held: frozenset[ProcessLock]) -> None:
        self.wanted, self.name, self.held = wanted, name, held
        self.checks = 0
        self.seen: list[tuple[_Wait, int]] = []

    def circle(self) -> list[_Wait]:
        """Return this wait, that of the holder of its lock, and so on; nothing if that ends."""
        waits: list[_Wait] = [self]
        while waits[-1].wanted not in self.held:
            wanted = waits[-1].wanted
            after = next((one for one in _WAITS.values() if wanted in one.held), None)
            if after is None or after in waits:
                return []
            waits.append(after)
        return waits

    def stays(self, circle: list[_Wait]) -> bool:
        """Return whether all waits of a circle went on after it was first seen.

        Records of waits that are over are left behind. Each wait that another check follows was
        going on at the moment of the first sight. So were all of them, which then never end.
        """
        if [wait for wait, _ in self.seen] != circle:
            self.seen = [(wait, wait.checks) for wait in circle]
            return False
        return bool(circle) and all(wait.checks > then for wait, then in self.seen)


_WAITS: dict[int, _Wait] = {}
"""The last wait of each thread, by its identifier."""

_GUARD = ProcessLock()


def while_held(
    locks: Sequence[CallLock],
    function: Callable[_Parameters, _Result],
    /,
    *args: _Parameters.args,
    **kwargs: _Parameters.kwargs,
) -> _Result:
    """Call a function while holding several locks, acquired in the given order.

    Only nested ``with`` statements are used, so that a signal never leaves a lock held.

    Raises
    ------
    DeadlockError
        Another thread needs a lock that this one holds, and holds one of these.

    Examples
    --------
    >>> from phintys._base.locks import CallLock, while_held
    >>> while_held([CallLock(), CallLock()], max, 2, 3)
    3
    """
    if not locks:
        return function(*args, **kwargs)
    now = locks[:1] if len(locks) < _AT_ONCE else locks[:_AT_ONCE]
    call = partial(while_held, locks[len(now) :], function, *args, **kwargs)
    is_held = False
    try:
        if len(now) == 1:
            with now[0].at_once:
                is_held = True
                return call()
        # Several locks per frame, so that hundreds of locks do not need hundreds of frames.
        a, b, c, d, e, f, g, h = (lock.at_once for lock in now)
        with a, b, c, d, e, f, g, h:
            is_held = True
            return call()
    except KeyError as error:
        if is_held or not _is_not_free(error):
            raise
    return _after_waiting(now, call)


_AT_ONCE = 8


def _is_not_free(error: KeyError) -> bool:
    return error.args == (False,)


def _after_waiting(locks: Sequence[CallLock], call: Callable[[], _Result]) -> _Result:
    """Call a function while holding a few locks, of which some are not free."""
    if not locks:
        return call()
    lock, wait = locks[0], None
    while True:
        is_held = False
        try:
            with lock.soon:
                is_held = True
                return _after_waiting(locks[1:], call)
        except KeyError as error:
            if is_held or not _is_not_free(error):
                raise
        wait = lock.check(wait)
