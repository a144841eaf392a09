"""Functions and Ops on tensors that took other arguments in the old packages."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

import phintys.tensor as pt
from phintys._base.errors import ArgumentError, OpContractError, ShapeError
from phintys.compat.elementwise import FLOATING
from phintys.compat.exceptions import EmptyConstantError
from phintys.compat.old_classes import StandsFor
from phintys.graph import Constant, SharedVariable, Variable
from phintys.passes import infer_shapes, rewrite_graph
from phintys.tensor.introspection import get_underlying_scalar_constant_value
from phintys.tensor.known import known_int

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "AdvancedSubtensor1",
    "AllocDiag",
    "ExtractDiag",
    "TopKOp",
    "Unique",
    "advanced_inc_subtensor",
    "advanced_inc_subtensor1",
    "advanced_set_subtensor",
    "advanced_set_subtensor1",
    "advanced_subtensor",
    "advanced_subtensor1",
    "as_tensor_variable",
    "broadcast_shape",
    "constant",
    "get_scalar_constant_value",
    "get_vector_length",
    "logaddexp",
    "prod",
    "ravel_multi_index",
    "take",
    "to_one_hot",
    "unravel_index",
]


def as_tensor_variable(
    x: Any, name: str | None = None, ndim: int | None = None, dtype: Any = None, **options: Any
) -> Any:
    """Return ``x`` as a tensor; leading dimensions of size 1 that are too many are dropped.

    Only values are cast to ``dtype``: a variable keeps its own.
    """
    dtype = None if isinstance(x, Variable) else dtype
    variable: Any = pt.as_tensor_variable(x, name=name, dtype=dtype)
    if ndim is None or variable.ndim <= ndim:
        return pt.as_tensor_variable(variable, ndim=ndim)
    extra = variable.ndim - ndim
    if any(size != 1 for size in variable.type.shape[:extra]):
        msg = (
            f"Tensor of type {variable.type} could not be cast to have {ndim} dimensions: its "
            "leading dimensions are not known to have size 1."
        )
        raise ShapeError(msg)
    return variable.dimshuffle(*range(extra, variable.ndim))


def broadcast_shape(*arrays: Any, arrays_are_shapes: bool = False, **options: Any) -> Any:
    """Return the shape to which arrays broadcast, or shapes with ``arrays_are_shapes``."""
    if arrays_are_shapes:
        shapes = [_as_shape(shape) for shape in arrays]
        ndim = max(map(len, shapes), default=0)
        rows = [(1,) * (ndim - len(shape)) + shape for shape in shapes]
        return tuple(_common_length(lengths) for lengths in zip(*rows, strict=True))
    return pt.broadcast_shape(*map(pt.as_tensor_variable, arrays))


def _common_length(lengths: Sequence[Any]) -> Any:
    """Return the length to which lengths broadcast, any of which may be 1 only at run time."""
    lengths = [pt.as_tensor_variable(length) for length in lengths]
    known = [known_int(length) for length in lengths]
    fixed = {length for length in known if length not in {None, 1}}
    unknown = [one for one, length in zip(lengths, known, strict=True) if length is None]
    if len(fixed) > 1 or not unknown:
        return pt.broadcast_shape(*[(length,) for length in known if length is not None])[0]
    common: Any = pt.constant(fixed.pop()) if fixed else reduce(_longer, unknown)
    fits = [pt.or_(pt.eq(length, 1), pt.eq(length, common)) for length in unknown]
    names = ", ".join(map(str, unknown))
    message = f"Lengths do not broadcast: {names} must be 1, or equal to the other lengths."
    return pt.Assert(message)(pt.cast(common, "int64"), *fits)


def _longer(length: Any, other: Any) -> Any:
    """Return the length of two that is not 1."""
    return pt.switch(pt.eq(length, 1), other, length)


def _as_shape(shape: Any) -> Any:
    """Return a shape, given as sizes or as a vector, as a tuple."""
    if isinstance(shape, Variable):
        vector = pt.as_tensor_variable(shape)
        (length,) = vector.type.shape
        if length is None:
            msg = f"The length of the shape {vector} (type {vector.type}) is not known."
            raise ShapeError(msg)
        return tuple(vector[position] for position in range(length))
    return tuple(shape)


def get_scalar_constant_value(x: Any, **options: Any) -> Any:
    """Return the one value that an expression is known to have in all its elements.

    Raises
    ------
    OpContractError
        The value is not known; as an ``EmptyConstantError``, because there is none.
    """
    if isinstance(x, Constant) and not np.size(x.data):
        msg = f"{x} has no element, and so not one value."
        raise EmptyConstantError(msg)
    return get_underlying_scalar_constant_value(x)


def get_vector_length(x: Any) -> int:
    """Return the length of a vector, if it is known before run time.

    Raises
    ------
    OpContractError
        The length is not known.
    """
    x = pt.as_tensor_variable(x)
    length: int | None = None
    if x.ndim == 1 and isinstance(x, SharedVariable):
        length = len(x.get_value(borrow=True))
    elif x.ndim == 1:
        (sizes,) = infer_shapes([x])
        length = known_int(rewrite_graph(sizes[0])) if sizes else None
    if length is None:
        msg = f"Length of {x} is not known before run time."
        raise OpContractError(msg)
    return length


def constant(x: Any, name: str | None = None, ndim: int | None = None, dtype: Any = None) -> Any:
    """Return a value as a constant; a constant may be given too.

    Leading dimensions of size 1 are added to a constant, or dropped, up to ``ndim``. Python's
    ``True`` and ``False`` are of dtype int8.
    """
    if isinstance(x, bool) and dtype is None:
        dtype = "int8"
    if isinstance(x, Constant):
        given: Any = x
        extra = 0 if ndim is None else given.ndim - ndim
        if not extra:
            return given
        x, dtype = given.data, given.dtype
        if extra > 0 and x.shape[:extra] == (1,) * extra:
            x = x.reshape(x.shape[extra:])
    return pt.constant(x, name=name, ndim=ndim, dtype=dtype)


def logaddexp(*operands: Any) -> Any:
    """Return ``log(sum(exp(x) for x in operands))``, for any number of operands."""
    return reduce(FLOATING["logaddexp"], operands)


def prod(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: bool = False,
    acc_dtype: Any = None,
    no_zeros_in_input: bool = False,
) -> Any:
    """Return the product along some axes; its gradient needs no ``no_zeros_in_input``."""
    return pt.prod(x, axis=axis, dtype=dtype, keepdims=keepdims, acc_dtype=acc_dtype)


class Unique(metaclass=StandsFor):
    """``Unique(return_index, return_inverse, return_counts, axis)(x)``; no node is of it."""

    core = ()

    def __new__(
        cls,
        return_index: bool = False,
        return_inverse: bool = False,
        return_counts: bool = False,
        axis: int | None = None,
    ) -> Any:
        """Return a function that returns the different elements."""
        return lambda x: pt.unique(x, return_index, return_inverse, return_counts, axis)


def take(a: Any, indices: Any, axis: Any = None, mode: Any = "raise") -> Any:
    """Return elements; ``mode=None`` is ``"raise"``."""
    return pt.take(a, indices, axis=axis, mode="raise" if mode is None else mode)


def unravel_index(indices: Any, dims: Any, order: str = "C") -> Any:
    """Return the index in each dimension; the value of a shared ``dims`` tells how many."""
    return pt.unravel_index(indices, _listed(dims), order)


def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Any:
    """Return indices into a flat array; see :func:`unravel_index` for shared ``dims``."""
    return pt.ravel_multi_index(multi_index, _listed(dims), mode, order)


def _listed(dims: Any) -> Any:
    """Return a shape, with the length that a shared vector has now."""
    if not isinstance(dims, SharedVariable):
        return dims
    return pt.specify_shape(dims, (get_vector_length(dims),))


class ExtractDiag(metaclass=StandsFor):
    """``ExtractDiag(offset, axis1, axis2)(x)``."""

    core = pt.ExtractDiag

    def __new__(cls, offset: int = 0, axis1: int = 0, axis2: int = 1, view: bool = False) -> Any:
        """Return a function that returns diagonals."""
        return lambda x: pt.diagonal(x, offset, axis1, axis2)


class AllocDiag(metaclass=StandsFor):
    """``AllocDiag(offset, axis1, axis2)(x)``: the last axis of x becomes a diagonal."""

    core = pt.AllocDiag

    def __new__(cls, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
        """Return a function that makes diagonals."""

        def make(x: Any) -> Any:
            x = pt.as_tensor_variable(x)
            length = x.shape[x.ndim - 1] + abs(offset)
            return pt.moveaxis(pt.AllocDiag(offset)(x, length, length), (-2, -1), (axis1, axis2))

        return make


def advanced_subtensor1(x: Any, indices: Any) -> Any:
    """Return rows of ``x``, or elements of a vector, by their indices."""
    return pt.as_tensor_variable(x)[pt.as_tensor_variable(indices)]


def advanced_inc_subtensor1(x: Any, y: Any, indices: Any) -> Any:
    """Return ``x`` with ``y`` added to some rows; a row that is named twice gets both."""
    return pt.inc_subtensor(advanced_subtensor1(x, indices), y)


def advanced_set_subtensor1(x: Any, y: Any, indices: Any) -> Any:
    """Return ``x`` with some rows set to ``y``."""
    return pt.set_subtensor(advanced_subtensor1(x, indices), y)


def advanced_subtensor(x: Any, *indices: Any) -> Any:
    """Return ``x[indices]``."""
    return pt.as_tensor_variable(x)[indices]


def advanced_inc_subtensor(x: Any, y: Any, *indices: Any) -> Any:
    """Return ``x`` with ``y`` added at ``indices``."""
    return pt.inc_subtensor(advanced_subtensor(x, *indices), y)


def advanced_set_subtensor(x: Any, y: Any, *indices: Any) -> Any:
    """Return ``x`` with ``y`` at ``indices``."""
    return pt.set_subtensor(advanced_subtensor(x, *indices), y)


class AdvancedSubtensor1(metaclass=StandsFor):
    """``AdvancedSubtensor1()(x, indices)``: rows by their indices."""

    core = pt.AdvancedSubtensor

    def __new__(cls, sparse_grad: bool = False) -> Any:
        """Return the function that takes rows."""
        return advanced_subtensor1


class TopKOp(metaclass=StandsFor):
    """``TopKOp(axis, sorted, idx_dtype, return_values, return_indices)(x, k)``.

    The largest elements are the first ones of a sorted array here.
    """

    core = (pt.SortOp, pt.ArgSortOp)

    def __new__(
        cls,
        axis: int = -1,
        sorted: bool = True,
        idx_dtype: str = "int64",
        return_values: bool = True,
        return_indices: bool = True,
    ) -> Any:
        """Return a function of an array and a number."""
        wanted = (bool(return_values), bool(return_indices))
        if wanted == (False, False):
            msg = "TopKOp returns values, indices or both: neither was asked for."
            raise ArgumentError(msg)

        def make(x: Any, k: int) -> Any:
            found = pt.topk_and_argtopk(x, k, axis, sorted, idx_dtype)
            return list(found) if all(wanted) else found[wanted.index(True)]

        return make


def to_one_hot(y: Any, nb_class: Any, dtype: Any = None) -> Any:
    """Return a row for each class number, with one at its place; one that is outside raises."""
    numbers = pt.as_tensor_variable(y)
    rows = pt.zeros((numbers.shape[0], nb_class), dtype=dtype)
    return pt.set_subtensor(rows[pt.arange(numbers.shape[0]), numbers], 1)
