"""Lowering of products and patterns of sparse matrices, and of elements of inverses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.backends.native.expressions import Literal
from phintys.backends.native.failures import Failure, OwnFailure
from phintys.backends.native.limits import (
    SPARSE_BLOCKS,
    SPARSE_ENTRIES_A_BLOCK,
    SPARSE_ENTRIES_A_SUM,
)
from phintys.backends.native.lower.lowering import Lowering, NotLowered, lowers
from phintys.backends.native.routines.selected_inverse import SELECTED_INVERSE
from phintys.backends.native.routines.sparse_patterns import (
    CONVERT,
    COUNT_MERGED,
    COUNT_PRODUCT,
    FILL_MERGED,
    FILL_PRODUCT,
    FILL_PRODUCT_AND_ELEMENTS,
    FIND,
    FIND_ELEMENTS,
    FIRST_ELEMENTS,
    PRODUCT_ELEMENTS,
    SECOND_ELEMENTS,
    PatternRoutine,
)
from phintys.backends.native.routines.sparse_products import (
    BY_COLUMNS,
    BY_ROWS,
    GRADIENTS,
    OF_ROWS,
    SparseProduct,
)
from phintys.backends.native.steps.call import LibraryCall
from phintys.graph.apply import Apply
from phintys.graph.variable import Constant, Variable
from phintys.sparse.determinants import SelectedInverse, is_of_its_factors
from phintys.sparse.indexing import EntryPlaces
from phintys.sparse.parts import PlacesIn
from phintys.sparse.patterns import (
    CommonPattern,
    Converted,
    MergedPattern,
    ProductPattern,
    problem_of,
)
from phintys.sparse.products import (
    EntryProduct,
    FirstAtEntries,
    ProductAtEntries,
    ProductByColumns,
    ProductByRows,
    ProductGradients,
    ProductOfRows,
    ProductWithPattern,
    SecondAtEntries,
)
from phintys.sparse.type import LIMIT
from phintys.tensor.convert import constant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.lower.view import View
    from phintys.backends.native.sizes import Size
    from phintys.backends.native.values import Array


# ---- products with dense matrices ----------------------------------------------------------------


@lowers(ProductByRows)
def lower_product_by_rows(op: ProductByRows, node: Apply, lowering: Lowering) -> None:
    """A call; the columns are the rows of the dense operand."""
    _lower(BY_ROWS, node, lowering)


@lowers(ProductByColumns)
def lower_product_by_columns(op: ProductByColumns, node: Apply, lowering: Lowering) -> None:
    """Zeros, and a call that adds to them."""
    _lower(BY_COLUMNS, node, lowering)


@lowers(ProductOfRows)
def lower_product_of_rows(op: ProductOfRows, node: Apply, lowering: Lowering) -> None:
    """A call."""
    _lower(OF_ROWS, node, lowering)


def _lower(routine: SparseProduct, node: Apply, lowering: Lowering) -> None:
    sizes = lowering.sizes
    first, second, indices, indptr = (lowering.view(variable) for variable in node.inputs[:4])
    check_dtype(second)
    nnz = sizes.canonical(indices.sizes[0])
    one = sizes.fixed(1)
    m = sizes.sub(sizes.canonical(indptr.sizes[0]), one)
    lowering.require_length(m, Failure(node, "starts", "indptr must not be empty"))
    k = one if second.ndim == 1 else sizes.canonical(second.sizes[1])
    if routine is OF_ROWS:
        if second.ndim == 2:
            failure = Failure(node, "columns", "{0} and {1} columns of the operands")
            lowering.require_equal(first.sizes[1], k, failure)
        rows, n, shape = first.sizes[0], second.sizes[0], [nnz]
    else:
        failure = Failure(node, "elements", "{0} elements for {1} indices")
        lowering.require_equal(first.sizes[0], nnz, failure)
        rows, n, shape = m, second.sizes[0], [m, *second.sizes[1:]]
    if routine is BY_COLUMNS:
        rows, n = second.sizes[0], lowering.size_of(node.inputs[4])
        lowering.require_length(n, Failure(node, "columns", "{0} columns"))
        shape = [n, *second.sizes[1:]]
    lowering.require_equal(rows, m, Failure(node, "rows", "{0} rows for {1} of the pattern"))
    arrays = tuple(
        lowering.contiguous(view, node).array for view in (first, second, indices, indptr)
    )
    is_checked = is_right(node.inputs[2:4], sizes.canonical(n))
    is_vector = k.known == 1  # or a matrix of one column, which is the same in memory
    target, loops = lowering.compute(node.outputs[0], shape)
    options = {"m": m, "n": n, "nnz": nnz, "k": k}
    options |= {"vector": is_vector, "is_checked": is_checked}
    workspace: tuple[Array, ...] = ()
    if is_checked and is_vector and routine is not BY_ROWS:
        arrays += (lowering.view(_rows_of_entries(node.inputs[3])).array,)
    if is_checked and not is_vector and routine is BY_COLUMNS:
        routine, turned = BY_ROWS, _transposed(node.inputs[2:4], n)
        arrays = (*arrays[:2], *(lowering.view(one).array for one in turned))
        options |= {"m": n, "n": m}
    if routine is BY_COLUMNS:
        dtype = target.array.dtype
        lowering.store(target, Literal(dtype.type(0), dtype), loops, nodes=(node,))
        if is_vector:
            workspace = _sums_of_blocks(target.array, nnz, options, lowering)
    failure = None if is_checked else OwnFailure(node, "pattern", error=IndexError)
    call = LibraryCall(
        routine, arrays, (target.array,), options, node, workspace=workspace, failure=failure
    )
    lowering.steps.append(call)


@lowers(ProductGradients)
def lower_product_gradients(op: ProductGradients, node: Apply, lowering: Lowering) -> None:
    """A call that writes products, and adds to zeros."""
    sizes = lowering.sizes
    data, x, y, indices, indptr = (lowering.view(variable) for variable in node.inputs[:5])
    check_dtype(data)
    nnz, known = (sizes.canonical(view.sizes[0]) for view in (indices, x))
    n = lowering.size_of(node.inputs[5])
    lowering.require_length(n, Failure(node, "columns", "{0} columns"))
    least = sizes.arithmetic("min", n, known)
    m = sizes.sub(sizes.canonical(indptr.sizes[0]), sizes.fixed(1))
    lowering.require_length(m, Failure(node, "starts", "indptr must not be empty"))
    failure = Failure(node, "elements", "{0} elements for {1} indices")
    lowering.require_equal(data.sizes[0], nnz, failure)
    failure = Failure(node, "rows", "{0} rows for {1} of the pattern")
    lowering.require_equal(y.sizes[0], m, failure)
    views = (data, y, indices, indptr, x)
    arrays = tuple(lowering.contiguous(view, node).array for view in views)
    is_checked = is_right(node.inputs[3:5], least)
    if is_checked:
        arrays += (lowering.view(_rows_of_entries(node.inputs[4])).array,)
    options = {"m": m, "n": least, "nnz": nnz, "k": sizes.fixed(1)}
    options |= {"vector": True, "is_checked": is_checked}
    elements, _ = lowering.compute(node.outputs[0], [nnz])
    sums, loops = lowering.compute(node.outputs[1], [n])
    dtype = sums.array.dtype
    lowering.store(sums, Literal(dtype.type(0), dtype), loops, nodes=(node,))
    workspace = _sums_of_blocks(sums.array, nnz, options, lowering)
    failure = None if is_checked else OwnFailure(node, "pattern", error=IndexError)
    outputs = elements.array, sums.array
    call = LibraryCall(
        GRADIENTS, arrays, outputs, options, node, workspace=workspace, failure=failure
    )
    lowering.steps.append(call)


def _sums_of_blocks(
    total: Array, nnz: Size, options: dict[str, Any], lowering: Lowering
) -> tuple[Array, ...]:
    """Set how many blocks of rows there are; return memory for the sums of all but the first."""
    sizes = lowering.sizes
    length = total.sizes[0]
    entries = sizes.arithmetic("mul", length, sizes.fixed(SPARSE_ENTRIES_A_SUM))
    least = sizes.arithmetic("max", entries, sizes.fixed(SPARSE_ENTRIES_A_BLOCK))
    possible = sizes.arithmetic("floordiv", nnz, least)
    some = sizes.arithmetic("min", possible, sizes.fixed(SPARSE_BLOCKS))
    blocks = options["blocks"] = sizes.arithmetic("max", some, sizes.fixed(1))
    if blocks.known == 1:
        return ()
    return (lowering.array(total.dtype, (sizes.sub(blocks, sizes.fixed(1)), length)),)


def check_dtype(view: View) -> None:
    """Refuse elements that native code does not add up."""
    if view.array.dtype.kind == "b" or view.array.dtype.name == "float16":
        msg = f"no native products of {view.array.dtype}"
        raise NotLowered(msg)


def is_right(pattern: Sequence[Variable], columns: Size) -> bool:
    """Return whether the pattern is known, and was found to be right."""
    indices, indptr = pattern
    if not isinstance(indices, Constant) or not isinstance(indptr, Constant):
        return False
    known = columns.known
    return known is not None and not problem_of(indices.data, indptr.data, known)


def _rows_of_entries(indptr: Any) -> Any:
    """Return the row of each entry of a known pattern: one constant for all nodes that need it."""
    known = getattr(indptr.tag, "rows_of_entries", None)
    if known is None:
        counts = np.diff(indptr.data)
        known = constant(np.repeat(np.arange(len(counts), dtype="int32"), counts))
        indptr.tag.rows_of_entries = known
    return known


def _transposed(pattern: Sequence[Any], columns: Size) -> tuple[Constant, ...]:
    """Return a known pattern by columns, and the place of each of its entries in that by rows."""
    indices, indptr = pattern
    known = getattr(indptr.tag, "transposed", None)
    if known is None or known[0] is not indices:
        order = np.argsort(indices.data, kind="stable").astype("int32")
        rows = _rows_of_entries(indptr).data[order]
        starts = np.searchsorted(indices.data[order], np.arange((columns.known or 0) + 1))
        arrays = rows, starts.astype("int32"), order
        known = indptr.tag.transposed = indices, tuple(map(constant, arrays))
    return known[1]


# ---- patterns ------------------------------------------------------------------------------------


_INT32, _INT64 = np.dtype("int32"), np.dtype("int64")


class _Patterns:
    """The patterns that a node reads.

    Attributes
    ----------
    arrays
        The indices and ``indptr`` of each.
    counts, rows
        The numbers of entries and of rows of each.
    """

    def __init__(self, node: Apply, first: int, count: int, lowering: Lowering) -> None:
        self.node, self._lowering, self._first = node, lowering, first
        self.arrays: list[Array] = []
        self.counts: list[Size] = []
        self.rows: list[Size] = []
        self._checks: list[tuple[Any, ...]] = []
        sizes = lowering.sizes
        for variable in node.inputs[first : first + 2 * count]:
            view = lowering.view(variable)
            if view.array.dtype != _INT32:
                msg = f"indices of {view.array.dtype}"
                raise NotLowered(msg)
            self.arrays.append(lowering.contiguous(view, node).array)
        for indices, starts in zip(self.arrays[::2], self.arrays[1::2], strict=True):
            rows = sizes.sub(sizes.canonical(starts.sizes[0]), sizes.fixed(1))
            lowering.require_length(rows, Failure(node, "starts", "indptr must not be empty"))
            self.counts.append(sizes.canonical(indices.sizes[0]))
            self.rows.append(rows)

    def check(self, number: int, columns: Size) -> None:
        """Check a pattern, whose matrix has so many columns, unless it is known to be right."""
        at = 2 * number
        variables = self.node.inputs[self._first + at : self._first + at + 2]
        if not is_right(variables, columns):
            sizes = self.rows[number], columns, self.counts[number]
            self._checks.append((at, *sizes))

    def same_rows(self, a: int, b: int) -> None:
        """Check that two patterns have equally many rows."""
        failure = Failure(self.node, "rows", "{0} and {1} rows")
        self._lowering.require_equal(self.rows[a], self.rows[b], failure)

    def call(
        self,
        routine: PatternRoutine,
        inputs: Any,
        outputs: Any,
        *,
        workspace: Any = (),
        first: int = 0,
        may_fail: bool = True,
        **options: Any,
    ) -> None:
        """Add a call of a routine, with the checks, given where patterns are among the inputs."""
        checks = [(first + at, first + at + 1, *size) for at, *size in self._checks * may_fail]
        options |= {"checks": checks, "entries": self.counts}
        used = [*self.counts, *(size for check in checks for size in check[2:])]
        # A call knows the sizes that are options, but not those inside of lists.
        options |= {f"size {at}": size for at, size in enumerate(used)}
        failure = OwnFailure(self.node, "pattern", error=IndexError) if may_fail else None
        call = LibraryCall(
            routine, tuple(inputs), tuple(outputs), options, self.node, tuple(workspace), failure
        )
        self._lowering.steps.append(call)

    def count(self, routine: PatternRoutine, **options: Any) -> tuple[Array, Size]:
        """Add a call that counts entries; return ``indptr`` of the result and their number."""
        lowering, m = self._lowering, self.rows[0]
        sizes = lowering.sizes
        starts, _ = lowering.compute(self.node.outputs[1], [sizes.add(m, sizes.fixed(1))])
        total = lowering.array(_INT64, ())
        self.call(routine, self.arrays, (starts.array, total), m=m, **options)
        found = sizes.element(total)
        lowering.require_lengths([found], self.node)
        return starts.array, found


@lowers(MergedPattern)
def lower_merged_pattern(op: MergedPattern, node: Apply, lowering: Lowering) -> None:
    """Two calls, for the numbers of entries and for the entries."""
    _lower_merged(node, lowering, is_union=True)


@lowers(CommonPattern)
def lower_common_pattern(op: CommonPattern, node: Apply, lowering: Lowering) -> None:
    """Two calls, for the numbers of entries and for the entries."""
    _lower_merged(node, lowering, is_union=False)


def _lower_merged(node: Apply, lowering: Lowering, *, is_union: bool) -> None:
    patterns = _Patterns(node, 0, 2, lowering)
    patterns.same_rows(0, 1)
    for number in range(2):
        patterns.check(number, lowering.sizes.fixed(LIMIT))
    starts, total = patterns.count(COUNT_MERGED, is_union=is_union)
    lengths = patterns.counts if is_union else [total, total]
    outputs = [
        lowering.compute(variable, [length])[0].array
        for variable, length in zip(
            (node.outputs[0], *node.outputs[2:]), (total, *lengths), strict=True
        )
    ]
    inputs = (*patterns.arrays, starts)
    m = patterns.rows[0]
    patterns.call(FILL_MERGED, inputs, outputs, may_fail=False, m=m, is_union=is_union)


@lowers(PlacesIn)
def lower_places_in(op: PlacesIn, node: Apply, lowering: Lowering) -> None:
    """A call that searches in rows."""
    patterns = _Patterns(node, 0, 2, lowering)
    patterns.same_rows(0, 1)
    for number in range(2):
        patterns.check(number, lowering.sizes.fixed(LIMIT))
    target, _ = lowering.compute(node.outputs[0], [patterns.counts[0]])
    m, count = patterns.rows[0], patterns.counts[1]
    patterns.call(FIND, patterns.arrays, (target.array,), m=m, count=count)


@lowers(EntryPlaces)
def lower_entry_places(op: EntryPlaces, node: Apply, lowering: Lowering) -> None:
    """A call that searches in a row for each element."""
    views = [lowering.view(variable) for variable in node.inputs[2:4]]
    if any(view.array.dtype != _INT64 for view in views):
        msg = "rows or columns of other dtypes than int64"
        raise NotLowered(msg)
    patterns = _Patterns(node, 0, 1, lowering)
    failure = Failure(node, "columns", "{0} rows for {1} columns")
    lowering.require_equal(views[0].sizes[0], views[1].sizes[0], failure)
    n = lowering.size_of(node.inputs[4])
    lowering.require_length(n, Failure(node, "columns", "{0} columns"))
    patterns.check(0, n)
    count = lowering.sizes.canonical(views[0].sizes[0])
    target, _ = lowering.compute(node.outputs[0], [count])
    given = [lowering.contiguous(view, node).array for view in views]
    inputs, (nnz,) = (*patterns.arrays, *given), patterns.counts
    m = patterns.rows[0]
    patterns.call(FIND_ELEMENTS, inputs, (target.array,), m=m, n=n, nnz=nnz, count=count)


@lowers(Converted)
def lower_converted(op: Converted, node: Apply, lowering: Lowering) -> None:
    """A call that counts the entries of columns, and puts them in their places."""
    patterns = _Patterns(node, 0, 1, lowering)
    sizes = lowering.sizes
    n, (nnz,) = lowering.size_of(node.inputs[2]), patterns.counts
    lowering.require_length(n, Failure(node, "columns", "{0} columns"))
    patterns.check(0, n)
    lengths = (nnz, sizes.add(n, sizes.fixed(1)), nnz)
    outputs = [
        lowering.compute(variable, [length])[0].array
        for variable, length in zip(node.outputs, lengths, strict=True)
    ]
    patterns.call(CONVERT, patterns.arrays, outputs, m=patterns.rows[0], n=n, nnz=nnz)


@lowers(ProductPattern)
def lower_product_pattern(op: ProductPattern, node: Apply, lowering: Lowering) -> None:
    """Two calls, for the numbers of entries and for the entries."""
    product = _Product(_Patterns(node, 0, 2, lowering), lowering)
    patterns = product.patterns
    inputs, options = (*patterns.arrays, product.starts), product.options()
    patterns.call(FILL_PRODUCT, inputs, (product.indices,), may_fail=False, **options)


@lowers(ProductWithPattern)
def lower_product_with_pattern(op: ProductWithPattern, node: Apply, lowering: Lowering) -> None:
    """Two calls, for the numbers of entries, and for the entries and their elements."""
    elements = [lowering.view(variable) for variable in node.inputs[:2]]
    check_dtype(elements[0])
    patterns = _Patterns(node, 2, 2, lowering)
    failure = Failure(node, "elements", "{0} elements for {1} indices")
    for view, count in zip(elements, patterns.counts, strict=True):
        lowering.require_equal(view.sizes[0], count, failure)
    x, y = (lowering.contiguous(view, node).array for view in elements)
    product = _Product(patterns, lowering)
    target, _ = lowering.compute(node.outputs[2], [product.total])
    sums = _blocks(target.array.dtype, product.n, node, lowering)
    inputs, outputs = (x, y, *patterns.arrays, product.starts), (product.indices, target.array)
    options = product.options(sums)
    patterns.call(FILL_PRODUCT_AND_ELEMENTS, inputs, outputs, may_fail=False, **options)


class _Product:
    """The pattern of a product of two, whose entries have been counted.

    Attributes
    ----------
    patterns
        The patterns of the factors.
    n
        The number of columns.
    starts, indices
        The pattern; what the calls that follow write are the indices.
    total
        The number of entries.
    """

    def __init__(self, patterns: _Patterns, lowering: Lowering) -> None:
        node = patterns.node
        self.patterns, self._lowering = patterns, lowering
        columns, self.n = (lowering.size_of(variable) for variable in node.inputs[-2:])
        detail = "columns of the first and rows of the second must agree, got {0} and {1}"
        failure = Failure(node, "columns", detail)
        lowering.require_equal(columns, patterns.rows[1], failure)
        lowering.require_length(self.n, Failure(node, "columns", "{0} columns"))
        patterns.check(0, patterns.rows[1])
        patterns.check(1, self.n)
        marks = _blocks(_INT32, self.n, node, lowering)
        self.starts, self.total = patterns.count(COUNT_PRODUCT, workspace=(marks,), n=self.n)
        self.indices = lowering.compute(node.outputs[0], [self.total])[0].array

    def options(self, *workspace: Array) -> dict[str, Any]:
        """Return options of a call that writes the indices, and maybe uses more memory."""
        sizes, node, lowering = self._lowering.sizes, self.patterns.node, self._lowering
        words = sizes.add(sizes.arithmetic("floordiv", self.n, sizes.fixed(64)), sizes.fixed(1))
        tops = sizes.add(sizes.arithmetic("floordiv", words, sizes.fixed(64)), sizes.fixed(1))
        bits = (_blocks(_INT64, size, node, lowering) for size in (words, tops))
        options = {"m": self.patterns.rows[0], "n": self.n, "words": words, "tops": tops}
        return options | {"workspace": (*bits, *workspace)}


def _blocks(dtype: Any, size: Size, node: Apply, lowering: Lowering) -> Array:
    """Return memory for a vector in each block of rows."""
    lengths = [lowering.sizes.fixed(SPARSE_BLOCKS), size]
    lowering.require_lengths(lengths, node)
    lowering.require_room(lengths, dtype.itemsize, node)
    return lowering.array(dtype, lengths)


@lowers(ProductAtEntries)
def lower_product_at_entries(op: ProductAtEntries, node: Apply, lowering: Lowering) -> None:
    """A call that adds up a row at a time."""
    _lower_entry_product(PRODUCT_ELEMENTS, op, node, lowering)


@lowers(FirstAtEntries)
def lower_first_at_entries(op: FirstAtEntries, node: Apply, lowering: Lowering) -> None:
    """A call that spreads out a row at a time."""
    _lower_entry_product(FIRST_ELEMENTS, op, node, lowering)


@lowers(SecondAtEntries)
def lower_second_at_entries(op: SecondAtEntries, node: Apply, lowering: Lowering) -> None:
    """A call that spreads out a row at a time."""
    _lower_entry_product(SECOND_ELEMENTS, op, node, lowering)


def _lower_entry_product(
    routine: PatternRoutine, op: EntryProduct, node: Apply, lowering: Lowering
) -> None:
    elements = [lowering.view(variable) for variable in node.inputs[:2]]
    check_dtype(elements[0])
    patterns = _Patterns(node, 2, 3, lowering)
    n = lowering.size_of(node.inputs[8])
    lowering.require_length(n, Failure(node, "columns", "{0} columns"))
    failure = Failure(node, "elements", "{0} elements for {1} indices")
    for view, number in zip(elements, op.operands, strict=True):
        lowering.require_equal(view.sizes[0], patterns.counts[number], failure)
    patterns.same_rows(0, 2)
    for number, columns in enumerate((patterns.rows[1], n, n)):
        patterns.check(number, columns)
    count = patterns.counts[op.result]
    target, _ = lowering.compute(node.outputs[0], [count])
    x, y = (lowering.contiguous(view, node).array for view in elements)
    sums = _blocks(target.array.dtype, n, node, lowering)
    options = {"m": patterns.rows[0], "n": n, "count": count, "workspace": (sums,)}
    patterns.call(routine, (x, y, *patterns.arrays), (target.array,), first=2, **options)


# ---- elements of inverses ------------------------------------------------------------------------


@lowers(SelectedInverse)
def lower_selected_inverse(op: SelectedInverse, node: Apply, lowering: Lowering) -> None:
    """A call, if the factor is that of the pattern: it reads both without a check."""
    if not is_of_its_factors(node):
        msg = "the pattern is not known to be that of the factors"
        raise NotLowered(msg)
    sizes = lowering.sizes
    views = [lowering.contiguous(lowering.view(variable), node) for variable in node.inputs]
    filled, n, nnz = (sizes.canonical(views[at].sizes[0]) for at in (0, 3, 5))
    target, _ = lowering.compute(node.outputs[0], [nnz])
    dtype = target.array.dtype
    workspace = tuple(lowering.array(dtype, (size,)) for size in (filled, n, n))
    options = {"n": n, "filled": filled, "nnz": nnz}
    inputs = tuple(view.array for view in views)
    call = LibraryCall(SELECTED_INVERSE, inputs, (target.array,), options, node, workspace)
    lowering.steps.append(call)
