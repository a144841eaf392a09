"""Choosing elements by conditions and by numbers of choices, and counting in flat arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ArgumentError, DtypeError, IndexingError, ShapeError
from phintys.tensor import math
from phintys.tensor.broadcasting import broadcast_arrays
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.creation import as_sizes, zeros_like
from phintys.tensor.dim_shuffle import expand_dims
from phintys.tensor.indexing.setting import set_subtensor, take, take_along_axis
from phintys.tensor.joining import stack
from phintys.tensor.nonzeros import flatnonzero, nonzero
from phintys.tensor.observing import CheckAndRaise
from phintys.tensor.ranges import arange
from phintys.tensor.reshaping import flatten, reshape
from phintys.tensor.shapes import sizes_of
from phintys.tensor.sizes import clip_size, fold, multiply_sizes, subtract_sizes
from phintys.tensor.synonyms import also_named
from phintys.tensor.type import promote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.tensor.variable import TensorVariable

__all__ = [
    "argwhere",
    "choose",
    "compress",
    "extract",
    "fill_diagonal",
    "fill_diagonal_offset",
    "piecewise",
    "place",
    "put",
    "ravel_multi_index",
    "select",
    "unravel_index",
]


# ---- by conditions -------------------------------------------------------------------------------


@also_named
def compress(condition: Any, x: Any, axis: int | None = None) -> TensorVariable:
    """Return the slices of ``x`` along an axis for which a condition is true.

    Parameters
    ----------
    condition
        A vector, at most as long as the axis; what is behind its end is left out.
    x
        A tensor of any dtype.
    axis
        The dimension; by default ``x`` is flattened first.

    Returns
    -------
    TensorVariable
        A tensor with the dtype of ``x``, whose length along the axis is known at run time.

    Raises
    ------
    ShapeError
        The condition is not a vector.
    IndexError
        It is true behind the end of the axis.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.compress([False, True], [[1, 2], [3, 4]], axis=0).eval()
    array([[3, 4]])
    """
    x, condition = as_tensor_variable(x), as_tensor_variable(condition)
    if condition.ndim != 1:
        msg = f"compress: the condition is a vector, got {condition} of type {condition.type}."
        raise ShapeError(msg)
    kept = flatnonzero(condition)
    return take(flatten(x), kept, 0) if axis is None else take(x, kept, axis)


@also_named
def extract(condition: Any, x: Any) -> TensorVariable:
    """Return the elements of ``x`` for which a condition, of the same shape, is true.

    Parameters
    ----------
    condition
        A tensor, of which the elements that are not zero count as true.
    x
        A tensor with as many elements.

    Returns
    -------
    TensorVariable
        A vector with the dtype of ``x``, whose length is known at run time.

    Raises
    ------
    IndexError
        When it is computed: the condition is true behind the last element of ``x``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> x = pt.constant([1, 2, 3, 4])
    >>> pt.extract(pt.eq(x % 2, 0), x).eval()
    array([2, 4])
    """
    return take(flatten(as_tensor_variable(x)), flatnonzero(as_tensor_variable(condition)), 0)


@also_named
def argwhere(x: Any) -> TensorVariable:
    """Return the indices of the nonzero elements, one row for each of them.

    Parameters
    ----------
    x
        A tensor of any dtype.

    Returns
    -------
    TensorVariable
        An int64 matrix with ``x.ndim`` columns, in the order of the elements.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.argwhere([[0, 5], [6, 0]]).eval()
    array([[0, 1],
           [1, 0]])
    """
    x = as_tensor_variable(x)
    if x.ndim == 0:
        return reshape(flatnonzero(x), (-1, 1))[:, :0]
    return stack(nonzero(x), axis=1)


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> TensorVariable:
    """Return, for each element, the choice that belongs to the first condition that is true.

    Parameters
    ----------
    condlist
        Conditions, of dtype bool.
    choicelist
        As many arrays. All are broadcast against each other.
    default
        The value where no condition is true.

    Returns
    -------
    TensorVariable
        A tensor of the common shape of all arguments, with the dtype to which the choices promote.

    Raises
    ------
    ArgumentError
        The lists are empty or differ in length.
    DtypeError
        A condition is not of dtype bool.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> x = pt.arange(5)
    >>> pt.select([x < 2, x > 3], [x, x**2], 9).eval()
    array([ 0,  1,  9,  9, 16])
    """
    if len(condlist) != len(choicelist) or not condlist:
        msg = (
            f"select takes as many conditions as choices, and at least one; got {len(condlist)} "
            f"and {len(choicelist)}."
        )
        raise ArgumentError(msg)
    conditions = [_condition(one, "select") for one in condlist]
    given = [*choicelist, default]
    # Numbers of Python take the dtype of the other choices.
    choices = [
        one if type(one) in {bool, int, float, complex} else as_tensor_variable(one)
        for one in given
    ]
    dtype = np.result_type(*(getattr(one, "dtype", one) for one in choices)).name
    *choices, result = (math.cast(as_tensor_variable(one), dtype) for one in choices)
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        result = math.switch(condition, choice, result)
    return result


def _condition(x: Any, name: str) -> Any:
    condition = as_tensor_variable(x)
    if condition.dtype != "bool":
        msg = (
            f"{name}: a condition is of dtype bool, got {condition} of dtype {condition.dtype}. "
            "Write pt.neq(x, 0)."
        )
        raise DtypeError(msg)
    return condition


def piecewise(
    x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kwargs: Any
) -> TensorVariable:
    """Return a function that is defined by pieces.

    Parameters
    ----------
    x
        A tensor.
    condlist
        Conditions on ``x``, of dtype bool; where several are true, the last one counts.
    funclist
        For each of them, a function of ``x``, or a number. One more is for the elements for which
        no condition is true; without it, they are 0.
    *args, **kwargs
        More arguments of the functions.

    Returns
    -------
    TensorVariable
        Of the dtype of ``x``. Each function is computed for all elements.

    Raises
    ------
    ArgumentError
        The number of functions is neither that of the conditions nor one more.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> x = pt.constant([-2.0, 0.0, 3.0])
    >>> pt.piecewise(x, [x < 0, x > 0], [lambda x: -x, pt.sqrt, 7.0]).eval().round(2)
    array([2.  , 7.  , 1.73])
    """
    x = as_tensor_variable(x)
    listed = list(condlist) if isinstance(condlist, list | tuple) else [condlist]
    conditions = [_condition(one, "piecewise") for one in listed]
    if len(funclist) not in {len(conditions), len(conditions) + 1}:
        msg = (
            f"piecewise takes {len(conditions)} functions, one for each condition, or one more for "
            f"the rest; got {len(funclist)}."
        )
        raise ArgumentError(msg)

    def value(piece: Any) -> Any:
        found = piece(x, *args, **kwargs) if callable(piece) else piece
        return math.cast(as_tensor_variable(found), x.dtype)

    result: Any = zeros_like(x)
    if len(funclist) > len(conditions):
        result = math.second(x, value(funclist[-1]))
    for condition, piece in zip(conditions, funclist, strict=False):
        result = math.switch(condition, value(piece), result)
    return result


# ---- by numbers ----------------------------------------------------------------------------------


@also_named
def choose(x: Any, choices: Any, mode: str = "raise") -> TensorVariable:
    """Return, for each element, that of the array whose number ``x`` gives.

    Parameters
    ----------
    x
        Integers: numbers of choices, from 0.
    choices
        A list of arrays, or an array of them along its first axis. All are broadcast against each
        other and ``x``.
    mode
        What a number out of range means: an error (``"raise"``), a number modulo the number of
        choices (``"wrap"``), or the nearest one (``"clip"``).

    Returns
    -------
    TensorVariable
        A tensor of the common shape of ``x`` and the choices, with the dtype to which these
        promote.

    Raises
    ------
    DtypeError
        ``x`` is not of an integer dtype.
    ArgumentError
        The mode is unknown, or there are no choices.
    IndexError
        A number is out of range.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.choose([0, 1, 0], [[1, 2, 3], [10, 20, 30]]).eval()
    array([ 1, 20,  3])
    """
    x = as_tensor_variable(x)
    if x.type.numpy_dtype.kind not in "iub":
        msg = f"choose: the numbers of choices are integers, got {x} of dtype {x.dtype}."
        raise DtypeError(msg)
    if isinstance(choices, list | tuple):
        listed = [as_tensor_variable(choice) for choice in choices]
    else:
        whole = as_tensor_variable(choices)
        count = fold(sizes_of(whole)[0]) if whole.ndim else 0
        if not isinstance(count, int):
            return _choose_along(_in_range(x, count, mode, "choose"), whole)
        listed = [whole[position] for position in range(count)]
    if not listed:
        msg = "choose needs at least one choice."
        raise ArgumentError(msg)
    number = _in_range(x, len(listed), mode, "choose")
    number, *listed = broadcast_arrays(number, *listed)
    result = listed[-1]
    if len(listed) == 1:  # the numbers decide nothing, but one that is out of range is an error
        result = _checked(result, x, 1, "choose") if mode == "raise" else math.second(x, result)
    for position in range(len(listed) - 2, -1, -1):
        result = math.switch(math.eq(number, position), listed[position], result)
    return math.cast(result, promote(*(choice.dtype for choice in listed)))


def _choose_along(number: Any, choices: Any) -> TensorVariable:
    """Return the elements of arrays along the first axis of ``choices``, however many they are."""
    missing = number.ndim - (choices.ndim - 1)
    choices = expand_dims(choices, tuple(range(1, 1 + missing)))
    number = expand_dims(number, tuple(range(1 + max(0, -missing))))
    return take_along_axis(choices, number, axis=0)[0]


def _in_range(x: Any, count: Any, mode: str, name: str) -> Any:
    """Return int64 numbers from 0 to ``count - 1``."""
    x = math.cast(x, "int64")
    if mode == "wrap":
        return math.mod(x, count)
    if mode == "clip":
        return math.clip(x, 0, subtract_sizes(count, 1))
    if mode != "raise":
        msg = f'{name}: mode is "raise", "wrap" or "clip", got {mode!r}.'
        raise ArgumentError(msg)
    return _checked(x, x, count, name)


def _checked(value: Any, x: Any, count: Any, name: str) -> Any:
    """Return ``value``, after a check that the numbers ``x`` are from 0 to ``count - 1``."""
    inside = math.logical_and(math.ge(x, 0), math.lt(x, count))
    message = f"{name}: a number is out of range: they are from 0 to one less than the length"
    return CheckAndRaise(IndexingError, message)(value, inside)


# ---- flat indices --------------------------------------------------------------------------------


@also_named
def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[TensorVariable, ...]:
    """Return the index in each dimension for indices into a flat array.

    Parameters
    ----------
    indices
        Integers, from 0.
    shape
        The shape of the array: ints or symbolic integers.
    order
        "C", with the last index changing fastest, or "F", with the first.

    Returns
    -------
    tuple of TensorVariable
        One int64 tensor for each dimension, with the shape of ``indices``.

    Raises
    ------
    DtypeError
        The indices are not integers.
    IndexError
        An index is out of range.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> [one.eval() for one in pt.unravel_index([5, 2], (2, 3))]
    [array([1, 0]), array([2, 2])]
    """
    sizes = [fold(size) for size in as_sizes(shape)]
    numbers = _integers(indices, "unravel_index")
    rest = _in_range(numbers, multiply_sizes(sizes), "raise", "unravel_index")
    found: list[Any] = []
    for size in reversed(_in_order(sizes, order)):
        positive = clip_size(size, 1, None)
        found.append(math.mod(rest, positive))
        rest = math.floor_div(rest, positive)
    return tuple(found if order == "F" else reversed(found))


@also_named
def ravel_multi_index(
    multi_index: Sequence[Any], shape: Any, mode: Any = "raise", order: str = "C"
) -> TensorVariable:
    """Return indices into a flat array for an index in each dimension.

    Parameters
    ----------
    multi_index
        Integers for each dimension; they are broadcast against each other.
    shape
        The shape of the array: ints or symbolic integers.
    mode
        What an index out of range means: ``"raise"``, ``"wrap"`` or ``"clip"``; one for all
        dimensions, or one for each.
    order
        "C", with the last index changing fastest, or "F", with the first.

    Returns
    -------
    TensorVariable
        An int64 tensor with the common shape of the indices.

    Raises
    ------
    ShapeError
        There are more or fewer indices than dimensions.
    DtypeError
        The indices are not integers.
    IndexError
        An index is out of range.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.ravel_multi_index(([1, 0], [2, 2]), (2, 3)).eval()
    array([5, 2])
    """
    sizes = [fold(size) for size in as_sizes(shape)]
    parts = [_integers(one, "ravel_multi_index") for one in multi_index]
    modes = list(mode) if isinstance(mode, list | tuple) else [mode] * len(sizes)
    if len(parts) != len(sizes) or len(modes) != len(sizes):
        msg = (
            f"ravel_multi_index: {len(parts)} indices and {len(modes)} modes for a shape of "
            f"{len(sizes)} dimensions. Give one for each."
        )
        raise ShapeError(msg)
    checked = [
        _in_range(part, size, one, "ravel_multi_index")
        for part, size, one in zip(parts, sizes, modes, strict=True)
    ]
    flat: Any = as_tensor_variable(0)
    for part, size in zip(_in_order(checked, order), _in_order(sizes, order), strict=True):
        flat = flat * size + part
    return flat


def _in_order(entries: Sequence[Any], order: str) -> list[Any]:
    if order not in {"C", "F"}:
        msg = f'order is "C" or "F", got {order!r}.'
        raise ArgumentError(msg)
    return list(entries) if order == "C" else list(reversed(entries))


def _integers(x: Any, name: str) -> Any:
    x = as_tensor_variable(x)
    if x.type.numpy_dtype.kind not in "iu":
        msg = f"{name} takes integers, got {x} of dtype {x.dtype}."
        raise DtypeError(msg)
    return x


# ---- copies with other elements ------------------------------------------------------------------


@also_named
def put(x: Any, indices: Any, values: Any, mode: str = "raise") -> TensorVariable:
    """Return a copy of ``x`` with values written at indices into the flat array.

    Parameters
    ----------
    x
        A tensor of any dtype.
    indices
        Integers. Negative ones count from the end, unless ``mode`` is ``"clip"``.
    values
        As many values, repeated if there are fewer.
    mode
        What an index out of range means: ``"raise"``, ``"wrap"`` or ``"clip"``.

    Returns
    -------
    TensorVariable
        A tensor with the shape and dtype of ``x``; NumPy's function changes its argument.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.put([1, 2, 3], [0, -1], [8, 9]).eval()
    array([8, 2, 9])
    """
    x = as_tensor_variable(x)
    flat, places = flatten(x), flatten(_integers(indices, "put"))
    if mode != "raise":
        places = _in_range(places, sizes_of(flat)[0], mode, "put")
    written = set_subtensor(flat[places], _repeated(values, sizes_of(places)[0], x.dtype))
    return reshape(written, sizes_of(x))


@also_named
def place(x: Any, mask: Any, values: Any) -> TensorVariable:
    """Return a copy of ``x`` with values written, in order, where a mask is true.

    Parameters
    ----------
    x
        A tensor of any dtype.
    mask
        Bools, of the shape of ``x``.
    values
        What to write, repeated if there are fewer.

    Returns
    -------
    TensorVariable
        A tensor with the shape and dtype of ``x``; NumPy's function changes its argument.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.place([1, 2, 3, 4], [True, False, True, True], [8, 9]).eval()
    array([8, 2, 9, 8])
    """
    x = as_tensor_variable(x)
    return put(x, flatnonzero(as_tensor_variable(mask)), values)


def _repeated(values: Any, count: Any, dtype: str) -> Any:
    values = flatten(math.cast(as_tensor_variable(values), dtype))
    if values.type.shape == (1,):
        return values[0]
    return take(values, math.mod(arange(count), sizes_of(values)[0]), 0)


@also_named
def fill_diagonal(x: Any, val: Any, wrap: bool = False) -> TensorVariable:
    """Return a copy of ``x`` with a value written on its main diagonal.

    Parameters
    ----------
    x
        A matrix, or an array of higher rank with equal lengths.
    val
        A number, or a vector that is repeated along the diagonal.
    wrap
        Whether the diagonal of a tall matrix restarts after a gap of one row.

    Returns
    -------
    TensorVariable
        A tensor with the shape and dtype of ``x``; NumPy's function changes its argument.

    Raises
    ------
    ShapeError
        ``x`` has fewer than two dimensions, or unequal ones.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.fill_diagonal(pt.zeros((2, 3)), 5.0).eval()
    array([[5., 0., 0.],
           [0., 5., 0.]])
    """
    x = as_tensor_variable(x)
    known = {size for size in x.type.shape if size is not None}
    if x.ndim < 2 or (x.ndim > 2 and len(known) > 1):
        msg = (
            "fill_diagonal takes a matrix, or an array of higher rank with equal lengths; got "
            f"{x} of type {x.type}."
        )
        raise ShapeError(msg)
    sizes = sizes_of(x)
    if x.ndim == 2 and wrap:
        step = sizes[1] + 1
        places = arange(0, multiply_sizes(sizes), step)
        return put(x, places, val)
    length = clip_size(sizes[0], None, sizes[1])
    places = (arange(length),) * x.ndim
    return set_subtensor(x[places], _repeated(val, length, x.dtype))


def fill_diagonal_offset(x: Any, val: Any, offset: Any) -> TensorVariable:
    """Return a copy of a matrix with a number written on one of its diagonals.

    Parameters
    ----------
    x
        A matrix.
    val
        A number.
    offset
        The diagonal: 0 is the main one, positive is above it; an int or symbolic integer.

    Returns
    -------
    TensorVariable
        A matrix with the shape and dtype of ``x``.

    Raises
    ------
    ShapeError
        The array is not a matrix.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.fill_diagonal_offset(pt.zeros((2, 2)), 5.0, 1).eval()
    array([[0., 5.],
           [0., 0.]])
    """
    x = as_tensor_variable(x)
    if x.ndim != 2:
        msg = f"fill_diagonal_offset takes a matrix, got {x} of type {x.type}."
        raise ShapeError(msg)
    rows, columns = sizes_of(x)
    offset = as_tensor_variable(offset)
    on_it = math.eq(arange(columns) - arange(rows).reshape((-1, 1)), offset)
    return math.switch(on_it, math.cast(as_tensor_variable(val), x.dtype), x)
