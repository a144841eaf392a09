"""Fill the table behind the operators and methods of tensor variables.

Importing this module, which :mod:`phintys.tensor` does, makes ``x + y`` and ``x.sum()`` work.
"""

from __future__ import annotations

from typing import Any

from phintys.tensor import (
    convert,
    creation,
    cumulative,
    diagonals,
    dimshuffle,
    dot,
    extremes,
    indexing,
    join,
    linalg,
    math,
    nonzero,
    reduce,
    reshape,
    shape,
    sorting,
    statistics,
    tiling,
)
from phintys.tensor._operators import operators

__all__: list[str] = []


def _as_tensor_variable(x: Any) -> Any:
    """Convert as :func:`convert.as_tensor_variable`; lists that hold variables are stacked."""
    if isinstance(x, list | tuple) and convert.contains_variable(x):
        return join.stack_nested(x)
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
operators.dimshuffle = dimshuffle.dimshuffle
operators.divmod = math.divmod
operators.dot = dot.dot
operators.fill = math.fill
operators.flatten = reshape.flatten
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
operators.matmul = dot.matmul
operators.max = reduce.max
operators.mean = statistics.mean
operators.min = reduce.min
operators.mod = math.mod
operators.mul = math.mul
operators.neg = math.neg
operators.nonzero = nonzero.nonzero
operators.norm = linalg.vector_norm
operators.ones_like = creation.ones_like
operators.pow = math.pow
operators.prod = reduce.prod
operators.real = math.real
operators.repeat = tiling.repeat
operators.reshape = reshape.reshape
operators.right_shift = math.right_shift
operators.round = math.round
operators.set_subtensor = indexing.set_subtensor
operators.shape = shape.shape
operators.size = shape.size
operators.sort = sorting.sort
operators.specify_shape = shape.specify_shape
operators.squeeze = dimshuffle.squeeze
operators.std = statistics.std
operators.sub = math.sub
operators.sum = reduce.sum
operators.swapaxes = dimshuffle.swapaxes
operators.take = indexing.take
operators.trace = diagonals.trace
operators.transpose = dimshuffle.transpose
operators.true_div = math.true_div
operators.trunc = math.trunc
operators.var = statistics.var
operators.zeros_like = creation.zeros_like
