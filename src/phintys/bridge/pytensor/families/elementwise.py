"""PyTensor's scalar Ops, one table, and elementwise Ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add, mul
from typing import Any

import pytensor.scalar.math as special
from pytensor.scalar import basic
from pytensor.scalar.basic import ScalarOp
from pytensor.scalar.loop import ScalarLoop
from pytensor.tensor.basic import ScalarFromTensor, TensorFromScalar
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.math import MulWithoutZeros

import phintys.tensor as pt
from phintys.bridge.pytensor.callback import PyTensorOp
from phintys.bridge.pytensor.conversion import convert_op
from phintys.tensor.broadcasting import broadcast_arrays

# PyTensor need not be installed.
# pyright: reportMissingImports=false


def _without_zeros(x: Any, y: Any) -> Any:
    """Return the product of the factors that are not zero."""
    return pt.switch(pt.eq(x, 0), y, pt.switch(pt.eq(y, 0), x, x * y))


def _minimum(*operands: Any) -> Any:
    return reduce(pt.minimum, operands)


def _maximum(*operands: Any) -> Any:
    return reduce(pt.maximum, operands)


SCALARS: dict[type, Callable[..., Any]] = {
    basic.Add: lambda *operands: reduce(add, operands),
    basic.Mul: lambda *operands: reduce(mul, operands),
    basic.Sub: pt.sub,
    basic.TrueDiv: pt.true_div,
    basic.IntDiv: pt.int_div,
    basic.Mod: pt.mod,
    basic.Pow: pt.pow,
    basic.Clip: pt.clip,
    basic.Second: pt.second,
    basic.Identity: lambda x: x,
    basic.Switch: pt.switch,
    basic.Maximum: _maximum,
    basic.Minimum: _minimum,
    basic.LT: pt.lt,
    basic.GT: pt.gt,
    basic.LE: pt.le,
    basic.GE: pt.ge,
    basic.EQ: pt.eq,
    basic.NEQ: pt.neq,
    basic.IsNan: pt.isnan,
    basic.IsInf: pt.isinf,
    basic.AND: lambda *operands: reduce(pt.and_, operands),
    basic.OR: lambda *operands: reduce(pt.or_, operands),
    basic.XOR: lambda *operands: reduce(pt.xor, operands),
    basic.Invert: pt.invert,
    basic.Abs: pt.abs,
    basic.Neg: pt.neg,
    basic.Sign: pt.sign,
    basic.Reciprocal: pt.reciprocal,
    basic.Ceil: pt.ceil,
    basic.Floor: pt.floor,
    basic.Trunc: pt.trunc,
    basic.RoundHalfToEven: pt.rint,
    basic.RoundHalfAwayFromZero: pt.round_half_away,
    basic.Sqr: pt.sqr,
    basic.Sqrt: pt.sqrt,
    basic.Exp: pt.exp,
    basic.Exp2: pt.exp2,
    basic.Expm1: pt.expm1,
    basic.Log: pt.log,
    basic.Log2: pt.log2,
    basic.Log10: pt.log10,
    basic.Log1p: pt.log1p,
    basic.Sin: pt.sin,
    basic.Cos: pt.cos,
    basic.Tan: pt.tan,
    basic.ArcSin: pt.arcsin,
    basic.ArcCos: pt.arccos,
    basic.ArcTan: pt.arctan,
    basic.ArcTan2: pt.arctan2,
    basic.Sinh: pt.sinh,
    basic.Cosh: pt.cosh,
    basic.Tanh: pt.tanh,
    basic.ArcSinh: pt.arcsinh,
    basic.ArcCosh: pt.arccosh,
    basic.ArcTanh: pt.arctanh,
    basic.Real: pt.real,
    basic.Imag: pt.imag,
    basic.Conj: pt.conj,
    basic.Complex: pt.complex,
    special.Erf: pt.erf,
    special.Erfc: pt.erfc,
    special.Erfcx: pt.erfcx,
    special.Erfinv: pt.erfinv,
    special.Erfcinv: pt.erfcinv,
    special.NdtriExp: pt.ndtri_exp,
    special.Owens_t: pt.owens_t,
    special.Gamma: pt.gamma,
    special.GammaLn: pt.gammaln,
    special.Psi: pt.digamma,
    special.TriGamma: pt.trigamma,
    special.PolyGamma: pt.polygamma,
    special.GammaInc: pt.gammainc,
    special.GammaIncC: pt.gammaincc,
    special.GammaIncInv: pt.gammaincinv,
    special.GammaIncCInv: pt.gammainccinv,
    special.BetaInc: pt.betainc,
    special.BetaIncInv: pt.betaincinv,
    special.Hyp2F1: pt.hyp2f1,
    special.J0: pt.j0,
    special.J1: pt.j1,
    special.Jv: pt.jv,
    special.I0: pt.i0,
    special.I1: pt.i1,
    special.Ive: pt.ive,
    special.Kve: pt.kve,
    special.Sigmoid: pt.sigmoid,
    special.Softplus: pt.softplus,
    special.Log1mexp: pt.log1mexp,
    MulWithoutZeros: _without_zeros,
}
"""Class of scalar Op -> function of tensors. Add those of your own; casts and Ops with graphs are
converted apart."""


def apply_scalar(op: Any, inputs: Sequence[Any], dtype: str | None) -> list[Any] | None:
    """Return the outputs of a scalar Op for tensors, elementwise; ``None`` if it is not known.

    Parameters
    ----------
    op
        A scalar Op of PyTensor.
    inputs
        The tensors.
    dtype
        The dtype of its output. Floating-point functions of integers are computed in it: PyTensor's
        of small integers have more digits than NumPy's.
    """
    if isinstance(op, basic.Cast):
        return [pt.cast(inputs[0], op.o_type.dtype)]
    if isinstance(op, basic.ScalarInnerGraphOp) and not isinstance(op, ScalarLoop):
        return _inner(op.fgraph, inputs)
    for cls in type(op).__mro__:
        if cls in SCALARS:
            return [SCALARS[cls](*_in_float(inputs, dtype))]
    return None


def _in_float(inputs: Sequence[Any], dtype: str | None) -> Sequence[Any]:
    """Return the inputs in the dtype of the output, if it is a float and they are integers."""
    if dtype is None or not dtype.startswith("float"):
        return inputs
    if any(one.type.dtype.startswith(("float", "complex")) for one in inputs):
        return inputs
    return [pt.cast(one, dtype) for one in inputs]


def _inner(fgraph: Any, inputs: Sequence[Any]) -> list[Any] | None:
    """Return the outputs of an inner graph of scalars, for tensors."""
    known = dict(zip(fgraph.inputs, inputs, strict=True))
    for node in fgraph.toposort():
        given = [known[one] if one in known else pt.constant(one.data) for one in node.inputs]
        found = apply_scalar(node.op, given, node.outputs[0].type.dtype)
        if found is None:
            return None
        for theirs, ours in zip(node.outputs, found, strict=True):
            same = ours.type.dtype == theirs.type.dtype
            known[theirs] = ours if same else pt.cast(ours, theirs.type.dtype)
    return [known[one] if one in known else pt.constant(one.data) for one in fgraph.outputs]


# PyTensor need not be installed.
# pyright: reportMissingImports=false


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
