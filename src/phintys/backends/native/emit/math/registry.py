"""The code of scalar ops, by name, for each kind of dtype."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from phintys._base.apart import is_imported_again
from phintys._base.errors import OpContractError
from phintys._base.records import record

__all__ = [
    "COMPLEX_FUNCTIONS",
    "FLOAT_FUNCTIONS",
    "INTEGER_FUNCTIONS",
    "Emitter",
    "FloatFunction",
    "complex_function",
    "float_function",
    "integer_function",
]

_T = TypeVar("_T")

Emitter = Callable[..., Any]


@record(frozen=True)
class FloatFunction:
    """A function of float32 or float64 values of one type, with a result of that type.

    Attributes
    ----------
    name
        Name of the scalar op.
    nin
        Number of inputs.
    emit
        ``emit(b, *values)`` writes it in place.
    outlined
        Whether kernels call it, because it is long.
    """

    name: str
    nin: int
    emit: Emitter
    outlined: bool


FLOAT_FUNCTIONS: dict[str, FloatFunction] = {}
"""By name; float16 values go through float32."""

INTEGER_FUNCTIONS: dict[str, Emitter] = {}
"""Functions of integers of one type."""

COMPLEX_FUNCTIONS: dict[str, Emitter] = {}
"""Functions of complex numbers of one type; the result may be real."""

_HOMES: dict[tuple[int, str], Mapping[str, object]] = {}
"""The module that defines each."""


def float_function(
    name: str, nin: int = 1, *, outlined: bool = True
) -> Callable[[Emitter], Emitter]:
    """Register what is decorated as the code of a scalar op on floats.

    Parameters
    ----------
    name
        Name of the scalar op.
    nin
        Number of inputs.
    outlined
        Whether kernels call it instead of containing a copy.
    """

    def register(emitter: Emitter) -> Emitter:
        function = FloatFunction(name, nin, emitter, outlined)
        _add(FLOAT_FUNCTIONS, name, function, emitter.__globals__)
        return emitter

    return register


def integer_function(*names: str) -> Callable[[Emitter], Emitter]:
    """Register what is decorated as the code of scalar ops on integers."""

    def register(emitter: Emitter) -> Emitter:
        for name in names:
            _add(INTEGER_FUNCTIONS, name, emitter, emitter.__globals__)
        return emitter

    return register


def complex_function(*names: str) -> Callable[[Emitter], Emitter]:
    """Register what is decorated as the code of scalar ops on complex numbers."""

    def register(emitter: Emitter) -> Emitter:
        for name in names:
            _add(COMPLEX_FUNCTIONS, name, emitter, emitter.__globals__)
        return emitter

    return register


def _add(registry: dict[str, _T], name: str, function: _T, home: Mapping[str, object]) -> None:
    former = registry.get(name)
    if former is not None and not is_imported_again(_HOMES[id(registry), name], home):
        msg = f"There are two functions named {name!r} for the same kind of dtype."
        raise OpContractError(msg)
    registry[name] = function
    _HOMES[id(registry), name] = home
