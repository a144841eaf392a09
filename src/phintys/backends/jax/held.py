"""Values that stay on a device between calls, and those that are sent there once.

An update is *donated*: its new value takes the memory of the old one. From the moment in which the
program is started until its results are known to Python, the old value is gone and the new one has
no owner; :meth:`HeldArray.move` tells the value beforehand where the new one will be found, so that
no signal in between can lose both, and holds a lock for which readers in other threads wait.
A program that reads a value keeps it meanwhile (:meth:`HeldArray.keep`): what others read at that
moment is not given away, but a copy of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from threading import Lock
from typing import Any
from weakref import ref

import numpy as np

from phintys._base.errors import TransferError
from phintys._base.late import LateModule
from phintys._base.records import record
from phintys.backends.jax.arrays import jax
from phintys.backends.jax.requirement import with_64_bits
from phintys.graph.shared_variable import DeviceValue

_hosts: Any = LateModule("jax.experimental.multihost_utils")


@record()
class Transfers:
    """How many arrays went to devices and came back, and their bytes."""

    sent: int = 0
    sent_bytes: int = 0
    fetched: int = 0
    fetched_bytes: int = 0

    def send(self, values: Sequence[Any]) -> None:
        """Count the values that are arrays of NumPy, which a call sends."""
        for value in values:
            if isinstance(value, np.ndarray):
                self.sent += 1
                self.sent_bytes += value.nbytes

    def fetch(self, array: Any) -> np.ndarray[Any, Any]:
        """Return a copy of an array of JAX on the host."""
        found = to_host(array)
        self.count_fetched([found])
        return found

    def count_fetched(self, values: Sequence[np.ndarray[Any, Any]]) -> None:
        """Count copies on the host."""
        self.fetched += len(values)
        for value in values:
            self.fetched_bytes += value.nbytes

    def __str__(self) -> str:
        return (
            f"{self.sent} arrays were sent to the device ({self.sent_bytes} bytes), "
            f"{self.fetched} were fetched from it ({self.fetched_bytes} bytes)."
        )


class HeldArray(DeviceValue):
    """The value of a shared variable on a device; a copy on the host is made when one is read.

    Parameters
    ----------
    array
        The array of JAX, to which no other object refers.
    transfers
        Counts the copies.
    """

    __slots__ = ("_array", "_host", "_lock", "_next", "_readers", "_transfers")

    def __init__(self, array: Any, transfers: Transfers) -> None:
        self._array = array
        self._transfers = transfers
        self._host: np.ndarray[Any, Any] | None = None
        self._next: tuple[list[Any], int, AbstractContextManager[Any]] | None = None
        self._readers = 0
        self._lock = Lock()

    @property
    def array(self) -> Any:
        """The array of JAX, or the one that a program in another thread replaces it by."""
        if (expected := self._next) is not None:
            with expected[2]:
                pass
        self.settle()
        return self._array

    def keep(self) -> Any:
        """Return the array, which is not given away until :meth:`release` is called."""
        while True:
            expected = self._next
            array = self.array
            with self._lock:
                is_current = self._next is None or self._next is expected
                if self._array is array and is_current:
                    self._readers += 1
                    return array

    def release(self) -> None:
        """Say that the array of :meth:`keep` is no longer read."""
        with self._lock:
            self._readers -= 1

    def move(
        self, kept: Any, results: list[Any], place: int, running: AbstractContextManager[Any]
    ) -> bool | None:
        """Say where the next value will be: in the list that is going to be ``results[0][0]``.

        The lock ``running`` is held until it is there, or the program has failed.

        Parameters
        ----------
        kept
            The array that the program has kept.
        results, place, running
            As above.

        Returns
        -------
        bool or None
            Whether others read the array, so that a copy must be given away; ``None`` if another
            program has replaced the array, or is about to.
        """
        with self._lock:
            is_taken = self._next is not None and self._next[2] is not running
            if is_taken or self._array is not kept:
                return None
            self._next = (results, place, running)
            return self._readers > 1

    def stay(self, results: list[Any]) -> None:
        """Expect no value in a list any more, since the program has failed."""
        with self._lock:
            if self._next is not None and self._next[0] is results:
                self._next = None

    def settle(self) -> None:
        """Take the next value, if it is there."""
        with self._lock:
            if self._next is not None and self._next[0]:
                results, place, _ = self._next
                self._array = results[0][0][place]
                self._host = self._next = None

    def raise_if_lost(self, deleted: Any) -> None:
        """Raise if nothing has replaced an array that was given away.

        Raises
        ------
        TransferError
            The device has failed while the value was being replaced.
        """
        if self.array is deleted:
            msg = (
                "The value of a shared variable was lost, since the device failed during "
                "the update that replaced it. Set it again with set_value."
            )
            raise TransferError(msg)

    def on_device(self, *, copied: bool) -> Any:
        """Return the array, or a copy of it."""
        with with_64_bits():
            return self._read(jax.numpy.copy)[1] if copied else self.array

    def on_host(self) -> np.ndarray[Any, Any]:
        """Return a copy on the host, which is kept until the value changes.

        Raises
        ------
        TransferError
            The device has failed while the value was being replaced.
        """
        self.settle()
        host = self._host
        if host is not None:
            return host
        array, host = self._read(self._transfers.fetch)
        host.flags.writeable = False
        with self._lock:
            if self._array is array and self._next is None:
                self._host = host
        return host

    def _read(self, reader: Callable[[Any], Any]) -> tuple[Any, Any]:
        """Return an array that was not deleted until it was read, and what was read."""
        while True:
            array = self.keep()
            try:
                if not array.is_deleted():  # else the program that replaces it has failed
                    return array, reader(array)
            finally:
                self.release()
            self.raise_if_lost(array)


def to_host(array: Any) -> np.ndarray[Any, Any]:
    """Return a copy of an array of JAX, of all its parts if they are on several hosts."""
    if getattr(array, "is_fully_addressable", True) or array.is_fully_replicated:
        return np.array(array)
    with with_64_bits():
        return np.array(_hosts.process_allgather(array, tiled=True))


class Uploads:
    """Copies on devices of arrays that are stored on the host, made once for each array.

    Examples
    --------
    >>> import numpy as np
    >>> from phintys.backends.jax.held import Uploads
    >>> uploads, value = Uploads(), np.zeros(3)
    >>> first = uploads.find(value, None, lambda: "made")
    >>> uploads.find(value, None, lambda: "made again")
    'made'
    """

    def __init__(self) -> None:
        self._found: dict[tuple[int, Any], tuple[ref[Any], Any]] = {}

    def find(self, value: np.ndarray[Any, Any], where: Any, make: Callable[[], Any]) -> Any:
        """Return the copy of an array at a place; ``make`` sends it if there is none yet."""
        key = (id(value), where)
        kept = self._found.get(key)
        if kept is not None and kept[0]() is value:
            return kept[1]
        made = make()
        self._found[key] = (ref(value, lambda _: self._found.pop(key, None)), made)
        return made


UPLOADS = Uploads()
"""Those of all programs, so that functions share them."""


def sent(value: np.ndarray[Any, Any], where: Any) -> Any:
    """Return a copy of an array on a device, or in a sharding, that shares no memory with it."""
    return jax.device_put(value, where, may_alias=False)
