"""Places inside the loops of a kernel, and the arguments of a kernel."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from phintys._base.records import record
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.module import Block
from phintys.backends.native.assembler.types import INT64, PTR, MachineType
from phintys.backends.native.assembler.values import Complex, Value

if TYPE_CHECKING:
    from collections.abc import Generator

    from phintys.backends.native.kernels.access import Access
    from phintys.backends.native.polynomials import Polynomial
    from phintys.backends.native.values import Array

from contextlib import contextmanager

# ---- arguments of kernels ----------------------------------------------------------------------


@record(frozen=True)
class Pointer:
    """The address of memory, ``offset`` elements from its start."""

    array: Array
    offset: Polynomial


@record(frozen=True)
class Number:
    """A number that is known when the kernel is called."""

    value: Polynomial


@record(frozen=True)
class KernelNumbers:
    """The address of the numbers that differ between kernels of one form, 8 bytes each."""


@record(frozen=True)
class Status:
    """The address of the status: the number of the failure (0 for none) and its two numbers."""


@record(frozen=True)
class State:
    """The state passed to the runtime's functions."""


@record(frozen=True)
class FailureBase:
    """The offset of a kernel's failure numbers, which count from 1."""


@record(frozen=True)
class ScratchBytes:
    """Bytes of private memory that the kernel needs in each call; different for short rows."""

    is_across: bool


@record(frozen=True)
class ScratchOffset:
    """Offset of an item in that memory, in bytes."""

    room: object
    is_across: bool


@record(frozen=True)
class Chunk:
    """Iterations of the outermost loop that is reduced in one part of a reduction."""


@record(frozen=True)
class Width:
    """Columns in one part of a reduction of columns."""


@record(frozen=True)
class Partials:
    """The address of memory for the totals of the parts."""


Slot = (
    Pointer
    | Number
    | KernelNumbers
    | State
    | Status
    | FailureBase
    | ScratchBytes
    | ScratchOffset
    | Chunk
    | Width
    | Partials
)


class Prelude:
    """The first block of a function, which reads the arguments; can be extended at any time.

    Parameters
    ----------
    b
        The builder of the function, at its beginning.
    slots
        The arguments so far; new ones are added.
    """

    def __init__(self, b: Builder, slots: dict[Slot, int]) -> None:
        self.b = b
        self.slots = slots
        self._block = b.block
        self._values: dict[Any, Value] = {}
        self._body = b.new_block("body")
        b.begin(self._body)

    @contextmanager
    def writing(self) -> Generator[None]:
        """Insert into the prelude."""
        block: Block = self.b.block
        self.b.block, self.b._lines = self._block, self._block.lines
        yield
        self.b.block, self.b._lines = block, block.lines

    def close(self) -> None:
        """Continue with the function's body. Nothing can be added to the prelude afterwards."""
        with self.writing():
            self.b.jump(self._body)

    def slot(self, slot: Slot, type: MachineType = INT64) -> Value:
        """Return an argument."""
        found = self._values.get(slot)
        if found is None:
            number = self.slots.setdefault(slot, len(self.slots))
            with self.writing():
                address = self.b.offset(self.b.arguments[0], number, INT64)
                found = self._values[slot] = self.b.load(type, address)
        return found

    def pointer(self, array: Array, offset: Polynomial) -> Value:
        """Return the address of an element of an array."""
        return self.slot(Pointer(array, offset), PTR)

    def number(self, value: Polynomial) -> Value:
        """Return a number that is known when the kernel is called."""
        if value.known is not None:
            return self.b.constant(INT64, value.known)
        return self.slot(Number(value))

    def spread(self, value: Polynomial, lanes: int) -> Value:
        """Return a number in all lanes."""
        if value.known is not None:
            return self.b.constant(INT64.of(lanes), value.known)
        key = ("spread", value, lanes)
        if key not in self._values:
            scalar = self.number(value)
            with self.writing():
                self._values[key] = self.b.splat(scalar, lanes)
        return self._values[key]

    def lane_steps(self, step: Polynomial, lanes: int) -> Value:
        """Return 0, step, 2 step ... in the lanes."""
        key = ("lanes", step, lanes)
        if key not in self._values:
            spread = self.spread(step, lanes)
            with self.writing():
                numbers = self.b.lane_numbers(INT64.of(lanes))
                self._values[key] = numbers if step.known == 1 else numbers * spread
        return self._values[key]


# ---- places in loops ---------------------------------------------------------------------------


@record(eq=False)
class Scope:
    """A place inside loops; lookups continue in the enclosing place.

    Attributes
    ----------
    parent
        The enclosing place.
    lanes
        Number of elements computed at once.
    mask
        The active lanes; ``None`` for all.
    index
        Counters of the loops that begin here, by their innermost loop variable.
    pointers
        Addresses so far, by access.
    loaded
        Loaded values, by access and lanes.
    arrays
        Computed values, by array and lanes.
    values
        Values of expressions, by ``id``.
    """

    parent: Scope | None = None
    lanes: int = 1
    mask: Value | None = None
    index: dict[Any, Value] = field(default_factory=dict)
    pointers: dict[Access, Value] = field(default_factory=dict)
    loaded: dict[tuple[Access, int], Value | Complex] = field(default_factory=dict)
    arrays: dict[tuple[Array, int], Value | Complex] = field(default_factory=dict)
    values: dict[int, Value | Complex] = field(default_factory=dict)

    def inside(self) -> Scope:
        """Return a place inside this one."""
        return Scope(self, self.lanes, self.mask)

    def find(self, table: str, key: Any) -> Any:
        """Look up a key here and in enclosing places."""
        scope: Scope | None = self
        while scope is not None:
            found = getattr(scope, table).get(key)
            if found is not None:
                return found
            scope = scope.parent
        return None


def splat(b: Builder, x: Value | Complex, lanes: int) -> Value | Complex:
    """Return a scalar in all lanes."""
    if isinstance(x, Complex):
        return Complex(b.splat(x.re, lanes), b.splat(x.im, lanes))
    return b.splat(x, lanes)
