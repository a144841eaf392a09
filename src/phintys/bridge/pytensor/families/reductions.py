"""Reductions, and sums and products along an axis."""
# PyTensor need not be installed.
# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pytensor.scalar import basic
from pytensor.tensor.elemwise import CAReduce
from pytensor.tensor.extra_ops import CumOp
from pytensor.tensor.math import Argmax, MulWithoutZeros
from pytensor.tensor.special import LogSoftmax, LogSumExp, Softmax

import phintys.tensor as pt
from phintys.bridge.pytensor.callback import PyTensorOp
from phintys.bridge.pytensor.conversion import convert_op


def _axis(op: Any, x: Any) -> Any:
    """Return the axes of an Op. As NumPy, PyTensor takes axis 0 of a number, too."""
    return op.axis if x.ndim else None


def _sum(op: Any, x: Any) -> Any:
    return pt.sum(x, axis=_axis(op, x), dtype=op.dtype, acc_dtype=op.acc_dtype)


def _prod(op: Any, x: Any) -> Any:
    no_zeros = getattr(op, "no_zeros_in_input", False)
    return pt.prod(
        x, axis=_axis(op, x), dtype=op.dtype, acc_dtype=op.acc_dtype, no_zeros_in_input=no_zeros
    )


def _prod_without_zeros(op: Any, x: Any) -> Any:
    return _prod(op, pt.switch(pt.eq(x, 0), pt.ones_like(x), x))


REDUCTIONS: dict[type, Callable[[Any, Any], Any]] = {
    basic.Add: _sum,
    basic.Mul: _prod,
    MulWithoutZeros: _prod_without_zeros,
    basic.Maximum: lambda op, x: pt.max(x, axis=_axis(op, x)),
    basic.Minimum: lambda op, x: pt.min(x, axis=_axis(op, x)),
}
"""Class of the scalar Op that combines two elements -> the reduction."""

LOGICAL: dict[type, Callable[..., Any]] = {basic.AND: pt.all, basic.OR: pt.any}
"""As before, for bools alone: of integers these are bitwise."""


@convert_op.register(CAReduce)
def _reduce(op: Any, node: Any, x: Any) -> Any:
    kind = type(op.scalar_op)
    if kind in REDUCTIONS:
        return REDUCTIONS[kind](op, x)
    if kind in LOGICAL and x.type.dtype == "bool":
        return LOGICAL[kind](x, axis=_axis(op, x))
    return PyTensorOp(node)(x)


@convert_op.register(Argmax)
def _argmax(op: Any, node: Any, x: Any) -> Any:
    axes = tuple(range(x.ndim)) if op.axis is None else op.axis
    if len(axes) == 1:
        return pt.argmax(x, axis=axes[0])
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    rows = x.transpose(*kept, *axes)
    return pt.argmax(pt.join_dims(rows, len(kept), len(axes)), axis=-1)


@convert_op.register(CumOp)
def _cumulative(op: Any, node: Any, x: Any) -> Any:
    return (pt.cumsum if op.mode == "add" else pt.cumprod)(x, axis=op.axis)


@convert_op.register(Softmax)
def _softmax(op: Any, node: Any, x: Any) -> Any:
    return pt.softmax(x, axis=op.axis)


@convert_op.register(LogSoftmax)
def _log_softmax(op: Any, node: Any, x: Any) -> Any:
    return pt.log_softmax(x, axis=op.axis)


@convert_op.register(LogSumExp)
def _logsumexp(op: Any, node: Any, x: Any) -> Any:
    return pt.logsumexp(x, axis=op.axis)
