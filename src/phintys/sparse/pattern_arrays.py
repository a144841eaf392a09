"""Patterns as arrays of NumPy: keys of their entries, and what may be wrong with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import IndexingError, ShapeError
from phintys.sparse.type import LIMIT

if TYPE_CHECKING:
    from phintys.graph.op import Op

PROBLEMS = {
    1: "indptr must go up from 0 to the number of entries",
    2: "the indices must be columns of the matrix",
    3: "a result must have fewer than 2**31 entries",
    4: "rows and columns must be those of the matrix",
}
"""What may be wrong with a pattern, by the numbers of native code."""


def problem_of(indices: Any, indptr: Any, columns: int) -> int:
    """Return which of the problems a pattern has; 0 if it can be read without leaving arrays."""
    if not len(indptr) or indptr[0] or indptr[-1] != len(indices) or (np.diff(indptr) < 0).any():
        return 1
    return 2 * bool(len(indices) and (indices.min() < 0 or indices.max() >= columns))


def check_pattern(op: Op, indices: Any, indptr: Any, columns: int) -> None:
    """Check a pattern before SciPy, which does not, reads arrays by it.

    Raises
    ------
    IndexingError
        It leads out of the arrays.
    """
    problem = problem_of(indices, indptr, columns)
    if problem:
        raise wrong_pattern(op, problem)


def wrong_pattern(op: Op, number: int) -> IndexingError:
    """Return the error of a pattern with a problem.

    The message of an exported function, in which any number may come, lists all of them.
    """
    listed = "; ".join(f"{n}: {what}" for n, what in PROBLEMS.items())
    return IndexingError(f"{op}: {PROBLEMS.get(number, f'problem {number} of {listed}')}.")


def check_both(op: Op, indices: Any, indptr: Any, others: Any, other_indptr: Any) -> None:
    """Check two patterns of matrices of one shape."""
    if len(indptr) != len(other_indptr):
        counts = f"{len(indptr) - 1} and {len(other_indptr) - 1} rows"
        msg = f"Sparse matrices must have the same shape, got {counts}."
        raise ShapeError(msg)
    for pattern in ((indices, indptr), (others, other_indptr)):
        check_pattern(op, pattern[0], pattern[1], LIMIT)


def keys(indices: Any, indptr: Any) -> Any:
    """Return numbers that grow along the entries of a pattern: major times 2**31 plus minor."""
    major = np.repeat(np.arange(len(indptr) - 1, dtype="int64"), np.diff(indptr))
    return (major << 31) + indices


def places(wanted: Any, present: Any) -> Any:
    """Return the positions of keys among sorted keys; the number of them for those not there."""
    found = np.searchsorted(present, wanted)
    if len(present):
        found[present[np.minimum(found, len(present) - 1)] != wanted] = len(present)
    return found.astype("int64")


def multiplications(indices: Any, indptr: Any, others: Any, other_indptr: Any) -> Any:
    """Return all multiplications of a product of two patterns by rows.

    Returns
    -------
    left, right
        The places of the factors.
    into
        The key of the entry to which their product is added.
    """
    counts = np.diff(other_indptr)[indices]
    left = np.repeat(np.arange(len(indices)), counts)
    ends = np.cumsum(counts)
    within = np.arange(len(left)) - np.repeat(ends - counts, counts)
    right = np.repeat(other_indptr[indices], counts) + within
    rows = np.repeat(np.arange(len(indptr) - 1, dtype="int64"), np.diff(indptr))
    return left, right, (rows[left] << 31) + others[right]
