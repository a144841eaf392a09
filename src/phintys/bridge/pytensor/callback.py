"""Ops of PyTensor that run as callbacks: those that Phintys has no counterpart for."""
# PyTensor need not be installed.
# pyright: reportMissingImports=false

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from pytensor.gradient import DisconnectedType as TheirDisconnected
from pytensor.graph.basic import Apply as TheirApply
from pytensor.graph.null_type import NullType as TheirNull
from pytensor.graph.op import Op as TheirOp

from phintys import sparse
from phintys._base.errors import ArgumentError
from phintys.bridge.pytensor.conversion import GraphConversion, convert_op
from phintys.bridge.pytensor.types import convert_type, value_for
from phintys.graph.apply import Apply
from phintys.graph.inner import HasInnerGraph
from phintys.graph.null_type import (
    DisconnectedType,
    disconnected_type,
    grad_undefined,
)
from phintys.graph.op import Op
from phintys.graph.traversal import applys_between
from phintys.graph.type import generic
from phintys.graph.variable import Constant, Variable
from phintys.tensor.type import TensorType


class PyTensorOp(Op):
    """An Op that calls ``perform`` of an Op of PyTensor.

    Its gradient is PyTensor's, converted.

    Parameters
    ----------
    node
        A node of PyTensor, whose Op and Types of inputs and outputs are used.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> from phintys.bridge.pytensor import PyTensorOp
    >>> op = PyTensorOp(pt.add(pt.dvector(), pt.dvector()).owner)
    >>> op([1.0, 2.0], [3.0, 4.0]).eval()
    array([4., 6.])
    """

    __props__ = ("op", "input_types", "output_types")

    def __init__(self, node: TheirApply) -> None:
        self.op = node.op
        self.input_types = tuple(one.type for one in node.inputs)
        self.output_types = tuple(one.type for one in node.outputs)
        destroyed = getattr(node.op, "destroy_map", None) or {}
        self._overwritten = sorted({at for inputs in destroyed.values() for at in inputs})
        self._viewed = {at for inputs in (node.op.view_map or {}).values() for at in inputs}
        # Nodes of inner graphs may be frozen: these cannot be cloned.
        outputs = [type_() for type_ in self.output_types]
        self._node = TheirApply(node.op, list(node.inputs), outputs)

    def __str__(self) -> str:
        return f"PyTensor:{self.op}"

    def make_node(self, *inputs: Any) -> Apply:
        if len(inputs) != len(self.input_types):
            msg = f"{self} has {len(self.input_types)} inputs, got {len(inputs)}."
            raise ArgumentError(msg)
        given = [
            convert_type(type_).filter_variable(_as_variable(one))
            for one, type_ in zip(inputs, self.input_types, strict=True)
        ]
        return Apply(self, given, [convert_type(type_)() for type_ in self.output_types])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        values = [
            value_for(type_, one) for type_, one in zip(self.input_types, inputs, strict=True)
        ]
        for at in (*self._overwritten, *self._viewed):
            values[at] = _copied(values[at])
        cells: list[list[Any]] = [[None] for _ in self.output_types]
        self.op.perform(self._node, values, cells)
        for (value,), ours, cell in zip(cells, node.outputs, output_storage, strict=True):
            is_tensor = isinstance(ours.type, TensorType)
            cell[0] = ours.type.filter(np.asarray(value) if is_tensor else value)

    def do_constant_folding(self, fgraph: Any, node: Apply) -> bool:
        """Fold what PyTensor folds: no draws of random numbers."""
        return bool(self.op.do_constant_folding(None, self._node))

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Return ``[input][output] -> bool``, as PyTensor's Op says."""
        pattern = getattr(self.op, "connection_pattern", None)
        if pattern is None:
            rows = [[True] * len(self.output_types) for _ in self.input_types]
        else:
            rows = [[bool(one) for one in row] for row in pattern(self._node)]
        return rows

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Return PyTensor's gradient, converted."""
        theirs = self._node.clone_with_new_inputs([type_() for type_ in self.input_types])
        known = dict(zip(theirs.inputs, inputs, strict=True))
        known |= zip(theirs.outputs, outputs, strict=True)
        directions = []
        for output, given in zip(theirs.outputs, output_grads, strict=True):
            if isinstance(given.type, DisconnectedType):
                directions.append(TheirDisconnected()())
            else:
                directions.append(output.type.clone(dtype=given.type.dtype)())
                known[directions[-1]] = given
        found = self.op.pullback(theirs.inputs, theirs.outputs, directions)
        return [self._gradient(at, one, inputs, known) for at, one in enumerate(found)]

    def _gradient(self, at: int, found: Any, inputs: Sequence[Any], known: Any) -> Any:
        if isinstance(found.type, TheirDisconnected):
            return disconnected_type()
        if isinstance(found.type, TheirNull):
            return grad_undefined(self, at, inputs[at], found.type.why_null)
        return _in_the_form_of(inputs[at], GraphConversion(known).convert([found])[0])


@convert_op.register(TheirOp)
def _call_back(op: Any, node: TheirApply, *inputs: Any) -> list[Any]:
    return PyTensorOp(node)(*inputs, return_list=True)


def _as_variable(given: Any) -> Any:
    if given is None or isinstance(given, slice):
        return Constant(generic, given)
    return given


def _in_the_form_of(given: Any, gradient: Any) -> Any:
    """Return the gradient of an input: sparse, on its pattern, if the input is sparse."""
    if sparse.is_sparse(given):
        if sparse.is_sparse(gradient):
            return sparse.to_format(gradient, given.format)
        return sparse.mul(sparse.sp_ones_like(given), gradient)
    return sparse.dense_from_sparse(gradient) if sparse.is_sparse(gradient) else gradient


def _copied(value: Any) -> Any:
    if isinstance(value, np.ndarray) or hasattr(value, "tocsr"):  # scipy.sparse is not imported
        return value.copy()
    return value


def callbacks(outputs: Variable | Iterable[Variable]) -> Counter[str]:
    """Return how many nodes of a graph call PyTensor's ``perform``, by the name of the Op.

    Parameters
    ----------
    outputs
        The variables, which :func:`from_pytensor` has returned.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> from phintys.bridge.pytensor import callbacks, from_pytensor
    >>> callbacks(from_pytensor(pt.exp(pt.dvector("x"))))
    Counter()
    """
    graphs = [[outputs] if isinstance(outputs, Variable) else list(outputs)]
    found: Counter[str] = Counter()
    while graphs:
        for node in applys_between([], graphs.pop()):
            if isinstance(node.op, PyTensorOp):
                found[str(node.op.op)] += 1
            elif isinstance(node.op, HasInnerGraph):
                graphs.append(list(node.op.fgraph.outputs))
    return found
