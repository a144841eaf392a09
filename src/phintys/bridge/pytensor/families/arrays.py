"""Ops that make, reshape, join, split, index, sort and search arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytensor.tensor.extra_ops as extra
from pytensor.compile.ops import DeepCopyOp, TypeCastingOp, ViewOp
from pytensor.tensor import basic, subtensor
from pytensor.tensor.extra_ops import SearchsortedOp, Unique
from pytensor.tensor.reshape import JoinDims, SplitDims
from pytensor.tensor.shape import Reshape, Shape, Shape_i, SpecifyShape
from pytensor.tensor.sort import ArgSortOp, SortOp
from pytensor.tensor.type_other import MakeSlice

import phintys.tensor as pt
from phintys.bridge.pytensor.conversion import convert_op
from phintys.sparse.operations import csm_shape, is_sparse

# PyTensor need not be installed.
# pyright: reportMissingImports=false


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


# PyTensor need not be installed.
# pyright: reportMissingImports=false


def _index(op: Any, given: Sequence[Any]) -> tuple[Any, ...]:
    """Return the index of a node, from its form in the Op and from the inputs."""
    rest = iter(given)
    return tuple(_entry(entry, rest) for entry in op.idx_list)


def _entry(entry: Any, rest: Iterator[Any]) -> Any:
    if not isinstance(entry, slice):
        return next(rest)
    bounds = (entry.start, entry.stop, entry.step)
    return slice(*(None if one is None else next(rest) for one in bounds))


@convert_op.register(subtensor.Subtensor)
@convert_op.register(subtensor.AdvancedSubtensor)
def _subtensor(op: Any, node: Any, x: Any, *given: Any) -> Any:
    return x[_index(op, given)]


@convert_op.register(subtensor.IncSubtensor)
@convert_op.register(subtensor.AdvancedIncSubtensor)
def _inc_subtensor(op: Any, node: Any, x: Any, y: Any, *given: Any) -> Any:
    part = x[_index(op, given)]
    if op.set_instead_of_inc:
        return pt.set_subtensor(part, y)
    return pt.inc_subtensor(part, y, ignore_duplicates=getattr(op, "ignore_duplicates", False))


@convert_op.register(MakeSlice)
def _make_slice(op: Any, node: Any, *bounds: Any) -> Any:
    return slice(*bounds)


@convert_op.register(basic.Nonzero)
def _nonzero(op: Any, node: Any, x: Any) -> Any:
    return list(pt.nonzero(x))


@convert_op.register(basic.Choose)
def _choose(op: Any, node: Any, x: Any, choices: Any) -> Any:
    return pt.choose(x, choices, mode=op.mode)


@convert_op.register(extra.UnravelIndex)
def _unravel_index(op: Any, node: Any, places: Any, sizes: Any) -> Any:
    return list(pt.unravel_index(places, sizes, order=op.order))


@convert_op.register(extra.RavelMultiIndex)
def _ravel_multi_index(op: Any, node: Any, *given: Any) -> Any:
    *places, sizes = given
    return pt.ravel_multi_index(places, sizes, mode=op.mode, order=op.order)


@convert_op.register(basic.PermuteRowElements)
def _permute(op: Any, node: Any, x: Any, places: Any) -> Any:
    return pt.permute_row_elements(x, places, inverse=op.inverse)


# PyTensor need not be installed.
# pyright: reportMissingImports=false


@convert_op.register(SortOp)
def _sort(op: Any, node: Any, x: Any) -> Any:
    return pt.sort(x, axis=op.axis, kind=op.kind)


@convert_op.register(ArgSortOp)
def _argsort(op: Any, node: Any, x: Any) -> Any:
    return pt.argsort(x, axis=op.axis, kind=op.kind)


@convert_op.register(SearchsortedOp)
def _searchsorted(op: Any, node: Any, x: Any, v: Any, sorter: Any = None) -> Any:
    return pt.searchsorted(x, v, side=op.side, sorter=sorter)


@convert_op.register(Unique)
def _unique(op: Any, node: Any, x: Any) -> Any:
    return pt.unique(x, op.return_index, op.return_inverse, op.return_counts, axis=op.axis)
