"""Scalar variables: symbolic numbers with Python's operators."""

from __future__ import annotations

from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import TypeContractError
from phintys.graph.variable import Constant, Variable
from phintys.scalar.operators import OPERATORS

if TYPE_CHECKING:
    from phintys.scalar.type import ScalarType

# What an operator accepts as its other operand; anything else can handle it (`__radd__`).
_OPERANDS = (Variable, bool, int, float, complex, np.generic, np.ndarray)
_COMPARABLE = (*_OPERANDS, Number)


class ScalarVariable(Variable):
    """A symbolic number.

    Python's operators build expressions; a Python literal takes the dtype that NumPy would give it
    next to the other operand, so that a float32 stays a float32. ``==`` and ``!=`` are expressions
    too; where Python needs their truth value, as in ``x in variables``, two variables are equal if
    they are the same object.

    Examples
    --------
    >>> from phintys.scalar import float32
    >>> x = float32("x")
    >>> (2 * x + 1).type
    ScalarType(float32)
    """

    type: ScalarType

    # ndarray + variable is left to the variable.
    __array_ufunc__ = None

    @property
    def dtype(self) -> str:
        """The name of the dtype."""
        return self.type.dtype

    _truth: bool | None = None  # set by == and != of two variables

    def __bool__(self) -> bool:
        if self._truth is not None:  # x == y: Python searches a list for a variable, or compares
            return self._truth
        msg = (
            f"The truth of {self} is not known before a function computes it. "
            "For a symbolic choice use switch(condition, a, b); to ask whether two names mean the "
            "same variable write `x is y`."
        )
        raise TypeContractError(msg)

    def __add__(self, other: Any) -> Any:
        return OPERATORS.add(self, other) if isinstance(other, _OPERANDS) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return OPERATORS.add(other, self) if isinstance(other, _OPERANDS) else NotImplemented

    def __sub__(self, other: Any) -> Any:
        return OPERATORS.sub(self, other) if isinstance(other, _OPERANDS) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return OPERATORS.sub(other, self) if isinstance(other, _OPERANDS) else NotImplemented

    def __mul__(self, other: Any) -> Any:
        return OPERATORS.mul(self, other) if isinstance(other, _OPERANDS) else NotImplemented

    def __rmul__(self, other: Any) -> Any:
        return OPERATORS.mul(other, self) if isinstance(other, _OPERANDS) else NotImplemented

    def __truediv__(self, other: Any) -> Any:
        return OPERATORS.true_div(self, other) if isinstance(other, _OPERANDS) else NotImplemented

    def __rtruediv__(self, other: Any) -> Any:
        return OPERATORS.true_div(other, self) if isinstance(other, _OPERANDS) else NotImplemented

    def __floordiv__(self, other: Any) -> Any:
        return OPERATORS.int_div(self, other) if isinstance(other, _OPERANDS) else NotImplemented

    def __rfloordiv__(self, other: Any) -> Any:
        return OPERATORS.int_div(other, self) if isinstance(other, _OPERANDS) else NotImplemented

    def __mod__(self, other: Any) -> Any:
        return OPERATORS.mod(self, other) if isinstance(other, _OPERANDS) else NotImplemented

    def __rmod__(self, other: Any) -> Any:
        return OPERATORS.mod(other, self) if isinstance(other, _OPERANDS) else NotImplemented

    def __divmod__(self, other: Any) -> Any:
        return (self // other, self % other)

    def __rdivmod__(self, other: Any) -> Any:
        return (other // self, other % self)

    def __pow__(self, other: Any) -> Any:
        return OPERATORS.pow(self, other) if isinstance(other, _OPERANDS) else NotImplemented

    def __rpow__(self, other: Any) -> Any:
        return OPERATORS.pow(other, self) if isinstance(other, _OPERANDS) else NotImplemented

    def __and__(self, other: Any) -> Any:
        return OPERATORS.and_(self, other) if isinstance(other, _OPERANDS) else NotImplemented

    def __rand__(self, other: Any) -> Any:
        return OPERATORS.and_(other, self) if isinstance(other, _OPERANDS) else NotImplemented

    def __or__(self, other: Any) -> Any:
        return OPERATORS.or_(self, other) if isinstance(other, _OPERANDS) else NotImplemented

    def __ror__(self, other: Any) -> Any:
        return OPERATORS.or_(other, self) if isinstance(other, _OPERANDS) else NotImplemented

    def __xor__(self, other: Any) -> Any:
        return OPERATORS.xor(self, other) if isinstance(other, _OPERANDS) else NotImplemented

    def __rxor__(self, other: Any) -> Any:
        return OPERATORS.xor(other, self) if isinstance(other, _OPERANDS) else NotImplemented

    def __lshift__(self, other: Any) -> Any:
        return OPERATORS.left_shift(self, other) if isinstance(other, _OPERANDS) else NotImplemented

    def __rlshift__(self, other: Any) -> Any:
        return OPERATORS.left_shift(other, self) if isinstance(other, _OPERANDS) else NotImplemented

    def __rshift__(self, other: Any) -> Any:
        if not isinstance(other, _OPERANDS):
            return NotImplemented
        return OPERATORS.right_shift(self, other)

    def __rrshift__(self, other: Any) -> Any:
        if not isinstance(other, _OPERANDS):
            return NotImplemented
        return OPERATORS.right_shift(other, self)

    def __lt__(self, other: Any) -> Any:
        return OPERATORS.lt(self, other) if isinstance(other, _OPERANDS) else NotImplemented

    def __le__(self, other: Any) -> Any:
        return OPERATORS.le(self, other) if isinstance(other, _OPERANDS) else NotImplemented

    def __gt__(self, other: Any) -> Any:
        return OPERATORS.gt(self, other) if isinstance(other, _OPERANDS) else NotImplemented

    def __ge__(self, other: Any) -> Any:
        return OPERATORS.ge(self, other) if isinstance(other, _OPERANDS) else NotImplemented

    def __eq__(self, other: object) -> Any:
        return _compare(OPERATORS.eq, self, other, self is other)

    def __ne__(self, other: object) -> Any:
        return _compare(OPERATORS.ne, self, other, self is not other)

    __hash__ = object.__hash__

    def eq(self, other: Any) -> Any:
        """Return whether the values are equal, as a bool scalar."""
        return OPERATORS.eq(self, other)

    def ne(self, other: Any) -> Any:
        """Return whether the values differ, as a bool scalar."""
        return OPERATORS.ne(self, other)

    def __neg__(self) -> Any:
        return OPERATORS.neg(self)

    def __pos__(self) -> Any:
        return OPERATORS.pos(self)

    def __abs__(self) -> Any:
        return OPERATORS.abs(self)

    def __invert__(self) -> Any:
        return OPERATORS.invert(self)

    def __ceil__(self) -> Any:
        return OPERATORS.ceil(self)

    def __floor__(self) -> Any:
        return OPERATORS.floor(self)

    def __trunc__(self) -> Any:
        return OPERATORS.trunc(self)

    def __round__(self) -> Any:
        return OPERATORS.round(self)

    @property
    def real(self) -> Any:
        """The real part."""
        return OPERATORS.real(self)

    @property
    def imag(self) -> Any:
        """The imaginary part."""
        return OPERATORS.imag(self)

    def conj(self) -> Any:
        """Return the complex conjugate."""
        return OPERATORS.conj(self)

    def astype(self, dtype: Any) -> Any:
        """Return the value cast to another dtype."""
        return OPERATORS.cast(self, dtype)

    def zeros_like(self, dtype: Any = None) -> Any:
        """Return 0 of this dtype, or of the given one."""
        return self.type.clone(dtype=dtype).make_constant(0)

    def ones_like(self, dtype: Any = None) -> Any:
        """Return 1 of this dtype, or of the given one."""
        return self.type.clone(dtype=dtype).make_constant(1)


class ScalarConstant(ScalarVariable, Constant):
    """A number that is known when the graph is built.

    Examples
    --------
    >>> from phintys.scalar import constant
    >>> constant(3).type, constant(3).data
    (ScalarType(int64), np.int64(3))
    """

    def __str__(self) -> str:
        return self.name if self.name is not None else str(self.data)


def _compare(op: Any, x: ScalarVariable, other: object, truth: bool) -> Any:
    """Return ``x == other`` or ``x != other``; NotImplemented if ``other`` is not a number."""
    if not isinstance(other, _COMPARABLE):
        return NotImplemented
    try:
        result = op(x, other)
    except TypeContractError:
        if isinstance(other, Number):  # a Fraction, say: it may be equal, but is not a dtype's
            raise
        return NotImplemented  # a variable of another Type
    if isinstance(other, Variable):
        result._truth = truth
    return result
