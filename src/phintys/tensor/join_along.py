"""Joining and splitting along an axis that is known only at run time.

The sizes of the joined array, and the position of each part in it, are expressions of the axis; the
parts are written or read at their positions. So derivatives and native code are those of setting
and reading a part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.errors import DtypeError, ShapeError
from phintys.tensor import math
from phintys.tensor._operators import operators
from phintys.tensor.creation import zeros
from phintys.tensor.known import known_sizes
from phintys.tensor.observing import Assert
from phintys.tensor.shapes import shape_i
from phintys.tensor.type import promote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.tensor.variable import TensorVariable


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
    ndim = arrays[0].ndim
    if any(x.ndim != ndim for x in arrays):
        types = ", ".join(f"{x}: {x.type}" for x in arrays)
        msg = f"join takes arrays of equal rank, got {types}."
        raise ShapeError(msg)
    chosen = _chosen(axis, ndim, "join")
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


def split_along(axis: Any, x: Any, sizes: Any, count: int) -> list[TensorVariable]:
    """Return consecutive parts of an array along a symbolic axis.

    Parameters
    ----------
    axis
        A 0-d integer; negative ones count from the end.
    x
        A tensor.
    sizes
        A vector of the size of each part.
    count
        The number of parts.

    Raises
    ------
    DtypeError
        The axis is not an integer, or the sizes are not a vector of integers.
    ShapeError
        ``x`` has no dimensions, or ``sizes`` has another length. At run time, sizes of another
        number, negative ones, those that do not add up to the length of the axis, and an axis that
        is out of range raise an ``AssertionError``.

    Examples
    --------
    >>> import phintys
    >>> import phintys.tensor as pt
    >>> axis, x = pt.lscalar("axis"), pt.dmatrix("x")
    >>> f = phintys.function([axis, x], pt.split(x, [1, 2], axis=axis))
    >>> f(1, [[1.0, 2.0, 3.0]])
    [array([[1.]]), array([[2., 3.]])]
    """
    if not x.ndim:
        msg = f"split: {x} has no dimension along which it could be split."
        raise ShapeError(msg)
    if sizes.ndim != 1 or sizes.type.numpy_dtype.kind not in "iu":
        msg = f"split: the sizes of the parts are a vector of integers, got {sizes.type}."
        raise DtypeError(msg)
    chosen = _chosen(axis, x.ndim, "split")
    lengths = [shape_i(x, dim) for dim in range(x.ndim)]
    known = known_sizes(sizes)
    if known is not None and len(known) != count:
        msg = f"split: {sizes} has {len(known)} sizes for {count} parts."
        raise ShapeError(msg)
    ends: list[Any] = []
    checks = [] if known is not None else [math.eq(shape_i(sizes, 0), count)]
    for number in range(count):
        size = math.cast(operators.index(sizes, number), "int64")
        checks.append(math.ge(size, 0))
        ends.append(math.add(ends[-1], size) if ends else size)
    axis_length = math.add(*[math.switch(*pair, 0) for pair in zip(chosen, lengths, strict=True)])
    fits = Assert(
        f"split: {count} sizes are needed, not negative, that add up to the length of the axis."
    )
    x = fits(x, *checks, math.eq(ends[-1] if ends else 0, axis_length))
    parts: list[Any] = []
    for begin, end in zip([0, *ends], ends, strict=False):
        place = [
            slice(math.switch(is_axis, begin, 0), math.switch(is_axis, end, length))
            for is_axis, length in zip(chosen, lengths, strict=True)
        ]
        parts.append(operators.index(x, tuple(place)))
    return parts


def _chosen(axis: Any, ndim: int, function: str) -> list[Any]:
    """Return for each dimension whether it is the axis, which is checked."""
    if axis.type.numpy_dtype.kind not in "iu" or axis.ndim != 0:
        msg = f"An axis is an integer without dimensions, got {axis} of type {axis.type}."
        raise DtypeError(msg)
    in_range = Assert(f"{function}: the axis is out of range for arrays of rank {ndim}.")
    axis = math.cast(axis, "int64")
    axis = in_range(axis, math.ge(axis, -ndim), math.lt(axis, ndim))
    return [math.eq(math.mod(axis, ndim), dim) for dim in range(ndim)]


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
