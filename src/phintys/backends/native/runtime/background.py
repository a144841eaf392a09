"""Work in another thread while this one goes on: LLVM lets other threads run Python meanwhile."""

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

from phintys._base.apart import start_thread
from phintys._base.locks import ProcessLock

__all__ = ["Background", "Chores", "chores"]

_Result = TypeVar("_Result")


class Background(Generic[_Result]):
    """A function that is being called in a thread of its own.

    Parameters
    ----------
    function, arguments
        What is called, with the configuration that holds here and now.

    The interpreter does not end before the function has, and a process forks only after that: LLVM
    must not be left in the middle of its work.

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
        # Not Thread.join, which a handler of a signal that raises leaves with the thread for dead.
        self._done = _thread.allocate_lock()
        self._done.acquire()
        _RUNNING.add(self)
        try:
            start_thread(partial(copy_context().run, self._run), "phintys compiler")
        except RuntimeError:  # there are no threads to be had, or the interpreter is ending
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
        """Wait for the function, and return what it returned or raise what it raised."""
        self.wait()
        if self._error is not None:
            raise self._error
        return self._outcome  # pyright: ignore[reportReturnType] - the function has returned it

    def wait(self) -> None:
        """Wait for the function, whatever comes of it."""
        if self._thread != _thread.get_ident():
            with self._done:
                pass


_RUNNING: set[Background[Any]] = set()


class Chores:
    """Work that can wait, and that nobody waits for: one thread does it, piece by piece.

    What has not been begun when the interpreter ends is left undone.
    """

    def __init__(self) -> None:
        self._queue: deque[tuple[Context, Callable[[], None]]] = deque()
        self._lock = ProcessLock()
        self._is_worked_on = False
        self._worker: Background[None] | None = None

    def add(self, chore: Callable[[], None]) -> None:
        """Have something done, with the configuration that holds here and now."""
        self._queue.append((copy_context(), chore))
        self.resume()

    def resume(self) -> None:
        """See to it that work goes on."""
        with self._lock:
            if self._is_worked_on or not self._queue:
                return
            self._is_worked_on = True
        self._worker = Background(self._work)

    def wait(self) -> None:
        """Wait until all is done."""
        while self._worker is not None and self._is_worked_on:
            self._worker.wait()

    def _work(self) -> None:
        while (chore := self._next()) is not None:
            context, function = chore
            try:
                context.run(function)
            except Exception as error:  # noqa: BLE001 - it is told, and the others have their turn
                warnings.warn(f"A program stays as it is: {error!r}", RuntimeWarning, stacklevel=1)

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
