"""Grids of coordinates, and index arrays for parts of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ArgumentError, DtypeError, ShapeError
from phintys.tensor import math
from phintys.tensor.broadcasting import broadcast_to
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.creation import as_sizes, ones
from phintys.tensor.diagonals import nearby_diagonal, tri
from phintys.tensor.dim_shuffle import dimshuffle
from phintys.tensor.joining import concatenate, stack
from phintys.tensor.manipulation.stacking import column_stack
from phintys.tensor.nonzeros import nonzero
from phintys.tensor.ranges import arange, linspace
from phintys.tensor.shapes import sizes_of
from phintys.tensor.sizes import as_size, clip_size, fold
from phintys.tensor.synonyms import also_named
from phintys.tensor.type import promote

if TYPE_CHECKING:
    from phintys.tensor.variable import TensorVariable

__all__ = [
    "c_",
    "diag_indices",
    "diag_indices_from",
    "index_exp",
    "indices",
    "ix_",
    "mask_indices",
    "meshgrid",
    "mgrid",
    "ogrid",
    "r_",
    "s_",
    "tril_indices",
    "tril_indices_from",
    "triu_indices",
    "triu_indices_from",
]

index_exp, s_ = np.index_exp, np.s_


# ---- grids ---------------------------------------------------------------------------------------


def meshgrid(
    *axes: Any, indexing: str = "xy", sparse: bool = False, copy: bool = True
) -> tuple[TensorVariable, ...]:
    """Return the coordinates of the points of a grid, one array for each axis.

    Parameters
    ----------
    *axes
        A vector of coordinates along each axis.
    indexing
        ``"xy"``, in which the first axis runs along columns, or ``"ij"``, in which it is the first
        dimension of the results.
    sparse
        Return arrays that broadcast to the grid, of length 1 along the other axes.
    copy
        Accepted for compatibility with NumPy's signature.

    Returns
    -------
    tuple of TensorVariable
        One tensor for each axis.

    Raises
    ------
    ArgumentError
        ``indexing`` is neither.
    ShapeError
        A coordinate has more than one dimension.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> x, y = pt.meshgrid([1, 2, 3], [10, 20])
    >>> y.eval()
    array([[10, 10, 10],
           [20, 20, 20]])
    """
    if indexing not in {"xy", "ij"}:
        msg = f'meshgrid: indexing is "xy" or "ij", got {indexing!r}.'
        raise ArgumentError(msg)
    vectors = [_vector(axis, "meshgrid") for axis in axes]
    places = list(range(len(vectors)))
    if indexing == "xy" and len(places) > 1:
        places[:2] = [1, 0]
    opened = [_along(v, dim, len(vectors)) for v, dim in zip(vectors, places, strict=True)]
    if sparse or len(opened) < 2:
        return tuple(opened)
    sizes = [sizes_of(vectors[places.index(dim)])[0] for dim in range(len(vectors))]
    return tuple(broadcast_to(x, sizes) for x in opened)


def _vector(x: Any, name: str) -> Any:
    x = as_tensor_variable(x)
    if x.ndim > 1:
        msg = f"{name} takes vectors, got {x} of type {x.type}. Flatten it with pt.ravel."
        raise ShapeError(msg)
    return dimshuffle(x, "x") if x.ndim == 0 else x


def _along(x: Any, dim: int, ndim: int) -> Any:
    """Return a vector along one dimension of several."""
    pattern: list[Any] = ["x"] * ndim
    pattern[dim] = 0
    return dimshuffle(x, *pattern)


def ix_(*axes: Any) -> tuple[TensorVariable, ...]:
    """Return index arrays for the rows, columns, ... that one vector for each dimension names.

    Parameters
    ----------
    *axes
        Vectors of integers, or of bools.

    Returns
    -------
    tuple of TensorVariable
        One tensor for each vector, which has size 1 in all dimensions but its own.

    Raises
    ------
    DtypeError
        A vector has neither an integer dtype nor bool.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> x = pt.constant([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    >>> x[pt.ix_([0, 2], [0, 1])].eval()
    array([[1, 2],
           [7, 8]])
    """
    vectors = [_vector(axis, "ix_") for axis in axes]
    numbers = [nonzero(v)[0] if v.dtype == "bool" else v for v in vectors]
    for one in numbers:
        if one.type.numpy_dtype.kind not in "iu":
            msg = f"ix_ takes integers or bools, got {one} of dtype {one.dtype}."
            raise DtypeError(msg)
    return tuple(_along(v, dim, len(numbers)) for dim, v in enumerate(numbers))


def indices(dimensions: Any, dtype: Any = "int64", sparse: bool = False) -> Any:
    """Return the indices of the elements of an array: one array for each dimension.

    Parameters
    ----------
    dimensions
        The shape: ints, or symbolic integers.
    dtype
        Dtype of the result.
    sparse
        Return a tuple of arrays that broadcast to the shape, rather than one array of all.

    Returns
    -------
    TensorVariable or tuple of TensorVariable
        One tensor whose first axis counts the dimensions, or, if ``sparse``, one tensor for each
        dimension.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.indices((2, 2)).eval()
    array([[[0, 0],
            [1, 1]],
    <BLANKLINE>
           [[0, 1],
            [0, 1]]])
    """
    sizes = [fold(size) for size in as_sizes(dimensions)]
    opened = [_along(arange(n, dtype=dtype), dim, len(sizes)) for dim, n in enumerate(sizes)]
    if sparse:
        return tuple(opened)
    return stack([broadcast_to(x, sizes) for x in opened])


class _Grid:
    """Coordinates by slices: ``pt.mgrid[0:3, 0:1:5j]``."""

    def __init__(self, name: str, open_: bool) -> None:
        self._name, self._open = name, open_

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, tuple):
            return self._range(key)
        ranges = [self._range(one) for one in key]
        dtype = promote(*(x.dtype for x in ranges))
        ranges = [math.cast(x, dtype) for x in ranges]
        if self._open:
            return tuple(_along(x, dim, len(ranges)) for dim, x in enumerate(ranges))
        return stack(meshgrid(*ranges, indexing="ij"))

    def _range(self, key: Any) -> Any:
        if not isinstance(key, slice) or key.stop is None:
            msg = f"{self._name} takes slices with an end, such as {self._name}[0:3], got {key!r}."
            raise ArgumentError(msg)
        start = 0 if key.start is None else key.start
        if isinstance(key.step, complex):
            return linspace(start, key.stop, int(abs(key.step)))
        return arange(start, key.stop, 1 if key.step is None else key.step)

    def __repr__(self) -> str:
        return f"pt.{self._name}"


mgrid = _Grid("mgrid", open_=False)
"""``mgrid[0:3, 0:1:5j]``: the coordinates of a grid, in one array; a complex step is a number of
points, and includes the end."""

ogrid = _Grid("ogrid", open_=True)
"""Like ``mgrid``, as a tuple of arrays that broadcast to the grid."""


class _Joined:
    """Arrays, numbers and slices joined along an axis: ``pt.r_[0, x, 1:5]``."""

    def __init__(self, name: str, columns: bool) -> None:
        self._name, self._columns = name, columns

    def __getitem__(self, key: Any) -> Any:
        entries = key if isinstance(key, tuple) else (key,)
        if any(isinstance(entry, str) for entry in entries):
            msg = f"{self._name}: directives in strings are not supported. Use pt.concatenate."
            raise ArgumentError(msg)
        parts = [ogrid[e] if isinstance(e, slice) else as_tensor_variable(e) for e in entries]
        parts = [dimshuffle(x, "x") if x.ndim == 0 else x for x in parts]
        if self._columns and all(x.ndim == 1 for x in parts):
            return column_stack(parts)
        return concatenate(parts, -1 if self._columns else 0)

    def __repr__(self) -> str:
        return f"pt.{self._name}"


r_ = _Joined("r_", columns=False)
"""``r_[0, x, 1:5]``: numbers, arrays and ranges joined along the first axis."""

c_ = _Joined("c_", columns=True)
"""``c_[x, y]``: vectors as columns of a matrix; other arrays joined along the last axis."""


# ---- parts of matrices ---------------------------------------------------------------------------


def diag_indices(n: Any, ndim: int = 2) -> tuple[TensorVariable, ...]:
    """Return the indices of the main diagonal of an array of ``ndim`` dimensions of length ``n``.

    Parameters
    ----------
    n
        The length of each dimension, an int or symbolic.
    ndim
        The number of dimensions, an int.

    Returns
    -------
    tuple of TensorVariable
        ``ndim`` int64 vectors of length ``n``, which are all the same.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> x = pt.constant([[1, 2], [3, 4]])
    >>> x[pt.diag_indices(2)].eval()
    array([1, 4])
    """
    return (arange(fold(as_size(n))),) * ndim


@also_named
def diag_indices_from(x: Any) -> tuple[TensorVariable, ...]:
    """Return the indices of the main diagonal of ``x``.

    Parameters
    ----------
    x
        A tensor of rank 2 or more, with equal lengths.

    Returns
    -------
    tuple of TensorVariable
        An int64 vector for each dimension.

    Raises
    ------
    ShapeError
        The rank is less than 2, or two known lengths differ.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> x = pt.constant([[1, 2], [3, 4]])
    >>> x[pt.diag_indices_from(x)].eval()
    array([1, 4])
    """
    x = as_tensor_variable(x)
    known = {size for size in x.type.shape if size is not None}
    if x.ndim < 2 or len(known) > 1:
        msg = f"diag_indices_from: all sides of an array of rank 2 or more are equal, got {x.type}."
        raise ShapeError(msg)
    return diag_indices(known.pop() if known else sizes_of(x)[0], x.ndim)


def tril_indices(n: Any, k: Any = 0, m: Any = None) -> tuple[TensorVariable, TensorVariable]:
    """Return the rows and columns of the elements on and below a diagonal.

    Parameters
    ----------
    n, m
        Numbers of rows and of columns, by default as many.
    k
        The diagonal: 0 is the main one, positive is above it.

    Returns
    -------
    tuple of TensorVariable
        Two int64 vectors, in the order of rows.

    Raises
    ------
    ShapeError
        ``n`` or ``m`` is negative.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> rows, columns = pt.tril_indices(2)
    >>> rows.eval(), columns.eval()
    (array([0, 1, 1]), array([0, 0, 1]))
    """
    rows, columns = nonzero(tri(n, m, k, "bool"))
    return rows, columns


def triu_indices(n: Any, k: Any = 0, m: Any = None) -> tuple[TensorVariable, TensorVariable]:
    """Return the rows and columns of the elements on and above a diagonal.

    Parameters
    ----------
    n, m
        Numbers of rows and of columns, by default as many.
    k
        The diagonal: 0 is the main one, positive is above it.

    Returns
    -------
    tuple of TensorVariable
        Two int64 vectors, in the order of rows.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> rows, columns = pt.triu_indices(2)
    >>> rows.eval(), columns.eval()
    (array([0, 0, 1]), array([0, 1, 1]))
    """
    rows, columns = nonzero(math.logical_not(tri(n, m, nearby_diagonal(k, before=1), "bool")))
    return rows, columns


@also_named
def tril_indices_from(x: Any, k: Any = 0) -> tuple[TensorVariable, TensorVariable]:
    """Return :func:`tril_indices` for the shape of a matrix.

    Parameters
    ----------
    x
        A matrix; only its shape matters.
    k
        The diagonal: 0 is the main one, positive is above it.

    Returns
    -------
    tuple of TensorVariable
        Two int64 vectors, rows and columns.

    Raises
    ------
    ShapeError
        ``x`` is not a matrix.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> x = pt.constant([[1, 2], [3, 4]])
    >>> x[pt.tril_indices_from(x, -1)].eval()
    array([3])
    """
    n, m = _matrix_sizes(x, "tril_indices_from")
    return tril_indices(n, k, m)


@also_named
def triu_indices_from(x: Any, k: Any = 0) -> tuple[TensorVariable, TensorVariable]:
    """Return :func:`triu_indices` for the shape of a matrix.

    Parameters
    ----------
    x
        A matrix; only its shape matters.
    k
        The diagonal: 0 is the main one, positive is above it.

    Returns
    -------
    tuple of TensorVariable
        Two int64 vectors, rows and columns.

    Raises
    ------
    ShapeError
        ``x`` is not a matrix.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> x = pt.constant([[1, 2], [3, 4]])
    >>> x[pt.triu_indices_from(x, 1)].eval()
    array([2])
    """
    n, m = _matrix_sizes(x, "triu_indices_from")
    return triu_indices(n, k, m)


def _matrix_sizes(x: Any, name: str) -> tuple[Any, Any]:
    x = as_tensor_variable(x)
    if x.ndim != 2:
        msg = f"{name} takes a matrix, got {x} of type {x.type}."
        raise ShapeError(msg)
    return sizes_of(x)


def mask_indices(n: Any, mask_func: Any, k: Any = 0) -> tuple[TensorVariable, ...]:
    """Return the indices of the elements of an n by n matrix that a function keeps.

    Parameters
    ----------
    n
        Numbers of rows and columns.
    mask_func
        A function such as :func:`triu`, called as ``mask_func(ones((n, n)), k)``.
    k
        Its second argument.

    Returns
    -------
    tuple of TensorVariable
        Two int64 vectors, rows and columns.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> [one.eval() for one in pt.mask_indices(2, pt.triu)]
    [array([0, 0, 1]), array([0, 1, 1])]
    """
    size = clip_size(fold(as_size(n)), 0, None)
    return nonzero(math.neq(mask_func(ones((size, size), "int64"), k), 0))
