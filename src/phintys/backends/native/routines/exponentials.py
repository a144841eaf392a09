"""Exponentials of stacks of matrices: scaling, a Pade approximant, and squaring.

The degree and the number of squarings follow from norms of powers of the matrix (A. H. Al-Mohy and
N. J. Higham, "A new scaling and squaring algorithm for the matrix exponential", SIAM J. Matrix
Anal. Appl. 31, 2009), in a simpler form: the three even powers that the approximants are made of
are always computed, and there are at most two degrees.
"""

from __future__ import annotations

from math import comb, factorial
from typing import TYPE_CHECKING, Any

from phintys._base.records import record
from phintys.backends.native.assembler.control import loop, when
from phintys.backends.native.assembler.types import INT64, Type
from phintys.backends.native.assembler.values import Value
from phintys.backends.native.routines.stacks import MatrixCall, StackRoutine

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.backends.native.steps.call import LibraryCall
    from phintys.backends.native.values import Array

__all__ = ["EXPM", "EXPM_DERIVATIVE", "ROOMS"]

ROOMS = 6
"""How many matrices the first workspace has room for."""


@record(frozen=True)
class _Degree:
    """An approximant.

    Attributes
    ----------
    degree
        Its degree.
    of_norm
        The largest norm of a matrix for which its error is below rounding.
    of_powers
        The same for roots of norms of powers, if norms of larger powers are looked at as well.
    """

    degree: int
    of_norm: float
    of_powers: float

    @property
    def coefficients(self) -> list[int]:
        """Those of the numerator, of which the first one is the largest."""
        m = self.degree
        return [
            factorial(2 * m - k) * factorial(m) // (factorial(m - k) * factorial(k)) // factorial(m)
            for k in range(m + 1)
        ]

    @property
    def of_error(self) -> float:
        """The first coefficient of the error."""
        m = self.degree
        return 1 / (comb(2 * m, m) * factorial(2 * m + 1))


_DEGREES = {
    "float64": (_Degree(7, 9.504178996162932e-1, 9.504178996162932e-1), _Degree(13, 5.3719, 4.25)),
    "float32": (_Degree(7, 3.925724783138660, 3.925724783138660),),
}

_LARGEST_EXPONENT = 20
"""Matrices of larger norms are first divided by a power of two: their powers could overflow."""

_NORM_EXPONENT = 40
"""Lengths are divided by two to this power before they are summed, so that no sum overflows."""


class _Expm(StackRoutine):
    """``a -> exp(a)`` in place.

    The workspaces are room for :data:`ROOMS` matrices, for two vectors, and for exchanges.
    """

    nanoseconds = 0.6

    def updates(self, call: LibraryCall[Any]) -> Sequence[Array]:
        """Return the matrices."""
        return call.outputs

    def item(self, code: MatrixCall) -> Callable[[Value], Value | None]:
        """Compute; the exponential of numbers that are not finite is NaN."""
        b, options = code.b, code.call.options
        n, address = code.size(options["n"]), code.item(code.call.outputs[0], options["move"])
        exponential = _Exponential(code)

        def write(index: Value) -> Value | None:
            place = address(index)
            fine, bad, after = (b.new_block(name) for name in ("fine", "bad", "after"))
            b.branch(code.are_finite(place, n * n), fine, bad)
            b.begin(bad)
            code.fill_with_nan(place, n * n)
            b.jump(after)
            b.begin(fine)
            exponential.write(place)
            b.jump(after)
            b.begin(after)
            return None

        return write


