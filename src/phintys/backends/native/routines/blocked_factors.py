"""Outlined Cholesky factors of a large matrix, and inverses by them, in blocks for threads.

LAPACK leaves its threads to BLAS, whose threads wait for each other by spinning, and whose results
depend on their number. Here a matrix is divided into blocks by its size alone. Threads of the pool
compute several of them at once, each by functions of BLAS and LAPACK that use one thread. For the
blocked forms see Golub & Van Loan, Matrix Computations, 4.2.6 and 3.1.4.

Matrices are row-major, and worked on in place: the lower triangles are read and written. The upper
ones are zero, before and after; the inverse uses them as scratch memory meanwhile. The libraries
are column-major: they see transposes, of which the upper triangles are the lower ones here.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import divide_up, either, leaving, loop, when
from phintys.backends.native.assembler.math import OutlinedSymbol, outlined_function
from phintys.backends.native.assembler.records import Record
from phintys.backends.native.assembler.types import INT32, INT64, PTR, VOID, MachineType, type_of
from phintys.backends.native.assembler.values import Value
from phintys.backends.native.limits import BLOCKED_ROWS_A_BYTE, FACTOR_BLOCK, FACTOR_BLOCK_TILE
from phintys.backends.native.routines.blas_functions import Matrix, Routines
from phintys.backends.native.routines.blas_threads import begin_alone, end_alone, threads_of_blas
from phintys.backends.native.routines.ranges import run_ranges, runtime_of
from phintys.tensor.blas import BLAS_LETTERS

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from phintys.backends.native.assembler.module import Block, Module
    from phintys.backends.native.assembler.target import Target


BLOCKED = Record.packed(
    place=PTR,
    n=INT64,
    status=INT64,  # the order of the first leading minor that is not positive; 0 if there is none
    first=INT64,  # the block at hand, from its first row ...
    after=INT64,  # ... to the one after it
)
"""What the functions are passed. The caller sets ``place`` and ``n``."""


def most_unblocked(target: Target) -> int:
    """Return how many rows a matrix has at most that is not divided into blocks.

    Tiles of registers take less time the wider vectors are.
    """
    return BLOCKED_ROWS_A_BYTE * target.vector_bytes


def blocked_factor_symbol(type: MachineType) -> str:
    """Return the symbol of the function that replaces a matrix by its Cholesky factor.

    It is ``i32 (state, parallel_for, poll, call)``, with a record :data:`BLOCKED`, and returns what
    ``parallel_for`` does.
    """
    return OutlinedSymbol("blocked_cholesky", type.name, 1).symbol


def blocked_inverse_symbol(type: MachineType) -> str:
    """Return the symbol of the function that replaces a Cholesky factor L by ``(L L^T)^-1``.

    It has the same parameters. There must be no zero on the diagonal.
    """
    return OutlinedSymbol("blocked_inverse", type.name, 1).symbol


# ---- Cholesky factors ----------------------------------------------------------------------------


@outlined_function("blocked_cholesky")
def write_blocked_factor(module: Module, key: OutlinedSymbol) -> None:
    """One block of columns k after the other, with all rows i from its diagonal on.

    ``A[i, k] -= L[i, :k] L[k, :k]^T``; ``L[k, k]`` is the factor of ``A[k, k]``, by LAPACK; and
    ``L[i, k] = A[i, k] L[k, k]^-T``.
    """
    type = type_of(key.dtype)
    subtract = _kernel(module, type, "subtract", _subtract)
    divide = _kernel(module, type, "divide", _divide)
    with _function(module, key, type) as work:
        b = work.b
        with loop(b, 0, work.n, FACTOR_BLOCK) as block:
            after = work.begin(block.index)[1]
            below = divide_up(b, work.n - after, FACTOR_BLOCK_TILE)
            work.share(subtract, below + 1)
            with leaving(b, b.ne(BLOCKED.load(b, work.call, "status"), 0), work.end):
                pass
            work.share(divide, below)


def _subtract(work: _Work, number: Value) -> None:
    """Subtract what the columns before contribute to a tile; first the block on the diagonal."""
    b = work.b
    with either(b, b.eq(number, 0)) as (is_first, is_below):
        with is_first:
            _factorize_diagonal(work)
        with is_below:
            first, row = work.first, work.row_below(number - 1)
            with when(b, b.lt(0, first)):
                rows = b.minimum_number(work.n - row, FACTOR_BLOCK_TILE)
                turned = work.part(first, 0).transposed()
                lengths = (rows, work.after - first, first)
                work.add_product(lengths, work.part(row, 0), turned, (row, first), alpha=-1)


def _factorize_diagonal(work: _Work) -> None:
    first, after = work.first, work.after
    with when(work.b, work.b.lt(0, first)):
        lengths, target = (after - first, first), work.at(first, first)
        work.add_square(lengths, work.at(first, 0), target, alpha=-1)
    work.factor(first, after)


def _divide(work: _Work, number: Value) -> None:
    """Multiply a tile below the diagonal by the inverse of the transposed block on it."""
    first, row = work.first, work.row_below(number)
    rows = work.b.minimum_number(work.n - row, FACTOR_BLOCK_TILE)
    diagonal, target = work.at(first, first), work.at(row, first)
    work.triangular("trsm", "LUTN", (work.after - first, rows), 1, diagonal, target)


# ---- inverses ------------------------------------------------------------------------------------


@outlined_function("blocked_inverse")
def write_blocked_inverse(module: Module, key: OutlinedSymbol) -> None:
    """First ``M = L^-1``, one block of rows i after the other, then ``M^T M``.

    The blocks of M on the diagonal replace those of L. The others are kept, transposed, above it,
    in tiles of columns c: ``M[i, c] = -M[i, i] L[i, :i] M[:i, c]``. So L is there as long as it is
    needed, and those of ``M^T M`` take its place, all at once.
    """
    type = type_of(key.dtype)
    invert, combine, multiply, square, clear = (
        _kernel(module, type, name, write)
        for name, write in (
            ("invert", _invert),
            ("combine", _combine),
            ("multiply", _multiply),
            ("square", _square),
            ("clear", _clear),
        )
    )
    with _function(module, key, type) as work:
        b = work.b
        blocks = divide_up(b, work.n, FACTOR_BLOCK)
        work.share(invert, blocks)
        with loop(b, FACTOR_BLOCK, work.n, FACTOR_BLOCK) as block:
            work.share(combine, b.binary("sdiv", work.begin(block.index)[0], work.tile))
        work.share(multiply, blocks * blocks * (FACTOR_BLOCK // FACTOR_BLOCK_TILE))
        work.share(square, blocks)
        work.share(clear, blocks)


def _invert(work: _Work, number: Value) -> None:
    """Invert a block on the diagonal."""
    work.invert(*work.block(number))


def _combine(work: _Work, number: Value) -> None:
    """Compute a tile of M, transposed, for the block of rows at hand."""
    b = work.b
    first, rows, column = work.first, work.after - work.first, number * FACTOR_BLOCK_TILE
    target = (column, first)
    _, end = work.block(b.binary("sdiv", column, b.constant(INT64, FACTOR_BLOCK)))
    own, right = work.part(column, column).transposed(), work.part(first, column).transposed()
    work.add_product((work.tile, rows, end - column), own, right, target, alpha=1, beta=0)
    with when(b, end < first):
        left, right = work.part(column, end), work.part(first, end).transposed()
        work.add_product((work.tile, rows, first - end), left, right, target, alpha=1)
    diagonal = work.at(first, first)
    work.triangular("trmm", "LUTN", (rows, work.tile), -1, diagonal, work.at(*target))


def _multiply(work: _Work, number: Value) -> None:
    """Compute a tile of the result below the diagonal."""
    with _pair(work, number) as (first, after, column):
        rows, target = after - first, (first, column)
        left, right = work.part(first, first).transposed(), work.part(column, first).transposed()
        work.add_product((rows, work.tile, rows), left, right, target, alpha=1, beta=0)
        with when(work.b, after < work.n):
            left, right = work.part(first, after), work.part(column, after).transposed()
            work.add_product((rows, work.tile, work.n - after), left, right, target, alpha=1)


def _square(work: _Work, number: Value) -> None:
    """Compute a block of the result on the diagonal."""
    first, after = work.block(number)
    work.square(first, after)
    with when(work.b, after < work.n):
        lengths, rows = (after - first, work.n - after), work.at(first, after)
        work.add_square(lengths, rows, work.at(first, first), alpha=1)


def _clear(work: _Work, number: Value) -> None:
    """Clear what is right of a block on the diagonal."""
    first, after = work.block(number)
    with when(work.b, after < work.n):
        work.clear((first, after), (after - first, work.n - after))


@contextmanager
def _pair(work: _Work, number: Value) -> Generator[tuple[Value, Value, Value]]:
    """Write code for a block of rows and a tile of columns, if that is left of the diagonal.

    The first blocks, with the longest products, come first.
    """
    b = work.b
    tiles = divide_up(b, work.n, FACTOR_BLOCK) * (FACTOR_BLOCK // FACTOR_BLOCK_TILE)
    place = b.binary("sdiv", number, tiles)
    column = (number - place * tiles) * FACTOR_BLOCK_TILE
    first, after = work.block(place)
    with when(b, column < first):
        yield first, after, column


# ---- writing -------------------------------------------------------------------------------------


class _Work:
    """Writes what is done with the blocks of a matrix, in a function with a record of its own.

    Attributes
    ----------
    call
        The address of the record :data:`BLOCKED`.
    place, n
        The matrix, and its number of rows.
    tile
        The number of rows or columns of a tile.
    """

    def __init__(self, b: Builder, type: MachineType, call: Value) -> None:
        self.b = b
        self.type = type
        self.call = call
        self.place, self.n = BLOCKED.load(b, call, "place"), BLOCKED.load(b, call, "n")
        self._blas = Routines(b, type)
        self._one = b.constant(INT64, 1)
        self.tile = b.constant(INT64, FACTOR_BLOCK_TILE)

    # ---- blocks

    def begin(self, first: Value) -> tuple[Value, Value]:
        """Make a block the one at hand; return its first row, and the one after it."""
        after = self.b.minimum_number(first + FACTOR_BLOCK, self.n)
        BLOCKED.store(self.b, self.call, "first", first)
        BLOCKED.store(self.b, self.call, "after", after)
        return first, after

    @property
    def first(self) -> Value:
        """The first row of the block at hand."""
        return BLOCKED.load(self.b, self.call, "first")

    @property
    def after(self) -> Value:
        """The row after the block at hand."""
        return BLOCKED.load(self.b, self.call, "after")

    def block(self, number: Value) -> tuple[Value, Value]:
        """Return the first row of a block, and the one after it."""
        first = number * FACTOR_BLOCK
        return first, self.b.minimum_number(first + FACTOR_BLOCK, self.n)

    def row_below(self, number: Value) -> Value:
        """Return the first row of a tile below the block at hand."""
        return self.after + number * FACTOR_BLOCK_TILE

    def at(self, row: Value | int, column: Value | int) -> Value:
        """Return the address of an element."""
        b = self.b
        row, column = b.value(INT64, row), b.value(INT64, column)
        return b.offset(self.place, row * self.n + column, self.type)

    def part(self, row: Value | int, column: Value | int) -> Matrix:
        """Return the part of the matrix from an element on."""
        return Matrix(self.at(row, column), self.n, self._one)

    def clear(self, target: tuple[Value, Value], lengths: tuple[Value, Value]) -> None:
        """Fill a block with zeros."""
        b, (rows, columns) = self.b, lengths
        zero = b.constant(self.type, 0)
        with loop(b, 0, rows) as row, loop(b, 0, columns) as column:
            b.store(zero, self.at(target[0] + row.index, target[1] + column.index))

    # ---- functions of BLAS and LAPACK

    def add_product(
        self,
        lengths: tuple[Value, Value, Value],
        left: Matrix,
        right: Matrix,
        target: tuple[Value, Value],
        *,
        alpha: int,
        beta: int = 1,
    ) -> None:
        """Multiply a target by ``beta``, and add ``alpha left right``, with lengths m, n, k."""
        place = (self.at(*target), self.n)
        self._blas.matrix_matrix(lengths, left, right, place, alpha, beta)

    def triangular(
        self,
        name: str,
        letters: str,
        lengths: tuple[Value, Value],
        alpha: int,
        triangle: Value,
        target: Value,
    ) -> None:
        """Multiply a target by a triangle, or by its inverse, as the library sees them."""
        blas = self._blas
        stride = blas.integer(self.n)
        blas.call(
            name,
            *map(blas.letter, letters),
            *map(blas.integer, lengths),
            blas.number(alpha),
            triangle,
            stride,
            target,
            stride,
        )

    def add_square(
        self, lengths: tuple[Value, Value], a: Value, target: Value, *, alpha: int
    ) -> None:
        """Add ``alpha a a^T`` to the lower triangle of a target; the lengths are those of a."""
        blas = self._blas
        stride = blas.integer(self.n)
        letters = (blas.letter("U"), blas.letter("T"))
        sizes = map(blas.integer, lengths)
        scales = (blas.number(alpha), blas.number(1))
        blas.call("syrk", *letters, *sizes, scales[0], a, stride, scales[1], target, stride)

    def factor(self, first: Value, after: Value) -> None:
        """Factorize a block on the diagonal, or note a failure."""
        b = self.b
        status = self._in_block("potrf", "U", first, after)
        with when(b, b.ne(status, 0)):
            BLOCKED.store(b, self.call, "status", first + status)

    def invert(self, first: Value, after: Value) -> None:
        """Invert a triangle on the diagonal."""
        self._in_block("trtri", "UN", first, after)

    def square(self, first: Value, after: Value) -> None:
        """Multiply the transpose of a triangle on the diagonal by itself, in its place."""
        self._in_block("lauum", "U", first, after)

    def _in_block(self, name: str, letters: str, first: Value, after: Value) -> Value:
        b, blas = self.b, self._blas
        status = b.slot(INT32)
        b.call(
            f"phintys_lapack_{BLAS_LETTERS[self.type.name]}{name}",
            VOID,
            [
                *map(blas.letter, letters),
                blas.integer(after - first),
                self.at(first, first),
                blas.integer(self.n),
                status,
            ],
        )
        return b.convert(b.load(INT32, status), INT64)


class _SharedWork(_Work):
    """The same in the function that is called, which hands blocks to threads.

    Attributes
    ----------
    end
        Where the function returns.
    """

    def __init__(self, b: Builder, type: MachineType, end: Block) -> None:
        super().__init__(b, type, b.arguments[3])
        self.end = end
        self._runtime = runtime_of(b)

    @property
    def outcome(self) -> Value:
        """What ``parallel_for`` returned last."""
        return self.b.load(INT32, self._runtime.status)

    def share(self, kernel: str, count: Value) -> None:
        """Let threads run a kernel for a number of blocks or tiles; return if that is ended."""
        b = self.b
        one_each = b.constant(INT64, -1)
        run_ranges(b, kernel, self._runtime, self.call, count, one_each)
        with leaving(b, b.ne(self.outcome, 0), self.end):
            pass


@contextmanager
def _function(module: Module, key: OutlinedSymbol, type: MachineType) -> Generator[_SharedWork]:
    """Begin a function, in which BLAS uses one thread, and return at its end."""
    b = Builder(module.function(key.symbol, INT32, [PTR, PTR, PTR, PTR]))
    threads = threads_of_blas(b)
    begin_alone(b, threads)
    work = _SharedWork(b, type, b.new_block("end"))
    BLOCKED.store(b, work.call, "status", 0)
    yield work
    b.jump(work.end)
    b.begin(work.end)
    end_alone(b, threads)
    b.ret(work.outcome)


def _kernel(
    module: Module, type: MachineType, name: str, write: Callable[[_Work, Value], None]
) -> str:
    """Write ``(call, begin, end)``: what is done with each block or tile of a range."""
    symbol = f"{name}.{type.name}"
    b = Builder(module.function(symbol, VOID, [PTR, INT64, INT64], linkage="internal"))
    call, begin, end = b.arguments
    work = _Work(b, type, call)
    with loop(b, begin, end) as each:
        write(work, each.index)
    b.ret()
    return symbol
