"""Ops that make, reshape, join and split arrays."""
# PyTensor need not be installed.
# pyright: reportMissingImports=false

from __future__ import annotations

from typing import Any

import pytensor.tensor.extra_ops as extra
from pytensor.compile.ops import DeepCopyOp, TypeCastingOp, ViewOp
from pytensor.tensor import basic
from pytensor.tensor.reshape import JoinDims, SplitDims
from pytensor.tensor.shape import Reshape, Shape, Shape_i, SpecifyShape

import phintys.tensor as pt
from phintys.bridge.pytensor.conversion import convert_op
from phintys.sparse.operations import csm_shape, is_sparse


@convert_op.register(ViewOp)
@convert_op.register(DeepCopyOp)
@convert_op.register(TypeCastingOp)
@convert_op.register(extra.CpuContiguous)
def _same(op: Any, node: Any, x: Any) -> Any:
    return x


@convert_op.register(Shape)
def _shape(op: Any, node: Any, x: Any) -> Any:
    return csm_shape(x) if is_sparse(x) else pt.shape(x)


@convert_op.register(Shape_i)
def _shape_i(op: Any, node: Any, x: Any) -> Any:
    return x.shape[op.i]


@convert_op.register(SpecifyShape)
def _specify_shape(op: Any, node: Any, x: Any, *sizes: Any) -> Any:
    known = node.outputs[0].type.shape
    wanted = [one if length is None else length for one, length in zip(sizes, known, strict=True)]
    return pt.specify_shape(x, wanted)


@convert_op.register(Reshape)
def _reshape(op: Any, node: Any, x: Any, sizes: Any) -> Any:
    if op.ndim == 0:  # the vector of no sizes can be of any dtype
        return pt.reshape(x, ())
    return pt.reshape(x, sizes, ndim=op.ndim)


@convert_op.register(JoinDims)
def _join_dims(op: Any, node: Any, x: Any) -> Any:
    return pt.join_dims(x, op.start_axis, op.n_axes)


@convert_op.register(SplitDims)
def _split_dims(op: Any, node: Any, x: Any, sizes: Any) -> Any:
    count = node.inputs[1].type.shape[0]
    return pt.split_dims(x, [sizes[i] for i in range(count)], op.axis)


@convert_op.register(basic.Alloc)
def _alloc(op: Any, node: Any, value: Any, *sizes: Any) -> Any:
    return pt.alloc(value, *sizes)


@convert_op.register(basic.AllocEmpty)
def _alloc_empty(op: Any, node: Any, *sizes: Any) -> Any:
    return pt.empty(sizes, dtype=op.dtype)


@convert_op.register(basic.MakeVector)
def _make_vector(op: Any, node: Any, *elements: Any) -> Any:
    if not elements:
        return pt.zeros((0,), dtype=op.dtype)
    return pt.stack([pt.cast(one, op.dtype) for one in elements])


@convert_op.register(basic.ARange)
def _arange(op: Any, node: Any, start: Any, stop: Any, step: Any) -> Any:
    return pt.arange(start, stop, step, dtype=op.dtype)


@convert_op.register(basic.Eye)
def _eye(op: Any, node: Any, n: Any, m: Any, k: Any) -> Any:
    return pt.eye(n, m, k, dtype=op.dtype)


@convert_op.register(basic.Join)
def _join(op: Any, node: Any, *tensors: Any) -> Any:
    return pt.concatenate(tensors, axis=op.axis)


@convert_op.register(basic.Split)
def _split(op: Any, node: Any, x: Any, sizes: Any) -> Any:
    return pt.split(x, sizes, n_splits=op.len_splits, axis=op.axis)


@convert_op.register(basic.ExtractDiag)
def _extract_diag(op: Any, node: Any, x: Any) -> Any:
    return pt.diagonal(x, op.offset, op.axis1, op.axis2)


@convert_op.register(extra.Repeat)
def _repeat(op: Any, node: Any, x: Any, repeats: Any) -> Any:
    return pt.repeat(x, repeats, axis=op.axis)


@convert_op.register(extra.FillDiagonal)
def _fill_diagonal(op: Any, node: Any, x: Any, value: Any) -> Any:
    return pt.fill_diagonal(x, value)


@convert_op.register(extra.FillDiagonalOffset)
def _fill_diagonal_offset(op: Any, node: Any, x: Any, value: Any, offset: Any) -> Any:
    return pt.fill_diagonal_offset(x, value, offset)


@convert_op.register(extra.Bartlett)
def _bartlett(op: Any, node: Any, length: Any) -> Any:
    return pt.bartlett(length)