class _Exponential:
    """The code for one matrix.

    Parameters
    ----------
    code
        The code of the call.
    """

    def __init__(self, code: MatrixCall) -> None:
        options, b = code.call.options, code.b
        numbers, vectors, exchanges = code.call.workspace
        self.code, self.b = code, b
        self.n = code.size(options["n"])
        self.part = code.type.part if code.type.kind == "c" else code.type
        self.twice = 2 if code.type.kind == "c" else 1
        first = code.array(numbers)
        self.room = ROOMS * len(code.call.outputs)
        self.rooms = [b.offset(first, self.n * self.n * at, code.type) for at in range(self.room)]
        self.vectors = [b.offset(code.array(vectors), self.n * at, self.part) for at in range(2)]
        self.exchanges = code.array(exchanges)
        self.order, self.stride = code.integer(options["n"]), code.stride(options["n"])
        self.plain, self.one, self.zero = code.letter("N"), code.number(1), code.number(0)
        self.scale = b.slot(self.part, 2)
        b.store(b.constant(self.part, 0.0), b.offset(self.scale, 1, self.part))
        self.count = self.n * self.n * self.twice
        self.degrees = _DEGREES[self.part.name]

    def write(self, a: Value) -> None:
        """Replace a matrix by its exponential."""
        b, final = self.b, self.degrees[-1]
        small = self._norm(a, 2.0**-_NORM_EXPONENT)
        before, rest = self._halved(small, 2.0 ** (_LARGEST_EXPONENT - _NORM_EXPONENT))
        norm = rest * 2.0**_NORM_EXPONENT
        self._prepare(a, self._power_of_half(before))
        squarings = b.slot(INT64)
        after = b.new_block("solve")
        if len(self.degrees) > 1:
            low = self.degrees[0]
            few, many = b.new_block("few"), b.new_block("many")
            b.branch(b.le(norm, low.of_norm), few, many)
            b.begin(few)
            b.store(before, squarings)
            self._approximant(a, low, b.constant(self.part, 1.0))
            b.jump(after)
            b.begin(many)
        halvings = self._halvings(a, norm, final)
        b.store(before + halvings, squarings)
        self._approximant(a, final, self._power_of_half(halvings))
        b.jump(after)
        b.begin(after)
        self._finish(a, b.load(INT64, squarings))

    def _prepare(self, a: Value, scale: Value) -> None:
        """Multiply the matrix by a number, and compute its powers."""
        self._multiply(a, scale)
        second, fourth, sixth, *_ = self.rooms
        for left, right, out in ((a, a, second), (second, second, fourth), (second, fourth, sixth)):
            self._product(left, right, out)

    def _finish(self, a: Value, squarings: Value) -> None:
        """Divide the approximants, and square the quotient some times."""
        numerator, denominator = self.rooms[3:5]
        self._factorize(denominator)
        self._divide(numerator, denominator)
        self._square(numerator, squarings, a)

    def _factorize(self, x: Value) -> None:
        """Replace a matrix by its LU factors."""
        given = [self.order, self.order, x, self.stride, self.exchanges]
        self.code.lapack("getrf", given)

    def _divide(self, x: Value, factors: Value) -> None:
        """Replace x by the solution of the systems of which the factors are given."""
        given = [self.plain, self.order, self.order, factors, self.stride, self.exchanges]
        self.code.lapack("getrs", [*given, x, self.stride])

    # ---- norms and halvings

    def _norm(self, a: Value, scale: float = 1.0) -> Value:
        """Return the largest sum of lengths in a column, times a scale."""
        b, zero = self.b, self.b.constant(self.part, 0.0)
        with loop(b, 0, self.n, carried=[zero]) as column:
            with loop(b, 0, self.n, carried=[zero]) as row:
                place = b.offset(a, column.index * self.n + row.index, self.code.type)
                row.next(row.carried[0] + self._length(place) * scale)
            column.next(b.maximum_number(row.results[0], column.carried[0]))
        return column.results[0]

    def _length(self, place: Value) -> Value:
        """Return a bound of the length of an element that is at most 1.42 times as large."""
        b = self.b
        parts = [b.load(self.part, b.offset(place, at, self.part)) for at in range(self.twice)]
        first, *others = (b.intrinsic("fabs", part) for part in parts)
        return first + others[0] if others else first

    def _halved(self, number: Value, most: float, by: float = 0.5) -> tuple[Value, Value]:
        """Return how often a number is divided until it is at most some number, and the result.

        An infinite number is not divided: that would never end.
        """
        b, before = self.b, self.b.block
        head, body, after = (b.new_block(name) for name in ("head", "halve", "after"))
        b.jump(head)
        b.begin(head)
        count, rest = b.phi(INT64), b.phi(number.type)
        b.branch((rest.value > most) & (rest.value < float("inf")), body, after)
        b.begin(body)
        more, less = count.value + 1, rest.value * by
        b.jump(head)
        for phi, first, following in ((count, b.constant(INT64, 0), more), (rest, number, less)):
            phi.add(first, before)
            phi.add(following, body)
        b.begin(after)
        return count.value, rest.value

    def _power_of_half(self, exponent: Value) -> Value:
        b = self.b
        with loop(b, 0, exponent, carried=[b.constant(self.part, 1.0)]) as each:
            each.next(each.carried[0] * 0.5)
        return each.results[0]

    def _halvings(self, a: Value, norm: Value, degree: _Degree) -> Value:
        """Return how often a matrix is halved for an approximant."""
        b = self.b
        found = b.constant(INT64, 0)
        for power, room in zip((4, 6), self.rooms[1:3], strict=True):
            count, _ = self._halved(self._norm(room), degree.of_powers**power, 0.5**power)
            found = b.maximum_number(count, found)
        kept = b.slot(INT64)
        b.store(found, kept)
        # What powers promise holds if the terms of the error that are left out are small, too.
        scale = self._power_of_half(found)
        with when(b, norm * scale > degree.of_norm):
            large = self._norm_of_power(a, scale, 2 * degree.degree + 1)
            error = large * degree.of_error / (norm * scale)
            rounding = 2.0**-53 if self.part.name == "float64" else 2.0**-24
            more, _ = self._halved(error, rounding, 0.25**degree.degree)
            # The error may overflow though the powers do not; norms are a bound that always holds.
            most, _ = self._halved(norm * scale, degree.of_norm)
            b.store(found + b.select(error < float("inf"), more, most), kept)
        return b.load(INT64, kept)

    def _norm_of_power(self, a: Value, scale: Value, exponent: int) -> Value:
        """Return the norm of a power of the matrix of the lengths of elements, times a scale."""
        b, (given, made) = self.b, self.vectors
        with loop(b, 0, self.n) as each:
            b.store(b.constant(self.part, 1.0), b.offset(given, each.index, self.part))
        zero = b.constant(self.part, 0.0)
        with loop(b, 0, exponent, carried=[zero], runs=True) as step:
            with loop(b, 0, self.n, carried=[zero]) as column:
                with loop(b, 0, self.n, carried=[zero]) as row:
                    place = b.offset(a, column.index * self.n + row.index, self.code.type)
                    factor = b.load(self.part, b.offset(given, row.index, self.part))
                    row.next(b.madd(self._length(place) * scale, factor, row.carried[0]))
                b.store(row.results[0], b.offset(made, column.index, self.part))
                column.next(b.maximum_number(row.results[0], column.carried[0]))
            with loop(b, 0, self.n) as each:
                value = b.load(self.part, b.offset(made, each.index, self.part))
                b.store(value, b.offset(given, each.index, self.part))
            step.next(column.results[0])
        return step.results[0]

    # ---- approximants

    def _approximant(self, a: Value, degree: _Degree, scale: Value) -> None:
        """Write ``V + U`` and ``V - U``, where U has the odd powers of the scaled matrix.

        ``U = a (a6 (odd powers from 9) + odd powers up to 7)``, and V likewise without a.
        """
        *powers, upper, lower, spare = self.rooms[:ROOMS]
        known = [float(number) for number in degree.coefficients]
        square = scale * scale
        scales = [self.b.constant(self.part, 1.0)]
        for _ in range(6):
            scales.append(scales[-1] * square)
        is_long = degree.degree > 7
        for first, diagonal, room in ((9, known[1], upper), (8, known[0], spare)):
            if is_long:
                self._combine(powers, room, self._terms(known, first, scales))
            self._combine(powers, lower, self._terms(known, first - 6, scales), diagonal)
            self._along(known, first, scales, room if is_long else None)
            if is_long:
                self._product(powers[2], room, lower, adds=True)
            if room is upper:
                self.b.store(scale, self.scale)
                self._along_odd(a)
                self._product(a, lower, upper, factor=self.scale)
        self._sum_and_difference(upper, lower, is_turned=False)

    def _along(
        self, known: Sequence[float], first: int, scales: Sequence[Value], room: Value | None
    ) -> None:
        """Write what else is computed beside a sum of powers."""

    def _along_odd(self, a: Value) -> None:
        """Write what else is computed beside the sum of odd powers."""

    def _sum_and_difference(self, x: Value, y: Value, *, is_turned: bool) -> None:
        """Replace x and y by ``y + x`` and ``y - x``, or ``x - y``."""
        b = self.b

        def add(type_: Type, position: Value) -> None:
            one, other = (b.offset(place, position, self.part) for place in (x, y))
            left, right = b.load(type_, one), b.load(type_, other)
            b.store(right + left, one)
            b.store(left - right if is_turned else right - left, other)

        self._each(add)

    def _terms(self, known: Sequence[float], first: int, scales: Sequence[Value]) -> list[Value]:
        """Return the factors of the even powers for every other term from an exponent on."""
        return [scales[at // 2] * known[at] for at in (first, first + 2, first + 4)]

    def _combine(
        self,
        powers: Sequence[Value],
        target: Value,
        factors: Sequence[Value],
        diagonal: float | None = None,
    ) -> None:
        """Write a sum of multiples of three powers, and of the identity."""
        b = self.b

        def sum_up(type_: Type, position: Value) -> None:
            total = b.constant(type_, 0.0)
            for factor, power in zip(factors, powers, strict=True):
                value = b.load(type_, b.offset(power, position, self.part))
                total = b.madd(b.splat(factor, type_.lanes), value, total)
            b.store(total, b.offset(target, position, self.part))

        self._each(sum_up)
        if diagonal is None:
            return
        with loop(b, 0, self.n) as each:
            place = b.offset(target, each.index * (self.n + 1), self.code.type)
            b.store(b.load(self.part, place) + diagonal, place)

    # ---- whole matrices

    def _each(self, body: Callable[[Type, Value], None]) -> None:
        """Write code for the parts of all elements: full vectors, and then what is left."""
        b = self.b
        wide = self.part.of(b.target.lanes(self.part))
        whole = self.count - b.binary("srem", self.count, b.constant(INT64, wide.lanes))
        with loop(b, 0, whole, wide.lanes) as each:
            body(wide, each.index)
        with loop(b, whole, self.count) as each:
            body(self.part, each.index)

    def _multiply(self, a: Value, scale: Value) -> None:
        """Multiply a matrix by a number, unless that is 1."""
        b = self.b

        def multiply(type_: Type, position: Value) -> None:
            place = b.offset(a, position, self.part)
            b.store(b.load(type_, place) * b.splat(scale, type_.lanes), place)

        with when(b, b.ne(scale, 1.0)):
            self._each(multiply)

    def _product(
        self, x: Value, y: Value, out: Value, *, factor: Value | None = None, adds: bool = False
    ) -> None:
        """Write ``out = factor x y``, or add it. All factors are functions of one matrix."""
        given = [self.plain, self.plain, self.order, self.order, self.order]
        given += [self.one if factor is None else factor, x, self.stride, y, self.stride]
        given += [self.one if adds else self.zero, out, self.stride]
        self.code.blas("gemm", given)

    def _square(self, x: Value, times: Value, out: Value) -> None:
        """Square a matrix some times; what was ``out`` is free."""
        b = self.b
        with loop(b, 0, times, carried=[x, self.rooms[0]]) as each:
            given, free = each.carried
            self._product(given, given, free)
            each.next(free, given)
        self._copy(each.results[0], out)

    def _copy(self, source: Value, target: Value) -> None:
        b = self.b

        def copy(type_: Type, position: Value) -> None:
            value = b.load(type_, b.offset(source, position, self.part))
            b.store(value, b.offset(target, position, self.part))

        self._each(copy)


# ---- derivatives ---------------------------------------------------------------------------------


class _ExpmDerivative(_Expm):
    """The derivative at a in the direction of e; the outputs are a, which is lost, and e.

    The first workspace has room for twice as many matrices.
    """

    nanoseconds = 2.0

    def item(self, code: MatrixCall) -> Callable[[Value], Value | None]:
        """Compute; what is not finite has the derivative NaN."""
        b, options = code.b, code.call.options
        n = code.size(options["n"])
        addresses = [code.item(array, options["move"]) for array in code.call.outputs]
        derivative = _Derivative(code)

        def write(index: Value) -> Value | None:
            a, direction = (address(index) for address in addresses)
            fine, bad, after = (b.new_block(name) for name in ("fine", "bad", "after"))
            b.branch(code.are_finite(a, n * n), fine, bad)
            b.begin(bad)
            code.fill_with_nan(direction, n * n)
            b.jump(after)
            b.begin(fine)
            derivative.direction = direction
            derivative.write(a)
            b.jump(after)
            b.begin(after)
            return None

        return write


class _Derivative(_Exponential):
    """The code for one matrix and one direction.

    Each step of the exponential is differentiated (A. H. Al-Mohy and N. J. Higham, "Computing the
    Frechet derivative of the matrix exponential", SIAM J. Matrix Anal. Appl. 30, 2009).

    Attributes
    ----------
    direction
        The direction, which becomes the derivative.
    """

    direction: Value

    @property
    def _others(self) -> list[Value]:
        """The derivatives of what is in the first rooms."""
        return self.rooms[ROOMS:]

    def _prepare(self, a: Value, scale: Value) -> None:
        """Compute the powers and their derivatives."""
        super()._prepare(a, scale)
        self._multiply(self.direction, scale)
        (second, fourth, _), (own, its, last, *_) = self.rooms[:3], self._others
        for (x, dx), (y, dy), out in (
            ((a, self.direction), (a, self.direction), own),
            ((second, own), (second, own), its),
            ((fourth, its), (second, own), last),
        ):
            self._product(x, dy, out)
            self._product(dx, y, out, adds=True)

    def _along(
        self, known: Sequence[float], first: int, scales: Sequence[Value], room: Value | None
    ) -> None:
        """Differentiate ``a6 (later powers) + earlier powers``."""
        *powers, upper, lower, spare = self._others
        self._combine(powers, lower, self._terms(known, first - 6, scales))
        if room is None:
            return
        own = upper if first % 2 else spare
        self._combine(powers, own, self._terms(known, first, scales))
        self._product(self.rooms[2], own, lower, adds=True)
        self._product(powers[2], room, lower, adds=True)

    def _along_odd(self, a: Value) -> None:
        """Differentiate the product with a."""
        _, _, _, upper, lower, _ = self._others
        self._product(a, lower, upper, factor=self.scale)
        self._product(self.direction, self.rooms[4], upper, factor=self.scale, adds=True)

    def _finish(self, a: Value, squarings: Value) -> None:
        """``(V - U) dR = dV + dU + (dU - dV) R``, and then the derivatives of squares."""
        b, (numerator, denominator) = self.b, self.rooms[3:5]
        _, _, _, upper, lower, _ = self._others
        self._sum_and_difference(upper, lower, is_turned=True)
        self._factorize(denominator)
        self._divide(numerator, denominator)
        self._product(lower, numerator, upper, adds=True)
        self._divide(upper, denominator)
        carried = [numerator, upper, *self.rooms[:2]]
        with loop(b, 0, squarings, carried=carried) as each:
            root, slope, square, its = each.carried
            self._product(root, slope, its)
            self._product(slope, root, its, adds=True)
            self._product(root, root, square)
            each.next(square, its, root, slope)
        self._copy(each.results[1], self.direction)


EXPM = _Expm("expm")
EXPM_DERIVATIVE = _ExpmDerivative("expm_derivative")
