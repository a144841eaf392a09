"""Pausing Python's garbage collector while many long-lived objects are created.

A signal handler can raise between any two instructions of Python code, so code that resumes the
collector might not run. The collector is paused as long as an object is alive instead: the ``with``
statement holds it in a memoryview, whose ``__exit__`` is native code, and as the object dies its
weak reference calls ``gc.enable``, without any Python code.
"""

from __future__ import annotations

import gc
import os
import threading
import weakref
from operator import methodcaller
from typing import Any

from phintys._base.locks import ProcessLock


class _Paused:
    """Alive while the collector is paused: each pause refers to it."""

    __slots__ = ("__weakref__",)


class _Pause(bytearray):
    """Alive while a thread wants the collector paused; a buffer, so that memoryviews can hold it.

    Its attribute ``paused`` is a :class:`_Paused`.
    """

    __slots__ = ("__weakref__", "paused")


class _Resuming(weakref.ref[_Paused]):
    """A weak reference that enables the collector when its object dies, if called back."""

    __slots__ = ()
    enable = gc.enable


_ENABLE = methodcaller("enable")


class _Mine(threading.local):
    """A weak reference to the pause of this thread."""

    pause: Any = staticmethod(lambda: None)


class _Pauses:
    """The pauses of all threads."""

    def __init__(self) -> None:
        self.lock = ProcessLock()
        self.resuming: Any = lambda: None
        self.mine = _Mine()

    def begin(self) -> bytes | _Pause:
        """Return the pause of this thread; nothing if the program has turned the collector off."""
        pause: _Pause | None = None
        paused: _Paused | None = None
        try:
            with self.lock:
                pause = self.mine.pause()
                if pause is not None:
                    return pause
                paused = self.resuming()
                if paused is None:
                    if not gc.isenabled():
                        return b""
                    paused = _Paused()
                    self.resuming = _Resuming(paused, _ENABLE)
                    gc.disable()
                pause = _Pause()
                pause.paused = paused
                self.mine.pause = weakref.ref(pause)
                return pause
        except BaseException:
            # The frame, and so what it refers to, lives as long as the exception. There is no
            # other frame: these classes have no methods in Python.
            pause = paused = None
            raise

    def forked(self) -> None:
        """After a fork, drop the pauses of threads that do not exist in the child process."""
        if self.resuming() is None:
            return
        pause = self.mine.pause()
        if pause is None:
            self.resuming = lambda: None
            gc.enable()
        else:
            paused = _Paused()
            # The former reference is dropped, and does nothing.
            self.resuming = _Resuming(paused, _ENABLE)
            pause.paused = paused


_pauses = _Pauses()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pauses.forked)


def collector_paused() -> memoryview:
    """Pause the cyclic garbage collector, in a ``with`` statement.

    While a graph grows, the collector traverses it repeatedly without finding any garbage, which
    takes a third of the time of building it. Pauses nest, and can overlap in several threads: the
    collector is enabled again when the last one ends, if it was enabled before the first.

    Examples
    --------
    >>> import gc
    >>> with collector_paused():
    ...     gc.isenabled()
    False
    >>> gc.isenabled()
    True
    """
    return memoryview(_pauses.begin())


_FEW = 1000
"""Number of objects that a program has frozen, at least, if it has; Python 3.12 itself freezes 375
as it starts."""


class _Settling:
    """Whether modules are settled: until a program is seen to have frozen objects of its own.

    Then the frozen objects are not counted again, one by one: 800,000 take 40 ms.
    """

    is_ours = True


def settle() -> None:
    """Let the garbage collector treat all objects that exist now as long-lived.

    To be called when modules have been imported: their functions and classes stay as long as the
    program, and the collector need not traverse them while they are young. Garbage among the young
    objects is collected when the old ones are. A signal handler must not raise in here.
    """
    if not _Settling.is_ours:
        return
    if gc.get_freeze_count() < _FEW:
        gc.freeze()
        gc.unfreeze()  # to the oldest generation
    else:
        _Settling.is_ours = False
