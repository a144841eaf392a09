"""The base class of Ops over some axes of a tensor."""

from __future__ import annotations

from typing import Any

from phintys._base.errors import OpContractError, ShapeError
from phintys.graph.op import Op
from phintys.tensor._rules import Axis
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
