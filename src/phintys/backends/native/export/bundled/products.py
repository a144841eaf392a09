"""Products of matrices, and of a matrix with a vector."""

from __future__ import annotations

from phintys.backends.native.assembler.control import ending_if, lane_mask, loop
from phintys.backends.native.assembler.types import INT64, PTR
from phintys.backends.native.assembler.values import Value, components, joined
from phintys.backends.native.export.bundled.numbers import MATRIX, Number, Numbers, StridedMatrix
from phintys.backends.native.limits import (
    BUNDLED_BLOCK,
    BUNDLED_DEPTH,
    PRODUCT_TILE_ROWS,
)

Lengths = tuple[Value, Value, Value]


def multiply(
    numbers: Numbers,
    lengths: Lengths,
    a: StridedMatrix,
    b: StridedMatrix,
    c: StridedMatrix,
    alpha: Value,
    beta: Value,
) -> None:
    """Write ``c = alpha a b + beta c``, with lengths m, n, k and the addresses of both factors.

    Columns or rows of c must be contiguous. If beta is 0, the values of c do not matter.
    """
    parameters = [INT64] * 3 + [*MATRIX] * 3 + [PTR, PTR]
    arguments = [*lengths, *a.parts, *b.parts, *c.parts, alpha, beta]
    numbers.call("multiply", parameters, _write_multiply, arguments)


def multiply_vector(
    numbers: Numbers,
    lengths: tuple[Value, Value],
    a: StridedMatrix,
    x: tuple[Value, Value],
    y: tuple[Value, Value],
    factors: tuple[Value, Value],
) -> None:
    """Write ``y = alpha a x + beta y`` for vectors with steps, with the addresses of factors."""
    parameters = [INT64, INT64, *MATRIX, PTR, INT64, PTR, INT64, PTR, PTR]
    arguments = [*lengths, *a.parts, *x, *y, *factors]
    numbers.call("multiply_vector", parameters, _write_multiply_vector, arguments)


def add_square(
    numbers: Numbers,
    n: Value,
    k: Value,
    a: StridedMatrix,
    c: StridedMatrix,
    alpha: Value,
    beta: Value,
) -> None:
    """Write ``c = alpha a a^H + beta c`` for the lower triangle of c; a is n by k."""
    parameters = [INT64, INT64, *MATRIX, *MATRIX, PTR, PTR]
    arguments = [n, k, *a.parts, *c.parts, alpha, beta]
    numbers.call("add_square", parameters, _write_add_square, arguments)


def _scaled(numbers: Numbers, beta: Number, before: Number) -> Number:
    """Return ``beta before``, 0 if beta is."""
    product = numbers.multiply(beta, before)
    return numbers.select(numbers.is_zero(beta), numbers.zero(), product)


# ---- matrices ------------------------------------------------------------------------------------


def _write_multiply(numbers: Numbers) -> None:
    b = numbers.b
    m, n, k, *parts, alpha, beta = b.arguments
    first, second, c = (
        StridedMatrix(*parts[:4]),
        StridedMatrix(*parts[4:8]),
        StridedMatrix(*parts[8:]),
    )
    with ending_if(b, b.ne(c.along, 1) & b.ne(n, 1)):
        turned = [one.transposed() for one in (second, first, c)]
        multiply(numbers, (n, m, k), turned[0], turned[1], turned[2], alpha, beta)
        b.ret()
    lanes = numbers.lanes
    vectors = 1 if numbers.is_complex else 2
    width = lanes * vectors
    room = numbers.room(BUNDLED_DEPTH * width)
    alphas, betas = numbers.load(alpha), numbers.load(beta)
    one = numbers.load(numbers.address(1))
    last = m - 1
    with loop(b, 0, b.maximum_number(k, 1), BUNDLED_DEPTH, runs=True) as depth:
        start = depth.index
        count = b.minimum_number(k - start, BUNDLED_DEPTH)
        kept = numbers.select(b.eq(start, 0), betas, one)
        with loop(b, 0, n, width) as column:
            left = n - column.index
            _pack(numbers, numbers.part(second, start, column.index), (count, left), room, width)
            masks = [lane_mask(b, left - at * lanes, lanes) for at in range(vectors)]
            with loop(b, 0, m, PRODUCT_TILE_ROWS) as block:
                rows = [b.minimum_number(block.index + at, last) for at in range(PRODUCT_TILE_ROWS)]
                starts = [numbers.at(first, row, start) for row in rows]
                totals = _tile(numbers, starts, first, room, count, vectors)
                results: list[tuple[Number, Value, Value]] = []
                for row, sums in zip(rows, totals, strict=True):
                    for at, (total, mask) in enumerate(zip(sums, masks, strict=True)):
                        place = numbers.at(c, row, column.index + at * lanes)
                        before = numbers.load(place, lanes, mask)
                        former = numbers.multiply(numbers.splat(kept, lanes), before)
                        is_clean = b.splat(numbers.is_zero(kept), lanes)
                        former = numbers.select(is_clean, numbers.zero(lanes), former)
                        factor = numbers.splat(alphas, lanes)
                        results.append((numbers.multiply_add(factor, total, former), place, mask))
                # All are read before one is written: the last row may be there several times.
                for result, place, mask in results:
                    numbers.store(result, place, mask)
    b.ret()


