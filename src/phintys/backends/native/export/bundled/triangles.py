"""Products and systems with a triangle, in blocks of rows.

All but the blocks on the diagonal are products of matrices.
"""

from __future__ import annotations

from functools import partial

from phintys._base.records import record
from phintys.backends.native.assembler.control import lane_mask, loop, when
from phintys.backends.native.assembler.types import INT64
from phintys.backends.native.assembler.values import Value
from phintys.backends.native.export.bundled.numbers import MATRIX, Number, Numbers, StridedMatrix
from phintys.backends.native.export.bundled.products import multiply, multiply_vector
from phintys.backends.native.limits import BUNDLED_BLOCK


@record(frozen=True, eq=False)
class Triangle:
    """A triangular matrix.

    Attributes
    ----------
    view
        The matrix, whose other triangle is not read.
    is_lower, is_unit
        Flags, as int64: whether it is lower triangular, and whether its diagonal is 1 and not read.
    """

    view: StridedMatrix
    is_lower: Value
    is_unit: Value

    @property
    def parts(self) -> tuple[Value, ...]:
        """The values passed to a function for it."""
        return (*self.view.parts, self.is_lower, self.is_unit)


def solve(numbers: Numbers, n: Value, k: Value, triangle: Triangle, x: StridedMatrix) -> None:
    """Write ``x = triangle^-1 x``, for x of n by k with contiguous rows or columns."""
    _call(numbers, "solve", n, k, triangle, x)


def apply(numbers: Numbers, n: Value, k: Value, triangle: Triangle, x: StridedMatrix) -> None:
    """Write ``x = triangle x``, for x of n by k with contiguous rows or columns."""
    _call(numbers, "apply", n, k, triangle, x)


def scale(numbers: Numbers, m: Value, n: Value, x: StridedMatrix, alpha: Value) -> None:
    """Write ``x = alpha x``, with the address of alpha."""
    b = numbers.b
    factor = numbers.load(alpha)
    with loop(b, 0, m) as row, loop(b, 0, n) as column:
        place = numbers.at(x, row.index, column.index)
        numbers.store(numbers.multiply(factor, numbers.load(place)), place)


def _call(
    numbers: Numbers, name: str, n: Value, k: Value, triangle: Triangle, x: StridedMatrix
) -> None:
    parameters = [INT64, INT64, *MATRIX, INT64, INT64, *MATRIX]
    write = partial(_write, divides=name == "solve")
    numbers.call(name, parameters, write, [n, k, *triangle.parts, *x.parts])


def _write(numbers: Numbers, *, divides: bool) -> None:
    """Solve from the first known row on, or multiply in the opposite order."""
    b = numbers.b
    n, k, *parts = b.arguments
    triangle, x = Triangle(StridedMatrix(*parts[:4]), *parts[4:6]), StridedMatrix(*parts[6:])
    is_lower = b.ne(triangle.is_lower, 0)
    is_forward = is_lower if divides else b.eq(triangle.is_lower, 0)
    width = b.constant(INT64, BUNDLED_BLOCK)
    blocks = b.binary("sdiv", n + (BUNDLED_BLOCK - 1), width)
    with loop(b, 0, blocks) as block:
        number = b.select(is_forward, block.index, blocks - 1 - block.index)
        first = number * BUNDLED_BLOCK
        after = b.minimum_number(first + BUNDLED_BLOCK, n)
        begin = b.select(is_lower, b.constant(INT64, 0), after)
        inner = b.select(is_lower, first, n - after)
        rest = (inner, begin)
        if divides:
            _add_rest(numbers, triangle, x, (first, after - first, k), rest, -1)
        _on_diagonal(numbers, triangle, x, (first, after - first, k), divides=divides)
        if not divides:
            _add_rest(numbers, triangle, x, (first, after - first, k), rest, 1)
    b.ret()


def _add_rest(
    numbers: Numbers,
    triangle: Triangle,
    x: StridedMatrix,
    lengths: tuple[Value, Value, Value],
    rest: tuple[Value, Value],
    sign: int,
) -> None:
    """Add products with what is beside a block on the diagonal."""
    b = numbers.b
    first, count, k = lengths
    inner, begin = rest
    factors = numbers.address(sign), numbers.address(1)
    beside, source = numbers.part(triangle.view, first, begin), numbers.part(x, begin, 0)
    target = numbers.part(x, first, 0)
    some, vector, matrix, after = (b.new_block(n) for n in ("some", "vector", "matrix", "after"))
    b.branch(b.eq(inner, 0), after, some)
    b.begin(some)
    b.branch(b.eq(k, 1), vector, matrix)
    b.begin(vector)
    sides = (source.pointer, source.down), (target.pointer, target.down)
    multiply_vector(numbers, (count, inner), beside, *sides, factors)
    b.jump(after)
    b.begin(matrix)
    multiply(numbers, (count, k, inner), beside, source, target, *factors)
    b.jump(after)
    b.begin(after)


