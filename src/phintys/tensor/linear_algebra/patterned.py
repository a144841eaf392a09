"""Matrices of a pattern: blocks on the diagonal, and the same numbers along diagonals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ArgumentError, ShapeError
from phintys.tensor import math
from phintys.tensor._rules import conjugate
from phintys.tensor.broadcasting import broadcast_sizes
from phintys.tensor.convert import as_tensor_variable, constant
from phintys.tensor.creation import zeros, zeros_like
from phintys.tensor.dim_shuffle import dimshuffle
from phintys.tensor.indexing import set_subtensor
from phintys.tensor.joining import concatenate
from phintys.tensor.ranges import arange
from phintys.tensor.shapes import sizes_of
from phintys.tensor.sizes import add_sizes
from phintys.tensor.type import promote

if TYPE_CHECKING:
    from phintys.tensor.variable import TensorVariable


def block_diag(*matrices: Any) -> TensorVariable:
    """Return matrices along a diagonal, with zeros around them.

    Parameters
    ----------
    *matrices
        One or more matrices, or stacks of them, which broadcast; numbers and vectors are matrices
        of one row.

    Returns
    -------
    TensorVariable
        A matrix whose sizes are the sums of those of the blocks, with the dtype to which they
        promote.

    Raises
    ------
    ArgumentError
        There are no matrices.
    ShapeError
        The stacks do not fit together.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.linalg.block_diag(pt.constant([[1, 2]]), 3).eval()
    array([[1, 2, 0],
           [0, 0, 3]])
    """
    if not matrices:
        msg = "block_diag takes one or more matrices, got none: block_diag(a, b)."
        raise ArgumentError(msg)
    if len(matrices) == 1 and isinstance(matrices[0], list | tuple):
        msg = "block_diag takes matrices as arguments, not a list of them: block_diag(*matrices)."
        raise ArgumentError(msg)
    blocks: list[Any] = []
    for matrix in matrices:
        x = as_tensor_variable(matrix)
        blocks.append(dimshuffle(x, *("x",) * (2 - x.ndim), *range(x.ndim)) if x.ndim < 2 else x)
    dtype = promote(*(x.dtype for x in blocks))
    sizes = [sizes_of(x) for x in blocks]
    batch = broadcast_sizes([own[:-2] for own in sizes], "block_diag")
    ends: list[tuple[Any, Any]] = [(0, 0)]
    for own in sizes:
        ends.append((add_sizes(ends[-1][0], own[-2]), add_sizes(ends[-1][1], own[-1])))
    found: Any = zeros((*batch, *ends[-1]), dtype=dtype)
    for x, start, end in zip(blocks, ends[:-1], ends[1:], strict=True):
        part = found[..., start[0] : end[0], start[1] : end[1]]
        found = set_subtensor(part, math.cast(x, dtype))
    return found


def _vector(x: Any, function: str) -> Any:
    x = as_tensor_variable(x)
    if x.ndim == 1:
        return x
    if not x.ndim:
        return dimshuffle(x, "x")
    msg = (
        f"{function} takes vectors, got {x} of type {x.type}. For a vector of all its elements "
        "write x.flatten()."
    )
    raise ShapeError(msg)


def _numbers(n: Any) -> Any:
    """Return the numbers below a size, which is an int or symbolic."""
    return constant(np.arange(n)) if isinstance(n, int) else arange(n)


def _along_diagonals(values: Any, rows: Any, columns: Any, first: Any, sign: int) -> Any:
    """Return the matrix of ``values[first + sign * row + column]``."""
    down, along = _numbers(rows), _numbers(columns)
    return values[first + sign * down[:, None] + along[None, :]]


def toeplitz(c: Any, r: Any = None) -> TensorVariable:
    """Return the matrix with the same number along each diagonal.

    Parameters
    ----------
    c
        The first column, a vector.
    r
        The first row, a vector whose first element is not read; by default the conjugate of ``c``.

    Returns
    -------
    TensorVariable
        A matrix with one row for each element of ``c``, and one column for each of ``r``.

    Raises
    ------
    ShapeError
        An argument is not a vector.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.linalg.toeplitz([1, 2, 3], [1, 4, 5]).eval()
    array([[1, 4, 5],
           [2, 1, 4],
           [3, 2, 1]])
    """
    c = _vector(c, "toeplitz")
    r = conjugate(c) if r is None else _vector(r, "toeplitz")
    rows, columns = sizes_of(c)[0], sizes_of(r)[0]
    return _along_diagonals(concatenate([c[::-1], r[1:]]), rows, columns, rows - 1, -1)


def hankel(c: Any, r: Any = None) -> TensorVariable:
    """Return the matrix with the same number along each diagonal from the right to the left.

    Parameters
    ----------
    c
        The first column, a vector.
    r
        The last row, a vector whose first element is not read; by default zeros.

    Returns
    -------
    TensorVariable
        A matrix with one row for each element of ``c``, and one column for each of ``r``.

    Raises
    ------
    ShapeError
        An argument is not a vector.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.linalg.hankel([1, 2, 3]).eval()
    array([[1, 2, 3],
           [2, 3, 0],
           [3, 0, 0]])
    """
    c = _vector(c, "hankel")
    r = zeros_like(c) if r is None else _vector(r, "hankel")
    return _along_diagonals(concatenate([c, r[1:]]), sizes_of(c)[0], sizes_of(r)[0], 0, 1)


def circulant(c: Any) -> TensorVariable:
    """Return the matrix whose columns are a vector, shifted by one more each.

    Parameters
    ----------
    c
        The first column, a vector.

    Returns
    -------
    TensorVariable
        A square matrix with the dtype of ``c``.

    Raises
    ------
    ShapeError
        ``c`` is not a vector.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.linalg.circulant([1, 2, 3]).eval()
    array([[1, 3, 2],
           [2, 1, 3],
           [3, 2, 1]])
    """
    c = _vector(c, "circulant")
    n = sizes_of(c)[0]
    return _along_diagonals(concatenate([c[::-1], c[:0:-1]]), n, n, n - 1, -1)
