"""Joining along an axis that is known only at run time.

The sizes of the result, and the position of each part in it, are expressions of the axis; the parts
are written at their positions. So derivatives and native code are those of setting a part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.errors import DtypeError, ShapeError
from phintys.tensor import math
from phintys.tensor._operators import operators
from phintys.tensor.creation import zeros
from phintys.tensor.observing import Assert
from phintys.tensor.shapes import shape_i
from phintys.tensor.type import promote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.tensor.variable import TensorVariable

__all__ = ["join_along"]


def join_along(axis: Any, arrays: Sequence[Any]) -> TensorVariable:
    """Return arrays joined along a symbolic axis.

    Parameters
    ----------
    axis
        A 0-d integer; negative ones count from the end.
    arrays
        Tensors of equal rank. Except in dimension ``axis`` their sizes are equal.

    Raises
    ------
    DtypeError
        The axis is not an integer.
    ShapeError
        The ranks differ. At run time, sizes that do not match raise ShapeError, and an axis that is
        out of range raises an ``AssertionError``.

    Examples
    --------
    >>> import phintys
    >>> import phintys.tensor as pt
    >>> axis, x = pt.lscalar("axis"), pt.dmatrix("x")
    >>> f = phintys.function([axis, x], pt.join(axis, x, x))
    >>> f(0, [[1.0, 2.0]]).shape, f(1, [[1.0, 2.0]]).shape
    ((2, 2), (1, 4))
    """
    if axis.type.numpy_dtype.kind not in "iu" or axis.ndim != 0:
        msg = f"An axis is an integer without dimensions, got {axis} of type {axis.type}."
        raise DtypeError(msg)
    ndim = arrays[0].ndim
    if any(x.ndim != ndim for x in arrays):
        types = ", ".join(f"{x}: {x.type}" for x in arrays)
        msg = f"join takes arrays of equal rank, got {types}."
        raise ShapeError(msg)
    in_range = Assert(f"join: the axis is out of range for arrays of rank {ndim}.")
    axis = math.cast(axis, "int64")
    axis = in_range(axis, math.ge(axis, -ndim), math.lt(axis, ndim))
    chosen = [math.eq(math.mod(axis, ndim), dim) for dim in range(ndim)]
    lengths = [
        math.switch(is_axis, _total(arrays, dim), shape_i(arrays[0], dim))
        for dim, is_axis in enumerate(chosen)
    ]
    result = zeros(lengths, promote(*(x.dtype for x in arrays)))
    begin: list[Any] = [0] * ndim
    for x in arrays:
        place: list[slice] = []
        for dim, is_axis in enumerate(chosen):
            end = begin[dim] + shape_i(x, dim)
            place.append(
                slice(math.switch(is_axis, begin[dim], 0), math.switch(is_axis, end, lengths[dim]))
            )
            begin[dim] = end
        part = _unlike_one(x, chosen, lengths)
        result = operators.set_subtensor(operators.index(result, tuple(place)), part)
    return result


def _total(arrays: Sequence[Any], dim: int) -> Any:
    sizes = [shape_i(x, dim) for x in arrays]
    return math.add(*sizes) if len(sizes) > 1 else sizes[0]


def _unlike_one(x: Any, chosen: Sequence[Any], lengths: Sequence[Any]) -> Any:
    """Return ``x``, checked where its size of 1 would broadcast, which joining does not allow."""
    fits = [
        math.or_(chosen[dim], math.eq(lengths[dim], 1))
        for dim, size in enumerate(x.type.shape)
        if size == 1
    ]
    return Assert("join: the sizes beside the axis must be equal.")(x, *fits) if fits else x
