"""Cached values that are the same object for all threads, even if requested concurrently.

``functools.cache`` and ``cached_property`` do not guarantee this: two threads that request a value
at the same time can each compute it, and get different objects. That is harmless if equal values
are interchangeable, but not if they are compared with ``is``, modified, or if computing them has
side effects.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar, overload

from phintys._base.locks import ProcessLock

__all__ = ["Interned", "Once", "kept_property", "remember"]

_Value = TypeVar("_Value")
_Key = TypeVar("_Key", bound=Hashable)
_Parameters = ParamSpec("_Parameters")


class Once(Generic[_Value]):
    """A function without arguments that is called once; other threads wait for its result.

    Parameters
    ----------
    function
        Computes the value. If it raises, the next request calls it again.

    Examples
    --------
    >>> from phintys._base.caches import Once
    >>> @Once
    ... def answer():
    ...     print("computed")
    ...     return 42
    >>> answer() + answer()
    computed
    84
    """

    def __init__(self, function: Callable[[], _Value]) -> None:
        update_wrapper(self, function)
        self._function = function
        self._values: list[_Value] = []
        self._lock = ProcessLock()

    def __call__(self) -> _Value:
        """Return the value."""
        if not self._values:
            with self._lock:
                if not self._values:
                    self._values.append(self._function())
        return self._values[0]

    @property
    def is_known(self) -> bool:
        """Whether the value has been computed."""
        return bool(self._values)

    def cache_clear(self) -> None:
        """Discard the value: for tests."""
        self._values.clear()


class Interned(Generic[_Parameters, _Value]):
    """A function that always returns the same object for equal arguments, in all threads.

    Threads that request a value at the same time may each compute it, but all get the same one.

    Parameters
    ----------
    function
        Creates the object. Its arguments are positional and hashable.

    Examples
    --------
    >>> from phintys._base.caches import Interned
    >>> @Interned
    ... def box(number):
    ...     return [number]
    >>> box(1) is box(1), box(1) is box(2)
    (True, False)
    """

    def __init__(self, function: Callable[_Parameters, _Value]) -> None:
        update_wrapper(self, function)
        self._function = function
        self._found: dict[tuple[Any, ...], _Value] = {}

    def __call__(self, *arguments: _Parameters.args, **nothing: _Parameters.kwargs) -> _Value:
        """Return the object."""
        try:
            return self._found[arguments]
        except KeyError:
            # setdefault is atomic.
            return self._found.setdefault(arguments, self._function(*arguments, **nothing))

    def cache_clear(self) -> None:
        """Discard all objects: for tests."""
        self._found.clear()


class kept_property(Generic[_Value]):
    """An attribute that is computed on first access, and is one object for all threads.

    Parameters
    ----------
    function
        Computes the value from the instance.

    Examples
    --------
    >>> from phintys._base.caches import kept_property
    >>> class Circle:
    ...     @kept_property
    ...     def points(self):
    ...         return []
    >>> circle = Circle()
    >>> circle.points is circle.points
    True
    """

    def __init__(self, function: Callable[[Any], _Value]) -> None:
        self._function = function
        self._name = function.__name__
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> kept_property[_Value]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> _Value: ...
    def __get__(self, instance: object, owner: type) -> Any:
        """Return the value; the instance dictionary takes precedence on later accesses."""
        if instance is None:
            return self
        return vars(instance).setdefault(self._name, self._function(instance))


def remember(table: dict[_Key, _Value], key: _Key, value: _Value, most: int = 512) -> _Value:
    """Store a value in a table that is cleared when it is full, and return the value.

    Parameters
    ----------
    table
        A cache, which can be cleared at any time.
    key, value
        The entry to store.
    most
        Maximum number of entries.

    Examples
    --------
    >>> from phintys._base.caches import remember
    >>> table = {}
    >>> [remember(table, number, number**2, most=2) for number in range(3)]
    [0, 1, 4]
    >>> table
    {2: 4}
    """
    if len(table) >= most:
        table.clear()
    table[key] = value
    return value
