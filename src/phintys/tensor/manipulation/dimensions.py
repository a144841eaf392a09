"""Adding, moving, splitting and merging dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.errors import ShapeError
from phintys.tensor import math
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.creation import as_sizes
from phintys.tensor.dim_shuffle import (
    dimshuffle,
    expand_dims,
    moveaxis,
    normalize_axis,
    shape_padleft,
    shape_padright,
    transpose,
)
from phintys.tensor.joining import split
from phintys.tensor.reshaping import flatten, reshape
from phintys.tensor.shapes import sizes_of
from phintys.tensor.sizes import clip_size, fold, multiply_sizes
from phintys.tensor.synonyms import also_named

if TYPE_CHECKING:
    from collections.abc import Callable

    from phintys.tensor.variable import TensorVariable

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "atleast_Nd",
    "dsplit",
    "hsplit",
    "join_dims",
    "ravel",
    "rollaxis",
    "split_dims",
    "vsplit",
]


def _split_along(x: Any, indices_or_sections: Any, axis: int, name: str) -> list[TensorVariable]:
    x = as_tensor_variable(x)
    if x.ndim <= axis:
        msg = f"{name} takes an array of rank {axis + 1} or more, got {x} of type {x.type}."
        raise ShapeError(msg)
    return split(x, axis=axis, indices_or_sections=indices_or_sections)


def hsplit(ary: Any, indices_or_sections: Any) -> list[TensorVariable]:
    """Return parts along the second dimension, or along the only one; see :func:`split`.

    Parameters
    ----------
    ary
        A tensor of rank 1 or more.
    indices_or_sections
        The number of parts, or a list of places to cut, as for :func:`split`.

    Returns
    -------
    list of TensorVariable
        The parts, with the rank and dtype of ``ary``.

    Raises
    ------
    ShapeError
        ``ary`` has no dimensions, or its size is not divisible by the number of parts.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> [part.eval().tolist() for part in pt.hsplit([[1, 2, 3, 4]], 2)]
    [[[1, 2]], [[3, 4]]]
    """
    axis = 0 if as_tensor_variable(ary).ndim < 2 else 1
    return _split_along(ary, indices_or_sections, axis, "hsplit")


def vsplit(ary: Any, indices_or_sections: Any) -> list[TensorVariable]:
    """Return parts along the first dimension of two or more; see :func:`split`.

    Parameters
    ----------
    ary
        A tensor of rank 2 or more.
    indices_or_sections
        The number of parts, or a list of places to cut, as for :func:`split`.

    Returns
    -------
    list of TensorVariable
        The parts, with the rank and dtype of ``ary``.

    Raises
    ------
    ShapeError
        The rank of ``ary`` is less than 2, or its size is not divisible by the number of parts.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> [part.eval().tolist() for part in pt.vsplit([[1, 2], [3, 4]], 2)]
    [[[1, 2]], [[3, 4]]]
    """
    if as_tensor_variable(ary).ndim < 2:
        msg = f"vsplit takes an array of rank 2 or more, got {ary}."
        raise ShapeError(msg)
    return _split_along(ary, indices_or_sections, 0, "vsplit")


def dsplit(ary: Any, indices_or_sections: Any) -> list[TensorVariable]:
    """Return parts along the third dimension; see :func:`split`.

    Parameters
    ----------
    ary
        A tensor of rank 3 or more.
    indices_or_sections
        The number of parts, or a list of places to cut, as for :func:`split`.

    Returns
    -------
    list of TensorVariable
        The parts, with the rank and dtype of ``ary``.

    Raises
    ------
    ShapeError
        The rank of ``ary`` is less than 3, or its size is not divisible by the number of parts.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> [part.eval().tolist() for part in pt.dsplit([[[1, 2]]], [1])]
    [[[[1]]], [[[2]]]]
    """
    return _split_along(ary, indices_or_sections, 2, "dsplit")


def rollaxis(x: Any, axis: int, start: int = 0) -> TensorVariable:
    """Return an array with one dimension moved in front of another; see :func:`moveaxis`.

    Parameters
    ----------
    x
        A tensor.
    axis
        The dimension to move, an int.
    start
        The dimension in front of which it is moved; the rank of ``x`` moves it to the end.

    Returns
    -------
    TensorVariable
        A view of ``x``.

    Raises
    ------
    AxisError
        ``axis`` is out of range.
    ShapeError
        ``start`` is not between 0 and the rank of ``x``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.rollaxis(pt.ones((2, 3, 4)), 2).type.shape
    (4, 2, 3)
    """
    x = as_tensor_variable(x)
    axis = normalize_axis(axis, x.ndim)
    start = start + x.ndim if start < 0 else start
    if not 0 <= start <= x.ndim:
        msg = f"rollaxis: start is from 0 to the rank of {x}, which is {x.ndim}; got {start}."
        raise ShapeError(msg)
    return moveaxis(x, axis, start - 1 if axis < start else start)


def _each(function: Callable[[Any], Any], arrays: tuple[Any, ...]) -> Any:
    results = tuple(function(as_tensor_variable(x)) for x in arrays)
    return results[0] if len(results) == 1 else results


def atleast_1d(*arrays: Any) -> TensorVariable | tuple[TensorVariable, ...]:
    """Return each array with at least one dimension: a 0-d array becomes a vector of length 1.

    Parameters
    ----------
    arrays
        Tensors, arrays or numbers.

    Returns
    -------
    TensorVariable or tuple of TensorVariable
        The only array, or a tuple of several.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.atleast_1d(3.0).eval()
    array([3.])
    """
    return _each(lambda x: shape_padleft(x, max(0, 1 - x.ndim)), arrays)


def atleast_2d(*arrays: Any) -> TensorVariable | tuple[TensorVariable, ...]:
    """Return each array with at least two dimensions: a vector becomes a row.

    Parameters
    ----------
    arrays
        Tensors, arrays or numbers.

    Returns
    -------
    TensorVariable or tuple of TensorVariable
        The only array, or a tuple of several.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.atleast_2d([1, 2]).eval()
    array([[1, 2]])
    """
    return _each(lambda x: shape_padleft(x, max(0, 2 - x.ndim)), arrays)


def atleast_3d(*arrays: Any) -> TensorVariable | tuple[TensorVariable, ...]:
    """Return each array with at least three dimensions.

    As in NumPy, a vector of length n has the shape (1, n, 1), and an m by n matrix (m, n, 1).

    Parameters
    ----------
    arrays
        Tensors, arrays or numbers.

    Returns
    -------
    TensorVariable or tuple of TensorVariable
        The only array, or a tuple of several.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.atleast_3d([1, 2]).type.shape
    (1, 2, 1)
    """
    patterns = {0: ("x", "x", "x"), 1: ("x", 0, "x"), 2: (0, 1, "x")}
    return _each(
        lambda x: dimshuffle(x, *patterns[x.ndim]) if x.ndim in patterns else x,
        arrays,
    )


def atleast_Nd(
    *arrays: Any, n: int = 1, left: bool = True
) -> TensorVariable | tuple[TensorVariable, ...]:
    """Return each array with at least ``n`` dimensions.

    Parameters
    ----------
    *arrays
        Tensors of any dtype. Several give a tuple.
    n
        The number of dimensions.
    left
        Whether new dimensions, of length 1, come before the others, or after.

    Returns
    -------
    TensorVariable or tuple of TensorVariable
        The only array, or a tuple of several.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.atleast_Nd([1, 2], n=3, left=False).type.shape
    (2, 1, 1)
    """
    pad = shape_padleft if left else shape_padright
    return _each(lambda x: pad(x, max(0, n - x.ndim)), arrays)


@also_named
def ravel(x: Any, order: str = "C") -> TensorVariable:
    """Return the elements of ``x`` as a vector.

    Parameters
    ----------
    x
        A tensor of any dtype.
    order
        "C", with the last index changing fastest, or "F", with the first. NumPy's "A" and "K"
        depend on how an array lies in memory, which graphs do not know.

    Returns
    -------
    TensorVariable
        A vector with the dtype of ``x``.

    Raises
    ------
    ShapeError
        Another order.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.ravel(pt.constant([[1, 2], [3, 4]]), order="F").eval()
    array([1, 3, 2, 4])
    """
    if order not in {"C", "F"}:
        msg = f'ravel: order is "C" or "F", got {order!r}.'
        raise ShapeError(msg)
    x = as_tensor_variable(x)
    return flatten(x if order == "C" else transpose(x))


def split_dims(x: Any, shape: Any, axis: int = 0) -> TensorVariable:
    """Return ``x`` with one dimension split into several.

    Parameters
    ----------
    x
        A tensor of rank 1 or more.
    shape
        The lengths that replace that of ``axis``: an int, or several ints and symbolic integers.
        One of them may be -1, and follows from the others. An empty list drops a dimension of
        length 1.
    axis
        The dimension that is split.

    Returns
    -------
    TensorVariable
        A tensor whose rank is higher by the length of ``shape`` minus 1.

    Raises
    ------
    ShapeError
        The product of ``shape`` is not the length of the dimension.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.split_dims(pt.tensor("x", shape=(6, 4)), (2, -1)).type.shape
    (2, 3, 4)
    """
    x = as_tensor_variable(x)
    axis = normalize_axis(axis, x.ndim)
    sizes = sizes_of(x)
    inner = [fold(size) for size in as_sizes(shape, "A length of split_dims")]
    if not inner:
        return _dropped(x, axis)
    return reshape(x, [*sizes[:axis], *_filled(inner, sizes[axis]), *sizes[axis + 1 :]])


def _dropped(x: Any, axis: int) -> Any:
    sizes = sizes_of(x)
    return reshape(x, [*sizes[:axis], *sizes[axis + 1 :]], ndim=x.ndim - 1)


def _filled(inner: list[Any], whole: Any) -> list[Any]:
    """Return the lengths with a -1 replaced, which a reshape cannot do where ``x`` is empty."""
    others = [size for size in inner if not (isinstance(size, int) and size == -1)]
    if len(others) != len(inner) - 1:
        return inner
    product = multiply_sizes(others)
    if isinstance(whole, int) and isinstance(product, int):
        rest = whole // product if product else -1
    else:
        rest = math.floor_div(whole, clip_size(product, 1, None))
    return [rest if isinstance(size, int) and size == -1 else size for size in inner]


def join_dims(x: Any, start_axis: int = 0, n_axes: int | None = None) -> TensorVariable:
    """Return ``x`` with consecutive dimensions merged into one.

    Parameters
    ----------
    x
        A tensor of any dtype.
    start_axis
        The first of the dimensions.
    n_axes
        Their number; by default all that follow. With 0, a dimension of length 1 is inserted.

    Returns
    -------
    TensorVariable
        A tensor whose rank is less by ``n_axes - 1``.

    Raises
    ------
    ShapeError
        There are fewer dimensions.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.join_dims(pt.tensor("x", shape=(2, 3, 4, 5)), start_axis=1, n_axes=2).type.shape
    (2, 12, 5)
    """
    x = as_tensor_variable(x)
    start = start_axis + x.ndim if start_axis < 0 else start_axis
    count = x.ndim - start if n_axes is None else n_axes
    if not 0 <= start <= x.ndim or not 0 <= count <= x.ndim - start:
        msg = (
            f"join_dims: {x} of type {x.type} has no {count} dimensions from {start_axis} on; "
            f"it has {x.ndim}."
        )
        raise ShapeError(msg)
    if count == 0:
        return expand_dims(x, start)
    if count == 1:
        return x
    sizes = sizes_of(x)
    joined = multiply_sizes(sizes[start : start + count])
    return reshape(x, [*sizes[:start], joined, *sizes[start + count :]])
