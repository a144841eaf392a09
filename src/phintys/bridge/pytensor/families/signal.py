"""Convolutions."""
# PyTensor need not be installed.
# pyright: reportMissingImports=false

from __future__ import annotations

from typing import Any

from pytensor.tensor.signal.conv import Convolve1d

import phintys.tensor as pt
from phintys.bridge.pytensor.conversion import convert_op
from phintys.graph.variable import Constant

__all__: list[str] = []


@convert_op.register(Convolve1d)
def _convolve(op: Any, node: Any, x: Any, y: Any, full: Any) -> Any:
    if isinstance(full, Constant):
        return pt.convolve(x, y, mode="full" if full.data else "valid")
    # The gradient computes the mode from lengths.
    everything = pt.convolve(x, y)
    n, m = x.shape[0], y.shape[0]
    start = pt.switch(full, 0, pt.minimum(n, m) - 1)
    stop = pt.switch(full, n + m - 1, pt.maximum(n, m))
    return everything[start:stop]
