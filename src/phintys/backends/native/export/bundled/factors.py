"""Cholesky factors and inverses by them, and LU factors.

For the blocked forms see Golub & Van Loan, Matrix Computations, 3.2.11 and 4.2.6. Cholesky factors
and their inverses are lower triangles of views; other triangles are neither read nor written.
"""

from __future__ import annotations

from phintys.backends.native.assembler.control import ending_if, lane_mask, loop, when
from phintys.backends.native.assembler.types import INT32, INT64, PTR
from phintys.backends.native.assembler.values import Complex, Value
from phintys.backends.native.export.bundled.numbers import MATRIX, Number, Numbers, StridedMatrix
from phintys.backends.native.export.bundled.products import add_square, multiply
from phintys.backends.native.export.bundled.triangles import Triangle, apply, scale, solve
from phintys.backends.native.limits import BUNDLED_BLOCK


def factor(numbers: Numbers, n: Value, a: StridedMatrix) -> Value:
    """Write ``a = l l^H``; return the order of the first minor that is not positive, or 0."""
    return numbers.call("factor", [INT64, *MATRIX], _write_factor, [n, *a.parts], INT64)


def invert(numbers: Numbers, n: Value, a: StridedMatrix, is_unit: Value) -> None:
    """Write the inverse of a lower triangle, in its place; is_unit is 1 if its diagonal is 1."""
    numbers.call("invert", [INT64, *MATRIX, INT64], _write_invert, [n, *a.parts, is_unit])


def square(numbers: Numbers, n: Value, a: StridedMatrix) -> None:
    """Write ``a^H a`` for a lower triangle, in its place."""
    numbers.call("square", [INT64, *MATRIX], _write_square, [n, *a.parts])


def factor_lu(numbers: Numbers, m: Value, n: Value, a: StridedMatrix, pivots: Value) -> Value:
    """Write ``p a = l u``; return the number, from 1, of the first pivot that is 0, or 0.

    ``pivots`` is the address of int32: the rows, from 1, that rows were exchanged with.
    """
    parameters = [INT64, INT64, *MATRIX, PTR]
    return numbers.call("factor_lu", parameters, _write_lu, [m, n, *a.parts, pivots], INT64)


def _triangle(view: StridedMatrix, *, lower: bool = True, unit: bool = False) -> Triangle:
    """Return a triangle with flags that are known."""
    b = view.pointer.builder
    return Triangle(view, b.constant(INT64, int(lower)), b.constant(INT64, int(unit)))


# ---- Cholesky factors ----------------------------------------------------------------------------


def _write_factor(numbers: Numbers) -> None:
    """Compute block after block of columns, each by products with those before it."""
    b = numbers.b
    n, *parts = b.arguments
    a = StridedMatrix(*parts)
    minus, one = numbers.address(-1), numbers.address(1)
    with loop(b, 0, n, BUNDLED_BLOCK) as block:
        first = block.index
        count = b.minimum_number(n - first, BUNDLED_BLOCK)
        after = first + count
        below = n - after
        rows, corner = numbers.part(a, first, 0), numbers.part(a, first, first)
        add_square(numbers, count, first, rows, corner, minus, one)
        _factor_block(numbers, count, corner, first)
        others, target = numbers.part(a, after, 0), numbers.part(a, after, first)
        multiply(numbers, (below, count, first), others, rows.adjoint(), target, minus, one)
        # target = others l^-H: its transpose is the solution of a system with the conjugate of l.
        conjugate = StridedMatrix(corner.pointer, corner.down, corner.along, corner.conjugated ^ 1)
        solve(numbers, count, below, _triangle(conjugate), target.transposed())
    b.ret(b.constant(INT64, 0))


def _factor_block(numbers: Numbers, n: Value, a: StridedMatrix, before: Value) -> None:
    """Factorize a block on the diagonal; the function ends at a minor that is not positive."""
    b = numbers.b
    with loop(b, 0, n) as column:
        at = column.index
        with loop(b, 0, at) as other, loop(b, at, n) as row:
            place = numbers.at(a, row.index, at)
            left = numbers.load(numbers.at(a, row.index, other.index))
            right = _conjugate(numbers.load(numbers.at(a, at, other.index)))
            product = numbers.multiply_add(numbers.negative(left), right, numbers.load(place))
            numbers.store(product, place)
        place = numbers.at(a, at, at)
        found = numbers.load(place)
        pivot = found.re if isinstance(found, Complex) else found
        with ending_if(b, ~(pivot > 0.0)):
            b.ret(before + at + 1)
        root = _real(numbers, b.intrinsic("sqrt", pivot))
        numbers.store(root, place)
        with loop(b, at + 1, n) as row:
            place = numbers.at(a, row.index, at)
            numbers.store(numbers.divide(numbers.load(place), root), place)


