"""Calls of BLAS.

Slices and transposes that BLAS supports are passed as offsets, strides and flags, without copies.

Options of a :class:`~phintys.backends.native.steps.call.LibraryCall`; each is a
:class:`~phintys.backends.native.sizes.Size` (in elements) unless it says otherwise:

``gemm``: ``c = alpha a b + beta c``, where a is m by k and b is k by n
    ``m n k``; ``a_offset b_offset c_offset`` (0); ``a_stride b_stride c_stride``, from one row to
    the next in memory; ``a_transposed b_transposed`` (bools): in memory it is k by m, or n by k.
``gemv``: ``y = alpha a x + beta y``, where a is m by n
    ``m n``; ``a_offset a_stride a_transposed``; ``x_offset x_step``, ``y_offset y_step``.

Both take ``alpha`` (1), a Python number or an array without dimensions, which is then the last of
the inputs; ``beta`` (0), which is 0 or 1; and ``batch``: a sequence of tuples, for each loop around
the routine its length and by how much each operand and the output move. Steps and strides are
positive. ``packed`` is an array that holds the columns of a, contiguous, if it is small. Inputs are
``(a, b)`` or ``(a, x)``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

from phintys._base.errors import IntegrityError
from phintys._base.records import record
from phintys.backends.native.assembler.control import either, loop, when
from phintys.backends.native.assembler.types import INT64, VOID, type_of
from phintys.backends.native.assembler.values import Value
from phintys.backends.native.limits import (
    MOST_BY_COLUMNS,
    MOST_BY_ROWS,
    MOST_IN_TILES,
    POLLED_PRODUCTS,
    SHARED_PRODUCT,
    SHARED_VECTOR_PRODUCT,
    SMALL_PRODUCT,
)
from phintys.backends.native.routines.blas_functions import Matrix, Routines, product_routine
from phintys.backends.native.routines.outlined_products import (
    has_tiles,
    most_in_tiles,
    product_symbol,
)
from phintys.backends.native.routines.product_parts import parts_symbol
from phintys.backends.native.routines.times_vectors import columns_symbol, rows_symbol
from phintys.backends.native.values import Array
from phintys.tensor.blas import BLAS_LETTERS

if TYPE_CHECKING:
    from phintys.backends.native.steps.call import CallWriter, LibraryCall


class BlasCall:
    """Emits a call of BLAS: the base of one class for each routine.

    Parameters
    ----------
    call
        The step.
    writer
        Emits the code around it.
    """

    letters: ClassVar[str]
    """The names of both factors and of the output in options."""

    def __init__(self, call: LibraryCall[Any], writer: CallWriter) -> None:
        self.b = writer.b
        self.call = call
        self.writer = writer
        self.options = call.options
        self.type = type_of(call.outputs[0].dtype)
        self.blas = Routines(self.b, self.type)
        if self.type.name not in BLAS_LETTERS:
            msg = f"There is no routine {call.routine.name!r} of {self.type.name} in BLAS."
            raise IntegrityError(msg)
        arrays = (*call.inputs[:2], *call.outputs)
        for option in call.sizes():  # values first computed in a loop cannot be used after it
            writer.size(option)
        self.at = {
            letter: self._moved(writer.pointer(array), self.size(f"{letter}_offset", 0))
            for letter, array in zip(self.letters, arrays, strict=True)
        }
        alpha = self.options.get("alpha", 1)
        self._alpha = writer.pointer(alpha) if isinstance(alpha, Array) else alpha

    def write(self) -> None:
        """Write the call, and the loops around it."""
        self._batch(self.letters, list(self.options.get("batch", ())), self.at)

    def _batch(self, letters: str, batch: Sequence[Any], at: dict[str, Value]) -> None:
        """Write the loops around the routine."""
        if not batch:
            self.at = at
            self._one()
            return
        (count, *steps), *rest = batch
        values = [self.writer.size(step) for step in steps]
        self.at = at
        if not rest and self._stack(self.writer.size(count), values):
            return
        with loop(self.b, 0, self.writer.size(count)) as single:
            inner = {
                letter: self._moved(at[letter], single.index * step)
                for letter, step in zip(letters, values, strict=True)
            }
            self._batch(letters, rest, inner)
            if not rest:
                self._poll_products(single.index)

    def _one(self) -> None:
        """Write a single product."""
        raise NotImplementedError

    def _stack(self, count: Value, moves: list[Value]) -> bool:
        """Write a stack of products without a loop, if possible; return whether it was."""
        return False

    def _poll_products(self, index: Value) -> None:
        """Write an occasional signal check at the end of an iteration of a loop over products."""
        b = self.b
        lengths = [self.size(name) for name in "mnk" if name in self.options]
        work = prod(lengths[1:], start=lengths[0])
        often = b.select(b.lt(SMALL_PRODUCT, work), b.constant(INT64, 0), POLLED_PRODUCTS - 1)
        with when(b, b.eq(index & often, often)):
            self.writer.poll()

    # ---- options -----------------------------------------------------------------------------

    def size(self, name: str, otherwise: int | None = None) -> Value:
        """Return a size among the options."""
        value = self.options.get(name)
        if value is None:
            if otherwise is None:
                msg = f"A call of {self.call.routine.name} needs the option {name!r}."
                raise IntegrityError(msg)
            return self.b.constant(INT64, otherwise)
        return self.writer.size(value)

    def _moved(self, pointer: Value, elements: Value) -> Value:
        return pointer if elements.text == "0" else self.b.offset(pointer, elements, self.type)

    def _matrix(self, letter: str) -> Matrix:
        stride, one = self.size(f"{letter}_stride"), self.b.constant(INT64, 1)
        is_transposed = self.options.get(f"{letter}_transposed")
        down, along = (one, stride) if is_transposed else (stride, one)
        return Matrix(self.at[letter], down, along)

    def _factors(self) -> tuple[Any, int]:
        """Return alpha, a number or the address of one, and beta, 0 or 1."""
        return self._alpha, self.options.get("beta", 0)

    def _in_registers(self) -> list[Value]:
        """Return both factors as values."""
        alpha, beta = self._factors()
        if isinstance(alpha, Value):
            alpha = self.b.load(self.type, alpha)
        return [self.b.value(self.type, factor) for factor in (alpha, beta)]

    # ---- products ----------------------------------------------------------------------------

    def _by_size(
        self,
        lengths: Sequence[Value],
        least: int,
        shared: Callable[[], None],
        alone: Callable[[], None],
    ) -> None:
        """Write a call whose work threads share, or a direct call of BLAS for small products."""
        b = self.b
        if all(length.text.isdigit() for length in lengths):
            (shared if prod(int(length.text) for length in lengths) >= least else alone)()
            return
        with either(b, prod(lengths[1:], start=lengths[0]) < least) as (if_small, if_large):
            with if_small:
                alone()
            with if_large:
                shared()

    def _at_least_one(self, length: Value) -> Value:
        """Return a length, or 1 if it is 0: writing empty sums is work as well."""
        if length.text.isdigit():
            return self.b.constant(INT64, max(int(length.text), 1))
        return self.b.maximum_number(length, 1)

    def _outlined(self, name: str, arguments: Sequence[Value]) -> None:
        """Call an outlined function that shares its work."""
        symbol = parts_symbol(name, self.type)
        self.b.module.math_functions.add(symbol)
        self.writer.share(symbol, arguments)

    def _times_vector(
        self,
        matrix: tuple[Matrix, Value, Value],
        x: tuple[Value, Value],
        y: tuple[Value, Value],
    ) -> None:
        """Write ``y = alpha matrix x + beta y``."""
        b = self.b
        a, rows, columns = matrix
        alpha, beta = self._factors()

        def share() -> None:
            number, adds = self.blas.number(alpha), b.constant(INT64, beta)
            self._outlined("vector_parts", [rows, columns, *a.parts, *x, *y, number, adds])

        self._by_size(
            (rows, self._at_least_one(columns)),
            SHARED_VECTOR_PRODUCT,
            share,
            lambda: self.blas.matrix_vector(matrix, x, y, alpha, beta),
        )


@record(frozen=True, eq=False)
class _Product:
    """``c = first second``.

    Attributes
    ----------
    lengths
        The numbers of rows and columns of c, and the length of the inner axis.
    first, second
        The factors.
    c
        The address of the output, and its stride.
    """

    lengths: tuple[Value, Value, Value]
    first: Matrix
    second: Matrix
    c: tuple[Value, Value]

    @property
    def parts(self) -> tuple[Value, ...]:
        """The values passed to a function for it."""
        return (*self.lengths, *self.first.parts, *self.second.parts, *self.c)


class GemmCall(BlasCall):
    """A product of matrices, or a stack of them."""

    letters: ClassVar[str] = "abc"

    def _one(self) -> None:
        zero = self.b.constant(INT64, 0)
        self._products(self.b.constant(INT64, 1), [zero] * 3)

    def _stack(self, count: Value, moves: list[Value]) -> bool:
        self._products(count, moves)
        return True

    def _products(self, count: Value, moves: list[Value]) -> None:
        """Write products of matrices, given their number and the distances between them."""
        lengths = m, n, k = self.size("m"), self.size("n"), self.size("k")
        c = (self.at["c"], self.size("c_stride"))
        product = _Product(lengths, self._matrix("a"), self._matrix("b"), c)
        if "1" in {m.text, n.text}:  # a product with a vector
            self._each(product, count, moves)
            return
        self._by_size(
            (m, n, self._at_least_one(k)),
            SHARED_PRODUCT if count.text == "1" else MOST_IN_TILES,
            lambda: self._shared(product, count, moves),
            lambda: self._each(product, count, moves),
        )

    def _shared(self, product: _Product, count: Value, moves: list[Value]) -> None:
        """Write products that the outlined function divides into parts."""
        alpha, beta = self._factors()
        adds = self.b.constant(INT64, beta)
        arguments = [*product.parts, self.blas.number(alpha), adds, count, *moves]
        self._outlined("product_parts", arguments)

    def _each(self, product: _Product, count: Value, moves: list[Value]) -> None:
        """Write products in order, one call for each."""
        if count.text == "1":
            self._product(product)
            return
        first, second, (c, stride) = product.first, product.second, product.c
        with loop(self.b, 0, count) as single:
            pointers = [
                self._moved(pointer, single.index * move)
                for pointer, move in zip((first.pointer, second.pointer, c), moves, strict=True)
            ]
            moved = _Product(
                product.lengths,
                Matrix(pointers[0], first.down, first.along),
                Matrix(pointers[1], second.down, second.along),
                (pointers[2], stride),
            )
            self._product(moved)
            self._poll_products(single.index)

    def _product(self, product: _Product) -> None:
        b = self.b
        m, n, k = product.lengths
        first, second, c = product.first, product.second, product.c
        if n.text == "1":
            self._times_vector((first, m, k), (second.pointer, second.down), c)
        elif m.text == "1":
            row, one = (first.pointer, first.along), b.constant(INT64, 1)
            self._times_vector((second.transposed(), n, k), row, (c[0], one))
        elif most := self._most_in_tiles(product.lengths):
            symbol = product_symbol(b.target, self.type)
            b.module.math_functions.add(symbol)
            alpha, beta = self._factors()
            alpha = (
                b.load(self.type, alpha) if isinstance(alpha, Value) else b.value(self.type, alpha)
            )
            factors = alpha, b.constant(INT64, beta)
            b.call(symbol, VOID, (b.constant(INT64, most), *product.parts, *factors))
        else:
            alpha, beta = self._factors()
            symbol = product_routine(b.module, self.type, adds=beta == 1)
            b.call(symbol, VOID, (*product.parts, self.blas.number(alpha)))

    def _most_in_tiles(self, lengths: Sequence[Value]) -> int:
        known = [int(value.text) if value.text.isdigit() else None for value in lengths]
        is_repeated = "batch" in self.options or self.writer.is_repeated
        return most_in_tiles(self.b.target, self.type, known, is_repeated=is_repeated)


_Outlined = tuple[str, int, tuple[Value, Value], tuple[Value, ...]]
"""A function for small products, up to how many elements, the matrix, and where the result is."""


class GemvCall(BlasCall):
    """A product of a matrix and a vector."""

    letters: ClassVar[str] = "axy"

    def _one(self) -> None:
        m, n = self.size("m"), self.size("n")
        x = (self.at["x"], self.size("x_step", 1))
        y = (self.at["y"], self.size("y_step", 1))
        matrix = self._matrix("a")
        found = self._columns(matrix, y) or self._rows(matrix, y)
        if found is None:
            self._times_vector((matrix, m, n), x, y)
            return
        b = self.b
        symbol, most, parts, out = found
        with self.writer.where_fixed(self.options["m"], self.options["n"]):
            is_small = m * n <= most
        with either(b, is_small) as (if_small, if_large):
            with if_small:
                b.module.math_functions.add(symbol)
                b.call(symbol, VOID, [m, n, *parts, *x, *out, *self._in_registers()])
            with if_large:
                self._times_vector((matrix, m, n), x, y)

    def _columns(self, matrix: Matrix, y: tuple[Value, Value]) -> _Outlined | None:
        """Return the function for contiguous columns, if there are any, in a loop of steps."""
        if not self._is_repeated() or y[1].text != "1":
            return None
        packed = self.options.get("packed")
        if packed is not None:
            parts = self.writer.pointer(packed), self.size("m")
        elif matrix.down.text == "1":
            parts = matrix.pointer, matrix.along
        else:
            return None
        return columns_symbol(self.b.target, self.type), MOST_BY_COLUMNS, parts, y[:1]

    def _rows(self, matrix: Matrix, y: tuple[Value, Value]) -> _Outlined | None:
        """Return the function for contiguous rows, if there are any, in a loop of steps."""
        if not self._is_repeated() or matrix.along.text != "1":
            return None
        return rows_symbol(self.type), MOST_BY_ROWS, (matrix.pointer, matrix.down), y

    def _is_repeated(self) -> bool:
        return self.writer.is_repeated and has_tiles(self.b.target, self.type)
