"""Records: named fields of memory that both native code and Python read and write."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

from phintys.backends.native.assembler.atomics import atomic_load, atomic_store
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.types import UINT8, MachineType
from phintys.backends.native.assembler.values import Operand, Value

_C_TYPES: dict[str, Any] = {
    "ptr": ctypes.c_uint64,
    "int64": ctypes.c_int64,
    "int32": ctypes.c_int32,
    "uint8": ctypes.c_uint8,
}


def byte_offset(b: Builder, pointer: Value, offset: Operand) -> Value:
    """Return an address moved by an offset in bytes."""
    return b.offset(pointer, offset, UINT8)


class Record:
    """The fields of a structure: for each its type and its offset in bytes.

    Parameters
    ----------
    fields
        Name -> (type, offset).

    Examples
    --------
    >>> from phintys.backends.native.assembler.types import INT32, INT64, PTR
    >>> point = Record.packed(x=INT64, y=INT32, next=PTR)
    >>> point.offset("next"), point.size
    (16, 24)
    """

    def __init__(self, fields: Mapping[str, tuple[MachineType, int]]) -> None:
        self.fields = dict(fields)
        self.atomic: frozenset[str] = frozenset()

    @classmethod
    def packed(cls, **types: MachineType) -> Record:
        """Return a record with its fields in order, each aligned to its size."""
        fields: dict[str, tuple[MachineType, int]] = {}
        end = 0
        for name, type in types.items():
            start = -(-end // type.itemsize) * type.itemsize
            fields[name] = (type, start)
            end = start + type.itemsize
        return cls(fields)

    def with_atomic(self, *names: str) -> Record:
        """Return the record with some fields that threads read while others write them.

        Native code always reads and writes these with atomic instructions: what a thread has
        written before it writes such a field is seen by those that have read it there. Plain ones
        promise that on x86-64 only.
        """
        made = Record(self.fields)
        made.atomic = self.atomic | frozenset(names)
        return made

    @property
    def size(self) -> int:
        """Size of the structure in bytes, a multiple of 8."""
        end = max(offset + type.itemsize for type, offset in self.fields.values())
        return -(-end // 8) * 8

    def offset(self, name: str) -> int:
        """Return the offset of a field in bytes."""
        return self.fields[name][1]

    # ---- in native code

    def pointer(self, b: Builder, base: Value, name: str) -> Value:
        """Return the address of a field."""
        return byte_offset(b, base, self.offset(name))

    def load(self, b: Builder, base: Value, name: str) -> Value:
        """Read a field."""
        type, place = self.fields[name][0], self.pointer(b, base, name)
        return atomic_load(b, type, place) if name in self.atomic else b.load(type, place)

    def store(self, b: Builder, base: Value, name: str, value: Operand) -> None:
        """Write a field."""
        if name not in self.atomic:
            self.initialize(b, base, name, value)
            return
        given = b.value(self.fields[name][0], value)
        atomic_store(b, given, self.pointer(b, base, name))

    def initialize(self, b: Builder, base: Value, name: str, value: Operand) -> None:
        """Write a field of a structure that no other thread has seen yet."""
        b.store(b.value(self.fields[name][0], value), self.pointer(b, base, name))

    # ---- in Python

    def _cell(self, address: int, name: str) -> Any:
        type, offset = self.fields[name]
        return _C_TYPES[type.name].from_address(address + offset)

    def read(self, address: int, name: str) -> int:
        """Return the value of a field of the structure at an address."""
        return int(self._cell(address, name).value)

    def write(self, address: int, name: str, value: int) -> None:
        """Set a field of the structure at an address."""
        self._cell(address, name).value = value