def _on_diagonal(
    numbers: Numbers,
    triangle: Triangle,
    x: StridedMatrix,
    lengths: tuple[Value, Value, Value],
    *,
    divides: bool,
) -> None:
    """Solve a system with a block on the diagonal, or multiply by it: a lane for each column."""
    b, lanes = numbers.b, numbers.lanes
    first, count, k = lengths
    room = numbers.room(BUNDLED_BLOCK * lanes)
    own, rows = numbers.part(triangle.view, first, first), numbers.part(x, first, 0)
    is_lower, is_unit = b.ne(triangle.is_lower, 0), b.ne(triangle.is_unit, 0)
    is_forward = is_lower if divides else ~is_lower

    def kept(row: Value) -> Value:
        return numbers.place(room, row * lanes)

    with loop(b, 0, k, lanes) as column:
        left = k - column.index
        _gather(numbers, rows, (count, left), column.index, room)
        with loop(b, 0, count) as step:
            row = b.select(is_forward, step.index, count - 1 - step.index)
            number = numbers.splat(numbers.read(own, row, row), lanes)
            before = numbers.load(kept(row), lanes)
            if not divides:
                product = numbers.multiply(before, number)
                numbers.store(numbers.select(b.splat(is_unit, lanes), before, product), kept(row))
            begin = b.select(is_lower, b.constant(INT64, 0), row + 1)
            end = b.select(is_lower, row, count)
            with loop(b, begin, end) as other:
                factor = numbers.read(own, row, other.index)
                factor = numbers.negative(factor) if divides else factor
                total = numbers.load(kept(row), lanes)
                vector = numbers.load(kept(other.index), lanes)
                total = numbers.multiply_add(numbers.splat(factor, lanes), vector, total)
                numbers.store(total, kept(row))
            if divides:
                total = numbers.load(kept(row), lanes)
                with when(b, ~is_unit):
                    numbers.store(numbers.divide(total, number), kept(row))
        _scatter(numbers, rows, (count, left), column.index, room)


def _gather(
    numbers: Numbers, rows: StridedMatrix, lengths: tuple[Value, Value], column: Value, room: Value
) -> None:
    """Copy columns, as many as lanes; those outside repeat the last one."""
    b, lanes = numbers.b, numbers.lanes
    count, left = lengths
    with loop(b, 0, count) as row:
        near, far, after = (b.new_block(name) for name in ("near", "far", "after"))
        place = numbers.place(room, row.index * lanes)
        b.branch(b.eq(rows.along, 1), near, far)
        b.begin(near)
        mask = lane_mask(b, left, lanes)
        numbers.store(numbers.load(numbers.at(rows, row.index, column), lanes, mask), place)
        b.jump(after)
        b.begin(far)
        found: list[Number] = []
        for lane in range(lanes):
            inside = b.minimum_number(b.constant(INT64, lane), left - 1)
            found.append(numbers.load(numbers.at(rows, row.index, column + inside)))
        numbers.store(numbers.from_lanes(found), place)
        b.jump(after)
        b.begin(after)


def _scatter(
    numbers: Numbers, rows: StridedMatrix, lengths: tuple[Value, Value], column: Value, room: Value
) -> None:
    """Copy columns back."""
    b, lanes = numbers.b, numbers.lanes
    count, left = lengths
    inside = b.minimum_number(left, lanes)
    with loop(b, 0, count) as row:
        near, far, after = (b.new_block(name) for name in ("near", "far", "after"))
        place = numbers.place(room, row.index * lanes)
        b.branch(b.eq(rows.along, 1), near, far)
        b.begin(near)
        vector = numbers.load(place, lanes)
        numbers.store(vector, numbers.at(rows, row.index, column), lane_mask(b, left, lanes))
        b.jump(after)
        b.begin(far)
        with loop(b, 0, inside) as lane:
            number = numbers.load(numbers.place(place, lane.index))
            numbers.store(number, numbers.at(rows, row.index, column + lane.index))
        b.jump(after)
        b.begin(after)
