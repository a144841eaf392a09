"""Ops made of graphs, checks, choices, marks on gradients, and Ops over batches."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from pytensor import gradient
from pytensor.assumptions.specify import SpecifyAssumptions
from pytensor.compile.builders import OpFromGraph as TheirOpFromGraph
from pytensor.conditional.op import IfElse
from pytensor.gradient import DisconnectedType as TheirDisconnected
from pytensor.graph.basic import Variable as TheirVariable
from pytensor.graph.null_type import NullType as TheirNull
from pytensor.printing import Print
from pytensor.raise_op import CheckAndRaise
from pytensor.tensor.blockwise import Blockwise

import phintys.gradient as ours
import phintys.tensor as pt
from phintys._base.records import record
from phintys.bridge.pytensor.conversion import GraphConversion, convert_op, converted_graph
from phintys.bridge.pytensor.families.linear_algebra import BATCHED
from phintys.bridge.pytensor.types import convert_type
from phintys.control.branches import IfElse as OurIfElse
from phintys.control.graph_ops.from_graph import OpFromGraph
from phintys.graph.null_type import NullType, disconnected_type
from phintys.graph.type import generic
from phintys.graph.variable import Constant, Variable
from phintys.tensor.batching import vectorize_graph

# PyTensor need not be installed.
# pyright: reportMissingImports=false


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
    outputs = GraphConversion(dict(zip(core.inputs, stand_ins, strict=True))).convert(core.outputs)
    pairs = zip(stand_ins, inputs, strict=True)
    return vectorize_graph(outputs, {core: given for core, given in pairs if core is not given})


def _is_constant(given: Any, ndim: int) -> bool:
    """Return whether an input is one constant, whose value the conversion of the core may need."""
    return isinstance(given, Constant) and getattr(given.type, "ndim", None) == ndim


# PyTensor need not be installed.
# pyright: reportMissingImports=false


@convert_op.register(TheirOpFromGraph)
def _from_graph(op: Any, node: Any, *inputs: Any) -> Any:
    backward, forward = _overrides(op, "pullback"), _overrides(op, "pushforward")
    if backward is None and forward is None:
        return converted_graph(op.fgraph, inputs)
    formal = [convert_type(type_)() for type_ in op.input_types]
    # None and slices are values, which the conversions of the Ops within look at.
    known = [
        inner if isinstance(given, Variable) else given
        for inner, given in zip(formal, inputs, strict=True)
    ]
    ours = OpFromGraph(
        formal,
        converted_graph(op.fgraph, known),
        lop_overrides=backward,
        rop_overrides=forward,
        connection_pattern=op.connection_pattern(node),
        name=op.name or type(op).__name__,
    )
    given = [one if isinstance(one, Variable) else Constant(generic, one) for one in inputs]
    return ours(*given, return_list=True)


def _overrides(op: Any, kind: str) -> Any:
    """Return overrides of PyTensor in the form that our OpFromGraph takes, if there are any."""
    overrides = getattr(op, f"{kind}_overrides")
    if getattr(type(op), kind) is not getattr(TheirOpFromGraph, kind):  # by a derived class
        derivative = op.pullback if kind == "pullback" else partial(_pushed_forward, op)
        return _Override(op, derivative, kind)
    if isinstance(overrides, list):
        return [_entry(op, one, kind) for one in overrides]
    return _entry(op, overrides, kind)


def _pushed_forward(op: Any, inputs: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """Return the derivative by a method, which takes the outputs too."""
    return op.pushforward(inputs, op(*inputs, return_list=True), tangents)


def _entry(op: Any, override: Any, kind: str) -> Any:
    if override is None:
        return None
    if isinstance(override, TheirVariable):
        return _without_derivative(override)
    return _Override(op, override, kind)


@record(frozen=True)
class _Override:
    """A derivative that is written for PyTensor's variables, for ours.

    Attributes
    ----------
    op
        PyTensor's Op.
    override
        What computes the derivative: a function of lists of variables, or an OpFromGraph.
    kind
        ``pullback`` or ``pushforward``.
    """

    op: Any
    override: Any
    kind: str

    def __call__(self, *arguments: Sequence[Variable]) -> Any:
        inputs, outputs = self.op.input_types, self.op.output_types
        types = (inputs, outputs, outputs) if self.kind == "pullback" else (inputs, inputs)
        theirs = [[type_() for type_ in some] for some in types]
        known = {
            stand_in: _value(ours)
            for some, given in zip(theirs, arguments, strict=True)
            for stand_in, ours in zip(some, given, strict=True)
        }
        found = self._found(theirs)
        if isinstance(found, list | tuple):
            return [_derivative(one, known) for one in found]
        return _derivative(found, known)

    def _found(self, theirs: list[list[Any]]) -> Any:
        if isinstance(self.override, TheirOpFromGraph):
            return self.override(*(one for some in theirs for one in some), return_list=True)
        return self.override(*theirs)


def _derivative(found: Any, known: dict[Any, Any]) -> Any:
    if not isinstance(found, TheirVariable):
        return found  # the error of our OpFromGraph names it
    if isinstance(found.type, TheirDisconnected | TheirNull):
        return _without_derivative(found)
    return GraphConversion(known).convert([found])[0]


def _without_derivative(variable: Any) -> Any:
    if isinstance(variable.type, TheirDisconnected):
        return disconnected_type()
    return NullType(variable.type.why_null)()


def _value(given: Variable) -> Any:
    """Return a variable, or the value of a constant that is not a number: ``None`` or a slice."""
    return given.data if isinstance(given, Constant) and given.type == generic else given
