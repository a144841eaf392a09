"""Permutations of indices and of rows, and classes as rows of zeros and ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.config import config
from phintys._base.errors import DtypeError, ShapeError
from phintys._base.names import public_dir
from phintys.tensor import math
from phintys.tensor._operators import operators
from phintys.tensor._rules import is_discrete
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.dim_shuffle import dimshuffle, shape_padleft, shape_padright
from phintys.tensor.ranges import arange
from phintys.tensor.shapes import sizes_of
from phintys.tensor.sizes import as_size
from phintys.tensor.sorting import argsort

if TYPE_CHECKING:
    from phintys.tensor.variable import TensorVariable

__all__ = ["inverse_permutation", "permute_row_elements", "to_one_hot"]


def to_one_hot(y: Any, nb_class: Any, dtype: Any = None) -> TensorVariable:
    """Return a row for each class number: one at its place, zero elsewhere.

    Parameters
    ----------
    y
        Integers from 0 on, of any rank. The row of a number outside is zero.
    nb_class
        The number of classes, the length of a row.
    dtype
        The dtype of the result, by default ``config.floatX``.

    Returns
    -------
    TensorVariable
        With one axis more than ``y``, the last one.

    Raises
    ------
    DtypeError
        ``y`` has no integers.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.to_one_hot([2, 0], 3).eval()
    array([[0., 0., 1.],
           [1., 0., 0.]])
    """
    y = as_tensor_variable(y)
    if not is_discrete(y):
        msg = f"to_one_hot takes class numbers, integers, got {y} of dtype {y.dtype}. Cast them."
        raise DtypeError(msg)
    classes = shape_padleft(arange(as_size(nb_class, "to_one_hot: the number of classes")), y.ndim)
    return math.cast(math.eq(shape_padright(y), classes), dtype or config.floatX)


def inverse_permutation(perm: Any) -> TensorVariable:
    """Return the permutation that undoes another one.

    Parameters
    ----------
    perm
        A vector of the integers from 0 to its length less 1, in any order; or several, along the
        last axis.

    Returns
    -------
    TensorVariable
        In the shape and dtype of ``perm``.

    Raises
    ------
    DtypeError
        ``perm`` has no integers.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.inverse_permutation([2, 0, 1]).eval()
    array([1, 2, 0])
    """
    perm = _of_indices(perm, "inverse_permutation")
    return math.cast(argsort(perm), perm.dtype)


def permute_row_elements(x: Any, y: Any, inverse: bool = False) -> TensorVariable:
    """Return ``x`` with its last axis permuted: one permutation for all rows, or one for each.

    The other dimensions broadcast, so that one row can be permuted in several ways.

    Parameters
    ----------
    x
        A tensor of any dtype.
    y
        The permutations, along the last axis.
    inverse
        Undo the permutations.

    Returns
    -------
    TensorVariable
        ``out[i, j] = x[i, y[i, j]]`` for two dimensions.

    Raises
    ------
    DtypeError
        ``y`` has no integers.
    ShapeError
        ``x`` or ``y`` has no dimensions.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.permute_row_elements([[10, 20, 30]], [[2, 0, 1], [0, 2, 1]]).eval()
    array([[30, 10, 20],
           [10, 30, 20]])
    """
    x, order = as_tensor_variable(x), _of_indices(y, "permute_row_elements")
    if x.ndim == 0:
        msg = f"permute_row_elements takes rows, of rank 1 or more, got {x} of type {x.type}."
        raise ShapeError(msg)
    if inverse:
        order = argsort(order)
    if order.ndim == 1:
        return x[..., order]
    ndim = max(x.ndim, order.ndim)
    x, order = (shape_padleft(part, ndim - part.ndim) for part in (x, order))
    places = [
        # Dimensions of size 1 broadcast.
        0
        if x.type.shape[axis] == 1
        else dimshuffle(arange(sizes_of(x)[axis]), *["x"] * axis, 0, *["x"] * (ndim - axis - 1))
        for axis in range(ndim - 1)
    ]
    return operators.index(x, (*places, order))


def _of_indices(given: Any, name: str) -> Any:
    order = as_tensor_variable(given)
    if order.type.numpy_dtype.kind not in "iu":
        msg = f"{name}: a permutation has integers, got {order} of dtype {order.dtype}."
        raise DtypeError(msg)
    if order.ndim == 0:
        msg = f"{name}: a permutation is a vector, or several; got {order} of type {order.type}."
        raise ShapeError(msg)
    return order


__dir__ = public_dir(__name__)
