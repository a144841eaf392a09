"""Helpers shared by the derivative and dtype rules of many tensor ops.

The gradient with respect to a variable has the dtype of that variable; for an integer or bool, it
has the floating dtype in which it was computed. Where an output is an integer or bool, the function
is piecewise constant, so its gradients are zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from phintys._base.config import config
from phintys.graph.null_type import DisconnectedType
from phintys.tensor._operators import operators

Axis = int | Sequence[int] | None
"""One axis, several, or ``None`` for all of them."""


def is_discrete(x: Any) -> bool:
    """Return whether a tensor has an integer or bool dtype."""
    return x.type.numpy_dtype.kind in "biu"


def is_missing(direction: Any) -> bool:
    """Return whether a tangent of the R-operator is absent because nothing depends on it."""
    return direction is None or isinstance(direction.type, DisconnectedType)


def zero_gradient(x: Any) -> Any:
    """Return a zero gradient with respect to ``x``."""
    return operators.zeros_like(x, config.floatX if is_discrete(x) else x.dtype)


def fit_gradient(gradient: Any, x: Any) -> Any:
    """Return a gradient cast to the dtype that a gradient with respect to ``x`` has."""
    if gradient.dtype == x.dtype:
        return gradient
    if gradient.type.numpy_dtype.kind == "c" and x.type.numpy_dtype.kind != "c":
        gradient = operators.real(gradient)  # a real x affects the cost only through the real part
    if is_discrete(x) or gradient.dtype == x.dtype:
        return gradient
    return operators.cast(gradient, x.dtype)


def conjugate(x: Any) -> Any:
    """Return the complex conjugate; a real ``x`` is returned unchanged."""
    return operators.conj(x) if x.type.numpy_dtype.kind == "c" else x


def add_all(terms: Sequence[Any]) -> Any:
    """Return the sum of one or more variables."""
    return terms[0] if len(terms) == 1 else operators.add(*terms)


def accumulation_dtype(dtype: str) -> str:
    """Return the dtype in which NumPy accumulates sums and products; integers become the widest."""
    if dtype.startswith("uint"):
        return "uint64"
    if dtype == "bool" or dtype.startswith("int"):
        return "int64"
    return dtype


def without_axes(sizes: Sequence[Any], axes: Sequence[int]) -> tuple[Any, ...]:
    """Return the sizes of the dimensions that are not among ``axes``.

    Examples
    --------
    >>> without_axes((2, 3, 4), (0, 2))
    (3,)
    """
    return tuple(size for dim, size in enumerate(sizes) if dim not in axes)
