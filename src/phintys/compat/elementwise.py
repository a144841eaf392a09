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
from phintys._base.errors import PhintysError
from phintys.compat.old_classes import looked_up_in
from phintys.scalar import ScalarType
from phintys.tensor import Elemwise, functions, math

if TYPE_CHECKING:
    from phintys.graph import Apply

__all__ = ["FLOATING", "INTEGRAL", "NARROW"]

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


INTEGRAL = ("ceil", "floor", "reciprocal", "trunc")
"""Functions that return integers for integers in the core, and floats in the old packages."""


def _returns_floats(function: Any) -> bool:
    """Return whether an elementwise function returns floats for integers."""
    arity = max(function.scalar_op.nin, 1)
    try:
        (dtype,) = function.scalar_op.output_types([ScalarType("int8")] * arity)
    except PhintysError:
        return False  # not defined for integers
    return dtype.numpy_dtype.kind == "f"


def _old_functions() -> dict[str, Elemwise]:
    """Return the old form of each elementwise function whose dtypes differ."""
    found: dict[str, Elemwise] = {}
    for name in math.__all__:
        core: Any = functions.ELEMENTWISE.get(name, getattr(math, name))
        if core is math.true_div:
            found[name] = _Quotient(core)
        elif name in INTEGRAL:
            found[name] = _Floating(core, all_integers=True)
        elif isinstance(core, Elemwise) and _returns_floats(core):
            found[name] = _Floating(core)
    return found


FLOATING = _old_functions()
"""The functions by name; they are also attributes of this module."""

__getattr__ = looked_up_in(FLOATING, __name__)
