"""Checks of user arguments: collections of variables, options, and tangents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.config import config
from phintys._base.errors import GradientError, TypeContractError
from phintys._base.nested_containers import is_nest, rebuilt, walk
from phintys.gradient.arithmetic import fit_dtype, is_complex, is_discrete
from phintys.graph.null_type import DisconnectedType, NullType
from phintys.graph.variable import Variable
from phintys.scalar.constants import as_scalar
from phintys.scalar.type import ScalarType
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.type import Type

__all__ = ["check_choice", "check_points", "check_variable", "unpack", "variables_in"]


def check_choice(name: str, given: object, choices: Sequence[str]) -> None:
    """Raise unless an option has one of its permitted values."""
    if given not in choices:
        expected = ", ".join(repr(choice) for choice in choices[:-1])
        msg = f"{name} must be {expected} or {choices[-1]!r}, got {given!r}."
        raise GradientError(msg)


def check_variable(given: Any, what: str) -> Variable:
    """Return ``given``, or raise if it is not a variable."""
    if isinstance(given, Variable):
        return given
    msg = (
        f"{what} must be a symbolic variable, got {given!r} of type {type(given).__name__}. "
        "A value has no graph to differentiate."
    )
    raise TypeContractError(msg)


def unpack(given: Any, what: str) -> tuple[list[Variable], Callable[[Sequence[Any]], Any]]:
    """Return the variables in a collection, and a function that packs results in the same form.

    Parameters
    ----------
    given
        A variable, or lists, tuples, dicts and dataclasses of any depth around variables.
    what
        Name of the argument, for error messages.

    Raises
    ------
    TypeContractError
        ``given`` is none of these, or contains something else.
    """
    if isinstance(given, Variable):
        return [given], lambda results: results[0]
    nest = dict(given) if isinstance(given, Mapping) else given
    if is_nest(nest):
        variables = [check_variable(entry, f"{what}{path}") for path, entry in walk(nest)]
        return variables, partial(rebuilt, nest)
    if isinstance(given, Iterable) and not isinstance(given, str | bytes | np.ndarray):
        msg = (
            f"{what} must be a variable or a list, tuple or dict of variables, got a "
            f"{type(given).__name__}. The results come in the order of the variables: write "
            f"list(...) around it."
        )
        raise TypeContractError(msg)
    return [check_variable(given, what)], lambda results: results[0]


def variables_in(given: Any, what: str) -> list[Variable]:
    """Return the variables in a collection of any kind; an empty list for ``None``."""
    if given is None:
        return []
    if isinstance(given, Variable):
        return [given]
    if isinstance(given, Iterable) and not isinstance(given, str | bytes):
        return [check_variable(entry, f"Each entry of {what}") for entry in given]
    msg = f"{what} must be a collection of variables, got {given!r} of type {type(given).__name__}."
    raise TypeContractError(msg)


def check_points(
    variables: Sequence[Variable], given: Any, what: str, of: str
) -> list[Variable | None]:
    """Return one tangent or gradient for each variable, of its rank and dtype.

    Parameters
    ----------
    variables
        The variables that the tangents or gradients belong to.
    given
        A variable or value, or a list or tuple with one for each of the variables. ``None``
        means zero.
    what, of
        Name of the argument, and of the argument that it belongs to, for error messages.

    Raises
    ------
    GradientError
        Their number does not match, or one has the wrong rank or shape.
    """
    points = list(given) if isinstance(given, list | tuple) else [given]
    if len(points) != len(variables):
        msg = (
            f"{what} must have one entry for each variable in {of}, of the same shape: expected "
            f"{len(variables)}, got {len(points)}."
        )
        raise GradientError(msg)
    return [
        None if point is None else check_point(variable, point, f"{what}[{i}]")
        for i, (variable, point) in enumerate(zip(variables, points, strict=True))
    ]


def check_point(variable: Variable, point: Any, what: str) -> Variable:
    """Return a tangent or gradient as a variable whose type matches that of ``variable``.

    Raises
    ------
    GradientError
        It has a different rank or shape, or is a variable of an integer dtype.
    """
    type_ = variable.type
    if not isinstance(point, Variable):
        point = _wrapped(type_, point)
    if isinstance(point.type, DisconnectedType | NullType):
        return point
    if is_discrete(point.type):
        msg = (
            f"{what} must be of a floating or complex dtype, as gradients and directions are, got "
            f"{point} of type {point.type}. Cast it with .astype('floatX')."
        )
        raise GradientError(msg)
    if not _fits(point.type, type_):
        msg = (
            f"{what} must have the rank and shape of the variable it belongs to: {variable} is of "
            f"type {type_}, and {point} of type {point.type}."
        )
        raise GradientError(msg)
    if is_complex(point.type) and not (is_complex(type_) or is_discrete(type_)):
        msg = f"{what} belongs to the real {variable} (type {type_}), got {point} ({point.type})."
        raise GradientError(msg)
    return fit_dtype(point, type_)


def _wrapped(type_: Type, value: Any) -> Any:
    """Return a value as a constant that can be a tangent of a variable of ``type_``."""
    if not isinstance(type_, TensorType | ScalarType):
        return type_.filter_variable(value)
    array = np.asarray(value)
    if array.dtype.kind in "biu":  # a literal such as 1 or [1, 0]
        array = array.astype(config.floatX)
    return as_tensor_variable(array) if isinstance(type_, TensorType) else as_scalar(array)


def _fits(given: Type, wanted: Type) -> bool:
    ndim = getattr(wanted, "ndim", None)
    if ndim != getattr(given, "ndim", None):
        return False
    if ndim is None and not hasattr(wanted, "dtype"):
        return wanted.is_super(given)
    shapes = zip(getattr(given, "shape", ()), getattr(wanted, "shape", ()), strict=True)
    return all(a is None or b is None or a == b for a, b in shapes)
