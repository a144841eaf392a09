"""Sets of inputs, one for each element of an array, as the rows of a boolean CSR matrix.

Row i holds the numbers of the inputs that element i (in C order) depends on. Elements that depend
on nothing at all are the most frequent case: for an array of them there is ``None``.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.late import LateModule

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

scipy_sparse: Any = LateModule("scipy.sparse")

Sets = Any
"""A ``scipy.sparse.csr_array`` of bools, or ``None`` for empty sets."""

NOTHING = -1
"""The place of an element that is not taken from anywhere."""


def places(shape: Sequence[int]) -> Any:
    """Return the number of each element of an array, in C order."""
    return np.arange(prod(shape)).reshape(shape)


def no_sets(rows: int, width: int) -> Sets:
    """Return empty sets as a matrix."""
    return scipy_sparse.csr_array((rows, width), dtype=bool)


def identity(count: int, first: int, width: int) -> Sets:
    """Return the sets of independent inputs, which are numbered from ``first``."""
    columns = np.arange(first, first + count)
    return _matrix(columns, np.arange(count + 1), (count, width))


def union(parts: Iterable[Sets]) -> Sets:
    """Return the union, row by row, of matrices of one shape.

    Examples
    --------
    >>> from phintys.gradient.patterns.index_sets import identity, taken, union
    >>> x = identity(3, 0, 3)
    >>> union([x, None, taken(x, [1, 2, -1])]).toarray().astype(int)
    array([[1, 1, 0],
           [0, 1, 1],
           [0, 0, 1]])
    """
    found: Sets = None
    seen: list[Any] = []
    for part in parts:
        if part is None or any(part is other for other in seen):
            continue
        seen.append(part)
        if found is None:
            found = part
            continue
        larger = found + part
        if larger.nnz != found.nnz:  # otherwise it is the same, and later unions see that it is
            found = part if larger.nnz == part.nnz else larger
    return found


def taken(sets: Sets, positions: Any) -> Sets:
    """Return the sets of the elements at given places; those of :data:`NOTHING` are empty."""
    positions = np.asarray(positions).ravel()
    if sets is None:
        return None
    rows = sets.shape[0]
    if len(positions) == rows and np.array_equal(positions, np.arange(rows)):
        return sets
    if positions.size and positions.min() < 0:
        pointers = np.append(sets.indptr, sets.indptr[-1])
        sets = _matrix(sets.indices, pointers, (rows + 1, sets.shape[1]))
        positions = np.where(positions < 0, rows, positions)
    return sets[positions]


def related(sources: Any, targets: Any, shape: tuple[int, int], sets: Sets) -> Sets:
    """Return sets in which each target has those of all its sources.

    Parameters
    ----------
    sources, targets
        Pairs of places: rows of the old matrix, and rows of the new one.
    shape
        The number of rows of the new matrix, and of the old one.
    sets
        The old matrix.
    """
    if sets is None:
        return None
    sources, targets = np.ravel(sources), np.ravel(targets)
    ones = np.ones(len(sources), bool)
    return scipy_sparse.coo_array((ones, (targets, sources)), shape=shape).tocsr() @ sets


def gathered(sets: Sets, groups: Any, count: int, wanted: Any) -> Sets:
    """Return, for each of ``wanted`` groups, the union over the elements of that group.

    Parameters
    ----------
    sets
        The sets of elements.
    groups
        The group of each element.
    count
        The number of groups.
    wanted
        The group whose union each new element has.
    """
    if sets is None:
        return None
    groups = np.ravel(groups)
    unions = related(np.arange(len(groups)), groups, (count, len(groups)), sets)
    return taken(unions, wanted)


def everything(sets: Sets, count: int) -> Sets:
    """Return so many sets, each the union of all given ones."""
    if sets is None:
        return None
    return gathered(sets, np.zeros(sets.shape[0], int), 1, np.zeros(count, int))


def without(sets: Sets, rows: Any) -> Sets:
    """Return the sets with those of some rows, given by a mask, emptied."""
    if sets is None or not np.any(rows):
        return sets
    return taken(sets, np.where(np.ravel(rows), NOTHING, np.arange(sets.shape[0])))


def stacked(parts: Sequence[tuple[Sets, int]], width: int) -> Sets:
    """Return the sets of arrays one after the other, each given with its number of rows."""
    if all(sets is None for sets, _ in parts):
        return None
    matrices = [no_sets(rows, width) if sets is None else sets for sets, rows in parts]
    return scipy_sparse.vstack(matrices, format="csr")


def _matrix(indices: Any, pointers: Any, shape: tuple[int, int]) -> Sets:
    ones = np.ones(len(indices), bool)
    return scipy_sparse.csr_array((ones, indices, pointers), shape=shape)
