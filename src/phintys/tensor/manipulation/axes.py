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
    """Return parts along the second dimension, or along the only one; as :func:`array_split`.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> [part.eval().tolist() for part in pt.hsplit([[1, 2, 3, 4]], 2)]
    [[[1, 2]], [[3, 4]]]
    """
    axis = 0 if as_tensor_variable(ary).ndim == 1 else 1
    return _split_along(ary, indices_or_sections, axis, "hsplit")


def vsplit(ary: Any, indices_or_sections: Any) -> list[TensorVariable]:
    """Return parts along the first dimension of two or more.

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
    """Return parts along the third dimension.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> [part.eval().tolist() for part in pt.dsplit([[[1, 2]]], [1])]
    [[[[1]]], [[[2]]]]
    """
    return _split_along(ary, indices_or_sections, 2, "dsplit")


def rollaxis(x: Any, axis: int, start: int = 0) -> TensorVariable:
    """Return an array with one dimension moved in front of another; see :func:`moveaxis`.

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
