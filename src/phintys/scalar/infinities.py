"""Derivatives where an operand is infinite by construction.

``x * inf`` does not change with x, nor do ``inf / x``, ``(inf - x) ** 2`` and ``exp(inf - x)``: as
functions of finite numbers, their derivative is 0. The partial derivatives, inf, -inf / x ...,
would multiply the derivative of whatever has a finite limit there, which is 0, as that of
``erf(inf / x)`` is; and 0 * inf is NaN. So the rows that say ``infinite_slope`` have the
derivative 0 wherever an operand is known to be infinite.

Known are constants, and what is computed from them by steps that keep infinities. An element that
is infinite only at run time is multiplied as any other: it can be the value of ``1 / s`` at s = 0,
where ``1 / (1 / s)`` has the derivative 1, and not 0.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.graph.variable import Constant
from phintys.scalar.cancelling import applied, number_of
from phintys.scalar.operators import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_STEPS = 3


def without_infinite_slopes(inputs: Sequence[Any], partials: Sequence[Any]) -> Sequence[Any]:
    """Return the partial derivatives, but 0 where an operand is known to be infinite."""
    where = _any_of(inputs, _MOST_STEPS)
    if where is False:
        return partials
    if where is True:
        return [0] * len(partials)
    return [OPERATORS.switch(where, 0, partial) for partial in partials]


def _any_of(variables: Sequence[Any], steps: int) -> Any:
    """Return where one of the variables is infinite: ``True``, ``False``, or bools."""
    found: Any = False
    for x in variables:
        where = _where(x, steps)
        if where is True:
            return True
        if where is not False:
            found = where if found is False else OPERATORS.or_(found, where)
    return found


def _where(x: Any, steps: int) -> Any:
    """Return where a variable is known to be infinite: ``True``, ``False``, or bools."""
    if x.owner is None:
        return _of_constant(x) if isinstance(x, Constant) else False
    op, inputs = applied(x)
    if op is None or steps == 0:
        return False
    if op is OPERATORS.mul or op is OPERATORS.add or op is OPERATORS.sub:
        return _any_of(inputs, steps - 1)
    if op in (OPERATORS.true_div, OPERATORS.neg, OPERATORS.abs, OPERATORS.sqr, OPERATORS.sqrt):
        return _where(inputs[0], steps - 1)
    if op is OPERATORS.second:
        return _where(inputs[1], steps - 1)
    if len(inputs) == 1 and getattr(op, "view_map", None) == {0: [0]}:
        where = _where(inputs[0], steps - 1)
        return where if isinstance(where, bool) else op(where)
    return False


def _of_constant(x: Any) -> Any:
    number = number_of(x)
    if number is not None:
        return math.isinf(number)
    if np.dtype(x.type.dtype).kind != "f" or not np.isinf(x.data).any():
        return False
    return True if np.isinf(x.data).all() else OPERATORS.eq(OPERATORS.abs(x), np.inf)
