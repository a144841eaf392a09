"""Patterns of sums, products and transposes of sparse matrices, and elements of their products.

What has as many entries as the values of patterns say is computed by two calls: one counts the
entries of each row, the other writes them. Products go by rows, and transposes count the entries of
columns (F. G. Gustavson, "Two fast algorithms for sparse matrices: multiplication and permuted
transposition", ACM Trans. Math. Softw. 4, 1978).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import divide_up, loop, repeated, when
from phintys.backends.native.assembler.elements import load, store
from phintys.backends.native.assembler.types import BOOL, INT32, INT64, type_of
from phintys.backends.native.assembler.values import Complex, Value, components, joined
from phintys.backends.native.limits import (
    SEARCH_NANOSECONDS,
    SPARSE_BLOCKS,
    SPARSE_NANOSECONDS,
)
from phintys.backends.native.routines.ranges import RangeFunction
from phintys.backends.native.routines.sparse_products import plus, problem_of_pattern
from phintys.backends.native.steps.call import CallWriter, LibraryCall, Routine

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from phintys.backends.native.polynomials import Costs, Polynomial


class PatternRoutine(Routine):
    """A routine that reads patterns.

    Options are ``checks``, for each pattern that is not known to be right the positions of its
    indices and ``indptr`` among the inputs, the numbers of its rows, columns and entries; ``m``,
    the number of rows that the loop goes over; and ``entries``, sizes of which the time is in
    proportion.
    """

    shares_work: ClassVar[bool] = True
    calls_blas: ClassVar[bool] = False

    def work(self, call: LibraryCall[Any], costs: Costs) -> Polynomial:
        """Return a rough estimate of its time."""
        entries = costs.ring.total(costs.ring.of(size) for size in call.options["entries"])
        return costs.scaled(entries, 4 * SPARSE_NANOSECONDS)

    def emit(self, call: LibraryCall[Any], writer: CallWriter) -> Value | None:
        """Write checks of the patterns, and what follows if they are right.

        Returns
        -------
        Value or None
            The number of the problem of a pattern that is wrong; 0 for others.
        """
        b = writer.b
        # What the writer keeps for later steps must not be computed behind a condition.
        for array in (*call.inputs, *call.outputs, *call.workspace):
            writer.pointer(array)
        for size in call.sizes():
            writer.size(size)
        nanoseconds = writer.nanoseconds(self.work(call, writer.costs))
        if call.failure is None:
            self.write(call, writer, nanoseconds)
            return None
        status = b.slot(INT32)
        b.store(b.constant(INT32, 0), status)
        for at, starts, m, n, nnz in call.options["checks"]:
            arrays = (writer.pointer(call.inputs[place]) for place in (at, starts))
            sizes = (writer.size(size) for size in (m, n, nnz))
            problem = problem_of_pattern(b, *arrays, *sizes)
            b.store(b.load(INT32, status) | problem, status)
        with when(b, b.eq(b.load(INT32, status), 0)):
            problem = self.write(call, writer, nanoseconds)
            if problem is not None:
                b.store(problem, status)
        return b.load(INT32, status)

    def write(self, call: LibraryCall[Any], writer: CallWriter, nanoseconds: Value) -> Value | None:
        """Write the code for patterns that are right; return the number of a problem."""
        raise NotImplementedError


class _Rows:
    """Writes code for rows of patterns.

    Attributes
    ----------
    inputs, outputs, workspace
        The addresses of arrays.
    """

    def __init__(self, call: LibraryCall[Any], writer: CallWriter, nanoseconds: Value) -> None:
        self.call = call
        self.writer = writer
        self._nanoseconds = nanoseconds
        self.ranges = RangeFunction(writer)
        self.b = self.ranges.b
        self.inputs, self.outputs, self.workspace = (
            [self.ranges.pointer(array) for array in arrays]
            for arrays in (call.inputs, call.outputs, call.workspace)
        )

    def size(self, name: str) -> Value:
        """Return an option that is a size."""
        return self.ranges.size(self.call.options[name])

    def run(self, count: Value) -> None:
        """Call the code that has been written, for a number of iterations."""
        self.ranges.call(count, self._nanoseconds, is_serial=False)

    def rows(
        self, start: Callable[[Value], None] | None = None, blocks: int = SPARSE_BLOCKS
    ) -> Generator[tuple[Value, Value]]:
        """Write a loop over blocks of rows; yield the number of the block, and a row.

        Parameters
        ----------
        start
            Writes what comes before the rows of a block.
        blocks
            How many there are.
        """
        m = self.size("m")
        length = divide_up(self.b, m, blocks)
        with self.ranges.each() as block:
            if start is not None:
                start(block)
            first = block * length
            with loop(self.b, first, self.b.minimum_number(first + length, m)) as row:
                yield block, row.index
        self.run(self.writer.b.constant(INT64, blocks))

    def part(self, pointer: Value, block: Value, size: Value, type: Any = INT32) -> Value:
        """Return the part of the workspace that belongs to a block of rows."""
        return self.b.offset(pointer, block * size, type)

    def ends(self, starts: Value, row: Value) -> tuple[Value, Value]:
        """Return where a row begins and ends."""
        return number(self.b, starts, row), number(self.b, starts, row + 1)

    def entries(self, starts: Value, row: Value) -> Any:
        """Write a loop over the entries of a row."""
        return loop(self.b, *self.ends(starts, row))


def number(b: Builder, pointer: Value, at: Value) -> Value:
    """Return an element of an array of int32."""
    return b.convert(b.load(INT32, b.offset(pointer, at, INT32)), INT64)


def put(b: Builder, value: Value, pointer: Value, at: Value) -> None:
    """Write an element of an array of int32."""
    b.store(b.convert(value, INT32), b.offset(pointer, at, INT32))


def put_place(b: Builder, value: Value, pointer: Value, at: Value) -> None:
    """Write an element of an array of int64."""
    b.store(value, b.offset(pointer, at, INT64))


def sum_up(writer: CallWriter, call: LibraryCall[Any]) -> Value:
    """Write the sums of the numbers of entries, which the rows of ``indptr`` have; check them.

    Outputs are ``indptr`` and the number of all entries.
    """
    b = writer.b
    starts, total = (writer.pointer(array) for array in call.outputs)
    zero = b.constant(INT64, 0)
    put(b, zero, starts, zero)
    with loop(b, 0, writer.size(call.options["m"]), carried=[zero, zero]) as row:
        before, signs = row.carried
        count = number(b, starts, row.index + 1)
        following = before + count
        put(b, following, starts, row.index + 1)
        row.next(following, signs | count)
    found, signs = row.results
    put_place(b, found, total, zero)
    is_wrong = (signs < 0) | b.le(b.constant(INT64, 2**31 - 1), found)
    too_many = b.constant(INT32, 3)  # that problem in ``sparse.pattern_arrays.PROBLEMS``
    return b.select(is_wrong, too_many, b.constant(INT32, 0))


# ---- sums and elementwise products ---------------------------------------------------------------


class _Merge(_Rows):
    """Writes the code that goes through a row of both patterns at once."""

    def merge(self, row: Value, first: Value, *, places: bool) -> tuple[Value, ...]:
        """Write what is done while both rows have entries.

        Returns
        -------
        tuple of Value
            Where the rest of either row begins and ends, and what follows ``first``.
        """
        b = self.b
        indices, starts, others, other_starts = self.inputs[:4]
        (p, p_end), (q, q_end) = self.ends(starts, row), self.ends(other_starts, row)

        def step(p: Value, q: Value, out: Value) -> list[Value]:
            x, y = number(b, indices, p), number(b, others, q)
            is_same = b.eq(x, y)
            if places:
                self._put(x, y, is_same, p, q, out)
            taken = b.constant(INT64, 1) if self.is_union else b.convert(is_same, INT64)
            return [p + b.convert(b.le(x, y), INT64), q + b.convert(b.le(y, x), INT64), out + taken]

        p, q, out = repeated(b, [p, q, first], lambda p, q, _: (p < p_end) & (q < q_end), step)
        return p, p_end, q, q_end, out

    @property
    def is_union(self) -> bool:
        """Whether the result has the entries of either pattern, rather than those of both."""
        return self.call.options["is_union"]

    def _put(self, x: Value, y: Value, is_same: Value, p: Value, q: Value, out: Value) -> None:
        """Write an entry of the result, from those at p and q in columns x and y."""
        b = self.b
        into, at_p, at_q = self.outputs
        if self.is_union:
            put(b, b.minimum_number(x, y), into, out)
            # The place of an entry that is not taken yet is written again when it is.
            put(b, out, at_p, p)
            put(b, out, at_q, q)
            return
        with when(b, is_same):
            put(b, x, into, out)
            put(b, p, at_p, out)
            put(b, q, at_q, out)


class _CountMerged(PatternRoutine):
    """``(indices, indptr, indices, indptr)``: ``indptr`` of what is merged, and total."""

    name = "count_merged"

    def write(self, call: LibraryCall[Any], writer: CallWriter, nanoseconds: Value) -> Value:
        """Write loops over rows, and the sums of their numbers."""
        code = _Merge(call, writer, nanoseconds)
        b = code.b
        with code.ranges.each() as row:
            zero = b.constant(INT64, 0)
            p, p_end, q, q_end, count = code.merge(row, zero, places=False)
            if code.is_union:
                count = count + (p_end - p) + (q_end - q)
            put(b, count, code.outputs[0], row + 1)
        code.run(writer.size(call.options["m"]))
        return sum_up(writer, call)


class _FillMerged(PatternRoutine):
    """The same and ``indptr`` of the result: its indices, and the places of entries."""

    name = "fill_merged"

    def write(self, call: LibraryCall[Any], writer: CallWriter, nanoseconds: Value) -> None:
        """Write loops over rows."""
        code = _Merge(call, writer, nanoseconds)
        b = code.b
        with code.ranges.each() as row:
            first = number(b, code.inputs[4], row)
            p, p_end, q, q_end, out = code.merge(row, first, places=True)
            if code.is_union:
                into, *places = code.outputs
                first_rest = code.inputs[0], p, p_end, places[0]
                second_rest = code.inputs[2], q, q_end, places[1]
                for indices, start, end, at in (first_rest, second_rest):
                    with loop(b, start, end, carried=[out]) as entry:
                        put(b, number(b, indices, entry.index), into, entry.carried[0])
                        put(b, entry.carried[0], at, entry.index)
                        entry.next(entry.carried[0] + 1)
                    (out,) = entry.results
        code.run(writer.size(call.options["m"]))


def search(
    b: Builder, indices: Value, first: Value, end: Value, wanted: Value, missing: Value
) -> Value:
    """Write a search for an index between two places; return its place, or another number."""

    def step(low: Value, high: Value) -> list[Value]:
        middle = (low + high) >> 1
        is_before = number(b, indices, middle) < wanted
        return [b.select(is_before, middle + 1, low), b.select(is_before, high, middle)]

    place, _ = repeated(b, [first, end], lambda low, high: low < high, step)
    found = b.slot(INT64)
    b.store(missing, found)
    with when(b, place < end), when(b, b.eq(number(b, indices, place), wanted)):
        b.store(place, found)
    return b.load(INT64, found)


class _Find(PatternRoutine):
    """``(indices, indptr, indices, indptr)``: where the entries of the first are in the second.

    It is the number of entries of the second for those that are not there.
    """

    name = "find_entries"

    def write(self, call: LibraryCall[Any], writer: CallWriter, nanoseconds: Value) -> None:
        """Write loops over the entries of rows."""
        code = _Rows(call, writer, nanoseconds)
        b = code.b
        indices, starts, others, other_starts = code.inputs
        count = code.size("count")
        with code.ranges.each() as row:
            first, end = code.ends(other_starts, row)
            with code.entries(starts, row) as entry:
                wanted = number(b, indices, entry.index)

                put_place(
                    b, search(b, others, first, end, wanted, count), code.outputs[0], entry.index
                )
        code.run(writer.size(call.options["m"]))


class _FindElements(PatternRoutine):
    """``(indices, indptr, rows, columns)``: where elements are in a matrix.

    It is the number of entries for those that are not stored. Negative rows and columns count from
    the end.
    """

    name = "find_elements"

    def work(self, call: LibraryCall[Any], costs: Costs) -> Polynomial:
        """Return a rough estimate of its time."""
        return costs.scaled(costs.ring.of(call.options["count"]), SEARCH_NANOSECONDS)

    def write(self, call: LibraryCall[Any], writer: CallWriter, nanoseconds: Value) -> Value:
        """Write a check of the rows and columns, and a loop that searches."""
        code = _Rows(call, writer, nanoseconds)
        b = code.b
        indices, starts, rows, columns = code.inputs
        m, n, nnz = (code.size(name) for name in ("m", "n", "nnz"))
        with code.ranges.each() as at:
            first, end = code.ends(starts, _place(b, rows, at, m))
            found = search(b, indices, first, end, _place(b, columns, at, n), nnz)
            put_place(b, found, code.outputs[0], at)
        b = writer.b
        count, *sizes = (writer.size(call.options[name]) for name in ("count", "m", "n"))
        pointers = [writer.pointer(array) for array in call.inputs[2:]]
        with loop(b, 0, count, carried=[b.constant(INT64, 0)]) as each:
            signs = each.carried[0]
            for pointer, size in zip(pointers, sizes, strict=True):
                place = _place(b, pointer, each.index, size)
                signs = signs | place | (size - 1 - place)
            each.next(signs)
        (signs,) = each.results
        with when(b, b.le(b.constant(INT64, 0), signs)):
            code.run(count)
        wrong = b.constant(INT32, 4)  # that problem in ``sparse.pattern_arrays.PROBLEMS``
        return b.select(signs < 0, wrong, b.constant(INT32, 0))


def _place(b: Builder, pointer: Value, at: Value, size: Value) -> Value:
    """Return an element of an array of int64; negative ones count from the end of an axis."""
    place = b.load(INT64, b.offset(pointer, at, INT64))
    return place + b.select(place < 0, size, b.constant(INT64, 0))


# ---- transposes ----------------------------------------------------------------------------------


class _Convert(PatternRoutine):
    """``(indices, indptr)``: the rows of entries by columns, where columns begin, and the order."""

    name = "convert_pattern"
    shares_work: ClassVar[bool] = False

    def write(self, call: LibraryCall[Any], writer: CallWriter, nanoseconds: Value) -> None:
        """Write how entries are counted and put in their places; rows stay in order."""
        b = writer.b
        indices, starts = (writer.pointer(array) for array in call.inputs)
        rows, into, order = (writer.pointer(array) for array in call.outputs)
        m, n, nnz = (writer.size(call.options[name]) for name in ("m", "n", "nnz"))
        zero = b.constant(INT64, 0)
        with loop(b, 0, n + 1) as column:
            put(b, zero, into, column.index)
        with loop(b, 0, nnz) as entry:
            column = number(b, indices, entry.index)
            put(b, number(b, into, column) + 1, into, column)
        with loop(b, 0, n + 1, carried=[zero]) as column:
            following = column.carried[0] + number(b, into, column.index)
            put(b, column.carried[0], into, column.index)
            column.next(following)
        with (
            loop(b, 0, m) as row,
            loop(b, number(b, starts, row.index), number(b, starts, row.index + 1)) as entry,
        ):
            column = number(b, indices, entry.index)
            place = number(b, into, column)
            put(b, row.index, rows, place)
            put(b, entry.index, order, place)
            put(b, place + 1, into, column)
        # Each column now ends where the next one begins.
        with loop(b, 0, n) as column:
            last = n - column.index
            put(b, number(b, into, last - 1), into, last)
        put(b, zero, into, zero)


# ---- products ------------------------------------------------------------------------------------


class _CountProduct(PatternRoutine):
    """``(indices, indptr, indices, indptr)``: ``indptr`` of the product, and total.

    The workspace has room for a row of the product in each block of rows.
    """

    name = "count_product"

    def write(self, call: LibraryCall[Any], writer: CallWriter, nanoseconds: Value) -> Value:
        """Write loops over rows; a column that a row has is marked by the row's number."""
        code = _Rows(call, writer, nanoseconds)
        b, n = code.b, code.size("n")
        indices, starts, others, other_starts = code.inputs

        def start(block: Value) -> None:
            marks = code.part(code.workspace[0], block, n)
            with loop(b, 0, n) as column:
                put(b, b.constant(INT64, -1), marks, column.index)

        for block, row in code.rows(start):
            marks = code.part(code.workspace[0], block, n)
            with loop(b, *code.ends(starts, row), carried=[b.constant(INT64, 0)]) as left:
                inner = number(b, indices, left.index)
                ends = code.ends(other_starts, inner)
                with loop(b, *ends, carried=[left.carried[0]]) as right:
                    column = number(b, others, right.index)
                    is_new = b.ne(number(b, marks, column), row)
                    put(b, row, marks, column)
                    right.next(right.carried[0] + b.convert(is_new, INT64))
                left.next(right.results[0])
            put(b, left.results[0], code.outputs[0], row + 1)
        return sum_up(writer, call)


