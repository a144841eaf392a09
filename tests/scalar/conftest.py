"""A small evaluator of scalar graphs, so that these tests need no compiler."""

import numpy as np
import pytest

from phintys.graph import Constant
from phintys.graph.traversal import io_toposort


def compute(outputs, given):
    """Return the values of scalar variables, given values of others."""
    values = {variable: variable.type.filter(value) for variable, value in given.items()}
    with np.errstate(all="ignore"):
        for node in io_toposort(list(values), outputs):
            for variable in node.inputs:
                if isinstance(variable, Constant):
                    values.setdefault(variable, variable.data)
            cells = [[None] for _ in node.outputs]
            node.op.perform(node, [values[variable] for variable in node.inputs], cells)
            for variable, (value,) in zip(node.outputs, cells, strict=True):
                assert variable.type.is_valid_value(value), (node, value)
                values[variable] = value
    return [v.data if isinstance(v, Constant) else values[v] for v in outputs]


@pytest.fixture(scope="session")
def evaluate():
    return compute
