"""Convolutions."""
# PyTensor need not be installed.
# pyright: reportMissingImports=false

from __future__ import annotations

from typing import Any

from pytensor.tensor.signal.conv import Convolve1d, Convolve2d

import phintys.tensor as pt
from phintys.bridge.pytensor.conversion import convert_op
from phintys.graph.variable import Constant


@convert_op.register(Convolve1d)
def _convolve(op: Any, node: Any, x: Any, y: Any, full: Any) -> Any:
    if isinstance(full, Constant):
        return pt.convolve(x, y, mode="full" if full.data else "valid")
    # The gradient computes the mode from lengths.
    return pt.convolve(x, y)[_part(x.shape[0], y.shape[0], full)]


def _part(n: Any, m: Any, full: Any) -> slice:
    """Return the part of all sums along an axis, or of those where one lies on the other."""
    start = pt.switch(full, 0, pt.minimum(n, m) - 1)
    stop = pt.switch(full, n + m - 1, pt.maximum(n, m))
    return slice(start, stop)


@convert_op.register(Convolve2d)
def _convolve_planes(op: Any, node: Any, x: Any, y: Any, full: Any) -> Any:
    everything = pt.signal.convolve2d(x, y)
    if isinstance(full, Constant) and full.data:
        return everything
    # Either one may be the larger one.
    return everything[tuple(_part(x.shape[axis], y.shape[axis], full) for axis in range(2))]