class _FillProduct(PatternRoutine):
    """The same and ``indptr`` of the product: its indices, sorted in each row.

    The workspace has two vectors of bits for each block of rows: one for each column, and one for
    each number that has some of those.
    """

    name = "fill_product"

    def write(self, call: LibraryCall[Any], writer: CallWriter, nanoseconds: Value) -> None:
        """Write loops over rows, whose columns are bits that are set and then read in order."""
        code = _Rows(call, writer, nanoseconds)
        b, columns = code.b, _Columns(code)
        indices, starts, others, other_starts, product_starts = code.inputs
        for block, row in code.rows(columns.clear):
            columns.begin(block)
            with code.entries(starts, row) as left:
                inner = number(b, indices, left.index)
                with code.entries(other_starts, inner) as right:
                    columns.mark(number(b, others, right.index))
            columns.read(product_starts, row, lambda column, entry: None)


class _FillProductAndElements(PatternRoutine):
    """Elements of X and Y, and the same: the indices, and the elements of the product.

    The workspace has a row of sums, in addition.
    """

    name = "fill_product_and_elements"

    def write(self, call: LibraryCall[Any], writer: CallWriter, nanoseconds: Value) -> None:
        """Write loops over rows, which are added up while their columns are marked."""
        code = _Terms(call, writer, nanoseconds)
        b, columns = code.b, _Columns(code)

        def row_of(block: Value) -> Value:
            return code.at(code.workspace[2], block * code.n)

        def start(block: Value) -> None:
            columns.clear(block)
            code.clear(row_of(block), code.n)

        for block, row in code.rows(start):
            columns.begin(block)
            sums = row_of(block)
            with code.entries(code.starts, row) as left:
                factor = code.element(code.first, left.index)
                with code.entries(code.other_starts, number(b, code.indices, left.index)) as right:
                    column = number(b, code.others, right.index)
                    columns.mark(column)
                    code.add(sums, column, factor, code.element(code.second, right.index))

            def take(column: Value, entry: Value, sums: Value = sums) -> None:
                code.put(code.element(sums, column), code.outputs[1], entry)
                code.put(code.zero, sums, column)

            columns.read(code.wanted_starts, row, take)


