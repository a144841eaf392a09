"""A lock that a forked process finds free."""

from __future__ import annotations

import os
import threading

__all__ = ["ProcessLock"]


class ProcessLock:
    """A re-entrant lock for what there is once in a process; it lives as long as the process.

    Where a process forks, a thread that holds a lock is not there in the new process, and nobody
    would ever let go of it.

    Examples
    --------
    >>> from phintys._base.locks import ProcessLock
    >>> lock = ProcessLock()
    >>> with lock, lock:
    ...     print("held twice")
    held twice
    """

    def __init__(self) -> None:
        self._renew()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *exception: object) -> None:
        self._lock.release()
