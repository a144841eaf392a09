"""Patterns: which entries a result has, and which entries of the operands they are made of.

They have no derivative. Where patterns are constants they are computed once, when a function is
compiled.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from phintys._base.errors import IndexingError, ShapeError
from phintys.graph.apply import Apply
from phintys.graph.null_type import disconnected_type
from phintys.graph.op import Op
from phintys.sparse.type import INDEX, LIMIT, sp
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.creation import check_room
from phintys.tensor.type import TensorType

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


class PatternOp(Op):
    """Vectors of integers from vectors and sizes: of ``indices`` and ``indptr``, then places."""

    __props__ = ()
    pattern_at = 0
    """The position of the indices among the outputs, which are in order; ``indptr`` follows."""
    places: ClassVar[int]
    """How many vectors of places follow the pattern."""

    def make_node(self, *inputs: Any) -> Apply:
        """Build a node for vectors of integers, and sizes."""
        index = TensorType(INDEX, (None,))
        outputs = [index() for _ in range(2 + self.places)]
        return Apply(self, [as_tensor_variable(v) for v in inputs], outputs)

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        """Compute the pattern and the places."""
        for size in inputs:
            if size.ndim == 0:
                check_room(self, (int(size),), "int64")
        for cell, value in zip(output_storage, self.pattern(*inputs), strict=True):
            cell[0] = value.astype(INDEX)

    def pattern(self, *inputs: Any) -> Any:
        """Return ``indices``, ``indptr`` and vectors of places."""
        raise NotImplementedError

    def error(self, number: int, _: int) -> Exception:
        """Return the error of a pattern that native code found to be wrong."""
        return wrong_pattern(self, number)

    def L_op(self, inputs: Any, outputs: Any, output_grads: Any) -> list[Any]:
        """Return nothing: patterns have no derivative."""
        return [disconnected_type() for _ in inputs]

    def R_op(self, inputs: Any, eval_points: Any) -> list[Any]:
        """Return nothing: patterns have no derivative."""
        return [None for _ in range(2 + self.places)]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Patterns have no derivative."""
        return [[False] * len(node.outputs) for _ in node.inputs]


def _of_keys(found: Any, count: int) -> tuple[Any, Any]:
    """Return the pattern of sorted keys with ``count`` rows."""
    indptr = np.searchsorted(found, np.arange(count + 1, dtype="int64") << 31)
    return found & (2**31 - 1), indptr


class CheckedPattern(PatternOp):
    """``(indices, indptr, major size, minor size)``: the pattern itself, if it is one."""

    places = 0

    def pattern(self, indices: Any, indptr: Any, rows: Any, columns: Any) -> Any:
        """Check what matrices of SciPy are checked for at the boundary.

        Raises
        ------
        ShapeError
            A size, an index or a number of entries does not fit, indices within a row are not
            sorted, or an entry is stored twice.
        """
        problem = _problem_of(indices, indptr, int(rows), int(columns))
        if problem:
            msg = (
                f"The pattern of a sparse matrix of {rows} rows (or columns, for csc) {problem}. "
                "Take the arrays of a matrix of SciPy after value.sum_duplicates()."
            )
            raise ShapeError(msg)
        return indices, indptr


def _problem_of(indices: Any, indptr: Any, rows: int, columns: int) -> str:
    """Return the reason why a pattern is wrong; an empty text if it is not."""
    if max(rows, columns, len(indices)) >= LIMIT:
        return f"must have fewer than 2**31 columns and entries, got {columns} and {len(indices)}"
    if len(indptr) != rows + 1 or indptr[0] != 0 or indptr[-1] != len(indices):
        return (
            f"must have an indptr of {rows + 1} numbers from 0 to the number of entries, "
            f"{len(indices)}; got {len(indptr)} numbers"
        )
    if (np.diff(indptr) < 0).any():
        return "must have an indptr that does not decrease"
    if len(indices) and (indices.min() < 0 or indices.max() >= columns):
        return f"must have indices from 0 to {columns - 1}, got {indices.min()} to {indices.max()}"
    if (np.diff(keys(indices, indptr)) <= 0).any():
        return "must have indices that grow within each row"
    return ""


class Converted(PatternOp):
    """``(indices, indptr, minor size)``: the pattern in the other format, and the order."""

    places = 1

    def pattern(self, indices: Any, indptr: Any, size: Any) -> Any:
        """Sort entries by their indices; rows stay in order within them."""
        check_pattern(self, indices, indptr, int(size))
        order = np.argsort(indices, kind="stable")
        major = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        starts = np.searchsorted(indices[order], np.arange(int(size) + 1))
        return major[order], starts, order


class MergedPattern(PatternOp):
    """Two patterns: their union, and where the entries of each are in it."""

    places = 2

    def pattern(self, indices: Any, indptr: Any, others: Any, other_indptr: Any) -> Any:
        """Unite the keys."""
        check_both(self, indices, indptr, others, other_indptr)
        a, b = keys(indices, indptr), keys(others, other_indptr)
        union = np.union1d(a, b)
        return (*_of_keys(union, len(indptr) - 1), places(a, union), places(b, union))


class CommonPattern(PatternOp):
    """Two patterns: their intersection, and where its entries are in each of them."""

    places = 2

    def pattern(self, indices: Any, indptr: Any, others: Any, other_indptr: Any) -> Any:
        """Intersect the keys."""
        check_both(self, indices, indptr, others, other_indptr)
        common, at_a, at_b = np.intersect1d(
            keys(indices, indptr),
            keys(others, other_indptr),
            assume_unique=True,
            return_indices=True,
        )
        return (*_of_keys(common, len(indptr) - 1), at_a, at_b)


class ProductPattern(PatternOp):
    """``(indices, indptr, indices, indptr, columns, width)``: that of a product.

    The two patterns are by rows; the sizes are the columns of the first matrix, which are the rows
    of the second, and its columns.
    """

    places = 0

    def pattern(
        self,
        indices: Any,
        indptr: Any,
        others: Any,
        other_indptr: Any,
        columns: Any,
        width: Any,
    ) -> Any:
        """Multiply matrices of bools with SciPy."""
        rows = len(other_indptr) - 1
        if columns != rows:
            msg = (
                f"Columns of the first and rows of the second must agree, got {columns} and {rows}."
            )
            raise ShapeError(msg)
        first = _marked(self, indices, indptr, int(columns))
        found = first @ _marked(self, others, other_indptr, int(width))
        found.sort_indices()
        return found.indices, found.indptr


def _marked(op: Op, indices: Any, indptr: Any, columns: int) -> Any:
    check_pattern(op, indices, indptr, columns)
    shape = (len(indptr) - 1, columns)
    return sp.csr_array((np.ones(len(indices), bool), indices, indptr), shape=shape)
