"""Types of values in registers: NumPy's dtypes in one or more lanes, pointers, void.

LLVM's integers have no sign; these do, because NumPy's operations on ``int64`` and ``uint64``
differ. A bool is one bit in a register and one byte in memory. A float16 is its 16 bits: arithmetic
on it happens in float32. A complex type has no register of its own: see :class:`~.values.Complex`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from phintys._base.caches import Interned
from phintys._base.errors import DtypeError

_ELEMENTS = {
    "bool": "i1",
    "float16": "i16",
    "float32": "float",
    "float64": "double",
    "ptr": "ptr",
    "void": "void",
} | {f"{sign}int{bits}": f"i{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}

_INTRINSIC_SUFFIXES = {"float": "f32", "double": "f64", "ptr": "p0"}


class MachineType:
    """The type of a value. Equal types are one object, returned by :func:`type_of`.

    Parameters
    ----------
    name
        A NumPy dtype's name, ``"ptr"`` or ``"void"``.
    lanes
        How many elements; 1 is a scalar, not a vector of one.

    Attributes
    ----------
    kind : str
        ``b`` bool, ``i`` and ``u`` integers, ``h`` float16, ``f`` float32 and float64, ``c``
        complex, ``p`` pointer, ``v`` void.
    bits : int
        Width of one element in a register.
    itemsize : int
        Bytes of one element in memory.
    element, text : str
        The element type and the whole type in LLVM's language; both are empty for complex types.

    Examples
    --------
    >>> type_of("float64", 8)
    <8 x double>
    >>> type_of("uint8").itemsize, type_of("uint8").kind
    (1, 'u')
    """

    __slots__ = ("bits", "element", "itemsize", "kind", "lanes", "name", "suffix", "text")

    def __init__(self, name: str, lanes: int) -> None:
        self.name = name
        self.lanes = lanes
        self.kind = {"bool": "b", "float16": "h", "ptr": "p", "void": "v"}.get(name) or name[0]
        self.itemsize = 8 if name == "ptr" else 0 if name == "void" else np.dtype(name).itemsize
        self.bits = 1 if name == "bool" else 8 * self.itemsize
        self.element = "" if self.kind == "c" else _ELEMENTS[name]
        one = lanes == 1 or not self.element
        self.text = self.element if one else f"<{lanes} x {self.element}>"
        suffix = _INTRINSIC_SUFFIXES.get(self.element, self.element)
        self.suffix = suffix if lanes == 1 else f"v{lanes}{suffix}"

    def of(self, lanes: int) -> MachineType:
        """Return the vector type with ``lanes`` such elements."""
        return self if lanes == self.lanes else type_of(self.name, lanes)

    def like(self, name: str) -> MachineType:
        """Return the type of as many elements of another name."""
        return type_of(name, self.lanes)

    @property
    def is_integer(self) -> bool:
        """Whether the elements are integers (bools are not)."""
        return self.kind in "iu"

    @property
    def part(self) -> MachineType:
        """The type of the parts of a complex type; other types are their own part."""
        if self.kind != "c":
            return self
        return self.like("float32" if self.name == "complex64" else "float64")

    @property
    def integer(self) -> MachineType:
        """The signed integer type of the same width."""
        return self.like(f"int{self.bits}")

    @property
    def mask(self) -> MachineType:
        """The bool type with as many lanes."""
        return self.like("bool")

    def __repr__(self) -> str:
        return self.text or f"<{self.lanes} x {self.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (type_of, (self.name, self.lanes))


@Interned
def _interned(name: str, lanes: int) -> MachineType:
    return MachineType(name, lanes)


def type_of(dtype: Any, lanes: int = 1) -> MachineType:
    """Return the type of ``lanes`` elements of a dtype.

    Parameters
    ----------
    dtype
        A NumPy dtype or its name, ``"ptr"`` or ``"void"``.
    lanes
        How many.

    Raises
    ------
    DtypeError
        If the dtype has no native code (long double, dates, strings, objects).
    """
    known = _KNOWN.get((dtype, lanes))
    return _type_of(dtype, lanes) if known is None else known


# Computing a dtype's name takes longer than the rest of the function.
_KNOWN: dict[tuple[Any, int], MachineType] = {}


def _type_of(dtype: Any, lanes: int) -> MachineType:
    if isinstance(dtype, str) and dtype in {"ptr", "void"}:
        return _interned(dtype, lanes)
    name = np.dtype(dtype).name
    if name not in _ELEMENTS and name not in {"complex64", "complex128"}:
        msg = f"There is no native code for dtype {name}; expected bool, integer, float or complex."
        raise DtypeError(msg)
    found = _KNOWN[dtype, lanes] = _interned(name, lanes)
    return found


VOID = type_of("void")
PTR = type_of("ptr")
BOOL = type_of("bool")
INT8, INT16, INT32, INT64 = (type_of(f"int{bits}") for bits in (8, 16, 32, 64))
UINT8, UINT64 = type_of("uint8"), type_of("uint64")
FLOAT32, FLOAT64 = type_of("float32"), type_of("float64")
