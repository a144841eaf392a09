"""Elements of the inverse of a sparse positive definite matrix, from its factor.

With ``L D L.T = A``, column j of the inverse Z has ``Z[r, j] = -sum(L[c, j] Z[r, c])`` below the
diagonal, where c are the rows of column j of L, and ``Z[j, j] = 1 / D[j] - sum(L[c, j] Z[c, j])``
(Takahashi, Fagan, Chen, 1973). Columns are computed from the last one on. Those of L that are read
have all rows of column j that are below them, so that no element is missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from phintys.backends.native.assembler.control import loop
from phintys.backends.native.assembler.types import BOOL, INT32, INT64, type_of
from phintys.backends.native.limits import SELECTED_INVERSE_NANOSECONDS
from phintys.backends.native.steps.call import CallWriter, LibraryCall, Routine

if TYPE_CHECKING:
    from phintys.backends.native.assembler.values import Value
    from phintys.backends.native.polynomials import Costs, Polynomial


class _SelectedInverse(Routine):
    """Inputs are L (elements, indices, ``indptr``), D, the order of rows, and a pattern.

    The workspace has room for the elements of the inverse in the pattern of L, and twice for a
    column. Options are the sizes ``n``, ``filled`` and ``nnz``.
    """

    name = "selected_inverse"
    calls_blas: ClassVar[bool] = False

    def work(self, call: LibraryCall[Any], costs: Costs) -> Polynomial:
        """Return a rough estimate of its time."""
        size = costs.ring.of(call.options["filled"])
        return costs.scaled(size, SELECTED_INVERSE_NANOSECONDS)

    def emit(self, call: LibraryCall[Any], writer: CallWriter) -> None:
        """Write loops over columns, and over the entries of the pattern."""
        code = _Columns(call, writer)
        code.clear()
        code.compute()
        code.read()


class _Columns:
    """Writes the code for the columns."""

    def __init__(self, call: LibraryCall[Any], writer: CallWriter) -> None:
        self._b = writer.b
        self._type = type_of(call.outputs[0].dtype)
        pointers = [writer.pointer(array) for array in (*call.inputs, *call.workspace)]
        self._lower, self._rows, self._starts, self._pivots = pointers[:4]
        self._order, self._indices, self._indptr, self._found, self._factor, self._sums = pointers[
            4:
        ]
        self._out = writer.pointer(call.outputs[0])
        self._n = writer.size(call.options["n"])

    def _index(self, pointer: Value, at: Value) -> Value:
        b = self._b
        return b.convert(b.load(INT32, b.offset(pointer, at, INT32)), INT64)

    def _load(self, pointer: Value, at: Value) -> Value:
        return self._b.load(self._type, self._b.offset(pointer, at, self._type))

    def _store(self, value: Value, pointer: Value, at: Value) -> None:
        self._b.store(value, self._b.offset(pointer, at, self._type))

    def clear(self) -> None:
        """Set the column of L that is spread out to 0."""
        with loop(self._b, 0, self._n) as row:
            self._store(self._b.constant(self._type, 0), self._factor, row.index)

    def compute(self) -> None:
        """Compute the columns from the last one on."""
        b, zero = self._b, self._b.constant(self._type, 0)
        with loop(b, 0, self._n) as step:
            j = self._n - 1 - step.index
            first, end = self._index(self._starts, j), self._index(self._starts, j + 1)
            with loop(b, first + 1, end) as entry:
                row = self._index(self._rows, entry.index)
                self._store(self._load(self._lower, entry.index), self._factor, row)
                self._store(zero, self._sums, row)
            with loop(b, first + 1, end) as entry:
                self._subtract_column(entry.index)
            pivot = b.constant(self._type, 1) / self._load(self._pivots, j)
            with loop(b, first + 1, end, carried=[pivot]) as entry:
                row = self._index(self._rows, entry.index)
                element = self._load(self._sums, row)
                self._store(element, self._found, entry.index)
                self._store(zero, self._factor, row)
                factor = self._load(self._lower, entry.index)
                entry.next(b.madd(-factor, element, entry.carried[0]))
            self._store(entry.results[0], self._found, first)

    def _subtract_column(self, entry: Value) -> None:
        """Subtract the terms with column c of Z, and those of its transpose, row c."""
        b = self._b
        c = self._index(self._rows, entry)
        factor = -self._load(self._lower, entry)
        start, end = self._index(self._starts, c), self._index(self._starts, c + 1)
        at_c = b.madd(factor, self._load(self._found, start), self._load(self._sums, c))
        with loop(b, start + 1, end, carried=[at_c]) as other:
            row = self._index(self._rows, other.index)
            element = self._load(self._found, other.index)
            self._store(b.madd(factor, element, self._load(self._sums, row)), self._sums, row)
            mirrored = -self._load(self._factor, row)
            other.next(b.madd(mirrored, element, other.carried[0]))
        self._store(other.results[0], self._sums, c)

    def read(self) -> None:
        """Look up the entries of the pattern, each in its column of L."""
        b = self._b
        with loop(b, 0, self._n) as column:
            place = self._index(self._order, column.index)
            first = self._index(self._indptr, column.index)
            end = self._index(self._indptr, column.index + 1)
            with loop(b, first, end) as entry:
                other = self._index(self._order, self._index(self._indices, entry.index))
                left, below = b.minimum_number(place, other), b.maximum_number(place, other)
                at = self._place(left, below)
                self._store(self._load(self._found, at), self._out, entry.index)

    def _place(self, column: Value, row: Value) -> Value:
        """Return where a row is in a column, by halving it without branches."""
        b = self._b
        start, end = self._index(self._starts, column), self._index(self._starts, column + 1)
        length = end - start
        zero = b.constant(INT64, 0)
        steps = 64 - b.call("llvm.ctlz.i64", INT64, [length - 1, b.constant(BOOL, 0)])
        with loop(b, zero, steps, carried=[length, start]) as halving:
            left, at = halving.carried
            half = left >> 1
            middle = at + half
            # The last step may have nothing left to halve.
            is_before = b.le(self._index(self._rows, middle), row)
            halving.next(left - half, b.select(is_before, middle, at))
        return halving.results[1]


SELECTED_INVERSE = _SelectedInverse()
