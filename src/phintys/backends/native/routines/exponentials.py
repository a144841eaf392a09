"""Exponentials of stacks of matrices: scaling, a Pade approximant, and squaring.

The steps are those of :mod:`phintys.tensor.linear_algebra.exponentials`, which says where they come
from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.backends.native.assembler.control import either, loop, repeated, when
from phintys.backends.native.assembler.types import INT64, MachineType
from phintys.backends.native.assembler.values import Value
from phintys.backends.native.routines.stacks import MatrixCall, StackRoutine
from phintys.tensor.linear_algebra.exponentials import (
    DEGREES,
    FAR_LARGER,
    LARGEST_EXPONENT,
    MOST_OF_DIAGONAL,
    SMALL,
    Degree,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.backends.native.steps.call import LibraryCall
    from phintys.backends.native.values import Array

ROOMS = 6
"""How many matrices the first workspace has room for."""


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
            with either(b, code.are_finite(place, n * n)) as (then, otherwise):
                with otherwise:
                    code.fill_with_nan(place, n * n)
                with then:
                    exponential.write(place)
            return None

        return write


class _Exponential:
    """The code for one matrix.

    Parameters
    ----------
    code
        The code of the call.

    Attributes
    ----------
    is_less
        Where 1 is stored if 1 is to be added to the results for the exponential, otherwise 0.
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
        self.is_less = b.slot(self.part, 2)
        b.store(b.constant(self.part, 0.0), b.offset(self.is_less, 1, self.part))
        self.count = self.n * self.n * self.twice
        self.degrees = DEGREES[self.part.name]

    def write(self, a: Value) -> None:
        """Replace a matrix by its exponential."""
        b = self.b
        is_turned = self._is_far_larger_below(a)
        given = self._given(a)
        with when(b, is_turned):
            for matrix in given:
                self._transpose(matrix)
        self._write(a)
        with when(b, is_turned):
            self._transpose(given[-1])

    def _given(self, a: Value) -> list[Value]:
        """Return the matrices that are given, of which the last one becomes the result."""
        return [a]

    def _is_far_larger_below(self, a: Value) -> Value:
        """Return whether elements below the diagonal are far larger than those above."""
        b, zero = self.b, self.b.constant(self.part, 0.0)
        with loop(b, 0, self.n, carried=[zero, zero]) as column:
            with loop(b, 0, self.n, carried=list(column.carried)) as row:
                length = self._length(
                    b.offset(a, column.index * self.n + row.index, self.code.type)
                )
                above, below = (
                    b.select(is_here, b.maximum_number(length, most), most)
                    for is_here, most in zip(
                        (row.index < column.index, row.index > column.index),
                        row.carried,
                        strict=True,
                    )
                )
                row.next(above, below)
            column.next(*row.results)
        above, below = column.results
        return below / FAR_LARGER > above

    def _transpose(self, x: Value) -> None:
        b = self.b
        with loop(b, 0, self.n) as column, loop(b, 0, column.index) as row:
            places = (column.index * self.n + row.index, row.index * self.n + column.index)
            for at in range(self.twice):
                one, other = (b.offset(x, place * self.twice + at, self.part) for place in places)
                kept = b.load(self.part, one)
                b.store(b.load(self.part, other), one)
                b.store(kept, other)

    def _write(self, a: Value) -> None:
        b, low, final = self.b, self.degrees[0], self.degrees[-1]
        squarings = b.slot(INT64)
        b.store(b.constant(INT64, 0), squarings)
        b.store(b.constant(self.part, 0.0), self.is_less)
        small = self._norm(a, SMALL)
        self._find_powers(a)
        after = b.new_block("solve")
        if final is not low:
            few, many = b.new_block("few"), b.new_block("many")
            b.branch(b.le(small, low.of_norm * SMALL), few, many)
            b.begin(few)
            self._approximant(a, low)
            b.jump(after)
            b.begin(many)
        b.store(self._halvings(a, small, final), squarings)
        starts = (b.load(INT64, squarings) > 0) & b.le(
            self._largest_on_diagonal(a), MOST_OF_DIAGONAL
        )
        b.store(b.select(starts, 1.0, b.constant(self.part, 0.0)), self.is_less)
        self._approximant(a, final)
        b.jump(after)
        b.begin(after)
        self._finish(a, b.load(INT64, squarings))

    def _find_powers(self, a: Value) -> None:
        """Compute the second, fourth and sixth power."""
        second, fourth, sixth, *_ = self.rooms
        for left, right, out in ((a, a, second), (second, second, fourth), (second, fourth, sixth)):
            self._product(left, right, out)

    def _rescale(self, a: Value, exponent: Value) -> None:
        """Multiply the matrix by two to an exponent, and its powers accordingly."""
        scale = self._power_of_two(exponent)
        for matrix, times in zip((a, *self.rooms[:3]), (1, 2, 4, 6), strict=True):
            self._multiply(matrix, scale, times)

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
        count, rest = repeated(
            self.b,
            [self.b.constant(INT64, 0), number],
            lambda count, rest: (rest > most) & (rest < float("inf")),
            lambda count, rest: [count + 1, rest * by],
        )
        return count, rest

    def _power_of_two(self, exponent: Value) -> Value:
        b = self.b
        factor = b.select(exponent < 0, 0.5, b.constant(self.part, 2.0))
        count = b.select(exponent < 0, b.constant(INT64, 0) - exponent, exponent)
        with loop(b, 0, count, carried=[b.constant(self.part, 1.0)]) as each:
            each.next(each.carried[0] * factor)
        return each.results[0]

    def _halvings(self, a: Value, small: Value, degree: Degree) -> Value:
        """Halve the matrix for an approximant, with its powers, and return how often."""
        b, zero = self.b, self.b.constant(INT64, 0)
        before = b.slot(INT64)
        b.store(zero, before)
        # What is not finite in a power is not finite in the next one.
        with when(b, b.eq(self.code.are_finite(self.rooms[2], self.n * self.n), False)):
            times, _ = self._halved(small, 2.0**LARGEST_EXPONENT * SMALL)
            b.store(times, before)
            self._multiply_given(a, self._power_of_two(zero - times))
            self._find_powers(a)
        done, found = b.load(INT64, before), zero
        for power, room in zip((4, 6), self.rooms[1:3], strict=True):
            count = self._squarings(self._norm(room), degree.of_powers, power, done)
            found = b.maximum_number(count, found)
        self._rescale(a, done - found)
        more = self._more_halvings(a, degree)
        self._rescale(a, zero - more)
        return found + more

    def _squarings(self, norm: Value, most: float, power: int, before: Value) -> Value:
        """Return how often A is halved in all, for the norm of a power of ``A / 2^before``."""
        b, most, by = self.b, most**power, 2.0**power
        more, _ = self._halved(norm, most, 1 / by)
        most_often = before + more
        start, (head, body, after) = b.block, map(b.new_block, ("head", "body", "after"))
        b.jump(head)
        b.begin(head)
        count, size = b.phi(INT64), b.phi(self.part)
        larger = size.value * by
        goes_on = (count.value > 0) & (count.value <= before) & b.le(larger, most)
        b.branch(goes_on, body, after)
        b.begin(body)
        fewer = count.value - 1
        b.jump(head)
        for phi, first, following in ((count, most_often, fewer), (size, norm, larger)):
            phi.add(first, start)
            phi.add(following, body)
        b.begin(after)
        return count.value

    def _more_halvings(self, a: Value, degree: Degree) -> Value:
        """Return how often the matrix is halved so that ``|A| |A^2|^m`` bounds a small error."""
        b, kept = self.b, self.b.slot(INT64)
        b.store(b.constant(INT64, 0), kept)
        norm = self._norm(a, SMALL)
        with when(b, norm > degree.of_norm * SMALL):
            error = self._norm_of_powers(a, degree.degree) / norm * degree.of_error
            rounding = 2.0**-53 if self.part.name == "float64" else 2.0**-24
            more, _ = self._halved(error, rounding, 0.25**degree.degree)
            # The bound may overflow; norms are one that always holds.
            most, _ = self._halved(norm, degree.of_norm * SMALL)
            b.store(b.select(error < float("inf"), more, most), kept)
        return b.load(INT64, kept)

    def _largest_on_diagonal(self, a: Value) -> Value:
        b = self.b
        with loop(b, 0, self.n, carried=[b.constant(self.part, 0.0)]) as each:
            place = b.offset(a, each.index * (self.n + 1), self.code.type)
            each.next(b.maximum_number(self._length(place), each.carried[0]))
        return each.results[0]

    def _norm_of_powers(self, a: Value, exponent: int) -> Value:
        """Return the norm of ``|A| |A^2|^exponent``, of lengths of elements, times SMALL."""
        b, (given, _) = self.b, self.vectors
        with loop(b, 0, self.n) as each:
            b.store(b.constant(self.part, SMALL), b.offset(given, each.index, self.part))
        self._sum_lengths(a)
        with loop(b, 0, exponent, runs=True):
            self._sum_lengths(self.rooms[0])
        with loop(b, 0, self.n, carried=[b.constant(self.part, 0.0)]) as each:
            value = b.load(self.part, b.offset(given, each.index, self.part))
            each.next(b.maximum_number(value, each.carried[0]))
        return each.results[0]

    def _sum_lengths(self, matrix: Value) -> None:
        """Multiply a vector by the lengths of the elements of a matrix."""
        b, (given, made), zero = self.b, self.vectors, self.b.constant(self.part, 0.0)
        with loop(b, 0, self.n) as column:
            with loop(b, 0, self.n, carried=[zero]) as row:
                place = b.offset(matrix, column.index * self.n + row.index, self.code.type)
                factor = b.load(self.part, b.offset(given, row.index, self.part))
                row.next(b.madd(self._length(place), factor, row.carried[0]))
            b.store(row.results[0], b.offset(made, column.index, self.part))
        with loop(b, 0, self.n) as each:
            value = b.load(self.part, b.offset(made, each.index, self.part))
            b.store(value, b.offset(given, each.index, self.part))

    # ---- approximants

    def _approximant(self, a: Value, degree: Degree) -> None:
        """Write ``V + U``, or ``2 U`` if 1 is added to the result, and ``V - U``.

        ``U = a (a6 (odd powers from 9) + odd powers up to 7)``, and V likewise without a.
        """
        *powers, upper, lower, spare = self.rooms[:ROOMS]
        known, is_long = degree.coefficients, degree.degree > 7
        for first, diagonal, room in ((9, known[1], upper), (8, known[0], spare)):
            if is_long:
                self._combine(powers, room, known[first::2])
            self._combine(powers, lower, known[first - 6 : first : 2], diagonal)
            self._along(known, first, room if is_long else None)
            if is_long:
                self._product(powers[2], room, lower, adds=True)
            if room is upper:
                self._along_odd(a)
                self._product(a, lower, upper)
        self._sum_and_difference(upper, lower, is_turned=False)

    def _along(self, known: Sequence[float], first: int, room: Value | None) -> None:
        """Write what else is computed beside a sum of powers."""

    def _along_odd(self, a: Value) -> None:
        """Write what else is computed beside the sum of odd powers."""

    def _sum_and_difference(self, x: Value, y: Value, *, is_turned: bool) -> None:
        """Replace x and y by ``y + x``, or ``2 x`` if 1 is added, and ``y - x``, or ``x - y``."""
        b, is_less = self.b, self.b.load(self.part, self.is_less)
        of_first, of_second = is_less + 1, b.constant(self.part, 1.0) - is_less

        def add(type_: MachineType, position: Value) -> None:
            one, other = (b.offset(place, position, self.part) for place in (x, y))
            left, right = b.load(type_, one), b.load(type_, other)
            both = right * b.splat(of_second, type_.lanes)
            b.store(b.madd(left, b.splat(of_first, type_.lanes), both), one)
            b.store(left - right if is_turned else right - left, other)

        self._each(add)

    def _combine(
        self,
        powers: Sequence[Value],
        target: Value,
        factors: Sequence[float],
        diagonal: float | None = None,
    ) -> None:
        """Write a sum of multiples of three powers, and of the identity."""
        b = self.b

        def sum_up(type_: MachineType, position: Value) -> None:
            total = b.constant(type_, 0.0)
            for factor, power in zip(factors, powers, strict=True):
                value = b.load(type_, b.offset(power, position, self.part))
                total = b.madd(value, factor, total)
            b.store(total, b.offset(target, position, self.part))

        self._each(sum_up)
        if diagonal is not None:
            self._add_to_diagonal(target, diagonal)

    def _add_to_diagonal(self, matrix: Value, number: float) -> None:
        b = self.b
        with loop(b, 0, self.n) as each:
            place = b.offset(matrix, each.index * (self.n + 1), self.code.type)
            b.store(b.load(self.part, place) + number, place)

    # ---- whole matrices

    def _each(self, body: Callable[[MachineType, Value], None]) -> None:
        """Write code for the parts of all elements: full vectors, and then what is left."""
        b = self.b
        wide = self.part.of(b.target.lanes(self.part))
        whole = self.count - b.binary("srem", self.count, b.constant(INT64, wide.lanes))
        with loop(b, 0, whole, wide.lanes) as each:
            body(wide, each.index)
        with loop(b, whole, self.count) as each:
            body(self.part, each.index)

    def _multiply(self, a: Value, scale: Value, times: int = 1) -> None:
        """Multiply a matrix some times by a number, unless that is 1."""
        b = self.b

        def multiply(type_: MachineType, position: Value) -> None:
            place = b.offset(a, position, self.part)
            value, factor = b.load(type_, place), b.splat(scale, type_.lanes)
            for _ in range(times):
                value = value * factor
            b.store(value, place)

        with when(b, b.ne(scale, 1.0)):
            self._each(multiply)

    def _multiply_given(self, a: Value, scale: Value) -> None:
        """Multiply the matrices that are given by a number."""
        for matrix in self._given(a):
            self._multiply(matrix, scale)

    def _product(
        self, x: Value, y: Value, out: Value, *, adds: bool = False, onto: Value | None = None
    ) -> None:
        """Write ``out = x y``, or add it, also to a multiple of what is there by a stored number.

        All factors are functions of one matrix.
        """
        given = [self.plain, self.plain, self.order, self.order, self.order]
        given += [self.one, x, self.stride, y, self.stride]
        onto = self.one if adds else self.zero if onto is None else onto
        self.code.blas("gemm", [*given, onto, out, self.stride])

    def _square(self, x: Value, times: Value, out: Value) -> None:
        """Square a matrix some times; what was ``out`` is free."""
        b = self.b
        with loop(b, 0, times, carried=[x, self.rooms[0]]) as each:
            given, free = each.carried
            self._square_once(given, free)
            each.next(free, given)
        self._copy(each.results[0], out)
        with when(b, b.ne(b.load(self.part, self.is_less), 0.0)):
            self._add_to_diagonal(out, 1.0)

    def _square_once(self, x: Value, out: Value) -> None:
        """Write ``x x``, or ``x x + 2 x``, to which 1 is added once its diagonal is not small."""
        b = self.b
        self._double(x, out)
        self._product(x, x, out, onto=self.is_less)
        is_large = self._largest_on_diagonal(out) > MOST_OF_DIAGONAL
        with when(b, b.ne(b.load(self.part, self.is_less), 0.0) & is_large):
            b.store(b.constant(self.part, 0.0), self.is_less)
            self._add_to_diagonal(out, 1.0)

    def _double(self, source: Value, target: Value) -> None:
        """Write twice a matrix, if 1 is added to the result."""
        b = self.b

        def double(type_: MachineType, position: Value) -> None:
            value = b.load(type_, b.offset(source, position, self.part))
            b.store(value + value, b.offset(target, position, self.part))

        with when(b, b.ne(b.load(self.part, self.is_less), 0.0)):
            self._each(double)

    def _copy(self, source: Value, target: Value) -> None:
        b = self.b

        def copy(type_: MachineType, position: Value) -> None:
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
            with either(b, code.are_finite(a, n * n)) as (then, otherwise):
                with otherwise:
                    code.fill_with_nan(direction, n * n)
                with then:
                    derivative.direction = direction
                    derivative.write(a)
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

    def _given(self, a: Value) -> list[Value]:
        return [a, self.direction]

    def _rescale(self, a: Value, exponent: Value) -> None:
        """Multiply the direction and the derivatives of the powers as well."""
        super()._rescale(a, exponent)
        scale = self._power_of_two(exponent)
        for slope, times in zip((self.direction, *self._others[:3]), (1, 2, 4, 6), strict=True):
            self._multiply(slope, scale, times)

    def _find_powers(self, a: Value) -> None:
        """Compute the powers and their derivatives."""
        super()._find_powers(a)
        (second, fourth, _), (own, its, last, *_) = self.rooms[:3], self._others
        for (x, dx), (y, dy), out in (
            ((a, self.direction), (a, self.direction), own),
            ((second, own), (second, own), its),
            ((fourth, its), (second, own), last),
        ):
            self._product(x, dy, out)
            self._product(dx, y, out, adds=True)

    def _along(self, known: Sequence[float], first: int, room: Value | None) -> None:
        """Differentiate ``a6 (later powers) + earlier powers``."""
        *powers, upper, lower, spare = self._others
        self._combine(powers, lower, known[first - 6 : first : 2])
        if room is None:
            return
        own = upper if first % 2 else spare
        self._combine(powers, own, known[first::2])
        self._product(self.rooms[2], own, lower, adds=True)
        self._product(powers[2], room, lower, adds=True)

    def _along_odd(self, a: Value) -> None:
        """Differentiate the product with a."""
        _, _, _, upper, lower, _ = self._others
        self._product(a, lower, upper)
        self._product(self.direction, self.rooms[4], upper, adds=True)

    def _finish(self, a: Value, squarings: Value) -> None:
        """``(V - U) dR = dV + dU + (dU - dV) R``, and then the derivatives of squares.

        For R - 1 instead of R, it is ``2 dU + (dU - dV) (R - 1)``.
        """
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
            self._double(slope, its)
            self._product(root, slope, its, onto=self.is_less)
            self._product(slope, root, its, adds=True)
            self._square_once(root, square)
            each.next(square, its, root, slope)
        self._copy(each.results[1], self.direction)


EXPM = _Expm("expm")
EXPM_DERIVATIVE = _ExpmDerivative("expm_derivative")
