"""Convolutions, and Fourier transforms: those of real numbers have parts along a last axis."""
# PyTensor need not be installed.
# pyright: reportMissingImports=false

from __future__ import annotations

from typing import Any

from pytensor.tensor.fft import IRFFTOp, RFFTOp
from pytensor.tensor.fourier import Fourier
from pytensor.tensor.signal.conv import Convolve1d, Convolve2d

import phintys.tensor as pt
from phintys.bridge.pytensor.callback import PyTensorOp
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
