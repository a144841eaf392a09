"""Fill the table behind the operators and methods of tensor variables.

Importing this module, which :mod:`phintys.tensor` does, makes ``x + y`` and ``x.sum()`` work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys import scalar as ps
from phintys._base.late import LateModule
from phintys.tensor import (
    comparing,
    convert,
    creation,
    cumulative,
    diagonals,
    extremes,
    guards,
    indexing,
    math,
    reduce,
    sorting,
    tiling,
)
from phintys.tensor._operators import operators
from phintys.tensor.dim_shuffle import dimshuffle, squeeze, swapaxes, transpose
from phintys.tensor.elemwise import elemwise
from phintys.tensor.joining import stack_nested
from phintys.tensor.nonzeros import nonzero
from phintys.tensor.products import dot, matmul
from phintys.tensor.reshaping import flatten, reshape
from phintys.tensor.shapes import shape, size, specify_shape
from phintys.tensor.statistics import moments

if TYPE_CHECKING:
    from phintys.tensor import numpy_protocol
    from phintys.tensor.linear_algebra import norms
else:
    norms = LateModule("phintys.tensor.linear_algebra.norms")
    numpy_protocol = LateModule("phintys.tensor.numpy_protocol")

__all__: list[str] = []


def _norm(*args: Any, **kwargs: Any) -> Any:
    return norms.vector_norm(*args, **kwargs)


def _as_tensor_variable(x: Any) -> Any:
    """Convert as :func:`convert.as_tensor_variable` does; lists that hold variables are stacked."""
    if isinstance(x, list | tuple) and convert.contains_variable(x):
        return stack_nested(x)
    return convert.as_tensor_variable(x)


operators.abs = math.abs
operators.add = math.add
operators.all = reduce.all
operators.any = reduce.any
operators.argmax = extremes.argmax
operators.argmin = extremes.argmin
operators.argsort = sorting.argsort
operators.as_tensor_variable = _as_tensor_variable
operators.bitwise_and = math.and_
operators.bitwise_or = math.or_
operators.bitwise_xor = math.xor
operators.cast = math.cast
operators.ceil = math.ceil
operators.clip = math.clip
operators.conj = math.conj
operators.copy = lambda x, name=None: math.tensor_copy(x, name=name)
operators.cumprod = cumulative.cumprod
operators.cumsum = cumulative.cumsum
operators.diagonal = diagonals.diagonal
operators.dimshuffle = dimshuffle
operators.divmod = math.divmod
operators.dot = dot
operators.equal = comparing.equal
operators.fill = math.fill
operators.flatten = flatten
operators.floor = math.floor
operators.floor_div = math.int_div
operators.ge = math.ge
operators.gt = math.gt
operators.imag = math.imag
operators.inc_subtensor = indexing.inc_subtensor
operators.index = indexing.index
operators.invert = math.invert
operators.le = math.le
operators.left_shift = math.left_shift
operators.lt = math.lt
operators.matmul = matmul
operators.max = reduce.max
operators.mean = moments.mean
operators.min = reduce.min
operators.mod = math.mod
operators.mul = math.mul
operators.neg = math.neg
operators.nonzero = nonzero
operators.numpy_protocol = numpy_protocol
operators.norm = _norm
operators.not_equal = comparing.not_equal
operators.ones_like = creation.ones_like
operators.pow = math.power_of
operators.prod = reduce.prod
operators.pull_back_guarded = guards.pull_back_guarded
operators.real = math.real
operators.repeat = tiling.repeat
operators.reshape = reshape
operators.right_shift = math.right_shift
operators.round = math.round
operators.set_subtensor = indexing.set_subtensor
operators.shape = shape
operators.size = size
operators.sort = sorting.sort
operators.specify_shape = specify_shape
operators.squeeze = squeeze
operators.std = moments.std
operators.sub = math.sub
operators.sum = reduce.sum
operators.swapaxes = swapaxes
operators.take = indexing.take
operators.trace = diagonals.trace
operators.transpose = transpose
operators.true_div = math.true_div
operators.trunc = math.trunc
operators.var = moments.var
operators.zeros_like = creation.zeros_like

operators.ufuncs = {
    op.scalar_op.ufunc: op
    for op in map(elemwise, ps.SCALAR_OPS.values())
    if op.scalar_op.ufunc is not None
} | {np.add: math.add, np.multiply: math.mul, np.matmul: matmul, np.divmod: math.divmod}
