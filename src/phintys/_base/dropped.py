"""What happens when an object dies, without any Python code.

Python runs signal handlers between two instructions of its code. What a handler raises in a
``__del__`` method, or in a function that a weak reference calls back, is printed and lost: a
program that drops a compiled function would miss its Ctrl-C. So objects are cleaned up after by
calls of built-in functions alone, and a handler runs in the code that has dropped them.
"""

from __future__ import annotations

import atexit
from collections import deque
from collections.abc import Callable, Hashable
from functools import partial
from operator import methodcaller
from typing import Any, Generic, TypeVar
from weakref import ref

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


class _Watch(ref[Any]):
    """A weak reference with the calls to be made when its object dies."""

    __slots__ = ("make_calls",)


_MAKE_CALLS = methodcaller("make_calls")
_CALL = methodcaller("__call__")

_WATCHES: dict[int, _Watch] = {}

# Code in memory, for example, may run until the very end of the process.
atexit.register(_WATCHES.clear)


def when_dropped(thing: Any, *calls: Callable[[], Any]) -> int:
    """Make some calls when an object dies, unless the interpreter is exiting.

    Parameters
    ----------
    thing
        The object.
    calls
        Built-in functions, or :func:`functools.partial` of them and their arguments, which must not
        refer to the object. They must not raise.

    Returns
    -------
    int
        What :func:`cancel` takes.

    Examples
    --------
    >>> from functools import partial
    >>> from phintys._base.dropped import when_dropped
    >>> class Thing:
    ...     pass
    >>> thing, seen = Thing(), []
    >>> number = when_dropped(thing, partial(seen.append, "dropped"))
    >>> del thing
    >>> seen
    ['dropped']
    """
    watch = _Watch(thing, _MAKE_CALLS)
    number = id(watch)
    # The calls are made as they are drawn from an iterator, by a deque that keeps none.
    watch.make_calls = partial(deque, map(_CALL, [*calls, partial(_WATCHES.pop, number, None)]), 0)
    _WATCHES[number] = watch
    return number


def cancel(number: int) -> None:
    """Do not make the calls that were asked for."""
    _WATCHES.pop(number, None)


class WeakValues(Generic[_Key, _Value]):
    """A mapping whose entries disappear with their values.

    Examples
    --------
    >>> from phintys._base.dropped import WeakValues
    >>> class Thing:
    ...     pass
    >>> things, thing = WeakValues(), Thing()
    >>> things.setdefault("a", thing) is thing, len(things)
    (True, 1)
    >>> del thing
    >>> things.get("a"), len(things)
    (None, 0)
    """

    def __init__(self) -> None:
        self._entries: dict[_Key, _Watch] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def values(self) -> list[_Value]:
        """Return the values that are alive."""
        return [value for watch in list(self._entries.values()) if (value := watch()) is not None]

    def get(self, key: _Key) -> _Value | None:
        """Return the value of a key, ``None`` if there is none."""
        watch = self._entries.get(key)
        return None if watch is None else watch()

    def setdefault(self, key: _Key, value: _Value) -> _Value:
        """Return the value of a key; set it first if there is none."""
        found = self.get(key)
        if found is not None:
            return found
        watch = _Watch(value, _MAKE_CALLS)
        watch.make_calls = partial(self._entries.pop, key, None)
        self._entries[key] = watch
        return value
