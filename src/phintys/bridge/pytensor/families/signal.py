"""Convolutions."""
# PyTensor need not be installed.
# pyright: reportMissingImports=false

from __future__ import annotations

from typing import Any

from pytensor.tensor.signal.conv import Convolve1d

import phintys.tensor as pt
from phintys.bridge.pytensor.callback import PyTensorOp
from phintys.bridge.pytensor.conversion import convert_op
from phintys.graph.variable import Constant

__all__: list[str] = []


@convert_op.register(Convolve1d)
def _convolve(op: Any, node: Any, x: Any, y: Any, full: Any) -> Any:
    if not isinstance(full, Constant):  # its gradient computes the mode from lengths
        return PyTensorOp(node)(x, y, full)
    return pt.convolve(x, y, mode="full" if full.data else "valid")
