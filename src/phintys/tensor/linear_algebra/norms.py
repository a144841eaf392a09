"""Norms of vectors and matrices, and condition numbers."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import OpContractError, ShapeError
from phintys._base.origin import in_steps
from phintys.tensor import math
from phintys.tensor._rules import Axis, is_discrete
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.dim_shuffle import (
    expand_dims,
    moveaxis,
    normalize_axes,
    normalize_axis,
    squeeze,
)
from phintys.tensor.linear_algebra.matrix_op import as_matrices
from phintys.tensor.linear_algebra.singular_values import svdvals
from phintys.tensor.linear_algebra.solving import inv
from phintys.tensor.reduce import any, max, min, sum

if TYPE_CHECKING:
    from phintys.tensor.variable import TensorVariable


def _magnitudes(x: Any) -> Any:
    """Return absolute values; those of integers and bools as float64."""
    x = as_tensor_variable(x)
    return math.abs(math.cast(x, "float64") if is_discrete(x) else x)


def _order(ord: Any, function: str) -> float:
    if isinstance(ord, bool) or not isinstance(ord, Real):
        msg = f"The order of a {function} is a number, or inf or -inf; got {ord!r}."
        raise OpContractError(msg)
    return float(ord)


def vector_norm(x: Any, ord: Any = 2, axis: Axis = None, keepdims: bool = False) -> TensorVariable:
    """Return the vector norm of the elements along some axes.

    Parameters
    ----------
    x
        A tensor; integers and bools are cast to float64.
    ord
        p, for ``sum(abs(x)**p)**(1/p)``; ``inf`` for the largest and ``-inf`` for the smallest
        absolute value; 0 for the number of nonzero elements.
    axis
        One axis, several, or ``None`` for all.
    keepdims
        Keep the axes, with size 1.

    Returns
    -------
    TensorVariable
        A real tensor with the shape of ``x`` without the axes, or with size 1 along them if
        ``keepdims``.

    Raises
    ------
    ShapeError
        ``axis`` is out of range.
    OpContractError
        ``ord`` is not a number.

    Notes
    -----
    The gradient of the 2-norm at 0 is 0, the shortest of its subgradients.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.linalg.vector_norm(pt.constant([3.0, 4.0])).eval()
    array(5.)
    """
    order = _order(ord, "vector norm")
    magnitudes = _magnitudes(x)
    if order == np.inf:
        return max(magnitudes, axis, keepdims)
    if order == -np.inf:
        return min(magnitudes, axis, keepdims)
    if order == 0:
        nonzero = math.cast(math.neq(magnitudes, 0), magnitudes.dtype)
        return sum(nonzero, axis, keepdims=keepdims)
    if order == 1:
        return sum(magnitudes, axis, keepdims=keepdims)
    if order == 2:
        return math.sqrt(sum(_squares(x), axis, keepdims=keepdims))
    return sum(magnitudes**order, axis, keepdims=keepdims) ** (1 / order)


def _squares(x: Any) -> Any:
    """Return ``abs(x)**2`` without an intermediate root, whose derivative at 0 is not finite."""
    x = as_tensor_variable(x)
    if x.type.numpy_dtype.kind == "c":
        return math.sqr(math.real(x)) + math.sqr(math.imag(x))
    return math.sqr(math.cast(x, "float64") if is_discrete(x) else x)


def _largest(x: Any, axis: Axis, keepdims: bool = False) -> Any:
    """Return the largest of the lengths of a matrix, 0 if there are none."""
    return max(x, axis, keepdims, initial=0.0)


def matrix_norm(
    x: Any, ord: Any = "fro", axis: tuple[int, int] = (-2, -1), keepdims: bool = False
) -> TensorVariable:
    """Return the norm of matrices.

    Parameters
    ----------
    x
        A tensor of rank 2 or more; integers and bools are cast to float64.
    ord
        ``"fro"`` for the root of the sum of squares; 1 and -1 for the largest and smallest absolute
        column sum, ``inf`` and ``-inf`` for the largest and smallest absolute row sum; 2 and -2 for
        the largest and smallest singular value, ``"nuc"`` for the sum of the singular values. The
        largest of nothing is 0, as in NumPy.
    axis
        The axes of the rows and columns.
    keepdims
        Keep the axes, with size 1.

    Returns
    -------
    TensorVariable
        A real tensor with the shape of ``x`` without the two axes, or with size 1 along them if
        ``keepdims``.

    Raises
    ------
    ShapeError
        ``x`` does not have these two axes.
    OpContractError
        ``ord`` has any other value.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.linalg.matrix_norm(pt.constant([[1.0, -2.0], [3.0, 4.0]]), 1).eval()
    array(6.)
    """
    x = as_tensor_variable(x)
    if not isinstance(axis, tuple | list) or len(axis) != 2:
        msg = f"A matrix norm has two axes, that of the rows and that of the columns; got {axis!r}."
        raise OpContractError(msg)
    rows, columns = (normalize_axis(one, x.ndim) for one in axis)
    axes = normalize_axes((rows, columns), x.ndim)
    if ord == "fro":
        return vector_norm(x, 2, axes, keepdims)
    if ord in {2, -2, "nuc"}:
        values = svdvals(moveaxis(x, (rows, columns), (-2, -1)))
        found = {2: _largest, -2: min, "nuc": sum}[ord](values, -1)
        return expand_dims(found, tuple(sorted(axes))) if keepdims else found
    reduce_sums = {1: _largest, -1: min, np.inf: _largest, -np.inf: min}.get(ord)
    if reduce_sums is None:
        msg = f"The order of a matrix norm is 'fro', 'nuc', 1, -1, 2, -2, inf or -inf; got {ord!r}."
        raise OpContractError(msg)
    summed, kept = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = sum(_magnitudes(x), summed, keepdims=True)
    extreme: Any = reduce_sums(sums, kept, keepdims=True)
    return extreme if keepdims else squeeze(extreme, axes)


def norm(x: Any, ord: Any = None, axis: Axis = None, keepdims: bool = False) -> TensorVariable:
    """Return a norm of vectors or matrices, as ``numpy.linalg.norm`` does.

    Parameters
    ----------
    x
        A tensor; integers and bools are cast to float64.
    ord
        ``None`` for the root of the sum of squares; otherwise an order of :func:`vector_norm` for
        one axis, or of :func:`matrix_norm` for two.
    axis
        One axis, or two. ``None`` treats a vector or a matrix, or without ``ord`` a tensor of any
        rank, as a whole.
    keepdims
        Keep the axes, with size 1.

    Returns
    -------
    TensorVariable
        A real tensor with the shape of ``x`` without the axes, or with size 1 along them if
        ``keepdims``.

    Raises
    ------
    ShapeError
        An axis is out of range; or ``ord`` is given with neither one nor two axes.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.linalg.norm(pt.constant([[1.0, 2.0], [2.0, 4.0]])).eval()
    array(5.)
    """
    x = as_tensor_variable(x)
    whole = range(x.ndim) if axis is None else axis
    given = tuple(whole) if isinstance(whole, Sequence) else (whole,)
    if ord is None and (axis is None or len(given) in {1, 2}):
        return vector_norm(x, 2, given, keepdims)
    if len(given) == 1:
        return vector_norm(x, ord, given[0], keepdims)
    if len(given) == 2:
        return matrix_norm(x, ord, (given[0], given[1]), keepdims)
    msg = (
        f"norm: an order is defined for one axis or for two; {x} is of type {x.type} and axis is "
        f"{axis!r}. For more axes use pt.linalg.vector_norm."
    )
    raise ShapeError(msg)


@in_steps
def cond(x: Any, p: Any = None) -> TensorVariable:
    """Return the condition number of matrices.

    Parameters
    ----------
    x
        A matrix, or a stack of them.
    p
        The order of the norm. By default it is the ratio of the largest and the smallest singular
        value; -2 is its inverse.

    Returns
    -------
    TensorVariable
        A real tensor with the shape of ``x`` without the last two dimensions.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.linalg.cond(pt.constant([[4.0, 0.0], [0.0, 2.0]])).eval()
    array(2.)
    """
    x = as_matrices(x, "cond")
    if p in {None, 2, -2}:
        values = svdvals(x)
        first, last = values[..., 0], values[..., -1]
        return last / first if p == -2 else _or_infinite(first / last, x)
    return _or_infinite(matrix_norm(x, p) * matrix_norm(inv(x, on_error="nan"), p), x)


def _or_infinite(ratio: Any, x: Any) -> Any:
    """Return condition numbers, which are infinite for singular matrices, also for zeros."""
    is_singular = math.and_(math.isnan(ratio), math.logical_not(any(math.isnan(x), axis=(-2, -1))))
    return math.switch(is_singular, np.inf, ratio)
