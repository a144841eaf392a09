"""Reversing the order of elements along axes: views with negative strides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.errors import ShapeError
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.dim_shuffle import listed_axes, normalize_axes, normalize_axis, swapaxes
from phintys.tensor.sizes import fold
from phintys.tensor.synonyms import also_named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.tensor._rules import Axis
    from phintys.tensor.variable import TensorVariable

__all__ = ["flip", "fliplr", "flipud", "rot90"]


@also_named
def flip(x: Any, axis: Axis = None) -> TensorVariable:
    """Return ``x`` with its elements in reverse order along some axes.

    Parameters
    ----------
    x
        A tensor of any dtype.
    axis
        One axis, several, or ``None`` for all.

    Returns
    -------
    TensorVariable
        A view of ``x``.

    Raises
    ------
    ShapeError
        ``axis`` is out of range.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.flip(pt.constant([[1, 2], [3, 4]]), axis=1).eval()
    array([[2, 1],
           [4, 3]])
    """
    x = as_tensor_variable(x)
    axes = normalize_axes(axis, x.ndim)
    if not axes:
        return x
    backwards = slice(None, None, -1)
    return x[tuple(backwards if dim in axes else slice(None) for dim in range(max(axes) + 1))]


@also_named
def fliplr(x: Any) -> TensorVariable:
    """Return ``x``, of rank 2 or more, with its columns (axis 1) in reverse order.

    Parameters
    ----------
    x
        A tensor of rank 2 or more.

    Returns
    -------
    TensorVariable
        A view of ``x``.

    Raises
    ------
    ShapeError
        The rank of ``x`` is less than 2.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.fliplr(pt.constant([[1, 2], [3, 4]])).eval()
    array([[2, 1],
           [4, 3]])
    """
    return flip(_of_rank(x, 2, "fliplr"), 1)


@also_named
def flipud(x: Any) -> TensorVariable:
    """Return ``x``, of rank 1 or more, with its rows (axis 0) in reverse order.

    Parameters
    ----------
    x
        A tensor of rank 1 or more.

    Returns
    -------
    TensorVariable
        A view of ``x``.

    Raises
    ------
    ShapeError
        ``x`` has no dimensions.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.flipud(pt.constant([[1, 2], [3, 4]])).eval()
    array([[3, 4],
           [1, 2]])
    """
    return flip(_of_rank(x, 1, "flipud"), 0)


@also_named
def rot90(x: Any, k: int = 1, axes: Sequence[int] = (0, 1)) -> TensorVariable:
    """Return ``x`` rotated by quarter turns in the plane of two axes.

    Parameters
    ----------
    x
        A tensor of rank 2 or more.
    k
        Number of quarter turns, from the first of ``axes`` towards the second. A Python int: the
        shape of the result depends on whether it is odd.
    axes
        Two different axes.

    Returns
    -------
    TensorVariable
        A view of ``x``.

    Raises
    ------
    ShapeError
        The axes are equal, out of range, or not two.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.rot90(pt.constant([[1, 2], [3, 4]])).eval()
    array([[2, 4],
           [1, 3]])
    """
    x = as_tensor_variable(x)
    first, second = _plane(axes, x.ndim)
    turns = fold(k)
    if not isinstance(turns, int):
        msg = (
            f"rot90: k = {k} is symbolic, and the shape of the result depends on whether it is "
            "odd. Give a Python int."
        )
        raise ShapeError(msg)
    turns %= 4
    if turns == 2:
        return flip(x, (first, second))
    if turns == 1:
        return swapaxes(flip(x, second), first, second)
    return flip(swapaxes(x, first, second), second) if turns else x


def _plane(axes: Any, ndim: int) -> tuple[int, int]:
    given = listed_axes(axes)
    if len(given) != 2:
        msg = f"rot90: axes are two different axes, got {axes!r}."
        raise ShapeError(msg)
    first, second = (normalize_axis(axis, ndim) for axis in given)
    if first == second:
        msg = f"rot90: axes are two different axes, got {axes!r} for an array of rank {ndim}."
        raise ShapeError(msg)
    return first, second


def _of_rank(x: Any, ndim: int, name: str) -> Any:
    x = as_tensor_variable(x)
    if x.ndim < ndim:
        msg = f"{name} takes an array of rank {ndim} or more, got {x} of type {x.type}."
        raise ShapeError(msg)
    return x
