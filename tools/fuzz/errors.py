"""The errors that a graph may end in: which of several is met first is a backend's own choice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from phintys._base.errors import ShapeError
from phintys.compile import Mode, function
from phintys.compile.debugging.running import protected
from phintys.graph.apply import Apply
from phintys.graph.traversal import toposort
from phintys.graph.variable import Constant, Variable
from phintys.passes import PIPELINES
from phintys.tensor.type import TensorType
from phintys.testing._trial import run_node, value_of

__all__ = ["possible_errors"]


def possible_errors(outputs: Sequence[Variable], known: dict[Variable, Any]) -> set[type]:
    """Return the classes of all errors that nodes of a graph raise, in any order.

    A node that reads what failed is given an array of the same shape, if the shape is known
    without the values: lengths that differ are found there as well, and maybe before.

    Parameters
    ----------
    outputs
        Variables.
    known
        The values of the graph's inputs.
    """
    found: set[type] = set()
    values, stand_ins = dict(known), set[Variable]()
    for node in toposort(outputs, blockers=list(known)):
        if any(one not in values and not isinstance(one, Constant) for one in node.inputs):
            continue
        inputs = [value_of(variable, values) for variable in node.inputs]
        is_real = stand_ins.isdisjoint(node.inputs)
        try:
            with np.errstate(all="ignore"):
                made = run_node(node, protected(node, inputs))
        except Exception as error:  # noqa: BLE001 - an Op may raise anything
            if is_real or isinstance(error, ShapeError):
                found.add(type(error))
            made = _of_the_same_shape(node, inputs)
            is_real = False
        if not is_real:
            stand_ins.update(node.outputs)
        values.update(zip(node.outputs, made, strict=False))
    return found


def _of_the_same_shape(node: Apply, inputs: Sequence[Any]) -> list[Any]:
    """Return zeros of the shapes that a node's outputs would have; nothing if nobody knows."""
    if not all(isinstance(variable.type, TensorType) for variable in node.outputs):
        return []
    twins = [variable.type.make_variable() for variable in node.inputs]
    try:
        outputs: Any = node.clone_with_new_inputs(twins).outputs
        shapes = function(
            twins,
            [output.shape for output in outputs],
            mode=Mode("reference", PIPELINES["full"]),
            on_unused_input="ignore",
            accept_inplace=True,
        )(*inputs)
        return [
            np.zeros(shape, output.type.dtype)
            for shape, output in zip(shapes, outputs, strict=True)
        ]
    except Exception:  # noqa: BLE001 - the shape depends on values, or is an error as well
        return []