class _Columns:
    """Writes code for a set of columns, whose bits are in the workspace of each block of rows.

    The first vector there has a bit for each column, the second one for each number of the first
    that has some. The indices are the first output.
    """

    def __init__(self, code: _Rows) -> None:
        self.b, self._code = code.b, code
        self._sizes = code.size("words"), code.size("tops")

    def _vectors(self, block: Value) -> list[Value]:
        pairs = zip(self._code.workspace, self._sizes, strict=False)
        return [self._code.part(memory, block, size, INT64) for memory, size in pairs]

    def clear(self, block: Value) -> None:
        """Write what makes the set of a block empty."""
        for pointer, size in zip(self._vectors(block), self._sizes, strict=True):
            with loop(self.b, 0, size) as at:
                put_place(self.b, self.b.constant(INT64, 0), pointer, at.index)

    def begin(self, block: Value) -> None:
        """Begin a row of a block."""
        self._bits, self._used = self._vectors(block)

    def mark(self, column: Value) -> None:
        """Add a column."""
        _set_bit(self.b, self._bits, column)
        _set_bit(self.b, self._used, column >> 6)

    def read(self, starts: Value, row: Value, take: Callable[[Value, Value], None]) -> None:
        """Write the columns of a row in order, and make the set empty.

        ``take(column, entry)`` writes what else is done with each.
        """
        with loop(self.b, 0, self._sizes[1], carried=[number(self.b, starts, row)]) as top:
            top.next(self._read_part(top.index, top.carried[0], take))

    def _read_part(self, top: Value, entry: Value, take: Callable[[Value, Value], None]) -> Value:
        """Write the same for one number of the second vector; return the entry after the last.

        CPUs do not foresee how many bits a number has: one without any is followed by the next one
        with selections, and not with a branch.
        """
        b, place = self.b, self.b.offset(self._used, top, INT64)
        zero, words = b.constant(INT64, 0), b.load(INT64, place)
        b.store(zero, place)

        def step(words: Value, word: Value, at: Value, entry: Value) -> list[Value]:
            is_read = b.eq(word, 0)
            # Without words, the place of the first one stands for that of the next.
            following = top * 64 + (_lowest_bit(b, words) & 63)
            other = b.offset(self._bits, following, INT64)
            loaded = b.load(INT64, other)
            b.store(b.select(is_read, zero, loaded), other)
            word, at = b.select(is_read, loaded, word), b.select(is_read, following, at)
            words = b.select(is_read, words & (words - 1), words)
            column = at * 64 + _lowest_bit(b, word)
            put(b, column, self._code.outputs[0], entry)
            take(column, entry)
            return [words, word & (word - 1), at, entry + 1]

        first = [words, zero, zero, entry]
        return repeated(b, first, lambda words, word, *_: b.ne(words | word, 0), step)[3]


