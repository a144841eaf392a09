"""Memory whose every byte knows the array that wrote it last."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection

    Numbers = np.ndarray[Any, Any]

RUBBISH = 0xA5
"""What memory contains before it is written: such a number is recognised when it is printed."""

_NOBODY = 0
_NUMBERS = count(1)


class Storage:
    """Bytes in a row, and the number of the memory that each of them belongs to."""

    def __init__(self, length: int) -> None:
        self.bytes = np.full(length, RUBBISH, np.uint8)
        self.owners = np.zeros(length, np.int64)


class Memory:
    """The elements of an array, somewhere in a storage.

    Parameters
    ----------
    storage
        The storage.
    dtype, length
        Of the elements.
    start
        The first byte.
    heirs_of
        The numbers of other memory whose elements are those of this one until they are written.
    """

    def __init__(
        self,
        storage: Storage,
        dtype: np.dtype[Any],
        length: int,
        start: int = 0,
        heirs_of: Collection[int] = (),
    ) -> None:
        self.storage = storage
        self.number = next(_NUMBERS)
        self.start = start
        self.known = np.array([self.number, *heirs_of])
        stop = start + length * dtype.itemsize
        self.data: Numbers = storage.bytes[start:stop].view(dtype)
        self.owners: Numbers = storage.owners[start:stop].reshape(length, dtype.itemsize)

    @classmethod
    def alone(cls, dtype: np.dtype[Any], length: int) -> Memory:
        """Return memory in a storage of its own."""
        return cls(Storage(length * dtype.itemsize), dtype, length)

    def holds(self, places: Any = ...) -> Numbers:
        """Return whether elements are there: written, and not lost to another array."""
        owners = self.owners[places]
        if len(self.known) == 1:
            return np.asarray((owners == self.number).all(-1))
        return np.asarray(np.isin(owners, self.known).all(-1))

    def put(self, places: Any, values: Any) -> None:
        """Write elements."""
        self.data[places] = values
        self.owners[places] = self.number

    def inherit(self) -> None:
        """Take what belongs to nobody: an Op in Python has written it in place."""
        self.owners[self.owners == _NOBODY] = self.number

    def lose(self) -> None:
        """Forget the elements; what others have in the same place stays."""
        self.owners[self.holds()] = _NOBODY

    def first_bytes(self, places: Numbers) -> Numbers:
        """Return where elements begin in the storage."""
        return self.start + places * self.data.dtype.itemsize
