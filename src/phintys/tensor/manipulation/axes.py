"""Splitting along given axes, and moving them, by NumPy's older names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.errors import ShapeError
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.dim_shuffle import moveaxis, normalize_axis
from phintys.tensor.joining import split

if TYPE_CHECKING:
    from phintys.tensor.variable import TensorVariable

__all__ = ["dsplit", "hsplit", "rollaxis", "vsplit"]


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
