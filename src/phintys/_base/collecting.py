"""Pausing Python's garbage collector while many long-lived objects are created."""

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
    """The number of active pauses in all threads, and whether the collector was enabled before."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.count = 0
        self.was_enabled = False
        self.mine = threading.local()

    def change(self, by: int) -> None:
        """Begin or end a pause in this thread."""
        with self.lock:
            if not self.count:
                self.was_enabled = gc.isenabled()
                gc.disable()
            self.count += by
            self.mine.count = self.depth + by
            self._resume()

    @property
    def depth(self) -> int:
        """Number of active pauses in this thread."""
        return getattr(self.mine, "count", 0)

    def forked(self) -> None:
        """After a fork, drop the pauses of threads that do not exist in the child process."""
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
    """Pause the cyclic garbage collector.

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
    _pauses.change(1)
    try:
        yield
    finally:
        _pauses.change(-1)
