"""The options ``where=`` and ``initial=`` of reductions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ArgumentError, DtypeError, ShapeError
from phintys.graph.variable import Variable
from phintys.tensor import math
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.creation import alloc
from phintys.tensor.joining import concatenate
from phintys.tensor.shapes import shape_i

if TYPE_CHECKING:
    from phintys.tensor.variable import TensorVariable


def as_mask(x: Any, where: Any) -> TensorVariable:
    """Return the mask that selects elements of ``x``, as bools that broadcast to its shape.

    Raises
    ------
    DtypeError
        The mask is not of bools.
    ShapeError
        The mask has more elements than ``x``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> as_mask(pt.matrix("x"), [True, False]).type
    Vector(bool, shape=(2,))
    """
    mask: Any = as_tensor_variable(where)
    if mask.dtype != "bool":
        msg = f"where= takes bools, one for each element, got {where} of dtype {mask.dtype}."
        raise DtypeError(msg)
    sizes = x.type.shape[x.ndim - mask.ndim :] if mask.ndim <= x.ndim else ()
    grows = [
        size == 1 and wanted not in (1, None)
        for size, wanted in zip(sizes, mask.type.shape, strict=False)
    ]
    if mask.ndim > x.ndim or any(grows):
        msg = (
            f"where= of the shape {mask.type.shape} does not broadcast to the shape "
            f"{x.type.shape} of {x}: there must be at most one value for each element."
        )
        raise ShapeError(msg)
    return mask


def as_initial(initial: Any, dtype: str) -> TensorVariable:
    """Return the value with which a reduction starts, as a 0-d tensor of ``dtype``.

    Raises
    ------
    DtypeError
        It is not a number of that dtype.
    ShapeError
        It is not a single number.

    Examples
    --------
    >>> as_initial(2, "float32").type
    Scalar(float32)
    """
    if isinstance(initial, Variable):
        value: Any = as_tensor_variable(initial)
    else:
        try:
            value = as_tensor_variable(np.asarray(initial, dtype))
        except (TypeError, ValueError, OverflowError) as error:
            msg = f"initial= takes a number that fits into {dtype}, got {initial!r}: {error}."
            raise DtypeError(msg) from None
    if value.ndim:
        msg = f"initial= takes one number, got {initial} of type {value.type}."
        raise ShapeError(msg)
    return value if value.dtype == dtype else math.cast(value, dtype)


def keep(x: Any, where: Any, neutral: Any) -> TensorVariable:
    """Return ``x`` with the elements that a mask leaves out set to ``neutral``.

    Parameters
    ----------
    x
        A tensor.
    where
        Bools that broadcast to its shape.
    neutral
        What does not change the result; ``None`` if there is no such value.

    Raises
    ------
    ArgumentError
        Without a neutral value a maximum or minimum needs ``initial``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> keep(pt.constant([1, 2, 3]), [True, False, True], 0).eval()
    array([1, 0, 3])
    """
    if neutral is None:
        msg = (
            "The maximum or minimum of no elements is undefined, so where= needs initial=, the "
            "result for none: pt.max(x, where=mask, initial=-inf)."
        )
        raise ArgumentError(msg)
    return math.switch(as_mask(x, where), x, as_initial(neutral, x.dtype))


def with_initial(x: Any, axes: tuple[int, ...], initial: Any) -> TensorVariable:
    """Return ``x`` with one more element along each axis that could be empty.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> with_initial(pt.zeros((2, 0)), (1,), 5.0).eval()
    array([[5.],
           [5.]])
    """
    initial = as_initial(initial, x.dtype)
    for axis in axes:
        sizes = [1 if dim == axis else shape_i(x, dim) for dim in range(x.ndim)]
        x = concatenate([x, alloc(initial, *sizes)], axis)
    return x
