"""Reading and writing elements, for users: set_subtensor, inc_subtensor, take, along an axis."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from phintys._base.errors import DtypeError, OpContractError, ShapeError
from phintys.graph.variable import Variable
from phintys.tensor import math
from phintys.tensor.broadcasting import broadcast_sizes, broadcast_to
from phintys.tensor.convert import as_tensor_variable, constant, contains_variable
from phintys.tensor.dim_shuffle import DimShuffle, dimshuffle, normalize_axis, shape_padleft
from phintys.tensor.indexing.advanced import AdvancedSubtensor
from phintys.tensor.indexing.basic import Subtensor
from phintys.tensor.indexing.parse import index, is_part
from phintys.tensor.indexing.update import AdvancedIncSubtensor, IncSubtensor
from phintys.tensor.ranges import arange
from phintys.tensor.reshaping import Reshape, flatten, reshape
from phintys.tensor.shapes import SpecifyShape, sizes_of
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


_basic = lru_cache(maxsize=1024)(IncSubtensor)
_advanced = lru_cache(maxsize=1024)(AdvancedIncSubtensor)
_KIND_RANK = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}


def set_subtensor(
    x: Any, y: Any, inplace: bool = False, tolerate_inplace_aliasing: bool = False
) -> TensorVariable:
    """Return an array with the elements selected by an index set to new values.

    Parameters
    ----------
    x
        The selected part: the result of indexing an array, as in ``a[3:5]``; also after
        ``dimshuffle``, ``reshape`` and the like.
    y
        The new values: a tensor that broadcasts to the part and whose dtype can be cast to that of
        the array without loss, or a number.
    inplace
        Overwrite the memory of the array. Leave this to the rewrites, which know when it is safe.
    tolerate_inplace_aliasing
        With ``inplace``, allow ``y`` to share memory with the array.

    Returns
    -------
    TensorVariable
        The whole array that was indexed, with the part set. If an index selects an element several
        times, the last value is kept.

    Raises
    ------
    OpContractError
        ``x`` is not the result of indexing.
    DtypeError
        ``y`` cannot be cast to the dtype of the array without loss.
    ShapeError
        ``y`` does not broadcast to the part.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> x = pt.constant([1.0, 2.0, 3.0])
    >>> pt.set_subtensor(x[1:], 0).eval()
    array([1., 0., 0.])
    """
    return _update(x, y, "set_subtensor", inplace, tolerate_inplace_aliasing, False)


def inc_subtensor(
    x: Any,
    y: Any,
    inplace: bool = False,
    set_instead_of_inc: bool = False,
    tolerate_inplace_aliasing: bool = False,
    ignore_duplicates: bool = False,
) -> TensorVariable:
    """Return an array with the elements selected by an index incremented.

    Parameters
    ----------
    x
        The selected part: the result of indexing an array, as in ``a[3:5]``; also after
        ``dimshuffle``, ``reshape`` and the like.
    y
        The increment: a tensor that broadcasts to the part and whose dtype can be cast to that of
        the array without loss, or a number.
    inplace
        Overwrite the memory of the array. Leave this to the rewrites, which know when it is safe.
    set_instead_of_inc
        Set the part instead, as :func:`set_subtensor` does.
    tolerate_inplace_aliasing
        With ``inplace``, allow ``y`` to share memory with the array.
    ignore_duplicates
        If an index selects an element several times, count only the last increment. By default all
        of them count.

    Returns
    -------
    TensorVariable
        The whole array that was indexed, with the part incremented.

    Raises
    ------
    OpContractError
        ``x`` is not the result of indexing.
    DtypeError
        ``y`` cannot be cast to the dtype of the array without loss.
    ShapeError
        ``y`` does not broadcast to the part.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> x = pt.constant([1.0, 2.0, 3.0])
    >>> pt.inc_subtensor(x[[0, 0, 2]], 10).eval()
    array([21.,  2., 13.])
    """
    name = "set_subtensor" if set_instead_of_inc else "inc_subtensor"
    return _update(x, y, name, inplace, tolerate_inplace_aliasing, ignore_duplicates)


def _update(
    part: Any, y: Any, name: str, inplace: bool, tolerate_aliased: bool, ignore_duplicates: bool
) -> Any:
    if not isinstance(part, Variable) or part.owner is None:
        raise _not_indexed(part, name)
    part = as_tensor_variable(part)
    y = _value_for(part, y, name)
    if y.ndim > part.ndim:
        msg = (
            f"{name}: {y} of type {y.type} has more dimensions than {part}, the part that is "
            f"written to, of type {part.type}."
        )
        raise ShapeError(msg)
    sets = name == "set_subtensor"
    current = part
    while (node := current.owner) is not None:
        op = node.op
        if isinstance(op, Subtensor):
            write: Any = _basic(op.idx_list, inplace, sets, tolerate_aliased)
            return write(node.inputs[0], y, *node.inputs[1:])
        if isinstance(op, AdvancedSubtensor):
            write = _advanced(op.idx_list, inplace, sets, ignore_duplicates)
            return write(node.inputs[0], y, *node.inputs[1:])
        source: Any = node.inputs[0] if node.inputs else None
        if isinstance(op, DimShuffle):
            if op.new_order and _only_adds_dims(op) and not is_part(source):
                write = _basic((), inplace, sets, tolerate_aliased)
                return write(source, _unshuffle(op, y))
            y = _unshuffle(op, y)
        elif isinstance(op, Reshape):
            y = reshape(broadcast_to(y, sizes_of(current)), sizes_of(source))
        elif not isinstance(op, SpecifyShape):
            break
        current = source
    raise _not_indexed(part, name)


def _only_adds_dims(op: DimShuffle) -> bool:
    """Return whether a DimShuffle only adds dimensions, as ``x[None]`` does."""
    kept = [entry for entry in op.new_order if entry != "x"]
    return "x" in op.new_order and kept == list(range(op.input_ndim))


def _unshuffle(op: DimShuffle, y: Any) -> Any:
    """Return ``y``, a value for a DimShuffle, as a value for the input of that DimShuffle."""
    if y.ndim == 0:
        return y
    y = shape_padleft(y, len(op.new_order) - y.ndim)
    order: list[int | str] = ["x"] * op.input_ndim
    for position, entry in enumerate(op.new_order):
        if isinstance(entry, int):
            order[entry] = position
    return y if order == list(range(y.ndim)) else DimShuffle(y.ndim, order)(y)


def _not_indexed(x: Any, name: str) -> OpContractError:
    method = "set" if name == "set_subtensor" else "inc"
    what = x
    if isinstance(x, Variable) and x.owner is not None:
        what = f"{x}, the result of {x.owner.op}"
    return OpContractError(
        f"{name} writes to the part of an array that an index selects, got {what}. Write "
        f"{name}(x[index], y), or x[index].{method}(y); for all of x, x[:]."
    )


def _value_for(x: Any, y: Any, name: str) -> Any:
    """Return the value to write to ``x`` as a tensor; Python numbers take the dtype of ``x``."""
    if isinstance(y, Variable | np.ndarray | np.generic) or contains_variable(y):
        return as_tensor_variable(y)
    array = np.asarray(y)
    kind = x.type.numpy_dtype.kind
    if array.size == 0:
        return constant(array.astype(x.dtype))
    if array.dtype.kind not in _KIND_RANK or _KIND_RANK[array.dtype.kind] > _KIND_RANK[kind]:
        msg = (
            f"{name}: {y!r} does not fit into {x} of dtype {x.dtype} without loss. Cast the array "
            "first, with astype."
        )
        raise DtypeError(msg)
    return constant(np.array(y, dtype=x.dtype))


@also_named
def take(
    x: Any,
    indices: Any,
    axis: int | None = None,
    mode: Literal["raise", "wrap", "clip"] | None = "raise",
) -> TensorVariable:
    """Return the elements of ``x`` at given indices along a dimension.

    Parameters
    ----------
    x
        A tensor.
    indices
        An integer array of any shape, which replaces the dimension.
    axis
        The dimension; by default ``x`` is flattened first.
    mode
        How to treat an index out of range: ``"raise"`` or ``None`` raises an error; ``"wrap"``
        wraps around; ``"clip"`` takes the nearest element, and does not count negative indices from
        the end.

    Returns
    -------
    TensorVariable
        The shape of ``x``, with that of ``indices`` in place of the axis; its dtype is that of
        ``x``.

    Raises
    ------
    IndexingError
        An index is out of range, at run time.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.take([[1, 2], [3, 4]], [0, 5], axis=1, mode="clip").eval()
    array([[1, 2],
           [3, 4]])
    """
    modes = ("raise", "wrap", "clip")
    mode = "raise" if mode is None else mode
    if mode not in modes:
        msg = f"take: mode is one of {', '.join(modes)}, got {mode!r}."
        raise OpContractError(msg)
    x = as_tensor_variable(x)
    if axis is None:
        x, axis = flatten(x), 0
    axis = normalize_axis(axis, x.ndim)
    if not isinstance(indices, Variable):
        indices = np.asarray(indices) if not contains_variable(indices) else indices
        if isinstance(indices, np.ndarray) and indices.size == 0:
            indices = indices.astype(np.int64)
    indices = as_tensor_variable(indices)
    if indices.type.numpy_dtype.kind not in "iu":
        msg = f"take: indices are integers, got {indices} of dtype {indices.dtype}."
        raise DtypeError(msg)
    if mode != "raise":
        size = sizes_of(x)[axis]
        if mode == "wrap":
            indices = math.mod(indices, math.maximum(size, 1))
        else:
            indices = math.clip(indices, 0, math.maximum(math.sub(size, 1), 0))
    return index(x, (slice(None),) * axis + (indices,))
