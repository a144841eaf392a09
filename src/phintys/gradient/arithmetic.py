"""Arithmetic on gradients: zeros, ones, sums, and casts to a type.

Everything uses methods of the variables (``zeros_like``, ``astype``, ``real``, ``+``), so that
user-defined Types can be differentiated too.
"""

from __future__ import annotations

import operator
from functools import cache, reduce
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.config import config
from phintys._base.errors import GradientError
from phintys.graph.variable import Constant, Variable
from phintys.scalar.arithmetic import add
from phintys.scalar.type import ScalarType
from phintys.tensor import creation
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.type import Type


@cache
def _kind(dtype: Any) -> str:
    try:
        return np.dtype(dtype).kind
    except TypeError:
        return "?"


def kind_of(type_: Type) -> str:
    """Return NumPy's kind code of a type's dtype; ``?`` for a type without a dtype."""
    dtype = getattr(type_, "dtype", None)
    return "?" if dtype is None else _kind(dtype)


def is_discrete(type_: Type) -> bool:
    """Return whether the values are bools or integers, for which small changes have no meaning."""
    return kind_of(type_) in "biu"


def is_complex(type_: Type) -> bool:
    """Return whether the values are complex."""
    return kind_of(type_) == "c"


def gradient_dtype(type_: Type) -> Any:
    """Return the dtype of gradients for a variable: its own, or floatX if it is discrete."""
    return config.floatX if is_discrete(type_) else getattr(type_, "dtype", None)


def zero_like(variable: Variable) -> Variable:
    """Return a new variable of zeros that can serve as a gradient for ``variable``.

    Raises
    ------
    GradientError
        No zero is known for the variable's Type.
    """
    return _filled(variable, 0)


def one_like(variable: Variable) -> Variable:
    """Return a new variable of ones like ``variable``, of a continuous dtype.

    Raises
    ------
    GradientError
        No one is known for the variable's Type.
    """
    return _filled(variable, 1)


def _filled(variable: Variable, number: int) -> Variable:
    type_ = variable.type
    method = "ones_like" if number else "zeros_like"
    dtype = gradient_dtype(type_)
    if getattr(type_, "ndim", 0):
        if hasattr(variable, method):
            return getattr(variable, method)(dtype)
        raise _no_number(variable, method)
    if isinstance(type_, TensorType | ScalarType):
        value = np.asarray(number, dtype)[()]
        return (type_ if type_.dtype == dtype else type_.clone(dtype=dtype)).make_constant(value)
    if hasattr(variable, method):
        return getattr(variable, method)()
    try:
        constant = type_.make_constant(type_.filter(float(number)))
    except (TypeError, ValueError) as error:
        raise _no_number(variable, method) from error
    # A Type that accepts any value (generic) is not numeric, even though it accepts 0.0.
    if not isinstance(constant.data, Number) or type_.is_valid_value("not a number"):
        raise _no_number(variable, method)
    return constant


def _no_number(variable: Variable, method: str) -> GradientError:
    return GradientError(
        f"The gradient with respect to {variable} needs {method[:-5]} of type {variable.type}, "
        f"which this Type does not define. Give its variables (Type.variable_type) the "
        f"methods zeros_like(dtype=None), ones_like(dtype=None) and __add__."
    )


def sum_of(terms: Sequence[Any]) -> Variable:
    """Return the sum of the gradients that reach a variable along several paths.

    Raises
    ------
    GradientError
        The variables cannot be added.
    """
    if len(terms) == 1:
        return terms[0]
    first = terms[0]
    if isinstance(first.type, TensorType | ScalarType):
        return add(*terms)
    try:
        return reduce(operator.add, terms)
    except TypeError as error:
        msg = (
            f"{len(terms)} gradients of type {first.type} reach one variable and must be added, "
            "and variables of this Type cannot be. Define __add__ for them "
            "(in Type.variable_type)."
        )
        raise GradientError(msg) from error


def fit_dtype(gradient: Any, type_: Type) -> Variable:
    """Return a gradient in the dtype of gradients for variables of ``type_``.

    The gradient of a real variable on which a complex expression depends is the real part: the
    convention is ``dC/da + i dC/db``, and a real variable has no ``b``.
    """
    dtype = getattr(type_, "dtype", None)
    given = getattr(gradient.type, "dtype", None)
    if dtype == given or dtype is None or given is None:
        return gradient
    if _kind(given) == "c" and _kind(dtype) != "c":
        gradient = gradient.real
    if is_discrete(type_) or gradient.type.dtype == dtype:
        return gradient
    return gradient.astype(dtype)


def misfit_of(given: Type, wanted: Type) -> str:
    """Name the difference between a type and the one it must match: rank, shape, or ""."""
    if getattr(given, "ndim", None) != getattr(wanted, "ndim", None):
        return "the rank"
    shapes = zip(getattr(given, "shape", ()), getattr(wanted, "shape", ()), strict=False)
    differ = any(a is not None and b is not None and a != b for a, b in shapes)
    return "the shape" if differ else ""


def is_known_zero(variable: Variable) -> bool:
    """Return whether a variable is zero by construction, like the result of ``zeros_like``."""
    if isinstance(variable.type, ScalarType):
        return isinstance(variable, Constant) and not np.any(variable.data)
    return isinstance(variable.type, TensorType) and creation.is_known_zero(variable)
