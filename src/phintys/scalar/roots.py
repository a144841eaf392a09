"""Derivatives of roots and powers where their argument is 0.

The derivative of a root is infinite at 0, and so is that of any power below 1. Whether a derivative
exists there depends on what the root is taken of, which its expression shows:

- A factor of the incoming gradient that is the root itself cancels: ``sqrt(f)**2`` has the
  derivative of f.
- A product with an exponential is 0 only because it underflows. There the derivative of
  ``f = sqrt(c * exp(u))`` is taken as a multiple of f, ``f * (u' / 2 + c' / (2 * c))``.
- Where a sum of squares is 0, its derivatives are 0 as well. Its root has a kink, like the absolute
  value, and gets the derivative 0: of all subgradients of a norm it is the shortest.
- Otherwise it is infinite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.graph.variable import Constant
from phintys.scalar.cancelling import applied, cancelled_product, number_of, product
from phintys.scalar.casting import Cast
from phintys.scalar.operators import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_STEPS = 8


def along_root(x: Any, out: Any, power: float, partial: Any, g: Any) -> Any:
    """Return ``partial * g`` for the root ``out = x**power`` of real numbers."""
    found = cancelled_product(partial, g)
    if found is not None:
        return found
    above = cancelled_product(OPERATORS.mul(power, out), g)
    if above is not None:
        return OPERATORS.true_div(above, x)
    if _can_underflow(x):
        return product(OPERATORS.true_div(OPERATORS.mul(power, out), x), g)
    return OPERATORS.mul(partial, g)


def divisor(x: Any, of: Any) -> Any:
    """Return ``x``, but infinite where it is 0 if ``of``, under the root, has no slope there."""
    return OPERATORS.switch(OPERATORS.eq(x, 0), np.inf, x) if is_flat(of) else x


def divisor_of_power(x: Any, power: float) -> Any:
    """Return ``x``, the argument of a power: for exponents below 1, infinite where it is flat."""
    return divisor(x, x) if power < 1 else x


def _can_underflow(x: Any, steps: int = _MOST_STEPS) -> bool:
    """Return whether a product is known to be 0 because a positive factor is too small."""
    op, inputs = applied(x)
    if op is None or steps == 0:
        return False
    if op is OPERATORS.mul:
        return any(_can_underflow(one, steps - 1) for one in inputs)
    source = inputs[0] if op is OPERATORS.true_div else _source(op, inputs)
    return getattr(op, "positive", False) if source is None else _can_underflow(source, steps - 1)


def is_flat(x: Any, steps: int = _MOST_STEPS) -> bool:
    """Return whether derivatives of a variable are known to be 0 wherever it is 0.

    So are those of squares, of other functions that are not negative, and of sums of them.
    """
    node = x.owner
    if node is None or steps == 0 or np.dtype(x.type.dtype).kind != "f":
        return False
    op, inputs = applied(x)
    if op is None:
        return _is_sum(node.op) and is_flat(node.inputs[0], steps - 1)
    if op in (OPERATORS.add, OPERATORS.mul, OPERATORS.switch):
        return _is_flat_of_several(op, inputs, steps - 1)
    if op is OPERATORS.pow:
        return _is_flat_power(inputs[0], inputs[1], steps - 1)
    if op is OPERATORS.sqr or getattr(op, "positive", False):
        return True
    if getattr(op, "is_bilinear", False):
        return inputs[0] is inputs[1] and inputs[0].type.ndim == 1
    if op is OPERATORS.true_div or op is OPERATORS.abs:
        return is_flat(inputs[0], steps - 1)
    source = _source(op, inputs)
    return source is not None and is_flat(source, steps - 1)


def _is_flat_of_several(op: Any, inputs: Sequence[Any], steps: int) -> bool:
    if op is OPERATORS.mul:
        if len(inputs) == 2 and inputs[0] is inputs[1]:
            return True
        others = [one for one in inputs if not _is_nonzero(one)]
        return bool(others) and all(is_flat(one, steps) for one in others)
    terms = inputs[1:] if op is OPERATORS.switch else inputs
    return all(number_of(one) == 0 or is_flat(one, steps) for one in terms)


def _is_flat_power(x: Any, exponent: Any, steps: int) -> bool:
    power = number_of(exponent)
    if power is None or power <= 0:
        return False
    if power > 1 and (power % 2 == 0 or applied(x)[0] is OPERATORS.abs):
        return True
    return power >= 1 and is_flat(x, steps)


def _is_nonzero(x: Any) -> bool:
    return isinstance(x, Constant) and bool(np.all(x.data != 0))


def _is_sum(op: Any) -> bool:
    return getattr(op, "scalar_op", None) is OPERATORS.add


def _source(op: Any, inputs: Sequence[Any]) -> Any:
    """Return the operand whose elements are those of an op's result, if there is one."""
    if op is OPERATORS.second:
        return inputs[1]
    return inputs[0] if isinstance(op, Cast) or getattr(op, "view_map", None) == {0: [0]} else None
