"""Checks, choices, marks on gradients, and Ops over batches."""
# PyTensor need not be installed.
# pyright: reportMissingImports=false

from __future__ import annotations

from typing import Any

from pytensor import gradient
from pytensor.assumptions.specify import SpecifyAssumptions
from pytensor.conditional.op import IfElse
from pytensor.printing import Print
from pytensor.raise_op import CheckAndRaise
from pytensor.tensor.blockwise import Blockwise

import phintys.gradient as ours
import phintys.tensor as pt
from phintys.bridge.pytensor.conversion import Conversion, convert_op
from phintys.bridge.pytensor.families.linear_algebra import BATCHED
from phintys.bridge.pytensor.types import convert_type
from phintys.control.branches import IfElse as OurIfElse
from phintys.graph.variable import Constant
from phintys.tensor.batching import vectorize_graph


@convert_op.register(CheckAndRaise)
def _check(op: Any, node: Any, value: Any, *conditions: Any) -> Any:
    return pt.CheckAndRaise(op.exc_type, op.msg)(value, *conditions)


@convert_op.register(Print)
def _print(op: Any, node: Any, x: Any) -> Any:
    return pt.Print(op.message)(x)


@convert_op.register(SpecifyAssumptions)
def _assumed(op: Any, node: Any, x: Any) -> Any:
    return x


@convert_op.register(IfElse)
def _if_else(op: Any, node: Any, condition: Any, *branches: Any) -> Any:
    then, otherwise = branches[: op.n_outs], branches[op.n_outs :]
    return OurIfElse(op.n_outs)(condition, *then, *otherwise, return_list=True)


@convert_op.register(gradient.DisconnectedGrad)
def _disconnected(op: Any, node: Any, x: Any) -> Any:
    return ours.disconnected_grad(x)


@convert_op.register(gradient.ZeroGrad)
def _zero(op: Any, node: Any, x: Any) -> Any:
    return ours.zero_grad(x)


@convert_op.register(gradient.UndefinedGrad)
def _undefined(op: Any, node: Any, x: Any) -> Any:
    return ours.undefined_grad(x)


@convert_op.register(gradient.GradClip)
def _clipped(op: Any, node: Any, x: Any) -> Any:
    return ours.grad_clip(x, op.clip_lower_bound, op.clip_upper_bound)


@convert_op.register(gradient.GradScale)
def _scaled(op: Any, node: Any, x: Any) -> Any:
    return ours.grad_scale(x, op.multiplier)


@convert_op.register(Blockwise)
def _blockwise(op: Any, node: Any, *inputs: Any) -> Any:
    if isinstance(op.core_op, BATCHED):
        return convert_op(op.core_op, node, *inputs)
    core = op._create_dummy_core_node(node.inputs)
    stand_ins = [
        given if _is_constant(given, one.type.ndim) else convert_type(one.type)()
        for given, one in zip(inputs, core.inputs, strict=True)
    ]
    outputs = Conversion(dict(zip(core.inputs, stand_ins, strict=True))).convert(core.outputs)
    pairs = zip(stand_ins, inputs, strict=True)
    return vectorize_graph(outputs, {core: given for core, given in pairs if core is not given})


def _is_constant(given: Any, ndim: int) -> bool:
    """Return whether an input is one constant, whose value the conversion of the core may need."""
    return isinstance(given, Constant) and getattr(given.type, "ndim", None) == ndim
