"""PyMC's checks of parameters: where one fails, the log-density is minus infinity."""
# PyMC need not be installed.
# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
from pymc.logprob.utils import CheckParameterValue
from pytensor.tensor.variable import TensorConstant

import phintys.tensor as pt
from phintys.bridge.pytensor import convert_op
from phintys.bridge.pytensor.conversion import GraphConversion

_COMPARED = 1024
"""Constants of up to this many bytes are compared by their values."""


def register() -> None:
    """Register the conversion of checks, for those inside of other Ops."""
    convert_op.register(CheckParameterValue)(_local_check)


def _local_check(op: Any, node: Any, value: Any, *conditions: Any) -> Any:
    """Replace a check as PyMC's own rewrites do."""
    holds = pt.all([pt.all(one) for one in conditions])
    return pt.switch(holds, value, -np.inf)


def converted(log_density: Any, known: dict[Any, Any]) -> tuple[Any, Any]:
    """Return a log-density of PyTensor without its checks, and whether they hold.

    The checks of the whole graph become one condition. So no term tests its own for each of its
    elements, and neither does its gradient. Equal computations are converted once: the gradient
    and all rewriting have less to do.

    Parameters
    ----------
    log_density
        A number.
    known
        Our variables for PyTensor's; those that are converted are added.
    """
    conversion = _Unchecked(known)
    (total,) = conversion.convert([log_density])
    known.update(conversion.known)
    tests = [one if one.type.ndim == 0 else pt.all(one) for one in conversion.conditions.values()]
    return total, reduce(pt.and_, tests) if tests else pt.constant(True)


class _Unchecked(GraphConversion):
    """A conversion that leaves out checks, and keeps what they test.

    Attributes
    ----------
    conditions : dict
        What is tested, by its identity.
    """

    def __init__(self, known: Mapping[Any, Any]) -> None:
        super().__init__(known)
        self.conditions: dict[int, Any] = {}
        # What is converted is kept by ``known``, so that identities are not used again.
        self._outputs: dict[tuple[Any, ...], list[Any]] = {}
        self._constants: dict[tuple[Any, ...], Any] = {}

    def _add_node(self, node: Any, inputs: Sequence[Any]) -> None:
        if isinstance(node.op, CheckParameterValue):
            value, *tests = inputs
            self.known[node.outputs[0]] = value
            self.conditions.update((id(test), test) for test in tests)
            return
        key = (node.op, *map(id, inputs))
        made = self._outputs.get(key)
        if made is not None:
            self.known.update(zip(node.outputs, made, strict=True))
            return
        super()._add_node(node, inputs)
        self._outputs[key] = [self.known[one] for one in node.outputs]

    def _leaf(self, variable: Any) -> Any:
        data = variable.data if isinstance(variable, TensorConstant) else None
        if not isinstance(data, np.ndarray) or data.nbytes > _COMPARED:
            return super()._leaf(variable)  # no constant, a large one, or a sparse matrix
        key = (data.dtype.str, data.shape, data.tobytes())
        if key not in self._constants:
            self._constants[key] = super()._leaf(variable)
        return self._constants[key]
