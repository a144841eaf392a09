"""Putting arrays together, taking them apart, and packing them into one vector and back."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

from phintys._base.errors import ShapeError
from phintys.tensor.broadcasting import broadcast_sizes, broadcast_to
from phintys.tensor.convert import as_tensor_variable, refuse_endless
from phintys.tensor.creation import as_sizes
from phintys.tensor.dim_shuffle import (
    moveaxis,
    normalize_axis,
    shape_padleft,
    shape_padright,
)
from phintys.tensor.joining import concatenate
from phintys.tensor.manipulation.dimensions import atleast_3d, ravel
from phintys.tensor.reshaping import reshape
from phintys.tensor.shapes import sizes_of, specify_shape
from phintys.tensor.sizes import add_sizes, fold, multiply_sizes
from phintys.tensor.synonyms import also_named
from phintys.tensor.type import MOST_DIMENSIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.tensor.variable import TensorVariable

__all__ = [
    "append",
    "block",
    "column_stack",
    "concat_with_broadcast",
    "dstack",
    "pack",
    "unpack",
    "unstack",
]


# ---- together ------------------------------------------------------------------------------------


def _listed(tensors: Any, name: str) -> list[Any]:
    if not isinstance(tensors, list | tuple):
        msg = f"{name} takes a list or tuple of arrays, got {tensors!r}. Write {name}([a, b])."
        raise ShapeError(msg)
    if not tensors:
        msg = f"{name} needs at least one array."
        raise ShapeError(msg)
    return [as_tensor_variable(x) for x in tensors]


@also_named
def column_stack(tensors: Any) -> TensorVariable:
    """Return vectors and matrices joined side by side; a vector is a column.

    Parameters
    ----------
    tensors
        A list or tuple of vectors and matrices with the same number of rows.

    Returns
    -------
    TensorVariable
        A matrix with the dtype to which they promote.

    Raises
    ------
    ShapeError
        The numbers of rows differ.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.column_stack([[1, 2], [3, 4]]).eval()
    array([[1, 3],
           [2, 4]])
    """
    arrays = _listed(tensors, "column_stack")
    return concatenate([shape_padright(x, 1) if x.ndim == 1 else _column(x) for x in arrays], 1)


def _column(x: Any) -> Any:
    return shape_padleft(x, 2) if x.ndim == 0 else x


@also_named
def dstack(tensors: Any) -> TensorVariable:
    """Return arrays joined along their third axis, which they are given if they lack it.

    Parameters
    ----------
    tensors
        A list or tuple of tensors, which may differ in their third size only. Those of lower rank
        become 3-d as by :func:`atleast_3d`.

    Returns
    -------
    TensorVariable
        A tensor with the dtype to which they promote.

    Raises
    ------
    ShapeError
        The ranks or the other sizes do not match.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.dstack([[1, 2], [3, 4]]).eval()
    array([[[1, 3],
            [2, 4]]])
    """
    return concatenate([atleast_3d(x) for x in _listed(tensors, "dstack")], 2)


@also_named
def append(x: Any, values: Any, axis: int | None = None) -> TensorVariable:
    """Return ``x`` with values after its end.

    Parameters
    ----------
    x
        A tensor of any dtype.
    values
        An array that has the shape of ``x`` except along ``axis``.
    axis
        The dimension along which to append; by default, both are flattened first.

    Returns
    -------
    TensorVariable
        A tensor with the dtype to which both promote; a vector for ``axis=None``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.append([1, 2], [[3], [4]]).eval()
    array([1, 2, 3, 4])
    """
    if axis is None:
        return concatenate([ravel(x), ravel(values)])
    return concatenate([x, values], axis)


def block(arrays: Any) -> TensorVariable:
    """Return an array assembled from nested lists of blocks.

    Parameters
    ----------
    arrays
        An array, or nested lists of them. Arrays in the innermost lists are joined along the last
        axis, those lists along the axis before, and so on. Arrays of lower rank get new axes in
        front.

    Returns
    -------
    TensorVariable
        A tensor with the dtype to which the blocks promote.

    Raises
    ------
    ShapeError
        A list is empty, the lists are nested to different depths, or the sizes do not fit.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> A = pt.constant([[1, 2], [3, 4]])
    >>> pt.block([[A, pt.constant([[5], [6]])], [pt.constant([[7, 8, 9]])]]).eval()
    array([[1, 2, 5],
           [3, 4, 6],
           [7, 8, 9]])
    """
    refuse_endless(arrays)
    depth = _depth(arrays)
    if depth > MOST_DIMENSIONS:
        msg = f"block: lists are nested at most {MOST_DIMENSIONS} deep, got {depth}."
        raise ShapeError(msg)
    leaves = [(leaf, level) for leaf, level in _leaves(arrays)]
    if any(level != depth for _, level in leaves):
        levels = sorted({level for _, level in leaves})
        msg = (
            f"block: all arrays are nested equally deep, got depths {levels}. Wrap an array that "
            "stands beside a list in a list of its own."
        )
        raise ShapeError(msg)
    ndim = max(depth, *(leaf.ndim for leaf, _ in leaves))
    return _assembled(arrays, depth, ndim)


def _depth(arrays: Any) -> int:
    depth = 0
    while isinstance(arrays, list):
        if not arrays:
            msg = "block: a list of blocks is empty. Leave it out."
            raise ShapeError(msg)
        arrays, depth = arrays[0], depth + 1
    return depth


def _leaves(arrays: Any) -> list[tuple[Any, int]]:
    """Return the arrays of nested lists, and how deep each of them is."""
    found: list[tuple[Any, int]] = []
    pending = [(arrays, 0)]
    while pending:
        thing, level = pending.pop()
        if isinstance(thing, list):
            _depth(thing)
            pending.extend((entry, level + 1) for entry in thing)
        else:
            found.append((as_tensor_variable(thing), level))
    return found


def _assembled(arrays: Any, depth: int, ndim: int) -> Any:
    """Join nested lists; the recursion is as deep as the lists that the user wrote."""
    if depth == 0:
        x = as_tensor_variable(arrays)
        return shape_padleft(x, ndim - x.ndim)
    parts = [_assembled(entry, depth - 1, ndim) for entry in arrays]
    return concatenate(parts, ndim - depth)


def concat_with_broadcast(tensors: Any, axis: int = 0) -> TensorVariable:
    """Return arrays joined along an axis, broadcast against each other along the others.

    Parameters
    ----------
    tensors
        A list or tuple of arrays of equal rank.
    axis
        The dimension along which they are joined.

    Returns
    -------
    TensorVariable
        A tensor with the dtype to which the arrays promote.

    Raises
    ------
    ShapeError
        The ranks differ, or sizes do not broadcast.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> x, y = pt.tensor("x", shape=(1, 3)), pt.tensor("y", shape=(5, 2))
    >>> pt.concat_with_broadcast([x, y], axis=1).type.shape
    (5, 5)
    """
    arrays = _listed(tensors, "concat_with_broadcast")
    ndim = arrays[0].ndim
    if any(x.ndim != ndim for x in arrays):
        types = ", ".join(f"{x}: {x.type}" for x in arrays)
        msg = f"concat_with_broadcast takes arrays of equal rank, got {types}."
        raise ShapeError(msg)
    axis = normalize_axis(axis, ndim)
    shapes = [sizes_of(x) for x in arrays]
    others = [(*shape[:axis], *shape[axis + 1 :]) for shape in shapes]
    common = broadcast_sizes(others, "concat_with_broadcast")
    wide = [
        broadcast_to(x, [*common[:axis], shape[axis], *common[axis:]])
        for x, shape in zip(arrays, shapes, strict=True)
    ]
    return concatenate(wide, axis)


# ---- apart ---------------------------------------------------------------------------------------


def unstack(x: Any, axis: int = 0) -> tuple[TensorVariable, ...]:
    """Return the slices of ``x`` along an axis, whose length is known.

    Parameters
    ----------
    x
        A tensor of rank 1 or more.
    axis
        The dimension; the slices lack it.

    Returns
    -------
    tuple of TensorVariable
        The slices, whose rank is less by one.

    Raises
    ------
    ShapeError
        The length is not known when the graph is built.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> a, b = pt.unstack(pt.constant([[1, 2], [3, 4]]), axis=1)
    >>> b.eval()
    array([2, 4])
    """
    x = as_tensor_variable(x)
    axis = normalize_axis(axis, x.ndim)
    length = fold(sizes_of(x)[axis])
    if not isinstance(length, int):
        msg = (
            f"unstack: the length of axis {axis} of {x} (type {x.type}) is not known, and so "
            "neither is the number of results. State it with pt.specify_shape, or index in a "
            "loop of phintys.scan."
        )
        raise ShapeError(msg)
    rows = moveaxis(x, axis, 0)
    return tuple(rows[position] for position in range(length))


# ---- packing -------------------------------------------------------------------------------------


def pack(
    *tensors: Any, keep_axes: int | Sequence[int] | None = None
) -> tuple[TensorVariable, list[tuple[Any, ...]]]:
    """Return arrays flattened and joined into one, and what :func:`unpack` needs to undo that.

    Parameters
    ----------
    *tensors
        Arrays of any shapes and dtypes; the result has their common dtype.
    keep_axes
        Axes, common to all arrays, that are not flattened: 0, 1, ... in front, and -1, -2, ... at
        the end.

    Returns
    -------
    packed : TensorVariable
        Of rank 1, plus one for each axis that is kept.
    packed_shapes : list
        For each array, the lengths of the axes that were flattened.

    Raises
    ------
    ShapeError
        There are no arrays, or the axes to keep are not at the ends.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> x, y = pt.tensor("x", shape=(2, 3)), pt.tensor("y", shape=(2, 5, 6))
    >>> packed, shapes = pt.pack(x, y, keep_axes=0)
    >>> packed.type.shape, shapes
    ((2, 33), [(3,), (5, 6)])
    """
    arrays = _listed(tensors, "pack")
    front, back = _ends(keep_axes, min(x.ndim for x in arrays), "pack")
    flat, shapes = [], []
    for x in arrays:
        sizes = sizes_of(x)
        stop = x.ndim - back
        inner = sizes[front:stop]
        flat.append(reshape(x, [*sizes[:front], multiply_sizes(inner), *sizes[stop:]]))
        shapes.append(tuple(inner))
    return concatenate(flat, front), shapes


def unpack(
    packed: Any, packed_shapes: Sequence[Any], keep_axes: int | Sequence[int] | None = None
) -> list[TensorVariable]:
    """Return the arrays that :func:`pack` joined.

    Parameters
    ----------
    packed
        The result of :func:`pack`, or an array like it.
    packed_shapes
        For each array, the lengths of the axes that were flattened.
    keep_axes
        As for :func:`pack`.

    Returns
    -------
    list of TensorVariable
        One array for each shape, with the dtype of ``packed``.

    Raises
    ------
    ShapeError
        The lengths do not add up, or the rank is wrong.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> a, b = pt.unpack(pt.arange(5), [(3,), (2, 1)])
    >>> b.eval()
    array([[3],
           [4]])
    """
    packed = as_tensor_variable(packed)
    front, back = _ends(keep_axes, packed.ndim, "unpack")
    if packed.ndim != front + 1 + back:
        msg = (
            f"unpack: with keep_axes={keep_axes}, the packed array has rank {front + 1 + back}, "
            f"got {packed} of type {packed.type}."
        )
        raise ShapeError(msg)
    inner = [[fold(n) for n in as_sizes(shape, "A packed length")] for shape in packed_shapes]
    stops = list(accumulate((multiply_sizes(shape) for shape in inner), add_sizes))
    sizes = sizes_of(packed)
    before = (slice(None),) * front
    whole = _checked(packed, front, stops)
    parts = []
    for shape, start, stop in zip(inner, [0, *stops], stops, strict=False):
        part = whole[(*before, slice(start, stop))]
        new = [*sizes[:front], *shape, *sizes[front + 1 :]]
        parts.append(reshape(part, new, ndim=len(new)))
    return parts


def _checked(packed: Any, axis: int, stops: list[Any]) -> Any:
    """Return the packed array with a check that the parts make up all of it."""
    stated: list[Any] = [None] * packed.ndim
    stated[axis] = stops[-1] if stops else 0
    return specify_shape(packed, stated)


def _ends(keep_axes: Any, ndim: int, name: str) -> tuple[int, int]:
    """Return how many axes are kept at the front and at the end."""
    if keep_axes is None:
        return 0, 0
    axes = list(keep_axes) if isinstance(keep_axes, list | tuple) else [keep_axes]
    front = sorted(axis for axis in axes if axis >= 0)
    back = sorted(-axis - 1 for axis in axes if axis < 0)
    at_ends = front == list(range(len(front))) and back == list(range(len(back)))
    if not at_ends or len(front) + len(back) > ndim:
        msg = (
            f"{name}: keep_axes are the first axes (0, 1, ...), the last ones (-1, -2, ...), or "
            f"both, of arrays of rank {ndim} or more; got {keep_axes!r}."
        )
        raise ShapeError(msg)
    return len(front), len(back)