def _lowest_bit(b: Builder, word: Value) -> Value:
    return b.call("llvm.cttz.i64", INT64, [word, b.constant(BOOL, 0)])


def _set_bit(b: Builder, pointer: Value, at: Value) -> None:
    place = b.offset(pointer, at >> 6, INT64)
    bit = b.binary("shl", b.constant(INT64, 1), at & 63)
    b.store(b.load(INT64, place) | bit, place)


class _Terms(_Rows):
    """Writes code for the terms of a product ``X @ Y``, row by row.

    Inputs are two operands, and the patterns of X, of Y and of the product, or of that ``indptr``
    alone. The workspace has room for a row of the product in each block of rows.
    """

    def __init__(self, call: LibraryCall[Any], writer: CallWriter, nanoseconds: Value) -> None:
        super().__init__(call, writer, nanoseconds)
        self.first, self.second, *patterns = self.inputs
        self.indices, self.starts, self.others, self.other_starts, *of_product = patterns
        *self._wanted, self.wanted_starts = of_product
        self.type = type_of(call.outputs[-1].dtype)
        self.n = self.size("n")

    @property
    def wanted(self) -> Value:
        """The indices of the product."""
        return self._wanted[0]

    def at(self, pointer: Value, place: Value) -> Value:
        """Return the address of an element."""
        step = 2 if self.type.kind == "c" else 1
        return self.b.offset(pointer, place * step, self.type.part)

    def element(self, pointer: Value, place: Value) -> Any:
        """Return an element."""
        return load(self.b, self.type, self.at(pointer, place))

    def put(self, value: Any, pointer: Value, place: Value) -> None:
        """Write an element."""
        store(self.b, value, self.at(pointer, place))

    def add(self, pointer: Value, place: Value, x: Any, y: Any) -> None:
        """Add a product to an element."""
        total = plus(self.b, self.type, self.element(pointer, place), x, y)
        self.put(total, pointer, place)

    @property
    def zero(self) -> Any:
        """The number 0."""
        part = self.b.constant(self.type.part, 0)
        return Complex(part, part) if self.type.kind == "c" else part

    def clear(self, pointer: Value, count: Value) -> None:
        """Set elements to 0."""
        with loop(self.b, 0, count) as place:
            self.put(self.zero, pointer, place.index)

    def row_of(self, block: Value) -> Value:
        """Return the memory of a block of rows for a row of the product."""
        return self.at(self.workspace[0], block * self.n)

    def spread(self, row: Value, sums: Value, elements: Value | None) -> None:
        """Write a row of elements at the pattern of the product into a row, or zeros."""
        with self.entries(self.wanted_starts, row) as entry:
            place = number(self.b, self.wanted, entry.index)
            value = self.zero if elements is None else self.element(elements, entry.index)
            self.put(value, sums, place)


