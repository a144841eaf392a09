"""Draws of PyTensor's random variables by the methods of NumPy's generators.

The other random variables, which PyTensor draws by functions of SciPy or its own, stay callbacks.
"""
# PyTensor need not be installed.
# pyright: reportMissingImports=false

from __future__ import annotations

from typing import Any

from pytensor.tensor.random.op import RandomVariable

from phintys.bridge.pytensor.callback import PyTensorOp
from phintys.bridge.pytensor.conversion import convert_op
from phintys.random.generators.numpy_draws import NUMPY_METHODS


@convert_op.register(RandomVariable)
def _draw(op: Any, node: Any, rng: Any, size: Any, *parameters: Any) -> Any:
    method = NUMPY_METHODS.get(op.name)
    if method is None or op.signature != method.signature or _has_its_own_way(op):
        return PyTensorOp(node)(rng, size, *parameters, return_list=True)
    return getattr(rng, op.name)(*parameters, size=size, dtype=op.dtype)


def _has_its_own_way(op: Any) -> bool:
    """Return whether a random variable does more than call the method of its name."""
    return type(op).rng_fn is not RandomVariable.rng_fn
