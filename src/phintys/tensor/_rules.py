"""What many tensor Ops share: derivative and dtype rules, and the base of Ops over some axes.

The gradient with respect to a variable has the dtype of that variable; for an integer or bool, it
has the floating dtype in which it was computed. Where an output is an integer or bool, the function
is piecewise constant, so its gradients are zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from phintys._base.config import config
from phintys._base.errors import OpContractError, ShapeError
from phintys.graph.null_type import DisconnectedType
from phintys.graph.op import Op
from phintys.tensor._operators import operators
from phintys.tensor.convert import as_tensor_variable


class OverAxes(Op):
    """An Op over some axes of its input.

    Parameters
    ----------
    axis
        The axes, counted from the front; ``None`` for all.
    """

    __props__ = ("axis",)

    def __init__(self, axis: Axis = None) -> None:
        given = (axis,) if isinstance(axis, int) else axis
        self.axis = None if given is None else tuple(sorted(given))
        if self.axis and (self.axis[0] < 0 or len(set(self.axis)) != len(self.axis)):
            msg = f"The axes of {type(self).__name__} count from the front, got {axis!r}."
            raise OpContractError(msg)

    def axes(self, ndim: int) -> tuple[int, ...]:
        """Return the axes of an input of rank ``ndim``."""
        return tuple(range(ndim)) if self.axis is None else self.axis

    def operand(self, x: Any) -> Any:
        """Return the input as a tensor that has the axes."""
        x = as_tensor_variable(x)
        if self.axis and self.axis[-1] >= x.ndim:
            msg = f"{self} works along axis {self.axis[-1]}, but {x} has {x.ndim} dimensions."
            raise ShapeError(msg)
        return x

    def __str__(self) -> str:
        axes = "" if self.axis is None else f"{{axis={','.join(map(str, self.axis))}}}"
        return f"{type(self).__name__}{axes}"


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
