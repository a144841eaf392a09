"""Lengths and numbers of bytes, computed from the lengths that the caller passes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.backends.native.assembler.types import INT64
from phintys.backends.native.export.interface import Dimension, Interface, depends_on_data
from phintys.backends.native.memory import ALIGNMENT, MemoryPlan
from phintys.backends.native.sizes import Arithmetic
from phintys.backends.native.writer.size_code import saturating, size_arithmetic

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from phintys.backends.native.assembler.builder import Builder
    from phintys.backends.native.assembler.values import Value
    from phintys.backends.native.polynomials import Polynomial, Polynomials
    from phintys.backends.native.program import Program
    from phintys.backends.native.values import Array, Size


class SizeWriter:
    """Writes code that computes sizes, each once for a function.

    Parameters
    ----------
    b
        The builder.
    program
        The program.
    interface
        Its interface.
    dimensions
        The lengths that the caller passes.
    """

    def __init__(
        self,
        b: Builder,
        program: Program,
        interface: Interface,
        dimensions: Mapping[Dimension, Value],
    ) -> None:
        self.b = b
        self._program = program
        self._interface = interface
        self._values: dict[Size, Value] = {
            size: b.constant(INT64, one) if isinstance(one, int) else dimensions[one]
            for size, one in interface.known.items()
        }

    def is_known(self, size: Size) -> bool:
        """Return whether a size follows from those of the arguments."""
        return not depends_on_data(self._program, size, self._interface)

    def size(self, size: Size) -> Value:
        """Return the value of a size that is known."""
        stack = [size]
        while stack:
            one = self._program.sizes.canonical(stack[-1])
            if one.known is not None:
                self._values[one] = self.b.constant(INT64, one.known)
            if one in self._values:
                stack.pop()
                continue
            assert isinstance(one, Arithmetic)
            left, right = (self._program.sizes.canonical(part) for part in one.arguments)
            missing = [part for part in (left, right) if part not in self._values]
            if missing:
                stack.extend(missing)
                continue
            operands = self._values[left], self._values[right]
            self._values[one] = size_arithmetic(self.b, one.operation, *operands)
        return self._values[self._program.sizes.canonical(size)]

    def count(self, sizes: Sequence[Size]) -> Value:
        """Return the product of sizes; the largest int64 if it is out of range."""
        total = self.b.constant(INT64, 1)
        for size in sizes:
            total = saturating(self.b, "mul", total, self.size(size))
        return total

    def bytes_of(self, array: Array) -> Value:
        """Return the bytes of an array, rounded up to the alignment."""
        item = self.b.constant(INT64, array.dtype.itemsize)
        return self.aligned(saturating(self.b, "mul", self.count(array.sizes), item))

    def aligned(self, bytes_: Value) -> Value:
        """Return a number of bytes rounded up to the alignment, and at least that."""
        b = self.b
        padded = saturating(b, "add", b.maximum_number(bytes_, 1), b.constant(INT64, ALIGNMENT - 1))
        return padded & -ALIGNMENT

    def total(self, parts: Sequence[Value]) -> Value:
        """Return a sum of numbers of bytes; the largest int64 if it is out of range."""
        found = self.b.constant(INT64, 0)
        for part in parts:
            found = saturating(self.b, "add", found, part)
        return found

    # ---- the arena

    def arena(self, memory: MemoryPlan, ring: Polynomials) -> Value | None:
        """Return the bytes of all blocks of the arena; ``None`` if they depend on data."""
        slots: list[Value] = []
        for slot in memory.slots:
            largest = self.b.constant(INT64, 0)
            for bytes_, _ in slot.sizes():
                one = self._polynomial(bytes_, ring)
                if one is None:
                    return None
                largest = self.b.maximum_number(largest, self.aligned(one))
            slots.append(largest)
        return self.total(slots)

    def _polynomial(self, polynomial: Polynomial, ring: Polynomials) -> Value | None:
        total = self.b.constant(INT64, 0)
        for term, factor in polynomial.terms:
            product = self.b.constant(INT64, factor)
            for number in term:
                atom = ring.atoms[number]
                if not isinstance(atom, Arithmetic) and atom not in self._values:
                    atom = ring.sizes.canonical(atom)  # pyright: ignore[reportArgumentType]
                if not self.is_known(atom):
                    return None
                length = self.size(atom)
                product = saturating(self.b, "mul", product, length)
            total = saturating(self.b, "add", total, product)
        return total
