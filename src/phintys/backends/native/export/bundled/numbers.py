"""Arithmetic with real and complex numbers alike, and matrices with strides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.records import record
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.elements import load, store
from phintys.backends.native.assembler.math import complex as complex_math
from phintys.backends.native.assembler.types import INT64, PTR, VOID, MachineType
from phintys.backends.native.assembler.values import Complex, Value, components, joined
from phintys.backends.native.routines.blas_functions import Routines
from phintys.tensor.blas import BLAS_LETTERS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.backends.native.assembler.module import Module

Number = Value | Complex

MATRIX = (PTR, INT64, INT64, INT64)
"""The types of :attr:`View.parts`."""


@record(frozen=True, eq=False)
class StridedMatrix:
    """A matrix in memory with any strides.

    Attributes
    ----------
    pointer
        Its address.
    down, along
        Distance in elements between neighbours in a column, and in a row.
    conjugated
        1 if it is the conjugate of what is in memory, else 0.
    """

    pointer: Value
    down: Value
    along: Value
    conjugated: Value

    @property
    def parts(self) -> tuple[Value, ...]:
        """The values passed to a function for it."""
        return self.pointer, self.down, self.along, self.conjugated

    def transposed(self) -> StridedMatrix:
        """Return the transpose."""
        return StridedMatrix(self.pointer, self.along, self.down, self.conjugated)

    def adjoint(self) -> StridedMatrix:
        """Return the conjugate transpose."""
        return StridedMatrix(self.pointer, self.along, self.down, self.conjugated ^ 1)


class Numbers:
    """Writes arithmetic with the numbers of one dtype, and calls of the functions for it.

    Parameters
    ----------
    b
        The builder.
    type
        The type of the numbers.
    """

    def __init__(self, b: Builder, type: MachineType) -> None:
        self.b = b
        self.type = type
        self.is_complex = type.kind == "c"
        self.lanes = b.target.lanes(type)
        self._routines = Routines(b, type)

    # ---- numbers

    def zero(self, lanes: int = 1) -> Number:
        """Return 0 in all lanes."""
        zero = self.b.constant(self.type.part.of(lanes), 0.0)
        return Complex(zero, zero) if self.is_complex else zero

    def load(
        self,
        pointer: Value,
        lanes: int = 1,
        mask: Value | None = None,
        conjugated: Value | None = None,
    ) -> Number:
        """Read neighbours, or their conjugates."""
        b = self.b
        found = load(b, self.type.of(lanes), pointer, mask)
        if conjugated is None or not isinstance(found, Complex):
            return found
        one = b.constant(self.type.part, 1.0)
        sign = b.select(b.eq(conjugated, 0), one, -one)
        return Complex(found.re, found.im * b.splat(sign, lanes))

    def store(self, number: Number, pointer: Value, mask: Value | None = None) -> None:
        """Write neighbours."""
        store(self.b, number, pointer, mask)

    def splat(self, number: Number, lanes: int) -> Number:
        """Return a number in all lanes."""
        return joined([self.b.splat(part, lanes) for part in components(number)])

    def lane(self, number: Number, lane: int) -> Number:
        """Return one lane."""
        return joined([self.b.extract(part, lane) for part in components(number)])

    def from_lanes(self, numbers: Sequence[Number]) -> Number:
        """Return numbers in the lanes of one."""
        found: list[Value] = []
        for parts in zip(*map(components, numbers), strict=True):
            vector = self.b.undefined(self.type.part.of(len(numbers)))
            for lane, part in enumerate(parts):
                vector = self.b.insert(vector, part, lane)
            found.append(vector)
        return joined(found)

    def add(self, x: Number, y: Number) -> Number:
        """x + y."""
        pairs = zip(components(x), components(y), strict=True)
        return joined([one + other for one, other in pairs])

    def negative(self, x: Number) -> Number:
        """-x."""
        return joined([-part for part in components(x)])

    def multiply_add(self, x: Number, y: Number, z: Number) -> Number:
        """x * y + z."""
        b = self.b
        if not isinstance(x, Complex):
            assert isinstance(y, Value)
            assert isinstance(z, Value)
            return b.madd(x, y, z)
        assert isinstance(y, Complex)
        assert isinstance(z, Complex)
        real = b.madd(-x.im, y.im, b.madd(x.re, y.re, z.re))
        return Complex(real, b.madd(x.im, y.re, b.madd(x.re, y.im, z.im)))

    def multiply(self, x: Number, y: Number) -> Number:
        """x * y."""
        if isinstance(x, Complex):
            assert isinstance(y, Complex)
            return complex_math.mul(self.b, x, y)
        assert isinstance(y, Value)
        return x * y

    def divide(self, x: Number, y: Number) -> Number:
        """x / y."""
        if isinstance(x, Complex):
            assert isinstance(y, Complex)
            return complex_math.true_div(self.b, x, y)
        assert isinstance(y, Value)
        return x / y

    def is_zero(self, x: Number) -> Value:
        """Whether a number is 0."""
        first, *others = [self.b.eq(part, 0.0) for part in components(x)]
        return first & others[0] if others else first

    def select(self, condition: Value, x: Number, y: Number) -> Number:
        """x if a condition holds, else y."""
        pairs = zip(components(x), components(y), strict=True)
        return joined([self.b.select(condition, one, other) for one, other in pairs])

    def size(self, x: Number) -> Value:
        """The sum of the absolute values of the parts, by which LAPACK selects pivots."""
        first, *others = [self.b.intrinsic("fabs", part) for part in components(x)]
        return first + others[0] if others else first

    def address(self, number: int) -> Value:
        """Return the address of a number that is known."""
        return self._routines.number(number)

    # ---- memory

    def at(self, view: StridedMatrix, row: Value | int, column: Value | int) -> Value:
        """Return the address of an element."""
        b = self.b
        row, column = b.value(INT64, row), b.value(INT64, column)
        return b.offset(view.pointer, row * view.down + column * view.along, self.type)

    def part(self, view: StridedMatrix, row: Value | int, column: Value | int) -> StridedMatrix:
        """Return the part of a matrix from an element on."""
        return StridedMatrix(self.at(view, row, column), view.down, view.along, view.conjugated)

    def read(self, view: StridedMatrix, row: Value | int, column: Value | int) -> Number:
        """Return an element."""
        return self.load(self.at(view, row, column), conjugated=view.conjugated)

    def room(self, count: int) -> Value:
        """Return the address of room for numbers on the stack."""
        return self.b.slot(self.type.part, count * (2 if self.is_complex else 1))

    def place(self, room: Value, index: Value | int) -> Value:
        """Return the address of a number in an array."""
        return self.b.offset(room, index, self.type)

    # ---- functions

    def call(
        self,
        name: str,
        parameters: Sequence[MachineType],
        write: Callable[[Numbers], None],
        arguments: Sequence[Value],
        returns: MachineType = VOID,
    ) -> Value:
        """Call a function of the module, which is written if it is not there yet."""
        symbol = f"bundled.{BLAS_LETTERS[self.type.name]}{name}"
        module: Module = self.b.module
        if all(function.name != symbol for function in module.functions):
            function = module.function(symbol, returns, parameters, linkage="internal")
            write(Numbers(Builder(function), self.type))
        result: Any = self.b.call(symbol, returns, arguments)
        return result