def _pack(
    numbers: Numbers, source: StridedMatrix, lengths: tuple[Value, Value], room: Value, width: int
) -> None:
    """Copy some columns of a matrix, row by row; columns outside repeat the last one."""
    b, lanes = numbers.b, numbers.lanes
    rows, columns = lengths
    near, far, after = (b.new_block(name) for name in ("near", "far", "after"))
    b.branch(b.eq(source.along, 1), near, far)
    b.begin(near)
    masks = [lane_mask(b, columns - at, lanes) for at in range(0, width, lanes)]
    with loop(b, 0, rows) as row:
        for at, mask in enumerate(masks):
            place = numbers.at(source, row.index, at * lanes)
            vector = numbers.load(place, lanes, mask, source.conjugated)
            numbers.store(vector, numbers.place(room, row.index * width + at * lanes))
    b.jump(after)
    b.begin(far)
    with loop(b, 0, width) as column:
        inside = b.minimum_number(column.index, columns - 1)
        with loop(b, 0, rows) as row:
            number = numbers.read(source, row.index, inside)
            numbers.store(number, numbers.place(room, row.index * width + column.index))
    b.jump(after)
    b.begin(after)


def _tile(
    numbers: Numbers,
    starts: list[Value],
    first: StridedMatrix,
    room: Value,
    count: Value,
    vectors: int,
) -> list[list[Number]]:
    """Return the sums of products of some rows and the columns that are packed."""
    b, lanes = numbers.b, numbers.lanes
    zero = components(numbers.zero(lanes))
    size, tiles = len(zero), len(starts) * vectors
    with loop(b, 0, count, carried=[b.constant(INT64, 0), *zero * tiles]) as inner:
        along, *flat = inner.carried
        sums = [joined(flat[at * size : (at + 1) * size]) for at in range(tiles)]
        places = [room_at * lanes + inner.index * (lanes * vectors) for room_at in range(vectors)]
        right = [numbers.load(numbers.place(room, place), lanes) for place in places]
        following: list[Value] = []
        for at, start in enumerate(starts):
            number = numbers.load(numbers.place(start, along), conjugated=first.conjugated)
            left = numbers.splat(number, lanes)
            for by, vector in enumerate(right):
                total = numbers.multiply_add(left, vector, sums[at * vectors + by])
                following += components(total)
        inner.next(along + first.along, *following)
    flat = inner.results[1:]
    found = [joined(flat[at * size : (at + 1) * size]) for at in range(tiles)]
    return [found[at : at + vectors] for at in range(0, tiles, vectors)]


# ---- a matrix and a vector -----------------------------------------------------------------------


def _write_multiply_vector(numbers: Numbers) -> None:
    b = numbers.b
    m, n, *parts, x, x_step, y, y_step, alpha, beta = b.arguments
    a = StridedMatrix(*parts)
    alphas, betas = numbers.load(alpha), numbers.load(beta)
    with loop(b, 0, m) as row:
        place = numbers.place(y, row.index * y_step)
        numbers.store(_scaled(numbers, betas, numbers.load(place)), place)
    by_rows, by_columns = b.new_block("rows"), b.new_block("columns")
    b.branch(b.eq(a.along, 1), by_rows, by_columns)
    b.begin(by_rows)
    _by_rows(numbers, (m, n), a, (x, x_step), (y, y_step), alphas)
    b.ret()
    b.begin(by_columns)
    _by_columns(numbers, (m, n), a, (x, x_step), (y, y_step), alphas)
    b.ret()


