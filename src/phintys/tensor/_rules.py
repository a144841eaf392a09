"""What the derivative and dtype rules of many tensor ops have in common.

A gradient has the dtype of what it is the gradient of; that of an integer or bool is of the
floating dtype in which it was worked out. Where an output is an integer or bool, the function is
constant but for its jumps, so the gradients are zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from phintys._base.config import config
from phintys.graph.null_type import DisconnectedType
from phintys.tensor._operators import operators

Axis = int | Sequence[int] | None
"""One axis, several, or ``None`` for all of them."""

__all__ = [
    "Axis",
    "accumulation_dtype",
    "add_all",
    "conjugate",
    "fit_gradient",
    "is_discrete",
    "is_missing",
    "zero_gradient",
]


def is_discrete(x: Any) -> bool:
    """Tell whether a tensor is of integers or bools."""
    return x.type.numpy_dtype.kind in "biu"


def is_missing(direction: Any) -> bool:
    """Tell whether a direction of the R-operator is zero because nothing depends on it."""
    return direction is None or isinstance(direction.type, DisconnectedType)


def zero_gradient(x: Any) -> Any:
    """Return the gradient, or derivative, zero of ``x``."""
    return operators.zeros_like(x, config.floatX if is_discrete(x) else x.dtype)


def fit_gradient(gradient: Any, x: Any) -> Any:
    """Return a gradient in the dtype that a gradient of ``x`` has."""
    if gradient.dtype == x.dtype:
        return gradient
    if gradient.type.numpy_dtype.kind == "c" and x.type.numpy_dtype.kind != "c":
        gradient = operators.real(gradient)  # a real x moves the cost by its real part only
    if is_discrete(x) or gradient.dtype == x.dtype:
        return gradient
    return operators.cast(gradient, x.dtype)


def conjugate(x: Any) -> Any:
    """Return the complex conjugate; a real ``x`` is returned as it is."""
    return operators.conj(x) if x.type.numpy_dtype.kind == "c" else x


def add_all(terms: Sequence[Any]) -> Any:
    """Return the sum of variables, of which there is at least one."""
    return terms[0] if len(terms) == 1 else operators.add(*terms)


def accumulation_dtype(dtype: str) -> str:
    """Return the dtype that NumPy gives to sums and products of many: the widest integer."""
    if dtype.startswith("uint"):
        return "uint64"
    if dtype == "bool" or dtype.startswith("int"):
        return "int64"
    return dtype
