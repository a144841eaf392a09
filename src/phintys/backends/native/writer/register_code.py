"""Numbers and short vectors that are in registers, in one function of the main function."""

from __future__ import annotations

from contextlib import contextmanager
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

from phintys.backends.native.assembler.control import lane_mask
from phintys.backends.native.assembler.elements import load, store
from phintys.backends.native.assembler.types import BOOL, INT64, type_of
from phintys.backends.native.assembler.values import Complex, Value, components
from phintys.backends.native.values import Array

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from phintys.backends.native.kernels.access import Access
    from phintys.backends.native.kernels.short_vectors import Latest, ShortVectors
    from phintys.backends.native.polynomials import Polynomial
    from phintys.backends.native.sizes import Element
    from phintys.backends.native.writer.address_code import AddressCode
    from phintys.backends.native.writer.function_code import FunctionCode
    from phintys.backends.native.writer.size_code import SizeCode

Registers = dict[Array, Value | Complex]
Rows = dict[tuple[Array, "Polynomial"], Value | Complex]


def lanes_of(value: Value | Complex) -> int:
    """Return how many lanes a value has."""
    return components(value)[0].type.lanes


class RegisterCode:
    """Emits reads and writes of numbers and short vectors, which need not be in memory.

    Parameters
    ----------
    code
        The function.
    sizes
        The sizes in it.
    addresses
        The addresses in it.

    Attributes
    ----------
    values
        In the body of a loop, the single numbers that are in registers.
    unsaved
        Those that are not in memory; an ordered set.
    numbers
        Those that stay in registers while the outermost open loop runs.
    short
        How vectors are carried out, while the code that is written is for short ones.
    mask
        Their active lanes; ``None`` for all.
    latest
        Rows of short vectors that the pass before has written, by their memory and place.
    rows
        Rows of short vectors that have been written to memory, by their memory and place.
    """

    def __init__(self, code: FunctionCode, sizes: SizeCode, addresses: AddressCode) -> None:
        self.code = code
        self.b = code.b
        self.sizes = sizes
        self.addresses = addresses
        self.values: Registers = {}
        self.unsaved: dict[Array, None] = {}
        self.numbers: set[Array] = set()
        self.short: ShortVectors | None = None
        self.mask: Value | None = None
        self.latest: Rows = {}
        self.rows: Rows = {}

    def truth(self, condition: Array) -> Value:
        """Return whether a 0-d array of bools is true."""
        value = self.register(condition.memory)
        if value is None:
            value = load(self.b, BOOL, self.addresses.pointer(condition))
        assert isinstance(value, Value)
        return value

    def register(self, memory: Array) -> Value | Complex | None:
        """Return the number that an array holds if it is in a register."""
        return self.values.get(memory)

    def number(self, memory: Array) -> Value | Complex:
        """Return the number or vector that an array holds, from its register if it has one."""
        found = self.register(memory)
        if found is not None:
            return found
        if self.short is not None and memory in self.short.arrays:
            type = type_of(memory.dtype, self.short.lanes)
            return load(self.b, type, self.addresses.pointer(memory), self.mask)
        return load(self.b, type_of(memory.dtype), self.addresses.pointer(memory))

    def row(self, row: Latest, place: Value) -> Value | Complex:
        """Read the row that the first pass of a loop reads."""
        assert self.short is not None
        return load(self.b, type_of(row.array.dtype, self.short.lanes), place, self.mask)

    def row_written(self, access: Access, value: Value | Complex) -> None:
        """Remember a row of short vectors that has been written to memory."""
        self.rows[access.array, access.offset] = value

    def is_in_register(self, memory: Array) -> bool:
        """Return whether an array stays in a register while the open loops run."""
        return memory in self.numbers

    def set_register(self, memory: Array, value: Value | Complex) -> None:
        """Set the number that an array holds."""
        self.values[memory] = value
        self.unsaved[memory] = None

    def invariant(self, memory: Array) -> Value | Complex | None:
        """Return a single number that does not change in the open loops, read before them."""
        if any(size.known != 1 for size in memory.sizes):
            return None
        for loop in self.code.open_loops:
            if memory not in loop.written:
                found = loop.invariants.get(memory)
                if found is None:
                    address = self.addresses.pointer(memory)
                    with self.code.before(loop):
                        found = load(self.b, type_of(memory.dtype), address)
                    loop.invariants[memory] = found
                return found
        return None

    def save(self, arrays: Iterable[Array]) -> None:
        """Store numbers that are only in registers to memory."""
        for memory in arrays:
            if memory in self.unsaved:
                del self.unsaved[memory]
                value = self.values[memory]
                mask = self.mask if lanes_of(value) > 1 else None
                store(self.b, value, self.addresses.pointer(memory), mask)

    @contextmanager
    def for_short(self, short: ShortVectors) -> Generator[None]:
        """Write the code of a loop for vectors that fit into a register."""
        numbers = self.numbers
        self.short, self.numbers = short, numbers | short.arrays
        length = short.lengths[0]
        if length.known != short.lanes:
            self.mask = lane_mask(self.b, self.sizes.polynomial(length), short.lanes)
        yield
        self.save([memory for memory in self.unsaved if memory in short.arrays])
        for memory in short.arrays:
            self.values.pop(memory, None)
        self.short, self.mask, self.numbers = None, None, numbers

    def is_short(self, short: ShortVectors) -> Value:
        """Return whether vectors fit into a register."""
        first, *others = map(self.sizes.polynomial, short.lengths)
        equal = (self.b.eq(first, other) for other in others)
        return reduce(and_, equal, self.b.le(first, short.lanes))

    def element(self, element: Element) -> Value:
        """Return an element of an array of integers, from its register if it has one."""
        found = self.register(element.array.memory)
        if found is None:
            base = self.addresses.pointer(element.array)
            return self.b.load(INT64, self.b.offset(base, element.index, INT64))
        assert isinstance(found, Value)
        return found