class _ProductElements(PatternRoutine):
    """Elements of X and Y: those of the product at the entries of its pattern."""

    name = "product_elements"

    def write(self, call: LibraryCall[Any], writer: CallWriter, nanoseconds: Value) -> None:
        """Write loops over rows: a row is added up in the workspace, and its entries are read."""
        code = _Terms(call, writer, nanoseconds)
        b = code.b
        for block, row in code.rows():
            sums = code.row_of(block)
            code.spread(row, sums, None)
            with code.entries(code.starts, row) as left:
                factor = code.element(code.first, left.index)
                inner = number(b, code.indices, left.index)
                with code.entries(code.other_starts, inner) as right:
                    column = number(b, code.others, right.index)
                    code.add(sums, column, factor, code.element(code.second, right.index))
            with code.entries(code.wanted_starts, row) as entry:
                found = code.element(sums, number(b, code.wanted, entry.index))
                code.put(found, code.outputs[0], entry.index)


class _FirstElements(PatternRoutine):
    """Elements at the pattern of the product, and those of Y: ``G @ Y.T`` at the entries of X."""

    name = "first_elements"

    def write(self, call: LibraryCall[Any], writer: CallWriter, nanoseconds: Value) -> None:
        """Write loops over rows: a row of G is spread out, for products with rows of Y."""
        code = _Terms(call, writer, nanoseconds)
        b = code.b
        for block, row in code.rows(lambda block: code.clear(code.row_of(block), code.n)):
            sums = code.row_of(block)
            code.spread(row, sums, code.first)
            with code.entries(code.starts, row) as left:
                ends = code.ends(code.other_starts, number(b, code.indices, left.index))
                carried = list(components(code.zero))
                with loop(b, *ends, carried=carried) as right:
                    spread = code.element(sums, number(b, code.others, right.index))
                    other = code.element(code.second, right.index)
                    total = plus(b, code.type, joined(right.carried), spread, other)
                    right.next(*components(total))
                code.put(joined(right.results), code.outputs[0], left.index)
            code.spread(row, sums, None)


