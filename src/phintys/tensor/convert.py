"""Conversion of numbers, arrays, lists and variables of other Types to tensor variables."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from phintys._base.config import config
from phintys._base.errors import DtypeError, ShapeError, TypeContractError, shown
from phintys.graph.apply import Apply
from phintys.graph.null_type import is_disconnected
from phintys.graph.variable import Variable
from phintys.tensor._operators import operators
from phintys.tensor.type import (
    MOST_DIMENSIONS,
    MOST_DIMS,
    TensorType,
    as_array,
    how_to_get_numbers,
    is_masked,
    normalize_dtype,
    unevenness,
)
from phintys.tensor.variable import TensorConstant, TensorMethods, TensorVariable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.scalar.op import ScalarOp

    TensorLike = TensorVariable | TensorConstant


def constant(
    x: Any, name: str | None = None, ndim: int | None = None, dtype: Any = None
) -> TensorConstant:
    """Return a symbolic constant.

    Parameters
    ----------
    x
        A number, an array, or nested lists of numbers.
    name
        The name of the constant.
    ndim
        Number of dimensions; missing ones are added in front, with size 1.
    dtype
        Cast to this dtype. By default arrays keep their dtype, Python ints become int64, and Python
        floats get the configured ``floatX``.

    Returns
    -------
    TensorConstant
        A constant that owns its data.

    Raises
    ------
    TypeContractError
        ``x`` is symbolic, or is not numeric.

    Examples
    --------
    >>> from phintys.tensor import constant
    >>> constant([1, 2, 3]).type
    Vector(int64, shape=(3,))
    """
    if isinstance(x, Variable):
        msg = f"constant() takes a value, got the symbolic variable {x}."
        raise TypeContractError(msg)
    if is_masked(x):
        msg = "A masked array cannot become a constant: fill it with array.filled(value) first."
        raise TypeContractError(msg)
    try:
        data = as_array(x)
    except (TypeError, ValueError, BufferError) as error:
        msg = f"Cannot make an array of {shown(x)}: {unevenness(x) or error}"
        raise TypeContractError(msg) from error
    if dtype is not None:
        data = TensorType(dtype, (None,) * data.ndim).filter(x, allow_downcast=True)
    elif data.dtype.kind == "f" and not _holds_numpy(x):
        data = data.astype(config.floatX)
    if data.dtype.kind not in "biufc":
        msg = (
            f"Expected a variable, a number or an array of numbers, got {shown(x)} of type "
            f"{type(x).__name__} (dtype {data.dtype}){how_to_get_numbers(data)}"
        )
        raise TypeContractError(msg)
    if ndim is not None:
        data = _with_ndim(data, ndim)
    return TensorConstant(TensorType(data.dtype.newbyteorder("="), data.shape), data, name=name)


def _holds_numpy(x: Any) -> bool:
    """Return whether a nested sequence holds NumPy values, which keep their precision."""
    for _ in range(MOST_DIMS):
        if isinstance(x, list | tuple) and x:
            x = x[0]
    return isinstance(x, np.ndarray | np.generic)


def _with_ndim(data: np.ndarray[Any, Any], ndim: int) -> np.ndarray[Any, Any]:
    if data.ndim > ndim:
        msg = f"Expected at most {ndim} dimensions, got an array of shape {data.shape}."
        raise ShapeError(msg)
    return data.reshape((1,) * (ndim - data.ndim) + data.shape)


@singledispatch
def _convert(x: Any, name: str | None) -> TensorLike:
    if isinstance(x, list | tuple) and contains_variable(x):
        return operators.as_tensor_variable(x)
    return constant(x, name=name)


def register_conversion(
    python_type: type, converter: Callable[[Any, str | None], TensorLike]
) -> None:
    """Register how :func:`as_tensor_variable` converts instances of a Python type.

    Parameters
    ----------
    python_type
        The type; its subclasses are converted alike, unless they have a converter of their own.
    converter
        A function of an instance and of a name or ``None``, which returns a tensor.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> class Celsius(float):
    ...     pass
    >>> pt.register_conversion(Celsius, lambda value, name: pt.constant(value + 273.15))
    >>> pt.as_tensor_variable(Celsius(20.0)).eval()
    array(293.15)
    """
    _convert.register(python_type, converter)


def contains_variable(x: Any) -> bool:
    """Return whether nested sequences contain a symbolic variable.

    Raises
    ------
    TypeContractError
        A list contains itself, or they are nested more deeply than tensors have dimensions.
    """
    stack, seen, found = [(x, 0)], set[int](), False
    while stack:
        item, depth = stack.pop()
        if isinstance(item, Variable):
            found = True
        elif isinstance(item, list | tuple):
            if depth > MOST_DIMENSIONS:
                msg = (
                    f"Expected lists nested at most {MOST_DIMENSIONS} deep, the most dimensions of "
                    "a tensor; got deeper ones."
                )
                raise TypeContractError(msg)
            if id(item) not in seen:
                seen.add(id(item))
                stack.extend((entry, depth + 1) for entry in item)
            elif item:
                refuse_endless(x)
    return found


def refuse_endless(x: Any) -> None:
    """Raise if a list of nested sequences contains itself.

    Raises
    ------
    TypeContractError
        It does.
    """
    stack, around, done = [(x, False)], set[int](), set[int]()
    while stack:
        item, is_over = stack.pop()
        if is_over:
            around.discard(id(item))
            done.add(id(item))
        elif isinstance(item, list | tuple) and id(item) not in done:
            if id(item) in around:
                msg = f"Expected nested lists of numbers, got a list that contains itself: {x!r}."
                raise TypeContractError(msg)
            around.add(id(item))
            stack.append((item, True))
            stack.extend((entry, False) for entry in item)


def _from_apply(node: Apply, name: str | None) -> TensorLike:
    return as_tensor_variable(node.default_output(), name=name)


def _from_other_variable(variable: Variable, name: str | None) -> TensorLike:
    if is_disconnected(variable):
        msg = (
            "Expected a tensor, got a disconnected gradient: the cost does not depend on that "
            "output. A grad method tests isinstance(g.type, DisconnectedType) first, and takes "
            "zeros_like(output), or leaves out the term."
        )
        raise TypeContractError(msg)
    msg = (
        f"Expected a tensor, got {variable} of type {variable.type}. Convert it with an Op of its "
        "Type, or register a conversion with phintys.tensor.register_conversion."
    )
    raise TypeContractError(msg)


register_conversion(Apply, _from_apply)
register_conversion(Variable, _from_other_variable)


def as_tensor_variable(
    x: Any, name: str | None = None, ndim: int | None = None, dtype: Any = None
) -> TensorLike:
    """Return ``x`` as a tensor variable.

    Parameters
    ----------
    x
        A tensor variable (returned unchanged), a number, an array, nested lists of numbers or of
        variables (stacked), an Apply node with a default output, or anything with a registered
        conversion.
    name
        Name for the new variable, if one is made.
    ndim
        Number of dimensions; missing ones are added in front, with size 1.
    dtype
        Required dtype: constants are cast, and a variable of another dtype raises.

    Returns
    -------
    TensorVariable or TensorConstant
        A variable as it is, anything else as a constant.

    Raises
    ------
    TypeContractError
        ``x`` cannot be converted to a tensor.

    Examples
    --------
    >>> from phintys.tensor import as_tensor_variable
    >>> as_tensor_variable([[1.0, 2.0]]).type
    Matrix(float64, shape=(1, 2))
    """
    variable: Any
    if isinstance(x, TensorMethods):
        if ndim is None and dtype is None:
            return cast("TensorLike", x)
        variable = x
    elif dtype is not None and not isinstance(x, Variable | Apply) and not contains_variable(x):
        variable = constant(x, name=name, dtype=dtype)
    else:
        variable = _convert(x, name)
    if dtype is not None and variable.dtype != normalize_dtype(dtype):
        msg = (
            f"Expected dtype {normalize_dtype(dtype)}, got {variable} of dtype {variable.dtype}. "
            "Cast it with astype."
        )
        raise DtypeError(msg)
    if ndim is None or variable.ndim == ndim:
        return variable
    if variable.ndim > ndim:
        msg = f"Expected at most {ndim} dimensions, got {variable} with {variable.ndim}."
        raise ShapeError(msg)
    missing = ndim - variable.ndim
    return operators.dimshuffle(variable, *("x",) * missing, *range(variable.ndim))


def convert_operands(scalar_op: ScalarOp, inputs: Sequence[Any]) -> list[TensorLike]:
    """Return the operands of an elementwise op as tensor variables.

    Python numbers are weakly typed, as in NumPy: they take the common dtype of the other operands,
    so that ``x + 1.5`` keeps a float32 ``x`` in float32.

    Parameters
    ----------
    scalar_op
        The op that the operands are for; it decides the dtypes of literals.
    inputs
        Variables, arrays, lists and Python numbers.

    Raises
    ------
    OverflowError
        A Python int does not fit the dtype of the other operands.
    """
    operands: list[Any] = [x if type(x) in _WEAK else as_tensor_variable(x) for x in inputs]
    if not any([type(x) in _WEAK for x in operands]):  # noqa: C419 - a list is faster, and every node passes here
        return operands
    dtypes = scalar_op.literal_dtypes(
        [x if type(x) in _WEAK else x.type.numpy_dtype for x in operands]
    )
    return [
        _literal(scalar_op, x, dtype) if type(x) in _WEAK else x
        for x, dtype in zip(operands, dtypes, strict=True)
    ]


_WEAK = frozenset((bool, int, float, complex))


def _literal(scalar_op: ScalarOp, x: complex, dtype: np.dtype[Any]) -> TensorConstant:
    scalar = scalar_op.literal(x, dtype)
    return TensorConstant(TensorType(scalar.type.dtype, ()), np.asarray(scalar.data))
