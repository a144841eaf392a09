"""Comparison of tensor variables by ``==`` and ``!=``: elementwise, but identity as truth value.

An expression has no truth value, but Python needs one when it looks for a variable in a list or
compares variables as part of other objects: ``x in inputs``, ``inputs.index(x)``,
``(x, 1) == (y, 1)``. So the result of ``==`` or ``!=`` between two *variables* records, on that one
object, whether the two are identical; the result for a variable and a value does not.
"""

from __future__ import annotations

from numbers import Number
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from phintys._base.errors import ShapeError, TypeContractError
from phintys.graph.variable import Variable
from phintys.tensor import math
from phintys.tensor.convert import register_conversion
from phintys.tensor.type import is_array_like

if TYPE_CHECKING:
    from phintys.tensor.variable import TensorMethods

# Anything else is an array of another library, or not a tensor and may compare itself.
_COMPARABLE = (Variable, bool, int, float, complex, np.generic, np.ndarray, list, tuple, Number)


class Mismatch:
    """The result of ``x == y`` when the static shapes of the variables do not broadcast.

    Its truth value says whether the variables are the same object, so ``x in [y]`` works; any use
    as an array raises the error that the elementwise comparison raises.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> x, y = pt.vector("x", shape=(2,)), pt.vector("y", shape=(3,))
    >>> x in [y], bool(x == y), bool(x != y)
    (False, False, True)
    """

    def __init__(self, truth: bool, error: ShapeError) -> None:
        self._truth = truth
        self._error = error

    def __bool__(self) -> bool:
        return self._truth

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # Python, NumPy and others probe for protocols
            raise AttributeError(name)
        raise self._error

    def __repr__(self) -> str:
        return f"<{self._error}>"


def _refuse(mismatch: Mismatch, name: str | None) -> NoReturn:
    raise mismatch._error


register_conversion(Mismatch, _refuse)


def equal(x: TensorMethods, other: Any) -> Any:
    """Return ``x == other``, elementwise; NotImplemented if ``other`` is not a tensor."""
    return _compare(math.eq, x, other, x is other)


def not_equal(x: TensorMethods, other: Any) -> Any:
    """Return ``x != other``, elementwise; NotImplemented if ``other`` is not a tensor."""
    return _compare(math.neq, x, other, x is not other)


def _compare(op: Any, x: TensorMethods, other: Any, truth: bool) -> Any:
    if not isinstance(other, _COMPARABLE) and not is_array_like(other):
        return NotImplemented
    try:
        result = op(x, other)
    except ShapeError as error:
        if not isinstance(other, Variable):
            raise
        return Mismatch(truth, error)
    except TypeContractError:
        if isinstance(other, Number):  # a Fraction, say: it may be equal, but is not a dtype's
            raise
        return NotImplemented  # a str in an array, or a variable of another Type
    if isinstance(other, Variable):
        result._truth = truth
    return result
