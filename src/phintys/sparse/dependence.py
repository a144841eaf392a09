"""Which elements depend on which: rules of the sparsity patterns of derivatives.

The sets of a sparse matrix are those of its stored elements.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.gradient.patterns.index_sets import related, union
from phintys.gradient.patterns.rules import pattern_of
from phintys.sparse.parts import ElementsAt, FromParts, Parts
from phintys.sparse.patterns import keys, multiplications, places
from phintys.sparse.products import (
    FirstAtEntries,
    ProductAtEntries,
    ProductByColumns,
    ProductByRows,
    ProductOfRows,
    SecondAtEntries,
)

if TYPE_CHECKING:
    from phintys.gradient.patterns.index_sets import Sets
    from phintys.gradient.patterns.rules import PatternStep


@pattern_of(FromParts)
def pattern_of_from_parts(step: PatternStep) -> list[Sets]:
    """The elements themselves."""
    return [step.sets[0]]


@pattern_of(Parts)
def pattern_of_parts(step: PatternStep) -> list[Sets]:
    """The elements themselves; what says where they are depends on nothing."""
    return [step.sets[0], None, None, None]


@pattern_of(ElementsAt)
def pattern_of_elements_at(step: PatternStep) -> list[Sets]:
    """Those of the entries that both patterns have."""
    patterns = step.values(1)
    if patterns is None:
        return step.dense()
    at = places(keys(*patterns[2:]), keys(*patterns[:2]))
    count = len(patterns[0])
    (found,) = np.nonzero(at < count)
    return [related(at[found], found, (len(at), count), step.sets[0])]


@pattern_of(ProductByRows, ProductByColumns, ProductOfRows)
def pattern_of_product(step: PatternStep) -> list[Sets]:
    """The entries of a row (or column) and, for each column, the rows of the dense operand."""
    indices, indptr = step.value(2), step.value(3)
    if indices is None or indptr is None:
        return step.dense()
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    entries = np.arange(len(indices))
    ends = {
        ProductByRows: (entries, indices, rows),
        ProductByColumns: (entries, rows, indices),
        ProductOfRows: (rows, indices, entries),
    }[type(step.op)]
    shapes = [step.shape(0), step.shape(1), step.output_shape()]
    k = shapes[1][1] if len(shapes[1]) == 2 else 1
    first, second, out = (
        _places(numbers, shape, k) for numbers, shape in zip(ends, shapes, strict=True)
    )
    return [
        union(
            related(source, out, (prod(shapes[2]), prod(shapes[at])), step.sets[at])
            for at, source in enumerate((first, second))
        )
    ]


@pattern_of(ProductAtEntries, FirstAtEntries, SecondAtEntries)
def pattern_of_entry_product(step: PatternStep) -> list[Sets]:
    """The factors of all terms of an entry."""
    arrays = [step.value(at) for at in range(2, 8)]
    if any(array is None for array in arrays):
        return step.dense()
    left, right, into = multiplications(*arrays[:4])
    at = places(into, keys(*arrays[4:]))
    used = at < len(arrays[4])
    entries = [numbers[used] for numbers in (left, right, at)]
    op: Any = step.op
    out, count = entries[op.result], len(arrays[2 * op.result])
    return [
        union(
            related(entries[number], out, (count, len(arrays[2 * number])), sets)
            for number, sets in zip(op.operands, step.sets, strict=False)
        )
    ]


def _places(rows: Any, shape: Any, k: int) -> Any:
    """Return the places of k columns of rows of a matrix; those of a vector k times."""
    rows = np.asarray(rows, "int64")[:, None]
    return rows * k + np.arange(k) if len(shape) == 2 else np.broadcast_to(rows, (len(rows), k))
