"""The functions of BLAS and LAPACK that are bundled, with the libraries' parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import loop
from phintys.backends.native.assembler.module import Module
from phintys.backends.native.assembler.types import INT8, INT32, INT64, PTR, VOID, type_of
from phintys.backends.native.assembler.values import Value
from phintys.backends.native.export.bundled.factors import (
    exchange,
    factor,
    factor_lu,
    invert,
    square,
)
from phintys.backends.native.export.bundled.numbers import Numbers, StridedMatrix
from phintys.backends.native.export.bundled.products import add_square, multiply, multiply_vector
from phintys.backends.native.export.bundled.triangles import Triangle, apply, scale, solve
from phintys.tensor.blas import BLAS_LETTERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from phintys.backends.native.assembler.target import Target

_TYPES = {letter: type_of(name) for name, letter in BLAS_LETTERS.items()}


def bundled(target: Target, symbols: Iterable[str]) -> Module:
    """Return a module with functions of BLAS and LAPACK.

    Parameters
    ----------
    target
        The CPU.
    symbols
        The names of the functions in generated code, for each of which :func:`is_bundled` is true.
    """
    module = Module(target)
    for symbol in sorted(symbols):
        letter, name = _split(symbol)
        parameters, write = _ROUTINES[name]
        b = Builder(module.function(symbol, VOID, [PTR] * len(parameters.split())))
        given = _Given(b, dict(zip(parameters.split(), b.arguments, strict=True)))
        write(Numbers(b, _TYPES[letter]), given)
        b.ret()
    return module


def is_bundled(symbol: str) -> bool:
    """Return whether there is code for a function of BLAS or LAPACK."""
    letter, name = _split(symbol)
    return letter in _TYPES and name in _ROUTINES


def _split(symbol: str) -> tuple[str, str]:
    """Return the letter of the dtype and the name of a function."""
    name = symbol.split("_", 2)[2]
    return name[0], name[1:]


class _Given:
    """The arguments of a function, all of which are addresses.

    Parameters
    ----------
    b
        The builder.
    pointers
        The arguments by name.
    """

    def __init__(self, b: Builder, pointers: dict[str, Value]) -> None:
        self.b = b
        self._pointers = pointers

    def __getitem__(self, name: str) -> Value:
        return self._pointers[name]

    def integer(self, name: str) -> Value:
        """Return an integer."""
        return self.b.convert(self.b.load(INT32, self[name]), INT64)

    def is_letter(self, name: str, letter: str) -> Value:
        """Return 1 if an argument is a letter, else 0."""
        is_same = self.b.eq(self.b.load(INT8, self[name]), ord(letter))
        return self.b.select(is_same, self.b.constant(INT64, 1), self.b.constant(INT64, 0))

    def rows(self, name: str, stride: str) -> StridedMatrix:
        """Return the transpose of a column-major matrix: its rows are contiguous."""
        one, none = (self.b.constant(INT64, number) for number in (1, 0))
        return StridedMatrix(self[name], self.integer(stride), one, none)

    def columns(self, name: str, stride: str) -> StridedMatrix:
        """Return a column-major matrix."""
        return self.rows(name, stride).transposed()

    def turned(self, name: str, stride: str, letter: str) -> StridedMatrix:
        """Return a matrix, its transpose or its conjugate transpose, as a letter says."""
        b, view = self.b, self.columns(name, stride)
        is_plain = b.ne(self.is_letter(letter, "N"), 0)
        return StridedMatrix(
            view.pointer,
            b.select(is_plain, view.down, view.along),
            b.select(is_plain, view.along, view.down),
            self.is_letter(letter, "C"),
        )

    def triangle(self) -> Triangle:
        """Return the triangle of a, or its transpose, as three letters say."""
        is_plain, is_lower = self.is_letter("trans", "N"), self.is_letter("uplo", "L")
        view = self.turned("a", "lda", "trans")
        return Triangle(view, is_lower ^ is_plain ^ 1, self.is_letter("diag", "U"))

    def lower(self, name: str, stride: str) -> StridedMatrix:
        """Return the lower triangle that a letter says: that of the matrix, or of its transpose."""
        b, view = self.b, self.columns(name, stride)
        is_lower = b.ne(self.is_letter("uplo", "L"), 0)
        down = b.select(is_lower, view.down, view.along)
        return StridedMatrix(
            view.pointer, down, b.select(is_lower, view.along, view.down), view.conjugated
        )

    def finish(self, status: Value) -> None:
        """Store the status."""
        self.b.store(self.b.convert(status, INT32), self["info"])


# ---- products ------------------------------------------------------------------------------------


def _gemm(numbers: Numbers, given: _Given) -> None:
    """``c = alpha op(a) op(b) + beta c``, whose transposes have contiguous rows."""
    lengths = given.integer("n"), given.integer("m"), given.integer("k")
    first = given.turned("b", "ldb", "transb").transposed()
    second = given.turned("a", "lda", "transa").transposed()
    multiply(numbers, lengths, first, second, given.rows("c", "ldc"), given["alpha"], given["beta"])


def _gemv(numbers: Numbers, given: _Given) -> None:
    """``y = alpha op(a) x + beta y``."""
    b = numbers.b
    is_plain = b.ne(given.is_letter("trans", "N"), 0)
    m, n = given.integer("m"), given.integer("n")
    lengths = b.select(is_plain, m, n), b.select(is_plain, n, m)
    x, y = ((given[name], given.integer(f"inc{name}")) for name in "xy")
    factors = given["alpha"], given["beta"]
    multiply_vector(numbers, lengths, given.turned("a", "lda", "trans"), x, y, factors)


def _syrk(numbers: Numbers, given: _Given) -> None:
    """``c = alpha a a^T + beta c``, or ``a^T a``, of real numbers."""
    n, k = given.integer("n"), given.integer("k")
    a, c = given.turned("a", "lda", "trans"), given.lower("c", "ldc")
    add_square(numbers, n, k, a, c, given["alpha"], given["beta"])


# ---- triangles -----------------------------------------------------------------------------------


def _sided(write: Callable[..., None]) -> Callable[[Numbers, _Given], None]:
    """Return the writer of a function of a triangle on the left, or of its transpose."""

    def written(numbers: Numbers, given: _Given) -> None:
        b = numbers.b
        m, n, x = given.integer("m"), given.integer("n"), given.columns("b", "ldb")
        scale(numbers, m, n, x, given["alpha"])
        left, right, after = (b.new_block(name) for name in ("left", "right", "after"))
        b.branch(b.ne(given.is_letter("side", "L"), 0), left, right)
        b.begin(left)
        write(numbers, m, n, given.triangle(), x)
        b.jump(after)
        b.begin(right)
        own = given.triangle()
        turned = Triangle(own.view.transposed(), own.is_lower ^ 1, own.is_unit)
        write(numbers, n, m, turned, x.transposed())
        b.jump(after)
        b.begin(after)

    return written


def _trsv(numbers: Numbers, given: _Given) -> None:
    """``x = op(a)^-1 x``."""
    b = numbers.b
    one, none = (b.constant(INT64, number) for number in (1, 0))
    x = StridedMatrix(given["x"], given.integer("incx"), one, none)
    solve(numbers, given.integer("n"), one, given.triangle(), x)


# ---- factors -------------------------------------------------------------------------------------


def _potrf(numbers: Numbers, given: _Given) -> None:
    """Cholesky factors; that of a transpose is the conjugate."""
    given.finish(factor(numbers, given.integer("n"), given.lower("a", "lda")))


def _trtri(numbers: Numbers, given: _Given) -> None:
    """The inverse of a triangle without a zero on its diagonal."""
    b = numbers.b
    invert(numbers, given.integer("n"), given.lower("a", "lda"), given.is_letter("diag", "U"))
    given.finish(b.constant(INT64, 0))


def _lauum(numbers: Numbers, given: _Given) -> None:
    """``u u^H`` or ``l^H l``."""
    square(numbers, given.integer("n"), given.lower("a", "lda"))
    given.finish(numbers.b.constant(INT64, 0))


def _potri(numbers: Numbers, given: _Given) -> None:
    """The inverse, by a Cholesky factor; the status is the first zero on the diagonal."""
    b = numbers.b
    n, a = given.integer("n"), given.lower("a", "lda")
    with loop(b, 0, n, carried=[b.constant(INT64, 0)]) as one:
        (found,) = one.carried
        is_zero = numbers.is_zero(numbers.read(a, one.index, one.index)) & b.eq(found, 0)
        one.next(b.select(is_zero, one.index + 1, found))
    (status,) = one.results
    some, after = b.new_block("some"), b.new_block("after")
    b.branch(b.eq(status, 0), some, after)
    b.begin(some)
    invert(numbers, n, a, b.constant(INT64, 0))
    square(numbers, n, a)
    b.jump(after)
    b.begin(after)
    given.finish(status)


def _getrf(numbers: Numbers, given: _Given) -> None:
    """``p a = l u``."""
    m, n = given.integer("m"), given.integer("n")
    given.finish(factor_lu(numbers, m, n, given.columns("a", "lda"), given["ipiv"]))


def _getrs(numbers: Numbers, given: _Given) -> None:
    """``x = op(a)^-1 x`` by LU factors."""
    b = numbers.b
    n, k, x = given.integer("n"), given.integer("nrhs"), given.columns("b", "ldb")
    a = given.turned("a", "lda", "trans")
    one, none = (b.constant(INT64, number) for number in (1, 0))
    is_plain = b.ne(given.is_letter("trans", "N"), 0)

    def exchange_rows(*, backward: bool) -> None:
        with loop(b, 0, n) as step:
            row = n - 1 - step.index if backward else step.index
            other = b.convert(b.load(INT32, b.offset(given["ipiv"], row, INT32)), INT64)
            exchange(numbers, k, x, row, other - 1)

    plain, turned, after = (b.new_block(name) for name in ("plain", "turned", "after"))
    b.branch(is_plain, plain, turned)
    b.begin(plain)
    exchange_rows(backward=False)
    solve(numbers, n, k, Triangle(a, one, one), x)
    solve(numbers, n, k, Triangle(a, none, none), x)
    b.jump(after)
    b.begin(turned)
    solve(numbers, n, k, Triangle(a, one, none), x)
    solve(numbers, n, k, Triangle(a, none, one), x)
    exchange_rows(backward=True)
    b.jump(after)
    b.begin(after)
    given.finish(none)


_SIDED = "side uplo trans diag m n alpha a lda b ldb"

_ROUTINES: dict[str, tuple[str, Callable[[Numbers, _Given], None]]] = {
    "gemm": ("transa transb m n k alpha a lda b ldb beta c ldc", _gemm),
    "gemv": ("trans m n alpha a lda x incx beta y incy", _gemv),
    "syrk": ("uplo trans n k alpha a lda beta c ldc", _syrk),
    "trsm": (_SIDED, _sided(solve)),
    "trmm": (_SIDED, _sided(apply)),
    "trsv": ("uplo trans diag n a lda x incx", _trsv),
    "potrf": ("uplo n a lda info", _potrf),
    "potri": ("uplo n a lda info", _potri),
    "trtri": ("uplo diag n a lda info", _trtri),
    "lauum": ("uplo n a lda info", _lauum),
    "getrf": ("m n a lda ipiv info", _getrf),
    "getrs": ("trans n nrhs a lda ipiv b ldb info", _getrs),
}
"""For each function, without the letter of its dtype, its parameters and what writes its code."""
