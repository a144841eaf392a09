"""Functions of one slice, or of one axis, applied to many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.errors import ShapeError
from phintys._base.names import public_dir
from phintys.tensor.batching.functions import vectorize_graph
from phintys.tensor.broadcasting import broadcast_to
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.dim_shuffle import expand_dims, listed_axes, moveaxis, normalize_axis
from phintys.tensor.shapes import sizes_of
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.tensor.variable import TensorVariable

__all__ = ["apply_along_axis", "apply_over_axes"]


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any
) -> TensorVariable:
    """Return the results of a function for each vector along an axis.

    Parameters
    ----------
    func1d
        Takes a symbolic vector, and returns an expression of any rank. It is called once.
    axis
        The dimension; those of the function's result take its place.
    arr
        A tensor of rank 1 or more.
    args, kwargs
        More arguments of the function.

    Returns
    -------
    TensorVariable
        The shape of ``arr``, with the shape of what the function returns in place of ``axis``.

    Raises
    ------
    ShapeError
        ``axis`` is out of range.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> x = pt.constant([[1.0, 5.0], [7.0, 3.0]])
    >>> pt.apply_along_axis(lambda v: v[0] - v[-1], 0, x).eval()
    array([-6.,  2.])
    """
    arr = as_tensor_variable(arr)
    axis = normalize_axis(axis, arr.ndim)
    rows = moveaxis(arr, axis, -1)
    vector = TensorType(arr.dtype, rows.type.shape[-1:])("slice")
    result = as_tensor_variable(func1d(vector, *args, **kwargs))
    (found,) = vectorize_graph([result], {vector: rows})
    if found.ndim == result.ndim and rows.ndim > 1:  # it is the same for all slices
        found = broadcast_to(found, (*sizes_of(rows)[:-1], *sizes_of(found)))
    places = range(result.ndim)
    return moveaxis(found, [i - result.ndim for i in places], [axis + i for i in places])


def apply_over_axes(func: Callable[..., Any], a: Any, axes: int | Sequence[int]) -> TensorVariable:
    """Return an array after a function has been applied over several axes in turn.

    Parameters
    ----------
    func
        Takes a tensor and an axis. A dimension that it leaves out is put back with size 1.
    a
        A tensor.
    axes
        One axis, or several.

    Returns
    -------
    TensorVariable
        A tensor of the rank of ``a``; axes that the function drops are put back with size 1.

    Raises
    ------
    ShapeError
        An axis is out of range, or the function changes the rank by more than one.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.apply_over_axes(pt.sum, pt.ones((2, 3, 4)), [0, 2]).eval().ravel()
    array([8., 8., 8.])
    """
    value: Any = as_tensor_variable(a)
    for axis in listed_axes(axes):
        place = normalize_axis(axis, value.ndim)
        result = as_tensor_variable(func(value, place))
        if result.ndim == value.ndim - 1:
            result = expand_dims(result, place)
        if result.ndim != value.ndim:
            msg = (
                f"apply_over_axes: the function made {result} of rank {result.ndim} from one of "
                f"rank {value.ndim}. It has to keep the rank, or to leave out the axis."
            )
            raise ShapeError(msg)
        value = result
    return value


__dir__ = public_dir(__name__)
