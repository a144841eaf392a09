"""Values that are computed once in a process, even when several threads ask at the same time."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Generic, TypeVar

from phintys._base.locks import ProcessLock

__all__ = ["Once"]

_Value = TypeVar("_Value")


class Once(Generic[_Value]):
    """A function without arguments that is called once; whoever else asks meanwhile, waits.

    Parameters
    ----------
    function
        Computes the value. If it raises, it is called again the next time.

    Examples
    --------
    >>> from phintys._base.once import Once
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
        """Forget the value: for tests."""
        self._values.clear()
