"""Errors and remedies for operands whose sizes do not fit together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from phintys._base.errors import ShapeError
from phintys.graph.pretty import pprint
from phintys.graph.shared_variable import SharedVariable
from phintys.tensor.dim_shuffle import DimShuffle


def operands_misfit(
    what: str, operands: Sequence[Any], shapes: Sequence[Sequence[int | None]], dim: int
) -> ShapeError:
    """Return the error for operands of an elementwise Op whose sizes in a dimension differ.

    Parameters
    ----------
    what
        The Op.
    operands, shapes, dim
        As for :func:`broadcast_hint`.
    """
    lines = "\n".join(
        f"  {pprint.brief(operand)}: shape {tuple(shape)}"
        for operand, shape in zip(operands, shapes, strict=True)
    )
    hint = broadcast_hint(operands, shapes, dim)
    return ShapeError(f"{what}: the operands do not fit together.\n{lines}\n{hint}")


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
    ones = [
        variable
        for variable, shape in zip(operands, shapes, strict=True)
        if shape[dim] == 1 and variable.type.shape[dim] is None
    ]
    if ones:
        return (
            f"{equal} A dimension broadcasts only if its size is known to be 1 when the graph is "
            f"built: {'; '.join(_remedy(variable, dim) for variable in ones)}."
        )
    vector = _vector_of_the_other_axis(operands, shapes, dim)
    if vector is not None:
        return (
            f"{equal} A vector is added to the last dimension, as in NumPy: write "
            f"{vector}[:, None] for one number for each row."
        )
    return equal


def _vector_of_the_other_axis(
    operands: Sequence[Any], shapes: Sequence[Sequence[int | None]], dim: int
) -> Any | None:
    """Return a vector beside a matrix that has as many rows as the vector has elements, if any."""
    if dim != 1 or len(shapes[0]) != 2:
        return None
    rows = {shape[0] for shape in shapes} - {1}
    for operand, shape in zip(operands, shapes, strict=True):
        node = operand.owner
        if node is None or not isinstance(node.op, DimShuffle) or rows != {shape[1]}:
            continue
        if shape[0] == 1 and node.inputs[0].type.ndim == 1:
            return node.inputs[0]
    return None


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
