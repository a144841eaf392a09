"""Work that is not interrupted by signals or forks: lazy imports, and calls of LLVM.

Python runs signal handlers in the main thread only, and a handler can raise anywhere: in the middle
of a module that is being imported, or inside :mod:`importlib`, whose locks then stay held forever.
Lazy imports of the main thread are therefore run in another thread, where handlers never run.
In addition, a forked process would wait for import locks of threads that it does not have, and find
LLVM in the middle of its work. So a fork waits while another thread imports Phintys, or Phintys
imports a module there, or the thread runs a function marked by :func:`finished_before_forks`.
"""

from __future__ import annotations

import _thread
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from types import CodeType, FrameType
from typing import Any, ParamSpec, TypeVar

from phintys._base.garbage_collection import collector_paused, settle
from phintys._base.locks import ProcessLock

__all__ = [
    "finished_before_forks",
    "import_whole",
    "is_imported_again",
    "run_whole",
    "start_thread",
]

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

_STACK_BYTES = 8 << 20
"""Stack size of our threads: LLVM needs more than a program may set as the default."""

_LONGEST_WAIT = 20.0
"""Maximum time in seconds that a fork waits for other threads."""

_UNDISTURBED = 1.0
"""Switch interval in seconds between the look at other threads and the fork: they do not run then.
A thread that begins to wait for the GIL in this time waits that long before it asks for it, even if
the interval is short again, so it must not be much longer."""

_SHORT_WAIT = 0.1
"""The same if the forking thread is importing: others may be waiting for a lock it holds."""

_OURS = {"llvmlite", "numpy", "phintys", "scipy"}

_stack_size = ProcessLock()

_FINISHED_BEFORE_FORKS: set[CodeType] = set()

_Function = TypeVar("_Function", bound=Callable[..., Any])


def finished_before_forks(function: _Function) -> _Function:
    """Mark a function of Python: no process forks while another thread runs it."""
    _FINISHED_BEFORE_FORKS.add(function.__code__)
    return function


def start_thread(target: Callable[[], object], name: str) -> None:
    """Start a thread with enough stack to compile, regardless of ``threading.stack_size``."""
    thread = threading.Thread(target=target, name=name)
    with _stack_size:
        former = threading.stack_size(_STACK_BYTES)
        try:
            thread.start()
        finally:
            threading.stack_size(former)


class _Forks:
    """Fork handlers: wait while another thread does what a forked process could not finish."""

    def __init__(self) -> None:
        self._intervals: list[float] = []

    def before(self) -> None:
        """Wait for other threads, and keep them from running until the fork."""
        self._intervals.append(sys.getswitchinterval())
        me = _thread.get_ident()
        caller = sys._getframe(0)  # pyright: ignore[reportPrivateUsage]
        is_inside = _is_importing(caller, of_ours=False)
        latest = time.monotonic() + (_SHORT_WAIT if is_inside else _LONGEST_WAIT)
        while time.monotonic() < latest:
            time.sleep(0)  # yield to threads that wait for the GIL
            sys.setswitchinterval(_UNDISTURBED)
            frames = sys._current_frames()  # pyright: ignore[reportPrivateUsage]
            frames.pop(me, None)
            if not any(map(_must_finish, frames.values())):
                return
            del frames
            sys.setswitchinterval(self._intervals[-1])
            time.sleep(0.001)

    def after(self) -> None:
        """Restore the switch interval."""
        sys.setswitchinterval(self._intervals.pop())


def _must_finish(frame: FrameType) -> bool:
    """Return whether a thread, given by its frame, does what a forked process could not finish."""
    return _runs_marked(frame) or _is_importing(frame)


def _runs_marked(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code in _FINISHED_BEFORE_FORKS:
            return True
        frame = frame.f_back
    return False


def _is_importing(frame: FrameType | None, *, of_ours: bool = True) -> bool:
    """Return whether a thread is importing a module.

    Parameters
    ----------
    frame
        Current frame of the thread.
    of_ours
        Count only imports made by Phintys, and imports of Phintys and its dependencies. Others can
        last as long as the program.
    """
    is_inside = False
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            is_inside = True
            if not of_ours:
                return True
            if frame.f_code.co_name == "_find_and_load" and _is_ours(frame.f_locals.get("name")):
                return True
        elif is_inside and _is_ours(frame.f_globals.get("__name__")):
            return True
        frame = frame.f_back
    return False


def _is_ours(module: object) -> bool:
    return isinstance(module, str) and module.partition(".")[0] in _OURS


_forks = _Forks()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_forks.before, after_in_parent=_forks.after, after_in_child=_forks.after
    )


class _Errand:
    """Work that another thread does while this one waits."""

    def __init__(self, work: Callable[[], Any], name: str) -> None:
        self._work = work
        self._done = _thread.allocate_lock()
        self._done.acquire()
        self.value: Any = None
        self.error: BaseException | None = None
        start_thread(self._run, name)

    def _run(self) -> None:
        try:
            self.value = self._work()
        except BaseException as error:  # noqa: BLE001 - it is raised where the result is wanted
            self.error = error
        finally:
            self._done.release()

    def result(self) -> Any:
        """Wait for the result. If a signal handler raises here, the work continues."""
        with self._done:
            if self.error is None:
                return self.value
            try:
                raise self.error
            finally:
                del self.error


def run_whole(
    function: Callable[_Parameters, _Result], *args: _Parameters.args, **kwargs: _Parameters.kwargs
) -> _Result:
    """Call a function that must be completed, such as an import, or that does not see signals.

    If a signal handler raises while the main thread waits, the function is still completed. A
    thread that is already importing Phintys or its dependencies calls the function itself, because
    it holds locks that another thread would wait for.

    Examples
    --------
    >>> from phintys._base.uninterrupted import run_whole
    >>> run_whole(max, 2, 3)
    3
    """
    here = threading.current_thread() is not threading.main_thread()
    if here or _is_importing(sys._getframe(1)):  # pyright: ignore[reportPrivateUsage]
        return function(*args, **kwargs)
    try:
        errand = _Errand(partial(function, *args, **kwargs), "phintys import")
    except RuntimeError:  # no threads available, or the interpreter is exiting
        return function(*args, **kwargs)
    return errand.result()


def import_whole(name: str) -> Any:
    """Import a module, using :func:`run_whole` if it has not been imported yet.

    Examples
    --------
    >>> from phintys._base.uninterrupted import import_whole
    >>> import_whole("calendar").isleap(2000)
    True
    """
    module = sys.modules.get(name)
    spec = getattr(module, "__spec__", None)
    if module is not None and not getattr(spec, "_initializing", False):
        return module
    return run_whole(_settled, import_module, name)


def _settled(load: Callable[[str], Any], name: str) -> Any:
    """Import a module; what it has made is long-lived."""
    with collector_paused():
        module = load(name)
        if threading.current_thread() is not threading.main_thread():
            settle()  # which a signal handler must not interrupt
    return module


def is_imported_again(former: Mapping[str, object], now: Mapping[str, object]) -> bool:
    """Return whether a module is imported again because its first import was interrupted.

    Its registrations then replace those of the first attempt.

    Parameters
    ----------
    former, now
        The namespaces of the modules that define two objects with the same name.
    """
    return former is not now and former.get("__name__") == now.get("__name__")
