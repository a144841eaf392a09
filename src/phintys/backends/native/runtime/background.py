"""Work in another thread while this one goes on: LLVM lets other threads run Python meanwhile."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Any, Generic, TypeVar

__all__ = ["Background"]

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
        self._thread = threading.Thread(
            target=copy_context().run, args=(self._run,), name="phintys compiler"
        )
        _RUNNING.add(self)
        try:
            self._thread.start()
        except RuntimeError:  # there are no threads to be had, or the interpreter is ending
            self._run()

    def _run(self) -> None:
        try:
            self._outcome = self._function(*self._arguments)
        except BaseException as error:  # noqa: BLE001 - it is raised where the result is wanted
            self._error = error
        finally:
            _RUNNING.discard(self)

    def result(self) -> _Result:
        """Wait for the function, and return what it returned or raise what it raised."""
        self.wait()
        if self._error is not None:
            raise self._error
        return self._outcome  # pyright: ignore[reportReturnType] - the function has returned it

    def wait(self) -> None:
        """Wait for the function, whatever comes of it."""
        if self._thread.ident is not None and self._thread is not threading.current_thread():
            self._thread.join()


_RUNNING: set[Background[Any]] = set()


def _wait_for_all() -> None:
    for one in list(_RUNNING):
        one.wait()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait_for_all)
