"""BLAS routines, called on matrices in row-major layout.

BLAS is column-major and arrays are row-major, so each matrix is passed as its transpose: ``C = A
B`` becomes ``C' = B' A'``. The functions are external symbols such as ``phintys_blas_dgemm``, with
SciPy's signatures: all arguments are pointers, integers are 32-bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.records import record
from phintys.backends.native.assembler.builder import Builder, constant_text
from phintys.backends.native.assembler.control import either, ending_if, loop, when
from phintys.backends.native.assembler.elements import store
from phintys.backends.native.assembler.scalar_ops import emit_literal
from phintys.backends.native.assembler.types import INT8, INT32, INT64, PTR, VOID, MachineType
from phintys.backends.native.assembler.values import Value
from phintys.tensor.blas import BLAS_LETTERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.assembler.module import Module


@record(frozen=True, eq=False)
class Matrix:
    """A matrix in memory with contiguous rows or contiguous columns.

    Attributes
    ----------
    pointer
        Its address.
    down, along
        Distance in elements between neighbours in a column, and in a row. Rows are contiguous if
        ``along`` is 1.
    """

    pointer: Value
    down: Value
    along: Value

    def transposed(self) -> Matrix:
        """Return the transpose of the matrix."""
        return Matrix(self.pointer, self.along, self.down)

    @property
    def parts(self) -> tuple[Value, Value, Value]:
        """The values passed to a function for it."""
        return self.pointer, self.down, self.along

    def at(self, b: Builder, row: Value, column: Value, type: MachineType) -> Value:
        """Return the address of an element."""
        return b.offset(self.pointer, row * self.down + column * self.along, type)


class Routines:
    """Emits calls of BLAS for one dtype.

    Parameters
    ----------
    b
        The builder.
    type
        The type of all elements.
    """

    def __init__(self, b: Builder, type: MachineType) -> None:
        self.b = b
        self.type = type

    # ---- arguments ---------------------------------------------------------------------------

    def integer(self, value: Value) -> Value:
        """Return the address of an integer."""
        if value.text.isdigit():
            return self._constant(INT32, int(value.text))
        slot = self.b.slot(INT32)
        self.b.store(self.b.convert(value, INT32), slot)
        return slot

    def letter(self, letter: str) -> Value:
        """Return the address of a letter."""
        return self._constant(INT8, ord(letter))

    def number(self, value: Any) -> Value:
        """Return the address of a number of the dtype: a constant, a register, or an address."""
        if isinstance(value, Value):
            if value.type is PTR:
                return value
            slot = self.b.slot(self.type)
            self.b.store(value, slot)
            return slot
        parts = [value.real, value.imag] if self.type.kind == "c" else [value]
        return self._constant(self.type.part, *parts)

    def _constant(self, type: MachineType, *numbers: float) -> Value:
        text = ", ".join(f"{type.text} {constant_text(type, number)}" for number in numbers)
        return Value(self.b, PTR, self.b.module.table(text, len(numbers), type.text))

    def _layout(
        self, matrix: Matrix, rows: Value, columns: Value, letters: str
    ) -> tuple[Value, Value, Value, Value]:
        """Return the arguments of BLAS for a matrix: letter, rows, columns and stride.

        The first of the letters is for contiguous rows. A matrix of one row may have any stride,
        but BLAS requires at least its length, and at least 1.
        """
        b = self.b
        usual, other = map(self.letter, letters)
        if matrix.along.text == "1":
            letter, first, second, stride = usual, columns, rows, matrix.down
        elif matrix.down.text == "1":
            letter, first, second, stride = other, rows, columns, matrix.along
        else:
            is_apart = b.ne(matrix.along, 1)
            letter = b.select(is_apart, other, usual)
            first = b.select(is_apart, rows, columns)
            second = b.select(is_apart, columns, rows)
            stride = b.select(is_apart, matrix.along, matrix.down)
        return letter, first, second, b.maximum_number(b.maximum_number(stride, first), 1)

    def call(self, name: str, *arguments: Value) -> None:
        """Write a call."""
        self.b.call(f"phintys_blas_{BLAS_LETTERS[self.type.name]}{name}", VOID, arguments)

    # ---- routines ----------------------------------------------------------------------------

    def matrix_matrix(
        self,
        lengths: tuple[Value, Value, Value],
        first: Matrix,
        second: Matrix,
        c: tuple[Value, Value],
        alpha: Any,
        beta: int,
    ) -> None:
        """Write ``c = alpha first second + beta c``; lengths m, n, k, and c with its stride."""
        b = self.b
        m, n, k = lengths
        pointer, stride = c
        letters = [self._layout(second, k, n, "NT"), self._layout(first, m, k, "NT")]
        (letter_b, _, _, stride_b), (letter_a, _, _, stride_a) = letters
        self.call(
            "gemm",
            letter_b,
            letter_a,
            *map(self.integer, (n, m, k)),
            self.number(alpha),
            second.pointer,
            self.integer(stride_b),
            first.pointer,
            self.integer(stride_a),
            self.number(beta),
            pointer,
            self.integer(b.maximum_number(b.maximum_number(stride, n), 1)),
        )

    def matrix_vector(
        self,
        matrix: tuple[Matrix, Value, Value],
        x: tuple[Value, Value],
        y: tuple[Value, Value],
        alpha: Any,
        beta: int,
    ) -> None:
        """Write ``y = alpha matrix x + beta y``: a matrix with its lengths, vectors with steps."""
        b = self.b
        a, rows, columns = matrix
        if not beta:
            self.clear(*y, rows)
        letter, first, second, stride = self._layout(a, rows, columns, "TN")
        # If there is nothing to add, BLAS leaves y unchanged or not, depending on its version.
        with when(b, b.ne(columns, 0)):
            self.call(
                "gemv",
                letter,
                self.integer(first),
                self.integer(second),
                self.number(alpha),
                a.pointer,
                self.integer(stride),
                x[0],
                self.integer(x[1]),
                self.number(1),
                y[0],
                self.integer(y[1]),
            )

    def clear(self, pointer: Value, step: Value, count: Value) -> None:
        """Set elements to 0."""
        b = self.b
        with loop(b, 0, count) as single:
            place = b.offset(pointer, single.index * step, self.type)
            store(b, emit_literal(b, 0, self.type), place)


def call_product(b: Builder, type: MachineType, adds: Value, arguments: Sequence[Value]) -> None:
    """Call the function of :func:`product_routine` that adds, or not."""
    with either(b, b.eq(adds, 0)) as (then, otherwise):
        for side in (then, otherwise):
            with side:
                b.call(product_routine(b.module, type, adds=side is otherwise), VOID, arguments)


def product_routine(module: Module, type: MachineType, *, adds: bool) -> str:
    """Return the function of a module for ``c = alpha first second``, or ``c +=`` it, by BLAS.

    It takes m, n and k, both matrices as :attr:`Matrix.parts`, c with its stride, and the address
    of alpha. A matrix of one row or one column is treated as a vector, for which BLAS takes half
    the time.
    """
    name = f"product.{BLAS_LETTERS[type.name]}{'.add' * adds}"
    if all(function.name != name for function in module.functions):
        matrix = [PTR, INT64, INT64]
        parameters = [INT64, INT64, INT64, *matrix, *matrix, PTR, INT64, PTR]
        function = module.function(name, VOID, parameters, linkage="internal")
        _write_product(Builder(function), type, int(adds))
    return name


def _write_product(b: Builder, type: MachineType, beta: int) -> None:
    m, n, k, *parts, c, c_down, alpha = b.arguments
    first, second = Matrix(*parts[:3]), Matrix(*parts[3:])
    blas = Routines(b, type)
    with ending_if(b, b.eq(n, 1)):
        blas.matrix_vector((first, m, k), (second.pointer, second.down), (c, c_down), alpha, beta)
        b.ret()
    with ending_if(b, b.eq(m, 1)):
        one = b.constant(INT64, 1)
        x = (first.pointer, first.along)
        blas.matrix_vector((second.transposed(), n, k), x, (c, one), alpha, beta)
        b.ret()
    blas.matrix_matrix((m, n, k), first, second, (c, c_down), alpha, beta)
    b.ret()
