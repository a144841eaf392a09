"""Values in registers: operands and results of the builder's methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from phintys.backends.native.assembler.types import MachineType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.assembler.builder import Builder


class Value:
    """A result of one instruction, an argument, or a constant, with its type.

    Operators write instructions: ``+ - * /`` on floats, ``+ - * << >>`` on integers, ``& | ^ ~`` on
    integers and masks, ``< <= > >=`` on numbers (the result is a mask; false for NaN). ``/`` of
    integers is not offered: NumPy's division is that of
    :func:`~phintys.backends.native.assembler.operations.emit`. A Python number stands for a
    constant of the other operand's type. Equality is ``builder.eq``.
    """

    __slots__ = ("builder", "text", "type")

    def __init__(self, builder: Builder, type: MachineType, text: str) -> None:
        self.builder = builder
        self.type = type
        self.text = text

    @property
    def typed(self) -> str:
        """The value as an instruction's operand with its type."""
        return f"{self.type.text} {self.text}"

    def __repr__(self) -> str:
        return f"Value({self.typed})"

    def __add__(self, other: Operand) -> Value:
        return self.builder.add(self, other)

    def __radd__(self, other: Operand) -> Value:
        return self.builder.add(other, self)

    def __sub__(self, other: Operand) -> Value:
        return self.builder.sub(self, other)

    def __rsub__(self, other: Operand) -> Value:
        return self.builder.sub(other, self)

    def __mul__(self, other: Operand) -> Value:
        return self.builder.mul(self, other)

    def __rmul__(self, other: Operand) -> Value:
        return self.builder.mul(other, self)

    def __truediv__(self, other: Operand) -> Value:
        return self.builder.div(self, other)

    def __rtruediv__(self, other: Operand) -> Value:
        return self.builder.div(other, self)

    def __neg__(self) -> Value:
        return self.builder.neg(self)

    def __and__(self, other: Operand) -> Value:
        return self.builder.binary("and", self, other)

    def __or__(self, other: Operand) -> Value:
        return self.builder.binary("or", self, other)

    def __xor__(self, other: Operand) -> Value:
        return self.builder.binary("xor", self, other)

    def __invert__(self) -> Value:
        return self.builder.binary("xor", self, -1)

    def __lshift__(self, other: Operand) -> Value:
        return self.builder.binary("shl", self, other)

    def __rshift__(self, other: Operand) -> Value:
        return self.builder.binary("ashr" if self.type.kind == "i" else "lshr", self, other)

    def __lt__(self, other: Operand) -> Value:
        return self.builder.lt(self, other)

    def __le__(self, other: Operand) -> Value:
        return self.builder.le(self, other)

    def __gt__(self, other: Operand) -> Value:
        return self.builder.lt(other, self)

    def __ge__(self, other: Operand) -> Value:
        return self.builder.le(other, self)


class Complex(NamedTuple):
    """A complex number, or a vector of them: the real parts and the imaginary parts."""

    re: Value
    im: Value

    @property
    def type(self) -> MachineType:
        """The complex type; it has no text in LLVM's language."""
        part = self.re.type
        return part.like("complex64" if part.name == "float32" else "complex128")

    @property
    def builder(self) -> Builder:
        """The builder of both parts."""
        return self.re.builder


Operand = Value | float
"""The other operand of an operator: a value, or a number."""


def components(value: Value | Complex) -> list[Value]:
    """Return the real and the imaginary part of a complex value, and other values alone."""
    return [value.re, value.im] if isinstance(value, Complex) else [value]


def joined(parts: Sequence[Value]) -> Value | Complex:
    """Return the value that has these parts."""
    return Complex(*parts) if len(parts) == 2 else parts[0]
