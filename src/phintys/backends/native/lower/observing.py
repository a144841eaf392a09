"""Lowering of Ops that return their inputs; those that print or stop are left to Python."""

from __future__ import annotations

import numpy as np

from phintys import scalar as ps
from phintys.backends.native.expressions import Expression, Literal, Operation
from phintys.backends.native.failures import OwnFailure
from phintys.backends.native.lower.lowering import Lowering, lowers
from phintys.backends.native.lower.reduce import reduce_into
from phintys.backends.native.lower.view import View
from phintys.backends.native.steps.check import FenceStep
from phintys.control.fences import Fence
from phintys.graph.apply import Apply
from phintys.tensor.linear_algebra.assumptions import Assume
from phintys.tensor.observing import CheckAndRaise
from phintys.tensor.sharding import WithSharding

_BOOL = np.dtype("bool")


@lowers(CheckAndRaise)
def lower_check_and_raise(op: CheckAndRaise, node: Apply, lowering: Lowering) -> None:
    """The same memory, after a check that all elements of the conditions are true."""
    value, *conditions = (lowering.view(variable) for variable in node.inputs)
    for condition in conditions:
        loops = lowering.loops(condition.sizes)
        truth: Expression = lowering.load(condition, loops)
        dtype = truth.dtype
        if dtype != _BOOL:
            truth = Operation(ps.ne, (truth, Literal(dtype.type(0), dtype)), _BOOL)
        found = View.of(lowering.array(_BOOL, ()), lowering.sizes)
        reduce_into(found, truth, loops, range(condition.ndim), "and_", node, lowering)
        is_true = lowering.element(found, ())
        lowering.require(is_true, OwnFailure(node, "condition"))
    lowering.bind(node.outputs[0], value)


@lowers(WithSharding)
def lower_with_sharding(op: WithSharding, node: Apply, lowering: Lowering) -> None:
    """``out = x``: all of it is here."""
    lowering.bind_same(node.outputs[0], node.inputs[0])


@lowers(Assume)
def lower_assume(op: Assume, node: Apply, lowering: Lowering) -> None:
    """``out = x``."""
    lowering.bind_same(node.outputs[0], node.inputs[0])


@lowers(Fence)
def lower_fence(op: Fence, node: Apply, lowering: Lowering) -> None:
    """``fence; out = value``."""
    tensors = [variable for variable in node.inputs if variable.type.holds_arrays]
    arrays = [lowering.view(variable).array for variable in tensors]
    lowering.steps.append(FenceStep(tuple(dict.fromkeys(arrays))))
    for variable, output in zip(node.inputs, node.outputs, strict=False):
        lowering.bind_same(output, variable)
