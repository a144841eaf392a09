"""Patterns of elementwise Ops: an element depends on the elements that it is computed from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.gradient.marks import DisconnectedGrad, GradientMark, ZeroGrad
from phintys.gradient.patterns.index_sets import places, taken, union, without
from phintys.gradient.patterns.rules import pattern_of
from phintys.graph import contract
from phintys.scalar.op import ScalarOp
from phintys.tensor.elemwise import Elemwise
from phintys.tensor.linear_algebra.assumptions import Assume
from phintys.tensor.observing import CheckAndRaise, Print
from phintys.tensor.scalar_bridge import ScalarFromTensor, TensorFromScalar
from phintys.tensor.shapes import SpecifyShape
from phintys.tensor.sharding import WithSharding

if TYPE_CHECKING:
    from phintys.gradient.patterns.index_sets import Sets
    from phintys.gradient.patterns.rules import Step


@pattern_of(Elemwise)
def pattern_of_elemwise(step: Step) -> list[Sets]:
    """The union over the operands, broadcast; known factors of 0 and known choices count."""
    shape = step.output_shape()
    connected = contract.connection_pattern(step.node)
    parts = [
        _broadcast(sets, step.shape(at), shape) if sets is not None and any(row) else None
        for at, (sets, row) in enumerate(zip(step.sets, connected, strict=True))
    ]
    name = step.op.scalar_op.name
    if name == "mul":
        is_zero = np.zeros(shape, bool)
        for at in range(len(parts)):
            value = step.value(at)
            if value is not None:
                is_zero |= value == 0
        return [without(union(parts), is_zero)]
    if name == "switch":
        condition = step.value(0)
        if condition is not None:
            chosen = np.broadcast_to(condition != 0, shape)
            return [union([without(parts[1], ~chosen), without(parts[2], chosen)])]
    return [union(parts)] * len(step.node.outputs)


def _broadcast(sets: Sets, shape: Any, target: Any) -> Sets:
    return sets if shape == target else taken(sets, np.broadcast_to(places(shape), target))


@pattern_of(ScalarOp)
def pattern_of_scalar(step: Step) -> list[Sets]:
    """The union over the operands."""
    return [union(step.sets)] * len(step.node.outputs)


@pattern_of(
    Assume,
    CheckAndRaise,
    GradientMark,
    Print,
    ScalarFromTensor,
    SpecifyShape,
    TensorFromScalar,
    WithSharding,
)
def pattern_of_first(step: Step) -> list[Sets]:
    """The result is the first input."""
    return [step.sets[0]]


@pattern_of(DisconnectedGrad, ZeroGrad)
def pattern_of_zero_grad(step: Step) -> list[Sets]:
    """The derivative is 0."""
    return [None]
