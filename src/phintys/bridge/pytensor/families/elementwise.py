"""Elementwise Ops, and Ops of scalars."""
# PyTensor need not be installed.
# pyright: reportMissingImports=false

from __future__ import annotations

from typing import Any

from pytensor.scalar.basic import ScalarOp
from pytensor.tensor.basic import ScalarFromTensor, TensorFromScalar
from pytensor.tensor.elemwise import DimShuffle, Elemwise

from phintys.bridge.pytensor.callback import PyTensorOp
from phintys.bridge.pytensor.conversion import convert_op
from phintys.bridge.pytensor.families.scalars import apply_scalar
from phintys.tensor.broadcasting import broadcast_arrays


@convert_op.register(Elemwise)
def _elemwise(op: Any, node: Any, *inputs: Any) -> Any:
    return _scalar(op.scalar_op, node, *inputs)


@convert_op.register(ScalarOp)
def _scalar(op: Any, node: Any, *inputs: Any) -> Any:
    found = apply_scalar(op, inputs, getattr(node.outputs[0].type, "dtype", None))
    if found is None:
        return PyTensorOp(node)(*inputs, return_list=True)
    ndim = getattr(node.outputs[0].type, "ndim", 0)
    if all(one.ndim == ndim for one in found):
        return found
    return [broadcast_arrays(one, *inputs)[0] for one in found]


@convert_op.register(DimShuffle)
def _dim_shuffle(op: Any, node: Any, x: Any) -> Any:
    return x.dimshuffle(*op.new_order)


@convert_op.register(ScalarFromTensor)
@convert_op.register(TensorFromScalar)
def _same(op: Any, node: Any, x: Any) -> Any:
    return x
