"""Products of stacks of vectors, and of stacks of matrices and vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.errors import ShapeError
from phintys.tensor import math
from phintys.tensor._rules import conjugate
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.dim_shuffle import expand_dims, moveaxis, squeeze
from phintys.tensor.joining import stack
from phintys.tensor.linear_algebra.matrix_op import as_matrices
from phintys.tensor.products import matmul
from phintys.tensor.reduce import any, sum
from phintys.tensor.shapes import sizes_of, specify_shape
from phintys.tensor.synonyms import also_named

if TYPE_CHECKING:
    from phintys.tensor.variable import TensorVariable


def _as_vectors(x: Any, function: str) -> Any:
    x = as_tensor_variable(x)
    if not x.ndim:
        msg = f"{function} takes a vector or a stack of them, got {x} of type {x.type}."
        raise ShapeError(msg)
    return x


def vecdot(x1: Any, x2: Any, axis: int = -1) -> TensorVariable:
    """Return the dot products of vectors: the sums of ``conj(x1) * x2`` along an axis.

    Parameters
    ----------
    x1, x2
        Vectors, or stacks of them that broadcast.
    axis
        The axis of the vectors, in both operands.

    Returns
    -------
    TensorVariable
        The common shape of ``x1`` and ``x2`` without the axis.

    Raises
    ------
    ShapeError
        The vectors have different sizes, or an operand has no such axis.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.vecdot(pt.constant([[1.0, 2.0], [3.0, 4.0]]), pt.constant([1.0, 10.0])).eval()
    array([21., 43.])
    """
    x1, x2 = (moveaxis(_as_vectors(x, "vecdot"), axis, -1) for x in (x1, x2))
    m, n = x1.type.shape[-1], x2.type.shape[-1]
    if None not in {m, n} and m != n:
        msg = (
            f"vecdot: the vectors have different sizes along axis {axis}: {m} in {x1}, and {n} in "
            f"{x2}."
        )
        raise ShapeError(msg)
    if m != n:
        # A size that is known to be 1 would broadcast.
        stated = sizes_of(x1)[-1] if m is not None else sizes_of(x2)[-1]
        x1, x2 = (specify_shape(x, [None] * (x.ndim - 1) + [stated]) for x in (x1, x2))
    products = math.mul(conjugate(x1), x2)
    if products.dtype == "bool":
        return any(products, axis=-1)
    return sum(products, axis=-1, dtype=products.dtype)


def matvec(x1: Any, x2: Any) -> TensorVariable:
    """Return the products of matrices and vectors.

    Parameters
    ----------
    x1
        A matrix, or a stack of them.
    x2
        A vector, or a stack of them; stacks broadcast.

    Returns
    -------
    TensorVariable
        The broadcast shape of the stacks, and one dimension for the rows.

    Raises
    ------
    ShapeError
        An operand has too few axes, or the sizes do not match.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.matvec(pt.tensor3("x"), pt.matrix("y")).type
    Matrix(float64, shape=(?, ?))
    """
    x1, x2 = as_matrices(x1, "matvec"), _as_vectors(x2, "matvec")
    if x2.ndim == 1:
        return matmul(x1, x2)
    return squeeze(matmul(x1, expand_dims(x2, -1)), -1)


def vecmat(x1: Any, x2: Any) -> TensorVariable:
    """Return the products of vectors, conjugated, and matrices.

    Parameters
    ----------
    x1
        A vector, or a stack of them.
    x2
        A matrix, or a stack of them; stacks broadcast.

    Returns
    -------
    TensorVariable
        The broadcast shape of the stacks, and one dimension for the columns.

    Raises
    ------
    ShapeError
        An operand has too few axes, or the sizes do not match.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.vecmat(pt.constant([1.0, 10.0]), pt.constant([[1.0, 2.0], [3.0, 4.0]])).eval()
    array([31., 42.])
    """
    x1, x2 = conjugate(_as_vectors(x1, "vecmat")), as_matrices(x2, "vecmat")
    if x1.ndim == 1 or x2.ndim == 2:
        return matmul(x1, x2)
    return squeeze(matmul(expand_dims(x1, -2), x2), -2)


@also_named
def cross(
    x1: Any,
    x2: Any,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> TensorVariable:
    """Return the cross products of vectors of three elements.

    Parameters
    ----------
    x1, x2
        Vectors, or stacks of them that broadcast.
    axisa, axisb, axisc
        The axis of the vectors in ``x1``, in ``x2`` and in the result.
    axis
        Instead of these, one axis for all of them.

    Returns
    -------
    TensorVariable
        The common shape of ``x1`` and ``x2``.

    Raises
    ------
    ShapeError
        The vectors do not have three elements, or an operand has no such axis.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.cross(pt.constant([1.0, 0.0, 0.0]), pt.constant([0.0, 1.0, 0.0])).eval()
    array([0., 0., 1.])
    """
    parts: list[list[Any]] = []
    if axis is not None:
        axisa = axisb = axisc = axis
    for x, along in ((x1, axisa), (x2, axisb)):
        x = _as_vectors(x, "cross")
        moved = moveaxis(x, along, -1)
        if moved.type.shape[-1] not in {None, 3}:
            msg = (
                f"cross takes vectors of 3 elements, got {moved.type.shape[-1]} along axis {along} "
                f"of {x}, of type {x.type}."
            )
            raise ShapeError(msg)
        moved = specify_shape(moved, [None] * (moved.ndim - 1) + [3])
        parts.append([moved[..., at] for at in range(3)])
    a, b = parts
    found = [
        a[(at + 1) % 3] * b[(at + 2) % 3] - a[(at + 2) % 3] * b[(at + 1) % 3] for at in (0, 1, 2)
    ]
    return moveaxis(stack(found, axis=-1), -1, axisc)
