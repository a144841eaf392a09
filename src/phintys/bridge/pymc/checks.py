"""PyMC's checks of parameters: where one fails, the log-density is minus infinity."""
# PyMC need not be installed.
# pyright: reportMissingImports=false

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
from pymc.logprob.utils import CheckParameterValue
from pytensor.graph.traversal import toposort

import phintys.tensor as pt
from phintys.bridge.pytensor import convert_op, from_pytensor

__all__ = ["converted", "register"]


def register() -> None:
    """Register the conversion of checks, for those inside of other Ops."""
    convert_op.register(CheckParameterValue)(_local_check)


def _local_check(op: Any, node: Any, value: Any, *conditions: Any) -> Any:
    """Return what PyMC's own rewrites make of a check."""
    holds = pt.all([pt.all(one) for one in conditions])
    return pt.switch(holds, value, -np.inf)


def converted(log_density: Any, known: dict[Any, Any]) -> tuple[Any, Any]:
    """Return a log-density of PyTensor without its checks, and whether they hold.

    The checks of the whole graph become one condition. So no term tests its own for each of its
    elements, and neither does its gradient.

    Parameters
    ----------
    log_density
        A number.
    known
        Our variables for PyTensor's; those that are converted are added.
    """
    conditions: list[Any] = []
    for node in toposort([log_density]):
        if isinstance(node.op, CheckParameterValue):
            value, *tests = from_pytensor(list(node.inputs), known)
            known[node.outputs[0]] = value
            conditions += [test if test.type.ndim == 0 else pt.all(test) for test in tests]
    total = from_pytensor(log_density, known)
    holds = reduce(pt.and_, conditions) if conditions else pt.constant(True)
    return total, holds
