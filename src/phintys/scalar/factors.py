"""What variables are made of: products of powers, seen through selections of elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from phintys.graph.variable import Constant
from phintys.scalar.operators import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_FACTORS = 16
AS_DEEP = 6  # forward mode computes values again


def applied(x: Any) -> tuple[Any, Sequence[Any]]:
    """Return the scalar op that a variable results from, applied elementwise, and its operands."""
    node = x.owner
    if node is None:
        return None, ()
    op = node.op
    scalar_op = getattr(op, "scalar_op", None)
    if scalar_op is None:
        return op, node.inputs
    # A reduction has a scalar op too.
    return (scalar_op, node.inputs) if hasattr(op, "inplace_pattern") else (None, ())


def seen_through(x: Any) -> tuple[Any, Sequence[Any]]:
    """Return the scalar op and the operands of an element, be it selected from others or not.

    An element of ``f(a, b)`` is f of elements of a and b, where f is a product or a power. Ops that
    select elements have a method ``selected(node, y)``, which returns the same elements of another
    array y, or ``None`` if it cannot.
    """
    op, inputs = applied(x)
    select = getattr(op, "selected", None)
    if select is None:
        return op, inputs
    inner, operands = seen_through(inputs[0])
    if not _is_of_factors(inner):
        return op, inputs
    chosen = [select(x.owner, operand) for operand in operands]
    return (op, inputs) if any(one is None for one in chosen) else (inner, chosen)


def _is_of_factors(op: Any) -> bool:
    return (
        op is OPERATORS.mul
        or op is OPERATORS.true_div
        or op is OPERATORS.neg
        or op is OPERATORS.sqr
        or op is OPERATORS.sqrt
        or op is OPERATORS.pow
        or op is OPERATORS.switch
    )


def number_of(x: Any) -> float | None:
    """Return the real number that a constant is; ``None`` for anything else."""
    if not isinstance(x, Constant) or np.size(x.data) != 1:
        return None
    number = np.asarray(x.data).item()
    return float(number) if isinstance(number, int | float) else None


def is_same(a: Any, b: Any, levels: int = AS_DEEP) -> bool:
    """Return whether two variables are one, or the same ops, some levels deep, of the same ones."""
    if a is b:
        return True
    if a.owner is None or b.owner is None:
        return _are_one_number(a, b)
    if not levels or a.index != b.index or a.owner.op != b.owner.op or a.type != b.type:
        return False
    pairs = zip(a.owner.inputs, b.owner.inputs, strict=False)
    return len(a.owner.inputs) == len(b.owner.inputs) and all(
        is_same(x, y, levels - 1) for x, y in pairs
    )


def _are_one_number(x: Any, y: Any) -> bool:
    return x.type == y.type and number_of(x) is not None and number_of(x) == number_of(y)


class Factor(NamedTuple):
    """``base**exponent``, or, as it was written, ``written**sign``."""

    base: Any
    exponent: float
    written: Any
    sign: int

    @property
    def is_guarded(self) -> bool:
        """Whether it is a divisor that is infinite where it would be 0."""
        return unguarded(self.written) is not self.written


def factors_of(x: Any) -> tuple[list[Factor], bool]:
    """Return the factors of a product or quotient, and whether it is the negative of theirs."""
    found: list[Factor] = []
    is_negative = False
    waiting = [(x, 1)]
    while waiting:
        factor, sign = waiting.pop()
        op, inputs = seen_through(factor)
        is_product = op is OPERATORS.mul or op is OPERATORS.true_div or op is OPERATORS.neg
        has_room = len(waiting) + len(found) < MOST_FACTORS
        if not (is_product and has_room and _keeps_dtype(factor, inputs)):
            found.append(_factor(factor, op, sign))
        elif op is OPERATORS.mul:
            waiting.extend((one, sign) for one in reversed(inputs))
        elif op is OPERATORS.true_div:
            waiting += [(inputs[1], -sign), (inputs[0], sign)]
        else:
            is_negative = not is_negative
            waiting.append((inputs[0], sign))
    return found, is_negative


def _factor(x: Any, op: Any, sign: int) -> Factor:
    """Return a factor that is not a product, or its inverse."""
    if op is OPERATORS.switch:
        x, written = unguarded(x), x
        return Factor(*power_of(x, sign), written, sign)
    if op in (OPERATORS.sqr, OPERATORS.sqrt, OPERATORS.pow, OPERATORS.pow_less_one):
        return Factor(*power_of(x, sign), x, sign)
    return Factor(x, sign, x, sign)


def _keeps_dtype(x: Any, inputs: Sequence[Any]) -> bool:
    dtype = x.type.dtype
    return all(one.type.dtype == dtype for one in inputs)


def power_of(x: Any, sign: int = 1, most: int = MOST_FACTORS) -> tuple[Any, float]:
    """Return a base and the exponent to which it is raised, times a sign."""
    if not most:
        return x, sign
    op, inputs = seen_through(x)
    power = None
    if op is OPERATORS.sqr:
        power = 2.0
    elif op is OPERATORS.sqrt:
        power = 0.5
    elif op is OPERATORS.pow or op is OPERATORS.pow_less_one:
        power = known_exponent(op, inputs)
    if not power or not np.isfinite(power) or not _keeps_dtype(x, inputs):
        return x, sign
    base, exponent = power_of(inputs[0], most=most - 1)
    if exponent != 1 and float(exponent).is_integer() and not power.is_integer():
        return inputs[0], sign * power  # the root of a square is an absolute value
    return base, sign * exponent * power


def unguarded(x: Any) -> Any:
    """Return d where ``x`` is d, but infinite where d is 0, as the divisors of roots are."""
    op, inputs = seen_through(x)
    if op is OPERATORS.switch and number_of(inputs[1]) == np.inf:
        test, tested = applied(inputs[0])
        if test is OPERATORS.eq and tested[0] is inputs[2]:
            return inputs[2]
    return x


def vanishes_with(x: Any, base: Any, levels: int = AS_DEEP) -> bool:
    """Return whether ``x`` is known to be 0 wherever ``base`` is."""
    op, inputs = seen_through(base)
    if op is OPERATORS.mul and levels:
        return all(vanishes_with(x, one, levels - 1) for one in inputs)
    if (op is OPERATORS.abs or op is OPERATORS.neg) and levels:
        return vanishes_with(x, inputs[0], levels - 1)
    root, _ = power_of(base)
    return _is_zero_at(x, root, levels)


def _is_zero_at(x: Any, root: Any, levels: int) -> bool:
    """Return whether ``x`` is known to be 0 wherever a variable that is not a power is."""
    if is_same(x, root):
        return True
    op, inputs = seen_through(x)
    if not levels or op is None:
        return False
    if op is OPERATORS.mul:
        return any(_is_zero_at(one, root, levels - 1) for one in inputs)
    if op is OPERATORS.pow and (known_exponent(op, inputs) or 0) <= 0:
        return False
    vanishes = op is OPERATORS.pow or getattr(op, "vanishes", False)
    return vanishes and _is_zero_at(inputs[0], root, levels - 1)


def known_exponent(op: Any, inputs: Sequence[Any]) -> float | None:
    """Return the exponent of a power if it is known."""
    power = number_of(inputs[1])
    return power if power is None or op is OPERATORS.pow else power - 1


def raised(base: Any, exponent: float) -> Any:
    """Return the power of a base."""
    if exponent == 1:
        return base
    if exponent == 2:
        return OPERATORS.sqr(base)
    return OPERATORS.sqrt(base) if exponent == 0.5 else OPERATORS.pow(base, exponent)