class _SecondElements(PatternRoutine):
    """Elements of X, and those at the pattern of the product: ``X.T @ G`` at the entries of Y."""

    name = "second_elements"
    shares_work: ClassVar[bool] = False

    def write(self, call: LibraryCall[Any], writer: CallWriter, nanoseconds: Value) -> None:
        """Write a loop over rows: a row of G is spread out, and multiples of it are added."""
        code = _Terms(call, writer, nanoseconds)
        b, out = code.b, code.outputs[0]

        def start(block: Value) -> None:
            code.clear(code.row_of(block), code.n)
            code.clear(out, code.size("count"))

        for block, row in code.rows(start, blocks=1):
            sums = code.row_of(block)
            code.spread(row, sums, code.second)
            with code.entries(code.starts, row) as left:
                factor = code.element(code.first, left.index)
                inner = number(b, code.indices, left.index)
                with code.entries(code.other_starts, inner) as right:
                    spread = code.element(sums, number(b, code.others, right.index))
                    code.add(out, right.index, factor, spread)
            code.spread(row, sums, None)


COUNT_MERGED = _CountMerged()
FILL_MERGED = _FillMerged()
FIND = _Find()
FIND_ELEMENTS = _FindElements()
CONVERT = _Convert()
COUNT_PRODUCT = _CountProduct()
FILL_PRODUCT = _FillProduct()
FILL_PRODUCT_AND_ELEMENTS = _FillProductAndElements()
PRODUCT_ELEMENTS = _ProductElements()
FIRST_ELEMENTS = _FirstElements()
SECOND_ELEMENTS = _SecondElements()
