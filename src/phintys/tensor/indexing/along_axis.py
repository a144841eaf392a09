"""Reading and writing the elements at given indices along an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.errors import DtypeError, ShapeError
from phintys.tensor.broadcasting import broadcast_sizes, broadcast_to
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.dim_shuffle import dimshuffle, normalize_axis
from phintys.tensor.indexing.setting import set_subtensor
from phintys.tensor.ranges import arange
from phintys.tensor.reshaping import flatten, reshape
from phintys.tensor.shapes import sizes_of
from phintys.tensor.synonyms import also_named

if TYPE_CHECKING:
    from phintys.tensor.variable import TensorVariable

__all__ = ["put_along_axis", "take_along_axis"]


@also_named
def take_along_axis(x: Any, indices: Any, axis: int | None = -1) -> TensorVariable:
    """Return, for each place of ``indices``, the element of ``x`` with that index along an axis.

    Parameters
    ----------
    x
        A tensor of any dtype.
    indices
        Integers, of the rank of ``x``. The other dimensions are broadcast against those of ``x``.
        Negative ones count from the end.
    axis
        The dimension; with ``None``, ``x`` is flattened first, and ``indices`` is a vector.

    Returns
    -------
    TensorVariable
        ``out[i, j, k] = x[i, indices[i, j, k], k]`` for axis 1 of three.

    Raises
    ------
    ShapeError
        The ranks differ, or sizes do not broadcast.
    DtypeError
        The indices are not integers.
    IndexError
        An index is out of range.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> x = pt.constant([[10, 30, 20], [60, 40, 50]])
    >>> pt.take_along_axis(x, pt.argsort(x, axis=1), axis=1).eval()
    array([[10, 20, 30],
           [40, 50, 60]])
    """
    x = as_tensor_variable(x)
    if axis is None:
        x, axis = flatten(x), 0
    return x[_matching(x, indices, axis, "take_along_axis")]


@also_named
def put_along_axis(x: Any, indices: Any, values: Any, axis: int | None = -1) -> TensorVariable:
    """Return a copy of ``x`` with values written at given indices along an axis.

    Parameters
    ----------
    x
        A tensor of any dtype.
    indices
        As for :func:`take_along_axis`. Of values for the same place, the last one is kept.
    values
        Broadcast to the shape of the indices.
    axis
        The dimension; with ``None``, places are counted as if ``x`` were flat.

    Returns
    -------
    TensorVariable
        A tensor with the shape and dtype of ``x``; NumPy's function changes its argument.

    Raises
    ------
    ShapeError
        The ranks differ, or sizes do not broadcast.
    DtypeError
        The indices are not integers, or the values do not fit the dtype of ``x``.
    IndexError
        An index is out of range.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.put_along_axis(pt.constant([[1, 2], [3, 4]]), [[1], [0]], 9, axis=1).eval()
    array([[1, 9],
           [9, 4]])
    """
    x = as_tensor_variable(x)
    if axis is None:
        flat = flatten(x)
        places = _matching(flat, indices, 0, "put_along_axis")
        return reshape(set_subtensor(flat[places], values), sizes_of(x))
    return set_subtensor(x[_matching(x, indices, axis, "put_along_axis")], values)


def _matching(x: Any, indices: Any, axis: int, name: str) -> tuple[Any, ...]:
    """Return an index for each dimension of ``x``: the given ones, and open grids."""
    indices = as_tensor_variable(indices)
    if indices.type.numpy_dtype.kind not in "iu":
        msg = f"{name}: indices are integers, got {indices} of type {indices.type}."
        raise DtypeError(msg)
    if indices.ndim != x.ndim:
        msg = (
            f"{name}: the indices have the rank of x, {x.ndim}, got {indices} of type "
            f"{indices.type}. Insert dimensions with pt.expand_dims(indices, axis)."
        )
        raise ShapeError(msg)
    axis = normalize_axis(axis, x.ndim)
    sizes, wanted = list(sizes_of(x)), list(sizes_of(indices))
    others = [dim for dim in range(x.ndim) if dim != axis]
    common = broadcast_sizes([[s[dim] for dim in others] for s in (sizes, wanted)], name)
    for dim, size in zip(others, common, strict=True):
        wanted[dim] = size
    grid = [_open_grid(x, dim, wanted[dim]) for dim in range(x.ndim)]
    grid[axis] = broadcast_to(indices, wanted) if others else indices
    return tuple(grid)


def _open_grid(x: Any, dim: int, size: Any) -> Any:
    """Return 0, 1, 2, ... along one dimension; 0 only where ``x`` has length 1 and is broadcast."""
    pattern: list[Any] = ["x"] * x.ndim
    if x.type.shape[dim] == 1:
        return dimshuffle(arange(1), *pattern[:dim], 0, *pattern[dim + 1 :])
    return dimshuffle(arange(size), *pattern[:dim], 0, *pattern[dim + 1 :])
