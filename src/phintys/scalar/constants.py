"""Scalar constants and conversion to scalar variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from phintys._base.config import config
from phintys._base.errors import OutOfBoundsError, TypeContractError
from phintys.graph.apply import Apply
from phintys.graph.variable import Variable
from phintys.scalar.type import ScalarType, complex64, complex128, get_scalar_type, int64, uint64
from phintys.scalar.variable import ScalarConstant, ScalarVariable

_SMALL = 60_000.0  # within every floating-point dtype

_CONVERTERS: dict[type, Callable[[Variable], Any]] = {}


def constant(x: Any, name: str | None = None, dtype: Any = None) -> ScalarConstant:
    """Return a number as a scalar constant.

    Parameters
    ----------
    x
        A Python int becomes int64 (uint64 if it fits only there), a float ``config.floatX``, a
        complex number the complex dtype of the same precision, a bool a bool. NumPy numbers and
        0-d arrays keep their dtype.
    name
        The name of the constant.
    dtype
        Another dtype; the cast must preserve the value.

    Raises
    ------
    TypeContractError
        ``x`` is not a number.
    OutOfBoundsError
        A Python int is too large for any integer dtype.

    Examples
    --------
    >>> from phintys.scalar import constant, int64
    >>> constant(3).type == int64
    True
    >>> constant(3, dtype="float32").data
    np.float32(3.0)
    """
    if isinstance(x, ScalarConstant) and dtype is None:
        return x
    if dtype is not None:
        scalar_type = get_scalar_type(dtype)
    elif isinstance(x, np.generic | np.ndarray):
        if x.ndim:
            msg = f"A scalar constant needs one number, got an array of shape {x.shape}."
            raise TypeContractError(msg)
        scalar_type = get_scalar_type(x.dtype)
    elif isinstance(x, bool):
        scalar_type = get_scalar_type("bool")
    elif isinstance(x, int):
        scalar_type = _type_of_int(x)
    elif isinstance(x, float):
        scalar_type = get_scalar_type(config.floatX)
    elif isinstance(x, complex):
        scalar_type = complex128 if config.floatX == "float64" else complex64
        x = scalar_type.filter(x, allow_downcast=True)
    else:
        msg = f"A scalar constant needs a number, got {x!r} of type {type(x).__name__}."
        raise TypeContractError(msg)
    return ScalarConstant(scalar_type, x, name)


def _type_of_int(x: int) -> ScalarType:
    if -(2**63) <= x < 2**63:
        return int64
    if 0 <= x < 2**64:
        return uint64
    shown = x if abs(x) < 2**128 else "given, beyond 2**128,"
    msg = f"The int {shown} fits neither int64 nor uint64. Write a float for an approximate value."
    raise OutOfBoundsError(msg)


def register_as_scalar(type_class: type, converter: Callable[[Variable], Any]) -> None:
    """Register how :func:`as_scalar` converts variables of a class of Types.

    Parameters
    ----------
    type_class
        A subclass of :class:`~phintys.graph.Type`.
    converter
        Takes the variable and returns a :class:`ScalarVariable`, or raises a TypeError.
    """
    _CONVERTERS[type_class] = converter


def as_scalar(x: Any, name: str | None = None) -> Any:
    """Return a number or a variable as a scalar variable.

    Parameters
    ----------
    x
        A scalar variable (returned unchanged), a number (converted to a constant), a node with one
        output, or a variable of a Type that has a converter (:func:`register_as_scalar`), such as a
        0-d tensor.
    name
        Name of the constant, if one is made.

    Raises
    ------
    TypeContractError
        ``x`` cannot be converted to a scalar.
    """
    if isinstance(x, Apply):
        x = x.default_output()
    if not isinstance(x, Variable):
        return constant(x, name)
    if isinstance(x, ScalarVariable) or isinstance(x.type, ScalarType):
        return x
    for cls in type(x.type).__mro__:
        if cls in _CONVERTERS:
            return _CONVERTERS[cls](x)
    msg = f"A scalar variable is needed here; {x} is of type {x.type}."
    raise TypeContractError(msg)


def literal_constant(value: complex, dtype: np.dtype[Any], user: Any) -> ScalarConstant:
    """Return a Python literal as a constant of the dtype that its operation gives it.

    Parameters
    ----------
    value
        A Python int, float or complex.
    dtype
        The dtype that NumPy gives it next to the other operands.
    user
        The op, for error messages.

    Raises
    ------
    OutOfBoundsError
        An int does not fit the dtype, for which NumPy raises as well.
    """
    scalar_type = get_scalar_type(dtype)
    try:
        if dtype.kind == "f":
            value = float(value)  # pyright: ignore[reportArgumentType]
            # np.float32(1e300) would warn about overflow to infinity.
            if dtype.itemsize < 8 and not -_SMALL < value < _SMALL:
                return ScalarConstant(scalar_type, scalar_type.filter(value, allow_downcast=True))
        if dtype.kind == "c":
            return ScalarConstant(scalar_type, scalar_type.filter(value, allow_downcast=True))
        return ScalarConstant(scalar_type, dtype.type(value))
    except (OverflowError, TypeContractError):
        shown = str(value) if abs(value) < 2**128 else "beyond 2**128"
        msg = (
            f"{user}: the Python int {shown} is out of bounds for {dtype}, the dtype that it gets "
            f"beside the other operands. {_remedy(dtype)}"
        )
        raise OutOfBoundsError(msg) from None


def _remedy(dtype: np.dtype[Any]) -> str:
    """Return the advice for an int that does not fit into a dtype."""
    if dtype.itemsize < (16 if dtype.kind == "c" else 8):
        return "Write a NumPy scalar of a larger dtype, as in np.int64(300), to compute in that."
    if dtype.kind in "iu":
        return "Write a float, as in float(n), to compute in floats."
    return "No dtype holds larger numbers: scale them, or compute with their logarithms."