def _conjugate(number: Number) -> Number:
    return Complex(number.re, -number.im) if isinstance(number, Complex) else number


def _real(numbers: Numbers, value: Value) -> Number:
    """Return a real number as one of the type."""
    return Complex(value, numbers.b.constant(value.type, 0.0)) if numbers.is_complex else value


# ---- inverses ------------------------------------------------------------------------------------


def _write_invert(numbers: Numbers) -> None:
    """From the last block of columns to the first: ``x21 = -x22 l21 l11^-1``."""
    b = numbers.b
    n, *parts, is_unit = b.arguments
    a = StridedMatrix(*parts)
    width = b.constant(INT64, BUNDLED_BLOCK)
    blocks = b.binary("sdiv", n + (BUNDLED_BLOCK - 1), width)
    one = b.constant(INT64, 1)
    with loop(b, 0, blocks) as block:
        first = (blocks - 1 - block.index) * BUNDLED_BLOCK
        count = b.minimum_number(n - first, BUNDLED_BLOCK)
        after = first + count
        below = n - after
        corner, target = numbers.part(a, first, first), numbers.part(a, after, first)
        rest = Triangle(numbers.part(a, after, after), one, is_unit)
        apply(numbers, below, count, rest, target)
        scale(numbers, below, count, target, numbers.address(-1))
        own = Triangle(corner.transposed(), one ^ 1, is_unit)
        solve(numbers, count, below, own, target.transposed())
        _invert_block(numbers, count, corner, is_unit)
    b.ret()


def _invert_block(numbers: Numbers, n: Value, a: StridedMatrix, is_unit: Value) -> None:
    """``x[i, j] = -sum(x[i, k] l[k, j], j < k <= i) x[j, j]``, from the last column to the first.

    Sums are made from the last row to the first: they need rows above as they were.
    """
    b = numbers.b
    is_unit = b.ne(is_unit, 0)
    one = numbers.load(numbers.address(1))
    with loop(b, 0, n) as step:
        at = n - 1 - step.index
        place = numbers.at(a, at, at)
        diagonal = numbers.select(is_unit, one, numbers.load(place))
        scale_ = numbers.divide(one, diagonal)
        with when(b, ~is_unit):
            numbers.store(scale_, place)
        with loop(b, 0, step.index) as below:
            row = n - 1 - below.index
            target = numbers.at(a, row, at)
            own = numbers.select(is_unit, one, numbers.load(numbers.at(a, row, row)))
            numbers.store(numbers.multiply(own, numbers.load(target)), target)
            with loop(b, at + 1, row) as other:
                left = numbers.load(numbers.at(a, row, other.index))
                right = numbers.load(numbers.at(a, other.index, at))
                total = numbers.multiply_add(left, right, numbers.load(target))
                numbers.store(total, target)
            product = numbers.multiply(numbers.load(target), scale_)
            numbers.store(numbers.negative(product), target)


def _write_square(numbers: Numbers) -> None:
    """``p[i, j] = sum(conj(x[k, i]) x[k, j], k >= i)``, block after block of rows."""
    b = numbers.b
    n, *parts = b.arguments
    a = StridedMatrix(*parts)
    one = numbers.address(1)
    with loop(b, 0, n, BUNDLED_BLOCK) as block:
        first = block.index
        count = b.minimum_number(n - first, BUNDLED_BLOCK)
        after = first + count
        rest = n - after
        corner, target = numbers.part(a, first, first), numbers.part(a, first, 0)
        apply(numbers, count, first, _triangle(corner.adjoint(), lower=False), target)
        below, others = numbers.part(a, after, first), numbers.part(a, after, 0)
        multiply(numbers, (count, first, rest), below.adjoint(), others, target, one, one)
        _square_block(numbers, count, corner)
        # below^H below: the adjoint's square.
        add_square(numbers, count, rest, below.adjoint(), corner, one, one)
    b.ret()


def _square_block(numbers: Numbers, n: Value, a: StridedMatrix) -> None:
    b = numbers.b
    with loop(b, 0, n) as row, loop(b, 0, row.index + 1) as column:
        place = numbers.at(a, row.index, column.index)
        first = numbers.multiply(
            _conjugate(numbers.load(numbers.at(a, row.index, row.index))), numbers.load(place)
        )
        # The diagonal is the last element of its row, which others of the row read.
        numbers.store(first, place)
        with loop(b, row.index + 1, n) as other:
            left = _conjugate(numbers.load(numbers.at(a, other.index, row.index)))
            right = numbers.load(numbers.at(a, other.index, column.index))
            numbers.store(numbers.multiply_add(left, right, numbers.load(place)), place)


