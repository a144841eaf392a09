"""Remedies for operands that would broadcast if a size were known to be 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from phintys.graph.shared_variable import SharedVariable
from phintys.tensor.dim_shuffle import DimShuffle

__all__ = ["broadcast_hint"]


def broadcast_hint(
    operands: Sequence[Any], shapes: Sequence[Sequence[int | None]], dim: int
) -> str:
    """Return how to make operands broadcast in a dimension in which their sizes differ.

    Parameters
    ----------
    operands
        Tensor variables of equal rank.
    shapes
        Their shapes, as far as known.
    dim
        The dimension in which the sizes differ.

    Examples
    --------
    >>> import numpy as np, phintys, phintys.tensor as pt
    >>> w = phintys.shared(np.zeros((3, 1)), name="w")
    >>> broadcast_hint([pt.dmatrix("x"), w], [(3, 4), (3, 1)], 1)
    'The sizes in dimension 1 must be equal. ...: make w with shared(value, shape=(None, 1)).'
    """
    equal = f"The sizes in dimension {dim} must be equal."
    rule = "A dimension broadcasts only if its size is known to be 1 when the graph is built"
    ones = [
        variable
        for variable, shape in zip(operands, shapes, strict=True)
        if shape[dim] == 1 and variable.type.shape[dim] is None
    ]
    if not ones:
        return (
            f"{equal} {rule}: make the input with shape=(..., 1, ...), use pt.row or pt.col, or "
            "x.dimshuffle with 'x' for a new dimension."
        )
    return f"{equal} {rule}: {'; '.join(_remedy(variable, dim) for variable in ones)}."


def _remedy(variable: Any, dim: int) -> str:
    """Return how to make a variable whose size in a dimension is known to be 1."""
    while variable.owner is not None and isinstance(variable.owner.op, DimShuffle):
        dim = int(variable.owner.op.new_order[dim])
        (variable,) = variable.owner.inputs
    shape = list(variable.type.shape)
    shape[dim] = 1
    text = f"({', '.join(map(str, shape))}{',' * (len(shape) == 1)})"
    if isinstance(variable, SharedVariable):
        return f"make {variable} with shared(value, shape={text})"
    if variable.owner is None:
        name = "" if variable.name is None else f"{variable.name!r}, "
        return f"make {variable} with pt.tensor({name}shape={text}, dtype={variable.dtype!r})"
    return f"write pt.specify_broadcastable(y, {dim}) for the operand y = {variable}"
