"""Work in another thread: LLVM releases the GIL, so that Python code can run meanwhile."""

from __future__ import annotations

import _thread
import os
import threading
import warnings
from collections import deque
from collections.abc import Callable
from contextvars import Context, copy_context
from functools import partial
from typing import Any, Generic, TypeVar

from phintys._base.locks import ProcessLock
from phintys._base.uninterrupted import start_thread

__all__ = ["Background", "Chores", "chores", "wait_for_all"]

_Result = TypeVar("_Result")


class Background(Generic[_Result]):
    """A function that runs in its own thread.

    Parameters
    ----------
    function, arguments
        The function and its arguments; it runs with the current configuration.

    The interpreter does not exit before the function has returned, and a process does not fork
    before that: LLVM must not be interrupted in the middle of its work.

    Examples
    --------
    >>> from phintys.backends.native.runtime.background import Background
    >>> Background(sum, [1, 2, 3]).result()
    6
    """

    def __init__(self, function: Callable[..., _Result], *arguments: Any) -> None:
        self._function = function
        self._arguments = arguments
        self._outcome: _Result | None = None
        self._error: BaseException | None = None
        self._thread = 0
        # Not Thread.join: a signal handler that raises in it leaves the thread marked as finished.
        self._done = _thread.allocate_lock()
        self._done.acquire()
        _RUNNING.add(self)
        try:
            start_thread(partial(copy_context().run, self._run), "phintys compiler")
        except RuntimeError:  # no thread can be started, or the interpreter is exiting
            self._run()

    def _run(self) -> None:
        self._thread = _thread.get_ident()
        try:
            self._outcome = self._function(*self._arguments)
        except BaseException as error:  # noqa: BLE001 - it is raised where the result is wanted
            self._error = error
        finally:
            _RUNNING.discard(self)
            self._done.release()

    def result(self) -> _Result:
        """Wait for the function, and return its result or raise its exception."""
        self.wait()
        if self._error is not None:
            raise self._error
        return self._outcome  # pyright: ignore[reportReturnType] - the function has returned it

    def wait(self) -> None:
        """Wait for the function, whether it succeeds or fails."""
        if self._thread != _thread.get_ident():
            with self._done:
                pass


_RUNNING: set[Background[Any]] = set()


def wait_for_all() -> None:
    """Wait for everything that is being compiled in other threads."""
    for one in tuple(_RUNNING):
        one.wait()


class Chores:
    """A queue of deferred tasks that are not waited for, run by one thread in order.

    Tasks that have not begun when the interpreter exits are not run.
    """

    def __init__(self) -> None:
        self._queue: deque[tuple[Context, Callable[[], None]]] = deque()
        self._lock = ProcessLock()
        self._is_worked_on = False
        self._worker: Background[None] | None = None

    def add(self, chore: Callable[[], None]) -> None:
        """Queue a task, to be run with the current configuration."""
        self._queue.append((copy_context(), chore))
        self.resume()

    def resume(self) -> None:
        """Make sure that a thread works on the queue."""
        with self._lock:
            if self._is_worked_on or not self._queue:
                return
            self._is_worked_on = True
        self._worker = Background(self._work)

    def wait(self) -> None:
        """Wait until the queue is empty."""
        while self._worker is not None and self._is_worked_on:
            self._worker.wait()

    def _work(self) -> None:
        while (chore := self._next()) is not None:
            context, function = chore
            try:
                context.run(function)
            except Exception as error:  # noqa: BLE001 - it is reported, and the other tasks run
                message = f"A program could not be recompiled and keeps its code: {error!r}"
                warnings.warn(message, RuntimeWarning, stacklevel=1)

    def _next(self) -> tuple[Context, Callable[[], None]] | None:
        with self._lock:
            if self._queue and not _FORKING and threading.main_thread().is_alive():
                return self._queue.popleft()
            self._is_worked_on = False
            return None


chores = Chores()

_FORKING: list[bool] = []


def _wait_for_all() -> None:
    _FORKING.append(True)
    for one in list(_RUNNING):
        one.wait()


def _go_on() -> None:
    _FORKING.clear()
    chores.resume()


if hasattr(os, "register_at_fork"):
    # In the new process, what is left undone waits until there is more to do.
    os.register_at_fork(before=_wait_for_all, after_in_parent=_go_on, after_in_child=_FORKING.clear)
