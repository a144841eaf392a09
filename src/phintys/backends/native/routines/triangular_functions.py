"""Square roots and logarithms of stacks of matrices, from their complex Schur forms.

Forms and unitary matrices are column-major. Roots of triangles are computed column by column (A.
Bjorck and S. Hammarling, "A Schur method for the square root of a matrix", 1983), logarithms by
repeated roots and an approximant near the identity, as the Ops of the reference backend do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import loop, when
from phintys.backends.native.assembler.elements import load, store
from phintys.backends.native.assembler.math import complex as numbers
from phintys.backends.native.assembler.types import INT64, MachineType, type_of
from phintys.backends.native.assembler.values import Complex, Value
from phintys.backends.native.routines.stacks import MatrixCall, StackRoutine
from phintys.tensor.linear_algebra.matrix_functions import MOST_HALVINGS, NEAR, NODES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.backends.native.steps.call import LibraryCall
    from phintys.backends.native.values import Array

_SINGULAR, _NOT_REAL = 1, 2
"""Statuses."""


class _TriangularFunction(StackRoutine):
    """``f(z t z^H)``: the input is z; the outputs are t, which is lost, and row-major results.

    The result may be real. The first workspace has room for some matrices.
    """

    nanoseconds = 2.0

    def updates(self, call: LibraryCall[Any]) -> Sequence[Array]:
        """Return the forms."""
        return call.outputs[:1]

    def item(self, code: MatrixCall) -> Callable[[Value], Value | None]:
        """Compute the function of the triangle, turn it, and look at the result."""
        b, options = code.b, code.call.options
        (unitary,), (forms, results) = code.call.inputs, code.call.outputs
        addresses = [code.item(array, options["move"]) for array in (unitary, forms, results)]
        triangle = _Triangle(code)
        out_type = type_of(results.dtype)

        def write(index: Value) -> Value | None:
            z, t, out = (address(index) for address in addresses)
            status = b.slot(INT64)
            b.store(b.constant(INT64, 0), status)
            self.compute(triangle, t, status)
            triangle.turn(z, t)
            triangle.finish(t, out, out_type, status)
            if not options["nan"]:
                return b.load(INT64, status)
            with when(b, b.ne(b.load(INT64, status), 0)):
                code.fill_with_nan(out, triangle.n * triangle.n, out_type)
            return None

        return write

    def compute(self, triangle: _Triangle, t: Value, status: Value) -> None:
        """Replace a triangle by a function of it."""
        raise NotImplementedError


class _Sqrtm(_TriangularFunction):
    """Square roots. The workspace has room for one matrix."""

    def compute(self, triangle: _Triangle, t: Value, status: Value) -> None:
        """Replace a triangle by its root."""
        triangle.root(t)


class _Logm(_TriangularFunction):
    """Logarithms. The workspaces have room for three matrices, and for a diagonal."""

    nanoseconds = 8.0

    def compute(self, triangle: _Triangle, t: Value, status: Value) -> None:
        """Replace a triangle by its logarithm."""
        b, code = triangle.b, triangle.code
        entries = code.array(code.call.workspace[1])
        with loop(b, 0, triangle.n) as each:
            value = triangle.load(triangle.at(t, each.index, each.index))
            is_zero = b.eq(value.re, 0.0) & b.eq(value.im, 0.0)
            with when(b, is_zero):
                b.store(b.constant(INT64, _SINGULAR), status)
            triangle.store(numbers.log(b, value), b.offset(entries, each.index, code.type))
        halvings, goes_on = b.slot(INT64), b.slot(INT64)
        b.store(b.constant(INT64, 0), halvings)
        b.store(b.constant(INT64, 1), goes_on)
        with loop(b, 0, MOST_HALVINGS), when(b, b.ne(b.load(INT64, goes_on), 0)):
            is_far = triangle.distance(t) > NEAR
            b.store(b.select(is_far, b.constant(INT64, 1), 0), goes_on)
            with when(b, is_far):
                triangle.root(t)
                b.store(b.load(INT64, halvings) + 1, halvings)
        triangle.approximate(t)
        one = b.constant(triangle.part, 1.0)
        with loop(b, 0, b.load(INT64, halvings), carried=[one]) as each:
            each.next(each.carried[0] * 2.0)
        (scale,) = each.results
        triangle.each(lambda place, value: triangle.store(_times(value, scale), place), t)
        with loop(b, 0, triangle.n) as each:
            value = triangle.load(b.offset(entries, each.index, code.type))
            triangle.store(value, triangle.at(t, each.index, each.index))


def _times(value: Complex, scale: Value | float) -> Complex:
    return Complex(value.re * scale, value.im * scale)


class _Triangle:
    """The code for upper triangles.

    Parameters
    ----------
    code
        The code of the call.
    """

    def __init__(self, code: MatrixCall) -> None:
        options, b = code.call.options, code.b
        self.code, self.b, self.part = code, b, code.type.part
        self.n = code.size(options["n"])
        self.order, self.stride = code.integer(options["n"]), code.stride(options["n"])
        first = code.array(code.call.workspace[0])
        count = 3 if len(code.call.workspace) > 1 else 1
        self.rooms = [b.offset(first, self.n * self.n * at, code.type) for at in range(count)]

    # ---- elements

    def load(self, place: Value) -> Complex:
        """Return an element."""
        found = load(self.b, self.code.type, place)
        assert isinstance(found, Complex)
        return found

    def store(self, value: Complex, place: Value) -> None:
        """Write an element."""
        store(self.b, value, place)

    def at(self, matrix: Value, row: Value, column: Value) -> Value:
        """Return the address of an element."""
        return self.b.offset(matrix, column * self.n + row, self.code.type)

    def each(self, body: Callable[[Value, Complex], None], matrix: Value) -> None:
        """Write code for the address and the value of each element."""
        with loop(self.b, 0, self.n * self.n) as one:
            place = self.b.offset(matrix, one.index, self.code.type)
            body(place, self.load(place))

    # ---- functions

    def root(self, t: Value) -> None:
        """``r[i, j] = (t[i, j] - sum(r[i, k] r[k, j], i < k < j)) / (r[i, i] + r[j, j])``"""
        b, n = self.b, self.n
        with loop(b, 0, n) as outer:
            j = outer.index
            corner = self.at(t, j, j)
            own = numbers.sqrt(b, self.load(corner))
            self.store(own, corner)
            with loop(b, 0, j) as inner:
                i = j - 1 - inner.index
                place = self.at(t, i, j)
                rest = self.load(place)
                below = numbers.add(b, own, self.load(self.at(t, i, i)))
                quotient = numbers.true_div(b, rest, below)
                # Elements between two zeros on the diagonal of a root are zeros, or do not exist.
                is_nothing = b.eq(rest.re, 0.0) & b.eq(rest.im, 0.0)
                zero = b.constant(self.part, 0.0)
                found = Complex(*(b.select(is_nothing, zero, part) for part in quotient))
                self.store(found, place)
                with loop(b, 0, i) as above:
                    product = numbers.mul(b, self.load(self.at(t, above.index, i)), found)
                    target = self.at(t, above.index, j)
                    self.store(numbers.sub(b, self.load(target), product), target)

    def distance(self, t: Value) -> Value:
        """Return the norm of the difference from the identity: the largest sum in a column."""
        b, zero = self.b, self.b.constant(self.part, 0.0)
        with loop(b, 0, self.n, carried=[zero]) as column:
            with loop(b, 0, column.index + 1, carried=[zero]) as row:
                value = self.load(self.at(t, row.index, column.index))
                re = b.select(b.eq(row.index, column.index), value.re - 1.0, value.re)
                row.next(row.carried[0] + numbers.abs(b, Complex(re, value.im)))
            column.next(b.maximum_number(row.results[0], column.carried[0]))
        return column.results[0]

    def approximate(self, t: Value) -> None:
        """``t = sum(w (1 + x e)^-1 e)``, for ``e = t - 1`` and the nodes and weights of Gauss."""
        b, (rest, left, right) = self.b, self.rooms
        self._copy(t, rest, lambda value, _: value)
        with loop(b, 0, self.n) as each:
            place = self.at(rest, each.index, each.index)
            value = self.load(place)
            self.store(Complex(value.re - 1.0, value.im), place)
        self._copy(t, t, lambda value, _: _times(value, 0.0))
        nodes, weights = np.polynomial.legendre.leggauss(NODES)
        letters = [self.code.letter(letter) for letter in "LUNN"]
        one = self.code.number(1)
        for node, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
            self._copy(rest, left, lambda value, _, node=float(node): _times(value, node))
            with loop(b, 0, self.n) as each:
                place = self.at(left, each.index, each.index)
                value = self.load(place)
                self.store(Complex(value.re + 1.0, value.im), place)
            self._copy(rest, right, lambda value, _: value)
            given = [*letters, self.order, self.order, one, left, self.stride]
            self.code.blas("trsm", [*given, right, self.stride])

            def add(value: Complex, total: Complex, weight: float = float(weight)) -> Complex:
                return numbers.add(self.b, total, _times(value, weight))

            self._copy(right, t, add)

    def _copy(
        self, source: Value, target: Value, change: Callable[[Complex, Complex], Complex]
    ) -> None:
        """Write a function of the elements of two matrices to the second one."""
        with loop(self.b, 0, self.n * self.n) as each:
            one, other = (
                self.b.offset(matrix, each.index, self.code.type) for matrix in (source, target)
            )
            self.store(change(self.load(one), self.load(other)), other)

    # ---- results

    def turn(self, z: Value, t: Value) -> None:
        """``t = z t z^H``"""
        code, half = self.code, self.rooms[0]
        one, zero = code.number(1), code.number(0)
        plain, adjoint = code.letter("N"), code.letter("C")
        sizes = [self.order, self.order, self.order, one]
        ends = [zero, half, self.stride]
        code.blas("gemm", [plain, plain, *sizes, z, self.stride, t, self.stride, *ends])
        ends = [zero, t, self.stride]
        code.blas("gemm", [plain, adjoint, *sizes, half, self.stride, z, self.stride, *ends])

    def finish(self, t: Value, out: Value, type: MachineType, status: Value) -> None:
        """Write a row-major result, or its real part, and the status if it is not finite."""
        b, zero = self.b, self.b.constant(self.part, 0.0)
        with loop(b, 0, self.n, carried=[zero]) as row:
            with loop(b, 0, self.n, carried=row.carried) as column:
                value = self.load(self.at(t, row.index, column.index))
                place = b.offset(out, row.index * self.n + column.index, type)
                store(b, value if type.kind == "c" else value.re, place)
                column.next(column.carried[0] + (value.re + value.im) * 0.0)
            row.next(*column.results)
        with when(b, b.ne(row.results[0], 0.0)):
            b.store(b.constant(INT64, _SINGULAR), status)


# ---- complex forms of real matrices --------------------------------------------------------------


class _ComplexForm(StackRoutine):
    """Complex Schur forms and unitary matrices, which are the outputs, from real ones.

    The status says that there is a negative eigenvalue. That of a block is never real.
    """

    nanoseconds = 0.2

    def item(self, code: MatrixCall) -> Callable[[Value], Value | None]:
        """Copy both, and rotate the rows and columns of each block."""
        b, options = code.b, code.call.options
        n, move = code.size(options["n"]), options["move"]
        given = [code.item(array, move) for array in code.call.inputs]
        made = [code.item(array, move) for array in code.call.outputs]
        rotation = _Rotation(code, n)
        part = code.type.part

        def write(index: Value) -> Value | None:
            t, z = (address(index) for address in made)
            for source, target in zip(given, (t, z), strict=True):
                start = source(index)
                with loop(b, 0, n * n) as each:
                    value = b.load(part, b.offset(start, each.index, part))
                    zero = b.constant(part, 0.0)
                    store(b, Complex(value, zero), b.offset(target, each.index, code.type))
            with loop(b, 1, n) as each:
                rotation.write(t, z, n - each.index)
            if options["nan"]:
                start = given[0](index)
                with when(b, b.ne(_negative(b, start, n, part), 0)):
                    code.fill_with_nan(t, n * n)
                return None
            return _negative(b, given[0](index), n, part)

        return write


def _negative(b: Builder, t: Value, n: Value, part: MachineType) -> Value:
    """Return the status of a real form: whether there is a negative number beside the blocks."""

    def below(row: Value) -> Value:
        """Return the element before the diagonal in a row, which there need not be."""
        is_there = (row > 0) & (row < n)
        place = b.offset(t, b.select(is_there, (row - 1) * n + row, 0), part)
        return b.select(is_there, b.load(part, place), b.constant(part, 0.0))

    with loop(b, 0, n, carried=[b.constant(INT64, 0)]) as each:
        row = each.index
        is_alone = b.eq(below(row), 0.0) & b.eq(below(row + 1), 0.0)
        is_negative = b.load(part, b.offset(t, row * (n + 1), part)) < 0.0
        found = b.select(is_alone & is_negative, b.constant(INT64, _NOT_REAL), each.carried[0])
        each.next(found)
    return each.results[0]


class _Rotation:
    """Code that makes blocks of two rows on the diagonal triangular.

    LAPACK writes a block as ``[[x, y], [z, x]]``, where y and z have different signs: with a square
    root w of ``y z`` its eigenvalues are ``x + w`` and ``x - w``.
    """

    def __init__(self, code: MatrixCall, n: Value) -> None:
        self.b, self.type, self.part, self.n = code.b, code.type, code.type.part, n

    def _at(self, matrix: Value, row: Value, column: Value) -> Value:
        return self.b.offset(matrix, column * self.n + row, self.type)

    def _load(self, place: Value) -> Complex:
        found = load(self.b, self.type, place)
        assert isinstance(found, Complex)
        return found

    def write(self, t: Value, z: Value, row: Value) -> None:
        """Rotate the block of a row and the one before it, if there is one."""
        b, before, n = self.b, row - 1, self.n
        corner = self._at(t, row, before)
        low, high = self._load(corner).re, self._load(self._at(t, before, row)).re
        with when(b, b.ne(low, 0.0)):
            roots = (b.intrinsic("sqrt", b.intrinsic("fabs", x)) for x in (low, high))
            root = next(roots) * next(roots)
            length = b.intrinsic("sqrt", root * root + low * low)
            cosine, sine = root / length, low / length  # the cosine is imaginary
            with loop(b, before, n) as column:
                places = [self._at(t, at, column.index) for at in (before, row)]
                self._turn(places, -cosine, sine)
            with loop(b, 0, row + 1) as other:
                self._turn([self._at(t, other.index, at) for at in (before, row)], cosine, sine)
            with loop(b, 0, n) as other:
                self._turn([self._at(z, other.index, at) for at in (before, row)], cosine, sine)
            zero = b.constant(self.part, 0.0)
            store(b, Complex(zero, zero), corner)

    def _turn(self, places: Sequence[Value], cosine: Value, sine: Value) -> None:
        """Replace x and y by ``i c x + s y`` and ``-s x - i c y``."""
        x, y = (self._load(place) for place in places)
        first = Complex(y.re * sine - x.im * cosine, x.re * cosine + y.im * sine)
        second = Complex(y.im * cosine - x.re * sine, -(y.re * cosine) - x.im * sine)
        for value, place in zip((first, second), places, strict=True):
            store(self.b, value, place)


COMPLEX_FORM = _ComplexForm("complex_form")
SQRTM = _Sqrtm("sqrtm")
LOGM = _Logm("logm")