# ---- LU factors ----------------------------------------------------------------------------------


def _write_lu(numbers: Numbers) -> None:
    """Factorize block after block of columns, and update those after it."""
    b = numbers.b
    m, n, *parts, pivots = b.arguments
    a = StridedMatrix(*parts)
    status = b.slot(INT64)
    b.store(b.constant(INT64, 0), status)
    minus, one = numbers.address(-1), numbers.address(1)
    least = b.minimum_number(m, n)
    with loop(b, 0, least, BUNDLED_BLOCK) as block:
        first = block.index
        after = b.minimum_number(first + BUNDLED_BLOCK, least)
        count, right = after - first, n - after
        with loop(b, first, after) as column:
            _eliminate(numbers, (m, n, after), a, column.index, pivots, status)
        corner, beside = numbers.part(a, first, first), numbers.part(a, first, after)
        solve(numbers, count, right, _triangle(corner, unit=True), beside)
        below, rest = numbers.part(a, after, first), numbers.part(a, after, after)
        multiply(numbers, (m - after, right, count), below, beside, rest, minus, one)
    b.ret(b.load(INT64, status))


def _eliminate(
    numbers: Numbers,
    lengths: tuple[Value, Value, Value],
    a: StridedMatrix,
    column: Value,
    pivots: Value,
    status: Value,
) -> None:
    """Exchange rows for the largest pivot, and eliminate a column from the others of its block."""
    b = numbers.b
    m, n, after = lengths
    pivot = _largest(numbers, m, a, column)
    b.store(b.convert(pivot + 1, INT32), b.offset(pivots, column, INT32))
    found = numbers.read(a, pivot, column)
    is_zero = numbers.is_zero(found)
    with when(b, is_zero & b.eq(b.load(INT64, status), 0)):
        b.store(column + 1, status)
    with when(b, ~is_zero):
        exchange(numbers, n, a, column, pivot)
        with loop(b, column + 1, m) as row:
            place = numbers.at(a, row.index, column)
            numbers.store(numbers.divide(numbers.load(place), found), place)
    with loop(b, column + 1, after) as other:
        factor = numbers.negative(numbers.read(a, column, other.index))
        _add_multiple(
            numbers,
            m - column - 1,
            (numbers.at(a, column + 1, column), a.down),
            (numbers.at(a, column + 1, other.index), a.down),
            factor,
        )


def _largest(numbers: Numbers, m: Value, a: StridedMatrix, column: Value) -> Value:
    """Return the row, from a diagonal on, of the largest number in a column."""
    b = numbers.b
    start = [column, numbers.size(numbers.read(a, column, column))]
    with loop(b, column + 1, m, carried=start) as row:
        place, largest = row.carried
        size = numbers.size(numbers.read(a, row.index, column))
        is_larger = size > largest
        row.next(b.select(is_larger, row.index, place), b.select(is_larger, size, largest))
    return row.results[0]


def exchange(numbers: Numbers, n: Value, a: StridedMatrix, first: Value, second: Value) -> None:
    """Write the exchange of two rows."""
    b = numbers.b
    with when(b, b.ne(first, second)), loop(b, 0, n) as column:
        one, other = (numbers.at(a, row, column.index) for row in (first, second))
        former, latter = numbers.load(one), numbers.load(other)
        numbers.store(latter, one)
        numbers.store(former, other)


def _add_multiple(
    numbers: Numbers,
    count: Value,
    x: tuple[Value, Value],
    y: tuple[Value, Value],
    factor: Number,
) -> None:
    """Write ``y += factor x`` for vectors with steps."""
    b, lanes = numbers.b, numbers.lanes
    near, far, after = (b.new_block(name) for name in ("near", "far", "after"))
    b.branch(b.eq(x[1], 1) & b.eq(y[1], 1), near, far)
    b.begin(near)
    factors = numbers.splat(factor, lanes)
    with loop(b, 0, count, lanes) as one:
        mask = lane_mask(b, count - one.index, lanes)
        source, target = (numbers.place(v[0], one.index) for v in (x, y))
        vector, former = (numbers.load(place, lanes, mask) for place in (source, target))
        numbers.store(numbers.multiply_add(factors, vector, former), target, mask)
    b.jump(after)
    b.begin(far)
    with loop(b, 0, count) as one:
        source, target = (numbers.place(v[0], one.index * v[1]) for v in (x, y))
        number, former = numbers.load(source), numbers.load(target)
        numbers.store(numbers.multiply_add(factor, number, former), target)
    b.jump(after)
    b.begin(after)
