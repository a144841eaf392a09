"""Inserting and deleting elements along an axis, zeros at the ends, and other sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ArgumentError, DtypeError, IndexingError, ShapeError
from phintys.graph.variable import Constant
from phintys.tensor import math
from phintys.tensor._rules import Axis
from phintys.tensor.broadcasting import broadcast_to
from phintys.tensor.convert import as_tensor_variable, constant
from phintys.tensor.creation import as_sizes, check_sizes, ones, zeros
from phintys.tensor.cumulative import cumprod
from phintys.tensor.dim_shuffle import moveaxis, normalize_axes, normalize_axis, shape_padleft
from phintys.tensor.indexing import set_subtensor, take
from phintys.tensor.joining import concatenate
from phintys.tensor.nonzeros import flatnonzero
from phintys.tensor.observing import CheckAndRaise
from phintys.tensor.ranges import arange
from phintys.tensor.reduce import any, sum
from phintys.tensor.reshaping import flatten, reshape
from phintys.tensor.shapes import sizes_of, specify_shape
from phintys.tensor.size_check import SizeCheck
from phintys.tensor.sizes import (
    add_sizes,
    fold,
    multiply_sizes,
    negate_size,
    subtract_sizes,
)
from phintys.tensor.sorting import argsort
from phintys.tensor.synonyms import also_named

if TYPE_CHECKING:
    from phintys.tensor.variable import TensorVariable

__all__ = ["delete", "insert", "resize", "trim_zeros"]


@also_named
def delete(x: Any, obj: Any, axis: int | None = None) -> TensorVariable:
    """Return ``x`` without some of its elements along an axis.

    Parameters
    ----------
    x
        A tensor of any dtype.
    obj
        Which to leave out: an integer, a slice, a vector of integers, in which an index may be
        repeated, or a vector of bools, one for each element.
    axis
        The dimension; by default ``x`` is flattened first.

    Returns
    -------
    TensorVariable
        A tensor with the dtype of ``x``; a vector for ``axis=None``.

    Raises
    ------
    ShapeError
        The rank of ``obj`` is above 1, or its length is wrong.
    IndexError
        An index is out of range.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.delete([10, 20, 30, 40], [0, -1]).eval()
    array([20, 30])
    """
    x, axis = _flat_or_axis(x, axis)
    length = fold(sizes_of(x)[axis])
    if isinstance(obj, slice):
        return _without(x, arange(length)[obj], axis, length)
    which = _indices(obj, "delete")
    if which.dtype == "bool":
        kept = flatnonzero(math.logical_not(specify_shape(which, (length,))))
        return take(x, kept, axis)
    if which.ndim == 0:
        return _without_one(x, which, axis, length)
    return _without(x, which, axis, length)


def _without_one(x: Any, index: Any, axis: int, length: Any) -> Any:
    """Join what comes before an index and what comes after it."""
    place = _place(index, length, subtract_sizes(length, 1), "delete")
    before = (slice(None),) * axis
    return concatenate(
        [x[(*before, slice(None, place))], x[(*before, slice(place + 1, None))]], axis
    )


def _without(x: Any, which: Any, axis: int, length: Any) -> Any:
    if isinstance(which, Constant) and isinstance(length, int):
        kept = np.delete(np.arange(length), which.data)
        return take(x, kept, axis)
    kept = set_subtensor(ones(length, "bool")[which], False)
    return take(x, flatnonzero(kept), axis)


@also_named
def insert(x: Any, obj: Any, values: Any, axis: int | None = None) -> TensorVariable:
    """Return ``x`` with values inserted along an axis.

    Parameters
    ----------
    x
        A tensor of any dtype.
    obj
        Before which elements of ``x`` to insert: an integer, a slice, or a vector of integers or
        bools. The length of the dimension is an index too: it is behind the last element.
    values
        What to insert, cast to the dtype of ``x``. It is broadcast to the shape of ``x``, in which
        the dimension has the length of ``obj``. For a single integer, several values along the
        dimension are inserted at the same place.
    axis
        The dimension; by default ``x`` is flattened first.

    Returns
    -------
    TensorVariable
        A tensor with the dtype of ``x``; a vector for ``axis=None``.

    Raises
    ------
    ShapeError
        The rank of ``obj`` is above 1, or the values do not fit.
    IndexError
        An index is out of range.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.insert([1, 2, 3], [0, 3], [8, 9]).eval()
    array([8, 1, 2, 3, 9])
    """
    x, axis = _flat_or_axis(x, axis)
    length = fold(sizes_of(x)[axis])
    values = _with_rank(math.cast(as_tensor_variable(values), x.dtype), x)
    places = arange(length)[obj] if isinstance(obj, slice) else _indices(obj, "insert")
    if places.dtype == "bool":
        places = flatnonzero(places)
    if places.ndim == 0:
        return _insert_at_one(x, places, moveaxis(values, 0, axis), axis, length)
    if places.type.shape == (1,):
        return _insert_at_one(x, places[0], values, axis, length)
    return _insert_at_several(x, places, values, axis, length)


def _with_rank(values: Any, x: Any) -> Any:
    if values.ndim > x.ndim:
        msg = f"insert: the values, of type {values.type}, have a higher rank than {x.type}."
        raise ShapeError(msg)
    return shape_padleft(values, x.ndim - values.ndim)


def _insert_at_one(x: Any, index: Any, values: Any, axis: int, length: Any) -> Any:
    place = _place(index, length, length, "insert")
    before = (slice(None),) * axis
    sizes = list(sizes_of(x))
    sizes[axis] = sizes_of(values)[axis]
    head, tail = x[(*before, slice(None, place))], x[(*before, slice(place, None))]
    return concatenate([head, broadcast_to(values, sizes), tail], axis)


def _insert_at_several(x: Any, places: Any, values: Any, axis: int, length: Any) -> Any:
    """Order the inserted and the present elements by position; inserted ones come first."""
    inside = math.logical_and(math.ge(places, math.neg(length)), math.le(places, length))
    message = f"insert: an index is out of range for an axis of {x}, of type {x.type}"
    places = CheckAndRaise(IndexingError, message)(places, inside)
    places = math.switch(math.lt(places, 0), places + length, places)
    sizes = list(sizes_of(x))
    sizes[axis] = sizes_of(places)[0]
    together = concatenate([broadcast_to(values, sizes), x], axis)
    order = argsort(concatenate([places, arange(length)]), kind="stable")
    return take(together, order, axis)


# ---- ends ----------------------------------------------------------------------------------------


def trim_zeros(filt: Any, trim: str = "fb", axis: Axis = None) -> TensorVariable:
    """Return an array without the zeros at its ends.

    Parameters
    ----------
    filt
        A tensor.
    trim
        ``"f"`` for the front, ``"b"`` for the back, ``"fb"`` for both.
    axis
        One axis, several, or ``None`` for all: each becomes as short as the elements that are not
        zero allow. Of zeros alone nothing is left.

    Returns
    -------
    TensorVariable
        With the rank and dtype of ``filt``.

    Raises
    ------
    ArgumentError
        ``trim`` has other letters.
    AxisError
        ``axis`` is out of range.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.trim_zeros([0, 0, 1, 0, 2, 0]).eval()
    array([1, 0, 2])
    """
    sides = trim.lower() if isinstance(trim, str) else trim
    if sides not in {"f", "b", "fb", "bf"}:
        msg = f'trim_zeros: trim is "f", "b" or "fb", got {trim!r}.'
        raise ArgumentError(msg)
    filt = as_tensor_variable(filt)
    is_kept = math.neq(filt, 0)
    index = [slice(None)] * filt.ndim
    for along in normalize_axes(axis, filt.ndim):
        others = tuple(dim for dim in range(filt.ndim) if dim != along)
        kept = any(is_kept, others) if others else is_kept
        start = _leading_zeros(kept) if "f" in sides else None
        end = sizes_of(filt)[along] - _leading_zeros(kept[::-1]) if "b" in sides else None
        index[along] = slice(start, end)
    return filt[tuple(index)]


def _leading_zeros(kept: Any) -> Any:
    return sum(cumprod(math.cast(math.logical_not(kept), "int64")))


def resize(a: Any, new_shape: Any) -> TensorVariable:
    """Return the elements in a new shape: as many as fit, from the start again after the last one.

    Parameters
    ----------
    a
        A tensor.
    new_shape
        The sizes, ints or symbolic, in a list or tuple; or one size.

    Returns
    -------
    TensorVariable
        With the dtype of ``a``; zeros if it has no elements.

    Raises
    ------
    ShapeError
        A size is negative.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.resize([1, 2, 3], (2, 4)).eval()
    array([[1, 2, 3, 1],
           [2, 3, 1, 2]])
    """
    flat = flatten(as_tensor_variable(a))
    sizes = [fold(one) for one in as_sizes(new_shape, "resize: a size")]
    check_sizes([one if isinstance(one, int) else None for one in sizes], "resize: a size")
    length, total = sizes_of(flat)[0], multiply_sizes(sizes)
    if isinstance(length, int) and length == 0:
        return zeros(sizes, flat.dtype)
    if isinstance(total, int) and total >= 2**63:
        msg = f"resize: an array of shape {tuple(sizes)} has too many elements."
        raise ShapeError(msg)
    places = arange(total)
    if not isinstance(length, int):  # there is an element to take even if there are none
        flat = concatenate([flat, zeros(1, flat.dtype)])
        length = math.maximum(length, 1)
    return reshape(take(flat, math.mod(places, length)), sizes, ndim=len(sizes))


# ---- arguments -----------------------------------------------------------------------------------


def _flat_or_axis(x: Any, axis: int | None) -> tuple[Any, int]:
    x = as_tensor_variable(x)
    return (flatten(x), 0) if axis is None else (x, normalize_axis(axis, x.ndim))


def _indices(obj: Any, name: str) -> Any:
    """Return an index, or a vector of indices or bools, as an int64 or bool variable."""
    empty = isinstance(obj, list | tuple) and not obj
    which = constant(np.empty(0, "int64")) if empty else as_tensor_variable(obj)
    if which.type.numpy_dtype.kind not in "iub":
        msg = f"{name}: indices are integers or bools, got {which} of type {which.type}."
        raise DtypeError(msg)
    if which.ndim > 1 or (which.ndim == 0 and which.dtype == "bool"):
        msg = f"{name}: indices are an integer or a vector, got {which} of type {which.type}."
        raise ShapeError(msg)
    return which if which.dtype in {"bool", "int64"} else math.cast(which, "int64")


def _place(index: Any, length: Any, last: Any, name: str) -> Any:
    """Return an index counted from the front, after a check that it is between -length and last."""
    index = fold(index)
    if isinstance(index, int) and isinstance(length, int):
        if not -length <= index <= last:
            msg = f"{name}: index {index} is out of range for length {length}."
            raise IndexingError(msg)
        return index + length if index < 0 else index
    if isinstance(index, int):
        place = index if index >= 0 else add_sizes(length, index)
    else:
        place = math.switch(math.lt(index, 0), math.add(index, length), index)
    checked = SizeCheck("at least", f"{name}: the index")(place, index, negate_size(length))
    return SizeCheck("at least", f"{name}: the last possible index")(checked, last, index)
