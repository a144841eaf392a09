"""Derivatives where an operand is infinite by construction.

``x * inf`` does not change with x, nor do ``inf / x``, ``(inf - x) ** 2`` and ``exp(inf - x)``: as
functions of finite numbers, their derivative is 0. The partial derivatives, inf, -inf / x ...,
would multiply the derivative of whatever has a finite limit there, which is 0, as that of
``erf(inf / x)`` is; and 0 * inf is NaN. So the rows that say ``infinite_slope`` have the
derivative 0 wherever an operand is known to be infinite.

Known are constants, what is computed from them alone, element by element, and what is computed from
them and others by steps that keep infinities. An element that
is infinite only at run time is multiplied as any other: it can be the value of ``1 / s`` at s = 0,
where ``1 / (1 / s)`` has the derivative 1, and not 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.graph.variable import Constant
from phintys.scalar.cancelling import applied
from phintys.scalar.op import ScalarOp
from phintys.scalar.operators import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Sequence

_BUDGET, _BRANCH = 16, 4
"""How far to look for constants: steps of one operand, and of how many of these others count."""

_MOST_ELEMENTS = 10_000
"""Larger constants are not computed with."""


def without_infinite_slopes(inputs: Sequence[Any], partials: Sequence[Any]) -> Sequence[Any]:
    """Return the partial derivatives, but 0 where an operand is known to be infinite."""
    where = _any_of(inputs, _BUDGET)
    if where is False:
        return partials
    if where is True:
        return [0] * len(partials)
    return [OPERATORS.switch(where, 0, partial) for partial in partials]


def _any_of(variables: Sequence[Any], budget: int) -> Any:
    """Return where one of the variables is infinite: ``True``, ``False``, or bools."""
    found: Any = False
    for x in variables:
        where = _where(x, budget)
        if where is True:
            return True
        if where is not False:
            found = where if found is False else OPERATORS.or_(found, where)
    return found


def _where(x: Any, budget: int) -> Any:
    """Return where a variable is known to be infinite: ``True``, ``False``, or bools."""
    if x.owner is None:
        return _infinities(x, x.data) if isinstance(x, Constant) else False
    op, inputs = applied(x)
    left = _left(budget, inputs)
    if op is None or left < 0:
        return False
    value = _value(x, budget)
    if value is not None:
        return _infinities(x, value)
    if op is OPERATORS.mul or op is OPERATORS.add or op is OPERATORS.sub:
        return _any_of(inputs, left)
    if op in (OPERATORS.true_div, OPERATORS.neg, OPERATORS.abs, OPERATORS.sqr, OPERATORS.sqrt):
        return _where(inputs[0], left)
    if op is OPERATORS.second:
        return _where(inputs[1], left)
    if len(inputs) == 1 and getattr(op, "view_map", None) == {0: [0]}:
        where = _where(inputs[0], left)
        return where if isinstance(where, bool) else op(where)
    return False


def _left(budget: int, inputs: Sequence[Any]) -> int:
    return budget - (1 if len(inputs) == 1 else _BRANCH)


def _value(x: Any, budget: int) -> Any:
    """Return the value of elementwise ops on constants alone; ``None`` for other variables."""
    if x.owner is None:
        return x.data if isinstance(x, Constant) else None
    op, inputs = applied(x)
    left = _left(budget, inputs)
    is_known = isinstance(op, ScalarOp) and op.works_on_arrays and op.nout == 1
    if left < 0 or not is_known:
        return None
    values: list[Any] = []
    for one in inputs:
        value = _value(one, left)
        if value is None or np.size(value) > _MOST_ELEMENTS:
            return None
        values.append(value)
    with np.errstate(all="ignore"):
        return op.impl(*values)


def _infinities(x: Any, value: Any) -> Any:
    """Return where a variable that has this value is infinite."""
    if np.dtype(x.type.dtype).kind != "f":
        return False
    infinite = np.isinf(value)
    return bool(infinite.any()) and (bool(infinite.all()) or OPERATORS.eq(OPERATORS.abs(x), np.inf))
