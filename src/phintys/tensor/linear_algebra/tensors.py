"""Tensors as matrices: solutions and inverses with several axes for rows and columns."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from phintys._base.errors import ArgumentError, ShapeError
from phintys._base.origin import in_steps
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.dim_shuffle import dimshuffle, normalize_axis
from phintys.tensor.linear_algebra.solving import inv, solve
from phintys.tensor.reshaping import flatten, reshape
from phintys.tensor.shapes import sizes_of
from phintys.tensor.sizes import multiply_sizes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.tensor.variable import TensorVariable


def _as_matrix(x: Any, rows: int, function: str) -> Any:
    """Return a tensor as a square matrix, whose rows are the first axes."""
    static = x.type.shape
    counts = [prod(part) if None not in part else None for part in (static[:rows], static[rows:])]
    if None not in counts and counts[0] != counts[1]:
        msg = (
            f"{function}: {x} of shape {static} is not a square matrix, with its first {rows} axes "
            f"as rows ({counts[0]}) and the others as columns ({counts[1]})."
        )
        raise ShapeError(msg)
    sizes = sizes_of(x)
    return reshape(x, (multiply_sizes(sizes[:rows]), multiply_sizes(sizes[rows:])))


@in_steps
def tensorinv(a: Any, ind: int = 2) -> TensorVariable:
    """Return the inverse of a tensor, as that of ``tensordot(a, b, ind)``.

    Parameters
    ----------
    a
        A tensor; the sizes of the first ``ind`` axes have the same product as those of the others.
    ind
        The number of axes that are rows. The result has the other ones first.

    Returns
    -------
    TensorVariable
        The shape of ``a``, with its first ``ind`` dimensions behind the others.

    Raises
    ------
    ShapeError
        The products differ.
    ArgumentError
        ``ind`` is not a number of axes.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.linalg.tensorinv(pt.tensor("a", shape=(4, 6, 8, 3), dtype="float64")).type
    Tensor4(float64, shape=(8, 3, 4, 6))
    """
    a = as_tensor_variable(a)
    if isinstance(ind, bool) or not isinstance(ind, int) or not 0 < ind <= a.ndim:
        msg = (
            f"tensorinv: ind is the number of axes that are rows, from 1 to {a.ndim} for {a} of "
            f"type {a.type}; got {ind!r}."
        )
        raise ArgumentError(msg)
    sizes = sizes_of(a)
    return reshape(inv(_as_matrix(a, ind, "tensorinv")), (*sizes[ind:], *sizes[:ind]))


@in_steps
def tensorsolve(a: Any, b: Any, axes: Sequence[int] | None = None) -> TensorVariable:
    """Solve ``tensordot(a, x, x.ndim) = b``.

    Parameters
    ----------
    a
        A tensor with the axes of ``b``, then those of x.
    b
        A tensor.
    axes
        Axes of ``a`` that are moved to its end first.

    Returns
    -------
    TensorVariable
        x, whose shape is that of the last dimensions of ``a``.

    Raises
    ------
    ShapeError
        ``a`` is not square, or does not fit ``b``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> a = pt.tensor("a", shape=(6, 4, 2, 3, 4), dtype="float64")
    >>> b = pt.tensor("b", shape=(6, 4), dtype="float64")
    >>> pt.linalg.tensorsolve(a, b).type
    Tensor3(float64, shape=(2, 3, 4))
    """
    a, b = as_tensor_variable(a), as_tensor_variable(b)
    if axes is not None:
        last = [normalize_axis(axis, a.ndim) for axis in axes]
        if len(set(last)) < len(last):
            msg = f"tensorsolve: an axis is named twice in {axes!r}."
            raise ShapeError(msg)
        a = dimshuffle(a, *(dim for dim in range(a.ndim) if dim not in last), *last)
    if a.ndim < b.ndim:
        msg = (
            f"tensorsolve: {a} of type {a.type} has fewer axes than {b} of type {b.type}. It has "
            "those of b, then those of the result."
        )
        raise ShapeError(msg)
    found = solve(_as_matrix(a, b.ndim, "tensorsolve"), b if b.ndim == 1 else flatten(b))
    return reshape(found, sizes_of(a)[b.ndim :])
