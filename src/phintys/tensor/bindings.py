"""Fill the table behind the operators and methods of tensor variables.

Importing this module, which :mod:`phintys.tensor` does, makes ``x + y`` and ``x.sum()`` work, lets
tensor functions take scalar variables, and says how ``pprint`` writes tensor expressions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys import scalar as ps
from phintys._base.late import LateModule
from phintys.graph.pretty import pprint
from phintys.scalar.variable import ScalarConstant, ScalarVariable
from phintys.tensor import comparing, convert, math
from phintys.tensor._operators import operators
from phintys.tensor.elemwise import elemwise
from phintys.tensor.scalar_bridge import convert_scalar
from phintys.tensor.symbolic_shapes import SymbolicShapes

if TYPE_CHECKING:
    from phintys.tensor import guards, joining, numpy_protocol
    from phintys.tensor.indexing import parse
    from phintys.tensor.linear_algebra import norms
else:
    guards = LateModule("phintys.tensor.guards")
    joining = LateModule("phintys.tensor.joining")
    norms = LateModule("phintys.tensor.linear_algebra.norms")
    numpy_protocol = LateModule("phintys.tensor.numpy_protocol")
    parse = LateModule("phintys.tensor.indexing.parse")


def _norm(*args: Any, **kwargs: Any) -> Any:
    return norms.vector_norm(*args, **kwargs)


def _index(*args: Any) -> Any:
    return parse.index(*args)


def _pull_back_guarded(*args: Any) -> Any:
    return guards.pull_back_guarded(*args)


def _matmul(x: Any, y: Any) -> Any:
    return operators.matmul(x, y)


def _as_tensor_variable(x: Any) -> Any:
    """Convert as :func:`convert.as_tensor_variable` does; lists that hold variables are stacked."""
    if isinstance(x, list | tuple) and convert.contains_variable(x):
        return joining.stack_nested(x)
    return convert.as_tensor_variable(x)


operators.abs = math.abs
operators.add = math.add
operators.as_tensor_variable = _as_tensor_variable
operators.bitwise_and = math.and_
operators.bitwise_or = math.or_
operators.bitwise_xor = math.xor
operators.cast = math.cast
operators.ceil = math.ceil
operators.clip = math.clip
operators.conj = math.conj
operators.copy = lambda x, name=None: math.tensor_copy(x, name=name)
operators.divmod = math.divmod
operators.equal = comparing.equal
operators.fill = math.fill
operators.floor = math.floor
operators.floor_div = math.int_div
operators.ge = math.ge
operators.gt = math.gt
operators.imag = math.imag
operators.index = _index
operators.invert = math.invert
operators.le = math.le
operators.left_shift = math.left_shift
operators.lt = math.lt
operators.mod = math.mod
operators.mul = math.mul
operators.neg = math.neg
operators.numpy_protocol = numpy_protocol
operators.norm = _norm
operators.not_equal = comparing.not_equal
operators.pow = math.power_of
operators.pull_back_guarded = _pull_back_guarded
operators.real = math.real
operators.right_shift = math.right_shift
operators.round = math.round
operators.symbolic_shapes = SymbolicShapes
operators.sub = math.sub
operators.true_div = math.true_div
operators.trunc = math.trunc

operators.ufuncs = {
    op.scalar_op.ufunc: op
    for op in map(elemwise, ps.SCALAR_OPS.values())
    if op.scalar_op.ufunc is not None
} | {np.add: math.add, np.multiply: math.mul, np.matmul: _matmul, np.divmod: math.divmod}

convert.register_conversion(ScalarVariable, convert_scalar)
convert.register_conversion(ScalarConstant, convert_scalar)

pprint.late.append(LateModule("phintys.tensor.printing"))
