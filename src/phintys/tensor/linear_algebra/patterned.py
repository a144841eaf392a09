"""Matrices of a pattern, and tensors with several axes for rows and columns as matrices."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ArgumentError, ShapeError
from phintys._base.origin import in_steps
from phintys.tensor import math
from phintys.tensor._rules import conjugate
from phintys.tensor.broadcasting import broadcast_sizes
from phintys.tensor.convert import as_tensor_variable, constant
from phintys.tensor.creation import zeros, zeros_like
from phintys.tensor.dim_shuffle import dimshuffle, normalize_axis
from phintys.tensor.indexing import set_subtensor
from phintys.tensor.joining import concatenate
from phintys.tensor.linear_algebra.solving import inv, solve
from phintys.tensor.ranges import arange
from phintys.tensor.reshaping import flatten, reshape
from phintys.tensor.shapes import sizes_of
from phintys.tensor.sizes import add_sizes, multiply_sizes
from phintys.tensor.type import promote

if TYPE_CHECKING:
    from collections.abc import Sequence

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


def _as_matrix(x: Any, rows: int, function: str) -> Any:
    """Return a tensor as a square matrix, whose rows are the first axes."""
    static = x.type.shape
    counts = [prod(part) if None not in part else None for part in (static[:rows], static[rows:])]
    if None not in counts and counts[0] != counts[1]:
        msg = (
            f"{function}: {x} of shape {static} is not a square matrix, with its first {rows} axes "
            f"as rows ({counts[0]}) and the others as columns ({counts[1]})."
        )
        raise ShapeError(msg)
    sizes = sizes_of(x)
    return reshape(x, (multiply_sizes(sizes[:rows]), multiply_sizes(sizes[rows:])))


@in_steps
def tensorinv(a: Any, ind: int = 2) -> TensorVariable:
    """Return the inverse of a tensor, as that of ``tensordot(a, b, ind)``.

    Parameters
    ----------
    a
        A tensor; the sizes of the first ``ind`` axes have the same product as those of the others.
    ind
        The number of axes that are rows. The result has the other ones first.

    Returns
    -------
    TensorVariable
        The shape of ``a``, with its first ``ind`` dimensions behind the others.

    Raises
    ------
    ShapeError
        The products differ.
    ArgumentError
        ``ind`` is not a number of axes.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.linalg.tensorinv(pt.tensor("a", shape=(4, 6, 8, 3), dtype="float64")).type
    Tensor4(float64, shape=(8, 3, 4, 6))
    """
    a = as_tensor_variable(a)
    if isinstance(ind, bool) or not isinstance(ind, int) or not 0 < ind <= a.ndim:
        msg = (
            f"tensorinv: ind is the number of axes that are rows, from 1 to {a.ndim} for {a} of "
            f"type {a.type}; got {ind!r}."
        )
        raise ArgumentError(msg)
    sizes = sizes_of(a)
    return reshape(inv(_as_matrix(a, ind, "tensorinv")), (*sizes[ind:], *sizes[:ind]))


@in_steps
def tensorsolve(a: Any, b: Any, axes: Sequence[int] | None = None) -> TensorVariable:
    """Solve ``tensordot(a, x, x.ndim) = b``.

    Parameters
    ----------
    a
        A tensor with the axes of ``b``, then those of x.
    b
        A tensor.
    axes
        Axes of ``a`` that are moved to its end first.

    Returns
    -------
    TensorVariable
        x, whose shape is that of the last dimensions of ``a``.

    Raises
    ------
    ShapeError
        ``a`` is not square, or does not fit ``b``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> a = pt.tensor("a", shape=(6, 4, 2, 3, 4), dtype="float64")
    >>> b = pt.tensor("b", shape=(6, 4), dtype="float64")
    >>> pt.linalg.tensorsolve(a, b).type
    Tensor3(float64, shape=(2, 3, 4))
    """
    a, b = as_tensor_variable(a), as_tensor_variable(b)
    if axes is not None:
        last = [normalize_axis(axis, a.ndim) for axis in axes]
        if len(set(last)) < len(last):
            msg = f"tensorsolve: an axis is named twice in {axes!r}."
            raise ShapeError(msg)
        a = dimshuffle(a, *(dim for dim in range(a.ndim) if dim not in last), *last)
    if a.ndim < b.ndim:
        msg = (
            f"tensorsolve: {a} of type {a.type} has fewer axes than {b} of type {b.type}. It has "
            "those of b, then those of the result."
        )
        raise ShapeError(msg)
    found = solve(_as_matrix(a, b.ndim, "tensorsolve"), b if b.ndim == 1 else flatten(b))
    return reshape(found, sizes_of(a)[b.ndim :])
