"""Rules for the types of a scalar op's outputs, given those of its inputs.

Each function here can be the ``output_types_preference`` of a :class:`ScalarOp`: it takes the types
of the inputs and returns the types of the outputs, or raises a TypeError.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from phintys._base.errors import DtypeError
from phintys.scalar.type import (
    ScalarType,
    bool_,
    complex_types,
    discrete_types,
    float64,
    float_types,
    get_scalar_type,
    int8,
    upcast,
)

Preference = Callable[..., "tuple[ScalarType, ...]"]


def same_out(type: ScalarType) -> tuple[ScalarType, ...]:
    """Give the output the type of the single input."""
    return (type,)


def upcast_out(*types: ScalarType) -> tuple[ScalarType, ...]:
    """Give the output the dtype to which NumPy promotes those of the inputs."""
    return (get_scalar_type(upcast(*(type.dtype for type in types))),)


def upcast_out_nobool(*types: ScalarType) -> tuple[ScalarType, ...]:
    """Like :func:`upcast_out`, for an op that is not defined for bools."""
    outputs = upcast_out(*types)
    if outputs[0] is bool_:
        msg = "This op takes numbers, got only bools. Cast one of the inputs to an integer dtype."
        raise DtypeError(msg)
    return outputs


def upcast_out_min8(*types: ScalarType) -> tuple[ScalarType, ...]:
    """Like :func:`upcast_out`, with bools becoming int8."""
    outputs = upcast_out(*types)
    return (int8,) if outputs[0] is bool_ else outputs


def upgrade_to_float(*types: ScalarType) -> tuple[ScalarType, ...]:
    """Like :func:`upcast_out`, with integers and bools becoming float64."""
    dtypes = [float64.dtype if type in discrete_types else type.dtype for type in types]
    return (get_scalar_type(upcast(*dtypes)),)


def upgrade_to_float64(*types: ScalarType) -> tuple[ScalarType, ...]:
    """Give the output float64, or complex128 for complex inputs."""
    return (get_scalar_type(upcast("float64", *(type.dtype for type in types))),)


def _only(kind: str, allowed: tuple[ScalarType, ...]) -> Preference:
    def preference(*types: ScalarType) -> tuple[ScalarType, ...]:
        outputs = upcast_out(*types)
        if outputs[0] not in allowed:
            came = ", ".join(type.dtype for type in types)
            msg = f"This op takes {kind} only, got {came}."
            raise DtypeError(msg)
        return outputs

    preference.__name__ = preference.__qualname__ = f"{kind}_out"
    return preference


float_out = _only("float", float_types)
int_out = _only("int", discrete_types)
complex_out = _only("complex", complex_types)


class transfer_type:
    """Give the outputs the types of chosen inputs.

    Parameters
    ----------
    positions
        For each output, the position of the input whose type it has.
    """

    def __init__(self, *positions: int) -> None:
        self.positions = positions

    def __call__(self, *types: ScalarType) -> tuple[ScalarType, ...]:
        return tuple(types[position] for position in self.positions)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, transfer_type) and self.positions == other.positions

    def __hash__(self) -> int:
        return hash((transfer_type, self.positions))


class specific_out:
    """Give the outputs fixed types.

    Parameters
    ----------
    types
        One scalar type, or dtype, for each output.
    """

    def __init__(self, *types: ScalarType | str | np.dtype) -> None:
        self.types = tuple(
            type if isinstance(type, ScalarType) else get_scalar_type(type) for type in types
        )

    def __call__(self, *types: ScalarType) -> tuple[ScalarType, ...]:
        return self.types

    def __eq__(self, other: object) -> bool:
        return isinstance(other, specific_out) and self.types == other.types

    def __hash__(self) -> int:
        return hash((specific_out, self.types))
