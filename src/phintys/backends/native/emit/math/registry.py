"""Functions of floats, by the names of the scalar ops that they compute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from phintys._base.errors import OpContractError
from phintys.backends.native.emit.builder import Builder
from phintys.backends.native.emit.values import Value

__all__ = ["FLOAT_FUNCTIONS", "FloatFunction", "float_function"]

_Emitter = Callable[..., Value]


@dataclass(frozen=True, slots=True)
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
        Whether kernels call it: it is long.
    """

    name: str
    nin: int
    emit: _Emitter
    outlined: bool


FLOAT_FUNCTIONS: dict[str, FloatFunction] = {}


def float_function(
    name: str, nin: int = 1, *, outlined: bool = True
) -> Callable[[_Emitter], _Emitter]:
    """Register what is decorated as the code of a scalar op on floats.

    Parameters
    ----------
    name
        Name of the scalar op.
    nin
        Number of inputs.
    outlined
        Whether kernels call it instead of holding a copy.
    """

    def register(emitter: _Emitter) -> _Emitter:
        function = FloatFunction(name, nin, emitter, outlined)
        if FLOAT_FUNCTIONS.setdefault(name, function) is not function:
            msg = f"There are two functions of floats named {name!r}."
            raise OpContractError(msg)
        return emitter

    return register


