"""Late imports, whole ones: no signal cuts one short, no fork catches one half way.

Python handles signals in the main thread alone, and a handler may raise anywhere: in the middle of
a module that is being imported, or inside of :mod:`importlib`, whose locks are then held for good.
So what the main thread wants imported late, another thread imports, where no handler ever runs.
And a new process would wait for the locks of threads that it does not have; so a fork waits until
all such imports are done.
"""

from __future__ import annotations

import _thread
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
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
"""Seconds that a fork waits for imports: one may wait for a lock of the thread that forks."""

_OURS = {"llvmlite", "numpy", "phintys", "scipy"}

_stack_size = ProcessLock()


def start_thread(target: Callable[[], object], name: str) -> None:
    """Start a thread that has room to compile, whatever ``threading.stack_size`` says."""
    thread = threading.Thread(target=target, name=name)
    # 0 is the system's, 8 MB as a rule.
    if threading.stack_size() == 0:
        thread.start()
        return
    with _stack_size:
        former = threading.stack_size()
        if not 0 < former < _STACK_BYTES:
            thread.start()
            return
        threading.stack_size(_STACK_BYTES)
        try:
            thread.start()
        finally:
            threading.stack_size(former)


class _Work:
    """Threads that are importing, and whether a fork waits for them."""

    def __init__(self) -> None:
        self.threads: dict[int, int] = {}
        self.forking: list[int] = []

    def begin(self) -> None:
        """Note that this thread begins; it waits for a fork, unless that may wait for it."""
        me = _thread.get_ident()
        if me not in self.threads:
            self._wait_until(lambda: not self.forking or self.forking[0] == me)
        self.threads[me] = self.threads.get(me, 0) + 1

    def end(self) -> None:
        """Note that this thread is through."""
        me = _thread.get_ident()
        self.threads[me] -= 1
        if not self.threads[me]:
            del self.threads[me]

    def before_fork(self) -> None:
        """Wait until no other thread is importing."""
        me = _thread.get_ident()
        self.forking.append(me)
        self._wait_until(lambda: not self.threads.keys() - {me})

    def in_parent(self) -> None:
        """Let other threads go on."""
        self.forking.pop()

    def in_child(self) -> None:
        """Forget, in a new process, the threads that are not there."""
        me = _thread.get_ident()
        self.forking.clear()
        self.threads = {me: self.threads[me]} if me in self.threads else {}

    @staticmethod
    def _wait_until(condition: Callable[[], bool]) -> None:
        latest = time.monotonic() + _LONGEST_WAIT
        while not condition() and time.monotonic() < latest:
            time.sleep(0.001)


_work = _Work()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_work.before_fork, after_in_parent=_work.in_parent, after_in_child=_work.in_child
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
    """Call a function that imports something: no signal interrupts it, and no process forks.

    Where a handler raises while the main thread waits, the function ends all the same.

    Examples
    --------
    >>> from phintys._base.apart import run_whole
    >>> run_whole(max, 2, 3)
    3
    """

    def work() -> _Result:
        _work.begin()
        try:
            return function(*args, **kwargs)
        finally:
            _work.end()

    if threading.current_thread() is not threading.main_thread() or _is_importing_us():
        return work()
    try:
        errand = _Errand(work)
    except RuntimeError:  # there are no threads to be had, or the interpreter is ending
        return work()
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
    if module is not None and not getattr(module.__spec__, "_initializing", False):
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


def _is_importing_us() -> bool:
    """Return whether this thread is importing Phintys or what it needs.

    It holds locks that another thread would wait for, while this one waits for that.
    """
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        if frame.f_code.co_name == "<module>":
            name = frame.f_globals.get("__name__") or ""
            if name.partition(".")[0] in _OURS:
                return True
        frame = frame.f_back
    return False
