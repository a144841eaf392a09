"""Fourier transforms along one axis, of any number of points, outlined.

Sequences are copied to planes of real and imaginary parts, some of them side by side, so that
vectors hold numbers of several. Numbers of points without a prime factor above 7 are transformed by
stages. Any other number is a convolution with a chirp, of more points (Bluestein, A linear
filtering approach to the computation of the discrete Fourier transform, 1970). An even number of
real points is transformed as half as many complex ones, which hold the even and the odd points
(Cooley, Lewis and Welch 1970).

The inverse transform is the transform with real and imaginary parts exchanged, before and after.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import computed_if, either, ending_if, loop, when
from phintys.backends.native.assembler.math import OutlinedSymbol, outlined_function
from phintys.backends.native.assembler.math.floating import sqrt
from phintys.backends.native.assembler.records import Record
from phintys.backends.native.assembler.types import (
    BOOL,
    FLOAT64,
    INT32,
    INT64,
    PTR,
    VOID,
    type_of,
)
from phintys.backends.native.assembler.values import Complex, Value
from phintys.backends.native.limits import FOURIER_NANOSECONDS
from phintys.backends.native.routines.fourier_stages import (
    RADICES,
    load,
    minus,
    plus,
    products_symbol,
    root,
    roots_symbol,
    rounded,
    stages_symbol,
    store,
    times,
    without_factor,
    write_products,
    write_stages,
)
from phintys.backends.native.routines.ranges import call_with_record, runtime_of
from phintys.backends.native.steps.call import CallWriter, LibraryCall, Routine

if TYPE_CHECKING:
    from collections.abc import Callable

    from phintys.backends.native.assembler.module import Module
    from phintys.backends.native.polynomials import Costs, Polynomial
    from phintys.backends.native.sizes import Size, Sizes

NORMS = ("none", "points", "root")
"""What the result is divided by: nothing, the number of points, its root."""

_TRANSFORM = Record.packed(
    source=PTR,
    target=PTR,
    work=PTR,
    n=INT64,  # points of a sequence: of the real one, where half of a transform stands for all
    inner=INT64,  # from one point to the next: the number of sequences that are side by side
    count=INT64,  # of sequences
    block=INT64,  # how many are transformed at once
    inverse=INT64,  # 1 or 0
    norm=INT64,  # the number of one of NORMS
)
"""What the function is passed."""


class _Fourier(Routine):
    """Fourier transforms of sequences; the options are those of :data:`_TRANSFORM`.

    Parameters
    ----------
    name
        One of the names of outlined functions.
    """

    calls_blas: ClassVar[bool] = False

    def __init__(self, name: str) -> None:
        self.name = name

    def work(self, call: LibraryCall[Any], costs: Costs) -> Polynomial:
        """Return a rough estimate of its time."""
        return call.time(costs, FOURIER_NANOSECONDS, "n", "count")

    def emit(self, call: LibraryCall[Any], writer: CallWriter) -> None:
        """Write the call of the outlined function."""
        arrays = {
            "source": call.inputs[0],
            "target": call.outputs[0],
            "work": call.workspace[0],
        }
        symbol = OutlinedSymbol(self.name, call.workspace[0].dtype.name, 1).symbol
        call_with_record(_TRANSFORM, arrays, call, writer, symbol)


COMPLEX, OF_REAL, TO_REAL = (
    _Fourier("fourier"),
    _Fourier("fourier_of_real"),
    _Fourier("fourier_to_real"),
)


def room(sizes: Sizes, n: Size, block: Size, *, is_real: bool) -> Size:
    """Return how many numbers of workspace are enough for n points of some sequences at once."""
    fixed = sizes.fixed
    if n.known is not None:
        used, tables = map(fixed, _room(n.known, is_real))
        return sizes.add(sizes.mul(sizes.mul(fixed(4), block), used), tables)
    # A convolution has at most 5 n / 2 points, in four planes, with four tables of them.
    each = sizes.add(sizes.mul(fixed(10), block), fixed(15))
    return sizes.add(sizes.mul(each, n), fixed(2))


def _room(n: int, is_real: bool) -> tuple[int, int]:
    """Return the points of each plane for a sequence, and the numbers of the tables."""
    points = n // 2 if is_real and n % 2 == 0 else n
    left = max(points, 1)
    for radix in RADICES:
        while left % radix == 0:
            left //= radix
    turns = 2 * points + 2 if is_real else 0
    if left == 1:
        return points, 2 * points + turns
    least = 2 * points - 1
    used = least + (1 << max(least.bit_length() - 3, 0))
    return used, 4 * used + 2 * points + turns


@outlined_function("fourier", "fourier_of_real", "fourier_to_real")
def write_fourier(module: Module, key: OutlinedSymbol) -> None:
    """Write ``i32 (state, parallel_for, poll, transform)`` into a module."""
    b = Builder(module.function(key.symbol, INT32, [PTR] * 4))
    _Sequences(b, key).write()
    b.ret(b.constant(INT32, 0))
    part = type_of(key.dtype)
    write_stages(module, part)
    write_products(module, part)


class _Sequences:
    """Writes the transform of all sequences.

    Attributes of type Complex are pairs of planes.
    """

    def __init__(self, b: Builder, key: OutlinedSymbol) -> None:
        self.b = b
        self.name = key.name
        self.part = type_of(key.dtype)
        self.runtime = runtime_of(b)
        block = b.arguments[3]
        given = {name: _TRANSFORM.load(b, block, name) for name in _TRANSFORM.fields}
        self.source, self.target = given["source"], given["target"]
        self.n, self.inner, self.count = given["n"], given["inner"], given["count"]
        self.block, self.inverse = given["block"], given["inverse"]
        self.scale = self._scale(given["norm"])
        self._free = given["work"]
        self.half = b.binary("sdiv", self.n, 2)
        self.is_paired = b.eq(self.n & 1, 0) if self._is_real else b.constant(BOOL, 0)
        self.points = b.select(self.is_paired, self.half, self.n)
        self._set_up()

    @property
    def _is_real(self) -> bool:
        return self.name != "fourier"

    def _scale(self, norm: Value) -> Value:
        """Return the factor of the results."""
        b = self.b
        n = b.convert(self.n, FLOAT64)
        divisor = b.select(b.eq(norm, NORMS.index("root")), sqrt(b, n), n)
        divisor = b.select(b.eq(norm, NORMS.index("none")), b.constant(FLOAT64, 1.0), divisor)
        return b.convert(b.div(1.0, divisor), self.part)

    # ---- memory and tables

    def _planes(self, count: Value) -> Complex:
        """Return room for as many numbers."""
        b = self.b
        first = self._free
        second = b.offset(first, count, self.part)
        self._free = b.offset(second, count, self.part)
        return Complex(first, second)

    def _set_up(self) -> None:
        """Lay out the memory, and compute the roots."""
        b, points = self.b, self.points
        left = points
        for radix in RADICES:
            left = without_factor(b, left, radix)
        self.is_convolved = b.ne(left, 1)
        self.used = b.select(self.is_convolved, self._longer(), points)
        self.planes = self._planes(self.used * self.block)
        self.others = self._planes(self.used * self.block)
        self.roots = self._planes(self.used)
        self._roots(self.roots, self.used, self.used)
        if self._is_real:
            self.turns = self._planes(points + 1)
            with when(b, self.is_paired):
                self._roots(self.turns, points + 1, self.n)
        self.chirp = self._planes(points)
        self.spectrum = self._planes(self.used)
        with when(b, self.is_convolved):
            self._prepare_convolution()

    def _longer(self) -> Value:
        """Return a number of points from ``2 points - 1`` on: 4 to 8 times a power of two."""
        b = self.b
        least = self.points * 2 - 1
        name = "llvm.ctlz.i64"
        b.module.declare(name, f"i64 @{name}(i64, i1)")
        bits = b.sub(64, b.write(INT64, f"call i64 @{name}({least.typed}, i1 true)"))
        unit = b.constant(INT64, 1) << b.maximum_number(bits - 3, 0)
        return (least + unit - 1) & b.neg(unit)

    def _roots(self, planes: Complex, count: Value, n: Value) -> None:
        self.b.call(roots_symbol(self.part), VOID, [*planes, count, n])

    def _prepare_convolution(self) -> None:
        """Compute ``exp(-pi i k^2 / n)`` for each point, and the transform of its conjugate."""
        b, part, n = self.b, self.part, self.points
        self._clear(self.planes, b.constant(INT64, 0), self.used)
        double = n * 2
        total = b.convert(double, FLOAT64)
        factor = b.convert(b.div(1.0, b.convert(self.used, FLOAT64)), part)
        with loop(b, 0, n, carried=[b.constant(INT64, 0)], runs=True) as each:
            (number,) = each.carried  # k^2 modulo 2 n
            one = rounded(b, root(b, b.convert(number, FLOAT64), total), part)
            store(b, one, self.chirp, each.index)
            conjugate = Complex(one.re * factor, b.neg(one.im) * factor)
            behind = b.select(b.eq(each.index, 0), each.index, self.used - each.index)
            store(b, conjugate, self.planes, each.index)
            store(b, conjugate, self.planes, behind)
            number = number + each.index * 2 + 1
            each.next(b.select(number >= double, number - double, number))
        found = self._staged(self.planes, self.others, b.constant(INT64, 1))
        with loop(b, 0, self.used) as each:
            store(b, load(b, part, found, each.index), self.spectrum, each.index)

    def _clear(self, planes: Complex, start: Value, stop: Value) -> None:
        """Set numbers to zero."""
        b, zero = self.b, self.b.constant(self.part, 0)
        with loop(b, start, stop) as each:
            store(b, Complex(zero, zero), planes, each.index)

    # ---- transforms

    def _staged(self, planes: Complex, others: Complex, side: Value) -> Complex:
        """Transform sequences, and return where they are."""
        b = self.b
        place = b.slot(INT64)
        arguments = [*b.arguments[:3], *planes, *others, *self.roots, self.used, side, place]
        status = b.call(stages_symbol(self.part), INT32, arguments)
        with ending_if(b, b.ne(status, 0)):
            b.ret(status)
        is_other = b.ne(b.load(INT64, place), 0)
        pairs = zip(planes, others, strict=True)
        return Complex(*[b.select(is_other, other, plane) for plane, other in pairs])

    def write(self) -> None:
        """Write the loop over blocks of sequences."""
        b = self.b
        with loop(b, 0, self.count, self.block) as block:
            side = b.minimum_number(self.count - block.index, self.block)
            self._each(block.index, side, self._read)
            found = self._transformed(side)
            self._each(block.index, side, lambda *given: self._write(found, *given))

    def _transformed(self, side: Value) -> Complex:
        """Return the planes with the transforms of those that have been read."""
        b = self.b
        with when(b, self.is_convolved):
            self._multiply(self.planes, self.chirp, self.points, side)
            self._clear(self.planes, self.points * side, self.used * side)
        found = self._staged(self.planes, self.others, side)
        return Complex(
            *computed_if(b, self.is_convolved, lambda: self._convolved(found, side), found)
        )

    def _convolved(self, found: Complex, side: Value) -> Complex:
        """Return the planes with convolutions of what has been transformed."""
        b = self.b
        self._multiply(found, self.spectrum, self.used, side)
        is_first = b.write(BOOL, f"icmp eq ptr {found.re.text}, {self.planes.re.text}")
        pairs = zip(self.planes, self.others, strict=True)
        free = Complex(*[b.select(is_first, other, plane) for plane, other in pairs])
        convolved = _exchanged(self._staged(_exchanged(found), _exchanged(free), side))
        self._multiply(convolved, self.chirp, self.points, side)
        return convolved

    def _multiply(self, planes: Complex, factors: Complex, n: Value, side: Value) -> None:
        self.b.call(products_symbol(self.part), VOID, [*planes, *factors, n, side])

    # ---- reading and writing sequences

    def _each(self, first: Value, side: Value, body: Callable[..., None]) -> None:
        """Write ``body(outer, inner, at, side)`` for each sequence of a block."""
        b = self.b
        with loop(b, 0, side) as each:
            number = first + each.index
            outer = b.binary("sdiv", number, self.inner)
            body(outer, number - outer * self.inner, each.index, side)

    def _by_pairs(self, paired: Callable[[], None], single: Callable[[], None]) -> None:
        """Write what is done with an even number of real points, and with an odd number."""
        with either(self.b, self.is_paired) as (if_paired, otherwise):
            with if_paired:
                paired()
            with otherwise:
                single()

    def _read(self, outer: Value, inner: Value, at: Value, side: Value) -> None:
        """Copy a sequence to the planes, as the complex numbers that are transformed."""
        if self.name == "fourier_of_real":
            self._read_real(outer * self.n * self.inner + inner, at, side)
        elif self.name == "fourier_to_real":
            self._read_half(outer * (self.half + 1) * self.inner + inner, at, side)
        else:
            self._read_complex(outer * self.n * self.inner + inner, at, side)

    def _read_complex(self, start: Value, at: Value, side: Value) -> None:
        """Copy complex numbers, for the inverse with their parts exchanged."""
        b = self.b
        with loop(b, 0, self.points) as each:
            place = (start + each.index * self.inner) * 2
            one = Complex(
                self._load(self.source, place + self.inverse),
                self._load(self.source, place + 1 - self.inverse),
            )
            store(b, one, self.planes, each.index * side + at)

    def _read_real(self, start: Value, at: Value, side: Value) -> None:
        """Copy real numbers, of an even number two as one complex number."""
        b = self.b

        def paired() -> None:
            with loop(b, 0, self.points) as each:
                place = start + each.index * 2 * self.inner
                one = Complex(self._real(place), self._real(place + self.inner))
                store(b, one, self.planes, each.index * side + at)

        def single() -> None:
            with loop(b, 0, self.points) as each:
                one = Complex(self._real(start + each.index * self.inner), self._zero)
                store(b, one, self.planes, each.index * side + at)

        self._by_pairs(paired, single)

    def _read_half(self, start: Value, at: Value, side: Value) -> None:
        """Copy half of a transform, with its parts exchanged.

        Of an even number of points the sums over even and odd ones are joined. The first number,
        and the last one of them, are real.
        """
        b = self.b

        def paired() -> None:
            with loop(b, 0, self.points) as each:
                is_first = b.eq(each.index, 0)
                one = self._half(start, each.index, is_first)
                other = _conjugate(b, self._half(start, self.points - each.index, is_first))
                turn = _conjugate(b, load(b, self.part, self.turns, each.index))
                even, odd = plus(one, other), times(b, minus(one, other), turn)
                found = Complex(even.im + odd.re, even.re - odd.im)  # of even + i odd
                store(b, found, self.planes, each.index * side + at)

        def single() -> None:
            with loop(b, 0, self.points) as each:
                is_behind = each.index > self.half
                k = b.select(is_behind, self.n - each.index, each.index)
                one = self._half(start, k, b.eq(each.index, 0))
                imaginary = b.select(is_behind, b.neg(one.im), one.im)
                store(b, Complex(imaginary, one.re), self.planes, each.index * side + at)

        self._by_pairs(paired, single)

    def _half(self, start: Value, k: Value, is_real: Value) -> Complex:
        """Return a number of half of a transform, without its imaginary part if it is real."""
        b = self.b
        place = (start + k * self.inner) * 2
        imaginary = b.select(is_real, self._zero, self._load(self.source, place + 1))
        return Complex(self._load(self.source, place), imaginary)

    def _write(self, found: Complex, outer: Value, inner: Value, at: Value, side: Value) -> None:
        """Copy a transform to the result."""
        if self.name == "fourier_of_real":
            self._write_half(found, outer * (self.half + 1) * self.inner + inner, at, side)
        elif self.name == "fourier_to_real":
            self._write_real(found, outer * self.n * self.inner + inner, at, side)
        else:
            self._write_complex(found, outer * self.n * self.inner + inner, at, side)

    def _write_complex(self, found: Complex, start: Value, at: Value, side: Value) -> None:
        """Copy complex numbers, for the inverse with their parts exchanged."""
        b = self.b
        with loop(b, 0, self.points) as each:
            one = load(b, self.part, found, each.index * side + at)
            place = (start + each.index * self.inner) * 2
            self._store(one.re, place + self.inverse)
            self._store(one.im, place + 1 - self.inverse)

    def _write_real(self, found: Complex, start: Value, at: Value, side: Value) -> None:
        """Copy real numbers, of an even number two from one complex number."""
        b = self.b
        step = b.convert(self.is_paired, INT64) + 1
        with loop(b, 0, self.points) as each:
            one = load(b, self.part, found, each.index * side + at)
            place = start + each.index * step * self.inner
            self._store(one.im, place)
            with when(b, self.is_paired):
                self._store(one.re, place + self.inner)

    def _write_half(self, found: Complex, start: Value, at: Value, side: Value) -> None:
        """Copy half of the transform of real numbers.

        Of an even number of points it is that of the even ones, plus roots times that of the odd
        ones, which are sums and differences of what has been transformed.
        """
        b = self.b

        def paired() -> None:
            with loop(b, 0, self.points + 1) as each:
                k = each.index
                one = load(b, self.part, found, self._wrapped(k) * side + at)
                other = load(b, self.part, found, self._wrapped(self.points - k) * side + at)
                other = _conjugate(b, other)
                even, odd = plus(one, other), minus(one, other)
                odd = times(b, Complex(odd.im, b.neg(odd.re)), load(b, self.part, self.turns, k))
                both = plus(even, odd)
                self._store_half(Complex(both.re * 0.5, both.im * 0.5), start, k)

        def single() -> None:
            with loop(b, 0, self.half + 1) as each:
                self._store_half(
                    load(b, self.part, found, each.index * side + at), start, each.index
                )

        self._by_pairs(paired, single)

    def _store_half(self, one: Complex, start: Value, k: Value) -> None:
        place = (start + k * self.inner) * 2
        self._store(one.re, place)
        self._store(one.im, place + 1)

    def _wrapped(self, k: Value) -> Value:
        """Return a number of a point, 0 after the last one."""
        return self.b.select(self.b.eq(k, self.points), self.b.constant(INT64, 0), k)

    @property
    def _zero(self) -> Value:
        return self.b.constant(self.part, 0)

    def _real(self, place: Value) -> Value:
        return self._load(self.source, place)

    def _load(self, pointer: Value, place: Value) -> Value:
        return self.b.load(self.part, self.b.offset(pointer, place, self.part))

    def _store(self, value: Value, place: Value) -> None:
        self.b.store(value * self.scale, self.b.offset(self.target, place, self.part))


def _conjugate(b: Builder, x: Complex) -> Complex:
    return Complex(x.re, b.neg(x.im))


def _exchanged(x: Complex) -> Complex:
    return Complex(x.im, x.re)
