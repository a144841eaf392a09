"""Fourier transforms. Those of real numbers have real and imaginary parts along a last axis."""
# PyTensor need not be installed.
# pyright: reportMissingImports=false

from __future__ import annotations

from typing import Any

from pytensor.tensor.fft import IRFFTOp, RFFTOp
from pytensor.tensor.fourier import Fourier

import phintys.tensor as pt
from phintys.bridge.pytensor.callback import PyTensorOp
from phintys.bridge.pytensor.conversion import convert_op
from phintys.graph.variable import Constant


def _axes(x: Any) -> tuple[int, ...]:
    """Return the axes that are transformed: all but that of the batch."""
    return tuple(range(1, x.ndim))


@convert_op.register(RFFTOp)
def _rfft(op: Any, node: Any, x: Any, sizes: Any) -> Any:
    found = pt.fft.rfftn(x, s=[sizes[i] for i in range(x.ndim - 1)], axes=_axes(x))
    return pt.stack([found.real, found.imag], axis=-1)


@convert_op.register(IRFFTOp)
def _irfft(op: Any, node: Any, x: Any, sizes: Any) -> Any:
    whole = pt.complex(x[..., 0], x[..., 1])
    lengths = [sizes[i] for i in range(whole.ndim - 1)]
    return pt.fft.irfftn(whole, s=lengths, axes=_axes(whole)) * pt.prod(pt.stack(lengths))


@convert_op.register(Fourier)
def _fourier(op: Any, node: Any, x: Any, n: Any, axis: Any) -> Any:
    if not isinstance(axis, Constant):
        return PyTensorOp(node)(x, n, axis)
    return pt.fft.fft(x, n=n, axis=axis.data.item())
