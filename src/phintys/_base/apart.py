"""Late imports, whole ones: no signal cuts one short, no fork catches one half way.

Python handles signals in the main thread alone, and a handler may raise anywhere: in the middle of
a module that is being imported, or inside of :mod:`importlib`, whose locks are then held for good.
So what the main thread wants imported late, another thread imports, where no handler ever runs.
And a new process would wait for the locks of threads that it does not have; so a fork waits while
another thread imports Phintys, or Phintys imports something there.
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
from types import FrameType
from typing import Any, ParamSpec, TypeVar

from phintys._base.locks import ProcessLock

__all__ = ["import_whole", "is_imported_again", "run_whole", "start_thread"]

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

_STACK_BYTES = 8 << 20
"""What our threads have at least: LLVM needs some hundred kilobytes, which a program may deny."""

_LONGEST_WAIT = 20.0
"""Seconds that a fork waits for imports."""

_SHORT_WAIT = 0.1
"""The same where the thread that forks is importing: others may wait for a lock that it holds."""

_OURS = {"llvmlite", "numpy", "phintys", "scipy"}

_stack_size = ProcessLock()


def start_thread(target: Callable[[], object], name: str) -> None:
    """Start a thread that has room to compile, whatever ``threading.stack_size`` says."""
    thread = threading.Thread(target=target, name=name)
    with _stack_size:
        former = threading.stack_size(_STACK_BYTES)
        try:
            thread.start()
        finally:
            threading.stack_size(former)


class _Forks:
    """A fork waits while another thread imports Phintys, or something that Phintys wants."""

    def __init__(self) -> None:
        self._intervals: list[float] = []

    def before(self) -> None:
        """Wait until no thread is importing; then let none go on before the process has forked."""
        self._intervals.append(sys.getswitchinterval())
        me = _thread.get_ident()
        caller = sys._getframe(0)  # pyright: ignore[reportPrivateUsage]
        is_inside = _is_importing(caller, of_ours=False)
        latest = time.monotonic() + (_SHORT_WAIT if is_inside else _LONGEST_WAIT)
        while time.monotonic() < latest:
            time.sleep(0)  # whoever asked for a turn has it now
            sys.setswitchinterval(_LONGEST_WAIT)
            frames = sys._current_frames()  # pyright: ignore[reportPrivateUsage]
            frames.pop(me, None)
            if not any(map(_is_importing, frames.values())):
                return
            del frames
            sys.setswitchinterval(self._intervals[-1])
            time.sleep(0.001)

    def after(self) -> None:
        """Let threads take turns as before."""
        sys.setswitchinterval(self._intervals.pop())


def _is_importing(frame: FrameType | None, *, of_ours: bool = True) -> bool:
    """Return whether a thread is in the middle of an import.

    Parameters
    ----------
    frame
        Where the thread is.
    of_ours
        Whether only imports count that Phintys makes, and imports of it and what it needs. Others
        may last as long as the program.
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
    """What another thread does while this one waits."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self._work = work
        self._done = _thread.allocate_lock()
        self._done.acquire()
        self.value: Any = None
        self.error: BaseException | None = None
        start_thread(self._run, "phintys import")

    def _run(self) -> None:
        try:
            self.value = self._work()
        except BaseException as error:  # noqa: BLE001 - it is raised where the result is wanted
            self.error = error
        finally:
            self._done.release()

    def result(self) -> Any:
        """Wait for the work. A handler may raise meanwhile; the work goes on then."""
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
    """Call a function that imports something, which no signal interrupts.

    Where a handler raises while the main thread waits, the function ends all the same. A thread
    that is importing Phintys or what it needs does all itself: it holds locks that another one
    would wait for.

    Examples
    --------
    >>> from phintys._base.apart import run_whole
    >>> run_whole(max, 2, 3)
    3
    """
    here = threading.current_thread() is not threading.main_thread()
    if here or _is_importing(sys._getframe(1)):  # pyright: ignore[reportPrivateUsage]
        return function(*args, **kwargs)
    try:
        errand = _Errand(partial(function, *args, **kwargs))
    except RuntimeError:  # there are no threads to be had, or the interpreter is ending
        return function(*args, **kwargs)
    return errand.result()


def import_whole(name: str) -> Any:
    """Import a module, by :func:`run_whole` if it has not been imported yet.

    Examples
    --------
    >>> from phintys._base.apart import import_whole
    >>> import_whole("calendar").isleap(2000)
    True
    """
    module = sys.modules.get(name)
    spec = getattr(module, "__spec__", None)
    if module is not None and not getattr(spec, "_initializing", False):
        return module
    return run_whole(import_module, name)


def is_imported_again(former: Mapping[str, object], now: Mapping[str, object]) -> bool:
    """Return whether a module is imported once more, because the first attempt was cut short.

    What it registers then takes the place of what it had registered.

    Parameters
    ----------
    former, now
        The namespaces of the modules that define two things of one name.
    """
    return former is not now and former.get("__name__") == now.get("__name__")