def _by_rows(
    numbers: Numbers,
    lengths: tuple[Value, Value],
    a: StridedMatrix,
    x: tuple[Value, Value],
    y: tuple[Value, Value],
    alpha: Number,
) -> None:
    """Add ``alpha a x`` for contiguous rows: sums of several rows side by side."""
    b, lanes = numbers.b, numbers.lanes
    m, n = lengths
    room, last = numbers.room(BUNDLED_DEPTH), m - 1
    zero = components(numbers.zero(lanes))
    size = len(zero)
    with loop(b, 0, n, BUNDLED_DEPTH) as part:
        count = b.minimum_number(n - part.index, BUNDLED_DEPTH)
        with loop(b, 0, count) as one:
            number = numbers.load(numbers.place(x[0], (part.index + one.index) * x[1]))
            numbers.store(number, numbers.place(room, one.index))
        with loop(b, 0, m, PRODUCT_TILE_ROWS) as block:
            rows = [b.minimum_number(block.index + at, last) for at in range(PRODUCT_TILE_ROWS)]
            starts = [numbers.at(a, row, part.index) for row in rows]
            with loop(b, 0, count, lanes, carried=zero * PRODUCT_TILE_ROWS) as along:
                mask = lane_mask(b, count - along.index, lanes)
                right = numbers.load(numbers.place(room, along.index), lanes, mask)
                following: list[Value] = []
                for at, start in enumerate(starts):
                    place = numbers.place(start, along.index)
                    left = numbers.load(place, lanes, mask, a.conjugated)
                    total = joined(along.carried[at * size : (at + 1) * size])
                    following += components(numbers.multiply_add(left, right, total))
                along.next(*following)
            places = [numbers.place(y[0], row * y[1]) for row in rows]
            before = [numbers.load(place) for place in places]
            for at, (place, former) in enumerate(zip(places, before, strict=True)):
                total = _sum_of_lanes(numbers, joined(along.results[at * size : (at + 1) * size]))
                numbers.store(numbers.multiply_add(alpha, total, former), place)


def _sum_of_lanes(numbers: Numbers, vector: Number) -> Number:
    found = numbers.lane(vector, 0)
    for lane in range(1, numbers.lanes):
        found = numbers.add(found, numbers.lane(vector, lane))
    return found


def _by_columns(
    numbers: Numbers,
    lengths: tuple[Value, Value],
    a: StridedMatrix,
    x: tuple[Value, Value],
    y: tuple[Value, Value],
    alpha: Number,
) -> None:
    """Add ``alpha a x`` for contiguous columns: a lane for each row."""
    b, lanes = numbers.b, numbers.lanes
    m, n = lengths
    room, zero = numbers.room(PRODUCT_TILE_ROWS * lanes), components(numbers.zero(lanes))
    size = len(zero)
    with loop(b, 0, m, PRODUCT_TILE_ROWS * lanes) as rows:
        left = m - rows.index
        offsets = [at * lanes for at in range(PRODUCT_TILE_ROWS)]
        masks = [lane_mask(b, left - offset, lanes) for offset in offsets]
        with loop(b, 0, n, carried=zero * PRODUCT_TILE_ROWS) as column:
            number = numbers.load(numbers.place(x[0], column.index * x[1]))
            right = numbers.splat(number, lanes)
            start = numbers.at(a, rows.index, column.index)
            following: list[Value] = []
            for at, (offset, mask) in enumerate(zip(offsets, masks, strict=True)):
                vector = numbers.load(numbers.place(start, offset), lanes, mask, a.conjugated)
                total = joined(column.carried[at * size : (at + 1) * size])
                following += components(numbers.multiply_add(vector, right, total))
            column.next(*following)
        for at, offset in enumerate(offsets):
            total = joined(column.results[at * size : (at + 1) * size])
            numbers.store(total, numbers.place(room, offset))
        with loop(b, 0, b.minimum_number(left, PRODUCT_TILE_ROWS * lanes)) as one:
            place = numbers.place(y[0], (rows.index + one.index) * y[1])
            total = numbers.load(numbers.place(room, one.index))
            numbers.store(numbers.multiply_add(alpha, total, numbers.load(place)), place)


# ---- squares -------------------------------------------------------------------------------------


def _write_add_square(numbers: Numbers) -> None:
    """In blocks of rows: what is left of the diagonal is a product, blocks on it are temporary."""
    b = numbers.b
    n, k, *parts, alpha, beta = b.arguments
    a, c = StridedMatrix(*parts[:4]), StridedMatrix(*parts[4:])
    width, none = b.constant(INT64, BUNDLED_BLOCK), b.constant(INT64, 0)
    own = StridedMatrix(numbers.room(BUNDLED_BLOCK**2), width, b.constant(INT64, 1), none)
    betas = numbers.load(beta)
    with loop(b, 0, n, BUNDLED_BLOCK) as block:
        first = block.index
        count = b.minimum_number(n - first, BUNDLED_BLOCK)
        rows = numbers.part(a, first, 0)
        target = numbers.part(c, first, 0)
        multiply(numbers, (count, first, k), rows, a.adjoint(), target, alpha, beta)
        multiply(numbers, (count, count, k), rows, rows.adjoint(), own, alpha, numbers.address(0))
        with loop(b, 0, count) as row, loop(b, 0, row.index + 1) as column:
            place = numbers.at(c, first + row.index, first + column.index)
            former = _scaled(numbers, betas, numbers.load(place))
            total = numbers.read(own, row.index, column.index)
            numbers.store(numbers.add(former, total), place)
    b.ret()
