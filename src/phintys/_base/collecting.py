"""Pauses of Python's garbage collector while many objects are built that all stay alive."""

from __future__ import annotations

import gc
import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = ["collector_paused"]


class _Pauses:
    """How many pauses there are now, in all threads, and whether the collector ran before."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.count = 0
        self.was_enabled = False
        self.mine = threading.local()

    def change(self, by: int) -> None:
        """Begin or end a pause of this thread."""
        with self.lock:
            if not self.count:
                self.was_enabled = gc.isenabled()
                gc.disable()
            self.count += by
            self.mine.count = self.depth + by
            self._resume()

    @property
    def depth(self) -> int:
        """How many of the pauses are this thread's."""
        return getattr(self.mine, "count", 0)

    def forked(self) -> None:
        """Forget, in a new process, the threads that are not there."""
        self.lock = threading.Lock()
        if self.count:
            self.count = self.depth
            self._resume()

    def _resume(self) -> None:
        if not self.count and self.was_enabled:
            gc.enable()


_pauses = _Pauses()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pauses.forked)


@contextmanager
def collector_paused() -> Generator[None]:
    """Let the cyclic garbage collector rest.

    A graph that grows is walked again and again by the collector, which finds nothing: a third of
    the time that building it takes. Pauses nest, and may overlap in several threads: the collector
    goes on when the last one ends, if it was on before the first.

    Examples
    --------
    >>> import gc
    >>> with collector_paused():
    ...     gc.isenabled()
    False
    >>> gc.isenabled()
    True
    """
    _pauses.change(1)
    try:
        yield
    finally:
        _pauses.change(-1)
