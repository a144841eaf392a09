"""Products of sparse with dense matrices: a loop over rows of the pattern.

A sum of a row is in registers, for several columns at once; its terms are added in the order of the
entries, so that results do not depend on threads or on the number of columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import divide_up, lane_mask, loop, when
from phintys.backends.native.assembler.elements import load, store
from phintys.backends.native.assembler.operations import emit
from phintys.backends.native.assembler.types import INT32, INT64, MachineType, type_of
from phintys.backends.native.assembler.values import Complex, Value, components, joined
from phintys.backends.native.limits import SPARSE_NANOSECONDS, SPARSE_TILES
from phintys.backends.native.routines.ranges import RangeFunction
from phintys.backends.native.steps.call import CallWriter, LibraryCall, Routine

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from phintys.backends.native.polynomials import Costs, Polynomial
    from phintys.backends.native.values import Array

    Number = Value | Complex
    Tile = tuple[Value, int, Value | None]
    """The first column, a number of vectors of columns, and which lanes there are."""


class SparseProduct(Routine):
    """A product along a pattern.

    Inputs are two operands, the indices and ``indptr``, and for gradients a third operand. If the
    pattern is known, there may be one more. It is the row of each entry where dense operands are
    vectors, so that one loop goes over all entries: CPUs do not foresee the ends of rows of
    different lengths. For ``BY_ROWS`` it is the place of each entry among the elements, where the
    pattern was transposed. Options are the numbers of rows and columns of the pattern (``m``,
    ``n``), of entries (``nnz``) and of columns of dense matrices (``k``), whether those are vectors
    (``vector``), and whether the pattern ``is_checked`` already.

    Rows that add to the same elements of a vector are in a number of ``blocks``, each with sums of
    its own, in the workspace but for the first. Their number depends on sizes alone, so that the
    bits of results do not depend on threads.
    """

    shares_work: ClassVar[bool] = True

    def __init__(self, name: str, body: type[_Rows]) -> None:
        self.name = name
        self._body = body

    def updates(self, call: LibraryCall[Any]) -> Sequence[Array]:
        """Return the last output if products are added to it."""
        return call.outputs[-1:] if self._body.adds else ()

    def work(self, call: LibraryCall[Any], costs: Costs) -> Polynomial:
        """Return a rough estimate of its time."""
        return call.time(costs, SPARSE_NANOSECONDS, "nnz", "k")

    def emit(self, call: LibraryCall[Any], writer: CallWriter) -> Value | None:
        """Write a check of the pattern, a function for a range of rows, and its call.

        Returns
        -------
        Value or None
            The number of the problem of a pattern that is wrong; 0 for others.
        """
        ranges = RangeFunction(writer)
        body = self._body(call, ranges)
        body.write()
        nanoseconds = writer.nanoseconds(self.work(call, writer.costs))
        if call.options["is_checked"]:
            body.call(writer, nanoseconds)
            return None
        b = writer.b
        arrays = (writer.pointer(array) for array in call.inputs[2:4])
        sizes = (writer.size(call.options[name]) for name in ("m", "n", "nnz"))
        problem = problem_of_pattern(b, *arrays, *sizes)
        with when(b, b.eq(problem, 0)):
            body.call(writer, nanoseconds)
        return problem


def problem_of_pattern(
    b: Builder, indices: Value, starts: Value, m: Value, n: Value, nnz: Value
) -> Value:
    """Return 1 if ``indptr`` is wrong, 2 if an index is, else 0.

    The sign of a number tells whether it is out of range, and that of ``x | y`` whether one is.

    Parameters
    ----------
    b
        The builder.
    indices, starts
        The addresses of the pattern.
    m, n, nnz
        The numbers of rows, columns and entries.
    """

    def at(place: Value, lanes: int = 1) -> Value:
        return b.load(INT32.of(lanes), b.offset(starts, place, INT32), align=4)

    first, last = at(b.constant(INT64, 0)), at(m)
    wrong = b.binary("xor", b.convert(last, INT64), nnz) | b.convert(first, INT64)
    lanes = b.target.lanes(INT32)

    def decrease(place: Value, wide: int) -> Value:
        return at(place + 1, wide) - at(place, wide)

    falls = _signs(b, m, lanes, decrease)
    most = b.convert(b.minimum_number(n - 1, 2**31 - 1), INT32)

    def outside(place: Value, wide: int) -> Value:
        index = b.load(INT32.of(wide), b.offset(indices, place, INT32), align=4)
        return index | ((most if wide == 1 else b.splat(most, wide)) - index)

    # The indices are read only if there are as many as indptr says.
    is_wrong = b.ne(wrong, 0) | (falls < 0)
    strays = _signs(b, nnz, lanes, outside)
    of_index = b.select(strays < 0, b.constant(INT32, 2), b.constant(INT32, 0))
    return b.select(is_wrong, b.constant(INT32, 1), of_index)


def _signs(b: Builder, count: Value, lanes: int, value: Callable[[Value, int], Value]) -> Value:
    """Return a number that is negative if one of ``count`` values is."""
    whole = count & -lanes
    with loop(b, 0, whole, lanes, carried=[b.constant(INT32.of(lanes), 0)]) as some:
        some.next(some.carried[0] | value(some.index, lanes))
    (found,) = some.results
    total = b.extract(found, 0)
    for lane in range(1, lanes):
        total = total | b.extract(found, lane)
    with loop(b, whole, count, carried=[total]) as one:
        one.next(one.carried[0] | value(one.index, 1))
    return one.results[0]


class _Rows:
    """Writes the code for a range of the rows of a pattern.

    Attributes
    ----------
    adds
        Whether it adds to elements of the last output, which have been set to 0.
    has_third
        Whether there is a third operand, after ``indptr``.
    further
        The address of what is known of each entry, if there is any.
    """

    adds: ClassVar[bool] = False
    has_third: ClassVar[bool] = False

    def __init__(self, call: LibraryCall[Any], ranges: RangeFunction) -> None:
        self.b = ranges.b
        self.ranges = ranges
        self.options = call.options
        self.type = type_of(call.outputs[0].dtype)
        self.lanes = self.b.target.lanes(self.type.part) // (2 if self.type.kind == "c" else 1)
        self.first, self.second, self.indices, self.starts, *rest = map(ranges.pointer, call.inputs)
        self.third = rest.pop(0) if self.has_third else None
        self.further = rest[0] if rest else None
        self.out = ranges.pointer(call.outputs[-1])
        self.k = ranges.size(call.options["k"])

    def count(self, writer: CallWriter) -> Value:
        """Return how many iterations threads share: rows."""
        return writer.size(self.options["m"])

    def call(self, writer: CallWriter, nanoseconds: Value) -> None:
        """End the function for a range, and write its call for all of them."""
        self.ranges.call(self.count(writer), nanoseconds, is_serial=False)

    def write(self) -> None:
        """Write the range."""
        self.rows(self.ranges.begin, self.ranges.end)

    def rows(self, begin: Value, end: Value) -> None:
        """Write a loop over rows."""
        with loop(self.b, begin, end, carried=[self._start(begin)]) as row:
            stop = self._start(row.index + 1)
            self.row(row.index, row.carried[0], stop)
            row.next(stop)

    def row(self, i: Value, start: Value, stop: Value) -> None:
        """Write what is done with the entries of row ``i``."""
        if self.options["vector"]:
            self.of_vectors(i, start, stop)
        else:
            self.of_matrices(i, start, stop)

    def of_vectors(self, i: Value, start: Value, stop: Value) -> None:
        """Write a row where dense operands are vectors."""
        raise NotImplementedError

    def of_matrices(self, i: Value, start: Value, stop: Value) -> None:
        """Write a row where dense operands are matrices."""
        raise NotImplementedError

    # ---- elements --------------------------------------------------------------------------------

    def _start(self, row: Value) -> Value:
        return self._number(self.starts, row)

    def index(self, entry: Value) -> Value:
        """Return the column of an entry."""
        return self._number(self.indices, entry)

    def _number(self, pointer: Value, at: Value) -> Value:
        return self.b.convert(self.b.load(INT32, self.b.offset(pointer, at, INT32)), INT64)

    def at(self, pointer: Value, place: Value) -> Value:
        """Return the address of an element."""
        if self.type.kind != "c":
            return self.b.offset(pointer, place, self.type)
        return self.b.offset(pointer, place * 2, self.type.part)

    def element(self, pointer: Value, place: Value) -> Number:
        """Return an element."""
        return load(self.b, self.type, self.at(pointer, place))

    def put(self, value: Number, pointer: Value, place: Value) -> None:
        """Write an element."""
        store(self.b, value, self.at(pointer, place))

    def vectors(self, pointer: Value, row: Value, tile: Tile) -> list[Number]:
        """Return the elements of a row of a matrix in the columns of a tile."""
        return [
            load(self.b, self.type.of(self.lanes), address, tile[2])
            for address in self._addresses(pointer, row, tile)
        ]

    def put_vectors(self, values: Sequence[Number], pointer: Value, row: Value, tile: Tile) -> None:
        """Write such elements."""
        addresses = self._addresses(pointer, row, tile)
        for value, address in zip(values, addresses, strict=True):
            store(self.b, value, address, tile[2])

    def _addresses(self, pointer: Value, row: Value, tile: Tile) -> list[Value]:
        start = self.at(pointer, row * self.k + tile[0])
        width = self.lanes * (2 if self.type.kind == "c" else 1)
        return [self.b.offset(start, width * at, self.type.part) for at in range(tile[1])]

    # ---- arithmetic ------------------------------------------------------------------------------

    def zero(self, lanes: int = 1) -> Number:
        """Return 0."""
        part = self.b.constant(self.type.part.of(lanes), 0)
        return Complex(part, part) if self.type.kind == "c" else part

    def splat(self, x: Number) -> Number:
        """Return a number in all lanes."""
        return joined([self.b.splat(part, self.lanes) for part in components(x)])

    def plus(self, total: Number, x: Number, y: Number) -> Number:
        """Return ``total + x * y``."""
        return plus(self.b, self.type, total, x, y)

    def sums(
        self,
        start: Value,
        stop: Value,
        first: Sequence[Number],
        step: Callable[..., Any],
        stride: int = 1,
    ) -> list[Number]:
        """Return the results of a loop; ``step(index, *carried)`` is what it carries on."""
        width = len(components(first[0]))
        flat = [part for number in first for part in components(number)]
        with loop(self.b, start, stop, stride, carried=flat) as each:
            found = step(each.index, *_numbers(each.carried, width))
            each.next(*(part for number in found for part in components(number)))
        return _numbers(each.results, width)

    def totals(self, numbers: Sequence[Number]) -> Number:
        """Return the sums of the lanes of each of 1, 2 or 4 numbers, in lanes."""
        parts = zip(*(components(number) for number in numbers), strict=True)
        return joined([self._totals(part) for part in parts])

    def _totals(self, vectors: Sequence[Value]) -> Value:
        # The upper half of the lanes of a number is added to the lower one, and so on. Halves of
        # two numbers are in one vector.
        b, width = self.b, self.lanes
        while width > 1:
            half = width // 2
            lanes = vectors[0].type.lanes * min(2, len(vectors))
            lower = [start + at for start in range(0, lanes, width) for at in range(half)]
            upper = [at + half for at in lower]
            pairs = zip(vectors[::2], vectors[1::2] or vectors, strict=True)
            vectors = [b.add(b.shuffle(*pair, lower), b.shuffle(*pair, upper)) for pair in pairs]
            width = half
        return vectors[0]

    def tiles(self, begin: Value, end: Value) -> Generator[Tile]:
        """Write loops over columns, of many vectors first; yield the tile of each."""
        b, start = self.b, begin
        for vectors in SPARSE_TILES:
            width = vectors * self.lanes
            count = b.maximum_number(end - start, 0)
            stop = start + b.binary("sdiv", count, b.constant(INT64, width)) * width
            with loop(b, start, stop, width) as some:
                yield some.index, vectors, None
            start = stop
        with loop(b, start, end, self.lanes) as some:
            yield some.index, 1, self._mask(end - some.index)

    def _mask(self, count: Value) -> Value | None:
        return None if self.lanes == 1 else lane_mask(self.b, count, self.lanes)


def plus(b: Builder, type: MachineType, total: Number, x: Number, y: Number) -> Number:
    """Return ``total + x * y``, for elements of a type."""
    if type.kind == "f":
        return b.madd(x, y, total)  # pyright: ignore[reportArgumentType]
    product = emit(b, "mul", [x, y], type.name)
    return emit(b, "add", [total, product], type.name)


def _numbers(parts: Sequence[Value], width: int) -> list[Number]:
    return [joined(list(parts[at : at + width])) for at in range(0, len(parts), width)]


class _ByRows(_Rows):
    """``out[i] = sum(data[e] * x[j])`` over the entries e, of column j, of row i."""

    def of_vectors(self, i: Value, start: Value, stop: Value) -> None:
        """One sum."""

        def step(entry: Value, total: Number) -> list[Number]:
            x = self.element(self.second, self.index(entry))
            return [self.plus(total, self.element(self.first, entry), x)]

        (total,) = self.sums(start, stop, [self.zero()], step)
        self.put(total, self.out, i)

    def of_matrices(self, i: Value, start: Value, stop: Value) -> None:
        """The sums of a tile at once."""
        for tile in self.tiles(self.b.constant(INT64, 0), self.k):

            def step(entry: Value, *totals: Number, tile: Tile = tile) -> list[Number]:
                place = entry if self.further is None else self._number(self.further, entry)
                factor = self.splat(self.element(self.first, place))
                row = self.vectors(self.second, self.index(entry), tile)
                return [self.plus(t, factor, x) for t, x in zip(totals, row, strict=True)]

            totals = self.sums(start, stop, [self.zero(self.lanes)] * tile[1], step)
            self.put_vectors(totals, self.out, i, tile)


class _ByColumns(_Rows):
    """``out[j] += data[e] * y[i]`` for the entries e, of column j, of row i.

    Rows add to the same elements: threads share columns of dense matrices, and blocks of the rows
    with vectors.
    """

    adds = True

    def __init__(self, call: LibraryCall[Any], ranges: RangeFunction) -> None:
        super().__init__(call, ranges)
        self._target, self._workspace = call.outputs[-1], call.workspace
        self._sums = self.out

    def count(self, writer: CallWriter) -> Value:
        """Return the number of blocks, of rows or of columns."""
        if self.options["vector"]:
            return writer.size(self.options["blocks"])
        return divide_up(writer.b, writer.size(self.options["k"]), self._block)

    @property
    def _block(self) -> int:
        return SPARSE_TILES[0] * self.lanes

    def write(self) -> None:
        """Write loops over blocks and over rows."""
        m = self.ranges.size(self.options["m"])
        with self.ranges.each() as block:
            if self.options["vector"]:
                self._write_block_of_rows(block, m)
            else:
                self._write_block_of_columns(block, m)

    def _write_block_of_columns(self, block: Value, m: Value) -> None:
        self._begin = block * self._block
        self._end = self.b.minimum_number(self._begin + self._block, self.k)
        self.rows(self.b.constant(INT64, 0), m)

    def _write_block_of_rows(self, block: Value, m: Value) -> None:
        b = self.b
        if self._workspace:
            self._sums = self._cleared(block)
        length = divide_up(b, m, self.ranges.size(self.options["blocks"]))
        begin, end = (b.minimum_number((block + at) * length, m) for at in (0, 1))
        if self.further is None:
            self.rows(begin, end)
            return
        with loop(b, self._start(begin), self._start(end)) as entry:
            y = self.element(self.second, self._number(self.further, entry.index))
            self._add(entry.index, y)

    def _cleared(self, block: Value) -> Value:
        """Return the address of the sums of a block, which are 0."""
        b, n = self.b, self.ranges.size(self._target.sizes[0])
        others = self.at(self.ranges.pointer(self._workspace[0]), (block - 1) * n)
        with when(b, block > 0), loop(b, 0, n) as place:
            self.put(self.zero(), others, place.index)
        return b.select(block > 0, others, self.out)

    def call(self, writer: CallWriter, nanoseconds: Value) -> None:
        """Write the call, and a loop that adds up the sums of blocks."""
        super().call(writer, nanoseconds)
        if not self._workspace:
            return
        b, part = writer.b, self.type.part
        count = writer.size(self._target.sizes[0]) * (2 if self.type.kind == "c" else 1)
        out, workspace = writer.pointer(self._target), writer.pointer(self._workspace[0])
        wide = b.target.lanes(part)
        with loop(b, 1, writer.size(self.options["blocks"])) as block:
            others = b.offset(workspace, (block.index - 1) * count, part)
            with loop(b, 0, count, wide) as some:
                mask = None if wide == 1 else lane_mask(b, count - some.index, wide)
                place = b.offset(out, some.index, part)
                other = b.offset(others, some.index, part)
                pair = [load(b, part.of(wide), one, mask) for one in (place, other)]
                store(b, emit(b, "add", pair, part.name), place, mask)

    def of_vectors(self, i: Value, start: Value, stop: Value) -> None:
        """Multiples of one number."""
        y = self.element(self.second, i)
        with loop(self.b, start, stop) as entry:
            self._add(entry.index, y)

    def _add(self, entry: Value, y: Number) -> None:
        self._add_to(self.index(entry), entry, y)

    def _add_to(self, j: Value, entry: Value, y: Number) -> None:
        value = self.plus(self.element(self._sums, j), self.element(self.first, entry), y)
        self.put(value, self._sums, j)

    def of_matrices(self, i: Value, start: Value, stop: Value) -> None:
        """Multiples of part of a row."""
        for tile in self.tiles(self._begin, self._end):
            y = self.vectors(self.second, i, tile)
            with loop(self.b, start, stop) as entry:
                j = self.index(entry.index)
                factor = self.splat(self.element(self.first, entry.index))
                before = self.vectors(self.out, j, tile)
                values = [self.plus(t, factor, v) for t, v in zip(before, y, strict=True)]
                self.put_vectors(values, self.out, j, tile)


class _OfRows(_Rows):
    """``out[e] = sum(y[i] * x[j])`` for the entries e, of row i and column j."""

    def count(self, writer: CallWriter) -> Value:
        """Return the number of rows, or that of entries."""
        return writer.size(self.options["m" if self.further is None else "nnz"])

    def write(self) -> None:
        """Write a loop over entries, or over rows."""
        if self.further is None:
            super().write()
            return
        with self.ranges.each() as entry:
            self._multiply(entry, self.element(self.first, self._number(self.further, entry)))

    def of_vectors(self, i: Value, start: Value, stop: Value) -> None:
        """One product."""
        y = self.element(self.first, i)
        with loop(self.b, start, stop) as entry:
            self._multiply(entry.index, y)

    def _multiply(self, entry: Value, y: Number) -> None:
        x = self.element(self.second, self.index(entry))
        self.put(emit(self.b, "mul", [y, x], self.type.name), self.out, entry)

    def of_matrices(self, i: Value, start: Value, stop: Value) -> None:
        """Sums of products in lanes for several entries, and then those of the lanes."""
        several = min(4, self.lanes)
        whole = stop - ((stop - start) & (several - 1))
        with loop(self.b, start, whole, several) as some:
            self._multiply_rows(i, some.index, several)
        with loop(self.b, whole, stop) as entry:
            self._multiply_rows(i, entry.index, 1)

    def _multiply_rows(self, i: Value, first: Value, count: int) -> None:
        rows = [self.index(first + at) for at in range(count)]

        def step(column: Value, *totals: Number, mask: Any = None) -> list[Number]:
            tile = column, 1, mask
            (y,) = self.vectors(self.first, i, tile)
            others = [self.vectors(self.second, j, tile)[0] for j in rows]
            return [self.plus(t, y, x) for t, x in zip(totals, others, strict=True)]

        def last(column: Value, *totals: Number) -> list[Number]:
            return step(column, *totals, mask=self._mask(self.k - column))

        whole, zeros = self.k & -self.lanes, [self.zero(self.lanes)] * count
        sums = self.sums(self.b.constant(INT64, 0), whole, zeros, step, self.lanes)
        sums = self.sums(whole, self.k, sums, last, self.lanes)
        self.put(self.totals(sums), self.out, first)


class _Gradients(_ByColumns):
    """``out[j] += data[e] * y[i]`` and ``elements[e] = y[i] * x[j]``, of vectors alone.

    An entry reads its row, its column and ``y[i]`` once for both.
    """

    has_third = True

    def __init__(self, call: LibraryCall[Any], ranges: RangeFunction) -> None:
        super().__init__(call, ranges)
        self.elements = ranges.pointer(call.outputs[0])

    def _add(self, entry: Value, y: Number) -> None:
        assert self.third is not None
        j = self.index(entry)
        x = self.element(self.third, j)
        self.put(emit(self.b, "mul", [y, x], self.type.name), self.elements, entry)
        self._add_to(j, entry, y)


BY_ROWS = SparseProduct("product_by_rows", _ByRows)
BY_COLUMNS = SparseProduct("product_by_columns", _ByColumns)
OF_ROWS = SparseProduct("product_of_rows", _OfRows)
GRADIENTS = SparseProduct("product_gradients", _Gradients)
