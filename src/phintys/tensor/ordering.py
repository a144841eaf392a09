"""Orders by several keys, the largest elements, and partitions, by sorting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ArgumentError, IndexingError, ShapeError
from phintys.graph.variable import Constant
from phintys.tensor import math
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.dim_shuffle import normalize_axis
from phintys.tensor.indexing.setting import take_along_axis
from phintys.tensor.observing import CheckAndRaise
from phintys.tensor.partitioning import ArgPartitionOp, PartitionOp
from phintys.tensor.reduce import all
from phintys.tensor.reshaping import flatten
from phintys.tensor.shapes import sizes_of
from phintys.tensor.sorting import argsort, sort
from phintys.tensor.synonyms import also_named

if TYPE_CHECKING:
    from phintys.tensor.variable import TensorVariable

__all__ = [
    "argpartition",
    "argtopk",
    "lexsort",
    "partition",
    "sort_complex",
    "top_k",
    "topk",
    "topk_and_argtopk",
]


# ---- partitions ----------------------------------------------------------------------------------


@also_named
def partition(
    x: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: None = None
) -> TensorVariable:
    """Return the elements such that those at ``kth`` are where sorting puts them.

    Smaller elements are before them and larger ones behind them, in any order.

    Parameters
    ----------
    x
        A tensor.
    kth
        One place, or several. For places that only a run knows, all elements are sorted.
    axis
        The axis; ``None`` flattens first.
    kind, order
        Accepted for compatibility with NumPy's signature.

    Returns
    -------
    TensorVariable
        A tensor with the shape and dtype of ``x``.

    Raises
    ------
    IndexingError
        There is no element at ``kth``.
    ShapeError
        ``axis`` is out of range.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.partition([7, 1, 9, 3], 2)[2].eval()
    array(7)
    """
    x, axis, places = _partitioned(x, kth, axis, kind, order)
    return sort(x, axis) if places is None else PartitionOp(axis, places)(x)


@also_named
def argpartition(
    x: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: None = None
) -> TensorVariable:
    """Return the indices with which :func:`partition` takes the elements.

    Parameters
    ----------
    x
        A tensor.
    kth
        One place, or several. For places that only a run knows, all elements are sorted.
    axis
        The axis; ``None`` flattens first.
    kind, order
        Accepted for compatibility with NumPy's signature.

    Returns
    -------
    TensorVariable
        An int64 tensor, with the shape of ``x``.

    Raises
    ------
    IndexingError
        There is no element at ``kth``.
    AxisError
        ``axis`` is out of range.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.argpartition([7, 1, 9, 3], 2)[2].eval()
    array(0)
    """
    x, axis, places = _partitioned(x, kth, axis, kind, order)
    return argsort(x, axis) if places is None else ArgPartitionOp(axis, places)(x)


def _partitioned(
    x: Any, kth: Any, axis: int | None, kind: str, order: None
) -> tuple[Any, int, tuple[int, ...] | None]:
    """Return a checked array, its axis, and the places if they are known."""
    if kind != "introselect" or order is not None:
        msg = f'partition: kind is "introselect" and order None, got {kind!r} and {order!r}.'
        raise ArgumentError(msg)
    x, axis = _with_axis(x, axis)
    kth = as_tensor_variable(kth)
    if kth.type.numpy_dtype.kind not in "iu":
        msg = f"partition: kth is a place or several, integers; got {kth} of dtype {kth.dtype}."
        raise ArgumentError(msg)
    places = tuple(np.ravel(kth.data).tolist()) if isinstance(kth, Constant) else None
    length = x.type.shape[axis]
    if places is not None and length is not None:
        if any(not -length <= place < length for place in places):
            msg = f"partition: there is no element {kth.data} along axis {axis} of length {length}."
            raise IndexingError(msg)
        return x, axis, places
    size = sizes_of(x)[axis]
    inside = all(math.and_(math.ge(kth, math.neg(size)), math.lt(kth, size)))
    x = CheckAndRaise(IndexingError, "partition: there is no element kth")(x, inside)
    return x, axis, places


def _with_axis(x: Any, axis: int | None) -> tuple[Any, int]:
    x = as_tensor_variable(x)
    if axis is None:
        return flatten(x), 0
    return x, normalize_axis(axis, x.ndim)


# ---- several keys --------------------------------------------------------------------------------


def lexsort(keys: Any, axis: int = -1) -> TensorVariable:
    """Return the indices that sort by several keys, of which the last one comes first.

    Parameters
    ----------
    keys
        A list of tensors of the same shape, or a tensor of them, whose length is known.
    axis
        The axis along which to sort.

    Returns
    -------
    TensorVariable
        An int64 tensor with the shape of a key.

    Raises
    ------
    ShapeError
        There are no keys, their number is unknown, or ``axis`` is out of range.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.lexsort([[9, 4, 0], [1, 5, 1]]).eval()
    array([2, 0, 1])
    """
    if not isinstance(keys, list | tuple):
        keys = as_tensor_variable(keys)
        count = keys.type.shape[0] if keys.ndim else None
        if count is None:
            msg = (
                f"lexsort: the number of keys must be known, got {keys} of type {keys.type}. "
                "Pass a list of tensors, or use pt.specify_shape."
            )
            raise ShapeError(msg)
        keys = [keys[i] for i in range(count)]
    keys = [as_tensor_variable(key) for key in keys]
    if not keys:
        msg = "lexsort: there must be at least one key, got none."
        raise ShapeError(msg)
    order = argsort(keys[0], axis, stable=True)
    for key in keys[1:]:
        later = argsort(take_along_axis(key, order, axis), axis, stable=True)
        order = take_along_axis(order, later, axis)
    return order


def sort_complex(a: Any) -> TensorVariable:
    """Return the elements as complex numbers, sorted along the last axis.

    Parameters
    ----------
    a
        A tensor.

    Returns
    -------
    TensorVariable
        Ordered by real, then imaginary parts: complex64 for integers of 8 and 16 bits and for
        complex64, complex128 for all others.

    Raises
    ------
    ShapeError
        ``a`` has no dimensions.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.sort_complex([2.0, 1.0]).eval()
    array([1.+0.j, 2.+0.j])
    """
    found = sort(a)
    if found.type.numpy_dtype.kind == "c":
        return found
    is_short = found.dtype in {"int8", "int16", "uint8", "uint16"}
    return math.cast(found, "complex64" if is_short else "complex128")


# ---- the largest elements ------------------------------------------------------------------------


def topk(
    x: Any, kth: int, axis: int | None = -1, sorted: bool = True, idx_dtype: str = "int64"
) -> TensorVariable:
    """Return the ``kth`` largest elements along an axis, the largest one first.

    Parameters
    ----------
    x
        A real tensor. NaN counts as less than all numbers.
    kth
        How many; if it is negative, that many of the smallest elements, the smallest one first.
    axis
        The axis; ``None`` flattens first.
    sorted
        Accepted for compatibility: the elements are always sorted.
    idx_dtype
        The dtype of the indices, where they are returned.

    Returns
    -------
    TensorVariable
        A tensor with the dtype of ``x``. The size of the axis is ``abs(kth)``.

    Raises
    ------
    ArgumentError
        ``kth`` is zero or not a Python integer.
    ShapeError
        There are fewer elements, or ``axis`` is out of range.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.topk([7, 1, 9, 3], 2).eval()
    array([9, 7])
    """
    x, axis, kth = _counted(x, kth, axis)
    return sort(x, axis, descending=kth > 0)[_first(axis, kth)]


def argtopk(
    x: Any, kth: int, axis: int | None = -1, sorted: bool = True, idx_dtype: str = "int64"
) -> TensorVariable:
    """Return the indices of the ``kth`` largest elements; see :func:`topk`.

    Of equal elements the first ones are taken.

    Parameters
    ----------
    x
        A real tensor. NaN counts as less than all numbers.
    kth
        How many; if it is negative, that many of the smallest elements, the smallest one first.
    axis
        The axis; ``None`` flattens first.
    sorted
        Accepted for compatibility: the elements are always sorted.
    idx_dtype
        The dtype of the indices.

    Returns
    -------
    TensorVariable
        Indices along the axis. The size of the axis is ``abs(kth)``.

    Raises
    ------
    ArgumentError
        ``kth`` is zero or not a Python integer.
    ShapeError
        There are fewer elements, or ``axis`` is out of range.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.argtopk([7, 1, 9, 3], 2).eval()
    array([2, 0])
    """
    x, axis, kth = _counted(x, kth, axis)
    order = argsort(x, axis, stable=True, descending=kth > 0)
    return math.cast(order[_first(axis, kth)], idx_dtype)


def topk_and_argtopk(
    x: Any, kth: int, axis: int | None = -1, sorted: bool = True, idx_dtype: str = "int64"
) -> tuple[TensorVariable, TensorVariable]:
    """Return the ``kth`` largest elements and their indices: :func:`topk` and :func:`argtopk`.

    Parameters
    ----------
    x
        A real tensor. NaN counts as less than all numbers.
    kth
        How many; if it is negative, that many of the smallest elements, the smallest one first.
    axis
        The axis; ``None`` flattens first.
    sorted
        Accepted for compatibility: the elements are always sorted.
    idx_dtype
        The dtype of the indices.

    Returns
    -------
    tuple of TensorVariable
        The elements, with the dtype of ``x``, and their indices along the axis.

    Raises
    ------
    ArgumentError
        ``kth`` is zero or not a Python integer.
    ShapeError
        There are fewer elements, or ``axis`` is out of range.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> values, places = pt.topk_and_argtopk([7, 1, 9, 3], 1)
    >>> values.eval(), places.eval()
    (array([9]), array([2]))
    """
    x, axis = _with_axis(x, axis)
    places = argtopk(x, kth, axis)
    return take_along_axis(x, places, axis), math.cast(places, idx_dtype)


def top_k(
    x: Any, k: int, /, *, axis: int | None = -1, mode: str = "largest"
) -> tuple[TensorVariable, TensorVariable]:
    """Return the ``k`` largest or smallest elements along an axis, and their indices.

    Parameters
    ----------
    x
        A real tensor. NaN comes last.
    k
        How many.
    axis
        The axis; ``None`` flattens first.
    mode
        ``"largest"`` or ``"smallest"``.

    Returns
    -------
    tuple of TensorVariable
        The elements, with the dtype of ``x``, and their indices along the axis.

    Raises
    ------
    ArgumentError
        ``mode`` is unknown, or ``k`` is not a positive Python integer.
    ShapeError
        There are fewer elements, or ``axis`` is out of range.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> values, places = pt.top_k([7, 1, 9, 3], 2, mode="smallest")
    >>> values.eval(), places.eval()
    (array([1, 3]), array([1, 3]))
    """
    if mode not in {"largest", "smallest"}:
        msg = f'top_k: mode is "largest" or "smallest", got {mode!r}.'
        raise ArgumentError(msg)
    if not isinstance(k, int | np.integer) or k < 1:
        msg = f"top_k: k is a positive Python integer, got {k!r}."
        raise ArgumentError(msg)
    return topk_and_argtopk(x, int(k) if mode == "largest" else -int(k), axis)


def _counted(x: Any, kth: Any, axis: int | None) -> tuple[Any, int, int]:
    if isinstance(kth, bool) or not isinstance(kth, int | np.integer) or kth == 0:
        msg = f"topk: kth is a Python integer that is not 0, got {kth!r}."
        raise ArgumentError(msg)
    x, axis = _with_axis(x, axis)
    length, wanted = x.type.shape[axis], abs(int(kth))
    message = f"topk: axis {axis} must have at least {wanted} elements"
    if length is None:
        x = CheckAndRaise(ShapeError, message)(x, math.ge(sizes_of(x)[axis], wanted))
    elif length < wanted:
        msg = f"{message}, got {length}."
        raise ShapeError(msg)
    return x, axis, int(kth)


def _first(axis: int, kth: int) -> Any:
    return (*(slice(None),) * axis, slice(0, abs(kth)))
