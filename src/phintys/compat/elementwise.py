"""Elementwise functions whose result dtypes for integers and bools differ from NumPy's.

In Theano, Aesara and PyTensor, a floating-point function returns float32 for bools and for integers
of up to 16 bits, and float64 for wider ones, whereas NumPy returns float16 for the narrowest; and
the quotient of two integers has the dtype ``config.floatX``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import phintys.tensor as pt
from phintys._base.config import config
from phintys.tensor import Elemwise

if TYPE_CHECKING:
    from phintys.graph import Apply

__all__ = [
    "NARROW",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "betainc",
    "ceil",
    "cos",
    "cosh",
    "deg2rad",
    "digamma",
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfinv",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaln",
    "i0",
    "i1",
    "iv",
    "ive",
    "j0",
    "j1",
    "jv",
    "kve",
    "log",
    "log1mexp",
    "log1p",
    "log2",
    "log10",
    "owens_t",
    "rad2deg",
    "reciprocal",
    "sigmoid",
    "sin",
    "sinh",
    "softplus",
    "sqrt",
    "tan",
    "tanh",
    "trigamma",
    "true_div",
    "trunc",
]

NARROW = frozenset({"bool", "int8", "int16", "uint8", "uint16"})


def _is_discrete(x: Any) -> bool:
    """Return whether an operand is an integer or a bool: a variable, an array or a number."""
    if isinstance(x, bool | int):
        return True
    dtype = getattr(x, "dtype", None)
    return dtype is not None and np.dtype(dtype).kind in "biu"


class _OldElemwise(Elemwise):
    """An Elemwise that casts its operands as the old packages did.

    Its nodes apply the core's Op, to which it compares equal, so that rules apply to them.
    """

    def __init__(self, core: Any) -> None:
        super().__init__(core.scalar_op, name=core.name)
        self.core: Any = core

    def __eq__(self, other: object) -> bool:
        return self.core == (other.core if isinstance(other, _OldElemwise) else other)

    __hash__ = Elemwise.__hash__


class _Floating(_OldElemwise):
    """A floating-point function: narrow integers and bools are cast to float32.

    With ``all_integers``, wider integers are cast as well, if the core's function returns integers.
    """

    def __init__(self, core: Any, *, all_integers: bool = False) -> None:
        super().__init__(core)
        self.all_integers = all_integers

    def make_node(self, *inputs: Any) -> Apply:
        """Apply the core's Op to the operands cast to floats."""
        return self.core.make_node(*map(self._as_float, inputs))

    def _as_float(self, x: Any) -> Any:
        if not _is_discrete(x):
            return x
        if isinstance(x, int) and not self.all_integers:
            return x  # the dtype of a Python number follows from the other operands
        narrow = not isinstance(x, int) and str(x.dtype) in NARROW
        if not narrow and not self.all_integers:
            return x
        return pt.cast(x, "float32" if narrow else "float64")


class _Quotient(_OldElemwise):
    """``x / y``, which has the dtype ``floatX`` for two integers."""

    def make_node(self, *inputs: Any) -> Apply:
        """Apply the core's Op; cast the quotient of integers to ``floatX``."""
        node = self.core.make_node(*inputs)
        (quotient,) = node.outputs
        if not all(map(_is_discrete, inputs)) or quotient.dtype == config.floatX:
            return node
        rounded: Any = pt.cast(quotient, config.floatX)
        return rounded.owner


arccos = _Floating(pt.arccos)
arccosh = _Floating(pt.arccosh)
arcsin = _Floating(pt.arcsin)
arcsinh = _Floating(pt.arcsinh)
arctan = _Floating(pt.arctan)
arctan2 = _Floating(pt.arctan2)
arctanh = _Floating(pt.arctanh)
betainc = _Floating(pt.betainc)
ceil = _Floating(pt.ceil, all_integers=True)
cos = _Floating(pt.cos)
cosh = _Floating(pt.cosh)
deg2rad = _Floating(pt.deg2rad)
digamma = _Floating(pt.digamma)
erf = _Floating(pt.erf)
erfc = _Floating(pt.erfc)
erfcinv = _Floating(pt.erfcinv)
erfcx = _Floating(pt.erfcx)
erfinv = _Floating(pt.erfinv)
exp = _Floating(pt.exp)
exp2 = _Floating(pt.exp2)
expm1 = _Floating(pt.expm1)
floor = _Floating(pt.floor, all_integers=True)
gamma = _Floating(pt.gamma)
gammainc = _Floating(pt.gammainc)
gammaincc = _Floating(pt.gammaincc)
gammaln = _Floating(pt.gammaln)
i0 = _Floating(pt.i0)
i1 = _Floating(pt.i1)
iv = _Floating(pt.iv)
ive = _Floating(pt.ive)
j0 = _Floating(pt.j0)
j1 = _Floating(pt.j1)
jv = _Floating(pt.jv)
kve = _Floating(pt.kve)
log = _Floating(pt.log)
log10 = _Floating(pt.log10)
log1mexp = _Floating(pt.log1mexp)
log1p = _Floating(pt.log1p)
log2 = _Floating(pt.log2)
owens_t = _Floating(pt.owens_t)
rad2deg = _Floating(pt.rad2deg)
reciprocal = _Floating(pt.reciprocal, all_integers=True)
sigmoid = _Floating(pt.sigmoid)
sin = _Floating(pt.sin)
sinh = _Floating(pt.sinh)
softplus = _Floating(pt.softplus)
sqrt = _Floating(pt.sqrt)
tan = _Floating(pt.tan)
tanh = _Floating(pt.tanh)
trigamma = _Floating(pt.trigamma)
true_div = _Quotient(pt.true_div)
trunc = _Floating(pt.trunc, all_integers=True)
